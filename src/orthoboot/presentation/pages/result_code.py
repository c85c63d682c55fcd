"""The program that makes a result again, as far as the result knows it."""

from __future__ import annotations

from collections.abc import Iterator

from orthoboot.plans import Iid
from orthoboot.presentation.summary import Answer
from orthoboot.presentation.wording import shortened


def result_code(answer: Answer) -> str:
    """Return a call of `bootstrap` on `data` and `statistic`; comments say what else the user has to give."""
    return "\n".join(
        ["import orthoboot as ob", "", "result = ob.bootstrap(", *_arguments(answer), ")", "print(result)"]
    )


def _arguments(answer: Answer) -> Iterator[str]:
    estimation = answer.estimation
    run, data = estimation.run, estimation.run.data
    yield f"    data,  # {shortened(run.plan.description)}"
    yield f"    statistic,  # {shortened(run.functional.name)}"
    if len(data.tables) > 1 and len(data.sizes) == 1:
        yield "    paired=True,"
    if not all(isinstance(scheme, Iid) for scheme in run.plan.schemes):
        yield "    # and `strata`, `groups` or `block_length` as they were"
    if estimation.estimator.simulates:
        yield f"    n_resamples={estimation.replicates.n_drawn},"
    yield f'    estimator="{estimation.estimator.name}",'
    yield f"    # influence function: {' '.join(run.influence_source.split())}"
    if run.control_request != "auto":
        yield f'    control="{run.control_request}",'
    yield f'    method="{answer.method}",'
    yield f"    confidence_level={answer.confidence_level!r},"
    if answer.alternative != "two-sided":
        yield f'    alternative="{answer.alternative}",'
    if answer.simultaneous:
        yield "    simultaneous=True,"
    if run.given_limits is not None:
        low, high = (float(limit[0]) for limit in run.given_limits)
        yield f'    transform=(float("{low!r}"), float("{high!r}")),'
    if run.seed is None:
        yield "    rng=0,  # the run had no number for its seed: these draws cannot be reproduced"
    else:
        yield f"    rng={run.seed},"

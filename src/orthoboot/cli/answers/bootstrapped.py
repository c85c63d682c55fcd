"""Results of `bootstrap` as answers."""

from __future__ import annotations

import time
from typing import Any

from orthoboot.cli.answers.answer import Answer, Output
from orthoboot.cli.options import Settings
from orthoboot.errors import InterruptedWarning, OrthobootWarning
from orthoboot.warning_scopes import recorded, show_again


def bootstrapped(data: Any, statistic: Any, settings: Settings, label: str = "", **plan: Any) -> Answer:
    """Return the answer of `bootstrap`, which has its warnings; an error names the label."""
    from orthoboot import bootstrap

    start = time.perf_counter()
    try:
        with recorded() as caught:
            result = bootstrap(data, statistic, **settings.arguments(), **plan)
    except Exception as error:
        if label:
            error.add_note(label)
        raise
    # Those of the library are a part of the answer.
    show_again(w for w in caught if not issubclass(w.category, OrthobootWarning))
    return answer_of(result, label, time.perf_counter() - start)


def answer_of(result: Any, label: str = "", seconds: float = 0.0) -> Answer:
    """Return a `Result` as an answer."""
    return Answer(
        statistic=result.run.functional.name,
        label=label,
        n_rows=tuple(int(size) for size in result.run.data.sizes),
        outputs=_outputs(result),
        level=result.confidence_level,
        interval=result.interval_method,
        estimator=result.estimator,
        n_resamples=result.n_resamples,
        n_failed=result.n_failed,
        plan=result.run.plan.description,
        warnings=tuple(str(warning) for warning in result.warnings),
        seconds=seconds,
        text=result.summary(),
        source=result,
        interrupted=any(isinstance(warning, InterruptedWarning) for warning in result.warnings),
    )


def _outputs(result: Any) -> tuple[Output, ...]:
    flat = result.run.output.flatten
    ends, errors = result.confidence_interval, result.simulation_error
    numbers = (result.estimate, result.bias, result.standard_error, ends.low, ends.high)
    rows = zip(*(flat(column) for column in (*numbers, *errors)), strict=True)
    return tuple(Output(name, *map(float, row)) for name, row in zip(result.names, rows, strict=True))

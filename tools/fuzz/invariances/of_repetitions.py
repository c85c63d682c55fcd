"""What holds between answers to the same question, asked in another way."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np

import orthoboot as ob
from orthoboot import errors
from tools.fuzz.cases import Case
from tools.fuzz.invariances.base import (
    EPSILON,
    TOO_ROUGH,
    Questioned,
    disagreement,
    invariance,
    is_singular,
    natural_size,
    no_answer,
    of_statistic,
    other_bits,
    rounding,
)
from tools.fuzz.outcomes import Outcome, flat, outcome

STEP = 1e-5
"""The weight that is moved to one row: the error of the difference is of the order of its square, times n."""

SHORTEST_STEP = 1e-7
"""To which `compose` and `function_of_means` shorten their own next to a pole, and fifty times farther to judge it."""

LARGEST_MOVE = 1e-3
"""The step, times the condition of the statistic, beyond which the difference is no slope: it may pass a pole."""


def _other_answer(first: Outcome, second: Outcome, *, tolerance: float = 0.0) -> str | None:
    """Return what differs between two answers that should have the same bits, or the same digits."""
    wrong = disagreement(first, second)
    if wrong is not None or no_answer(first, second):
        return wrong
    numbers = [{**one.numbers, **one.simulation_errors} for one in (first, second)]
    wrong = other_bits(numbers[0], numbers[1], tolerance)
    if wrong is not None:
        return wrong
    texts = [sorted(map(str, one.told)) for one in (first, second)]
    if texts[0] == texts[1]:
        return None
    gone, new = (sorted(set(texts[i]) - set(texts[1 - i])) for i in (0, 1))
    return f"warnings: {gone} became {new}"


def _without(found: Outcome, kind: type[Warning]) -> Outcome:
    """Return the answer without its warnings of one kind."""
    if found.error is not None:
        return found
    kept = tuple(warning for warning in found.result.warnings if not isinstance(warning, kind))
    return replace(found, result=replace(found.result, warnings=kept))


@invariance("same seed")
def same_seed(asked: Questioned) -> str | None:
    """The same call gives the same bits."""
    return _other_answer(asked.found, asked.again())


@invariance("batch")
def batch(asked: Questioned) -> str | None:
    """The number of resamples that are held at once changes nothing."""
    return _other_answer(asked.found, asked.again(batch=int(asked.rng.choice([1, 3, 7, 100]))))


@invariance("jobs")
def jobs(asked: Questioned) -> str | None:
    """Two threads change nothing."""
    # Functions of the user's run in processes, which take seconds to start.
    if asked.case.row.row_function or asked.rng.random() < 0.7 or find_spec("joblib") is None:
        return None
    return _other_answer(asked.found, asked.again(n_jobs=2))


@invariance("extended is whole")
def extended_is_whole(asked: Questioned) -> str | None:
    """Some replicates and some more are as many from the start, with the same warnings."""
    case = asked.case
    drawn = asked.found.result.n_resamples + asked.found.result.n_failed
    if case.options["estimator"] == "jackknife" or "tol" in case.options or not drawn:
        return None
    more = int(asked.rng.integers(1, 12))
    whole, extended = asked.again(n_resamples=drawn + more), outcome(lambda: asked.found.result.extend(more))
    if is_singular(case):  # how far another order of rows moves what is rounding is told in standard errors of the run
        whole, extended = (_without(one, errors.RowOrderWarning) for one in (whole, extended))
    if "n_resamples" not in case.options:  # who does not ask for a number is told it
        whole, extended = (_without(one, errors.FallbackWarning) for one in (whole, extended))
    return _other_answer(whole, extended)


@invariance("another estimator of the same replicates")
def other_estimator(asked: Questioned) -> str | None:
    """`with_estimator` is the run with that estimator, and keeps the warnings that stay true."""
    case, result = asked.case, asked.found.result
    drawn = result.n_resamples + result.n_failed
    fell_back = asked.found.warns(errors.FallbackWarning)
    # Whether a value that is rounding depends on the order of rows is a matter of the order that is tried.
    if "tol" in case.options or drawn < 2 or fell_back or is_singular(case):
        return None
    name = str(asked.rng.choice(["orthogonal", "paper", "standard", "cheap", "jackknife"]))
    second = outcome(lambda: result.with_estimator(name))
    first = asked.again(estimator=name, n_resamples=drawn)
    # A run falls back to the standard bootstrap with a warning; `with_estimator` gives what it is asked for, or raises.
    fell_back = first.error is None and first.warns(errors.FallbackWarning)
    if second.refused and (first.refused or (fell_back and isinstance(second.error, errors.InfluenceError))):
        return None
    # A run of "cheap" would not have looked for the influence function that this one knows already and speaks of.
    for kind in (errors.DominantRowWarning, errors.ConstantDataWarning, errors.EqualReplicatesWarning):
        first, second = _without(first, kind), _without(second, kind)
    wrong = _other_answer(first, second, tolerance=1e-12)
    return None if wrong is None else f"with_estimator({name!r}): {wrong}"


@invariance("another interval of the same replicates")
def other_interval(asked: Questioned) -> str | None:
    """`interval` is that of the run with the same method."""
    case, result = asked.case, asked.found.result
    drawn = result.n_resamples + result.n_failed
    if "tol" in case.options or asked.found.warns(errors.FallbackWarning) or not drawn:
        return None
    method = str(asked.rng.choice(["normal", "t", "abc", "percentile", "bca"]))
    ends = outcome(lambda: result.interval(method=method))
    whole = asked.again(method=method, n_resamples=drawn)
    if whole.refused or ends.refused:
        wrong = disagreement(whole, ends)
        return None if wrong is None or (whole.refused and ends.refused) else f"interval(method={method!r}): {wrong}"
    if whole.error is not None or ends.error is not None:
        return f"interval(method={method!r}): {whole.error!r} {ends.error!r}"
    expected = whole.result.confidence_interval
    for one, other in zip(expected, ends.result, strict=True):
        if not np.array_equal(np.asarray(_array(one)), np.asarray(_array(other)), equal_nan=True):
            return f"interval(method={method!r}): {expected} became {ends.result}"
    return None


def _array(value: object) -> object:
    return list(value.values()) if isinstance(value, dict) else value


@invariance("own influence given")
def own_influence_given(asked: Questioned) -> str | None:
    """The statistic's own influence values, passed by hand, give the same standard error."""
    result, case = asked.found.result, asked.case
    if result.influence is None or case.row.row_function or not isinstance(case.statistic, ob.Functional):
        return None
    if is_singular(case):
        return None
    # An influence function that is rounding and no more is centred, and so gone, when it is given.
    if (np.sqrt(flat(result.jackknife_variance)) <= 1e3 * EPSILON * natural_size(case)).any():
        return None
    # The default trusts the library's own influence functions more, and knows more than they say.
    plain = {"estimator": "paper"} if case.options["estimator"] == "orthogonal" else {}
    own = asked.again(**plain) if plain else asked.found
    given = asked.again(influence=result.influence, **plain)
    wrong = disagreement(own, given)
    if wrong is not None or no_answer(own, given):
        return wrong
    first, second = (one.numbers["standard error"] for one in (own, given))
    if np.allclose(first, second, rtol=1e-6, atol=0, equal_nan=True):
        return None
    return f"standard error {first.tolist()} became {second.tolist()}"


@invariance("influence is that of single rows")
def influence_of_single_rows(asked: Questioned) -> str | None:
    """The influence function of a smooth statistic says how far more weight on one row moves it."""
    case, result = asked.case, asked.found.result
    if result.influence is None or not isinstance(case.statistic, ob.Functional) or not case.statistic.smooth:
        return None
    # Leaving out whole rows is a step of another length.
    if "jackknife" in result.influence_source or not case.statistic.fractional or rounding(case) > TOO_ROUGH:
        return None
    # Where groups are moved their rows share one value.
    if "groups moved" in result.influence_source:
        return None
    # Differences that the library takes itself know nothing nearer than their steps.
    towards_rows = "finite-difference" in result.influence_source
    of_parts = getattr(case.statistic, "gradient", "") is None
    nearest = STEP if towards_rows else SHORTEST_STEP if of_parts else 0.0
    if nearest * case.row.condition(case.samples) > 1:
        return None
    sample = int(asked.rng.integers(len(case.sizes)))
    row = int(asked.rng.integers(case.sizes[sample]))
    influence = result.influence if len(case.sizes) == 1 else result.influence[sample]
    expected = np.atleast_1d(influence[row])
    step = min(STEP, LARGEST_MOVE / case.row.condition(case.samples))
    moved = outcome(lambda: _slope(case, sample, row, step))
    if moved.error is not None:
        return f"{type(moved.error).__name__}: {moved.error}"
    found = flat(moved.result)
    with np.errstate(all="ignore"):
        slack = 1e-3 * np.abs(influence).max(axis=0) + 1e-5 * natural_size(case)
        slack += of_statistic(case, case.samples) / step * np.abs(asked.found.numbers["estimate"])
        close = np.abs(found - expected) <= slack
    return (
        None if close.all() else f"row {row} of sample {sample}: {expected.tolist()}, by differences {found.tolist()}"
    )


def _slope(case: Case, sample: int, row: int, size: float) -> np.ndarray:
    """Return the derivative of the statistic towards all weight on one row, by differences."""
    values = []
    for step in (size, -size):
        weights = [np.ones(n) for n in case.sizes]
        weights[sample] *= 1 - step
        weights[sample][row] += step * case.sizes[sample]
        values.append(flat(case.statistic(*case.samples, weights=weights[0] if len(weights) == 1 else tuple(weights))))
    return (values[0] - values[1]) / (2 * size)

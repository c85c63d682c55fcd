"""What holds between the answers to data and to data that are changed in a known way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from orthoboot import errors
from tools.fuzz.cases import Case
from tools.fuzz.containers import PLAIN
from tools.fuzz.invariances.base import (
    EPSILON,
    TOO_ROUGH,
    Questioned,
    differences,
    disagreement,
    invariance,
    last_digits,
    natural_size,
    no_answer,
    of_second_derivative,
    of_statistic,
    rounding,
)
from tools.fuzz.outcomes import Numbers, Outcome, answer, flat, outcome
from tools.fuzz.resampling import of_rows


def _with_samples(case: Case, samples: tuple[np.ndarray, ...]) -> Case:
    return replace(case, samples=samples, holders=(PLAIN,) * len(samples))


def _changed(case: Case, change: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, ...]:
    return tuple(change(one) if i in case.changed else one for i, one in enumerate(case.samples))


def _exponent(case: Case, rng: np.random.Generator) -> int | None:
    """Return a power of two by which all numbers can be multiplied without a loss of digits."""
    nonzero = np.concatenate([np.abs(case.samples[i]).ravel() for i in case.changed])
    nonzero = nonzero[nonzero > 0]
    if not len(nonzero):
        return None
    decades = case.row.decades * math.log2(10)
    lowest = math.ceil(-decades - math.log2(nonzero.min()))
    highest = math.floor(decades - math.log2(nonzero.max()))
    if lowest > highest:
        return None
    # Half of the time anywhere in the range of float64, else near: most mistakes are thresholds that are not relative.
    far = rng.random() < 0.5
    drawn = int(rng.integers(lowest, highest + 1)) if far else int(rng.integers(-40, 41))
    return min(max(drawn, lowest), highest)


def _scaled(numbers: Numbers, power: float) -> Numbers:
    """Return the numbers times two to a power, in two steps, since the factor itself may be out of range."""
    with np.errstate(all="ignore"):
        return {name: value * np.exp2(power / 2) * np.exp2(power / 2) for name, value in numbers.items()}


def _representable(numbers: Numbers) -> bool:
    """Return whether no number of the answer leaves the range of float64; an estimate of zero may have left it."""
    values = np.abs([numbers["estimate"], numbers["standard error"]])
    return bool(((values > 1e-295) & (values < 1e295)).all())


@invariance("scale")
def scale(asked: Questioned) -> str | None:
    """Data times a power of two give the answer times that power to the statistic's degree."""
    case = asked.case
    exponent = _exponent(case, asked.rng)
    if case.degree is None or exponent is None:
        return None
    samples = _changed(case, lambda one: np.ldexp(one, exponent))
    scaled = answer(_with_samples(case, samples))
    if asked.found.out_of_range or scaled.out_of_range:
        return None
    wrong = disagreement(asked.found, scaled)
    if wrong is not None or no_answer(asked.found, scaled):
        return None if wrong is None else f"data * 2**{exponent}: {wrong}"
    expected = _scaled(asked.found.numbers, exponent * case.degree)
    if not (_representable(asked.found.numbers) and _representable(expected)):
        return None
    wrong = differences(expected, scaled.numbers, case.row.tolerance, 0.0)
    if wrong is not None:
        return f"data * 2**{exponent}: {wrong}"
    return _other_warnings(asked.found, scaled, f"data * 2**{exponent}")


def _other_warnings(first: Outcome, second: Outcome, what: str) -> str | None:
    # That a variance is out of range, as no standard error is, depends on the scale.
    names = [
        sorted(kind.__name__ for kind, _ in one.told if kind.__name__ != "DigitsWarning") for one in (first, second)
    ]
    return None if names[0] == names[1] else f"{what}: warnings {names[0]} became {names[1]}"


@invariance("shift")
def shift(asked: Questioned) -> str | None:
    """Data plus a constant give an answer that is shifted likewise, or the same one."""
    case = asked.case
    if case.row.shift is None:
        return None
    constant = max(float(np.abs(case.samples[i]).max()) for i in case.changed) * float(
        asked.rng.choice([-3, 0.5, 2, 50])
    )
    samples = _changed(case, lambda one: one + constant)
    if not constant or abs(constant) > 1e295 or not _as_many_values(case.samples, samples):
        return None
    tolerance = rounding(case, *samples)
    if tolerance > TOO_ROUGH:
        return None
    shifted = answer(_with_samples(case, samples))
    if asked.found.out_of_range or shifted.out_of_range:
        return None
    wrong = disagreement(asked.found, shifted)
    if wrong is not None or no_answer(asked.found, shifted):
        return None if wrong is None else f"data + {constant!r}: {wrong}"
    expected = dict(asked.found.numbers)
    if case.row.shift == "moves":
        expected |= {name: expected[name] + constant for name in ("estimate", "low end", "high end")}
    size = natural_size(case, samples)
    wrong = differences(
        expected,
        shifted.numbers,
        tolerance,
        size,
        method=case.options["method"],
        second_order=of_second_derivative(case, samples),
    )
    return None if wrong is None else f"data + {constant!r}: {wrong}"


def _as_many_values(first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...]) -> bool:
    """Return whether no two values became one by rounding."""
    return all(len(np.unique(one)) == len(np.unique(other)) for one, other in zip(first, second, strict=True))


@invariance("order of rows")
def order_of_rows(asked: Questioned) -> str | None:
    """Rows in another order, with their labels, give the same estimate and the same jackknife."""
    case = asked.case
    # The jackknife's bias may take two evaluations for each row.
    if "block_length" in case.plan or max(case.sizes) > 2_000:
        return None
    tolerance = rounding(case)
    if tolerance > TOO_ROUGH:
        return None
    orders = [asked.rng.permutation(n) for n in case.sizes]
    samples = tuple(one[orders[0 if case.paired else i]] for i, one in enumerate(case.samples))
    plan = {name: _reordered(labels, orders) for name, labels in case.plan.items()}
    method = case.options["method"] if case.options["method"] in ("normal", "t", "abc") else "normal"
    jackknife = {**case.options, "estimator": "jackknife", "method": method, "tol": None, "max_resamples": None}
    plain = _with_samples(replace(case, options=jackknife), case.samples)
    first, second = answer(plain), answer(_with_samples(replace(plain, plan=plan), samples))
    if first.out_of_range or second.out_of_range:
        return None
    wrong = disagreement(first, second)
    if wrong is not None or no_answer(first, second):
        return wrong
    return differences(
        first.numbers,
        second.numbers,
        tolerance,
        natural_size(case),
        method=method,
        second_order=of_second_derivative(case, case.samples),
        last_digits=last_digits(case),
    )


def _reordered(labels: object, orders: list[np.ndarray]) -> object:
    if isinstance(labels, tuple):
        return tuple(part[order] for part, order in zip(labels, orders, strict=True))
    return labels[orders[0]]  # type: ignore[index]


@invariance("weights are repeated rows", needs_result=False)
def weights_are_repeated_rows(asked: Questioned) -> str | None:
    """A statistic with whole weights is that of rows which are repeated as often."""
    case = asked.case
    if case.row.row_function or rounding(case) > TOO_ROUGH:
        return None
    # As many as there are rows, so that divisors such as n - 1 are the same.
    counts = [asked.rng.multinomial(n, np.full(n, 1 / n)) for n in case.sizes]
    repeated = tuple(np.repeat(one, counts[0 if case.paired else i], axis=0) for i, one in enumerate(case.samples))
    if of_statistic(case, repeated) > TOO_ROUGH:
        return None
    weights = counts[0] if len(counts) == 1 else tuple(counts)
    direct = outcome(lambda: of_rows(case, repeated))
    weighted = outcome(lambda: case.statistic(*case.containers, weights=weights))
    if any(one.error is not None and not one.refused for one in (direct, weighted)):
        return f"weighted: {_value(weighted)}; repeated: {_value(direct)}"
    if direct.error is not None or weighted.error is not None:
        return _one_refused(direct, weighted)
    first, second = flat(direct.result), flat(weighted.result)
    with np.errstate(all="ignore"):
        lost = rounding(case) + of_statistic(case, repeated) + _lost_to_outliers(case, repeated)
        if lost > TOO_ROUGH:
            return None
        slack = lost * np.abs(first)
        slack += 1e3 * EPSILON * natural_size(case)
        same = (first == second) | (np.abs(first - second) <= slack)
    return (
        None
        if same.all()
        else f"weights {np.array2string(np.asarray(counts[0]))}: {second.tolist()}, repeated: {first.tolist()}"
    )


def _lost_to_outliers(case: Case, repeated: tuple[np.ndarray, ...]) -> float:
    """Return the digits that deviations from the mean of the data lose where an outlier is not among the rows."""
    farthest = max(float(np.ptp(one, axis=0).max()) for one in case.samples)
    spread = min(float(one.std(axis=0).min()) for one in repeated)
    with np.errstate(all="ignore"):
        return float(100 * EPSILON * np.float64(farthest / spread)) if spread > 0 else 0.0


def _one_refused(direct: Outcome, weighted: Outcome) -> str | None:
    """Return what is wrong where rows or weights are refused: what has no value with rows has none with weights."""
    if any(one.error is not None and one.out_of_range for one in (direct, weighted)):
        return None
    if direct.error is None:
        return f"weights refused: {_value(weighted)}; repeated rows give {_value(direct)}"
    if weighted.error is not None or not np.isfinite(flat(weighted.result)).all():
        return None
    if "is not smooth where" in str(direct.error):  # it has a value there, but no bootstrap
        return None
    return f"repeated rows refused: {_value(direct)}; weights give {_value(weighted)}"


def _value(found: Outcome) -> str:
    return (
        f"{type(found.error).__name__}: {found.error}" if found.error is not None else str(flat(found.result).tolist())
    )


@invariance("container")
def container(asked: Questioned) -> str | None:
    """The same numbers in any container give the same answer."""
    case = asked.case
    if all(name == PLAIN for name in case.holders):
        return None
    plain = answer(_with_samples(case, case.samples))
    wrong = disagreement(asked.found, plain)
    if wrong is not None:
        return f"in {case.holders}: {wrong}"
    if no_answer(asked.found, plain) or rounding(case) > TOO_ROUGH:
        return None
    wrong = differences(
        plain.numbers,
        asked.found.numbers,
        rounding(case),
        natural_size(case),
        method=case.options["method"],
        second_order=of_second_derivative(case, case.samples),
    )
    return None if wrong is None else f"in {case.holders}: {wrong}"


@invariance("rows that are their own groups")
def trivial_labels(asked: Questioned) -> str | None:
    """Groups of one row each, and one stratum of all, have the jackknife of independent rows."""
    case = asked.case
    kind = str(asked.rng.choice(["groups", "strata"]))
    entries = tuple(np.arange(n) if kind == "groups" else np.zeros(n) for n in case.sizes)
    labels = entries[0] if len(entries) == 1 else entries
    jackknife = {**case.options, "estimator": "jackknife", "method": "normal", "tol": None, "max_resamples": None}
    independent = replace(case, plan={}, options=jackknife)
    first, second = answer(independent), answer(replace(independent, plan={kind: labels}))
    wrong = disagreement(first, second)
    if wrong is not None or no_answer(first, second):
        return wrong
    # The second-order bias has no closed form for labels of some statistics, and a warning says so.
    compared = [
        {
            name: value
            for name, value in one.numbers.items()
            if name != "bias" or not one.warns(errors.MissingBiasWarning)
        }
        for one in (second, first)
    ]
    second_order = of_second_derivative(case, case.samples)
    wrong = differences(*compared, rounding(case), natural_size(case), second_order=second_order)
    return None if wrong is None else f"{kind}: {wrong}"

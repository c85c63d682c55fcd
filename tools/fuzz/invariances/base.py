"""The form of an invariance, and how two sets of numbers are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot import errors
from tools.fuzz.cases import Case
from tools.fuzz.outcomes import Numbers, Outcome, answer

FEW_ROWS = 12
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Questioned:
    """A case with its answer, and a generator for what an invariance draws itself."""

    case: Case
    found: Outcome
    rng: np.random.Generator

    def again(self, data: Any = None, **changes: Any) -> Outcome:
        """Return the answer to the same case with other data or arguments."""
        return answer(self.case, data, **changes)


Check = Callable[[Questioned], str | None]


@dataclass(frozen=True)
class Invariance:
    """A claim by its name, and the function that returns what is wrong with it."""

    name: str
    check: Check
    needs_result: bool = True


ALWAYS: list[Invariance] = []
"""Those that cost nothing, for every case."""

SOMETIMES: list[Invariance] = []
"""Those that ask the library again, of which a few are drawn for each case."""


def invariance(name: str, kept: list[Invariance] = SOMETIMES, *, needs_result: bool = True) -> Callable[[Check], Check]:
    """Return a decorator that puts a function among the invariances."""

    def registered(check: Check) -> Check:
        kept.append(Invariance(name, check, needs_result))
        return check

    return registered


def condition(sample: np.ndarray) -> float:
    """Return how many times larger than their spread numbers are: the digits that differences of them lose."""
    columns = sample.reshape(len(sample), -1)
    return max(_column_condition(columns[:, j]) for j in range(columns.shape[1]))


def _column_condition(column: np.ndarray) -> float:
    # Halved, since the difference of the largest and the smallest may overflow.
    halves = column / 2
    distances = np.abs(halves - np.median(halves))
    distances = distances[distances > 0]
    if not len(distances):
        return 1.0
    # Not the largest distance: a resample without the outlier has the spread of the others, and one of a few rows may
    # hold no more than two that are near each other.
    spread = np.quantile(distances, 0.25) if len(column) > FEW_ROWS else np.diff(np.unique(halves)).min()
    return float(np.abs(halves).max() / spread)


def rounding(case: Case, *samples: np.ndarray) -> float:
    """Return how far two ways of adding up may be apart, relative to the answer; the data set it by their condition.

    In proportion to it, not to its square: squares are taken of deviations from a mean, which keep all digits but those
    that the numbers themselves have lost.
    """
    worst = max(condition(sample) for sample in (*case.samples, *samples))
    own = max(of_statistic(case, one) for one in (case.samples, samples) if one)
    return max(case.row.tolerance, _sums(case) * EPSILON * worst, own)


def last_digits(case: Case) -> float:
    """Return the rounding of a standard error of zero, beside the value: a difference divides it by a step of 1e-4."""
    return (1e4 if _asks_for_differences(case) else 1e3) * EPSILON


def _asks_for_differences(case: Case) -> bool:
    return str(case.options.get("influence")) == "finite-difference"  # it may be an array of values too


def _sums(case: Case) -> float:
    """Return how many units in the last place a sum over the rows may be wrong; a difference divides by its step."""
    step = 1e-3 if case.row.row_function or _asks_for_differences(case) else 1.0
    return 100 / step * np.sqrt(max(len(sample) for sample in case.samples))


def of_statistic(case: Case, samples: tuple[np.ndarray, ...]) -> float:
    """Return the rounding error that the statistic itself makes of that of the data, relative to its value."""
    return 10 * EPSILON * case.row.condition(samples)


def of_second_derivative(case: Case, samples: tuple[np.ndarray, ...]) -> float:
    """Return the rounding error of a second derivative: next to a singularity it grows as the square of the first."""
    with np.errstate(over="ignore"):
        return float(10 * EPSILON * np.float64(case.row.condition(samples)) ** 2)


TOO_ROUGH = 1e-4
"""Beyond this rounding alone explains any difference, and nothing is said."""


def is_singular(case: Case) -> bool:
    """Return whether no answer is right, since rounding alone decides the value: a condition beyond 1e10."""
    return of_statistic(case, case.samples) > TOO_ROUGH


def natural_size(case: Case, samples: tuple[np.ndarray, ...] | None = None) -> float:
    """Return the largest number of the data to the power of the statistic's degree, with which rounding errors grow."""
    degree = case.degree
    if not degree:
        return 1.0
    arrays = case.samples if samples is None else samples
    largest = max(float(np.abs(arrays[i]).max()) for i in case.changed)
    with np.errstate(all="ignore"):
        return float(np.float64(largest) ** degree)


SECOND_DIFFERENCE = 2e7 * EPSILON
"""The digits that a second difference loses: that of "abc" divides by the square of its step of a thousandth."""
FAR_END = 5e9 * EPSILON
"""Those that an end of "abc" loses: where weights are tilted far, it moves many times as far as the difference."""


def differences(
    first: Numbers,
    second: Numbers,
    tolerance: float,
    size: float,
    *,
    method: str = "normal",
    second_order: float = 0.0,
    last_digits: float = 1e3 * EPSILON,
) -> str | None:
    """Return which numbers are apart by more than the tolerance, beside the answer's own size and that of the data.

    A bias may be a second difference, and the ends of "abc" hold one: their tolerance is `second_order`, if larger.
    """
    halved = ("bias", "low end", "high end") if method == "abc" else ("bias",)
    if not all(np.isfinite(one["standard error"]).all() for one in (first, second)):
        return other_bits({"standard error": first["standard error"]}, {"standard error": second["standard error"]})
    with np.errstate(all="ignore"):
        unit = np.maximum(np.abs(first["standard error"]), np.abs(second["standard error"]))
        for name in first:
            one, other = first[name], second[name]
            own = unit if name in ("standard error", "bias") else np.maximum(unit, np.abs(one))
            digits, relative = (
                (SECOND_DIFFERENCE, max(tolerance, second_order)) if name in halved else (last_digits, tolerance)
            )
            if relative > TOO_ROUGH:
                continue
            slack = relative * own + digits * np.maximum(size, np.abs(first["estimate"]))
            if method == "abc" and name.endswith(" end"):
                slack += FAR_END * own
            same = (one == other) | (np.isnan(one) & np.isnan(other)) | (np.abs(one - other) <= slack)
            if not same.all():
                worst = int(np.argmin(same))
                return f"{name}: {one[worst]!r} became {other[worst]!r}, tolerance {slack[worst]:.2g}"
    return None


def other_bits(first: Numbers, second: Numbers, tolerance: float = 0.0) -> str | None:
    """Return which numbers do not have the same bits, or are apart by more than a relative tolerance."""
    for name in first:
        one, other = first[name], second[name]
        if not np.allclose(one, other, rtol=tolerance, atol=0.0, equal_nan=True):
            return f"{name}: {one.tolist()} became {other.tolist()}"
    return None


def no_answer(first: Outcome, second: Outcome) -> bool:
    """Return whether one of two calls is refused, so that there are no numbers to compare."""
    return first.error is not None or second.error is not None


def disagreement(first: Outcome, second: Outcome) -> str | None:
    """Return how one call is refused and the other is not, or for another reason."""
    if not no_answer(first, second):
        return None
    # Which resamples fail is a matter of their rows, and so of chance where these are in another order.
    if type(first.error) is type(second.error) or any(
        isinstance(one.error, errors.ReplicationError) for one in (first, second)
    ):
        return None
    return f"{first} became {second}"

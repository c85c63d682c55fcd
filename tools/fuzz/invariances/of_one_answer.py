"""What holds for one answer by itself."""

from __future__ import annotations

import warnings

import numpy as np

from orthoboot import errors
from tools.fuzz.invariances.base import (
    ALWAYS,
    EPSILON,
    Questioned,
    invariance,
    is_singular,
    last_digits,
    natural_size,
    rounding,
)
from tools.fuzz.outcomes import Numbers, flat, outcome
from tools.fuzz.resampling import of_rows, values_on_resamples

FEW_ROWS = 10
EXPLAIN_ENDS = (errors.IntervalWarning,)
EXPLAIN_SIMULATION_ERRORS = (
    errors.FewReplicatesWarning,
    errors.IntervalWarning,
    errors.EqualReplicatesWarning,
    errors.ConstantDataWarning,
    errors.FailedReplicatesWarning,
    errors.ToleranceWarning,
)


@invariance("only the library's errors", ALWAYS, needs_result=False)
def only_library_errors(asked: Questioned) -> str | None:
    """Whatever goes wrong is told by an error of the library."""
    error = asked.found.error
    return None if error is None or asked.found.refused else f"{type(error).__name__}: {error}"


@invariance("no warnings but the library's", ALWAYS, needs_result=False)
def only_library_warnings(asked: Questioned) -> str | None:
    """No RuntimeWarning of numpy reaches the user."""
    foreign = [one for one in asked.found.shown if not issubclass(one.category, errors.OrthobootWarning)]
    if not foreign:
        return None
    first = foreign[0]
    return f"{first.category.__name__}: {first.message} ({first.filename.rpartition('/')[2]}:{first.lineno})"


@invariance("warnings are those shown", ALWAYS)
def warnings_are_those_shown(asked: Questioned) -> str | None:
    """`result.warnings` holds what the user has seen, no more and no less."""
    shown = [
        (one.category, str(one.message))
        for one in asked.found.shown
        if issubclass(one.category, errors.OrthobootWarning)
    ]
    if sorted(map(str, shown)) == sorted(map(str, asked.found.told)):
        return None
    return f"shown {[kind.__name__ for kind, _ in shown]}, kept {[kind.__name__ for kind, _ in asked.found.told]}"


def _open_end(alternative: str) -> str | None:
    return {"less": "low end", "greater": "high end"}.get(alternative)


def _not_finite(numbers: Numbers, alternative: str) -> list[str]:
    """Return the names of the numbers that are not finite, but for the open end of a one-sided interval."""
    return [name for name, value in numbers.items() if name != _open_end(alternative) and not np.isfinite(value).all()]


@invariance("finite or told", ALWAYS)
def finite_or_told(asked: Questioned) -> str | None:
    """Estimate, bias, standard error and ends are finite, or a warning says why not."""
    found = asked.found
    bad = _not_finite(found.numbers, asked.case.options["alternative"])
    if not bad or found.out_of_range:
        return None
    if all("end" in name for name in bad) and found.warns(*EXPLAIN_ENDS):
        return None
    return f"{', '.join(bad)} not finite: {found}; warnings {[kind.__name__ for kind, _ in found.told]}"


@invariance("simulation errors finite or told", ALWAYS)
def simulation_errors_finite_or_told(asked: Questioned) -> str | None:
    """What another seed would change is finite, or a warning says why not."""
    found = asked.found
    bad = [
        f"{name} = {value.tolist()}"
        for name, value in found.simulation_errors.items()
        if not np.isfinite(value).all() and not (asked.case.options["alternative"] != "two-sided" and "end" in name)
    ]
    if not bad or found.warns(*EXPLAIN_SIMULATION_ERRORS) or found.out_of_range:
        return None
    return f"{', '.join(bad)}; {found.result.n_resamples} replicates; warnings {[k.__name__ for k, _ in found.told]}"


@invariance("estimate is the statistic of the data", ALWAYS)
def estimate_is_the_statistic(asked: Questioned) -> str | None:
    """`estimate` is what the statistic gives when it is called."""
    case = asked.case
    # A function of the user's, numpy's own among them, would add up float32 as float32.
    direct = outcome(lambda: of_rows(case, case.samples if case.row.row_function else case.containers))
    if direct.error is not None:
        return f"the statistic itself raised {direct}"
    expected, got = flat(direct.result), asked.found.numbers["estimate"]
    if case.row.row_function and not np.isfinite(expected).all():
        return None  # `np.var` itself overflows where the entry of the catalogue does not
    # Functions of the user's add up in another order where the rows lie otherwise in memory.
    relative, size = (rounding(case), natural_size(case)) if case.row.row_function else (0.0, 0.0)
    if expected.shape == got.shape and np.allclose(expected, got, rtol=relative, atol=1e3 * EPSILON * size):
        return None
    return f"statistic(data) = {expected.tolist()}, estimate = {got.tolist()}"


@invariance("a value is taken", ALWAYS, needs_result=False)
def value_is_taken(asked: Questioned) -> str | None:
    """A statistic with a finite value on the data is not refused as one that has none."""
    case = asked.case
    error = asked.found.error
    if not isinstance(error, errors.StatisticError) or "succeeded. The first failure was" in str(error):
        return None
    direct = outcome(lambda: of_rows(case, case.samples if case.row.row_function else case.containers))
    if direct.error is not None or not np.isfinite(flat(direct.result)).all():
        return None
    return f"statistic(data) = {flat(direct.result).tolist()}, but {asked.found}"


@invariance("no order of rows", ALWAYS)
def no_order_of_rows(asked: Questioned) -> str | None:
    """No statistic here depends on the order of the rows, so that none is told to; but where rounding decides."""
    if not asked.found.warns(errors.RowOrderWarning) or is_singular(asked.case):
        return None
    # Of centred numbers the mean is what rounding leaves of zero, in any order something else.
    if (np.abs(asked.found.numbers["estimate"]) <= 10 * EPSILON * natural_size(asked.case)).all():
        return None
    return next(text for kind, text in asked.found.told if issubclass(kind, errors.RowOrderWarning))


@invariance("ends in order", ALWAYS)
def ends_in_order(asked: Questioned) -> str | None:
    """The low end is not above the high end, and symmetric intervals hold the estimate."""
    numbers, case = asked.found.numbers, asked.case
    low, high, estimate = numbers["low end"], numbers["high end"], numbers["estimate"]
    if (low > high).any():
        return f"low end {low.tolist()} above high end {high.tolist()}"
    holds = case.options["method"] in ("normal", "t") and case.options["confidence_level"] >= 0.5
    if holds and ((low > estimate) | (estimate > high)).any():
        return f"estimate {estimate.tolist()} outside of {low.tolist()} to {high.tolist()}"
    return None


@invariance("negative standard error", ALWAYS)
def standard_error_not_negative(asked: Questioned) -> str | None:
    """No standard error or simulation error is negative."""
    numbers = {"standard error": asked.found.numbers["standard error"], **asked.found.simulation_errors}
    bad = [f"{name} = {value.tolist()}" for name, value in numbers.items() if (value < 0).any()]
    return ", ".join(bad) or None


@invariance("zero standard error only where nothing varies", ALWAYS)
def zero_only_where_nothing_varies(asked: Questioned) -> str | None:
    """A standard error of zero means that resamples do not move the statistic, or a warning says more."""
    found = asked.found
    # What is left of zero by rounding counts as zero: the answer is as wrong.
    size = np.maximum(np.abs(found.numbers["estimate"]), natural_size(asked.case))
    # Of a function of the user's nobody knows how it rounds.
    zero = found.numbers["standard error"] <= (0.0 if asked.case.row.row_function else 10 * EPSILON * size)
    if not zero.any() or found.out_of_range or is_singular(asked.case):
        return None
    if found.warns(errors.EqualReplicatesWarning) or _is_first_order(asked) or _all_equal(asked):
        return None
    values = values_on_resamples(asked.case, asked.rng, 15)
    estimate = found.numbers["estimate"]
    with np.errstate(all="ignore"):
        moves = zero & (np.abs(values - estimate) > 1e4 * EPSILON * size).any(axis=0)
    if not moves.any():
        return None
    output = int(np.argmax(moves))
    error, elsewhere = found.numbers["standard error"][output], np.unique(values[:, output])[:4].tolist()
    return (
        f"standard error {error:.2g}, but on resamples the statistic is {elsewhere} beside {estimate[output]!r}; "
        f"warnings {[kind.__name__ for kind, _ in found.told]}"
    )


def _all_equal(asked: Questioned) -> bool:
    """Return whether a warning says that nothing varies, and the few replicates that there are do not."""
    found = asked.found
    replicates = found.result.replicates.values
    return found.warns(errors.ConstantDataWarning) and bool((replicates == replicates[:1]).all())


def _is_first_order(asked: Questioned) -> bool:
    """Return whether the answer says that the statistic is flat at these data to first order, as a jackknife may be."""
    return any("first order" in text for _, text in asked.found.told)


@invariance("nothing varies for constant rows", ALWAYS)
def constant_rows_give_zero(asked: Questioned) -> str | None:
    """Rows that are all equal give a standard error of zero, up to rounding."""
    case = asked.case
    if any((sample != sample[:1]).any() for sample in case.samples):
        return None
    error = asked.found.numbers["standard error"]
    size = max(natural_size(case), float(np.abs(asked.found.numbers["estimate"]).max()))
    if (error <= last_digits(case) * size).all():
        return None
    return f"all rows are equal, and the standard error is {error.tolist()}"


@invariance("can be shown", ALWAYS)
def can_be_shown(asked: Questioned) -> str | None:
    """Text, table and dict of any answer can be made, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = asked.found.result
            str(found), repr(found), found._repr_html_(), found.to_dict()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None


def _higher(level: float) -> float:
    return 1 - (1 - level) / 3


@invariance("a higher level is wider")
def higher_level_is_wider(asked: Questioned) -> str | None:
    """The interval of a higher confidence level contains that of a lower one."""
    case, found = asked.case, asked.found
    level = _higher(case.options["confidence_level"])
    wider = outcome(lambda: found.result.interval(level))
    if wider.error is not None:
        return f"interval({level}) raised {type(wider.error).__name__}: {wider.error}"
    low, high = flat(wider.result.low), flat(wider.result.high)
    if any(issubclass(one.category, EXPLAIN_ENDS) for one in wider.shown):
        return None
    old_low, old_high = found.numbers["low end"], found.numbers["high end"]
    with np.errstate(all="ignore"):
        # Of a one-sided interval one end is infinite.
        slack = 1e-9 * np.max([np.where(np.isfinite(end), np.abs(end), 0.0) for end in (old_low, old_high)], axis=0)
    if ((low > old_low + slack) | (high < old_high - slack)).any():
        return f"{old_low.tolist()} to {old_high.tolist()} became {low.tolist()} to {high.tolist()} at {level!r}"
    closed = np.isfinite([old_low, old_high]) & np.isfinite([low, high])
    still = ([low == old_low, high == old_high] & closed).any(axis=0)
    # Numbers so far apart that a tenth of a standard error is none have the same end for many levels.
    varies = still & (found.numbers["standard error"] > 10 * np.spacing(np.abs(found.numbers["estimate"])))
    # A statistic with few values has the same end for many levels, and so has any of a few rows; "abc" ends at bounds
    # of the statistic, such as one of a correlation.
    judged = case.options["method"] != "abc" and not case.row.steps and min(case.sizes) >= FEW_ROWS and level > 0.99
    if varies.any() and judged:
        return f"saturated: {old_low.tolist()} to {old_high.tolist()} at {level!r} too, without a word"
    return None

"""Verdicts on an influence function, in words."""

from __future__ import annotations

from typing import NamedTuple

from orthoboot.estimators.diagnostics import WEAK_R_SQUARED
from orthoboot.influence import Probe
from orthoboot.presentation.wording import shortened

_LEAST_EXPLAINED = 0.5
"""Below this share of the changes that a common factor explains, the influence values have nothing to do with them."""

_SAME_FACTOR = 0.1
_NAMES_SHOWN = 3

_DEFINITION = (
    "Influence values are n times the derivative of the statistic with respect to each row's share of the weight."
)


class Verdict(NamedTuple):
    """A verdict on one output: a label and a sentence."""

    short: str
    sentence: str


AGREES = "agrees"

UNDEFINED = Verdict(
    "not checked",
    "not checked: the statistic raises or is not finite when the weights of some rows are moved. Make it defined for "
    "weights that are not whole numbers or, where it takes none, for rows that repeat and rows that are missing.",
)

IGNORES = Verdict(
    "ignores its weights",
    "the statistic ignores its weights: it does not change when they are the counts of a resample, but does on the "
    "rows of that resample. Count each row with its weight, or leave out the `weights` parameter.",
)

NOT_ITS_DERIVATIVE = Verdict(
    "disagrees",
    "disagrees: the statistic changes steadily with the weights, but not as its derivative says. An automatic "
    "derivative misses what `float()`, `.item()`, `detach` and `stop_gradient` hide; other causes are a kink at these "
    "data, a solver's damping, and a wrong `gradient`. The replicates decide how far to trust it.",
)

ALL_EQUAL = Verdict(
    "all equal",
    "all equal: constant influence values mean that the statistic does not vary, but it does. Give each row its own "
    f"value. {_DEFINITION}",
)

_UNRELATED = Verdict(
    "unrelated",
    "unrelated: the influence function does not predict the changes of the statistic on any scale. Check that its "
    f"values are in the order of the rows and belong to this statistic. {_DEFINITION}",
)


def agreement(explained: float, n_resamples: int) -> Verdict:
    """Return the verdict that the influence function agrees, noting where it explains little."""
    weak = (
        f" It explains only {explained:.0%} of the variance of {n_resamples} replicates, though: the statistic is far "
        "from linear, so use many of them, or set `tol`."
        if explained < WEAK_R_SQUARED
        else ""
    )
    return Verdict(AGREES, f"agrees: the statistic changes as the influence function says.{weak}")


def steps(fractional: bool) -> Verdict:
    """Return the verdict that the statistic has no derivative; `fractional` if it takes fractional weights."""
    by_rows = ', or influence="jackknife", which moves by whole rows' if fractional else ""
    return Verdict(
        "not differentiable",
        "not differentiable in the weights: small changes of the weights leave the statistic unchanged, or make it "
        f'jump, as when it rounds, counts, picks rows or is at a bound. Use estimator="standard"{by_rows}.',
    )


def off_centre(mean: float) -> Verdict:
    """Return the verdict that the mean of the influence values is not zero."""
    return Verdict(
        "off centre",
        f"off centre: the mean of the influence values is {mean:.2g} of their standard deviations away from zero. "
        "Apart from that they agree with the statistic: subtract the mean. `bootstrap` does so with a warning.",
    )


def misfit(probe: Probe, output: int, explained: float, sizes: tuple[int, ...]) -> Verdict:
    """Return the verdict on influence values that disagree: wrong scale, wrong sign, or unrelated."""
    predicted, found = probe.predicted[:, output], probe.found[:, output]
    size = float(predicted @ predicted)
    factor = float(found @ predicted) / size if size > 0 else 0.0
    if explained < WEAK_R_SQUARED or factor**2 * size <= _LEAST_EXPLAINED * float(found @ found):
        return _UNRELATED
    # A factor near one leaves the disagreement as it was, and explains nothing.
    if probe.distance(factor)[output] <= min(probe.tolerance, probe.disagreement[output] / 2):
        return _scaled(factor, sizes)
    return Verdict(
        "disagrees",
        f"disagrees: a common factor of {factor:.3g} explains most of the statistic's changes but not all, so the "
        f"values of some rows are wrong, a term is missing, or the statistic has steps. {_DEFINITION}",
    )


def _scaled(factor: float, sizes: tuple[int, ...]) -> Verdict:
    written = f"{abs(factor):.3g}"
    size = f" {written} times as much as the influence function says{_guessed(abs(factor), sizes)}"
    advice = f"Multiply the influence values by {factor:.3g}. {_DEFINITION}"
    if factor < 0:
        also = "" if written == "1" else f",{size}"
        return Verdict("wrong sign", f"wrong sign: the statistic changes in the other direction{also}. {advice}")
    return Verdict("wrong scale", f"wrong scale: the statistic changes{size}. {advice}")


def _guessed(factor: float, sizes: tuple[int, ...]) -> str:
    """Return the mistake that a factor suggests, if any."""
    if len(sizes) > 1:
        return ""
    if abs(factor / sizes[0] - 1) < _SAME_FACTOR:
        return ", about n: a factor n seems to be missing"
    if abs(factor * sizes[0] - 1) < _SAME_FACTOR:
        return ", about 1/n: there seems to be a factor n too many"
    return ""


def joined(verdicts: list[Verdict], names: tuple[str, ...]) -> str:
    """Return the verdicts as text, each problem with the outputs it concerns."""
    kinds = {finding.short: finding for finding in reversed(verdicts)}
    wrong = [finding for short, finding in reversed(kinds.items()) if short != AGREES]
    if not wrong:
        return f"Verdict: {verdicts[0].sentence}"
    if len(names) == 1:
        return f"Verdict: {wrong[0].sentence}"
    listed = [[name for name, own in zip(names, verdicts, strict=True) if own.short == one.short] for one in wrong]
    return "Verdict: " + " ".join(
        f"{_listed(whose)}: {finding.sentence}" for whose, finding in zip(listed, wrong, strict=True)
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{shortened(name)}`" for name in names[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} and {len(names) - _NAMES_SHOWN} more"

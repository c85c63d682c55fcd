"""Warnings about the fits of a scikit-learn model."""

from __future__ import annotations

from typing import Any

from orthoboot.functionals.evaluation import Convergence
from orthoboot.models.sklearn.adapters import adapter_of
from orthoboot.models.sklearn.interface import ContinuedModel
from orthoboot.models.sklearn.pipeline import last_step
from orthoboot.models.sklearn.refitting import random_parameters
from orthoboot.models.sklearn.solution import Solution

_NOTED_DISTANCE = 0.05
"""From the estimator's own fit to its solution, in standard errors: where the user hears of it."""
_LISTED = 5


def unconverged_fits(name: str, convergence: Convergence, solution: Solution | None) -> list[str]:
    """Return a warning where fits did not converge."""
    if not convergence.unconverged:
        return []
    is_network = solution is not None and isinstance(solution.adapter, ContinuedModel)
    advice = "Penalise the network more, give it fewer units" if is_network else "Raise `max_iter`"
    return [
        f"`{name}` did not converge in {convergence.unconverged} of {convergence.fits} fits, which adds noise to "
        f"the replicates that no influence function explains. {advice}, or scale the columns."
    ]


def random_fits(name: str, estimator: Any, solution: Solution | None) -> list[str]:
    """Return a warning if the fit to the data, and perhaps its refits, are random."""
    last = last_step(estimator)
    random = random_parameters(estimator if adapter_of(last) is None else last)
    if not random:
        return []
    if solution is not None:
        return [
            f"`{random[0]}` of `{name}` is None, so another run starts from other parameters and may end at another "
            f"minimum. Set `{random[0]}=0` for reproducible results."
        ]
    return [
        f"`{random[0]}` of `{name}` is None, so refits vary at random as well as with the data. The standard error "
        f"includes both, and the estimate changes from run to run. Set `{random[0]}=0` to include the data alone."
    ]


def stopped_early(name: str, distance: float) -> list[str]:
    """Return a warning if the estimator's fit stopped too far from its solution."""
    if distance < _NOTED_DISTANCE:
        return []
    return [
        f"the fit of `{name}` to the data stopped {distance:.2g} standard errors from its solution, which the refits "
        "reach; the bias includes the difference. Lower `tol` or raise `max_iter` of the estimator, or scale the "
        "columns."
    ]


def near_kinks(solution: Solution) -> list[str]:
    """Return a warning if the set of nonzero coefficients may change between resamples."""
    entering, leaving = solution.near_kinks()
    if not entering and not leaving:
        return []
    parts = [
        f"{', '.join(names[:_LISTED])}{' and others' if len(names) > _LISTED else ''} {what}"
        for names, what in ((entering, "near to entering"), (leaving, "near to leaving"))
        if names
    ]
    return [
        f"the penalty sets coefficients to zero, and within three standard errors are {'; '.join(parts)}: there the "
        "fit has a kink, which the influence function, for a fixed set of nonzero coefficients, ignores. Use more "
        "replicates, or the standard bootstrap, where the linear part explains little of them."
    ]

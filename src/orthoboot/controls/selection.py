"""Which control a run uses, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.controls.base import Control
from orthoboot.controls.quadratic import quadratic_control
from orthoboot.controls.surrogate import surrogate_control
from orthoboot.data.pieces import held
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError
from orthoboot.execution.execution import Execution
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.means_form import MeansForm
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.influence import InfluenceFunction
from orthoboot.plans import Iid, Plan
from orthoboot.typing import FloatArray, Key

CONTROLS = ("auto", "linear", "quadratic", "surrogate")

_MOST_PRODUCTS = 1 << 19
"""Products of features of rows that "auto" takes for a quadratic part: a few milliseconds."""

_MOST_FEATURES = 64
"""Features up to which "auto" takes their second derivatives: all pairs of them."""

_LARGEST_FORM = 256
"""Features whose second derivatives, one for all pairs and outputs, are taken at all."""

_MOST_WORK = 5e9
"""Floating-point operations that "auto" takes for the draws of a surrogate: about a second."""

_REPLICATES = 10
"""Replicates of a search: "auto" draws a surrogate for no more work than theirs."""

_FEWEST_DRAWS, _DRAWS, _MOST_DRAWS = 300, 2000, 8000
"""Draws of a surrogate: the fewest that "auto" thinks worth it, as many as are asked for, and the most."""

_FREE_WORK = 1e9
"""Floating-point operations that more draws than are asked for may take: a fifth of a second."""

_WORK_OF_ENDS = 1e4
"""Operations for a draw and an output in the ends of an interval, with their errors."""


@dataclass(frozen=True, eq=False)
class ControlSearch:
    """What a control is made from.

    Attributes
    ----------
    prepared, plan, key, execution
        The statistic at its data, how the rows are drawn, the seed, and who evaluates.
    influence
        The influence function in use. Only the statistic's own is the derivative that other controls go on from.
    linear
        Returns the linear part of resamples, of mean zero.
    linear_covariance
        Returns its exact covariance.
    unit
        What the outputs are divided by in the last three, shape ``(k,)``.
    """

    prepared: Prepared[Any]
    plan: Plan
    key: Key
    execution: Execution
    influence: InfluenceFunction
    linear: Callable[[Resamples], FloatArray | None]
    linear_covariance: Callable[[], FloatArray]
    unit: FloatArray

    def found(self, request: str) -> Control | None:
        """Return the control beyond the linear part that `request` asks for; None to use the linear part alone.

        "auto" takes a quadratic part or a surrogate where it costs little beside ten replicates.
        """
        if request == "linear" or self.influence.values is None:
            return None
        if request == "auto":
            return (self._quadratic(limited=True) or self._surrogate(limited=True)) if self.influence.own else None
        if not self.influence.own:
            raise ArgumentError(
                f'control="{request}" goes on from the statistic\'s own influence function; got influence values by '
                f'{self.influence.source}. Use influence="auto", or control="linear".'
            )
        found = self._quadratic(limited=False) if request == "quadratic" else self._surrogate(limited=False)
        if found is None:
            raise self._refusal(request)
        return found

    def _quadratic(self, *, limited: bool) -> Control | None:
        independent = all(isinstance(scheme, Iid) for scheme in self.plan.schemes)
        # Of strata and groups that are read part by part no rows are held.
        has_rows = self.plan.has_tilt and self.plan.has_draws and (independent or not self.prepared.data.is_in_pieces)
        form = self.prepared.means_form() if has_rows else None
        if form is None or len(form.point) > _LARGEST_FORM or (limited and not self._is_cheap(form)):
            return None
        assert self.influence.values is not None
        influence = tuple(map(held, self.influence.values))
        return quadratic_control(form, self.plan, influence, self.unit)

    def _is_cheap(self, form: MeansForm) -> bool:
        n_features = len(form.point)
        products = form.n_rows * self.prepared.output.size * n_features**2
        # Strata and groups must have the same answer in memory as where they are read part by part; and a user's
        # function may be dear, or have a kink.
        independent = all(isinstance(scheme, Iid) for scheme in self.plan.schemes)
        is_plain = independent and not self.prepared.functional.by_user
        # With a fixed number of rows a linear function of means leaves no remainder.
        return is_plain and not form.is_linear and n_features <= _MOST_FEATURES and products <= _MOST_PRODUCTS

    def _surrogate(self, *, limited: bool) -> Control | None:
        surrogate = self.prepared.surrogate
        # Replicates that are made together cost no more than the draws of a surrogate.
        if surrogate is None or (limited and self.prepared.work is not None):
            return None
        n_draws = self._n_draws(surrogate)
        if limited:
            n_draws = min(int(min(_MOST_WORK, _REPLICATES * surrogate.replaced_work) / surrogate.work), n_draws)
        if n_draws < _FEWEST_DRAWS:
            return None
        return surrogate_control(
            self.prepared,
            self.plan,
            self.key,
            self.execution,
            self._linear_part,
            self.linear_covariance(),
            self.unit,
            n_draws,
        )

    def _n_draws(self, surrogate: Surrogate) -> int:
        """Return how many draws to make: two thousand, and more where they cost next to nothing.

        The tails of few rows are heavy, and two thousand draws know their variance no better than to a twentieth. The
        work is counted and no clock is read, so that a seed has one answer.
        """
        work = surrogate.work + _WORK_OF_ENDS * self.prepared.output.size
        return int(np.clip(_FREE_WORK / work, _DRAWS, _MOST_DRAWS))

    def _linear_part(self, resamples: Resamples) -> FloatArray:
        linear = self.linear(resamples)
        assert linear is not None
        return linear

    def _refusal(self, request: str) -> ArgumentError:
        """Return the error of a control that cannot be had, with what is in its way."""
        why = self._why_not_quadratic if request == "quadratic" else self._why_not_surrogate
        return ArgumentError(f'control="{request}" {why} Use control="auto".')

    @property
    def _why_not_quadratic(self) -> str:
        if not (self.plan.has_tilt and self.plan.has_draws):
            return "needs rows, strata or groups that are drawn independently, and blocks are not."
        name = self.prepared.functional.name
        return (
            f"is for smooth functions of means, at most {_LARGEST_FORM} of one sample, strata and groups in memory; "
            f"`{name}` is none, or has no second derivative at these data."
        )

    @property
    def _why_not_surrogate(self) -> str:
        name = self.prepared.functional.name
        if self.prepared.surrogate is None:
            return f"is for fitted models whose loss is known and for constrained optima; `{name}` has no surrogate."
        return (
            f"has nothing to add: the Newton steps of `{name}` find no minimum on too many resamples, or end where the "
            "linear part does."
        )

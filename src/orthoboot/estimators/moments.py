"""The sums over replicates that every estimator is a function of, whole and with one replicate left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from orthoboot.controls.base import ControlValues
from orthoboot.estimators.slopes import PRIOR_REPLICATES, prior_replicates, ratio
from orthoboot.replicates import Replicates
from orthoboot.typing import BoolArray, FloatArray

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Of a sum whose terms cancel, relative to them."""


_NEARER = 0.5
"""The share beyond which a control counts more than the linear part."""

_EXACT = 1e-18
"""Of the control's variance: what a control that is the statistic leaves by rounding."""


class CentredParts(NamedTuple):
    """P, D and C of `Moments`, each ``(B, k)`` and of mean zero over the replicates."""

    changes: FloatArray
    residuals: FloatArray
    control: FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over B replicates of ``P = phi_b``, of their control C and of the residual ``D = P - phi_hat - C``.

    The control is the linear part L, or one that comes nearer to the statistic; its mean under the plan is zero. D has
    sums of its own, since those of P and C would lose its digits where the statistic is nearly linear; and P has its
    own, since what does not use the influence function must not depend on it. Each array has shape ``(k,)``, or
    ``(B, k)`` when row b is the sum without replicate b.

    Attributes
    ----------
    size
        The number of replicates in each sum.
    shift
        ``mean(P) - phi_hat``.
    residual_mean, control_mean
        Means of D and C.
    total, residual, cross, control
        Centred sums of P**2, D**2, D C and C**2.
    control_variance
        The variance of C under the plan, shape ``(k,)``: V where C is the linear part.
    known_bias
        The bias of second order, shape ``(k,)``, or the control's own; NaN where neither is known.
    prior
        How many replicates with slope one the prior of the slope is worth at most.
    second_order
        The variance of second order as far as it is known, shape ``(k,)``: that of the quadratic part; or twice the
        square of the known bias, to which it is equal where the statistic bends in one direction; zero where neither is
        known, and for a surrogate.
    is_expansion
        Whether C is the linear or the quadratic part, whose slope is off by the next order, and not a surrogate.
    slope_doubt
        How far the slope on C may be off one, in terms of the `curvature`; infinite where C knows no third order.
    bias_is_rough
        Whether the known bias is from differences that a kink may have made.
    bias_is_exact
        Whether the known bias is the bias to every order.
    is_limited
        Where C was contradicted and goes no farther than the replicates themselves, shape ``(k,)``.
    parts
        What the sums are taken of; None where one replicate is left out.
    by_linear
        The same sums with the linear part as the control, where C is another one.
    """

    size: int
    shift: FloatArray
    residual_mean: FloatArray
    control_mean: FloatArray
    total: FloatArray
    residual: FloatArray
    cross: FloatArray
    control: FloatArray
    control_variance: FloatArray
    known_bias: FloatArray
    prior: float = PRIOR_REPLICATES
    second_order: FloatArray | float = 0.0
    is_expansion: bool = True
    slope_doubt: FloatArray | float = np.inf
    bias_is_rough: bool = False
    bias_is_exact: bool = False
    is_limited: BoolArray | bool = False
    parts: CentredParts | None = None
    by_linear: Moments | None = None

    @cached_property
    def slope(self) -> FloatArray:
        """Return beta, the slope of P on C, shrunk towards one; one where nothing can be learnt."""
        return 1 + ratio(self.cross, self.control + self._prior_sum, otherwise=0.0)

    @property
    def shrinkage(self) -> FloatArray:
        """Return the share of the prior in the slope, shape ``(k,)``, between 0 and 1."""
        return ratio(self._prior_sum, self.control + self._prior_sum, otherwise=1.0)

    @cached_property
    def _prior_sum(self) -> FloatArray:
        """Return ``k V``, what the replicates of the prior add to the sum of C**2."""
        prior = prior_replicates(self.size, self.total, self.residual, self.cross, self.control, self.prior)
        return np.asarray(prior * self.control_variance)

    @cached_property
    def variance_left(self) -> FloatArray:
        """Return the variance of ``P - beta C`` between replicates, shape ``(k,)``."""
        return self.residual_about(self.slope) / (self.size - 1)

    @cached_property
    def simulated_bias(self) -> FloatArray:
        """Return ``mean(P - beta C) - phi_hat``, shape ``(k,)``."""
        return np.asarray(self.residual_mean + (1 - self.slope) * self.control_mean)

    @cached_property
    def curvature(self) -> FloatArray:
        """Return the variance beyond the linear part over that of the linear part, shape ``(k,)``.

        As the replicates show it, or as it is known to second order, whichever is larger.
        """
        linear = self if self.by_linear is None else self.by_linear
        beyond = np.maximum(linear.residual / (self.size - 1), self.second_order)
        return ratio(beyond, linear.control_variance, otherwise=np.inf)

    @cached_property
    def control_share(self) -> FloatArray:
        """Return how much the control counts beside the linear part, shape ``(k,)``, between 0 and 1.

        ``1 / (1 + (SS_C / SS_L)**((B - 1)/2))``, SS the centred sums of squares of ``P - C`` and ``P - L``: what two
        normal laws of the residuals, each with its own variance, have for odds. Of a control that `is_limited` it is
        the smallest with one replicate left out: the farthest one sets the limit, and must not speak for it too.
        """
        if self.by_linear is None:
            return np.ones_like(self.residual)
        share = _share(self.residual, self.by_linear.residual, self.size)
        if self.parts is None or not np.any(self.is_limited):
            return share
        by_control, by_linear = self._residuals_without, self.by_linear._residuals_without
        least = _share(by_control, by_linear, self.size - 1).min(axis=0)
        return np.where(self.is_limited, np.minimum(share, least), share)

    @property
    def _residuals_without(self) -> FloatArray:
        """Return the centred sums of D**2 with each replicate left out in turn, shape ``(B, k)``."""
        assert self.parts is not None
        return np.maximum(self.residual - self.size / (self.size - 1) * self.parts.residuals**2, 0)

    @property
    def control_is_nearer(self) -> BoolArray:
        """Return for which outputs a control counts more than the linear part, shape ``(k,)``."""
        nearer: BoolArray = self.control_share > _NEARER
        return nearer if self.by_linear is not None else np.zeros_like(nearer)

    def residual_about(self, slope: FloatArray) -> FloatArray:
        """Return the centred sum of ``(P - slope * C)**2``; zero where its terms cancel but for rounding."""
        excess = 1 - slope
        known = excess**2 * self.control
        left = self.residual + 2 * excess * self.cross + known
        return np.where(left > _ROUNDING * (self.residual + known), left, 0.0)


def _share(by_control: FloatArray, by_linear: FloatArray, size: int) -> FloatArray:
    """Return how much a control counts that leaves such sums of squares beside those of the linear part."""
    with np.errstate(over="ignore"):
        odds = ratio(by_control, by_linear, otherwise=np.inf) ** ((size - 1) / 2)
        return np.where(by_control > 0, 1 / (1 + odds), 1.0)


def moments_of(
    replicates: Replicates,
    control: ControlValues | None = None,
    prior: float = PRIOR_REPLICATES,
    linear_mean: FloatArray | float = 0.0,
) -> Moments:
    """Return the sums over all replicates.

    Parameters
    ----------
    control
        The control to use beside the linear part.
    prior
        How many replicates with slope one the prior of the slope is worth at most.
    linear_mean
        The mean of the linear part under the plan, which a known bias contains and which is no curvature.
    """
    known_bias = _known_bias(replicates, control)
    exact = control is None or control.law is None
    second_order = None if control is None else control.second_order
    if second_order is None:
        beyond = known_bias - linear_mean
        second_order = 2 * np.where(np.isnan(beyond), 0.0, beyond) ** 2
    by_linear = _sums(
        replicates,
        replicates.linear,
        control_variance=linear_variance(replicates),
        known_bias=known_bias,
        prior=prior,
        second_order=second_order,
    )
    if control is None:
        return by_linear
    return _sums(
        replicates,
        control.values,
        control_variance=control.variance,
        known_bias=control.mean,
        # The next order moves with the linear part too, so that the slope of a quadratic control is not quite one.
        prior=PRIOR_REPLICATES if exact else prior,
        second_order=second_order,
        is_expansion=exact,
        slope_doubt=control.slope_doubt,
        is_limited=control.is_limited,
        by_linear=by_linear,
    )


def _known_bias(replicates: Replicates, control: ControlValues | None) -> FloatArray:
    """Return the bias of second order, shape ``(k,)``; NaN where it is not known.

    That of an exact control is it; the mean of a surrogate is not, and must not move the answer where it is left aside.
    """
    if control is not None and control.law is None:
        return control.mean
    bias = replicates.second_order_bias
    return np.full_like(replicates.estimate, np.nan) if bias is None else bias


def _sums(replicates: Replicates, control: FloatArray | None, *, control_variance: FloatArray, **known: Any) -> Moments:
    """Return the sums for a control ``(B, k)``, with what is `known` of it; of zeros where there is none."""
    changes = replicates.values - replicates.estimate
    residuals, control = (changes, np.zeros_like(changes)) if control is None else (changes - control, control)
    p, d, c = centred(changes), centred(residuals), centred(control)
    left = (d**2).sum(axis=0)
    # Replicates that happen to be equal would else be compared with rounding, and it would decide about the slope.
    exact = (left > 0) & (left <= _EXACT * len(d) * control_variance)
    if exact.any():
        d, left = np.where(exact, 0.0, d), np.where(exact, 0.0, left)
    return Moments(
        size=len(changes),
        shift=_mean(changes),
        residual_mean=_mean(residuals),
        control_mean=_mean(control),
        total=(p**2).sum(axis=0),
        residual=left,
        cross=(d * c).sum(axis=0),
        control=(c**2).sum(axis=0),
        control_variance=control_variance,
        parts=CentredParts(p, d, c),
        **known,
    )


def deleted_moments(whole: Moments) -> Moments:
    """Return the sums over all replicates with each one left out in turn, shape ``(B, k)``.

    Leaving out replicate b changes a centred sum of products x y by ``- B/(B-1) (x_b - mean x) (y_b - mean y)``.
    """
    assert whole.parts is not None
    p, d, c = whole.parts
    rest = whole.size - 1
    scale = whole.size / rest
    return replace(
        whole,
        size=rest,
        shift=whole.shift - p / rest,
        residual_mean=whole.residual_mean - d / rest,
        control_mean=whole.control_mean - c / rest,
        total=np.maximum(whole.total - scale * p**2, 0),
        residual=whole._residuals_without,
        cross=whole.cross - scale * d * c,
        control=np.maximum(whole.control - scale * c**2, 0),
        parts=None,
        by_linear=None if whole.by_linear is None else deleted_moments(whole.by_linear),
    )


def moments_by_draws(whole: Moments, control: ControlValues) -> Moments | None:
    """Return the sums for the control's moments without each group of its draws, shape ``(G, k)``; None if exact."""
    law = control.law
    if law is None:
        return None
    # C is counted from its mean, and D from C.
    moved = law.means_without - control.mean
    return replace(
        whole,
        residual_mean=whole.residual_mean + moved,
        control_mean=whole.control_mean - moved,
        control_variance=law.variances_without,
        known_bias=law.means_without,
    )


def centred(values: FloatArray) -> FloatArray:
    """Return `values` less their mean over the first axis; values that are all equal give exactly zero."""
    differences = values - values[:1]
    return differences - _mean(differences)


def linear_variance(replicates: Replicates) -> FloatArray:
    """Return V for each output, shape ``(k,)``; zero without an influence function."""
    known = replicates.linear_variance
    return np.zeros_like(replicates.estimate) if known is None else known


def _mean(values: FloatArray) -> FloatArray:
    # A sum and a quotient: `mean` takes twice as long for few numbers.
    return values.sum(axis=0) / len(values) if len(values) else np.zeros(values.shape[1])

"""The sums over replicates that every estimator is a function of, whole and with one replicate left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from orthoboot.estimators.slopes import prior_replicates, ratio
from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Of a sum whose terms cancel, relative to them."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over B replicates of ``P = phi_b``, of ``L = linear_b`` and of the residual ``D = P - phi_hat - L``.

    D has sums of its own, since those of P and L would lose its digits where the statistic is nearly linear; and P has
    its own, since what does not use the influence function must not depend on it. Each array has shape ``(k,)``, or
    ``(B, k)`` when row b is the sum without replicate b.

    Attributes
    ----------
    size
        The number of replicates in each sum.
    shift
        ``mean(P) - phi_hat``.
    residual_mean, linear_mean
        Means of D and L.
    total, residual, cross, linear
        Centred sums of P**2, D**2, D L and L**2.
    linear_variance
        V, the exact variance of L under the plan, shape ``(k,)``.
    second_order_bias
        The infinitesimal jackknife's bias, shape ``(k,)``; zero where it was not asked for.
    """

    size: int
    shift: FloatArray
    residual_mean: FloatArray
    linear_mean: FloatArray
    total: FloatArray
    residual: FloatArray
    cross: FloatArray
    linear: FloatArray
    linear_variance: FloatArray
    second_order_bias: FloatArray

    @cached_property
    def slope(self) -> FloatArray:
        """Return beta, the slope of P on L, shrunk towards one; one where nothing can be learnt."""
        prior = prior_replicates(self.size, self.total, self.residual, self.cross, self.linear)
        return 1 + ratio(self.cross, self.linear + prior * self.linear_variance, otherwise=0.0)

    def residual_about(self, slope: FloatArray) -> FloatArray:
        """Return the centred sum of ``(P - slope * L)**2``; zero where its terms cancel but for rounding."""
        excess = 1 - slope
        known = excess**2 * self.linear
        left = self.residual + 2 * excess * self.cross + known
        return np.where(left > _ROUNDING * (self.residual + known), left, 0.0)


def moments_of(replicates: Replicates) -> Moments:
    """Return the sums over all replicates."""
    changes, residuals, linear = _parts(replicates)
    p, d, l = centred(changes), centred(residuals), centred(linear)  # noqa: E741
    bias = replicates.second_order_bias
    return Moments(
        size=len(replicates),
        shift=_mean(changes),
        residual_mean=_mean(residuals),
        linear_mean=_mean(linear),
        total=(p**2).sum(axis=0),
        residual=(d**2).sum(axis=0),
        cross=(d * l).sum(axis=0),
        linear=(l**2).sum(axis=0),
        linear_variance=linear_variance(replicates),
        second_order_bias=np.zeros_like(replicates.estimate) if bias is None else bias,
    )


def deleted_moments(replicates: Replicates, whole: Moments | None = None) -> Moments:
    """Return the sums with each replicate left out in turn, shape ``(B, k)``; `whole` are all of them, where known.

    Leaving out replicate b changes a centred sum of products x y by ``- B/(B-1) (x_b - mean x) (y_b - mean y)``.
    """
    whole = moments_of(replicates) if whole is None else whole
    p, d, l = map(centred, _parts(replicates))  # noqa: E741
    rest = whole.size - 1
    scale = whole.size / rest
    return replace(
        whole,
        size=rest,
        shift=whole.shift - p / rest,
        residual_mean=whole.residual_mean - d / rest,
        linear_mean=whole.linear_mean - l / rest,
        total=np.maximum(whole.total - scale * p**2, 0),
        residual=np.maximum(whole.residual - scale * d**2, 0),
        cross=whole.cross - scale * d * l,
        linear=np.maximum(whole.linear - scale * l**2, 0),
    )


def centred_parts(replicates: Replicates) -> tuple[FloatArray, FloatArray]:
    """Return the residuals D and the linear part L, each ``(B, k)`` and of mean zero over the replicates."""
    _, residuals, linear = _parts(replicates)
    return centred(residuals), centred(linear)


def centred(values: FloatArray) -> FloatArray:
    """Return `values` less their mean over the first axis; values that are all equal give exactly zero."""
    differences = values - values[:1]
    return differences - _mean(differences)


def linear_variance(replicates: Replicates) -> FloatArray:
    """Return V for each output, shape ``(k,)``; zero without an influence function."""
    known = replicates.linear_variance
    return np.zeros_like(replicates.estimate) if known is None else known


def _parts(replicates: Replicates) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``P - phi_hat``, D and L, each ``(B, k)``; L is zero without an influence function."""
    changes = replicates.values - replicates.estimate
    linear = np.zeros_like(changes) if replicates.linear is None else replicates.linear
    return changes, changes - linear, linear


def _mean(values: FloatArray) -> FloatArray:
    # A sum and a quotient: `mean` takes twice as long for few numbers.
    return values.sum(axis=0) / len(values) if len(values) else np.zeros(values.shape[1])

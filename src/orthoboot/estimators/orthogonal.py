"""The orthogonal bootstrap with an estimated slope of the control, shrunk towards one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orthoboot.estimators.base import Estimator, Sample
from orthoboot.estimators.moments import Moments
from orthoboot.estimators.slopes import ratio
from orthoboot.typing import BoolArray, FloatArray

_BELIEVED = 2.0
"""How many of its standard errors a difference from the known bias must have to count for its own sake."""

_EXPLAINED = 2.0
"""A control knows the bias where its variance is at least so many times what it leaves."""

_OFF = 0.7
"""How far the slope of an expansion is from one, in terms of its curvature.

Over the statistics of ``benchmarks/honesty.py`` it lies between a half and one and a half; one would make errors beyond
three rarer, and reported errors of ``benchmarks/simulation_error.py`` larger than 1.3 times the true ones.
"""

_SATURATION = 3.0
"""The spread of slopes is at most one over this, however large the curvature: the replicates show a large one."""

_UNSEEN = 3.0
"""How many times the spread of ``P - C`` that ten replicates show the true one may be."""

_THIRD, _ROUGH = 0.6, 8.0
"""How large a bias of third order is, in terms of ``rho**1.5 S``, rho the curvature and S the standard error.

Over the statistics of ``benchmarks/honesty.py`` of which a bias is known it lies between none and a half, or one for
ratios of ten rows. The curvature that B replicates show is itself rough: with 1 + 8/B errors beyond three are no more
frequent from ten.
"""

_KINKED = 0.5
"""How large a bias is that a kink makes, in terms of the standard deviation of what it leaves beyond the linear part.

Of ``max(mean - c, 0)`` it is 1.3 where c is the mean, .3 where it is a standard error away, and .1 at two; those at the
data show themselves in ten replicates.
"""

_STRAIGHT = 1e-30
"""Curvature in place of zero, so that one can divide by it."""

_CUBE, _NORMAL = 42.0, 20
"""The variance of ``z (z**3 - 3 z)`` for a standard normal z, and how many replicates it is worth beside their own."""

_FEW = 20
"""Replicates beyond which the doubt about the slope fades: the jackknife sees the noise of the slope by itself."""

_EXPECTED_WORTH = 20
"""How many replicates the variance that a remainder is expected to have is worth, beside the one that they show."""


class Orthogonal(Estimator):
    """Variance ``beta**2 V + sum((Pc - beta Cc)**2)/(B - 1)``, bias ``mean(P - beta C) - phi_hat``.

    P is phi_b, c means centred, C is the control of mean zero and variance V: the linear part linear_b, or what comes
    nearer to the statistic, its quadratic part or a surrogate. beta is the regression slope of P on C, shrunk towards
    one as if k more replicates had been seen with slope one::

        beta = (sum(Pc Cc) + k V) / (sum(Cc**2) + k V)
        k    = K min(1, (3/t)**2) min(1, s2(P)/s2(P - C))**2

    with t the t statistic of the unshrunk slope against one, and K = 20 for the library's own influence functions of
    smooth statistics, 5 for others and for quadratic controls. It is never negative, it tends to the bootstrap's own
    variance as B grows, and it falls back to the standard bootstrap by itself where the influence function is wrong; by
    a surrogate it tends to that of its draws. With C = L, beta = 1 and divisor B it would be the paper's estimator
    (``eq:varianceestimator``) up to the cross term, which the regression makes small.

    A control beyond the linear part counts by how much nearer it is to the replicates, `Moments.control_share`.

    To a bias that is known to second order, E, the difference m of the simulated one is added with a weight. It is
    large where further orders may be larger than the noise s of m, or where m is far beyond that noise::

        bias = E + w m,   m = mean(P - beta C) - phi_hat - E,   w = max(a**2/(a**2 + s**2), 1 - 4 s**2/m**2)

    where ``a = 0.6 (1 + 8/B) rho**1.5 S`` is the standard deviation of a bias of third order, rho the
    `Moments.curvature` and S the standard error. If E comes from differences of a user's function, which may have a
    kink, ``rho**.5 S/2`` is added to a in squares. ``s**2`` is the variance that the replicates show,
    ``s2(P - beta C)/B``. If the next order is expected to have more, ``rho V/B`` beyond the linear part or
    ``rho**2 V/B`` beyond the quadratic one, it is the average of both, in which the expected variance counts as twenty
    replicates. Where the true bias of third order is several times a, errors hold only once the replicates contradict
    E. Beside a surrogate, which leaves little noise, w is nearly one.
    """

    name = "orthogonal"
    title = "Orthogonal bootstrap"
    needs_influence = True
    uses_control = True
    minimum = 2
    default_resamples = 10
    takes_free_replicates = True

    def bias(self, moments: Moments) -> FloatArray:
        """Return ``mean(P - beta C) - phi_hat``, or a mixture with the bias of second order where that is known."""
        return _mixed(moments, _bias)

    def variance(self, moments: Moments) -> FloatArray:
        """Return the explained and the simulated part of the variance together."""
        return _mixed(moments, _variance)

    def covariance(self, sample: Sample) -> FloatArray:
        """Return ``diag(beta) V diag(beta) + R'R/(B - 1)``, R the residuals: positive semi-definite."""
        moments, linear = sample.moments, sample.linear_covariance
        if sample.control_covariance is None or moments.by_linear is None:
            return _covariance(moments, linear)
        by_control, by_linear = _covariance(moments, sample.control_covariance), _covariance(moments.by_linear, linear)
        return _mixed_covariance(by_control, by_linear, moments.control_share)

    def is_exact(self, moments: Moments) -> bool:
        """Return whether every replicate is its control: then the slope is one, and nothing is left to simulate."""
        return moments.is_expansion and not moments.residual.any()

    def error_inflation(self, moments: Moments) -> FloatArray:
        """Return ``1 + 2/B``: remainders are small mostly and large now and then, and few of them show too little.

        One for a control that knows what of the third order moves with the linear part: `least_error` has the rest.
        """
        return _mixed(moments, _error_inflation)

    def least_error(self, moments: Moments) -> FloatArray:
        """Return the noise that the slope has where the remainder is a cubic of the control, shape ``(k,)``.

        With ``z = C/sqrt(V)``, ``h = z**3 - 3 z`` and gamma the slope of ``(P - C)/sqrt(V)`` on h, about which it has
        the variance r, the covariance of P - C with C is a mean of ``z (gamma h + rest)``. The noise of the logarithm
        of the variance S2 is::

            2 beta V/S2 B/(B + k) sqrt((v gamma**2 + r)/B),   gamma**2 less its own noise r/sum(h**2)

        where v is the mean of ``(z h)**2`` over the replicates and twenty of a normal z, for which it is 42.
        Most of this comes from resamples beyond two standard deviations. Ten replicates often include none of these:
        the jackknife then takes the small products of the others for all, and is mostly too small.
        """
        return _mixed(moments, _least_error)

    def bias_doubt(self, moments: Moments) -> FloatArray:
        """Return what a known bias adds to the error of the bias that the jackknife shows, shape ``(k,)``.

        With w and s as in the bias, its posterior variance is ``w s**2``. The jackknife shows about ``w**2`` times the
        variance of the replicates, and more where these contradict E; this is the square root of what is left. Zero
        where no bias is known, and where the known one is exact.
        """
        return _mixed(moments, _bias_doubt)

    def doubt(self, moments: Moments) -> FloatArray:
        """Return what the shrinkage of the slope may do to the logarithm of the variance, shape ``(k,)``.

        It is a bias where the slope is not one, which leaving out replicates does not show. The slope on the linear or
        the quadratic part is off by about rho, the `Moments.curvature`, since the covariance of the next order with the
        linear part is about as large as the variance of second order. Over statistics slopes spread about one by tau,
        of which the prior of k replicates leaves the doubt::

            tau   = 0.7 min(rho/(1 + 3 rho), 3 s(P - C)/sqrt(V))
            doubt = 2 tau sqrt(k/(B + k) min(1, 20/B))

        The second bound on tau is that of Cauchy and Schwarz. A quadratic control that knows what of the third order
        moves with the linear part is off by less, at most ``2.5 rho / sqrt(n)``. The slope on a surrogate has no such
        size: there the doubt is ``|log(S2(raw slope)/S2(beta))|``.
        """
        return _mixed(moments, _doubt)


def _mixed(moments: Moments, quantity: Callable[[Moments], FloatArray]) -> FloatArray:
    """Return a quantity by the control and by the linear part, each with its share."""
    if moments.by_linear is None:
        return quantity(moments)
    share = moments.control_share
    return np.asarray(share * quantity(moments) + (1 - share) * quantity(moments.by_linear))


def _error_inflation(moments: Moments) -> FloatArray:
    return np.where(np.isfinite(moments.slope_doubt), 1.0, np.full_like(moments.slope, 1 + 2 / moments.size))


def _least_error(moments: Moments) -> FloatArray:
    assert moments.parts is not None
    scale = np.sqrt(moments.control_variance)
    # Influence values of a user may be as small as 1e-160, beside replicates of any size.
    with np.errstate(over="ignore", invalid="ignore"):
        z, left = (ratio(part, scale, otherwise=0.0) for part in (moments.parts.control, moments.parts.residuals))
        noise = np.sqrt(_product_variance(z, left) / moments.size)
        moved = 2 * moments.slope * ratio(moments.control_variance, _variance(moments), otherwise=0.0)
        least = moved * (1 - moments.shrinkage) * noise
    return np.where(np.isfinite(least), least, 0.0)


def _product_variance(z: FloatArray, left: FloatArray) -> FloatArray:
    """Return the variance of z times what is left, a multiple of ``h = z**3 - 3 z`` and a rest, both ``(B, k)``."""
    size, cubes = len(z), z * (z * z - 3)
    total = (cubes**2).sum(axis=0)
    cubic = ratio((cubes * left).sum(axis=0), total, otherwise=0.0)
    rest = ((left - cubic * cubes) ** 2).sum(axis=0) / max(size - 2, 1)
    squared = np.maximum(cubic**2 - ratio(rest, total, otherwise=0.0), 0.0)
    of_products = (_NORMAL * _CUBE + ((z * cubes) ** 2).sum(axis=0)) / (_NORMAL + size)
    return np.asarray(squared * of_products + rest)


def _doubt(moments: Moments) -> FloatArray:
    if not moments.is_expansion:
        return _shrinkage_effect(moments)
    left = ratio(moments.residual / (moments.size - 1), moments.control_variance, otherwise=0.0)
    spread = np.minimum(_slope_spread(moments), _OFF * _UNSEEN * np.sqrt(left))
    return np.asarray(2 * spread * np.sqrt(moments.shrinkage * min(1.0, _FEW / moments.size)))


def _slope_spread(moments: Moments) -> FloatArray:
    """Return how far slopes on an expansion spread about one, as the curvature has it, shape ``(k,)``."""
    curvature = np.maximum(moments.curvature, _STRAIGHT)
    # 0.7 rho/(1 + 3 rho), for an infinite rho too.
    return np.minimum(_OFF / (1 / curvature + _SATURATION), moments.slope_doubt * curvature)


def _bias_doubt(moments: Moments) -> FloatArray:
    weight = _bias_weight(moments)
    unseen = weight * (_bias_noise(moments) - weight * moments.variance_left / moments.size)
    return np.where(_knows_bias(moments), np.sqrt(np.maximum(unseen, 0.0)), 0.0)


def _shrinkage_effect(moments: Moments) -> FloatArray:
    """Return the logarithm of the variance by the unshrunk slope over that by the shrunk one, without its sign."""
    raw = 1 + ratio(moments.cross, moments.control, otherwise=0.0)
    unshrunk = raw**2 * moments.control_variance + moments.residual_about(raw) / (moments.size - 1)
    quotient = ratio(unshrunk, _variance(moments), otherwise=1.0)
    return np.abs(np.log(np.where(quotient > 0, quotient, 1.0)))


def _mixed_covariance(first: FloatArray, second: FloatArray, share: FloatArray) -> FloatArray:
    """Return a mixture of two covariances ``(k, k)``: of variances by their own shares, of correlations by the mean.

    Positive semi-definite, as a mixture of correlations is. Shares of their own would take covariances away between
    outputs that are known by different controls.
    """
    variance = share * np.diag(first) + (1 - share) * np.diag(second)
    common, spread = float(share.mean()), np.sqrt(variance)
    mixed = np.outer(spread, spread) * (common * _correlations(first) + (1 - common) * _correlations(second))
    np.fill_diagonal(mixed, variance)
    return mixed


def _correlations(covariance: FloatArray) -> FloatArray:
    """Return the correlations, zero for outputs that do not vary."""
    spread = np.sqrt(np.diag(covariance))
    scale = np.outer(spread, spread)
    correlations: FloatArray = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    return correlations


def _bias(moments: Moments) -> FloatArray:
    weight = _bias_weight(moments)
    known = np.where(weight < 1, moments.known_bias, 0.0)
    return np.asarray(weight * moments.simulated_bias + (1 - weight) * known)


def _bias_weight(moments: Moments) -> FloatArray:
    """Return w, how much the replicates count beside the bias of second order; one where that is not known."""
    knows = _knows_bias(moments)
    if moments.bias_is_exact or not knows.any():
        return np.where(moments.bias_is_exact & np.isfinite(moments.known_bias), 0.0, 1.0)
    noise, further = _bias_noise(moments), _further_bias(moments) ** 2
    expected = ratio(further, further + noise, otherwise=1.0)
    seen = (moments.simulated_bias - moments.known_bias) ** 2
    contradicted = 1 - ratio(_BELIEVED**2 * noise, seen, otherwise=1.0)
    return np.where(knows, np.maximum(expected, contradicted), 1.0)


def _bias_noise(moments: Moments) -> FloatArray:
    """Return the variance of the simulated bias: as the replicates show it, or mixed with a larger expected one."""
    shown = moments.variance_left
    if not moments.is_expansion:
        return shown / moments.size
    curvature, is_linear = np.minimum(moments.curvature, 1.0), moments.by_linear is None
    expected = moments.control_variance * (curvature if is_linear else curvature**2)
    # Replicates that are their control but for rounding leave nothing, now or later.
    unseen = np.where(shown > 0, np.maximum(expected - shown, 0.0), 0.0)
    return np.asarray((shown + unseen * _EXPECTED_WORTH / (_EXPECTED_WORTH + moments.size)) / moments.size)


def _further_bias(moments: Moments) -> FloatArray:
    """Return how large the bias beyond the second order may be, shape ``(k,)``."""
    curvature, error = np.minimum(moments.curvature, 1.0), np.sqrt(_variance(moments))
    third_order = _THIRD * (1 + _ROUGH / moments.size) * curvature**1.5 * error
    return np.hypot(third_order, _KINKED * np.sqrt(curvature) * error) if moments.bias_is_rough else third_order


def _knows_bias(moments: Moments) -> BoolArray:
    """Return where the bias of second order is known; a control that explains little knows little of it."""
    explains = moments.control_variance > _EXPLAINED * moments.variance_left
    return np.asarray(np.isfinite(moments.known_bias) & explains)


def _variance(moments: Moments) -> FloatArray:
    return np.asarray(moments.slope**2 * moments.control_variance + moments.variance_left)


def _covariance(moments: Moments, known: FloatArray) -> FloatArray:
    """Return the explained and the simulated covariance together; `known` is that of the control, ``(k, k)``."""
    assert moments.parts is not None
    beta = moments.slope
    remainder = moments.parts.residuals + (1 - beta) * moments.parts.control
    explained: FloatArray = np.outer(beta, beta) * known
    simulated: FloatArray = remainder.T @ remainder / (len(remainder) - 1)
    return explained + simulated


def slope(moments: Moments) -> FloatArray:
    """Return beta, the shrunken slope of phi_b on its control; one where nothing can be learnt."""
    return _of_nearer(moments, lambda some: some.slope)


def raw_slope(moments: Moments) -> FloatArray:
    """Return the least-squares slope of phi_b on its control; one where the control does not vary."""
    return _of_nearer(moments, lambda some: 1 + ratio(some.cross, some.control, otherwise=0.0))


def r_squared(moments: Moments) -> FloatArray:
    """Return the share of the variance between replicates that the control explains, in [0, 1].

    Where the replicates do not vary it is zero if the control says that they should, and one if it does not.
    """
    return _of_nearer(moments, _r_squared)


def _of_nearer(moments: Moments, quantity: Callable[[Moments], FloatArray]) -> FloatArray:
    """Return a quantity by the control or by the linear part, whichever counts more."""
    if moments.by_linear is None:
        return quantity(moments)
    return np.where(moments.control_is_nearer, quantity(moments), quantity(moments.by_linear))


def _r_squared(moments: Moments) -> FloatArray:
    explained = moments.slope**2 * moments.control_variance
    simulated = moments.variance_left
    share = ratio(explained, explained + simulated, otherwise=0.0)
    return np.where((explained + simulated == 0) & (moments.control_variance == 0), 1.0, share)

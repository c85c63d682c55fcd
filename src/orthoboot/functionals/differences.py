"""Derivatives of functions of means by differences of fourth order."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from orthoboot.typing import FloatArray

PointFunction = Callable[[FloatArray], FloatArray]
"""Takes points in the columns of a ``(p, ...)`` array and returns their values, ``(k, ...)``."""

_EPSILON = float(np.finfo(np.float64).eps)
_STEP = _EPSILON ** (1 / 5)
"""In standard deviations of one row: where truncation and rounding of fourth-order differences are about equal."""
_SHORTER, _SHORTENINGS = 8, 6
"""Down to a billionth of a standard deviation; no smooth function needs more than one, but next to a pole."""
_AGREEMENT = 1e-6
"""Two derivatives that differ by so much, relative to the largest, are the same."""
_SECOND_ORDER_AGREEMENT = 2.5e-4
"""Where differences of second order agree with those of fourth so far, these agree to `_AGREEMENT`: beside a pole at d
the former are off by (step/d)**2, the latter by 4 (step/d)**4."""
_LARGEST_STEP = 0.1
"""In standard errors: a step within what resampling itself does stays where the function is defined."""


def jacobian_by_differences(value: PointFunction, point: FloatArray, scale: FloatArray, n_rows: int) -> FloatArray:
    """Return the derivative of `value` at `point`, shape ``(k, p)``, by central differences of fourth order.

    Where those of second order say something else, as next to a pole, steps are shortened until two of fourth order
    agree.

    Parameters
    ----------
    value
        The function; it is called with many points at once.
    point
        Shape ``(p,)``.
    scale
        How far one row is from `point` in each component, shape ``(p,)``; components that do not vary get zeros.
    n_rows
        The number of rows, which bounds the steps by the standard error.
    """
    fraction = min(_STEP, _LARGEST_STEP / np.sqrt(n_rows))
    steps = [scale * fraction / _SHORTER**times for times in range(_SHORTENINGS + 1)]
    jacobian, of_second_order = _central_differences(value, point, steps[0])
    best, least = jacobian, np.inf
    # The same values give both, so that a function that is smooth and dear is not called again.
    if _relative_distance(of_second_order, jacobian, scale) <= _SECOND_ORDER_AGREEMENT:
        return jacobian
    for shorter in steps[1:]:
        following, _ = _central_differences(value, point, shorter)
        disagreement = _relative_distance(jacobian, following, scale)
        if disagreement < least:
            best, least = jacobian, disagreement
        if disagreement <= _AGREEMENT or not np.isfinite(following).all():
            break
        jacobian = following
    return best


def _central_differences(value: PointFunction, point: FloatArray, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of fourth and of second order by differences of about the given lengths, ``(k, p)`` each.

    Zero where the lengths are zero.
    """
    varying = np.flatnonzero(lengths > 0)
    # Powers of two: then the points are exact, and large means do not spoil the steps.
    steps = np.exp2(np.round(np.log2(lengths[varying])))
    directions = np.zeros((len(point), len(varying)))
    directions[varying, np.arange(len(varying))] = steps
    values = _values_along(value, point, directions, (-2, -1, 1, 2))
    fourth, second = np.zeros((2, len(values), len(point)))
    fourth[:, varying] = (values[:, 0] - values[:, 3] + 8 * (values[:, 2] - values[:, 1])) / (12 * steps)
    second[:, varying] = (values[:, 2] - values[:, 1]) / (2 * steps)
    return fourth, second


def _relative_distance(first: FloatArray, second: FloatArray, scale: FloatArray) -> float:
    """Return the largest difference between two derivatives, relative to the largest change by one row."""
    distance, size = np.abs(first - second) * scale, np.abs(second) * scale
    return float(distance.max(initial=0.0) / max(size.max(initial=0.0), np.finfo(np.float64).tiny))


def curvature_by_differences(
    value: PointFunction, point: FloatArray, directions: FloatArray, n_rows: int
) -> FloatArray:
    """Return ``sum_l u_l' g'' u_l``, shape ``(k,)``, by second differences of fourth order.

    Parameters
    ----------
    value
        The function g; it is called once, with all points.
    point
        Shape ``(p,)``.
    directions
        The directions u_l in the columns, shape ``(p, q)``, as long as a standard error.
    n_rows
        The number of rows: how much longer than a standard error the deviation of one row is.
    """
    trace: FloatArray = second_derivatives_along(value, point, directions, n_rows).sum(axis=-1)
    return trace


def second_derivatives_along(
    value: PointFunction, point: FloatArray, directions: FloatArray, n_rows: int
) -> FloatArray:
    """Return ``u_l' g'' u_l`` for each direction, shape ``(k, q)``; the arguments are those of the sum over them."""
    step = min(_STEP * np.sqrt(n_rows), _LARGEST_STEP)
    values = _values_along(value, point, directions * step, (-2, -1, 0, 1, 2))
    outer, inner, middle = values[:, 0] + values[:, 4], values[:, 1] + values[:, 3], values[:, 2]
    second: FloatArray = (16 * inner - outer - 30 * middle) / (12 * step**2)
    return second


def _values_along(
    value: PointFunction, point: FloatArray, directions: FloatArray, multiples: tuple[int, ...]
) -> FloatArray:
    """Return `value` at ``point + multiple * direction``, shape ``(k, multiples, q)``."""
    shape = (len(multiples), directions.shape[1])
    if not directions.size:
        return np.zeros((len(value(point)), *shape))
    offsets = np.array(multiples, dtype=np.float64)[:, np.newaxis] * directions[:, np.newaxis, :]
    points = point[:, np.newaxis] + offsets.reshape(len(point), -1)
    return value(points).reshape(-1, *shape)


class PrincipalAxes(NamedTuple):
    """Directions U in the columns, shape ``(p, q)``, and their left inverse, shape ``(q, p)``."""

    directions: FloatArray
    inverse: FloatArray


def principal_axes(covariance: FloatArray) -> PrincipalAxes:
    """Return U with ``U U' = covariance``, and its left inverse; directions of no variance are left out.

    The eigenvectors are those of the correlations, so that features of very different size keep their digits, and a
    power of two in one of them changes none.
    """
    deviations = np.sqrt(np.diag(covariance))
    varying = np.flatnonzero(deviations > 0)
    lengths = deviations[varying]
    eigenvalues, vectors = np.linalg.eigh(covariance[np.ix_(varying, varying)] / np.outer(lengths, lengths))
    # Eigenvalues below rounding would only add evaluations outside of the space the features span.
    kept = eigenvalues > len(varying) * _EPSILON
    roots, vectors = np.sqrt(eigenvalues[kept]), vectors[:, kept]
    directions, inverse = np.zeros((len(covariance), len(roots))), np.zeros((len(roots), len(covariance)))
    directions[varying] = lengths[:, np.newaxis] * vectors * roots
    inverse[:, varying] = (vectors / roots).T / lengths
    return PrincipalAxes(directions, inverse)


def principal_directions(covariance: FloatArray) -> FloatArray:
    """Return U, shape ``(p, q)``, with ``U U' = covariance``; directions of no variance are left out.

    Examples
    --------
    >>> principal_directions(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[2.],
           [0.]])
    """
    return principal_axes(covariance).directions

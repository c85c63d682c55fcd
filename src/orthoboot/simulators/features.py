"""Features of an input's rows: functions in which the influence of a row on the output is sought first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from orthoboot.typing import FloatArray

KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)
"""Quantiles of the rows at which the pieces of the spline meet."""

MOST_VALUES = 12
"""A column of no more values has an indicator of each instead."""

_DEPENDENT = 1e-7
"""A column whose part orthogonal to the others is smaller, relative to its size, adds nothing."""


def orthonormal_features(rows: FloatArray) -> FloatArray:
    """Return features of rows ``(n, d)`` as columns ``(n, p)`` with mean zero and ``features' features = n I``.

    Of each column a natural spline of five knots and its square, or an indicator for every value where there are few;
    of each pair of columns their product. Constant rows have no features.

    Examples
    --------
    >>> features = orthonormal_features(np.arange(50.0)[:, np.newaxis])
    >>> features.shape, bool(np.allclose(features.T @ features, 50 * np.eye(5)))
    ((50, 5), True)
    """
    # A power of two changes no digit, and keeps squares and cubes within the range of numbers.
    rows = np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=0))[1])
    columns = [column for j in range(rows.shape[1]) for column in _of_column(rows[:, j])]
    columns += [first * second for first, second in combinations(map(_standardised, rows.T), 2)]
    return orthonormalised(columns, len(rows))


def orthonormalised(columns: list[FloatArray], n: int) -> FloatArray:
    """Return columns of n numbers with their means and what they share with earlier columns removed, shape (n, p)."""
    kept: list[FloatArray] = []
    for column in columns:
        rest = column - column.mean()
        size = np.linalg.norm(rest)
        if size <= _DEPENDENT * np.linalg.norm(column):
            continue
        # Twice: the first pass leaves rounding of the size of what it removed.
        for _ in range(2):
            for other in kept:
                rest = rest - (other @ rest) / n * other
        length = np.linalg.norm(rest)
        if length > _DEPENDENT * size:
            kept.append(rest * (np.sqrt(n) / length))
    return np.stack(kept, axis=1) if kept else np.empty((n, 0))


def _of_column(values: FloatArray) -> Iterator[FloatArray]:
    distinct = np.unique(values)
    if len(distinct) <= MOST_VALUES:
        yield from ((values == value).astype(np.float64) for value in distinct[1:])
        return
    standard = _standardised(values)
    yield standard
    yield from _natural_spline(standard, np.unique(np.quantile(standard, KNOTS)))
    yield standard**2


def _standardised(values: FloatArray) -> FloatArray:
    spread = values.std()
    return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0))


def _natural_spline(values: FloatArray, knots: FloatArray) -> Iterator[FloatArray]:
    """Yield the curved columns of the natural cubic spline: linear beyond the outer knots."""
    if len(knots) < 3:
        return
    last = knots[-1]

    def slope(knot: float) -> FloatArray:
        cubes = np.maximum(values - knot, 0.0) ** 3 - np.maximum(values - last, 0.0) ** 3
        return np.asarray(cubes / (last - knot))

    for knot in knots[:-2]:
        yield slope(knot) - slope(knots[-2])

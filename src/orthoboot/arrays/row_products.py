"""Columns that are computed row by row: deviations from the means, products of them, and multiples of all these.

Plain numbers and no functions, so that a compiled kernel can compute them where it adds them up, and no array of them
is ever written to memory. This module is their definition, in plain numpy: which multiplications and additions make a
number, and in which order, so that it has the same bits on every path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from orthoboot.arrays.passes import pieces
from orthoboot.arrays.units import divided, times_unit
from orthoboot.typing import FloatArray, IntArray

_FEW_PAIRS = 4


class RowProducts(NamedTuple):
    """How p features of a row, and k multiples of them, are computed from its v numbers.

    In this order: variable i is ``(x_i / unit_i - first_i - rest_i) inverse_i``. The features are the variables, then
    products of two earlier features each; all are multiplied by `factor`, and `centre` is taken off. Output j is
    ``scale_j (slopes_0j feature_(places_0j) + slopes_1j feature_(places_1j) + ...)``, added from left to right.

    Attributes
    ----------
    unit, first, rest, inverse
        Of the variables, shape ``(v,)``.
    pairs
        The numbers of the two features that make each further one, shape ``(p - v, 2)``.
    factor, centre
        Of the features, shape ``(p,)``.
    places, slopes
        Which features make each output, and how often, shape ``(t, k)``; without a row the features are the outputs.
    scale
        Of the outputs, shape ``(k,)``.
    """

    unit: FloatArray
    first: FloatArray
    rest: FloatArray
    inverse: FloatArray
    pairs: IntArray
    factor: FloatArray
    centre: FloatArray
    places: IntArray
    slopes: FloatArray
    scale: FloatArray

    @property
    def n_features(self) -> int:
        """Return p."""
        return len(self.centre)

    @property
    def n_outputs(self) -> int:
        """Return k."""
        return len(self.scale)

    def less(self, centre: FloatArray) -> RowProducts:
        """Return the same features, deviations from `centre`, shape ``(p,)``."""
        return self._replace(centre=centre)

    def combined(self, places: IntArray, slopes: FloatArray, scale: FloatArray) -> RowProducts:
        """Return multiples of the features as outputs."""
        return self._replace(places=np.array(places), slopes=np.array(slopes, dtype=np.float64), scale=np.array(scale))

    @property
    def of_features(self) -> RowProducts:
        """Return the features themselves as outputs."""
        p = self.n_features
        return self._replace(places=np.empty((0, p), np.int64), slopes=np.empty((0, p)), scale=np.ones(p))


def row_products(
    unit: FloatArray,
    mean: tuple[FloatArray, FloatArray],
    pairs: IntArray,
    *,
    inverse: FloatArray | None = None,
    factor: FloatArray | None = None,
) -> RowProducts:
    """Return deviations from a mean, which has a first part and a rest, and products of them.

    Examples
    --------
    >>> one = np.ones(1)
    >>> squares = row_products(one, (2 * one, 0 * one), np.array([[0, 0]]))
    >>> product_columns(squares, [np.array([1.0, 4.0])])
    array([[-1.,  1.],
           [ 2.,  4.]])
    """
    p = len(unit) + len(pairs)
    ones = np.ones(p)
    return RowProducts(
        unit=unit,
        first=mean[0],
        rest=mean[1],
        inverse=ones[: len(unit)] if inverse is None else inverse,
        pairs=pairs,
        factor=ones if factor is None else factor,
        centre=np.zeros(p),
        places=np.empty((0, p), np.int64),
        slopes=np.empty((0, p)),
        scale=ones,
    )


def product_columns(products: RowProducts, tables: Sequence[FloatArray]) -> FloatArray:
    """Return the outputs of rows in one or more tables ``(m, ...)``, shape ``(m, k)``, column by column in memory."""
    m, p = len(tables[0]), products.n_features
    features = np.empty((p, m))
    for piece in pieces(m, p + 1):
        _store_features(products, [table[piece] for table in tables], features[:, piece])
    return features.T if not len(products.places) else _outputs(products, features)


def _store_features(products: RowProducts, tables: Sequence[FloatArray], features: FloatArray) -> None:
    v = len(products.unit)
    start = 0
    for table in tables:
        columns = table.reshape(len(table), -1)
        places = slice(start, start + columns.shape[1])
        first = products.first[places, np.newaxis]
        np.subtract(divided(columns, products.unit[places]).T, first, out=features[places])
        start = places.stop
    variables = features[:v]
    variables -= products.rest[:, np.newaxis]
    if (products.inverse != 1).any():
        variables *= products.inverse[:, np.newaxis]
    for out, one, other in _runs(products.pairs, v):
        np.multiply(features[one], features[other], out=features[out])
    if (products.factor != 1).any():
        features *= products.factor[:, np.newaxis]
    if products.centre.any():
        features -= products.centre[:, np.newaxis]


def _runs(pairs: IntArray, start: int) -> Iterator[tuple[slice, slice, slice]]:
    """Yield the places of features from `start` on that are products of as many consecutive ones, and those of both.

    One operation on many columns takes less time than one for each of them.
    """
    # Mostly there are one or a few, which takes less time to see than to look for runs.
    breaks = list(range(1, len(pairs)))
    if len(pairs) > _FEW_PAIRS:
        breaks = (np.flatnonzero((np.diff(pairs, axis=0) != 1).any(axis=1)) + 1).tolist()
    for begin, end in pairwise([0, *breaks, len(pairs)] if len(pairs) else []):
        size, (one, other) = end - begin, pairs[begin].tolist()
        yield slice(start + begin, start + end), slice(one, one + size), slice(other, other + size)


def _outputs(products: RowProducts, features: FloatArray) -> FloatArray:
    m, k = features.shape[1], products.n_outputs
    outputs = np.empty((k, m))
    chosen = [_consecutive(places) for places in products.places]
    slopes = products.slopes[..., np.newaxis]
    for piece in pieces(m, products.n_features + k):
        part, total = features[:, piece], outputs[:, piece]
        np.multiply(part[chosen[0]], slopes[0], out=total)
        for places, slope in zip(chosen[1:], slopes[1:], strict=True):
            total += part[places] * slope
    return times_unit(outputs.T, products.scale)


def _consecutive(places: IntArray) -> slice | IntArray:
    """Return places as a slice where they follow each other: no copy is made of what lies there."""
    first = int(places[0])
    return slice(first, first + len(places)) if (np.diff(places) == 1).all() else places

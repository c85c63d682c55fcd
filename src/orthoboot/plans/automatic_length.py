"""The length of blocks by the autocorrelation of the data: the rule of Politis and White.

References
----------
D. N. Politis and H. White (2004), Automatic block-length selection for the dependent bootstrap, Econometric Reviews
23(1), 53-70. A. Patton, D. N. Politis and H. White (2009), Correction to "Automatic block-length selection for the
dependent bootstrap" by D. Politis and H. White, Econometric Reviews 28(4), 372-375.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orthoboot.arrays.units import power_of_two
from orthoboot.data import Data
from orthoboot.data.tables import InputTable
from orthoboot.errors import ArgumentError, DataError
from orthoboot.typing import FloatArray

AUTOMATIC = "auto"
"""The `block_length` that asks for the rule."""

_FEWEST_ROWS = 11
"""Rows from which the longest lag that the rule may look at leaves rows on both sides."""

_FEWEST_LAGS = 5
"""So many autocorrelations in a row, or more, must be negligible."""


@dataclass(frozen=True)
class OptimalLengths:
    """The lengths of blocks that the rule finds, not rounded.

    Attributes
    ----------
    stationary
        The mean length of stationary blocks.
    circular
        The length of circular blocks, and of moving ones, whose variance is the same to the order that counts.
    """

    stationary: float
    circular: float


def automatic_length(data: Data, sample: int, block_kind: str) -> int:
    """Return the length of blocks for the rows of a sample, in whole rows.

    The largest over the columns, so that the blocks are long enough for all of them; rounded to the nearest whole
    number, and to 1 where that is 0.

    Parameters
    ----------
    data
        The samples, with rows in time order.
    sample
        The number of the sample.
    block_kind
        "stationary"; others have the length of circular blocks.
    """
    found = _of_columns(data.sample(sample))
    lengths = [one.stationary if block_kind == "stationary" else one.circular for one in found]
    return max(round(max(lengths)), 1)


def optimal_lengths(series: FloatArray) -> OptimalLengths:
    """Return the lengths with the least mean squared error of the variance of a mean, to first order.

    With ``R_k`` the autocovariance at lag k (divisor n) and ``h(t) = min(1, 2 (1 - |t|))``::

        G = sum_{|k| <= M} h(k/M) |k| R_k,   S = sum_{|k| <= M} h(k/M) R_k,
        b = (2 G^2 / D)^(1/3) n^(1/3),       D = 2 S^2 for stationary, (4/3) S^2 for circular blocks

    M is twice the first lag from which ``K = max(5, floor(log10 n))`` autocorrelations in a row lie below
    ``2 sqrt(log10(n) / n)``, at most ``ceil(sqrt(n)) + K``, and that where there is no such lag. No length is above
    ``ceil(min(3 sqrt(n), n/3))``.

    Parameters
    ----------
    series
        In time order, of 11 numbers or more that are not all equal, shape ``(n,)``.

    Examples
    --------
    >>> series = np.cumsum(np.random.default_rng(0).normal(size=200))
    >>> optimal_lengths(series[:100]).circular > optimal_lengths(np.diff(series)[:100]).circular
    True
    """
    n = len(series)
    centred = series / power_of_two(np.abs(series).max())
    centred = centred - centred.mean()
    bandwidth = _bandwidth(centred)
    lags = np.arange(1, bandwidth + 1)
    window = np.minimum(1.0, 2 * (1 - lags / bandwidth))
    covariances = np.array([_lagged_product(centred, lag) for lag in range(bandwidth + 1)]) / n
    slope = 2 * (window * lags * covariances[1:]).sum()
    spectrum = covariances[0] + 2 * (window * covariances[1:]).sum()
    longest = float(np.ceil(min(3 * np.sqrt(n), n / 3)))
    # A spectrum of zero, as that of differences, asks for blocks without end.
    ratio = slope**2 / spectrum**2 * n if spectrum**2 > 0 else np.inf
    stationary, circular = (min(float(np.cbrt(2 * ratio / constant)), longest) for constant in (2, 4 / 3))
    return OptimalLengths(stationary, circular)


def _bandwidth(centred: FloatArray) -> int:
    """Return M, the largest lag that counts, for a centred series."""
    n = len(centred)
    run = _needed_run(n)
    largest = _largest_lag(n)
    threshold = 2 * np.sqrt(np.log10(n) / n)
    negligible = 0
    for lag in range(1, largest):
        negligible = negligible + 1 if _autocorrelation(centred, lag) < threshold else 0
        if negligible == run:
            return min(2 * (lag - run + 1), largest)
    return largest


def _needed_run(n: int) -> int:
    """Return K, how many autocorrelations in a row must be negligible."""
    return max(_FEWEST_LAGS, int(np.log10(n)))


def _largest_lag(n: int) -> int:
    """Return the largest M for n rows."""
    return int(np.ceil(np.sqrt(n))) + _needed_run(n)


def _autocorrelation(centred: FloatArray, lag: int) -> float:
    """Return the absolute autocorrelation at a lag; infinite where the rows that it compares do not vary.

    Each lag has the variances of its own rows, which matters for short series. As in the package arch, whose numbers
    these are, they leave out one row more than the lag does.
    """
    later, earlier = centred[lag + 1 :], centred[: -(lag + 1)]
    scale = float(np.sqrt((later @ later) * (earlier @ earlier)))
    return abs(_lagged_product(centred, lag)) / scale if scale > 0 else np.inf


def _lagged_product(centred: FloatArray, lag: int) -> float:
    """Return ``sum_t x_t x_{t - lag}``."""
    return float(centred[lag:] @ centred[: len(centred) - lag])


def _of_columns(sample: Data) -> list[OptimalLengths]:
    """Return the lengths of each column of a sample."""
    n = sample.sizes[0]
    if n < _FEWEST_ROWS:
        raise ArgumentError(
            f'`block_length="auto"` needs at least {_FEWEST_ROWS} rows, since it looks at autocorrelations; got {n}. '
            "Pass `block_length` as a number."
        )
    return [optimal_lengths(column) for table in sample.tables for column in _columns(table)]


def _columns(table: InputTable) -> Iterator[FloatArray]:
    """Yield the columns of a table, each a series of numbers that vary."""
    try:
        rows = table.numbers()
    except DataError as error:
        raise DataError(
            '`block_length="auto"` needs columns of numbers, whose autocorrelations it looks at. Leave others out, or '
            f"pass `block_length` as a number: {error}"
        ) from error
    for position, column in enumerate(rows.reshape(len(rows), -1).T):
        if column.min() == column.max():
            raise _constant(table, position, float(column[0]), alone=rows.ndim == 1)
        yield np.ascontiguousarray(column)


def _constant(table: InputTable, position: int, value: float, *, alone: bool) -> DataError:
    """Return the error of a column that does not vary."""
    name = position if table.columns is None else repr(table.columns[position])
    which = f"`{table.label}`" if alone else f"column {name} of `{table.label}`"
    remedy = "Leave it out" if alone else "Leave that column out"
    return DataError(
        f'`block_length="auto"` needs columns that vary, since a constant has no autocorrelation; {which} is {value:g} '
        f"in every row. {remedy}, or pass `block_length` as a number."
    )

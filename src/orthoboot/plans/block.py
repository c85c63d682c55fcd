"""Blocks of consecutive rows, for data in time order: moving, circular and stationary."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from orthoboot.draws.random_counts import RESTART, checked_rows, is_whole_number, uniform_integers
from orthoboot.errors import ArgumentError
from orthoboot.plans.base import Draws, Scheme
from orthoboot.plans.categories import block_variances
from orthoboot.typing import FloatArray, IntArray, Key


@dataclass(frozen=True)
class Blocks(Scheme):
    """n rows in time order, joined from blocks of consecutive rows.

    Parameters
    ----------
    n
        Rows of the sample.
    length
        Rows of a block, from 1 to n - 1.
    automatic
        Whether the length was found from the data; the draws are the same.
    """

    kind: ClassVar[str]
    """What users call it."""
    unit: ClassVar[str] = "blocks"
    has_tilt: ClassVar[bool] = False
    ordered: ClassVar[bool] = True
    n: int
    length: int
    automatic: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checked_rows(self.n)
        if not is_whole_number(self.length) or not 1 <= self.length < self.n:
            raise ArgumentError(
                f"`block_length` must be a whole number from 1 to n - 1 = {self.n - 1}; got {self.length!r}. "
                '"auto" finds one from the data.'
            )

    @property
    def block_length(self) -> int:
        """Return the rows of a block, or their mean number where that is random."""
        return int(self.length)

    @property
    def n_units(self) -> int:
        """Return how many blocks of that length cover the rows."""
        return -(-self.n // self.length)

    @property
    def description(self) -> str:
        """Return a description of what is resampled."""
        return f"{self.n:,} rows in {self.kind} blocks of {self.length:,}"

    def reordered(self, generator: np.random.Generator) -> None:
        """Return None: the order of the rows is their order in time."""

    def tilt(self, influence: FloatArray) -> None:
        """Return None: weights tilted row by row would ignore the dependence that the blocks keep."""


class _EqualBlocks(Blocks):
    """Blocks of one length that cover n rows, the last one truncated."""

    @property
    @abstractmethod
    def n_starts(self) -> int:
        """Return how many rows a block may start at."""

    def indices(self, key: Key, stream: int, replicate: int) -> IntArray:
        """Return the rows of one resample, block after block."""
        starts = uniform_integers(key, stream, [replicate], np.full(self.n_units, self.n_starts))[0]
        rows = (starts[:, np.newaxis] + np.arange(self.length)).ravel()[: self.n]
        wrapped: IntArray = rows % self.n
        return wrapped

    def draws(self, influence: FloatArray) -> tuple[Draws, ...]:
        """Return the whole blocks as draws from the block sums over n, and the truncated one as a separate draw."""
        whole, rest = divmod(self.n, self.length)
        parts = (Draws(whole, self._block_sums(influence, self.length) / self.n),)
        return (*parts, Draws(1, self._block_sums(influence, rest) / self.n)) if rest else parts

    def category_variances(self, codes: IntArray) -> FloatArray:
        """Return the exact variances of the categories' shares, shape ``(d,)``."""
        whole, rest = divmod(self.n, self.length)
        variances = whole * block_variances(codes, self.length, self.n_starts)
        if rest:
            variances += block_variances(codes, rest, self.n_starts)
        return variances / self.n**2

    def _block_sums(self, influence: FloatArray, length: int) -> FloatArray:
        wrapped = np.concatenate([np.zeros((1, influence.shape[1])), influence, influence[:length]])
        cumulative = np.cumsum(wrapped, axis=0)
        sums: FloatArray = cumulative[length : length + self.n_starts] - cumulative[: self.n_starts]
        return sums


class MovingBlocks(_EqualBlocks):
    """Blocks that start at any row that leaves room for a whole block (Künsch 1989; Liu and Singh 1992).

    The first and the last rows lie in fewer blocks than the others, so the mean of the linear part is not zero.

    Parameters
    ----------
    n
        Rows of the sample.
    length
        Rows of a block, from 1 to n - 1.

    Examples
    --------
    >>> rows = MovingBlocks(10, length=5).indices((1, 2), stream=0, replicate=0)
    >>> np.diff(rows)[[0, 1, 2, 3, 5, 6, 7, 8]]
    array([1, 1, 1, 1, 1, 1, 1, 1])
    """

    kind: ClassVar[str] = "moving"

    @property
    def n_starts(self) -> int:
        """Return n - length + 1."""
        return self.n - self.length + 1


class CircularBlocks(_EqualBlocks):
    """Blocks that start at any row, the first row following the last (Politis and Romano 1992).

    Parameters
    ----------
    n
        Rows of the sample.
    length
        Rows of a block, from 1 to n - 1.

    Examples
    --------
    >>> float(CircularBlocks(10, length=4).counts((1, 2), stream=0, replicates=[0]).sum())
    10.0
    """

    kind: ClassVar[str] = "circular"

    @property
    def n_starts(self) -> int:
        """Return n."""
        return self.n


class StationaryBlocks(Blocks):
    """Blocks of geometric length on the circle of rows (Politis and Romano 1994).

    Each row is followed by its neighbour with probability ``q = 1 - 1/length`` and by a fresh uniform row otherwise,
    so the linear part has mean zero and the exact covariance
    ``(1/n^2) [n g_0 + sum_{h=1}^{n-1} (n - h) q^h (g_h + g_h')]``, with ``g_h`` the circular autocovariance of the
    influence values at lag h.

    Parameters
    ----------
    n
        Rows of the sample.
    length
        Mean number of rows of a block, from 1 to n - 1.

    Examples
    --------
    >>> float(StationaryBlocks(10, length=4).counts((1, 2), stream=0, replicates=[0]).sum())
    10.0
    """

    kind: ClassVar[str] = "stationary"

    has_draws: ClassVar[bool] = False

    def indices(self, key: Key, stream: int, replicate: int) -> IntArray:
        """Return the rows of one resample, block after block."""
        # A uniform integer below the length is zero with probability 1/length exactly.
        restart = uniform_integers(key, stream, [replicate], np.full(self.n, self.length), purpose=RESTART)[0] == 0
        restart[0] = True
        places = np.flatnonzero(restart)
        # The number of blocks is random, and at most n.
        starts = uniform_integers(key, stream, [replicate], np.full(places.size, self.n), capacity=self.n)[0]
        block = np.cumsum(restart) - 1
        rows: IntArray = ((starts - places)[block] + np.arange(self.n)) % self.n
        return rows

    def draws(self, influence: FloatArray) -> None:
        """Return None: the number of blocks is itself random."""

    def mean(self, influence: FloatArray) -> FloatArray:
        """Return the exact mean of the linear part, shape ``(k,)``: every row is drawn equally often."""
        mean: FloatArray = influence.mean(axis=0)
        return mean

    def variance(self, influence: FloatArray) -> FloatArray:
        """Return the exact variance of the linear part, shape ``(k,)``."""
        centred = influence - self.mean(influence)
        variance: FloatArray = (centred * self._smoothed(centred)).sum(axis=0) / self.n**3
        return variance

    def covariance(self, influence: FloatArray) -> FloatArray:
        """Return the exact covariance of the linear part, shape ``(k, k)``."""
        centred = influence - self.mean(influence)
        covariance: FloatArray = centred.T @ self._smoothed(centred) / self.n**3
        return (covariance + covariance.T) / 2

    def _smoothed(self, centred: FloatArray) -> FloatArray:
        # Lags h and n - h are the same on the circle, so the sum over lags is a circular convolution.
        return np.fft.irfft(self._lag_spectrum()[:, np.newaxis] * np.fft.rfft(centred, axis=0), self.n, axis=0)

    def _lag_spectrum(self) -> FloatArray:
        lag = np.arange(self.n)
        q = 1 - 1 / self.length
        return np.fft.rfft((self.n - lag) * q**lag + lag * q ** (self.n - lag)).real

"""The variance of the noise, from the predictions of refits at out-of-bag rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from orthoboot.errors import DataError
from orthoboot.typing import FloatArray, IntArray

_NUMBERS_AT_ONCE = 1 << 21


class LeftOut(NamedTuple):
    """The out-of-bag rows of a resample, in their order, and the predictions of its refit there."""

    rows: IntArray
    predictions: FloatArray


@dataclass(frozen=True, eq=False)
class OutOfBag:
    r"""Sums over out-of-bag rows, from which the variance of the noise is estimated.

    The paper takes the mean over the refits of :math:`\sigma_b^2 = \operatorname{mean}_{j \notin b} r_{bj}^2`, r the
    residuals of refit b (``alg:piconstructionob``). That contains more than the noise. A refit that has not seen a row
    is off there by an error of estimation, as the fit is, and once more as a refit is from the fit, so that

    .. math:: E\,\sigma_b^2 = \sigma^2 + D, \qquad D = \operatorname{mean}_{b \ne c,\ j \notin b, c}
              \bigl(f_b(x_j) - f_c(x_j)\bigr)^2 \approx 2 S^2,

    and an interval from :math:`S^2(x) + \sigma_b^2` counts the variance of the prediction three times. Corrected, the
    noise is

    .. math:: \sigma^2 = \operatorname{mean}_b \Bigl( \operatorname{mean}_{j \notin b} (r_{bj}^2 - e_j^2)
              + \operatorname{mean}_j e_j^2 \Bigr) - D,

    with :math:`e_j` the residuals of the fit to all rows, which take out the chance of which rows are left out: every
    row is left out with the same probability, so that they change no expectation. It is at least the mean of
    :math:`e_j^2`, which a fit makes smaller than the noise.

    That takes the fit to be the mean of its refits, as smooth models are and large ensembles nearly. What refits have
    in common, :math:`M = E\,\sigma_b^2 - D/2`, is the mean squared error of that mean; a single tree or one neighbour
    varies more than it. Such models show in a variance :math:`D/2` of the refits that is more than the noise that is
    left, :math:`M - D/2`, so that the noise is at least :math:`\min(M, D/2)`. A smooth model that varies more than its
    noise has too large a :math:`\sigma^2` by this.

    Attributes
    ----------
    squares
        The paper's :math:`\sigma_b^2`, shape ``(B,)``; NaN where no row was left out.
    controls
        The mean of :math:`e_j^2` over the rows left out, less that over all, shape ``(B,)``; NaN likewise.
    differences, pairs
        For two refits the sum of squared differences at the rows that both left out, and how many there are, shape
        ``(B, B)``.
    least
        The mean of :math:`e_j^2`.
    """

    squares: FloatArray
    controls: FloatArray
    differences: FloatArray
    pairs: FloatArray
    least: float

    def among(self, chosen: slice) -> OutOfBag:
        """Return the sums of some of the refits."""
        differences, pairs = self.differences[chosen, chosen], self.pairs[chosen, chosen]
        return OutOfBag(self.squares[chosen], self.controls[chosen], differences, pairs, self.least)

    def noise_variance(self, *, corrected: bool) -> float:
        """Return the variance of the noise; raise where no resample left out a row."""
        if np.isnan(self.squares).all():
            raise DataError(
                f"none of the {len(self.squares)} resamples left out a row, so the noise cannot be estimated. Use more "
                "rows, or a larger `n_resamples`."
            )
        if not corrected:
            return float(np.nanmean(self.squares))
        total, count = self.differences.sum(), self.pairs.sum()
        mean = np.nanmean(self.squares - self.controls)
        return float(_corrected(mean, total / count if count else 0.0, self.least))

    def deleted(self, *, corrected: bool) -> FloatArray:
        """Return the noise variance with each refit left out in turn, shape ``(B,)``; NaN where it is unknown."""
        means = _deleted_means(self.squares - self.controls if corrected else self.squares)
        if not corrected:
            return means
        totals = self.differences.sum() - 2 * self.differences.sum(axis=1)
        counts = self.pairs.sum() - 2 * self.pairs.sum(axis=1)
        excess = np.divide(totals, counts, out=np.zeros(len(means)), where=counts > 0)
        return _corrected(means, excess, self.least)


def _corrected(mean: Any, excess: Any, least: float) -> FloatArray:
    """Return the corrected noise, given the mean of the squares and D."""
    variance = excess / 2
    common = mean - variance
    return np.asarray(np.maximum(np.maximum(common - variance, np.minimum(common, variance)), least))


def _deleted_means(values: FloatArray) -> FloatArray:
    known = np.isfinite(values)
    finite = np.where(known, values, 0.0)
    counts = known.sum() - known
    means: FloatArray = np.full(len(values), np.nan)
    np.divide(finite.sum() - finite, counts, out=means, where=counts > 0)
    return means


def out_of_bag(left_out: Sequence[LeftOut], response: FloatArray, predictions: FloatArray) -> OutOfBag:
    """Return the sums for some refits, given the response and the predictions of the fit to all rows, each ``(n,)``."""
    squares = (response - predictions) ** 2
    mean = float(squares.mean())
    differences, pairs = _differences(left_out, predictions)
    return OutOfBag(
        squares=np.array([_mean((response[rows] - own) ** 2) for rows, own in left_out]),
        controls=np.array([_mean(squares[rows] - mean) for rows, _ in left_out]),
        differences=differences,
        pairs=pairs,
        least=mean,
    )


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _differences(left_out: Sequence[LeftOut], predictions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of squared differences at common rows, and their numbers, some rows at a time."""
    n_refits = len(left_out)
    differences, pairs = np.zeros((n_refits, n_refits)), np.zeros((n_refits, n_refits))
    size = max(_NUMBERS_AT_ONCE // max(n_refits, 1), 1)
    for start in range(0, len(predictions), size):
        moved, known = _of_rows(left_out, predictions, start, size)
        # (a - b)^2 over the rows that both have, as products of matrices; a and b are small, being off the fit.
        own = moved**2 @ known.T
        differences += own + own.T - 2 * moved @ moved.T
        pairs += known @ known.T
    for matrix in (differences, pairs):
        np.fill_diagonal(matrix, 0.0)
    return np.maximum(differences, 0.0), pairs


def _of_rows(
    left_out: Sequence[LeftOut], predictions: FloatArray, start: int, size: int
) -> tuple[FloatArray, FloatArray]:
    """Return the differences between refits and fit at out-of-bag rows, zero elsewhere, and a mask of these rows."""
    moved, known = (np.zeros((len(left_out), min(size, len(predictions) - start))) for _ in range(2))
    for b, (rows, own) in enumerate(left_out):
        among = slice(*np.searchsorted(rows, [start, start + size]))
        moved[b, rows[among] - start] = own[among] - predictions[rows[among]]
        known[b, rows[among] - start] = 1.0
    return moved, known

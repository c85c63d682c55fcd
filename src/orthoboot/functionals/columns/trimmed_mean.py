"""The mean of each column without a share of its smallest and of its largest rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.arguments import is_real
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError
from orthoboot.functionals.base import Covariance
from orthoboot.functionals.columns.moments import columns_of
from orthoboot.functionals.columns.sorted_columns import SortedColumns, SortedColumnStatistic
from orthoboot.functionals.feature_means import centred_rows
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.typing import FloatArray, Influence

_ROUNDING = 1e-12
"""A cut this close to a whole number of rows, relative to their number, lies between two rows."""


@dataclass(frozen=True)
class TrimmedMean(SortedColumnStatistic):
    """The mean of each column after the share `p` of the rows is cut from each end; see `trimmed_mean`."""

    p: float

    kinked = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _checked_share(self.p))

    @property
    def name(self) -> str:  # type: ignore[override]
        """Return for example ``trimmed_mean(0.1)``."""
        return f"trimmed_mean({self.p:g})"

    def values(self, at: PreparedFormula[SortedColumns], resamples: Resamples) -> FloatArray:
        """Return the means of the weights that the cuts leave, shape ``(B, d)``."""
        means = []
        for shares, values in self.ordered_shares(at, resamples):
            left = self._left_by_the_cuts(shares)
            centre = values[len(values) // 2]
            deviations = Resamples((left,)).sums(0, (values - centre)[:, np.newaxis])
            means.append(centre + deviations / (1 - 2 * self.p))
        return np.hstack(means)

    def influence(self, at: PreparedFormula[SortedColumns]) -> Influence:
        """Return the rows, those beyond a cut moved to it, centred and divided by ``1 - 2 p``."""
        values = at.derived.values
        winsorised = np.clip(columns_of(at.data), _at_share(values, self.p), _at_share(values, 1 - self.p))
        # Where both cuts fall on one row all are moved to it: what rounding leaves then must not count as influence.
        return (centred_rows(winsorised)[1] / (1 - 2 * self.p),)

    def second_order_bias(self, at: PreparedFormula[SortedColumns], covariance: Covariance) -> FloatArray:
        """Return ``-Cov(linear part, total weight)``: zero unless groups of unequal size are drawn whole.

        Between the points where another row comes to the cut, the statistic is linear in the shares of the rows and so
        has no curvature. What bias it has comes from passing these points; only replicates show it.
        """
        (influence,) = self.influence(at)
        joint = covariance((np.column_stack([influence, np.ones(len(influence))]),))
        return -joint[:-1, -1]

    def _left_by_the_cuts(self, shares: FloatArray) -> FloatArray:
        """Return the part of each row's share between the cuts, in sorted order ``(B, n)``."""
        ends = np.clip(np.cumsum(shares, axis=1), self.p, 1 - self.p)
        return np.diff(ends, axis=1, prepend=self.p)


def _at_share(values: FloatArray, share: float) -> FloatArray:
    """Return the row at which `share` of the sorted columns ``(d, n)`` ends, shape ``(d,)``.

    Between two rows it is their midpoint: the mean of the derivatives to both sides.
    """
    n = values.shape[1]
    rounding = _ROUNDING * n
    below, above = np.ceil(share * n - rounding) - 1, np.floor(share * n + rounding)
    first, last = (int(np.clip(position, 0, n - 1)) for position in (below, above))
    midpoint: FloatArray = values[:, first] / 2 + values[:, last] / 2
    return midpoint


def _checked_share(p: Any) -> float:
    if not is_real(p) or not 0 <= p < 0.5:
        raise ArgumentError(
            f"`p`, the share cut from each end, must be at least 0 and below 0.5; got {p!r}. To cut 10% from each end "
            "use 0.1; to cut everything but the middle use `median`."
        )
    return float(p)


def trimmed_mean(p: float) -> TrimmedMean:
    r"""Return the statistic "mean after the share `p` is cut from each end" of each column.

    .. math:: \phi = \frac{1}{1 - 2p} \int_p^{1-p} F^{-1}(u)\,du, \qquad
              I_j = \frac{\psi(x_j) - \bar\psi}{1 - 2p}, \qquad
              \psi(x) = \min(\max(x, F^{-1}(p)), F^{-1}(1 - p)).

    Where p n is a whole number it is `scipy.stats.trim_mean`. Otherwise scipy cuts only whole rows, the floor of p n at
    each end; here the row at each cut counts with the part of its weight that lies inside, so that the statistic is
    continuous in the weights. Where a cut falls between two rows of the data, the influence takes their midpoint for
    :math:`F^{-1}`. Huber (1981), Robust Statistics, section 3.3; the derivative is that of ``eq:taylor``.

    Parameters
    ----------
    p
        The share cut from each end, at least 0 (the mean) and below 0.5.

    Examples
    --------
    >>> from orthoboot.functionals import trimmed_mean
    >>> trimmed_mean(0.25)([1.0, 2.0, 4.0, 100.0])
    3.0
    >>> round(trimmed_mean(0.125)([1.0, 2.0, 4.0, 100.0]), 6)  # leaves half of the first and of the last row
    18.833333
    """
    return TrimmedMean(p)

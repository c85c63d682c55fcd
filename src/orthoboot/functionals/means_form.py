"""A statistic as a smooth function of the means of features, for its second-order part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orthoboot.functionals.differences import second_derivatives_along
from orthoboot.typing import FloatArray


@dataclass(frozen=True, eq=False)
class MeansForm:
    """The statistic ``g(m)``, m the sums of the features of the drawn rows divided by n.

    Attributes
    ----------
    n_rows
        The number of rows of all samples.
    features
        Returns the features of the rows of each sample, shape ``(n_i, p)`` each: those of another sample are zero.
    point
        Their means, shape ``(p,)``.
    value
        Takes points in the columns of a ``(p, ...)`` array and returns g there in units, shape ``(k, ...)``.
    curvature
        Takes a point ``(p,)`` and directions in columns ``(p, q)`` and returns ``u' g'' u`` of each there, shape
        ``(k, q)``; None to take differences of `value`.
    unit
        What both are multiplied with to be the statistic, a power of two, shape ``(k,)`` or a number.
    is_linear
        Whether g is linear where the number of rows is fixed, so that the linear part leaves nothing.
    """

    n_rows: int
    features: Callable[[], tuple[FloatArray, ...]]
    point: FloatArray
    value: Callable[[FloatArray], FloatArray]
    curvature: Callable[[FloatArray, FloatArray], FloatArray] | None = None
    unit: FloatArray | float = 1.0
    is_linear: bool = False

    def second_derivatives(self, directions: FloatArray) -> FloatArray:
        """Return ``u_l' g'' u_l`` for directions in the columns ``(p, q)``, as long as a standard error: ``(k, q)``."""
        if self.curvature is not None:
            return self.curvature(self.point, directions)
        return second_derivatives_along(self.value, self.point, directions, self.n_rows)

"""The covariance of the linear and the cubic part of the output."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthoboot.simulators.orders.first import FirstOrder
from orthoboot.simulators.orders.pairs import folded_to_upper
from orthoboot.typing import FloatArray


@dataclass(frozen=True, eq=False)
class ThirdOrder:
    r"""Twice the covariance of the linear and the cubic part of the output, by pairs of inputs.

    To leading order it is ``sum_k a_k sum_l D_kll / (n_k n_l)``, a the slopes and D the third derivatives along the
    features: as large as the variance of the quadratic part. ``D_kll = E[Y M_kll]``, where M is a sum over different
    draws r, s and t of ``g_k(x_r) g_l(x_s) g_l(x_t)``, so that one column for each pair of inputs has all of it::

        A_i = sum_k a_k G_k              Q_j = sum_l (G_l^2 - sum over draws of g_l^2)
        M_ij = A_i Q_j + 1{i = j} 2 sum_k a_k (sum over draws of g_k g'g - sum_l G_l sum over draws of g_k g_l)

    Fitted distributions and inputs with a plan have no part in it.

    Attributes
    ----------
    first
        The first order.
    """

    first: FirstOrder

    @cached_property
    def _found(self) -> tuple[FloatArray, FloatArray]:
        """Return values by pairs of inputs and the variances of their noise, shape ``(m, m, k)``."""
        regression = self.first.regression
        design, e = regression.design, regression.unexplained
        m, runs = len(design.sizes), len(design)
        values, noise = np.zeros((m, m, e.shape[1])), np.zeros((m, m, e.shape[1]))
        squares = np.stack([self._squares(i) for i in range(m)], axis=1) / design.sizes
        for output, residuals in enumerate(e.T):
            along, same = self._along(output)
            columns = along * residuals[:, np.newaxis]
            values[:, :, output] = columns.T @ squares / runs
            noise[:, :, output] = (columns**2).T @ squares**2 / runs**2
            own = (along * squares + same) * residuals[:, np.newaxis]
            values[range(m), range(m), output] = own.mean(axis=0)
            noise[range(m), range(m), output] = own.var(axis=0) / runs
        return folded_to_upper(values), folded_to_upper(noise)

    def _squares(self, i: int) -> FloatArray:
        """Return Q of an input, shape ``(R,)``."""
        design = self.first.regression.design
        if not design.has_independent_rows[i]:
            return np.zeros(len(design))
        features = design.features[:, design.input_of == i]
        return np.asarray((features**2).sum(axis=1) - np.trace(design.products[i], axis1=1, axis2=2))

    def _along(self, output: int) -> tuple[FloatArray, FloatArray]:
        """Return A over n, and what is beside ``A Q`` where both are of the same input, shape ``(R, m)`` each."""
        design = self.first.regression.design
        along, same = np.zeros((len(design), len(design.sizes))), np.zeros((len(design), len(design.sizes)))
        for i, n in enumerate(design.sizes):
            if not design.has_independent_rows[i]:
                continue
            mine = design.input_of == i
            features, slopes = design.features[:, mine], self.first.slopes[mine, output]
            along[:, i] = features @ slopes / n
            crossed = ((design.products[i] @ slopes) * features).sum(axis=1)
            same[:, i] = 2 * (design.cubes[:, mine] @ slopes - crossed) / n**2
        return along, same

    @cached_property
    def run_terms(self) -> FloatArray:
        """Return what each run says of all pairs together, shape ``(R, k)``."""
        regression = self.first.regression
        squares = np.sum([self._squares(i) / n for i, n in enumerate(regression.design.sizes)], axis=0)
        columns = [self._along(output) for output in range(regression.outputs.shape[1])]
        sums = [along.sum(axis=1) * squares + same.sum(axis=1) for along, same in columns]
        return np.asarray(regression.unexplained * np.stack(sums, axis=1))

    @property
    def parts(self) -> FloatArray:
        """Return the covariance by pairs of inputs, shape ``(m, m, k)``, the upper triangle."""
        return self._found[0]

    @property
    def part_errors(self) -> FloatArray:
        """Return its simulation errors, shape ``(m, m, k)``."""
        return np.sqrt(self._found[1])

"""The constrained problem of ``subsection:biascorrection``: a quadratic form under linear equations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.typing import FloatArray

N_CONSTRAINTS, N_VARIABLES = 100, 200


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    r"""``min x'Qx`` subject to ``Ax = b``.

    The value is known: :math:`v(b) = b' M b` with :math:`M = (A Q^{-1} A')^{-1}`.

    Attributes
    ----------
    A, Q
        Shapes ``(d, p)`` and ``(p, p)``.
    """

    A: FloatArray
    Q: FloatArray

    @property
    def n_constraints(self) -> int:
        """Return d."""
        return len(self.A)

    @cached_property
    def curvature(self) -> FloatArray:
        """Return M, shape ``(d, d)``."""
        return np.linalg.inv(self.A @ np.linalg.solve(self.Q, self.A.T))

    def minimal_value(self, right_side: FloatArray) -> float:
        """Return v(b)."""
        return float(right_side @ self.curvature @ right_side)

    def explicit_influence(self, rows: FloatArray) -> FloatArray:
        """Return ``2 (b_j - mean)' M mean`` for each row, shape ``(n,)``."""
        centre = rows.mean(axis=0)
        influence: FloatArray = 2 * (rows - centre) @ self.curvature @ centre
        return influence

    def explicit_value(self, rows: FloatArray, weights: FloatArray) -> float:
        """Return v at the weighted mean of the rows."""
        return self.minimal_value(np.average(rows, axis=0, weights=weights))

    def functional(self) -> Any:
        """Return the minimal value as a statistic that knows no formula: solved, and its KKT conditions differentiated.

        ``appendix: constrained optimization``.
        """
        return self._functional

    @cached_property
    def _functional(self) -> Any:
        return ob.minimize(
            lambda x, b: x @ self.Q @ x,
            len(self.Q),
            equality=lambda x, b: self.A @ x - b,
            output="value",
            library="jax",
            name="minimal value",
        )


@cache
def quadratic_program(seed: int) -> QuadraticProgram:
    """Return the problem of a run: A of independent N(0, 1), Q diagonal and uniform on [1, 2]."""
    rng = np.random.default_rng([seed, N_CONSTRAINTS, N_VARIABLES])
    A = rng.standard_normal((N_CONSTRAINTS, N_VARIABLES))
    return QuadraticProgram(A, np.diag(rng.uniform(1, 2, N_VARIABLES)))

"""Derivatives by the implicit function theorem, in adjoint form."""

from __future__ import annotations

from orthoboot.solvers.base import FactoredMatrix
from orthoboot.typing import FloatArray


def adjoints(conditions: FactoredMatrix, target: FloatArray) -> FloatArray:
    r"""Return the adjoints of a target of a solution, one for each output, shape ``(k, p)``.

    Let :math:`\theta(t)` solve :math:`F(\theta, t) = 0`. By the implicit function theorem
    :math:`F_\theta \theta' = -F_t`, so that

    .. math:: \frac{d}{dt} g(\theta(t)) = -g' F_\theta^{-1} F_t = -s \cdot F_t, \qquad F_\theta^\top s = g'^\top.

    The adjoint s does not depend on t: with one solve for each output, and none for each row, the influence of row j is
    ``-s . (derivative of F towards row j)``. M-estimators (F the gradient of the loss) and constrained optima (F the
    KKT conditions) both use it.

    Parameters
    ----------
    conditions
        The derivative :math:`F_\theta` of the conditions at the solution, ``(p, p)``, factored by any solver.
    target
        The derivative of the target with respect to the solution, shape ``(k, p)``.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoboot.solvers import LU, DenseOperator
    >>> conditions = LU().factor(DenseOperator(np.array([[2.0, 0.0], [1.0, 4.0]])))
    >>> adjoints(conditions, np.array([[1.0, 1.0]])).tolist()
    [[0.375, 0.25]]
    """
    return conditions.solve_transposed(target.T).T

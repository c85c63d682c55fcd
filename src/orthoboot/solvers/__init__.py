"""Linear systems: factor once, solve often."""

from typing import Any

from orthoboot.arguments import checked_name
from orthoboot.solvers.base import DenseOperator, FactoredMatrix, Operator, ProductOperator, Solver, parameter_names
from orthoboot.solvers.cholesky import Cholesky
from orthoboot.solvers.conjugate_gradients import ConjugateGradients
from orthoboot.solvers.implicit import adjoints
from orthoboot.solvers.lu import LU
from orthoboot.solvers.triangular import triangular_factors

SOLVERS: dict[str, Solver] = {solver.name: solver for solver in (Cholesky(), LU(), ConjugateGradients())}

__all__ = [
    "LU",
    "SOLVERS",
    "Cholesky",
    "ConjugateGradients",
    "DenseOperator",
    "FactoredMatrix",
    "Operator",
    "ProductOperator",
    "Solver",
    "adjoints",
    "linear_solver",
    "parameter_names",
    "triangular_factors",
]


def linear_solver(request: Any) -> Solver:
    """Return the solver that `request` names, or `request` itself where it is one."""
    return request if isinstance(request, Solver) else SOLVERS[checked_name("solver", request, SOLVERS)]

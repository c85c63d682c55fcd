"""The cone program that cvxpy compiles a problem to, as an affine function of the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np

from orthoboot.models.cvxpy.solution import PRECISE, SolutionMap
from orthoboot.optimisation.kkt import independent
from orthoboot.typing import FloatArray, IntArray

_MOST_UNKNOWNS = 512
"""Variables and binding rows together, beyond which a program is too large to be held as dense matrices."""


@dataclass(frozen=True, eq=False)
class ConeProgram:
    r"""The program :math:`\min \tfrac12 x'Px + c'x` subject to :math:`Ax + s = b` in a polyhedral cone.

    Attributes
    ----------
    numbers
        P, c, A and b one after the other.
    n_variables, n_equalities, n_inequalities
        The length of x, and how many rows of A have ``s = 0`` and, after them, ``s >= 0``.
    """

    numbers: FloatArray
    n_variables: int
    n_equalities: int
    n_inequalities: int

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of rows and of columns of A."""
        return self.n_equalities + self.n_inequalities, self.n_variables

    @property
    def rows(self) -> FloatArray:
        """Return A."""
        m, n = self.shape
        return self.numbers[n * n + n : n * n + n + m * n].reshape(m, n)


@dataclass(frozen=True, eq=False)
class SolvedProgram:
    """A program at the estimates of its parameters, its solution, and what it is at other parameters.

    Attributes
    ----------
    program
        At the estimates.
    x, multipliers
        Its solution, shapes ``(n,)`` and ``(m,)``.
    held
        The rows of A that bind there and do not follow from the others.
    places, slopes
        Which of its numbers change with the K parameters that move, ``(j,)``, and how, ``(K, j)``.
    offset, offset_slopes
        The constant of the objective, and its derivative by the parameters, ``(K,)``.
    sign
        One for a problem that is minimised, minus one for one that is maximised.
    recovery
        The numbers of targets that are affine in x, without parameters: a matrix and a constant for each target, or
        None for the objective.
    """

    program: ConeProgram
    x: FloatArray
    multipliers: FloatArray
    held: IntArray
    places: IntArray
    slopes: FloatArray
    offset: float
    offset_slopes: FloatArray
    sign: float
    recovery: tuple[tuple[FloatArray, FloatArray] | None, ...]


def solved_program(solutions: SolutionMap, point: FloatArray, moving: IntArray) -> SolvedProgram | None:
    """Return the program of a problem at the estimates `point`, and how it depends on those that are `moving`.

    None where its cones are not polyhedral, where it is too large, where a target is neither the objective nor affine
    in the variables alone, and where the solver does not reach the tolerance asked for. It is compiled once for each
    that is moving: the program of a DPP problem is affine in the parameters.
    """
    if not (solutions.is_dpp and all(_is_known(solutions, target) for target in solutions.targets)):
        return None
    with solutions.at(point):
        here = _Compiled.of(solutions)
        if here is None:
            return None
        raw = here.chain.solve_via_data(solutions.problem, here.data, solver_opts=dict(PRECISE))
        if here.chain.invert(raw, here.inverse).status != cp.OPTIMAL:
            return None
        multipliers = np.array(raw.z)
        held = _held(here.program, multipliers, np.array(raw.s))
        if here.program.n_variables + len(held) > _MOST_UNKNOWNS:
            return None
        recovery = _recovery(solutions, here, raw)
        slopes, offset_slopes = [], []
        for k in moving:
            moved, step = point.copy(), np.exp2(np.ceil(np.log2(max(abs(point[k]), 1.0))))
            moved[k] += step
            solutions.assume(moved)
            there = _Compiled.of(solutions)
            if there is None or there.program.shape != here.program.shape:
                return None
            slopes.append((there.program.numbers - here.program.numbers) / step)
            offset_slopes.append((there.objective(raw, 0.0) - here.objective(raw, 0.0)) / step)
    of_numbers = np.array(slopes)
    places = np.flatnonzero(of_numbers.any(axis=0))
    return SolvedProgram(
        program=here.program,
        x=np.array(raw.x),
        multipliers=multipliers,
        held=held,
        places=places,
        slopes=of_numbers[:, places],
        offset=here.objective(raw, 0.0),
        offset_slopes=np.array(offset_slopes),
        sign=here.objective(raw, 1.0) - here.objective(raw, 0.0),
        recovery=recovery,
    )


def _held(program: ConeProgram, multipliers: FloatArray, slacks: FloatArray) -> IntArray:
    """Return the rows that bind and do not follow from the others, equalities first."""
    binds = multipliers > slacks
    binds[: program.n_equalities] = True
    order = np.lexsort((-multipliers, np.arange(len(binds)) >= program.n_equalities))
    return np.sort(independent(program.rows, order[binds[order]]))


def _is_known(solutions: SolutionMap, target: Any) -> bool:
    estimated = {parameter.id for parameter in solutions.parameters}
    is_affine = target.is_affine() and not any(parameter.id in estimated for parameter in target.parameters())
    return is_affine or _is_objective(solutions, target)


def _is_objective(solutions: SolutionMap, target: Any) -> bool:
    return target is solutions.problem.objective.args[0]


class _Compiled(NamedTuple):
    """A problem as cvxpy compiles it at the present values of its parameters."""

    data: dict[str, Any]
    chain: Any
    inverse: Any
    program: ConeProgram

    @staticmethod
    def of(solutions: SolutionMap) -> _Compiled | None:
        """Return the compiled problem; None where it is too large or has other cones than polyhedral ones."""
        data, chain, inverse = solutions.problem.get_problem_data(cp.CLARABEL, solver_opts={})
        program = _program(data)
        return None if program is None else _Compiled(data, chain, inverse, program)

    def objective(self, raw: Any, value: float) -> float:
        """Return the value of the problem where that of the program is `value`."""
        return float(self.chain.invert(_like(raw, raw.x, value), self.inverse).opt_val)


def _recovery(
    solutions: SolutionMap, compiled: _Compiled, raw: Any
) -> tuple[tuple[FloatArray, FloatArray] | None, ...]:
    """Return the affine targets as functions of the program's x."""
    n = compiled.program.n_variables
    at_zero, *at_units = (_target_values(solutions, compiled, _like(raw, x, 0.0)) for x in (np.zeros(n), *np.eye(n)))
    return tuple(
        None
        if _is_objective(solutions, target)
        else (np.array([each[number] - at_zero[number] for each in at_units]).T, at_zero[number])
        for number, target in enumerate(solutions.targets)
    )


def _target_values(solutions: SolutionMap, compiled: _Compiled, solution: Any) -> list[FloatArray]:
    values = compiled.chain.invert(solution, compiled.inverse).primal_vars
    for variable in solutions.problem.variables():
        variable.save_value(values[variable.id])
    return [np.ravel(target.value) for target in solutions.targets]


def _like(raw: Any, x: FloatArray, value: float) -> Any:
    """Return a solution like that of the solver with another x and another value."""
    return SimpleNamespace(
        status=raw.status, x=x, z=raw.z, s=raw.s, obj_val=value, solve_time=raw.solve_time, iterations=raw.iterations
    )


def _program(data: dict[str, Any]) -> ConeProgram | None:
    """Return the program of cvxpy's data for Clarabel; None where it is too large or a cone is not polyhedral."""
    dims, n = data["dims"], len(data["c"])
    others = (dims.exp, *dims.soc, *dims.psd, *dims.p3d, *dims.pnd)
    has_bounds = data.get("lower_bounds") is not None or data.get("upper_bounds") is not None
    if n > _MOST_UNKNOWNS or any(others) or has_bounds:
        return None
    quadratic = data["P"].toarray() if "P" in data else np.zeros((n, n))
    numbers = np.concatenate([quadratic.ravel(), data["c"], data["A"].toarray().ravel(), data["b"]])
    return ConeProgram(numbers, n, dims.zero, dims.nonneg)

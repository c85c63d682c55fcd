"""The solution of a cvxpy problem as a function of its parameters, with its derivative by diffcp."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib.util import find_spec
from threading import RLock
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
from cvxpy.lin_ops import lin_utils

from orthoboot.errors import ArgumentError, FitError
from orthoboot.functionals.output import Output, output_like
from orthoboot.typing import FloatArray
from orthoboot.warning_scopes import silenced

_TOLERANCES = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
PRECISE = dict.fromkeys(_TOLERANCES, 1e-12) | {f"reduced_{name}": 1e-8 for name in _TOLERANCES}
"""As far as double precision goes; what ends short of it but within the solver's usual tolerance is still taken."""
_PERMISSIVE: dict[str, float] = {}
"""The solver's own tolerances, for problems that are too badly scaled for better ones."""
_CONE_TOLERANCES = (1e-11, 1e-9, 1e-8)
"""For the problem that is differentiated: squares are cones there, which costs half of the digits of a solution."""
_DIRECTIONS = 5
_TILT = 1e-6
"""By which part the objective is changed to see whether the solution is unique."""
_SYMMETRIC = ("symmetric", "PSD", "NSD")

_CVXPY = RLock()
"""Held while cvxpy works: it numbers objects by a counter, and reads rules by a switch, of the whole process.

Besides, a problem is solved at the values that its parameters have at the time.
"""


@dataclass(frozen=True, eq=False)
class SolutionMap:
    """The targets at the solution of a problem, as a function of the parameters.

    That of a statistic has the objects of the user, which are never given a value: `copied` has its own ones, and is
    what solves. A copy that has solved cannot be pickled, since the solver cannot.

    Attributes
    ----------
    problem
        The objective and the constraints.
    parameters
        The parameters that are estimated, in the order of the arguments.
    constants
        The other parameters, with the values at which they are held.
    targets
        What is wanted of the solution.
    keys
        The keys of the targets where they are a dict, else None.
    """

    problem: Any
    parameters: tuple[Any, ...]
    constants: tuple[tuple[Any, Any], ...]
    targets: tuple[Any, ...]
    keys: tuple[str, ...] | None

    zero: ClassVar[float] = 1e-11
    """Numbers below this are zero: the solver's tolerances are 1e-12 where a problem has no larger numbers."""

    def copied(self) -> SolutionMap:
        """Return a copy with its own variables, parameters and constraints, not compiled yet."""
        # A deep copy would number them anew, and what cvxpy remembers of a problem that was solved has the old numbers.
        with _CVXPY:
            copied: SolutionMap = pickle.loads(pickle.dumps(self))
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with the first cvxpy id that none of its objects has."""
        with _CVXPY:
            return {"parts": self._parts, "next_number": lin_utils.ID_COUNTER.count}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, and reserve its ids so that cvxpy does not reuse them in this process."""
        for field, part in zip(fields(self), state["parts"], strict=True):
            object.__setattr__(self, field.name, part)
        with _CVXPY:
            lin_utils.ID_COUNTER.count = max(lin_utils.ID_COUNTER.count, state["next_number"])

    @property
    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    def __call__(self, point: FloatArray) -> FloatArray:
        """Return the targets as a vector ``(k,)``, at the parameters as a vector ``(K,)``."""
        with self.at(point):
            self._solve()
            return np.concatenate([np.ravel(target.value) for target in self.targets])

    def derivative(self, point: FloatArray) -> FloatArray | None:
        r"""Return the derivative of the targets by the parameters, shape ``(k, K)``, or None if it is not available.

        For a target :math:`t(x, p)` that is :math:`t_p + t_x\,dx/dp`, by one adjoint solve for each of its numbers.
        """
        with self.at(point):
            partials = self._partials() if self._solve_cone_program() else None
            return None if partials is None else np.stack([self._adjoint(by_leaf) for by_leaf in partials])

    def scales(self, sizes: FloatArray) -> FloatArray:
        """Return for each number of the targets, ``(k,)``, the largest size within its target."""
        pieces = np.split(sizes, np.cumsum([target.size for target in self.targets])[:-1])
        return np.concatenate([np.full(len(piece), np.abs(piece).max()) for piece in pieces])

    def is_accurate(self, point: FloatArray) -> bool:
        """Return whether the solver reached the tolerance that it calls optimal."""
        with self.at(point):
            return self._solve()

    def spread(self, point: FloatArray) -> FloatArray:
        """Return how far the targets are apart at the solutions of problems that hardly differ, shape ``(k,)``.

        The objective is tilted by a millionth part, one way and the other. A unique solution stays where it is, or
        nearly so; of several, each problem has another one. Zero where the solver fails, for nothing is known then.
        """
        with self.at(point):
            self._solve()
            targets = np.concatenate([np.ravel(target.value) for target in self.targets])
            solved = [np.copy(variable.value) for variable in self.problem.variables()]
            size = max(float(np.abs(value).max()) for value in solved)
            largest = size if size > self.zero else 1.0
            tilt = self._tilt(solved, largest)
            # The solutions of some problems have no end in some direction.
            nearby = [
                cp.abs(variable - value) <= 10 * largest
                for variable, value in zip(self.problem.variables(), solved, strict=True)
            ]
            ends = [self._tilted_targets(sign * tilt, nearby) for sign in (1.0, -1.0)]
        spread: FloatArray = np.ptp([targets, *(end for end in ends if end is not None)], axis=0)
        return spread

    def _tilt(self, solved: list[FloatArray], largest: float) -> Any:
        """Return a random linear expression in the variables, a millionth of the objective as it varies nearby."""
        rng, variables = np.random.default_rng(0), self.problem.variables()
        here = float(self.problem.objective.args[0].value)
        # In one direction alone the objective may happen to be flat.
        variations = [abs(value - here) for value in self._objectives_near(solved, 0.1 * largest, rng)]
        # Beyond the domain of a logarithm it has no value.
        variation = max((each for each in variations if np.isfinite(each)), default=abs(here)) or 1.0
        steps = [rng.standard_normal(variable.shape) for variable in variables]
        size = _TILT * variation / largest
        return sum(size * cp.sum(cp.multiply(step, variable)) for variable, step in zip(variables, steps, strict=True))

    def _objectives_near(self, solved: list[FloatArray], distance: float, rng: np.random.Generator) -> list[float]:
        """Return the objective at some random points at a distance from the solution, NaN where it has no value."""
        found = []
        for _ in range(_DIRECTIONS):
            for variable, value in zip(self.problem.variables(), solved, strict=True):
                variable.save_value(value + distance * rng.standard_normal(variable.shape))
            value = self.problem.objective.args[0].value
            found.append(np.nan if value is None else float(value))
        return found

    def _tilted_targets(self, tilt: Any, nearby: list[Any]) -> FloatArray | None:
        """Return the targets where the objective has a tilt, near the solution, or None where the solver fails."""
        objective = self.problem.objective
        tilted = cp.Problem(type(objective)(objective.args[0] + tilt), [*self.problem.constraints, *nearby])
        status = replace(self, problem=tilted)._outcome(solver=cp.CLARABEL, ignore_dpp=True)
        if status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            return None
        return np.concatenate([np.ravel(target.value) for target in self.targets])

    @property
    def is_differentiable(self) -> bool:
        """Return whether cvxpy can differentiate the solution: a parametrised program (DPP), and diffcp at hand."""
        return self.is_dpp and find_spec("diffcp") is not None

    @property
    def is_dpp(self) -> bool:
        """Return whether cvxpy compiles the problem once for all values of its parameters."""
        with _CVXPY:
            return self._is_dpp

    @cached_property
    def _is_dpp(self) -> bool:
        # Asked for under the lock alone: Python 3.11 has a lock of its own here, and two in either order would block.
        return bool(self.problem.is_dpp())

    def output(self, columns: tuple[str, ...] | None, name: str) -> Output:
        """Return the shapes of the targets; a single vector with one number per column is named after them."""
        examples = [np.zeros(target.shape) for target in self.targets]
        if self.keys is not None:
            return output_like(dict(zip(self.keys, examples, strict=True)), name)
        return output_like(examples[0], name, columns if examples[0].ndim == 1 else None)

    @contextmanager
    def at(self, point: FloatArray) -> Iterator[None]:
        """Set the parameters to `point`, with other threads locked out meanwhile."""
        pieces = np.split(point, np.cumsum([parameter.size for parameter in self.parameters])[:-1])
        with _CVXPY:
            for parameter, value in (*zip(self.parameters, pieces, strict=True), *self.constants):
                _assign(parameter, np.reshape(value, parameter.shape))
            yield

    def assume(self, point: FloatArray) -> None:
        """Set the parameters to `point` under the lock that `at` holds, without a look at what they may be."""
        pieces = np.split(point, np.cumsum([parameter.size for parameter in self.parameters])[:-1])
        for parameter, value in zip(self.parameters, pieces, strict=True):
            parameter.save_value(np.reshape(value, parameter.shape))

    def _solve(self) -> bool:
        """Solve at the current parameter values; return whether the solver reached the tolerance it calls optimal."""
        for options in (PRECISE, _PERMISSIVE):
            status = self._status(options)
            if status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
                return status == cp.OPTIMAL or options is PRECISE
        raise FitError(_failure(status))

    def _status(self, options: dict[str, float]) -> str:
        return self._outcome(solver=cp.CLARABEL, ignore_dpp=not self.is_dpp, **options)

    def _solve_cone_program(self) -> bool:
        """Solve the cone program that diffcp differentiates, to high precision; return whether that succeeded."""
        attempts = (dict.fromkeys(_TOLERANCES, tolerance) for tolerance in _CONE_TOLERANCES)
        differentiable = {"requires_grad": True, "solve_method": cp.CLARABEL}
        return any(self._outcome(**differentiable, **options) == cp.OPTIMAL for options in attempts)

    def _outcome(self, **options: Any) -> str:
        """Solve at the current parameter values and return the status, with cvxpy's output silenced."""
        try:
            with silenced():
                # Without a warm start, for a replicate must not depend on which one was solved before it.
                self.problem.solve(warm_start=False, **options)
        except (cp.SolverError, KeyError):  # the latter where cvxpy has no name for what Clarabel told diffcp
            return str(cp.SOLVER_ERROR)
        return str(self.problem.status)

    def _adjoint(self, by_leaf: dict[Any, FloatArray]) -> FloatArray:
        """Return the total derivative of one number by the parameters, given its partial derivatives."""
        for variable in self.problem.variables():
            variable.gradient = by_leaf.get(variable, np.zeros(variable.shape))
        for parameter in self.parameters:  # those that only the target has are none of the problem's
            parameter.gradient = 0.0
        self.problem.backward()
        pairs = zip(self.parameters, self._stand_ins, strict=True)
        totals = [_gradient(parameter) + by_leaf.get(stand_in, 0.0) for parameter, stand_in in pairs]
        return np.concatenate([total.ravel() for total in totals])

    def _partials(self) -> list[dict[Any, FloatArray]] | None:
        """Return the partial derivatives of each number of the targets by the variables and the stand-ins.

        None where a target has no derivative at the solution.
        """
        for parameter, stand_in in zip(self.parameters, self._stand_ins, strict=True):
            stand_in.save_value(parameter.value)
        slopes = [target.grad for target in self._free_targets]
        if any(slope is None for of_target in slopes for slope in of_target.values()):
            return None
        return [by_leaf for pair in zip(self.targets, slopes, strict=True) for by_leaf in _entry_slopes(*pair)]

    @cached_property
    def _stand_ins(self) -> tuple[Any, ...]:
        """Return a variable for each parameter, by which an expression can be differentiated."""
        return tuple(cp.Variable(parameter.shape) for parameter in self.parameters)

    @cached_property
    def _free_targets(self) -> tuple[Any, ...]:
        """Return the targets with the stand-ins in place of the parameters."""
        replacements = {
            id(parameter): stand_in for parameter, stand_in in zip(self.parameters, self._stand_ins, strict=True)
        }
        return tuple(target.tree_copy(replacements) for target in self.targets)


def _assign(parameter: Any, value: Any) -> None:
    try:
        parameter.value = value
    except ValueError as error:
        # What cvxpy says of the attribute that the value breaks, such as nonneg or PSD.
        raise FitError(f"the estimate of parameter {parameter.name()!r} is not allowed: {error}") from error


def _gradient(parameter: Any) -> FloatArray:
    """Return the gradient of a parameter, scaled so that its inner product with a change is the number's change."""
    gradient = np.broadcast_to(np.asarray(parameter.gradient, dtype=np.float64), parameter.shape)
    if not any(parameter.attributes[attribute] for attribute in _SYMMETRIC):
        return gradient
    # Each pair of equal entries has the derivative by both of them, twice.
    return (gradient + np.diag(np.diag(gradient))) / 2


def _entry_slopes(target: Any, slopes: dict[Any, Any]) -> Iterator[dict[Any, FloatArray]]:
    """Yield for each number of a target its derivatives by the leaves, in their shapes."""
    matrices = {
        leaf: slope.toarray() if hasattr(slope, "toarray") else np.atleast_2d(slope) for leaf, slope in slopes.items()
    }
    # cvxpy numbers the entries of an array by columns, we by rows.
    for entry in np.arange(target.size).reshape(target.shape, order="F").ravel():
        yield {leaf: matrix[:, entry].reshape(leaf.shape, order="F") for leaf, matrix in matrices.items()}


def _failure(status: str) -> str:
    """Return a message on why there is no solution, with a remedy."""
    if status.startswith(cp.INFEASIBLE):
        return (
            "the cvxpy problem is infeasible at the estimates of its parameters: no point satisfies all constraints. "
            "Relax a constraint, or penalise its violation in the objective."
        )
    if status.startswith(cp.UNBOUNDED):
        return (
            "the cvxpy problem is unbounded at the estimates of its parameters: the objective improves without end. "
            "Bound the variables, or add a constraint or a penalty."
        )
    return (
        f"the solver did not solve the cvxpy problem; its status is {status!r}. Scale the variables and the parameters "
        "so that their sizes are near one."
    )


def solution_map(problem: Any, parameters: Sequence[Any], constants: Sequence[Any], target: Any) -> SolutionMap:
    """Return the targets as a function of `parameters`, with `constants` held at their present values."""
    keys = tuple(map(str, target)) if isinstance(target, dict) else None
    wanted = tuple(target.values()) if isinstance(target, dict) else (target,)
    return SolutionMap(
        problem=cp.Problem(problem.objective, problem.constraints),
        parameters=tuple(parameters),
        constants=tuple((constant, np.copy(constant.value)) for constant in constants),
        targets=tuple(_expression(problem, one) for one in wanted),
        keys=keys,
    )


def _expression(problem: Any, target: Any) -> Any:
    if isinstance(target, str) and target == "value":
        return problem.objective.args[0]
    return target


def check_problem(problem: Any) -> None:
    """Raise unless `problem` is a convex problem in real numbers that are not restricted to integers."""
    if not isinstance(problem, cp.Problem):
        raise ArgumentError(f"`problem` must be a cvxpy Problem; got {type(problem).__name__}.")
    if problem.is_mixed_integer():
        raise ArgumentError(
            "`problem` must have no integer or boolean variables: their solution jumps, and has no influence function. "
            'Relax them to an interval, or bootstrap a function that solves the problem, with estimator="standard".'
        )
    if not problem.is_dcp():
        raise ArgumentError(
            "`problem` must follow the rules of disciplined convex programming (DCP), so that a solution is the global "
            f"one; `problem.is_dcp()` is False. {_culprit(problem)}For a problem that is not convex use `ob.minimize`."
        )
    if any(leaf.is_complex() for leaf in (*problem.variables(), *problem.parameters())):
        raise ArgumentError("`problem` must be in real numbers; it has complex variables or parameters.")


def _culprit(problem: Any) -> str:
    """Return a message on which part is not convex."""
    if not problem.objective.is_dcp():
        return f"The objective is not: {str(problem.objective)[:80]}. "
    first = next(constraint for constraint in problem.constraints if not constraint.is_dcp())
    return f"A constraint is not: {str(first)[:80]}. "


def check_target(problem: Any, target: Any) -> None:
    """Raise unless `target` is "value", or made of the variables and parameters of the problem, or a dict of such."""
    for one in target.values() if isinstance(target, dict) and target else (target,):
        if isinstance(one, str) and one == "value":
            continue
        if not isinstance(one, cp.Expression):
            raise ArgumentError(
                '`target` must be a variable of the problem, an expression in its variables, "value", or a dict of '
                f"these; got {str(one)[:40]!r} ({type(one).__name__})."
            )
        own = {variable.id for variable in problem.variables()}
        foreign = [variable.name() for variable in one.variables() if variable.id not in own]
        if foreign:
            raise ArgumentError(
                f"`target` must be made of the variables of the problem; {foreign[0]!r} is not one of them. It has "
                f"{', '.join(variable.name() for variable in problem.variables())}."
            )


def parameters_of(problem: Any, target: Any) -> list[Any]:
    """Return the parameters of the problem and those that only the target has."""
    wanted = target.values() if isinstance(target, dict) else (target,)
    expressions = [one for one in wanted if isinstance(one, cp.Expression)]
    found = {parameter.id: parameter for one in (problem, *expressions) for parameter in one.parameters()}
    return list(found.values())

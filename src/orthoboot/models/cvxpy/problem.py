"""The solution of a cvxpy problem whose parameters are estimated, as a statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    DataError,
    FitWarning,
    MissingDependencyError,
    OrthobootWarning,
)
from orthoboot.functionals.base import Covariance, Functional, Prepared
from orthoboot.functionals.combined.parts import all_known
from orthoboot.functionals.differences import curvature_by_differences, jacobian_by_differences, principal_directions
from orthoboot.functionals.evaluation import NO_FITS, Convergence
from orthoboot.functionals.feature_means import FeatureMeans, FunctionOfMeans, centred_rows
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.functionals.user.recognition import recognized
from orthoboot.functionals.user.returned_values import feature_rows
from orthoboot.models.cvxpy.frozen_program import TargetRounding, frozen_program, rounded
from orthoboot.typing import FloatArray, Influence

if TYPE_CHECKING:
    from orthoboot.models.cvxpy.solution import SolutionMap

_STEP = 0.01
"""In standard errors: how far the parameters are moved to see whether the derivative is that of the solution."""
_DISAGREEMENT = 0.1
"""How far, in standard errors, solution and derivative may part on a step of one; curvature accounts for a tenth."""
_SOLVER_NOISE = 1e-7
"""How far a solution may be off beside its largest number."""
_RESOLUTION = 1e-10
"""Digits below this share of the largest number are the solver's: a variable at a bound is to stay there exactly."""
_DERIVATIVE_NOISE = 1e-5
"""Standard errors below this share of the largest one are those of numbers that the constraints hold."""
_SEVERAL = 1e-2
"""Solutions that differ by this part of the largest number of their target are different ones."""
_LISTED = 6
"""Numbers that a warning names before it counts the others."""


@dataclass(frozen=True)
class ArrayMeans(FeatureMeans):
    """Features of one data set that are arrays: their means and deviations in a row, and the shape of one of them."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class FeatureMean(FunctionOfMeans):
    """The mean of features of the rows, each an array of any shape, from the user's own function."""

    rows: Callable[..., Any]
    argument: str = "parameters"
    name = "mean of features"
    paired = True

    def derived(self, data: Data) -> ArrayMeans:
        """Return the features as means and deviations, with the shape of one row's."""
        array = self._array(data)
        return ArrayMeans(*centred_rows(self._flat(array, data)), array.shape[1:])

    def features(self, data: Data) -> FloatArray:
        """Return the features of the rows, shape ``(n, p)``."""
        return self._flat(self._array(data), data)

    def value(self, means: FloatArray) -> FloatArray:
        """Return the means themselves."""
        return means

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return the identity."""
        return np.eye(len(means))

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray:
        """Return zeros."""
        return np.zeros(len(means))

    def output(self, at: PreparedFormula[FeatureMeans]) -> Output:
        """Return the shape of the features of one row."""
        assert isinstance(at.derived, ArrayMeans)
        return output_like(np.zeros(at.derived.shape), self.name)

    def _array(self, data: Data) -> FloatArray:
        returned = self.rows(*data.arrays)
        return np.asarray(np.stack(returned, axis=1) if isinstance(returned, (list, tuple)) else returned)

    def _flat(self, array: FloatArray, data: Data) -> FloatArray:
        flat = array.reshape(len(array), -1) if array.ndim > 2 else array
        return feature_rows(flat, data.sizes[0], self.argument)


@dataclass(frozen=True, eq=False)
class ConvexOptimum(Functional):
    """The targets at the solution of a cvxpy problem; see `from_cvxpy`."""

    solution_map: SolutionMap
    estimates: tuple[Functional, ...]
    name: str

    batched = False
    releases_gil = False

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Return whether all estimates of the parameters are smooth."""
        return all(functional.smooth for functional in self.estimates)

    @property
    def fractional(self) -> bool:  # type: ignore[override]
        """Return whether all estimates of the parameters take weights that are not whole numbers."""
        return all(functional.fractional for functional in self.estimates)

    @property
    def paired(self) -> bool:  # type: ignore[override]
        """Return whether an estimate of a parameter needs paired arrays."""
        return any(functional.paired for functional in self.estimates)

    def at(self, data: Data) -> PreparedConvexOptimum:
        """Return the problem at `data`, not checked yet."""
        return PreparedConvexOptimum(self, data)


@dataclass(frozen=True, eq=False)
class PreparedConvexOptimum(Prepared[ConvexOptimum]):
    """A cvxpy problem at its data: a copy of the problem, solved at the estimated parameters."""

    one_by_one = True

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the compiled problem."""
        state = dict(vars(self))
        state.pop("solutions", None)
        return state

    @cached_property
    def solutions(self) -> SolutionMap:
        """Return the targets as a function of the parameters."""
        return self.functional.solution_map.copied()

    @cached_property
    def estimates(self) -> tuple[Prepared[Any], ...]:
        """Return the statistics that estimate the parameters, at the data."""
        return tuple(functional.at(self.data) for functional in self.functional.estimates)

    @property
    def influence_source(self) -> str:
        """Return how the solution is differentiated."""
        how = "diffcp" if self.solutions.is_differentiable else "differences in its parameters"
        return f"derivative of the cvxpy solution `{self.functional.name}`, by {how}"

    @property
    def exact_influence(self) -> bool:
        """Return whether it is the derivative on both sides: not where constraints come and go."""
        return False

    def check(self) -> None:
        """Raise unless the estimates have the shapes of the parameters, and the problem a solution at them."""
        for parameter, estimate in zip(self.solutions.parameters, self.estimates, strict=True):
            estimate.check()
            _check_shape(parameter, estimate.output)
        _ = self.estimate

    @property
    def output(self) -> Output:
        """Return the shapes of the targets."""
        return self.solutions.output(self.data.columns[0], self.functional.name)

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the targets at the parameters of each resample, shape ``(B, k)``."""
        points = np.hstack([estimate.values(resamples) for estimate in self.estimates])
        return rounded(self.value(points.T).T, self._units)

    def value(self, points: FloatArray) -> FloatArray:
        """Return the targets at parameters in columns ``(K, ...)``, shape ``(k, ...)``; each column is solved alone."""
        columns = points.reshape(len(points), -1).T
        return np.stack([self.solutions(column) for column in columns], axis=1).reshape(-1, *points.shape[1:])

    @cached_property
    def estimate(self) -> FloatArray:
        """Return the targets at the estimates of the parameters, shape ``(k,)``."""
        return rounded(self.solution, self._units)

    def influence(self) -> Influence | None:
        """Return the derivative of the targets times the influence of the parameters, or None if either is unknown."""
        return self._influence

    @cached_property
    def _influence(self) -> Influence | None:
        parts, jacobian = self.parameter_influence, self.jacobian
        if parts is None or jacobian is None:
            return None
        influence = tuple(part @ jacobian.T for part in parts)
        errors = _standard_errors(influence)
        noise = np.maximum(_DERIVATIVE_NOISE * self.solutions.scales(errors), self._units)
        moving = errors > np.maximum(noise, self._solver_noise(_standard_errors(parts)))
        return tuple(np.where(moving, part, 0.0) for part in influence)

    def _solver_noise(self, parameter_errors: FloatArray) -> FloatArray:
        """Return the standard errors that the solver's own inaccuracy makes, shape ``(k,)``.

        In a corner of a linear program all derivatives are zero, and what is found of them is the solver's. A target
        that is zero has no size of its own: its derivative is compared with one.
        """
        scales, largest = self.solutions.scales(self.solution), float(np.abs(self.point).max())
        has_size = (scales > self.solutions.zero) & (largest > 0)
        slopes = np.divide(scales, largest, out=np.ones_like(scales), where=has_size)
        noise: FloatArray = _SOLVER_NOISE * parameter_errors.max() * slopes
        return noise

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return t' times the biases of the parameters, plus ``(1/2) tr(t'' C)``, C the covariance of their errors."""
        biases = all_known(estimate.second_order_bias(covariance) for estimate in self.estimates)
        parts, jacobian = self.parameter_influence, self.jacobian
        if parts is None or jacobian is None or biases is None:
            return None
        directions = principal_directions(covariance(parts))
        trace = curvature_by_differences(self.value, self.point, directions, sum(self.data.sizes))
        bias: FloatArray = jacobian @ np.concatenate(biases) + trace / 2
        return bias

    @cached_property
    def surrogate(self) -> Surrogate | None:
        """Return the targets with the constraints held that bind at the data, for linear and quadratic programs.

        None for others, and where the estimates of the parameters are not cheap themselves.
        """
        parts, influence = self.parameter_influence, self._influence
        if parts is None or influence is None or any(estimate.work is None for estimate in self.estimates):
            return None
        moving, varying = (np.any([part.any(axis=0) for part in each], axis=0) for each in (parts, influence))
        # In a corner of a linear program nothing moves until another corner is better, which frozen constraints hide.
        if not varying.any():
            return None
        rounding = TargetRounding(self._units, np.where(varying, np.nan, self.estimate))
        return frozen_program(self.solutions, self.estimates, np.flatnonzero(moving), rounding)

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return warnings about the influence function and about slow refits."""
        of_estimates = (finding for estimate in self.estimates for finding in estimate.findings(convergence))
        return (*of_estimates, *(FitWarning(text) for text in self._warnings()))

    @cached_property
    def point(self) -> FloatArray:
        """Return the estimates of the parameters one after the other, shape ``(K,)``."""
        return np.concatenate([estimate.estimate for estimate in self.estimates])

    @cached_property
    def solution(self) -> FloatArray:
        """Return the targets on the data with all digits, shape ``(k,)``."""
        return self.value(self.point)

    @cached_property
    def parameter_influence(self) -> Influence | None:
        """Return the influence of the parameters side by side, one ``(n_i, K)`` array per sample."""
        parts = all_known(estimate.influence() for estimate in self.estimates)
        return None if parts is None else tuple(np.hstack(of_sample) for of_sample in zip(*parts, strict=True))

    @cached_property
    def jacobian(self) -> FloatArray | None:
        """Return the derivative of the targets by the parameters, shape ``(k, K)``; None where there is none."""
        parts = self.parameter_influence
        if parts is None:
            return None
        if self.solutions.is_differentiable:
            return self.solutions.derivative(self.point)
        return self._jacobian_by_differences(parts)

    @property
    def _units(self) -> FloatArray:
        """Return the units to which the numbers are rounded, shape ``(k,)``."""
        return np.maximum(_RESOLUTION * self.solutions.scales(self.solution), self.solutions.zero)

    def _jacobian_by_differences(self, parts: Influence) -> FloatArray:
        """Return the derivative in the directions in which the estimates vary, and zero in others.

        The numbers of a parameter one by one would leave the symmetric matrices, for example.
        """
        directions = principal_directions(np.sum([part.T @ part / len(part) ** 2 for part in parts], axis=0))
        n_rows, n_directions = sum(map(len, parts)), directions.shape[1]
        # The directions are as long as a standard error, and a row is farther away by the root of n.
        scale = np.full(n_directions, np.sqrt(n_rows))
        slopes = jacobian_by_differences(
            lambda steps: self.value((self.point + (directions @ steps).T).T), np.zeros(n_directions), scale, n_rows
        )
        return slopes @ np.linalg.pinv(directions)

    def _warnings(self) -> Iterator[str]:
        if not self.solutions.is_dpp:
            yield (
                "the problem is not a disciplined parametrised program (DPP): cvxpy compiles it again for each "
                "replicate, and its solution is differentiated by solving it at other parameters. Rewrite it to make "
                "`problem.is_dpp()` True: for example `cp.sum_squares(F @ x)` with F from `ob.covariance_factor` in "
                "place of `cp.quad_form(x, Sigma)`."
            )
        if not self.solutions.is_accurate(self.point):
            yield (
                'the solver calls the solution "optimal_inaccurate": it may have few correct digits, and so may the '
                "influence function. Scale the variables and the parameters so that their sizes are near one."
            )
        not_unique = self._not_unique
        if not_unique.size:
            yield (
                f"the solution is not unique, or nearly so, for {self._listed(not_unique)}: perturbing the objective "
                "by a relative 1e-6 moves it by more than a standard error. The solver's choice among the solutions "
                "says nothing about the data, and neither does its standard error. Add a small strictly convex term, "
                'such as `1e-3 * cp.sum_squares(x)`, or take a target that all solutions share, such as "value".'
            )
        kinked = np.setdiff1d(self._disagreeing(), not_unique)
        if kinked.size:
            yield (
                f"the derivative of the solution is unstable for {self._listed(kinked)}: a step of a hundredth of a "
                "standard error of the parameters does not move the solution as the derivative predicts, or not "
                "equally in both directions. A constraint may bind only just, or the solution may not be unique. "
                'Compare with estimator="standard".'
            )

    @cached_property
    def _not_unique(self) -> Any:
        """Return which numbers differ between solutions that are as good as each other."""
        influence = self.influence()
        errors = np.zeros(self.solution.size) if influence is None else _standard_errors(influence)
        scales = self.solutions.scales(self.solution)
        # The other solutions of a problem whose own is zero are of the size one.
        least = np.maximum(errors, _SEVERAL * np.where(scales > self.solutions.zero, scales, 1.0))
        return np.flatnonzero(self.solutions.spread(self.point) > least)

    def _disagreeing(self) -> Any:
        """Return which numbers do not follow their derivative along one random direction of the parameters."""
        parts, influence = self.parameter_influence, self.influence()
        if parts is None or influence is None:
            return np.empty(0, dtype=np.int64)
        rng = np.random.default_rng(0)
        # Such weights make of influence values an error of estimation, as large as a standard error.
        noise = [rng.standard_normal(n) / n for n in self.data.sizes]
        step = _STEP * sum(weights @ part for weights, part in zip(noise, parts, strict=True))
        slope = sum(weights @ part for weights, part in zip(noise, influence, strict=True))
        point, centre = self.point, self.solution
        errors = [np.abs((self.value(point + sign * step) - centre) / (sign * _STEP) - slope) for sign in (1, -1)]
        allowed = _DISAGREEMENT * np.maximum(_standard_errors(influence), np.abs(slope))
        off = max(_SOLVER_NOISE * float(np.abs(centre).max()), self.solutions.zero)
        return np.flatnonzero(np.max(errors, axis=0) > allowed + off / _STEP)

    def _listed(self, numbers: Any) -> str:
        names = [self.output.names[i] for i in numbers]
        return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def _standard_errors(influence: Influence) -> FloatArray:
    """Return the standard errors of independent rows that influence values make."""
    variances: FloatArray = np.sum([np.mean(np.square(part), axis=0) / len(part) for part in influence], axis=0)
    return np.sqrt(variances)


def _check_shape(parameter: Any, output: Output) -> None:
    """Raise unless an estimate has the shape of the parameter, up to axes of length one."""
    shapes = [tuple(length for length in shape if length != 1) for shape in (*output.shapes, parameter.shape)]
    if output.keys is not None or len(set(shapes)) > 1:
        got = f"a dict with keys {', '.join(map(str, output.keys))}" if output.keys else f"shape {output.shapes[0]}"
        raise DataError(
            f"the estimate of parameter {parameter.name()!r} must have its shape, {parameter.shape}; got {got}. A "
            "function in `parameters` returns an array of that shape for every row, with the rows first."
        )


def from_cvxpy(problem: Any, parameters: Mapping[Any, Any], target: Any, *, name: str | None = None) -> ConvexOptimum:
    r"""Return the solution of a cvxpy problem, whose parameters are estimated from the rows, as a statistic.

    .. math:: x(p) = \arg\min_x f(x, p) \quad\text{subject to the constraints}, \qquad
              I_j = \left(t_p + t_x \frac{dx}{dp}\right)\,I^p_j

    for the target :math:`t(x, p)`, with the derivative of the solution from the optimality conditions of the cone
    program (``appendix: constrained optimization``): one adjoint solve by diffcp per value of the target.

    Replicates solve the problem, compiled once, at the parameters of each resample, with Clarabel. They solve a copy,
    so your variables and parameters keep their values.

    Parameters
    ----------
    problem
        A convex `cvxpy.Problem`, minimised or maximised, preferably with ``problem.is_dpp()``.
    parameters
        How to estimate each `cvxpy.Parameter` of the problem: a statistic of the catalogue with the shape of the
        parameter, such as `mean`, `covariance_factor`, or `function_of_means`; a function that takes the data as
        arrays, one argument per array, and returns an array of the parameter's shape for every row, rows first, whose
        mean is the estimate; or None to keep the current value.
    target
        A variable, an expression in variables and parameters, "value" for the optimal value, or a dict of these.
    name
        The name of the statistic in tables and messages; by default that of the variable.

    Examples
    --------
    The point of the unit ball next to the mean of the rows, and its distance.

    >>> import cvxpy as cp
    >>> import orthoboot as ob
    >>> x, centre = cp.Variable(2), cp.Parameter(2)
    >>> problem = cp.Problem(cp.Minimize(cp.norm(x - centre)), [cp.norm(x) <= 1])
    >>> nearest = ob.from_cvxpy(problem, {centre: ob.mean}, {"point": x, "distance": "value"})
    >>> found = nearest([[2.0, 4.0], [4.0, 4.0]])
    >>> found["point"].round(6).tolist(), round(found["distance"], 6)
    ([0.6, 0.8], 4.0)
    """
    if find_spec("cvxpy") is None:
        raise MissingDependencyError('cvxpy is not installed. Install it with `pip install "orthoboot[cvxpy]"`.')
    from orthoboot.models.cvxpy.solution import check_problem, check_target, parameters_of, solution_map

    check_problem(problem)
    check_target(problem, target)
    known = parameters_of(problem, target)
    _check_entries(parameters, known)
    estimated = {
        parameter: _estimate(parameter, parameters[parameter])
        for parameter in known
        if parameters[parameter] is not None
    }
    if not estimated:
        raise ArgumentError("`parameters` must estimate at least one parameter from the data; got none.")
    constants = [parameter for parameter in known if parameters[parameter] is None]
    solutions = solution_map(problem, list(estimated), constants, target)
    return ConvexOptimum(solutions, tuple(estimated.values()), name or _name(target))


def _check_entries(parameters: Any, known: list[Any]) -> None:
    """Raise unless there is an entry for every parameter, and for nothing else."""
    if not isinstance(parameters, Mapping):
        raise ArgumentError(
            "`parameters` must be a dict from the parameters of the problem to their estimates, such as `{mu: "
            f"ob.mean}}`; got {type(parameters).__name__}."
        )
    names = ", ".join(repr(parameter.name()) for parameter in known) or "none"
    for parameter in known:
        if parameter not in parameters:
            raise ArgumentError(
                f"`parameters` must have an entry for every parameter of the problem, {names}; {parameter.name()!r} "
                "has none. Give a statistic or a function of the rows, or None to hold it at its current value."
            )
        if parameters[parameter] is None and parameter.value is None:
            raise ArgumentError(
                f"`parameters` holds {parameter.name()!r} at its current value, but it has none. Set its `value` first."
            )
    foreign = [key for key in parameters if not any(key is parameter for parameter in known)]
    if foreign:
        raise ArgumentError(
            f"`parameters` must have the parameters of the problem as keys, {names}; got {str(foreign[0])[:40]!r}, "
            "which is not one of them."
        )


def _estimate(parameter: Any, entry: Any) -> Functional:
    """Return the statistic that estimates `parameter`."""
    functional = recognized(entry)
    if functional is not None:
        return functional
    if not callable(entry):
        raise ArgumentError(
            f"`parameters` must give for {parameter.name()!r} a statistic, a function of the rows, or None; got "
            f"{type(entry).__name__}."
        )
    return FeatureMean(entry, f"parameters[{parameter.name()}]")


def _name(target: Any) -> str:
    """Return the name of a variable, "value", or what else the statistic is called."""
    if isinstance(target, str):
        return target
    named = callable(getattr(target, "name", None)) and not getattr(target, "args", ())
    return str(target.name()) if named else "cvxpy"

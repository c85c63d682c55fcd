"""The solution and the value of a constrained optimisation problem whose parameter is a mean of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, Self

import numpy as np

from orthoboot.arguments import checked_count, checked_name
from orthoboot.arrays.units import power_of_two
from orthoboot.autodiff import PACKAGES, PackageFunction, autodiff_for
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError, FitError, FitWarning, OrthobootWarning
from orthoboot.functionals.base import Covariance, Functional, Prepared
from orthoboot.functionals.evaluation import NO_FITS, Convergence
from orthoboot.functionals.feature_means import FeatureMeans, FunctionOfMeans, centred_rows
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.means_form import MeansForm
from orthoboot.functionals.optima.frozen_constraints import FrozenConstraints, frozen_constraints
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.functionals.user.returned_values import feature_rows
from orthoboot.functionals.user.row_by_row import rows_together
from orthoboot.functionals.user.user_function import value_of
from orthoboot.optimisation.constrained_search import METHODS, optimum_from, optimum_near
from orthoboot.optimisation.kkt import Optimum, Problem, System, independent, stationary, system_at, with_constancy
from orthoboot.optimisation.lagrangian import Lagrangian
from orthoboot.solvers import adjoints
from orthoboot.typing import FloatArray, Influence, IntArray

OUTPUTS = ("solution", "value", "both")

_WEAK = 1e-6
"""How near to zero, beside the other terms, a constraint or its pull is called zero in a warning."""
_STILL = 1e-12
"""Part of a number below which its change with xi is rounding."""
_LISTED = 6
"""Constraints that a warning names before it counts the others."""


@dataclass(frozen=True, eq=False)
class SolvedProblem(FunctionOfMeans):
    """The problem solved at the data: a smooth function of xi near the mean of the rows.

    Attributes
    ----------
    problem, optimum
        The problem, and its optimum at the mean of the rows.
    means
        The rows whose mean is xi.
    of
        Which of ``"solution"``, ``"value"`` and ``"both"`` is the statistic.
    method
        The method of scipy for resamples on which Newton's method does not do.
    """

    problem: Problem
    optimum: Optimum
    means: FeatureMeans
    of: str
    method: str

    def features(self, data: Data) -> FloatArray:
        """Return the rows whose mean is xi."""
        return self.means.centre + self.means.deviations

    def derived(self, data: Data) -> FeatureMeans:
        """Return the mean and the deviations of the rows."""
        return self.means

    def value(self, means: FloatArray) -> FloatArray:
        """Return the statistic at values of xi in columns ``(q, ...)``, each solved from the optimum at the data."""
        points = np.ascontiguousarray(means.reshape(len(means), -1).T)
        values = [self._outputs(xi, optimum_near(self.problem, xi, self._start, self.method)) for xi in points]
        return np.stack(values, axis=1).reshape(-1, *means.shape[1:])

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return the derivative of the statistic by xi at the data, shape ``(k, q)``."""
        rows = {"solution": self._solution_slopes, "value": self._value_slopes}
        return np.vstack([rows[part]() for part in _parts(self.of)])

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray | None:
        r"""Return ``sum_l u_l' v'' u_l`` of the value, :math:`v'' = L_{\xi\xi} - L_{\xi z} K^{-1} L_{z\xi}`."""
        if self.of != "value":
            return None
        trace: FloatArray = self._value_bends(directions).sum(axis=1)
        return trace

    def means_form(self, at: PreparedFormula[FeatureMeans]) -> MeansForm | None:
        """Return the value with the constraints held that bind at the data; None for a solution.

        The second derivative of a solution would take many of them.
        """
        form = super().means_form(at)
        if form is None or self.of != "value":
            return None
        return replace(form, curvature=partial(self._bends, power_of_two(self.means.scale)))

    def _bends(self, units: FloatArray, point: FloatArray, directions: FloatArray) -> FloatArray:
        """Return the second derivatives of the value along changes of the sums, in units, and of the total.

        Of ``v(xi + s/t)``, s the sums and t the total at `point` ``(q + 1,)`` and in the columns of `directions` ``(q +
        1, m)``: shape ``(1, m)``. NaN where the constraints that bind at the data cannot be held at `point`.
        """
        sums, total = units * point[:-1], point[-1]
        totals = directions[-1] / total
        changes = (units[:, np.newaxis] * directions[:-1] - np.outer(sums / total, directions[-1])) / total
        try:
            moved = self._moved(sums / total)
            crossed: FloatArray = 2 * totals * (moved._value_slopes() @ changes)
            return moved._value_bends(changes) - crossed
        except FitError:
            return np.full((1, directions.shape[1]), np.nan)

    def _moved(self, change: FloatArray) -> SolvedProblem:
        """Return the problem for rows that are all moved by `change` ``(q,)``, with the same constraints held."""
        if not change.any():
            return self
        start, centre = self._start, self.means.centre + change
        optimum = stationary(self.problem, centre, start.x, start.multipliers, start.system.working, known=start.system)
        return replace(self, optimum=optimum, means=replace(self.means, centre=centre))

    def _value_bends(self, directions: FloatArray) -> FloatArray:
        """Return ``u' v'' u`` for directions of xi in columns ``(q, m)``, shape ``(1, m)``."""
        mixed, own = self._curvature_along(directions)
        bends: FloatArray = own - np.sum(mixed * self._system.factor.solve(mixed), axis=0)
        return bends[np.newaxis]

    def output(self, at: PreparedFormula[FeatureMeans]) -> Output:
        """Return one row of numbers; `PreparedOptimum` gives them names."""
        return output_like(self.outputs(), self.name)

    def outputs(self) -> FloatArray:
        """Return the statistic on the data, shape ``(k,)``."""
        return self._outputs(self.means.centre, self.optimum)

    def surrogate(self) -> FrozenConstraints | None:
        """Return the statistic with the constraints held that bind at the data, for many resamples at once.

        None in a corner that does not move with xi: nothing changes there until another corner is better.
        """
        changes = np.abs(self.jacobian(self.means.centre)) @ self.means.scale
        if (changes <= _STILL * np.abs(self.outputs())).all():
            return None
        return frozen_constraints(self.means, self._start, _parts(self.of))

    @cached_property
    def _system(self) -> System:
        """Return the derivative of the KKT conditions at the optimum; that of the last Newton step is older."""
        optimum, working = self.optimum, self.optimum.system.working
        return system_at(self.problem, self.means.centre, optimum.x, optimum.multipliers, working)

    @cached_property
    def _start(self) -> Optimum:
        """Return the optimum at the data, marked if its KKT matrix is the same for all resamples."""
        return with_constancy(self.optimum, self.means.centre)

    def _curvature_along(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivative of the held conditions along directions of xi, and the Lagrangian's own curvature."""
        optimum = self.optimum
        mixed, own = self.problem.lagrangian.curvature(optimum.x, optimum.multipliers, self.means.centre, directions)
        return mixed[self._system.unknowns], own

    def _outputs(self, xi: FloatArray, optimum: Optimum) -> FloatArray:
        parts: dict[str, Callable[[], Any]] = {
            "solution": lambda: optimum.x,
            "value": lambda: [self.problem.lagrangian.objective(optimum.x, xi)],
        }
        return np.concatenate([parts[part]() for part in _parts(self.of)])

    def _value_slopes(self) -> FloatArray:
        """Return dL/dxi, shape ``(1, q)``: by the envelope theorem the derivative of the value."""
        centre = self.means.centre
        gradient = self.problem.lagrangian.gradient(self.optimum.x, self.optimum.multipliers, centre)
        return gradient[np.newaxis, -len(centre) :]

    def _solution_slopes(self) -> FloatArray:
        """Return dx/dxi, shape ``(p, q)``, by one solve per variable or per parameter, whichever are fewer."""
        p, q, system = len(self.optimum.x), len(self.means.centre), self._system
        if p > q:
            return -system.factor.solve(self._curvature_along(np.eye(q))[0])[:p]
        slopes = np.zeros((p, len(system.matrix)))
        slopes[:, system.unknowns] = adjoints(system.factor, np.eye(p, len(system.unknowns)))
        point = (self.optimum.x, self.optimum.multipliers, self.means.centre)
        return -np.stack([self.problem.lagrangian.mixed_product(*point, row) for row in slopes])


def _parts(output: str) -> tuple[str, ...]:
    return ("solution", "value") if output == "both" else (output,)


@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedOptimum(Functional):
    """The solution or the value of a constrained problem; see `minimize`."""

    objective: PackageFunction
    init: Any
    equality: PackageFunction | None = None
    inequality: PackageFunction | None = None
    parameters: Callable[..., Any] | None = None
    of: str = field(default="solution", metadata={"argument": "output"})
    variables: tuple[str, ...] | None = None
    method: str = "SLSQP"
    library: str | None = None
    name: str = "minimize"

    paired = True
    batched = False
    releases_gil = False

    def __post_init__(self) -> None:
        for argument in ("objective", "equality", "inequality"):
            function = getattr(self, argument)
            if not (callable(function) or (function is None and argument != "objective")):
                raise ArgumentError(f"`{argument}` must be a function of x and xi; got {type(function).__name__}.")
        if self.parameters is not None and not callable(self.parameters):
            raise ArgumentError(
                "`parameters` must be a function of the data that returns rows, (n, q); got "
                f"{type(self.parameters).__name__}."
            )
        if not callable(self.init):
            checked_start(self.init)
        checked_name("output", self.of, OUTPUTS)
        checked_name("method", self.method, METHODS)
        if self.library is not None:
            checked_name("library", self.library, PACKAGES)

    def replace(self, **options: Any) -> Self:
        """Return the same statistic with other options, named as the arguments of `minimize`."""
        return super().replace(**{"of" if option == "output" else option: value for option, value in options.items()})

    def at(self, data: Data) -> PreparedOptimum:
        """Return the problem at `data`, not checked yet."""
        return PreparedOptimum(self, data)


@dataclass(frozen=True, eq=False)
class PreparedOptimum(Prepared[ConstrainedOptimum]):
    """A constrained problem at its data: the mean of the rows is its parameter."""

    one_by_one = True

    @property
    def influence_source(self) -> str:
        """Return the name of the method: differentiation of the KKT conditions."""
        return f"derivative of the KKT conditions of `{self.functional.name}`"

    @property
    def exact_influence(self) -> bool:
        """Return whether it is the derivative on both sides: not where constraints come and go."""
        return False

    def check(self) -> None:
        """Raise unless there is one sample, on which the problem is well posed and has a solution."""
        n_samples = len(self.data.sizes)
        if n_samples > 1:
            raise DataError(
                f"`{self.functional.name}` takes one sample, whose mean is the problem's parameter; got {n_samples} "
                f"independent samples.{self.data.samples_hint}"
            )
        _ = self.solved

    @cached_property
    def output(self) -> Output:
        """Return a vector for the solution, a number for the value, a dict for both."""
        of, variables, x = self.functional.of, self.functional.variables, self.solved.optimum.x
        values = {"solution": x, "value": 0.0}
        output = output_like(values if of == "both" else values[of], self.functional.name)
        if variables is None or of == "value":
            return output
        labels = variables if of == "solution" else [f"solution[{name}]" for name in variables]
        return replace(output, names=(*labels, *output.names[len(x) :]))

    @cached_property
    def estimate(self) -> FloatArray:
        """Return the solution and the value on the data."""
        return self.solved.outputs()

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the statistic at the weighted means, each solved from the optimum on the data, shape ``(B, k)``."""
        return self._function_of_mean.values(resamples)

    def influence(self) -> Influence | None:
        """Return the derivative by xi times ``xi_j - xi`` for every row."""
        return self._function_of_mean.influence()

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return half the trace of the second derivative by xi times the covariance of xi."""
        return self._function_of_mean.second_order_bias(covariance)

    def means_form(self) -> MeansForm | None:
        """Return the value as a function of xi with the constraints held that bind at the data."""
        return self._function_of_mean.means_form()

    @cached_property
    def surrogate(self) -> Surrogate | None:
        """Return the optimum with the constraints held that bind at the data."""
        return self.solved.surrogate()

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return warnings about dependent gradients and about constraints that may stop binding."""
        return (*self._irregularities, *self._about_rows)

    @cached_property
    def _about_rows(self) -> tuple[OrthobootWarning, ...]:
        """Return a warning if the parameters of a row depend on other rows."""
        parameters = self.functional.parameters
        if parameters is None:
            return ()

        def values(rows: IntArray) -> FloatArray:
            return np.asarray(parameters(*(array[rows] for array in self.data.arrays)), dtype=np.float64)

        return rows_together("parameters", values, self.data.sizes[0])

    @cached_property
    def _irregularities(self) -> tuple[OrthobootWarning, ...]:
        return tuple(FitWarning(text) for text in _irregularities(self.solved.optimum))

    @cached_property
    def solved(self) -> SolvedProblem:
        """Return the problem at the mean of the rows, solved."""
        means = FeatureMeans(*centred_rows(self._rows()))
        start = self._start(means.centre)
        lagrangian = self._lagrangian(start, means.centre)
        lengths = lagrangian.checked_lengths(start, means.centre)
        problem = Problem(lagrangian, lengths.get("equality", 0), lengths.get("inequality", 0))
        lagrangian.check_derivatives(start, problem.n_constraints, means.centre)
        optimum = optimum_from(problem, means.centre, start, self.functional.method)
        return SolvedProblem(problem, optimum, means, self.functional.of, self.functional.method)

    @property
    def _function_of_mean(self) -> PreparedFormula[FeatureMeans]:
        return self.solved.at(self.data)

    def _rows(self) -> FloatArray:
        n, parameters = self.data.sizes[0], self.functional.parameters
        if parameters is None:
            return np.hstack([array.reshape(n, -1) for array in self.data.arrays])
        return feature_rows(value_of("parameters", parameters, *self.data.arrays), n, "parameters")

    def _start(self, xi: FloatArray) -> FloatArray:
        init, variables = self.functional.init, self.functional.variables
        start = checked_start(value_of("init", init, xi) if callable(init) else init)
        if variables is not None and len(variables) != len(start):
            raise ArgumentError(
                f"`variables` must have one name for each of the {len(start)} variables; got {len(variables)}."
            )
        return start

    def _lagrangian(self, x: FloatArray, xi: FloatArray) -> Lagrangian:
        asked = self.functional
        library = autodiff_for(asked.objective, asked.equality, asked.inequality, name=asked.library)
        functions = {"equality": asked.equality, "inequality": asked.inequality}
        constraints = {name: function for name, function in functions.items() if function is not None}
        return Lagrangian(library, asked.objective, constraints, x, xi)


def checked_start(init: Any) -> FloatArray:
    """Return the start as a vector: zeros where `init` is the number of variables."""
    if isinstance(init, Integral):
        return np.zeros(checked_count("init", init, least=1, reason="if it is the number of variables"))
    try:
        start = np.array(init, dtype=np.float64)
    except (TypeError, ValueError):
        start = np.empty(())
    if start.ndim != 1 or not start.size or not np.isfinite(start).all():
        raise ArgumentError(
            "`init` must be a vector of finite numbers to start from, the number of variables, or a function of xi "
            f"that returns such a vector; got {str(init)[:60]!r}."
        )
    return start


def _irregularities(optimum: Optimum) -> Iterator[str]:
    """Yield a text for each regularity condition that fails at the optimum."""
    problem, jacobian = optimum.system.problem, optimum.system.jacobian
    binding = np.flatnonzero(optimum.binding(_WEAK))
    held_first = np.concatenate([optimum.system.working, np.setdiff1d(binding, optimum.system.working)])
    free = independent(jacobian, held_first)
    dependent = np.setdiff1d(binding, free)
    if dependent.size:
        # Equalities bind whatever the data are: one that follows from others is kept with them.
        may_change = (
            ", and a small change of the data may free another constraint than the influence function assumes"
            if (dependent >= problem.n_equalities).any()
            else "; the solution and its influence function do not depend on them"
        )
        yield (
            f"the gradients of the binding constraints are dependent: {_listed(problem, dependent)} follow(s) from "
            f"the others ({_listed(problem, np.sort(free))}), so the multipliers are not unique{may_change}. Drop "
            "redundant constraints."
        )
    weak = [i for i in np.setdiff1d(binding, dependent) if i >= problem.n_equalities and optimum.forces[i] <= _WEAK]
    if weak:
        strong = np.setdiff1d(optimum.system.working, weak)
        unique = System(problem, optimum.system.matrix, strong).is_minimum
        yield (
            f"{_listed(problem, weak)} bind(s) with a multiplier of zero: strict complementarity fails. The solution "
            "has a kink there, the influence function is that of one side, and the normal approximation is doubtful. "
            + ("" if unique else "Without such constraints the solution is not unique; it may not be with them. ")
            + 'Compare with estimator="standard".'
        )


def _listed(problem: Problem, constraints: Sequence[int] | IntArray) -> str:
    titles = [problem.title(int(i)) for i in constraints]
    return ", ".join(titles[:_LISTED]) + (f" and {len(titles) - _LISTED} more" if len(titles) > _LISTED else "")


def minimize(
    objective: PackageFunction,
    init: Any,
    *,
    equality: PackageFunction | None = None,
    inequality: PackageFunction | None = None,
    parameters: Callable[..., Any] | None = None,
    output: str = "solution",
    variables: Sequence[str] | None = None,
    method: str = "SLSQP",
    library: str | None = None,
    name: str = "minimize",
) -> ConstrainedOptimum:
    r"""Return the solution of a constrained optimisation problem, or its value, as a statistic of the rows.

    .. math:: \min_x f(x, \xi) \quad\text{subject to}\quad g(x, \xi) = 0,\; h(x, \xi) \le 0,
              \qquad \xi = \text{the mean of the rows}.

    At the solution let c be the constraints that bind, :math:`L = f + \lambda \cdot c` and
    :math:`z = (x, \lambda)`. Differentiating the KKT conditions :math:`L_z = 0` gives, with
    :math:`K = L_{zz}`,

    .. math:: \frac{dz}{d\xi} = -K^{-1} L_{z\xi}, \qquad \frac{dv}{d\xi} = L_\xi, \qquad
              I_j = \frac{d\phi}{d\xi}\,(\xi_j - \xi)

    for the solution, for the value v (the envelope theorem), and for the influence of row j
    (``appendix: constrained optimization``). All derivatives are automatic; K is factored once.

    scipy finds the neighbourhood of the solution; which constraints bind is read off there, Newton's method on the KKT
    conditions goes on to the last digits, and the result is verified: multipliers not negative, all constraints kept,
    a strict local minimum. Resamples start at the solution on the data with the constraints that bind there.

    Parameters
    ----------
    objective
        ``f(x, xi)``, one number, written in jax.numpy or torch; x has shape ``(p,)``, xi shape ``(q,)``.
    init
        Where to start: a vector ``(p,)``, the number p of variables (all zero), or a function of xi that returns a
        vector.
    equality, inequality
        ``g(x, xi) = 0`` and ``h(x, xi) <= 0``: each returns a number, a vector, or a list of these.
    parameters
        Takes the data as arrays, one argument per array, and returns the rows whose mean is xi: shape ``(n, q)`` or
        ``(n,)``, or a list of q arrays of length n. By default the rows of the data themselves.
    output
        "solution" for x, "value" for f at it, or "both" for the dict ``{"solution": x, "value": f}``.
    variables
        Names of the p variables, for tables.
    method
        The method of scipy's `minimize` for the search, "SLSQP" or "trust-constr".
    library
        "jax" or "torch", where the functions do not show which one they are written in.
    name
        What tables and messages call the statistic.

    Examples
    --------
    The point of the unit ball next to the mean of the rows, and its squared distance.

    >>> import numpy as np
    >>> import orthoboot as ob
    >>> def distance(x, xi):
    ...     return ((x - xi) ** 2).sum()
    >>> def beyond(x, xi):
    ...     return (x**2).sum() - 1
    >>> nearest = ob.minimize(distance, 2, inequality=beyond, output="both", library="jax")
    >>> found = nearest(np.array([[2.0, 4.0], [4.0, 4.0]]))
    >>> found["solution"].round(6).tolist(), round(found["value"], 6)
    ([0.6, 0.8], 16.0)
    """
    names = None if variables is None else tuple(map(str, variables))
    return ConstrainedOptimum(objective, init, equality, inequality, parameters, output, names, method, library, name)

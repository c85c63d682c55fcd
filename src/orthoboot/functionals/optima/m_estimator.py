"""Minima of a loss and roots of estimating equations that the user writes, with their influence functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np

from orthoboot.arguments import checked_count, is_real
from orthoboot.autodiff import PACKAGES, Autodiff, PackageFunction, autodiff_for
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    DataError,
    FitError,
    FitWarning,
    InfluenceError,
    OrthobootWarning,
    StatisticError,
)
from orthoboot.functionals.base import Functional, Prepared
from orthoboot.functionals.evaluation import NO_FITS, Convergence
from orthoboot.functionals.optima.parameter_target import (
    FunctionOfParameters,
    ParametersTarget,
    of_user,
    value_in_package,
)
from orthoboot.functionals.optima.refit_steps import RefitSteps
from orthoboot.functionals.output import Output
from orthoboot.functionals.user.row_by_row import rows_together
from orthoboot.optimisation.distance import distance_in_errors
from orthoboot.optimisation.estimating_conditions import (
    Conditions,
    EquationConditions,
    EquationPrograms,
    LossConditions,
    LossPrograms,
)
from orthoboot.optimisation.newton_fit import NewtonFit, by_products_alone
from orthoboot.solvers import FactoredMatrix, Solver, adjoints, linear_solver, parameter_names
from orthoboot.typing import FloatArray, Influence, IntArray

_NOTED_DISTANCE, _REFUSED_DISTANCE = 1e-3, 0.1
"""From the fit to the solution, in standard errors: where the user hears of it, and where it is no fit."""
_VISIBLE = 1e-10
"""Of the estimate: a distance that is not rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class MEstimator(Functional):
    """Parameters that minimise a loss or solve estimating equations; see `m_estimator`."""

    loss: PackageFunction | None = None
    init: Any = None
    psi: PackageFunction | None = None
    penalty: PackageFunction | None = None
    target: PackageFunction | None = None
    solver: Any = None
    library: str | None = None
    name: str = "m_estimator"

    paired = True
    batched = False

    def __post_init__(self) -> None:
        if (self.loss is None) == (self.psi is None):
            both = "both" if self.loss is not None else "neither"
            raise ArgumentError(
                f"`m_estimator` takes either `loss`, to minimise, or `psi`, estimating equations to solve; got {both}."
            )
        for option in ("loss", "psi", "penalty", "target"):
            if not (getattr(self, option) is None or callable(getattr(self, option))):
                raise ArgumentError(f"`{option}` must be a function; got {getattr(self, option)!r}.")
        _check_init(self.init)
        solver = self.linear_solver
        if self.psi is not None and solver.symmetric:
            raise ArgumentError(
                f'`solver` must be "lu" for `psi`, whose derivative need not be symmetric; got {self.solver!r}.'
            )
        if self.library is not None and self.library not in PACKAGES:
            raise ArgumentError(f'`library` must be "jax" or "torch"; got {self.library!r}.')

    @property
    def linear_solver(self) -> Solver:
        """Return the solver, by default the one that fits a loss or equations."""
        return linear_solver(self.solver or ("cholesky" if self.psi is None else "lu"))

    def at(self, data: Data) -> MEstimatorFit:
        """Return the estimator at `data`, not checked yet."""
        return MEstimatorFit(self, data)


@dataclass(frozen=True, eq=False)
class MEstimatorFit(Prepared[MEstimator]):
    """An M-estimator at its data: the fit, and the derivative of its conditions there."""

    one_by_one = True

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: the fit and its derivatives, without compiled programs.

        Conditions are compiled programs and arrays of the library, which belong to their process; another one makes its
        own when it refits. So is a factor that is nothing but the products of these programs with vectors.
        """
        state = dict(vars(self))
        state.pop("conditions", None)
        if self.functional.linear_solver.by_products:
            state.pop("factor", None)
        return state

    @property
    def influence_source(self) -> str:
        """Return the name of the method, implicit differentiation, and of the package."""
        return f"implicit function theorem for `{self.functional.name}`, derivatives by {self.library.name}"

    @property
    def exact_influence(self) -> bool:
        """Return whether the influence function is not damped."""
        return super().exact_influence and self.functional.linear_solver.damping == 0

    def check(self) -> None:
        """Raise unless there is one sample and the user's functions return valid values at the start."""
        n_samples = len(self.data.sizes)
        if n_samples > 1:
            raise DataError(
                f"`{self.functional.name}` takes one sample, or paired arrays such as a matrix and a response with "
                f"`paired=True`; got {n_samples} independent samples.{self.data.samples_hint}"
            )
        _ = self.conditions

    @cached_property
    def output(self) -> Output:
        """Return the shape and the names of the target."""
        name = "theta" if self.functional.target is None else self.functional.name
        return self.target.output(self.fit, name)

    @cached_property
    def estimate(self) -> FloatArray:
        """Return the target at the fit to the data."""
        return self.target.value(self.fit)

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the target of the refit on each resample, started from the fit to the data."""
        return np.stack([self.target.value(self._refit(weights)) for weights in resamples.weights[0]])

    def influence(self) -> Influence:
        """Return ``-(gradient of loss_j + gradient of penalty) . s``, one adjoint s for each output."""
        linear = self.linearization
        if linear.distance > _REFUSED_DISTANCE:
            raise FitError(
                f"the fit did not converge on the data: one more step would move it by {linear.distance:.2g} standard "
                "errors. Add a `penalty`, rescale the columns, or start from a better `init`."
            )
        return (linear.rows - linear.rows.mean(axis=0),)

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return a warning if damping or an inexact minimum makes the influence function approximate."""
        found, name = [], self.functional.name
        damping = self.functional.linear_solver.damping
        if damping > 0:
            found.append(
                f"the solver's damping of {damping:g} makes the influence of `{name}` approximate: too small in "
                "directions that the data barely determine. The refits do not use it; a `penalty` would change both."
            )
        try:
            distance = self.linearization.distance
        except (FitError, InfluenceError, StatisticError):
            distance = 0.0  # another influence function was used, and its own errors are reported elsewhere
        if distance > _NOTED_DISTANCE:
            found.append(
                f"the fit of `{name}` is {distance:.2g} standard errors from the solution, not zero; its "
                "influence values were centred."
            )
        return (*map(FitWarning, found), *self._about_rows)

    @cached_property
    def _about_rows(self) -> tuple[OrthobootWarning, ...]:
        """Return a warning if the loss, or the equations, of a row depend on other rows."""
        name = "psi" if self.functional.loss is None else "loss"
        function: PackageFunction = getattr(self.functional, name)

        def values(rows: IntArray) -> FloatArray:
            arrays = (self.library.array(array[rows]) for array in self.data.arrays)
            return _first_array(name, self.library, function, self.fit, *arrays)

        return rows_together(name, values, self.data.sizes[0])

    @cached_property
    def library(self) -> Autodiff:
        """Return the package that the user's functions are written in."""
        f = self.functional
        return autodiff_for(f.loss, f.psi, f.penalty, f.target, f.init, name=f.library)

    @cached_property
    def start(self) -> FloatArray:
        """Return the parameters to start from, shape ``(p,)``."""
        init = self.functional.init
        if isinstance(init, Integral):
            return np.zeros(int(init))
        return _checked_start(of_user("init", init, *self.data.arrays) if callable(init) else init)

    @cached_property
    def conditions(self) -> Conditions:
        """Return the conditions that the fit solves, after checking the user's functions at the start."""
        library, penalty = self.library, self.functional.penalty
        arrays = tuple(map(library.array, self.data.arrays))
        steps = None if penalty is None else _checked_penalty(penalty, library, self.start)
        return self._of_psi(arrays, steps) if self.functional.loss is None else self._of_loss(arrays, steps)

    def _of_loss(self, arrays: tuple[Any, ...], penalty: PackageFunction | None) -> Conditions:
        loss, library, start = self.functional.loss, self.library, self.start
        assert loss is not None
        _check_losses(_first_array("loss", library, loss, start, *arrays), self.data)
        programs = library.compiled(LossPrograms, _traced("loss", library, loss, start, *arrays), penalty)
        conditions = LossConditions(programs, library, arrays, _names(self.data, len(start)))
        weights, argument = conditions.equal_weights, "loss" if penalty is None else "loss` or `penalty"
        of_user(argument, lambda at, *samples: programs.gradient(at, weights, *samples), start, *arrays)
        return conditions

    def _of_psi(self, arrays: tuple[Any, ...], penalty: PackageFunction | None) -> Conditions:
        psi, library, start = self.functional.psi, self.library, self.start
        assert psi is not None
        _check_equations(_first_array("psi", library, psi, start, *arrays), self.data, len(start))
        programs = library.compiled(EquationPrograms, _traced("psi", library, psi, start, *arrays), penalty)
        conditions = EquationConditions(programs, library, arrays, _names(self.data, len(start)), start)
        weights = conditions.equal_weights
        of_user("psi", lambda at, *samples: programs.jacobian(at, weights, *samples), start, *arrays)
        return conditions

    @cached_property
    def fit(self) -> FloatArray:
        """Return the parameters fitted to the data, shape ``(p,)``."""
        search = NewtonFit(self.conditions, self.functional.linear_solver, np.ones(self.data.sizes[0]))
        try:
            return search.from_afar(self.start)
        except FitError as error:
            raise FitError(f"`{self.functional.name}` has no fit on these data: {error}") from error

    @cached_property
    def spread(self) -> float:
        """Return the spread over the rows of what is minimised, at the fit."""
        return self.conditions.spread(self.fit)

    @cached_property
    def target(self) -> ParametersTarget | FunctionOfParameters:
        """Return the target: the parameters, or a function of them."""
        if self.functional.target is None:
            return ParametersTarget(self.conditions.names)
        return FunctionOfParameters(self.library, self.functional.target, self.fit)

    @cached_property
    def factor(self) -> FactoredMatrix:
        """Return the derivative of the conditions at the fit, factored."""
        conditions, solver = self.conditions, self.functional.linear_solver
        return solver.factor(conditions.operator(self.fit, conditions.equal_weights, by_products=solver.by_products))

    @cached_property
    def linearization(self) -> Linearization:
        """Return the influence before centring, by one solve and one pass over the rows per output."""
        conditions, parameters = self.conditions, self.fit
        directions = adjoints(self.factor, self.target.jacobian(parameters))
        rows = -np.stack([conditions.along(direction, parameters) for direction in directions], axis=1)
        shifts = np.abs(directions @ conditions.residual(parameters, conditions.equal_weights))
        visible = np.where(shifts > _VISIBLE * np.abs(self.estimate), shifts, 0.0)
        return Linearization(rows, distance_in_errors(visible, rows))

    @property
    def surrogate(self) -> RefitSteps | None:
        """Return the first Newton steps of the refits; None where these hold no Hessian, or cannot go side by side."""
        # Made anew whenever it is asked for, and not kept: it holds this fit, and the data with it.
        return RefitSteps(self) if self._has_steps else None

    @cached_property
    def _has_steps(self) -> bool:
        return not by_products_alone(self.functional.linear_solver, len(self.fit)) and RefitSteps(self).exists

    def _refit(self, weights: FloatArray) -> FloatArray:
        """Return the parameters fitted with `weights`, by Newton steps from the fit to the data, or a wider search."""
        start, solver = self.fit, self.functional.linear_solver
        known = None if by_products_alone(solver, len(start)) else self.factor
        refit = NewtonFit(self.conditions, solver, weights, known)
        try:
            return refit.from_nearby(start, self.spread)
        except FitError:
            return refit.from_afar(start)


def _traced(argument: str, library: Autodiff, function: PackageFunction, *arguments: Any) -> PackageFunction:
    """Return a function traced as it is now: the variables that it uses may have changed since."""
    # An object may lack the hash that the library asks for, such as a dataclass; a function has it.
    steps: PackageFunction = of_user(argument, partial(library.traced, lambda *arrays: function(*arrays)), *arguments)
    return steps


@dataclass(frozen=True, eq=False)
class Linearization:
    """The influence of the rows up to a constant, shape ``(n, k)``, and the distance of the fit from the solution.

    The gradient of the penalty is the same for every row, so that centring brings it in. `distance` is what one more
    Newton step would change, in standard errors of the output where that is most.
    """

    rows: FloatArray
    distance: float


def m_estimator(
    loss: PackageFunction | None = None,
    init: Any = None,
    *,
    psi: PackageFunction | None = None,
    penalty: PackageFunction | None = None,
    target: PackageFunction | None = None,
    solver: str | Solver | None = None,
    library: str | None = None,
    name: str = "m_estimator",
) -> MEstimator:
    r"""Return the parameters that minimise your loss, or a function of them, as a statistic.

    .. math:: \hat\theta = \arg\min_\theta \frac{\sum_j w_j\,\ell(\theta, z_j)}{\sum_j w_j} + P(\theta), \qquad
              I_j = -g'(\hat\theta)\, H^{-1} \bigl(\nabla \ell(\hat\theta, z_j) + \nabla P(\hat\theta)\bigr),

    H the Hessian of the objective and g the target. The influence follows from the implicit function theorem: one
    linear system :math:`H s = g'^\top` per output, then the derivative of all losses along s in one forward pass. The
    penalty is not resampled. Huber (1967), "The behavior of maximum likelihood estimates under nonstandard conditions";
    the M-estimators of the paper's ``subsection:CIconstructionexample``.

    The first fit uses L-BFGS and then Newton's method with a line search, up to rounding error. Refits use Newton's
    method from there, with the weights of the resample; their surrogate is its first three steps.

    Parameters
    ----------
    loss
        ``loss(parameters, *samples)``, written in jax or torch: takes the parameters ``(p,)`` and the data as arrays,
        and returns one loss per row, shape ``(n,)``.
    init
        The starting point: an array ``(p,)``, the number of parameters (to start at zeros), or a function of the
        arrays.
    psi
        Instead of a loss: ``psi(parameters, *samples)``, shape ``(n, p)``, whose weighted mean, with the gradient of
        the penalty, is zero at the estimate.
    penalty
        ``penalty(parameters)``, one number, on the scale of the mean loss.
    target
        A differentiable function ``target(parameters)`` that returns a number, an array or a dict of these, such as a
        coefficient, predictions at new rows, or a risk on other data. None for all parameters, named after the columns
        if there is one for each.
    solver
        "cholesky" (the default of a loss), "lu" (of `psi`), "cg", or a solver of `orthoboot.solvers` with options,
        such as ``ConjugateGradients(damping=1e-3)``.
    library
        "jax" or "torch", if it cannot be inferred from the functions.
    name
        The name of the statistic in tables and messages.

    Examples
    --------
    >>> import numpy as np
    >>> import orthoboot as ob
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> y = X @ [1.0, -2.0] + rng.standard_normal(200)
    >>> least_squares = ob.m_estimator(lambda theta, X, y: (y - X @ theta) ** 2, init=2)
    >>> np.allclose(least_squares(X, y), np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-12)
    True
    """
    return MEstimator(loss, init, psi, penalty, target, solver, library, name)


def _first_array(argument: str, library: Autodiff, function: PackageFunction, *arguments: Any) -> FloatArray:
    value = value_in_package(argument, library, function, *arguments)
    if not library.is_array(value):
        raise StatisticError(f"`{argument}` must return one array of {library.name}; got {type(value).__name__}.")
    return library.numbers(value)


def _check_init(init: Any) -> None:
    if callable(init):
        return
    if is_real(init) and isinstance(init, Integral):
        checked_count("init", init, least=1, reason="where it is the number of parameters")
        return
    if init is None or isinstance(init, (str, bool)) or np.ndim(init) != 1:
        hint = f" For one parameter that starts at {init:g} write `init=[{init:g}]`." if is_real(init) else ""
        raise ArgumentError(
            "`init` must be an array of shape (p,), the number of parameters, or a function of the data that returns "
            f"such an array; got {init!r}.{hint}"
        )


def _checked_start(given: Any) -> FloatArray:
    try:
        start = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"`init` must hold numbers; got {given!r}.") from error
    if start.ndim != 1 or not start.size or not np.isfinite(start).all():
        raise ArgumentError(f"`init` must give finite numbers of shape (p,); got {given!r}.")
    return start


def _check_losses(losses: FloatArray, data: Data) -> None:
    n = data.sizes[0]
    if losses.shape != (n,):
        raise StatisticError(
            f"`loss` must return one number per row, shape ({n},); got {losses.shape}.{_cure(losses, n)}"
        )
    _check_finite("loss", losses)


def _cure(returned: FloatArray, n: int) -> str:
    """Return the likely cause of a loss of the wrong shape, with a remedy."""
    if returned.ndim == 0:
        return " Leave out the sum or the mean over the rows: the weights of a resample come in between."
    if returned.shape == (n, n):
        return " A column of shape (n, 1) and a vector (n,) broadcast to a matrix: index it first, `y[:, 0]`."
    if returned.shape[0] == n:
        return " Sum over the other axes, for example `.sum(1)`."
    return ""


def _check_equations(equations: FloatArray, data: Data, p: int) -> None:
    if equations.shape != (data.sizes[0], p):
        raise StatisticError(
            f"`psi` must return shape ({data.sizes[0]}, {p}), one row per row of the data and one equation per "
            f"parameter of `init`; got {equations.shape}."
        )
    _check_finite("psi", equations)


def _check_finite(argument: str, values: FloatArray) -> None:
    broken = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if broken.any():
        raise StatisticError(
            f"`{argument}` must be finite at `init`; got NaN or infinity in {int(broken.sum())} row(s), the first in "
            f"row {int(np.argmax(broken))}. Start from other parameters, or rewrite it to avoid overflow."
        )


def _checked_penalty(penalty: PackageFunction, library: Autodiff, start: FloatArray) -> PackageFunction:
    value = _first_array("penalty", library, penalty, start)
    if value.shape != () or not np.isfinite(value):
        raise StatisticError(f"`penalty` must return one finite number; at `init` it returned {value.tolist()}.")
    return _traced("penalty", library, penalty, start)


def _names(data: Data, p: int) -> tuple[str, ...]:
    """Return the column names of the first table with one column per parameter, else positions."""
    fitting = (columns for columns in data.columns if columns is not None and len(columns) == p)
    return next(fitting, parameter_names(p))

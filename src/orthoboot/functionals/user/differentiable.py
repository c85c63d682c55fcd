"""A user's function written in jax or torch: its influence is its derivative by the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from orthoboot.autodiff import Autodiff, PackageFunction, autodiff, package_named
from orthoboot.autodiff.values import check_package_arrays, numpy_value
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import InfluenceError, InfluenceMismatchWarning, OrthobootWarning, StatisticError, first_line
from orthoboot.functionals.evaluation import NO_FITS, Convergence
from orthoboot.functionals.feature_means import centred_rows
from orthoboot.functionals.user.user_function import (
    CallableFunctional,
    PreparedCallable,
    function_name,
    trial_resamples,
    value_on_data,
    wrapped,
)
from orthoboot.typing import FloatArray, Influence, IntArray

_PROBES = 3
_REAL_CHANGE = 1e-9
"""A relative change that rounding does not make."""


@dataclass(frozen=True, eq=False)
class DifferentiableCallable(CallableFunctional):
    r"""``statistic(*samples, weights)`` written in a package that differentiates.

    .. math:: I_{ij} = n_i \frac{\partial \phi}{\partial w_{ij}} \Big|_{w = 1},

    centred: the derivative of ``eq:taylor`` towards row j of sample i. All of it takes one pass through the function
    and one backwards for each output, whatever the number of rows.

    Attributes
    ----------
    package
        What differentiates and evaluates it.
    asked
        Whether the user named the package.
    """

    package: Autodiff = field(kw_only=True, repr=False)
    asked: bool = field(kw_only=True, default=False)

    releases_gil = True

    @property
    def batched(self) -> bool:  # type: ignore[override]
        """Return whether the package evaluates many resamples in one program."""
        return self.package.compiles

    def at(self, data: Data) -> PreparedDifferentiable:
        """Return the function at `data`."""
        return PreparedDifferentiable(self, data)


@dataclass(frozen=True, eq=False)
class PreparedDifferentiable(PreparedCallable[DifferentiableCallable]):
    """A function that a package differentiates at its data."""

    one_by_one = False

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the compiled program and the package's arrays, which another process makes again."""
        return {name: value for name, value in vars(self).items() if name not in ("program", "package_arrays")}

    @property
    def influence_source(self) -> str:
        """Return for example ``jax, automatic differentiation (as asked)``."""
        package = self.functional.package.name
        why = "as asked" if self.functional.asked else f"automatic for a function written in {package}"
        return f"{package}, automatic differentiation ({why})"

    def values(self, resamples: Resamples) -> FloatArray:
        """Return its values at the weights, shape ``(B, k)``."""
        weights = np.concatenate(resamples.weights, axis=1)
        return self.functional.package.one_by_one(self.program)(weights, *self.package_arrays)

    def value_of_rows(self, rows: tuple[IntArray, ...]) -> FloatArray:
        """Return its value on some rows of each sample, in their order, shape ``(k,)``."""
        if tuple(map(len, rows)) != self.data.sizes:  # the program is for as many rows as the data have
            return super().value_of_rows(rows)
        taken = map(self.functional.package.array, self.data.taken(rows).arrays)
        ones = np.ones((1, sum(self.data.sizes)))
        value: FloatArray = self.functional.package.one_by_one(self.program)(ones, *taken)[0]
        return value

    def influence_of_rows(self, rows: tuple[IntArray, ...]) -> Influence | None:
        """Return its influence function on some rows of each sample, taken as data of their own."""
        taken = PreparedDifferentiable(self.functional, self.data.taken(rows))
        if taken.data.sizes == self.data.sizes:  # the program is for as many rows as the data have
            vars(taken)["program"] = self.program
        return taken.influence()

    def influence(self) -> Influence | None:
        """Return ``n_i`` times the derivative by each weight, centred; raise where there is no derivative.

        None for a function that the package cannot differentiate, if the user did not ask for it: an engine may.
        """
        return self._influence

    @cached_property
    def _influence(self) -> Influence | None:
        try:
            derivative = self._derivative()
        except InfluenceError:
            if self.functional.asked:
                raise
            return None
        self._check_finite(derivative)
        self._check_not_flat(derivative)
        parts = np.split(derivative, np.cumsum(self.data.sizes)[:-1], axis=1)
        return tuple(n * centred_rows(part.T)[1] for part, n in zip(parts, self.data.sizes, strict=True))

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return a warning if the statistic changes by a standard error when all weights of a sample are doubled.

        Less than that is harmless: a divisor such as ``weights.sum() - 1`` depends on the scale of the weights too.
        """
        return self._dependence_on_scale

    @cached_property
    def _dependence_on_scale(self) -> tuple[OrthobootWarning, ...]:
        values = self._probed(_doubled(self.data))
        if values is None:
            return ()
        change = np.abs(values - self.estimate)
        excess = change - np.maximum(self._standard_errors(), _REAL_CHANGE * np.abs(self.estimate))
        sample, output = np.unravel_index(int(np.argmax(excess)), excess.shape)
        if excess[sample, output] <= 0:
            return ()
        return (
            InfluenceMismatchWarning(
                f"`{self.functional.name}` must not change when all weights of a sample are multiplied by the same "
                f"number; twice the weights gave {values[sample, output]:.6g} instead of {self.estimate[output]:.6g}. "
                "Divide by `weights.sum()`."
            ),
        )

    @cached_property
    def program(self) -> PackageFunction:
        """Return the function of all weights in a row and of the samples, with its values in a row."""
        sizes = self.data.sizes
        function, output, package = self.functional.function, self.output, self.functional.package

        def vector(weights: Any, *samples: Any) -> Any:
            value = function(*samples, weights=_by_sample(weights, sizes))
            entries = [value] if output.keys is None else [value[key] for key in output.keys]
            numbers = package.joined([package.flat(entry) for entry in entries])
            if len(numbers) != output.size:
                raise StatisticError(
                    f"`statistic` must return the same shape on every resample; got {len(numbers)} numbers "
                    f"where the data gave {output.size}."
                )
            return numbers

        return package.traced(vector, np.ones(sum(self.data.sizes)), *self.package_arrays)

    @cached_property
    def package_arrays(self) -> tuple[Any, ...]:
        """Return the rows as arrays of the package, which are converted once."""
        return tuple(map(self.functional.package.array, self.data.arrays))

    def plain_value(self) -> FloatArray:
        """Return the value of the user's function called with the samples alone, shape ``(k,)``; it may raise."""
        package = self.functional.package
        return self.output.flatten(numpy_value(package.called(self.functional.function, *self.package_arrays), package))

    def _derivative(self) -> FloatArray:
        """Return the derivative by all weights at one each, shape ``(k, n)``."""
        package = self.functional.package.name
        jacobian = self.functional.package.jacobian(self.program)
        try:
            return jacobian(np.ones(sum(self.data.sizes)), *self.package_arrays)
        except Exception as error:  # the user's function may raise anything
            raise InfluenceError(
                f"{package} cannot differentiate `{self.functional.name}`: {type(error).__name__}: "
                f"{first_line(error)}. Between weights and value use only differentiable functions of {package}, not "
                "of numpy."
            ) from error

    def _check_finite(self, derivative: FloatArray) -> None:
        broken = ~np.isfinite(derivative)
        if broken.any():
            output = int(np.argmax(broken.any(axis=1)))
            raise InfluenceError(
                f"the derivative of `{self.output.names[output]}` by the weights is NaN or infinite for "
                f"{int(broken[output].sum())} of {broken.shape[1]} rows: the function is not differentiable at these "
                "data, as a root or a logarithm at zero. `where` around it hides the value but not the derivative: "
                'move the argument away from zero inside it. Or use estimator="standard".'
            )

    def _check_not_flat(self, derivative: FloatArray) -> None:
        """Raise if the derivative is zero in every row of an output that reweighting does change."""
        flat = np.flatnonzero(~derivative.any(axis=1))
        if not flat.size:
            return
        values = self._probed(trial_resamples(self.data, _PROBES))
        if values is None:
            return
        excess = np.abs(values - self.estimate).max(axis=0) - _REAL_CHANGE * np.abs(self.estimate)
        output = flat[int(np.argmax(excess[flat]))]
        if excess[output] > 0:
            raise InfluenceError(
                f"the derivative of `{self.output.names[output]}` by the weights is zero in every row, although "
                "its value changes with them: the function is flat between jumps, as counts, comparisons, rounding, "
                "`argmax` and rows picked by a rank are, or hides the weights, as `stop_gradient`, `detach` and "
                "`no_grad` do. Write it with weighted sums, use an entry of the catalogue such as "
                '`ob.quantile(0.5)`, or use estimator="standard".'
            )

    def _probed(self, resamples: Resamples) -> FloatArray | None:
        """Return its values at the given weights, or None if one is not finite or raises."""
        try:
            values = self.values(resamples)
        except Exception:  # weights at which the function does not exist prove nothing about it
            return None
        return values if np.isfinite(values).all() else None

    def _standard_errors(self) -> FloatArray:
        """Return the standard errors by the influence function, shape ``(k,)``; zeros where there is none."""
        try:
            parts = self.influence()
        except InfluenceError:  # told where the influence function is asked for
            parts = None
        if parts is None:
            return np.zeros(self.output.size)
        variances: FloatArray = np.sum([np.mean(np.square(part), axis=0) / len(part) for part in parts], axis=0)
        return np.sqrt(variances)


def differentiable(
    statistic: Callable[..., Any], data: Data, library: str, *, asked: bool = False
) -> DifferentiableCallable:
    """Return `statistic` as a functional that `library` evaluates and differentiates.

    Parameters
    ----------
    statistic
        Takes the samples and `weights` as arrays of the library, in double precision; `weights` is a tuple for several
        independent samples. Returns a number, an array, or a dict of these, as arrays of the library.
    library
        "jax" or "torch".
    asked
        Whether the user named the library.
    """
    package = autodiff(library)
    samples = tuple(map(package.array, data.arrays))
    weights = _by_sample(package.array(np.ones(sum(data.sizes))), data.sizes)
    value = value_on_data(
        partial(package.called, statistic), data, samples, weights=weights, hint=_hint(statistic, data, library)
    )
    check_package_arrays(function_name(statistic), value, package)
    functional = wrapped(
        partial(DifferentiableCallable, package=package, asked=asked), statistic, numpy_value(value, package)
    )
    _ = functional.at(data).program  # traced now, so that its errors are raised now
    return functional


def _hint(statistic: Callable[..., Any], data: Data, library: str) -> str:
    named = package_named(statistic)
    if named not in (None, library):
        return f' It is written in {named}: pass `influence="{named}"`.'
    if all(columns is None or array.ndim == 1 for columns, array in zip(data.columns, data.arrays, strict=True)):
        return ""
    return f" A data frame comes as one array of {library}, its columns in their order."


def _by_sample(weights: Any, sizes: tuple[int, ...]) -> Any:
    """Return all weights as the user's function takes them: one array, or a tuple for several samples."""
    stops = np.cumsum(sizes).tolist()
    parts = tuple(weights[stop - n : stop] for stop, n in zip(stops, sizes, strict=True))
    return weights if len(parts) == 1 else parts


def _doubled(data: Data) -> Resamples:
    """Return one resample per sample, in which its rows have weight two and all others one."""
    chosen = np.eye(len(data.sizes))
    return Resamples(tuple(np.repeat(1 + chosen[:, [i]], n, axis=1) for i, n in enumerate(data.sizes)))

"""User functions as functionals: of resampled rows, vectorised as in scipy, or of weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from orthoboot.autodiff import package_named, package_of
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    DataError,
    InfluenceError,
    MissingDependencyError,
    StatisticError,
    first_line,
)
from orthoboot.functionals.base import Functional, Prepared, unit_resamples
from orthoboot.functionals.columns.moments import norm_of_mean
from orthoboot.functionals.columns.quantiles import quantile
from orthoboot.functionals.columns.trimmed_mean import trimmed_mean
from orthoboot.functionals.combined.comparisons import difference, paired_difference, relative_difference
from orthoboot.functionals.combined.compositions import compose
from orthoboot.functionals.combined.function_of_means import function_of_means
from orthoboot.functionals.optima.m_estimator import m_estimator
from orthoboot.functionals.optima.minimize import minimize
from orthoboot.functionals.output import unmasked_array
from orthoboot.functionals.regression.generalized_linear import glm
from orthoboot.functionals.user.differentiable import DifferentiableCallable, differentiable
from orthoboot.functionals.user.recognition import recognized
from orthoboot.functionals.user.user_function import (
    CallableFunctional,
    PreparedCallable,
    bound_arguments,
    named,
    trial_resamples,
    value_on_data,
    weights_argument,
    wrapped,
)
from orthoboot.typing import FloatArray, IntArray

_NUMBERS_AT_ONCE = 1 << 22
"""Resampled numbers that a vectorised function gets at once: 32 MB, or those of one resample where it is larger."""

_REQUIRED = object()
"""In the place of the default of a parameter that has none."""

_SAME_VALUE = 1e-6
"""A relative difference that rounding and the tolerance of an iterative fit may make."""

_REFUSALS = (TypeError, ValueError, NotImplementedError)
"""How functions refuse an argument; whatever else they raise, as for a name that does not exist, is a mistake."""

_FACTORIES: dict[Any, str] = {
    quantile: "ob.quantile(0.9)",
    trimmed_mean: "ob.trimmed_mean(0.1)",
    norm_of_mean: "ob.norm_of_mean(2)",
    glm: 'ob.glm("poisson")',
    m_estimator: "ob.m_estimator(loss, init)",
    minimize: "ob.minimize(objective, init)",
    difference: "ob.difference(ob.mean)",
    relative_difference: "ob.relative_difference(ob.mean)",
    paired_difference: "ob.paired_difference(ob.roc_auc)",
    compose: "ob.compose(np.log, ob.variance)",
    function_of_means: "ob.function_of_means(features, g)",
}
"""Functions that make a statistic and are none themselves, with an example of each."""


class RowsCallable(CallableFunctional):
    """``statistic(*samples)``: gets the resampled rows, one resample at a time."""

    fractional = False
    batched = False

    def at(self, data: Data) -> PreparedRows:
        """Return the function at `data`."""
        return PreparedRows(self, data)


class PreparedRows(PreparedCallable[RowsCallable]):
    """A function of resampled rows at its data."""

    def values(self, resamples: Resamples) -> FloatArray:
        """Return its values on the resampled rows, shape ``(B, k)``."""
        rows = (self.data.resampled(resamples.indices(b)) for b in range(len(resamples)))
        return np.stack([self.output.flatten(self.functional.function(*samples)) for samples in rows])


class VectorizedCallable(CallableFunctional):
    """``statistic(*samples, axis)``: gets many resamples at once, the rows on the last axis, as in scipy."""

    fractional = False
    releases_gil = True
    passed = "`axis=-1`"
    remedy = "Use `axis` for every reduction, or pass `vectorized=False`."

    def at(self, data: Data) -> PreparedVectorized:
        """Return the function at `data`."""
        return PreparedVectorized(self, data)


class PreparedVectorized(PreparedCallable[VectorizedCallable]):
    """A function of batches of resampled rows at its data."""

    one_by_one = False

    def values(self, resamples: Resamples) -> FloatArray:
        """Return its values on the resampled rows, shape ``(B, k)``."""
        at_once = max(_NUMBERS_AT_ONCE // sum(array.size for array in self.data.arrays), 1)
        return np.concatenate([self._values(rows) for rows in _stackable(resamples, at_once)])

    def _values(self, rows: list[tuple[IntArray, ...]]) -> FloatArray:
        stacked = [np.stack(sample) for sample in zip(*rows, strict=True)]
        data = self.data
        samples = [
            np.moveaxis(array, 0, -1)[..., stacked[i]] for array, i in zip(data.arrays, data.sample_of, strict=True)
        ]
        return self.output.flatten_batch(self.functional.function(*samples, axis=-1), len(rows))


class WeightedCallable(CallableFunctional):
    """``statistic(*samples, weights)``: gets the data once and the weight of each row, one resample at a time."""

    batched = False

    def at(self, data: Data) -> PreparedWeighted:
        """Return the function at `data`."""
        return PreparedWeighted(self, data)


class PreparedWeighted(PreparedCallable[WeightedCallable]):
    """A function of weights at its data."""

    def values(self, resamples: Resamples) -> FloatArray:
        """Return its values at the weights, shape ``(B, k)``."""
        function, samples = self.functional.function, self.data
        weights = (weights_argument([w[b] for w in resamples.weights]) for b in range(len(resamples)))
        return np.stack([self.output.flatten(function(*samples.containers, weights=one)) for one in weights])


class VectorizedWeightedCallable(CallableFunctional):
    """``statistic(*samples, weights)`` with weights of shape ``(B, n_i)`` and B on the last axis of its value."""

    releases_gil = True

    def at(self, data: Data) -> PreparedVectorizedWeighted:
        """Return the function at `data`."""
        return PreparedVectorizedWeighted(self, data)


class PreparedVectorizedWeighted(PreparedCallable[VectorizedWeightedCallable]):
    """A function of batches of weights at its data."""

    one_by_one = False

    def values(self, resamples: Resamples) -> FloatArray:
        """Return its values at the weights, shape ``(B, k)``."""
        value = self.functional.function(*self.data.containers, weights=weights_argument(resamples.weights))
        return self.output.flatten_batch(value, len(resamples))


def as_functional(
    statistic: Any, data: Data, *, vectorized: bool | None = None, library: str | None = None
) -> Functional:
    """Return `statistic` as a functional: itself, its entry in the catalogue, or a wrapper of the user's function.

    Beyond the samples, a function with a `weights` parameter is aware of weights, and is differentiated where it is
    written in a package that can, or in `library`; one with an `axis` parameter is vectorised unless `vectorized` says
    otherwise, as in scipy.
    """
    if vectorized is not None and not isinstance(vectorized, (bool, np.bool_)):
        raise ArgumentError(f"`vectorized` must be True, False or None; got {vectorized!r}.")
    known = recognized(statistic)
    if known is not None:
        return known if library is None else _refused(known.name, library)
    if hasattr(statistic, "fit") and (isinstance(statistic, type) or not callable(statistic)):
        raise ArgumentError(_model_refused(statistic if isinstance(statistic, type) else type(statistic)))
    if not callable(statistic):
        raise ArgumentError(
            "`statistic` must be a function of the samples or an entry of the catalogue such as `ob.variance`; got "
            f"{statistic!r}." + (f" Write `ob.{statistic}`, without quotes." if isinstance(statistic, str) else "")
        )
    if isinstance(statistic, Hashable) and statistic in _FACTORIES:
        raise ArgumentError(f"`statistic` must be complete; write `{_FACTORIES[statistic]}`, for example.")
    options = _options(statistic, len(data.tables))
    if library is not None:
        _check_differentiable(options, vectorized, library)
        return differentiable(statistic, data, library, asked=True)
    return _of_user_function(statistic, data, options, vectorized)


def _of_user_function(
    statistic: Callable[..., Any], data: Data, options: Mapping[str, Any], vectorized: bool | None
) -> CallableFunctional:
    """Return the wrapper that `statistic` takes: with weights, of batches of rows, or of the rows of one resample.

    An optional parameter that does not work, such as the `weights` of ``np.percentile``, counts as not there.
    """
    refusal = ""
    if "weights" in options:
        with_weights = _vectorized_weighted if vectorized else _weighted
        required = bool(vectorized) or options["weights"] is _REQUIRED
        functional = _tried(with_weights, statistic, data, required=required, excused=_REFUSALS)
        if isinstance(functional, CallableFunctional):
            return functional
        refusal = first_line(functional.__cause__ or functional)
    if vectorized or (vectorized is None and "axis" in options):
        functional = _tried(_vectorized, statistic, data, required=bool(vectorized))
        if isinstance(functional, CallableFunctional):
            return replace(functional, weights_refusal=refusal)
    # The rows of one resample come first, as the user gave them.
    needs_axis = options.get("axis") is _REQUIRED
    of_rows = _row_function(partial(statistic, axis=0) if needs_axis else statistic, data)
    return replace(of_rows, weights_refusal=refusal)


def _tried(
    kind: Callable[[Callable[..., Any], Data], CallableFunctional],
    statistic: Callable[..., Any],
    data: Data,
    *,
    required: bool,
    excused: type[Exception] | tuple[type[Exception], ...] = Exception,
) -> CallableFunctional | StatisticError | ArgumentError:
    """Return the function as `kind` wraps it, or the error where it fails so and can do without the parameter.

    Raise the error where it cannot, and where the function raises something that is not `excused`. An optional
    parameter must not change the value on the data: ``statistic(*samples)`` is what the user means.
    """
    try:
        functional = kind(statistic, data)
    except (StatisticError, ArgumentError) as error:
        if required or not (error.__cause__ is None or isinstance(error.__cause__, excused)):
            raise
        return error
    _check_plain_call(functional, data)
    return functional


def _check_plain_call(functional: CallableFunctional, data: Data) -> None:
    """Raise if the function called with the samples alone has another value of the same shape."""
    plain = _plain_value(functional, data)
    if plain is None or _is_close(plain, functional.value):
        return
    prepared = functional.at(data)
    # A value that is zero but for rounding is judged by how far it moves between resamples.
    scale = _spread(prepared) * _lost_digits(data)
    # A function that is random differs from itself too.
    again = prepared.values(unit_resamples(data))[0]
    if _is_close(plain, functional.value, scale) or not _is_close(again, functional.value, scale):
        return
    worst = int(np.argmax(_differences(plain, functional.value, scale)))
    raise StatisticError(
        f"`statistic` must have the same value with {functional.passed} as without; got {functional.value[worst]:.6g} "
        f"and {plain[worst]:.6g}{named(functional.value_output, worst)}. {functional.remedy}"
    )


def _plain_value(functional: CallableFunctional, data: Data) -> FloatArray | None:
    """Return the value of the function called with the samples alone, or None where it cannot be compared."""
    prepared = functional.at(data)
    assert isinstance(prepared, PreparedCallable)
    try:
        return prepared.plain_value()
    except Exception:  # a parameter without a default, or per column with it and of all columns without
        return None


def _spread(prepared: Prepared[Any]) -> FloatArray:
    """Return how far each output moves between a few resamples, shape ``(k,)``; zero where that is not known."""
    try:
        spread: FloatArray = np.ptp(prepared.values(trial_resamples(prepared.data, 3)), axis=0)
    except Exception:  # the user's function may raise anything; a replicate that does is reported
        return np.zeros(prepared.output.size)
    return np.where(np.isfinite(spread), spread, 0.0)


def _lost_digits(data: Data) -> float:
    """Return by what rounding is larger than `_SAME_VALUE` where the data vary in their last digits; at least one."""
    return max(8 * float(np.finfo(np.float64).eps) / (data.relative_spread * _SAME_VALUE), 1.0)


def _differences(first: FloatArray, second: FloatArray, scale: FloatArray | float = 0.0) -> FloatArray:
    """Return the differences in units of the larger value, or of `scale` where that is larger."""
    largest = np.maximum(np.maximum(np.abs(first), np.abs(second)), scale)
    return np.abs(first - second) / np.where(largest > 0, largest, 1.0)


def _is_close(first: FloatArray, second: FloatArray, scale: FloatArray | float = 0.0) -> bool:
    return bool((_differences(first, second, scale) <= _SAME_VALUE).all())


def _model_refused(kind: type) -> str:
    model = f"{kind.__name__}()"
    adapted = f"`ob.from_sklearn({model})`, or " if kind.__module__.partition(".")[0] == "sklearn" else ""
    return (
        f"`statistic` must be a function of the samples; got {kind.__name__}, a model. Write {adapted}a function that "
        f"fits a new one and returns numbers, such as `lambda X, y: {model}.fit(X, y).coef_`."
    )


def _refused(name: str, library: str) -> Functional:
    raise InfluenceError(
        f'influence="{library}" is for your own functions; `{name}` has its influence function in closed form. Leave '
        'influence="auto".'
    )


def _check_differentiable(options: Mapping[str, Any], vectorized: bool | None, library: str) -> None:
    if "weights" not in options:
        raise InfluenceError(
            f'influence="{library}" needs a statistic with a `weights` parameter, by which it is differentiated, such '
            "as `def statistic(x, weights): return (weights * x).sum() / weights.sum()`. Without one use "
            'influence="jackknife".'
        )
    if vectorized:
        raise ArgumentError(
            f'`vectorized` must be None or False with influence="{library}", which passes one set of weights at a '
            "time; got True."
        )


def _options(statistic: Callable[..., Any], n_samples: int) -> dict[str, Any]:
    """Return the parameters that are left after the samples are passed by position, with their defaults.

    A function of two samples may well call its second one `weights`. What the user has bound is not left: the
    keywords of a `partial`, and `weights` with a default other than None.
    """
    # The modules of torch take anything and hand it on.
    called = getattr(statistic, "forward", statistic) if package_of(statistic) == "torch" else statistic
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return {}
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    taken = {*positional[:n_samples], *bound_arguments(statistic)}
    return {
        p.name: _REQUIRED if p.default is p.empty else p.default
        for p in parameters
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in taken
    }


def _row_function(statistic: Callable[..., Any], data: Data) -> CallableFunctional:
    # The rows are taken as for a resample, so that a function which sorts them in place leaves the user's data alone.
    value = value_on_data(statistic, data, data.take([np.arange(n) for n in data.sizes]))
    return wrapped(RowsCallable, statistic, value)


def _vectorized(statistic: Callable[..., Any], data: Data) -> CallableFunctional:
    value = value_on_data(statistic, data, [np.moveaxis(array, 0, -1).copy() for array in data.arrays], axis=-1)
    # The function reduces the last axis, so a vector has one number per column.
    labels = data.columns[0] if len(data.tables) == 1 else None
    functional = wrapped(VectorizedCallable, statistic, value, labels)
    _check_takes_batches(functional, data)
    return functional


def _check_takes_batches(functional: CallableFunctional, data: Data) -> None:
    """Raise if the function fails on two samples at once, or has other values there than on one at a time."""
    prepared = functional.at(data)
    try:
        same = prepared.values(Resamples(tuple(np.ones((2, n)) for n in data.sizes)))
    except Exception as error:  # the user's function may raise anything
        raise StatisticError(
            f"a vectorised `statistic` must take a batch of samples; with two it raised {type(error).__name__}: "
            f"{first_line(error)}. Pass `vectorized=False` if it takes one."
        ) from error
    # The same sample twice has the mean of one, also over both: different ones show what is reduced over both.
    two = trial_resamples(data, 2)
    alone = [prepared.evaluate(two.one(b)) for b in range(2)]
    together = prepared.evaluate(two)
    if any(one.first_failure is not None for one in (*alone, together)):  # on some rows it may have no value
        _check_alone(functional.value, same[0])
        return
    first, second = alone[0].values[0], alone[1].values[0]
    scale = np.abs(first - second) * _lost_digits(data)
    _check_alone(functional.value, same[0], scale)
    _check_alone(first, together.values[0], scale)
    _check_alone(second, together.values[1], scale)


def _check_alone(alone: FloatArray, beside: FloatArray, scale: FloatArray | float = 0.0) -> None:
    """Raise if a sample has another value beside another one than alone."""
    differences = _differences(alone, beside, scale)
    if (differences <= _SAME_VALUE).all():
        return
    worst = int(np.argmax(np.where(np.isfinite(beside), differences, np.inf)))
    raise StatisticError(
        f"a vectorised `statistic` must treat every sample of a batch by itself; a sample gave {alone[worst]:.6g} "
        f"alone and {beside[worst]:.6g} beside another. Use `axis` in every reduction, also inside, or pass "
        "`vectorized=False` if it takes one sample."
    )


def _weighted(statistic: Callable[..., Any], data: Data) -> CallableFunctional:
    """Return a weights-aware function, differentiated by the package in which it is written if there is one."""
    named = _differentiated(statistic, data, package_named(statistic))
    if isinstance(named, CallableFunctional):
        return named
    ones = weights_argument([np.ones(n) for n in data.sizes])
    value = value_on_data(statistic, data, data.containers, weights=ones, hint=named)
    # The names in its own code need not tell: it may call a function of another module, which calls JAX.
    library = package_of(next(iter(value.values()), None) if isinstance(value, Mapping) else value)
    differentiated = _differentiated(statistic, data, library)
    return (
        differentiated
        if isinstance(differentiated, CallableFunctional)
        else wrapped(WeightedCallable, statistic, value)
    )


def _differentiated(statistic: Callable[..., Any], data: Data, library: str | None) -> DifferentiableCallable | str:
    """Return `statistic` differentiated by `library`, or the reason why it cannot be."""
    if library is None:
        return ""
    try:
        return differentiable(statistic, data, library)
    except (StatisticError, InfluenceError, DataError, MissingDependencyError) as error:
        return f" It was also refused as a function of {library}: {error}"


def _vectorized_weighted(statistic: Callable[..., Any], data: Data) -> CallableFunctional:
    ones = weights_argument([np.ones((1, n)) for n in data.sizes])
    value = value_on_data(statistic, data, data.containers, weights=ones)
    only = {key: _only(entry) for key, entry in value.items()} if isinstance(value, Mapping) else _only(value)
    functional = wrapped(VectorizedWeightedCallable, statistic, only)
    _check_takes_batches(functional, data)
    return functional


def _only(entry: Any) -> Any:
    """Return the one resample on the last axis."""
    if np.shape(entry)[-1:] != (1,):
        raise ArgumentError(
            "a vectorised `statistic` with `weights` of shape (B, n) must return its values with B on the last axis; "
            f"for B = 1 it returned shape {np.shape(entry)}. Pass `vectorized=False` if it takes one set of weights."
        )
    return unmasked_array(entry)[..., 0]


def _stackable(resamples: Resamples, at_once: int) -> Iterator[list[tuple[IntArray, ...]]]:
    """Yield the rows of the resamples in lists of at most `at_once`, all of one length in each list.

    Whole groups of unequal size make resamples of unequal length, which no one array can hold.
    """
    pending: list[tuple[IntArray, ...]] = []
    for b in range(len(resamples)):
        rows = resamples.indices(b)
        if pending and (len(pending) == at_once or list(map(len, rows)) != list(map(len, pending[0]))):
            yield pending
            pending = []
        pending.append(rows)
    if pending:
        yield pending

"""Smooth functions of the means of features of the rows: their influence is the chain rule, their bias a trace."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import DataError, StatisticError
from orthoboot.functionals.automatic_gradient import (
    AutomaticGradient,
    Gradient,
    automatic_gradient,
    checked_gradient,
)
from orthoboot.functionals.base import Covariance, Functional
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.user_function import check_takes_many, value_of
from orthoboot.resamples import Resamples
from orthoboot.typing import FloatArray, Influence

AnyFunctional = TypeVar("AnyFunctional", bound=Functional)
Derived = TypeVar("Derived")
PointFunction = Callable[[FloatArray], FloatArray]
"""Takes points in the columns of a ``(p, ...)`` array and returns their values, ``(k, ...)``."""

_EPSILON = float(np.finfo(np.float64).eps)
_STEP = _EPSILON ** (1 / 5)
"""In standard deviations of one row: where truncation and rounding of fourth-order differences are about equal."""
_LARGEST_STEP = 0.1
"""In standard errors: a step within what resampling itself does stays where the function is defined."""

_DERIVED: dict[int, dict[tuple[str, int], tuple[Functional, Any]]] = {}


def once_per_data(method: Callable[[AnyFunctional, Data], Derived]) -> Callable[[AnyFunctional, Data], Derived]:
    """Return a method of a functional that computes its result once for each `Data` and forgets it with the data.

    Replicates are evaluated batch by batch on the same `Data`; features of a million rows must not be built anew for
    every batch. `Data` holds arrays and so has no hash: it is told apart by its identity.
    """

    @wraps(method)
    def kept(functional: AnyFunctional, data: Data) -> Derived:
        results = _derived_from(data)
        key = (method.__qualname__, id(functional))
        if key not in results:
            # The functional is kept beside its result, so that no other one can be given its identity meanwhile.
            results[key] = (functional, method(functional, data))
        result: Derived = results[key][1]
        return result

    return kept


def _derived_from(data: Data) -> dict[tuple[str, int], tuple[Functional, Any]]:
    if id(data) not in _DERIVED:
        _DERIVED[id(data)] = {}
        weakref.finalize(data, _DERIVED.pop, id(data), None)
    return _DERIVED[id(data)]


def centred_rows(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the means ``(p,)`` of the columns of `rows` and their deviations ``(n, p)``, column by column in memory.

    A second pass takes out what rounding left in the mean, so that data far from zero lose no digits. For a constant
    column that rest is a few units in the last place, whose mean is exact: such a column deviates by zero exactly.
    """
    columns = np.ascontiguousarray(rows.T)
    first = columns.mean(axis=1)
    deviations = columns - first[:, np.newaxis]
    rest = deviations.mean(axis=1)
    deviations -= rest[:, np.newaxis]
    return first + rest, deviations.T


@dataclass(frozen=True)
class FeatureMeans:
    """The features of one data set: their means ``(p,)`` and their deviations ``(n, p)`` from them."""

    centre: FloatArray
    deviations: FloatArray

    @property
    def scale(self) -> FloatArray:
        """Return the standard deviations of the features, shape ``(p,)``."""
        variances: FloatArray = np.mean(np.square(self.deviations), axis=0)
        return np.sqrt(variances)


class FunctionOfMeans(Functional):
    r"""The statistic :math:`\phi = g(m)`, where m are the weighted means of p features of the rows.

    The influence of row j is :math:`g'(\bar f)\,(f_j - \bar f)` and the second-order bias
    :math:`\tfrac12 \operatorname{tr}(g''(\bar f)\,\operatorname{Cov}(m))`; the function-of-mean model of the paper's
    ``subsection:biascorrection``.

    A subclass gives `features` and `value`; `jacobian` and `curvature` where they have a closed form.
    """

    @abstractmethod
    def features(self, data: Data) -> FloatArray:
        """Return the features of the rows, shape ``(n, p)``."""

    @abstractmethod
    def value(self, means: FloatArray) -> FloatArray:
        """Return g at `means`, shape ``(p, ...)``, as shape ``(k, ...)``."""

    def jacobian(self, means: FloatArray) -> FloatArray | None:
        """Return g' at one point, shape ``(k, p)``, or None where differences must do."""
        return None

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray | None:
        """Return ``sum_l u_l' g'' u_l``, shape ``(k,)``, over the columns of `directions`, or None as above."""
        return None

    def check(self, data: Data) -> None:
        """Raise unless there is one sample."""
        if len(data.sizes) > 1:
            raise DataError(
                f"`{self.name}` takes one sample; got {len(data.sizes)} independent samples. Compare two samples with "
                f"`difference({self.name})`, or join statistics of the same samples with `compose`.{data.samples_hint}"
            )

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return g at the weighted means, shape ``(B, k)``."""
        means = self.feature_means(data)
        shifts = resamples.sums(0, means.deviations) / resamples.totals(0)[:, np.newaxis]
        return self.value((means.centre + shifts).T).T

    def influence(self, data: Data) -> Influence:
        """Return ``g' . (f_j - mean f)`` for every row."""
        means = self.feature_means(data)
        return (self.derivative_along(means, means.deviations),)

    def derivative_along(self, means: FeatureMeans, changes: FloatArray) -> FloatArray:
        """Return ``g' . change`` for changes of the means in the rows ``(m, p)``, shape ``(m, k)``."""
        return changes @ self._jacobian_at(means).T

    def second_order_bias(self, data: Data, covariance: Covariance) -> FloatArray:
        """Return ``(1/2) tr(g'' C) - g' c``, C the covariance of the mean features under the plan.

        c is their covariance with the total weight, which is not zero where groups of unequal size are drawn whole: a
        mean is then a quotient of two random sums.
        """
        means = self.feature_means(data)
        n, p = means.deviations.shape
        joint = covariance((np.column_stack([means.deviations, np.ones(n)]),))
        directions = principal_directions(joint[:p, :p])
        trace = self.curvature(means.centre, directions)
        if trace is None:
            trace = curvature_by_differences(self.value, means.centre, directions, n)
        quotient = self.derivative_along(means, joint[np.newaxis, :p, p])
        return trace / 2 - quotient.reshape(-1)

    @once_per_data
    def feature_means(self, data: Data) -> FeatureMeans:
        """Return the features of `data` as means and deviations."""
        return FeatureMeans(*centred_rows(self.features(data)))

    def _jacobian_at(self, means: FeatureMeans) -> FloatArray:
        closed_form = self.jacobian(means.centre)
        if closed_form is not None:
            return closed_form
        return jacobian_by_differences(self.value, means.centre, means.scale, len(means.deviations))


def jacobian_by_differences(value: PointFunction, point: FloatArray, scale: FloatArray, n_rows: int) -> FloatArray:
    """Return the derivative of `value` at `point`, shape ``(k, p)``, by central differences of fourth order.

    Parameters
    ----------
    value
        The function; it is called once, with all points.
    point
        Shape ``(p,)``.
    scale
        How far one row is from `point` in each component, shape ``(p,)``; components that do not vary get zeros.
    n_rows
        The number of rows, which bounds the steps by the standard error.
    """
    varying = np.flatnonzero(scale > 0)
    fraction = min(_STEP, _LARGEST_STEP / np.sqrt(n_rows))
    # Powers of two: then the points are exact, and large means do not spoil the steps.
    steps = np.exp2(np.round(np.log2(fraction * scale[varying])))
    directions = np.zeros((len(point), len(varying)))
    directions[varying, np.arange(len(varying))] = steps
    values = _values_along(value, point, directions, (-2, -1, 1, 2))
    slopes = (values[:, 0] - values[:, 3] + 8 * (values[:, 2] - values[:, 1])) / (12 * steps)
    jacobian = np.zeros((len(values), len(point)))
    jacobian[:, varying] = slopes
    return jacobian


def curvature_by_differences(
    value: PointFunction, point: FloatArray, directions: FloatArray, n_rows: int
) -> FloatArray:
    """Return ``sum_l u_l' g'' u_l``, shape ``(k,)``, by second differences of fourth order.

    Parameters
    ----------
    value
        The function g; it is called once, with all points.
    point
        Shape ``(p,)``.
    directions
        The directions u_l in the columns, shape ``(p, q)``, as long as a standard error.
    n_rows
        The number of rows: how much longer than a standard error the deviation of one row is.
    """
    step = min(_STEP * np.sqrt(n_rows), _LARGEST_STEP)
    values = _values_along(value, point, directions * step, (-2, -1, 0, 1, 2))
    outer, inner, middle = values[:, 0] + values[:, 4], values[:, 1] + values[:, 3], values[:, 2]
    second_differences = 16 * inner - outer - 30 * middle
    trace: FloatArray = second_differences.sum(axis=-1) / (12 * step**2)
    return trace


def _values_along(
    value: PointFunction, point: FloatArray, directions: FloatArray, multiples: tuple[int, ...]
) -> FloatArray:
    """Return `value` at ``point + multiple * direction``, shape ``(k, multiples, q)``."""
    shape = (len(multiples), directions.shape[1])
    if not directions.size:
        return np.zeros((len(value(point)), *shape))
    offsets = np.array(multiples, dtype=np.float64)[:, np.newaxis] * directions[:, np.newaxis, :]
    points = point[:, np.newaxis] + offsets.reshape(len(point), -1)
    return value(points).reshape(-1, *shape)


def principal_directions(covariance: FloatArray) -> FloatArray:
    """Return U, shape ``(p, q)``, with ``U U' = covariance``; directions of no variance are left out.

    The eigenvectors are those of the correlations, so that features of very different size keep their digits.

    Examples
    --------
    >>> principal_directions(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[2.],
           [0.]])
    """
    deviations = np.sqrt(np.diag(covariance))
    varying = np.flatnonzero(deviations > 0)
    lengths = deviations[varying]
    eigenvalues, vectors = np.linalg.eigh(covariance[np.ix_(varying, varying)] / np.outer(lengths, lengths))
    # Eigenvalues below rounding would only add evaluations outside of the space the features span.
    kept = eigenvalues > len(varying) * _EPSILON
    directions = np.zeros((len(covariance), int(kept.sum())))
    directions[varying] = lengths[:, np.newaxis] * vectors[:, kept] * np.sqrt(eigenvalues[kept])
    return directions


@dataclass(frozen=True, repr=False)
class CustomFunctionOfMeans(FunctionOfMeans):
    """A function of means from the user's own callables; see `function_of_means`."""

    rows: Callable[..., Any] = field(metadata={"argument": "features"})
    g: Callable[[Any], Any]
    gradient: Gradient = None
    name: str = "function_of_means"

    def check(self, data: Data) -> None:
        """Raise unless there is one sample, and g takes the means of its features: of the data and of resamples."""
        super().check(data)
        centre = self.feature_means(data).centre
        if self._derivatives(centre) is None:
            check_takes_many("g", self.g, np.stack([centre, centre], axis=1))

    def features(self, data: Data) -> FloatArray:
        """Return what the user's callable makes of the arrays, as ``(n, p)``."""
        return feature_rows(value_of("features", self.rows, *data.arrays), data.sizes[0])

    def value(self, means: FloatArray) -> FloatArray:
        """Return the user's g at `means`, one component per row."""
        point = means.reshape(len(means), -1)[:, 0]
        automatic = self._automatic(point)
        if automatic is None:
            returned = self.g(means)
            automatic = self._automatic(point, returned)
            if automatic is None:
                return components(returned, means.shape[1:])
        return automatic.value(means)

    def jacobian(self, means: FloatArray) -> FloatArray | None:
        """Return the user's gradient or the automatic one, as ``(k, p)``."""
        if callable(self.gradient):
            return given_jacobian(value_of("gradient", self.gradient, means), (len(self.value(means)), len(means)))
        automatic = self._derivatives(means)
        return None if automatic is None else automatic.jacobian(means)

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray | None:
        """Return the sum of g's second derivatives along `directions` where they are automatic."""
        automatic = self._derivatives(means)
        return None if automatic is None else automatic.curvature(means, directions)

    def output(self, data: Data) -> Output:
        """Return the shape of g's own result."""
        centre = self.feature_means(data).centre
        automatic = self._automatic(centre)
        return output_like(value_of("g", self.g, centre) if automatic is None else automatic.example, self.name)

    def _derivatives(self, point: FloatArray) -> AutomaticGradient | None:
        """Return what differentiates g at a point, told by its code or by what it returns there."""
        return self._automatic(point) or self._automatic(point, value_of("g", self.g, point))

    def _automatic(self, point: FloatArray, returned: Any = None) -> AutomaticGradient | None:
        return automatic_gradient(self.g, self.gradient, point, lambda at: (at,), returned)


def function_of_means(
    features: Callable[..., Any],
    g: Callable[[Any], Any],
    *,
    gradient: Gradient = None,
    name: str = "function_of_means",
) -> CustomFunctionOfMeans:
    r"""Return the statistic ``g(mean of features)``, with its influence function and its second-order bias.

    .. math:: \phi = g(\bar f), \qquad I_j = g'(\bar f)\,(f_j - \bar f), \qquad
              \text{bias} = \tfrac12 \operatorname{tr}(g''(\bar f)\,\operatorname{Cov}(\bar f)).

    The function-of-mean model of the paper's ``subsection:biascorrection``.

    Parameters
    ----------
    features
        Takes the data as arrays, one argument per array, and returns the features of each row: shape ``(n, p)`` or
        ``(n,)``, or a list of p arrays of length n.
    g
        Takes the means with the components first, shape ``(p,)`` or ``(p, B)`` for B resamples at once, and returns
        shape ``()`` or ``(k,)``, with B last for resamples. One written in jax or torch takes one point, ``(p,)``.
    gradient
        The derivative of g at one point, shape ``(p,)`` or ``(k, p)``; or "jax" or "torch", in which g is then
        evaluated and differentiated. Without it: automatic where g is written in one of them, else central differences
        of fourth order, whose steps follow the spread of the features.
    name
        What tables and messages call the statistic.

    Examples
    --------
    >>> from orthoboot.functionals import function_of_means
    >>> dispersion = function_of_means(lambda x: [x, x**2], lambda m: (m[1] - m[0] ** 2) / m[0], name="dispersion")
    >>> round(dispersion([1.0, 2.0, 3.0, 6.0]), 6)
    1.166667
    """
    return CustomFunctionOfMeans(features, g, checked_gradient(gradient), name)


def feature_rows(returned: Any, n_rows: int, argument: str = "features") -> FloatArray:
    """Return what a user's `argument` made of the rows as ``(n, p)``; raise unless it has one finite row for each."""
    array = _float_array(np.stack(returned, axis=1) if isinstance(returned, (list, tuple)) else returned, argument)
    _check_features(array, n_rows, argument)
    return array.reshape(len(array), -1)


def components(returned: Any, batch: tuple[int, ...]) -> FloatArray:
    """Return what a user's g gave as shape ``(k, *batch)``; raise if it lost or changed the batch."""
    array = _float_array(returned)
    if array.shape[array.ndim - len(batch) :] != batch:
        raise StatisticError(
            f"`g` must keep the resamples on the last axis, {batch}; got shape {array.shape}. Index or sum the "
            "components over the first axis, for example `m.sum(axis=0)`."
        )
    return array.reshape(-1, *batch)


def given_jacobian(returned: Any, shape: tuple[int, int]) -> FloatArray:
    """Return what a user's gradient gave as `shape`, one row per number that g returns."""
    jacobian = np.atleast_2d(_float_array(returned))
    if jacobian.shape != shape:
        raise StatisticError(
            f"`gradient` must return shape {shape}, one row per number of `g` and one column per argument; got "
            f"{jacobian.shape}."
        )
    return jacobian


def _float_array(returned: Any, argument: str = "features`, `g` and `gradient") -> FloatArray:
    array = np.asarray(returned)
    if array.dtype.kind not in "biuf":
        raise StatisticError(
            f"`{argument}` must return real numbers; got {type(returned).__name__} of dtype {array.dtype}."
        )
    return array.astype(np.float64, copy=False)


def _check_features(features: FloatArray, n_rows: int, argument: str) -> None:
    if features.ndim not in (1, 2) or len(features) != n_rows:
        raise StatisticError(
            f"`{argument}` must return shape ({n_rows}, p), one row per row of the data; got {features.shape}. To give "
            "the features one by one return a list of arrays."
        )
    broken = ~np.isfinite(features).reshape(n_rows, -1).all(axis=1)
    if broken.any():
        raise StatisticError(
            f"`{argument}` must be finite; got NaN or infinity in {int(broken.sum())} row(s), the first in row "
            f"{int(np.argmax(broken))}."
        )

"""A function of means of features that the user writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.data.pieces import RowsInPieces, SampleInPieces
from orthoboot.errors import OrthobootWarning, StatisticError
from orthoboot.functionals.combined.automatic_gradient import (
    AutomaticGradient,
    Gradient,
    automatic_gradient,
    checked_gradient,
    given_by,
    gradient_findings,
)
from orthoboot.functionals.differences import jacobian_by_differences
from orthoboot.functionals.feature_means import FeatureMeans, FunctionOfMeans
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.user.returned_values import components, feature_rows, given_jacobian
from orthoboot.functionals.user.user_function import check_takes_many, value_of
from orthoboot.typing import FloatArray

_SAME = 1e-9
"""A difference, relative to the largest of a feature, that rounding may make."""


@dataclass(frozen=True, repr=False)
class CustomFunctionOfMeans(FunctionOfMeans):
    """A function of means from the user's own callables; see `function_of_means`."""

    rows: Callable[..., Any] = field(metadata={"argument": "features"})
    g: Callable[[Any], Any]
    gradient: Gradient = None
    name: str = "function_of_means"

    by_user = True
    takes_pieces = True

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless there is one sample, and g takes the means of its features: of the data and of resamples."""
        super().check(at)
        centre = at.derived.centre
        if self._derivatives(centre) is None:
            check_takes_many("g", self.g, np.stack([centre, centre], axis=1))

    def features(self, data: Data) -> FloatArray:
        """Return the features that the user's callable computes, as ``(n, p)``."""
        return feature_rows(value_of("features", self.rows, *data.arrays), data.sizes[0])

    def features_in_pieces(self, sample: SampleInPieces) -> RowsInPieces:
        """Return the features of the rows, computed block by block and checked in each."""
        width = self.features(sample.example).shape[1]
        return RowsInPieces(sample, partial(self._checked_features, width), width)

    def _checked_features(self, width: int, data: Data) -> FloatArray:
        """Return the features of a block; raise where they are not as many as those of the first row, or mix rows."""
        rows = self.features(data)
        if rows.shape[1] != width:
            raise StatisticError(
                f"`features` must return the same number of features for all rows; got {rows.shape[1]} for rows that "
                f"are read together, and {width} for the first row."
            )
        if len(rows) > 1 and not self._is_of_itself(rows, data):
            raise StatisticError(
                "`features` must compute the features of a row from that row alone, since the data are read part by "
                "part; the features of a row changed with the rows read beside it. Compute means and the like in `g`."
            )
        return rows

    def _is_of_itself(self, rows: FloatArray, data: Data) -> bool:
        """Return whether the first row has the same features alone."""
        first_rows = zip(data.tables, data.arrays, strict=True)
        tables = tuple(replace(table, container=array[:1]) for table, array in first_rows)
        alone = self.features(Data(tables, data.sample_of, (1,), whole=data.whole))
        # A product of matrices may round other numbers of the row, or of its block, otherwise.
        return bool((np.abs(alone[0] - rows[0]) <= _SAME * np.abs(rows).max(axis=0)).all())

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

    def findings(self, at: PreparedFormula[FeatureMeans]) -> tuple[OrthobootWarning, ...]:
        """Return a warning if the derivative that was given or found disagrees with differences of g."""
        means = at.derived
        jacobian = self.jacobian(means.centre)
        if jacobian is None:
            return ()
        differences = jacobian_by_differences(self.value, means.centre, means.scale, len(means.deviations))
        return gradient_findings(self.gradient, jacobian, differences, means.scale, at.output.names)

    def influence_source(self) -> str:
        """Return whose derivative it rests on."""
        return f"closed form of `{self.name}`{given_by(self.gradient)}"

    def output(self, at: PreparedFormula[FeatureMeans]) -> Output:
        """Return the shape of g's own result."""
        centre = at.derived.centre
        automatic = self._automatic(centre)
        return output_like(value_of("g", self.g, centre) if automatic is None else automatic.example, self.name)

    def _derivatives(self, point: FloatArray) -> AutomaticGradient | None:
        """Return the automatic derivatives of g at a point, if its code or its value there belongs to a package."""
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
        shape ``()`` or ``(k,)``, with B last for resamples. A function written in jax or torch takes one point,
        ``(p,)``.
    gradient
        The derivative of g at one point, shape ``(p,)`` or ``(k, p)``; or "jax" or "torch", to evaluate and
        differentiate g with that package. By default automatic differentiation if g is written in one of them,
        otherwise central differences of fourth order, with steps scaled by the spread of the features.
    name
        The name of the statistic in tables and messages.

    Examples
    --------
    >>> from orthoboot.functionals import function_of_means
    >>> dispersion = function_of_means(lambda x: [x, x**2], lambda m: (m[1] - m[0] ** 2) / m[0], name="dispersion")
    >>> round(dispersion([1.0, 2.0, 3.0, 6.0]), 6)
    1.166667
    """
    return CustomFunctionOfMeans(features, g, checked_gradient(gradient), name)

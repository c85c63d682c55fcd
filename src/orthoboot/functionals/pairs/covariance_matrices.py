"""The covariance matrix of the columns and its triangular factor, as parameters of optimisation problems need them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import DataError, FitError
from orthoboot.functionals.columns.moments import (
    check_ddof,
    check_more_rows_than,
    check_one_table,
    checked_units,
    columns_of,
    data_unit,
    divisor_factor,
)
from orthoboot.functionals.feature_means import FeatureMeans, FunctionOfMeans
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.output import Output, output_like
from orthoboot.typing import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-14
"""Of the means of squares and products, relative to the sizes of their columns: fifty units in the last place."""

_NO_FACTOR = (
    "the covariance matrix has no triangular factor, since a combination of the columns does not vary. Leave out a "
    "column that follows from the others; there must be more rows than columns."
)


@dataclass(frozen=True)
class CovarianceMatrix(FunctionOfMeans):
    r"""The covariance matrix of the columns, shape ``(d, d)``, as `numpy.cov` with ``rowvar=False``.

    .. math:: \Sigma = \frac{1}{n - \mathrm{ddof}} \sum_j (x_j - \bar x)(x_j - \bar x)', \qquad
              I_j = \frac{n}{n - \mathrm{ddof}} (x_j - \bar x)(x_j - \bar x)' - \Sigma.

    The chain rule for a function of means, ``subsection:biascorrection``.

    Parameters
    ----------
    ddof
        The divisor is ``n - ddof``; n is the number of rows, whatever the weights sum to.

    Examples
    --------
    >>> from orthoboot.functionals import covariance_matrix
    >>> covariance_matrix([[1.0, 0.0], [2.0, 1.0], [3.0, 5.0]]).round(3).tolist()
    [[0.667, 1.667], [1.667, 4.667]]
    """

    ddof: float = 0
    name = "covariance_matrix"
    is_quadratic = True
    takes_pieces = True

    def __post_init__(self) -> None:
        check_ddof(self.ddof)

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless there is one table with columns and more than `ddof` rows."""
        super().check(at)
        check_one_table(self.name, at.data)
        check_more_rows_than(self.name, self.ddof, at.data)
        shape = at.data.row_shapes[0]
        if len(shape) != 1:
            raise DataError(
                f"`{self.name}` takes an array of rows and columns; got shape {(*at.data.sizes, *shape)}. For a single "
                "column use `variance`."
            )

    def output(self, at: PreparedFormula[FeatureMeans]) -> Output:
        """Return one number for each pair of columns."""
        (d,) = at.data.row_shapes[0]
        return output_like(np.zeros((d, d)), self.name)

    def features(self, data: Data) -> FloatArray:
        """Return the deviations and their products, enlarged so that `value` has the divisor asked for."""
        deviations = data.frame.deviations(columns_of(data))
        return self.powers(deviations * np.sqrt(divisor_factor(self.ddof, data.frame.n_rows)))

    def n_variables(self, n_features: int) -> int:
        """Return the number of columns."""
        return _n_columns(n_features)

    def powers(self, variables: FloatArray) -> FloatArray:
        """Return the columns, their squares and their products."""
        first, second = _factors(variables.shape[1])
        return np.hstack([variables, variables[:, first] * variables[:, second]])

    def unit(self, data: Data) -> FloatArray:
        """Return the products of the units of the columns, row by row."""
        unit = data_unit(data)
        return checked_units(self.name, unit, np.outer(unit, unit).ravel())

    def value(self, means: FloatArray) -> FloatArray:
        """Return ``mean(x x') - mean(x) mean(x)'``, row by row."""
        return _flat(self._matrices(means))

    def derivative_along(self, means: FeatureMeans, changes: FloatArray) -> FloatArray:
        """Return the change of the matrix, row by row, for changes of the means."""
        return _flat(self._changes(means, changes)).T

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return the derivative by each of the means."""
        return self.derivative_along(FeatureMeans(means, means[np.newaxis]), np.eye(len(means))).T

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray | None:
        """Return ``-2 u u'``, summed over directions."""
        first = directions[: _n_columns(len(means))]
        return -2 * np.ravel(first @ first.T)

    def _matrices(self, means: FloatArray) -> FloatArray:
        """Return the covariance matrices at means in columns ``(p, ...)``, shape ``(..., d, d)``."""
        first, second = _moments(means)
        return second - first[..., :, np.newaxis] * first[..., np.newaxis, :]

    def _changes(self, means: FeatureMeans, changes: FloatArray) -> FloatArray:
        """Return the derivatives of the matrix along rows of changes ``(m, p)``, shape ``(m, d, d)``."""
        centre = _moments(means.centre)[0]
        first, second = _moments(changes.T)
        product = first[..., :, np.newaxis] * centre
        return second - product - np.swapaxes(product, -1, -2)


@dataclass(frozen=True)
class CovarianceFactor(CovarianceMatrix):
    r"""The upper triangular F with :math:`F'F = \Sigma`, the covariance matrix of the columns: the Cholesky factor.

    .. math:: I^F_j = \Phi(F'^{-1} I^\Sigma_j F^{-1})'\,F,

    where :math:`\Phi` keeps the lower triangle and half of the diagonal. The variance ``x' Sigma x`` is the squared
    length of ``F x``. In cvxpy ``cp.sum_squares(F @ x)`` follows the rules of disciplined parametrised programs (DPP),
    and ``cp.quad_form(x, Sigma)`` does not. The chain rule for a function of means, ``subsection:biascorrection``.

    Parameters
    ----------
    ddof
        The divisor of the covariance matrix is ``n - ddof``.

    Examples
    --------
    >>> from orthoboot.functionals import covariance_factor
    >>> covariance_factor([[1.0, 0.0], [3.0, 2.0], [1.0, 2.0], [3.0, 0.0]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    name = "covariance_factor"
    is_quadratic = False

    def unit(self, data: Data) -> FloatArray:
        """Return the unit of the column in which each entry stands, row by row."""
        unit = data_unit(data)
        return np.tile(unit, len(unit))

    def fixed(self, at: PreparedFormula[FeatureMeans]) -> BoolArray:
        """Return the entries below the diagonal, which are zero by definition."""
        (d,) = at.data.row_shapes[0]
        return np.ravel(np.tri(d, k=-1, dtype=bool))

    def value(self, means: FloatArray) -> FloatArray:
        """Return the factor, row by row; raise where a combination of the columns does not vary."""
        return _flat(np.swapaxes(self._lower_factors(means), -1, -2))

    def derivative_along(self, means: FeatureMeans, changes: FloatArray) -> FloatArray:
        """Return the change of the factor, row by row, for changes of the means."""
        lower = self._lower_factors(means.centre)
        inverse = np.linalg.inv(lower)
        relative = np.tril(inverse @ self._changes(means, changes) @ inverse.T)
        half = np.where(np.eye(len(lower), dtype=bool), relative / 2, relative)
        return _flat(np.swapaxes(lower @ half, -1, -2)).T

    def curvature(self, means: FloatArray, directions: FloatArray) -> None:
        """Return None, to use finite differences."""
        return

    def _lower_factors(self, means: FloatArray) -> FloatArray:
        """Return the factors at means in columns; raise where columns depend on each other, up to rounding."""
        matrices = self._matrices(means)
        try:
            factors: FloatArray = np.linalg.cholesky(matrices).astype(np.float64, copy=False)
        except np.linalg.LinAlgError as error:
            raise FitError(_NO_FACTOR) from error
        # A diagonal entry is the length of v'x, v a row of the inverse times that entry: so its square has the rounding
        # error (sum |v_i| size_i)**2. About a mean that is far from that of the resample the sizes are larger, too.
        sizes = np.sqrt(np.diagonal(_moments(means)[1], axis1=-2, axis2=-1))
        reach = np.sum(np.abs(np.linalg.inv(factors)) * sizes[..., np.newaxis, :], axis=-1)
        if not (_ROUNDING * np.square(reach) < 1).all():
            raise FitError(_NO_FACTOR)
        return factors


def _n_columns(n_features: int) -> int:
    """Return d, where the features are d deviations and d (d + 1) / 2 products."""
    return (int(np.sqrt(9 + 8 * n_features)) - 3) // 2


def _moments(means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the first and second moments at means in columns ``(p, ...)``, shapes ``(..., d)`` and ``(..., d, d)``."""
    d = _n_columns(len(means))
    points = np.moveaxis(means, 0, -1)
    second = np.empty((*points.shape[:-1], d, d))
    rows, columns = _factors(d)
    second[..., rows, columns] = points[..., d:]
    second[..., columns, rows] = points[..., d:]
    return points[..., :d], second


def _factors(d: int) -> tuple[IntArray, IntArray]:
    """Return the two columns of each product: first the squares, then the products of different columns."""
    above = np.triu_indices(d, 1)
    first, second = (np.concatenate([np.arange(d), columns]) for columns in above)
    return first, second


def _flat(matrices: FloatArray) -> FloatArray:
    """Return matrices ``(..., d, d)`` with their entries first, row by row: ``(d * d, ...)``."""
    entries = matrices.reshape(*matrices.shape[:-2], -1)
    return np.moveaxis(entries, -1, 0)


covariance_matrix = CovarianceMatrix()
covariance_factor = CovarianceFactor()

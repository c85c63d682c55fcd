"""Least squares, and the base classes of all regressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from orthoboot.arrays.threads import run_here, run_tasks
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.draws.summation import cache_sized
from orthoboot.errors import ArgumentError, OrthobootWarning
from orthoboot.functionals.base import Covariance, Functional, Prepared
from orthoboot.functionals.evaluation import NO_FITS, Convergence, Evaluation
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.regression.design_findings import (
    ROWS_WITH_THE_COMMON_VALUE,
    common_values,
    nearly_dependent,
    resting_on_few,
)
from orthoboot.functionals.regression.design_matrix import (
    RegressionRows,
    factor_of_data,
    factor_of_resample,
    regression_rows,
)
from orthoboot.functionals.regression.exact_fit import residual_is_rounding
from orthoboot.functionals.regression.linear_in_pieces import LinearFitInPieces, evaluation_of, values_of
from orthoboot.functionals.regression.search_limits import LARGEST_TRACE, WELL_CONDITIONED
from orthoboot.solvers.cross_products import CrossProducts
from orthoboot.solvers.positive_solution import positive_solution
from orthoboot.solvers.refined_least_squares import TOGETHER, RefinedLeastSquares
from orthoboot.solvers.tall_qr import QRFactors
from orthoboot.typing import FloatArray, Influence

_COLUMNS_IN_A_PASS = 16
"""Columns whose products, all pairs of them, take no longer than the rest of a refit."""


class CatalogueRegression(Functional):
    """The coefficients of a model of y given X, all of them, refitted on every resample.

    Subclasses are dataclasses with a field `intercept`.
    """

    intercept: bool
    paired = True
    takes_pieces = True
    counts_rows = True
    passes: ClassVar[int] = 1
    """How often a refit goes through the rows."""

    def work(self, n_rows: int, n_columns: int) -> float | None:
        """Return how many rows added up cost as much as one refit; None where refits are not made together."""
        return self.passes * n_rows * max((n_columns / _COLUMNS_IN_A_PASS) ** 2, 1.0) if self.batched else None

    def __post_init__(self) -> None:
        check_intercept(self.intercept)


_WORTH_A_THREAD = 1 << 20
"""Multiplications of a refit from which it is worth a thread: a tenth of a millisecond."""

_NUMBERS_AT_ONCE = 1 << 20
"""Weights and sums of products that are held at once: 8 MB, or those of 32 resamples."""

AnyRegression = TypeVar("AnyRegression", bound=CatalogueRegression)


@dataclass(frozen=True, eq=False)
class PreparedRegression(Prepared[AnyRegression]):
    """A regression at its data."""

    one_by_one = True

    @property
    def work(self) -> float | None:
        """Return how many rows added up cost as much as one refit; None where refits are not made together."""
        return self.functional.work(self.data.sizes[0], len(self.rows.names))

    def check(self) -> None:
        """Raise unless the data are X and y, with independent columns in X."""
        _ = self.factor

    @property
    def output(self) -> Output:
        """Return a vector named after the columns of X."""
        names = self.rows.names
        return output_like(np.zeros(len(names)), self.functional.name, names)

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return a warning where the columns are nearly dependent, and where a coefficient rests on few rows."""
        X = self.rows.X
        n_varying = np.count_nonzero(common_values(X[:ROWS_WITH_THE_COMMON_VALUE]) != X, axis=0)
        effective = self.factor.effective_rows()
        return (*nearly_dependent(self.factor), *resting_on_few(self.rows.names, len(X), n_varying, effective))

    @cached_property
    def rows(self) -> RegressionRows:
        """Return X, y and the case weights."""
        return regression_rows(self.functional.name, self.data, intercept=self.functional.intercept)

    @cached_property
    def factor(self) -> QRFactors:
        """Return the factorisation of the columns of X, each row times the root of its case weight."""
        return factor_of_data(self.functional.name, self.rows)


def check_intercept(intercept: Any) -> None:
    """Raise unless `intercept` is True or False."""
    if not isinstance(intercept, (bool, np.bool_)):
        raise ArgumentError(f"`intercept` must be True or False; got {intercept!r}.")


@dataclass(frozen=True)
class LeastSquares:
    """The fit of all rows, from which those of resamples are found.

    Attributes
    ----------
    rows, factor
        What was fitted, and the factorisation ``sqrt(a) X = Q R`` of its columns, a the case weights.
    coefficients
        Shape ``(d,)``.
    residuals
        Those of y, each times the root of its case weight, shape ``(n,)``.
    """

    rows: RegressionRows
    factor: QRFactors
    coefficients: FloatArray
    residuals: FloatArray

    @staticmethod
    def of(rows: RegressionRows, factor: QRFactors) -> LeastSquares:
        """Return the fit; its error is that of the factorisation."""
        roots = np.sqrt(rows.case_weights)
        coefficients = factor.coefficients(np.einsum("jp,j->p", factor.orthonormal, roots * rows.response))
        return LeastSquares(rows, factor, coefficients, roots * _residuals(rows, coefficients))

    @cached_property
    def cross_products(self) -> CrossProducts:
        """Return ``Q' diag(weights) [Q, residuals]``."""
        return CrossProducts(self.factor.orthonormal, self.residuals)

    @cached_property
    def refined(self) -> RefinedLeastSquares:
        """Return the solver of many refits at once."""
        return RefinedLeastSquares(self.factor.orthonormal, self.residuals)

    @cached_property
    def mean_score(self) -> FloatArray:
        """Return the mean of ``q e``, which is zero but for rounding, shape ``(d,)``."""
        total: FloatArray = np.einsum("jp,j->p", self.factor.orthonormal, self.residuals)
        return total / len(self.residuals)

    def refitted(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients for weights on the rows, shape ``(d,)``."""
        return self.refitted_by(self.cross_products(weights), weights)

    def refitted_by(self, products: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the coefficients for weights on the rows, given the cross products."""
        rotated = positive_solution(products[:, :-1], products[:, -1], least_condition=WELL_CONDITIONED)
        if rotated is None:
            return self.coefficients + self._change_by_factorisation(weights)
        return self.coefficients + self.factor.coefficients(rotated)

    def changed_by(self, change: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the coefficients for weights on the rows, given their change by `refined`."""
        if np.isnan(change).any():
            return self.refitted(weights)
        return self.coefficients + self.factor.coefficients(change)

    def _change_by_factorisation(self, weights: FloatArray) -> FloatArray:
        """Return how the coefficients change where cross products would lose too many digits, shape ``(d,)``."""
        factor = factor_of_resample(self.rows, weights)
        residuals = np.sqrt(weights) * self.residuals
        return factor.coefficients(np.einsum("jp,j->p", factor.orthonormal, residuals))


def _residuals(rows: RegressionRows, coefficients: FloatArray) -> FloatArray:
    """Return ``y - X b``, set to zero if it is rounding alone: an exact fit must not vary under resampling."""
    residuals = rows.response - np.einsum("jp,p->j", rows.X, coefficients)
    is_exact = residual_is_rounding(rows.X, rows.response, coefficients, residuals)
    return np.zeros_like(residuals) if is_exact else residuals


@dataclass(frozen=True)
class LinearRegression(CatalogueRegression):
    r"""The coefficients of least squares, as `numpy.linalg.lstsq`; with case weights a, of weighted least squares.

    .. math:: \phi = (X'AX)^{-1} X'Ay, \qquad I_j = n\,(X'AX)^{-1} x_j\,a_j\,(y_j - x_j'\phi),

    of mean zero by the normal equations. The variance :math:`\sum_j I_j I_j' / n^2` of the infinitesimal jackknife is
    White's (1980, Econometrica 48) heteroscedasticity-consistent one, HC0. The linear regression of
    ``subsection:CIconstructionexample``.

    Refits are solved in the orthonormal basis Q of all rows, :math:`\sqrt{A} X = QR`, for the change alone:
    :math:`\phi_b = \hat\phi + R^{-1} (Q'W_bQ)^{-1} Q'W_b \hat e`. Their error therefore grows with the condition number
    of X and not with its square, and the linear part :math:`R^{-1} Q'W_b \hat e` comes with them. Fits of some size,
    with up to 63 columns and 65,536 rows, are solved for many resamples at once: in single precision, and refined until
    a further step would change the solution by about 1e-12 of its largest number at most. Other fits, and resamples for
    which single precision has too few digits, are solved one by one in double precision. Which way is taken depends on
    the data and on the resample alone, and all products have the same shape whatever the batch. So with OpenBLAS,
    numpy's own library, the bits of a refit do not depend on the other resamples. Up to 50 columns it uses one thread
    for each product, so that with numpy 2 they do not depend on the number of threads either. Another processor may
    round in another order, and another library by the place in a batch: then the last digits may differ.

    The data are ``(X, y)`` with ``paired=True``, or ``(X, y, case_weights)``; a resample on which the columns are
    dependent counts as a failed replicate. The data may be read part by part, as memory-mapped arrays and dask
    collections are: one pass then gives the refits of many resamples; see `LinearFitInPieces`.

    Parameters
    ----------
    intercept
        Whether a column of ones, named "intercept", comes first.

    Examples
    --------
    >>> from orthoboot.functionals import linear_regression
    >>> linear_regression.replace(intercept=True)([0.0, 1.0, 2.0], [1.0, 3.0, 5.0]).round(12)
    array([1., 2.])
    """

    intercept: bool = False
    name = "linear_regression"

    def at(self, data: Data) -> LinearFit | LinearFitInPieces:
        """Return the regression at `data`, not checked yet."""
        return LinearFitInPieces(self, data) if data.is_in_pieces else LinearFit(self, data)


class Refits(NamedTuple):
    """Least squares on some resamples.

    Attributes
    ----------
    outcomes
        For each resample the coefficients, or why there are none.
    scores
        The sums ``sum_j weights_j q_j e_j``, shape ``(B, d)``.
    """

    outcomes: list[FloatArray | Exception]
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class LinearFit(PreparedRegression[LinearRegression]):
    """Least squares at its data."""

    @cached_property
    def centre(self) -> FloatArray:
        """Return the coefficients at weights of one, as a refit finds them: with what rounding left of the scores."""
        fit = self.fit
        return fit.coefficients + fit.factor.coefficients(len(fit.residuals) * fit.mean_score)

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the coefficients on each resample, shape ``(B, d)``; raise if there are none on one of them."""
        return values_of(self.refits(resamples).outcomes)

    def evaluate(self, resamples: Resamples) -> Evaluation:
        """Return the coefficients on each resample, or the reason of their failure."""
        return evaluation_of(self.refits(resamples).outcomes, len(self.rows.names))

    def linear(self, resamples: Resamples) -> FloatArray:
        """Return ``R^-1 sum_j weights_j (q_j e_j - their mean)``, from the sums that the refits need."""
        scores = self.refits(resamples).scores - resamples.totals(0)[:, np.newaxis] * self.fit.mean_score
        return np.array([self.fit.factor.coefficients(score) for score in scores])

    def refits(self, resamples: Resamples) -> Refits:
        """Return the refits on each resample."""
        return resamples.remembered(self._refitted)

    def _refitted(self, resamples: Resamples) -> Refits:
        """Return the refits, together where that is faster; it depends on the data alone."""
        n, d = self.rows.X.shape
        together = RefinedLeastSquares.suits(n, d)
        return self._refitted_together(resamples) if together else self._refitted_alone(resamples)

    def _refitted_together(self, resamples: Resamples) -> Refits:
        """Return the refits, each computed alike whatever the others; the weights of some at a time are held."""
        number, (n, d) = len(resamples), self.rows.X.shape
        outcomes: list[FloatArray | Exception] = []
        scores, fit = np.empty((number, d)), self.fit
        at_once = TOGETHER * max(_NUMBERS_AT_ONCE // (TOGETHER * (n + d**2)), 1)
        for start in range(0, number, at_once):
            some = range(start, min(start + at_once, number))
            drawn = resamples.some(some).weights[0]
            changes, scores[some.start : some.stop] = fit.refined(drawn)
            outcomes += [_outcome(fit.changed_by, *one) for one in zip(changes, drawn, strict=True)]
        return Refits(outcomes, scores)

    def _refitted_alone(self, resamples: Resamples) -> Refits:
        """Return the refits, each computed for itself; the weights of a few resamples at a time are held."""
        number, (n, d) = len(resamples), self.rows.X.shape
        outcomes: list[FloatArray | Exception] = [np.empty(0)] * number
        scores, fit = np.empty((number, d)), self.fit
        multiply = fit.cross_products

        def store(place: int, weights: FloatArray) -> None:
            products = multiply(weights)
            scores[place], outcomes[place] = products[:, -1], _outcome(fit.refitted_by, products, weights)

        # The products of small fits are so short that threads would only wait for the interpreter.
        run = run_tasks if n * d * d >= _WORTH_A_THREAD else run_here
        for some in cache_sized(number, n):
            drawn = resamples.some(range(some.start, some.stop)).weights[0]
            run([partial(store, place, weights) for place, weights in enumerate(drawn, start=some.start)])
        return Refits(outcomes, scores)

    def influence(self) -> Influence:
        """Return ``n R^-1 q_j e_j`` for every row."""
        fit = self.fit
        influence = fit.factor.shares * (len(fit.residuals) * fit.residuals)[:, np.newaxis]
        # In place, since memory that is new takes longer than what is computed there.
        influence /= fit.factor.scales
        influence -= influence.mean(axis=0)
        return (influence,)

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        r"""Return the mean of the second-order term of a refit; None where it costs too much.

        With sums of weights w the change is :math:`(\sum w qq')^{-1} \sum w q e`, where :math:`\sum qq' = 1` and
        :math:`\sum qe = 0` on the data; so its second-order term is minus the product of the two sums' deviations:

        .. math:: -R^{-1} \sum_l \operatorname{Cov}\Big(\sum w q q_l, \sum w q_l e\Big).
        """
        fit = self.fit
        n, d = fit.factor.orthonormal.shape
        if n * d * (d + 1) ** 2 > LARGEST_TRACE:
            return None
        scores = n * _scores(fit)
        totals = covariance((np.column_stack([scores, np.ones(n)]),))[:d, d]
        # The squares have a mean, which the covariance must not see: it goes with the total of the weights.
        rotated = -totals - sum(covariance((columns,))[:d, d] for columns in _paired_columns(fit, scores))
        return fit.factor.coefficients(rotated)

    @cached_property
    def fit(self) -> LeastSquares:
        """Return the fit of all rows."""
        return LeastSquares.of(self.rows, self.factor)


def _outcome(
    refitted: Callable[[FloatArray, FloatArray], FloatArray], found: FloatArray, weights: FloatArray
) -> FloatArray | Exception:
    try:
        return refitted(found, weights)
    except Exception as error:  # whatever it is, it is a failed replicate, counted and reported
        # Its frames hold the resamples, which remember it.
        return error.with_traceback(None)


def _scores(fit: LeastSquares) -> FloatArray:
    """Return ``q_j e_j`` of the rows, shape ``(n, d)``."""
    return fit.factor.orthonormal * fit.residuals[:, np.newaxis]


def _paired_columns(fit: LeastSquares, scores: FloatArray) -> Iterator[FloatArray]:
    """Yield for each l the columns ``n q q_l``, centred, and ``n q_l e``, shape ``(n, d + 1)``."""
    orthonormal = fit.factor.orthonormal
    for column, score in zip(orthonormal.T, scores.T, strict=True):
        squares = len(score) * orthonormal * column[:, np.newaxis]
        yield np.column_stack([squares - squares.mean(axis=0), score])


linear_regression = LinearRegression()

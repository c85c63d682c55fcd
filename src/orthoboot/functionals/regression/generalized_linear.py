"""Generalised linear models: fitted by Newton steps, refitted on resamples from the fit to all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthoboot.arguments import checked_name
from orthoboot.arrays.row_blocks import rows_times
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import FitError, OrthobootWarning
from orthoboot.functionals.base import Covariance
from orthoboot.functionals.evaluation import NO_FITS, Convergence, Evaluation
from orthoboot.functionals.regression.design_matrix import RegressionRows, factor_of_resample
from orthoboot.functionals.regression.exact_fit import residuals_are_rounding
from orthoboot.functionals.regression.families import FAMILIES, Family, PredictorLosses
from orthoboot.functionals.regression.generalized_linear_in_pieces import GlmFitInPieces
from orthoboot.functionals.regression.linear import CatalogueRegression, PreparedRegression
from orthoboot.functionals.regression.linear_in_pieces import evaluation_of, values_of
from orthoboot.functionals.regression.newton_surrogate import NewtonSurrogate
from orthoboot.functionals.regression.refits_together import RefitsTogether
from orthoboot.functionals.regression.row_losses import FamilyLoss
from orthoboot.functionals.regression.search_limits import (
    MAX_ITERATIONS,
    REGULAR,
    RUNNING_AWAY,
    STEP,
    degenerate_responses,
    few_of_a_class,
    no_fit,
    no_start,
    refused_responses,
)
from orthoboot.functionals.surrogate import LinearOutputs
from orthoboot.optimisation.newton import newton_minimum
from orthoboot.solvers.cross_products import CrossProducts
from orthoboot.solvers.positive_solution import positive_solution
from orthoboot.solvers.tall_qr import QRFactors
from orthoboot.typing import FloatArray, Influence


@dataclass(frozen=True)
class Model:
    """A family, a link and rows, in the orthonormal basis of the columns.

    Attributes
    ----------
    name
        What messages call it.
    family, link
        The loss of a row as a function of its linear predictor.
    rows, factor
        What is fitted, and the factorisation of its columns.
    """

    name: str
    family: Family
    link: str
    rows: RegressionRows
    factor: QRFactors

    @cached_property
    def basis(self) -> FloatArray:
        """Return the columns in which coefficients are sought, shape ``(n, d)``."""
        return self.factor.orthonormal / np.sqrt(self.rows.case_weights)[:, np.newaxis]

    @cached_property
    def columns(self) -> FloatArray:
        """Return the same columns one after the other in memory, shape ``(d, n)``."""
        return np.ascontiguousarray(self.basis.T)

    @cached_property
    def cross_products(self) -> CrossProducts:
        """Return the products of these columns, for weights on the rows."""
        return CrossProducts(self.basis)

    def predictors(self, point: FloatArray) -> FloatArray:
        """Return the linear predictors of all rows, shape ``(n,)``."""
        eta: FloatArray = np.einsum("pj,p->j", self.columns, point)
        return eta


class WeightedLoss:
    """The mean loss of weighted rows as a function of the coefficients in the orthonormal basis.

    Rows of weight zero are not looked at: their predictors may be where the link has no mean.

    Parameters
    ----------
    model
        What is fitted.
    weights
        On the rows, case weights included, shape ``(n,)``.
    """

    def __init__(self, model: Model, weights: FloatArray) -> None:
        self.model = model
        self.kept = np.flatnonzero(weights)
        self.weights = weights[self.kept] / weights.sum()
        self.response = model.rows.response[self.kept]
        self.largest_shift = 0.0
        self._latest: tuple[FloatArray, PredictorLosses] | None = None

    def value(self, point: FloatArray) -> float:
        """Return the mean loss, infinite where a row has no possible mean."""
        return float(np.sum(self.weights * self.losses(point).value))

    def gradient(self, point: FloatArray) -> FloatArray:
        """Return its gradient, shape ``(d,)``."""
        return self.column_sums(self.losses(point).slope)

    def step(self, point: FloatArray, gradient: FloatArray) -> FloatArray:
        """Return the Newton step; where the Hessian is not positive definite, the one of Fisher's scoring."""
        for matrix in self._matrices(self.losses(point)):
            direction = positive_solution(matrix, -gradient, least_condition=REGULAR)
            if direction is not None:
                self.largest_shift = float(np.abs(self._predictors(direction)).max())
                return direction
        raise FitError(self.failure(point))

    def losses(self, point: FloatArray) -> PredictorLosses:
        """Return the losses of the rows, cached: value, gradient and Hessian are evaluated at the same point."""
        if self._latest is None or self._latest[0] is not point:
            self._latest = (point, self.losses_at(self._predictors(point)))
        return self._latest[1]

    def losses_at(self, eta: FloatArray) -> PredictorLosses:
        """Return the losses of the rows at their linear predictors."""
        return self.model.family.losses(self.response, eta, self.model.link)

    def column_sums(self, values: FloatArray) -> FloatArray:
        """Return the weighted sums of the basis, each row times its value, shape ``(d,)``."""
        sums: FloatArray = np.einsum("pj,j->p", self.model.columns, self._on_all_rows(values))
        return sums

    def hessian(self, values: FloatArray) -> FloatArray:
        """Return the weighted cross products of the basis, each row times its value, shape ``(d, d)``."""
        return self.model.cross_products(self._on_all_rows(values))

    def tolerance(self, point: FloatArray) -> float:
        """Return the decrement at which the predictors change by a negligible share of themselves."""
        changes = self.losses(point).information * self._predictors(point) ** 2
        return float(STEP**2 * np.sum(self.weights * changes))

    def ran_away(self, point: FloatArray) -> bool:
        """Return whether the fit diverged: the search ended because rows at the edge have almost no loss left."""
        return self.largest_shift > RUNNING_AWAY and self._n_at_the_edge(point) > 0

    def failure(self, point: FloatArray) -> str:
        """Return why there is no fit, given the point where the search ended."""
        return no_fit(self._n_at_the_edge(point), len(self.kept), self.model.link)

    def _n_at_the_edge(self, point: FloatArray) -> int:
        eta, typical = self._predictors(point), float(self.response.mean())
        return int(self.model.family.at_the_edge(self.response, eta, self.model.link, typical).sum())

    def _matrices(self, losses: PredictorLosses) -> Iterator[FloatArray]:
        yield self.hessian(losses.curvature)
        # Not positive definite: for lack of rows, which no other matrix helps, or for the shape of the loss.
        factor_of_resample(self.model.rows, self._on_all_rows(np.ones(len(self.kept))))
        yield self.hessian(losses.information)

    def _predictors(self, point: FloatArray) -> FloatArray:
        return self.model.predictors(point)[self.kept]

    def _on_all_rows(self, values: FloatArray) -> FloatArray:
        result = np.zeros(len(self.model.basis))
        result[self.kept] = self.weights * values
        return result


def fitted(loss: WeightedLoss, start: FloatArray) -> FloatArray:
    """Return the coefficients in the orthonormal basis that minimise `loss`; raise a `FitError` where none do."""
    minimum = newton_minimum(
        loss.value,
        loss.gradient,
        loss.step,
        start,
        tolerance=loss.tolerance(start),
        max_iterations=MAX_ITERATIONS,
    )
    if not minimum.converged or loss.ran_away(minimum.point):
        raise FitError(loss.failure(minimum.point))
    return minimum.point


def first_point(loss: WeightedLoss) -> FloatArray:
    """Return where to start: one scoring step from the responses, or the best constant, whichever loses less."""
    candidates = [point for point in (_scoring_start(loss), _constant_start(loss)) if np.isfinite(point).all()]
    heights = [loss.value(point) for point in candidates]
    if not heights or not np.isfinite(min(heights)):
        raise FitError(no_start(loss.model.link))
    return candidates[int(np.argmin(heights))]


def _scoring_start(loss: WeightedLoss) -> FloatArray:
    eta = loss.model.family.first_predictor(loss.response, loss.model.link, float(loss.response.mean()))
    losses = loss.losses_at(eta)
    target = loss.column_sums(losses.information * eta - losses.slope)
    start = positive_solution(loss.hessian(losses.information), target, least_condition=REGULAR)
    return np.full(len(target), np.nan) if start is None else start


def _constant_start(loss: WeightedLoss) -> FloatArray:
    mean = np.full(len(loss.response), np.sum(loss.weights * loss.response))
    eta = loss.model.family.predictor_of(mean, loss.model.link)
    # The basis is orthonormal under the case weights, which `loss` divides by their total.
    point: FloatArray = loss.column_sums(eta) * loss.model.rows.case_weights.sum()
    return point


@dataclass(frozen=True)
class Glm(CatalogueRegression):
    """The coefficients of a generalised linear model; `glm` has the formulas, `logistic_regression` is one of them.

    The data are ``(X, y)`` with ``paired=True``: X of shape ``(n, d)``, an array or a frame whose columns name the
    coefficients, and y of shape ``(n,)``, for "binomial" zeros and ones or proportions. A third array holds case
    weights, for proportions the numbers of trials.

    Parameters
    ----------
    family, link
        As in `glm`.
    intercept
        Whether a column of ones, named "intercept", comes first; by default it does not.
    name
        The name of the statistic in tables and messages.

    Examples
    --------
    >>> from orthoboot.functionals import logistic_regression
    >>> model = logistic_regression.replace(intercept=True)
    >>> model([0.0, 0.0, 0.0, 1.0, 1.0, 1.0], [0, 0, 1, 0, 1, 1]).round(6)  # log(1/2), and log(2) - log(1/2)
    array([-0.693147,  1.386294])
    """

    family: str
    link: str | None = None
    intercept: bool = False
    name: str = "glm"
    passes = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_name("family", self.family, FAMILIES)
        if self.link is not None:
            checked_name("link", self.link, FAMILIES[self.family].links)

    def at(self, data: Data) -> GlmFit | GlmFitInPieces:
        """Return the model at `data`, not checked yet."""
        return GlmFitInPieces(self, data) if data.is_in_pieces else GlmFit(self, data)


@dataclass(frozen=True, eq=False)
class GlmFit(PreparedRegression[Glm]):
    """A generalised linear model at its data."""

    def check(self) -> None:
        """Raise unless the data are X and y, with independent columns in X and responses of the family in y."""
        name, family = self.functional.name, FAMILIES[self.functional.family]
        _check_range(self.functional, self.rows.response)
        degeneracy = family.degeneracy(self.rows.response)
        if degeneracy is not None:
            raise degenerate_responses(name, degeneracy)
        super().check()

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return the warnings of any regression, and one if a class has few rows."""
        found = super().findings(convergence)
        if self.functional.family != "binomial":
            return found
        response = self.rows.response
        # A proportion counts in both classes.
        positive, negative = int(np.count_nonzero(response > 0)), int(np.count_nonzero(response < 1))
        return (*found, *few_of_a_class(self.functional.name, positive, negative))

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the coefficients on each resample, shape ``(B, d)``; raise if there are none on one of them."""
        return values_of(self.refits(resamples))

    def evaluate(self, resamples: Resamples) -> Evaluation:
        """Return the coefficients on each resample, or the reason of their failure."""
        return evaluation_of(self.refits(resamples), len(self.rows.names))

    def refits(self, resamples: Resamples) -> list[FloatArray | Exception]:
        """Return for each resample the coefficients, or why there are none.

        Searches that full Newton steps end are made together, all others one by one.
        """
        if self.is_exact or not self.together.is_possible:
            return [self._refitted(weights) for weights in resamples.weights[0]]
        (weights,) = resamples.weights
        return [
            self.model.factor.coefficients(point) if np.isfinite(point).all() else self._refitted(own)
            for point, own in zip(self.together.minima(weights), weights, strict=True)
        ]

    def _refitted(self, weights: FloatArray) -> FloatArray | Exception:
        """Return the coefficients of one resample by a search of its own, or why there are none."""
        try:
            if not self.is_exact:
                return _refitted(self.model, self.fit, weights)
            factor_of_resample(self.rows, weights)  # raises where the columns do not determine the fit
            return self.model.factor.coefficients(self.fit)
        except Exception as error:  # whatever it is, it is a failed replicate, counted and reported
            return error.with_traceback(None)

    @cached_property
    def together(self) -> RefitsTogether:
        """Return the refits of many resamples at once."""
        model = self.model
        rows = model.rows.response, model.rows.case_weights
        return RefitsTogether(model.family, model.link, model.basis, *rows, self.fit)

    def influence(self) -> Influence:
        """Return ``-n H^-1 x_j l'_j`` for every row, H the observed Hessian; zeros where the fit is exact."""
        model, point = self.model, self.fit
        if self.is_exact:
            return (np.zeros(model.basis.shape),)
        loss = WeightedLoss(model, model.rows.case_weights)
        losses = loss.losses(point)
        back_rotation = model.factor.back_rotation().T
        by_score = positive_solution(loss.hessian(losses.curvature), back_rotation, least_condition=REGULAR)
        if by_score is None:
            raise FitError(f"`{self.functional.name}` has no influence function: {loss.failure(point)}.")
        scores = model.basis * (loss.weights * losses.slope)[:, np.newaxis]
        influence = -len(scores) * rows_times(scores, by_score)
        return (influence - influence.mean(axis=0),)

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return the mean of the second-order term of a refit, as `MinimumAtWeights` has it."""
        return np.zeros(len(self.fit)) if self.surrogate is None else self.surrogate.second_order_bias(covariance)

    @property
    def bias_is_cheap(self) -> bool:
        """Return True."""
        return True

    @cached_property
    def surrogate(self) -> NewtonSurrogate | None:
        """Return the first Newton steps of the refits, in the orthonormal basis; None where no refit moves."""
        if self.is_exact:
            return None
        model, d = self.model, len(self.fit)
        return NewtonSurrogate(
            row_loss=FamilyLoss(model.family.name, model.link),
            response=model.rows.response,
            designs=(model.basis,),
            factors=model.rows.case_weights,
            quadratic=np.zeros((d, d)),
            linear=np.zeros(d),
            free=np.ones(d, dtype=np.bool_),
            start=self.fit,
            outputs=LinearOutputs(model.factor.back_rotation(), np.zeros(d)),
        )

    @cached_property
    def is_exact(self) -> bool:
        """Return whether the fit leaves only rounding of every row, as it does of a constant response."""
        rows, loss = self.rows, WeightedLoss(self.model, np.ones(len(self.rows.response)))
        losses = loss.losses(self.fit)
        # All losses are linear in the response.
        twice = self.model.family.losses(2 * rows.response, self.model.predictors(self.fit), self.model.link)
        sizes = np.abs(rows.X) @ np.abs(self.model.factor.coefficients(self.fit))
        return residuals_are_rounding(
            losses.slope, losses.information, twice.slope - losses.slope, sizes, rows.X.shape[1]
        )

    @cached_property
    def model(self) -> Model:
        """Return what is fitted."""
        family = FAMILIES[self.functional.family]
        link = self.functional.link or family.links[0]
        return Model(self.functional.name, family, link, self.rows, self.factor)

    @cached_property
    def fit(self) -> FloatArray:
        """Return the coefficients of all rows in the orthonormal basis, shape ``(d,)``."""
        loss = WeightedLoss(self.model, self.rows.case_weights)
        try:
            # Twice: what is negligible is measured where the search starts, and a first start may be far off.
            return fitted(loss, fitted(loss, first_point(loss)))
        except FitError as error:
            raise FitError(f"`{self.functional.name}` has no fit on these data: {error}.") from error


def _check_range(glm: Glm, response: FloatArray) -> None:
    problem = FAMILIES[glm.family].response_problem(response)
    if problem is not None and problem.broken.any():
        first = int(np.argmax(problem.broken))
        raise refused_responses(glm.name, glm.family, problem, int(problem.broken.sum()), first, response[first])


def _refitted(model: Model, start: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the coefficients for weights on the rows, shape ``(d,)``."""
    loss = WeightedLoss(model, model.rows.case_weights * weights)
    degeneracy = model.family.degeneracy(loss.response)
    try:
        if degeneracy is not None:
            raise FitError(degeneracy)
        return model.factor.coefficients(fitted(loss, start))
    except FitError as error:
        raise FitError(f"`{model.name}` has no fit on a resample: {error}") from error


def glm(family: str, link: str | None = None, *, intercept: bool = False) -> Glm:
    r"""Return the coefficients of a generalised linear model, as ``glm`` in R and ``GLM`` in statsmodels.

    .. math:: \phi = \arg\min_\beta \sum_j a_j\,\ell(y_j, x_j'\beta), \qquad
              I_j = -n\,H^{-1} x_j\,a_j\,\ell'_j, \qquad H = \sum_j a_j\,\ell''_j\,x_j x_j',

    with :math:`\ell` minus the log-likelihood of a row, up to the dispersion, which does not matter, its derivatives
    with respect to the linear predictor :math:`x_j'\beta`, and a the case weights. H is the observed Hessian, which the
    derivative of the fit in the weights requires; it equals the expected one only for canonical links.
    :math:`\sum_j I_j I_j' / n^2` is the sandwich of Huber (1967) and White (1982, Econometrica 50). The implicit
    function theorem, as for the models of ``subsection:CIconstructionexample``. Refits take Newton steps from the fit
    of all rows until only rounding error is left, for many resamples in the same matrix products.

    The data are ``(X, y)`` with ``paired=True``, or ``(X, y, case_weights)``; for proportions the case weights are the
    numbers of trials. A resample without a fit, such as one with a single class, counts as a failed replicate. Data may
    be read part by part, as memory-mapped arrays and dask collections are: each Newton step is then one pass for the
    refits of many resamples.

    Parameters
    ----------
    family
        "gaussian", "poisson", "gamma", "binomial" or "inverse_gaussian".
    link
        "identity", "log", "inverse" or "inverse_squared" of the mean; for "binomial" "logit", "probit", "cloglog",
        "log" or "identity". By default the canonical one: for the families in the order above identity, log, inverse,
        logit and inverse_squared.
    intercept
        Whether a column of ones, named "intercept", comes first.

    Examples
    --------
    >>> from orthoboot.functionals import glm
    >>> counts = glm("poisson", intercept=True)
    >>> counts([0.0, 0.0, 1.0, 1.0], [1, 3, 5, 7]).round(6)  # log(2), and log(6) - log(2)
    array([0.693147, 1.098612])
    """
    return Glm(family, link, intercept)


logistic_regression = Glm("binomial", name="logistic_regression")

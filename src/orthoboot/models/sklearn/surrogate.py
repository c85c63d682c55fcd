"""Newton steps as surrogates of the refits of scikit-learn's linear models, scaled columns included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from orthoboot.arrays.products import product_alike
from orthoboot.errors import InfluenceError
from orthoboot.functionals.output import Output
from orthoboot.functionals.regression.newton_surrogate import NewtonSurrogate
from orthoboot.functionals.regression.row_losses import FamilyLoss, LossFunction, MultinomialLoss
from orthoboot.functionals.surrogate import LinearOutputs, Outputs, change_of
from orthoboot.models.linear_loss import PenalisedLoss
from orthoboot.models.sklearn.adapters import LinearModel
from orthoboot.models.sklearn.pipeline import last_step, scaler_before_last, transformed
from orthoboot.models.sklearn.solution import Solution
from orthoboot.models.sklearn.targets import ModelTarget, RowsTarget
from orthoboot.typing import BoolArray, FloatArray


def newton_surrogate(solution: Solution, target: ModelTarget, output: Output) -> NewtonSurrogate | None:
    """Return the first Newton steps of the refits of a linear model, with the zeros of its coefficients held.

    None for other models, for a target that is neither parameters nor predictions, and where no refit moves.
    """
    loss, adapter = solution.loss, solution.adapter
    if not isinstance(loss, PenalisedLoss) or not isinstance(adapter, LinearModel) or solution.is_exact:
        return None
    scaling = None
    if solution.scaling is not None:
        scaling = RescaledColumns.of(solution, loss)
        if scaling is None:
            return None
    outputs = _outputs(solution, loss, adapter, target, output, scaling)
    if outputs is None:
        return None
    designs, start = loss.designs, solution.theta
    shift = None if scaling is not None else ShiftedColumns.of(solution, loss)
    if shift is not None:
        designs, start, outputs = shift.designs(designs), shift.centred(start), ShiftedOutputs(outputs, shift)
    return NewtonSurrogate(
        row_loss=loss.row_loss,
        response=loss.response,
        designs=designs,
        factors=loss.factors,
        quadratic=loss.quadratic,
        linear=loss.linear,
        free=loss.free,
        start=start,
        outputs=outputs,
        penalised_scales=scaling,
    )


def _outputs(
    solution: Solution,
    loss: PenalisedLoss,
    adapter: LinearModel,
    target: ModelTarget,
    output: Output,
    scaling: RescaledColumns | None,
) -> Outputs | None:
    """Return the target as a function of the parameters of the columns as all rows scale them."""
    last = last_step(solution.model)
    if isinstance(target, RowsTarget):
        # New rows are scaled as all rows are, too: the predictors are the same then whatever the resample's scaling.
        return Predictions(loss.row_loss, adapter.designs(last, transformed(solution.model, target.rows)))
    if target.attributes is None:
        return None
    try:
        jacobian = solution.jacobian(target, output)[:, : len(solution.theta)]
    except InfluenceError:  # of an attribute that is no parameter
        return None
    at_zero = output.flatten(target.value(adapter.moved(last, np.zeros(len(solution.theta)))))
    linear = LinearOutputs(jacobian, at_zero)
    return linear if scaling is None else RescaledOutputs(linear, scaling)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions at new rows: means, or probabilities of classes.

    Attributes
    ----------
    row_loss
        Whose predictors they are made of.
    designs
        For each predictor the columns of the new rows, shape ``(m, p_k)``.
    """

    row_loss: LossFunction
    designs: tuple[FloatArray, ...]

    def __call__(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the predictions of parameters ``(B, p)``, shape ``(B, k)``."""
        ends = np.cumsum([design.shape[1] for design in self.designs])[:-1]
        parts = zip(np.split(theta, ends, axis=1), self.designs, strict=True)
        predictors = [product_alike(part, design.T) for part, design in parts]
        if isinstance(self.row_loss, MultinomialLoss):
            probabilities: FloatArray = scipy.special.softmax(np.stack(predictors, axis=2), axis=2)
            return probabilities.reshape(len(theta), -1)
        first = predictors[0]
        if self.row_loss == FamilyLoss("binomial", "logit"):
            return np.asarray(scipy.special.expit(first))
        return np.exp(first) if getattr(self.row_loss, "log_link", False) else first


@dataclass(frozen=True, eq=False)
class ShiftedColumns:
    """Columns less their means, so that those far from zero lose no digits in products of two of them.

    The intercept takes up the shift: the predictors stay what they are.

    Attributes
    ----------
    means
        Of the columns of all rows, shape ``(d,)``.
    n_predictors
        How many predictors have these columns, and after them an intercept.
    """

    means: FloatArray
    n_predictors: int

    @staticmethod
    def of(solution: Solution, loss: PenalisedLoss) -> ShiftedColumns | None:
        """Return the shift of a model with an intercept that moves freely; None without one."""
        last, d = last_step(solution.model), loss.designs[0].shape[1] - 1
        if not last.fit_intercept or _penalises_intercept(loss, d) or not loss.free[d]:
            return None
        return ShiftedColumns(loss.designs[0][:, :d].mean(axis=0), loss.n_predictors)

    def designs(self, designs: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
        """Return the designs with shifted columns; predictors that share them share one array."""
        shifted = designs[0].copy()
        shifted[:, : len(self.means)] -= self.means
        return (*(shifted for _ in range(self.n_predictors)), *designs[self.n_predictors :])

    def centred(self, theta: FloatArray) -> FloatArray:
        """Return the parameters of shifted columns from those of the columns as they are, shape ``(..., p)``."""
        return self._moved(theta, 1.0)

    def original(self, theta: FloatArray) -> FloatArray:
        """Return the parameters of the columns as they are from those of shifted columns, shape ``(..., p)``."""
        return self._moved(theta, -1.0)

    def _moved(self, theta: FloatArray, sign: float) -> FloatArray:
        result, d = theta.copy(), len(self.means)
        for start in range(0, self.n_predictors * (d + 1), d + 1):
            result[..., start + d] += sign * (theta[..., start : start + d] @ self.means)
        return result


@dataclass(frozen=True, eq=False)
class ShiftedOutputs:
    """Outputs of the parameters of the columns as they are, from those of shifted columns."""

    outputs: Outputs
    shift: ShiftedColumns

    def __call__(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the outputs, shape ``(B, k)``."""
        return self.outputs(self.shift.original(theta), weights)

    def change(self, direction: FloatArray) -> FloatArray | None:
        """Return how the outputs change with the parameters of shifted columns; None where they are not linear."""
        return change_of(self.outputs, self.shift.original(direction))


@dataclass(frozen=True, eq=False)
class RescaledColumns:
    r"""The means m and scales s of the columns on a resample, where a `StandardScaler` comes before the last step.

    The columns are those that all rows scale, so that both are near zero and one. The last step sees
    :math:`(x - m)/s`: with :math:`\theta = s\beta` and :math:`\theta_0 = \beta_0 + m'\beta` its predictors are those
    of the columns as they are, :math:`\beta_0 + x'\beta`. So steps are made in :math:`\beta`; only the penalty, and who
    asks for the parameters of the last step, see the scaling.

    Attributes
    ----------
    columns
        Shape ``(n, d)``.
    centres, scales
        Whether the scaler subtracts the means, and divides by the scales.
    varies
        Which columns are not constant; the others are divided by one, shape ``(d,)``.
    n_predictors, has_intercept
        How the parameters are arranged: predictor by predictor, the intercept last.
    n_parameters
        Their number p; those after the predictors' have nothing to do with the columns.
    """

    columns: FloatArray
    centres: bool
    scales: bool
    varies: BoolArray
    n_predictors: int
    has_intercept: bool
    n_parameters: int

    @staticmethod
    def of(solution: Solution, loss: PenalisedLoss) -> RescaledColumns | None:
        """Return the scaling of a pipeline; None where the predictors are not those of the columns as they are."""
        model = solution.model
        scaler, last = scaler_before_last(model), last_step(model)
        d = len(scaler.scale_ if scaler.with_std else scaler.mean_)
        if scaler.with_mean and (not last.fit_intercept or _penalises_intercept(loss, d)):
            return None
        columns = loss.designs[0][:, :d]
        # The scaler takes columns that vary by rounding alone for constants.
        varies = np.isclose(scaler.scale_**2, scaler.var_) if scaler.with_std else np.ones(d, dtype=np.bool_)
        options = bool(scaler.with_mean), bool(scaler.with_std)
        return RescaledColumns(
            columns, *options, varies, loss.n_predictors, bool(last.fit_intercept), len(solution.theta)
        )

    def __call__(self, weights: FloatArray) -> FloatArray:
        """Return what the parameters of the columns are multiplied with to be penalised, shape ``(B, p)``."""
        result = np.ones((len(weights), self.n_parameters))
        self._by_predictor(result)[:, :, : self.columns.shape[1]] = self._moments(weights)[1][:, np.newaxis]
        return result

    def parameters(self, beta: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the parameters of the last step, shape ``(B, p)``, from those of the columns as they are."""
        theta, d = beta.copy(), self.columns.shape[1]
        means, scales = self._moments(weights)
        own = self._by_predictor(theta)
        if self.has_intercept:
            own[:, :, d] += np.einsum("bkd,bd->bk", own[:, :, :d], means)
        own[:, :, :d] *= scales[:, np.newaxis]
        return theta

    def _by_predictor(self, parameters: FloatArray) -> FloatArray:
        """Return a view of the parameters of the predictors, shape ``(B, predictors, d or d + 1)``."""
        width = self.columns.shape[1] + self.has_intercept
        return parameters[:, : self.n_predictors * width].reshape(len(parameters), self.n_predictors, width)

    def _moments(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the means, zero where they are not subtracted, and the scales, each of shape ``(B, d)``."""
        shares = weights / weights.sum(axis=1, keepdims=True)
        means = product_alike(shares, self.columns)
        scales = np.ones_like(means)
        if self.scales:
            centre = self.columns.mean(axis=0)
            squares = product_alike(shares, (self.columns - centre) ** 2)
            scales = np.where(self.varies, np.sqrt(squares - (means - centre) ** 2), 1.0)
        return means if self.centres else np.zeros_like(means), scales


def _penalises_intercept(loss: PenalisedLoss, d: int) -> bool:
    # What ties the predictors of several classes is no penalty: it is zero at every minimum.
    return loss.n_predictors == 1 and bool(loss.quadratic[d, d])


@dataclass(frozen=True, eq=False)
class RescaledOutputs:
    """Outputs of the parameters of the last step, from those of the columns as all rows scale them."""

    outputs: Outputs
    scaling: RescaledColumns

    def __call__(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the outputs, shape ``(B, k)``."""
        return self.outputs(self.scaling.parameters(theta, weights), weights)

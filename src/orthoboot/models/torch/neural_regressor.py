"""The two-layer network of the paper as a scikit-learn regressor."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from orthoboot.arguments import checked_count, checked_name, checked_nonnegative, checked_positive
from orthoboot.errors import ArgumentError, FitError, MissingDependencyError
from orthoboot.models.fitting import PROTOCOLS
from orthoboot.models.torch.two_layer_numpy import TwoLayers
from orthoboot.typing import FloatArray, IntArray

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise MissingDependencyError(
        "`NeuralRegressor` needs scikit-learn; install it with `pip install 'orthoboot[sklearn]'`."
    ) from missing

if TYPE_CHECKING:
    from orthoboot.models.torch.two_layer import TwoLayerLoss


class NeuralRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""A network with one hidden layer of tanh units, as in the paper's prediction intervals.

    .. math:: f(x) = v' \tanh(W x + b) + c, \qquad
        \frac1n \sum_j (f(x_j) - y_j)^2 + \tfrac12 \lambda |(W, b, v, c)|^2 \to \min

    The network is trained with Adam from a random start (``appendix:pi experiment detail``) and then, by default, moved
    to the nearby minimum of the loss: the fit is then a smooth function of the data, with the influence function that
    `PredictionIntervalRegressor` and `from_sklearn` use. Training needs PyTorch; predicting does not.

    Parameters
    ----------
    hidden_units
        The number of hidden units.
    protocol
        "polished" trains to the minimum. "paper" stops where Adam does, so that a refit differs by its start and its
        batches as well as by its rows.
    standardize
        Whether the columns and the response are centred and scaled to a standard deviation of one before training;
        predictions are in the units of y. The paper trains on unscaled data.
    weight_decay
        The penalty :math:`\lambda`.
    epochs, batch_size, learning_rate
        The options of Adam.
    random_state
        An integer for the same start and batches in every fit, a `numpy.random.RandomState`, or None.

    Attributes
    ----------
    hidden_weights_, hidden_bias_, output_weights_, output_bias_
        W, b, v and c, of shapes ``(h, d)``, ``(h,)`` and ``(h,)``, for the standardised data.
    parameters_
        All of them in one vector, shape ``(n_parameters_,)``.
    n_parameters_
        The number of parameters.
    x_mean_, x_scale_, y_mean_, y_scale_
        The centres and the scales used to standardise; the scale is one for constant columns.
    loss_
        The objective at the fit.
    n_features_in_, feature_names_in_
        The columns of X, as for every regressor of scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import orthoboot as ob
    >>> X = np.random.default_rng(0).uniform(-2, 2, (200, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(200)
    >>> model = ob.NeuralRegressor(hidden_units=5, epochs=20, weight_decay=1e-4, random_state=0).fit(X, y)
    >>> model.predict([[0.0], [1.5]]).round(1) + 0.0
    array([0., 1.])
    """

    def __init__(
        self,
        hidden_units: int = 100,
        *,
        protocol: str = "polished",
        standardize: bool = True,
        weight_decay: float = 0.01,
        epochs: int = 200,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.hidden_units = hidden_units
        self.protocol = protocol
        self.standardize = standardize
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network.

        Parameters
        ----------
        X
            Rows with columns, shape ``(n, d)``, without missing values.
        y
            One number per row.
        """
        self._check_options()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        self.x_mean_, self.x_scale_ = _location_and_scale(X, self.standardize)
        self.y_mean_, self.y_scale_ = _location_and_scale(y, self.standardize)
        loss = self.loss_on(X, y)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        # A constant response leaves nothing to learn, and a search for the last digits of zero no end.
        is_zero = not np.ptp(y) and self.standardize
        point = np.zeros(loss.network.size) if is_zero else self._fitted_point(loss, seed)
        values, _ = loss.values_and_gradients(point[np.newaxis], np.ones((1, len(X))))
        self.loss_ = float(values[0])
        return self.place(point)

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions, shape ``(m,)``.

        Parameters
        ----------
        X
            New rows, with the columns of the fit.
        """
        check_is_fitted(self, "output_bias_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        predictions: FloatArray = self.y_mean_ + self.y_scale_ * self.layers.outputs(self.standardized(X))
        return predictions

    @property
    def parameters_(self) -> FloatArray:
        """Return all parameters in one vector."""
        return self.layers.point

    @property
    def n_parameters_(self) -> int:
        """Return how many there are."""
        return len(self.parameters_)

    # For the bootstrap

    @property
    def layers(self) -> TwoLayers:
        """Return the fitted network."""
        return TwoLayers(self.hidden_weights_, self.hidden_bias_, self.output_weights_, self.output_bias_)

    def place(self, point: FloatArray) -> Self:
        """Set the parameters, shape ``(p,)``."""
        layers = TwoLayers.of(point, len(self.x_mean_))
        self.hidden_weights_, self.hidden_bias_ = layers.hidden_weights, layers.hidden_bias
        self.output_weights_, self.output_bias_ = layers.output_weights, layers.output_bias
        return self

    def standardized(self, X: FloatArray) -> FloatArray:
        """Return rows as the network sees them."""
        rows: FloatArray = (X - self.x_mean_) / self.x_scale_
        return rows

    def loss_on(self, X: FloatArray, y: Any) -> TwoLayerLoss:
        """Return the objective on rows, standardised as in the fit."""
        from orthoboot.models.torch.two_layer import two_layer_loss

        response = (np.asarray(y, dtype=np.float64) - self.y_mean_) / self.y_scale_
        return two_layer_loss(self.hidden_units, self.standardized(X), response, float(self.weight_decay))

    def trained(self, loss: TwoLayerLoss, rows: Sequence[IntArray], seeds: Sequence[int]) -> FloatArray:
        """Return where Adam ends on each set of rows, shape ``(B, p)``, all trained together."""
        from orthoboot.models.torch.training import AdamTraining
        from orthoboot.models.torch.two_layer import two_layer_module

        training = AdamTraining(self.epochs, self.batch_size, float(self.learning_rate), float(self.weight_decay))
        module = two_layer_module(len(self.x_mean_), self.hidden_units)
        return training.points(module, loss.output_loss, loss.X, loss.y, rows, seeds)

    def _fitted_point(self, loss: TwoLayerLoss, seed: int) -> FloatArray:
        from orthoboot.models.torch.fit import CurvatureOptions, polished

        (point,) = self.trained(loss, [np.arange(len(loss.X))], [seed])
        if not np.isfinite(loss.row_losses(point)).all():
            scaling = "" if self.standardize else " Use standardize=True, or scale X and y yourself."
            raise FitError(
                f"the training of `NeuralRegressor` diverged: its loss is not finite after {self.epochs} epoch(s)."
                f"{scaling} Lower `learning_rate`, {self.learning_rate:g} now."
            )
        return polished(loss, point, CurvatureOptions()).point if self.protocol == "polished" else point

    def _check_options(self) -> None:
        if find_spec("torch") is None:
            raise MissingDependencyError(
                "`NeuralRegressor.fit` needs PyTorch; install it with `pip install 'orthoboot[torch]'`."
            )
        checked_name("protocol", self.protocol, PROTOCOLS)
        for name in ("hidden_units", "epochs", "batch_size"):
            checked_count(name, getattr(self, name), least=1)
        if not isinstance(self.standardize, (bool, np.bool_)):
            raise ArgumentError(f"`standardize` must be True or False; got {self.standardize!r}.")
        checked_nonnegative("weight_decay", self.weight_decay)
        checked_positive("learning_rate", self.learning_rate)


def _location_and_scale(table: FloatArray, standardize: bool) -> tuple[Any, Any]:
    """Return the location and scale of each column."""
    if not standardize:
        return np.zeros(table.shape[1:])[()], np.ones(table.shape[1:])[()]
    # Powers of two, which cost no digits: squares of very large and very small numbers do not exist.
    unit = np.exp2(np.frexp(np.abs(table).max(axis=0))[1] - 1.0)
    mean, deviation = (table / unit).mean(axis=0) * unit, (table / unit).std(axis=0) * unit
    # That of a constant column is zero but for rounding.
    rounding = len(table) * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(deviation > rounding, deviation, 1.0)[()]

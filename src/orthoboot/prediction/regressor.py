"""Prediction intervals for any scikit-learn regressor, from a handful of refits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from orthoboot.arguments import checked_jobs, checked_name
from orthoboot.data import Data, check_unmasked
from orthoboot.errors import (
    ArgumentError,
    ConstantDataWarning,
    FailedReplicatesWarning,
    FewReplicatesWarning,
    FitError,
    MissingDependencyError,
    OrthobootWarning,
    SmallSampleWarning,
    WeakInfluenceWarning,
    emit,
    first_line,
)
from orthoboot.estimators import ESTIMATORS, Estimator, Moments, jackknife_spread, moments_of, r_squared
from orthoboot.estimators.diagnostics import FEW_REPLICATES, FEW_UNITS, WEAK_R_SQUARED
from orthoboot.estimators.moments import deleted_moments
from orthoboot.execution.execution import Execution
from orthoboot.models.sklearn.model import FittedSklearnModel, SklearnModel
from orthoboot.models.sklearn.point import predictions
from orthoboot.plans import key_from, plan_for
from orthoboot.prediction.arguments import (
    NOISES,
    check_regressor,
    checked_levels,
    checked_resamples,
    is_frame,
    read_rows,
)
from orthoboot.prediction.refits import LinearPart, Refits, check_enough, linear_part, refits, usable_estimator
from orthoboot.prediction.repeated_rows import RepeatedRows
from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray, IntArray
from orthoboot.warning_scopes import recorded, show_again

if TYPE_CHECKING:
    import pandas as pd

Level = float | Sequence[float] | FloatArray | None
"""A confidence level, several of them, or None for that of the regressor."""

_NAMES_OF_COLUMNS = re.compile("X (has|does not have valid) feature names")
"""How scikit-learn's warnings begin where a model was fitted with names of columns and called without, or reversed."""

_NUMBERS_AT_ONCE = 1 << 21
"""Numbers held at once for new rows, 16 MB; those of one row where that has more."""
_TRIED_ROWS = 50
"""Rows of the data at which a fit is judged."""


class PredictionIntervalRegressor(RegressorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    r"""A regressor with prediction intervals for the responses of new rows.

    .. math:: \hat f(x) \pm z_{1-\alpha/2} \sqrt{S^2(x) + \sigma^2}

    with :math:`S^2` the variance of the prediction over resamples, from a few refits and the influence function of the
    model, and :math:`\sigma^2` the variance of the noise, from the residuals of the refits at the rows that their
    resamples left out. Algorithm ``alg:piconstructionob``. The variance of the noise is assumed to be constant. Rows
    with the same X and y count as one observation: they are drawn and left out together, with a warning.

    Parameters
    ----------
    estimator
        A regressor, or a pipeline that ends in one; it is cloned and never modified. For the models whose influence
        function `from_sklearn` knows, `n_resamples` may be small; any other uses the standard bootstrap.
    n_resamples
        The number of refits.
    confidence_level
        The level of the intervals, in (0, 1), or a list of levels.
    variance_estimator
        How the refits become :math:`S^2`: "orthogonal", "paper" (the algorithm exactly), "standard", "cheap", whose
        intervals have t quantiles, or "jackknife", which uses the refits only for the noise.
    noise
        "out-of-bag" for the paper's :math:`\sigma^2`, the mean squared residual at the rows left out. It contains the
        variance of the refits, so the intervals of models that vary much are wide. "corrected", the default, removes
        that variance, and the randomness of which rows are left out.
    n_jobs
        The number of processes that share the refits, -1 for one per core; None for one, or the number set by
        `joblib.parallel_config`. The refits do not depend on it; those of networks only by rounding.
    rng
        None, a whole number, a SeedSequence or a Generator. Refit b depends only on the seed and b.

    Attributes
    ----------
    estimator_
        The estimator, fitted to all rows.
    estimators_
        The refits. Models with an influence function are at the exact minimum of their loss.
    noise_variance_
        :math:`\sigma^2`.
    variance_estimator_
        The variance estimator that was used: "standard" if there is no influence function.
    n_failed_
        The number of refits that failed and were left out.
    n_features_in_, feature_names_in_
        The columns of X, as for every regressor of scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import orthoboot as ob
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> y = X @ [1.0, -2.0] + rng.standard_normal(200)
    >>> model = ob.PredictionIntervalRegressor(Ridge(), rng=0).fit(X, y)
    >>> points, intervals = model.predict_interval([[0.0, 0.0], [1.0, 1.0]])
    >>> points.shape, intervals.shape
    ((2,), (2, 2))
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_resamples: int = 5,
        confidence_level: float = 0.95,
        variance_estimator: str = "orthogonal",
        noise: str = "corrected",
        n_jobs: int | None = None,
        rng: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_resamples = n_resamples
        self.confidence_level = confidence_level
        self.variance_estimator = variance_estimator
        self.noise = noise
        self.n_jobs = n_jobs
        self.rng = rng

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the estimator to the data and to resamples of them.

        Parameters
        ----------
        X
            Rows with columns, an array or a data frame, without missing values.
        y
            One number per row.
        """
        chosen = ESTIMATORS[checked_name("variance_estimator", self.variance_estimator, ESTIMATORS)]
        n_resamples = checked_resamples(self.n_resamples, chosen)
        checked_name("noise", self.noise, NOISES)
        checked_levels(self.confidence_level)
        key = key_from(self.rng)
        check_regressor(self.estimator)
        data = read_rows(*self._validated(X, y))
        tried_rows, _ = data.take((_tried_rows(data),))
        prepared = SklearnModel(self.estimator, tried_rows).at(data)
        _check_predictions(prepared, tried_rows)
        prepared.check()
        usable, solution, fallback = usable_estimator(prepared, chosen)
        checked_resamples(n_resamples, usable)
        for warning in fallback:  # before the refits, which may take long
            emit(warning)
        repeated = RepeatedRows.among(data)
        plan = plan_for(data.sizes, groups=repeated.groups)
        kept = refits(prepared, plan, key, n_resamples, Execution(checked_jobs(self.n_jobs)))
        check_enough(kept, usable)

        self.estimator_ = prepared.fitted
        linear = None if solution is None else linear_part(solution, plan, key, kept.numbers)
        self._keep(kept, usable, linear)
        findings = prepared.findings(kept.convergence)
        of_data = (*_about_data(data), *repeated.warnings())
        for warning in (*of_data, *findings, *self._warnings(tried_rows)):
            emit(warning)
        return self

    @overload
    def predict(self, X: Any, return_std: Literal[False] = ...) -> FloatArray: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...
    @overload
    def predict(self, X: Any, return_std: bool) -> FloatArray | tuple[FloatArray, FloatArray]: ...
    def predict(self, X: Any, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        r"""Return the predictions of the estimator, the same as without intervals.

        Parameters
        ----------
        X
            New rows, with the columns of the fit.
        return_std
            Whether to return the pair of the predictions and the standard deviations
            :math:`\sqrt{S^2(x) + \sigma^2}` of the response about them, each of shape ``(m,)``.
        """
        rows = self._new_rows(X)
        points = self._points(rows)
        return (points, self._response_std(rows)) if return_std else points

    @overload
    def predict_interval(
        self, X: Any, confidence_level: Level = ..., *, as_frame: Literal[False] = ...
    ) -> tuple[FloatArray, FloatArray]: ...
    @overload
    def predict_interval(self, X: Any, confidence_level: Level = ..., *, as_frame: Literal[True]) -> pd.DataFrame: ...
    @overload
    def predict_interval(
        self, X: Any, confidence_level: Level = ..., *, as_frame: bool
    ) -> tuple[FloatArray, FloatArray] | pd.DataFrame: ...
    def predict_interval(
        self, X: Any, confidence_level: Level = None, *, as_frame: bool = False
    ) -> tuple[FloatArray, FloatArray] | pd.DataFrame:
        """Return the predictions and the intervals for the responses.

        Parameters
        ----------
        X
            New rows, with the columns of the fit.
        confidence_level
            The level, in (0, 1), or a list of levels; that of the regressor by default.
        as_frame
            Whether to return one pandas frame with the columns ``prediction``, ``lower`` and ``upper``, or
            ``lower_0.9`` and so on for several levels, and the index of X.

        Returns
        -------
        points, intervals
            Of shapes ``(m,)`` and ``(m, 2)``, lower ends first; ``(m, 2, levels)`` for a list of levels.
        """
        rows = self._new_rows(X)
        levels, several = checked_levels(self.confidence_level if confidence_level is None else confidence_level)
        points, std = self._points(rows), self._response_std(rows)
        half_widths = np.multiply.outer(std, [self._quantile(level) for level in levels])
        centres = np.reshape(points, (-1, 1))
        intervals = np.stack([centres - half_widths, centres + half_widths], axis=1)
        if as_frame:
            return _frame(X, points, intervals, [f"_{level:g}" for level in levels] if several else [""])
        return points, intervals if several else intervals[:, :, 0]

    def model_std(self, X: Any) -> FloatArray:
        """Return :math:`S(x)`, the standard error of the prediction without the noise, shape ``(m,)``."""
        return np.sqrt(self._at(self._new_rows(X), self._variance))

    def simulation_error(self, X: Any) -> FloatArray:
        r"""Return the simulation error of the standard deviations of `predict`, shape ``(m,)``.

        A jackknife over the refits of :math:`\sqrt{S^2(x) + \sigma^2}`; NaN with too few of them.
        """
        return self._at(self._new_rows(X), self._std_error)

    def variance_reduction(self, X: Any) -> FloatArray:
        """Return the ratio of the variance of the refits to that about their linear part, shape ``(m,)``.

        ``Var(P) / Var(P - L)``, P the predictions of the refits and L their linear part; NaN without an influence
        function. It is large if the influence function is right and the refits are nearly linear in it; at one or
        below, the refits are worth no more than those of the standard bootstrap.
        """
        return self._at(self._new_rows(X), _reduction)

    def with_variance_estimator(
        self, variance_estimator: str, refits: slice = slice(None), *, noise: str | None = None
    ) -> Self:
        """Return the same fit with another estimator of the variance; nothing is fitted again.

        Parameters
        ----------
        variance_estimator
            As in the constructor. "orthogonal", "paper" and "jackknife" require a fit that was made with one of these
            three.
        refits
            Which of the refits that did not fail to use, all by default. Refit b depends only on the seed and b, so
            ``slice(5)`` gives the result of a fit with five.
        noise
            As in the constructor; that of this regressor by default.
        """
        check_is_fitted(self, "estimator_")
        chosen = ESTIMATORS[checked_name("variance_estimator", variance_estimator, ESTIMATORS)]
        if chosen.needs_influence and self._linear_part is None:
            raise ArgumentError(
                f"variance_estimator={variance_estimator!r} needs the influence function, which this fit, made with "
                f"{self.variance_estimator_!r}, does not have. Fit with {variance_estimator!r}."
            )
        if not isinstance(refits, slice):
            raise ArgumentError(f"`refits` must be a slice, such as `slice(5)` for the first five; got {refits!r}.")
        kept = self._refits.among(refits)
        checked_resamples(len(kept), chosen)
        result: Self = clone(self).set_params(variance_estimator=variance_estimator, n_resamples=len(kept))
        result.noise = checked_name("noise", self.noise if noise is None else noise, NOISES)
        for name in ("n_features_in_", "feature_names_in_", "estimator_"):
            if hasattr(self, name):
                setattr(result, name, getattr(self, name))
        linear = None if self._linear_part is None else self._linear_part.among(refits)
        return result._keep(kept, chosen, linear)

    def _keep(self, kept: Refits, estimator: Estimator, linear: LinearPart | None) -> Self:
        """Store what the intervals need; parameters set later take effect at the next fit."""
        self._corrects_noise = self.noise == "corrected"
        self.noise_variance_ = kept.out_of_bag.noise_variance(corrected=self._corrects_noise)
        self.estimators_ = list(kept.models)
        self.n_failed_ = kept.n_failed
        self.variance_estimator_ = estimator.name
        self._refits = kept
        self._linear_part = linear
        return self

    # The data

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the data, checked; data frames are kept for pipelines that select columns."""
        check_unmasked(X, "X")
        check_unmasked(y, "y")
        if not is_frame(X):
            # What is not finite in X, `read_rows` tells with its place.
            rows, response = validate_data(self, X, y, y_numeric=True, ensure_min_samples=2, ensure_all_finite=False)
            return rows, response
        validate_data(self, X, y, skip_check_array=True)
        response = column_or_1d(y, warn=True)
        check_consistent_length(X, response)
        return X, response

    def _new_rows(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        check_unmasked(X, "X")
        if is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            return X
        # Whether it can predict at what is not finite is the estimator's to say, as for frames.
        return validate_data(self, X, reset=False, ensure_all_finite=False)

    def _points(self, rows: Any) -> Any:
        with recorded() as caught:
            points = self.estimator_.predict(rows)
        # Of the names of columns this class has warned already, under its own name.
        show_again(w for w in caught if not _NAMES_OF_COLUMNS.match(str(w.message)))
        return points

    # The estimates

    @property
    def _estimator_of_variance(self) -> Estimator:
        return ESTIMATORS[self.variance_estimator_]

    def _response_std(self, rows: Any) -> FloatArray:
        return np.sqrt(self._at(rows, self._variance) + self.noise_variance_)

    def _at(self, rows: Any, quantity: Callable[[Replicates], FloatArray]) -> FloatArray:
        """Return a quantity of the replicates at new rows, shape ``(m,)``, found for a few rows at a time."""
        n_rows = rows.shape[0]
        size = max(_NUMBERS_AT_ONCE // self._numbers_per_row, 1)
        # At least one chunk, so that the estimator can say what it thinks of no rows.
        starts = range(0, max(n_rows, 1), size)
        chunks = (np.arange(start, min(start + size, n_rows)) for start in starts)
        return np.concatenate([quantity(self._replicates(_safe_indexing(rows, chunk))) for chunk in chunks])

    @property
    def _numbers_per_row(self) -> int:
        part: LinearPart | None = self._linear_part
        # Moments take some ten arrays of the size of the replicates.
        return 10 * len(self._refits) + (0 if part is None else part.numbers_per_row)

    def _replicates(self, rows: Any) -> Replicates:
        """Return the predictions at `rows` as a statistic with its replicates."""
        linear, variance = (None, None) if self._linear_part is None else self._linear_part.at(rows)
        return Replicates(
            estimate=predictions(self.estimator_, rows),
            values=self._refits.predictions(rows),
            linear=linear,
            linear_variance=variance,
            numbers=self._refits.numbers,
            failures=self._refits.failures,
            n_unconverged=self._refits.n_unconverged,
        )

    def _moments(self, replicates: Replicates) -> Moments:
        part: LinearPart | None = self._linear_part
        return moments_of(replicates) if part is None else moments_of(replicates, prior=part.prior)

    def _variance(self, replicates: Replicates) -> FloatArray:
        return self._estimator_of_variance.variance(self._moments(replicates))

    def _std_error(self, replicates: Replicates) -> FloatArray:
        estimator = self._estimator_of_variance
        if len(replicates) - 1 < max(estimator.minimum, 2):
            return np.full_like(replicates.estimate, np.nan)
        deleted = estimator.variance(deleted_moments(self._moments(replicates)))
        noise = self._refits.out_of_bag.deleted(corrected=self._corrects_noise)
        return jackknife_spread(np.sqrt(deleted + noise[:, np.newaxis]))

    def _quantile(self, level: float) -> float:
        estimator, probability = self._estimator_of_variance, (1 + level) / 2
        if not estimator.always_t:
            return float(special.ndtri(probability))
        degrees = estimator.degrees_of_freedom(len(self._refits), np.array(np.nan))
        return float(special.stdtrit(np.asarray(degrees, dtype=np.float64), probability))

    # Warnings

    def _warnings(self, tried_rows: Any) -> list[OrthobootWarning]:
        """Return warnings about the refits, judged at some rows of the data."""
        found: list[OrthobootWarning] = []
        kept = self._refits
        if kept.n_failed:
            found.append(
                FailedReplicatesWarning(
                    f"{kept.n_failed} of {kept.n_drawn} refits failed and were left out; the first failure was: "
                    f"{kept.first_failure}. The intervals describe the resamples on which the estimator can be fitted."
                )
            )
        estimator = self._estimator_of_variance
        if not (estimator.needs_influence and estimator.simulates):
            return found
        if len(kept) < FEW_REPLICATES:
            text = f"with {len(kept)} refits neither the influence function nor the simulation error can be judged"
            return [*found, FewReplicatesWarning(f"{text}; use n_resamples={FEW_REPLICATES} or more.")]
        explained = float(np.median(r_squared(self._moments(self._replicates(tried_rows)))))
        if explained < WEAK_R_SQUARED:
            found.append(
                WeakInfluenceWarning(
                    f"the linear part explains only {explained:.0%} of the variance of the refits' predictions (median "
                    f"over rows of the data), so {len(kept)} refits are worth little more than as many ordinary ones. "
                    "Increase `n_resamples`; `simulation_error` and `variance_reduction` say more."
                )
            )
        return found


def _tried_rows(data: Data) -> IntArray:
    """Return the numbers of some rows, evenly spread."""
    n_rows = data.sizes[0]
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, _TRIED_ROWS)).astype(np.int64))


def _check_predictions(prepared: FittedSklearnModel, rows: Any) -> None:
    """Raise where the fit to the data cannot predict."""
    model = prepared.fitted
    try:
        predictions(model, rows)
    except Exception as error:  # an estimator may refuse rows in any way
        raise FitError(
            f"`{prepared.functional.name}`, fitted to the data, cannot predict at their rows: {type(error).__name__}: "
            f"{first_line(error)}."
        ) from error


def _about_data(data: Data) -> Iterator[OrthobootWarning]:
    n_rows, response = data.sizes[0], np.asarray(data.containers[1])
    if n_rows < FEW_UNITS:
        yield SmallSampleWarning(
            f"the data have only {n_rows} rows; so few say little about the population. Treat the intervals as a "
            "rough guide, or collect more data."
        )
    if (response == response.flat[0]).all():
        yield ConstantDataWarning("`y` is constant, so the intervals have almost zero width. Check the data.")


def _reduction(replicates: Replicates) -> FloatArray:
    sums = moments_of(replicates)
    if replicates.linear is None:
        return np.full_like(sums.total, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        reduction: FloatArray = sums.total / sums.residual
    return reduction


def _frame(X: Any, points: Any, intervals: FloatArray, suffixes: list[str]) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError("`as_frame` needs pandas; install it with `pip install pandas`.") from error
    columns = {"prediction": points}
    for number, suffix in enumerate(suffixes):
        columns[f"lower{suffix}"], columns[f"upper{suffix}"] = intervals[:, 0, number], intervals[:, 1, number]
    return pd.DataFrame(columns, index=X.index if isinstance(X, pd.DataFrame) else None)

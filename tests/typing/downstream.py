"""The public names as a program of a user's has them: checked by mypy and pyright, and never run.

An editor must know what every one of these is; `make test-types` holds it to that. The numbers of a result come in the
shape of its statistic, which no checker knows: they are `Any`, and may be taken for what they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

import orthoboot as ob
from orthoboot.errors import ArgumentError, OrthobootWarning

if TYPE_CHECKING:
    from orthoboot.functionals import Functional

Numbers = NDArray[np.float64]

rows: Numbers = np.random.default_rng(0).normal(size=(50, 2))
frame = pd.DataFrame(rows, columns=["a", "b"])


def spread(x: Numbers) -> float:
    """Return a statistic of the user's own."""
    return float(np.ptp(x))


# A bootstrap

result = ob.bootstrap(rows, ob.correlation, n_resamples=20, confidence_level=0.9, method="bca", rng=0)
assert_type(result, ob.Result)
assert_type(ob.bootstrap(rows[:, 0], spread, estimator="standard"), ob.Result)
assert_type(ob.bootstrap(frame, ob.mean, groups="a"), ob.Result)
assert_type(ob.bootstrap((rows[:, 0], rows[:, 1]), ob.difference(ob.median), n_jobs=2), ob.Result)

number: float = result.estimate
vector: Numbers = result.standard_error
by_name: dict[str, float] = result.bias
assert_type(result.covariance, Numbers)
assert_type(result.confidence_interval, ob.ConfidenceInterval)
low, high = result.confidence_interval
ends: tuple[float, float] = (result.confidence_interval.low, result.confidence_interval.high)
assert_type(result.simulation_error, ob.SimulationError)
influence: Numbers = result.influence
assert_type(result.names, tuple[str, ...])
assert_type(result.n_resamples, int)
assert_type(result.interval_method, str)
assert_type(result.warnings, tuple[OrthobootWarning, ...])

assert_type(result.interval(0.99, "percentile"), ob.ConfidenceInterval)
assert_type(result.interval(alternative="less", simultaneous=True).high, Any)
assert_type(result.extend(100), ob.Result)
assert_type(result.with_estimator("standard", slice(5)), ob.Result)
p_value: float = result.pvalue(0.0)
assert_type(result.summary(), str)
assert_type(result.to_dict(), dict[str, Any])
assert_type(result.to_frame(), pd.DataFrame)
assert_type(result.to_html("page.html", output=0, command="make page"), Path)
assert_type(result.plot("forest"), Axes)

# The catalogue

statistics: list[Functional] = [
    ob.mean,
    ob.median,
    ob.std,
    ob.variance,
    ob.skewness,
    ob.kurtosis,
    ob.gini,
    ob.entropy,
    ob.correlation,
    ob.covariance,
    ob.covariance_matrix,
    ob.ratio,
    ob.spearman,
    ob.kendall,
    ob.accuracy,
    ob.precision,
    ob.recall,
    ob.f1,
    ob.log_loss,
    ob.brier,
    ob.roc_auc,
    ob.mae,
    ob.rmse,
    ob.r2,
    ob.linear_regression,
    ob.logistic_regression,
    ob.quantile(0.9),
    ob.quantile([0.1, 0.9]),
    ob.trimmed_mean(0.1),
    ob.norm_of_mean(2),
    ob.glm("poisson"),
    ob.difference(ob.mean),
    ob.relative_difference(ob.mean),
    ob.paired_difference(ob.roc_auc),
]
at_the_data: float = ob.variance(rows[:, 0])

# Models, simulations and tests

model = ob.PredictionIntervalRegressor(object(), n_resamples=5, rng=0)
assert_type(model.fit(rows[:, :1], rows[:, 1]), ob.PredictionIntervalRegressor)
assert_type(model.predict(rows[:, :1]), Numbers)
assert_type(model.predict(rows[:, :1], return_std=True), tuple[Numbers, Numbers])
assert_type(model.predict_interval(rows[:, :1]), tuple[Numbers, Numbers])
assert_type(model.predict_interval(rows[:, :1], [0.8, 0.9]), tuple[Numbers, Numbers])
assert_type(model.predict_interval(frame, as_frame=True), pd.DataFrame)
assert_type(model.model_std(rows[:, :1]), Numbers)


def total(x: Numbers) -> Numbers:
    """Return the outputs of a simulation model."""
    total: Numbers = x.sum(axis=1)
    return total


answer = ob.input_uncertainty(total, {"x": rows[:, 0]}, horizon=3, n_runs=100, rng=0)
assert_type(answer, ob.InputUncertainty)
assert_type(answer.confidence_interval, ob.ConfidenceInterval)
assert_type(answer.interval(0.9), ob.ConfidenceInterval)
assert_type(answer.extend(100), ob.InputUncertainty)
assert_type(answer.contributions, dict[str, Any])
assert_type(answer.to_frame(), pd.DataFrame)
assert_type(answer.to_html("page.html"), Path)

assert_type(ob.permutation_test((rows[:, 0], rows[:, 1]), ob.difference(ob.mean), rng=0), ob.PermutationTest)
assert_type(ob.check_influence(ob.variance, rows), ob.InfluenceCheck)

try:
    ob.bootstrap(rows, ob.mean, method="normal")
except ArgumentError as error:
    assert_type(error.args, tuple[Any, ...])

# A name that there is not must not be taken for one that there is.
ob.bootstraps  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnusedExpression]  # noqa: B018

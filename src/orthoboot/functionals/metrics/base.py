"""Base classes of the metrics of a model on a test set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.functionals.feature_means import FeatureMeans, centred_rows
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.pairs.association import Association
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
class MetricMeans(FeatureMeans):
    """The features of the rows ``(n, p)``, column by column in memory, beside their means and deviations."""

    features: FloatArray


class Metric(Association):
    """A function of means of observed and predicted values, in this order.

    Its features are losses, indicators, or deviations from a mean, so their plain sums lose no digits; and an event
    that a resample does not hold has the frequency zero exactly: that is how a lost class is told from a rare one.
    """

    def values(self, at: PreparedFormula[Any], resamples: Resamples) -> FloatArray:
        """Return g at the weighted means, shape ``(B, 1)``."""
        means = resamples.sums(0, at.derived.features) / resamples.totals(0)[:, np.newaxis]
        return self.values_at(at.derived, means, resamples)

    def mean_changes(self, means: FeatureMeans, resamples: Resamples) -> FloatArray:
        """Return ``sum_j weights_j (f_j - mean f) / n`` from the sums of the features, shape ``(B, p)``."""
        assert isinstance(means, MetricMeans)
        n = len(means.features)
        changes: FloatArray = resamples.sums(0, means.features) / n
        return changes - (resamples.totals(0) / n)[:, np.newaxis] * means.centre

    def derived(self, data: Data) -> MetricMeans:
        """Return the features of `data`, also as means and deviations."""
        features = np.asfortranarray(self.features(data))
        return MetricMeans(*centred_rows(features), features, unit=self.unit(data))


class MeanLoss(Metric):
    """A metric that is the mean of a loss of the rows: a linear statistic, without bias."""

    def value(self, means: FloatArray) -> FloatArray:
        """Return the mean loss."""
        return means

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return one."""
        return np.ones((1, 1))

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray:
        """Return zero."""
        return np.zeros(1)

"""Base classes of the metrics of a model on a test set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.data.pieces import as_array, as_pieces, in_pieces
from orthoboot.draws.resamples import Resamples
from orthoboot.functionals.feature_means import FeatureMeans, centred_rows
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.pairs.association import Association
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
class MetricMeans(FeatureMeans):
    """The features of the rows ``(n, p)``, column by column in memory, beside their means and deviations."""

    features: FloatArray

    def n_nonzero(self, feature: int) -> int:
        """Return the number of rows for which a feature is not zero."""
        rows = as_pieces(self.features)
        if rows is None:
            return int(np.count_nonzero(self.features[:, feature]))
        return round(float(rows.mapped(_is_nonzero).means[feature]) * len(rows))


def _is_nonzero(values: FloatArray) -> FloatArray:
    return np.where(values != 0, 1.0, 0.0)


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
        sample = in_pieces(data)
        if sample is not None:
            rows = self.features_in_pieces(sample)
            centre, deviations = rows.centred(near=True)
            return MetricMeans(centre, as_array(deviations), as_array(rows), unit=self.unit(data))
        features = np.asfortranarray(self.features(data))
        return MetricMeans(*centred_rows(features), features, unit=self.unit(data))


class MeanLoss(Metric):
    """A metric that is the mean of a loss of the rows: a linear statistic, without bias."""

    is_linear = True

    def value(self, means: FloatArray) -> FloatArray:
        """Return the mean loss."""
        return means

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return one."""
        return np.ones((1, 1))

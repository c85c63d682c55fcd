"""The variance of the linear part of the output."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthoboot.simulators.design import ResidualInfluence
from orthoboot.simulators.orders.weights import shrinkage_weight, weighted_error
from orthoboot.simulators.regression import Regression
from orthoboot.typing import FloatArray

_CAUTIOUS = 3.0
"""Of parts of the influence of rows: of several without effect, the largest is often beyond two errors."""


@dataclass(frozen=True, eq=False)
class FirstOrder:
    """The variance of the linear part of the output, input by input.

    With a the coefficients of the features, ``V_i = T_i^2 (|a_i|^2 - tr HC_i)/n_i + w_i U_i``: the noise of a, by
    HC3, is taken off, and U is the raw form on the residuals, for influence that no feature has. For inputs with a plan
    comes the covariance of the two, `cross`.

    Attributes
    ----------
    regression
        Of the outputs on the features.
    raw
        Through the residuals, by input and row.
    """

    regression: Regression
    raw: ResidualInfluence

    @cached_property
    def slopes(self) -> FloatArray:
        """Return ``E[Y G]`` in units of the rows' own spread, shape ``(p, k)``: the derivative along each feature."""
        return np.asarray(self.regression.design.root @ self.regression.slopes)

    @cached_property
    def slope_covariance(self) -> FloatArray:
        """Return the covariance of the slopes, shape ``(k, p, p)``."""
        design, first = self.regression.design, self.regression.first
        return np.asarray(design.root @ self.regression.covariance[:, first, first] @ design.root)

    @cached_property
    def shrunken_slopes(self) -> FloatArray:
        """Return ``E[Y G]`` of each feature as far as it is above its noise, shape ``(p, k)``.

        Unlike the variance, the influence of a row has no noise that can be taken off, only less of it.
        """
        regression = self.regression
        variances = np.diagonal(regression.covariance, axis1=1, axis2=2)[:, regression.first].T
        return regression.slopes * shrinkage_weight(regression.slopes, np.sqrt(variances), _CAUTIOUS)

    @cached_property
    def by_features(self) -> FloatArray:
        """Return the variance that the features explain, without the noise of their coefficients, shape ``(m, k)``."""
        noise = np.diagonal(self.slope_covariance, axis1=1, axis2=2).T
        return self._over_inputs(self.slopes**2 - noise)

    def _over_inputs(self, by_feature: FloatArray) -> FloatArray:
        """Return sums over the features of every input over its rows, shape ``(m, k)``."""
        design = self.regression.design
        found = [by_feature[design.input_of == i].sum(axis=0) / n for i, n in enumerate(design.sizes)]
        return np.stack(found)

    @cached_property
    def residual(self) -> FloatArray:
        """Return U, the unbiased variance through the raw influence of the residuals, shape ``(m, k)``."""
        runs, raw = len(self.regression.design), self.raw
        between = (runs**2 * raw.variance - raw.own) / (runs * (runs - 1))
        return np.where(raw.variance > 0, between, 0.0)

    @cached_property
    def residual_error(self) -> FloatArray:
        """Return the simulation error of U, shape ``(m, k)``.

        That of noise alone, and that of noise times the influence that there is.
        """
        design, runs = self.regression.design, len(self.regression.design)
        crossed = 4 * self.raw.spread * np.maximum(self.residual, 0) / (design.sizes[:, np.newaxis] * runs)
        error: FloatArray = np.sqrt(self.raw.noise + crossed)
        return np.where(self.residual == 0, 0.0, error)

    @cached_property
    def residual_weight(self) -> FloatArray:
        """Return w, shape ``(m, k)``."""
        return shrinkage_weight(self.residual, self.residual_error)

    @cached_property
    def variances(self) -> FloatArray:
        """Return V of every input, shape ``(m, k)``."""
        return np.asarray(self.by_features + self.residual_weight * self.residual + self.cross)

    # Under a plan the features and the influence beyond them are correlated: 2 a' C r, with C the covariance of the
    # features and the rows. Both have the residuals in them, so that what each run has with itself is taken off.

    @property
    def cross(self) -> FloatArray:
        """Return twice the covariance of the features' part and the rest, shrunk by its noise, shape ``(m, k)``."""
        value, error = self._cross
        return shrinkage_weight(value, error) * value

    @cached_property
    def _cross(self) -> tuple[FloatArray, FloatArray]:
        """Return the covariance as it is, and its error, shape ``(m, k)`` each."""
        regression, design = self.regression, self.regression.design
        e, runs = regression.leave_one_out_residuals, len(design)
        values = []
        for i, with_features in enumerate(self.raw.with_features):
            mine = design.input_of == i
            found = with_features.T @ e / runs
            own = (e**2).T @ (design.features[:, mine] * with_features).sum(axis=1) / runs**2
            values.append(2 * ((regression.slopes[mine] * found).sum(axis=0) - own))
        return np.stack(values), np.sqrt(self._cross_terms.var(axis=0) / runs)

    @cached_property
    def _cross_terms(self) -> FloatArray:
        """Return what each run adds to the error of the covariance, shape ``(R, m, k)``."""
        regression, design = self.regression, self.regression.design
        e, terms = regression.leave_one_out_residuals, []
        for i, with_features in enumerate(self.raw.with_features):
            mine = design.input_of == i
            found = with_features.T @ e / len(design)
            terms.append(2 * e * (design.features[:, mine] @ found + with_features @ regression.slopes[mine]))
        return np.stack(terms, axis=1)

    @cached_property
    def run_terms(self) -> FloatArray:
        """Return what each run adds to the error of V of every input, shape ``(R, m, k)``: ``2 e h``.

        h is the run's own linear part, ``T a . G / n``; where the number of draws is random its mean has noise too.
        """
        design, regression = self.regression.design, self.regression
        e = regression.leave_one_out_residuals
        directions = design.root @ self.slopes
        terms = np.empty((len(design), len(design.sizes), e.shape[1]))
        for i, n in enumerate(design.sizes):
            mine = design.input_of == i
            length = design.used[:, i] / max(design.mean_used[i], 1e-300) - 1
            h = design.features[:, mine] @ directions[mine] / n
            terms[:, i] = 2 * (e * h + length[:, np.newaxis] * self.by_features[i])
        if not design.has_plan.any():
            return terms
        value, error = self._cross
        slopes = weighted_error(value, error) / np.where(error > 0, error, 1.0)
        return np.asarray(terms + slopes * self._cross_terms)

    @cached_property
    def noise_variance(self) -> FloatArray:
        """Return the part of the error's square that falls with the square of the runs, shape ``(m, k)``."""
        design = self.regression.design
        found = []
        for i, n in enumerate(design.sizes):
            mine = np.flatnonzero(design.input_of == i)
            block = self.slope_covariance[:, mine[:, np.newaxis], mine]
            found.append(2 * (block**2).sum(axis=(1, 2)) / n**2)
        parts: FloatArray = np.stack(found) + weighted_error(self.residual, self.residual_error) ** 2
        return parts

    @cached_property
    def influence(self) -> tuple[FloatArray, ...]:
        """Return by input the residual influence of the sorted rows, shrunk by its share of noise, ``(n_i, k)``."""
        variance = self.raw.variance
        told = shrinkage_weight(self.residual, self.residual_error, _CAUTIOUS) * self.residual
        signal = np.clip(told / np.where(variance > 0, variance, 1.0), 0.0, 1.0)
        return tuple(raw * share for raw, share in zip(self.raw.rows, signal, strict=True))

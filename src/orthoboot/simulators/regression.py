"""Least squares of the outputs on sums over their draws, with errors that need no equal variances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from orthoboot.simulators.design import Design
from orthoboot.typing import FloatArray, IntArray

RUNS_PER_COLUMN = 20
"""Fewer runs for each column of features do not tell the influence from noise."""

_RUNS_PER_PAIR = 10
"""Pairs of features are looked at as long as there are so many runs for each column."""

_RUNS_PER_FITTED_PAIR = 30
"""Pairs are fitted, and take noise away, as long as there are so many: more columns would add noise."""

_MOST_NUMBERS = 1 << 25
"""In all columns together: a quarter of a gigabyte."""

_MOST_LEVERAGE = 0.8
"""Beyond it a residual from the fit to the other runs would be mostly the noise of that fit."""

_MOST_CONCENTRATED = 0.02
"""Share of a column's square that one run may have: others, as of a far row that is drawn twice, are not fitted."""

_DEPENDENT = 1e-10


@dataclass(frozen=True, eq=False)
class Regression:
    """Outputs of runs by least squares: ``Y = intercept + G a + M b + e``.

    G and M have mean zero over runs, known exactly, so that the intercept estimates the mean output with less noise
    than the mean of the runs. M, of pairs of features, is uncorrelated with G: it takes noise away, and gives the
    second order.

    Attributes
    ----------
    design
        The sums over draws.
    outputs
        Y, shape ``(R, k)``.
    pairs
        The pairs of features among the columns, shape ``(q, 2)``.
    pair_scales
        Root mean squares of their columns M, shape ``(q,)``.
    coefficients
        Of the columns 1, G and ``M / pair_scales``, shape ``(1 + p + q, k)``.
    residuals
        e, shape ``(R, k)``.
    leverage
        Shape ``(R,)``.
    inverse_factor
        The inverse of the triangular factor of the columns, shape ``(1 + p + q, 1 + p + q)``.
    columns
        1, G and ``M / pair_scales``, shape ``(R, 1 + p + q)``.
    """

    design: Design
    outputs: FloatArray
    pairs: IntArray
    pair_scales: FloatArray
    coefficients: FloatArray
    residuals: FloatArray
    leverage: FloatArray
    inverse_factor: FloatArray
    columns: FloatArray

    @property
    def n_columns(self) -> int:
        """Return the number of columns."""
        return len(self.coefficients)

    @property
    def first(self) -> slice:
        """Return the places of the features."""
        return slice(1, 1 + self.design.n_features)

    @property
    def second(self) -> slice:
        """Return the places of the pairs."""
        return slice(1 + self.design.n_features, None)

    @cached_property
    def outer_residuals(self) -> FloatArray:
        """Return ``e / (1 - leverage)``, shape ``(R, k)``: residuals from the fit to the other runs, those of HC3."""
        return self.residuals / (1 - self.leverage)[:, np.newaxis]

    @cached_property
    def _outer_coefficients(self) -> FloatArray:
        """Return the means over runs of the coefficients without the run."""
        rest = self.columns.T @ self.outer_residuals / self._n
        return np.asarray(self.coefficients - self.inverse_factor @ (self.inverse_factor.T @ rest))

    @property
    def _n(self) -> int:
        return len(self.outputs)

    # A fit to few runs is biased by the order of columns over runs. The second moments of the columns are known, so
    # that E[Y x] = E[x x'] b + E[x (Y - x' b)] for any b that the run has no part in: the fit to the others.

    @cached_property
    def intercept(self) -> FloatArray:
        """Return the mean output at the data, unbiased, shape ``(k,)``."""
        return np.asarray(self._outer_coefficients[0] + self.outer_residuals.mean(axis=0))

    @cached_property
    def slopes(self) -> FloatArray:
        """Return ``E[Y G]``, the derivatives of the mean output along the features, unbiased, shape ``(p, k)``."""
        design = self.design
        scale = design.mean_used[design.input_of][:, np.newaxis]
        rest = design.features.T @ self.outer_residuals / self._n
        return np.asarray(scale * self._outer_coefficients[self.first] + rest)

    @cached_property
    def pair_coefficients(self) -> FloatArray:
        """Return the coefficients of the pairs in their own units, shape ``(q, k)``."""
        return np.asarray(self._outer_coefficients[self.second] / self.pair_scales[:, np.newaxis])

    @cached_property
    def pair_rests(self) -> FloatArray:
        """Return the mean products of pairs and what their own columns leave of the outputs, shape ``(q, k)``."""
        columns = [self.design.pair(int(k), int(j)) for k, j in self.pairs]
        return np.array(columns).reshape(len(columns), self._n) @ self.unexplained / self._n

    @property
    def unexplained(self) -> FloatArray:
        """Return residuals with that part of the fit that pairs may be correlated with, shape ``(R, k)``."""
        if not self.design.is_random:
            return self.outer_residuals
        return np.asarray(self.outer_residuals + self.design.features @ self._outer_coefficients[self.first])

    @property
    def residual_variance(self) -> FloatArray:
        """Return ``s_e^2``, shape ``(k,)``."""
        return np.asarray((self.residuals**2).sum(axis=0) / max(len(self.outputs) - self.n_columns, 1))

    @cached_property
    def covariance(self) -> FloatArray:
        """Return the covariance of intercept, slopes and ``E[Y M]``, shape ``(k, columns, columns)``.

        ``sum e^2 x x' / R^2`` with residuals from fits to the other runs: HC3 with the second moments of the columns
        that are known.
        """
        scale = np.concatenate([np.ones(1 + self.design.n_features), self.pair_scales])
        found = []
        for e in self.outer_residuals.T:
            weighted = self.columns * (e[:, np.newaxis] * scale / self._n)
            found.append(weighted.T @ weighted)
        return np.array(found)


def regression_of(design: Design, outputs: FloatArray) -> Regression:
    """Return the regression on features and on as many of their pairs as the runs allow.

    Where the number of draws is random, pairs are correlated with features, so that the regression is on features
    alone; ``E[Y M]`` is found from its residuals.
    """
    plain = _least_squares(design, outputs, [], 0)
    if plain is None:
        return _by_moments(design, outputs)
    most = min(len(design) // _RUNS_PER_PAIR, _MOST_NUMBERS // len(design)) - plain.n_columns
    pairs = _chosen_pairs(plain, most)
    most_fitted = 0 if design.is_random else max(len(design) // _RUNS_PER_FITTED_PAIR - plain.n_columns, 0)
    with_pairs = _least_squares(design, outputs, pairs, most_fitted) if pairs else None
    return plain if with_pairs is None else with_pairs


def _least_squares(
    design: Design, outputs: FloatArray, pairs: list[tuple[int, int]], most_fitted: int
) -> Regression | None:
    """Return the regression on features and at most so many pairs; None if it is not determined.

    A pair that is not fitted stands behind those that are: its ``E[Y M]`` is found from the residuals.
    """
    columns = [np.ones(len(design)), *design.features.T]
    found: list[tuple[bool, tuple[int, int], float, FloatArray]] = []
    for pair in pairs:
        column = design.pair(*pair)
        square = float(np.mean(column**2))
        if square > _DEPENDENT**2:
            is_apart = most_fitted <= 0 or _is_concentrated(design, pair, column)
            most_fitted -= not is_apart
            found.append((is_apart, pair, float(np.sqrt(square)), column))
    found.sort(key=lambda entry: entry[0])
    kept, scales = [pair for _, pair, _, _ in found], [scale for _, _, scale, _ in found]
    stacked = np.stack([*columns, *(column / scale for _, _, scale, column in found)], axis=1)
    fitted = stacked[:, : len(columns) + sum(not is_apart for is_apart, _, _, _ in found)]
    orthogonal, triangular = np.linalg.qr(fitted)
    diagonal = np.abs(np.diag(triangular))
    if len(fitted) <= fitted.shape[1] or diagonal.min() <= _DEPENDENT * diagonal.max():
        return None
    inverse = np.zeros((stacked.shape[1], stacked.shape[1]))
    inverse[: len(triangular), : len(triangular)] = solve_triangular(triangular, np.eye(len(triangular)))
    projected = orthogonal.T @ outputs
    coefficients = inverse[:, : len(projected)] @ projected
    residuals = outputs - orthogonal @ projected
    leverage = np.minimum((orthogonal**2).sum(axis=1), _MOST_LEVERAGE)
    numbers = np.array(kept, dtype=np.int64).reshape(-1, 2)
    return Regression(design, outputs, numbers, np.array(scales), coefficients, residuals, leverage, inverse, stacked)


def _is_concentrated(design: Design, pair: tuple[int, int], column: FloatArray) -> bool:
    """Return whether one run has much of a column, unless its moments are those of a fitted density, and known."""
    first, second = design.input_of[list(pair)]
    if first == second and design.is_fitted[first]:
        return False
    squares = column**2
    return bool(squares.max() > _MOST_CONCENTRATED * squares.sum())


def _by_moments(design: Design, outputs: FloatArray) -> Regression:
    """Return the regression through the known second moments of the features, where the runs do not determine it.

    ``E[G G'] = E[T] I``, so that ``a = mean(Y G) / E[T]``: all of it is in the residuals.
    """
    columns = np.concatenate([np.ones((len(design), 1)), design.features], axis=1)
    inverse = np.zeros((columns.shape[1], columns.shape[1]))
    coefficients = np.zeros((columns.shape[1], outputs.shape[1]))
    coefficients[0] = outputs.mean(axis=0)
    residuals = outputs - outputs.mean(axis=0)
    empty = np.empty((0, 2), dtype=np.int64)
    leverage = np.full(len(design), 1 / len(design))
    return Regression(design, outputs, empty, np.empty(0), coefficients, residuals, leverage, inverse, columns)


def _chosen_pairs(plain: Regression, most: int) -> list[tuple[int, int]]:
    """Return at most so many pairs: squares first, which make the bias, then those of features that matter most."""
    design = plain.design
    candidates = design.pairs()
    if most <= 0 or not candidates:
        return []
    spread = np.sqrt(np.maximum(plain.outputs.var(axis=0), np.finfo(float).tiny))
    effects = np.abs(plain.coefficients[plain.first] / spread).max(axis=1)
    weights = effects * design.mean_used[design.input_of] / np.sqrt(design.sizes[design.input_of])
    ranked = sorted(candidates, key=lambda pair: (pair[0] != pair[1], -weights[pair[0]] * weights[pair[1]]))
    return ranked[:most]

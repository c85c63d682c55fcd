"""Least squares of the outputs on sums over their draws, with errors that need no equal variances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from orthoboot.simulators.design import Design
from orthoboot.solvers.least_squares import forward_selected, least_squares
from orthoboot.typing import BoolArray, FloatArray, IntArray

RUNS_PER_COLUMN = 20
"""Fewer runs for each column of features do not tell the influence from noise."""

_RUNS_PER_PAIR = 10
"""Pairs of features are looked at as long as there are so many runs for each column."""

_RUNS_PER_FITTED_PAIR = 30
"""Pairs are fitted, and take noise away, as long as there are so many: more columns would add noise."""

_MOST_NUMBERS = 1 << 25
"""In all columns together: a quarter of a gigabyte."""

_MOST_CONCENTRATED = 0.02
"""Share of a column's square that one run may have: others, as of a far row drawn twice, must show what they gain."""

_LEAST_GAIN = 0.1
"""Such a column is fitted if it takes away so much of the squared residuals from fits to other runs."""

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
    columns
        1, G and ``M / pair_scales``, shape ``(R, 1 + p + q)``.
    coefficients
        Of the columns, the means over runs of those without the run, shape ``(1 + p + q, k)``.
    leave_one_out_residuals
        e from the fit to the other runs, those of HC3, shape ``(R, k)``.
    origin
        What was subtracted from the outputs before the fit, shape ``(k,)``: an output that is always the same has no
        rounding then.
    """

    design: Design
    outputs: FloatArray
    pairs: IntArray
    pair_scales: FloatArray
    columns: FloatArray
    coefficients: FloatArray
    leave_one_out_residuals: FloatArray
    origin: FloatArray

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

    @property
    def _n(self) -> int:
        return len(self.outputs)

    # A fit to few runs is biased by the order of columns over runs. The second moments of the columns are known, so
    # that E[Y x] = E[x x'] b + E[x (Y - x' b)] for any b that the run has no part in: the fit to the others.

    @cached_property
    def intercept(self) -> FloatArray:
        """Return the mean output at the data, unbiased, shape ``(k,)``."""
        return np.asarray(self.origin + self.coefficients[0] + self.leave_one_out_residuals.mean(axis=0))

    @cached_property
    def slopes(self) -> FloatArray:
        """Return ``E[Y G]``, the derivatives of the mean output along the features, unbiased, shape ``(p, k)``."""
        design = self.design
        scale = design.mean_used[design.input_of][:, np.newaxis]
        rest = design.features.T @ self.leave_one_out_residuals / self._n
        return np.asarray(scale * self.coefficients[self.first] + rest)

    @cached_property
    def pair_coefficients(self) -> FloatArray:
        """Return the coefficients of the pairs in their own units, shape ``(q, k)``."""
        return np.asarray(self.coefficients[self.second] / self.pair_scales[:, np.newaxis])

    @cached_property
    def pair_rests(self) -> FloatArray:
        """Return the mean products of pairs and what their own columns leave of the outputs, shape ``(q, k)``."""
        columns = [self.design.pair(int(k), int(j)) for k, j in self.pairs]
        return np.array(columns).reshape(len(columns), self._n) @ self.unexplained / self._n

    @property
    def unexplained(self) -> FloatArray:
        """Return residuals with that part of the fit that pairs may be correlated with, shape ``(R, k)``."""
        if not self.design.is_random:
            return self.leave_one_out_residuals
        return np.asarray(self.leave_one_out_residuals + self.design.features @ self.coefficients[self.first])

    @property
    def residual_variance(self) -> FloatArray:
        """Return ``s_e^2`` of the outer residuals, shape ``(k,)``."""
        return np.asarray((self.leave_one_out_residuals**2).mean(axis=0))

    @cached_property
    def covariance(self) -> FloatArray:
        """Return the covariance of intercept, slopes and ``E[Y M]``, shape ``(k, columns, columns)``.

        ``sum e^2 x x' / R^2`` with residuals from fits to the other runs: HC3 with the second moments of the columns
        that are known. For pairs e is what their means are of, `unexplained`.
        """
        scale = np.concatenate([np.ones(1 + self.design.n_features), self.pair_scales])
        found = []
        for e, of_pairs in zip(self.leave_one_out_residuals.T, self.unexplained.T, strict=True):
            weighted = self.columns * (scale / self._n)
            weighted[:, : self.second.start] *= e[:, np.newaxis]
            weighted[:, self.second] *= of_pairs[:, np.newaxis]
            found.append(weighted.T @ weighted)
        return np.array(found)


def regression_of(design: Design, outputs: FloatArray) -> Regression:
    """Return the regression on features and on as many of their pairs as the runs allow.

    Where the number of draws is random, pairs are correlated with features, so that the regression is on features
    alone; ``E[Y M]`` is found from its residuals.
    """
    plain = _regression(design, outputs, [], 0)
    if plain is None:
        return _by_moments(design, outputs)
    most = min(len(design) // _RUNS_PER_PAIR, _MOST_NUMBERS // len(design)) - plain.n_columns
    pairs = _chosen_pairs(plain, most)
    most_fitted = 0 if design.is_random else max(len(design) // _RUNS_PER_FITTED_PAIR - plain.n_columns, 0)
    with_pairs = _regression(design, outputs, pairs, most_fitted) if pairs else None
    return plain if with_pairs is None else with_pairs


class _Pair(NamedTuple):
    """A pair of features, the root mean square of its column M, and ``M / scale``."""

    pair: tuple[int, int]
    scale: float
    column: FloatArray


def _regression(
    design: Design, outputs: FloatArray, pairs: list[tuple[int, int]], most_fitted: int
) -> Regression | None:
    """Return the regression on features and at most so many pairs; None if it is not determined.

    The ``E[Y M]`` of a pair that is not fitted is found from the residuals.
    """
    found = [entry for pair in pairs if (entry := _scaled(pair, design.pair(*pair))).scale > _DEPENDENT]
    columns = np.stack([np.ones(len(design)), *design.features.T, *(entry.column for entry in found)], axis=1)
    doubtful = np.array([_is_concentrated(design, entry) for entry in found], dtype=bool)
    first = columns.shape[1] - len(found)
    sure = [*range(first), *(first + np.flatnonzero(~doubtful)[:most_fitted])]
    origin = outputs[0]
    fit = _fit(columns, outputs - origin, sure, first + np.flatnonzero(doubtful), most_fitted + first - len(sure))
    if fit is None:
        return None
    numbers = np.array([entry.pair for entry in found], dtype=np.int64).reshape(-1, 2)
    return Regression(design, outputs, numbers, np.array([entry.scale for entry in found]), columns, *fit, origin)


def _scaled(pair: tuple[int, int], column: FloatArray) -> _Pair:
    scale = float(np.sqrt(np.mean(column**2)))
    return _Pair(pair, scale, column / (scale if scale > 0 else 1.0))


def _is_concentrated(design: Design, entry: _Pair) -> bool:
    """Return whether one run has much of a column, unless its moments are those of a fitted density, and known."""
    first, second = design.input_of[list(entry.pair)]
    if first == second and design.is_parametric[first]:
        return False
    squares = entry.column**2
    return bool(squares.max() > _MOST_CONCENTRATED * squares.sum())


def _fit(
    columns: FloatArray, outputs: FloatArray, sure: list[int], doubtful: IntArray, most: int
) -> tuple[FloatArray, FloatArray] | None:
    """Return coefficients and outer residuals of a fit with those doubtful columns that gain.

    Each half of the runs chooses for the other, so that no run has a part in what is fitted to its own output: with
    a choice by all of them, the variance of a maximum was one percent low.
    """
    coefficients, outer = np.zeros((columns.shape[1], outputs.shape[1])), np.empty(outputs.shape)
    for places, runs in _choices(columns, outputs, sure, doubtful, most):
        fit = least_squares(columns[:, places], outputs)
        if fit is None:
            return None
        coefficients[places] += fit.leave_one_out_coefficients(runs) / len(runs)
        outer[runs] = fit.leave_one_out_residuals[runs]
    return coefficients, outer


def _choices(
    columns: FloatArray, outputs: FloatArray, sure: list[int], doubtful: IntArray, most: int
) -> list[tuple[list[int], BoolArray]]:
    """Return the places of the columns that are fitted, and the runs ``(R,)`` whose residuals are from that fit."""
    everyone, even = np.ones(len(columns), dtype=bool), np.arange(len(columns)) % 2 == 0
    if most <= 0 or len(doubtful) == 0:
        return [(sure, everyone)]
    chosen = []
    for others in (~even, even):
        some = columns[others]
        found = forward_selected(some[:, sure], outputs[others], some[:, doubtful], _LEAST_GAIN, most)
        chosen.append([*sure, *doubtful[list(found)].tolist()])
    return [(chosen[0], everyone)] if chosen[0] == chosen[1] else [(chosen[0], even), (chosen[1], ~even)]


def _by_moments(design: Design, outputs: FloatArray) -> Regression:
    """Return the regression through the known second moments of the features, where the runs do not determine it.

    ``E[G G'] = E[T] I``, so that ``a = mean(Y G) / E[T]``: all of it is in the residuals.
    """
    columns = np.concatenate([np.ones((len(design), 1)), design.features], axis=1)
    coefficients = np.zeros((columns.shape[1], outputs.shape[1]))
    origin = outputs[0]
    coefficients[0] = (outputs - origin).mean(axis=0)
    outer = (outputs - origin - coefficients[0]) / (1 - 1 / len(design))
    empty = np.empty((0, 2), dtype=np.int64)
    return Regression(design, outputs, empty, np.empty(0), columns, coefficients, outer, origin)


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

"""Sums over the draws of recorded runs: what the outputs are regressed on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from orthoboot.simulators.inputs import DrawSums, Input
from orthoboot.simulators.runs import Experiment, Runs
from orthoboot.typing import BoolArray, FloatArray, IntArray

_DRAWS_AT_ONCE = 1 << 20

_RUNS_TOGETHER = 64
"""Of which all pairs show the noise of rows with a plan; others would take longer."""


@dataclass(frozen=True, eq=False)
class Design:
    """Sums over the draws of R runs, of the p features of all m inputs.

    Attributes
    ----------
    features
        G, shape ``(R, p)``; of mean zero over runs.
    products
        By input the sums of products of two features of one draw, shape ``(R, p_i, p_i)``.
    squared_counts
        Shape ``(R, m)``; zero for fitted distributions.
    used
        Draws, shape ``(R, m)``.
    input_of
        For each feature the number of its input, shape ``(p,)``.
    sizes
        Rows of every input, shape ``(m,)``.
    root
        A symmetric root of the covariance of the rows' loadings, shape ``(p, p)``: the identity for empirical inputs.
    cubes
        Sums over draws of a feature times the squared length of all features of its input, shape ``(R, p)``; zero for
        fitted distributions.
    is_parametric
        Which inputs are fitted distributions, shape ``(m,)``.
    has_plan
        Which have rows that are not resampled one by one, shape ``(m,)``.
    """

    features: FloatArray
    products: tuple[FloatArray, ...]
    squared_counts: FloatArray
    used: FloatArray
    input_of: IntArray
    sizes: FloatArray
    root: FloatArray
    cubes: FloatArray
    is_parametric: BoolArray
    has_plan: BoolArray

    def __len__(self) -> int:
        return len(self.features)

    @property
    def has_independent_rows(self) -> BoolArray:
        """Return which inputs have moments of third order that are known, those of rows drawn one by one, ``(m,)``."""
        return ~(self.is_parametric | self.has_plan)

    @cached_property
    def is_random(self) -> bool:
        """Return whether runs take different numbers of draws."""
        return bool((np.ptp(self.used, axis=0) > 0).any())

    @cached_property
    def mean_used(self) -> FloatArray:
        """Return the mean number of draws of every input, shape ``(m,)``."""
        return np.asarray(self.used.mean(axis=0))

    @property
    def n_features(self) -> int:
        """Return p."""
        return int(self.features.shape[1])

    def pair(self, k: int, j: int) -> FloatArray:
        """Return ``M_kj = G_k G_j - 1{same input} sum over draws of g_k g_j``, shape ``(R,)``: of mean zero."""
        product: FloatArray = self.features[:, k] * self.features[:, j]
        i = self.input_of[k]
        if i != self.input_of[j]:
            return product
        first = int(np.argmax(self.input_of == i))
        return np.asarray(product - self.products[i][:, k - first, j - first])

    def pair_moment(self, k: int, j: int) -> float:
        """Return ``E[M_kj^2]``: known where all runs take the same number of draws, else the mean over runs."""
        first, second = self.used[:, self.input_of[k]], self.used[:, self.input_of[j]]
        if np.ptp(first) > 0 or np.ptp(second) > 0:
            return float(np.mean(self.pair(k, j) ** 2))
        if self.input_of[k] != self.input_of[j]:
            return float(first[0] * second[0])
        return float(first[0] * (first[0] - 1)) * (2 if k == j else 1)

    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of features that may have an effect: not those of the same row, where a run draws one."""
        p = self.n_features
        single = (self.used.max(axis=0, initial=0) <= 1) & ~self.is_parametric
        of = self.input_of
        return [(k, j) for k in range(p) for j in range(k, p) if not (of[k] == of[j] and single[of[k]])]

    def joined(self, more: Design) -> Design:
        """Return the design of both runs."""
        parts = ("features", "squared_counts", "used", "cubes")
        stacked = {name: np.concatenate([getattr(self, name), getattr(more, name)]) for name in parts}
        products = tuple(map(np.concatenate, zip(self.products, more.products, strict=True)))
        return replace(self, products=products, **stacked)


def design_of(experiment: Experiment, runs: Runs, known: Design | None = None) -> Design:
    """Return the sums over the draws of all runs; those of `known` are not made again."""
    start = 0 if known is None else len(known)
    if start == len(runs) and known is not None:
        return known
    by_input = [_sums(experiment, runs, i, start) for i in range(len(experiment.inputs))]
    counts = [entry.n_features for entry in experiment.inputs]
    made = Design(
        np.concatenate([sums.features for sums in by_input], axis=1),
        tuple(sums.products for sums in by_input),
        np.stack([sums.squared_counts for sums in by_input], axis=1),
        runs.used[start:].astype(np.float64),
        np.repeat(np.arange(len(counts)), counts),
        np.array([entry.n_rows for entry in experiment.inputs], dtype=np.float64),
        _root(experiment),
        np.concatenate([sums.cubes for sums in by_input], axis=1),
        np.array([not entry.has_rows for entry in experiment.inputs]),
        np.array([not entry.rows_are_independent for entry in experiment.inputs]),
    )
    return made if known is None else known.joined(made)


def _sums(experiment: Experiment, runs: Runs, i: int, start: int) -> DrawSums:
    entry = experiment.inputs[i]
    pieces = []
    for chunk in chunks(runs.used[:, i], start):
        used = runs.used[chunk.start : chunk.stop, i]
        pieces.append(entry.sums(experiment.positions(i, chunk, int(max(used.max(), 1))), used))
    return DrawSums(*map(np.concatenate, zip(*pieces, strict=True)))


def chunks(used: IntArray, start: int = 0) -> list[range]:
    """Return the runs from `start` on in chunks of about a million draws."""
    at_once = max(_DRAWS_AT_ONCE // int(max(used.max(initial=1), 1)), 1)
    return [range(first, min(first + at_once, len(used))) for first in range(start, len(used), at_once)]


def _root(experiment: Experiment) -> FloatArray:
    counts = [entry.n_features for entry in experiment.inputs]
    root, first = np.eye(sum(counts)), 0
    for entry, count in zip(experiment.inputs, counts, strict=True):
        # Features of independent rows are orthonormal.
        if not (entry.has_rows and entry.rows_are_independent):
            values, vectors = np.linalg.eigh(entry.covariance)
            block = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * vectors.T)
            root[first : first + count, first : first + count] = block
        first += count
    return root


class ResidualInfluence(NamedTuple):
    """What residuals say about the rows that their runs draw.

    With S a run's ``n N - T`` beyond the features, and v(.) the variance over resamples of the mean of numbers of the
    rows, all of these are of shape ``(m, k)`` but the first.

    Attributes
    ----------
    rows
        By input the mean over runs of ``e S``, shape ``(n_i, k)``. Rows are sorted, as the input keeps them; zero for
        fitted distributions, whose rows count through features alone.
    variance
        v of `rows`.
    own
        The sum over runs of ``e^2 v(S)``: what each run has with itself.
    noise
        The variance that noise alone gives to the mean of ``e e' v(S, S')`` over pairs of different runs.
    spread
        The variance of ``e S`` along a direction.
    with_features
        By input v of the features and of S of every run, shape ``(R, p_i)``: zero for independent rows, where they are
        orthogonal.
    """

    rows: tuple[FloatArray, ...]
    variance: FloatArray
    own: FloatArray
    noise: FloatArray
    spread: FloatArray
    with_features: tuple[FloatArray, ...]


class _OfInput(NamedTuple):
    """`ResidualInfluence` of one input."""

    rows: FloatArray
    own: FloatArray
    noise: FloatArray
    spread: FloatArray
    with_features: FloatArray


def residual_influence(experiment: Experiment, runs: Runs, design: Design, residuals: FloatArray) -> ResidualInfluence:
    """Return what the residuals ``(R, k)`` of runs say about the rows that they draw."""
    of = [_residuals_by_row(experiment, runs, design, i, residuals) for i in range(len(experiment.inputs))]
    rows = tuple(one.rows for one in of)
    variance = [entry.linear_variance(found) for entry, found in zip(experiment.inputs, rows, strict=True)]
    return ResidualInfluence(
        rows,
        np.stack(variance),
        np.stack([one.own for one in of]),
        np.stack([one.noise for one in of]),
        np.stack([one.spread for one in of]),
        tuple(one.with_features for one in of),
    )


def _residuals_by_row(experiment: Experiment, runs: Runs, design: Design, i: int, residuals: FloatArray) -> _OfInput:
    if design.is_parametric[i] or experiment.inputs[i].n_features == 0:
        none, entry = np.zeros(residuals.shape[1]), experiment.inputs[i]
        orthogonal = np.zeros((len(design), entry.n_features))
        return _OfInput(np.zeros((entry.n_rows, residuals.shape[1])), none, none, none, orthogonal)
    if design.has_plan[i]:
        return _of_planned_rows(experiment, runs, design, i, residuals)
    return _of_independent_rows(experiment, runs, design, i, residuals)


def _of_independent_rows(experiment: Experiment, runs: Runs, design: Design, i: int, residuals: FloatArray) -> _OfInput:
    """Return what residuals say about rows that are resampled one by one, where v is the sum of squares over ``n^2``.

    Sums over rows and over pairs of runs follow from counts, without a number for every row and run.
    """
    entry, k = experiment.inputs[i], residuals.shape[1]
    largest = np.abs(residuals).max(axis=0)
    squares = (residuals / np.where(largest > 0, largest, 1.0)) ** 2
    both = np.concatenate([residuals, squares], axis=1)
    total, twice = np.zeros((entry.n_rows, 2 * k)), np.zeros(len(runs))
    for chunk in chunks(runs.used[:, i]):
        some = slice(chunk.start, chunk.stop)
        used = runs.used[some, i]
        positions = experiment.positions(i, chunk, int(max(used.max(), 1)))
        total += entry.influence_of_residuals(positions, used, both[some])
        twice[some] = entry.squared_counts(positions, used, _lengths(entry))
    by_row = (total[:, k:] + design.used[:, i] @ squares) / entry.n_rows
    noise = largest**4 * _noise(entry, design, i, by_row, squares, twice)
    own = (residuals**2).T @ _distance(design, i) / entry.n_rows**2
    spread = design.mean_used[i] * (residuals**2).mean(axis=0)
    orthogonal = np.zeros((len(runs), entry.n_features))
    return _OfInput(_beyond_features(entry, total[:, :k] / len(runs)), own, noise, spread, orthogonal)


def _distance(design: Design, i: int) -> FloatArray:
    """Return the squared length of S of an input, shape ``(R,)``."""
    n = design.sizes[i]
    features = design.features[:, design.input_of == i]
    length: FloatArray = n**2 * design.squared_counts[:, i] - n * design.used[:, i] ** 2
    return np.asarray(length - n * (features**2).sum(axis=1))


def _of_planned_rows(experiment: Experiment, runs: Runs, design: Design, i: int, residuals: FloatArray) -> _OfInput:
    """Return what residuals say about rows with a plan, from S of every run; the noise from pairs of near runs."""
    entry, (number, k) = experiment.inputs[i], residuals.shape
    total, own, squared = np.zeros((entry.n_rows, k)), np.zeros(k), np.zeros(k)
    pairs, p, with_features = 0, entry.n_features, np.empty((number, entry.n_features))
    for start in range(0, number, _RUNS_TOGETHER):
        some = slice(start, min(start + _RUNS_TOGETHER, number))
        used, e = runs.used[some, i], residuals[some]
        positions = experiment.positions(i, range(some.start, some.stop), int(max(used.max(), 1)))
        found = _beyond_features(entry, entry.excess_counts(positions, used))
        together = entry.linear_covariance(np.concatenate([entry.loadings, found], axis=1))
        with_features[some], products = together[p:, :p], together[p:, p:]
        total += found @ e
        own += (e**2).T @ np.diag(products)
        np.fill_diagonal(products, 0.0)
        squared += np.einsum("rk,rs,sk->k", e**2, products**2, e**2)
        pairs += len(e) * (len(e) - 1)
    noise = 2 * squared / (max(pairs, 1) * number * max(number - 1, 1))
    spread = own / number * entry.n_rows / max(entry.n_units - 1, 1)
    return _OfInput(total / number, own, noise, spread, with_features)


def _lengths(entry: Input) -> FloatArray:
    """Return ``1 + |g|^2`` of the rows, shape ``(n,)``: n times the share of each that the features take up."""
    return np.asarray(1 + (entry.loadings**2).sum(axis=1))


def _noise(
    entry: Input, design: Design, i: int, by_row: FloatArray, squares: FloatArray, twice: FloatArray
) -> FloatArray:
    """Return the variance ``2 tr(P D P D) / R^4`` of a sum of squares of noise, shape ``(k,)``.

    D has ``sum over runs of e^2 N`` of the rows, P takes off what features have. Few rows that come with most of the
    residuals make it large, unless the features take them up, as they do far rows. All is over pairs of different
    runs, and not below what as much would have that is spread evenly over all rows.

    Parameters
    ----------
    entry, design, i
        The input, the sums over the draws of runs, and the input's number.
    by_row
        D, shape ``(n, k)``.
    squares
        ``e^2``, shape ``(R, k)``.
    twice
        By run the sum over rows of ``N^2 (1 + |g|^2)``, shape ``(R,)``.
    """
    n, runs, lengths = entry.n_rows, len(design), _lengths(entry)
    features, used, total = entry.loadings, design.used[:, i], by_row.sum(axis=0)
    ones = np.concatenate([np.ones((n, 1)), features], axis=1)
    taken = np.einsum("jp,jk,jq->kpq", ones, by_row, ones)
    whole = (1 - 2 * lengths / n) @ by_row**2 + (taken**2).sum(axis=(1, 2)) / n**2
    crossed = used**2 + 2 * (design.features[:, design.input_of == i] ** 2).sum(axis=1)
    crossed = crossed + (design.products[i] ** 2).sum(axis=(1, 2))
    own = (design.squared_counts[:, i] - 2 * twice / n + crossed / n**2) @ squares**2
    even = (total**2 - used**2 @ squares**2) * (
        ((1 - lengths / n) @ by_row / np.where(total > 0, total, 1.0)) ** 2 / max(n - ones.shape[1], 1)
    )
    return np.asarray(2 * np.maximum(whole - own, even) / (runs * max(runs - 1, 1)) ** 2)


def _beyond_features(entry: Input, influence: FloatArray) -> FloatArray:
    """Return the part of the influence of rows that no feature has."""
    features = entry.loadings
    return np.asarray(influence - features @ (features.T @ influence) / entry.n_rows)

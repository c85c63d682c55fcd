"""Inputs of a simulation: what is known of a distribution, and draws from it by counter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orthoboot.data import read
from orthoboot.draws.numpy_kernels import philox_words
from orthoboot.draws.random_counts import multinomial_counts, multinomial_sums, uniform_integers
from orthoboot.errors import ArgumentError, DataError
from orthoboot.simulators.features import orthonormal_features
from orthoboot.typing import BoolArray, FloatArray, IntArray, Key

_LEVELS = 2
"""Sets the keys of uniform levels apart from those of ranks and of a model's own random numbers."""

_COUNTS_AT_ONCE = 1 << 21
"""Runs are counted in pieces of about so many numbers."""

Positions = NDArray[Any]
"""Where draws fall, shape ``(runs, draws)``: ranks of rows, or levels of a distribution function."""


class DrawSums(NamedTuple):
    """Sums over the draws that each of R runs used of one input.

    Attributes
    ----------
    features
        G, of the features, shape ``(R, p)``.
    products
        Of the products of two features of the same draw, shape ``(R, p, p)``.
    squared_counts
        Of the squared numbers of times that each row was drawn, shape ``(R,)``; zero for fitted distributions.
    cubes
        Of the features times their squared length ``g' g``, shape ``(R, p)``; zero for fitted distributions.
    """

    features: FloatArray
    products: FloatArray
    squared_counts: FloatArray
    cubes: FloatArray


class CurvatureMoments(NamedTuple):
    """Moments of r, the second derivatives of a density by its parameters over the density.

    Attributes
    ----------
    slopes
        On the standardised scores g: ``E[g_m r_kl]``, shape ``(p, p, p)``.
    rest
        Second moments of what is left of r, shape ``(p, p, p, p)``.
    """

    slopes: FloatArray
    rest: FloatArray


class FitCurvature(NamedTuple):
    """The second derivatives of fitted parameters by the weights of two rows, along the standardised scores.

    ``D_i l_j + D_j l_i + T[l_i, l_j]``, l the loadings of the rows.

    Attributes
    ----------
    rows
        D, shape ``(n, p, p)``, of mean zero.
    third
        T, shape ``(p, p, p)``; the first axis is that of the derivative.
    """

    rows: FloatArray
    third: FloatArray


class Input(ABC):
    """A distribution that is known through `n_rows` rows of data."""

    name: str
    order: IntArray
    """The place in the data of every sorted row, shape ``(n,)``."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Return the number of rows."""

    @property
    def description(self) -> str:
        """Return what is known of the distribution, in words."""
        return f"{self.n_rows:,} rows"

    @property
    @abstractmethod
    def loadings(self) -> FloatArray:
        """Return how far each row moves the distribution along each feature, shape ``(n, p)``, of mean zero."""

    @property
    @abstractmethod
    def has_rows(self) -> bool:
        """Return whether draws are rows of the data, so that any function of a row may have influence."""

    @property
    def unit_loadings(self) -> FloatArray:
        """Return the sums of loadings over the rows that are resampled together, shape ``(units, p)``."""
        return self.loadings

    rows_are_independent = True
    """Whether resamples draw row by row."""

    @cached_property
    def covariance(self) -> FloatArray:
        """Return n times the covariance of the loadings' means over resamples, shape ``(p, p)``."""
        return np.asarray(self.loadings.T @ self.loadings / self.n_rows)

    def linear_variance(self, influence: FloatArray) -> FloatArray:
        """Return the variance over resamples of the mean of the influence of sorted rows, shape ``(k,)``."""
        return np.asarray((influence**2).sum(axis=0) / self.n_rows**2)

    @property
    def bias(self) -> FloatArray:
        """Return how far resamples of the rows move the distribution along the features on average, shape ``(p,)``."""
        return np.zeros(self.n_features)

    @property
    def curvature_moments(self) -> CurvatureMoments | None:
        """Return the moments of a density's second derivatives; None for rows, whose weights enter as they are."""
        return None

    @property
    def fit_curvature(self) -> FitCurvature | None:
        """Return the second derivatives of fitted parameters; None for rows, whose weights enter as they are."""
        return None

    @property
    def n_features(self) -> int:
        """Return p."""
        return int(self.loadings.shape[1])

    @abstractmethod
    def positions(self, key: Key, stream: int, runs: Sequence[int], size: int, capacity: int) -> Positions:
        """Return where the first `size` draws of these runs fall."""

    @abstractmethod
    def values(self, positions: Positions) -> Any:
        """Return the draws at these positions: an array of the same shape, or with the columns of a row last."""

    @abstractmethod
    def resampled_values(self, key: Key, stream: int, resamples: Sequence[int], positions: Positions) -> Any:
        """Return the draws of each run at the same positions when the rows of the data are resampled."""

    @abstractmethod
    def sums(self, positions: Positions, used: IntArray) -> DrawSums:
        """Return sums over the first `used` draws of every run."""

    def influence_of_residuals(self, positions: Positions, used: IntArray, residuals: FloatArray) -> FloatArray:
        """Return the sums over runs of residuals ``(R, k)`` times ``n N - T``, shape ``(n, k)``, sorted rows."""
        raise NotImplementedError

    def squared_counts(self, positions: Positions, used: IntArray, weights: FloatArray) -> FloatArray:
        """Return by run the sums over rows of ``N^2`` times their weights ``(n,)``, shape ``(R,)``."""
        raise NotImplementedError

    def excess_counts(self, positions: Positions, used: IntArray) -> FloatArray:
        """Return ``n N - T`` of the sorted rows for every run, shape ``(n, R)``."""
        raise NotImplementedError

    def linear_covariance(self, values: FloatArray) -> FloatArray:
        """Return the covariance over resamples of the means of numbers ``(n, k)`` of the sorted rows, ``(k, k)``."""
        raise NotImplementedError

    @property
    def n_units(self) -> int:
        """Return how many rows, or groups of rows, are resampled independently."""
        return self.n_rows

    def in_data_order(self, sorted_rows: FloatArray) -> FloatArray:
        """Return numbers of the sorted rows in the order of the data."""
        ordered = np.empty_like(sorted_rows)
        ordered[self.order] = sorted_rows
        return ordered

    def resampled_means(self, key: Key, stream: int, resamples: Sequence[int], values: FloatArray) -> FloatArray:
        """Return the means over resamples of numbers ``(n, k)`` of the sorted rows, shape ``(B, k)``."""
        return multinomial_sums(key, stream, resamples, values) / self.n_rows

    def entry(self, drawn: Any, run: int, place: int) -> Any:
        """Return one draw as a model that asks for single draws gets it."""
        if isinstance(drawn, dict):
            return {name: column[run, place].item() for name, column in drawn.items()}
        one = drawn[run, place]
        return one.item() if np.ndim(one) == 0 else one

    def row(self, drawn: Any, run: int) -> Any:
        """Return all draws of one run."""
        return {name: column[run] for name, column in drawn.items()} if isinstance(drawn, dict) else drawn[run]


@dataclass(frozen=True, eq=False)
class EmpiricalInput(Input):
    """The rows themselves, each drawn with the same probability.

    They are kept sorted, by their first column, then the next: a draw is the rank of a row, and the row of the same
    rank in a resample is near it.

    Attributes
    ----------
    name
        Of the input.
    rows
        Sorted, shape ``(n, d)``.
    order
        The place in the data of every sorted row, shape ``(n,)``.
    columns
        Names of the columns of a frame, whose draws are dicts; None for an array.
    is_single
        Whether a row is a single number.
    """

    name: str
    rows: FloatArray
    order: IntArray
    columns: tuple[str, ...] | None
    is_single: bool

    has_rows = True

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @cached_property
    def loadings(self) -> FloatArray:
        """Return the features of the rows: weight on a row moves a mean by the row's value."""
        return orthonormal_features(self.rows)

    def positions(self, key: Key, stream: int, runs: Sequence[int], size: int, capacity: int) -> Positions:
        """Return ranks of rows."""
        return uniform_integers(key, stream, runs, np.full(size, self.n_rows), capacity=capacity)

    def values(self, positions: Positions) -> Any:
        """Return the rows of these ranks."""
        if self.is_single:
            return self.rows[positions, 0]
        if self.columns is None:
            return self.rows[positions]
        return {name: self.rows[positions, j] for j, name in enumerate(self.columns)}

    def resampled_values(self, key: Key, stream: int, resamples: Sequence[int], positions: Positions) -> Any:
        """Return the rows of the same ranks among the sorted rows of each resample."""
        moved = np.empty_like(positions)
        for place, resample in enumerate(resamples):
            counts = multinomial_counts(key, stream, [resample], self.n_rows)[0].astype(np.int64)
            moved[place] = np.repeat(np.arange(self.n_rows), counts)[positions[place]]
        return self.values(moved)

    def sums(self, positions: Positions, used: IntArray) -> DrawSums:
        """Return sums over the draws, from counts of the rows where runs are long, else draw by draw."""
        by_counts = 8 * positions.shape[1] >= self.n_rows
        width = self.n_rows if by_counts else positions.shape[1] * (1 + self.n_features)
        at_once = max(_COUNTS_AT_ONCE // max(width, 1), 1)
        found = self._sums_of_counts if by_counts else self._sums_of_draws
        pieces = [found(positions[s : s + at_once], used[s : s + at_once]) for s in range(0, len(used), at_once)]
        return DrawSums(*map(np.concatenate, zip(*pieces, strict=True)))

    def _sums_of_counts(self, ranks: IntArray, used: IntArray) -> DrawSums:
        counts = self._counts(ranks, used)
        p = self.n_features
        products = (counts @ self._products).reshape(len(used), p, p)
        return DrawSums(counts @ self.loadings, products, (counts**2).sum(axis=1), counts @ self._cubes)

    def _counts(self, ranks: IntArray, used: IntArray) -> FloatArray:
        """Return how often each row was drawn, shape ``(R, n)``."""
        flat = (ranks + self.n_rows * np.arange(len(ranks))[:, np.newaxis])[_is_used(ranks, used)]
        return np.bincount(flat, minlength=ranks.shape[0] * self.n_rows).reshape(len(ranks), -1).astype(np.float64)

    def excess_counts(self, positions: Positions, used: IntArray) -> FloatArray:
        """Return ``n N - T`` of the sorted rows for every run."""
        return np.asarray(self.n_rows * self._counts(positions, used) - used[:, np.newaxis]).T

    @cached_property
    def _cubes(self) -> FloatArray:
        return np.asarray(self.loadings * (self.loadings**2).sum(axis=1, keepdims=True))

    @cached_property
    def _products(self) -> FloatArray:
        features = self.loadings
        return (features[:, :, np.newaxis] * features[:, np.newaxis, :]).reshape(self.n_rows, -1)

    def _sums_of_draws(self, ranks: IntArray, used: IntArray) -> DrawSums:
        is_used = _is_used(ranks, used)
        features = self.loadings[ranks] * is_used[:, :, np.newaxis]
        products = features.transpose(0, 2, 1) @ features
        cubes = (self._cubes[ranks] * is_used[:, :, np.newaxis]).sum(axis=1)
        return DrawSums(features.sum(axis=1), products, self.squared_counts(ranks, used, np.ones(self.n_rows)), cubes)

    def squared_counts(self, positions: Positions, used: IntArray, weights: FloatArray) -> FloatArray:
        """Return the weighted sums of the squared counts of every run."""
        # Equal ranks stand together once they are sorted; unused draws have a rank of their own, without weight.
        ordered = np.sort(np.where(_is_used(positions, used), positions, self.n_rows), axis=1)
        return _squared_run_lengths(ordered, np.append(weights, 0.0))

    def influence_of_residuals(self, positions: Positions, used: IntArray, residuals: FloatArray) -> FloatArray:
        """Return the sums over runs of residuals times ``n N - T``."""
        is_used = _is_used(positions, used)
        ranks, times = positions[is_used], is_used.sum(axis=1)
        sums = [np.bincount(ranks, np.repeat(column, times), self.n_rows) for column in residuals.T]
        totals = used.astype(np.float64) @ residuals
        found: FloatArray = self.n_rows * np.stack(sums, axis=1) - totals
        return found


def uniform_levels(key: Key, stream: int, runs: Sequence[int], size: int) -> FloatArray:
    """Return numbers uniform in (0, 1), shape ``(runs, size)``: functions of the key, the stream, the run and t."""
    first, second = np.random.SeedSequence([*key, _LEVELS]).generate_state(2, np.uint64).tolist()
    words = [philox_words((first, second), (0, 0, stream, int(run)), size) for run in runs]
    levels: FloatArray = ((np.array(words) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return levels


def _is_used(positions: Positions, used: IntArray) -> BoolArray:
    return np.asarray(np.arange(positions.shape[1]) < used[:, np.newaxis])


def _squared_run_lengths(ordered: IntArray, weights: FloatArray) -> FloatArray:
    """Return the sums of the squared lengths of runs of equal numbers in every row, times the weights of these."""
    total, length = np.zeros(len(ordered)), np.zeros(len(ordered))
    for place in range(ordered.shape[1]):
        same = ordered[:, place] == ordered[:, place - 1] if place else np.zeros(len(ordered), dtype=bool)
        length = np.where(same, length + 1, 1.0)
        # The square of a length is the sum of the first odd numbers.
        total += (2 * length - 1) * weights[ordered[:, place]]
    return total


def read_inputs(inputs: Any) -> tuple[Input, ...]:
    """Return the inputs of a simulation by name, checked to be numbers, finite and not empty."""
    if not isinstance(inputs, Mapping) or not inputs:
        raise ArgumentError(
            "`inputs` must be a dict from the name of each input to its data, such as "
            f"{{'arrival': x, 'service': y}}; got {type(inputs).__name__}."
        )
    return tuple(_read_input(name, data) for name, data in inputs.items())


@dataclass(frozen=True, eq=False)
class UnnamedInput(ABC):
    """An input that the user has described, before it has a name."""

    @abstractmethod
    def named(self, name: str) -> Input:
        """Return the input under its name."""


def _read_input(name: Any, data: Any) -> Input:
    if not isinstance(name, str) or not name.isidentifier() or name in ("draw", "rng"):
        raise ArgumentError(
            f"the names in `inputs` must be names that Python can use, other than `draw` and `rng`; got {name!r}."
        )
    return data.named(name) if isinstance(data, UnnamedInput) else empirical_input(name, data)


def empirical_input(name: str, data: Any) -> EmpiricalInput:
    """Return data as an input."""
    try:
        samples = read(data)
        is_one = len(samples.tables) == 1 and not samples.is_in_pieces
        # A frame with columns of text is read, and has no array.
        array = samples.arrays[0] if is_one else None
    except DataError as error:
        raise DataError(f"`inputs[{name!r}]`: {error}") from error
    if array is None:
        raise DataError(
            f"`inputs[{name!r}]` must be one array, series or frame in memory, whose rows are drawn together; got "
            f"{len(samples.tables)} of them."
        )
    rows = array.reshape(len(array), -1)
    if array.ndim > 2:
        raise DataError(f"`inputs[{name!r}]` must have rows of numbers, shape (n,) or (n, d); got {array.shape}.")
    if len(rows) < 2:
        raise DataError(f"`inputs[{name!r}]` must have at least two rows; got {len(rows)}.")
    order = np.lexsort(rows.T[::-1])
    columns = samples.columns[0] if array.ndim == 2 else None
    if columns is not None and len(set(columns)) < len(columns):
        raise DataError(
            f"the columns of `inputs[{name!r}]` must have different names, since a draw is a dict of them; got "
            f"{', '.join(map(repr, columns))}."
        )
    return EmpiricalInput(name, np.ascontiguousarray(rows[order]), order, columns, array.ndim == 1)

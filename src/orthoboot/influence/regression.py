"""Influence values estimated from replicates, by regression on the resamples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.arguments import too_few_replicates
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import InfluenceError
from orthoboot.influence.given import check_finite, number_array, per_sample
from orthoboot.plans import Cluster, Plan
from orthoboot.typing import FloatArray, Influence, IntArray, Key

REGRESSION_ROWS = 2_000
"""Solving for more takes minutes, as the cost grows with the cube of the rows; the jackknife is cheaper long before."""

COUNTS_RESAMPLES = 1_000
"""How many replicates a regression on the counts has where the user does not say: as the standard bootstrap."""

_RESAMPLES_PER_COLUMN = 1.5
"""With q columns and B replicates the fit's own noise is q / (B - q) of the residual variance: twice, at 1.5 q."""

_LEAST_FREEDOM = 4
"""Replicates beyond the fitted numbers, so that a single one does not decide the residual variance."""

_COUNTS_AT_ONCE = 1 << 20
_NULL_SHARE = 1e-10
"""Directions in which the resamples vary less than this share of the largest one do not vary at all."""

_CERTAIN = 1e-10
"""A replicate whose leverage is this near to one is fitted exactly, and nothing is left out with it."""


@dataclass(frozen=True, eq=False)
class RegressionRequest:
    """A request for influence values by regression, on `features` or, if None, on the counts."""

    features: Any = None


def requested_regression(request: Any) -> RegressionRequest | None:
    """Return `request` as a regression, or None if it is another kind of request."""
    if request is regression_on:
        raise InfluenceError(
            "`regression_on` must be given the features to regress on, for example "
            "`influence=ob.regression_on(lambda x: np.column_stack([x, x**2]))`."
        )
    if isinstance(request, str):
        return RegressionRequest() if request == "regression" else None
    return request if isinstance(request, RegressionRequest) else None


def regression_on(features: Any) -> RegressionRequest:
    """Return a request for influence values that are linear in features of the rows, fitted to the replicates.

    ::

        influence_j = (features_j - mean(features)) . gamma

    with gamma from the least-squares regression of the replicates phi_b on the resamples' means of the features. It
    needs only a few more replicates than there are features. ``influence="regression"``, which gives every row its own
    value, needs at least 1.5 times as many replicates as there are rows.

    Parameters
    ----------
    features
        Shape ``(n,)`` or ``(n, q)``; a tuple of these for several samples; or a function of the samples that returns
        them. The statistic should be close to a function of their means: ``x`` and ``x**2`` for a variance.

    Examples
    --------
    >>> import numpy as np
    >>> import orthoboot as ob
    >>> x = np.random.default_rng(0).exponential(size=200)
    >>> fitted = ob.regression_on(lambda x: np.column_stack([x, x**2]))
    >>> ob.bootstrap(x, lambda x: x.std() / x.mean(), influence=fitted, rng=0).n_resamples
    30
    """
    if features is None:
        raise InfluenceError('`features` must not be None; for a regression on the counts use influence="regression".')
    return RegressionRequest(features)


@dataclass(frozen=True, eq=False)
class InfluenceFit:
    """Influence values fitted to replicates, and the linear part of those same replicates.

    Attributes
    ----------
    influence
        One ``(n_i, k)`` array per sample, centred.
    linear
        linear_b, shape ``(B, k)``, each from the fit to the other replicates. A replicate's own noise would else be in
        its own linear part, and the residuals too small: leaving it out makes them those of an influence function that
        knows nothing of it.
    """

    influence: Influence
    linear: FloatArray


@dataclass(frozen=True, eq=False)
class Design:
    """The regressors: sums over a resample of centred, orthonormal functions of the rows.

    Attributes
    ----------
    plan
        How the resamples are drawn.
    bases
        One ``(n_i, q_i)`` array per sample; None for the counts themselves, each less the mean of its resample.
    """

    plan: Plan
    bases: Influence | None

    @property
    def n_columns(self) -> int:
        """Return how many numbers are fitted for each output, besides the constant."""
        if self.bases is None:
            # The rows of a group are always drawn together, so their counts are one.
            return sum((s.n_units if isinstance(s, Cluster) else s.n) - 1 for s in self.plan.schemes)
        return sum(basis.shape[1] for basis in self.bases)

    @property
    def least_resamples(self) -> int:
        """Return the fewest replicates for a useful fit."""
        scarce = int(np.ceil(_RESAMPLES_PER_COLUMN * self.n_columns)) if self.bases is None else self.n_columns
        return scarce + 1 + _LEAST_FREEDOM

    @property
    def default_resamples(self) -> int:
        """Return the default number of replicates."""
        return COUNTS_RESAMPLES if self.bases is None else 20 + 5 * self.n_columns

    @property
    def description(self) -> str:
        """Return a description of the regressors."""
        return "the counts" if self.bases is None else f"{self.n_columns} feature{'s' * (self.n_columns != 1)}"

    def check(self, n_resamples: int, got: str) -> None:
        """Raise unless the number of replicates is enough to fit; `got` describes it in the message."""
        if n_resamples >= self.least_resamples:
            return
        if self.bases is None:
            why = f"fits {self.n_columns:,} numbers, one for each row or group but one"
            other = (
                "regress on a few features of the rows instead, `influence=ob.regression_on(features)`, or use "
                'influence="jackknife", which costs one evaluation per row'
            )
        else:
            why, other = f"fits {self.n_columns:,} numbers", "regress on fewer features"
        asker, advice = f"a regression on {self.description} {why}, so it", f"Draw more, or {other}."
        raise InfluenceError(too_few_replicates(asker, self.least_resamples, f"got {got}", advice))

    def rows(self, resamples: Resamples) -> FloatArray:
        """Return the regressors of each resample less their exact means under the plan, shape ``(B, q)``."""
        if self.bases is None:
            parts = [weights - weights.mean(axis=1, keepdims=True) for weights in resamples.weights]
        else:
            parts = [resamples.sums(i, basis) for i, basis in enumerate(self.bases)]
        rows: FloatArray = np.concatenate(parts, axis=1) - self._mean
        return rows

    @cached_property
    def _mean(self) -> FloatArray:
        bases = (
            self.bases if self.bases is not None else [np.eye(scheme.n) - 1 / scheme.n for scheme in self.plan.schemes]
        )
        parts = [scheme.n * scheme.mean(basis) for scheme, basis in zip(self.plan.schemes, bases, strict=True)]
        return np.concatenate(parts)

    def influence(self, coefficients: FloatArray) -> Influence:
        """Return the influence values that belong to the coefficients ``(q, k)``, one centred array per sample."""
        sizes = [scheme.n for scheme in self.plan.schemes]
        if self.bases is None:
            pieces = np.split(coefficients, np.cumsum(sizes)[:-1])
        else:
            ends = np.cumsum([basis.shape[1] for basis in self.bases])[:-1]
            pieces = [basis @ piece for basis, piece in zip(self.bases, np.split(coefficients, ends), strict=True)]
        return tuple(n * (piece - piece.mean(axis=0)) for n, piece in zip(sizes, pieces, strict=True))


def design_for(regression: RegressionRequest, data: Data, plan: Plan) -> Design:
    """Return the regressors that `regression` asks for, checked."""
    if regression.features is not None:
        return Design(plan, _bases(regression.features, data))
    n = sum(data.sizes)
    if n > REGRESSION_ROWS:
        raise InfluenceError(
            f'influence="regression" solves for one number per row, for at most {REGRESSION_ROWS:,} rows; got {n:,}. '
            "Regress on a few features of the rows instead, `influence=ob.regression_on(features)`, or use "
            'influence="jackknife", which costs one evaluation per row.'
        )
    return Design(plan, None)


def regression_fit(design: Design, key: Key, numbers: IntArray, values: FloatArray) -> InfluenceFit:
    """Return the least-squares influence values: phi_b regressed on the regressors of the resamples.

    On the counts it is R's ``empinf(type = "reg")`` (Davison and Hinkley 1997, section 2.7.4). Counts are tied
    together, by their sum or by strata, groups and blocks; of all solutions the one of least norm is taken. The normal
    equations are added up batch by batch, so that memory does not grow with B.

    Parameters
    ----------
    numbers
        The numbers of the replicates, shape ``(B,)``: the resamples are drawn again from them.
    values
        phi_b, shape ``(B, k)``.
    """
    changes = values - values.mean(axis=0)
    gram, cross, total = _sums(design, key, numbers, changes)
    shift = total / len(numbers)
    whitener = _whitener(gram - len(numbers) * np.outer(shift, shift))
    whitened_coefficients = whitener.T @ cross
    pieces = []
    for start, rows in _batches(design, key, numbers):
        whitened = rows @ whitener
        centred = (rows - shift) @ whitener
        fitted = centred @ whitened_coefficients
        residuals = changes[start : start + len(rows)] - fitted
        slack = 1 - 1 / len(numbers) - (centred**2).sum(axis=1)
        # Deleting replicate b moves the coefficients by its residual over its slack, along its own regressors.
        freed = np.divide(1.0, slack, out=np.zeros_like(slack), where=slack > _CERTAIN)
        own = (whitened * centred).sum(axis=1) * freed
        pieces.append(whitened @ whitened_coefficients - own[:, np.newaxis] * residuals)
    return InfluenceFit(design.influence(whitener @ whitened_coefficients), np.concatenate(pieces))


def _sums(
    design: Design, key: Key, numbers: IntArray, changes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return over the replicates the sums of x x', of x (phi_b - mean)' and of x, x the regressors."""
    gram: Any = 0.0
    cross: Any = 0.0
    total: Any = 0.0
    for start, rows in _batches(design, key, numbers):
        gram = gram + rows.T @ rows
        cross = cross + rows.T @ changes[start : start + len(rows)]
        total = total + rows.sum(axis=0)
    return gram, cross, total


def _batches(design: Design, key: Key, numbers: IntArray) -> Iterator[tuple[int, FloatArray]]:
    """Yield the position of the first replicate of a batch, and the regressors of all in it."""
    # The size does not follow the user's `batch`, on which no answer may depend.
    size = max(_COUNTS_AT_ONCE // sum(scheme.n for scheme in design.plan.schemes), 1)
    for start in range(0, len(numbers), size):
        yield start, design.rows(design.plan.resamples(key, numbers[start : start + size].tolist()))


def _whitener(gram: FloatArray) -> FloatArray:
    """Return W of shape ``(q, rank)`` with ``W W'`` the pseudo-inverse of the matrix."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    varies = eigenvalues > _NULL_SHARE * max(float(eigenvalues[-1]), 0.0)
    whitener: FloatArray = vectors[:, varies] / np.sqrt(eigenvalues[varies])
    return whitener


def _bases(features: Any, data: Data) -> Influence:
    """Return for each sample an orthonormal basis of its centred features."""
    parts = zip(per_sample("features", features, data), data.sizes, strict=True)
    bases = tuple(_basis(_feature_columns(part, n)) for part, n in parts)
    if not any(basis.shape[1] for basis in bases):
        raise InfluenceError("`features` must vary between the rows; got constant columns only.")
    return bases


def _feature_columns(part: Any, n: int) -> FloatArray:
    array = number_array("features", part)
    if array.ndim not in (1, 2) or len(array) != n:
        raise InfluenceError(
            f"`features` must have shape ({n},) or ({n}, q): one row per row of the sample; got {array.shape}."
        )
    check_finite("features", array)
    return array.reshape(n, -1)


def _basis(columns: FloatArray) -> FloatArray:
    """Return orthonormal columns that span the centred features; redundant ones are dropped."""
    largest = np.abs(columns).max(axis=0, initial=0.0)
    centred = columns - columns.mean(axis=0)
    spread = np.abs(centred).max(axis=0, initial=0.0)
    varies = spread > len(columns) * float(np.finfo(np.float64).eps) * largest
    vectors, sizes, _ = np.linalg.svd(centred[:, varies] / spread[varies], full_matrices=False)
    return vectors[:, sizes > _NULL_SHARE * sizes.max(initial=0.0)]

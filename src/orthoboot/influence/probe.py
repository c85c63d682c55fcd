"""Changes of a statistic when its weights move, compared with its influence values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.execution.evaluations import trial_evaluations
from orthoboot.execution.execution import Execution
from orthoboot.functionals.base import Prepared
from orthoboot.typing import BoolArray, FloatArray, Influence

PROBE_SEED = 20240607

_SMALL_STEP, _SMALL_STEP_TOLERANCE = 0.01, 0.1
_WHOLE_ROWS, _WHOLE_ROWS_TOLERANCE = 1.0, 0.5
"""Dropping and doubling rows is no derivative: what is beyond the first order may be so much of the change."""

_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""A relative change that summing in another order makes."""

_REAL_CHANGE = 1e-9
"""A relative change that is no rounding."""


@dataclass(frozen=True, eq=False)
class Probe:
    """Changes of the statistic per unit of movement, by direction and output: each array has shape ``(D, k)``.

    Attributes
    ----------
    predicted
        What the influence values say: ``sum_i (1/n_i) direction_i . influence_i``.
    found
        What central differences of the statistic say.
    spread
        How large a change is in a direction of random signs, by the influence values.
    moved
        Whether the statistic moved at all, on either side.
    tolerance
        Which share of the change may be disagreement.
    """

    predicted: FloatArray
    found: FloatArray
    spread: FloatArray
    moved: BoolArray
    tolerance: float

    @property
    def disagreement(self) -> FloatArray:
        """Return the root mean square of ``found - predicted`` relative to the changes, shape ``(k,)``."""
        return self.distance(1.0)

    @property
    def agrees(self) -> BoolArray:
        """Return whether the disagreement is tolerable, shape ``(k,)``."""
        agrees: BoolArray = self.disagreement <= self.tolerance
        return agrees

    def distance(self, factor: FloatArray | float) -> FloatArray:
        """Return the disagreement for influence values multiplied by `factor`, shape ``(k,)``."""
        distance = np.sqrt(((self.found - factor * self.predicted) ** 2).sum(axis=0))
        # The smaller of the two changes, so that twice too much and twice too little are equally far.
        common = np.minimum(np.abs(factor * self.predicted), np.abs(self.found))
        scale = np.sqrt((np.maximum(np.abs(factor) * self.spread, common) ** 2).sum(axis=0))
        infinite = np.where(distance > 0, np.inf, 0.0)
        relative: FloatArray = np.divide(distance, scale, out=infinite, where=scale > 0)
        return relative


def probed(
    influence: Influence,
    prepared: Prepared[Any],
    execution: Execution,
    *,
    n_directions: int = 1,
    seed: int = PROBE_SEED,
    shorter: float = 1.0,
) -> Probe | None:
    """Return how the statistic changes in `n_directions` random directions, at two evaluations each.

    A smooth statistic of the weights is moved by a hundredth; one of whole rows, or with steps, by whole rows. None
    where the statistic has no finite value there, which proves nothing about the influence values.

    Parameters
    ----------
    influence
        Centred, one ``(n_i, k)`` array per sample.
    execution
        Which jobs share the evaluations.
    shorter
        By how much the step is divided, to see whether the changes shrink with it as a derivative's do.
    """
    small = prepared.functional.fractional and prepared.functional.smooth
    step, tolerance = (_SMALL_STEP, _SMALL_STEP_TOLERANCE) if small else (_WHOLE_ROWS, _WHOLE_ROWS_TOLERANCE)
    step = step / shorter if small else step
    directions = _directions(influence, np.random.default_rng(seed), n_directions, share=4 if small else 10)
    changes = _changes(prepared, directions, step, execution)
    if changes is None:
        return None
    up, down = changes
    pairs = list(zip(directions, influence, strict=True))
    predicted = np.sum([u @ values / len(values) for u, values in pairs], axis=0)
    spread = np.sqrt(np.sum([u**2 @ values**2 / len(values) ** 2 for u, values in pairs], axis=0))
    return Probe(predicted, (up - down) / (2 * step), spread, (up != 0) | (down != 0), tolerance)


def _changes(
    prepared: Prepared[Any], directions: tuple[FloatArray, ...], step: float, execution: Execution
) -> tuple[FloatArray, FloatArray] | None:
    """Return the changes of the statistic a step along each direction and a step back, each of shape ``(D, k)``.

    Changes that rounding alone can make count as zero. None where there is no finite value.
    """
    weights = tuple(np.concatenate([1 + step * u, 1 - step * u]) for u in directions)
    estimate = prepared.estimate
    evaluation = trial_evaluations(prepared, weights, execution)
    if evaluation.first_failure is not None:
        return None
    changes = evaluation.values - prepared.centre
    up, down = np.split(np.where(np.abs(changes) <= _ROUNDING * np.abs(estimate), 0.0, changes), 2)
    return up, down


def _directions(
    influence: Influence, generator: np.random.Generator, n_directions: int, share: int
) -> tuple[FloatArray, ...]:
    """Return changes of the weights, each -1, 0 or 1 and of sum zero: for each sample an array ``(D, n_i)``.

    The first, and then every second direction leans with the influence values: rows from the upper half of a random
    combination of the outputs gain weight and rows from the lower half lose it, since in a direction that the influence
    values call flat a wrong scale would not show. The others do not look at them, since what the influence values miss
    shows only there. In each, one in `share` rows gains and one in `share` loses.
    """
    directions = tuple(np.zeros((n_directions, len(values))) for values in influence)
    for d in range(n_directions):
        combination = generator.standard_normal(influence[0].shape[1])
        for signs, values in zip(directions, influence, strict=True):
            n = len(values)
            leaning = d % 2 == 0
            order = np.argsort(values @ combination, kind="stable") if leaning else generator.permutation(n)
            moved = max(n // share, 1)
            signs[d, generator.permutation(order[n - n // 2 :])[:moved]] = 1.0
            signs[d, generator.permutation(order[: n // 2])[:moved]] = -1.0
    return directions


@dataclass(frozen=True, eq=False)
class IgnoredWeights:
    """Which outputs ignore the weights, shape ``(k,)``, and their values on the resampled rows."""

    ignored: BoolArray
    taken: FloatArray


def ignored_weights(prepared: Prepared[Any], resamples: Resamples) -> IgnoredWeights | None:
    """Return which outputs ignore the weights of a resample, but change on its rows.

    Counting a row twice and having it twice are the same to a statistic that uses its weights. None where no output
    ignores them, or the rows themselves cannot be evaluated.
    """
    # The library's own statistics count their rows; where they do not move, the data are constant.
    if not (prepared.functional.by_user and prepared.functional.fractional):
        return None
    estimate = prepared.estimate
    try:
        with np.errstate(all="ignore"):
            weighted = prepared.values(resamples)
            taken = np.concatenate(list(_on_rows(prepared, resamples)))
    except Exception:  # a resample on which the statistic does not exist proves nothing about its weights
        return None
    fixed = (np.abs(weighted - estimate) <= _ROUNDING * np.abs(estimate)).all(axis=0)
    changes = np.abs(taken - estimate)
    # NaN compares as no change.
    moved = changes > _REAL_CHANGE * np.maximum(np.abs(taken), np.abs(estimate))
    ignored = fixed & moved.any(axis=0)
    if not ignored.any():
        return None
    return IgnoredWeights(ignored, taken[np.argmax(moved, axis=0), np.arange(len(estimate))])


def _on_rows(prepared: Prepared[Any], resamples: Resamples) -> Iterator[FloatArray]:
    """Yield the statistic of the rows of each resample, each row counted once, shape ``(1, k)``."""
    for b in range(len(resamples)):
        yield prepared.value_of_rows(resamples.indices(b))[np.newaxis]

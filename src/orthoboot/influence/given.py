"""Influence values that the user brings, checked, centred and probed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import InfluenceError, InfluenceMismatchWarning, OrthobootWarning
from orthoboot.functionals import Functional, Output
from orthoboot.resamples import Resamples
from orthoboot.typing import FloatArray, Influence

_CENTRE_TOLERANCE = 0.01
"""How far from zero, in standard deviations, the mean may be before a warning."""

_PROBE_SEED = 20240607
_PROBE_STEP = 0.01


def given_influence(
    influence: Any, functional: Functional, data: Data, output: Output
) -> tuple[Influence, list[OrthobootWarning]]:
    """Return the user's influence values as one centred ``(n_i, k)`` array per sample, and what is odd about them.

    Parameters
    ----------
    influence
        An array, a tuple with one array per sample, or a function of the samples that returns these.
    """
    if callable(influence):
        influence = _called(influence, data)
    parts = tuple(influence) if isinstance(influence, (tuple, list)) and len(data.sizes) > 1 else (influence,)
    if len(parts) != len(data.sizes):
        raise InfluenceError(
            f"`influence` must be a tuple with one array per sample; got {len(parts)} for {len(data.sizes)} samples."
        )
    columns = tuple(_column(part, n, output.size) for part, n in zip(parts, data.sizes, strict=True))
    centred = tuple(values - values.mean(axis=0) for values in columns)
    findings = [_off_centre(columns), _disagreement(centred, functional, data)]
    return centred, [finding for finding in findings if finding is not None]


def _called(influence: Callable[..., Any], data: Data) -> Any:
    try:
        return influence(*data.containers)
    except Exception as error:  # whatever the user's function raises is told with its cause
        raise InfluenceError(f"`influence` raised {type(error).__name__} on the samples: {error}") from error


def _column(values: Any, n: int, k: int) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InfluenceError(f"`influence` must hold numbers; got {type(values).__name__}.") from error
    if array.shape not in {(n, k), (n,) if k == 1 else (n, k)}:
        expected = f"({n},)" if k == 1 else f"({n}, {k})"
        raise InfluenceError(
            f"`influence` must have shape {expected}: one value per row of the sample and output of the statistic; got "
            f"{array.shape}."
        )
    if not np.isfinite(array).all():
        raise InfluenceError(
            f"`influence` must be finite; got {int((~np.isfinite(array)).sum())} NaN or infinite values."
        )
    return array.reshape(n, k)


def _off_centre(columns: Influence) -> OrthobootWarning | None:
    """Return a warning about the output whose mean is farthest from zero, if any is far."""
    mean, spread = np.array([(values.mean(axis=0), values.std(axis=0)) for values in columns]).swapaxes(0, 1)
    distance = np.abs(mean) - _CENTRE_TOLERANCE * spread
    worst = np.unravel_index(int(np.argmax(distance)), distance.shape)
    if distance[worst] <= 0:
        return None
    return InfluenceMismatchWarning(
        f"`influence` must have mean zero over the rows; got mean {mean[worst]:.4g} with standard deviation "
        f"{spread[worst]:.4g}. It was centred. Check that it is the derivative of the statistic."
    )


def _disagreement(influence: Influence, functional: Functional, data: Data) -> OrthobootWarning | None:
    """Return a warning unless a finite difference in one random direction agrees with `influence`."""
    directions = _directions(influence, functional)
    step, tolerance = (_PROBE_STEP, 0.1) if functional.fractional else (1.0, 0.5)
    weights = tuple(np.stack([1 + step * u, 1 - step * u]) for u in directions)
    try:
        up, down = functional.evaluate(data, Resamples(weights))
    except Exception:  # a probe that cannot be evaluated proves nothing about the influence
        return None
    changes = (up - down) / (2 * step)
    if not np.isfinite(changes).all():
        return None
    pairs = list(zip(directions, influence, strict=True))
    predicted = np.sum([u @ values / len(values) for u, values in pairs], axis=0)
    spread = np.sqrt(np.sum([u**2 @ values**2 / len(values) ** 2 for u, values in pairs], axis=0))
    excess = np.abs(changes - predicted) - tolerance * np.maximum(spread, np.abs(changes))
    worst = int(np.argmax(excess))
    if excess[worst] <= 0:
        return None
    return InfluenceMismatchWarning(
        "`influence` disagrees with the statistic: in a trial direction the statistic changes by "
        f"{changes[worst]:.4g}, the influence values say {predicted[worst]:.4g}. They should be n times the derivative "
        "of the statistic with respect to each row's share of the weight; the replicates decide how far to trust them."
    )


def _directions(influence: Influence, functional: Functional) -> list[FloatArray]:
    """Return changes of the weights, each -1, 0 or 1 and of sum zero, that the influence values call large.

    Rows from the upper half of a random combination of the outputs gain weight and rows from the lower half lose it:
    in a direction that the influence values call flat, a wrong scale would not show. A statistic of whole rows is
    probed by dropping a tenth of the rows and doubling another, and the reverse.
    """
    generator = np.random.default_rng(_PROBE_SEED)
    combination = generator.standard_normal(influence[0].shape[1])
    directions = []
    for values in influence:
        n = len(values)
        order = np.argsort(values @ combination, kind="stable")
        lower, upper = order[: n // 2], order[n - n // 2 :]
        moved = n // 2 if functional.fractional else max(n // 10, 1)
        signs = np.zeros(n)
        signs[generator.permutation(upper)[:moved]] = 1.0
        signs[generator.permutation(lower)[:moved]] = -1.0
        directions.append(signs)
    return directions

"""Influence values given by the user: checked, centred and probed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import InfluenceError, InfluenceMismatchWarning, OrthobootWarning
from orthoboot.execution.execution import Execution
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.output import Output
from orthoboot.influence.probe import probed
from orthoboot.typing import FloatArray, Influence, IntArray

CENTRE_TOLERANCE = 0.01
"""How far from zero, in standard deviations, the mean may be before a warning."""


def given_influence(
    influence: Any, prepared: Prepared[Any], execution: Execution
) -> tuple[Influence, list[OrthobootWarning]]:
    """Return the user's influence values as one centred ``(n_i, k)`` array per sample, with warnings.

    Parameters
    ----------
    influence
        An array, a tuple with one array per sample, or a function of the samples that returns these.
    execution
        Which jobs share the evaluations of the probe.
    """
    columns = given_columns(influence, prepared.data, prepared.output)
    centred = tuple(values - values.mean(axis=0) for values in columns)
    findings = [_off_centre(columns), _disagreement(centred, prepared, execution)]
    return centred, [finding for finding in findings if finding is not None]


@dataclass(frozen=True, eq=False)
class GivenFunction:
    """The user's function of the samples, called on the rows of a resample.

    Attributes
    ----------
    function
        What the user wrote.
    unit
        What its values are divided by, shape ``(k,)`` or a number.
    """

    function: Callable[..., Any]
    unit: FloatArray | float = 1.0

    @property
    def is_local(self) -> bool:
        """Return whether it was written within another function, or as a lambda."""
        return "<" in getattr(self.function, "__qualname__", "<")

    def __call__(self, prepared: Prepared[Any], rows: tuple[IntArray, ...]) -> Influence:
        """Return its values for the rows, centred and in units; a group that is drawn again has another label."""
        containers = prepared.data.resampled(rows)
        returned = _called("influence", self.function, containers)
        sizes = tuple(map(len, rows))
        columns = given_columns(returned, replace(prepared.data, sizes=sizes), prepared.output)
        return tuple((values - values.mean(axis=0)) / self.unit for values in columns)

    def divided_by(self, unit: FloatArray) -> GivenFunction:
        """Return the function with its values divided by a unit, shape ``(k,)``."""
        return replace(self, unit=self.unit * unit)


def given_columns(influence: Any, data: Data, output: Output) -> Influence:
    """Return the user's influence values as one ``(n_i, k)`` array per sample, checked but not centred."""
    return tuple(
        _column(part, n, output.size)
        for part, n in zip(per_sample("influence", influence, data), data.sizes, strict=True)
    )


def per_sample(argument: str, values: Any, data: Data) -> tuple[Any, ...]:
    """Return the user's values for the rows, one entry per sample; a function is called on the samples."""
    if callable(values):
        values = _called(argument, values, data.containers)
    parts = tuple(values) if isinstance(values, (tuple, list)) and len(data.sizes) > 1 else (values,)
    if len(parts) != len(data.sizes):
        raise InfluenceError(
            f"`{argument}` must be a tuple with one array per sample; got {len(parts)} for {len(data.sizes)} samples."
        )
    return parts


def number_array(argument: str, values: Any) -> FloatArray:
    """Return `values` as an array of numbers; raise if they are not numbers."""
    if np.ma.is_masked(values):
        raise InfluenceError(f"`{argument}` must have no masked values; got {int(np.ma.getmaskarray(values).sum())}.")
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InfluenceError(f"`{argument}` must hold numbers; got {type(values).__name__}.") from error


def check_finite(argument: str, array: FloatArray) -> None:
    """Raise if a number is NaN or infinite, and say how many are."""
    if not np.isfinite(array).all():
        raise InfluenceError(
            f"`{argument}` must be finite; got {int((~np.isfinite(array)).sum())} NaN or infinite values."
        )


def _called(argument: str, function: Callable[..., Any], containers: Iterable[Any]) -> Any:
    try:
        return function(*containers)
    except Exception as error:  # the user's function may raise anything
        raise InfluenceError(f"`{argument}` raised {type(error).__name__} on the samples: {error}") from error


def _column(values: Any, n: int, k: int) -> FloatArray:
    array = number_array("influence", values)
    if array.shape not in {(n, k), (n,) if k == 1 else (n, k)}:
        expected = f"({n},)" if k == 1 else f"({n}, {k})"
        raise InfluenceError(
            f"`influence` must have shape {expected}: one value per row of the sample and output of the statistic; got "
            f"{array.shape}."
        )
    check_finite("influence", array)
    return array.reshape(n, k)


def _off_centre(columns: Influence) -> OrthobootWarning | None:
    """Return a warning about the output whose mean is farthest from zero, if any is far."""
    mean, spread = np.array([(values.mean(axis=0), values.std(axis=0)) for values in columns]).swapaxes(0, 1)
    distance = np.abs(mean) - CENTRE_TOLERANCE * spread
    worst = np.unravel_index(int(np.argmax(distance)), distance.shape)
    if distance[worst] <= 0:
        return None
    return InfluenceMismatchWarning(
        f"`influence` must have mean zero over the rows; got mean {mean[worst]:.4g} with standard deviation "
        f"{spread[worst]:.4g}. It was centred. Check that it is the derivative of the statistic."
    )


def _disagreement(influence: Influence, prepared: Prepared[Any], execution: Execution) -> OrthobootWarning | None:
    """Return a warning unless a finite difference in one random direction agrees with `influence`."""
    probe = probed(influence, prepared, execution)
    if probe is None or probe.agrees.all():
        return None
    worst = int(np.argmax(probe.disagreement))
    return InfluenceMismatchWarning(
        "`influence` disagrees with the statistic: in a trial direction the statistic changes by "
        f"{probe.found[0, worst]:.4g}, the influence values predict {probe.predicted[0, worst]:.4g}. They should be n "
        "times the derivative of the statistic with respect to each row's share of the weight; the replicates decide "
        "how far to trust them. See `ob.check_influence`."
    )

"""Functions as users write them; numpy's warnings are silenced, so that one which shows is the library's."""

from __future__ import annotations

from typing import Any

import numpy as np


def _numbers(x: Any) -> Any:
    """Return a container as floats, since pandas and polars have a `std` of their own."""
    return np.asarray(x, dtype=np.float64)


def quotient(s: Any, m: Any) -> Any:
    """Return the coefficient of variation, of its two parts."""
    with np.errstate(all="ignore"):
        return s / m


def first_two_powers(x: Any) -> Any:
    """Return the features x and its square."""
    with np.errstate(all="ignore"):
        return [x, np.square(x)]


def second(means: Any) -> Any:
    """Return the second of the means."""
    return means[1]


def columns(x: Any) -> Any:
    """Return the columns of a table as features."""
    return x


def quotient_of_means(means: Any) -> Any:
    """Return the quotient of two means."""
    with np.errstate(all="ignore"):
        return means[0] / means[1]


def plain_mean(x: Any) -> Any:
    """Return the mean of the rows that it gets."""
    return _numbers(x).mean()


def plain_variation(x: Any) -> Any:
    """Return the coefficient of variation."""
    with np.errstate(all="ignore"):
        return _numbers(x).std() / _numbers(x).mean()


def plain_range(x: Any) -> Any:
    """Return the range, which rests on two rows."""
    return np.ptp(_numbers(x))


def plain_dict(x: Any) -> Any:
    """Return two numbers by name."""
    with np.errstate(all="ignore"):
        return {"mean": _numbers(x).mean(), "std": _numbers(x).std()}


def plain_gap(x: Any, y: Any) -> Any:
    """Return the difference of the means of two samples, column by column."""
    return _numbers(x).mean(axis=0) - _numbers(y).mean(axis=0)


def weighted_mean(x: Any, weights: Any) -> Any:
    """Return the weighted mean."""
    return np.average(_numbers(x), weights=weights)


def weighted_variance(x: Any, weights: Any) -> Any:
    """Return the weighted variance about the weighted mean."""
    with np.errstate(all="ignore"):
        return np.average((_numbers(x) - weighted_mean(x, weights)) ** 2, weights=weights)


def vectorised_mean(x: Any, axis: int = -1) -> Any:
    """Return the means along an axis."""
    return np.mean(_numbers(x), axis=axis)


def mean_by_choice(x: Any, weights: Any = None) -> Any:
    """Return the mean, weighted where weights are given."""
    return np.average(_numbers(x), weights=weights)


def variance_by_choice(x: Any, weights: Any = None) -> Any:
    """Return the variance, weighted where weights are given."""
    with np.errstate(all="ignore"):
        return np.average((_numbers(x) - mean_by_choice(x, weights)) ** 2, weights=weights)


def range_by_choice(x: Any, axis: int | None = None) -> Any:
    """Return the range of all numbers, or along an axis."""
    return np.ptp(_numbers(x), axis=axis)


def power_mean(x: Any, power: float, weights: Any = None, axis: int | None = None) -> Any:
    """Return the mean of a power of the absolute numbers, with options that users bind."""
    with np.errstate(all="ignore"):
        return np.average(np.abs(_numbers(x)) ** power, weights=weights, axis=axis)


def mean_of_index(x: Any) -> Any:
    """Return the mean of the labels of a series, which here are its numbers, or of the numbers of anything else."""
    return _numbers(x.index if hasattr(x, "iloc") else x).mean()

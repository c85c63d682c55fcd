"""Tests of the simulation errors of ABC; its ends are compared with R's in `tests/intervals/test_intervals.py`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.estimators import ESTIMATORS
from orthoboot.estimators.estimation import Estimation
from orthoboot.intervals.abc import Abc, _curve, _Tilt

TAILS = (0.025, 0.975)
CASES = {
    "ratio": (np.random.default_rng(4).exponential(size=(20, 2)), ob.ratio),
    "trimmed mean": (np.append(np.random.default_rng(5).standard_normal(37), [9.0, 12.0, 15.0]), ob.trimmed_mean(0.1)),
    "variance": (np.random.default_rng(6).exponential(size=30), ob.variance),
}


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("name", CASES)
def test_the_error_of_an_end_is_that_of_the_bias_times_what_it_moves(name: str) -> None:
    data, statistic = CASES[name]
    result = ob.bootstrap(data, statistic, n_resamples=10, control="linear", rng=0)
    estimation = Estimation(result.run, result.replicates, ESTIMATORS["orthogonal"])
    ends, tilt = Abc().ends(estimation, TAILS), _Tilt(result.run)
    curve, step = _curve(estimation, tilt), 0.05
    for probability, reported in zip(TAILS, (ends.low_error, ends.high_error), strict=True):
        moved = (replace(curve, shift=curve.shift + sign * step) for sign in (-1, 1))
        low, high = (tilt.values(each.position(probability)) for each in moved)
        slope = (high - low) / (2 * step * tilt.sigma)
        assert reported[0] > 0
        # The slope is a difference over a twentieth of the way to the end.
        np.testing.assert_allclose(reported, slope * estimation.error.bias, rtol=0.2)


def test_a_mean_has_the_interval_of_a_function_of_means_that_is_evaluated_at_tilted_weights() -> None:
    x = np.random.default_rng(7).exponential(size=(40, 2))
    by_evaluations = ob.function_of_means(lambda x: x, lambda means: means)
    found, expected = (ob.bootstrap(x, f, method="abc", n_resamples=10, rng=0) for f in (ob.mean, by_evaluations))
    assert found.run.has_no_remainder
    assert not expected.run.has_no_remainder
    scale = np.asarray(expected.standard_error)
    # The curvature of the latter is rounding over squared steps of a thousandth of a standard error.
    allowed = 4 * np.finfo(float).eps * np.abs(x).max() / 1e-6
    for one, other in zip(found.confidence_interval, expected.confidence_interval, strict=True):
        np.testing.assert_allclose((one - other) / scale, 0, atol=allowed / scale.min())


def test_the_interval_of_a_mean_far_from_zero_is_moved_and_no_more() -> None:
    x, offset = np.random.default_rng(7).exponential(size=(40, 2)), 1e8
    near, far = (ob.bootstrap(data, ob.mean, method="abc", n_resamples=10, rng=0) for data in (x, x + offset))
    for one, other in zip(near.confidence_interval, far.confidence_interval, strict=True):
        # Each number of the data, and the end itself, lies half a unit in the last place of the offset away.
        np.testing.assert_allclose(other - offset, one, rtol=0, atol=4 * np.spacing(offset))


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_groups_of_unequal_size_leave_a_mean_its_remainder() -> None:
    x, groups = np.arange(30.0), np.repeat(np.arange(8), [1, 2, 3, 4, 5, 5, 5, 5])
    result = ob.bootstrap(x, ob.mean, groups=groups, rng=0)
    assert not result.run.has_no_remainder
    assert result.bias != 0

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from orthoboot.arrays.passes import Ranges
from orthoboot.data.frame import Frame
from orthoboot.data.samples import read


@pytest.mark.parametrize(("largest", "unit"), [(0.0, 1.0), (1.0, 2.0), (0.75, 1.0), (3.0, 4.0), (4.0, 8.0)])
def test_deviations_are_below_one_in_the_power_of_two_next_above_them(largest, unit):
    zero, ends = np.zeros(1), np.array([largest])
    frame = Frame(2, Ranges(-ends, ends), (zero, zero))
    assert frame.deviation_unit == unit
    assert (frame.largest_deviation < frame.deviation_unit).all()
    # No digit is lost.
    assert frame.largest_deviation * (1 / frame.deviation_unit) * frame.deviation_unit == frame.largest_deviation


@pytest.mark.parametrize("n_rows", [1000, 100_000], ids=["short", "long"])
@pytest.mark.parametrize("scale", [1.0, 2.0**300])
def test_deviations_keep_their_digits_and_constant_columns_have_none(n_rows, scale):
    noise = np.random.default_rng(0).uniform(size=n_rows)
    # Sorted, so that the first rows are far from the mean of all.
    columns = np.column_stack([1e6 + np.sort(noise), np.full(n_rows, 0.1), np.arange(n_rows)]) * scale
    frame = read(columns).frame
    deviations = frame.deviations(columns)
    assert not deviations[:, 1].any()
    # Differences of such numbers are exact, and the rest of the mean is rounded once, as each deviation is.
    spread = np.ptp(columns[:, [0, 2]], axis=0) / frame.unit[[0, 2]]
    totals = np.array([math.fsum(deviations[:, 0]), math.fsum(deviations[:, 2])])
    assert (np.abs(totals) <= 4 * n_rows * np.finfo(float).eps * spread).all()
    expected = exact_deviations(columns[:, 0] / frame.unit[0])
    np.testing.assert_allclose(deviations[:, 0], expected, rtol=0, atol=4 * np.finfo(float).eps * spread[0])


def exact_deviations(numbers):
    """Return the deviations from the mean in exact arithmetic, rounded once."""
    exact = [Fraction(number) for number in numbers.tolist()]
    mean = sum(exact) / len(exact)
    return np.array([float(number - mean) for number in exact])

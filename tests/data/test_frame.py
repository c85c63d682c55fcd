from __future__ import annotations

import numpy as np
import pytest

from orthoboot.arrays.passes import Ranges
from orthoboot.data.frame import Frame


@pytest.mark.parametrize(("largest", "unit"), [(0.0, 1.0), (1.0, 2.0), (0.75, 1.0), (3.0, 4.0), (4.0, 8.0)])
def test_deviations_are_below_one_in_the_power_of_two_next_above_them(largest, unit):
    zero, ends = np.zeros(1), np.array([largest])
    frame = Frame(2, Ranges(-ends, ends), (zero, zero))
    assert frame.deviation_unit == unit
    assert (frame.largest_deviation < frame.deviation_unit).all()
    # No digit is lost.
    assert frame.largest_deviation * (1 / frame.deviation_unit) * frame.deviation_unit == frame.largest_deviation

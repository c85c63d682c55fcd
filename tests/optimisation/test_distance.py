"""The distance of a fit from where it should be, in standard errors."""

from __future__ import annotations

import numpy as np
import pytest

from orthoboot.optimisation.distance import distance_in_errors

INFLUENCE = np.random.default_rng(0).normal(size=(400, 3)) * [1.0, 10.0, 0.1]


def test_the_largest_shift_counts_in_units_of_its_own_output():
    errors = np.sqrt((INFLUENCE - INFLUENCE.mean(axis=0)).var(axis=0) / 400)
    assert distance_in_errors(np.array([0.5, -2.0, 1.0]) * errors, INFLUENCE) == pytest.approx(2.0)


def test_a_constant_in_the_influence_does_not_matter():
    shifts = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(distance_in_errors(shifts, INFLUENCE + 5), distance_in_errors(shifts, INFLUENCE))


def test_an_output_that_does_not_vary_does_not_count():
    assert distance_in_errors(np.array([1.0, 1.0, 1.0]), np.zeros((5, 3))) == 0.0
    one = INFLUENCE * [1.0, 0.0, 0.0]
    assert distance_in_errors(np.array([0.0, 9.0, 9.0]), one) == 0.0

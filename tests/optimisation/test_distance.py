"""Distances in units of standard errors."""

from __future__ import annotations

import numpy as np

from orthoboot.optimisation.distance import largest_shift

INFLUENCE = np.random.default_rng(0).standard_normal((50, 3)) * [1.0, 10.0, 0.0]
ERRORS = INFLUENCE.std(axis=0) / np.sqrt(50)


def test_the_largest_shift_counts_whatever_its_sign() -> None:
    assert largest_shift(np.array([-2.0, 3.0, 0.0]) * ERRORS, INFLUENCE) == 3.0
    assert largest_shift(np.array([-2.0, 1.0, 0.0]) * ERRORS, INFLUENCE) == 2.0


def test_outputs_that_do_not_vary_are_left_out() -> None:
    assert largest_shift(np.array([0.0, 0.0, 7.0]), INFLUENCE) == 0.0
    assert largest_shift(np.array([7.0]), INFLUENCE[:, 2:]) == 0.0


def test_the_mean_of_the_influence_does_not_matter() -> None:
    shifts = np.array([1.0, 2.0])
    np.testing.assert_allclose(largest_shift(shifts, INFLUENCE[:, :2] + 5.0), largest_shift(shifts, INFLUENCE[:, :2]))

"""The first Newton steps of many searches: roots of numbers, whose steps are known."""

from __future__ import annotations

import numpy as np

from orthoboot.optimisation.first_steps import MOST_STEPS, Steps, StepsFrom, ends_of_first_steps
from orthoboot.typing import FloatArray, IntArray


def towards_roots(numbers: FloatArray, taken: list[int] | None = None) -> StepsFrom:
    """Return Newton steps towards the roots of numbers, one search for each; none from points below zero."""

    def steps_from(points: FloatArray, places: IntArray) -> Steps:
        if taken is not None:
            taken.append(len(places))
        step = (numbers[places, np.newaxis] / points - points) / 2
        return Steps(np.where(points > 0, step, np.nan), step[:, 0] ** 2)

    return steps_from


def test_three_steps_end_at_the_roots_and_no_more_are_taken() -> None:
    numbers, taken = np.array([0.9, 1.0, 1.1]), list[int]()
    found = ends_of_first_steps(towards_roots(numbers, taken), np.ones(1), 3)
    np.testing.assert_allclose(found[:, 0], np.sqrt(numbers), rtol=1e-11)
    assert taken == [3, 3, 3]


def test_only_those_that_are_far_from_their_end_go_on() -> None:
    numbers, taken = np.array([1.1, 1e8]), list[int]()
    found = ends_of_first_steps(towards_roots(numbers, taken), np.ones(1), 2)
    # The step after which a search settles is at most a fifth of the one before, and each squares the error.
    np.testing.assert_allclose(found[:, 0], np.sqrt(numbers), rtol=0.01)
    assert taken[:3] == [2, 2, 2]
    assert set(taken[3:]) == {1}


def test_one_whose_steps_do_not_shrink_has_no_end() -> None:
    taken = list[int]()

    def away(points: FloatArray, places: IntArray) -> Steps:
        taken.append(len(places))
        return Steps(np.ones_like(points), np.ones(len(points)))

    assert np.isnan(ends_of_first_steps(away, np.zeros(2), 4)).all()
    assert taken == [4] * MOST_STEPS


def test_a_step_to_where_there_is_none_is_taken_half_way_back() -> None:
    """Of 1/x - 2 Newton steps from 1.2 lead below zero, where it is not defined."""

    def steps_from(points: FloatArray, places: IntArray) -> Steps:
        step = points - 2 * points**2
        return Steps(np.where(points > 0, step, np.nan), step[:, 0] ** 2)

    np.testing.assert_allclose(ends_of_first_steps(steps_from, np.array([1.2]), 1), 0.5, rtol=0.01)


def test_linear_equations_take_their_one_step() -> None:
    taken = list[int]()

    def steps_from(points: FloatArray, places: IntArray) -> Steps:
        taken.append(len(places))
        return Steps(np.array([[5.0], [np.nan]]) - points, np.ones(2))

    found = ends_of_first_steps(steps_from, np.ones(1), 2, n_steps=1, most=1)
    np.testing.assert_array_equal(found, [[5.0], [np.nan]])
    assert taken == [2]

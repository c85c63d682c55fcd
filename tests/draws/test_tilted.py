"""Weights on a line through the data: several positions of one line at once."""

import numpy as np
import pytest

from orthoboot.draws.tilted import Tilt, TiltedBlockWeights

ROWS = 7
DIRECTION = np.random.default_rng(0).normal(size=(ROWS, 1))
VALUES = np.random.default_rng(1).normal(size=(ROWS, 3))
POSITIONS = np.array([0.5, -0.5, 1e-3, 2.0])


@pytest.fixture
def together():
    return Tilt((DIRECTION,)).to(POSITIONS)


def one_by_one(position):
    return Tilt((DIRECTION,)).to(np.array([position]))


@pytest.mark.parametrize(
    "quantity",
    [
        lambda resamples: resamples.sums(0, VALUES),
        lambda resamples: resamples.totals(0),
        lambda resamples: resamples.weights[0],
        lambda resamples: resamples.counts_at(0, np.array([1, 4])),
    ],
    ids=["sums", "totals", "weights", "counts_at"],
)
def test_positions_of_one_line_are_what_each_is_alone(together, quantity):
    alone = np.concatenate([quantity(one_by_one(position)) for position in POSITIONS])
    np.testing.assert_array_equal(quantity(together), alone)


def test_some_positions_of_one_line_are_those_of_the_batch(together):
    some = together.some(range(1, 3))
    assert len(some) == 2
    np.testing.assert_array_equal(some.sums(0, VALUES), together.sums(0, VALUES)[1:3])
    np.testing.assert_array_equal(some.weights[0], together.weights[0][1:3])


def test_some_of_several_lines_keep_their_own():
    directions = np.concatenate([DIRECTION, VALUES], axis=1)
    lines = Tilt((directions,)).to(POSITIONS)
    np.testing.assert_array_equal(lines.some(range(2, 4)).weights[0], lines.weights[0][2:4])


def test_weights_of_a_block_are_those_of_its_rows(together):
    weights = TiltedBlockWeights(lambda block: DIRECTION[block], POSITIONS)
    np.testing.assert_array_equal(weights([0, 3], 2, slice(2, 5)), together.weights[0][[0, 3], 2:5])

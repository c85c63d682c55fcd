"""Passes over long arrays give what numpy gives, for every shape and order in memory."""

from __future__ import annotations

import numpy as np
import pytest

from orthoboot.arrays.passes import column_sums, copied, extent_of, less, pieces, ranges, sums_of_squares


@pytest.fixture(params=[(1, 1), (7, 3), (600, 1), (700, 70), (70_001, 2), (40_000, 17)], ids=str)
def columns(request):
    return np.random.default_rng(3).standard_normal(request.param)


@pytest.mark.parametrize("order", ["C", "F"])
def test_ranges_and_sums_are_those_of_numpy(columns, order):
    columns = np.asarray(columns, order=order)
    found = ranges(columns)
    np.testing.assert_array_equal(found.low, columns.min(axis=0))
    np.testing.assert_array_equal(found.high, columns.max(axis=0))
    np.testing.assert_array_equal(found.largest, np.abs(columns).max(axis=0))
    # What rounding can make of n additions at most, in any order, twice.
    rounding = 2 * len(columns) * np.finfo(float).eps
    allowed = rounding * np.abs(columns).sum(axis=0)
    assert (np.abs(column_sums(columns) - columns.sum(axis=0)) <= allowed).all()
    centre = columns.mean(axis=0)
    expected = np.square(columns - centre).sum(axis=0)
    np.testing.assert_allclose(sums_of_squares(columns, centre), expected, rtol=rounding)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_one_pass_finds_ranges_and_sums_about_a_centre(columns, order, offset):
    columns = np.asarray(columns + offset, order=order)
    centre = np.full(columns.shape[1], offset)
    found = extent_of(columns, centre)
    np.testing.assert_array_equal(found.ranges, ranges(columns))
    # As far from zero as they are, the sums have the digits of the differences.
    allowed = 2 * len(columns) * np.finfo(float).eps * np.abs(columns - centre).sum(axis=0)
    assert (np.abs(found.sums - (columns - centre).sum(axis=0)) <= allowed).all()


def test_one_pass_in_one_thread_has_the_bits_of_many(monkeypatch):
    columns = np.random.default_rng(4).standard_normal((300_001, 2))
    found = extent_of(columns, np.ones(2))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    np.testing.assert_array_equal(extent_of(columns, np.ones(2)).sums, found.sums)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_shows_in_the_range(columns, value):
    columns[len(columns) // 2, -1] = value
    for found in (ranges(columns), extent_of(columns, np.zeros(columns.shape[1])).ranges):
        assert not np.isfinite(found.largest[-1])
        assert np.isfinite(found.largest[:-1]).all()


def test_pieces_are_all_rows_once():
    for n, width in [(1, 1), (511, 3), (100_000, 2), (1_000, 10_000)]:
        rows = np.concatenate([np.arange(n)[piece] for piece in pieces(n, width)])
        np.testing.assert_array_equal(rows, np.arange(n))


def test_the_input_is_not_changed(columns):
    before = columns.copy()
    sums_of_squares(columns, 1.0)
    np.testing.assert_array_equal(columns, before)


@pytest.mark.parametrize("order", ["C", "F"])
def test_differences_are_those_of_numpy(columns, order):
    columns = np.asarray(columns, order=order)
    centre = columns.mean(axis=0)
    np.testing.assert_array_equal(less(columns, centre), columns - centre)


@pytest.mark.parametrize("row", [0, 4000, 70_000])
def test_the_range_of_a_column_with_nan_is_nan(row):
    columns = np.random.default_rng(3).standard_normal((70_001, 3))
    columns[row, 1] = np.nan
    found = ranges(columns)
    assert np.isnan(found.low).tolist() == np.isnan(found.high).tolist() == [False, True, False]
    np.testing.assert_array_equal(found.low, columns.min(axis=0))
    np.testing.assert_array_equal(found.high, columns.max(axis=0))


LONG = 200_001


@pytest.mark.parametrize(
    "array",
    [
        np.arange(LONG, dtype=np.int32),
        np.arange(2.0 * LONG).reshape(LONG, 2),
        np.asfortranarray(np.arange(2.0 * LONG).reshape(LONG, 2)),
        np.arange(3.0 * LONG)[::3],
        np.array(["a", "bc"] * LONG),
        np.array([None, 1.5] * LONG, dtype=object),
        np.zeros(LONG, dtype=[("x", float), ("y", int)]),
        np.array(3.0),
        np.empty((0, 2)),
    ],
    ids=["integers", "rows", "columns", "strided", "text", "objects", "records", "one number", "no rows"],
)
def test_a_copy_is_that_of_numpy_and_shares_no_memory(array):
    array.flags.writeable = False
    copy, expected = copied(array), np.array(array)
    np.testing.assert_array_equal(copy, expected)
    assert (copy.dtype, copy.strides) == (expected.dtype, expected.strides)
    assert copy.flags.writeable
    assert not np.shares_memory(copy, array)

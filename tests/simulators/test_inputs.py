"""Draws by counter, and sums over them."""

from __future__ import annotations

import numpy as np
import pytest

from orthoboot.draws.random_counts import multinomial_counts
from orthoboot.simulators.inputs import empirical_input
from orthoboot.simulators.runs import partners, resamples_of

KEY = (3, 4)
X = np.random.default_rng(0).exponential(size=40)


@pytest.fixture
def entry():
    return empirical_input("x", X)


def test_a_draw_depends_on_its_run_and_number_alone(entry):
    whole = entry.positions(KEY, 0, range(20), 30, 30)
    np.testing.assert_array_equal(entry.positions(KEY, 0, range(7, 9), 30, 30), whole[7:9])
    np.testing.assert_array_equal(entry.positions(KEY, 0, [11], 10, 30), whole[11:12, :10])
    assert (entry.positions(KEY, 1, range(20), 30, 30) != whole).any()


def test_sums_by_counts_are_those_draw_by_draw(entry):
    ranks = entry.positions(KEY, 0, range(50), 12, 12)
    used = np.random.default_rng(1).integers(0, 13, 50)
    by_counts, by_draws = entry._sums_of_counts(ranks, used), entry._sums_of_draws(ranks, used)
    literal = np.array([entry.loadings[row[:t]].sum(axis=0) for row, t in zip(ranks, used, strict=True)])
    for found in (by_counts, by_draws):
        np.testing.assert_allclose(found.features, literal, atol=1e-10)
    np.testing.assert_allclose(by_counts.products, by_draws.products, atol=1e-10)
    squares = [(np.bincount(row[:t], minlength=40) ** 2).sum() for row, t in zip(ranks, used, strict=True)]
    np.testing.assert_array_equal(by_counts.squared_counts, squares)
    np.testing.assert_array_equal(by_draws.squared_counts, squares)


def test_sums_do_not_depend_on_the_pieces(entry, monkeypatch):
    ranks, used = entry.positions(KEY, 0, range(50), 12, 12), np.full(50, 12)
    whole = entry.sums(ranks, used)
    monkeypatch.setattr("orthoboot.simulators.inputs._COUNTS_AT_ONCE", 200)
    for found, expected in zip(entry.sums(ranks, used), whole, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_run_under_a_resample_has_the_rows_of_the_same_ranks(entry):
    ranks = entry.positions(KEY, 0, range(4), 6, 6)
    found = entry.resampled_values(KEY, 1, [5, 5, 6, 6], ranks)
    for place, resample in enumerate([5, 5, 6, 6]):
        counts = multinomial_counts(KEY, 1, [resample], 40)[0].astype(int)
        ordered = np.sort(np.repeat(np.sort(X), counts))
        np.testing.assert_array_equal(found[place], ordered[ranks[place]])


def test_numbers_of_rows_come_back_in_the_order_of_the_data(entry):
    np.testing.assert_array_equal(entry.in_data_order(entry.rows)[:, 0], X)


@pytest.mark.parametrize("n_base", [2, 10, 51])
def test_every_resample_of_a_sweep_has_two_runs_and_no_two_runs_meet_twice(n_base):
    n_base = n_base // 2 * 2
    met = set()
    for sweep in range(n_base // 2):
        first, second = partners(sweep, n_base)
        of_first, of_second = (resamples_of(sweep, n_base, runs) for runs in (first, second))
        np.testing.assert_array_equal(of_first, of_second)
        np.testing.assert_array_equal(of_first, sweep * (n_base // 2) + np.arange(n_base // 2))
        pairs = set(zip(first.tolist(), second.tolist(), strict=True))
        assert not met & pairs
        met |= pairs

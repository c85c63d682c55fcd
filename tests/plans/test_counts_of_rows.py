"""The counts of some rows are those that all rows' counts have there."""

from __future__ import annotations

import numpy as np
import pytest

from orthoboot.draws import poisson
from orthoboot.draws.resamples import Resamples, UnitResamples
from orthoboot.plans import piecewise_sums, plan_for
from orthoboot.plans.counts_of_rows import multinomial_counts_at
from orthoboot.plans.iid import Iid

KEY = (3, 4)
NUMBERS = [2, 3, 9]


@pytest.mark.parametrize("n", [50, 70, 9000, 300_000])
@pytest.mark.parametrize("m", [0, 1, 40, 5000])
def test_counts_of_some_rows_are_those_of_all(n, m):
    rows = np.unique(np.random.default_rng(m).integers(0, n, m))
    np.testing.assert_array_equal(Iid(n).counts_at(KEY, 1, NUMBERS, rows), Iid(n).counts(KEY, 1, NUMBERS)[:, rows])


def test_rejected_poisson_totals_are_drawn_again(monkeypatch):
    """At a rate of one every second total exceeds n."""
    monkeypatch.setattr(poisson, "_SPARE_DEVIATIONS", (0.01, 0.01))
    for function in (poisson.inversion, piecewise_sums.settled):
        function.cache_clear()
    try:
        n, rows = 20_001, np.arange(0, 20_001, 7)
        draws = piecewise_sums.settled(piecewise_sums.PoissonDraws(KEY, 0, tuple(range(20)), n))
        assert len(draws.again) > 3
        found = multinomial_counts_at(KEY, 0, range(20), n, rows)
        np.testing.assert_array_equal(found, Iid(n).counts(KEY, 0, range(20))[:, rows])
    finally:
        for function in (poisson.inversion, piecewise_sums.settled):
            function.cache_clear()


@pytest.mark.parametrize("options", [{}, {"strata": np.arange(60) % 3}, {"groups": np.arange(60) // 4}])
def test_resamples_of_every_plan_give_the_counts_of_some_rows(options):
    rows = np.array([0, 7, 59])
    plan = plan_for((60,), **options)
    expected = plan.resamples(KEY, NUMBERS).weights[0][:, rows]
    resamples = plan.resamples(KEY, NUMBERS)
    np.testing.assert_array_equal(resamples.counts_at(0, rows), expected)
    np.testing.assert_array_equal(resamples.sample(0).counts_at(0, rows), expected)
    assert len(resamples.weights[0]) == 3  # from here on all are known
    np.testing.assert_array_equal(resamples.counts_at(0, rows), expected)


def test_given_weights_and_the_data_themselves_have_counts_too():
    weights = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(Resamples((weights,)).counts_at(0, np.array([0, 2])), weights[:, [0, 2]])
    np.testing.assert_array_equal(UnitResamples((5,)).counts_at(0, np.array([1, 4])), [[1.0, 1.0]])

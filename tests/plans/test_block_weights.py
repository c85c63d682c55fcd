"""Counts of a block of rows are those of the whole."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from orthoboot.draws.random_counts import multinomial_counts, poisson_counts
from orthoboot.plans import Iid, Stratified
from orthoboot.plans.piecewise_sums import PoissonDraws, SettledDraws, settled

KEY = (11, 12)
N = 20_000


def block(n_rows: int) -> SimpleNamespace:
    return SimpleNamespace(sizes=(n_rows,))


@pytest.mark.parametrize(("start", "stop"), [(0, N), (0, 1), (8191, 8193), (5000, 19_999), (N - 1, N)])
@pytest.mark.parametrize("scheme", [Iid(N), Stratified(np.arange(N) % 3)], ids=lambda scheme: type(scheme).__name__)
def test_the_weights_of_a_block_are_those_of_its_rows(scheme, start, stop):
    weights = scheme.block_weights(KEY, 0, [4, 5, 9])
    found = weights([2, 0], start, block(stop - start))
    np.testing.assert_array_equal(found, scheme.counts(KEY, 0, [9, 4])[:, start:stop])


def test_every_row_that_is_thrown_is_counted_once_over_the_blocks():
    draws = settled(PoissonDraws(KEY, 0, (3, 4), N))
    starts = [0, 7, 8192, 8200, 15_000]
    parts = [draws.counts([0, 1], a, b - a) for a, b in zip(starts, [*starts[1:], N], strict=True)]
    np.testing.assert_array_equal(np.hstack(parts), multinomial_counts(KEY, 0, [3, 4], N))


def test_a_resample_that_was_rejected_has_the_counts_of_its_last_attempt():
    draws = PoissonDraws(KEY, 0, (3, 4), N)
    total = int(poisson_counts(KEY, 0, 4, N, start=0, stop=N, attempt=1).sum())
    first = settled(draws)
    rejected = SettledDraws(draws, {1: draws.again(1)}, (first.missing[0], N - total))
    found = rejected.counts([0, 1], 100, N - 100)
    expected = poisson_counts(KEY, 0, 4, N, start=0, stop=N, attempt=1)
    np.add.at(expected, draws.thrown(1, total), 1.0)
    np.testing.assert_array_equal(found[1], expected[100:])
    np.testing.assert_array_equal(found[0], multinomial_counts(KEY, 0, [3], N)[0, 100:])

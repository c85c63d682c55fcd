"""The draws of a stratum depend on its size and its number among the strata, and not on where its rows lie."""

from __future__ import annotations

import numpy as np
import pytest

from orthoboot.plans import Stratified
from orthoboot.plans.strata.streams import StrataStreams

KEY = (5, 6)
SIZES = [3, 5000, 4000, 4100, 1, 900, 4095, 4096, 2]
NUMBERS = [0, 1, 7]


def labels(seed=None):
    """Labels of strata of these sizes, in the order in which they first appear or with the others mixed."""
    ordered = np.repeat(np.arange(len(SIZES)), SIZES)
    if seed is None:
        return ordered
    mixed = np.random.default_rng(seed).permutation(ordered)
    return np.concatenate([np.arange(len(SIZES)), mixed])


def test_every_stratum_has_a_place_of_its_own_in_a_stream():
    streams = StrataStreams(np.array(SIZES))
    assert streams.numbers.tolist() == [0, 2, 0, 3, 0, 0, 0, 4, 1]
    assert streams.starts.tolist() == [0, 0, 3, 0, 4003, 4004, 4904, 0, 0]
    assert streams.rows.tolist() == [8999, 2, 5000, 4100, 4096]


def test_strata_keep_their_sizes_in_every_stream():
    counts = Stratified(labels()).counts(KEY, 0, NUMBERS)
    kept = [np.bincount(labels(), one).tolist() for one in counts]
    assert kept == [SIZES] * len(NUMBERS)


@pytest.mark.parametrize("seed", [1, 2])
def test_counts_follow_the_numbers_of_rows_within_their_strata(seed):
    """Whatever the order of the rows: the first row of a stratum has the first of its counts, and so on."""
    mixed = labels(seed)
    ordered = np.sort(mixed, kind="stable")
    expected = Stratified(ordered).counts(KEY, 2, NUMBERS)
    found = Stratified(mixed).counts(KEY, 2, NUMBERS)
    np.testing.assert_array_equal(found[:, np.argsort(mixed, kind="stable")], expected)


def test_strata_of_one_size_are_drawn_independently():
    """Correlations of n counts have a standard deviation of 1 / sqrt(n); one of 190 exceeds five with odds of 1e-4."""
    for size in (4096, 200):
        counts = Stratified(np.repeat(np.arange(20), size)).counts(KEY, 0, [3])[0].reshape(20, size)
        correlations = np.corrcoef(counts)[np.triu_indices(20, 1)]
        assert np.abs(correlations).max() < 5 / size**0.5


def test_samples_and_strata_share_no_stream():
    streams = StrataStreams(np.array([5000, 5000, 3]))
    found = {streams.stream(sample, number) for sample in range(50) for number in range(len(streams.rows))}
    assert len(found) == 150

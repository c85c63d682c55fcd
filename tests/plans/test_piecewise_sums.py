"""Sums over resamples of values that are computed in pieces are those of values that are held."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

from orthoboot.data.frame import frame_of
from orthoboot.data.pieces import RowsInPieces, SampleInPieces
from orthoboot.data.samples import read
from orthoboot.data.sources import MemorySource, Source
from orthoboot.draws import poisson
from orthoboot.draws.random_counts import multinomial_sums
from orthoboot.plans import piecewise_sums
from orthoboot.plans.piecewise_sums import PoissonDraws, settled

N, KEY, NUMBERS = 30_001, (5, 6), (0, 1, 2, 3, 7, 8, 9, 20)


def table():
    return np.random.default_rng(0).normal(size=(N, 3)) ** 3


def themselves(data):
    return data.arrays[0]


class InParts(Source):
    """Rows in parts of given sizes, that come a few at a time."""

    columns, shapes = (None,), ((3,),)

    def __init__(self, rows, sizes):
        self.rows, self.stops = rows, np.cumsum(sizes).tolist()
        self.n_parts = len(sizes)

    def each(self, task):
        for part, stop in enumerate(self.stops):
            rows = self.rows[0 if part == 0 else self.stops[part - 1] : stop]
            yield task(part, iter([(some,) for some in np.array_split(rows, 3)]))


def in_memory():
    data = read(table())
    source = MemorySource(data.arrays)
    return RowsInPieces(SampleInPieces(source, source.starts, N, data, (table()[:1],), (0,)), themselves, 3)


def in_parts(*sizes):
    source, whole = InParts(table(), sizes), frame_of([table()], read(table()).ranges)
    starts = tuple((np.cumsum(sizes) - sizes).tolist())
    return RowsInPieces(SampleInPieces(source, starts, N, whole, (table()[:1],), (0,)), themselves, 3)


@pytest.fixture(params=[(6.0, 6.0), (1.0, 1.0)], ids=["few rejected", "many rejected"])
def spare(request, monkeypatch):
    """With one deviation to spare, a sixth of the Poisson totals exceed the number of rows and are drawn anew."""
    monkeypatch.setattr(poisson, "_SPARE_DEVIATIONS", request.param)
    forget()
    yield request.param
    forget()


def forget():
    """Forget what was found with another law."""
    poisson.inversion.cache_clear()
    settled.cache_clear()


def test_in_memory_they_have_the_same_bits(spare):
    expected = multinomial_sums(KEY, 2, NUMBERS, table())
    assert np.array_equal(piecewise_sums.multinomial_sums(KEY, 2, NUMBERS, in_memory()), expected)


@pytest.mark.parametrize("sizes", [(N,), (5, 0, 8_192, 20_000, N - 28_197), (0, 29_999, 2)], ids=str)
def test_of_parts_they_differ_by_rounding(sizes, spare):
    expected = multinomial_sums(KEY, 2, NUMBERS, table())
    found = piecewise_sums.multinomial_sums(KEY, 2, NUMBERS, in_parts(*sizes))
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-9)


def test_rejected_totals_are_met_where_little_is_spared(spare):
    draws = settled(PoissonDraws(KEY, 2, tuple(range(60)), N))
    assert all(0 <= missing <= N for missing in draws.missing)
    assert (len(draws.again) > 0) == (spare == (1.0, 1.0))


def test_what_is_sent_to_a_part_does_not_hold_its_throws(spare):
    draws = settled(PoissonDraws(KEY, 2, NUMBERS, N))
    alone = pickle.dumps(draws)
    blocks = [(0, table())]
    assert np.array_equal(pickle.loads(alone).sums_of_values(iter(blocks), 3), draws.sums_of_values(iter(blocks), 3))
    assert len(pickle.dumps(draws)) == len(alone)


def test_totals_are_found_without_values(spare, monkeypatch):
    whole = piecewise_sums._totals(PoissonDraws(KEY, 2, NUMBERS, N))
    monkeypatch.setattr(piecewise_sums, "_ROWS_WITHOUT_DATA", 7_777)
    assert np.array_equal(piecewise_sums._totals(PoissonDraws(KEY, 2, NUMBERS, N)), whole)
    totals, sums = PoissonDraws(KEY, 2, NUMBERS, N).empty(3)
    PoissonDraws(KEY, 2, NUMBERS, N).add(0, np.ascontiguousarray(table().T), totals, sums)
    assert np.array_equal(totals, whole)


def test_values_that_are_mapped_are_summed_as_such():
    scaled = in_memory() * 2.0
    moved = in_memory().mapped(partial(np.add, 1.0))
    sums = piecewise_sums.multinomial_sums(KEY, 2, NUMBERS, in_memory())
    assert np.array_equal(piecewise_sums.multinomial_sums(KEY, 2, NUMBERS, scaled), 2 * sums)
    assert piecewise_sums.multinomial_sums(KEY, 2, NUMBERS, moved) == pytest.approx(sums + N, rel=1e-12)

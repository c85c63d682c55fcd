"""How often some rows are drawn, without the counts of all rows at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from orthoboot.data.sources import CHUNK
from orthoboot.draws.kernels import Kernels, for_stretches
from orthoboot.draws.poisson import inversion
from orthoboot.draws.random_counts import checked_rows
from orthoboot.plans.piecewise_sums import PoissonDraws, SettledDraws, settled
from orthoboot.typing import FloatArray, IntArray, Key

_MOST_CHUNKS = 32
"""Chunks whose counts are held at once: 2 MB."""


def multinomial_counts_at(key: Key, stream: int, replicates: Sequence[int], n: int, rows: IntArray) -> FloatArray:
    """Return the columns `rows` of `orthoboot.draws.random_counts.multinomial_counts`, shape ``(B, m)``.

    Chunks of rows none of which is asked for are drawn for their totals alone.

    Parameters
    ----------
    rows
        In ascending order, each once, shape ``(m,)``.
    """
    draws = settled(PoissonDraws(key, stream, tuple(replicates), checked_rows(n)))
    counts = np.empty((len(replicates), len(rows)))
    stretches = list(_stretches(rows))

    def draw(backend: Kernels, first: int, places: slice) -> None:
        for place in range(places.start, places.stop):
            _store_poisson_counts(backend, draws, place, rows, stretches, counts[place])
            _add_thrown(draws, place, rows, counts[place])

    for_stretches(replicates, sum(len(chunks) for chunks, _ in stretches) * CHUNK, draw)
    return counts


def _stretches(rows: IntArray) -> Iterator[tuple[range, slice]]:
    """Yield consecutive chunks that hold some of the rows, and the places of these rows."""
    chunks = np.unique(rows // CHUNK)
    runs = np.split(chunks, np.flatnonzero(np.diff(chunks) != 1) + 1) if chunks.size else []
    for run in runs:
        for first in range(0, len(run), _MOST_CHUNKS):
            some = run[first : first + _MOST_CHUNKS]
            stretch = range(int(some[0]), int(some[-1]) + 1)
            ends = np.searchsorted(rows, [stretch.start * CHUNK, stretch.stop * CHUNK]).tolist()
            yield stretch, slice(*ends)


def _store_poisson_counts(
    backend: Kernels,
    settled_draws: SettledDraws,
    place: int,
    rows: IntArray,
    stretches: Sequence[tuple[range, slice]],
    out: FloatArray,
) -> None:
    draws = settled_draws.again.get(place, settled_draws.draws)
    n, law, replicate = draws.n_rows, inversion(draws.n_rows), settled_draws.draws.replicates[place]
    for chunks, places in stretches:
        start, stop = chunks.start * CHUNK, min(chunks.stop * CHUNK, n)
        counts = np.empty(stop - start)
        backend.poisson_counts(*draws.key, draws.stream, replicate, draws.attempt, law, n, start, counts)
        out[places] = counts[rows[places] - start]


def _add_thrown(settled_draws: SettledDraws, place: int, rows: IntArray, out: FloatArray) -> None:
    if not len(rows):
        return
    draws = settled_draws.draws
    thrown = draws.thrown(place, draws.n_rows - settled_draws.missing[place])
    places = np.minimum(np.searchsorted(rows, thrown), len(rows) - 1)
    np.add.at(out, places[rows[places] == thrown], 1.0)

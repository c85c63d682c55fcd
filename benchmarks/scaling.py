"""Print what ours costs as the rows, the replicates and the threads grow, with the fitted exponents and a plot.

    python -m benchmarks.scaling [--only PATTERN] [--largest 1e7] [--out FILE.json] [--compare OLD.json] [--rounds 5]

- rows: the variance of n numbers and the correlation of n pairs, ten replicates, from 1e3 to ``--largest`` (the goals
  want 1e8, which takes 1.6 GB on disc and minutes), beside reading the data once. From ``--mapped-from`` rows on they
  are in a file that is mapped into memory, in ``--folder``. The file was read before, and comes from the page cache; in
  rows "from disc" both calls read it anew.
- replicates: the variance of 1e5 rows from ten replicates to 10,000, fitted from 300 on, where fixed costs fade.
- threads: one more replicate of the variance, by the slope between 10 and 60 of them, beside its random numbers (the
  library's generator, as many words as rows take) and reading the data, with 1, 2, 4, ... threads up to the cores.

Exponents are slopes of log seconds on log size, by least squares, from 1e5 rows on; and those of the time beyond a
fixed cost that is fitted with them, to all sizes. With ``--out`` the plot is drawn beside the JSON file, as SVG. Peak
memory is that of a child process, without the pages of mapped files.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import pathlib
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, ClassVar

import numpy as np
from benchmarks import floor, memory
from benchmarks.record import OURS, Contender, Fit, Record, Row, machine, read, regressions, write
from benchmarks.side_by_side import Pairs
from benchmarks.stopwatch import Stopwatch, blas_threads, is_compiled, one_more, paired, timed, warm_up
from benchmarks.tables import SCALING_HEAD, scaling_notes, scaling_row
from scipy.optimize import least_squares

import orthoboot as ob
from orthoboot.typing import FloatArray

ROUNDS = 5
QUICK_LARGEST = 30_000
STATISTICS = {"variance": (ob.variance, 1), "correlation": (ob.correlation, 2)}
"""Each statistic with its number of columns."""

FITTED_ROWS, FITTED_RESAMPLES = 100_000, 300
"""From where on exponents are fitted."""
FEWEST_BEYOND_FIXED = 6
"""Sizes that tell a fixed cost, a slope and an exponent from each other."""
RESAMPLES = (10, 30, 100, 300, 1000, 3000, 10_000)
ROWS_OF_RESAMPLES = 100_000
ROWS_OF_THREADS = (1_000_000, 10_000_000)
SLOPE = (10, 60)
"""Between which numbers of replicates the cost of one more is taken."""

READ_AT_ONCE = 1 << 20
"""Numbers of a file that are added up in one piece: 8 MB."""

READING, FLOOR, ONE_THREAD = "reading", "random numbers + reading", "one thread"
MOST_READINGS, GOAL_ROWS = 12, 100_000_000
"""The goal from so many rows on: ten replicates in this many times the time of reading the file."""
MOST_FLOORS = 2
"""The goal for one more replicate."""
FROM_TWO_THREADS = 1.8


# Data


@dataclass(frozen=True)
class Place:
    """Where data lie that are too large to be made in memory."""

    folder: pathlib.Path
    mapped_from: int
    """Rows."""

    can_forget: ClassVar[bool] = hasattr(os, "posix_fadvise")
    """Whether the system can be asked to forget what it has read of a file."""

    def data(self, n_rows: int, n_columns: int) -> FloatArray:
        """Return exponential numbers, ``(n,)`` or ``(n, 2)``, in memory or mapped."""
        if not self.is_mapped(n_rows):
            return np.random.default_rng(0).exponential(size=_shape(n_rows, n_columns))
        file = self._file(n_rows, n_columns)
        if not file.exists():
            self._write(file, n_rows, n_columns)
        return np.load(file, mmap_mode="r")

    def is_mapped(self, n_rows: int) -> bool:
        """Return whether so many rows are in a file."""
        return n_rows >= self.mapped_from

    def forget(self, n_rows: int, n_columns: int) -> None:
        """Have the system forget the pages of the file, so that the next call reads it from disc."""
        descriptor = os.open(self._file(n_rows, n_columns), os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)

    def _file(self, n_rows: int, n_columns: int) -> pathlib.Path:
        return self.folder / f"{n_rows}-{n_columns}.npy"

    def _write(self, file: pathlib.Path, n_rows: int, n_columns: int) -> None:
        rng = np.random.default_rng(0)
        out = np.lib.format.open_memmap(file, "w+", np.float64, _shape(n_rows, n_columns))
        for start in range(0, n_rows, READ_AT_ONCE):
            part = out[start : start + READ_AT_ONCE]
            part[...] = rng.exponential(size=part.shape)
        out.flush()
        os.sync()  # pages that are not on disc yet cannot be forgotten


def _shape(n_rows: int, n_columns: int) -> tuple[int, ...]:
    return (n_rows,) if n_columns == 1 else (n_rows, n_columns)


def reading(data: FloatArray) -> float:
    """Return the sum of all numbers, a piece at a time: what it takes to see each of them once."""
    numbers = data.reshape(-1)
    pieces = (numbers[start : start + READ_AT_ONCE] for start in range(0, numbers.size, READ_AT_ONCE))
    return float(sum(piece.sum() for piece in pieces))


# Rows


_seeds = itertools.count()


def _ten_replicates(statistic: Any, data: FloatArray) -> object:
    """Return ten replicates of a seed of their own: what is known of the draws of a seed may be kept for the next."""
    return ob.bootstrap(data, statistic, n_resamples=10, rng=next(_seeds))


def rows_in_n(name: str, sizes: Iterable[int], place: Place, n_rounds: int) -> Iterator[Row]:
    """Yield the cost of ten replicates at each number of rows, beside reading the data."""
    statistic, n_columns = STATISTICS[name]
    for n_rows in sizes:
        data = place.data(n_rows, n_columns)
        ours = partial(_ten_replicates, statistic, data)
        row = Row(f"{name}, n = {_short(n_rows)}, B = 10", n_rows, (), series=f"{name} in n", lower_is_better=True)
        row = _beside(row, 10, timed(ours), READING, timed(partial(reading, data)), n_rounds)
        goal = MOST_READINGS if n_rows >= GOAL_ROWS else None
        yield replace(row, goal=goal, contenders=(_with_memory(row.ours, name, n_rows, place), *row.contenders[1:]))
        del data, ours  # pages of a mapped file are forgotten only where nothing maps them
        if place.is_mapped(n_rows) and place.can_forget:
            cold = Row(f"{name}, n = {_short(n_rows)}, B = 10, from disc", n_rows, (), lower_is_better=True, goal=goal)
            yield _beside(cold, 10, *_from_disc(name, n_rows, place), n_rounds)


def _from_disc(name: str, n_rows: int, place: Place) -> tuple[Stopwatch, str, Stopwatch]:
    """Return stopwatches of ten replicates and of reading the file, both of a file that nobody has read before."""
    statistic, n_columns = STATISTICS[name]

    def cold(call: Callable[[FloatArray], object]) -> Stopwatch:
        def seconds() -> float:
            place.forget(n_rows, n_columns)
            return timed(lambda: call(place.data(n_rows, n_columns)))()

        return seconds

    return cold(partial(_ten_replicates, statistic)), READING, cold(reading)


def rows_in_resamples(sizes: Iterable[int], n_rows: int, n_rounds: int) -> Iterator[Row]:
    """Yield the cost of the variance at each number of replicates."""
    x = np.random.default_rng(0).exponential(size=n_rows)
    for n_resamples in sizes:
        ours = timed(partial(ob.bootstrap, x, ob.variance, n_resamples=n_resamples, rng=0))
        ours()
        seconds = statistics.median(ours() for _ in range(n_rounds))
        name = f"variance, n = {_short(n_rows)}, B = {n_resamples:,}"
        contender = Contender(OURS, n_resamples, seconds)
        yield Row(name, n_rows, (contender,), n_rounds=n_rounds, series="variance in B")


def rows_in_threads(n_rows: int, threads: Iterable[int], n_rounds: int) -> Iterator[Row]:
    """Yield the cost of one more replicate beside its floor, and of several threads beside one."""
    x = np.random.default_rng(0).exponential(size=n_rows)
    ob.bootstrap(x, ob.variance, rng=0)  # makes as many threads as there are cores, before their number is limited
    kernel = floor.kernel()
    for n_threads in threads:
        name = f"one more replicate of the variance, n = {_short(n_rows)}, threads = {n_threads}"
        row = Row(name, n_rows, (), series=f"replicate in threads, n = {_short(n_rows)}", n_threads=n_threads)
        ours = one_more(_in_threads(x, n_threads), *SLOPE)
        if kernel is not None:
            least = floor.stopwatch(kernel, x, n_threads)
            goal = MOST_FLOORS if n_threads <= 2 else None
            yield _beside(replace(row, goal=goal, lower_is_better=True), None, ours, FLOOR, least, n_rounds)
        if n_threads > 1:
            one = one_more(_in_threads(x, 1), *SLOPE)
            row = replace(row, name=f"{name}, faster than one", goal=FROM_TWO_THREADS if n_threads == 2 else None)
            yield _beside(replace(row, series="", lower_is_better=False), None, ours, ONE_THREAD, one, n_rounds)


def _in_threads(x: FloatArray, n_threads: int) -> Callable[[int], object]:
    """Return the variance in so many threads, by the variable that the library looks at in every call."""

    def call(n_resamples: int) -> object:
        before = os.environ.get("OMP_NUM_THREADS")
        os.environ["OMP_NUM_THREADS"] = str(n_threads)
        try:
            return ob.bootstrap(x, ob.variance, n_resamples=n_resamples, rng=0)
        finally:
            del os.environ["OMP_NUM_THREADS"]
            if before is not None:
                os.environ["OMP_NUM_THREADS"] = before

    return call


def _beside(row: Row, n_resamples: int | None, ours: Stopwatch, name: str, other: Stopwatch, n_rounds: int) -> Row:
    """Return a row with the pairs of ours and another."""
    pairs = paired(row.name, ours, other, n_rounds)
    turned = Pairs(row.name, [(second, first) for first, second in pairs.seconds])
    ratio = turned.ratios if row.lower_is_better else pairs.ratios
    contenders = (
        Contender(OURS, n_resamples, pairs.medians[0]),
        Contender(name, seconds=pairs.medians[1], ratio=ratio),
    )
    return replace(row, contenders=contenders, n_rounds=n_rounds)


def _short(number: int) -> str:
    return f"{number:.0e}".replace("e+0", "e")


# Memory, in a child


def _with_memory(ours: Contender, name: str, n_rows: int, place: Place) -> Contender:
    program = "from benchmarks.scaling import serve_memory; serve_memory()"
    peak = memory.peak(program, name, str(n_rows), str(place.folder), str(place.mapped_from))
    if peak is None:
        return ours
    is_mapped = place.is_mapped(n_rows) and peak.without_files is not None
    return replace(ours, peak_mb=peak.without_files if is_mapped else peak.resident)


def serve_memory() -> None:
    """Measure the call that the arguments name, after one of few rows."""
    name, n_rows, folder, mapped_from = sys.argv[1:]
    warnings.simplefilter("ignore")
    statistic, n_columns = STATISTICS[name]
    place = Place(pathlib.Path(folder), int(mapped_from))
    warm_up()
    ob.bootstrap(np.random.default_rng(0).exponential(size=_shape(1000, n_columns)), statistic, rng=0)
    memory.serve(partial(ob.bootstrap, place.data(int(n_rows), n_columns), statistic, n_resamples=10, rng=0))


# Exponents


def fits(rows: Sequence[Row]) -> Iterator[Fit]:
    """Yield the exponent of every series in n and in B that has three sizes to fit."""
    for series in dict.fromkeys(row.series for row in rows):
        if series.endswith(" in n"):
            yield from _fit(
                series, [(row.n_rows, row.ours.seconds) for row in rows if row.series == series], FITTED_ROWS
            )
        if series.endswith(" in B"):
            sizes = [(row.ours.n_resamples, row.ours.seconds) for row in rows if row.series == series]
            yield from _fit(series, sizes, FITTED_RESAMPLES)


def _fit(series: str, found: Iterable[tuple[Any, Any]], smallest: int) -> Iterator[Fit]:
    every = list(found)
    points = [(math.log(size), math.log(seconds)) for size, seconds in every if size >= smallest]
    if len(points) >= 3:
        slope, _ = np.polyfit(*zip(*points, strict=True), deg=1)
        fixed, growth = _beyond_fixed(every) if len(every) >= FEWEST_BEYOND_FIXED else (None, None)
        yield Fit(series, float(slope), smallest, fixed, growth)


def _beyond_fixed(found: Sequence[tuple[Any, Any]]) -> tuple[float, float]:
    """Return the fixed cost in seconds and the exponent of what is beyond it, by least squares of log seconds."""
    sizes, seconds = np.array(found, dtype=np.float64).T

    def residuals(parameters: FloatArray) -> FloatArray:
        log_fixed, log_last, growth = parameters
        beyond = log_last + growth * np.log(sizes / sizes.max())
        return np.asarray(np.logaddexp(log_fixed, beyond) - np.log(seconds))

    start = [math.log(seconds.min()), math.log(seconds.max()), 1.0]
    log_fixed, _, growth = least_squares(residuals, start).x
    return math.exp(log_fixed), float(growth)


# The plot


def draw(record: Record, file: pathlib.Path) -> None:
    """Draw seconds against rows and replicates, and a replicate's against threads."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for axis, ending, label in zip(
        axes, (" in n", " in B", " threads"), ("rows", "replicates", "threads"), strict=True
    ):
        _draw_panel(axis, record, ending)
        axis.set(xlabel=label, ylabel="seconds")
    figure.savefig(file)
    pyplot.close(figure)


def _draw_panel(axis: Any, record: Record, ending: str) -> None:
    exponents = {fit.name: f", exponent {fit.exponent:.2f}" for fit in record.fits}
    for series in dict.fromkeys(row.series for row in record.rows if ending in row.series):
        rows = [row for row in record.rows if row.series == series]
        sizes = [{" in n": row.n_rows, " in B": row.ours.n_resamples}.get(ending, row.n_threads) for row in rows]
        axis.loglog(sizes, [row.ours.seconds for row in rows], "o-", label=series + exponents.get(series, ""))
        rivals = [row.rival for row in rows if row.rival]
        if len(rivals) == len(rows):
            axis.loglog(sizes, [rival.seconds for rival in rivals], ":", label=f"{rivals[0].name}, {series}")
    if axis.lines:
        axis.legend(fontsize="x-small")


# The run


def sizes_up_to(largest: int) -> list[int]:
    """Return 1e3, 3e3, 1e4, ... up to the largest."""
    candidates = [digit * 10**power for power in range(3, 10) for digit in (1, 3)]
    return [size for size in candidates if size <= largest]


def run(largest: int, place: Place, n_rounds: int, *, pattern: str = "*", quick: bool = False) -> Record:
    """Return the record of the series whose names match, each row told as it comes."""
    warm_up()
    rows = []
    with warnings.catch_warnings(), blas_threads():
        warnings.simplefilter("ignore")
        for row in _rows(largest, place, n_rounds, pattern, quick):
            rows.append(row)
            print(scaling_row(row), flush=True)
    return Record("scaling", machine(compiled=is_compiled()), tuple(rows), quick, tuple(fits(rows)))


def _rows(largest: int, place: Place, n_rounds: int, pattern: str, quick: bool) -> Iterator[Row]:
    for name in STATISTICS:
        if fnmatchcase(f"{name} in n", pattern):
            yield from rows_in_n(name, sizes_up_to(largest), place, n_rounds)
    if fnmatchcase("variance in B", pattern):
        resamples = RESAMPLES[:-2] if quick else RESAMPLES
        yield from rows_in_resamples(resamples, min(ROWS_OF_RESAMPLES, largest), n_rounds)
    if fnmatchcase("replicate in threads", pattern):
        for n_rows in ROWS_OF_THREADS:
            if n_rows <= max(largest, ROWS_OF_THREADS[0]) and not quick:
                yield from rows_in_threads(n_rows, _thread_numbers(), n_rounds)


def _thread_numbers() -> list[int]:
    """Return 1, 2, 4, ... up to the cores."""
    cores = machine(compiled=False).cores
    return [1 << power for power in range(cores.bit_length()) if 1 << power <= cores]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program."""
    options = _options(arguments)
    old = None if options.compare is None else read(options.compare)
    largest = min(options.largest, QUICK_LARGEST) if options.quick else options.largest
    print(SCALING_HEAD, flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        place = Place(pathlib.Path(folder), options.mapped_from)
        found = run(largest, place, options.rounds, pattern=options.only, quick=options.quick)
    print("\n" + scaling_notes(found))
    if options.out is not None:
        write(found, options.out)
        draw(found, options.out.with_suffix(".svg"))
    if old is not None and (slower := regressions(old, found)):
        raise SystemExit("\nslower than before:\n" + "\n".join(slower))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="*", metavar="PATTERN", help="the series, such as '* in n'")
    parser.add_argument("--largest", type=_whole, default=10_000_000, metavar="ROWS", help="such as 1e8")
    parser.add_argument("--mapped-from", type=_whole, default=10_000_000, metavar="ROWS", help="from where in a file")
    parser.add_argument("--folder", type=pathlib.Path, help="where the files are made; by default the system's")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--compare", type=pathlib.Path, metavar="OLD.json", help="ends with 1 where a ratio fell")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the program")
    return parser.parse_args(arguments)


def _whole(text: str) -> int:
    """Return a number of rows that may be written 1e8."""
    return int(float(text))


if __name__ == "__main__":
    main()

"""Print how ours compares with scipy, arch, resample, scikit-learn and foostrap, side by side in one process.

    python -m benchmarks.peers [--only PATTERN] [--out FILE.json] [--compare OLD.json] [--rounds 5] [--quick]

Calls alternate between ours and a peer, so that whatever else the machine does slows both; a ratio is the median over
such pairs, with its quartiles, and a row's is that against the fastest of its peers. Everything is called before it is
timed: compiled kernels are loaded, ours and theirs. Peak memory is measured apart, in a child process for each call,
beyond the data (`benchmarks.memory`). The relative simulation error of the standard error is what ours reports, and
1 / sqrt(2 (B - 1)), that of normal replicates, for the peers. What each row compares is told in `benchmarks.contests`.

BLAS has one thread, or ``--blas-threads``: where the machine has other work, refits by `lstsq` in two wait for each
other and take tens of times as long. With ``--compare`` the run ends with 1 where a ratio fell by more than a fifth.
With ``--quick`` sizes are cut to try the program, which says nothing about speed.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np
from benchmarks import memory
from benchmarks.contests import WORKS, Contest, Replication, Work
from benchmarks.record import OURS, Contender, Quartiles, Record, Row, machine, read, regressions, write
from benchmarks.side_by_side import Pairs
from benchmarks.stopwatch import Stopwatch, blas_threads, extrapolated, is_compiled, paired, timed, warm_up
from benchmarks.tables import PEERS_HEAD, peers_notes, peers_row

ROUNDS, QUICK_ROUNDS = 5, 2


# A row


def measured(work: Work, n_rounds: int = 5, *, n_blas_threads: int = 1, with_memory: bool = True) -> Row:
    """Return the times, the memory and the errors of one work; what ours raises is the row's failure."""
    row = Row(work.name, work.n_rows, (Contender(OURS),), work.goal, work.lower_is_better, n_rounds)
    try:
        with warnings.catch_warnings(), blas_threads(n_blas_threads):
            warnings.simplefilter("ignore")
            contenders = _timed_contenders(work, n_rounds)
    except Exception as error:
        return replace(row, failure=f"{type(error).__name__}: {error}")
    if with_memory:
        contenders = [_with_memory(work, each) for each in contenders]
    return replace(row, contenders=tuple(contenders))


def _timed_contenders(work: Work, n_rounds: int) -> list[Contender]:
    """Return ours and the peers, in turn."""
    contest = work.contest(work.n_rows, work.n_resamples)
    ours = _described(contest.ours())
    peers, seconds = [], []
    for name in contest.peers:
        peer, pairs = _timed_peer(work, contest, name, n_rounds)
        peers.append(peer)
        seconds += [each for each, _ in pairs.seconds]
    seconds = seconds or [timed(contest.ours)() for _ in range(n_rounds)]
    return [replace(ours, seconds=statistics.median(seconds)), *peers]


def _described(result: Any) -> Contender:
    """Return what our result says of itself: the median over its numbers where it has several."""
    errors = np.asarray(result.simulation_error.standard_error) / np.asarray(result.standard_error)
    return Contender(OURS, result.n_resamples, error=float(np.median(errors)))


def _timed_peer(work: Work, contest: Contest, name: str, n_rounds: int) -> tuple[Contender, Pairs]:
    """Return a peer and the pairs of seconds, ours first; without pairs where it is missing or fails."""
    try:
        call = contest.peers[name]()
        pairs = paired(name, timed(contest.ours), _stopwatch(work, call), n_rounds)
    except ImportError as error:
        return Contender(name, note=f"not installed: {str(error.name or error).partition('.')[0]}"), Pairs(name)
    except Exception as error:
        return Contender(name, note=f"failed: {type(error).__name__}: {error}"), Pairs(name)
    peer = Contender(name, seconds=pairs.medians[1], ratio=_ratio(work, pairs), note=_extrapolation(work))
    if not work.without_replicates:
        peer = replace(peer, n_resamples=work.n_resamples, error=1 / math.sqrt(2 * (work.n_resamples - 1)))
    return peer, pairs


def _stopwatch(work: Work, call: Replication) -> Stopwatch:
    if work.timed_at is None:
        return timed(partial(call, work.n_resamples))
    return extrapolated(call, *work.timed_at, work.n_resamples)


def _extrapolation(work: Work) -> str:
    return "" if work.timed_at is None else "extrapolated from B = {} and {}".format(*work.timed_at)


def _ratio(work: Work, pairs: Pairs) -> Quartiles:
    """Return peer over ours, or ours over the peer where the ratio is a cost."""
    if work.lower_is_better:
        return Pairs(pairs.name, [(peer, ours) for ours, peer in pairs.seconds]).ratios
    return pairs.ratios


# Memory, in a child


def _with_memory(work: Work, contender: Contender) -> Contender:
    if contender.seconds is None:
        return contender
    program = "from benchmarks.peers import serve_memory; serve_memory()"
    peak = memory.peak(program, work.name, str(work.n_rows), str(work.n_resamples), contender.name)
    return contender if peak is None else replace(contender, peak_mb=peak.resident)


def serve_memory() -> None:
    """Measure the call that the arguments name, after the same at a small size, which loads what it needs.

    Where the time is extrapolated, of as many replicates as were timed: resamples are held one by one there.
    """
    name, n_rows, n_resamples, contender = sys.argv[1:]
    (work,) = (each for each in WORKS if each.name == name)
    warnings.simplefilter("ignore")
    warm_up()
    _call(work.cut(), contender)()
    memory.serve(_call(replace(work, n_rows=int(n_rows), n_resamples=int(n_resamples)), contender))


def _call(work: Work, contender: str) -> Callable[[], object]:
    contest = work.contest(work.n_rows, work.n_resamples)
    if contender == OURS:
        return contest.ours
    n_resamples = work.n_resamples if work.timed_at is None else max(work.timed_at)
    return partial(contest.peers[contender](), n_resamples)


# The run


def works(pattern: str = "*", *, quick: bool = False) -> list[Work]:
    """Return the works whose name matches, at their sizes or cut."""
    chosen = [work for work in WORKS if fnmatchcase(work.name, pattern)]
    return [work.cut() for work in chosen] if quick else chosen


def run(chosen: Sequence[Work], n_rounds: int, n_blas_threads: int = 1, *, quick: bool = False) -> Record:
    """Return the record of some works, each told as it comes."""
    warm_up()
    rows = []
    for work in chosen:
        rows.append(measured(work, n_rounds, n_blas_threads=n_blas_threads))
        print(peers_row(rows[-1]), flush=True)
    return Record("peers", machine(compiled=is_compiled()), tuple(rows), quick, n_blas_threads=n_blas_threads)


def verdict(found: Record, old: Record | None) -> list[str]:
    """Return what makes the run end with 1: rows that ours failed in, and those that fell behind an older record."""
    failures = [f"{row.name}: {row.failure}" for row in found.rows if row.failure]
    return failures + (regressions(old, found) if old is not None else [])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program."""
    options = _options(arguments)
    old = None if options.compare is None else read(options.compare)
    chosen = works(options.only, quick=options.quick)
    if not chosen:
        raise SystemExit(f"no row matches {options.only!r}; there are: " + "; ".join(work.name for work in WORKS))
    print(PEERS_HEAD, flush=True)
    n_rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    found = run(chosen, n_rounds, options.blas_threads, quick=options.quick)
    print("\n" + peers_notes(found))
    if options.out is not None:
        write(found, options.out)
    if wrong := verdict(found, old):
        raise SystemExit("\nslower than before, or failed:\n" + "\n".join(wrong))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="*", metavar="PATTERN", help="the rows to time, such as 'std*'")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--compare", type=pathlib.Path, metavar="OLD.json", help="ends with 1 where a ratio fell")
    parser.add_argument("--rounds", type=int, help=f"by default {ROUNDS}, or {QUICK_ROUNDS} with --quick")
    parser.add_argument("--blas-threads", type=int, default=1, help="for all; by default 1")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the program")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()

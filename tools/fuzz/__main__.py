"""The command line: ``python -m tools.fuzz``."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator

# Before numpy is imported: with two jobs on two cores more threads would only wait for each other.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from tools.fuzz.cases import drawn  # noqa: E402
from tools.fuzz.runner import Checked, Summary, checked  # noqa: E402

CASES_PER_SEED = 1_000_000


def _all_checked(numbers: range, jobs: int) -> Iterator[Checked]:
    if jobs == 1:
        yield from map(checked, numbers)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(checked, numbers, chunksize=20)


def run(numbers: range, jobs: int) -> int:
    """Run the cases, print what is wrong, and return the exit code."""
    start, last = time.perf_counter(), time.perf_counter()
    summary = Summary()
    for one in _all_checked(numbers, jobs):
        summary.add(one)
        if time.perf_counter() - last > 20:
            last = time.perf_counter()
            print(f"{summary.cases} cases, {len(summary.failures)} failures", file=sys.stderr, flush=True)
    print(summary.report(time.perf_counter() - start))
    return 1 if summary.failures else 0


def run_one(number: int) -> int:
    """Run one case, print what was called and what came of it, and return the exit code."""
    case = drawn(number)
    print(f"case {number}: {case.row.name}\n    {case.snippet()}")
    one = checked(number)
    print(f"{one.outcome}, {one.seconds:.2f} s")
    for failure in one.failures:
        print(f"FAILED {failure.invariance}\n    {failure.message}")
    return 1 if one.failures else 0


def main(words: list[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description="Random calls of `bootstrap`, judged.")
    parser.add_argument("--cases", type=int, default=20_000, help="how many cases to run")
    parser.add_argument("--seed", type=int, default=0, help="which million of cases to take them from")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes share them")
    parser.add_argument("--case", type=int, help="run the case with this number alone")
    arguments = parser.parse_args(words)
    if arguments.case is not None:
        return run_one(arguments.case)
    first = arguments.seed * CASES_PER_SEED
    return run(range(first, first + arguments.cases), arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())

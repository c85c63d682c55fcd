"""Keep what the library answers to many small questions, and say what a change moved.

::

    python -m tools.snapshot write FILE
    python -m tools.snapshot repeat FILE
    python -m tools.snapshot compare FILE [--tolerance 1e-12]

`write` answers all cases of `tools.cases` and keeps the answers; `repeat` answers them again in the same tree and notes
in the file which of them are not stable; `compare` answers them with the tree under test. Its exit code is 1 where a
number moved by more than the tolerance, relative to its size and its standard error, or an answer is missing. Other
bits are listed and pass: what goes through BLAS or torch promises to be close and no more. Other warnings and texts
are listed, and pass unless ``--strict`` is given.

Run it in the folder of the tree under test, since the rows of that tree's `tests.registry` are cases too, with that
tree's `src` first on ``PYTHONPATH``. For a tree without these tools name the one that has them after it::

    cd OLD && PYTHONPATH=OLD/src:NEW python -m tools.snapshot write FILE
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import sys
import time
from fnmatch import fnmatchcase
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from tools.comparison import Comparison, compared

# Sums in several threads are added in an order that the machine chooses: one thread gives the same bits every time.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}

PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "jax",
    "torch",
    "scikit-learn",
    "statsmodels",
    "cvxpy",
    "diffcp",
    "clarabel",
    "pandas",
    "polars",
    "pyarrow",
)


def snapshot(pattern: str = "*") -> dict[str, Any]:
    """Return the answers to the cases whose names match `pattern`, and what they were computed with."""
    os.environ.update(ONE_THREAD)
    # Only now, since numpy and the others read their number of threads when they are imported.
    from tools.cases import GROUPS
    from tools.recording import recording

    print(f"measures {getattr(find_spec('orthoboot'), 'origin', None)}", file=sys.stderr)
    start = time.process_time()
    first = pattern.partition("/")[0] if "/" in pattern else "*"
    groups = [group for group in GROUPS if fnmatchcase(group, first)]
    found = recording(groups, lambda name: fnmatchcase(name, pattern))
    return {
        "environment": environment(),
        "seconds": round(time.process_time() - start, 1),
        "skipped": found.skipped,
        "unstable": {},
        "entries": found.entries,
    }


def environment() -> dict[str, str]:
    """Return the versions of everything that may move the last bits."""
    versions = {package: _version(package) for package in PACKAGES}
    return {"python": platform.python_version(), "machine": platform.machine(), **versions}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def read(path: pathlib.Path) -> dict[str, Any]:
    """Return the snapshot in a file."""
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def save(found: dict[str, Any], path: pathlib.Path) -> None:
    """Write a snapshot with one line for each entry, so that two files can be compared by eye too."""
    entries = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in found["entries"].items())
    head = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items() if key != "entries")
    path.write_text(f'{{\n{head},\n"entries": {{\n{entries}\n}}\n}}\n')


def only(found: dict[str, Any], pattern: str) -> dict[str, Any]:
    """Return the part of a snapshot whose names match `pattern`."""
    return found | {
        "entries": {name: found["entries"][name] for name in found["entries"] if fnmatchcase(name, pattern)}
    }


def unstable(comparison: Comparison) -> dict[str, float]:
    """Return the entries that two runs of one tree answered differently, with how far these are apart."""
    found = (*comparison.different_texts, *comparison.different_bits)
    # JSON has no infinity: what cannot be set side by side is apart by more than anything else.
    return {difference.name: min(difference.largest, sys.float_info.max) for difference in found}


def _write(arguments: argparse.Namespace) -> int:
    found = snapshot()
    save(found, arguments.file)
    print(f"{len(found['entries'])} entries in {found['seconds']:.0f} s; skipped: {found['skipped'] or 'none'}")
    return 0


def _repeat(arguments: argparse.Namespace) -> int:
    first = read(arguments.file)
    comparison = compared(first, snapshot())
    save(first | {"unstable": first["unstable"] | unstable(comparison)}, arguments.file)
    print(comparison.report(0.0))
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    old = only(read(arguments.file), arguments.only)
    comparison = compared(old, snapshot(arguments.only))
    print(comparison.report(arguments.tolerance, every=arguments.all))
    return 0 if comparison.passes(arguments.tolerance, strict=arguments.strict) else 1


def main(words: list[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.snapshot", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    for name, command, purpose in (
        ("write", _write, "answer all cases and keep the answers"),
        ("repeat", _repeat, "answer them again in the same tree and note which are not stable"),
        ("compare", _compare, "answer them with this tree and say what moved"),
    ):
        one = commands.add_parser(name, help=purpose, description=purpose)
        one.add_argument("file", type=pathlib.Path, metavar="FILE")
        one.set_defaults(command=command)
    one.add_argument("--tolerance", type=float, default=1e-12, help="the largest relative difference that passes")
    one.add_argument("--only", default="*", metavar="PATTERN", help="the entries to look at, such as 'plans/*'")
    one.add_argument("--all", action="store_true", help="list the entries that are the same too")
    one.add_argument("--strict", action="store_true", help="fail where warnings or texts differ, too")
    arguments = parser.parse_args(words)
    return int(arguments.command(arguments))


if __name__ == "__main__":
    sys.exit(main())

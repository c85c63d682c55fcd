"""What is left out where an optional package is not installed: what cannot be imported, and examples that need it.

Nothing else is left out: a test or a module whose import fails for any other reason is an error.
"""

from __future__ import annotations

import ast
import doctest
import gc
import hashlib
import os
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

# Workers share the cores: with threads for each of them, half of the time is spent on waiting. And it takes longer to
# optimise a program of jax than to run it once. No test needs either.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if "xla_backend_optimization_level" not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()

from orthoboot.errors import MissingDependencyError

ROOTS = (Path(__file__).parent / "src", Path(__file__).parent)


def _sources_of_kernels() -> str:
    """Return a digest of what is compiled: numba keeps a kernel until its own file changes, whatever it calls."""
    room = ROOTS[0] / "orthoboot"
    files = [*sorted((room / "draws").rglob("*.py")), room / "arrays" / "row_products.py"]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOTS[1] / ".pytest_cache" / f"numba-{_sources_of_kernels()}"))

# Millions of objects come by imports and stay: to search them for garbage again and again takes a tenth of the time.
gc.disable()

OPTIONAL = (
    "cloudpickle", "cvxpy", "dask", "diffcp", "distributed", "duckdb", "jax", "joblib", "matplotlib", "numba", "pandas",
    "polars", "pyarrow", "rich", "simpy", "sklearn", "statsmodels", "threadpoolctl", "torch", "tqdm", "typer",
)  # fmt: skip
MISSING = {name for name in OPTIONAL if find_spec(name) is None}


def pytest_report_header() -> str | None:
    """Say what is missing."""
    return f"not installed, and what needs it left out: {', '.join(sorted(MISSING))}" if MISSING else None


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files that cannot be imported without what is missing."""
    if not MISSING or collection_path.suffix != ".py":
        return None
    return True if _needed(collection_path) & MISSING else None


def pytest_collection_finish() -> None:
    """Leave what is imported by now out of every search for garbage from here on."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Free all at the end, as ever."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip an example that stops for want of what is missing."""
    try:
        return (yield)
    except doctest.UnexpectedException as error:
        cause = error.exc_info[1]
        if (isinstance(cause, MissingDependencyError) and MISSING) or getattr(cause, "name", None) in MISSING:
            pytest.skip(str(cause))
        raise


def _needed(path: Path) -> set[str]:
    """Return the packages that are imported with a file, by itself or by the files of the repository it imports."""
    needed: set[str] = set()
    read: set[Path] = set()
    waiting = {path, *(parent / "__init__.py" for parent in path.parents if (parent / "__init__.py").is_file())}
    while waiting:
        read |= waiting
        needed |= {name.partition(".")[0] for file in waiting for name in _imported(file)}
        waiting = {found for file in waiting for name in _imported(file) for found in _files(name)} - read
    return needed


@cache
def _files(name: str) -> tuple[Path, ...]:
    """Return the files of the repository that importing a dotted name runs: those of its packages, and its own."""
    parts = name.split(".")
    places = [root.joinpath(*parts[:length]) for root in ROOTS for length in range(1, len(parts) + 1)]
    candidates = [file for place in places for file in (place / "__init__.py", place.with_suffix(".py"))]
    return tuple(file for file in candidates if file.is_file())


@cache
def _imported(file: Path) -> frozenset[str]:
    """Return the names that a file imports when it is imported itself: not in functions, nor for types alone."""
    names: set[str] = set()
    waiting: list[ast.stmt] = ast.parse(file.read_text(encoding="utf-8")).body
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Try | ast.If) and "TYPE_CHECKING" not in ast.unparse(node).partition("\n")[0]:
            waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return frozenset(names)

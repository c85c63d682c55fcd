"""Compilation by numba; the only module that imports it.

It raises an `ImportError` where numba is missing or cannot compile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

try:
    import numba
    from llvmlite import ir
    from numba.core.cgutils import alloca_once, for_range, for_range_slice, unpack_tuple
    from numba.core.errors import NumbaError
    from numba.core.registry import cpu_target
    from numba.extending import intrinsic
except Exception as error:  # broken installations raise anything, such as a SystemError next to another numpy
    raise ImportError(f"numba cannot be loaded: {error}") from error

__all__ = [
    "called",
    "compiled",
    "has_long_vectors",
    "inlined",
    "intrinsic",
    "ir",
    "loop_over",
    "loops_until",
    "tuple_items",
    "types",
    "variable",
]

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError("NUMBA_DISABLE_JIT is set: numba compiles nothing, and these kernels cannot run as plain Python.")

types: Any = numba.types

# What numba has for its own use; a version without it is one that these kernels cannot be compiled with.
variable: Any = alloca_once
loops_until: Any = for_range
loop_over: Any = for_range_slice
tuple_items: Any = unpack_tuple


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _digest_of_sources(*folders: Path) -> str:
    """Return a digest of the Python files of some folders."""
    digest = hashlib.blake2b(digest_size=8)
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


_PACKAGE = Path(__file__).parents[2]
_SOURCES = _digest_of_sources(_PACKAGE / "draws", _PACKAGE / "arrays")


def has_long_vectors() -> bool:
    """Return whether numba compiles for vectors of 512 bits: those of this processor, or what its settings say."""
    # These are in the names of cached kernels too, so that no other processor loads them.
    _, _, features = cpu_target.target_context.codegen().magic_tuple()
    return "+avx512f" in features.split(",")


def inlined(function: _Function) -> _Function:
    """Compile a function inlined into the inner loops, which doubles the speed of Philox."""
    return cast(_Function, numba.njit(nogil=True, forceinline=True)(function))


def called(function: _Function) -> _Function:
    """Compile a function that the inner loops do not hold: a rare branch, or one that has loops of its own."""
    return cast(_Function, numba.njit(nogil=True)(function))


def compiled(signature: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that compiles for one signature at once, so that Python integers of any size are accepted."""

    def decorate(function: _Function) -> _Function:
        # Numba takes a kernel from its cache as long as the kernel's own file is the same, whatever was changed in the
        # files it is made of; but only under the same name. Those of earlier sources stay in its folder.
        function.__qualname__ = f"{function.__qualname__}_{_SOURCES}"
        try:
            return cast(_Function, numba.njit(signature, nogil=True, cache=True)(function))
        except (RuntimeError, OSError):
            # Numba finds no folder it may write its cache to, as in a read-only container.
            pass
        except NumbaError as error:
            raise ImportError(f"numba cannot compile: {error}") from error
        try:
            return cast(_Function, numba.njit(signature, nogil=True)(function))
        except (RuntimeError, OSError, NumbaError) as error:
            raise ImportError(f"numba cannot compile: {error}") from error

    return decorate

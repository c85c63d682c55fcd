"""Atomic files of numpy arrays."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from threading import get_ident
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

_DIGEST_SIZE = 16

Arrays = dict[str, NDArray[Any]]
"""What a file holds, by name."""


def save_arrays(file: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to a file atomically: a digest, then the arrays without pickles."""
    stream = BytesIO()
    np.savez(stream, **cast(dict[str, Any], arrays))
    write_atomically(file, digest(stream.getvalue()) + stream.getvalue())


def load_arrays(file: Path) -> Arrays | None:
    """Return the arrays of a file, or None if it is missing, incomplete or another kind of file."""
    try:
        kept = file.read_bytes()
    except FileNotFoundError:
        return None
    found, arrays = kept[:_DIGEST_SIZE], kept[_DIGEST_SIZE:]
    if found != digest(arrays):
        return None
    with np.load(BytesIO(arrays), allow_pickle=False) as loaded:
        return dict(loaded)


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file atomically: readers see the old or the new content, even if this process is killed."""
    unfinished = file.with_name(f"{file.name}.{os.getpid()}.{get_ident()}.unfinished")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def digest(content: bytes) -> bytes:
    """Return a digest of the content."""
    return hashlib.blake2b(content, digest_size=_DIGEST_SIZE).digest()

"""Digests of what a run depends on, to match it with its checkpoint."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.random_counts import key_from
from orthoboot.errors import ArgumentError
from orthoboot.execution.checkpoint import Checkpoint, stored_key
from orthoboot.functionals.base import Prepared
from orthoboot.typing import Key

_DEEPEST = 12
"""Objects within objects that are looked at; deeper ones count by their kind alone."""


def checkpoint_key(checkpoint: Any, rng: Any) -> Key:
    """Return the seed of a run: that of its checkpoint if there is one and `rng` is None."""
    path = _checked_path(checkpoint)
    stored = None if path is None or rng is not None else stored_key(path)
    return key_from(rng) if stored is None else stored


def checkpoint_for(checkpoint: Any, prepared: Prepared[Any], plan: Any, key: Key) -> Checkpoint:
    """Return the checkpoint of a run, backed by the file `checkpoint` or by none."""
    path = _checked_path(checkpoint)
    if path is None:
        return Checkpoint()
    identity = {
        "statistic": _digest(prepared.functional),
        "data": _digest_of_data(prepared.data),
        "plan": _digest(plan),
        "key": repr(key),
    }
    return Checkpoint(path, identity, prepared.estimate, key)


def _checked_path(checkpoint: Any) -> Path | None:
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, (str, os.PathLike)) or not str(checkpoint).strip():
        raise ArgumentError(f"`checkpoint` must be the path of a file, or None; got {checkpoint!r}.")
    path = Path(checkpoint)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ArgumentError(f"`checkpoint` must be a file in a folder that exists; got {str(checkpoint)!r}.")
    return path


def _digest_of_data(data: Data) -> str:
    return _digest((data.sizes, data.sample_of, data.columns, [table.container for table in data.tables]))


def _digest(value: Any) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in _described(value, _DEEPEST):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _described(value: Any, depth: int) -> Iterator[bytes]:
    """Yield the bytes that identify a value: its type and, as far as possible, its content."""
    yield f"{type(value).__module__}.{type(value).__qualname__}".encode()
    if depth == 0:
        return
    for is_kind, parts in _KINDS:
        if is_kind(value):
            for part in parts(value):
                if isinstance(part, bytes):
                    yield part
                else:
                    yield from _described(part, depth - 1)
            return


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, complex, str, bytes, type, np.generic, range))


def _of_array(value: Any) -> Iterator[Any]:
    array = np.asarray(value)
    yield repr((array.shape, array.dtype.str)).encode()
    yield from array.tolist() if array.dtype.hasobject else (np.ascontiguousarray(array).tobytes(),)


def _of_frame(value: Any) -> Iterator[Any]:
    value = value.detach().cpu() if hasattr(value, "detach") else value  # a tensor that is trained, or elsewhere
    yield repr(list(value.columns) if hasattr(value, "columns") else getattr(value, "name", "")).encode()
    yield np.asarray(value)


def _of_set(value: set[Any] | frozenset[Any]) -> Iterator[Any]:
    # In another process the entries may come in another order.
    yield from sorted(_digest(entry).encode() for entry in value)


def _of_mapping(value: Mapping[Any, Any]) -> Iterator[Any]:
    for key, entry in value.items():
        yield repr(key).encode()
        yield entry


def _of_function(value: FunctionType) -> Iterator[Any]:
    yield value.__code__
    yield value.__defaults__
    yield value.__kwdefaults__
    for cell in value.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name that has no value yet, as in a function that calls itself
            yield b"empty"


def _of_code(value: CodeType) -> Iterator[Any]:
    yield value.co_code
    yield repr(value.co_names).encode()
    yield from (constant for constant in value.co_consts if not isinstance(constant, str) or constant)


def _of_dataclass(value: Any) -> Iterator[Any]:
    for field in dataclasses.fields(value):
        yield field.name.encode()
        yield getattr(value, field.name)


_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Iterator[Any]]], ...] = (
    (_is_plain, lambda value: iter([repr(value).encode()])),
    (lambda value: isinstance(value, (FunctionType,)), _of_function),
    (lambda value: isinstance(value, MethodType), lambda value: iter([value.__func__, value.__self__])),
    (lambda value: isinstance(value, CodeType), _of_code),
    (lambda value: isinstance(value, partial), lambda value: iter([value.func, value.args, value.keywords])),
    (lambda value: isinstance(value, np.ndarray), _of_array),
    (lambda value: hasattr(value, "__array__") and hasattr(value, "shape"), _of_frame),
    (lambda value: isinstance(value, Mapping), _of_mapping),
    (lambda value: isinstance(value, (set, frozenset)), _of_set),
    (lambda value: isinstance(value, (tuple, list)), iter),
    (dataclasses.is_dataclass, _of_dataclass),
    (lambda value: hasattr(value, "get_params"), lambda value: iter([value.get_params(deep=False)])),
)
"""What is looked at in a value, by its kind; the first kind that fits decides, and others count by their class."""

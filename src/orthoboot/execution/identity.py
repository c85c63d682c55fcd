"""Digests of what a run depends on, to match it with its checkpoint."""

from __future__ import annotations

import copyreg
import dataclasses
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orthoboot.data import Data
from orthoboot.draws.random_counts import key_from
from orthoboot.errors import ArgumentError
from orthoboot.execution.checkpoint import Checkpoint, stored_key
from orthoboot.functionals.base import Prepared
from orthoboot.typing import FloatArray, Key


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


def checkpoint_of(checkpoint: Any, parts: Mapping[str, Any], estimate: FloatArray, key: Key) -> Checkpoint:
    """Return the checkpoint of any work, with `parts` by name on which its numbers depend besides the seed."""
    path = _checked_path(checkpoint)
    if path is None:
        return Checkpoint()
    identity = {name: _digest(part) for name, part in parts.items()}
    return Checkpoint(path, {**identity, "key": repr(key)}, estimate, key)


def _checked_path(checkpoint: Any) -> Path | None:
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, (str, os.PathLike)) or not str(checkpoint).strip():
        raise ArgumentError(f"`checkpoint` must be the path of a file, or None; got {checkpoint!r}.")
    # Where it is now: a link stays one, and a change of the working directory changes nothing.
    try:
        path = Path(checkpoint).expanduser().resolve()
        is_usable = path.parent.is_dir() and (path.is_file() or not path.exists())
    except (OSError, ValueError):  # such as a name that is too long
        is_usable = False
    if not is_usable:
        raise ArgumentError(f"`checkpoint` must be a file in a folder that exists; got {str(checkpoint)!r}.")
    return path


def _digest_of_data(data: Data) -> str:
    # Named group columns change the replicates, so they belong in the key.
    named = [(column.table, column.position) for column in data.group_columns]
    return _digest((data.sizes, data.sample_of, data.columns, [table.container for table in data.tables], named))


def _digest(value: Any) -> str:
    """Return a digest of all that a value holds, the same in every process."""
    return _Digests().of(value).hex()


class _Digests:
    """Digests of values, each made of those of its parts and computed once.

    Two equal parts have equal digests, whether they are one object or two: that may differ from process to process.
    """

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._open: list[int] = []
        self._kept: list[Any] = []  # so that no address is used twice

    def of(self, value: Any) -> bytes:
        """Return the digest of a value: of its type and what it holds."""
        digest = hashlib.blake2b(f"{type(value).__module__}.{type(value).__qualname__}:".encode(), digest_size=16)
        address = id(value)
        if isinstance(value, (bytes, memoryview)):
            digest.update(value)
        elif _has_exact_repr(value):
            digest.update(repr(value).encode())
        elif address in self._open:  # it holds itself: named by how far up that is
            digest.update(str(len(self._open) - self._open.index(address)).encode())
        elif address in self._known:
            return self._known[address]
        else:
            self._open.append(address)
            self._kept.append(value)
            for part in _parts(value):
                digest.update(self.of(part))
            self._open.pop()
            self._known[address] = digest.digest()
        return digest.digest()


def _has_exact_repr(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, complex, str, np.generic, range))


def _parts(value: Any) -> Iterator[Any]:
    """Return what a value holds, by the first kind that fits, or else what `pickle` would keep of it."""
    for is_kind, parts in _KINDS:
        if is_kind(value):
            return parts(value)
    return _of_object(value)


def _of_array(value: Any) -> Iterator[Any]:
    array = np.asarray(value)
    yield repr((array.shape, array.dtype.str)).encode()
    yield from array.tolist() if array.dtype.hasobject else (_memory(array),)


def _memory(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array, without a copy of large data."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _of_tensor(value: Any) -> Iterator[Any]:
    yield np.asarray(value.detach().cpu())


def _of_frame(value: Any) -> Iterator[Any]:
    yield repr(list(value.columns)).encode()
    yield np.asarray(getattr(value, "index", ()))
    for position, dtype in enumerate(value.dtypes):
        yield repr(dtype).encode()  # with the order of categories
        yield np.asarray(value.iloc[:, position] if hasattr(value, "iloc") else value[:, position])


def _of_column(value: Any) -> Iterator[Any]:
    yield repr((getattr(value, "name", ""), getattr(value, "dtype", ""))).encode()
    yield np.asarray(getattr(value, "index", ()))
    yield np.asarray(value)


def _of_set(value: set[Any] | frozenset[Any]) -> Iterator[Any]:
    # In another process the entries may come in another order.
    yield from sorted(_digest(entry).encode() for entry in value)


def _of_mapping(value: Mapping[Any, Any]) -> Iterator[Any]:
    for key, entry in value.items():
        yield key
        yield entry


def _of_function(value: FunctionType) -> Iterator[Any]:
    code = value.__code__
    documented = code.co_consts[:1] == (value.__doc__,)
    yield from _of_code(code, code.co_consts[1:] if documented else code.co_consts)
    yield value.__defaults__
    yield value.__kwdefaults__
    for cell in value.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name that has no value yet, as in a function that calls itself
            yield b"empty"
    yield from _globals_of(value)


def _globals_of(function: FunctionType) -> Iterator[Any]:
    """Yield the constants and functions of its module that a function of the user's names, and their values."""
    if _is_of_library(function):  # whose own constants are many, and change with its version
        return
    for name in sorted(_names_in(function.__code__)):
        found = function.__globals__.get(name)
        if _has_exact_repr(found) or isinstance(found, (FunctionType, np.ndarray, partial)):
            yield name.encode()
            yield found


def _names_in(code: CodeType) -> set[str]:
    within = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names_in, within))


def _is_of_library(function: FunctionType) -> bool:
    package = (function.__module__ or "").partition(".")[0]
    folders = Path(function.__code__.co_filename).parts
    in_standard_library = package in sys.stdlib_module_names and package != "__main__"
    return in_standard_library or package == "orthoboot" or bool({"site-packages", "dist-packages"} & set(folders))


def _of_code(value: CodeType, constants: tuple[Any, ...] | None = None) -> Iterator[Any]:
    yield value.co_code
    yield repr(value.co_names).encode()
    yield from value.co_consts if constants is None else constants


def _of_class(value: type) -> Iterator[Any]:
    yield repr(value).encode()
    attributes = sorted(vars(value).items())
    if any(isinstance(entry, FunctionType) and _is_of_library(entry) for _, entry in attributes):
        return
    for name, entry in attributes:
        if not name.startswith("__") or name == "__call__":
            entry = getattr(entry, "__func__", entry)  # of a static method or a method of the class
            if _has_exact_repr(entry) or isinstance(entry, (FunctionType, np.ndarray, partial)):
                yield name.encode()
                yield entry
    yield from value.__bases__


def _of_dataclass(value: Any) -> Iterator[Any]:
    for field in dataclasses.fields(value):
        if field.compare:
            yield field.name.encode()
            yield getattr(value, field.name)


def _of_estimator(value: Any) -> Iterator[Any]:
    yield value.get_params(deep=False)


def _of_object(value: Any) -> Iterator[Any]:
    """Yield the class of an object and what pickle would keep of it."""
    yield type(value)
    if hasattr(value, "__wrapped__"):  # a function with a cache
        yield value.__wrapped__
    try:
        registered = copyreg.dispatch_table.get(type(value))
        reduced = value.__reduce_ex__(4) if registered is None else registered(value)
    except Exception:  # such as of a lock: then its type must do
        return
    if isinstance(reduced, str):
        yield reduced
        return
    _, arguments, state, items, entries = (*reduced, None, None, None)[:5]
    yield from (arguments, state, list(items or ()), list(entries or ()))


_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Iterator[Any]]], ...] = (
    (lambda value: isinstance(value, type), _of_class),
    (lambda value: isinstance(value, ModuleType), lambda value: iter([value.__name__.encode()])),
    (lambda value: isinstance(value, FunctionType), _of_function),
    (lambda value: isinstance(value, MethodType), lambda value: iter([value.__func__, value.__self__])),
    (lambda value: isinstance(value, CodeType), _of_code),
    (lambda value: isinstance(value, partial), lambda value: iter([value.func, value.args, value.keywords])),
    (lambda value: isinstance(value, np.ndarray), _of_array),
    (lambda value: hasattr(value, "detach") and hasattr(value, "shape"), _of_tensor),
    (lambda value: hasattr(value, "columns") and hasattr(value, "dtypes"), _of_frame),
    (lambda value: hasattr(value, "__array__") and hasattr(value, "shape"), _of_column),
    (lambda value: isinstance(value, Mapping), _of_mapping),
    (lambda value: isinstance(value, (set, frozenset)), _of_set),
    (lambda value: isinstance(value, (tuple, list)), iter),
    (dataclasses.is_dataclass, _of_dataclass),
    (lambda value: hasattr(value, "get_params"), _of_estimator),
)
"""What is looked at in a value, by its kind; the first kind that fits decides."""

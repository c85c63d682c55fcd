"""Which source reads the containers of a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from orthoboot.data.sources import Source
from orthoboot.errors import DataError

_ARRAYS = "memory-mapped arrays"

_KINDS: dict[tuple[str, str], str] = {
    ("numpy", "memmap"): _ARRAYS,
    ("dask", "Array"): "dask collections",
    ("dask", "DataFrame"): "dask collections",
    ("dask", "Series"): "dask collections",
    ("polars", "LazyFrame"): "polars lazy frames",
    ("pyarrow", "Dataset"): "pyarrow datasets",
    ("pyarrow", "ParquetFile"): "open Parquet files",
    ("duckdb", "DuckDBPyRelation"): "DuckDB relations",
}
"""What is read part by part, by the package and the name of its class."""

_MAKERS: dict[str, tuple[str, str]] = {
    _ARRAYS: ("memory_mapped", "mapped_source"),
    "dask collections": ("dask_collections", "dask_source"),
    "polars lazy frames": ("polars_scans", "lazy_source"),
    "pyarrow datasets": ("arrow_datasets", "dataset_source"),
    "open Parquet files": ("arrow_datasets", "parquet_source"),
    "DuckDB relations": ("duckdb_relations", "relation_source"),
}
"""The module of each kind, imported when it is needed, and the function that makes the source."""


def source_of(containers: Sequence[Any], labels: Sequence[str]) -> Source | None:
    """Return the containers of one sample as a source, or None where they lie in memory.

    Parameters
    ----------
    containers
        One table, or several that are paired: the same rows in each.
    labels
        What messages call them, such as ``data[0]``.

    Examples
    --------
    >>> source_of([np.arange(3.0)], ["data"]) is None
    True
    """
    kinds = [_kind(container) for container in containers]
    if not any(kinds):
        return None
    # An array in memory is read as one in a file is.
    joined = [
        _ARRAYS if _ARRAYS in kinds and _is_plain_array(one) else kind
        for one, kind in zip(containers, kinds, strict=True)
    ]
    _check_alike(containers, labels, joined)
    module, function = _MAKERS[str(joined[0])]
    make: Callable[[Sequence[Any], Sequence[str]], Source] = getattr(
        import_module(f"orthoboot.distributed.{module}"), function
    )
    return make(containers, labels)


def is_column(labels: Any) -> bool:
    """Return whether labels are of a kind that is read beside rows: what is read part by part, or an array of numbers.

    Examples
    --------
    >>> is_column(np.arange(3)), is_column(["a", "b", "b"])
    (True, False)
    """
    return _kind(labels) is not None or _is_plain_array(labels)


def _kind(container: Any) -> str | None:
    """Return the kind of a container, or None; no package is imported for it."""
    if isinstance(container, np.ndarray) and not _is_readable(container):
        return None
    names = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(container).__mro__)
    # DuckDB's compiled classes have had an underscore before the name of their package.
    return next(
        (_KINDS[package.lstrip("_"), name] for package, name in names if (package.lstrip("_"), name) in _KINDS), None
    )


def _is_plain_array(container: Any) -> bool:
    return type(container) is np.ndarray and _is_readable(container)


def _is_readable(array: np.ndarray[Any, Any]) -> bool:
    """Return whether it has rows of numbers; whoever reads arrays in memory has words for all others."""
    return array.ndim in (1, 2) and array.dtype.kind in "biuf" and 0 not in array.shape[1:]


def _check_alike(containers: Sequence[Any], labels: Sequence[str], kinds: Sequence[str | None]) -> None:
    """Raise unless all containers are read in the same way."""
    other = next((position for position, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is None:
        return
    first, second = (f"`{labels[i]}` is a {_class_name(containers[i])}" for i in (0, other))
    raise DataError(
        f"`data` must hold paired tables of one kind where they are read part by part; {first} and {second}. Make them "
        "alike: columns of one table, or all of them in memory."
    )


def _class_name(container: Any) -> str:
    kind = type(container)
    return f"{kind.__module__.partition('.')[0]} {kind.__name__}"

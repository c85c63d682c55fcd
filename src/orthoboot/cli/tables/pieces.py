"""Large Parquet files, read part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orthoboot.cli.tables.columns import check_columns
from orthoboot.errors import DataError, MissingDependencyError, first_line

LARGE = 2_000_000
"""Rows from which on a file is not loaded."""


def parquet_rows(path: str) -> int:
    """Return the number of rows of a Parquet file, from its end alone."""
    return int(_opened(path).metadata.num_rows)


def parquet_columns(path: str) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    return [str(name) for name in _opened(path).schema_arrow.names]


def numeric_parquet_columns(path: str, without: Sequence[str | None]) -> list[str]:
    """Return the names of the columns that hold numbers, without those that are used otherwise."""
    import pyarrow.types as types

    def is_number(kind: Any) -> bool:
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))

    schema = _opened(path).schema_arrow
    return [field.name for field in schema if is_number(field.type) and field.name not in without]


def parquet_dataset(path: str, names: Sequence[str]) -> Any:
    """Return some columns of a Parquet file as a dataset, of which nothing is read yet."""
    import pyarrow as pa
    import pyarrow.dataset as datasets

    schema = _opened(path).schema_arrow
    check_columns(names, schema.names, path)
    return datasets.dataset(path, format="parquet", schema=pa.schema([schema.field(name) for name in names]))


def _opened(path: str) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingDependencyError(
            'Parquet files are read by pyarrow; install it with `pip install "orthoboot[cli]"`.'
        ) from error
    try:
        return ParquetFile(path)
    except ValueError as error:  # pyarrow's own class derives from it
        raise DataError(f"{path} cannot be read: {first_line(error)}.") from error

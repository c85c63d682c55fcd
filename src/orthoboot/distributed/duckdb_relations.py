"""Relations of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orthoboot.distributed.blocks import Array, block_rows, width_of
from orthoboot.distributed.columns import frame_rows, layout_of
from orthoboot.distributed.streams import Stream, number_of_parts
from orthoboot.errors import DataError


@dataclass(frozen=True)
class Relation(Stream):
    """A relation, whose query runs anew each time; its connection can do nothing else meanwhile."""

    relation: Any

    @contextmanager
    def opened(self) -> Iterator[Sequence[Iterator[Array]]]:
        """Run the query, and free the connection at the end."""
        with _own_connection(self.labels[0]):
            reader = _batches(self.relation, block_rows(width_of(self.shapes)))
        try:
            yield [(frame_rows(batch, "pyarrow") for batch in reader)]
        finally:
            reader.close()


def relation_source(containers: Sequence[Any], labels: Sequence[str]) -> Relation:
    """Return a relation as a source; its rows are counted."""
    if len(containers) > 1:
        raise DataError(
            f"`{'`, `'.join(labels)}` must be one relation, since DuckDB runs one query at a time on a connection; got "
            f"{len(containers)}. Join them into one relation, or write them to Parquet files and pass "
            "`polars.scan_parquet` of each."
        )
    (relation,), (label,) = containers, labels
    with _own_connection(label):
        _check_order(relation, label)
        layout = layout_of(_batches(relation.limit(0), 1).read_all(), label)
        ((n_rows,),) = relation.aggregate("count(*)").fetchall()
    return Relation(
        labels=(label,),
        n_rows=n_rows,
        columns=(layout.columns,),
        shapes=(layout.shape,),
        n_parts=number_of_parts(n_rows, (layout.shape,)),
        relation=relation,
    )


def _check_order(relation: Any, label: str) -> None:
    """Raise where the connection is set to give rows in any order; the setting is the user's, and is left alone."""
    answer = relation.limit(1).project("current_setting('preserve_insertion_order')").fetchall()
    if answer and not answer[0][0]:
        raise DataError(
            f"`{label}` must give its rows in the same order each time; got a connection with "
            "preserve_insertion_order set to false. Run `SET preserve_insertion_order = true` on it."
        )


@contextmanager
def _own_connection(label: str) -> Iterator[None]:
    """Say what to do where a query cannot start because its connection is closed, or at work on another."""
    try:
        yield
    except Exception as error:  # DuckDB's own classes are not imported for this
        if "already been closed" in str(error):
            raise DataError(
                f"`{label}` must have a connection that is open whenever it is read, also by methods of the "
                "result later; got one that was closed. Connect again and recreate the relation."
            ) from error
        if not any(words in str(error) for words in ("open result", "busy with another")):
            raise
        raise DataError(
            f"`{label}` must have its connection to itself while it is read, since DuckDB runs one query at a time on "
            "each; got one with a result that was not read to the end, or that another thread uses. Close that result, "
            "or make the relation from a connection of its own, such as `connection.cursor()`."
        ) from error


def _batches(relation: Any, rows: int) -> Any:
    """Return a reader of record batches, by the name that this release has for it."""
    named = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    return named(rows)

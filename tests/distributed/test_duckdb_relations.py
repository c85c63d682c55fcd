"""Relations of DuckDB are read in one run of their query, in the order of their rows."""

from __future__ import annotations

import numpy as np
import pytest
from tests.distributed.reading import all_rows, source

from orthoboot.errors import DataError

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

ROWS = 2 * 2**20 + 4321


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        yield opened


@pytest.fixture
def relation(connection):
    return connection.sql(f"select range::double a, (range % 7)::int b from range({ROWS})")


def test_all_rows_come_once_in_their_order(relation):
    found = source(relation)
    assert (found.columns, found.shapes, found.n_parts) == ((("a", "b"),), ((2,),), 3)
    (rows,) = all_rows(found)
    np.testing.assert_array_equal(rows, np.stack([np.arange(ROWS), np.arange(ROWS) % 7], axis=1))


def test_parts_and_blocks_have_the_same_rows_at_each_reading(relation):
    found = source(relation)
    first, second = (list(found.each(lambda _, blocks: [len(block[0]) for block in blocks])) for _ in range(2))
    assert first == second
    assert {length for part in first[:-1] for length in part} == {2**16}


def test_missing_values_are_nan_and_every_type_of_number_is_read(connection):
    relation = connection.sql(
        "select null::double a, 1.25::decimal(9, 2) b, 3::hugeint c, true d, 4::utinyint e union all by name "
        "select 5::double a, null b, null c, null d, null e"
    )
    missing = [np.nan] * 4
    np.testing.assert_array_equal(all_rows(source(relation))[0], [[np.nan, 1.25, 3, 1, 4], [5, *missing]])


def test_other_columns_are_refused_by_name_and_type(connection):
    with pytest.raises(DataError, match=r"'s' \(string\), 'd' \(date32\[day\]\).*Select the numeric columns"):
        source(connection.sql("select 1 a, 'x' s, date '2020-01-01' d"))


def test_the_connection_is_free_after_reading_was_left_or_failed(connection, relation):
    found = source(relation)
    results = found.each(lambda part, _: part)
    assert next(results) == 0
    results.close()
    assert connection.sql("select 1").fetchall() == [(1,)]

    def fail(part, blocks):
        raise DataError("of the task")

    with pytest.raises(DataError, match="of the task"):
        list(found.each(fail))
    assert connection.sql("select 1").fetchall() == [(1,)]


def test_a_connection_that_is_in_use_is_told(connection, relation):
    found = source(relation)
    reader = connection.sql("select * from range(1000000)").to_arrow_reader(1000)
    reader.read_next_batch()
    with pytest.raises(DataError, match="`data` must have its connection to itself.*cursor"):
        list(found.each(lambda part, _: part))
    reader.close()


def test_a_connection_that_was_closed_is_told(connection, relation):
    found = source(relation)
    connection.close()
    with pytest.raises(DataError, match="`data` must have a connection that is open .*; got one that was closed"):
        all_rows(found)
    with pytest.raises(DataError, match="got one that was closed. Connect again"):
        source(relation)


def test_a_connection_that_gives_rows_in_any_order_is_refused(connection, relation):
    connection.execute("set preserve_insertion_order = false")
    with pytest.raises(DataError, match="preserve_insertion_order set to false.*SET preserve_insertion_order = true"):
        source(relation)


def test_rows_that_differ_from_one_reading_to_the_next_are_refused(connection):
    found = source(connection.sql("select random() a from range(10)"))
    list(found.each(lambda part, _: part))
    with pytest.raises(DataError, match="other rows, or the same in another order"):
        list(found.each(lambda part, _: part))


def test_paired_relations_are_refused_with_a_way_out(relation):
    with pytest.raises(DataError, match="must be one relation.*got 2. Join them"):
        source(relation.select("a"), relation.select("b"))

"""Lazy frames of polars are read in one run of their query, and never as a whole."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.distributed.reading import all_rows, source

from orthoboot.errors import DataError

polars = pytest.importorskip("polars")

ROWS = 3 * 2**20 + 12_345


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A Parquet file with more rows than two parts have, in row groups that end elsewhere."""
    path = tmp_path_factory.mktemp("polars") / "rows.parquet"
    numbers = np.arange(ROWS)
    frame = polars.DataFrame({"a": numbers.astype(np.float32), "b": numbers % 7, "c": numbers % 2 == 0})
    frame.write_parquet(path, row_group_size=100_003)
    return path


def test_all_rows_come_once_in_their_order(file):
    found = source(polars.scan_parquet(file))
    assert found.shapes == ((3,),)
    assert found.columns == (("a", "b", "c"),)
    assert found.n_parts == 4
    (rows,) = all_rows(found)
    expected = np.stack([np.arange(ROWS).astype(np.float32), np.arange(ROWS) % 7, np.arange(ROWS) % 2 == 0], axis=1)
    np.testing.assert_array_equal(rows, expected)


def test_parts_and_blocks_have_the_same_rows_at_each_reading_behind_a_filter(file):
    found = source(polars.scan_parquet(file).filter(polars.col("b") > 2).select("a"))

    def shape(_, blocks):
        return [(len(block[0]), float(block[0][0, 0])) for block in blocks]

    first, second = list(found.each(shape)), list(found.each(shape))
    assert first == second
    assert max(length for part in first for length, _ in part) <= 2**16
    assert sum(length for part in first for length, _ in part) == int((np.arange(ROWS) % 7 > 2).sum())


def test_missing_values_are_nan_and_whole_numbers_stay_whole():
    frame = polars.LazyFrame({"a": [1, None, 3]})
    np.testing.assert_array_equal(all_rows(source(frame))[0], [[1.0], [np.nan], [3.0]])
    (rows,) = all_rows(source(polars.LazyFrame({"a": [2**60 + 1, 3]})))
    assert rows.tolist() == [[2**60 + 1], [3]]


def test_paired_frames_come_side_by_side(file):
    scan = polars.scan_parquet(file)
    found = source(scan.select("a", "b"), scan.select("c"))
    assert found.shapes == ((2,), (1,))
    table, column = all_rows(found)
    np.testing.assert_array_equal(table[:, 1] % 7, np.arange(ROWS) % 7)
    np.testing.assert_array_equal(column[:, 0], np.arange(ROWS) % 2 == 0)


def test_frames_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="got 3 and 2 rows"):
        source(polars.LazyFrame({"a": [1, 2, 3]}), polars.LazyFrame({"b": [1, 2]}))


def test_columns_of_text_are_refused_by_name_and_type_before_anything_is_read(file):
    scan = polars.scan_parquet(file).with_columns(
        polars.lit("x").alias("name"), polars.col("a").map_batches(lambda _: 1 / 0, return_dtype=polars.Float64)
    )
    with pytest.raises(DataError, match="real numbers.*'name' \\(String\\).*Select the numeric columns"):
        source(scan)


def test_a_frame_without_rows_has_no_parts():
    found = source(polars.LazyFrame({"a": [1.0]}).filter(polars.col("a") > 2))
    assert found.n_parts == 0
    assert list(found.each(lambda part, _: part)) == []


def test_rows_that_come_in_another_order_are_refused(file):
    turned = []
    scan = polars.scan_parquet(file).select("a").map_batches(lambda frame: frame.reverse() if turned else frame)
    found = source(scan)
    for _ in range(2):
        assert list(found.each(lambda part, _: part)) == [0, 1, 2, 3]
    turned.append(True)
    with pytest.raises(DataError, match="same rows in the same order.* in rows 0 to 1048575 .*Sort the rows"):
        list(found.each(lambda part, _: part))


def test_a_file_that_has_grown_is_refused(tmp_path):
    polars.DataFrame({"a": [1.0, 2.0, 3.0]}).write_csv(tmp_path / "rows.csv")
    found = source(polars.scan_csv(tmp_path / "rows.csv"))
    with (tmp_path / "rows.csv").open("a") as file:
        file.write("4.0\n")
    with pytest.raises(DataError, match="this time it gave 4 rows where there were 3"):
        list(found.each(lambda part, _: part))


def test_memory_is_that_of_a_few_parts(file, tmp_path):
    # In a process of its own, whose peak is not that of other tests.
    code = """
import resource, sys, polars
from tests.distributed.reading import source
scan = polars.scan_parquet(sys.argv[1])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
list(source(scan.head(100_000)).each(lambda _, blocks: sum(len(block[0]) for block in blocks)))
before = peak()
rows = sum(source(scan).each(lambda _, blocks: sum(len(block[0]) for block in blocks)))
print(rows, peak() - before)
"""
    wide = polars.scan_parquet([file] * 4).select(*((polars.col("a") + i).cast(float).alias(f"a{i}") for i in range(8)))
    wide.sink_parquet(tmp_path / "wide.parquet", row_group_size=2**17)
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "wide.parquet")], capture_output=True, text=True, check=True
    )
    rows, megabytes = run.stdout.split()
    assert int(rows) == 4 * ROWS
    assert float(megabytes) < 500, "of a table of 808 MB"

"""Datasets of pyarrow are read row group by row group."""

from __future__ import annotations

import numpy as np
import pytest
from tests.distributed.reading import all_rows, source

from orthoboot.errors import DataError

pyarrow = pytest.importorskip("pyarrow")
datasets = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = 10_000


def table(start=0, stop=ROWS, kind="float64"):
    numbers = np.arange(start, stop)
    return pyarrow.table({"a": pyarrow.array(numbers).cast(kind), "b": numbers % 3})


@pytest.fixture
def folder(tmp_path):
    """Two files with three row groups each."""
    parquet.write_table(table(0, 6000), tmp_path / "0.parquet", row_group_size=2500)
    parquet.write_table(table(6000), tmp_path / "1.parquet", row_group_size=1500)
    return tmp_path


def test_row_groups_are_the_parts_and_come_in_their_order(folder):
    found = source(datasets.dataset(folder))
    assert (found.columns, found.shapes, found.n_parts) == ((("a", "b"),), ((2,),), 6)
    np.testing.assert_array_equal(all_rows(found)[0], np.stack([np.arange(ROWS), np.arange(ROWS) % 3], axis=1))
    lengths = list(found.each(lambda _, blocks: sum(len(block[0]) for block in blocks)))
    assert lengths == [2500, 2500, 1000, 1500, 1500, 1000]
    assert found.part_name(4) == f"row group 1 (counted from 0) of file {str(folder / '1.parquet')!r}"


def test_long_row_groups_come_in_blocks(tmp_path):
    parquet.write_table(table(0, 200_000), tmp_path / "0.parquet", row_group_size=200_000)
    (lengths,) = source(datasets.dataset(tmp_path)).each(lambda _, blocks: [len(block[0]) for block in blocks])
    assert lengths == [2**16] * 3 + [200_000 - 3 * 2**16]


def test_an_open_parquet_file_is_read_too(folder):
    with parquet.ParquetFile(folder / "0.parquet") as file:
        found = source(file)
        assert (found.columns, found.n_parts) == ((("a", "b"),), 3)
        np.testing.assert_array_equal(all_rows(found)[0][:, 0], np.arange(6000))


def test_a_file_that_is_written_anew_between_two_readings_is_refused(folder):
    plain = {"row_group_size": 1500, "compression": "none", "use_dictionary": False}  # as long, whatever it holds
    parquet.write_table(table(6000), folder / "1.parquet", **plain)
    found = source(datasets.dataset(folder))
    all_rows(found)
    parquet.write_table(table(7000, 11_000), folder / "1.parquet", **plain)
    with pytest.raises(DataError, match=r"same rows .* each time; they changed in row group 0 .*1\.parquet"):
        all_rows(found)


def test_missing_values_are_nan(tmp_path):
    columns = {"a": [1, None], "b": [None, True], "c": [0.5, None]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "0.parquet")
    expected = [[1, np.nan, 0.5], [np.nan, 1, np.nan]]
    np.testing.assert_array_equal(all_rows(source(datasets.dataset(tmp_path)))[0], expected)


def test_a_filter_of_the_dataset_holds(folder):
    found = source(datasets.dataset(folder).filter(datasets.field("b") == 1))
    assert found.columns == (("a", "b"),)
    np.testing.assert_array_equal(all_rows(found)[0][:, 0], np.arange(ROWS)[np.arange(ROWS) % 3 == 1])


def test_tables_in_memory_and_columns_from_the_names_of_folders_are_read(tmp_path):
    np.testing.assert_array_equal(all_rows(source(datasets.dataset(table())))[0][:, 0], np.arange(ROWS))
    parquet.write_to_dataset(table(0, 9), tmp_path / "parted", partition_cols=["b"])
    found = source(datasets.dataset(tmp_path / "parted", partitioning="hive"))
    rows = all_rows(found)[0]
    assert found.columns == (("a", "b"),)
    np.testing.assert_array_equal(rows[:, 0] % 3, rows[:, 1])


def test_text_files_are_read_with_the_types_of_the_dataset(tmp_path):
    (tmp_path / "0.csv").write_text("a\n0.5\n1.5\n")
    (tmp_path / "1.csv").write_text("a\n2\n3\n")
    np.testing.assert_array_equal(all_rows(source(datasets.dataset(tmp_path, format="csv")))[0][:, 0], [0.5, 1.5, 2, 3])
    (tmp_path / "2.csv").write_text("a\n4\nfour\n")
    with pytest.raises(DataError, match="2.csv' cannot be read as the others are"):
        all_rows(source(datasets.dataset(tmp_path, format="csv")))


def test_a_file_with_another_type_is_refused_by_name(folder):
    parquet.write_table(table(0, 10, "int32"), folder / "2.parquet")
    with pytest.raises(DataError, match="column 'a' is int32 in .*2.parquet' and double in the dataset"):
        source(datasets.dataset(folder))


def test_a_file_without_a_column_is_refused_by_name(folder):
    parquet.write_table(table(0, 10).drop_columns(["b"]), folder / "2.parquet")
    with pytest.raises(DataError, match="column 'b' is missing in .*2.parquet'"):
        source(datasets.dataset(folder))


def test_columns_of_text_are_refused_by_name_and_type(folder):
    parquet.write_table(pyarrow.table({"name": ["x"], "a": [1.0]}), folder / "text.parquet")
    with pytest.raises(DataError, match="'name' \\(string\\)"):
        source(datasets.dataset(folder / "text.parquet"))
    with pytest.raises(DataError, match="'name' \\(string\\)"), parquet.ParquetFile(folder / "text.parquet") as file:
        source(file)


def test_paired_datasets_need_the_same_row_groups(folder, tmp_path):
    halves = tmp_path / "halves"
    halves.mkdir()
    for name in ("0.parquet", "1.parquet"):
        whole = parquet.read_table(folder / name, columns=["b"], partitioning=None)
        parquet.write_table(whole, halves / name, row_group_size=2500 if name == "0.parquet" else 1500)
    files = [str(folder / name) for name in ("0.parquet", "1.parquet")]
    first, second = all_rows(source(datasets.dataset(files), datasets.dataset(halves)))
    np.testing.assert_array_equal(first[:, 1], second[:, 0])
    parquet.write_table(whole, halves / "1.parquet", row_group_size=1400)
    with pytest.raises(DataError, match="got 1500 and 1400 rows in row group 0"):
        all_rows(source(datasets.dataset(files), datasets.dataset(halves)))
    parquet.write_table(whole, halves / "1.parquet", row_group_size=4000)
    with pytest.raises(DataError, match="same files and row groups.* got 6 and 4"):
        source(datasets.dataset(files), datasets.dataset(halves))

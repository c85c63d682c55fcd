"""Arrays in files are read in stretches, in order, and never written to."""

from __future__ import annotations

import os
import pickle
import threading
import time

import numpy as np
import pytest
from tests.distributed.reading import all_rows, source

from orthoboot.arrays.threads import processors
from orthoboot.errors import DataError

ROWS = 5 * 2**16 + 77


@pytest.fixture
def mapped(tmp_path):
    """Write an array to a file and map it."""

    def write(array, name="rows.bin", mode="r+"):
        array.tofile(tmp_path / name)
        return np.memmap(tmp_path / name, dtype=array.dtype, mode=mode, shape=array.shape)

    return write


def test_all_rows_come_once_in_their_order(mapped):
    rows = np.arange(2.0 * ROWS).reshape(-1, 2)
    found = source(mapped(rows))
    assert found.shapes == ((2,),)
    assert found.columns == (None,)
    assert found.n_parts >= 2 * processors()
    np.testing.assert_array_equal(all_rows(found)[0], rows)


def test_parts_begin_at_multiples_of_8192_and_blocks_are_short(mapped):
    lengths = list(source(mapped(np.arange(ROWS))).each(lambda _, blocks: [len(block[0]) for block in blocks]))
    starts = np.cumsum([0, *(sum(part) for part in lengths)])
    assert starts[-1] == ROWS
    assert (starts[:-1] % 8192 == 0).all()
    assert max(max(part) for part in lengths) <= 2**16


@pytest.mark.parametrize("dtype", ["?", "u1", "<i8", ">i4", "<f4", ">f8"])
def test_numbers_of_any_type_keep_their_kind_and_have_the_byte_order_of_the_machine(mapped, dtype):
    (rows,) = all_rows(source(mapped(np.array([1, 0, 1], dtype=dtype))))
    np.testing.assert_array_equal(rows, [1, 0, 1])
    assert rows.dtype == np.dtype(dtype).newbyteorder("=")


def test_a_slice_of_a_map_is_read_where_it_lies(mapped):
    rows = np.arange(60.0).reshape(20, 3)
    np.testing.assert_array_equal(all_rows(source(mapped(rows)[2:18:3, 1]))[0], rows[2:18:3, 1])


def test_paired_arrays_come_side_by_side_even_where_one_lies_in_memory(mapped):
    table, column = np.arange(2.0 * ROWS).reshape(-1, 2), np.arange(ROWS)
    found = source(mapped(table), column)
    assert found.shapes == ((2,), ())
    read = all_rows(found)
    np.testing.assert_array_equal(read[0], table)
    np.testing.assert_array_equal(read[1], column)


def test_nobody_can_write_to_the_file(mapped):
    def write(_, blocks):
        next(blocks)[0][:] = 0

    with pytest.raises(ValueError, match="read-only"):
        list(source(mapped(np.ones(10))).each(write))


def test_tables_of_different_lengths_are_refused(mapped):
    with pytest.raises(DataError, match="same rows .*; got 10 and 9 rows"):
        source(mapped(np.ones(10)), mapped(np.ones(9), "other.bin"))


def test_an_error_in_one_part_ends_the_others(mapped):
    started = []

    def fail(part, blocks):
        started.append(part)
        raise DataError(f"part {part}")

    found = source(mapped(np.arange(300 * 8192, dtype=np.int8)))
    object.__setattr__(found, "part_rows", 8192)
    object.__setattr__(found, "n_parts", 300)
    with pytest.raises(DataError, match="part 0"):
        list(found.each(fail))
    assert len(started) < 300
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("orthoboot-part")]


def test_results_that_nobody_takes_are_not_computed(mapped):
    started = []
    found = source(mapped(np.arange(100 * 8192, dtype=np.int8)))
    object.__setattr__(found, "part_rows", 8192)
    object.__setattr__(found, "n_parts", 100)
    results = found.each(lambda part, _: started.append(part))
    next(results)
    time.sleep(0.2)
    results.close()
    assert len(started) <= 2 * processors() + 4


@pytest.mark.parametrize("rows", [slice(None), slice(100, 60_000, 3)])
def test_a_file_that_has_become_shorter_is_refused(mapped, rows):
    array = mapped(np.arange(80_000.0))
    found = source(array[rows])
    all_rows(found)
    os.truncate(array.filename, 100_000)
    with pytest.raises(DataError, match="must not change .*; got a file of 100,000 bytes, of which 640,000 were"):
        all_rows(found)


def test_a_file_that_is_gone_is_read_all_the_same(mapped):
    array = mapped(np.arange(80_000.0))
    os.remove(array.filename)
    np.testing.assert_array_equal(all_rows(source(array))[0], np.arange(80_000.0))


def test_a_pickled_source_has_its_rows_in_memory(mapped):
    found = pickle.loads(pickle.dumps(source(mapped(np.arange(100.0)))))
    np.testing.assert_array_equal(all_rows(found)[0], np.arange(100.0))


def test_a_part_is_named_by_its_rows(mapped):
    found = source(mapped(np.ones(8192 + 5)))
    assert found.part_name(1) == "rows 8192 to 8196 (counted from 0)"

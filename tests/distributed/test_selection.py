"""Which containers are read part by part, and which lie in memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from orthoboot.distributed.selection import source_of
from orthoboot.errors import DataError


@pytest.mark.parametrize("container", [np.arange(3.0), [1.0, 2.0], np.arange(3.0)[None], "text", None])
def test_what_lies_in_memory_has_no_source(container):
    assert source_of([container], ["data"]) is None


@pytest.mark.parametrize(("dtype", "shape"), [("U3", (4,)), ("f8", (2, 2, 2)), ("c16", (3,)), ("M8[s]", (3,))])
def test_maps_that_are_no_tables_of_numbers_are_left_to_the_reader_of_arrays(tmp_path, dtype, shape):
    mapped = np.memmap(tmp_path / "rows.bin", dtype=dtype, mode="w+", shape=shape)
    assert source_of([mapped], ["data"]) is None


def test_frames_in_memory_have_no_source():
    pandas, polars, pyarrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    frames = [pandas.DataFrame({"a": [1.0]}), polars.DataFrame({"a": [1.0]}), pyarrow.table({"a": [1.0]})]
    assert [source_of([frame], ["data"]) for frame in frames] == [None] * 3


@pytest.mark.parametrize("turned", [False, True])
def test_paired_tables_of_two_kinds_are_refused_by_name(turned):
    collections = pytest.importorskip("dask.array")
    containers = [collections.ones(10, chunks=5), np.ones(10)][:: -1 if turned else 1]
    with pytest.raises(DataError, match="one kind") as raised:
        source_of(containers, ["data[0]", "data[1]"])
    array, dask = (1, 0) if not turned else (0, 1)
    assert f"`data[{array}]` is a numpy ndarray" in str(raised.value)
    assert f"`data[{dask}]` is a dask Array" in str(raised.value)
    assert "all of them in memory" in str(raised.value)


def test_a_map_beside_a_list_is_refused(tmp_path):
    mapped = np.memmap(tmp_path / "rows.bin", dtype=float, mode="w+", shape=(3,))
    with pytest.raises(DataError, match="`data\\[1\\]` is a builtins list"):
        source_of([mapped, [1.0, 2.0, 3.0]], ["data[0]", "data[1]"])


def test_no_optional_package_is_imported():
    code = (
        "import sys, numpy as np\nfrom orthoboot.distributed.selection import source_of\n"
        "mapped = np.memmap(__import__('tempfile').TemporaryFile(), dtype=float, mode='w+', shape=(4,))\n"
        "assert source_of([np.ones(3)], ['data']) is None and source_of([mapped], ['data']).n_parts == 1\n"
        "print({'dask', 'polars', 'pyarrow', 'duckdb', 'pandas'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"

"""`bootstrap` on a cluster of two processes: the in-memory answer whatever happens there, and errors in good time."""

from __future__ import annotations

import functools
import os
import re
import signal
import threading
import time

import numpy as np
import pytest
from tests.distributed.test_bootstrap import N, assert_same, rows
from tests.distributed.test_dask_collections import a_cluster
from tests.distributed.test_strata import STRATA

import orthoboot as ob
from orthoboot.errors import ArgumentError, ClusterError, DataError

dask = pytest.importorskip("dask")
arrays = pytest.importorskip("dask.array")
frames = pytest.importorskip("dask.dataframe")
pandas = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),  # dask's own
    # Workers that are killed, and clusters that are closed, leave sockets and files behind, as on purpose here.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

SECONDS = 10
"""In which every error comes, on a slow machine too; most take a tenth of one."""

PARTITIONS = {20: (1_500,) * 20, 12: (2_500,) * 12, 7: (4_286,) * 6 + (4_284,)}
"""More, and fewer, than the eight that may wait at once on two threads."""


@functools.cache
def in_memory(*, stratified=False):
    return ob.bootstrap(rows(), ob.correlation, rng=5, **({"strata": STRATA["few"]} if stratified else {}))


def partitioned(number, change=None):
    data = arrays.from_array(rows(), chunks=(PARTITIONS[number], 2))
    return data if change is None else data.map_blocks(change, dtype=float, meta=np.empty((0, 2)))


def on_cluster(data, *, stratified=False):
    strata = arrays.from_array(STRATA["few"], chunks=(data.chunks[0],)) if stratified else None
    return ob.bootstrap(data, ob.correlation, rng=5, strata=strata)


def late(block, block_info=None):
    """Partitions that take the longer the earlier they come, but for some, so that the last are done first."""
    place = block_info[0]["chunk-location"][0]
    time.sleep(0.02 * ((13 * (12 - place)) % 17) / 17)
    return block


@pytest.mark.parametrize("stratified", [False, True], ids=["rows", "strata"])
@pytest.mark.parametrize(("number", "change"), [(20, None), (7, None), (12, late)], ids=["20", "7", "shuffled"])
def test_the_answer_is_that_of_the_rows_in_memory(cluster, number, change, stratified):
    found = on_cluster(partitioned(number, change), stratified=stratified)
    assert_same(found, in_memory(stratified=stratified))


@pytest.mark.parametrize(
    "stratified", [pytest.param(False, id="rows"), pytest.param(True, id="strata", marks=pytest.mark.slow)]
)
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(cluster, stratified, tmp_path):
    trace = str(tmp_path / "read")

    def fatal(block):
        with open(trace, "a") as file:
            file.write("x")
            file.flush()
            if file.tell() == 29:  # in the third pass over twelve partitions
                os.kill(os.getpid(), signal.SIGKILL)
        return block

    before = set(cluster.run(os.getpid).values())
    assert_same(on_cluster(partitioned(12, fatal), stratified=stratified), in_memory(stratified=stratified))
    assert os.path.getsize(trace) > 29
    cluster.wait_for_workers(2)
    assert len(before & set(cluster.run(os.getpid).values())) == 1


def frame(table=None, n=20):
    table = rows() if table is None else table
    return frames.from_pandas(pandas.DataFrame(table, columns=["a", "b"]), npartitions=n)


def chosen(data):
    """Rows in chunks of unknown length, some of them without any."""
    places = arrays.from_array(np.arange(N), chunks=(data.chunks[0],))
    return data[(places < 4_000) | (places >= 20_000)]


def test_chunks_of_unknown_length_and_without_rows_are_read(cluster):
    kept = np.delete(np.arange(N), np.arange(4_000, 20_000))
    data = chosen(partitioned(12))
    assert np.isnan(data.chunks[0]).all()
    expected = ob.bootstrap(rows()[kept], ob.correlation, strata=STRATA["few"][kept], rng=5)
    strata = chosen(arrays.from_array(STRATA["few"], chunks=(PARTITIONS[12],)))
    assert_same(ob.bootstrap(data, ob.correlation, strata=strata, rng=5), expected)


def test_frames_of_unknown_divisions_and_without_rows_are_read(cluster):
    table = rows()
    table[2_500:7_500, 0] = -1.0
    unknown = frame(table, n=12).clear_divisions()
    assert not unknown.known_divisions
    expected = ob.bootstrap(table[table[:, 0] >= 0], ob.correlation, rng=5)
    assert_same(ob.bootstrap(unknown[unknown["a"] >= 0], ob.correlation, rng=5), expected)


def files(folder, changed):
    """A folder of Parquet files, of which the fourth is another."""
    for number, part in enumerate(np.split(rows(), 6)):
        table = pandas.DataFrame(part, columns=["a", "b"])
        (changed(table) if number == 3 else table).to_parquet(folder / f"{number}.parquet")
    return frames.read_parquet(folder)


def with_a_hole():
    table = rows()
    table[17 * 1_500 + 41, 1] = np.nan
    return table


def without_rows(data):
    return data[data["a"] < 0]


def test_a_file_of_whole_numbers_or_text_among_others_is_read_after_a_conversion(cluster, tmp_path):
    data = files(tmp_path, lambda table: table.astype({"b": str})).astype({"b": float})
    assert_same(ob.bootstrap(data, ob.correlation, rng=5), in_memory())


BAD = {
    "NaN": (
        lambda _: frame(with_a_hole()), DataError, r"1 NaN .* partition 17 .* row 41 of column 'b', row 25,541 of all"
    ),
    "whole numbers": (
        lambda folder: files(folder, lambda table: table.round().astype({"b": int})),
        DataError,
        r"partition 3 .* has type int64 in column 'b' instead of float64\. Convert .* `astype`",
    ),
    "text": (
        lambda folder: files(folder, lambda table: table.astype({"b": str})),
        DataError,
        r"partition 3 .* has type str.* in column 'b' instead of float64\. Convert .* `astype`",
    ),
    "no rows": (lambda _: without_rows(frame()), DataError, r"at least two rows.* got 0 in 20 part"),
    "no rows, array": (lambda _: arrays.zeros((0, 2)), DataError, r"at least two rows.* got 0 in 1 part"),
    "text column": (
        lambda _: frame().assign(name="x"), DataError, r"'name' \(.*str.*\).*Select the numeric columns"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_data_are_told_in_seconds(cluster, name, tmp_path):
    make, error, message = BAD[name]
    data, start = make(tmp_path), time.monotonic()
    with pytest.raises(error, match=message):
        ob.bootstrap(data, ob.correlation, rng=5)
    assert time.monotonic() - start < SECONDS


@pytest.mark.parametrize("argument", ["strata", "groups"])
def test_a_column_that_does_not_exist_is_told(cluster, argument):
    with pytest.raises(ArgumentError, match=rf"`{argument}` must name a column .* has the columns 'a', 'b'; got 'c'"):
        ob.bootstrap(frame(), ob.correlation, **{argument: "c"})


@pytest.mark.parametrize("place", ["here", "cluster"])
def test_a_column_that_a_file_lacks_is_told_with_its_partition(cluster, place, tmp_path):
    settings = {} if place == "cluster" else {"scheduler": "threads"}
    data, start = files(tmp_path, lambda table: table[["a"]]), time.monotonic()
    with dask.config.set(settings), pytest.raises(KeyError, match="b") as caught:
        ob.bootstrap(data, ob.correlation)
    assert time.monotonic() - start < SECONDS
    [note] = caught.value.__notes__
    expected = (
        r"where partition 3 \(counted" if place == "cluster" else r"where one of the partitions 0 to \d+ \(counted"
    )
    assert re.search(expected, note)


def test_a_scheduler_that_is_closed_in_the_middle_is_told():
    distributed = pytest.importorskip("distributed")

    def slow(block):
        time.sleep(0.05)
        return block

    running = a_cluster()
    with distributed.Client(running):
        closer = threading.Timer(1.0, running.close)
        closer.start()
        start = time.monotonic()
        with pytest.raises(ClusterError, match=r"cannot be reached.*tcp://.*start again"):
            ob.bootstrap(partitioned(20, slow), ob.correlation, rng=5, n_resamples=500, batch=10)
        assert time.monotonic() - start < SECONDS
        closer.join()


def test_a_scheduler_that_was_closed_before_is_told():
    distributed = pytest.importorskip("distributed")
    running = a_cluster(1)
    with distributed.Client(running):
        running.close()
        start = time.monotonic()
        with pytest.raises(ClusterError, match=r"cannot be reached.*start again"):
            ob.bootstrap(partitioned(20), ob.correlation, rng=5)
        assert time.monotonic() - start < SECONDS

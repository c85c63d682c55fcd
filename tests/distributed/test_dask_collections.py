"""Collections of dask, with and without a cluster, and with a cluster that fails."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from tests.distributed.reading import all_rows, joined, source

from orthoboot.errors import ArgumentError, ClusterError, DataError

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pandas = pytest.importorskip("pandas")
arrays = pytest.importorskip("dask.array")
frames = pytest.importorskip("dask.dataframe")

# Workers that are killed, and clusters that are closed, leave sockets and files behind, as on purpose here.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

ROWS = np.arange(3000.0).reshape(-1, 3)


def a_cluster(workers=2):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=60
    )


@pytest.fixture(params=["here", "cluster"])
def scheduler(request):
    """Both places where partitions are computed."""
    if request.param == "cluster":
        request.getfixturevalue("cluster")
    return request.param


def frame_of(partitions, meta=None):
    """A frame whose partitions are what is given, whatever dask expects."""
    meta = partitions[0].iloc[:0] if meta is None else meta
    return frames.from_delayed([dask.delayed(one) for one in partitions], meta=meta, verify_meta=False)


def test_arrays_come_in_the_order_of_their_rows_with_all_columns(scheduler):
    found = source(arrays.from_array(ROWS, chunks=(170, 2)))
    assert (found.columns, found.shapes, found.n_parts) == ((None,), ((3,),), 6)
    np.testing.assert_array_equal(all_rows(found)[0], ROWS)


def test_chunks_of_unknown_length_and_without_rows_are_read(scheduler):
    whole = arrays.from_array(ROWS[:, 0], chunks=100)
    chosen = whole[whole >= 1500]
    assert np.isnan(chosen.chunks[0]).all()
    found = source(chosen)
    lengths = list(found.each(lambda _, blocks: sum(len(block[0]) for block in blocks)))
    assert lengths == [0] * 5 + [100] * 5
    np.testing.assert_array_equal(all_rows(found)[0], ROWS[500:, 0])


def test_frames_and_series_come_with_their_names_and_missing_values_as_nan(scheduler):
    whole = pandas.DataFrame({
        "a": [0.5, np.nan, 2.5, 3.5], "b": pandas.array([1, None, 3, 4], dtype="Int64"), "c": [True, False, True, True]
    })  # fmt: skip
    collection = frames.from_pandas(whole, npartitions=2, sort=False)
    found = source(collection)
    assert (found.columns, found.shapes, found.n_parts) == ((("a", "b", "c"),), ((3,),), 2)
    np.testing.assert_array_equal(all_rows(found)[0], [[0.5, 1, 1], [np.nan, np.nan, 0], [2.5, 3, 1], [3.5, 4, 1]])
    series = source(collection["b"])
    assert (series.columns, series.shapes) == ((("b",),), ((),))
    np.testing.assert_array_equal(all_rows(series)[0], [1, np.nan, 3, 4])


def test_paired_collections_come_side_by_side(scheduler):
    table, column = arrays.from_array(ROWS, chunks=(300, 3)), arrays.from_array(ROWS[:, 0], chunks=170)
    found = source(table, column)
    assert found.n_parts == 4
    first, second = all_rows(found)
    np.testing.assert_array_equal(first, ROWS)
    np.testing.assert_array_equal(second, ROWS[:, 0])
    frame = frames.from_pandas(pandas.DataFrame(ROWS, columns=list("xyz")), npartitions=3)
    first, second = all_rows(source(frame[["x", "y"]], frame["z"]))
    np.testing.assert_array_equal(np.column_stack([first, second]), ROWS)


def test_large_partitions_come_in_blocks(scheduler):
    (lengths,) = source(arrays.ones(150_000, chunks=-1)).each(lambda _, blocks: [len(block[0]) for block in blocks])
    assert lengths == [2**16, 2**16, 150_000 - 2**17]


def test_nothing_is_computed_before_it_is_read():
    def broken():
        raise AssertionError("computed")

    meta = pandas.DataFrame({"a": [1.0], "name": ["x"]}).iloc[:0]
    collection = frames.from_delayed([dask.delayed(broken)()] * 2, meta=meta, verify_meta=False)
    with pytest.raises(DataError, match="'name' \\(str.*\\).*Select the numeric columns"):
        source(collection)
    assert source(collection[["a"]]).n_parts == 2


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (pandas.DataFrame({"a": [1], "b": [2.0]}), "partition 1 .* has type int64 in column 'a' instead of float64"),
        (pandas.DataFrame({"a": [1.0]}), "partition 1 .* has 1 column\\(s\\) instead of 2 column\\(s\\)"),
        (pandas.DataFrame({"a": [1.0], "c": [2.0]}), "partition 1 .* has column 'c' instead of 'b'"),
        (pandas.DataFrame({"a": [1.0], "b": ["x"]}), "partition 1 .* has type str.* in column 'b' instead of float64"),
    ],
)
def test_a_partition_that_differs_is_refused_by_number_column_and_types(scheduler, second, message):
    found = source(frame_of([pandas.DataFrame({"a": [1.0], "b": [2.0]}), second]))
    with pytest.raises(DataError, match=message):
        all_rows(found)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (np.ones((2, 4)), "has 4 column\\(s\\) instead of 3"),
        (np.ones((2, 3), dtype=np.float32), "has type float32 instead of float64"),
        (np.ones(2), "has 1 axis\\(es\\)"),
        (np.ma.masked_greater(np.arange(6.0).reshape(2, 3), 4), "no masked values"),
    ],
)
def test_a_block_that_differs_is_refused(block, message):
    found = source(arrays.from_delayed(dask.delayed(block), shape=(2, 3), dtype=float))
    with pytest.raises(DataError, match=message):
        all_rows(found)


def test_collections_that_are_divided_differently_are_refused():
    frame = frames.from_pandas(pandas.DataFrame(ROWS), npartitions=3)
    with pytest.raises(DataError, match="same partitions.*got 3 and 2 of them.*to_dask_array\\(lengths=True\\)"):
        source(frame, arrays.ones(1000, chunks=500))
    with pytest.raises(DataError, match="got 10 and 9 rows"):
        source(arrays.ones(10, chunks=5), arrays.ones(9, chunks=5))
    uneven = source(frame, arrays.ones(1000, chunks=(300, 400, 300)))
    with pytest.raises(DataError, match="got 33. and .00 rows in partition"):
        all_rows(uneven)


@pytest.mark.parametrize("shape", [(4, 2, 2), (4, 0)])
def test_arrays_that_are_no_tables_are_refused(shape):
    with pytest.raises(DataError, match="one column, or a table"):
        source(arrays.ones(shape, chunks=2 if 0 not in shape else -1))


def test_arrays_of_other_types_are_refused():
    with pytest.raises(DataError, match="real numbers; got dtype complex128. Take its real"):
        source(arrays.ones(4, dtype=complex))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((), "rows first; got a single number, a dask Array without axes. Pass the rows"),
        ((4, np.nan), r"known number of columns .*; got a dask Array of shape \('n', nan\). Call `compute_chunk_sizes"),
    ],
)
def test_arrays_without_rows_or_of_unknown_width_are_refused(shape, message):
    block = dask.delayed(np.ones)(shape)
    with pytest.raises(DataError, match=message):
        source(arrays.from_delayed(block, shape=shape, dtype=float))


def other_rows(number, n_rows=200):
    """Rows that nobody has fixed, such as those of a query without an order."""
    return pandas.DataFrame({"a": np.random.default_rng().normal(size=n_rows)})


def test_partitions_that_come_out_otherwise_the_next_time_are_refused(scheduler):
    found = source(frames.from_map(other_rows, range(3), meta=other_rows(0).iloc[:0]))
    all_rows(found)
    with pytest.raises(DataError, match="same rows .* each time; they changed in partition 0 .*`persist`"):
        all_rows(found)


def test_a_partition_that_loses_a_row_is_refused(tmp_path):
    def rows(number):
        first = not (tmp_path / str(number)).exists()
        (tmp_path / str(number)).touch()
        return pandas.DataFrame({"a": np.ones(200 if first or number < 2 else 199)})

    found = source(frames.from_map(rows, range(3), meta=rows(9).iloc[:0]))
    all_rows(found)
    with pytest.raises(DataError, match="they changed in partition 2"):
        all_rows(found)


def test_columns_in_another_order_have_a_remedy_of_their_own():
    first = pandas.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(DataError, match="column 'b' instead of 'a'. Select the columns by name and in one order"):
        all_rows(source(frame_of([first, first[["b", "a"]]])))


def test_errors_of_the_task_come_back_as_they_are(scheduler):
    def refuse(part, blocks):
        if part == 2:
            raise DataError("partition 2 holds NaN")
        return part

    results = source(arrays.ones(100, chunks=10)).each(refuse)
    with pytest.raises(DataError, match="^partition 2 holds NaN$"):
        list(results)

    def divide(part, blocks):
        return 1 // part

    with pytest.raises(ZeroDivisionError):
        list(source(arrays.ones(4, chunks=2)).each(divide))


def test_a_task_that_cannot_be_sent_is_refused(cluster):
    lock = threading.Lock()
    with pytest.raises(ArgumentError, match="pickling it raised TypeError"):
        list(source(arrays.ones(4, chunks=2)).each(lambda part, _: lock))


def test_results_are_not_gathered_before_they_are_taken(cluster, tmp_path):
    folder = str(tmp_path)

    def leave_trace(part, blocks):
        with open(f"{folder}/{part}", "w"):
            return part

    results = source(arrays.ones(100, chunks=1)).each(leave_trace)
    assert next(results) == 0
    time.sleep(0.5)
    assert len(os.listdir(folder)) <= 8
    results.close()


def test_thousands_of_partitions_are_sent_one_by_one_without_the_graph_of_all():
    found = source(arrays.ones(5000, chunks=1) + 1)
    assert found.n_parts == 5000
    assert max(len(tables[0].__dask_graph__()) for tables in found.partitions) <= 3


def test_a_worker_that_is_killed_changes_nothing(cluster, tmp_path):
    trace = str(tmp_path / "killed")

    def kill_once(part, blocks):
        rows = sum(float(block[0].sum()) for block in blocks)
        if part == 3 and not os.path.exists(trace):
            with open(trace, "w") as file:
                file.write(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    before = set(cluster.run(os.getpid).values())
    sums = list(source(arrays.from_array(ROWS, chunks=(100, 3))).each(kill_once))
    with open(trace) as file:
        assert int(file.read()) in before, "a worker was killed"
    np.testing.assert_array_equal(sums, ROWS.reshape(10, -1).sum(axis=1))


def test_a_partition_that_ends_every_worker_is_told():
    def kill(part, blocks):
        os.kill(os.getpid(), signal.SIGKILL)

    settings = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    told = pytest.raises(ClusterError, match="lost every worker that read partition 0")
    with settings, a_cluster() as cluster, distributed.Client(cluster), told:
        list(source(arrays.ones(2, chunks=2)).each(kill))


def test_a_scheduler_that_is_closed_while_tasks_run_is_told():
    def wait(part, blocks):
        time.sleep(60 if part else 0)
        return part

    cluster = a_cluster(1)
    with distributed.Client(cluster):
        results = source(arrays.ones(4, chunks=1)).each(wait)
        assert next(results) == 0
        closer = threading.Timer(0.5, cluster.close)
        closer.start()
        start = time.monotonic()
        with pytest.raises(ClusterError, match="cannot be reached.*tcp://.*start again"):
            next(results)
        assert time.monotonic() - start < 15
        closer.join()


def test_a_scheduler_that_was_closed_before_is_told_at_once():
    cluster = a_cluster(1)
    with distributed.Client(cluster):
        found = source(arrays.ones(4, chunks=1))
        cluster.close()
        start = time.monotonic()
        with pytest.raises(ClusterError, match="cannot be reached.*start again"):
            list(found.each(joined))
        assert time.monotonic() - start < 15

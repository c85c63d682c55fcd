from __future__ import annotations

import datetime
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError
from orthoboot.plans import CircularBlocks, Iid, Plan

ROWS = np.array([2, 0, 2])
VALUES = [1.0, 2.0, 4.0]
MISSING_SECOND = np.array([1.0, np.nan, 4.0])


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


SINGLE_COLUMNS = {
    "float64": np.array(VALUES),
    "float32": np.array(VALUES, dtype=np.float32),
    "float16": np.array(VALUES, dtype=np.float16),
    "int8": np.array(VALUES, dtype=np.int8),
    "uint64": np.array(VALUES, dtype=np.uint64),
    "big-endian": np.array(VALUES, dtype=">f8"),
    "read-only": read_only(np.array(VALUES)),
    "reversed view": np.array(VALUES[::-1])[::-1],
    "strided view": np.array([VALUES, VALUES]).T[:, 0],
    "masked array without a masked value": np.ma.masked_array(VALUES, mask=False),
    "list": VALUES,
    "list of integers": [1, 2, 4],
    "list of numpy numbers": [np.float64(1), np.int64(2), np.float32(4)],
    "tuple": (1.0, 2.0, 4.0),
    "pandas": pd.Series(VALUES),
    "pandas with an odd index": pd.Series(VALUES, index=[7, -1, 3]),
    "pandas with a duplicate index": pd.Series(VALUES, index=["a", "a", "b"]),
    "pandas integers": pd.Series([1, 2, 4]),
    "pandas nullable": pd.Series([1, 2, 4], dtype="Int64"),
    "pandas on arrow": pd.Series([1, 2, 4], dtype="int64[pyarrow]"),
    "pandas sparse": pd.Series(VALUES).astype("Sparse[float]"),
    "polars": pl.Series("x", VALUES),
    "polars integers": pl.Series("x", [1, 2, 4]),
    "polars decimals": pl.Series("x", [Decimal("1"), Decimal("2"), Decimal("4")]),
    "pyarrow": pa.array(VALUES),
    "pyarrow integers": pa.array([1, 2, 4]),
    "pyarrow decimals": pa.array([Decimal("1"), Decimal("2"), Decimal("4")]),
    "pyarrow in chunks": pa.chunked_array([[1.0], [2.0, 4.0]]),
}


def single_columns():
    return pytest.mark.parametrize("container", SINGLE_COLUMNS.values(), ids=SINGLE_COLUMNS.keys())


@single_columns()
def test_a_column_of_any_kind_is_one_sample_of_floats(container):
    data = read(container)
    assert data.sizes == (3,)
    assert data.sample_of == (0,)
    np.testing.assert_array_equal(data.arrays[0], VALUES)
    assert data.arrays[0].dtype == np.float64
    assert data.arrays[0].flags.c_contiguous


@single_columns()
def test_taken_rows_come_in_their_order_and_in_the_same_kind_of_container(container):
    data = read(container)
    (taken,) = data.take([ROWS])
    (original,) = data.containers
    assert isinstance(taken, type(original))
    np.testing.assert_array_equal(np.asarray(taken, dtype=float), [4.0, 1.0, 4.0])


def test_truth_values_are_numbers():
    for container in (
        np.array([True, False, True]),
        pd.Series([True, False, True]),
        pl.Series([True, False, True]),
        pa.array([True, False, True]),
        [True, False, True],
    ):
        np.testing.assert_array_equal(read(container).arrays[0], [1.0, 0.0, 1.0])


@pytest.mark.parametrize("shape", [(4, 1), (4, 3), (4, 2, 3), (4, 1, 2, 2)])
def test_an_array_may_have_rows_of_any_shape(shape):
    array = np.arange(np.prod(shape)).reshape(shape)
    data = read(array)
    assert data.sizes == (4,)
    assert data.arrays[0].shape == shape
    np.testing.assert_array_equal(data.take([ROWS])[0], array[ROWS])


def test_later_edits_of_the_data_do_not_reach_what_was_read():
    array, frame = np.arange(6.0).reshape(3, 2), pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    data = read((array, frame), paired=True)
    array[:] = 0
    frame["x"] = 0.0
    np.testing.assert_array_equal(data.arrays[0], np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(data.arrays[1], [[1.0], [2.0], [3.0]])


def arrow(values: np.ndarray) -> pa.Array:
    """An array of arrow's in the memory of numpy's."""
    return pa.Array.from_buffers(pa.float64(), len(values), [None, pa.py_buffer(values)])


SHARED_MEMORY = {
    "polars series": lambda x: pl.Series("x", x),
    "polars frame": lambda x: pl.DataFrame({"x": x}),
    "polars of arrow": lambda x: pl.from_arrow(pa.table({"x": arrow(x)})),
    "polars array": lambda x: pl.DataFrame({"x": pl.Series(x.reshape(-1, 2)).explode()}),
    "pyarrow array": arrow,
    "pyarrow chunks": lambda x: pa.chunked_array([arrow(x)]),
    "pyarrow table": lambda x: pa.table({"x": arrow(x)}),
    "pyarrow batch": lambda x: pa.record_batch({"x": arrow(x)}),
    "pandas": lambda x: pd.DataFrame(x.reshape(-1, 1), copy=False),
    "pandas series of arrow": lambda x: pd.Series(pd.arrays.ArrowExtensionArray(arrow(x)), name="x"),
    "pandas frame of arrow": lambda x: pd.DataFrame({"u": x, "x": pd.arrays.ArrowExtensionArray(arrow(x))}),
    "numpy": lambda x: x,
}


def mean_of(container) -> float:
    """The mean of the last column, read from the container itself."""
    for first in ("to_pandas", "to_numpy"):
        container = getattr(container, first)() if hasattr(container, first) else container
    return float(np.mean(np.asarray(container, dtype=float).reshape(len(container), -1)[:, -1]))


@pytest.mark.parametrize("make", SHARED_MEMORY.values(), ids=SHARED_MEMORY)
def test_later_writes_to_memory_that_the_data_share_do_not_reach_what_was_read(make):
    x = np.random.default_rng(1).gamma(2, size=200)
    whole = ob.bootstrap(make(x.copy()), mean_of, estimator="standard", n_resamples=20, rng=0)
    begun = ob.bootstrap(make(x), mean_of, estimator="standard", n_resamples=10, rng=0)
    data = read(make(x))
    x[:] = 1e6
    assert begun.extend(10).standard_error == whole.standard_error
    assert data.arrays[0].max() < 100.0


@pytest.mark.parametrize("make", SHARED_MEMORY.values(), ids=SHARED_MEMORY)
def test_what_was_read_is_of_the_kind_that_was_given(make):
    given = make(np.arange(4.0))
    (kept,) = read(given).containers
    assert type(kept) is type(given)
    for feature in ("dtype", "dtypes", "type", "schema", "name"):
        assert str(getattr(kept, feature, None)) == str(getattr(given, feature, None))


def test_what_was_read_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        read(np.arange(3.0)).containers[0][0] = 1.0


@pytest.mark.parametrize("paired", ["yes", None, 1])
def test_paired_is_true_or_false(paired):
    with pytest.raises(ArgumentError, match="`paired` must be True or False; got"):
        read((VALUES, VALUES), paired=paired)


FRAMES = {
    "pandas": pd.DataFrame({"x": VALUES, "u": [3, 4, 5], "yes": [True, False, True]}),
    "pandas with an odd index": pd.DataFrame(
        {"x": VALUES, "u": [3, 4, 5], "yes": [True, False, True]}, index=[5, 5, -2]
    ),
    "polars": pl.DataFrame({"x": VALUES, "u": [3, 4, 5], "yes": [True, False, True]}),
    "pyarrow": pa.table({"x": VALUES, "u": [3, 4, 5], "yes": [True, False, True]}),
    "pyarrow batch": pa.record_batch({"x": VALUES, "u": [3, 4, 5], "yes": [True, False, True]}),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_a_frame_is_one_sample_with_named_columns(frame):
    data = read(frame)
    assert data.sizes == (3,)
    assert data.columns == (("x", "u", "yes"),)
    np.testing.assert_array_equal(data.arrays[0], [[1, 3, 1], [2, 4, 0], [4, 5, 1]])


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_a_frame_is_resampled_by_rows_whatever_its_index(frame):
    (taken,) = read(frame).take([ROWS])
    assert type(taken) is type(frame)
    np.testing.assert_array_equal(np.asarray(taken["x"], dtype=float), [4.0, 1.0, 4.0])
    np.testing.assert_array_equal(np.asarray(taken["u"], dtype=float), [5.0, 3.0, 5.0])


def test_a_frame_of_one_column_keeps_its_column_axis():
    for frame in (pd.DataFrame({"x": VALUES}), pl.DataFrame({"x": VALUES}), pa.table({"x": VALUES})):
        data = read(frame)
        assert data.arrays[0].shape == (3, 1)
        assert data.columns == (("x",),)


def test_columns_of_several_levels_and_with_equal_names_are_read_by_position():
    levels = pd.MultiIndex.from_tuples([("price", "low"), ("price", "high")])
    data = read(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=levels))
    assert data.columns == (("('price', 'low')", "('price', 'high')"),)
    np.testing.assert_array_equal(data.arrays[0], [[1, 2], [3, 4]])
    twins = read(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["x", "x"]))
    assert twins.columns == (("x", "x"),)
    np.testing.assert_array_equal(twins.arrays[0], [[1, 2], [3, 4]])


def test_a_subclass_of_a_data_frame_is_read_as_a_data_frame():
    class Geography(pd.DataFrame):
        @property
        def _constructor(self):
            return Geography

    data = read(Geography({"x": VALUES}))
    assert data.columns == (("x",),)
    assert isinstance(data.take([ROWS])[0], Geography)


def test_a_series_carries_its_name():
    assert read(pd.Series(VALUES, name="height")).columns == (("height",),)
    assert read(pl.Series("height", VALUES)).columns == (("height",),)
    assert read(pd.Series(VALUES)).columns == (None,)
    assert read(pl.Series(VALUES)).columns == (None,)
    assert read(pa.array(VALUES)).columns == (None,)


TEXT_FRAMES = {
    "pandas": pd.DataFrame({"x": VALUES, "city": ["a", "b", None]}),
    "pandas categories": pd.DataFrame({"x": VALUES, "city": pd.Categorical(["a", "b", "a"])}),
    "pandas times": pd.DataFrame({"x": VALUES, "city": pd.to_datetime(["2020-01-01"] * 3)}),
    "pandas complex": pd.DataFrame({"x": VALUES, "city": [1j, 2j, 3j]}),
    "pandas objects": pd.DataFrame({"x": VALUES, "city": [object(), object(), object()]}),
    "polars": pl.DataFrame({"x": VALUES, "city": ["a", "b", None]}),
    "pyarrow": pa.table({"x": VALUES, "city": ["a", "b", None]}),
    "pyarrow categories": pa.table({"x": VALUES, "city": pa.array(["a", "b", "a"]).dictionary_encode()}),
}


@pytest.mark.parametrize("frame", TEXT_FRAMES.values(), ids=TEXT_FRAMES.keys())
def test_a_frame_may_hold_text_until_a_statistic_needs_numbers(frame):
    data = read(frame)
    assert data.take([ROWS])[0].shape == (3, 2)
    with pytest.raises(DataError, match=r"`data` must hold real numbers for this statistic; got column\(s\) 'city' \("):
        _ = data.arrays


# Several samples


def test_samples_are_independent_and_may_have_unequal_sizes():
    data = read((np.arange(3.0), [4, 5], pd.Series([1.0, 2.0, 3.0, 4.0])))
    assert data.sizes == (3, 2, 4)
    assert data.sample_of == (0, 1, 2)
    first, second, third = data.take([np.array([0, 0]), np.array([1]), np.array([3, 3])])
    np.testing.assert_array_equal(first, [0.0, 0.0])
    np.testing.assert_array_equal(second, [5])
    np.testing.assert_array_equal(third, [4.0, 4.0])


def test_a_list_of_lists_is_a_sequence_of_samples_as_in_scipy():
    assert read([[1.0, 2.0, 3.0], [4.0, 5.0]]).sizes == (3, 2)
    assert read([[1.0, 2.0, 3.0]]).sizes == (3,)
    assert read(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sizes == (2,)


def test_paired_samples_share_one_vector_of_weights():
    X, y = np.arange(8.0).reshape(4, 2), np.arange(4)
    data = read((X, y), paired=True)
    assert data.sizes == (4,)
    assert data.sample_of == (0, 0)
    taken_X, taken_y = data.take([ROWS])
    np.testing.assert_array_equal(taken_X, X[ROWS])
    np.testing.assert_array_equal(taken_y, y[ROWS])


def test_a_frame_and_an_array_can_be_paired():
    frame = pd.DataFrame({"x": VALUES, "u": VALUES}, index=[9, 8, 8])
    data = read((frame, np.array([1, 2, 3])), paired=True)
    assert data.columns == (("x", "u"), None)
    assert [array.shape for array in data.arrays] == [(3, 2), (3,)]
    taken, labels = data.take([ROWS])
    assert taken["x"].tolist() == [4.0, 1.0, 4.0]
    assert labels.tolist() == [3, 1, 3]


def test_one_sample_of_several_is_data_of_its_own():
    second = read((np.arange(3.0), pd.Series([4.0, 5.0], name="u"))).sample(1)
    assert second.sizes == (2,)
    assert second.sample_of == (0,)
    assert second.columns == (("u",),)
    np.testing.assert_array_equal(second.arrays[0], [4.0, 5.0])


# What cannot be used


class Opaque:
    pass


def lengths_differ() -> list[list[float]]:
    return [[1.0, 2.0], [3.0]]


UNUSABLE = {
    "None": (None, "`data` must be an array with rows first, .* got NoneType"),
    "number": (3.0, "`data` must be an array .* got float. One sample needs at least two rows"),
    "text": ("abc", "`data` must be an array .* got str"),
    "bytes": (b"abc", "`data` must be an array .* got bytes"),
    "dict": ({"x": VALUES}, "`data` must be an array .* got dict. For named columns pass a data frame"),
    "set": ({1.0, 2.0}, "`data` must be an array .* got set. Make it a list first"),
    "generator": ((x for x in VALUES), "`data` must be an array .* got generator. Make it a list first"),
    "function": (np.mean, "The data come first, then the statistic"),
    "catalogue entry": (ob.mean, "`data` must be an array .* got Mean. The data come first"),
    "other object": (Opaque(), "`data` must be an array .* got Opaque"),
    "lazy frame": (pl.LazyFrame({"x": VALUES}), r"got LazyFrame. Call `.collect\(\)` on it first"),
    "zero-dimensional": (np.array(3.0), "`data` must be an array .* got ndarray. One sample needs"),
    "empty list": ([], "`data` must hold at least one sample; got an empty sequence"),
    "empty tuple": ((), "`data` must hold at least one sample; got an empty sequence"),
    "empty array": (
        np.array([]),
        "`data` must have at least two rows, since fewer cannot vary under resampling; got 0",
    ),
    "empty frame": (
        pd.DataFrame({"x": []}),
        "`data` must have at least two rows, since fewer cannot vary under resampling; got 0",
    ),
    "empty polars": (
        pl.DataFrame({"x": []}),
        "`data` must have at least two rows, since fewer cannot vary under resampling; got 0",
    ),
    "empty pyarrow": (
        pa.array([], pa.float64()),
        "`data` must have at least two rows, since fewer cannot vary under resampling; got 0",
    ),
    "one row": (np.array([1.0]), "`data` must have at least two rows, since fewer cannot vary under resampling; got 1"),
    "one row of a frame": (
        pd.DataFrame({"x": [1.0]}),
        "`data` must have at least two rows, since fewer cannot vary under resampling; got 1",
    ),
    "no columns": (np.empty((4, 0)), r"`data` must have at least one column; got shape \(4, 0\)"),
    "pandas without columns": (pd.DataFrame(index=[1, 2, 3]), "`data` must have at least one column"),
    "polars without columns": (pl.DataFrame(), "`data` must have at least one column"),
    "pyarrow without columns": (pa.table({}), "`data` must have at least one column"),
    "ragged": (
        (lengths_differ(),),
        "`data` must be rectangular; got rows of different lengths.*tuple with one array",
    ),
    "text array": (np.array(["a", "b"]), "`data` must hold real numbers; got dtype <U1. Encode .*return_inverse=True"),
    "text objects": (np.array(["a", "b"], dtype=object), r"got dtype object. Encode .*`labels == 'yes'`, or"),
    "text list": (["a", "b"], "`data` must hold real numbers; got dtype <U1"),
    "text among numbers": ([1.0, "b"], "`data` must hold real numbers; got dtype <U32"),
    "byte text": (np.array([b"a", b"b"]), r"`data` must hold real numbers; got dtype \|S1"),
    "objects": (
        np.array([Opaque(), Opaque()]),
        r"`data` must hold real numbers; got dtype object.*np.asarray\(data, dt",
    ),
    "None in a list": ([1.0, None, 2.0], "`data` must hold real numbers; got dtype object"),
    "decimals": ([Decimal("1"), Decimal("2")], "`data` must hold real numbers; got dtype object"),
    "dates": ([datetime.date(2020, 1, 1)] * 2, "`data` must hold real numbers; got dtype object"),
    "complex": (np.array([1j, 2.0]), "`data` must hold real numbers; got dtype complex128. Take its real and imag"),
    "times": (np.array(["2020-01-01"] * 2, dtype="M8[D]"), "got dtype datetime64.* seconds since the first one"),
    "durations": (np.array([1, 2], dtype="m8[s]"), "got dtype timedelta64.* Turn the durations into numbers"),
    "records": (np.array([(1, 2.0)] * 2, dtype="i4,f8"), "must hold real numbers.*Pass the fields as columns"),
    "text series": (
        pd.Series(["a", "b"]),
        "`data` must hold real numbers; got a Series of type .* Encode it as numbers",
    ),
    "categories": (pd.Series([1, 2], dtype="category"), "got a Series of type category"),
    "complex series": (pd.Series([1j, 2j]), "got a Series of type complex128"),
    "polars text": (pl.Series(["a", "b"]), "got a Series of type String"),
    "pyarrow text": (pa.array(["a", "b"]), "got a StringArray of type string"),
}


@pytest.mark.parametrize(("data", "message"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_unusable_data_are_refused_with_the_rule_and_what_came(data, message):
    with pytest.raises(DataError, match=message):
        read(data)


def test_masked_values_are_refused_rather_than_silently_used():
    with pytest.raises(DataError, match="`data` must have no masked values; got 2. Drop those rows"):
        read(np.ma.masked_array([1.0, 2.0, 3.0], mask=[True, False, True]))


NOT_FINITE = {
    "array": (
        MISSING_SECOND,
        r"`data` must be finite; got 1 NaN value\(s\), the first in row 1 \(counted from 0\)\. Drop",
    ),
    "infinities": (np.array([1.0, np.inf, -np.inf]), r"got 2 infinite value\(s\), the first in row 1 \(counted"),
    "both": (np.array([np.inf, 1.0, np.nan]), r"got 1 NaN and 1 infinite value\(s\), the first in row 0 \(counted"),
    "matrix": (np.array([[1.0, 2.0], [3.0, np.nan]]), r"the first in row 1 \(counted from 0\), column 1\. Drop"),
    "cube": (
        np.where(np.arange(8) == 6, np.nan, 1.0).reshape(2, 2, 2),
        r"row 1 \(counted from 0\), position \(1, 0\)\. Drop",
    ),
    "list": ([1.0, float("nan"), 4.0], "got 1 NaN"),
    "pandas": (pd.Series(MISSING_SECOND, index=[7, 8, 9]), r"the first in row 1 \(counted from 0\)\. Drop"),
    "pandas nullable": (
        pd.Series([1, None, 4], dtype="Int64"),
        r"got 1 NaN value\(s\), the first in row 1",
    ),
    "pandas nullable truth": (
        pd.Series([True, None, False], dtype="boolean"),
        r"got 1 NaN value\(s\), the first in row 1",
    ),
    "pandas on arrow": (pd.Series([1, None, 4], dtype="int64[pyarrow]"), "the first in row 1"),
    "polars null": (pl.Series([1, None, 4]), "got 1 NaN.*the first in row 1"),
    "polars truth": (pl.Series([True, None, False]), "got 1 NaN.*the first in row 1"),
    "pyarrow null": (pa.array([1, None, 4]), "got 1 NaN.*the first in row 1"),
    "pyarrow truth": (pa.array([True, None, False]), "got 1 NaN.*the first in row 1"),
    "pandas frame": (
        pd.DataFrame({"ok": VALUES, "x": MISSING_SECOND, "city": ["a", "b", "c"], "u": [np.inf, np.nan, 1.0]}),
        r"got 2 NaN and 1 infinite value\(s\), the first in row 1 \(counted from 0\) of column 'x'; more in 'u'\. Drop",
    ),
    "polars frame": (pl.DataFrame({"x": [1, None, 4]}), "got 1 NaN.*the first in row 1 .* of column 'x'"),
    "pyarrow frame": (pa.table({"x": [1, None, 4]}), "got 1 NaN.*the first in row 1 .* of column 'x'"),
}


@pytest.mark.parametrize(("data", "message"), NOT_FINITE.values(), ids=NOT_FINITE.keys())
def test_values_that_are_not_finite_are_counted_and_located(data, message):
    with pytest.raises(DataError, match=message):
        read(data)


def test_an_error_names_the_sample_it_is_about():
    fine = [1.0, 2.0, 3.0]
    for bad in (MISSING_SECOND, np.array(["a", "b"]), [1.0], pd.DataFrame(index=[1, 2]), 3.0, None, {"x": 1}):
        with pytest.raises(DataError, match=re.escape("`data[1]` must")):
            read((fine, bad))
    with pytest.raises(DataError, match=re.escape("`data[0]` must be rectangular")):
        read((lengths_differ(), fine))


def test_paired_samples_of_unequal_size_are_refused():
    with pytest.raises(
        DataError, match="`data` must have the same number of rows in every sample when `paired=True`; got 3 and 2."
    ):
        read(([1.0, 2.0, 3.0], [1.0, 2.0]), paired=True)


@given(
    array=st_numpy.arrays(
        dtype=st.one_of(st_numpy.floating_dtypes(), st_numpy.integer_dtypes(), st_numpy.boolean_dtypes()),
        shape=st_numpy.array_shapes(max_dims=3, max_side=5),
    )
)
def test_any_real_array_is_either_read_or_refused_by_name(array):
    usable = len(array) > 1 and np.isfinite(array).all()
    if usable:
        assert read(array).sizes == (len(array),)
    else:
        with pytest.raises(DataError, match="^`data` must"):
            read(array)


# Resamples


def test_rows_come_as_often_as_their_weight_says():
    resamples = Resamples((np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]]),))
    assert len(resamples) == 2
    assert resamples.indices(0)[0].tolist() == [1, 1, 2]
    assert resamples.indices(1)[0].tolist() == [0, 0, 0]
    assert resamples.totals(0).tolist() == [3.0, 3.0]


def test_a_plan_may_give_the_rows_in_its_own_order():
    blocks = CircularBlocks(9, 4)
    resamples = Plan((Iid(9), blocks)).resamples((1, 2), range(5))
    drawn = [blocks.indices((1, 2), 1, number).tolist() for number in range(5)]
    assert any(rows != sorted(rows) for rows in drawn)
    assert [resamples.indices(b)[1].tolist() for b in range(5)] == drawn
    assert resamples.one(3).indices(0)[1].tolist() == drawn[3]
    assert resamples.sample(1).indices(2)[0].tolist() == drawn[2]
    assert len(resamples.sample(1).indices(0)) == 1


def test_sums_are_the_weighted_sums_whatever_the_batch():
    rng = np.random.default_rng(0)
    weights, values = rng.poisson(1.0, size=(7, 5000)).astype(float), rng.normal(size=(5000, 20))
    together = Resamples((weights,)).sums(0, values)
    np.testing.assert_allclose(together, weights @ values, rtol=1e-12, atol=1e-11)
    alone = np.vstack([Resamples((weights,)).one(b).sums(0, values) for b in range(7)])
    np.testing.assert_array_equal(together, alone)


def test_a_broken_column_may_be_left_out():
    frame = pd.DataFrame({"x": [1.0, 2.0], "unused": [1.0, np.nan]})
    with pytest.raises(DataError, match="of column 'unused'. Drop or impute such rows .*, or leave that column out"):
        read(frame)
    with pytest.raises(DataError, match="such rows before the call.$"):
        read(frame["unused"])


# Times, durations, and tensors

DAYS = [datetime.datetime(2020, 1, day) for day in range(1, 6)]
SPANS = [datetime.timedelta(days=day) for day in range(1, 6)]
TIMES = {
    "array": np.array(DAYS, dtype="M8[us]"),
    "objects": np.array(DAYS, dtype=object),
    "dates": [day.date() for day in DAYS],
    "pandas series": pd.Series(DAYS),
    "pandas with a zone": pd.Series(DAYS).dt.tz_localize("UTC"),
    "pandas periods": pd.Series(DAYS).dt.to_period("D"),
    "pandas frame": pd.DataFrame({"when": DAYS}),
    "pandas of arrow": pd.Series(DAYS, dtype=pd.ArrowDtype(pa.timestamp("us"))),
    "polars series": pl.Series(DAYS),
    "polars frame": pl.DataFrame({"when": [day.date() for day in DAYS]}),
    "pyarrow array": pa.array(DAYS),
    "pyarrow table": pa.table({"when": pa.array([day.date() for day in DAYS])}),
}
DURATIONS = {
    "array": np.array(SPANS, dtype="m8[us]"),
    "objects": np.array(SPANS, dtype=object),
    "pandas series": pd.Series(SPANS),
    "pandas frame": pd.DataFrame({"span": SPANS}),
    "polars series": pl.Series(SPANS),
    "pyarrow array": pa.array(SPANS),
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_times_are_told_how_they_become_numbers(times):
    with pytest.raises(DataError, match="Turn the times into numbers, for example seconds") as told:
        ob.mean(times)
    assert "labels" not in str(told.value)


@pytest.mark.parametrize("durations", DURATIONS.values(), ids=DURATIONS)
def test_durations_are_told_how_they_become_numbers(durations):
    with pytest.raises(DataError, match="Turn the durations into numbers, for example") as told:
        ob.mean(durations)
    assert "labels" not in str(told.value)


def test_each_kind_of_column_has_its_own_advice():
    frame = pd.DataFrame({"when": DAYS, "species": list("abcde"), "later": DAYS, "x": range(5)})
    with pytest.raises(DataError, match=r"Turn the times into numbers.*Encode labels, for example") as told:
        ob.mean(frame)
    assert str(told.value).count("Turn the times") == 1


TENSORS = {
    "with gradients": lambda torch, x: torch.tensor(x, requires_grad=True),
    "computed with gradients": lambda torch, x: 2 * torch.tensor(x / 2, requires_grad=True),
    "bfloat16": lambda torch, x: torch.tensor(x).to(torch.bfloat16),
    "of 8 bits": lambda torch, x: torch.tensor(x).to(torch.float8_e4m3fn),
    "sparse": lambda torch, x: torch.tensor(x).to_sparse(),
    "conjugated": lambda torch, x: torch.tensor(-1j * x).conj().imag,
    "parameter": lambda torch, x: torch.nn.Parameter(torch.tensor(x)),
}


@pytest.mark.filterwarnings("ignore::orthoboot.errors.SmallSampleWarning")
@pytest.mark.parametrize("make", TENSORS.values(), ids=TENSORS)
def test_any_tensor_is_read_as_its_numbers(make):
    torch = pytest.importorskip("torch")
    # Which have few digits, so that short floats hold them.
    numbers = np.array([1.0, 2.0, 4.0, 0.5])
    given = make(torch, numbers)
    assert ob.bootstrap(given, ob.mean, estimator="jackknife").estimate == 1.875
    assert (
        ob.bootstrap(given, lambda x: float(np.mean(x)), estimator="standard", n_resamples=5, rng=0).estimate == 1.875
    )


def test_short_floats_of_jax_are_read_as_numbers():
    jnp = pytest.importorskip("jax.numpy")
    assert ob.mean(jnp.array([1.0, 2.0, 4.0, 0.5], dtype=jnp.bfloat16)) == 1.875


def test_a_tensor_without_numbers_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(DataError, match="`data` must be an array that numpy can read; got Tensor: .*Convert it"):
        ob.mean(torch.empty(5, device="meta"))


def test_labels_that_numpy_cannot_read_are_refused_by_name():
    torch = pytest.importorskip("torch")
    labels = torch.arange(5.0, requires_grad=True)
    for argument in ("groups", "strata"):
        with pytest.raises(ArgumentError, match=f"`{argument}` must be labels that numpy can read; got Tensor"):
            ob.bootstrap(np.arange(5.0), ob.mean, **{argument: labels})


YEARS = pd.RangeIndex(1960, 2020)
TREND = pd.Series(0.5 * np.arange(60) + np.random.default_rng(2).normal(size=60), index=YEARS)


@pytest.mark.parametrize("options", [{}, {"block_length": 4}], ids=["rows", "blocks"])
def test_a_function_of_the_index_gets_the_index_of_the_drawn_rows(options):
    """An index that counts is data too: a trend by year in the index is a trend by year in a column."""
    frame = pd.DataFrame({"year": np.asarray(YEARS), "y": TREND.to_numpy()})
    by_index, by_column = (
        ob.bootstrap(data, slope, estimator="standard", n_resamples=300, rng=1, **options)
        for data, slope in (
            (TREND, lambda s: np.polyfit(s.index.to_numpy(), s.to_numpy(), 1)[0]),
            (frame, lambda d: np.polyfit(d["year"], d["y"], 1)[0]),
        )
    )
    np.testing.assert_array_equal(by_index.bootstrap_distribution, by_column.bootstrap_distribution)
    assert by_index.warnings == by_column.warnings == ()


@pytest.mark.parametrize("index", [pd.RangeIndex(50), pd.Index([*range(50)]), pd.Index([*range(50)], dtype=float)])
def test_paired_series_are_aligned_row_by_row_whatever_the_kind_of_their_index(index):
    a, noise = np.random.default_rng(4).normal(size=(2, 50))
    first, second = pd.Series(a), pd.Series(a + noise, index=index)
    options = {"paired": True, "estimator": "standard", "n_resamples": 100, "rng": 0}
    aligned = ob.bootstrap((first, second), lambda a, b: (a - b).mean(), **options)
    plain = ob.bootstrap((a, a + noise), lambda a, b: (a - b).mean(), **options)
    np.testing.assert_allclose(aligned.bootstrap_distribution, plain.bootstrap_distribution, rtol=1e-10, atol=1e-14)


def test_rows_of_pandas_that_have_names_keep_them():
    frame = pd.DataFrame({"a": np.arange(5.0)}, index=list("vwxyz"))
    (drawn,) = read(frame).resampled([np.array([0, 0, 2, 3, 3])])
    assert list(drawn.index) == list("vvxyy")


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128])
@pytest.mark.parametrize("make", [lambda column: column, lambda column: column.to_frame("x")], ids=["series", "frame"])
def test_whole_numbers_of_128_bits_are_numbers(dtype, make):
    """Numpy has no such type."""
    column = pl.Series([1, 2, 3] * 20, dtype=dtype)
    # The standard error of a mean: sqrt(2 / 3 / 60).
    assert ob.bootstrap(make(column), ob.mean, rng=0).standard_error == pytest.approx(0.10541, abs=1e-5)

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from orthoboot.errors import StatisticError
from orthoboot.functionals.output import output_like

EXAMPLES = {
    "float": (1.5, ((),), None, ("f",)),
    "integer": (3, ((),), None, ("f",)),
    "truth value": (np.True_, ((),), None, ("f",)),
    "numpy number": (np.float32(1.5), ((),), None, ("f",)),
    "zero-dimensional array": (np.array(1.5), ((),), None, ("f",)),
    "list": ([1.0, 2.0], ((2,),), None, ("f[0]", "f[1]")),
    "tuple": ((1.0, 2.0), ((2,),), None, ("f[0]", "f[1]")),
    "vector of one": ([1.0], ((1,),), None, ("f[0]",)),
    "matrix": (
        np.arange(6.0).reshape(2, 3),
        ((2, 3),),
        None,
        ("f[0, 0]", "f[0, 1]", "f[0, 2]", "f[1, 0]", "f[1, 1]", "f[1, 2]"),
    ),
    "dict": ({"a": 1.0, "b": [2.0, 3.0]}, ((), (2,)), ("a", "b"), ("a", "b[0]", "b[1]")),
    "dict with other keys": ({1: 1.0, ("x", 2): 2.0}, ((), ()), (1, ("x", 2)), ("1", "('x', 2)")),
    "dict of series": ({"m": pd.Series([1.0, 2.0], ["x", "u"])}, ((2,),), ("m",), ("m[x]", "m[u]")),
    "pandas series": (pd.Series([1.0, 2.0], index=["x", "u"]), ((2,),), None, ("x", "u")),
    "pandas frame": (
        pd.DataFrame({"x": [1.0, 2.0], "u": [3.0, 4.0]}, index=["p", "q"]),
        ((2, 2),),
        None,
        ("p, x", "p, u", "q, x", "q, u"),
    ),
    "polars series": (pl.Series("x", [1.0, 2.0]), ((2,),), None, ("f[0]", "f[1]")),
    "one row of a polars frame": (pl.DataFrame({"x": [1.0], "u": [2.0]}), ((1, 2),), None, ("x", "u")),
    "pyarrow number": (pa.scalar(2.5), ((),), None, ("f",)),
    "pyarrow array": (pa.array([2.5, 1.0]), ((2,),), None, ("f[0]", "f[1]")),
}


@pytest.mark.parametrize(("value", "shapes", "keys", "names"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_shape_and_names_are_those_of_the_value(value, shapes, keys, names):
    output = output_like(value, "f")
    assert output.shapes == shapes
    assert output.keys == keys
    assert output.names == names
    assert output.size == len(names) == len(output.flatten(value))
    assert output.is_scalar == (shapes == ((),) and keys is None)


@given(st_numpy.arrays(np.float64, st_numpy.array_shapes(min_dims=1, max_side=4), elements=st.floats(-10, 10)))
def test_packing_undoes_flattening(array):
    output = output_like(array, "f")
    np.testing.assert_array_equal(output.pack(output.flatten(array)), array)
    both = output_like({"a": array, "b": 1.0}, "f")
    packed = both.pack(both.flatten({"a": array, "b": 1.0}))
    np.testing.assert_array_equal(packed["a"], array)
    assert packed["b"] == 1.0
    assert type(packed["b"]) is float


def test_further_axes_of_packed_numbers_stay_behind_the_statistics_own():
    output = output_like({"a": np.zeros((2, 3)), "b": 0.0}, "f")
    replicates = np.arange(7 * 4.0).reshape(7, 4)
    packed = output.pack(replicates)
    assert packed["a"].shape == (2, 3, 4)
    np.testing.assert_array_equal(packed["a"][1, 0], replicates[3])
    np.testing.assert_array_equal(packed["b"], replicates[6])


def test_packed_arrays_are_copies():
    flat = np.arange(3.0)
    output_like([0.0, 0.0, 0.0], "f").pack(flat)[0] = 99.0
    assert flat[0] == 0.0


def test_labels_name_a_vector_of_their_length_only():
    assert output_like([1.0, 2.0], "f", ("x", "u")).names == ("x", "u")
    assert output_like([1.0, 2.0, 3.0], "f", ("x", "u")).names == ("f[0]", "f[1]", "f[2]")
    assert output_like(1.0, "f", ("x",)).names == ("f",)


def test_a_dict_is_read_by_its_keys_whatever_their_order():
    output = output_like({"a": 1.0, "b": [2.0, 3.0]}, "f")
    assert output.flatten({"b": [5.0, 6.0], "a": 4.0}).tolist() == [4.0, 5.0, 6.0]


def test_a_series_is_read_by_its_labels_whatever_their_order():
    output = output_like(pd.Series([1.0, 2.0], index=["x", "u"]), "f")
    assert output.flatten(pd.Series([5.0, 4.0], index=["u", "x"])).tolist() == [4.0, 5.0]
    np.testing.assert_array_equal(output.flatten(pd.Series([5.0], index=["u"])), [np.nan, 5.0])


def test_a_frame_is_read_by_its_labels_whatever_their_order():
    frame = pd.DataFrame({"x": [1.0, 2.0], "u": [3.0, 4.0]}, index=["p", "q"])
    output = output_like(frame, "f")
    assert output.flatten(frame.loc[["q", "p"], ["u", "x"]]).tolist() == [1.0, 3.0, 2.0, 4.0]


def test_none_is_a_value_that_does_not_exist():
    np.testing.assert_array_equal(output_like(1.0, "f").flatten(None), [np.nan])
    np.testing.assert_array_equal(output_like(1.0, "f").flatten(pa.scalar(None, pa.float64())), [np.nan])
    np.testing.assert_array_equal(output_like({"a": 1.0, "b": 2.0}, "f").flatten({"a": None, "b": 3.0}), [np.nan, 3.0])
    np.testing.assert_array_equal(output_like({"a": 1.0, "b": [2.0]}, "f").flatten(None), [np.nan, np.nan])


def test_a_batch_has_its_resamples_on_the_last_axis():
    output = output_like({"a": 0.0, "b": np.zeros((2, 2))}, "f")
    b = np.arange(12.0).reshape(2, 2, 3)
    rows = output.flatten_batch({"a": [1.0, 2.0, 3.0], "b": b}, 3)
    assert rows.shape == (3, 5)
    np.testing.assert_array_equal(rows[1], [2.0, *b[..., 1].ravel()])


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ([1.0, 2.0, 3.0], r"got shape \(3,\) where the data gave shape \(2,\)"),
        (1.0, r"got shape \(\) where the data gave shape \(2,\)"),
        ({"a": 1.0}, r"got a dict with keys a where the data gave shape \(2,\)"),
    ],
)
def test_a_change_of_shape_is_an_error(value, got):
    with pytest.raises(StatisticError, match=f"`statistic` must return the same shape on every resample; {got}"):
        output_like([1.0, 2.0], "f").flatten(value)


def test_a_change_of_keys_is_an_error():
    output = output_like({"a": 1.0, "b": [2.0, 3.0]}, "f")
    with pytest.raises(
        StatisticError, match=r"got a dict with keys a where the data gave a dict of a: \(\), b: \(2,\)"
    ):
        output.flatten({"a": 1.0})
    with pytest.raises(StatisticError, match=r"got a dict of a: \(\), b: \(1,\) where"):
        output.flatten({"a": 1.0, "b": [2.0]})
    with pytest.raises(StatisticError, match="got float where"):
        output.flatten(1.0)


def test_a_batch_of_the_wrong_shape_is_an_error_that_says_what_to_do():
    message = r"must return shape \(2, 3\) for 3 resample\(s\).*got shape \(3, 2\). Pass `vectorized=False`"
    with pytest.raises(StatisticError, match=message):
        output_like([1.0, 2.0], "f").flatten_batch(np.zeros((3, 2)), 3)


NO_NUMBERS = {
    "None": (None, r"None: is a `return` missing\?$"),
    "text": ("high", "str: 'high'"),
    "list of text": (["high"], "list"),
    "complex": (1 + 2j, "complex"),
    "time": (np.datetime64("2020-01-01"), "datetime64"),
    "object": (object(), "object"),
    "ragged": ([[1.0], [1.0, 2.0]], "list"),
    "nothing": ([], "list"),
    "empty array": (np.empty((0, 2)), r"an array without numbers, of shape \(0, 2\)\."),
    "text in a dict": ({"a": "high"}, "str: 'high'"),
    "dict in a dict": ({"a": {"b": 1.0}}, "dict"),
}


@pytest.mark.parametrize(("value", "got"), NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
def test_what_is_no_number_is_refused(value, got):
    with pytest.raises(StatisticError, match=f"must return a real number, an array of numbers, or a dict .* got {got}"):
        output_like(value, "f")


def test_an_empty_dict_is_refused():
    with pytest.raises(StatisticError, match="must return at least one number; got an empty dict"):
        output_like({}, "f")


def test_an_output_survives_pickling():
    output = output_like(pd.Series([1.0, 2.0], index=["x", "u"]), "f")
    again = pickle.loads(pickle.dumps(output))
    assert again == output
    assert again.flatten(pd.Series([5.0, 4.0], index=["u", "x"])).tolist() == [4.0, 5.0]


def test_labels_that_repeat_are_numbered():
    table = pd.DataFrame([[1.0, 2.0, 3.0]], index=["r"], columns=["a", "a", "b"])
    assert output_like(table, "f").names == ("r, a (1)", "r, a (2)", "r, b")
    assert output_like([1.0, 2.0], "f", ("a", "a")).names == ("a (1)", "a (2)")

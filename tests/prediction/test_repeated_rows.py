"""Copies of rows: one observation each, and a warning where they may be observations of their own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import orthoboot as ob
from orthoboot.data import read
from orthoboot.errors import RepeatedRowsWarning
from orthoboot.prediction import repeated_rows
from orthoboot.prediction.repeated_rows import RepeatedRows

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (100, 1))
Y = np.sin(2 * X[:, 0]) + 0.3 * RNG.standard_normal(100)
NEW = RNG.uniform(-2, 2, (2000, 1))
NEW_Y = np.sin(2 * NEW[:, 0]) + 0.3 * RNG.standard_normal(2000)


def repeated(X: Any, y: Any) -> RepeatedRows:
    return RepeatedRows.among(read((X, y), paired=True))


def coverage(estimator: Any, X: Any, y: Any, noise: str) -> float:
    model = ob.PredictionIntervalRegressor(
        estimator, variance_estimator="standard", n_resamples=20, noise=noise, rng=9
    ).fit(X, y)
    _, ends = model.predict_interval(NEW)
    return float(np.mean((ends[:, 0] <= NEW_Y) & (ends[:, 1] >= NEW_Y)))


@pytest.mark.parametrize("noise", ["corrected", "out-of-bag"])
@pytest.mark.parametrize(
    "estimator", [KNeighborsRegressor(1), DecisionTreeRegressor(random_state=0)], ids=["1", "tree"]
)
def test_intervals_cover_alike_with_and_without_copies(estimator: Any, noise: str) -> None:
    alone = coverage(estimator, X, Y, noise)
    with pytest.warns(RepeatedRowsWarning, match="400 of the 500 rows repeat another one, X and y alike. Copies count"):
        copied = coverage(estimator, np.repeat(X, 5, axis=0), np.repeat(Y, 5), noise)
    # The same draws, of rows and of groups of five, and neighbours and trees that do not see copies: the same refits.
    assert alone > 0.9
    assert copied == pytest.approx(alone, abs=0.01)


def test_rows_that_are_all_different_are_drawn_one_by_one() -> None:
    found = repeated(X, Y)
    assert found.groups is None
    assert found.share == 0
    assert not found.warnings()


def test_the_same_x_with_another_y_is_no_copy() -> None:
    X_twice = np.repeat(X, 2, axis=0)
    assert repeated(X_twice, np.arange(200.0)).groups is None


def test_a_few_copies_are_left_alone() -> None:
    rows = np.r_[np.arange(100), 3]
    assert repeated(X[rows], Y[rows]).groups is None


def test_rows_of_few_values_agree_by_chance() -> None:
    # Eight kinds of rows and whole numbers for y: a third of the pairs that agree in X would agree in y by chance too.
    rng = np.random.default_rng(1)
    kinds = rng.integers(0, 2, (500, 3))
    found = repeated(kinds, kinds.sum(axis=1) + rng.integers(0, 3, 500))
    assert found.share > 0.9
    assert found.groups is None
    assert not found.warnings()


def test_copies_that_may_be_observations_of_their_own_are_told_and_left() -> None:
    y = (np.repeat(X[:, 0], 3) > 0).astype(float)
    found = repeated(np.repeat(X, 3, axis=0), y)
    assert found.groups is None
    (warning,) = found.warnings()
    assert "200 of the 300 rows" in str(warning)
    assert "separate observations that happen to agree, ignore this warning" in str(warning)


def test_frames_with_text_have_copies_too() -> None:
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 0] > 0, "a", "b")})
    found = repeated(pd.concat([frame, frame]), np.r_[Y, Y])
    assert found.n_different == 100
    assert found.groups is not None


def test_zero_has_no_sign() -> None:
    assert repeated(np.array([[0.0], [-0.0]]), np.array([1.0, 1.0])).n_different == 1


def test_no_warning_without_copies() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedRowsWarning)
        ob.PredictionIntervalRegressor(LinearRegression(), rng=0).fit(X, Y)


@pytest.mark.parametrize("noise", ["X", "y"])
def test_copies_that_went_through_a_shorter_format_are_copies(noise):
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(60, 2)), 5, axis=0), np.repeat(rng.normal(size=60), 5)
    if noise == "X":
        X = X + 1e-12 * rng.normal(size=X.shape)
    else:
        y = y + 1e-9 * rng.normal(size=y.shape)
    repeated = RepeatedRows.among(read((X, y), paired=True))
    assert repeated.are_certain
    assert abs(repeated.n_different - 60) <= 2  # one at the edge of rounding may be two


def in_float32(values: Any) -> Any:
    return values.astype(np.float32).astype(float)


def in_nine_digits(values: Any) -> Any:
    return np.vectorize(lambda value: float(f"{value:.9g}"))(values)


@pytest.mark.parametrize("short", [in_float32, in_nine_digits])
def test_every_second_row_in_a_shorter_format_is_a_copy(short: Any) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.lognormal(sigma=4, size=(300, 1)), 1e3 + rng.normal(size=300)
    found = repeated(np.r_[X, short(X)], np.r_[y, y])
    assert found.are_certain
    # A number moves by 2**-24 of itself at most and is rounded to steps of 2**-21 at least, twice: fewer than a quarter
    # of the rows lie so near an edge that they come apart.
    assert 300 <= found.n_different <= 375


def wide(kind: str) -> tuple[Any, Any]:
    """Return rows of which no two are alike, with a range that is wide against most of them."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    if kind == "outlier":
        X[0], y[0] = 1e8, 1e8
    elif kind == "sentinel":
        X[:20, 0], y[20:40] = -9999e20, 9e99
    elif kind == "heavy tail":
        X, y = rng.lognormal(sigma=4, size=(500, 1)), rng.lognormal(sigma=4, size=500)
    elif kind == "hundred decades":
        X, y = np.exp(X * 80), -np.exp(y * 80)
    elif kind == "offset":
        X, y = 1e10 + X, 1e10 + y
    elif kind == "offset and sentinel":
        X, y = 1e10 + X, 1e10 + y
        X[::20], y[1::20] = 0, 0
    elif kind == "both ends":
        X[:2], y[:2] = [[-1.7e308, 1.7e308], [1.7e308, -1.7e308]], [1.7e308, -1.7e308]
    return X, y


WIDE = ["none", "outlier", "sentinel", "heavy tail", "hundred decades", "offset", "offset and sentinel", "both ends"]


@pytest.mark.parametrize("kind", WIDE)
def test_different_rows_are_different_however_wide_their_range(kind: str) -> None:
    found = repeated(*wide(kind))
    assert found.n_different == len(found.labels)
    assert found.groups is None
    assert not found.warnings()


@pytest.mark.parametrize("kind", WIDE)
def test_copies_are_found_however_wide_their_range(kind: str) -> None:
    X, y = wide(kind)
    found = repeated(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert found.n_different == len(y)
    np.testing.assert_array_equal(found.groups, np.repeat(found.labels[::3], 3))


def test_whole_numbers_are_compared_exactly() -> None:
    X, y = 2**60 + np.arange(200)[:, np.newaxis], 2**40 + np.arange(200) // 2
    assert repeated(X, y).n_different == 200
    assert repeated(np.repeat(X, 2, axis=0), np.repeat(y, 2)).n_different == 200


def test_a_slow_response_at_seconds_since_1970_has_no_copies() -> None:
    seconds = 1.7e9 + np.arange(2000.0)
    found = repeated(seconds[:, np.newaxis], (20 + seconds // 100 % 1000 / 10).round(1))
    assert found.n_different == 2000
    assert not found.warnings()


@pytest.mark.filterwarnings("ignore::orthoboot.errors.FitWarning")
def test_one_outlier_makes_no_copies_of_the_others() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 1))
    X[0], y = 1e8, X[:, 0] + rng.normal(size=200)
    y[0] = 1e8
    # To six decimals of the range all others would be the same row, and be drawn together.
    assert repeated(X, y).groups is None


class Unread:
    """Columns that must not be looked at."""

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("X was read")


def test_where_responses_differ_the_columns_are_not_looked_at() -> None:
    found = RepeatedRows(Unread(), Y)
    assert found.groups is None
    assert not found.warnings()


def test_the_columns_are_looked_at_one_by_one_only_where_copies_are_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[int] = []

    def counted(table: Any) -> Any:
        widths.append(np.asarray(table).size // len(table))
        return labels(table)

    labels = repeated_rows._labels
    monkeypatch.setattr(repeated_rows, "_labels", counted)
    wide = np.repeat(RNG.normal(size=(40, 7)), 3, axis=0)
    certain = repeated(wide, np.repeat(np.arange(40.0), 3))
    assert certain.are_certain
    assert sorted(widths) == [1, 2, 7]  # y, both labels, X
    widths.clear()
    in_doubt = repeated(wide, np.repeat(np.arange(40.0) % 8, 3))
    assert in_doubt.are_certain
    assert sorted(widths) == [1, 1, 1, 1, 2, 7]  # y, and three columns that suffice

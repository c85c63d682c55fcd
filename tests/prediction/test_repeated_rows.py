"""Copies of rows: one observation each, and what may be observations of their own is told."""

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
        estimator, variance_estimator="standard", n_resamples=20, noise=noise, rng=0
    ).fit(X, y)
    _, ends = model.predict_interval(NEW)
    return float(np.mean((ends[:, 0] <= NEW_Y) & (ends[:, 1] >= NEW_Y)))


@pytest.mark.parametrize("noise", ["corrected", "out-of-bag"])
@pytest.mark.parametrize(
    "estimator", [KNeighborsRegressor(1), DecisionTreeRegressor(random_state=0)], ids=["1", "tree"]
)
def test_intervals_cover_alike_with_and_without_copies(estimator: Any, noise: str) -> None:
    alone = coverage(estimator, X, Y, noise)
    with pytest.warns(RepeatedRowsWarning, match="400 of the 500 rows repeat another one, X and y alike. Copies are"):
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
    assert "observations of their own that happen to agree, nothing is wrong" in str(warning)


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

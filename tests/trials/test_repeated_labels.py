"""Rows of pandas keep their index; a function that confuses rows with the same label is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import orthoboot as ob
from orthoboot.errors import RepeatedLabelsWarning

GENERATOR = np.random.default_rng(29)
FRAME = pd.DataFrame({"a": GENERATOR.gamma(2, size=50), "b": GENERATOR.normal(size=50)})
DAYS = pd.date_range("2020-01-01", periods=50, name="day")
LEVELS = pd.MultiIndex.from_product([list("uvwxy"), range(10)], names=["school", "pupil"])
INDEXES = {"counted": None, "numbers": 7 * np.arange(50)[::-1], "texts": [f"r{i}" for i in range(50)]}
INDEXES |= {"days": DAYS, "levels": LEVELS}
OPTIONS = {"estimator": "standard", "n_resamples": 30, "rng": 0}


def told(result):
    return [w for w in result.warnings if isinstance(w, RepeatedLabelsWarning)]


CONFUSED = {
    "aligned": lambda d: d["a"].add(d["b"].sort_values()).mean(),
    "looked up": lambda d: d["a"].loc[d.index[d["b"] > 0]].mean(),
    "joined": lambda d: (lambda both: (both["a"] * both["b"]).mean())(d[["a"]].join(d[["b"]])),
    "merged": lambda d: d["a"].groupby(level=list(range(d.index.nlevels))).mean().mean(),
}


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("name", CONFUSED)
def test_a_function_that_confuses_rows_with_the_same_label_is_told(name, index):
    frame = FRAME if INDEXES[index] is None else FRAME.set_axis(INDEXES[index], axis=0)
    with pytest.warns(RepeatedLabelsWarning, match="share a label.*reset_index"):
        ob.bootstrap(frame, CONFUSED[name], **OPTIONS)
    mended = ob.bootstrap(frame, lambda d: CONFUSED[name](d.reset_index(drop=True)), **OPTIONS)
    assert not told(mended)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize(
    "statistic",
    [
        lambda d: d["a"].mean() / d["b"].std(),
        lambda d: (d["a"] - d["b"])[d["b"] > 0].mean(),
        lambda d: d["a"].sort_index().mean(),
        lambda d: d.assign(c=d["a"] * d["b"])["c"].quantile(0.4),
    ],
)
def test_a_function_that_is_right_with_any_labels_is_not_told(statistic, index):
    frame = FRAME if INDEXES[index] is None else FRAME.set_axis(INDEXES[index], axis=0)
    assert not told(ob.bootstrap(frame, statistic, **OPTIONS))


def test_a_function_that_reads_the_labels_is_not_told():
    years = FRAME.set_axis(pd.RangeIndex(1960, 2010), axis=0)
    assert not told(ob.bootstrap(years, lambda d: np.polyfit(d.index, d["a"], 1)[0], **OPTIONS))
    days = FRAME.set_axis(DAYS, axis=0)
    assert not told(ob.bootstrap(days, lambda d: d["a"].groupby(d.index.month).mean().iloc[0], **OPTIONS))


def test_paired_tables_with_other_labels_are_told():
    first, second = FRAME["a"], FRAME["b"].set_axis(np.roll(np.arange(50), 7))
    with pytest.warns(RepeatedLabelsWarning):
        ob.bootstrap((first, second), lambda a, b: (a - b).var(), paired=True, **OPTIONS)
    same = ob.bootstrap((first, FRAME["b"]), lambda a, b: (a - b).var(), paired=True, **OPTIONS)
    assert not told(same)


def test_a_frame_beside_an_array_and_a_random_function_are_not_told():
    generator = np.random.default_rng(0)
    assert not told(ob.bootstrap((FRAME, np.arange(50.0)), lambda d, y: (d["a"] * y).mean(), paired=True, **OPTIONS))
    assert not told(ob.bootstrap(FRAME, lambda d: d["a"].mean() + generator.normal(), **OPTIONS))


def test_labels_that_the_user_repeats_are_the_users():
    frame = FRAME.set_axis(np.repeat(np.arange(10), 5), axis=0)
    assert not told(ob.bootstrap(frame, lambda d: d["a"].groupby(level=0).mean().var(), **OPTIONS))


@pytest.mark.parametrize("index", [pd.RangeIndex(20), pd.Index(np.arange(20) * 4 - 12)])
def test_a_symmetric_function_of_the_labels_reads_them(index):
    """The mean of the labels stays where they are exchanged, and not where they are others."""
    series = pd.Series(np.random.default_rng(0).normal(size=20), index=index)
    result = ob.bootstrap(series, lambda s: s.index.to_numpy().mean(), estimator="standard", n_resamples=50, rng=0)
    assert result.warnings == ()


def test_a_function_that_changes_its_rows_in_place_confuses_nothing():
    def changed(frame):
        frame["a"] = frame["a"] * 1.1
        return frame["a"].mean()

    assert not told(ob.bootstrap(FRAME, changed, **OPTIONS))

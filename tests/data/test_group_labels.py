"""A group that is drawn twice is two groups, where the user says which column holds the labels."""

from __future__ import annotations

import datetime
import re
import time
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import orthoboot as ob
from orthoboot.data import named_groups, read, unnamed_group_columns
from orthoboot.errors import ArgumentError, GroupValuesWarning, MergedGroupsWarning

N_GROUPS, SIZE = 12, 4
RNG = np.random.default_rng(3)
CODES = np.repeat(np.arange(N_GROUPS), SIZE)[RNG.permutation(N_GROUPS * SIZE)]
Y = RNG.normal(size=N_GROUPS)[CODES] + RNG.normal(size=CODES.size)
LABELS = {
    "numbers": CODES + 5,
    "floats": CODES / 2,
    "negative": -CODES,
    "texts": np.array([f"school {code}" for code in CODES], dtype=object),
    "marked": np.array([f"#{code}" for code in CODES], dtype=object),
}


def spread_of_groups(frame):
    """The variance between the means of groups, as the labels tell them apart, and how many there are."""
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    means = frame.groupby("g", observed=True)["y"].mean()
    return {"variance": means.var(ddof=0), "groups": len(means)}


def by_hand(labels, result):
    """The same with the definition: each time that a group is drawn, its rows are one group."""
    found = []
    for number in range(result.n_resamples):
        (rows,) = result.run.plan.resamples(result.run.key, [number]).indices(0)
        copies = np.arange(rows.size) - np.searchsorted(rows, rows)
        drawn = pd.DataFrame({"g": list(zip(labels[rows], copies, strict=True)), "y": Y[rows]})
        found.append(list(spread_of_groups(drawn).values()))
    return np.array(found)


def bootstrapped(frame, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.errors.OrthobootWarning)
        return ob.bootstrap(frame, spread_of_groups, estimator="standard", n_resamples=20, rng=0, **options)


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas categories": lambda columns: pd.DataFrame(columns).astype({"g": "category"}),
    "polars": lambda columns: pl.DataFrame({name: values.tolist() for name, values in columns.items()}),
    "pyarrow": lambda columns: pa.table({name: values.tolist() for name, values in columns.items()}),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", LABELS)
def test_a_group_that_is_drawn_twice_is_two(kind, name):
    labels = LABELS[name]
    frame = FRAMES[kind]({"g": labels, "y": Y})
    result = bootstrapped(frame, groups="g")
    assert result.estimate == pytest.approx(spread_of_groups(frame))
    np.testing.assert_allclose(result.replicates.values, by_hand(labels, result), rtol=1e-12)
    assert set(result.bootstrap_distribution["groups"]) == {N_GROUPS}


OTHER_LABELS = {
    "dates": [datetime.date(2020, 1, 6) + datetime.timedelta(days=code) for code in CODES.tolist()],
    "times": [datetime.datetime(2020, 1, 6, code) for code in CODES.tolist()],
    "decimals": [Decimal(code) / 10 for code in CODES.tolist()],
}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", OTHER_LABELS)
def test_labels_that_are_neither_numbers_nor_text_are_numbered(library, name):
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library]
    result = bootstrapped(make({"g": OTHER_LABELS[name], "y": Y}), groups="g")
    assert result.n_failed == 0
    np.testing.assert_allclose(result.replicates.values, by_hand(CODES, result), rtol=1e-12)


def test_labels_that_are_tuples_are_numbered():
    labels = [("school", code) for code in CODES.tolist()]
    result = bootstrapped(pd.DataFrame({"g": labels, "y": Y}), groups="g")
    np.testing.assert_allclose(result.replicates.values, by_hand(CODES, result), rtol=1e-12)


GRADES = ["poor", "fair", "good", "very good", "best"]
"""In an order that is not that of the alphabet."""


@pytest.mark.parametrize("names", [GRADES, [50, 10, 30, 20, 40]], ids=["texts", "numbers"])
def test_labels_with_an_order_keep_it(names):
    """A copy of a group ranks with the group, neither below nor beyond the others."""
    grades = pd.Categorical.from_codes(CODES % 5, names, ordered=True)
    result = bootstrapped_mean(pd.DataFrame({"g": grades, "y": Y}), lambda d: d["y"][d["g"] >= names[2]].mean())
    np.testing.assert_allclose(result.bootstrap_distribution, means_of_upper_grades(result), rtol=1e-12)


def test_labels_with_an_order_keep_it_in_polars():
    grades = pl.Series([GRADES[code % 5] for code in CODES], dtype=pl.Enum(GRADES))
    result = bootstrapped_mean(
        pl.DataFrame({"g": grades, "y": Y}), lambda d: d.filter(pl.col("g") >= pl.lit("good", d["g"].dtype))["y"].mean()
    )
    np.testing.assert_allclose(result.bootstrap_distribution, means_of_upper_grades(result), rtol=1e-12)


def bootstrapped_mean(frame, statistic):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.errors.OrthobootWarning)
        return ob.bootstrap(frame, statistic, groups="g", estimator="standard", n_resamples=20, rng=0)


def means_of_upper_grades(result):
    drawn = [result.run.resamples([b]).indices(0)[0] for b in range(20)]
    return [Y[rows][CODES[rows] % 5 >= 2].mean() for rows in drawn]


def test_categories_without_an_order_are_those_of_the_drawn_groups():
    frame = pd.DataFrame({"g": pd.Categorical(LABELS["texts"]), "y": Y})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.errors.OrthobootWarning)
        result = ob.bootstrap(
            frame, lambda d: len(d.groupby("g", observed=False)), groups="g", estimator="standard", n_resamples=5, rng=0
        )
    assert set(result.bootstrap_distribution) == {N_GROUPS}


def test_categories_may_be_truth_values():
    result = bootstrapped(pd.DataFrame({"g": pd.Categorical(CODES > 5), "y": Y}), groups="g")
    np.testing.assert_allclose(result.replicates.values, by_hand(CODES > 5, result), rtol=1e-12)


def test_a_mixed_model_has_the_error_of_a_bootstrap_by_hand():
    smf = pytest.importorskip("statsmodels.formula.api")
    frame = pd.DataFrame({"g": CODES, "y": Y})

    def between(drawn):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(smf.mixedlm("y ~ 1", drawn, groups=drawn["g"]).fit().cov_re.iloc[0, 0])

    result = ob.bootstrap(frame, between, groups="g", estimator="standard", n_resamples=10, rng=0)
    expected = []
    for number in range(10):
        (rows,) = result.run.plan.resamples(result.run.key, [number]).indices(0)
        copies = np.arange(rows.size) - np.searchsorted(rows, rows)
        expected.append(between(frame.iloc[rows].assign(g=CODES[rows] + 100 * copies)))
    # The optimiser ends within its own tolerance, by the order of the groups.
    np.testing.assert_allclose(result.bootstrap_distribution, expected, rtol=1e-3, atol=1e-4)


# A count of groups is always lower in resamples; whether five of them show it, or differ at all, is luck.
@pytest.mark.filterwarnings("ignore::orthoboot.errors.LargeBiasWarning")
@pytest.mark.filterwarnings("ignore::orthoboot.errors.FewReplicatesWarning")
@pytest.mark.parametrize("name", LABELS)
def test_labels_that_are_read_but_not_named_are_told(name):
    frame = pd.DataFrame({"g": LABELS[name], "y": Y})
    with pytest.warns(MergedGroupsWarning, match="reads column 'g', which holds the labels of `groups`.*`groups='g'`"):
        result = ob.bootstrap(frame, spread_of_groups, groups=frame["g"], estimator="standard", n_resamples=5, rng=0)
    # Nothing is changed: the column may hold more than labels.
    assert result.bootstrap_distribution["groups"].max() < N_GROUPS


def test_labels_in_an_array_are_told_too():
    def means_apart(rows):
        return np.var([rows[rows[:, 0] == code, 1].mean() for code in np.unique(rows[:, 0])])

    with pytest.warns(MergedGroupsWarning, match="reads column 0, which holds"):
        ob.bootstrap(np.column_stack([CODES, Y]), means_apart, groups=CODES, estimator="standard", n_resamples=5, rng=0)


@pytest.mark.parametrize("groups", ["g", pd.Series(CODES)], ids=["named", "passed"])
def test_a_function_that_reads_no_labels_is_left_alone(groups):
    frame = pd.DataFrame({"g": CODES, "y": Y})
    result = ob.bootstrap(frame, lambda drawn: drawn["y"].mean(), groups=groups, estimator="standard", rng=0)
    assert (
        result.standard_error
        == ob.bootstrap(
            frame[["y"]], lambda drawn: drawn["y"].mean(), groups=CODES, estimator="standard", rng=0
        ).standard_error
    )
    assert not [warning for warning in result.warnings if isinstance(warning, MergedGroupsWarning)]


@pytest.mark.parametrize(
    ("data", "groups", "message"),
    [
        (pd.DataFrame({"g": CODES, "y": Y}), "h", "which has the columns 'g', 'y'; got the text 'h'"),
        (Y, "g", "which is no data frame; got the text 'g'"),
        ((Y, Y), "g", "`groups` must be a tuple with one entry per sample, here 2; got the name 'g'"),
    ],
)
def test_a_column_that_is_not_there_is_told(data, groups, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        ob.bootstrap(data, ob.mean, groups=groups)


def test_a_checkpoint_of_named_labels_is_none_of_labels_that_are_passed(tmp_path):
    frame = pd.DataFrame({"g": CODES, "y": Y})
    bootstrapped(frame, groups="g", checkpoint=tmp_path / "run")
    with pytest.raises(ob.errors.CheckpointError):
        bootstrapped(frame, groups=frame["g"], checkpoint=tmp_path / "run")


def test_samples_name_columns_each():
    frames = tuple(pd.DataFrame({"g": CODES, "y": Y + shift}) for shift in (0.0, 1.0))

    def difference(first, second):
        return spread_of_groups(first)["groups"] - spread_of_groups(second)["groups"]

    options = {"estimator": "standard", "n_resamples": 5, "rng": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.errors.OrthobootWarning)
        named = ob.bootstrap(frames, difference, groups=("g", "g"), **options)
    assert not named.bootstrap_distribution.any()


@pytest.mark.filterwarnings("ignore::orthoboot.errors.EqualReplicatesWarning")  # there are always as many groups
@pytest.mark.parametrize("dtype", [np.float64, np.uint64, np.int64])
def test_labels_too_large_to_count_on_stay_apart(dtype):
    """Next to the largest numbers a label plus one is the same label, or a negative one."""
    top = 1e17 if dtype == np.float64 else np.iinfo(dtype).max - 64 * N_GROUPS
    large = dtype(top) + 64 * np.asarray(LABELS["numbers"]).astype(dtype)
    frames = [pd.DataFrame({"g": labels, "y": Y}) for labels in (LABELS["numbers"], large)]
    small, huge = (
        ob.bootstrap(frame, spread_of_groups, groups="g", estimator="standard", n_resamples=20, rng=0)
        for frame in frames
    )
    np.testing.assert_array_equal(huge.bootstrap_distribution["groups"], small.bootstrap_distribution["groups"])


@pytest.mark.filterwarnings("ignore::orthoboot.errors.LargeBiasWarning")
@pytest.mark.filterwarnings("ignore::orthoboot.errors.FewReplicatesWarning")
def test_labels_passed_as_text_are_told_too():
    frame = pd.DataFrame({"g": LABELS["numbers"], "y": Y})
    with pytest.warns(MergedGroupsWarning, match="reads column 'g'"):
        ob.bootstrap(frame, spread_of_groups, groups=frame["g"].astype(str), estimator="standard", n_resamples=5, rng=0)


def test_a_function_that_fails_without_the_dates_reads_more_than_labels():
    days = pd.Series(pd.to_datetime(OTHER_LABELS["dates"]), name="g")
    result = ob.bootstrap(
        pd.DataFrame({"g": days, "y": Y}),
        lambda d: (d["y"] * d["g"].dt.day).mean(),
        groups=days,
        estimator="standard",
        n_resamples=5,
        rng=0,
    )
    assert not [w for w in result.warnings if isinstance(w, MergedGroupsWarning)]


def test_a_random_function_is_not_said_to_read_labels():
    frame, generator = pd.DataFrame({"g": LABELS["numbers"], "y": Y}), np.random.default_rng(0)
    result = ob.bootstrap(
        frame,
        lambda d: d["y"].mean() + generator.normal(),
        groups=frame["g"],
        estimator="standard",
        n_resamples=5,
        rng=0,
    )
    assert not [w for w in result.warnings if isinstance(w, MergedGroupsWarning)]


def positions(frame, codes):
    return [column.position for column in unnamed_group_columns(read(frame), codes)]


@pytest.mark.parametrize("as_text", [False, True], ids=["numbers", "texts"])
def test_a_wide_table_is_not_written_out_to_find_labels(as_text):
    labels = np.repeat(np.arange(500), 40)
    held = labels.astype(str) if as_text else labels
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20_000, 30))).assign(g=held)
    data = read(table)
    start = time.process_time()
    (found,) = unnamed_group_columns(data, labels)
    assert found.position == 30
    # Measured 0.004 s and, where the labels are text, 0.01 s; all columns as text took 0.45 s.
    assert time.process_time() - start < 0.2


def test_labels_that_differ_late_are_others():
    labels = np.repeat(np.arange(100), 4)
    other = labels.copy()
    other[-1] = 0
    assert positions(pd.DataFrame({"g": labels, "y": labels / 2}), other) == []


def test_groups_that_a_column_joins_are_others():
    labels = np.repeat(np.arange(10), 4)
    assert positions(pd.DataFrame({"half": labels // 2, "g": labels}), labels) == [1]


def test_where_every_row_is_a_group_labels_come_before_measurements():
    rows = np.arange(50)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 20))).assign(g=rows)
    assert positions(frame, rows) == [20, 0, 1, 2]


LISTS = [[1, 2], [3]] * (CODES.size // 2)
UNRELATED = {
    "missing text": pd.DataFrame({"y": Y, "z": pd.array(["Ulm", None] * (CODES.size // 2), dtype="string")}),
    "lists in pandas": pd.DataFrame({"y": Y, "z": LISTS}),
    "lists in pandas on arrow": pd.DataFrame({"y": Y, "z": pd.array(LISTS, dtype=pd.ArrowDtype(pa.list_(pa.int64())))}),
    "lists in polars": pl.DataFrame({"y": Y, "z": LISTS}),
    "lists in pyarrow": pa.table({"y": Y, "z": LISTS}),
    "arrays in polars": pl.DataFrame({"y": Y, "z": pl.Series([[1, 2]] * CODES.size, dtype=pl.Array(pl.Int64, 2))}),
    "128 bits": pl.DataFrame({"y": Y, "z": pl.Series([1, 2] * (CODES.size // 2), dtype=pl.UInt128)}),
}


@pytest.mark.parametrize("name", UNRELATED)
@pytest.mark.parametrize(
    "groups", [CODES, [("a", code) if code % 2 else code for code in CODES.tolist()]], ids=["", "mixed"]
)
def test_no_column_is_too_odd_to_be_compared_with_labels(name, groups):
    result = ob.bootstrap(
        UNRELATED[name],
        lambda d: np.mean(np.asarray(d["y"])),
        groups=groups,
        estimator="standard",
        n_resamples=5,
        rng=0,
    )
    assert not [w for w in result.warnings if isinstance(w, MergedGroupsWarning)]


def variance_of_means(y, g):
    y, g = np.asarray(y), np.asarray(g)
    return np.var([y[g == label].mean() for label in np.unique(g)], ddof=1)


@pytest.mark.parametrize(
    "make",
    [
        np.array,
        pd.Series,
        lambda v: pd.Series(v).astype("float32"),
        pl.Series,
        pa.array,
        lambda v: pa.chunked_array([v]),
    ],
    ids=["numpy", "pandas", "float32", "polars", "pyarrow", "pyarrow in chunks"],
)
def test_labels_that_are_an_argument_of_their_own_are_told(make):
    with pytest.warns(MergedGroupsWarning, match=r"reads `data\[1\]`, which holds .* the name of the column in a data"):
        ob.bootstrap(
            (make(Y), make(CODES)),
            variance_of_means,
            paired=True,
            groups=CODES,
            estimator="standard",
            n_resamples=5,
            rng=0,
        )


def test_labels_of_few_bits_are_told():
    """Of 8 bits, which hold no other labels for 120 groups."""
    codes = np.repeat(np.arange(120), 2).astype(np.int8)
    table = np.column_stack([codes, np.random.default_rng(0).integers(0, 100, 240).astype(np.int8)])
    with pytest.warns(MergedGroupsWarning, match="reads column 0, which holds"):
        ob.bootstrap(
            table,
            lambda rows: variance_of_means(rows[:, 1], rows[:, 0]),
            groups=codes,
            estimator="standard",
            n_resamples=5,
            rng=0,
        )


NAMED = pd.DataFrame({"g": CODES, "name": [f"school {7 * code % N_GROUPS}" for code in CODES], "y": Y})


@pytest.mark.parametrize(
    ("groups", "advice"),
    [(CODES, "its own label."), ("g", "its own label, or let the statistic read column 'g' instead.")],
    ids=["passed", "named"],
)
def test_other_names_of_the_same_groups_are_told(groups, advice):
    with pytest.warns(MergedGroupsWarning, match=f"reads column 'name', .* Pass `groups='name'` .*{re.escape(advice)}"):
        ob.bootstrap(
            NAMED,
            lambda d: variance_of_means(d["y"], d["name"]),
            groups=groups,
            estimator="standard",
            n_resamples=5,
            rng=0,
        )


@pytest.mark.parametrize("by", ["g", ["g", "name"]], ids=["label", "both"])
def test_other_names_do_no_harm_where_the_named_labels_are_read(by):
    result = ob.bootstrap(
        NAMED, lambda d: d.groupby(by)["y"].mean().var(), groups="g", estimator="standard", n_resamples=5, rng=0
    )
    assert not [w for w in result.warnings if isinstance(w, MergedGroupsWarning)]


VALUES_OF_GROUPS = {
    "mean": lambda d: d["z"].mean(),
    "spread": lambda d: d["z"].std(),
    "slope": lambda d: np.polyfit(d["z"], d["y"], 1)[0],
    "above": lambda d: d["y"][d["z"] > 3].mean(),
}


@pytest.mark.parametrize("name", VALUES_OF_GROUPS)
@pytest.mark.parametrize("z", [CODES, 3 + np.sqrt(CODES)], ids=["consecutive", "measured"])
@pytest.mark.parametrize("groups", [CODES, "g"], ids=["passed", "named"])
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_values_that_differ_between_groups_are_no_labels(name, z, groups):
    """Of groups of one size, exchanged values have the mean and the spread that they had."""
    frame = pd.DataFrame({"g": CODES, "z": z, "y": Y})
    result = ob.bootstrap(frame, VALUES_OF_GROUPS[name], groups=groups, estimator="standard", n_resamples=20, rng=0)
    assert not [w for w in result.warnings if isinstance(w, MergedGroupsWarning)]


@pytest.mark.parametrize("statistic", [np.mean, np.median, np.std])
def test_rows_that_are_groups_of_their_own_are_not_merged(statistic):
    result = ob.bootstrap(Y, statistic, groups=np.arange(Y.size), estimator="standard", n_resamples=20, rng=0)
    assert not [w for w in result.warnings if isinstance(w, MergedGroupsWarning)]


def panel_of_years():
    years = np.repeat(np.arange(1935, 1955), 6)
    return pd.DataFrame(
        {"year": years, "invest": 100 + 8 * (years - 1935) + np.random.default_rng(4).normal(0, 30, 120)}
    )


@pytest.mark.parametrize(
    "statistic",
    [
        lambda d: d.loc[d["year"] >= 1945, "invest"].mean() - d.loc[d["year"] < 1945, "invest"].mean(),
        lambda d: np.polyfit(d["year"], d["invest"], 1)[0],
    ],
    ids=["comparison", "slope"],
)
def test_a_column_that_is_read_as_numbers_is_no_column_of_labels(statistic):
    frame = panel_of_years()
    options = {"estimator": "standard", "n_resamples": 300, "rng": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.errors.LargeBiasWarning)
        with pytest.warns(GroupValuesWarning, match="reads the values of column 'year'.*Pass the labels as an array"):
            ob.bootstrap(frame, statistic, groups="year", **options)
    kept = ob.bootstrap(frame, statistic, groups=frame["year"], **options)
    assert kept.warnings == ()
    assert abs(kept.bias) < 0.2 * kept.standard_error


@pytest.mark.parametrize("labels", LABELS)
def test_labels_that_only_tell_groups_apart_may_be_renamed(labels):
    frame = pd.DataFrame({"g": LABELS[labels], "y": Y})
    found = bootstrapped(frame, groups="g")
    assert not any(isinstance(warning, GroupValuesWarning) for warning in found.warnings)


def test_categories_are_renamed_by_their_codes():
    codes = np.repeat(np.arange(50_000), 4)
    data, _ = named_groups(read(pd.DataFrame({"g": pd.Categorical(codes), "y": np.ones(codes.size)})), "g")
    rows = np.repeat(np.arange(codes.size), 2 * (codes % 2))
    times = []
    for _ in range(4):
        start = time.process_time()
        (drawn,) = data.resampled((rows,))
        times.append(time.process_time() - start)
    assert drawn["g"].nunique() == 50_000
    # Measured 0.016 s; row by row it took 0.09 s.
    assert min(times) < 0.06

"""Statistics that do not look at their weights, and those that move in steps."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import orthoboot as ob
from orthoboot import errors

X = np.random.default_rng(0).exponential(size=50)


def careless(x, weights):
    return x.std()


def careless_batch(x, weights):
    return np.full(len(weights), x.std())


IGNORES = (
    r"`statistic` ignores its `weights`: with the counts of a resample as weights it stays at [\d.]+, but on the rows "
    r"of that resample it is [\d.]+\. Count each row with its weight"
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"estimator": "standard", "n_resamples": 20},
        {"estimator": "cheap"},
        {"estimator": "paper"},
        {"estimator": "jackknife"},
        {"influence": X - X.mean()},
        {"influence": "jackknife"},
        {"influence": "regression", "n_resamples": 100},
        {"tol": 0.1},
        {"strata": np.repeat([0, 1], 25)},
        {"block_length": 3},
    ],
    ids=lambda options: ", ".join(options),
)
@pytest.mark.filterwarnings("ignore::orthoboot.errors.InfluenceMismatchWarning")
def test_ignored_weights_are_an_error(options):
    with pytest.raises(errors.StatisticError, match=IGNORES):
        ob.bootstrap(X, careless, rng=0, **options)


def test_ignored_weights_of_a_vectorised_function():
    with pytest.raises(errors.StatisticError, match=IGNORES):
        ob.bootstrap(X, careless_batch, vectorized=True, rng=0)


def test_ignored_weights_of_frames_and_several_samples():
    frame = pd.DataFrame({"x": X})
    with pytest.raises(errors.StatisticError, match=IGNORES):
        ob.bootstrap(frame, lambda d, weights: d["x"].std(ddof=0), rng=0)
    with pytest.raises(errors.StatisticError, match="ignores its `weights`"):
        ob.bootstrap((X, X[:20]), lambda a, b, weights: a.mean() - b.mean(), rng=0)


def test_one_output_that_ignores_the_weights_is_named():
    def some(x, weights):
        return {"mean": np.average(x, weights=weights), "sd": x.std()}

    with pytest.raises(errors.StatisticError, match="ignores its `weights` for `sd`"):
        ob.bootstrap(X, some, rng=0)


@pytest.mark.parametrize("estimator", ["orthogonal", "standard"])
def test_a_constant_that_uses_its_weights_is_a_warning_as_before(estimator):
    with pytest.warns(errors.ConstantDataWarning):
        result = ob.bootstrap(
            np.full(30, 2.0), lambda x, weights: weights @ x / weights.sum(), estimator=estimator, rng=0
        )
    assert result.standard_error == 0


@pytest.mark.filterwarnings("ignore::orthoboot.errors.ConstantDataWarning")
def test_rounding_of_constant_rows_is_no_part_without_weights():
    """The variance of rows that are all 1e-70 is what rounding leaves of it, with weights and without."""

    def variance(x, weights):
        return np.average((x - np.average(x, weights=weights)) ** 2, weights=weights)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ob.bootstrap(np.full(50, 1e-70), variance, estimator="standard", n_resamples=20, rng=0)
    assert not [one for one in caught if issubclass(one.category, ob.errors.UnweightedRowsWarning)]


def test_an_output_that_does_not_depend_on_the_rows_is_no_error():
    def with_size(x, weights):
        return {"mean": np.average(x, weights=weights), "n": len(x)}

    with pytest.warns(errors.ConstantDataWarning, match="`n` does not vary"):
        assert ob.bootstrap(X, with_size, rng=0).standard_error["n"] == 0


def test_a_smallest_row_that_is_never_missing_by_chance_is_no_error():
    """Every replicate may be equal to the estimate by chance; the same rows then give the estimate too."""
    data = np.append(np.zeros(8), X)

    def smallest(x, weights):
        return x[weights > 0].min()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        assert ob.bootstrap(data, smallest, n_resamples=10, rng=0).standard_error == 0


def test_the_ordinary_case_costs_three_evaluations():
    calls = []

    def counted(x, weights):
        calls.append(1)
        return np.average(x, weights=weights)

    ob.bootstrap(X, counted, estimator="standard", n_resamples=30, rng=0)
    # Besides on the data: on the rows in another order, and on half of them, by weights and by rows.
    assert len(calls) == 30 + 4


# Steps


def counting(x, weights):
    return int(weights @ (x > 1) / weights.sum() * 10)


def test_a_step_function_is_told_from_its_replicates():
    message = (
        "the influence values of `counting` are all zero, although its replicates vary: it is a step function of the "
        r'weights, .* Use estimator="standard", or influence="jackknife"'
    )
    calls = []

    def counted(x, weights):
        calls.append(1)
        return counting(x, weights)

    counted.__name__ = "counting"
    with pytest.warns(errors.NonSmoothWarning, match=message) as caught:
        ob.bootstrap(X, counted, n_resamples=20, rng=0)
    assert [w.category for w in caught].count(errors.WeakInfluenceWarning) == 0
    # The two steps of the finite differences, the replicates and the data, which are also tried in another order, and
    # half of them by weights and by rows: nothing is evaluated for the warning.
    assert len(calls) == 4 + 2 * 2 * 50 + 20


def test_a_step_function_of_rows_is_not_sent_to_the_jackknife_again():
    with pytest.warns(errors.NonSmoothWarning) as caught:
        ob.bootstrap(X, lambda x: round(2 * x.mean()), n_resamples=30, rng=3)
    (text,) = [str(w.message) for w in caught if w.category is errors.NonSmoothWarning]
    assert text.endswith('Use estimator="standard".')


def test_a_weak_output_beside_a_stepping_one_is_still_told():
    noise = np.random.default_rng(1).standard_normal(50)

    def two(x, weights):
        return {"steps": counting(x, weights), "mean": np.average(x, weights=weights)}

    wrong = np.column_stack([np.zeros(50), noise - noise.mean()])
    with pytest.warns(errors.OrthobootWarning) as caught:
        ob.bootstrap(X, two, influence=wrong, n_resamples=40, rng=0)
    weak = [str(w.message) for w in caught if w.category is errors.WeakInfluenceWarning]
    assert len(weak) == 1
    assert "`mean`" in weak[0]

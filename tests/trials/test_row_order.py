"""Statistics of the order of the rows are told where the plan keeps no order."""

from __future__ import annotations

import numpy as np
import pytest

import orthoboot as ob
from orthoboot import errors


def autoregression(n=400):
    noise = np.random.default_rng(5).normal(size=n)
    series = np.zeros(n)
    for t in range(1, n):
        series[t] = 0.9 * series[t - 1] + noise[t]
    return series


SERIES = autoregression()


def lag_one(y, weights=None):
    weights = np.ones(len(y)) if weights is None else weights
    d = y - np.average(y, weights=weights)
    return float((weights[1:] * d[1:] * d[:-1]).sum() / (weights * d * d).sum())


def lag_one_of_rows(y):
    d = y - y.mean()
    return float(d[1:] @ d[:-1] / (d @ d))


ORDER = "depends on the order of the rows.*pass `block_length`"


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("statistic", [lag_one, lag_one_of_rows], ids=["weights", "rows"])
@pytest.mark.parametrize("estimator", ["orthogonal", "standard", "jackknife"])
def test_an_autocorrelation_is_told(statistic, estimator):
    with pytest.warns(errors.RowOrderWarning, match=ORDER):
        result = ob.bootstrap(SERIES, statistic, n_resamples=20, estimator=estimator, rng=0)
    kept = [result.extend(5), result.with_estimator("cheap")]
    assert all(any(isinstance(w, errors.RowOrderWarning) for w in one.warnings) for one in kept)


def test_an_autocorrelation_under_blocks_is_not_told():
    result = ob.bootstrap(SERIES, lag_one_of_rows, n_resamples=200, block_length=20, estimator="standard", rng=0)
    assert result.warnings == ()


def test_features_that_read_their_neighbours_are_told():
    jumps = ob.function_of_means(lambda y: np.abs(y - np.roll(y, 1)), lambda m: m[0])
    with pytest.warns(errors.RowOrderWarning, match=ORDER):
        ob.bootstrap(SERIES, jumps, rng=0)


def test_a_jax_function_of_the_order_is_told():
    jnp = pytest.importorskip("jax.numpy")

    def jumps(y, weights):
        return jnp.sum(weights * jnp.abs(y - jnp.roll(y, 1))) / jnp.sum(weights)

    with pytest.warns(errors.RowOrderWarning, match=ORDER):
        ob.bootstrap(SERIES, jumps, rng=0)


def test_sets_of_rows_are_not_told():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 100))
    for statistic in (np.ptp, lambda x: float(np.sort(x)[10:-10].mean()), lambda x: float(np.log(np.exp(x).mean()))):
        with_options = ob.bootstrap(x, statistic, estimator="standard", n_resamples=200, rng=0)
        assert not [w for w in with_options.warnings if isinstance(w, errors.RowOrderWarning)]
    two = ob.bootstrap((x, y), lambda x, y: x.mean() - y.mean(), rng=0)
    assert two.warnings == ()


def test_places_of_strata_are_kept():
    """A function may know that the first rows are of the first stratum: they are in every resample."""
    x = np.r_[np.random.default_rng(0).normal(size=60), np.random.default_rng(1).normal(5, size=40)]

    def gap(x):
        return float(x[60:].mean() - x[:60].mean())

    strata = np.repeat([0, 1], [60, 40])
    assert ob.bootstrap(x, gap, strata=strata, estimator="standard", n_resamples=200, rng=0).warnings == ()
    with pytest.warns(errors.RowOrderWarning):
        ob.bootstrap(x, gap, estimator="standard", n_resamples=200, rng=0)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.MergedGroupsWarning")
def test_rows_of_groups_stay_in_order():
    """Differences within a group read the order of its rows, which a group keeps."""
    generator = np.random.default_rng(0)
    frame = np.column_stack([np.repeat(np.arange(30.0), 4), generator.normal(size=120).cumsum()])

    def mean_step(rows):
        steps = np.diff(rows[:, 1])
        return float(steps[np.diff(rows[:, 0]) == 0].mean())

    result = ob.bootstrap(frame, mean_step, groups=frame[:, 0], estimator="standard", n_resamples=200, rng=0)
    assert not [w for w in result.warnings if isinstance(w, errors.RowOrderWarning)]


def test_a_random_statistic_is_not_blamed_on_the_order():
    generator = np.random.default_rng(0)
    result = ob.bootstrap(
        SERIES, lambda y: y.mean() + 100 * generator.normal(), estimator="standard", n_resamples=10, rng=0
    )
    assert not [w for w in result.warnings if isinstance(w, errors.RowOrderWarning)]


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("groups", [False, True])
def test_ctrl_c_in_a_trial_keeps_the_replicates(groups):
    calls = []
    labels = np.repeat(np.arange(20.0), 5)
    rows = np.column_stack([labels, np.random.default_rng(0).normal(size=100)])

    def statistic(rows):
        calls.append(1)
        if len(calls) > 31:
            raise KeyboardInterrupt
        return rows[:, 1].mean()

    options = {"groups": labels} if groups else {}
    with pytest.warns(errors.InterruptedWarning, match="some of its checks were not made"):
        result = ob.bootstrap(rows, statistic, estimator="standard", n_resamples=30, rng=0, **options)
    assert result.n_resamples == 30


def test_a_value_that_is_zero_but_for_rounding_is_the_same_in_any_order():
    centred = SERIES - SERIES.mean()
    bound = centred.copy()
    result = ob.bootstrap(centred, lambda x: x.mean() - bound.mean(), estimator="standard", n_resamples=200, rng=0)
    assert not any(isinstance(warning, errors.RowOrderWarning) for warning in result.warnings)

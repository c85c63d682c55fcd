"""The replacement of arch's `IIDBootstrap`: its numbers for any function, its formulas for known ones."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

import orthoboot as ob
from orthoboot.arch_compat import IIDBootstrap

RNG = np.random.default_rng(7)
X = RNG.exponential(size=60)
Y = X + RNG.normal(size=60)
TABLE = RNG.exponential(size=(60, 3))
METHODS = ("basic", "percentile", "norm", "var", "cov", "bc", "debiased", "bias-corrected", "bca")


def ordered(x):
    return np.sort(x)[40:42] ** 2


def _theirs():
    return pytest.importorskip("arch.bootstrap").IIDBootstrap


@pytest.mark.parametrize("name", ["conf_int", "apply", "cov", "var", "bootstrap", "clone", "reset"])
def test_the_calls_have_archs_names_and_defaults(name):
    ours, theirs = (inspect.signature(getattr(kind, name)).parameters for kind in (IIDBootstrap, _theirs()))
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


@pytest.mark.parametrize("method", [name for name in METHODS if name != "bca"])
@pytest.mark.parametrize("tail", ["two", "upper", "lower"])
@pytest.mark.parametrize("seed", [3, "legacy"])
def test_any_function_has_archs_interval(method, tail, seed):
    ours, theirs = (
        kind(X, seed=np.random.RandomState(3) if seed == "legacy" else seed).conf_int(
            ordered, 99, method=method, tail=tail, size=0.9
        )
        for kind in (IIDBootstrap, _theirs())
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_any_function_of_one_value_has_archs_accelerated_interval():
    ours, theirs = (
        kind(X, seed=3).conf_int(lambda x: np.sort(x)[30] + x.max() / 9, 199, method="bca")
        for kind in (IIDBootstrap, _theirs())
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("options", [{"std_err_func": lambda p, x: x.std() / 8}, {"studentize_reps": 15}])
def test_studentized_intervals_are_archs(options):
    ours, theirs = (
        kind(X, seed=3).conf_int(ordered, 30, method="studentized", **options) for kind in (IIDBootstrap, _theirs())
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


@pytest.mark.parametrize("recenter", [True, False])
def test_covariances_are_archs(recenter):
    ours, theirs = IIDBootstrap(TABLE, seed=1), _theirs()(TABLE, seed=1)
    for name in ("cov", "var"):
        one, other = (getattr(kind, name)(lambda x: x.max(0), 50, recenter) for kind in (ours, theirs))
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_data_by_name_and_extra_arguments():
    def slope(x, y, power=1):
        return np.polyfit(x**power, y, 1)

    ours = IIDBootstrap(X, y=Y, seed=2)
    theirs = _theirs()(X, y=Y, seed=2)
    np.testing.assert_array_equal(
        ours.cov(slope, 20, extra_kwargs={"power": 2}), theirs.cov(slope, 20, extra_kwargs={"power": 2})
    )
    np.testing.assert_array_equal(ours.y, theirs.y)
    np.testing.assert_array_equal(ours.index, theirs.index)


def test_frames_and_series():
    frame = pd.DataFrame(TABLE, columns=list("abc"))
    ours, theirs = (
        kind(frame["a"], y=frame, seed=2).apply(lambda x, y: x.max() + y["b"].max(), 9)
        for kind in (IIDBootstrap, _theirs())
    )
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("sampling", ["semi", "parametric"])
def test_parametric_resamples_are_archs(sampling):
    def location(x, params=None, state=None):
        if params is None:
            return x.mean(keepdims=True) + 0 * x[:1]
        noise = 0.0 if state is None else state.standard_normal(len(x))
        return np.atleast_1d(np.sort(params + x - x.mean() + noise)[20])

    ours, theirs = (
        kind(X, seed=5).conf_int(location, 40, sampling=sampling, method="percentile")
        for kind in (IIDBootstrap, _theirs())
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


@pytest.mark.parametrize(
    ("function", "data"),
    [
        (np.mean, (X,)),
        (lambda x: x.std() / x.mean(), (X,)),
        (lambda x: x.mean(axis=0), (TABLE,)),
        (lambda x, y: np.corrcoef(x, y)[0, 1], (X, Y)),
    ],
)
def test_known_functions_have_values_of_the_same_law(function, data):
    values = IIDBootstrap(*data, seed=1).apply(function, 4000)
    rng = np.random.default_rng(8)
    drawn = (rng.integers(len(X), size=len(X)) for _ in range(4000))
    expected = np.array([np.atleast_1d(function(*(entry[rows] for entry in data))) for rows in drawn])
    assert values.shape == expected.shape
    # Means differ by five standard errors, and spreads by five of 1.7% or so for such tails, with odds below 1e-5.
    assert np.abs(values.mean(axis=0) - expected.mean(axis=0)) == pytest.approx(0, abs=5 * 2**0.5 * expected.std() / 63)
    np.testing.assert_allclose(values.std(axis=0), expected.std(axis=0), rtol=0.12)


@pytest.mark.parametrize("method", METHODS)
def test_known_functions_have_archs_formulas(method):
    ours, theirs = IIDBootstrap(X, seed=1), _theirs()(X, seed=1)
    found = ours.conf_int(np.mean, 200, method=method)
    estimates = ours._estimates
    theirs._base, theirs._results, theirs._last_func = np.asarray(X.mean()), estimates.values, np.mean
    expected = theirs.conf_int(np.mean, 200, method=method, reuse=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_acceleration_is_of_each_parameter_by_itself():
    together = IIDBootstrap(TABLE * [1, 10, 100], seed=1).conf_int(lambda x: x.mean(0), 500, method="bca")
    alone = IIDBootstrap(TABLE, seed=1).conf_int(lambda x: x.mean(0), 500, method="bca")
    np.testing.assert_allclose(together, alone * [1, 10, 100], rtol=1e-9)


def test_values_are_reused():
    resampler = IIDBootstrap(X, seed=1)
    first = resampler.conf_int(np.mean, 100, method="percentile")
    np.testing.assert_array_equal(resampler.conf_int(np.mean, 100, method="percentile", reuse=True), first)
    with pytest.warns(RuntimeWarning, match="conditions to reuse"):
        again = resampler.conf_int(np.mean, 101, method="percentile", reuse=True)
    assert not np.array_equal(again, first)


def test_applied_functions_are_not_reused():
    def first(x):
        return x[0]

    resampler = IIDBootstrap(X, seed=1)
    resampler.apply(first, 50)
    with pytest.warns(RuntimeWarning, match="conditions to reuse"):
        interval = resampler.conf_int(first, 50, reuse=True)
    resampler.apply(np.max, 50)
    np.testing.assert_array_equal(resampler.conf_int(first, 50, reuse=True), interval)


def test_reset_and_generator():
    resampler = IIDBootstrap(X, seed=1)
    first = resampler.apply(np.mean, 10)
    second = resampler.apply(np.mean, 10)
    assert not np.array_equal(first, second)
    resampler.reset()
    np.testing.assert_array_equal(resampler.apply(np.mean, 10), first)
    resampler.generator = np.random.RandomState(0)
    assert resampler.generator.get_state()[2] == resampler.state[2]
    resampler.state = np.random.RandomState(1).get_state()
    assert resampler.apply(ordered, 2).shape == (2, 2)
    assert "no. pos. inputs: 1" in repr(resampler)


def test_statistics_of_the_catalogue():
    interval = IIDBootstrap(X, Y, seed=1).conf_int(ob.spearman, 200, method="bca")
    assert interval[0, 0] < ob.spearman(X, Y) < interval[1, 0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: IIDBootstrap([1.0, 2.0]), TypeError, "Input 0 has type list"),
        (lambda: IIDBootstrap(X, Y[:5]), ValueError, "same number of elements"),
        (lambda: IIDBootstrap(seed=1), ValueError, "at least one"),
        (lambda: IIDBootstrap(X, data=Y), ValueError, "reserved"),
        (lambda: IIDBootstrap(X, pos_data=Y), ValueError, "reserved"),
        (lambda: IIDBootstrap(X).apply(np.mean, -1), ValueError, "`reps`"),
        (lambda: IIDBootstrap(X).apply(np.mean, "many"), ValueError, "`reps`"),
        (
            lambda: IIDBootstrap(np.eye(10)[0], seed=1).conf_int(np.mean, 30, "studentized", studentize_reps=10),
            RuntimeError,
            "std_err_func",
        ),
        (lambda: IIDBootstrap(X, seed="one"), TypeError, "generator"),
        (lambda: IIDBootstrap(X).conf_int(np.mean, size=95), ValueError, "size"),
        (lambda: IIDBootstrap(X).conf_int(np.mean, tail="both"), ValueError, "tail"),
        (lambda: IIDBootstrap(X).conf_int(np.mean, method="ni"), ValueError, "Unknown method"),
        (lambda: IIDBootstrap(X).conf_int(np.mean, sampling="ni"), ValueError, "sampling"),
        (lambda: IIDBootstrap(X, y=Y).cov(np.mean, extra_kwargs={"y": 1}), ValueError, "extra_kwargs"),
        (lambda: IIDBootstrap(X).conf_int(np.min, 50, method="bc"), RuntimeError, "0 or 1"),
        (lambda: setattr(IIDBootstrap(X), "generator", 3), TypeError, "Generator"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()

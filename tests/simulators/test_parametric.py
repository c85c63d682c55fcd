"""Fitted distributions as inputs: parameters and their influence in closed form."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

import orthoboot as ob
from orthoboot import errors

RNG = np.random.default_rng(1)
X, Z = RNG.exponential(2.0, 100), RNG.lognormal(0.0, 0.5, 300)


def _result(run, inputs, **options):
    return ob.input_uncertainty(run, inputs, **{"n_runs": 2000, "rng": 0, **options})


def test_the_mean_of_an_exponential_fit_is_that_of_the_data():
    result = _result(lambda x: x.sum(axis=1), {"x": ob.fitted("expon", X)}, horizon=3)
    assert result.estimate == pytest.approx(3 * X.mean())
    assert result.input_error == pytest.approx(3 * X.std() / 10, rel=1e-4)
    assert result.bias == pytest.approx(0, abs=1e-4)
    np.testing.assert_allclose(result.influence["x"], 3 * (X - X.mean()), atol=1e-5)


def test_the_bias_of_a_square_goes_through_the_fit():
    # phi = 2 scale^2, so that the bias is 2 var(x) / n, and the influence of a row 4 scale (x - scale).
    result = _result(lambda x: (x**2).sum(axis=1), {"x": ob.fitted("expon", X)}, horizon=1)
    assert result.estimate == pytest.approx(2 * X.mean() ** 2, rel=1e-5)
    assert result.bias == pytest.approx(2 * X.var() / 100, rel=0.01)
    np.testing.assert_allclose(result.influence["x"], 4 * X.mean() * (X - X.mean()), rtol=1e-3, atol=1e-3)


def test_two_parameters_have_the_influence_of_maximum_likelihood():
    logs = np.log(Z)
    mean, spread = logs.mean(), logs.std()

    def exact(mean, spread):
        return 1 - stats.norm.cdf((np.log(2) - mean) / spread) ** 4

    result = _result(lambda z: z.max(axis=1) > 2, {"z": ob.fitted("lognorm", Z)}, horizon=4, n_runs=20_000)
    by_mean = (exact(mean + 1e-5, spread) - exact(mean - 1e-5, spread)) / 2e-5
    by_spread = (exact(mean, spread + 1e-5) - exact(mean, spread - 1e-5)) / 2e-5
    influence = by_mean * (logs - mean) + by_spread * ((logs - mean) ** 2 - spread**2) / (2 * spread)
    assert result.estimate == pytest.approx(exact(mean, spread), abs=4 * result.run_error)
    assert np.corrcoef(result.influence["z"], influence)[0, 1] > 0.999
    # The reported error is about half a percent.
    assert result.input_error == pytest.approx(np.sqrt((influence**2).sum()) / 300, rel=0.03)


def test_fitted_and_empirical_inputs_mix():
    inputs = {"x": ob.fitted("expon", X), "z": Z}
    result = _result(lambda x, z: x.sum(axis=1) * z.sum(axis=1), inputs, horizon=2)
    first, second = X.mean() ** 2 * Z.var() / 300, Z.mean() ** 2 * X.var() / 100
    assert result.input_error == pytest.approx(4 * np.sqrt(first + second), rel=0.05)
    assert result.contributions["x"] == pytest.approx(second / (first + second), abs=0.03)


def test_resamples_refit_the_distribution():
    entry = ob.fitted("gamma", X).named("x")
    levels = entry.positions((1, 2), 0, range(2), 5, 5)
    counts = np.bincount(np.random.default_rng(0).integers(0, 100, 100), minlength=100).astype(float)
    refitted = entry._refitted(counts)
    direct = stats.gamma.fit(np.repeat(np.sort(X), counts.astype(int)), floc=0)
    np.testing.assert_allclose(refitted, direct, rtol=1e-4)
    values = entry.resampled_values((1, 2), 1, [0, 0], levels)
    assert values.shape == levels.shape
    assert (np.argsort(values[0]) == np.argsort(levels[0])).all()


def test_long_runs_with_a_fitted_input_are_two_layer():
    inputs = {"x": ob.fitted("expon", X)}
    result = _result(lambda x: x.sum(axis=1), inputs, horizon=400, n_runs=400)
    assert result.regime == "two-layer"
    assert result.input_error == pytest.approx(400 * X.std() / 10, rel=0.05)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ob.fitted("poisson", X), "continuous distribution"),
        (lambda: ob.fitted("gama", X), "continuous distribution"),
        (lambda: ob.fitted("gamma", X, b=2), "fixed numbers for a, loc, scale"),
    ],
)
def test_families_that_are_not_known(make, message):
    with pytest.raises(errors.ArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    "described",
    [
        ob.fitted("gamma", -X),
        ob.fitted("expon", X, scale=2),
        ob.fitted("norm", np.ones(10)),
        ob.fitted("norm", np.ones((5, 2))),
    ],
)
def test_data_that_cannot_be_fitted(described):
    with pytest.raises((errors.FitError, errors.DataError), match="inputs"):
        _result(lambda x: x.sum(axis=1), {"x": described}, horizon=1)


def test_values_between_zero_and_one_have_no_free_scale():
    values = np.random.default_rng(3).beta(2.0, 3.0, 200)
    entry = ob.fitted("beta", values).named("share")
    assert entry.parameters[-2:].tolist() == [0.0, 1.0]
    result = _result(lambda share: share.sum(axis=1), {"share": ob.fitted("beta", values)}, horizon=1)
    assert result.estimate == pytest.approx(values.mean(), rel=0.02)


def test_parameters_may_be_held_fixed():
    entry = ob.fitted("gamma", X, a=1.0).named("x")
    np.testing.assert_allclose(entry.parameters, [1.0, 0.0, X.mean()], rtol=1e-6)


@pytest.mark.parametrize("n", [15, 40, 200])
def test_a_sum_of_gamma_draws_is_linear_in_the_rows(n):
    # The mean of a gamma fit is that of the data: the curvature of the fit takes off that of shape times scale.
    rows = np.random.default_rng(3).gamma(3.0, 0.3, n)
    inputs = {"z": Z, "x": ob.fitted("gamma", rows)}
    result = _result(lambda z, x: z.sum(axis=1) + x.sum(axis=1), inputs, horizon=10, n_runs=1000)
    of_z, of_x = 100 * Z.var() / len(Z), 100 * rows.var() / n
    assert result.regime == "base runs"
    assert result.input_error == pytest.approx(np.sqrt(of_z + of_x), rel=1e-3)
    assert result.contributions["x"] == pytest.approx(of_x / (of_z + of_x), abs=1e-3)
    assert result.more_data(x=2).input_error == pytest.approx(np.sqrt(of_z + of_x / 2), rel=1e-3)


def test_the_quadratic_part_of_a_normal_fit_is_exact():
    # The mean of exp(x) is exp(mean + variance / 2), a function of two means that are resampled here directly.
    rows = np.random.default_rng(4).gamma(3.0, 0.3, 30)
    result = _result(lambda x: np.exp(x).sum(axis=1), {"x": ob.fitted("norm", rows)}, horizon=3, n_runs=20_000)
    drawn = rows[np.random.default_rng(0).integers(0, 30, (100_000, 30))]
    means = 3 * np.exp(drawn.mean(axis=1) + drawn.var(axis=1) / 2)
    # The reference is known to .3%, the answer to its own error.
    assert np.abs(result.input_error - means.std()) < 4 * result.simulation_error.input_error + 0.01 * means.std()
    # The mean of the reference without the noise of two means that are known.
    first, second = (drawn - rows.mean()).mean(axis=1), ((drawn - rows.mean()) ** 2).mean(axis=1) - rows.var()
    columns = np.stack([np.ones(len(drawn)), first, second], axis=1)
    bias = np.linalg.lstsq(columns, means, rcond=None)[0][0] - 3 * np.exp(rows.mean() + rows.var() / 2)
    assert result.bias == pytest.approx(bias, rel=0.1)


@pytest.mark.parametrize("family", ["norm", "gamma", "weibull_min", "lognorm"])
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_the_data_do_not_matter(family, unit):
    rows = np.random.default_rng(5).gamma(2.0, size=60)
    plain, scaled = (
        _result(lambda x, u=u: x.max(axis=1) / u, {"x": ob.fitted(family, rows * u)}, horizon=3, n_runs=600)
        for u in (1.0, unit)
    )
    assert scaled.input_error == pytest.approx(plain.input_error, rel=1e-4)
    assert scaled.bias == pytest.approx(plain.bias, rel=1e-3)


@pytest.mark.parametrize("family", ["norm", "gamma"])
def test_a_resample_that_cannot_be_fitted_is_drawn_from_itself(family):
    rows = np.r_[np.ones(16), 2.0, 2.5, 3.0, 1.5]
    entry = ob.fitted(family, rows).named("x")
    equal = np.zeros(20)
    equal[0] = 20
    np.testing.assert_array_equal(entry._resampled_quantiles(equal, np.array([0.1, 0.9])), [1.0, 1.0])
    seen = []

    def run(x):
        seen.append(np.isfinite(x).all())
        return (x > 0.2).mean(axis=1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FewRunsWarning)
        _result(run, {"x": ob.fitted(family, rows)}, horizon=200, n_runs=1000)
    assert all(seen)


@pytest.mark.parametrize("n", [80, 81])
def test_a_density_with_a_kink_is_refused(n):
    rows = np.random.default_rng(5).laplace(3.0, 2.0, n)
    with pytest.raises(errors.FitError, match=r"no smooth maximum.*\(loc, scale\)"):
        ob.fitted("laplace", rows).named("x")


@pytest.mark.parametrize("family", ["gamma", "lognorm", "norm", "expon", "weibull_min", "beta", "logistic"])
def test_refits_are_those_of_maximum_likelihood(family):
    rows = np.random.default_rng(6).beta(2.0, 3.0, 50)
    entry = ob.fitted(family, rows).named("x")
    counts = np.bincount(np.random.default_rng(1).integers(0, 50, 50), minlength=50).astype(float)
    parameters = entry._refitted(counts)
    law = type(entry._law)(family, parameters, entry.free)
    scores = counts @ law.scores(entry.rows) / 50
    assert np.abs(scores * law.steps / 1e-4).max() < 1e-5

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import optimize
from statsmodels.genmod import families as statsmodels_families

import orthoboot as ob
from orthoboot.data import read
from orthoboot.errors import (
    ArgumentError,
    ConstantDataWarning,
    DataError,
    FailedReplicatesWarning,
    FitError,
    SmallSampleWarning,
)
from orthoboot.functionals import glm, linear_regression, logistic_regression
from orthoboot.functionals.regression import generalized_linear
from orthoboot.functionals.regression.families import FAMILIES
from orthoboot.functionals.regression.generalized_linear import WeightedLoss, fitted

RNG = np.random.default_rng(90)
N = 200
X = RNG.uniform(-1.0, 1.0, size=(N, 2))
ETA = 1.5 + X @ [0.5, -0.4]
CLASSES = (RNG.random(N) < 1 / (1 + np.exp(1 - ETA))).astype(float)
COUNTS = RNG.poisson(np.exp(ETA)).astype(float)
TIMES = RNG.gamma(4.0, 0.25 / ETA)
LOGISTIC = logistic_regression.replace(intercept=True)
PAIRS = [(family, link) for family in FAMILIES for link in FAMILIES[family].links]
RESPONSES = {"binomial": CLASSES, "poisson": COUNTS, "gaussian": TIMES, "gamma": TIMES, "inverse_gaussian": TIMES}
RARE_CLASS = (RNG.random(N) < np.exp(ETA - 3)).astype(float)

LINKS = {
    "identity": statsmodels_families.links.Identity,
    "log": statsmodels_families.links.Log,
    "inverse": statsmodels_families.links.InversePower,
    "logit": statsmodels_families.links.Logit,
    "probit": statsmodels_families.links.Probit,
    "cloglog": statsmodels_families.links.CLogLog,
}
STATSMODELS = {
    "gaussian": statsmodels_families.Gaussian,
    "poisson": statsmodels_families.Poisson,
    "gamma": statsmodels_families.Gamma,
    "binomial": statsmodels_families.Binomial,
    "inverse_gaussian": statsmodels_families.InverseGaussian,
}


def model(family, link):
    return glm(family, link).replace(intercept=True)


def jackknife_covariance(functional, *arrays):
    influence = functional.at(read(arrays, paired=True)).influence()[0]
    return influence.T @ influence / len(influence) ** 2


# Values of others


@pytest.mark.parametrize(
    ("family", "link"), [pair for pair in PAIRS if pair != ("inverse_gaussian", "inverse_squared")]
)
def test_the_infinitesimal_jackknife_is_the_robust_covariance_of_statsmodels(family, link):
    """Statsmodels' HC0 has the observed Hessian too, for links that are not canonical as for those that are.

    Its search finds no fit for the canonical link of the inverse Gaussian on these data; that is fitted below.
    """
    y = RARE_CLASS if (family, link) == ("binomial", "log") else RESPONSES[family]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that some of the links leave the range of some families
        reference = sm.GLM(y, sm.add_constant(X), STATSMODELS[family](LINKS[link]()))
        fit = reference.fit(cov_type="HC0", tol=1e-14, tol_criterion="params", maxiter=500)
    assert fit.converged
    np.testing.assert_allclose(model(family, link)(X, y), fit.params, rtol=1e-9)
    covariance = jackknife_covariance(model(family, link), X, y)
    np.testing.assert_allclose(covariance, fit.cov_params(), rtol=1e-8)


def test_the_expected_hessian_would_not_do():
    """The two differ for a link that is not canonical, so the test above tells them apart."""
    fit = sm.GLM(CLASSES, sm.add_constant(X), STATSMODELS["binomial"](LINKS["probit"]())).fit()
    scores = sm.add_constant(X) * fit.model.score_factor(fit.params)[:, np.newaxis]
    expected = np.linalg.inv(-fit.model.hessian(fit.params, observed=False))
    sandwich = expected @ scores.T @ scores @ expected
    covariance = jackknife_covariance(model("binomial", "probit"), X, CLASSES)
    assert np.max(np.abs(sandwich / covariance - 1)) > 1e-4


def test_trials_are_case_weights():
    trials = RNG.integers(1, 9, size=N)
    successes = RNG.binomial(trials, 1 / (1 + np.exp(-ETA)))
    pairs = np.column_stack([successes, trials - successes])
    fit = sm.GLM(pairs, sm.add_constant(X), STATSMODELS["binomial"]()).fit(tol=1e-14)
    np.testing.assert_allclose(LOGISTIC(X, successes / trials, trials), fit.params, rtol=1e-10)


def test_the_gaussian_model_is_least_squares():
    weights = RNG.uniform(0.5, 2.0, size=N)
    data = read((X, TIMES, weights), paired=True)
    np.testing.assert_allclose(glm("gaussian")(X, TIMES, weights), linear_regression(X, TIMES, weights), rtol=1e-13)
    np.testing.assert_allclose(
        glm("gaussian").at(data).influence()[0], linear_regression.at(data).influence()[0], rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize(("family", "link"), PAIRS)
def test_the_derivatives_of_the_losses_are_derivatives(family, link):
    eta = np.linspace(-0.9, -0.1, 9) if link == "log" and family == "binomial" else np.linspace(0.1, 0.9, 9)
    response, step = np.tile([0.3, 1.0, 0.8], 3), 1e-5
    behind, here, ahead = (FAMILIES[family].losses(response, eta + d, link) for d in (-step, 0.0, step))
    np.testing.assert_allclose(here.slope, (ahead.value - behind.value) / (2 * step), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(here.curvature, (ahead.slope - behind.slope) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("family", "link"), PAIRS)
def test_the_information_is_the_curvature_at_the_mean(family, link):
    """The curvature is linear in the response, so its expectation is its value where the response is the mean."""
    eta = np.array([-0.5]) if link == "log" else np.array([0.5])
    mean = optimize.brentq(lambda y: FAMILIES[family].losses(np.array([y]), eta, link).slope[0], 1e-3, 9.0, xtol=1e-14)
    losses = FAMILIES[family].losses(np.array([mean]), eta, link)
    np.testing.assert_allclose(losses.information, losses.curvature, rtol=1e-9)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_losses_far_out_are_finite(link):
    """A row with an outlying predictor must not turn the search into NaN, whichever its class."""
    far = np.array([-30.0, -30.0, 3.0, 3.0]) if link == "cloglog" else np.array([-300.0, -300.0, 300.0, 300.0])
    losses = FAMILIES["binomial"].losses(np.array([0.0, 1.0, 0.0, 1.0]), far, link)
    for values in (losses.value, losses.slope, losses.curvature, losses.information):
        assert np.isfinite(values).all()
    assert losses.value[1] > 29
    assert losses.value[0] < 1e-12


def test_the_fit_beats_other_coefficients_where_fisher_scoring_must_help():
    """Start and Hessian are poor for these, so the minimum is checked by a search of another kind."""
    for family, link in [("poisson", "identity"), ("inverse_gaussian", "inverse_squared"), ("gaussian", "inverse")]:
        functional, y = model(family, link), RESPONSES[family]
        design = sm.add_constant(X)

        def mean_loss(beta, family=family, link=link, y=y, design=design):
            return FAMILIES[family].losses(y, design @ beta, link).value.mean()

        found = functional(X, y)
        search = optimize.minimize(
            mean_loss, found + 0.01, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15}
        )
        np.testing.assert_allclose(found, search.x, atol=1e-5)


def test_few_replicates_give_the_standard_error_of_two_thousand():
    rng = np.random.default_rng(91)
    columns = rng.normal(size=(1000, 2))
    data = (columns, (columns @ [1.0, -0.5] + rng.logistic(size=1000) > 0).astype(float))
    orthogonal = ob.bootstrap(data, LOGISTIC, paired=True, n_resamples=25, rng=1)
    standard = ob.bootstrap(data, LOGISTIC, paired=True, n_resamples=2000, estimator="standard", rng=2)
    assert np.all(orthogonal.r_squared > 0.9)
    # Both errors are standard deviations; five of them are exceeded once in a million runs for each coefficient.
    error = np.hypot(orthogonal.simulation_error.standard_error, standard.simulation_error.standard_error)
    assert np.all(np.abs(orthogonal.standard_error - standard.standard_error) < 5 * error)


# The search


def constant_point(functional, y, eta):
    """Return the coefficients in the orthonormal basis that give every row the linear predictor `eta`."""
    model_of_data = functional.at(read((X, y), paired=True)).model
    return model_of_data.factor.orthonormal.T @ np.full(N, eta)


def test_fisher_scoring_helps_where_the_hessian_is_not_positive_definite():
    """With the log link the loss of an inverse Gaussian row is concave where the mean is above twice the response."""
    functional = model("inverse_gaussian", "log")
    data = read((X, TIMES), paired=True)
    loss = WeightedLoss(functional.at(data).model, np.ones(N))
    start = constant_point(functional, TIMES, np.log(10 * TIMES.mean()))
    assert np.linalg.eigvalsh(loss.hessian(loss.losses(start).curvature)).min() < 0
    np.testing.assert_allclose(fitted(loss, start), functional.at(data).fit, rtol=1e-9)


def test_a_start_far_off_costs_no_digits(monkeypatch):
    """Means of exp(40) at the start make a large change look negligible."""
    functional = model("poisson", "log")
    start = constant_point(functional, COUNTS, 40.0)
    expected = functional(X, COUNTS)
    monkeypatch.setattr(generalized_linear, "first_point", lambda loss: start)
    point = functional.at(read((X, COUNTS), paired=True)).fit
    found = functional.at(read((X, COUNTS), paired=True)).factor.coefficients(point)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("family", "link", "y", "eta"),
    [
        ("binomial", "log", 1.0, 0.1),
        ("binomial", "identity", 1.0, 1.2),
        ("binomial", "identity", 0.0, -0.2),
        ("poisson", "identity", 0.0, -1.0),
        ("gamma", "inverse", 2.0, -1.0),
        ("inverse_gaussian", "identity", 2.0, -1.0),
        ("inverse_gaussian", "inverse_squared", 2.0, -1.0),
    ],
)
def test_a_mean_outside_of_the_family_is_infinitely_bad(family, link, y, eta):
    """Also where the formula of the loss would go on."""
    assert FAMILIES[family].losses(np.array([y]), np.array([eta]), link).value == [np.inf]


def test_a_class_that_a_row_is_not_of_does_not_count_however_unlikely():
    losses = FAMILIES["binomial"].losses(np.array([0.0]), np.array([-800.0]), "cloglog")
    assert losses.value == [0.0]
    assert losses.slope == [0.0]


# Scales


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_the_columns_change_nothing_but_the_units(scale):
    np.testing.assert_allclose(LOGISTIC(X * scale, CLASSES) * [1, scale, scale], LOGISTIC(X, CLASSES), rtol=1e-11)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("family", ["gamma", "inverse_gaussian", "gaussian"])
def test_units_of_the_response_shift_the_intercept_of_a_log_link(family, scale):
    functional = model(family, "log")
    shifted = functional(X, TIMES * scale) - [np.log(scale), 0.0, 0.0]
    np.testing.assert_allclose(shifted, functional(X, TIMES), rtol=1e-9)


def test_large_counts_are_fitted_to_rounding():
    counts = np.random.default_rng(92).poisson(1e9 * np.exp(X[:, 0])).astype(float)
    functional = model("poisson", "log")
    beta = functional(X, counts)
    design = sm.add_constant(X)
    residuals = counts - np.exp(design @ beta)
    # The score in units of the rounding of its terms: a change of the last digits of the coefficients.
    assert np.all(np.abs(design.T @ residuals) < 1e-13 * np.abs(design).T @ counts)


def test_an_exact_fit_is_found():
    beta = glm("poisson")(X, np.exp(X @ [0.3, -0.7]))
    np.testing.assert_allclose(beta, [0.3, -0.7], rtol=1e-13)


# What cannot be fitted


@pytest.mark.parametrize(
    ("functional", "y", "message"),
    [
        (glm("poisson"), COUNTS - 1, "'poisson' takes counts, which are not negative; got"),
        (
            glm("gamma"),
            np.where(np.arange(N) == 3, 0.0, TIMES),
            r"positive responses; got 1 other\(s\), the first in row 3",
        ),
        (glm("inverse_gaussian"), -TIMES, "positive responses; got 200 other"),
        (LOGISTIC, CLASSES + 1, r"responses in \[0, 1\]; got \d+ other\(s\), .*: 2. Label the two classes 0 and 1"),
        (LOGISTIC, np.ones(N), "all 200 responses are 1, one class only"),
        (LOGISTIC, np.zeros(N), "all 200 responses are 0, one class only"),
        (glm("poisson"), np.zeros(N), "all 200 counts are zero"),
    ],
)
def test_responses_outside_of_the_family_are_refused(functional, y, message):
    with pytest.raises(DataError, match=message):
        ob.bootstrap((X, y), functional, paired=True)


def test_dependent_columns_are_named():
    frame = pd.DataFrame(X, columns=["a", "b"])
    with pytest.raises(DataError, match="column 'c' is a combination of columns 'intercept', 'a'"):
        LOGISTIC(frame.assign(c=2 - frame.a), CLASSES)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_perfect_separation_is_diagnosed(link):
    with pytest.raises(FitError, match=r"no fit on these data: .* of 200 rows .* perfect separation"):
        ob.bootstrap((X, (X[:, 0] > 0.2).astype(float)), model("binomial", link), paired=True)


def test_separation_of_a_few_rows_is_diagnosed():
    rare = (np.arange(N) < 5).astype(float)
    with pytest.raises(FitError, match="fitted mean of 5 of 200 rows reaches the end of its range"):
        LOGISTIC(np.column_stack([X, rare]), np.where(rare == 1, 1.0, CLASSES))
    with pytest.raises(FitError, match="fitted mean of 5 of 200 rows reaches the end of its range"):
        model("poisson", "log")(np.column_stack([X, rare]), np.where(rare == 1, 0.0, COUNTS))


def test_a_fit_at_the_border_of_the_link_is_diagnosed():
    steep = (RNG.random(N) < 1 / (1 + np.exp(-4 * X[:, 0]))).astype(float)
    with pytest.raises(FitError, match="at the border of what the link 'log' allows"):
        model("binomial", "log")(X, steep)


def test_a_model_without_possible_means_says_so():
    with pytest.raises(FitError, match="no start was found.*'inverse'"):
        glm("gamma")(X, TIMES)


def test_outliers_do_not_look_like_separation():
    outlying = np.concatenate([X[:, 0], [500.0]])
    beta = model("binomial", "probit")(outlying, np.concatenate([(X[:, 0] + RNG.normal(size=N) > 0), [1.0]]))
    assert np.isfinite(beta).all()
    assert beta[1] > 0.3


def test_a_resample_that_loses_a_class_is_a_failed_replicate():
    y = (np.arange(N) < 2).astype(float)
    with pytest.raises(FitError, match="no fit on a resample: all 198 responses are 0, one class only"):
        LOGISTIC(X[:, :1], y, weights=1 - y)
    failed = pytest.warns(FailedReplicatesWarning, match="one class only|perfect separation")
    with pytest.warns(SmallSampleWarning, match=r"rests on 2 row\(s\) that are positive"), failed:
        result = ob.bootstrap((X[:, :1], y), LOGISTIC, paired=True, n_resamples=60, rng=0)
    # Both rows are missing with probability e^-2: 8.1 of 60, with deviation 2.7, and some more are separated.
    assert 1 <= result.n_failed <= 25


def test_a_class_of_few_rows_is_reported():
    y = (np.arange(N) >= 9).astype(float)
    (finding,) = LOGISTIC.at(read((X[:, :1], y), paired=True)).findings()
    assert "`logistic_regression` rests on 9 row(s) that are negative" in str(finding)
    proportions = np.full(N, 0.01)
    assert LOGISTIC.at(read((X[:, :1], proportions, np.full(N, 100)), paired=True)).findings() == ()


def test_the_intercept_is_an_argument_too():
    assert glm("poisson", intercept=True) == glm("poisson").replace(intercept=True)


def test_a_resample_that_is_separated_is_a_failed_replicate():
    below, above = np.flatnonzero((X[:, 0] < 0) & (CLASSES == 0)), np.flatnonzero((X[:, 0] > 0) & (CLASSES == 1))
    weights = np.zeros(N)
    weights[np.concatenate([below, above])] = 1.0
    with pytest.raises(FitError, match="no fit on a resample: .*perfect separation"):
        LOGISTIC(X, CLASSES, weights=weights)


def test_a_resample_that_loses_a_category_is_a_failed_replicate():
    rare = (np.arange(N) < 3).astype(float)
    with pytest.raises(FitError, match="no fit on a resample: .*is zero in every row in the rows drawn"):
        model("gamma", "log")(np.column_stack([X, rare]), TIMES, weights=1 - rare)


# Names


def test_the_name_and_the_columns_name_the_output():
    assert LOGISTIC.at(read((X, CLASSES), paired=True)).output.names == (
        "intercept",
        "logistic_regression[0]",
        "logistic_regression[1]",
    )
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert glm("poisson").at(read((frame, COUNTS), paired=True)).output.names == ("a", "b")


def test_unknown_families_and_links_are_refused():
    with pytest.raises(ArgumentError, match="`family` must be one of .*; got 'Poisson'. Did you mean 'poisson'"):
        glm("Poisson")
    with pytest.raises(ArgumentError, match="`link` must be one of 'log', 'identity'; got 'logit'"):
        glm("poisson", "logit")
    with pytest.raises(ArgumentError, match="`link` must be one of"):
        glm("binomial", "probit").replace(family="gamma")
    assert glm("binomial").replace(family="poisson")(X, COUNTS) == pytest.approx(glm("poisson")(X, COUNTS))


def test_a_model_without_an_explicit_link_has_the_canonical_one():
    canonical = {"gaussian": "identity", "poisson": "log", "gamma": "inverse", "binomial": "logit"}
    for family, link in {**canonical, "inverse_gaussian": "inverse_squared"}.items():
        y = RESPONSES[family]
        np.testing.assert_array_equal(model(family, None)(X, y), model(family, link)(X, y))


@pytest.mark.parametrize("response", ["constant", "exact"])
@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma", "inverse_gaussian"])
def test_a_response_that_is_fitted_exactly_is_constant_data(family, response):
    y = np.full(N, 3.0) if response == "constant" else np.exp(ETA)
    with pytest.warns(ConstantDataWarning, match="does not vary between resamples"):
        result = ob.bootstrap((X, y), glm(family, "log", intercept=True), paired=True, rng=0)
    assert not result.standard_error.any()


def test_proportions_that_are_all_the_same_are_constant_data():
    with pytest.warns(ConstantDataWarning, match="does not vary"):
        ob.bootstrap((X, np.full(N, 0.3), np.full(N, 10.0)), LOGISTIC, paired=True, rng=0)


def test_a_fit_that_is_nearly_exact_is_not_taken_for_exact():
    noise = 1e-9 * RNG.standard_normal(N)
    result = ob.bootstrap((X, np.exp(ETA + noise)), glm("poisson", intercept=True), paired=True, rng=0)
    # The noise over the spread of the columns and the root of n: some 1e-10.
    assert np.all((result.standard_error > 2e-11) & (result.standard_error < 1e-9))

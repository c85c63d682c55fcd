"""A model of statsmodels has statsmodels' coefficients, its HC0 as the jackknife's variance, and its refits."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests import agreement, elsewhere

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    ConstantDataWarning,
    DataError,
    FitError,
    FitWarning,
    MissingDependencyError,
    SlopeWarning,
    StatisticError,
)
from orthoboot.functionals.regression.generalized_linear import Glm
from orthoboot.models.statsmodels.coefficients import StatsmodelsGlm

sm = pytest.importorskip("statsmodels.api")
smf = pytest.importorskip("statsmodels.formula.api")
families, norms = sm.families, sm.robust.norms

PRECISE = {"tol_criterion": "params", "tol": 1e-13}
"""statsmodels stops where the deviance stands still, which leaves the coefficients half of their digits."""


def sample(n: int = 1000) -> pd.DataFrame:
    """Responses of all kinds, whose spread depends on `b` and so is not what the models believe."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.uniform(-1, 1, n), "c": rng.choice(["u", "v", "w"], n)})
    eta = 0.3 + 0.5 * frame["a"] - 0.4 * frame["b"] + 0.3 * (frame["c"] == "v")
    frame["number"] = eta + rng.standard_t(5, n) * (1 + frame["b"] ** 2)
    frame["choice"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(float)
    frame["count"] = rng.poisson(np.exp(eta) * rng.gamma(3, 1 / 3, n))
    frame["positive"] = rng.gamma(2 + frame["b"], np.exp(eta) / 2)
    frame["weight"], frame["exposure"] = rng.uniform(0.5, 2, n), rng.uniform(1, 5, n)
    frame["times"] = rng.integers(1, 4, n)
    return frame


def generalized(response: str, family: Any, **arguments: str) -> Callable[..., Any]:
    def fitted(frame: pd.DataFrame, **options: Any) -> Any:
        columns = {name: frame[column] for name, column in arguments.items()}
        model = smf.glm(f"{response} ~ a + b + C(c)", frame, family=family(), **columns)
        return model.fit(**PRECISE, **options)

    return fitted


def discrete(kind: str, response: str, **arguments: str) -> Callable[..., Any]:
    def fitted(frame: pd.DataFrame, **options: Any) -> Any:
        columns = {name: frame[column] for name, column in arguments.items()}
        return getattr(smf, kind)(f"{response} ~ a + b + C(c)", frame, **columns).fit(disp=0, **options)

    return fitted


def robust(norm: Any, scale: Callable[[], Any] = lambda: "mad") -> Callable[..., Any]:
    def fitted(frame: pd.DataFrame, **options: Any) -> Any:
        model = smf.rlm("number ~ a + b + C(c)", frame, M=norm())
        return model.fit(scale_est=scale(), conv="coefs", tol=1e-12, maxiter=500, **options)

    return fitted


LIKELIHOODS: dict[str, Callable[..., Any]] = {
    "OLS": lambda frame, **options: smf.ols("number ~ a + b + C(c)", frame).fit(**options),
    "WLS": lambda frame, **options: smf.wls("number ~ a + b + C(c)", frame, weights=frame["weight"]).fit(**options),
    "Logit": discrete("logit", "choice"),
    "Probit": discrete("probit", "choice"),
    "Poisson": discrete("poisson", "count"),
    "Poisson, exposure": discrete("poisson", "count", exposure="exposure", offset="weight"),
    "GLM Gaussian": generalized("number", families.Gaussian),
    "GLM Poisson": generalized("count", families.Poisson),
    "GLM Poisson, exposure": generalized("count", families.Poisson, exposure="exposure", offset="weight"),
    "GLM Poisson, var_weights": generalized("count", families.Poisson, var_weights="weight"),
    "GLM Gamma, log": generalized("positive", lambda: families.Gamma(families.links.Log())),
    "GLM inverse Gaussian, log": generalized("positive", lambda: families.InverseGaussian(families.links.Log())),
    "GLM binomial, probit": generalized("choice", lambda: families.Binomial(families.links.Probit())),
    "GLM binomial, cloglog": generalized("choice", lambda: families.Binomial(families.links.CLogLog())),
    "GLM binomial, log-log": generalized("choice", lambda: families.Binomial(families.links.LogLog())),
    "GLM negative binomial": generalized("count", lambda: families.NegativeBinomial(alpha=0.4)),
    "GLM Tweedie": generalized("positive", lambda: families.Tweedie(var_power=1.5), var_weights="weight"),
}
ROBUST: dict[str, Callable[..., Any]] = {
    "RLM Huber": robust(norms.HuberT),
    "RLM biweight": robust(norms.TukeyBiweight),
    "RLM Hampel, Huber's scale": robust(norms.Hampel, lambda: sm.robust.scale.HuberScale(tol=1e-14, maxiter=500)),
}
MODELS = LIKELIHOODS | ROBUST
every_likelihood = pytest.mark.parametrize("fitted", LIKELIHOODS.values(), ids=LIKELIHOODS.keys())
every_robust = pytest.mark.parametrize("fitted", ROBUST.values(), ids=ROBUST.keys())
every_model = pytest.mark.parametrize("fitted", MODELS.values(), ids=MODELS.keys())


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return sample()


@pytest.fixture(scope="module")
def ols(frame) -> Any:
    return LIKELIHOODS["OLS"](frame)


def bootstrapped(model: Any, **options: Any) -> ob.Result:
    return ob.bootstrap(model.data, model, paired=True, rng=0, **options)


def prepared(model: Any) -> Any:
    return model.prepared(read(model.data, paired=True))


def counts(n: int, n_resamples: int) -> Resamples:
    rng = np.random.default_rng(1)
    return Resamples((rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(float),))


# The estimate, the refits and the influence function


@every_model
def test_the_estimate_is_statsmodels_and_keeps_its_names(fitted, frame):
    result = fitted(frame)
    model = ob.from_statsmodels(result)
    found = bootstrapped(model, n_resamples=5)
    np.testing.assert_allclose(found.estimate, result.params, rtol=1e-6)
    assert found.names == tuple(result.params.index)
    assert found.n_failed == 0


@every_likelihood
def test_the_infinitesimal_jackknife_is_hc0(fitted, frame):
    model = ob.from_statsmodels(fitted(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # statsmodels doubts its own HC0 with weights
        expected = np.asarray(fitted(frame, cov_type="HC0").cov_params())
    (influence,) = prepared(model).influence()
    np.testing.assert_allclose(influence.T @ influence / len(influence) ** 2, expected, rtol=1e-8, atol=1e-14)


@every_model
def test_a_refit_with_counts_is_statsmodels_fit_of_the_rows_drawn(fitted, frame):
    model = ob.from_statsmodels(fitted(frame))
    resamples = counts(len(frame), 2)
    for b, phi_b in enumerate(prepared(model).values(resamples)):
        drawn = frame.iloc[resamples.indices(b)[0]].reset_index(drop=True)
        np.testing.assert_allclose(phi_b, fitted(drawn).params, rtol=1e-6, atol=1e-8)


@every_model
def test_refits_depend_neither_on_the_batch_nor_on_the_scale_of_the_weights(fitted, frame):
    at, resamples = prepared(ob.from_statsmodels(fitted(frame))), counts(len(frame), 3)
    together = at.values(resamples)
    alone = np.vstack([at.values(resamples.one(b)) for b in range(3)])
    np.testing.assert_array_equal(together, alone)
    rescaled = at.values(Resamples((0.37 * resamples.weights[0],)))
    np.testing.assert_allclose(rescaled, together, rtol=1e-8, atol=1e-10)


def test_the_bias_of_second_order_is_that_of_the_catalogues_own_model(frame):
    model = ob.from_statsmodels(MODELS["Poisson, exposure"](frame))
    own, by_statsmodels = (
        ob.bootstrap(model.data, statistic, n_resamples=10, rng=0, paired=True).run
        for statistic in (ob.glm("poisson"), model)
    )
    assert by_statsmodels.known_bias is not None
    np.testing.assert_allclose(by_statsmodels.known_bias, own.known_bias, rtol=1e-12)


@every_model
def test_the_linear_part_explains_nine_tenths_of_the_variance(fitted, frame):
    # Sampled values of r_squared are between 0.95 and 0.99 here: thirty replicates do not come near to 0.9.
    assert np.min(bootstrapped(ob.from_statsmodels(fitted(frame)), n_resamples=30).r_squared) > 0.9


def test_the_influence_of_a_fixed_scale_is_the_derivative_towards_each_row(frame):
    result = smf.rlm("number ~ a + b + C(c)", frame[:200]).fit(start_scale=1.0, update_scale=False)
    at, distance = prepared(ob.from_statsmodels(result)), 1e-6
    towards = np.eye(200) * 200 - 1
    ahead, behind = (at.values(Resamples((1 + d * towards,))) for d in (distance, -distance))
    (influence,) = at.influence()
    slopes = (ahead - behind) / (2 * distance)
    assert np.abs(influence - slopes).max() < 1e-4 * np.abs(slopes).max()
    assert "held fixed" not in at.influence_source


def test_an_estimated_scale_is_told_to_be_held_fixed_in_the_influence(frame):
    assert "the scale held fixed" in prepared(ob.from_statsmodels(ROBUST["RLM Huber"](frame))).influence_source


def test_the_replicates_judge_the_scale_that_the_influence_holds_fixed():
    rng = np.random.default_rng(0)
    X = sm.add_constant(rng.normal(size=(1000, 2)))
    # Skewed errors: the intercept follows the scale, which the influence leaves out, and the slopes do not.
    model = ob.from_statsmodels(sm.RLM(X @ [1.0, 2.0, -1.0] + rng.exponential(size=1000) ** 1.5, X))
    with pytest.warns(SlopeWarning, match="`const`"):
        found = bootstrapped(model, n_resamples=100, control="linear")
    assert found.slope[0] > 1.3
    np.testing.assert_allclose(found.slope[1:], 1, atol=0.05)
    assert np.min(found.r_squared) > 0.9
    # The surrogate estimates the scale as the refits do.
    known = bootstrapped(model)
    assert known.control == "surrogate"
    np.testing.assert_allclose(known.slope, 1, atol=0.01)


# Weights, offsets, proportions, missing rows


def test_families_and_links_of_the_catalogue_are_used_where_they_exist(frame):
    assert isinstance(ob.from_statsmodels(LIKELIHOODS["GLM binomial, probit"](frame)).coefficients, Glm)
    assert isinstance(ob.from_statsmodels(LIKELIHOODS["GLM binomial, log-log"](frame)).coefficients, StatsmodelsGlm)
    assert isinstance(ob.from_statsmodels(LIKELIHOODS["GLM negative binomial"](frame)).coefficients, StatsmodelsGlm)


def test_a_family_of_the_users_own_is_fitted_by_statsmodels(frame):
    class Poisson(families.Poisson):
        pass

    model = ob.from_statsmodels(generalized("count", Poisson)(frame))
    assert isinstance(model.coefficients, StatsmodelsGlm)
    found, expected = prepared(model), prepared(ob.from_statsmodels(LIKELIHOODS["GLM Poisson"](frame)))
    np.testing.assert_allclose(found.estimate, expected.estimate, rtol=1e-9)
    np.testing.assert_allclose(found.influence()[0], expected.influence()[0], atol=1e-8)


def test_a_foreign_refit_leaves_the_users_own_result_alone(frame):
    result = LIKELIHOODS["GLM binomial, log-log"](frame)
    trials, errors = np.copy(result.model.family.n), result.bse.copy()
    bootstrapped(ob.from_statsmodels(result), n_resamples=5)
    np.testing.assert_array_equal(result.model.family.n, trials)
    pd.testing.assert_series_equal(result.model.fit(**PRECISE).bse, errors)


def test_observations_that_occur_several_times_are_resampled_one_by_one(frame):
    model = ob.from_statsmodels(generalized("count", families.Poisson, freq_weights="times")(frame))
    repeated = frame.loc[frame.index.repeat(frame["times"])].reset_index(drop=True)
    expected = ob.from_statsmodels(LIKELIHOODS["GLM Poisson"](repeated))
    for array, other in zip(model.data, expected.data, strict=True):
        np.testing.assert_array_equal(array, other)


def test_successes_and_failures_are_proportions_with_trials():
    star = sm.datasets.star98.load_pandas()
    X = sm.add_constant(star.exog[["LOWINC", "PERASIAN"]])
    result = sm.GLM(star.endog, X, family=families.Binomial()).fit()
    model = ob.from_statsmodels(result)
    assert model.data[2].tolist() == star.endog.sum(axis=1).tolist()
    found = bootstrapped(model, estimator="jackknife")
    np.testing.assert_allclose(found.estimate, result.params, rtol=1e-6)
    np.testing.assert_allclose(found.standard_error, model.compared(found)["HC0"], rtol=1e-8)


def test_rows_that_the_formula_drops_are_not_in_the_data(frame):
    holes = frame[:100].copy()
    holes.loc[3, "a"], holes.loc[7, "number"] = np.nan, np.nan
    model = ob.from_statsmodels(smf.ols("number ~ a + np.log(weight)", holes))
    X, y = model.data
    assert list(X.columns) == ["Intercept", "a", "np.log(weight)"]
    assert y.name == "number"
    assert y.tolist() == holes["number"].drop([3, 7]).tolist()


def test_weights_of_dropped_rows_are_dropped_too(frame):
    holes = frame[:100].copy()
    holes.loc[3, "a"] = np.nan
    model = ob.from_statsmodels(smf.wls("number ~ a", holes, weights=holes["weight"]))
    assert model.data[2].tolist() == holes["weight"].drop(3).tolist()


@pytest.mark.parametrize("kind", [sm.OLS, sm.Logit, sm.RLM], ids=lambda kind: kind.__name__)
def test_a_model_that_was_not_fitted_is_fitted_with_its_defaults(kind, frame, capsys):
    y = frame["choice"] if kind is sm.Logit else frame["number"]
    unfitted = kind(y, sm.add_constant(frame[["a", "b"]]))
    model = ob.from_statsmodels(unfitted)
    assert capsys.readouterr().out == ""
    np.testing.assert_allclose(prepared(model).estimate, model.result.params, rtol=1e-6)


def test_arrays_have_the_names_that_statsmodels_gives_them(frame):
    model = ob.from_statsmodels(sm.OLS(frame["number"].to_numpy(), sm.add_constant(frame[["a", "b"]].to_numpy())))
    assert bootstrapped(model).names == ("const", "x1", "x2")


# In other processes and threads


def test_models_go_on_in_a_fresh_process_and_a_target_without_a_name_goes_along(frame, ols, tmp_path):
    fits = {name: fitted(frame) for name, fitted in MODELS.items()}
    models = [ob.from_statsmodels(fit) for fit in fits.values()]
    models.append(ob.from_statsmodels(fits["Logit"], target=frame.iloc[[4, 11]]))
    models.append(ob.from_statsmodels(fits["OLS"], target=pd.Series.max))
    unnamed = ob.from_statsmodels(ols, target=lambda b: {"ratio": b["a"] / b["b"], "both": b[["a", "b"]]})
    elsewhere.check_in_fresh_process(
        [prepared(model) for model in models], counts(len(frame), 2), tmp_path, unnamed=[prepared(unnamed)]
    )


@pytest.mark.parametrize("kind", ["OLS", "WLS", "Logit", "GLM Gamma, log", "RLM Huber", "Poisson, exposure"])
def test_predictions_go_along_without_the_rows_of_the_model(kind, frame):
    at = prepared(ob.from_statsmodels(MODELS[kind](frame), target=frame.iloc[[4, 11]]))
    model = pickle.loads(pickle.dumps(at.functional.target_function)).function.model
    assert not {"data", "endog", "exog", "wexog"} & set(vars(model))
    resamples = counts(len(frame), 2)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(at)).values(resamples), at.values(resamples), rtol=1e-10)


def test_an_unpickled_model_cannot_be_compared_with_statsmodels(ols):
    model = ob.from_statsmodels(ols)
    model, result = pickle.loads(pickle.dumps((model, bootstrapped(model))))
    assert result.run.functional is model
    with pytest.raises(ArgumentError, match="is not pickled with a model. Make the model again"):
        model.compared(result)


@pytest.mark.parametrize("kind", ["OLS", "Logit", "GLM negative binomial", "GLM binomial, log-log", "RLM Huber"])
def test_threads_give_what_one_gives(kind, frame):
    model = ob.from_statsmodels(MODELS[kind](frame), target=frame.iloc[[4, 11]])
    elsewhere.check_in_threads(lambda: prepared(model), counts(len(frame), 2))


def test_refits_by_statsmodels_itself_are_left_to_processes(frame):
    assert ob.from_statsmodels(LIKELIHOODS["OLS"](frame)).releases_gil
    assert not ob.from_statsmodels(LIKELIHOODS["GLM negative binomial"](frame)).releases_gil


# Targets


def test_a_function_of_the_coefficients_has_the_delta_method_as_its_jackknife(frame):
    result = LIKELIHOODS["Logit"](frame)
    model = ob.from_statsmodels(result, target=lambda b: b["a"] / b["b"])
    found = bootstrapped(model)
    a, b = result.params["a"], result.params["b"]
    assert found.estimate == pytest.approx(a / b, rel=1e-8)
    slope = pd.Series(0.0, index=result.params.index)
    slope["a"], slope["b"] = 1 / b, -a / b**2
    assert found.jackknife_variance == pytest.approx(
        slope @ LIKELIHOODS["Logit"](frame, cov_type="HC0").cov_params() @ slope, rel=1e-8
    )
    assert found.names == ("target",)
    assert "chain rule" in found.influence_source


def test_a_target_may_return_a_dict(ols):
    def shares(b):
        return {"ratio": b["a"] / b["b"], "both": b[["a", "b"]]}

    found = bootstrapped(ob.from_statsmodels(ols, target=shares))
    assert found.names == ("ratio", "both[a]", "both[b]")
    np.testing.assert_allclose(found.estimate["both"], ols.params[["a", "b"]])


@pytest.mark.parametrize("kind", ["OLS", "Logit", "GLM Gamma, log", "RLM Huber", "Poisson, exposure"])
def test_new_rows_are_predicted_as_statsmodels_predicts_them(kind, frame):
    result = MODELS[kind](frame)
    rows = frame.iloc[[4, 11, 500]]
    model = ob.from_statsmodels(result, target=rows)
    found = bootstrapped(model)
    exposure = {"exposure": np.ones(3)} if "exposure" in kind else {}
    np.testing.assert_allclose(found.estimate, result.predict(rows, **exposure), rtol=1e-6)
    assert found.names == ("prediction[4]", "prediction[11]", "prediction[500]")
    assert np.min(found.r_squared) > 0.9


def test_predictions_stand_beside_statsmodels_own_standard_errors(frame):
    result = LIKELIHOODS["Logit"](frame)
    rows = frame.iloc[[4, 11]]
    model = ob.from_statsmodels(result, target=rows)
    table = model.compared(bootstrapped(model))
    np.testing.assert_allclose(table["nonrobust"], result.get_prediction(rows).se, rtol=1e-7)


def test_rows_of_an_array_are_predicted(frame):
    X = sm.add_constant(frame[["a", "b"]].to_numpy())
    model = ob.from_statsmodels(sm.OLS(frame["number"].to_numpy(), X), target=X[:2])
    found = bootstrapped(model)
    np.testing.assert_allclose(found.estimate, model.result.predict(X[:2]), rtol=1e-10)
    assert found.names == ("prediction[0]", "prediction[1]")


# The table


@pytest.mark.parametrize("kind", ["OLS", "WLS", "Logit", "GLM Gamma, log", "GLM negative binomial"])
def test_the_table_has_statsmodels_own_standard_errors(kind, frame):
    model = ob.from_statsmodels(LIKELIHOODS[kind](frame))
    found = bootstrapped(model)
    table = model.compared(found)
    np.testing.assert_allclose(table["nonrobust"], LIKELIHOODS[kind](frame).bse, rtol=1e-10)
    np.testing.assert_allclose(table["HC0"], LIKELIHOODS[kind](frame, cov_type="HC0").bse, rtol=1e-10)
    np.testing.assert_array_equal(table["standard_error"], found.standard_error)
    np.testing.assert_array_equal(table["simulation_error"], found.simulation_error.standard_error)
    assert tuple(table.index) == found.names


def test_the_table_shows_the_standard_errors_that_the_result_was_asked_for_too(frame, ols):
    asked = LIKELIHOODS["OLS"](frame, cov_type="HC3")
    model, other = ob.from_statsmodels(ols), ob.from_statsmodels(asked)
    table = other.compared(bootstrapped(other))
    np.testing.assert_allclose(table["HC3"], asked.bse, rtol=1e-12)
    pd.testing.assert_frame_equal(model.compared(bootstrapped(model)), table.drop(columns="HC3"))


def test_a_robust_regression_has_no_hc0(frame):
    result = ROBUST["RLM Huber"](frame)
    model = ob.from_statsmodels(result)
    table = model.compared(bootstrapped(model))
    np.testing.assert_allclose(table["nonrobust"], result.bse)
    assert table["HC0"].isna().all()


# What is refused


def test_what_is_no_model_of_statsmodels_is_refused():
    for other, advice in [(object(), "Pass what"), (np.mean, "goes to `bootstrap`"), ("y ~ x", "Pass what")]:
        with pytest.raises(ArgumentError, match=f"must be a fitted model of statsmodels; got .*{advice}"):
            ob.from_statsmodels(other)


def test_without_statsmodels_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(ob.from_statsmodels.__globals__, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r'pip install "orthoboot\[statsmodels\]"'):
        ob.from_statsmodels(object())


def test_importing_the_package_imports_neither_statsmodels_nor_pandas():
    program = "import sys, orthoboot.models.statsmodels.model; print({'statsmodels', 'pandas'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == "set()\n"


@pytest.mark.parametrize("fit", [True, False], ids=["fitted", "not fitted"])
def test_another_model_is_refused_with_those_that_are_covered(fit, frame):
    model = sm.GLS(frame["number"], sm.add_constant(frame[["a"]]))
    with pytest.raises(ArgumentError, match=r"covers OLS, WLS, GLM, .*, RLM.*; got GLS\. .*rite a function"):
        ob.from_statsmodels(model.fit() if fit else model)


def test_a_regularized_fit_is_refused(frame):
    X = sm.add_constant(frame[["a", "b"]])
    for model in (sm.OLS(frame["number"], X), sm.GLM(frame["number"], X)):
        with pytest.raises(ArgumentError, match=r"without a penalty.*`fit_regularized`"):
            ob.from_statsmodels(model.fit_regularized(alpha=0.1))
    with pytest.raises(ArgumentError, match=r"without a penalty.*`fit_regularized`"):
        ob.from_statsmodels(sm.Logit(frame["choice"], X).fit_regularized(alpha=0.1, disp=0))


def test_a_constrained_fit_is_refused(frame):
    model = smf.glm("count ~ a + b", frame, family=families.Poisson())
    with pytest.raises(ArgumentError, match="without constraints"):
        ob.from_statsmodels(model.fit_constrained("a = b"))


def test_an_offset_is_refused_where_it_cannot_be_taken_into_the_response(frame):
    X = sm.add_constant(frame[["a"]])
    for result in (
        sm.GLM(frame["number"], X, offset=frame["weight"]).fit(),
        sm.GLM(frame["choice"], X, family=families.Binomial(), offset=frame["weight"]).fit(),
        sm.Logit(frame["choice"], X, offset=frame["weight"]).fit(disp=0),
    ):
        with pytest.raises(ArgumentError, match=r"offset or exposure for Poisson models.*Write a function"):
            ob.from_statsmodels(result)


def test_a_fit_that_has_not_converged_is_refused(frame):
    model = smf.glm("count ~ a + b", frame, family=families.Poisson())
    with pytest.raises(ArgumentError, match="standard errors from that.*more iterations"):
        ob.from_statsmodels(model.fit(maxiter=1))


def test_a_fit_that_has_nearly_converged_is_noted(frame):
    nearly = smf.glm("count ~ a + b", frame, family=families.Poisson()).fit(maxiter=3)
    with pytest.warns(FitWarning, match="standard errors from the solution"):
        bootstrapped(ob.from_statsmodels(nearly))


def test_a_scale_that_was_not_estimated_with_the_coefficients_is_refused(frame):
    skewed = frame.assign(number=frame["positive"] ** 2)
    with pytest.raises(ArgumentError, match="scale was estimated together.*start_scale"):
        ob.from_statsmodels(smf.rlm("number ~ a + b", skewed).fit(update_scale=False))


def test_a_scale_of_zero_is_no_fit(frame):
    X = sm.add_constant(frame[["a"]])
    mostly_exact = X @ [1.0, 2.0] + np.where(frame.index < 300, frame["number"], 0.0)
    with pytest.raises(FitError, match="`RLM` has no fit on these data: the scale is zero"):
        ob.from_statsmodels(sm.RLM(mostly_exact, X))
    result = smf.rlm("number ~ a", frame).fit()
    result._results.scale = 0.0
    with pytest.raises(FitError, match="the scale is zero"):
        ob.from_statsmodels(result)


def test_a_separated_response_is_no_fit(frame):
    model = sm.GLM((frame["a"] > 0).astype(float), sm.add_constant(frame[["a"]]), family=families.Binomial())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # statsmodels returns where it got to
        result = model.fit()
    with pytest.raises(FitError, match="perfect separation"):
        ob.from_statsmodels(result)


def test_a_scale_of_the_users_own_is_refused(frame):
    with pytest.raises(ArgumentError, match=r'scale_est="mad"'):
        ob.from_statsmodels(smf.rlm("number ~ a", frame).fit(scale_est=np.std))


def test_frequencies_that_are_no_counts_are_refused(frame):
    result = generalized("count", families.Poisson, freq_weights="weight")(frame)
    with pytest.raises(ArgumentError, match="`freq_weights` must be whole numbers.*`var_weights`"):
        ob.from_statsmodels(result)


def test_a_result_without_its_data_is_refused(frame):
    result = smf.ols("number ~ a", frame).fit()
    result.remove_data()
    with pytest.raises(ArgumentError, match="`remove_data"):
        ob.from_statsmodels(result)


def test_dependent_columns_are_named(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # statsmodels fits them nevertheless
        result = smf.ols("number ~ a + twice", frame.assign(twice=2 * frame["a"])).fit()
    with pytest.raises(DataError, match="column 'twice' is a combination of (column )?'a'"):
        ob.from_statsmodels(result)


def test_data_of_other_columns_are_refused(frame, ols):
    model = ob.from_statsmodels(ols)
    X, y = model.data
    for other in (X.rename(columns={"a": "z"}), X.iloc[:, ::-1], X[["a", "b"]], X.to_numpy()[:, :2]):
        with pytest.raises(DataError, match=r"fitted to the 5 columns 'Intercept', .*Pass `model\.data`"):
            ob.bootstrap((other, y), model, paired=True)


def test_data_without_their_weights_are_refused(frame):
    model = ob.from_statsmodels(LIKELIHOODS["WLS"](frame))
    with pytest.raises(DataError, match=r"fitted to `\(X, y, weights\)`.*got 2 array"):
        ob.bootstrap(model.data[:2], model, paired=True)


def test_data_that_are_not_paired_are_refused(ols):
    model = ob.from_statsmodels(ols)
    with pytest.raises(DataError, match="in 2 sample.*`paired=True`"):
        ob.bootstrap(model.data, model)


def test_a_target_that_raises_is_told_with_the_names(ols):
    with pytest.raises(StatisticError, match=r"`target` must return a value.*'Intercept', .*KeyError: 'z'"):
        ob.from_statsmodels(ols, target=lambda b: b["z"])


def test_a_target_without_a_derivative_is_refused(ols):
    end = ols.params["a"] + 1e-9
    model = ob.from_statsmodels(ols, target=lambda b: b["b"] if b["a"] < end else np.nan)
    with pytest.raises(StatisticError, match="`target` must be differentiable"):
        bootstrapped(model)


def test_rows_of_other_columns_are_refused(frame, ols):
    with pytest.raises(ArgumentError, match=r"rows that `result\.predict` takes"):
        ob.from_statsmodels(ols, target=frame[["a"]])
    arrays = sm.OLS(frame["number"], sm.add_constant(frame[["a", "b"]]))
    with pytest.raises(ArgumentError, match=r"3 columns 'const', 'a', 'b', all finite; got shape \(4, 2\)"):
        ob.from_statsmodels(arrays, target=np.ones((4, 2)))


def test_a_table_of_another_result_is_refused(ols):
    model, other = ob.from_statsmodels(ols), ob.from_statsmodels(ols)
    with pytest.raises(ArgumentError, match="of this model.*another statistic"):
        model.compared(bootstrapped(other))
    with pytest.raises(ArgumentError, match="got RegressionResultsWrapper"):
        model.compared(ols)


# The page, and the standard bootstrap


@pytest.mark.slow
def test_the_standard_error_is_that_of_two_thousand_refits(frame):
    apart = {}
    for name, fitted in MODELS.items():
        model = ob.from_statsmodels(fitted(frame))
        ours = bootstrapped(model)
        standard = ob.bootstrap(model.data, model, paired=True, rng=1, estimator="standard", n_resamples=2000)
        apart[f"{name}, r_squared {np.min(ours.r_squared):.3f}"] = agreement.distances(ours, standard)
    agreement.check(apart)


# Dependent rows


def firms(frame: pd.DataFrame) -> Any:
    """Return labels of forty groups of rows."""
    return np.arange(len(frame)) % 40


@pytest.mark.parametrize("kind", ["OLS", "WLS", "Logit", "GLM Gamma, log"])
def test_a_fit_with_clustered_errors_has_its_groups_drawn(kind, frame):
    options = {"groups": firms(frame), "use_correction": False}
    result = LIKELIHOODS[kind](frame, cov_type="cluster", cov_kwds=options)
    model = ob.from_statsmodels(result)
    found = bootstrapped(model)
    assert "in 40 groups" in found.summary()
    own = model.compared(found)["cluster"]
    np.testing.assert_allclose(own, result.bse, rtol=1e-10)
    # The infinitesimal jackknife of groups that are drawn whole is the sandwich with their sums in its middle.
    np.testing.assert_allclose(np.sqrt(found.run.linear_variance), own, rtol=1e-3)


@pytest.mark.filterwarnings("ignore:cov_type not fully supported with freq_weights")
def test_rows_that_were_observed_several_times_are_in_their_group_as_often(frame):
    counted = generalized("count", families.Poisson, freq_weights="times")
    model = ob.from_statsmodels(counted(frame, cov_type="cluster", cov_kwds={"groups": firms(frame)}))
    assert f"{frame['times'].sum():,} rows in 40 groups" in bootstrapped(model).summary()


def test_groups_that_are_given_come_before_those_of_the_fit(frame):
    model = ob.from_statsmodels(LIKELIHOODS["OLS"](frame, cov_type="cluster", cov_kwds={"groups": firms(frame)}))
    halves = np.arange(len(frame)) // 100
    assert "in 10 groups" in bootstrapped(model, groups=halves).summary()


def test_a_pickled_fit_keeps_its_groups(frame):
    model = ob.from_statsmodels(LIKELIHOODS["OLS"](frame, cov_type="cluster", cov_kwds={"groups": firms(frame)}))
    again = pickle.loads(pickle.dumps(model))
    assert "in 40 groups" in bootstrapped(again).summary()


def test_clustered_errors_of_other_rows_need_their_labels(frame):
    model = ob.from_statsmodels(LIKELIHOODS["OLS"](frame, cov_type="cluster", cov_kwds={"groups": firms(frame)}))
    half = tuple(array.iloc[:500] for array in model.data)
    with pytest.raises(ArgumentError, match="clustered standard errors to 1000 rows; got 500. Pass the labels"):
        ob.bootstrap(half, model, paired=True)


@pytest.mark.parametrize(
    ("kind", "details", "message"),
    [
        ("HAC", {"maxlags": 3}, "cov_type='HAC'.*`block_length=`, longer than its 3 lags, such as `block_length=6`"),
        ("hac-groupsum", {"maxlags": 2}, "cov_type='hac-groupsum'.*`block_length=`"),
        ("hac-panel", {"maxlags": 2}, "cov_type='hac-panel'.*Draw whole groups, `groups=`"),
        ("cluster", {}, "clustered in 2 ways at once.*Pass `groups=`"),
    ],
)
def test_rows_that_depend_on_one_another_in_other_ways_are_not_drawn_one_by_one(kind, details, message, frame):
    labels = {
        "hac-groupsum": {"time": np.arange(len(frame)) // 25},
        "hac-panel": {"groups": np.arange(len(frame)) // 25},
        "cluster": {"groups": np.column_stack([firms(frame), np.arange(len(frame)) // 100])},
    }
    result = LIKELIHOODS["OLS"](frame, cov_type=kind, cov_kwds=details | labels.get(kind, {}))
    model = ob.from_statsmodels(result)
    with pytest.raises(ArgumentError, match=message):
        bootstrapped(model)
    found = bootstrapped(model, block_length=6)
    np.testing.assert_allclose(model.compared(found)[kind], result.bse, rtol=1e-10)


# Exact fits


@pytest.mark.parametrize("kind", ["OLS", "GLM"])
@pytest.mark.parametrize("response", ["constant", "exact"])
@pytest.mark.filterwarnings("ignore:Perfect separation")
def test_an_exact_fit_is_constant_data(kind, response, frame):
    eta, X = 1 + frame["a"] - frame["b"] / 2, sm.add_constant(frame[["a", "b"]])
    means = eta if kind == "OLS" else np.exp(eta)
    y = np.full(len(frame), 3.0) if response == "constant" else means
    model = ob.from_statsmodels(sm.OLS(y, X) if kind == "OLS" else sm.GLM(y, X, family=families.Poisson()))
    with pytest.warns(ConstantDataWarning, match="does not vary between resamples"):
        result = bootstrapped(model)
    assert not result.standard_error.any()


def test_what_statsmodels_cannot_fit_is_told(frame):
    model = sm.GLM(np.full(len(frame), 3.0), sm.add_constant(frame[["a"]]), family=families.Gamma(families.links.Log()))
    model.fit = lambda: 1 / 0
    with pytest.raises(FitError, match="statsmodels could not fit `GLM` with its defaults: ZeroDivisionError"):
        ob.from_statsmodels(model)

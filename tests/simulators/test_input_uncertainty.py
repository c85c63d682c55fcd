"""The answer: what it holds, how it is shown, and that it does not depend on how the runs were made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from scipy import stats
from tests.conftest import REPOSITORY
from tests.simulators.queues import INPUTS, mean_wait, two_waits

import orthoboot as ob
from orthoboot import errors
from orthoboot.simulators.models import ArrayModel
from orthoboot.simulators.resampling import ResampledVariance, error_of_mean

NUMBERS = ("estimate", "bias", "input_error", "run_error")


def _numbers(result):
    return [getattr(result, name) for name in NUMBERS]


@pytest.fixture(scope="module")
def result():
    return ob.input_uncertainty(mean_wait, INPUTS, horizon=10, n_runs=2000, rng=0)


@pytest.fixture(scope="module")
def policies():
    return ob.input_uncertainty(two_waits, INPUTS, horizon=10, n_runs=2000, rng=0)


# What it holds


def test_the_interval_has_both_errors(result):
    total = np.hypot(result.input_error, result.run_error)
    assert result.standard_error == pytest.approx(total)
    low, high = result.confidence_interval
    assert (low, high) == pytest.approx((result.estimate - 1.959964 * total, result.estimate + 1.959964 * total))
    assert result.interval(0.5).high == pytest.approx(result.estimate + 0.6744898 * total)
    assert result.debiased == result.estimate - result.bias


def test_contributions_sum_to_one_and_are_those_of_the_influence(result):
    assert sum(result.contributions.values()) == pytest.approx(1)
    assert set(result.contributions) == {"arrival", "service", "arrival x service"} == set(result.contribution_errors)
    parts = {name: (values**2).sum() / len(values) ** 2 for name, values in result.influence.items()}
    share = parts["service"] / sum(parts.values())
    assert result.contributions["service"] == pytest.approx(share, abs=0.03)
    for name, values in result.influence.items():
        assert values.shape == INPUTS[name].shape
        assert values.mean() == pytest.approx(0, abs=1e-10)


def test_errors_of_contributions_are_those_of_their_weights(policies):
    estimation = policies.estimation
    weights = np.eye(len(estimation.parts))[:, :, np.newaxis] - estimation.shares[:, np.newaxis]
    m = len(INPUTS)
    errors_of_parts = np.array([estimation._error(each[:m], each) for each in weights])
    expected = errors_of_parts / np.maximum(estimation.parts, 0).sum(axis=0)
    np.testing.assert_allclose(estimation.share_errors, expected, rtol=1e-9)


def test_longer_services_have_more_influence(result):
    order = np.argsort(INPUTS["service"])
    assert result.influence["service"][order[-1]] > 0 > result.influence["service"][order[0]]
    assert np.corrcoef(result.influence["service"], INPUTS["service"])[0, 1] > 0.9


def test_more_data_reduces_what_it_contributes(result):
    both = result.more_data(arrival=2, service=2)
    assert both.ratio == pytest.approx(np.sqrt(0.5), abs=0.02)
    service = result.more_data(service=2)
    assert both.ratio < service.ratio < 1
    assert service.input_error == pytest.approx(service.ratio * result.input_error)
    assert 0 < service.simulation_error < 0.05
    assert result.more_data(service=1).ratio == pytest.approx(1)
    for factors in ({}, {"repair": 2}, {"service": -1}):
        with pytest.raises(errors.ArgumentError):
            result.more_data(**factors)


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_more_data_of_an_input_that_noise_makes_negative_changes_nothing(seed):
    def noisy(x, y, rng):
        return x.sum(axis=1) + 0.01 * y.sum(axis=1) + 20 * rng.normal(size=len(x))

    data = np.random.default_rng(0)
    inputs = {"x": data.exponential(size=50), "y": data.exponential(size=50)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ob.input_uncertainty(noisy, inputs, horizon=5, n_runs=400, rng=seed)
    assert result.contributions["y"] == 0
    # The ratios of seed 3 were 1.20 and 0.29.
    assert result.more_data(y=2).ratio == pytest.approx(1)
    assert result.more_data(x=2).ratio == pytest.approx(np.sqrt(0.5), abs=0.05)


def test_runs_needed_scale_with_the_square_of_the_error(result):
    relative = result.simulation_error.input_error / result.input_error
    assert result.runs_needed(relative / 2) == pytest.approx(4 * result.n_runs, abs=1)
    assert result.runs_needed(0.9) == 220  # twenty for each of ten features and the mean


def test_outputs_share_their_draws_and_their_difference_has_its_own_uncertainty(policies):
    gain = policies.difference("now", "faster")
    alone = ob.input_uncertainty(
        lambda arrival, service: mean_wait(arrival, service) - mean_wait(arrival, 0.8 * service),
        INPUTS,
        horizon=10,
        n_runs=2000,
        rng=0,
    )
    assert gain.estimate == pytest.approx(policies.estimate["now"] - policies.estimate["faster"])
    # Pairs of features may be chosen differently for two outputs and for one; here all of them are taken.
    assert gain.input_error == pytest.approx(alone.input_error, rel=1e-6)
    assert gain.input_error < policies.input_error["now"]
    with pytest.raises(errors.ArgumentError, match="now, faster"):
        policies.difference("now", "later")


def test_outputs_of_a_dict_are_those_of_single_models(policies, result):
    assert policies.estimate["now"] == pytest.approx(result.estimate)
    assert policies.input_error["now"] == pytest.approx(result.input_error)
    assert policies.names == ("now", "faster")
    assert policies.influence["service"].shape == (80, 2)


def test_the_interval_of_a_probability_stays_within_its_range():
    def long_wait(arrival, service):
        return {"late": mean_wait(arrival, service) > 2, "never late": mean_wait(arrival, service) <= 2}

    rare = ob.input_uncertainty(long_wait, INPUTS, horizon=10, n_runs=4000, rng=0)
    low, high = rare.interval(0.99999)
    assert rare.estimate["late"] - 4.417 * rare.standard_error["late"] < 0 < low["late"]
    assert high["never late"] == pytest.approx(1 - low["late"])
    assert rare.to_frame().loc["late", "low"] == rare.confidence_interval.low["late"]
    # To first order the scale changes nothing, so that a narrow interval is the plain one.
    center, error = rare.estimate["late"], rare.standard_error["late"]
    assert rare.interval(0.01).high["late"] == pytest.approx(center + 0.012533 * error, rel=1e-3)
    gain = rare.difference("never late", "late").interval(0.99999)
    assert gain.high < 1
    # An end moves as much as another estimate would move it.
    assert 0 < rare.simulation_error.low["late"] < rare.simulation_error.high["late"]


def test_a_transform_says_what_limits_an_answer_has():
    options = {"horizon": 10, "n_runs": 1000, "rng": 0}
    plain = ob.input_uncertainty(mean_wait, INPUTS, **options)
    positive = ob.input_uncertainty(mean_wait, INPUTS, transform="log", **options)
    assert positive.interval(0.99999).low > 0 > plain.interval(0.99999).low
    relative = 1.959964 * plain.standard_error / plain.estimate
    assert positive.confidence_interval.high == pytest.approx(plain.estimate * np.exp(relative))
    with pytest.raises(errors.ArgumentError, match="between 3 and 4, and the estimate is"):
        ob.input_uncertainty(mean_wait, INPUTS, transform=(3, 4), **options)


def test_shares_of_nothing_are_unknown():
    def noise(x, rng):
        return rng.normal(size=len(x))

    x = np.random.default_rng(5).exponential(size=400)
    with pytest.warns(errors.OrthobootWarning) as caught:
        results = [ob.input_uncertainty(noise, {"x": x}, horizon=1, n_runs=500, rng=seed) for seed in range(4)]
    unknown = [result for result in results if result.estimation.parts[0, 0] <= 0]
    assert unknown
    for result in unknown:
        assert np.isnan(result.contributions["x"])
        assert np.isnan(result.contribution_errors["x"])
        assert np.isnan(result.more_data(x=2).ratio)
        assert result.to_dict()["contributions"]["x"] is None
        assert "unknown" in str(result)
    assert any("shares are unknown" in str(warning.message) for warning in caught)


# How it is shown


def test_a_summary_says_what_was_found(result):
    text = str(result)
    assert text == result.summary()
    for words in ("arrival (120 rows), service (80 rows); 2,000 runs", "input error", "run error", "95% interval"):
        assert words in text
    assert "influence functions from the runs at the data, since the second order is" in text
    assert repr(result).startswith("InputUncertainty(estimate=")
    with pytest.warns(errors.FewRunsWarning):
        few = ob.input_uncertainty(mean_wait, INPUTS, horizon=10, n_runs=100, rng=0)
    assert "Warnings:" in str(few)
    assert result._repr_html_().count("<table>") == 2


def test_a_summary_of_many_outputs_or_inputs_says_what_it_leaves_out():
    def outputs(x, y):
        return x[:, :1] + np.arange(40) * y[:, :1]

    many = ob.input_uncertainty(outputs, {"x": np.arange(20.0), "y": np.arange(30.0)}, horizon=1, n_runs=500, rng=0)
    assert "The first 30 of 40 outputs are shown" in many.summary()
    assert "The first 30 of 40 outputs are shown" in many._repr_html_()
    assert max(map(len, many.summary().splitlines())) < 120
    inputs = {f"x{i}": np.repeat([0.0, 1.0], 10) for i in range(40)}
    total = ob.input_uncertainty(_total, inputs, horizon=1, n_runs=900, rng=0).summary()
    assert "The 30 largest shares of 40 inputs are shown" in total


def _total(**draws):
    return sum(x[:, 0] for x in draws.values())


def test_a_dict_is_ready_for_json_and_a_frame_has_a_row_per_output(policies):
    read = json.loads(json.dumps(policies.to_dict()))
    assert read["estimate"]["now"] == policies.estimate["now"]
    assert repr(policies).startswith("InputUncertainty(2 outputs")
    assert read["n_rows"] == {"arrival": 120, "service": 80}
    frame = policies.to_frame()
    assert frame.loc["faster", "input_error"] == policies.input_error["faster"]
    assert frame.filter(like="share_").sum(axis=1).tolist() == pytest.approx([1, 1])


# Regimes


def test_long_runs_for_few_rows_are_two_layer():
    result = ob.input_uncertainty(mean_wait, INPUTS, horizon=300, n_runs=1000, rng=0)
    assert result.regime == "two-layer"
    assert "the variance of a run's output is only" in result.regime_reason
    assert "common random numbers" in str(result)
    assert result.n_runs == pytest.approx(1000, abs=100)
    assert result.extend(200).n_runs > result.n_runs


def test_runs_of_middle_length_are_corrected_under_resamples():
    result = ob.input_uncertainty(mean_wait, INPUTS, horizon=80, n_runs=2000, rng=0)
    assert result.regime == "resamples"
    assert result.n_runs == pytest.approx(2000, abs=4)
    assert 0 < result.estimation.resample_weight[0] < 1


@pytest.mark.parametrize(("horizon", "regime"), [(80, "resamples"), (300, "two-layer")])
def test_more_runs_under_resamples_reduce_every_error(horizon, regime):
    few = ob.input_uncertainty(mean_wait, INPUTS, horizon=horizon, n_runs=1000, rng=0)
    more = few.extend(3000)
    assert (few.regime, more.regime) == (regime, regime)
    assert more.n_runs == pytest.approx(4000, abs=40)
    # Four times the runs halve the errors, which are themselves known to a tenth or so; that of a variance less well.
    for name, most in (("estimate", 0.7), ("bias", 0.75), ("input_error", 1.0), ("low", 1.0)):
        assert getattr(more.simulation_error, name) < most * getattr(few.simulation_error, name)
    reruns = more.estimation.records.reruns
    assert len(set(reruns.resamples.tolist())) == len(reruns)
    assert reruns.base.max() < len(more.estimation.records.runs)


def test_runs_may_be_added_one_by_one():
    result = ob.input_uncertainty(mean_wait, INPUTS, horizon=80, n_runs=1000, rng=0)
    for _ in range(2):
        longer = result.extend(1)
        assert result.n_runs < longer.n_runs <= result.n_runs + 6
        result = longer


def test_runs_that_are_added_change_the_regime():
    x = np.random.default_rng(7).exponential(size=30)
    few = ob.input_uncertainty(_product, {"x": x}, horizon=4, n_runs=600, rng=3)
    assert few.regime == "base runs"
    assert few.extend(30_000).regime == "resamples"


def test_the_reason_names_the_output_that_decided():
    def waits(arrival, service):
        return {"first": service[:, 0], "all": mean_wait(arrival, service)}

    result = ob.input_uncertainty(waits, INPUTS, horizon=300, n_runs=1000, rng=0)
    assert result.regime == "two-layer"
    assert "the input variance of all" in result.regime_reason


def test_a_linear_answer_has_the_exact_variance_under_resamples():
    rng = np.random.default_rng(0)
    linear = rng.normal(size=(100, 1))
    pairs = np.repeat(linear[:, np.newaxis] + 3.0, 2, axis=1)
    runs = np.arange(200).reshape(100, 2)
    found = ResampledVariance(pairs, np.zeros((100, 2, 1)), np.zeros((100, 2, 0)), linear, np.array([1.7]), runs)
    assert found.variance == pytest.approx([1.7])
    assert found.variance_error == pytest.approx([0], abs=1e-12)
    assert found.bias(np.array([3.0])) == pytest.approx([0], abs=1e-12)


def test_the_variance_under_resamples_is_the_covariance_of_two_runs_without_a_linear_part():
    rng = np.random.default_rng(1)
    pairs = rng.normal(size=(500, 1, 1)) + 0.5 * rng.normal(size=(500, 2, 1))
    runs, none = np.arange(1000).reshape(500, 2), np.zeros((500, 2, 0))
    found = ResampledVariance(pairs, np.zeros((500, 2, 1)), none, np.zeros((500, 1)), np.zeros(1), runs)
    assert found.variance[0] == pytest.approx(np.cov(pairs[:, 0, 0], pairs[:, 1, 0])[0, 1])


def test_the_bias_has_the_noise_of_runs_that_are_repeated():
    # Ten sweeps over 100 runs, whose own noise is the same in all sweeps: the mean has the error of 100 numbers.
    rng = np.random.default_rng(3)
    noise, half, sweeps = rng.normal(size=100), np.arange(50), np.arange(10)
    runs = np.concatenate([np.stack([half, 50 + (half + sweep) % 50], axis=1) for sweep in sweeps])
    pairs = noise[runs][:, :, np.newaxis] + 0.01 * rng.normal(size=(500, 2, 1))
    none = np.zeros((500, 2, 0))
    found = ResampledVariance(pairs, np.zeros((500, 2, 1)), none, np.zeros((500, 1)), np.zeros(1), runs)
    assert found.bias_error[0] == pytest.approx(noise.std() / 10, rel=0.1)


def test_the_error_of_terms_that_are_large_now_and_then_is_that_of_other_seeds():
    # 300 means of 50 numbers e^(1.5 z): their spread is 0.53, and the mean of s / sqrt(50) is 0.38.
    terms = np.exp(1.5 * np.random.default_rng(2).normal(size=(50, 300)))
    spread = np.sqrt((np.exp(2.25) - 1) * np.exp(2.25) / 50)
    plain = (terms.std(axis=0) / np.sqrt(50)).mean()
    assert plain < 0.8 * spread
    # The mean of 300 such errors has an error of about 4%; beyond four of these with odds of one in ten thousand.
    assert 0.85 < error_of_mean(terms).mean() / spread < 1.3
    # Without skewness it is the usual error.
    normal = np.random.default_rng(3).normal(size=(400, 300))
    assert error_of_mean(normal).mean() == pytest.approx(1 / 20, rel=0.02)


# Number of runs


def test_too_few_runs_say_how_many_are_needed():
    with pytest.warns(errors.FewRunsWarning, match="at least 220 runs"):
        ob.input_uncertainty(mean_wait, INPUTS, horizon=10, n_runs=100, rng=0)


def test_a_variance_that_is_not_told_from_zero_is_said():
    noise = np.random.default_rng(5).exponential(size=400)

    def mostly_noise(x, rng):
        return 0.01 * x.sum(axis=1) + rng.normal(size=len(x))

    with pytest.warns(errors.FewRunsWarning, match="cannot be distinguished from zero"):
        result = ob.input_uncertainty(mostly_noise, {"x": noise}, horizon=1, n_runs=500, rng=0)
    assert result.runs_needed(0.1) > 500


def test_the_error_counts_orders_that_are_left_out():
    # The fourth power of a mean of 30: a quarter of the variance is beyond the first order, and the first rounds do not
    # show how much. The tolerance is met only under resamples.
    x = np.random.default_rng(7).exponential(size=30)
    means = x[np.random.default_rng(8).integers(0, 30, (100_000, 30))].mean(axis=1)
    result = ob.input_uncertainty(_product, {"x": x}, horizon=4, tol=0.05, rng=3)
    assert result.regime == "resamples"
    assert result.simulation_error.input_error <= 0.05 * result.input_error
    # Off by more than three of its errors with odds of 0.3%.
    assert abs(result.input_error - (means**4).std()) < 3 * result.simulation_error.input_error


def test_orders_that_nothing_tells_are_said():
    x = np.random.default_rng(5).exponential(size=12)
    with pytest.warns(errors.FewRunsWarning, match="beyond the third order may be") as caught:
        result = ob.input_uncertainty(_noisy_product, {"x": x}, horizon=4, n_runs=40_000, rng=1)
    assert result.regime == "base runs"
    needed = int(str(caught[0].message).split("n_runs=")[1].split(" ")[0].replace(",", ""))
    assert needed >= 80_000


def _noisy_product(x, rng):
    return x.prod(axis=1) + 3 * rng.normal(size=len(x))


def _product(x):
    return x.prod(axis=1)


def test_few_rows_are_a_warning():
    with pytest.warns(errors.SmallSampleWarning, match="has 5 rows"):
        ob.input_uncertainty(lambda x: x.sum(axis=1), {"x": np.arange(5.0)}, horizon=2, n_runs=500, rng=0)


def test_fewer_runs_than_features_still_give_an_answer():
    inputs = {name: np.random.default_rng(i).exponential(size=50) for i, name in enumerate("abcdefghijkl")}

    def total(**draws):
        return sum(drawn.sum(axis=1) for drawn in draws.values())

    with pytest.warns(errors.FewRunsWarning):
        result = ob.input_uncertainty(total, inputs, horizon=1, n_runs=50, rng=0)
    assert np.isfinite(result.input_error)


def test_runs_are_added_until_the_tolerance_is_met():
    result = ob.input_uncertainty(mean_wait, INPUTS, horizon=10, tol=0.015, rng=0)
    assert result.n_runs > 2000
    assert result.simulation_error.input_error <= 0.015 * result.input_error


def test_a_tolerance_that_is_not_met_is_said():
    with pytest.warns(errors.ToleranceWarning, match="max_runs = 3,000"):
        ob.input_uncertainty(mean_wait, INPUTS, horizon=10, tol=0.001, max_runs=3000, rng=0)


def test_runs_that_are_added_are_those_of_a_longer_experiment(result):
    longer = ob.input_uncertainty(mean_wait, INPUTS, horizon=10, n_runs=3000, rng=0)
    assert _numbers(result.extend(1000)) == pytest.approx(_numbers(longer), rel=1e-9)


# Execution


def test_jobs_do_not_change_a_number():
    options = {"horizon": 80, "n_runs": 2000, "rng": 0}
    serial, parallel = (ob.input_uncertainty(mean_wait, INPUTS, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert serial.regime == "resamples"
    assert _numbers(serial) == _numbers(parallel)


def test_functions_without_a_name_are_sent_to_other_processes():
    options = {"horizon": 3, "n_runs": 600, "rng": 0}
    inputs = {"service": INPUTS["service"]}
    serial, parallel = (
        ob.input_uncertainty(lambda service: service.max(axis=1), inputs, n_jobs=jobs, **options) for jobs in (1, 2)
    )
    assert _numbers(serial) == _numbers(parallel)
    lock = threading.Lock()
    with pytest.raises(errors.ArgumentError, match="needs a function and data that can be sent to other processes"):
        ob.input_uncertainty(lambda service: service[:, 0] * (lock is not None), inputs, n_jobs=2, **options)


class _Stops:
    """A model that is interrupted after some calls."""

    def __init__(self, calls):
        self.calls = calls

    def __call__(self, arrival, service):
        self.calls -= 1
        if self.calls == 0:
            raise KeyboardInterrupt
        return mean_wait(arrival, service)


def test_an_interrupted_experiment_gives_what_it_has():
    with pytest.warns(errors.InterruptedWarning, match="600 runs done so far"):
        result = ob.input_uncertainty(_Stops(7), INPUTS, horizon=10, n_runs=3000, rng=0)
    assert result.n_runs == 600
    assert result.interrupted


def test_an_experiment_that_is_interrupted_at_once_ends():
    with pytest.raises(KeyboardInterrupt):
        ob.input_uncertainty(_Stops(4), INPUTS, horizon=10, n_runs=3000, rng=0)


@pytest.mark.parametrize("horizon", [10, 80])
def test_a_checkpoint_resumes_with_the_same_numbers(tmp_path, horizon, monkeypatch):
    options = {"horizon": horizon, "n_runs": 2000, "rng": 0}
    whole = ob.input_uncertainty(mean_wait, INPUTS, **options)
    calls = []

    returned = ArrayModel.returned

    def interrupted(self, draws, keys=None):
        calls.append(draws.runs)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return returned(self, draws, keys)

    kept = {"checkpoint": tmp_path / "runs", **options}
    monkeypatch.setattr(ArrayModel, "returned", interrupted)
    with pytest.warns(errors.InterruptedWarning):
        ob.input_uncertainty(mean_wait, INPUTS, **kept)
    monkeypatch.undo()
    assert _numbers(ob.input_uncertainty(mean_wait, INPUTS, **kept)) == _numbers(whole)
    with pytest.raises(errors.CheckpointError, match="the data of the inputs"):
        ob.input_uncertainty(mean_wait, {**INPUTS, "service": INPUTS["service"] + 1}, **kept)
    with pytest.raises(errors.CheckpointError, match="the horizon"):
        ob.input_uncertainty(mean_wait, INPUTS, **{**kept, "horizon": 11})


def test_an_experiment_that_is_interrupted_before_any_resample_says_so():
    rows, calls = INPUTS["service"][:30], []

    def run(x):
        calls.append(len(x))
        if len(calls) == 6:
            raise KeyboardInterrupt
        return x.max(axis=1) + x.mean(axis=1)

    with pytest.warns(errors.InterruptedWarning):
        result = ob.input_uncertainty(run, {"x": rows}, horizon=200, n_runs=2000, rng=1)
    assert result.regime == "base runs"
    assert result.estimation.resampled is None


def test_ctrl_c_in_the_last_checks_keeps_the_result():
    calls = []

    def run(x, unused):
        calls.append(0)
        if len(calls) > 1100:
            raise KeyboardInterrupt
        return x.sum()

    inputs = {"x": INPUTS["service"], "unused": INPUTS["arrival"]}
    result = ob.input_uncertainty(run, inputs, horizon=3, n_runs=1000, vectorized=False, rng=0)
    assert result.n_runs == 1000


@pytest.mark.parametrize("horizon", [40, 200])
@pytest.mark.parametrize("factor", [1e-60, 1e-12, 1e7, 1e60])
def test_units_of_the_output_do_not_matter(horizon, factor):
    inputs = {name: rows[:80] for name, rows in INPUTS.items()}
    options = {"horizon": horizon, "n_runs": 800, "rng": 0}
    plain = ob.input_uncertainty(mean_wait, inputs, **options)
    scaled = ob.input_uncertainty(lambda arrival, service: factor * mean_wait(arrival, service), inputs, **options)
    assert plain.regime == scaled.regime != "base runs"
    for name in ("input_error", "bias", "run_error"):
        assert getattr(scaled, name) == pytest.approx(factor * getattr(plain, name), rel=1e-6)
    assert scaled.simulation_error.bias == pytest.approx(factor * plain.simulation_error.bias, rel=1e-6)


@pytest.mark.parametrize(("ones", "n", "horizon"), [(3, 20, 40), (3, 10, 20), (3, 50, 100)])
def test_an_event_that_nearly_always_happens_is_uncertain_through_resamples_without_it(ones, n, horizon):
    data = np.r_[np.ones(ones), np.zeros(n - ones)]
    result = ob.input_uncertainty(lambda x: x.max(axis=1), {"x": data}, horizon=horizon, n_runs=4000, rng=0)
    counts = np.arange(n + 1)
    shares, odds = 1 - (1 - counts / n) ** horizon, stats.binom.pmf(counts, n, ones / n)
    exact = np.sqrt(odds @ (shares - odds @ shares) ** 2)
    assert result.regime != "base runs"
    assert np.abs(result.input_error - exact) < 4 * result.simulation_error.input_error < 0.5 * exact


def test_errors_of_more_data_are_honest():
    inputs = {"arrival": INPUTS["arrival"][:60], "service": INPUTS["service"][:45]}
    results = [ob.input_uncertainty(mean_wait, inputs, horizon=20, n_runs=1000, rng=seed) for seed in range(30)]
    found = [result.more_data(service=2) for result in results]
    ratios, reported = [one.ratio for one in found], np.mean([one.ratio_error for one in found])
    # Thirty seeds tell a standard deviation to 13%; a part that may be missing makes the reported error larger.
    assert 0.7 < reported / np.std(ratios, ddof=1) < 2.5
    assert found[0].simulation_error < results[0].simulation_error.input_error + found[0].ratio_error


KILLED = """
import os, sys
import numpy as np
import orthoboot as ob
x = np.random.default_rng(0).exponential(size=50)
calls = 0

def total(draw):
    global calls
    calls += 1
    if calls == int(os.environ["LIMIT"]):
        os._exit(9)
    return draw.x() + draw.x()

result = ob.input_uncertainty(total, {"x": x}, n_runs=300, rng=0, checkpoint=sys.argv[1])
print([result.estimate, result.bias, result.input_error, result.run_error])
"""


def test_a_killed_experiment_resumes_with_the_same_numbers(tmp_path):
    def outcome(limit, file):
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "LIMIT": str(limit)}
        command = [sys.executable, "-c", KILLED, str(tmp_path / file)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    assert outcome(150, "killed").returncode == 9
    assert (tmp_path / "killed").exists()
    resumed = outcome(0, "killed")
    assert resumed.returncode == 0, resumed.stderr
    x = np.random.default_rng(0).exponential(size=50)
    whole = ob.input_uncertainty(lambda draw: draw.x() + draw.x(), {"x": x}, n_runs=300, rng=0)
    assert json.loads(resumed.stdout) == _numbers(whole)


def test_an_interval_on_another_scale_needs_no_other_runs():
    inputs = {name: rows[:12] for name, rows in INPUTS.items()}
    result = ob.input_uncertainty(mean_wait, inputs, horizon=20, n_runs=600, rng=0)
    assert result.confidence_interval.low < 0
    assert "reaches below 0, but no output did" in str(result)
    logs = result.interval(transform="log")
    assert 0 < logs.low < result.estimate < logs.high
    again = ob.input_uncertainty(mean_wait, inputs, horizon=20, n_runs=600, rng=0, transform="log")
    assert again.confidence_interval == logs
    assert "reaches below" not in str(again)
    with pytest.raises(errors.ArgumentError, match="`transform` is for answers between 0 and 0.01"):
        result.interval(transform=(0, 0.01))

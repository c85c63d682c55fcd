"""Replicates until the answer is good enough, or until told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.replicates import extended, no_replicates


def lognormal_pairs(n):
    return np.exp(np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=n))


@pytest.mark.parametrize("seed", range(5))
def test_a_large_sample_stops_at_ten_or_twenty(seed):
    x = np.random.default_rng(0).exponential(size=400_000)
    result = ob.bootstrap(x, ob.variance, tol=0.01, rng=seed)
    assert result.n_resamples in (10, 20)
    assert result.simulation_error.standard_error < 0.01 * result.standard_error


def test_a_hard_statistic_goes_on_until_the_tolerance_is_met():
    result = ob.bootstrap(lognormal_pairs(200), ob.correlation, tol=0.02, max_resamples=5000, rng=0, control="linear")
    assert result.n_resamples > 100
    assert result.simulation_error.standard_error <= 0.02 * result.standard_error


def test_a_hard_statistic_stops_at_the_maximum_and_says_so():
    message = r"after 300 replicates the relative simulation error of the standard error is still .*, above tol = 0.001"
    with pytest.warns(ob.errors.ToleranceWarning, match=message):
        result = ob.bootstrap(lognormal_pairs(200), ob.correlation, tol=0.001, max_resamples=300, rng=0)
    assert result.n_resamples == 300
    assert "max_resamples" in str(result)


def test_every_output_must_reach_the_tolerance():
    table = np.column_stack([np.random.default_rng(0).standard_normal(500), lognormal_pairs(500)[:, 0]])
    result = ob.bootstrap(table, ob.variance, tol=0.02, max_resamples=5000, rng=0)
    assert (result.simulation_error.standard_error <= 0.02 * result.standard_error).all()


def test_the_standard_bootstrap_can_have_a_tolerance_too():
    x = np.random.default_rng(0).standard_normal(50)
    result = ob.bootstrap(x, ob.mean, estimator="standard", tol=0.05, rng=0)
    # The relative error of a standard deviation is 1/sqrt(2 B): 200 replicates for 5%. To meet it with some certainty
    # takes (1.15 + 3/sqrt(B))**2 times as many, 340, in rounds that at most double.
    assert 150 < result.n_resamples < 680


def test_a_tolerance_starts_where_the_interval_is_sound():
    x = np.random.default_rng(0).standard_normal(50)
    result = ob.bootstrap(x, ob.mean, estimator="standard", method="percentile", tol=0.2, rng=0)
    assert result.n_resamples == 200


# Ctrl-C


class InterruptedAt:
    """The mean, and Ctrl-C in the middle of the n-th evaluation."""

    def __init__(self, call):
        self.left = call

    def __call__(self, x):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return x.mean()


X = np.random.default_rng(0).gamma(2.0, size=30)


def test_an_interrupted_run_gives_back_what_is_done():
    with pytest.warns(ob.errors.InterruptedWarning, match="interrupted after 40 replicates"):
        result = ob.bootstrap(X, InterruptedAt(42), estimator="standard", n_resamples=100, rng=0)
    assert result.n_resamples == 40
    whole = ob.bootstrap(X, ob.mean, estimator="standard", n_resamples=40, rng=0)
    assert result.standard_error == pytest.approx(whole.standard_error, rel=1e-12)


def test_an_interrupted_run_can_go_on():
    with pytest.warns(ob.errors.InterruptedWarning):
        result = ob.bootstrap(X, InterruptedAt(42), estimator="standard", n_resamples=100, rng=0)
    whole = ob.bootstrap(X, ob.mean, estimator="standard", n_resamples=100, rng=0)
    np.testing.assert_allclose(result.extend(60).bootstrap_distribution, whole.bootstrap_distribution, rtol=1e-13)


def test_what_an_interruption_left_out_is_drawn_later_one_by_one_or_at_once():
    run = ob.bootstrap(np.arange(20.0), ob.variance, estimator="standard", rng=0).run
    kept = np.array([0, 1, 2, 4, 6, 9])
    whole = extended(run, no_replicates(run), 10)
    interrupted = replace(whole.select(kept), left_out=(3, 5, 7, 8), interrupted=True)
    at_once = extended(run, interrupted, 6)
    one_by_one = interrupted
    for _ in range(6):
        one_by_one = extended(run, one_by_one, 1)
    assert one_by_one.numbers.tolist() == at_once.numbers.tolist() == list(range(12))
    np.testing.assert_array_equal(one_by_one.values, at_once.values)


def test_an_interrupt_before_there_is_an_answer_is_an_interrupt():
    with pytest.raises(KeyboardInterrupt):
        ob.bootstrap(X, InterruptedAt(3), estimator="standard", n_resamples=100, rng=0)


def test_an_interrupted_run_keeps_the_interval_that_was_asked_for():
    with pytest.warns(ob.errors.InterruptedWarning):
        result = ob.bootstrap(X, InterruptedAt(60), estimator="standard", method="percentile", n_resamples=1000, rng=0)
    assert result.n_resamples == 58
    assert np.isfinite(result.confidence_interval).all()


def test_an_interrupted_run_in_which_most_failed_is_an_error():
    calls = []

    def fails_then_stops(x):
        calls.append(1)
        if len(calls) == 99:
            raise KeyboardInterrupt
        if len(calls) > 10:
            raise ValueError("broken")
        return x.mean()

    with pytest.raises(ob.errors.ReplicationError, match="ValueError: broken"):
        ob.bootstrap(X, fails_then_stops, estimator="standard", n_resamples=1000, rng=0)


def test_an_interrupt_while_adding_to_the_tolerance():
    with pytest.warns(ob.errors.InterruptedWarning):
        result = ob.bootstrap(X, InterruptedAt(120), estimator="standard", tol=0.001, max_resamples=5000, rng=0)
    assert result.n_resamples == 118


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_a_real_signal_gives_back_a_result():
    program = textwrap.dedent(
        """
        import time, warnings
        import numpy as np, orthoboot as ob
        warnings.simplefilter("ignore")
        def slow(x):
            time.sleep(0.01)
            print("evaluated", flush=True)
            return x.mean()
        x = np.random.default_rng(0).gamma(2.0, size=30)
        result = ob.bootstrap(x, slow, estimator="standard", n_resamples=100_000, rng=0)
        print("done", result.n_resamples, result.replicates.interrupted)
        """
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as run:
        for _ in range(20):
            run.stdout.readline()
        run.send_signal(signal.SIGINT)
        rest, _ = run.communicate(timeout=30)
    word, n_resamples, interrupted = rest.splitlines()[-1].split()
    assert word == "done"
    assert int(n_resamples) >= 15
    assert interrupted == "True"


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_replicates_that_are_all_equal_meet_no_tolerance():
    """Nine resamples of three rows happen to have a correlation of one each; others have not."""
    rows = np.array([[-0.5589896277495996, -3.420608821015012], [0.9864032678313105, 0.7422139784563829]])
    rows = np.vstack([rows, [0.5955557016427742, -0.5518772279815078]])
    options = {"block_length": 1, "n_resamples": 9, "tol": 0.019, "max_resamples": 60, "rng": 20132139}
    result = ob.bootstrap(rows, ob.correlation, **options)
    assert result.n_resamples > 9


def variation(x, axis):
    return x.std(axis=axis) / x.mean(axis=axis)


@pytest.mark.parametrize(("max_resamples", "expected"), [(10, 10), (1000, 20)])
def test_ten_replicates_of_few_rows_are_confirmed_by_ten_more(max_resamples, expected):
    """However lucky the first ten: a tolerance of 90% is met by any."""
    x = np.random.default_rng(0).exponential(size=60)
    options = {"vectorized": True, "n_resamples": 10, "tol": 0.9, "max_resamples": max_resamples, "rng": 0}
    assert ob.bootstrap(x, variation, **options).n_resamples == expected


def test_many_rows_and_linear_statistics_need_no_confirmation():
    x = np.random.default_rng(0).exponential(size=60)
    options = {"vectorized": True, "n_resamples": 10, "rng": 0}
    assert ob.bootstrap(x, lambda x, axis: x.mean(axis=axis), tol=0.05, **options).n_resamples == 10
    many = np.random.default_rng(0).exponential(size=600)
    assert ob.bootstrap(many, variation, tol=0.9, **options).n_resamples == 10

"""The number of jobs, and what carries them out, changes no number and loses no warning."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.errors import ArgumentError, FailedReplicatesWarning, LargeBiasWarning
from orthoboot.execution.execution import Execution
from orthoboot.execution.parallel import effective_jobs, parallel
from orthoboot.warning_scopes import silenced

joblib = pytest.importorskip("joblib")

RNG = np.random.default_rng(0)
X = RNG.gamma(2.0, size=80)
TABLE = RNG.standard_normal((80, 3))
Y = TABLE @ [1.0, -1.0, 0.5] + RNG.standard_normal(80)


def spread(x):
    return float(x.std() / x.mean())


def weighted(x, weights):
    return {"mean": np.average(x, weights=weights), "second": np.average(x**2, weights=weights)}


def warns_at_times(x):
    if x[0] > 3:
        warnings.warn("a large first row", RuntimeWarning, stacklevel=1)
    return spread(x)


def large_first_row(task):
    try:
        warns_at_times(np.array([4.0, 1.0]))
    except RuntimeWarning:
        return "raised"
    return "not raised"


def fails_at_times(x):
    if x[0] > 3:
        raise ValueError("a large first row")
    return spread(x)


CASES = {
    "catalogue": lambda **how: ob.bootstrap(X, ob.variance, n_resamples=50, rng=1, **how),
    "several samples": lambda **how: ob.bootstrap((X, X[:30]), ob.difference(ob.median), n_resamples=50, rng=1, **how),
    "regression": lambda **how: ob.bootstrap((TABLE, Y), ob.linear_regression, paired=True, rng=1, **how),
    "plain function": lambda **how: ob.bootstrap(X, spread, rng=1, **how),
    "function within": lambda **how: ob.bootstrap(X, lambda x: spread(x), rng=1, **how),
    "weights": lambda **how: ob.bootstrap(X, weighted, rng=1, **how),
    "blocks": lambda **how: ob.bootstrap(X, spread, block_length=5, rng=1, **how),
    "failures": lambda **how: ob.bootstrap(X, fails_at_times, n_resamples=60, estimator="standard", rng=1, **how),
    "tolerance": lambda **how: ob.bootstrap(X, ob.median, tol=0.1, rng=1, **how),
    "regression on replicates": lambda **how: ob.bootstrap(
        X, spread, influence=ob.regression_on(lambda x: np.column_stack([x, x**2])), rng=1, **how
    ),
}
EXECUTIONS = {"2 jobs": (2, None), "all cores": (-1, None), "threads": (2, "threading"), "processes": (2, "loky")}


def quietly(case, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case(**how)


def same(first, second):
    np.testing.assert_array_equal(first.replicates.values, second.replicates.values)
    np.testing.assert_array_equal(first.replicates.numbers, second.replicates.numbers)
    assert first.replicates.failures == second.replicates.failures
    for mine, other in zip(first.run.influence or (), second.run.influence or (), strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(first.covariance, second.covariance)
    assert [str(warning) for warning in first.warnings] == [str(warning) for warning in second.warnings]
    assert str(first) == str(second)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_no_number_depends_on_the_jobs(case, execution):
    n_jobs, backend = EXECUTIONS[execution]
    with joblib.parallel_config(backend) if backend else warnings.catch_warnings():
        found = quietly(CASES[case], n_jobs=n_jobs)
    same(found, quietly(CASES[case]))


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of Dask with two threads each, which joblib uses by one line of the user's."""
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as local,
            distributed.Client(local),
        ):
            yield


@pytest.mark.parametrize("case", ["catalogue", "plain function", "function within", "weights", "failures"])
def test_a_cluster_gives_the_same_numbers(cluster, case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with joblib.parallel_config("dask"):
            found = CASES[case](n_jobs=2)
    same(found, quietly(CASES[case]))


def logistic():
    sklearn = pytest.importorskip("sklearn.linear_model")
    return (TABLE, Y > 0), ob.from_sklearn(sklearn.LogisticRegression())


def forest():
    sklearn = pytest.importorskip("sklearn.ensemble")
    return (TABLE, Y), ob.from_sklearn(sklearn.RandomForestRegressor(5), TABLE[:3])


def statsmodels_fit():
    api = pytest.importorskip("statsmodels.api")
    model = ob.from_statsmodels(api.Logit((Y > 0).astype(float), TABLE).fit(disp=0))
    return model.data, model


def torch_module():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    model = ob.from_torch(
        module, torch.nn.MSELoss(), TABLE, Y, lambda net: net(torch.zeros(1, 3, dtype=torch.float64)), weight_decay=0.5
    )
    return model.data, model


def convex_problem():
    cp = pytest.importorskip("cvxpy")
    x, mean = cp.Variable(3), cp.Parameter(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - mean)), [x >= 0])
    return TABLE + 1, ob.from_cvxpy(problem, {mean: ob.mean}, x)


def constrained():
    pytest.importorskip("jax")
    return TABLE + 1, ob.minimize(
        lambda x, xi: ((x - xi) ** 2).sum(), 3, equality=lambda x, xi: x.sum() - 1, library="jax"
    )


def function_of_jax():
    jnp = pytest.importorskip("jax.numpy")

    def ratio_of_moments(x, weights):
        mean = jnp.average(x, axis=0, weights=weights)
        return jnp.average((x - mean) ** 2, axis=0, weights=weights) / (1 + mean**2)

    return TABLE, ratio_of_moments


MODELS = [logistic, forest, statsmodels_fit, torch_module, convex_problem, constrained, function_of_jax]


def alone_and_with(backends, run):
    """Return what `run(n_jobs)` gives in one job, and in two jobs of each of joblib's backends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = run(None)
        found = []
        for backend in backends:
            with joblib.parallel_config(backend):
                found.append(run(2))
    return alone, found


def check_model(make, backends):
    data, model = make()
    options = {"paired": isinstance(data, tuple), "rng": 1, "n_resamples": 10}
    if make is forest:
        options["estimator"] = "standard"
    alone, others = alone_and_with(backends, lambda n_jobs: ob.bootstrap(data, model, n_jobs=n_jobs, **options))
    # Linear algebra of one thread may round otherwise than that of several, and a network by its company.
    unit = np.atleast_1d(alone.standard_error).max()
    for found in others:
        np.testing.assert_allclose(found.replicates.values, alone.replicates.values, rtol=0, atol=1e-6 * unit)
        assert found.replicates.failures == alone.replicates.failures
        assert texts_of_warnings(found, make) == texts_of_warnings(alone, make)


def texts_of_warnings(result, make):
    """Return the warnings; that of the bias but for a forest, which without a seed has another estimate each time."""
    random = (LargeBiasWarning,) if make is forest else ()
    return [str(warning) for warning in result.warnings if not isinstance(warning, random)]


def with_packages(task):
    """Import what the models are made with, where it is installed."""
    for package in ("sklearn.linear_model", "statsmodels.api", "torch.func", "torch._dynamo", "cvxpy", "jax.numpy"):
        with suppress(ImportError):
            importlib.import_module(package)


@pytest.fixture(scope="module")
def processes():
    """Two processes of joblib that begin with all packages.

    It takes one that grows by hundreds of megabytes after its first task for a leak, and ends it: each model would have
    its package imported again.
    """
    loky = pytest.importorskip("joblib.externals.loky")
    loky.get_reusable_executor().shutdown(wait=True)
    list(parallel(with_packages, [0, 1], n_jobs=2, in_threads=False))


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_models_give_the_same_in_other_processes_and_in_threads(make):
    check_model(make, ["threading", "loky"])


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_a_cluster_gives_the_same_models(cluster, make):
    check_model(make, ["dask"])


def check_prediction_intervals(backends):
    linear_model = pytest.importorskip("sklearn.linear_model")

    def interval(n_jobs):
        model = ob.PredictionIntervalRegressor(linear_model.Ridge(), n_resamples=8, rng=1, n_jobs=n_jobs)
        return model.fit(TABLE, Y).predict_interval(TABLE[:5])[1]

    alone, others = alone_and_with(backends, interval)
    for found in others:
        np.testing.assert_allclose(found, alone, rtol=1e-12)


@pytest.mark.usefixtures("processes")
def test_prediction_intervals_give_the_same_in_other_processes_and_in_threads():
    check_prediction_intervals(["threading", "loky"])


def test_a_cluster_gives_the_same_prediction_intervals(cluster):
    check_prediction_intervals(["dask"])


def test_the_number_of_jobs_may_come_from_joblibs_configuration():
    with joblib.parallel_config("threading", n_jobs=2):
        assert effective_jobs(None) == 2
        same(ob.bootstrap(X, ob.variance, rng=1), ob.bootstrap(X, ob.variance, rng=1, n_jobs=1))
    assert effective_jobs(None) == 1


def test_warnings_of_the_statistic_reach_the_user_from_other_processes():
    def shown(n_jobs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ob.bootstrap(X, warns_at_times, n_resamples=40, estimator="standard", rng=1, n_jobs=n_jobs)
        return sorted((w.category.__name__, str(w.message), os.path.basename(w.filename)) for w in caught)

    assert shown(2) == shown(1)
    assert ("RuntimeWarning", "a large first row", "test_parallel.py") in shown(2)


def test_a_warning_of_every_replicate_is_shown_once_from_all_processes():
    def warns_always(x):
        warnings.warn("always", RuntimeWarning, stacklevel=1)
        return spread(x)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        ob.bootstrap(X, warns_always, n_resamples=40, estimator="standard", rng=1, n_jobs=2)
    # Once from here, where the data themselves are evaluated, and once from elsewhere.
    assert [str(warning.message) for warning in caught] == ["always"] * 2


def test_processes_take_the_filters_of_the_user_while_another_thread_is_silent():
    inside, done = threading.Event(), threading.Event()

    def silent():
        with silenced():
            inside.set()
            done.wait(60)

    with ThreadPoolExecutor(1) as pool, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        pool.submit(silent)
        inside.wait(60)
        try:
            found = list(parallel(large_first_row, [0, 1], n_jobs=2, in_threads=False))
        finally:
            done.set()
    assert sorted(found) == [(0, "raised"), (1, "raised")]


def test_an_estimator_may_fit_others_in_threads_of_its_own():
    ensemble = pytest.importorskip("sklearn.ensemble")
    linear_model = pytest.importorskip("sklearn.linear_model")
    part = ob.PredictionIntervalRegressor(linear_model.Ridge(), n_resamples=8, rng=1)
    model = ob.from_sklearn(ensemble.BaggingRegressor(part, 2, n_jobs=2, random_state=0), TABLE[:2])

    def run():
        with joblib.parallel_config("threading"):
            return quietly(
                ob.bootstrap, data=(TABLE, Y), statistic=model, paired=True, estimator="standard", n_resamples=4, rng=1
            )

    running = ThreadPoolExecutor(1).submit(run)
    assert len(running.result(timeout=60).replicates.values) == 4


def test_a_warning_that_is_an_error_fails_the_replicate_in_any_process():
    def failed(n_jobs):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", FailedReplicatesWarning)
            found = ob.bootstrap(X, warns_at_times, n_resamples=40, estimator="standard", rng=1, n_jobs=n_jobs)
        return found.replicates.failures

    assert failed(2) == failed(1) != {}


def test_slow_refits_share_the_cores():
    def slow(x):
        time.sleep(0.2)
        return float(x.mean())

    options = {"estimator": "standard", "rng": 1, "n_jobs": 2}
    ob.bootstrap(X, slow, **options, n_resamples=6)  # starts the processes, once
    start = time.perf_counter()
    ob.bootstrap(X, slow, **options, n_resamples=16)
    # Sleeping takes no core, so that 16 of 0.2 s in two processes, and one before them, take 1.8 s; one by one 3.4 s.
    assert time.perf_counter() - start < 2.8


def test_the_probe_of_given_influence_values_shares_the_jobs_too(tmp_path):
    def noted(x):
        (tmp_path / f"{os.getpid()} {time.monotonic_ns()}").touch()
        return float(x.mean())

    ob.bootstrap(X, noted, n_resamples=4, influence=X - X.mean(), estimator="standard", rng=1, n_jobs=2)
    elsewhere = [file for file in tmp_path.iterdir() if not file.name.startswith(f"{os.getpid()} ")]
    assert len(elsewhere) == 2 + 4  # here are the estimate and the trial of another order of the rows
    assert len(list(tmp_path.iterdir())) == 2 + 4 + 2


IN_ROUNDS = """
import os, sys
import joblib
from orthoboot.execution.parallel import parallel

def logged(task):
    open(os.path.join(sys.argv[1], str(task)), "w").close()
    return task

with joblib.parallel_config("multiprocessing"):
    tasks = parallel(logged, list(range(20)), n_jobs=2, in_threads=False)
    next(tasks)
    print(len(os.listdir(sys.argv[1])), len(list(tasks)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked there alone")
def test_a_backend_that_gives_nothing_back_before_the_end_works_in_rounds(tmp_path):
    # In a process of its own, since this one has threads, and must not be forked.
    command = [sys.executable, "-c", IN_ROUNDS, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["8", "19"]


def test_no_more_jobs_are_started_than_there_are_tasks():
    threads = []

    def count(task):
        threads.append(threading.active_count())
        time.sleep(0.05)

    before = threading.active_count()
    list(parallel(count, [1, 2, 3], n_jobs=1000, in_threads=True))
    assert max(threads) - before < 20


def test_tasks_are_small_enough_for_every_job_and_no_larger_than_a_batch():
    assert Execution(1).task_size(1000, 200) == 200
    assert Execution(2).task_size(1000, 200) == 125
    assert Execution(2).task_size(3, 200) == 1
    assert Execution(2).task_size(1000, 1) == 1


def test_each_task_comes_back_with_its_outcome():
    found = dict(parallel(lambda task: task**2, [3, 1, 2], n_jobs=2, in_threads=True))
    assert found == {3: 9, 1: 1, 2: 4}
    assert dict(parallel(lambda task: task**2, [3, 1, 2], n_jobs=2, in_threads=False)) == found


def test_what_cannot_be_sent_is_refused_with_a_way_out():
    with pytest.raises(ArgumentError, match="`n_jobs` needs a function and data that can be sent to other processes"):
        ob.bootstrap(X, Unsendable(), n_resamples=10, estimator="standard", rng=1, n_jobs=2)


class Unsendable:
    def __call__(self, x):
        return float(x.mean())

    def __reduce__(self):
        raise TypeError("this object stays here")


def test_eight_threads_at_once_give_what_one_gives():
    expected = {name: quietly(case) for name, case in CASES.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(8) as pool:
            found = [(name, pool.submit(CASES[name])) for _ in range(4) for name in CASES]
            for name, future in found:
                same(future.result(), expected[name])


FRESH = """
import pickle, sys
result = pickle.loads(sys.stdin.buffer.read())
more = result.extend(5)
sys.stdout.write(more.bootstrap_distribution.tobytes().hex())
"""


@pytest.mark.parametrize("case", ["catalogue", "several samples", "regression"])
def test_a_result_survives_pickle_and_goes_on_in_a_fresh_process(case):
    result = quietly(CASES[case])
    run = subprocess.run(
        [sys.executable, "-c", FRESH], input=pickle.dumps(result), capture_output=True, check=True, env=os.environ
    )
    assert run.stdout.decode() == quietly(result.extend, n_resamples=5).bootstrap_distribution.tobytes().hex()


INTERRUPTED = """
import sys, time
import numpy as np
import orthoboot as ob

def slow(x):
    time.sleep(0.1)
    print("x", flush=True)
    return float(x.mean())

x = np.random.default_rng(0).gamma(2.0, size=80)
result = ob.bootstrap(x, slow, estimator="standard", n_resamples=200, n_jobs=int(sys.argv[1]), rng=1)
whole = ob.bootstrap(x, np.mean, estimator="standard", n_resamples=200, rng=1)
numbers = result.replicates.numbers
assert result.replicates.interrupted and 2 <= len(numbers) < 100, len(numbers)
np.testing.assert_allclose(result.replicates.values, whole.replicates.values[numbers])
more = result.extend(5)
assert len(set(more.replicates.numbers.tolist())) == len(numbers) + 5
print("kept")
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C reaches a group of processes in another way there")
def test_an_interruption_keeps_what_is_done(n_jobs):
    command = [sys.executable, "-W", "ignore", "-c", INTERRUPTED, str(n_jobs)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    for _ in range(8):
        running.stdout.readline()
    os.killpg(running.pid, signal.SIGINT)
    rest, _ = running.communicate(timeout=60)
    assert rest.splitlines()[-1] == "kept"

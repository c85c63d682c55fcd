"""Counts and sums, bit by bit those of the literal definition on every path, in any batch and with any threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import literal_draws

from orthoboot.arrays import threads
from orthoboot.draws import kernels, numpy_kernels
from orthoboot.draws.poisson import inversion
from orthoboot.draws.random_counts import multinomial_counts, multinomial_sums, weighted_sums
from orthoboot.plans import Cluster, Iid, Plan

KEY = (0xB7E151628AED2A6A, 0xBF7158809CF4F3C7)
SIZES = [1, 2, 15, 16, 17, 63, 64, 65, 100, 255, 256, 257, 1000, 8191, 8192, 8193, 20_000, 100_003]


def compiled():
    return pytest.importorskip("orthoboot.draws.compiled.numba_kernels", exc_type=ImportError)


@pytest.fixture(params=["numpy", "numba"])
def backend(request):
    return numpy_kernels if request.param == "numpy" else compiled()


@pytest.fixture(params=[1, 2])
def chosen(request, backend, monkeypatch):
    """Let all draws go through one path, on one processor or two."""
    choice = kernels.Choice()
    choice._kernels, choice._left = backend, 0
    monkeypatch.setattr(kernels, "_choice", choice)
    monkeypatch.setattr(kernels, "processors", lambda: request.param)
    monkeypatch.setattr(kernels, "_WORTH_A_THREAD", 1)
    return backend


def values_of(n, p=2):
    return np.random.default_rng(n).normal(size=(n, p)) * 10.0 ** np.arange(p)


def assert_same_bits(found, expected):
    np.testing.assert_array_equal(np.asarray(found).view(np.uint64), np.asarray(expected, dtype=float).view(np.uint64))


@pytest.mark.parametrize("n", SIZES)
def test_counts_and_sums_are_the_literal_ones(n, backend):
    values = values_of(n)
    first, number = (7, 2) if n > 10_000 else (7, 4)
    counts, sums = np.empty((number, n)), np.empty((number, 2))
    backend.multinomial_counts(*KEY, 3, first, inversion(n), counts)
    backend.multinomial_sums(*KEY, 3, first, inversion(n), np.ascontiguousarray(values.T), sums)
    for place in range(number):
        assert counts[place].tolist() == literal_draws.multinomial_counts(KEY, 3, first + place, n)
        literal = [literal_draws.multinomial_sum(KEY, 3, first + place, column.tolist()) for column in values.T]
        assert_same_bits(sums[place], literal)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("shape", [(2, 2), (1, 2), (3, 1)])
def test_weighted_sums_are_the_literal_ones(n, shape, backend):
    values, weights = values_of(n, shape[1]), np.random.default_rng(n + 1).gamma(1.0, size=(shape[0], n))
    sums = np.empty(shape)
    backend.weighted_sums(weights, np.ascontiguousarray(values.T), sums)
    assert_same_bits(
        sums, [[literal_draws.weighted_sum(row.tolist(), column.tolist()) for column in values.T] for row in weights]
    )


@pytest.mark.parametrize("n", [15, 16, 31, 239, 272, 8192 + 250])
@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1), (3, 3), (17, 1), (18, 3)])
def test_sums_of_any_number_of_resamples_and_columns_are_the_literal_ones(n, shape, backend):
    number, p = shape
    values, sums = values_of(n, p), np.empty(shape)
    backend.multinomial_sums(*KEY, 3, 7, inversion(n), np.ascontiguousarray(values.T), sums)
    for place in {0, number // 2, number - 1}:
        literal = [literal_draws.multinomial_sum(KEY, 3, 7 + place, column.tolist()) for column in values.T]
        assert_same_bits(sums[place], literal)


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 20_000), (0, 1), (5, 8_192), (8_191, 8_193), (16_384, 20_000), (300, 19_000)]
)
@pytest.mark.parametrize("attempt", [0, 2])
def test_sums_over_a_part_of_the_rows_are_those_of_its_counts(start, stop, attempt, backend):
    n, first = 20_000, 7
    values, law = values_of(n)[start:stop], inversion(n)
    totals, sums = np.full(3, 10), np.full((3, 2), 0.5)
    backend.poisson_sums(*KEY, 3, first, attempt, law, n, start, np.ascontiguousarray(values.T), totals, sums)
    for place in range(3):
        counts = np.empty(stop - start)
        numpy_kernels.poisson_counts(*KEY, 3, first + place, attempt, law, n, start, counts)
        assert totals[place] == 10 + counts.sum()
        expected = np.full(2, 0.5)
        for begin in range(start - start % 8192, stop, 8192):
            rows = slice(max(begin - start, 0), begin + 8192 - start)
            expected += [
                literal_draws.weighted_sum(counts[rows].tolist(), column[rows].tolist()) for column in values.T
            ]
        assert_same_bits(sums[place], expected)


def test_integers_beyond_the_capacity_are_the_literal_ones(backend):
    bounds = np.tile(np.array([1, 2, 97, 3 * 2**30], dtype=np.uint64), 2100)
    for capacity in (3, 500, 8400):
        integers = np.empty((2, bounds.size), dtype=np.int64)
        backend.uniform_integers(*KEY, 1, 5, numpy_kernels.RESTART, capacity, bounds, integers)
        for place, position in [(0, 0), (1, 3), (0, 499), (1, 504), (0, 507), (1, 8191), (0, 8192), (1, 8399)]:
            bound = int(bounds[position])
            literal = literal_draws.integer(KEY, 1, numpy_kernels.RESTART, 5 + place, position, capacity, bound)
            assert integers[place, position] == literal


@pytest.mark.parametrize("n", [5, 100, 8192, 20_000])
def test_a_resample_is_the_same_in_any_batch_and_with_any_threads(n, chosen):
    values, numbers = values_of(n, 3), [0, 1, 2, 3, 4, 5, 6, 11, 12, 40, 39, 38]
    sums, counts = multinomial_sums(KEY, 1, numbers, values), multinomial_counts(KEY, 1, numbers, n)
    explicit = weighted_sums(counts, values)
    for place, number in enumerate(numbers):
        assert_same_bits(sums[place], multinomial_sums(KEY, 1, [number], values)[0])
        np.testing.assert_array_equal(counts[place], multinomial_counts(KEY, 1, [number], n)[0])
        assert_same_bits(explicit[place], weighted_sums(counts[place : place + 1], values)[0])
    np.testing.assert_allclose(sums, explicit, rtol=1e-11, atol=1e-8)


@settings(deadline=None, max_examples=50)
@given(
    n=st.integers(1, 20_000),
    p=st.integers(1, 4),
    first=st.integers(0, 2**50),
    number=st.integers(1, 40),
    stream=st.integers(0, 2**60),
    k0=st.integers(0, 2**64 - 1),
)
def test_both_paths_give_the_same_sums(n, p, first, number, stream, k0):
    columns = np.random.default_rng(n).standard_cauchy(size=(p, n))
    slow, fast = np.empty((number, p)), np.empty((number, p))
    numpy_kernels.multinomial_sums(k0, 1, stream, first, inversion(n), columns, slow)
    compiled().multinomial_sums(k0, 1, stream, first, inversion(n), columns, fast)
    assert_same_bits(slow, fast)


@pytest.mark.parametrize(("n", "number"), [(30, 20_000), (1000, 20_000), (9000, 2000)])
def test_sums_have_the_mean_and_the_variance_of_sums_of_independent_draws(n, number, backend):
    values = values_of(n)
    sums = np.empty((number, 2))
    backend.multinomial_sums(*KEY, 0, 0, inversion(n), np.ascontiguousarray(values.T), sums)
    z = (sums.mean(axis=0) - values.sum(axis=0)) / np.sqrt(n * values.var(axis=0) / number)
    ratio = sums.var(axis=0) / (n * values.var(axis=0))
    # Two columns, two claims each: the odds that any z exceeds 4 at a random seed are 3e-4.
    assert np.abs(z).max() < 4
    assert np.abs(ratio - 1).max() < 4 * np.sqrt(2 / number)


def test_minus_zero_does_not_survive_a_sum(backend):
    columns, sums = np.full((1, 10), -0.0), np.empty((2, 1))
    backend.multinomial_sums(*KEY, 0, 0, inversion(10), columns, sums)
    assert not np.signbit(sums).any()
    backend.weighted_sums(np.ones((2, 10)), columns, sums)
    assert not np.signbit(sums).any()


# Plans


def test_sums_of_a_plan_are_those_of_its_weights():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 40, size=300)
    resamples = Plan((Iid(200), Cluster(labels))).resamples(KEY, [4, 5, 9])
    for sample, n in enumerate((200, 300)):
        values = rng.normal(size=(n, 2))
        expected = resamples.weights[sample] @ values
        np.testing.assert_allclose(resamples.sums(sample, values), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(resamples.totals(sample), resamples.weights[sample].sum(axis=1))


def test_sums_are_drawn_once_for_each_array(monkeypatch):
    resamples, drawn = Plan((Iid(50), Iid(50))).resamples(KEY, range(3)), []
    original = Iid.sums

    def counted(self, *arguments):
        drawn.append(arguments[1])
        return original(self, *arguments)

    monkeypatch.setattr(Iid, "sums", counted)
    values, equal = values_of(50), values_of(50)
    first = resamples.sums(0, values)
    assert resamples.sums(0, values) is first
    assert not first.flags.writeable
    assert_same_bits(resamples.sums(0, equal), first)
    assert not np.array_equal(resamples.sums(1, values), first)
    assert_same_bits(resamples.one(2).sums(0, values), first[2:])
    assert drawn == [0, 0, 1]


# Threads


def test_every_task_is_run_and_the_first_error_is_raised(monkeypatch):
    monkeypatch.setattr(threads, "processors", lambda: 2)
    done = []
    threads.run_tasks([lambda i=i: done.append(i) for i in range(5)])
    assert sorted(done) == [0, 1, 2, 3, 4]

    def fail():
        raise ValueError("a task failed")

    for tasks in ([fail, lambda: done.append(5)], [lambda: done.append(6), fail]):
        with pytest.raises(ValueError, match="a task failed"):
            threads.run_tasks(tasks)
    assert {5, 6} <= set(done)


@pytest.mark.parametrize("number", [1, 2])
def test_an_interrupt_ends_the_tasks_that_wait(number, monkeypatch):
    monkeypatch.setattr(threads, "processors", lambda: number)
    done = []

    def interrupted():
        raise KeyboardInterrupt

    def slow():
        done.append(1)
        time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        threads.run_tasks([interrupted, *[slow] * 20])
    assert len(done) <= 2


def test_a_call_beside_another_runs_in_its_own_thread(monkeypatch):
    monkeypatch.setattr(threads, "processors", lambda: 2)
    names, started, finished = [], threading.Event(), threading.Event()

    def wait():
        started.set()
        assert finished.wait(10)

    other = threading.Thread(target=threads.run_tasks, args=([wait, lambda: None],))
    other.start()
    assert started.wait(10)
    threads.run_tasks([lambda: names.append(threading.current_thread()) for _ in range(3)])
    finished.set()
    other.join()
    assert set(names) == {threading.current_thread()}


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "NUMBA_NUM_THREADS"])
def test_threads_are_no_more_than_asked_for(variable, monkeypatch):
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    here = threads.processors()
    assert here >= 1
    for text, expected in [("1", 1), ("1000", here), ("0", here), ("many", here), ("", here)]:
        monkeypatch.setenv(variable, text)
        assert threads.processors() == expected


AT_EXIT = """
import atexit
from orthoboot.arrays.threads import run_tasks
done = []

def work():
    run_tasks([lambda: done.append(1)] * 3)
    print(len(done))

atexit.register(work)
{before}
"""


@pytest.mark.parametrize("before", ["", "work()"])
def test_an_interpreter_that_ends_still_runs_its_tasks(before):
    command = [sys.executable, "-c", AT_EXIT.format(before=before)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.stdout.split() == (["3", "6"] if before else ["3"])
    assert (run.stderr, run.returncode) == ("", 0)


FORKED = """
import os
from orthoboot.arrays.threads import run_tasks
done = []
run_tasks([lambda: done.append(1)] * 3)
child = os.fork()
if child == 0:
    run_tasks([lambda: done.append(1)] * 3)
    os._exit(len(done))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_forked_process_has_threads_of_its_own():
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.returncode) == ("6\n", 0), run.stderr


def test_no_task_is_run_twice_where_a_thread_can_be_started_no_more(monkeypatch):
    monkeypatch.setattr(threads, "processors", lambda: 3)
    pool, ran = threads._Pool(), []
    executor = pool._started()
    whole = executor.submit

    def only_once(task, *arguments):
        monkeypatch.setattr(executor, "submit", refused)
        return whole(task, *arguments)

    def refused(task, *arguments):
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(executor, "submit", only_once)
    pool.run([lambda number=number: ran.append(number) for number in range(4)])
    assert sorted(ran) == [0, 1, 2, 3]


def test_kernels_are_cached_under_the_digest_of_all_files_that_they_are_made_of(tmp_path):
    numba_kernels, compilation = compiled(), pytest.importorskip("orthoboot.draws.compiled.compilation")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "words.py").write_text("ROUNDS = 10")
    before = compilation._digest_of_sources(tmp_path)
    assert compilation._digest_of_sources(tmp_path) == before
    (tmp_path / "inner" / "words.py").write_text("ROUNDS = 11")
    assert compilation._digest_of_sources(tmp_path) != before
    assert numba_kernels.weighted_sums.py_func.__qualname__.endswith(compilation._SOURCES)


@pytest.mark.parametrize("capacity", [3, 9, 20, 40])
def test_throws_beyond_what_is_expected_have_the_same_bits(capacity, monkeypatch):
    """Where a resample needs more throws than have blocks of their own; once in a billion resamples by itself."""
    law, values, sums = inversion(100), np.eye(100), np.empty((2, 300, 100))
    compiled()._multinomial_sums(*KEY, 0, 7, law, capacity, values, sums[0])
    monkeypatch.setattr(numpy_kernels, "throw_capacity", lambda n: capacity)
    numpy_kernels.multinomial_sums(*KEY, 0, 7, law, values, sums[1])
    assert (sums.sum(axis=2) == 100).all()
    np.testing.assert_array_equal(*sums)

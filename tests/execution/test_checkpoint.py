"""A run that was killed goes on where it was, and ends with the same numbers."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.errors import ArgumentError, CheckpointError
from orthoboot.execution.checkpoint import Checkpoint
from orthoboot.execution.lock import FileLock
from orthoboot.execution.store import load_arrays, save_arrays

X = np.random.default_rng(0).gamma(2.0, size=60)


class Counted:
    """A statistic that counts its evaluations, and may stop after some."""

    calls = 0

    def __init__(self, most=None):
        self.most = most

    def __getstate__(self):
        """Nothing that tells it from another: pickle, and so a checkpoint, does not look at what it counts."""
        return {"most": None}

    def __call__(self, x):
        self.calls += 1
        if self.most is not None and self.calls > self.most:
            raise KeyboardInterrupt
        return float(x.mean() / x.std())


def ratio(x):
    return float(x.mean() / x.std())


def same(first, second):
    np.testing.assert_array_equal(first.bootstrap_distribution, second.bootstrap_distribution)
    assert first.standard_error == second.standard_error
    assert first.confidence_interval == second.confidence_interval
    assert [str(warning) for warning in first.warnings] == [str(warning) for warning in second.warnings]


def test_a_finished_run_is_read_and_not_repeated(tmp_path):
    file, counted = tmp_path / "run", Counted()
    first = ob.bootstrap(X, counted, checkpoint=file, rng=1)
    assert counted.calls == 2 + 61 + 60  # the estimate in two orders, the jackknife, the replicates
    again = ob.bootstrap(X, counted, checkpoint=file, rng=1)
    assert counted.calls == 123 + 2
    same(first, again)
    same(first, ob.bootstrap(X, Counted(), rng=1))
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.parametrize("stopped_at", [5, 61, 66, 70, 110])
def test_an_interrupted_run_goes_on(tmp_path, stopped_at):
    file = tmp_path / "run"
    with pytest.warns() if stopped_at > 63 else pytest.raises(KeyboardInterrupt):
        ob.bootstrap(X, Counted(stopped_at), checkpoint=file, rng=1)
    counted = Counted()
    result = ob.bootstrap(X, counted, checkpoint=file, rng=1)
    assert counted.calls == 2 + 122 - stopped_at
    same(result, ob.bootstrap(X, Counted(), rng=1))


def test_more_or_fewer_replicates_are_taken_from_the_same_file(tmp_path):
    file = tmp_path / "run"
    ob.bootstrap(X, ob.variance, n_resamples=20, checkpoint=file, rng=1)
    same(
        ob.bootstrap(X, ob.variance, n_resamples=30, checkpoint=file, rng=1),
        ob.bootstrap(X, ob.variance, n_resamples=30, rng=1),
    )
    same(
        ob.bootstrap(X, ob.variance, n_resamples=10, checkpoint=file, rng=1),
        ob.bootstrap(X, ob.variance, n_resamples=10, rng=1),
    )


def test_a_result_that_is_extended_writes_on(tmp_path):
    file, counted = tmp_path / "run", Counted()
    first = ob.bootstrap(X, counted, n_resamples=10, estimator="standard", checkpoint=file, rng=1)
    longer = pickle.loads(pickle.dumps(first)).extend(5)
    calls = Counted()
    read = ob.bootstrap(X, calls, n_resamples=15, estimator="standard", checkpoint=file, rng=1)
    assert calls.calls == 2
    same(longer, read)


def test_failures_are_kept_with_their_reasons(tmp_path):
    def fails(x):
        if x[0] > 2.5:
            raise ValueError("too large")
        return ratio(x)

    options = {"n_resamples": 40, "estimator": "standard", "rng": 1}
    with pytest.warns(ob.errors.FailedReplicatesWarning):
        first = ob.bootstrap(X, fails, checkpoint=tmp_path / "run", **options)
    with pytest.warns(ob.errors.FailedReplicatesWarning):
        second = ob.bootstrap(X, fails, checkpoint=tmp_path / "run", **options)
    assert first.replicates.failures == second.replicates.failures
    same(first, second)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")  # of whatever seed comes
def test_without_a_seed_that_of_the_file_is_taken(tmp_path):
    first = ob.bootstrap(X, ob.variance, checkpoint=tmp_path / "run")
    same(first, ob.bootstrap(X, ob.variance, checkpoint=tmp_path / "run"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"statistic": ob.std}, "the statistic, its options or its code"),
        ({"statistic": ob.variance.replace(ddof=1)}, "the statistic, its options or its code"),
        ({"statistic": lambda x: float(np.var(x))}, "the statistic, its options or its code"),
        ({"data": X + 1e-9}, "the data"),
        ({"data": X[::-1]}, "the data"),
        ({"strata": np.repeat([0, 1], 30)}, "how the rows are drawn"),
        ({"rng": 2}, "the seed"),
        ({"rng": 2, "data": X + 1}, "the data; the seed"),
    ],
    ids=["statistic", "option", "function", "data", "order", "plan", "seed", "data and seed"],
)
def test_the_file_of_another_run_is_refused_and_left_alone(tmp_path, change, words):
    file = tmp_path / "run"
    ob.bootstrap(X, ob.variance, checkpoint=file, rng=1)
    before = file.read_bytes()
    options = {"data": X, "statistic": ob.variance, "rng": 1, **change}
    with pytest.raises(CheckpointError, match=f"belongs to another run. Different: {words}"):
        ob.bootstrap(options.pop("data"), options.pop("statistic"), checkpoint=file, **options)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["run"]


def test_another_value_in_a_function_of_the_same_name_is_another_statistic(tmp_path):
    def powered(power):
        return lambda x: float(np.mean(x**power))

    ob.bootstrap(X, powered(2), checkpoint=tmp_path / "run", rng=1)
    ob.bootstrap(X, powered(2), checkpoint=tmp_path / "run", rng=1)
    with pytest.raises(CheckpointError, match="the statistic"):
        ob.bootstrap(X, powered(3), checkpoint=tmp_path / "run", rng=1)


@pytest.mark.parametrize("damage", [lambda b: b[:-7], lambda b: b[:40], lambda b: b"", lambda b: b"x,y\n1,2\n"])
def test_a_damaged_or_foreign_file_is_refused_and_left_alone(tmp_path, damage):
    file = tmp_path / "run"
    ob.bootstrap(X, ob.variance, checkpoint=file, rng=1)
    file.write_bytes(damage(file.read_bytes()))
    before = file.read_bytes()
    for rng in (1, None):
        with pytest.raises(CheckpointError, match="not a checkpoint of orthoboot, or is damaged; it was not changed"):
            ob.bootstrap(X, ob.variance, checkpoint=file, rng=rng)
    assert file.read_bytes() == before


def test_another_format_is_refused(tmp_path):
    file = tmp_path / "run"
    ob.bootstrap(X, ob.variance, checkpoint=file, rng=1)
    save_arrays(file, {**load_arrays(file), "format": np.array(7)})
    with pytest.raises(CheckpointError, match="has format 7, of another version of orthoboot; this one reads 3"):
        ob.bootstrap(X, ob.variance, checkpoint=file, rng=1)


def test_the_file_holds_plain_arrays(tmp_path):
    ob.bootstrap(X, ratio, checkpoint=tmp_path / "run", rng=1)
    arrays = load_arrays(tmp_path / "run")
    assert {array.dtype.kind for array in arrays.values()} <= set("fiubU")
    assert arrays["replicates/values"].shape == (60, 1)


@pytest.mark.parametrize("path", [3, "", "no such folder/run", ".", os.devnull, "x" * 1000, "a\0b"])
def test_a_path_that_cannot_be_a_file_is_refused(path):
    with pytest.raises(ArgumentError, match="`checkpoint` must be"):
        ob.bootstrap(X, ob.variance, checkpoint=path, rng=1)


def test_a_file_in_use_is_refused(tmp_path):
    lock = FileLock(tmp_path / "run")
    assert lock.acquire()
    with pytest.raises(CheckpointError, match="is in use by another process or thread"):
        ob.bootstrap(X, ob.variance, checkpoint=tmp_path / "run", rng=1)
    lock.release()
    ob.bootstrap(X, ob.variance, checkpoint=tmp_path / "run", rng=1)


def test_many_quick_replicates_do_not_write_the_file_each_time(tmp_path, monkeypatch):
    written = []
    write = Checkpoint._write
    monkeypatch.setattr(Checkpoint, "_write", lambda self, path: (written.append(1), write(self, path)))
    ob.bootstrap(X, ratio, estimator="standard", n_resamples=2000, checkpoint=tmp_path / "run", rng=1)
    assert len(written) < 1000


def test_of_two_threads_that_extend_one_result_the_second_is_refused(tmp_path):
    def slow_median(x):
        time.sleep(0.005)
        return float(np.median(x))

    options = {"estimator": "standard", "checkpoint": tmp_path / "run", "rng": 1}
    result = ob.bootstrap(X, slow_median, n_resamples=10, **options)
    with ThreadPoolExecutor(2) as pool:
        errors = [future.exception() for future in [pool.submit(result.extend, 40) for _ in range(2)]]
    assert [type(error) for error in errors if error is not None] == [CheckpointError]
    read = ob.bootstrap(X, slow_median, n_resamples=50, **options)
    same(read, ob.bootstrap(X, slow_median, n_resamples=50, estimator="standard", rng=1))


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_stays_a_link_and_another_working_directory_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "run")
    monkeypatch.chdir(tmp_path)
    result = ob.bootstrap(X, ratio, estimator="standard", checkpoint="link", rng=1)
    monkeypatch.chdir(tmp_path / "real")
    result.extend(5)
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]
    assert os.listdir(tmp_path / "real") == ["run"]


NUDGES = {"now": 0.0}


def nudged(x):
    """Return a value that moves by rounding, as that of linear algebra does from processor to processor."""
    return ratio(x) * (1 + NUDGES["now"])


def test_a_function_whose_value_moves_by_rounding_goes_on(tmp_path, monkeypatch):
    options = {"estimator": "standard", "n_resamples": 20, "checkpoint": tmp_path / "run", "rng": 1}
    first = ob.bootstrap(X, nudged, **options)
    monkeypatch.setitem(NUDGES, "now", 1e-13)
    second = ob.bootstrap(X, nudged, **options)
    np.testing.assert_array_equal(first.bootstrap_distribution, second.bootstrap_distribution)


def test_a_disk_that_is_full_is_told_once(tmp_path, monkeypatch):
    def full(file, arrays):
        tried.append(file)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    tried = []
    monkeypatch.setattr("orthoboot.execution.checkpoint.save_arrays", full)
    with pytest.raises(CheckpointError, match=f"could not be written: {os.strerror(errno.ENOSPC)}"):
        ob.bootstrap(X, ratio, estimator="standard", checkpoint=tmp_path / "run", rng=1)
    assert len(tried) == 1


def test_a_run_that_only_reads_writes_nothing(tmp_path):
    file = tmp_path / "run"
    ob.bootstrap(X, ratio, estimator="standard", checkpoint=file, rng=1)
    before = file.stat()
    ob.bootstrap(X, ratio, estimator="standard", checkpoint=file, rng=1)
    assert file.stat() == before


SLOW = """
import sys, time
import numpy as np
import orthoboot as ob

def slow(x):
    with open(sys.argv[2], "a") as log:
        log.write("x")
    time.sleep(0.2)
    return float(x.mean() / x.std())

x = np.random.default_rng(0).gamma(2.0, size=60)
options = {"checkpoint": sys.argv[1], "n_jobs": int(sys.argv[3]), "n_resamples": int(sys.argv[4])}
result = ob.bootstrap(x, slow, estimator="standard", rng=1, **options)
sys.stdout.write(result.bootstrap_distribution.tobytes().hex())
"""


class SlowRun:
    """A run in a process of its own, with a checkpoint and a log that grows by each evaluation as it begins."""

    def __init__(self, folder, n_jobs, n_resamples):
        if n_jobs > 1:
            pytest.importorskip("joblib")
        self.n_jobs, self.n_resamples, self.log, script = n_jobs, n_resamples, folder / "log", folder / "slow.py"
        script.write_text(SLOW)
        self.command = [sys.executable, *map(str, (script, folder / "run", self.log, n_jobs, n_resamples))]

    def start(self):
        """Start it, and wait until it evaluates."""
        before = self.evaluations()
        running = subprocess.Popen(self.command, start_new_session=True, stdout=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while self.evaluations() == before and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return running

    def evaluations(self):
        return self.log.stat().st_size if self.log.exists() else 0

    def check_kills(self, moments, kill):
        """Kill it so many seconds after its first evaluation, again and again; then let it end."""
        ended_early = 0
        for moment in moments:
            running = self.start()
            time.sleep(moment)
            ended_early += running.poll() is not None
            kill(running.pid, signal.SIGKILL)
            running.wait()
            running.stdout.close()  # whose other end workers may still hold
        assert not ended_early
        ended = subprocess.run(self.command, capture_output=True, text=True, check=True)
        self.check_output(ended.stdout)
        # Each run evaluates the data first; each kill may cost what was in flight, one per job, and on a busy machine
        # as many that were done and waited to be written.
        assert self.evaluations() <= self.n_resamples + (1 + len(moments)) + 2 * self.n_jobs * len(moments)

    def check_output(self, output):
        expected = ob.bootstrap(X, ratio, estimator="standard", n_resamples=self.n_resamples, rng=1)
        assert output == expected.bootstrap_distribution.tobytes().hex()


needs_kill = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


@needs_kill
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_killed_at_any_moment_it_resumes_with_the_same_bits(tmp_path, n_jobs):
    moments = np.random.default_rng(n_jobs).uniform(0.0, 0.6, size=2)
    SlowRun(tmp_path, n_jobs, n_resamples=9).check_kills(moments, os.killpg)


@needs_kill
@pytest.mark.slow
@pytest.mark.parametrize("kill", [os.kill, getattr(os, "killpg", None)])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_killed_at_ten_moments_it_resumes_with_the_same_bits(tmp_path, n_jobs, kill):
    moments = np.random.default_rng(n_jobs).uniform(0.0, 1.5, size=10)
    SlowRun(tmp_path, n_jobs, n_resamples=120).check_kills(moments, kill)


@needs_kill
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_of_two_processes_on_one_file_the_second_is_refused(tmp_path, n_jobs):
    run = SlowRun(tmp_path, n_jobs, n_resamples=1000)
    first = run.start()
    second = subprocess.run(run.command, capture_output=True, text=True, check=False)
    assert first.poll() is None
    assert second.returncode == 1
    assert "is in use by another process or thread" in second.stderr.splitlines()[-1]
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()

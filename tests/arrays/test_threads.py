"""Tasks go to the first thread that is free, and to no more threads than may run."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from orthoboot.arrays import threads


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setattr(threads, "processors", lambda: 2)
    return threads._Pool()


def test_a_thread_that_is_free_takes_the_next_task(pool):
    others_done, left = threading.Event(), [0, 2, 3]

    def short(number):
        left.remove(number)
        if not left:
            others_done.set()

    def long():
        assert others_done.wait(timeout=60)

    pool.run([lambda: short(0), long, lambda: short(2), lambda: short(3)])
    assert left == []


def test_one_processor_runs_all_tasks_in_the_calling_thread(pool, monkeypatch):
    monkeypatch.setattr(threads, "processors", lambda: 1)
    seen = []
    pool.run([lambda: seen.append(threading.current_thread())] * 3)
    assert seen == [threading.current_thread()] * 3


def test_the_error_of_the_first_task_that_fails_is_raised(pool):
    both_failing = threading.Barrier(2, timeout=60)

    def failing(number):
        both_failing.wait()
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        pool.run([lambda: failing(0), lambda: failing(1)])


def test_tasks_are_run_after_one_that_failed():
    ran = []

    def failing():
        raise ValueError("broken")

    line = threads._Line([failing, lambda: ran.append(1)])
    line.work_off()
    assert ran == [1]
    with pytest.raises(ValueError, match="broken"):
        line.check()


def test_what_overflows_is_treated_in_threads_as_the_caller_has_it(pool):
    barrier = threading.Barrier(2, timeout=60)
    seen = []

    def note():
        barrier.wait()  # so that both threads have one
        seen.append(np.geterr()["over"])

    with np.errstate(over="ignore"):
        pool.run([note, note])
    assert seen == ["ignore", "ignore"]

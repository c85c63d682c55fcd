"""Warnings of other libraries are silenced as long as some thread wants it, and no longer."""

from __future__ import annotations

import warnings
from threading import Event, Thread

import pytest

from orthoboot.errors import silenced
from tests import elsewhere


def test_warnings_come_back_after_the_silence():
    with silenced(), silenced():
        warnings.warn("an error in these tests", stacklevel=1)
    with pytest.warns(UserWarning, match="after"):
        warnings.warn("after", stacklevel=1)


def test_an_error_ends_the_silence():
    with pytest.raises(KeyError), silenced():
        raise KeyError
    with pytest.warns(UserWarning, match="after"):
        warnings.warn("after", stacklevel=1)


def test_the_thread_that_leaves_first_leaves_the_others_in_silence():
    inside, left = Event(), Event()

    def stays_longer() -> None:
        with silenced():
            inside.set()
            left.wait()
            warnings.warn("an error in these tests", stacklevel=1)
            outcomes.append("silent")

    outcomes: list[str] = []
    thread = Thread(target=stays_longer)
    with silenced():
        thread.start()
        inside.wait()
    left.set()
    thread.join()
    assert outcomes == ["silent"]


def test_many_threads_leave_the_filters_as_they_were():
    before = list(warnings.filters)

    def comes_and_goes(number: int) -> None:
        for _ in range(200):
            with silenced():
                warnings.warn("within", stacklevel=1)

    elsewhere.in_threads(comes_and_goes)
    assert warnings.filters == before

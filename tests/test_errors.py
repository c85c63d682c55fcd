"""Warnings of other libraries are silenced or recorded by the thread that wants it, as long as it does."""

from __future__ import annotations

import warnings
from threading import Event, Thread

import pytest

from orthoboot.errors import recorded, show_again, silenced
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


def test_threads_record_their_own_warnings_while_others_are_silent():
    before = list(warnings.filters)

    def comes_and_goes(number: int) -> list[str]:
        found = []
        for _ in range(100):
            with silenced() if number % 2 else recorded() as caught:
                warnings.warn(f"thread {number}", stacklevel=1)
            found += [str(warning.message) for warning in caught or ()]
        return found

    for number, found in enumerate(elsewhere.in_threads(comes_and_goes)):
        assert found == ([] if number % 2 else [f"thread {number}"] * 100)
    assert warnings.filters == before


def test_the_innermost_of_a_thread_decides():
    with recorded() as outer:
        with silenced():
            warnings.warn("within", stacklevel=1)
        with recorded() as inner:
            warnings.warn("inner", stacklevel=1)
        warnings.warn("outer", stacklevel=1)
    assert [str(warning.message) for warning in inner] == ["inner"]
    assert [str(warning.message) for warning in outer] == ["outer"]


def test_warnings_of_a_thread_that_was_started_within_are_recorded():
    with recorded() as caught:
        thread = Thread(target=lambda: warnings.warn("of a part", stacklevel=1))
        thread.start()
        thread.join()
    assert [str(warning.message) for warning in caught] == ["of a part"]


def test_recorded_warnings_are_shown_again_as_they_came():
    with recorded() as caught:
        warnings.warn("again", RuntimeWarning, stacklevel=1)
    with pytest.warns(RuntimeWarning, match="again") as shown:
        show_again(caught)
    assert shown[0].filename == __file__

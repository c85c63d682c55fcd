"""Warnings of other libraries are silenced or recorded by the thread that wants it, as long as it does."""

from __future__ import annotations

import pickle
import warnings
from threading import Event, Thread

import pytest

from orthoboot import warning_scopes
from orthoboot.warning_scopes import filtered, recorded, show_again, silenced, user_filters
from tests import elsewhere


def texts(caught):
    return [str(warning.message) for warning in caught]


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
            found += texts(caught or ())
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
    assert texts(inner) == ["inner"]
    assert texts(outer) == ["outer"]


@pytest.fixture
def other_thread_inside():
    """Another thread has a scope open."""
    inside, done = Event(), Event()

    def stays() -> None:
        with recorded() as caught:
            inside.set()
            done.wait(60)
        assert caught == []

    thread = Thread(target=stays)
    thread.start()
    inside.wait(60)
    yield
    done.set()
    thread.join()


@pytest.mark.usefixtures("other_thread_inside")
def test_warnings_of_other_threads_are_shown_and_raised_as_their_filters_say():
    with pytest.raises(UserWarning, match="an error in these tests"):
        warnings.warn("an error in these tests", stacklevel=1)
    with pytest.warns(UserWarning, match="shown"):
        warnings.warn("shown", stacklevel=1)


def test_filters_of_somebody_else_that_are_brought_back_later_change_nothing():
    before = list(warnings.filters)
    with silenced():
        theirs = warnings.catch_warnings()
        theirs.__enter__()
    theirs.__exit__(None, None, None)
    with pytest.warns(UserWarning, match="shown"):
        warnings.warn("shown", stacklevel=1)
    assert user_filters() == before


def test_a_warning_that_was_shown_before_is_recorded_again():
    def warns() -> None:
        warnings.warn("each time", stacklevel=1)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        warns()
        with recorded() as caught:
            warns()
    assert len(shown) == len(caught) == 1


def test_filters_that_are_given_decide():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message="of no interest")
        warnings.filterwarnings("error", category=RuntimeWarning)
        filters = user_filters()
    with filtered(filters) as caught:
        warnings.warn("of no interest", stacklevel=1)
        warnings.warn("of interest", stacklevel=1)
        with pytest.raises(RuntimeWarning, match="too much"):
            warnings.warn("too much", RuntimeWarning, stacklevel=1)
    assert texts(caught) == ["of interest"]


def test_the_filter_survives_pickle_and_applies_to_nobody_elsewhere():
    with silenced():
        copied = pickle.loads(pickle.dumps(list(warnings.filters)))
        assert len(copied) == len(user_filters()) + 1
    with warnings.catch_warnings():
        warnings.filters[:] = copied
        with pytest.warns(UserWarning, match="shown"):
            warnings.warn("shown", stacklevel=1)


def test_recorded_warnings_are_shown_again_as_they_came():
    with recorded() as caught:
        warnings.warn("again", RuntimeWarning, stacklevel=1)
    with pytest.warns(RuntimeWarning, match="again") as shown:
        show_again(caught)
    assert shown[0].filename == __file__


def test_a_thread_that_looks_for_its_filter_passes_over_none_while_a_scope_closes(monkeypatch):
    opened, close, closed = Event(), Event(), Event()

    def in_a_scope():
        with silenced():
            opened.set()
            close.wait()
        closed.set()

    plain = warning_scopes._InScope.__subclasscheck__

    def with_a_switch_of_threads(cls, category):
        if not closed.is_set():
            close.set()
            closed.wait()
        return plain(cls, category)

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", UserWarning)
        other = Thread(target=in_a_scope)
        other.start()
        opened.wait()
        monkeypatch.setattr(warning_scopes._InScope, "__subclasscheck__", with_a_switch_of_threads)
        warnings.warn("the first filter ignores it", stacklevel=1)
        other.join()
    assert closed.is_set()

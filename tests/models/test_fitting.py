"""What fits of all kinds have in common: what is found is found once."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass

import pytest
from tests import elsewhere

from orthoboot.models.fitting import found_once


@dataclass(frozen=True, eq=False)
class Slow:
    """Counts how often it looks for its value."""

    searches: list[int]

    @found_once
    def value(self) -> object:
        """Return an object that is another one in every search."""
        self.searches.append(1)
        time.sleep(0.02)
        return [len(self.searches)]

    @found_once
    def missing(self) -> object:
        """Raise."""
        self.searches.append(1)
        raise ArithmeticError


def test_one_thread_finds_for_all() -> None:
    slow = Slow([])
    found = elsewhere.in_threads(lambda number: slow.value)
    assert len(slow.searches) == 1
    assert all(value is found[0] for value in found)


def test_what_was_not_found_is_looked_for_again() -> None:
    slow = Slow([])
    for _ in range(2):
        with pytest.raises(ArithmeticError):
            _ = slow.missing
    assert len(slow.searches) == 2


def test_what_was_found_is_pickled_with_its_object() -> None:
    slow = Slow([])
    expected = slow.value
    again = pickle.loads(pickle.dumps(slow))
    assert again.value == expected
    assert len(again.searches) == 1


def test_it_is_described_by_its_own_docstring() -> None:
    assert Slow.value.__doc__ == "Return an object that is another one in every search."


def test_an_instance_may_use_others_in_threads_while_it_is_computed() -> None:
    @dataclass(frozen=True, eq=False)
    class Nested:
        parts: list[Slow]

        @found_once
        def values(self) -> list[object]:
            return elsewhere.in_threads(lambda number: self.parts[number % 2].value)

    assert Nested([Slow([]), Slow([])]).values == [[1]] * elsewhere.N_THREADS

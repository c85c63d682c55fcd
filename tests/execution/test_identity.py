"""What tells runs apart is the same in every process, and whatever a statistic holds can be looked at."""

from __future__ import annotations

import decimal
import enum
import functools
import operator
import os
import subprocess
import sys
import types

import numpy as np
import pytest

from orthoboot.execution.identity import _digest

OF_SETS = """
from orthoboot.execution.identity import _digest

def statistic(x, kind="mean"):
    return x.mean() if kind in {"mean", "average", "expectation"} else x[0]

print(_digest([statistic, {"one", "two", "three"}, frozenset(["four", "five"])]))
"""


def test_sets_count_by_their_entries_in_whatever_order_a_process_has_them():
    digests = {
        subprocess.run(
            [sys.executable, "-c", OF_SETS],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert _digest({"one"}) != _digest({"two"})


def test_a_tensor_that_is_trained_counts_by_its_numbers():
    torch = pytest.importorskip("torch")
    one, same, other = (torch.nn.Parameter(torch.full((2,), value)) for value in (1.0, 1.0, 2.0))
    assert _digest(one) == _digest(same) != _digest(other)


CONSTANT = 1.0


def helper(x):
    return x + CONSTANT


class Powered:
    def __init__(self, power):
        self.power = power

    def __call__(self, x):
        return x**self.power

    def method(self, x):
        return x**self.power


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def frame(**changes):
    pandas = pytest.importorskip("pandas")
    columns = {"number": [1.0, 2.0], "day": pandas.to_datetime(["2020-01-01", "2020-01-02"]), "name": ["a", "b"]}
    options = {"index": [0, 1], "categories": ["a", "b"]} | changes
    table = pandas.DataFrame(columns, index=options["index"])
    return table.astype({"name": pandas.CategoricalDtype(options["categories"])})


def nested(bins):
    compose, pipeline = pytest.importorskip("sklearn.compose"), pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    steps = pipeline.make_pipeline(preprocessing.KBinsDiscretizer(bins))
    return pipeline.make_pipeline(compose.make_column_transformer((pipeline.make_pipeline(steps), [0])))


def object_array(number):
    return np.array([decimal.Decimal(number)], dtype=object)


PAIRS = {
    "attribute": lambda: (Powered(1), Powered(2)),
    "class attribute": lambda: tuple(type("Constant", (Powered,), {"constant": number}) for number in (1, 2)),
    "bound method": lambda: (Powered(1).method, Powered(2).method),
    "closure": lambda: tuple((lambda power: lambda x: power(x))(Powered(number)) for number in (1, 2)),
    "ufunc": lambda: (np.sqrt, np.square),
    "vectorised function": lambda: (np.vectorize(lambda x: x + 1), np.vectorize(lambda x: x + 2)),
    "cached function": lambda: (functools.cache(lambda x: x + 1), functools.cache(lambda x: x + 2)),
    "name of a method": lambda: (operator.methodcaller("mean"), operator.methodcaller("median")),
    "decimal": lambda: (decimal.Decimal("1.1"), decimal.Decimal("1.2")),
    "enumeration": lambda: (Color.RED, Color.BLUE),
    "namespace": lambda: (types.SimpleNamespace(a=1), types.SimpleNamespace(a=2)),
    "generator": lambda: (np.random.default_rng(1), np.random.default_rng(2)),
    "empty text": lambda: (lambda x: x.replace("", "b"), lambda x: x.replace("b", "")),
    "step of a pipeline": lambda: (nested(3), nested(9)),
    "index of a frame": lambda: (frame(), frame(index=[1, 2])),
    "order of categories": lambda: (frame(), frame(categories=["b", "a"])),
    "cells that are objects": lambda: (object_array(1), object_array(2)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_what_differs_is_told_apart(pair):
    one, other = PAIRS[pair]()
    again, _ = PAIRS[pair]()
    assert _digest(one) == _digest(again) != _digest(other)


def test_a_constant_that_a_function_or_its_helper_reads_belongs_to_it(monkeypatch):
    def statistic(x):
        return helper(x)

    before = _digest(statistic)
    monkeypatch.setattr(sys.modules[__name__], "CONSTANT", 5.0)
    assert _digest(statistic) != before


def test_a_docstring_does_not():
    def documented(words):
        scope = {"__name__": __name__}
        exec(f"def f(x):\n    {words!r}\n    return x + 1", scope)
        return scope["f"]

    assert _digest(documented("one")) == _digest(documented("two"))


def test_values_that_hold_each_other_are_gone_through_once():
    graph = {number: {} for number in range(30)}
    for entries in graph.values():
        entries.update(graph)
    assert _digest(graph) == _digest(graph)


def test_equal_parts_count_alike_whether_they_are_one_object_or_two():
    shared = [1, 2]
    assert _digest([shared, shared]) == _digest([[1, 2], [1, 2]]) != _digest([[1, 2], [1, 3]])

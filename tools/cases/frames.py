"""Frames, series and tables of the three libraries, whose columns name the outputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import orthoboot as ob
from tools.cases.base import COLUMN, TABLE, TWO_SAMPLES, answer, paired_answer

COLUMNS = {"age": TABLE[:, 0], "dose": TABLE[:, 1], "height": TABLE[:, 2]}


class Library:
    """A frame library: how its containers are made."""

    def __init__(self, name: str) -> None:
        self.module = import_module(name)
        self.name = name

    def frame(self, columns: dict[str, Any]) -> Any:
        """Return a frame of columns."""
        return self.module.table(columns) if self.name == "pyarrow" else self.module.DataFrame(columns)

    def series(self, values: Any) -> Any:
        """Return one column."""
        return self.module.array(values) if self.name == "pyarrow" else self.module.Series(values)

    def mean_of_age(self, frame: Any) -> float:
        """Return a statistic of a frame, by the name of a column."""
        column = frame.column("age") if self.name == "pyarrow" else frame["age"]
        return float(np.mean(np.asarray(column)))


def _mixed(library: Library) -> ob.Result:
    kinds = {"kind": ["a", "b", "c"] * 20}
    return answer(library.frame(COLUMNS | kinds), library.mean_of_age)


ASKED: dict[str, Callable[[Library], ob.Result]] = {
    "frame": lambda library: answer(library.frame(COLUMNS), ob.mean),
    "frame, quantiles": lambda library: answer(library.frame(COLUMNS), ob.quantile([0.25, 0.75])),
    "frame, plain function": lambda library: answer(library.frame(COLUMNS), library.mean_of_age),
    "frame, words": _mixed,
    "frame, words for an entry": lambda library: answer(library.frame({"kind": ["a", "b"] * 20}), ob.mean),
    "series": lambda library: answer(library.series(COLUMN), ob.variance),
    "two series": lambda library: answer(
        tuple(library.series(sample) for sample in TWO_SAMPLES), ob.difference(ob.mean)
    ),
    "regression": lambda library: paired_answer(
        (library.frame(COLUMNS), library.series(COLUMN)), ob.linear_regression.replace(intercept=True)
    ),
    "groups": lambda library: answer(library.frame(COLUMNS), ob.mean, groups=library.series(np.arange(60) // 4)),
    "missing value": lambda library: answer(library.series([1.0, None, 3.0, 4.0]), ob.mean),
}


def _answer(library: str, asked: Callable[[Library], ob.Result]) -> ob.Result:
    return asked(Library(library))


CASES = {
    f"{library}, {name}": partial(_answer, library, asked)
    for library in ("pandas", "polars", "pyarrow")
    for name, asked in ASKED.items()
}

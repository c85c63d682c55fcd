"""A case: one call of `bootstrap`, as a function of a number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tools.fuzz import calls, catalogue, containers
from tools.fuzz.samples import Samples, number_of_rows

MOST_SHOWN = 40
"""Numbers beyond which a snippet names the case instead of writing its data out."""


@dataclass(frozen=True)
class Case:
    """One call of `bootstrap`.

    Attributes
    ----------
    number
        What everything else follows from.
    row
        The statistic's row, with its laws.
    chosen
        The statistic with its options.
    samples
        The data as arrays of float64, one for each argument of the statistic.
    holders
        The name of the container that each of them is passed in.
    plan
        The arguments that say how rows are resampled.
    options
        All other arguments.
    """

    number: int
    row: catalogue.Row
    chosen: catalogue.Chosen
    samples: Samples
    holders: tuple[str, ...]
    plan: dict[str, Any]
    options: dict[str, Any]

    @property
    def statistic(self) -> Any:
        """Return the statistic."""
        return self.chosen.statistic

    @property
    def paired(self) -> bool:
        """Return whether the rows of several arrays belong together."""
        return self.row.paired and len(self.samples) > 1

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the rows of each sample that is drawn on its own."""
        sizes = tuple(len(sample) for sample in self.samples)
        return sizes[:1] if self.paired else sizes

    @property
    def degree(self) -> float | None:
        """Return the power of c by which the statistic changes with the data."""
        degree = self.row.degree
        return degree(self.statistic) if callable(degree) else degree

    @property
    def changed(self) -> tuple[int, ...]:
        """Return the numbers of the arrays to which the laws apply."""
        return tuple(range(len(self.samples))) if self.row.changed is None else self.row.changed

    @property
    def containers(self) -> tuple[Any, ...]:
        """Return the samples as they are passed."""
        return tuple(containers.held(name, sample) for name, sample in zip(self.holders, self.samples, strict=True))

    def arguments(self, **changes: Any) -> dict[str, Any]:
        """Return the arguments of the call, with `changes`; None takes one out."""
        merged = {**self.plan, **self.options, **changes} | ({"paired": True} if self.paired else {})
        return {name: value for name, value in merged.items() if value is not None}

    def snippet(self) -> str:
        """Return the call as code."""
        drawn = f"case = drawn({self.number})"
        data = [_written(name, sample) for name, sample in zip(self.holders, self.samples, strict=True)]
        shown = sum(sample.size for sample in self.samples) <= MOST_SHOWN
        given = (data[0] if len(data) == 1 else f"({', '.join(data)})") if shown else "case.data"
        arguments = ", ".join(f"{name}={_literal(value)}" for name, value in self.arguments().items())
        call = f"ob.bootstrap({given}, {self.chosen.words}, {arguments})"
        sizes = " + ".join(str(sample.shape) for sample in self.samples)
        return call if shown else f"{drawn}  # of tools.fuzz.cases: {sizes} in {', '.join(self.holders)}\n    {call}"

    @property
    def data(self) -> Any:
        """Return what is passed as `data`."""
        return self.containers[0] if len(self.samples) == 1 else self.containers


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    if not isinstance(value, np.ndarray):
        return repr(value)
    return repr(value.tolist()) if value.size <= MOST_SHOWN else f"<{value.size} labels>"


def _written(name: str, sample: np.ndarray) -> str:
    array = f"np.array({sample.tolist()})"
    return array if name == containers.PLAIN else f"held({name!r}, {array})"


def drawn(number: int) -> Case:
    """Return the case with this number."""
    rng = np.random.default_rng(number)
    row = catalogue.row(rng)
    chosen = row.choose(rng)
    samples = tuple(_within(row, sample) for sample in row.draw(rng, number_of_rows(rng, row.most_rows)))
    names = [containers.container_name(rng, labelled=row.reads_labels) for _ in samples]
    samples = tuple(_representable(name, sample) for name, sample in zip(names, samples, strict=True))
    holders = tuple(containers.usable(name, sample) for name, sample in zip(names, samples, strict=True))
    case = Case(number, row, chosen, samples, holders, {}, {})
    plan = calls.plan(rng, case.sizes)
    options = calls.options(rng, row, case.sizes)
    return Case(number, row, chosen, samples, holders, plan, options)


def _within(row: catalogue.Row, sample: np.ndarray) -> np.ndarray:
    """Return numbers in the range that the statistic can take."""
    largest = float(np.abs(sample).max())
    decade = np.log10(largest) if largest else 0.0
    beyond = decade - np.clip(decade, -row.decades, row.decades)
    return sample / 10.0**beyond if beyond else sample


def _representable(name: str, sample: np.ndarray) -> np.ndarray:
    """Return numbers that the container can hold: those of float32 are rounded to it where they are in its range."""
    if name != "float32":
        return sample
    with np.errstate(all="ignore"):
        rounded = sample.astype(np.float32).astype(np.float64)
    return rounded if np.isfinite(rounded).all() else sample

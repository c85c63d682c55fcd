"""Run cases, and group what is wrong."""

from __future__ import annotations

import re
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tools.fuzz.cases import Case, drawn
from tools.fuzz.invariances import ALWAYS, SOMETIMES, Invariance, Questioned
from tools.fuzz.outcomes import Outcome, answer

N_DRAWN = 2
"""How many of the invariances that ask again are tried for each case."""


class Failure(NamedTuple):
    """What is wrong with a case."""

    number: int
    statistic: str
    invariance: str
    message: str
    snippet: str

    @property
    def group(self) -> tuple[str, str, str]:
        """Return what failures have in common that have the same cause, most likely: the message without numbers."""
        return self.statistic, self.invariance, _shape(self.message)


def _shape(message: str) -> str:
    """Return the first words of a message, with every number replaced."""
    return re.sub(r"-?(\d[\d_,]*\.?\d*(e[-+]?\d+)?|\binf\b|\bnan\b)", "#", message)[:90]


class Checked(NamedTuple):
    """A case that was run."""

    number: int
    outcome: str
    failures: tuple[Failure, ...]
    seconds: float


def checked(number: int) -> Checked:
    """Return what came of the case with this number."""
    start = time.perf_counter()
    case = drawn(number)
    found = answer(case)
    failures = tuple(_failures(case, found))
    return Checked(number, _kind(found), failures, time.perf_counter() - start)


def _kind(found: Outcome) -> str:
    if found.error is not None:
        return f"refused: {type(found.error).__name__}" if found.refused else "foreign error"
    return "answered with warnings" if found.result.warnings else "answered"


def _failures(case: Case, found: Outcome) -> Iterator[Failure]:
    # A generator of its own: a new invariance must not change the data of all cases.
    rng = np.random.default_rng([case.number, 1])
    again = [SOMETIMES[i] for i in rng.choice(len(SOMETIMES), min(N_DRAWN, len(SOMETIMES)), replace=False)]
    for one in (*ALWAYS, *again):
        if found.error is not None and one.needs_result:
            continue
        message = _message(one, Questioned(case, found, rng))
        if message is not None:
            yield Failure(case.number, case.row.name, one.name, message, case.snippet())


def _message(one: Invariance, asked: Questioned) -> str | None:
    # What is shown while an invariance looks at an answer again was judged when the answer was given.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return one.check(asked)
        except Exception as error:
            return f"the check itself raised {type(error).__name__}: {error} ({_last_line(error)})"


def _last_line(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"


@dataclass
class Summary:
    """Counts over all cases that were run."""

    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    slowest: list[tuple[float, int]] = field(default_factory=list)

    def add(self, one: Checked) -> None:
        """Count one more case."""
        self.cases += 1
        self.outcomes[one.outcome] += 1
        self.failures.extend(one.failures)
        self.slowest = sorted([*self.slowest, (one.seconds, one.number)], reverse=True)[:5]

    def report(self, seconds: float) -> str:
        """Return the summary as text."""
        lines = [f"{self.cases} cases in {seconds:.0f} s, {self.cases / max(seconds, 1e-9):.1f} a second."]
        lines += [f"  {count:6} {kind}" for kind, count in self.outcomes.most_common()]
        lines.append("slowest: " + ", ".join(f"case {number} {took:.1f} s" for took, number in self.slowest))
        groups = grouped(self.failures)
        lines.append(f"{len(self.failures)} failures in {len(groups)} groups.")
        for (statistic, invariance, _), members in groups:
            first = min(members, key=lambda failure: len(failure.snippet))
            numbers = ", ".join(str(failure.number) for failure in members[:6])
            lines.append(f"\n{len(members)} x {statistic} | {invariance} | cases {numbers}\n    {first.message[:600]}")
            lines.append(f"    {first.snippet[:1500]}")
        return "\n".join(lines)


def grouped(failures: Iterable[Failure]) -> list[tuple[tuple[str, str, str], list[Failure]]]:
    """Return the failures by statistic, invariance and message, the most frequent group first."""
    groups: dict[tuple[str, str, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.group, []).append(failure)
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))

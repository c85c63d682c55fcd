"""A report with the run that it comes from, for all kinds of output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orthoboot as ob
from orthoboot.paper.experiment import Case, Experiment, Outcomes, Settings
from orthoboot.presentation.report import Report

LEGEND = (
    "Ours ± one standard error of the simulation, beside what the paper prints; ≠ where the two differ by more than "
    "three errors of the difference: our simulation's, the paper's and its rounding. One in 400 differs so by chance."
)
PAPER = (
    "Kaizhao Liu, Jose Blanchet, Lexing Ying and Yiping Lu: Orthogonal Bootstrap: Efficient Simulation of Input "
    "Uncertainty. ICML 2024. Names such as `table: ci` are the labels in its LaTeX source."
)


@dataclass(frozen=True)
class Section:
    """A report with its cases and settings.

    Attributes
    ----------
    name
        Of the experiment.
    report
        Its words, tables and figures.
    cases
        What was repeated, and how often.
    settings
        What was asked for.
    """

    name: str
    report: Report
    cases: Sequence[Case]
    settings: Settings

    @classmethod
    def of(cls, experiment: Experiment, found: Outcomes, settings: Settings) -> Section:
        """Return the section of an experiment, from all its outcomes."""
        return cls(experiment.name, experiment.report(found, settings), experiment.cases(settings), settings)

    def stem(self, name: str) -> str:
        """Return the name of a table's or figure's file without its ending; no two experiments share one."""
        return name if f"{name}-".startswith(f"{self.name}-") else f"{self.name}-{name}"

    @property
    def compares(self) -> bool:
        """Return whether a table has figures of the paper."""
        return any(table.compared(column) for table in self.report.tables for column in range(len(table.columns)))

    @property
    def sizes(self) -> str:
        """Return a description of how often each case was repeated."""
        return "; ".join(f"{case.name}: {case.repetitions:,}" for case in self.cases)


def run_in_words(settings: Settings) -> str:
    """Return a description of the run, enough to reproduce its numbers."""
    extent = "quick (fewer repetitions)" if settings.quick else "full"
    return f"orthoboot {ob.__version__}, seed {settings.seed}, {extent}"

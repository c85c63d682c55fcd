"""From names of experiments to files: run what is missing, report, draw, and put all of it on one page."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy

import orthoboot as ob
from orthoboot.arguments import checked_count, checked_name
from orthoboot.errors import (
    ArgumentError,
    DataError,
    FitError,
    InfluenceError,
    MissingDependencyError,
    ReplicationError,
    StatisticError,
)
from orthoboot.paper import EXPERIMENTS
from orthoboot.paper.experiment import Report, Settings
from orthoboot.paper.presentation.page import html_page
from orthoboot.paper.presentation.pictures import Picture, drawn
from orthoboot.paper.presentation.section import Section
from orthoboot.paper.presentation.style import check_matplotlib
from orthoboot.paper.presentation.text import csv_table, markdown
from orthoboot.paper.run import outcomes
from orthoboot.paper.store import Store, parts_of

ALL = "all"
"""Stands for every experiment."""
LEFT_OUT = (
    ArgumentError,
    DataError,
    FitError,
    InfluenceError,
    MissingDependencyError,
    OSError,
    ReplicationError,
    StatisticError,
)
"""What stops one experiment and not the others: mostly a data set or a package that is not there."""


def reproduce(
    names: str | Iterable[str],
    *,
    out: str | os.PathLike[str],
    quick: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    data: str | os.PathLike[str] | None = None,
    show: Callable[[Section], None] | None = None,
) -> list[Report]:
    """Return the reports of some experiments of the paper, and write their files and one page with all of them.

    What an earlier run in the same folder has finished is not computed again, whatever moment it was stopped at.

    Parameters
    ----------
    names
        Keys of `EXPERIMENTS`, or ``"all"``.
    out
        The folder of the files: one Markdown file for each experiment, CSV for each table, PNG and SVG for each figure,
        ``index.html``, ``run.json``, and in ``parts`` the outcomes. The page has every experiment that is complete
        there under the same seed and size.
    quick
        Fewer repetitions.
    seed
        Of all random numbers.
    jobs
        How many processes; by default as many as there are cores for this one. The numbers do not depend on it.
    data
        A folder with the data sets as CSV files; by default they are fetched.
    show
        Called with each experiment as it is done.

    Raises
    ------
    ExceptionGroup
        Of what stopped some of several experiments, each with a note that names it, after the others are done.
    """
    asked = checked_names(names)
    settings = Settings(bool(quick), checked_count("seed", seed, least=0), _checked_data(data))
    jobs = available_cores() if jobs is None else checked_count("jobs", jobs, least=1)
    check_matplotlib()
    gallery = _Gallery(_checked_out(out), settings)
    gallery.write_run(asked)
    gallery.add_complete(set(EXPERIMENTS) - set(asked))
    failures = []
    for name in asked:
        try:
            section = gallery.add(name, jobs)
        except LEFT_OUT as error:
            if len(asked) == 1:
                raise
            error.add_note(name)
            failures.append(error)
        else:
            gallery.write_page()
            if show is not None:
                show(section)
    if failures:
        raise ExceptionGroup("some experiments were left out", failures)
    return [gallery.sections[name].report for name in asked]


@dataclass(frozen=True)
class _Gallery:
    """The folder of a run, with what is finished in it."""

    out: Path
    settings: Settings
    sections: dict[str, Section] = field(default_factory=dict)
    pictures: dict[str, Picture] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return _store(self.out, self.settings)

    def add(self, name: str, jobs: int) -> Section:
        """Run what is missing of an experiment, and write its files."""
        experiment = EXPERIMENTS[name]
        found = outcomes(experiment, self.settings, self.store, jobs=jobs)
        section = Section.of(experiment, found, self.settings)
        for table in section.report.tables:
            self._write(f"{section.stem(table.name)}.csv", csv_table(table))
        for figure in section.report.figures:
            stem = section.stem(figure.name)
            self.pictures[stem] = drawn(figure)
            (self.out / f"{stem}.png").write_bytes(self.pictures[stem].png)
            (self.out / f"{stem}.svg").write_bytes(self.pictures[stem].svg)
        self._write(f"{name}.md", markdown(section))
        self.sections[name] = section
        return section

    def add_complete(self, names: Iterable[str]) -> None:
        """Add the experiments of which an earlier run has left nothing to do, and write the page if there are any."""
        for name in names:
            # Without parts of it nothing is asked of an experiment: to know its cases, it may have to fetch data.
            if (self.out / "parts" / name).is_dir():
                with suppress(*LEFT_OUT):
                    kept, repetitions = _kept(name, self.out, self.settings)
                    if kept == repetitions:
                        self.add(name, jobs=1)
        if self.sections:
            self.write_page()

    def write_page(self) -> None:
        """Write the page with all that is there, in the order of `EXPERIMENTS`."""
        sections = [self.sections[name] for name in EXPERIMENTS if name in self.sections]
        self._write("index.html", html_page(sections, self.pictures))

    def write_run(self, names: Sequence[str]) -> None:
        """Write what another person needs to get the same numbers."""
        described = {
            "orthoboot": ob.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
            "names": list(names),
            "seed": self.settings.seed,
            "quick": self.settings.quick,
        }
        self._write("run.json", json.dumps(described, indent=2) + "\n")

    def _write(self, file: str, text: str) -> None:
        (self.out / file).write_text(text, encoding="utf-8", newline="\n")


def kept_repetitions(names: str | Iterable[str], out: str | os.PathLike[str], settings: Settings) -> tuple[int, int]:
    """Return how many repetitions of some experiments a folder has, and how many there are in all."""
    kept, repetitions = 0, 0
    for name in checked_names(names):
        with suppress(*LEFT_OUT):  # an experiment that cannot run has none to come
            of_one = _kept(name, Path(out), settings)
            kept, repetitions = kept + of_one[0], repetitions + of_one[1]
    return kept, repetitions


def _kept(name: str, out: Path, settings: Settings) -> tuple[int, int]:
    store = _store(out, settings)
    parts = list(parts_of(EXPERIMENTS[name], settings))
    kept = sum(len(part.repetitions) for part in parts if store.load(part) is not None)
    return kept, sum(len(part.repetitions) for part in parts)


def _store(out: Path, settings: Settings) -> Store:
    return Store(out / "parts", settings)


def checked_names(names: str | Iterable[str]) -> list[str]:
    """Return the experiments that are asked for, each once, in the order of `EXPERIMENTS`."""
    asked = [
        checked_name("names", name, [*EXPERIMENTS, ALL]) for name in ([names] if isinstance(names, str) else names)
    ]
    if not asked:
        raise ArgumentError(f"`names` must name at least one experiment: {', '.join(EXPERIMENTS)} or {ALL}; got none.")
    return [name for name in EXPERIMENTS if name in asked or ALL in asked]


def _checked_data(data: str | os.PathLike[str] | None) -> Path | None:
    if data is None:
        return None
    folder = Path(data)
    if not folder.is_dir():
        raise ArgumentError(
            f"`data` must be an existing folder with the data sets as CSV files; got {str(data)!r}. "
            "Leave it out to fetch them."
        )
    return folder


def _checked_out(out: str | os.PathLike[str]) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(
            f"`out` must be a folder, or one that can be made; got {str(out)!r}: {error.strerror}."
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ArgumentError(f"`out` must be a folder that can be written to; got {str(out)!r}.")
    return folder


def available_cores() -> int:
    """Return how many cores this process may use, which on a shared machine can be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

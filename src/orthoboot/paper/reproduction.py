"""Reproduce experiments: run what is missing, and write tables, figures and one page."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orthoboot as ob
from orthoboot.arguments import checked_count, checked_name
from orthoboot.errors import ArgumentError, in_words
from orthoboot.execution.store import write_atomically
from orthoboot.paper import EXPERIMENTS
from orthoboot.paper.experiment import Settings
from orthoboot.paper.markdown import markdown_report
from orthoboot.paper.page import Excerpt, excerpt, html_page
from orthoboot.paper.run import outcomes
from orthoboot.paper.section import Section, run_in_words
from orthoboot.paper.store import PACKAGES, Store, code_digest, version_of
from orthoboot.presentation.figures import drawn
from orthoboot.presentation.report import Report
from orthoboot.presentation.style import check_matplotlib
from orthoboot.presentation.text import csv_table

ALL = "all"
"""Stands for every experiment."""


def reproduce(
    names: str | Iterable[str],
    *,
    out: str | os.PathLike[str],
    quick: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    data: str | os.PathLike[str] | None = None,
    show: Callable[[Section], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> list[Report]:
    """Return the reports of some experiments of the paper, and write their files and one page with all of them.

    What an earlier run in the same folder has finished is not computed again, whatever moment it was stopped at.

    Parameters
    ----------
    names
        Keys of `EXPERIMENTS`, or ``"all"``.
    out
        The folder of the files: one Markdown file for each experiment, CSV for each table, PNG and SVG for each figure,
        ``index.html``, ``run.json``, and in ``parts`` the outcomes. The page has every experiment that was reproduced
        there with the same version, seed and size.
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
    tell
        Called with a sentence on what the caller should know: which of several experiments cannot be done, as soon as
        that is known, and what in the folder is of another run.

    Raises
    ------
    ExceptionGroup
        Of what stopped some of several experiments, each with a note that says where, after the others are done.
    """
    asked = checked_names(names)
    settings = Settings(bool(quick), checked_count("seed", seed, least=0), _checked_data(data))
    jobs = available_cores() if jobs is None else checked_count("jobs", jobs, least=1)
    check_matplotlib("a reproduction with its figures", extra="paper")
    gallery = _Gallery(_checked_out(out), settings)
    other_runs = gallery.other_runs(asked)
    if other_runs and tell is not None:
        tell(f"{gallery.out} also has {', '.join(other_runs)} of another run, which will not be on the page.")
    failures = _Failures(alone=len(asked) == 1, tell=tell)
    possible = []
    for name in asked:
        # Data that are not there are known now, and not after an hour.
        with failures.collected(name):
            EXPERIMENTS[name].cases(settings)
            possible.append(name)
    for name in possible:
        with failures.collected(name):
            section = gallery.add(name, jobs)
            gallery.write_page()
            if show is not None:
                show(section)
    if failures.found:
        raise ExceptionGroup("some experiments were left out", failures.found)
    return [gallery.sections[name].report for name in asked]


@dataclass(frozen=True)
class _Failures:
    """The errors of single experiments."""

    alone: bool
    tell: Callable[[str], None] | None
    found: list[Exception] = field(default_factory=list)

    @contextmanager
    def collected(self, name: str) -> Iterator[None]:
        """Collect the errors of several experiments; raise that of a single one."""
        try:
            yield
        except OSError:  # a full disk, on which no other experiment could be kept either
            raise
        except Exception as error:  # of whatever kind: it must not cost the other experiments
            if self.alone:
                raise
            self.found.append(error)
            if not hasattr(error, "__notes__"):
                error.add_note(name)
            if self.tell is not None:
                self.tell(f"{name} is left out: {in_words(error)}")


@dataclass(frozen=True)
class _Gallery:
    """The output folder of a run."""

    out: Path
    settings: Settings
    sections: dict[str, Section] = field(default_factory=dict)

    @property
    def parts(self) -> Path:
        return self.out / "parts"

    def add(self, name: str, jobs: int) -> Section:
        """Run what is missing of an experiment, and write its files."""
        experiment = EXPERIMENTS[name]
        found = outcomes(experiment, self.settings, Store(self.parts, self.settings), jobs=jobs)
        section = Section.of(experiment, found, self.settings)
        for table in section.report.tables:
            self._write(f"{section.stem(table.name)}.csv", csv_table(table))
        pictures = {section.stem(figure.name): drawn(figure) for figure in section.report.figures}
        for stem, picture in pictures.items():
            write_atomically(self.out / f"{stem}.png", picture.png)
            write_atomically(self.out / f"{stem}.svg", picture.svg)
        self._write(f"{name}.md", markdown_report(section))
        self._write(f"parts/{name}.json", json.dumps(asdict(excerpt(section, pictures))))
        self.add_run(name)
        self.sections[name] = section
        return section

    def write_page(self) -> None:
        """Write the page with all experiments that were reproduced here by this version with these settings."""
        run = run_in_words(self.settings)
        kept = [_kept(self.parts / f"{name}.json") for name in EXPERIMENTS]
        shown = [Excerpt(**one) for one in kept if one.get("run") == run]
        missing = [name for name in EXPERIMENTS if name not in {one.name for one in shown}]
        self._write("index.html", html_page(shown, run, missing))

    def add_run(self, name: str) -> None:
        """Add what is needed to reproduce an experiment to the file of runs."""
        self._write("run.json", json.dumps({**self.runs(), name: _run(self.settings)}, indent=2) + "\n")

    def runs(self) -> dict[str, Any]:
        """Return the run behind the files of each experiment in the folder."""
        return _kept(self.out / "run.json")

    def other_runs(self, asked: Sequence[str]) -> list[str]:
        """Return the experiments whose files stay in the folder and come from another run."""
        runs = {name: run for name, run in self.runs().items() if name not in asked}
        return [name for name, run in runs.items() if run != _run(self.settings)]

    def _write(self, file: str, text: str) -> None:
        write_atomically(self.out / file, text.encode())


def _kept(file: Path) -> dict[str, Any]:
    """Return what an earlier run wrote, or nothing if it is missing or invalid."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _run(settings: Settings) -> dict[str, Any]:
    return {
        "orthoboot": ob.__version__,
        "seed": settings.seed,
        "quick": settings.quick,
        "code": code_digest(),
        "python": platform.python_version(),
        **{package: version_of(package) for package in PACKAGES},
    }


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
    if not str(data).strip() or not folder.is_dir():
        raise ArgumentError(
            f"`data` must be an existing folder with the data sets as CSV files; got {str(data)!r}. "
            "Leave it out to fetch them."
        )
    return folder


def _checked_out(out: str | os.PathLike[str]) -> Path:
    if not str(out).strip():
        raise ArgumentError(f"`out` must be a folder, or one that can be made; got {str(out)!r}.")
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

"""Where answers go: standard output, files, a page and a picture; all of it checked before anything is computed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orthoboot.errors import ArgumentError, MissingDependencyError

if TYPE_CHECKING:
    from orthoboot.cli.answers.answer import Publication

_PICTURES = (".png", ".svg", ".pdf")
_PAGES = (".html", ".htm")
_INTERRUPTED = 130


@dataclass(frozen=True)
class Destinations:
    """What a command was asked to write.

    Attributes
    ----------
    as_json
        Whether standard output is JSON.
    output, report, plot
        Files for the numbers, the page and the picture.
    """

    as_json: bool = False
    output: str | None = None
    report: str | None = None
    plot: str | None = None

    def check(self) -> None:
        """Raise unless every file can be written."""
        for option, path, suffixes in (
            ("--output", self.output, tuple(_WRITERS)),
            ("--report", self.report, _PAGES),
            ("--plot", self.plot, _PICTURES),
        ):
            if path is not None:
                _check_suffix(option, path, suffixes)
                _check_writable(option, path)
        if self.report is not None or self.plot is not None:
            _choose_drawing(needed=self.plot is not None)

    def publish(self, publication: Publication) -> int:
        """Write and print the answers; return the exit code."""
        if self.output is not None:
            _WRITERS[Path(self.output).suffix.lower()](publication, Path(self.output))
        self._draw(publication)
        _print(_json(publication) if self.as_json else _text(publication))
        return _INTERRUPTED if any(answer.interrupted for answer in publication.answers) else 0

    def _draw(self, publication: Publication) -> None:
        """Write the page and the picture, of several answers one each."""
        for path, source in _files(self.report, publication):
            source.to_html(path, command=publication.typed or None)
        for path, source in _files(self.plot, publication):
            axes = source.plot("interval" if len(source.names) == 1 else "forest")
            axes.figure.savefig(path, bbox_inches="tight")


def _check_suffix(option: str, path: str, suffixes: tuple[str, ...]) -> None:
    if Path(path).suffix.lower() not in suffixes:
        raise ArgumentError(f"`{option}` must be a file that ends in {', '.join(suffixes)}; got {path!r}.")


def _check_writable(option: str, path: str) -> None:
    """Raise unless a file can be written; permissions alone do not tell, so one is opened."""
    there = os.path.lexists(path)
    try:
        with open(path, "ab"):
            pass
    except OSError as error:
        raise ArgumentError(f"`{option}` must be a file that can be written; {path!r}: {error.strerror}.") from error
    if not there:
        os.unlink(path)


def _choose_drawing(*, needed: bool) -> None:
    """Have matplotlib draw into files, whatever the terminal; a page does without it, a picture does not."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        if needed:
            raise MissingDependencyError(
                '`--plot` needs matplotlib; install it with `pip install "orthoboot[plot]"`.'
            ) from error
    else:
        mpl.use("Agg")


def _files(path: str | None, publication: Publication) -> Iterator[tuple[Path, Any]]:
    """Yield a file and the result to be shown in it, the label in its name where there are several."""
    if path is None:
        return
    drawn = [answer for answer in publication.answers if answer.source is not None]
    if not drawn:
        raise ArgumentError(f"`orthoboot {publication.command}` has no page or picture; use --output or --json.")
    for number, answer in enumerate(drawn, start=1):
        words = "-".join(re.findall(r"\w+", f"{answer.label} {answer.statistic}")) or str(number)
        whole = Path(path)
        yield whole if len(drawn) == 1 else whole.with_stem(f"{whole.stem}-{words}"), answer.source


def _print(text: str) -> None:
    """Print; a reader that has gone, as `head` does, has read enough."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # What Python still holds would complain when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _json(publication: Publication) -> str:
    from orthoboot.cli.answers.document import json_text

    return json_text(publication)


def _text(publication: Publication) -> str:
    from orthoboot.cli.answers.text import summary

    return summary(publication)


# One writer for each format


def _write_json(publication: Publication, path: Path) -> None:
    path.write_text(_json(publication) + "\n", encoding="utf-8")


def _write_text(publication: Publication, path: Path) -> None:
    from orthoboot.cli.answers.text import summary

    path.write_text(summary(publication, all_rows=True) + "\n", encoding="utf-8")


def _write_csv(publication: Publication, path: Path) -> None:
    from orthoboot.cli.answers.text import table
    from orthoboot.presentation.text import csv_table

    if publication.frame is not None:
        publication.frame.to_csv(path, index=False)
    else:
        path.write_text(csv_table(table(publication)), encoding="utf-8")


def _write_markdown(publication: Publication, path: Path) -> None:
    from orthoboot.cli.answers.text import table
    from orthoboot.presentation.text import markdown_table

    path.write_text(markdown_table(table(publication)) + "\n", encoding="utf-8")


def _write_parquet(publication: Publication, path: Path) -> None:
    import pandas as pd

    from orthoboot.cli.answers.text import table

    if publication.frame is not None:
        publication.frame.to_parquet(path)
        return
    found = table(publication)
    pd.DataFrame(list(found.rows), columns=list(found.columns)).to_parquet(path)


_WRITERS: dict[str, Callable[[Publication, Path], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".md": _write_markdown,
    ".parquet": _write_parquet,
    ".txt": _write_text,
}

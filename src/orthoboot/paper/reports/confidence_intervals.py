"""The table of coverages and widths, ``table: ci``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from orthoboot.paper.experiment import Arrays, Found, Report
from orthoboot.paper.published import INTERVALS, PAPER_EXPERIMENTS, Row
from orthoboot.paper.tables import Cell, Simulated, Table
from orthoboot.typing import FloatArray

_WORDS = {
    "standard, B": "standard, divisor B as the paper's",
    "standard": "standard, divisor B - 1",
    "cheap": "cheap",
    "paper": "the paper's orthogonal",
    "orthogonal": "orthogonal, ours",
    "abc": "ABC, bias of ours",
    "jackknife": "infinitesimal jackknife",
}
_PRINTED = {"standard, B": "standard", "cheap": "cheap", "paper": "paper", "jackknife": "jackknife"}
"""What the paper calls the rows that it has."""

_PARAGRAPHS = (
    "95% intervals of four statistics from B resamples (table: ci of the paper): how often they hold the true value, "
    "how wide they are on average, and the standard deviation of the width. The methods see the same data and the same "
    "resamples; the first two of ten resamples are those of B = 2.",
    "The paper's standard bootstrap divides by B; with B - 1 its variance is unbiased. ABC is not in the paper: it is "
    "second-order accurate, and its ends need not be symmetric about the estimate.",
    "The last table sets the deviations of two estimators side by side. Most of each is the data's, which no estimator "
    "removes; the error is that of the difference, over the same data sets.",
    "The folded normal, double exponential and lognormal have n = 1000; the regression has n = 5000 rows, d = 50 "
    "lognormal columns and noise 10 N(0, 1), and the interval is that of the first coefficient.",
)


def report(found: Found, titles: Mapping[str, str], rows: Sequence[Row]) -> Report:
    """Return one table for each problem, in the order of the paper's columns; `rows` are what was simulated."""
    tables = [_table(column, name, titles[name], rows, found[name]) for column, name in enumerate(titles)]
    tables.append(_table_of_deviations(found, titles, rows))
    lost = [_without_answer(titles[name], rows, found[name]["width"]) for name in titles]
    return Report("Confidence intervals", [*_PARAGRAPHS, *filter(None, lost)], tables)


def _without_answer(title: str, rows: Sequence[Row], widths: FloatArray) -> str:
    """Return in words how many intervals have no ends; nothing where all have them."""
    counts = zip(rows, np.isnan(widths).sum(axis=0), strict=True)
    lost = [f"{count} of {_WORDS[method]} with B = {B}" for (method, B), count in counts if count]
    if not lost:
        return ""
    return (
        f"{title}: of {len(widths)} intervals {', '.join(lost)} have no ends, since the statistic is too skew for the "
        "method; they count as intervals that miss the true value and are left out of the widths."
    )


def _table(column: int, name: str, title: str, rows: Sequence[Row], outcome: Arrays) -> Table:
    cells = [
        [_WORDS[method], "" if B is None else B, *_figures((method, B), column, covered, width)]
        for (method, B), covered, width in zip(rows, outcome["covered"].T, outcome["width"].T, strict=True)
    ]
    headings = ["method", "B", "coverage", "mean width", "its deviation"]
    return Table(f"ci-{name}", f"{title}, {len(outcome['width'])} data sets", headings, cells)


def _figures(row: Row, column: int, covered: FloatArray, width: FloatArray) -> list[Simulated]:
    """Return coverage, mean width and its standard deviation, each with its Monte Carlo error."""
    method, B = row
    printed = INTERVALS[_PRINTED[method], B][column] if method in _PRINTED else (None, None, None)
    size = len(width)
    width = width[~np.isnan(width)]
    deviation = float(width.std(ddof=1))
    # A coverage of one has an error too: two successes and two failures are added before it is estimated.
    share = (covered.sum() + 2) / (size + 4)
    values = (float(covered.mean()), float(width.mean()), deviation)
    errors = (
        np.sqrt(share * (1 - share) / size),
        deviation / np.sqrt(len(width)),
        _influence_on_deviation(width).std() / np.sqrt(len(width)),
    )
    return [
        Simulated(value, float(error), printed=theirs, printed_error=float(error) * np.sqrt(size / PAPER_EXPERIMENTS))
        for value, error, theirs in zip(values, errors, printed, strict=True)
    ]


def _table_of_deviations(found: Found, titles: Mapping[str, str], rows: Sequence[Row]) -> Table:
    """Return how much the widths of our estimator and of the paper's vary, and the difference."""
    cells: list[list[Cell]] = []
    for name, title in titles.items():
        widths = dict(zip(rows, found[name]["width"].T, strict=True))
        for B in dict.fromkeys(B for _, B in rows if B is not None):
            paper, ours = widths["paper", B], widths["orthogonal", B]
            error = float(np.std(_influence_on_deviation(ours) - _influence_on_deviation(paper)) / np.sqrt(len(ours)))
            difference = Simulated(float(ours.std(ddof=1) - paper.std(ddof=1)), error, digits=4)
            cells.append([title, B, *(Simulated(float(w.std(ddof=1)), digits=4) for w in (paper, ours)), difference])
    headings = ["problem", "B", _WORDS["paper"], _WORDS["orthogonal"], "difference"]
    return Table("ci-deviations", "Standard deviation of the width", headings, cells)


def _influence_on_deviation(values: FloatArray) -> FloatArray:
    """Return the influence of each value on the standard deviation, ``((x - mean)**2 - s**2) / (2 s)``."""
    squares = (values - values.mean()) ** 2
    influence: FloatArray = (squares - squares.mean()) / (2 * np.sqrt(squares.mean()))
    return influence

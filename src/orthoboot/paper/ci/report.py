"""The table of coverages and widths, ``table: ci``."""

from __future__ import annotations

import numpy as np

from orthoboot.paper.ci.problems import PROBLEMS, ROWS, SIZES
from orthoboot.paper.experiment import Arrays, Outcomes
from orthoboot.paper.published import INTERVALS, PAPER_EXPERIMENTS, Row
from orthoboot.paper.shares import share_error
from orthoboot.presentation.report import Report
from orthoboot.presentation.style import WORDS
from orthoboot.presentation.tables import Cell, ReportTable, Simulated
from orthoboot.typing import FloatArray

_WORDS = {
    **WORDS,
    "standard, B": "standard (divisor B)",
    "standard": "standard (B - 1)",
    "abc": "ABC (ours)",
    "jackknife": "jackknife",
}
_PRINTED = {"standard, B": "standard", "cheap": "cheap", "paper": "paper", "jackknife": "jackknife"}
"""What the paper calls the rows that it has."""

_PARAGRAPHS = (
    "95% intervals of four statistics from B resamples (table: ci of the paper): how often they hold the true value, "
    "how wide they are on average, and the standard deviation of the width. The methods see the same data and the same "
    "resamples; the first two of ten resamples are those of B = 2.",
    "Standard is the ordinary bootstrap; the paper's divides by B, and with B - 1 its variance is unbiased. Cheap is "
    "Lam's (2022), with wide t intervals. Orthogonal is the paper's estimator, and ours, which learns a slope; "
    "jackknife is the infinitesimal one, without resamples. ABC, approximate bootstrap confidence (DiCiccio and Efron "
    "1992), is not in the paper: it is second-order accurate, and its ends need not be symmetric about the estimate.",
    "The last table sets the deviations of two estimators side by side. Most of each is the data's, which no estimator "
    "removes; the error is that of the difference, over the same data sets.",
    "The folded normal, double exponential and lognormal have n = 1000; the regression has n = 5000 rows, d = 50 "
    "lognormal columns and noise 10 N(0, 1), and the interval is that of the first coefficient. The "
    "paper's widths for it do not follow from these settings, by which a width is near 3.92 * 10 / sqrt(n Var X) = "
    "0.256 for every method that is not short of resamples.",
)


def report(found: Outcomes) -> Report:
    """Return one table for each problem, and one that compares how much the widths vary."""
    tables = [_table(column, name, found[name]) for column, name in enumerate(PROBLEMS)]
    tables.append(_table_of_deviations(found))
    lost = [_without_answer(PROBLEMS[name].title, found[name]["width"]) for name in PROBLEMS]
    return Report("Confidence intervals", [*_PARAGRAPHS, *filter(None, lost)], tables)


def _without_answer(title: str, widths: FloatArray) -> str:
    """Return a note on how many intervals do not exist, or an empty string."""
    counts = zip(ROWS, np.isnan(widths).sum(axis=0), strict=True)
    lost = [f"{count} of {_WORDS[method]} at B = {B}" for (method, B), count in counts if count]
    if not lost:
        return ""
    return (
        f"{title}: {', '.join(lost)} of {len(widths)} intervals each have no ends, since the statistic is too skew for "
        "the method; they count as intervals that miss the true value, and are left out of the widths."
    )


def _table(column: int, name: str, outcome: Arrays) -> ReportTable:
    cells = [
        [_WORDS[method], "" if B is None else B, *_figures((method, B), column, covered, width)]
        for (method, B), covered, width in zip(ROWS, outcome["covered"].T, outcome["width"].T, strict=True)
    ]
    headings = ["method", "B", "coverage", "mean width", "its deviation"]
    return ReportTable(f"ci-{name}", f"{PROBLEMS[name].title}, {len(outcome['width'])} data sets", headings, cells)


def _figures(row: Row, column: int, covered: FloatArray, width: FloatArray) -> list[Simulated]:
    """Return coverage, mean width and its standard deviation, each with its Monte Carlo error and the paper's."""
    method, B = row
    coverage, mean, deviation = INTERVALS[_PRINTED[method], B][column] if method in _PRINTED else (None, None, None)
    share, width = float(covered.mean()), width[~np.isnan(width)]
    # The paper does not print what the errors of its widths follow from: they are ours, for its number of data sets.
    scale = float(np.sqrt(len(width) / PAPER_EXPERIMENTS))
    of_mean, of_deviation = (float(values.std() / np.sqrt(len(width))) for values in (width, _pulls(width)))
    return [
        Simulated(
            share,
            share_error(share, len(covered)),
            printed=coverage,
            printed_error=share_error(float(coverage or share), PAPER_EXPERIMENTS),
        ),
        Simulated(float(width.mean()), of_mean, printed=mean, printed_error=of_mean * scale),
        Simulated(float(width.std(ddof=1)), of_deviation, printed=deviation, printed_error=of_deviation * scale),
    ]


def _table_of_deviations(found: Outcomes) -> ReportTable:
    """Return how much the widths of our estimator and of the paper's vary, and the difference."""
    cells: list[list[Cell]] = []
    for name, problem in PROBLEMS.items():
        widths = dict(zip(ROWS, found[name]["width"].T, strict=True))
        for B in SIZES:
            paper, ours = widths["paper", B], widths["orthogonal", B]
            error = float(np.std(_pulls(ours) - _pulls(paper)) / np.sqrt(len(ours)))
            difference = Simulated(float(ours.std(ddof=1) - paper.std(ddof=1)), error, digits=4)
            cells.append(
                [problem.title, B, *(Simulated(float(w.std(ddof=1)), digits=4) for w in (paper, ours)), difference]
            )
    headings = ["problem", "B", _WORDS["paper"], _WORDS["orthogonal"], "difference"]
    return ReportTable("ci-deviations", "Standard deviation of the width", headings, cells)


def _pulls(values: FloatArray) -> FloatArray:
    """Return the influence of each value on the standard deviation, ``((x - mean)**2 - s**2) / (2 s)``."""
    squares = (values - values.mean()) ** 2
    influence: FloatArray = (squares - squares.mean()) / (2 * np.sqrt(squares.mean()))
    return influence

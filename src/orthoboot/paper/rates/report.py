"""Slopes of the simulation variance against rows and resamples, and the pictures that they are fitted in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.paper.experiment import Outcomes
from orthoboot.paper.rates.examples import (
    ESTIMATORS,
    EXAMPLES,
    FEW_RESAMPLES,
    FIXED_ROWS,
    GROUPS,
    QUANTITIES,
    RESAMPLES,
    ROWS,
    Example,
)
from orthoboot.presentation.figures import Figure
from orthoboot.presentation.report import Report
from orthoboot.presentation.style import COLOURS, WORDS
from orthoboot.presentation.tables import Cell, ReportTable, Simulated
from orthoboot.typing import FloatArray

_MARKERS = {"standard": "o", "paper": "s", "orthogonal": "D"}


class Sweep(ABC):
    """The variable against which the simulation variance is plotted."""

    symbol: str
    """Its letter in tables and figures."""
    values: tuple[int, ...]
    words: str
    """What it counts, and what is held fixed."""
    limit_from: int
    """Theory is about large numbers: from here on a slope of its own is fitted."""
    free: float
    """By how much of its height a panel is drawn out downwards, so that the legend covers no points."""

    @property
    def legend(self) -> str:
        """Return the legend for the slopes in a panel."""
        return f"slope from {self.symbol} = {self.limit_from}" if self.has_limit else "slope"

    @property
    def has_limit(self) -> bool:
        """Return whether a slope is fitted to the larger numbers by themselves."""
        return self.limit_from > self.values[0]

    @abstractmethod
    def exponent(self, example: Example, quantity: str, estimator: str) -> float:
        """Return the power that theory says the simulation variance falls with."""

    @abstractmethod
    def variances(self, found: Outcomes, name: str, quantity: str) -> FloatArray:
        """Return the simulation variances of an example, shape ``(repetitions, values, estimators)``."""


class OverRows(Sweep):
    """The number of rows."""

    symbol = "n"
    values = ROWS
    words = f"rows n, with B = {FEW_RESAMPLES} resamples"
    limit_from = ROWS[0]
    free = 0.45

    def exponent(self, example: Example, quantity: str, estimator: str) -> float:
        """Return -2a for the debiased value and -2a - 1 for the variance estimate.

        What is simulated is of order ``n**-a``: the whole of phi_b - phi_hat for the standard bootstrap, a = 1/2, and
        the remainder for the others, a = 1 in the theorem that follows ``eq:debiasestimator`` and in
        ``theorem:variance``, a = 3/2 where the quadratic part is taken too. The debiased value holds its mean; the
        variance estimate the mean of its product with the linear part, which is of order ``n**-(1/2)``.
        """
        return -2 * example.simulated_order(estimator) - (quantity == "variance")

    def variances(self, found: Outcomes, name: str, quantity: str) -> FloatArray:
        """Return those of the cases of each number of rows, side by side."""
        return np.concatenate([found[f"{name}, n={n}"][quantity] for n in self.values], axis=1)


class OverResamples(Sweep):
    """The number of resamples."""

    symbol = "B"
    values = RESAMPLES
    words = f"resamples B, with n = {FIXED_ROWS} rows"
    limit_from = 50
    free = 0.3

    def exponent(self, example: Example, quantity: str, estimator: str) -> float:
        """Return -1, as for any mean of B."""
        return -1.0

    def variances(self, found: Outcomes, name: str, quantity: str) -> FloatArray:
        """Return those of the one case that has all numbers of resamples."""
        return found[f"{name}, B"][quantity]


SWEEPS: tuple[Sweep, ...] = (OverRows(), OverResamples())


_PARAGRAPHS = (
    "The simulation variance of the debiased value and of the variance estimate: their variance over "
    f"{GROUPS} groups of B replicates of the same data, and over four times as many for the ratio. Theory for smooth "
    "statistics (the theorem that follows eq:debiasestimator, and theorem:variance): with B fixed the debiased "
    "value's falls as 1/n for the standard bootstrap and as 1/n² for the orthogonal one, that of the variance estimate "
    "as 1/n² and 1/n³; all fall as 1/B.",
    "A slope is fitted by least squares to logarithms, for one data set at each point; given are the mean over the "
    "data sets and its standard error, which holds both the simulation's noise and the data's, but not that a "
    "line is only the limit: the sample moments of 50 rows are not yet those of the distribution.",
    "Against B two of the variance estimates fall more slowly than 1/B where B is small, since there they are less "
    "noisy than that: the paper's divides by B instead of B - 1, a factor ((B - 1)/B)², and the orthogonal one shrinks "
    "its regression slope as if five more replicates had been seen, a factor of about ((B - 1)/(B + 4))². Where B is "
    "large the two meet; the slopes from B = 50 on are those to compare with theory.",
    "The present value of five periods of sales, whose price grows by random factors, is a finite-horizon performance "
    "measure with two input distributions; its expectation over all paths and its influence function are finite sums.",
    "The ratio goes one order beyond the theorems: our estimator takes the quadratic part of a replicate too, whose "
    "mean and variance are known in closed form. What is left is of order n^(-3/2), and the slopes to expect "
    "are -3 and -4.",
    "The median is no smooth function of the distribution, and the assumption fails. By Bahadur's representation its "
    "remainder is of order n^(-3/4) instead of 1/n: the slopes to expect are -1.5 and -2.5 instead of -2 and -3.",
)


def report(found: Outcomes) -> Report:
    """Return a table and a figure for each sweep."""
    tables, figures = [], []
    for sweep in SWEEPS:
        fits = {
            (name, quantity): [
                fitted(sweep.values, variances)
                for variances in np.moveaxis(sweep.variances(found, name, quantity), -1, 0)
            ]
            for name in EXAMPLES
            for quantity in QUANTITIES
        }
        tables.append(_table(sweep, fits))
        figures.append(_figure(sweep, fits))
    return Report("Rates", _PARAGRAPHS, tables, figures)


@dataclass(frozen=True)
class Fit:
    """A straight line through the logarithms of variances.

    Attributes
    ----------
    at
        The numbers of rows or resamples, shape ``(values,)``.
    variances
        Shape ``(repetitions, values)``.
    slope, error
        The slope, and its standard error.
    """

    at: FloatArray
    variances: FloatArray
    slope: float
    error: float

    @property
    def means(self) -> FloatArray:
        """Return the geometric means of the variances over the repetitions, shape ``(values,)``."""
        means: FloatArray = np.exp(np.log(self.variances).mean(axis=0))
        return means

    @property
    def line(self) -> FloatArray:
        """Return the fitted variances, shape ``(values,)``."""
        where = np.log(self.at)
        line: FloatArray = np.exp(np.log(self.means).mean() + self.slope * (where - where.mean()))
        return line

    def beyond(self, least: int) -> Fit:
        """Return the line through the variances of at least so many rows or resamples."""
        kept = self.at >= least
        return fitted(self.at[kept], self.variances[:, kept])


def fitted(at: Sequence[int] | FloatArray, variances: FloatArray) -> Fit:
    """Return the least-squares line through log variance against log n or log B.

    The slope of every repetition is fitted by itself: repetitions are independent, whatever the points of one have in
    common. The mean of these slopes is the slope of the mean logarithms, and their spread gives its standard error.

    Parameters
    ----------
    at
        The numbers of rows or resamples.
    variances
        Shape ``(repetitions, values)``.

    Examples
    --------
    >>> fit = fitted([1, 10, 100], np.array([[1.0, 1e-2, 1e-4], [3.0, 3e-3, 3e-6]]))
    >>> round(fit.slope, 6), round(fit.error, 6)
    (-2.5, 0.5)
    """
    where = np.log(at)
    centred = where - where.mean()
    slopes = np.log(variances) @ centred / (centred @ centred)
    error = slopes.std(ddof=1) / np.sqrt(len(slopes))
    return Fit(np.asarray(at, dtype=np.float64), variances, float(slopes.mean()), float(error))


Fits = dict[tuple[str, str], list[Fit]]
"""By example and quantity: a fit for each of `ESTIMATORS`."""


def _table(sweep: Sweep, fits: Fits) -> ReportTable:
    limits = [sweep.legend] if sweep.has_limit else []
    columns = ("example", "quantity", "estimator", "slope", *limits, "theory", "difference")
    title = f"Slopes of log simulation variance against log {sweep.symbol}: {sweep.words}"
    return ReportTable(f"rates-{sweep.symbol}", title, columns, list(_rows(sweep, fits)))


def _rows(sweep: Sweep, fits: Fits) -> Iterator[list[Cell]]:
    for (name, quantity), of_estimators in fits.items():
        example = EXAMPLES[name]
        for estimator, fit in zip(ESTIMATORS, of_estimators, strict=True):
            theory = sweep.exponent(example, quantity, estimator)
            found = [fit, fit.beyond(sweep.limit_from)] if sweep.has_limit else [fit]
            slopes = [Simulated(one.slope, one.error, digits=2) for one in found]
            yield [
                example.title,
                QUANTITIES[quantity],
                WORDS[estimator],
                *slopes,
                theory,
                Simulated(found[-1].slope - theory, digits=2),
            ]


def _figure(sweep: Sweep, fits: Fits) -> Figure:
    caption = (
        f"Simulation variance against the number of {sweep.words}: geometric means over data sets, fitted lines, and "
        "their slopes with standard errors."
    )
    return Figure(f"rates-{sweep.symbol}", caption, _drawing(sweep, fits), size=(4.0 * len(EXAMPLES), 8.0))


def _drawing(sweep: Sweep, fits: Fits) -> Callable[[Any], None]:
    """Return the function that draws a panel for each quantity, in rows, and example, in columns."""

    def draw(figure: Any) -> None:
        panels = figure.subplots(len(QUANTITIES), len(EXAMPLES), sharex=True, squeeze=False)
        for row, (quantity, words) in zip(panels, QUANTITIES.items(), strict=True):
            row[0].set_ylabel(f"simulation variance of the {words}")
            for panel, name in zip(row, EXAMPLES, strict=True):
                _draw_panel(panel, fits[name, quantity], sweep)
                lowest, highest = panel.get_ylim()
                panel.set_ylim(lowest * (lowest / highest) ** sweep.free)
        for panel, example in zip(panels[0], EXAMPLES.values(), strict=True):
            panel.set_title(example.title, color="black" if example.smooth else "#8a5a00")
        for panel in panels[-1]:
            panel.set_xlabel(sweep.symbol)

    return draw


def _draw_panel(panel: Any, fits: Sequence[Fit], sweep: Sweep) -> None:
    for estimator, fit in zip(ESTIMATORS, fits, strict=True):
        colour, limit = COLOURS[estimator], fit.beyond(sweep.limit_from)
        label = f"{WORDS[estimator]}: {limit.slope:.2f} ± {limit.error:.2f}".replace("-", "−")
        panel.plot(limit.at, limit.line, color=colour, linewidth=1.2, alpha=0.8)
        panel.plot(
            fit.at,
            fit.means,
            linestyle="none",
            marker=_MARKERS[estimator],
            markersize=6,
            # The two orthogonal estimators often coincide: what lies below must be seen.
            markerfacecolor=colour if estimator == "standard" else "none",
            markeredgecolor=colour,
            label=label,
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.legend(loc="lower left", frameon=False, title=sweep.legend, alignment="left")

"""The comparison of implicit and explicit influence functions, ``fig:vs``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from orthoboot.paper.experiment import Arrays, Figure, Found, Report
from orthoboot.paper.presentation.style import COLOURS
from orthoboot.paper.reports.debiasing import MEASURES
from orthoboot.paper.tables import Table

_PARAGRAPHS = (
    "The influence function of an optimisation problem from its KKT conditions (appendix: constrained optimization), "
    "beside the derivative of its solution where that has a formula. The second problem is not in the paper: its "
    "inequalities bind for some variables and not for others.",
    "The figure debiases the paper's problem with either influence function, on the same resamples: the curves lie "
    "on each other.",
)


def report(found: Found, titles: Mapping[str, str], sizes: Sequence[int]) -> Report:
    """Return the table of differences, and the figure for the problem of which both ways were bootstrapped."""
    table = Table(
        "influence",
        "Implicit against explicit influence function",
        [
            "problem",
            "data sets",
            "largest difference beside the largest value",
            "largest difference of debiased values",
        ],
        [[title, len(found[name]["difference"]), *_differences(found[name])] for name, title in titles.items()],
    )
    caption = "Debiasing with implicit and explicit influence functions (fig:vs)."
    figure = Figure("influence", caption, partial(_draw, found["quadratic"], sizes), size=(10.0, 4.0))
    return Report("Implicit and explicit influence functions", _PARAGRAPHS, [table], [figure])


def _differences(outcome: Arrays) -> list[str]:
    of_influence = f"{outcome['difference'].max():.1e}"
    if "implicit" not in outcome:
        return [of_influence, ""]
    return [of_influence, f"{abs(outcome['implicit'] - outcome['explicit']).max():.1e}"]


def _draw(outcome: Arrays, sizes: Sequence[int], figure: Any) -> None:
    for panel, measure in zip(figure.subplots(1, 2), MEASURES, strict=True):
        implicit, explicit = (measure.sums(outcome[way]) for way in ("implicit", "explicit"))
        panel.plot(sizes, explicit, color=COLOURS["paper"], linewidth=5, alpha=0.35, label="explicit: the formula")
        panel.plot(sizes, implicit, color=COLOURS["orthogonal"], marker="o", markersize=3, label="implicit: KKT")
        panel.set(xlabel="resamples B", ylabel=measure.title, xticks=sizes)
        panel.legend()

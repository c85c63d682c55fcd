"""The comparison of implicit and explicit influence functions, ``fig:vs``."""

from __future__ import annotations

from functools import partial
from typing import Any

from orthoboot.paper.debias.problems import SIZES
from orthoboot.paper.debias.report import MEASURES
from orthoboot.paper.experiment import Arrays, Outcomes
from orthoboot.presentation.figures import Figure
from orthoboot.presentation.report import Report
from orthoboot.presentation.style import COLOURS
from orthoboot.presentation.tables import Cell, ReportTable

TITLES = {
    "quadratic": "min x'Qx subject to Ax = b: the value",
    "simplex": "the nearest point of the simplex: the solution and the value",
}
"""The cases, in words."""

_PARAGRAPHS = (
    "The influence function of an optimisation problem from its KKT conditions (appendix: constrained optimization), "
    "beside the derivative of its solution where that has a formula. The second problem is not in the paper: its "
    "inequalities bind for some variables and not for others.",
    "The figure debiases the paper's problem with either influence function, on the same resamples: the curves lie "
    "on each other.",
)


def report(found: Outcomes) -> Report:
    """Return the table of differences, and the figure for the problem that was bootstrapped by both methods."""
    table = ReportTable(
        "influence",
        "Implicit against explicit influence function",
        [
            "problem",
            "data sets",
            "largest relative difference",
            "largest difference of debiased values",
        ],
        [[title, len(found[name]["difference"]), *_differences(found[name])] for name, title in TITLES.items()],
    )
    caption = (
        "Debiasing the minimal value with implicit and explicit influence functions (fig:vs): the paper's estimator, "
        "one bootstrap of each data set."
    )
    figure = Figure("influence", caption, partial(_draw, found["quadratic"]), size=(10.0, 4.0))
    return Report("Implicit and explicit influence functions", _PARAGRAPHS, [table], [figure])


def _differences(outcome: Arrays) -> list[Cell]:
    of_influence = float(outcome["difference"].max())
    if "implicit" not in outcome:
        return [of_influence, ""]
    return [of_influence, float(abs(outcome["implicit"] - outcome["explicit"]).max())]


def _draw(outcome: Arrays, figure: Any) -> None:
    for panel, measure in zip(figure.subplots(1, 2), MEASURES, strict=True):
        implicit, explicit = (measure.sums(outcome[way]) for way in ("implicit", "explicit"))
        panel.plot(SIZES, explicit, color=COLOURS["paper"], linewidth=5, alpha=0.35, label="explicit: the formula")
        panel.plot(SIZES, implicit, color=COLOURS["orthogonal"], marker="o", markersize=3, label="implicit: KKT")
        panel.set(xlabel="resamples B", ylabel=measure.title, xticks=SIZES)
        panel.legend()

"""``orthoboot demo``: a real answer from data that come with the command."""

from __future__ import annotations

import typer

from orthoboot.cli import options
from orthoboot.cli.answers.destinations import Destinations
from orthoboot.cli.options import Settings

LSAT = (576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594)
GPA = (3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96)
"""Fifteen law schools: Efron and Tibshirani (1993), table 3.1."""

_ESTIMATORS = (("orthogonal", 50), ("standard", 50), ("standard", 2000))


def demo(
    context: typer.Context,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    output: options.OutputFile = None,
    report: options.ReportFile = None,
    plot: options.PlotFile = None,
) -> None:
    """Show what the orthogonal bootstrap does, on fifteen law schools.

    The correlation of two columns, by fifty resamples of ours, and by fifty and two thousand ordinary ones.
    """
    import numpy as np

    from orthoboot.cli.answers.bootstrapped import bootstrapped
    from orthoboot.functionals import correlation

    destinations = Destinations(as_json, output, report, plot)
    destinations.check()
    data = np.column_stack([LSAT, GPA])
    bootstrapped(data, correlation, Settings(resamples=2, interval="normal"))
    answers = [
        bootstrapped(
            data, correlation, Settings(0.95, "normal", name, None, n_resamples, seed), f"{name}, {n_resamples}"
        )
        for name, n_resamples in _ESTIMATORS
    ]
    notes = (
        "correlation of LSAT and GPA at 15 law schools (Efron and Tibshirani, 1993). With a file of yours: "
        "orthoboot ci FILE --statistic correlation --columns A,B",
    )
    raise typer.Exit(options.published(context, answers, destinations, notes))

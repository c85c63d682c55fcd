"""A tiny experiment that writes down each repetition it computes, and a command line that has it.

``python -m tests.paper.logged_experiment reproduce logged ...`` is what the tests kill and start again.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.paper import EXPERIMENTS
from orthoboot.paper.experiment import Case, Experiment
from orthoboot.presentation.figures import Figure
from orthoboot.presentation.report import Report
from orthoboot.presentation.tables import ReportTable, Simulated


class Logged(Experiment):
    """Means and variances of normal samples; the log and the pause of a repetition come from the environment."""

    name = "logged"

    def __init__(self, name="logged"):
        self.name = name

    def cases(self, settings):
        return [Case("small", 4 if settings.quick else 11, together=2), Case("large <b>", 6, together=1)]

    def repetition(self, case, seed, settings):
        time.sleep(float(os.environ.get("LOGGED_PAUSE", "0")))
        rng = np.random.default_rng(seed)
        x = rng.normal(size=10 if case == "small" else 40)
        result = ob.bootstrap(x, ob.variance, n_resamples=2, rng=seed)
        if log := os.environ.get("LOGGED_FILE"):
            with Path(log).open("a") as stream:
                stream.write(f"{self.name} {case} {settings.seed} {seed.entropy[2]}\n")
        return {"mean": x.mean(), "variances": np.array([x.var(), result.variance])}

    def report(self, found, settings):
        def draw(figure: Any) -> None:
            panel = figure.subplots()
            for case, outcome in found.items():
                panel.plot(outcome["mean"], label=case)
            panel.legend()

        rows = [[case, len(one["mean"]), _simulated(one["mean"], "5.0")] for case, one in found.items()]
        table = ReportTable("means", "Means & a | bar", ["case", "n", "mean [units]"], rows)
        return Report("A logged <i>experiment</i>", ["Words in `code` & <b>tags</b>."], [table], [_figure(draw)])


class Unable(Logged):
    """An experiment of which the data set is not there."""

    def cases(self, settings):
        raise ob.errors.DataError("the data set is not there; give `--data DIR`.")


def _simulated(values, printed):
    return Simulated(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), printed=printed)


def _figure(draw):
    return Figure("lines", 'Means, "quoted" & <plain>.', draw, size=(4.0, 3.0))


FAKES = {"logged": Logged(), "other": Logged("other"), "unable": Unable("unable")}


@contextmanager
def fakes_alone():
    """Have the fakes instead of the paper's experiments, which come back in their order."""
    real = dict(EXPERIMENTS)
    try:
        EXPERIMENTS.clear()
        EXPERIMENTS.update(FAKES)
        yield
    finally:
        EXPERIMENTS.clear()
        EXPERIMENTS.update(real)


if __name__ == "__main__":
    # By its importable name, as the workers find it.
    from orthoboot.cli import main
    from tests.paper import logged_experiment

    with logged_experiment.fakes_alone():
        sys.exit(main())

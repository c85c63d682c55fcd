"""Draw the standard error from B replicates, ours and the ordinary bootstrap's, for thirty seeds each.

python -m benchmarks.seeds_picture [--out docs/benchmarks/seeds.svg]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.presentation.figures import Figure, files
from orthoboot.presentation.style import ACCENT, INK, PLOT_SETTINGS, QUIET

SIZES = (5, 7, 10, 14, 20, 30, 50, 70, 100, 200, 500, 1000)
N_SEEDS = 30
N_TRUE = 100_000


def lines() -> tuple[dict[str, np.ndarray], float]:
    """Return the standard errors by estimator, shape (seeds, sizes), and that of very many replicates."""
    rng = np.random.default_rng(1)
    rows = rng.lognormal(size=(1000, 2))
    rows[:, 1] += rows[:, 0]
    runs = [
        ob.bootstrap(rows, ob.correlation, n_resamples=max(SIZES), method="normal", rng=seed) for seed in range(N_SEEDS)
    ]
    found = {
        name: np.array([[run.with_estimator(name, slice(size)).standard_error for size in SIZES] for run in runs])
        for name in ("standard", "orthogonal")
    }
    many = ob.bootstrap(rows, ob.correlation, n_resamples=N_TRUE, estimator="standard", method="normal", rng=N_SEEDS)
    return found, float(many.standard_error)


def draw(canvas: Any) -> None:
    """Draw both fans side by side, with one scale."""
    found, truth = lines()
    panels = zip(canvas.subplots(1, 2, sharey=True), found.items(), ("ordinary bootstrap", "orthoboot"), strict=True)
    for axes, (name, errors), title in panels:
        axes.plot(SIZES, errors.T, color=ACCENT if name == "orthogonal" else QUIET, linewidth=0.7, alpha=0.8)
        axes.axhline(truth, color=INK, linewidth=1.2, linestyle="--")
        axes.set(xscale="log", xlabel="replicates", ylim=(0, 2 * truth), xlim=(SIZES[0], SIZES[-1]))
        axes.set_xticks([5, 10, 100, 1000], ["5", "10", "100", "1000"])
        axes.set_xticks([], minor=True)
        axes.set_title(title, loc="left")
        if name == "standard":
            axes.set_ylabel("standard error")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/seeds.svg"))
    out = parser.parse_args().out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = Figure("seeds", "standard errors of thirty seeds", draw, (7.0, 2.4))
        out.write_bytes(files(figure, ["svg"], PLOT_SETTINGS)["svg"])


if __name__ == "__main__":
    main()

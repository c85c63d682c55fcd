"""Draw the pictures of docs/plots.md, one for each kind of plot.

python -m benchmarks.plots_pictures [--out docs/plots]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.presentation.figures import files
from orthoboot.presentation.plots.drawing import figure_of
from orthoboot.presentation.plots.kinds import KINDS
from orthoboot.presentation.style import PLOT_SETTINGS


def results() -> dict[bool, Any]:
    """Return the results of the page: that of one output, and that of several."""
    rng = np.random.default_rng(0)
    shops = rng.lognormal(size=(120, 2))
    shops[:, 1] += shops[:, 0]
    X = rng.normal(size=(80, 6))
    y = X[:, 0] + rng.logistic(size=80) > 0
    one = ob.bootstrap(shops, ob.correlation, n_resamples=20, rng=0)
    several = ob.bootstrap((X, y), ob.logistic_regression, paired=True, n_resamples=20, rng=0)
    return {True: one, False: several}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/plots"))
    out = parser.parse_args().out
    out.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = results()
        for kind in KINDS.values():
            picture = files(figure_of(shown[kind.shows_one]._answer, kind, 0), ["svg"], PLOT_SETTINGS)["svg"]
            (out / f"{kind.name}.svg").write_bytes(picture)


if __name__ == "__main__":
    main()

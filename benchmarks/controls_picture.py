"""Draw how the replicates lie about three controls: the linear part, the quadratic control and a surrogate.

python -m benchmarks.controls_picture [--out docs/benchmarks/controls.svg]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.surrogate_cases import logistic

import orthoboot as ob
from orthoboot.presentation.figures import Figure, drawn
from orthoboot.presentation.style import COLOURS

N_SHOWN = 200


def panels() -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return a title, the control and the replicates, both in standard errors, for each panel."""
    rng = np.random.default_rng(3)
    ratios = ob.bootstrap(rng.exponential(size=(40, 2)), ob.ratio, n_resamples=N_SHOWN, rng=0)
    X, y = logistic(60, 4, 2.0)(np.random.default_rng(0))
    fits = ob.bootstrap((X, y), ob.logistic_regression, paired=True, n_resamples=N_SHOWN, rng=0, control="surrogate")
    return [
        ("a ratio, 40 rows:\nlinear part", *_scaled(ratios, linear=True)),
        ("the same ratio:\nquadratic control", *_scaled(ratios, linear=False)),
        ("logistic regression, 60 rows:\nlinear part", *_scaled(fits, linear=True)),
        ("the same regression:\nsurrogate", *_scaled(fits, linear=False)),
    ]


def _scaled(result: Any, *, linear: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the control of the first output, its mean included, and the change of the replicates."""
    spread = float(np.ravel(result.standard_error)[0])
    known = result._estimation.control_values
    control = result.replicates.linear if linear else known.values + known.mean
    changes = result.replicates.values[:, 0] - result.replicates.estimate[0]
    return control[:, 0] / spread, changes / spread


def draw(canvas: Any) -> None:
    """Draw the panels side by side, two for each statistic."""
    axes = canvas.subplots(1, 4)
    shown = panels()
    for number, (place, (title, control, changes)) in enumerate(zip(axes, shown, strict=True)):
        pair = shown[number // 2 * 2 : number // 2 * 2 + 2]
        everything = np.concatenate([np.concatenate(each[1:]) for each in pair])
        limits = everything.min() - 0.3, everything.max() + 0.3
        place.set(xlim=limits, ylim=limits)
        place.axline((0, 0), slope=1, color="0.5", linewidth=1)
        place.plot(control, changes, ".", markersize=4, alpha=0.6, color=COLOURS["orthogonal"])
        place.set_title(title, fontsize=10)
        place.set_xlabel("control")
    axes[0].set_ylabel("replicate, in standard errors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/controls.svg"))
    out = parser.parse_args().out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        picture = drawn(Figure("controls", "replicates about their controls", draw, (11.0, 3.2)))
    out.write_bytes(picture.svg)


if __name__ == "__main__":
    main()

"""The shared style of figures: colours by estimator, legible text, reproducible files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orthoboot.errors import MissingDependencyError

COLOURS = {
    "standard": "#7f7f7f",
    "cheap": "#d08c2f",
    "paper": "#2a6f97",
    "orthogonal": "#c1121f",
    "naive": "#222222",
}
"""By the name of the estimator; naive is the plain estimate."""

WORDS = {
    "standard": "standard",
    "cheap": "cheap",
    "paper": "orthogonal (paper's)",
    "orthogonal": "orthogonal (ours)",
    "naive": "naive",
}
"""What the reports call the estimators."""

_SETTINGS = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 11,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 12,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.08,
    "font.size": 11,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "legend.fontsize": 10,
    "legend.framealpha": 0.9,
    "lines.linewidth": 1.6,
    "savefig.dpi": 150,
    "svg.hashsalt": "orthoboot",
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Apply the shared style, based on matplotlib's defaults rather than the user's settings."""
    check_matplotlib()
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def check_matplotlib() -> None:
    """Raise if no figure can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            'the figures of the paper need matplotlib; install it with `pip install "orthoboot[paper]"`.'
        ) from error

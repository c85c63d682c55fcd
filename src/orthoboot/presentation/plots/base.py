"""What a kind of plot is, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from orthoboot.presentation.estimates import Estimates
from orthoboot.presentation.wording import error_text, number_text, shortened
from orthoboot.typing import FloatArray

MOST_MARKS = 1000
"""Points that are drawn one by one: more of them hide one another, and make files large."""

_INCHES_OF_AN_ENTRY = 1.75
_POINTS = 72.0
"""Of an inch."""

_LINE = 1.25
"""Height of a line of text in terms of its size."""

_INCHES_BELOW = 0.75
"""What the legend and the numbers take of the axes when the figure is laid out."""

_MARGIN = 0.12
"""Of the range of what is drawn, on either side of it."""

_LARGEST = 1e300
"""Beyond this the arithmetic of axes overflows."""

Size = tuple[float, float]

A_co = TypeVar("A_co", bound=Estimates, covariant=True)
A_contra = TypeVar("A_contra", bound=Estimates, contravariant=True)
"""What is drawn: the answer of a bootstrap, or of a simulation. A plot of any `Estimates` is one of either."""


@dataclass(frozen=True)
class View(Generic[A_co]):
    """What a plot is drawn from, and into: the answer, the number of the output, and matplotlib's axes."""

    answer: A_co
    output: int
    axes: Any

    @property
    def ink(self) -> Any:
        """Return the colour of text on these axes, which a dark style of the user's makes light."""
        return self.axes.xaxis.label.get_color()

    @property
    def name(self) -> str:
        """Return the name of the output for matplotlib."""
        return plain(shortened(self.answer.names[self.output]))

    @property
    def title(self) -> str:
        """Return the name of the output, and which it is where there are several."""
        k = len(self.answer.names)
        return self.name if k == 1 else f"{self.name} (output {self.output + 1:,} of {k:,})"

    @property
    def size(self) -> Size:
        """Return width and height of the axes in inches."""
        place = self.axes.get_window_extent().transformed(self.axes.figure.dpi_scale_trans.inverted())
        return place.width, place.height


@dataclass(frozen=True)
class Kind(Generic[A_contra]):
    """A kind of plot.

    Attributes
    ----------
    name
        What users write.
    draw
        Draws it.
    caption
        Says what it shows of an output, for those who cannot see it too.
    refusal
        Says why an answer has no such plot, and what to do; empty where it has one.
    size
        Of a figure for it alone, in inches.
    shows_one
        Whether it shows one output, which is then to be chosen.
    """

    name: str
    draw: Callable[[View[A_contra]], None]
    caption: Callable[[A_contra, int], str]
    refusal: Callable[[A_contra], str] = lambda answer: ""
    size: Callable[[A_contra], Size] = lambda answer: (5.6, 3.6)
    shows_one: bool = True


def plain(text: str) -> str:
    """Return `text` for matplotlib, which takes what stands between dollars for mathematics."""
    return text.replace("$", r"\$")


def rounded(answer: Estimates, j: int, value: float) -> str:
    """Return a number on the scale of output `j` with the digits of the summary."""
    return number_text(value, answer.decimals(j))


def rounded_error(answer: Estimates, j: int, value: float) -> str:
    """Return the simulation error of such a number, "± ..."; empty if it is zero."""
    return error_text(value, answer.decimals(j))


def interval_words(answer: Estimates, j: int) -> str:
    """Return the interval of output `j` in words."""
    low, high = float(answer.low[j]), float(answer.high[j])
    if np.isnan(low) or np.isnan(high):
        return "not known"
    if np.isinf(low):
        return f"up to {rounded(answer, j, high)}"
    if np.isinf(high):
        return f"from {rounded(answer, j, low)}"
    return f"{rounded(answer, j, low)} to {rounded(answer, j, high)}"


def too_large(answer: Estimates) -> str:
    """Return why there is no axis for an output with such numbers, and what to do; empty where there is one."""
    sizes = np.abs([answer.estimate, answer.low, answer.high])
    reach = np.max(np.where(np.isfinite(sizes), sizes, 0.0), axis=0)
    j = int(np.argmax(reach))
    if reach[j] < _LARGEST:
        return ""
    return (
        f"an axis has no room for numbers of {_LARGEST:.0e} or more, and those of {shortened(answer.names[j])!r} reach "
        f"{reach[j]:.0e}. Divide the data first."
    )


def within(values: Any) -> FloatArray:
    """Return the numbers that can be drawn among `values`."""
    numbers = np.ravel(np.asarray(values, dtype=float))
    drawable: FloatArray = numbers[np.abs(numbers) < _LARGEST]
    return drawable


def limits(values: Any) -> tuple[float, float]:
    """Return limits of an axis around all numbers that can be drawn; never equal."""
    shown = within(values)
    if not shown.size:
        return 0.0, 1.0
    low, high = float(shown.min()), float(shown.max())
    margin = _MARGIN * (high - low)
    # Numbers that are equal, or differ in their last digits, still need an axis.
    if margin <= 1e-12 * max(abs(low), abs(high)):
        margin = 0.1 * max(abs(low), abs(high)) or 1.0
    return low - margin, high + margin


def lines_with_room(view: View[Estimates], number: int) -> int:
    """Return how many of so many names have room below one another on the y axis."""
    ticks = view.axes.yaxis.get_ticklabels()
    line = _LINE * (ticks[0].get_size() if ticks else 10.0) / _POINTS
    return min(number, max(2, int((view.size[1] - _INCHES_BELOW) / line)))


def legend_below(view: View[Estimates]) -> None:
    """Put the legend under the label of the x axis, where it hides nothing, in as many columns as fit."""
    from matplotlib.transforms import ScaledTranslation

    axes = view.axes
    ticks = axes.xaxis.get_ticklabels()
    tick_size = ticks[0].get_size() if ticks else 0.0
    label_size = axes.xaxis.label.get_size() if axes.get_xlabel() else 0.0
    below = (12.0 + 1.25 * tick_size + 1.35 * label_size) / _POINTS
    shift = ScaledTranslation(0, -below, axes.figure.dpi_scale_trans)
    # The labels of the y axis stand beside the axes, and leave room for one more column at times.
    columns = max(1, int(axes.figure.get_size_inches()[0] * axes.get_position().width // _INCHES_OF_AN_ENTRY))
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=axes.transAxes + shift,
        borderaxespad=0.0,
        borderpad=0.0,
        columnspacing=1.2,
        frameon=False,
        handlelength=1.8,
        ncols=columns,
    )

"""A result in words: text for the terminal and a table for notebooks."""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np

from orthoboot.errors import OrthobootWarning
from orthoboot.estimators import r_squared, slope
from orthoboot.estimators.diagnostics import is_constant
from orthoboot.estimators.estimation import Estimation
from orthoboot.intervals import Ends
from orthoboot.plans import Plan
from orthoboot.presentation.wording import LONGEST_IN_TABLE, error_text, exponent, number_text, shortened, wrapped_list
from orthoboot.typing import FloatArray

MOST_ROWS = 30
"""Outputs that a summary lists."""

_ROUGH = 20
"""With fewer resamples the simulation error itself is known to a quarter or worse."""

_ROUNDING = 1e-9
"""Run errors below this share of the standard error are rounding, not simulation."""


@dataclass(frozen=True)
class Answer:
    """The content of a summary: the estimation, the interval and the warnings."""

    estimation: Estimation
    ends: Ends
    confidence_level: float
    warnings: tuple[OrthobootWarning, ...]
    simultaneous: bool = False
    alternative: str = "two-sided"
    method: str = "auto"
    """The requested method; that of `ends` is the one used."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the outputs."""
        return self.estimation.run.output.names

    @property
    def estimate(self) -> FloatArray:
        """Return the estimates, shape ``(k,)``."""
        return self.estimation.estimate

    @property
    def bias(self) -> FloatArray:
        """Return their biases, shape ``(k,)``."""
        return self.estimation.bias

    @property
    def standard_error(self) -> FloatArray:
        """Return their standard errors, shape ``(k,)``."""
        return self.estimation.standard_error

    @property
    def low(self) -> FloatArray:
        """Return the lower ends, shape ``(k,)``."""
        return self.ends.low

    @property
    def high(self) -> FloatArray:
        """Return the upper ends, shape ``(k,)``."""
        return self.ends.high

    @property
    def scale(self) -> FloatArray:
        """Return the scale that sets the number of digits, shape ``(k,)``: the standard error if it is not zero."""
        sizes = np.stack([self.estimation.standard_error, np.abs(self.estimation.estimate), np.ones(len(self.names))])
        usable = np.isfinite(sizes) & (sizes > 0)
        scale: FloatArray = sizes[np.argmax(usable, axis=0), np.arange(len(self.names))]
        return scale

    @property
    def errors(self) -> FloatArray:
        """Return the simulation errors of bias, standard error and interval, shape ``(3, k)``; rounding is zero."""
        estimation, ends = self.estimation, self.ends
        ends_error = np.fmax(ends.low_error, ends.high_error)
        errors = np.stack([estimation.error.bias, estimation.standard_error_error, ends_error])
        return np.where(errors < _ROUNDING * self.scale, 0.0, errors)

    @property
    def end_errors(self) -> FloatArray:
        """Return the simulation errors of the lower and the upper end, shape ``(2, k)``; rounding is zero."""
        errors = np.stack([self.ends.low_error, self.ends.high_error])
        return np.where(errors < _ROUNDING * self.scale, 0.0, errors)

    @property
    def level_words(self) -> str:
        """Return a description of the interval, such as ``"95% interval (abc)"``."""
        return f"{100 * self.confidence_level:g}% interval ({self.ends.method})"

    def decimals(self, j: int) -> int:
        """Return how many decimals of the estimate of output `j` are shown: three digits of the standard error."""
        return 2 - exponent(float(self.scale[j]))


def text(answer: Answer) -> str:
    """Return the summary for a terminal."""
    lines = [heading(answer), "", *_aligned(cells(answer)), ""]
    lines += wrapped_list(notes(answer))
    if answer.warnings:
        lines += ["", "Warnings:", *wrapped_list([str(warning) for warning in answer.warnings])]
    return "\n".join(lines)


def table(answer: Answer) -> str:
    """Return the summary as HTML."""
    head, *rows = cells(answer)
    header = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    remarks = "".join(f"<li>{html.escape(note)}</li>" for note in notes(answer))
    cautions = "".join(f"<li><b>{html.escape(str(warning))}</b></li>" for warning in answer.warnings)
    return (
        f"<div><p><b>{html.escape(heading(answer))}</b></p><table><thead><tr>{header}</tr></thead>"
        f"<tbody>{body}</tbody></table><ul>{remarks}{cautions}</ul></div>"
    )


def heading(answer: Answer) -> str:
    """Return one line with the method, statistic, rows and resamples."""
    run = answer.estimation.run
    name = shortened(run.functional.name)
    return f"{answer.estimation.estimator.title} of {name}: {run.plan.description}, {_resamples(answer)}"


def notes(answer: Answer) -> list[str]:
    """Return notes on the simulation error and the influence function."""
    remarks = []
    if len(answer.names) > MOST_ROWS:
        remarks.append(f"{len(answer.names) - MOST_ROWS} more outputs are not shown; `to_frame()` has them all.")
    if (answer.errors > 0).any():
        rough = "; from so few it is itself rough" if len(answer.estimation.replicates) < _ROUGH else ""
        remarks.append(
            f"± is the simulation error: what another seed would change{rough}. More resamples make it smaller."
        )
    if np.isnan(answer.errors).any():
        remarks.append("± ? means that there are too few resamples to estimate the simulation error.")
    if answer.ends.reason:
        remarks.append(f'Interval: "{answer.ends.method}", since {answer.ends.reason}.')
    return remarks + _block_notes(answer.estimation.run.plan) + _influence_notes(answer.estimation)


def _block_notes(plan: Plan) -> list[str]:
    """Return a note on block lengths found from the data; the heading shows all lengths."""
    lengths = plan.automatic_lengths
    if not lengths:
        return []
    plural = "s" if len(lengths) > 1 else ""
    rows = "row" if lengths == (1,) else "rows"
    shown = " and ".join(f"{length:,}" for length in lengths)
    return [f"Block length{plural}: {shown} {rows}, found from the data by the rule of Politis and White."]


def _influence_notes(estimation: Estimation) -> list[str]:
    source = f"Influence function: {estimation.run.influence_source}"
    if not estimation.estimator.needs_influence:
        unused = estimation.run.influence is not None
        return [f"{source}{'; this estimator does not use it' if unused else ''}."]
    if not estimation.estimator.simulates or len(estimation.replicates) < 2 or is_constant(estimation):
        return [f"{source}."]
    sums = estimation.moments
    explained, slopes = _range(100 * r_squared(sums), 1, "%"), _range(slope(sums), 2)
    return [f"{source}.", f"{_control(estimation)} explains {explained} of the variance (slope {slopes})."]


def _control(estimation: Estimation) -> str:
    """Return the name of the control."""
    control = estimation.run.control
    if control is None or not estimation.moments.control_is_nearer.any():
        return "The linear part"
    return f"The {control.description}"


def _resamples(answer: Answer) -> str:
    estimation = answer.estimation
    n_resamples = len(estimation.replicates)
    if not estimation.estimator.simulates or n_resamples == 0:
        return "no resamples"
    drawn = f" of {estimation.replicates.n_drawn:,}" if estimation.replicates.n_failed else ""
    words = f"{n_resamples:,}{drawn} resample{'s' if n_resamples > 1 or drawn else ''}"
    equivalent = estimation.error.equivalent_resamples
    worth = float(equivalent.min())
    if not estimation.estimator.needs_influence or is_constant(estimation) or not worth > n_resamples:
        return words
    return f"{words}, worth {_rounded(worth, several=len(equivalent) > 1)} ordinary ones"


def _rounded(worth: float, *, several: bool) -> str:
    """Return a number as text; for several outputs it is the smallest."""
    if worth > 1e6:
        return "more than a million"
    digits = max(len(str(int(worth))) - 2, 0)
    return f"at least {int(worth) // 10**digits * 10**digits:,}" if several else f"about {round(int(worth), -digits):,}"


def cells(answer: Answer) -> list[list[str]]:
    """Return the cells of the summary as text, with the header first; each simulation error follows its number."""
    together = answer.simultaneous and len(answer.names) > 1
    level = answer.level_words
    if together:
        level = f"simultaneous {level.replace('interval', 'intervals', 1)}"
    header = ["", "estimate", "bias", "", "std. error", "", level, ""]
    return [header, *(_row(answer, j) for j in range(min(len(answer.names), MOST_ROWS)))]


def _row(answer: Answer, j: int) -> list[str]:
    estimation, ends = answer.estimation, answer.ends
    decimals = answer.decimals(j)
    shown = (decimals + 1, decimals + 1, decimals)
    bias_error, standard_error_error, end_error = map(error_text, answer.errors[:, j], shown)
    return [
        shortened(answer.names[j], LONGEST_IN_TABLE),
        number_text(estimation.estimate[j], decimals),
        number_text(estimation.bias[j], decimals + 1),
        bias_error,
        number_text(estimation.standard_error[j], decimals + 1),
        standard_error_error,
        f"{number_text(ends.low[j], decimals)} to {number_text(ends.high[j], decimals)}",
        end_error,
    ]


def _range(values: FloatArray, decimals: int, unit: str = "") -> str:
    low, high = (f"{value:.{decimals}f}{unit}" for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = [f"  {cell.rjust(width)}" for cell, width in zip(row, widths, strict=True)]
        # Names are read from their beginning, and an error stands close behind its number.
        padded[0] = row[0].ljust(widths[0])
        for i in (3, 5, 7):
            padded[i] = f" {row[i].ljust(widths[i])}"
        lines.append("".join(padded).rstrip())
    return lines

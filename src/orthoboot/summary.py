"""A result in words: text for the terminal and a table for notebooks."""

from __future__ import annotations

import html
import math
import textwrap
from dataclasses import dataclass

import numpy as np

from orthoboot.diagnostics import is_constant
from orthoboot.errors import OrthobootWarning
from orthoboot.estimators import moments, r_squared, slope
from orthoboot.intervals import Ends, Evidence
from orthoboot.typing import FloatArray

_MOST_ROWS = 30

_ROUNDING = 1e-9
"""Simulation errors below this share of the standard error are rounding, not simulation."""


@dataclass(frozen=True)
class Account:
    """All that a summary tells: the evidence, the interval, and what to worry about."""

    evidence: Evidence
    ends: Ends
    method: str
    confidence_level: float
    warnings: tuple[OrthobootWarning, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the outputs."""
        return self.evidence.simulation.output.names


def text(account: Account) -> str:
    """Return the summary for a terminal."""
    lines = [heading(account), "", *_aligned(_cells(account)), ""]
    lines += _wrapped_list(notes(account))
    if account.warnings:
        lines += ["", "To worry about:", *_wrapped_list([str(warning) for warning in account.warnings])]
    return "\n".join(lines)


def table(account: Account) -> str:
    """Return the summary as HTML."""
    head, *rows = _cells(account)
    header = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    remarks = "".join(f"<li>{html.escape(note)}</li>" for note in notes(account))
    worries = "".join(f"<li><b>{html.escape(str(warning))}</b></li>" for warning in account.warnings)
    return (
        f"<div><p><b>{html.escape(heading(account))}</b></p><table><thead><tr>{header}</tr></thead>"
        f"<tbody>{body}</tbody></table><ul>{remarks}{worries}</ul></div>"
    )


def heading(account: Account) -> str:
    """Return one line: which bootstrap, of what, on how many rows, from how many resamples."""
    simulation = account.evidence.simulation
    rows = " + ".join(f"{n:,}" for n in simulation.data.sizes)
    return f"{account.evidence.estimator.title} of {simulation.functional.name}: {rows} rows, {_resamples(account)}"


def notes(account: Account) -> list[str]:
    """Return what the numbers mean: the simulation error, the influence function and how far it carries."""
    evidence = account.evidence
    remarks = []
    if len(evidence.replicates):
        remarks.append(
            "± is the simulation error: what another seed would change. n_resamples or tol makes it smaller."
        )
    remarks.append(f"Influence function: {evidence.simulation.influence_source}.")
    if evidence.estimator.needs_influence and len(evidence.replicates) > 1 and not is_constant(evidence):
        sums = moments(evidence.replicates)
        remarks.append(
            f"The linear part explains {_range(100 * r_squared(sums), '%')} of the variance (slope {_range(slope(sums))})."
        )
    return remarks


def _resamples(account: Account) -> str:
    n_resamples = len(account.evidence.replicates)
    if n_resamples == 0:
        return "no resamples"
    words = f"{n_resamples:,} resample{'s' if n_resamples > 1 else ''}"
    worth = account.evidence.error.equivalent_resamples
    if not account.evidence.estimator.needs_influence or not worth.min() > n_resamples:
        return words
    return f"{words}, worth {_rounded(float(worth.min()))} ordinary ones"


def _rounded(worth: float) -> str:
    if worth > 1e6:
        return "more than a million"
    digits = max(len(str(int(worth))) - 2, 0)
    return f"about {round(int(worth), -digits):,}"


def _cells(account: Account) -> list[list[str]]:
    evidence, ends = account.evidence, account.ends
    level = f"{100 * account.confidence_level:g}% interval ({account.method})"
    rows = [["", "estimate", "bias", "", "std. error", "", level, ""]]
    errors = evidence.standard_error * evidence.error.relative_standard_error
    for j, name in enumerate(account.names[:_MOST_ROWS]):
        scale = float(evidence.standard_error[j]) or abs(float(evidence.estimate[j])) or 1.0
        ends_error = float(np.fmax(ends.low_error[j], ends.high_error[j]))
        rows.append(
            [
                name,
                _number(evidence.estimate[j], scale),
                _number(evidence.bias[j], scale / 10),
                _error(evidence.error.bias[j], scale),
                _number(evidence.standard_error[j], scale / 10),
                _error(errors[j], scale),
                f"{_number(ends.low[j], scale)} to {_number(ends.high[j], scale)}",
                _error(ends_error, scale),
            ]
        )
    if len(account.names) > _MOST_ROWS:
        rows.append([f"... {len(account.names) - _MOST_ROWS} more"] + [""] * 7)
    return rows


def _number(value: float, scale: float) -> str:
    """Return `value` with three digits of `scale`."""
    if not math.isfinite(value):
        return f"{value}"
    decimals = 2 - math.floor(math.log10(scale))
    if decimals > 12 or abs(value) >= 1e9:
        return f"{value:.4g}"
    # Adding zero turns the "-0.000" of a rounded negative number into "0.000".
    return f"{round(value, max(decimals, 0)) + 0.0:,.{max(decimals, 0)}f}"


def _error(value: float, scale: float) -> str:
    if not math.isfinite(value):
        return "± ?"
    return "" if value < _ROUNDING * scale else f"± {value:.1g}"


def _range(values: FloatArray, unit: str = "") -> str:
    digits = 1 if unit else 2
    low, high = f"{values.min():.{digits}f}", f"{values.max():.{digits}f}"
    return f"{low}{unit}" if low == high else f"{low}{unit} to {high}{unit}"


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        # An error stands close behind its number, and to its left.
        cells += [
            (" " if i in (3, 5, 7) else "  ") + (cell.ljust(width) if i in (3, 5, 7) else cell.rjust(width))
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            if i > 0
        ]
        lines.append("".join(cells).rstrip())
    return lines


def _wrapped_list(items: list[str]) -> list[str]:
    return [line for item in items for line in textwrap.wrap(item, 110, initial_indent="- ", subsequent_indent="  ")]

"""The input uncertainty of a simulation in words."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from orthoboot.presentation.simulation_answer import SimulationAnswer
from orthoboot.presentation.wording import error_text, number_text, shortened, wrapped_list

MOST_ROWS = 30
_MOST_COLUMNS = 6
"""Shares of more outputs stand below one another."""
_SMALL_SHARE = 0.005
"""An interaction that would be shown as zero is left out."""


def text(answer: SimulationAnswer) -> str:
    """Return the summary for a terminal."""
    lines = [answer.heading, "", *_aligned(_estimates(answer), (3, 5, 8)), ""]
    lines += [
        "Share of the input variance:",
        *_aligned(_shares(answer), ()),
        "",
        *wrapped_list([*answer.notes, *left_out(answer)]),
    ]
    if answer.warnings:
        lines += ["", "Warnings:", *wrapped_list([str(warning) for warning in answer.warnings])]
    return "\n".join(lines)


def table(answer: SimulationAnswer) -> str:
    """Return the summary as HTML."""
    tables = "".join(_html_table(cells) for cells in (_estimates(answer), _shares(answer)))
    remarks = "".join(f"<li>{html.escape(note)}</li>" for note in [*answer.notes, *left_out(answer)])
    cautions = "".join(f"<li><b>{html.escape(str(warning))}</b></li>" for warning in answer.warnings)
    return f"<div><p><b>{html.escape(answer.heading)}</b></p>{tables}<ul>{remarks}{cautions}</ul></div>"


def _html_table(cells: list[list[str]]) -> str:
    head, *rows = cells
    header = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"


def _estimates(answer: SimulationAnswer) -> list[list[str]]:
    head = ["", "estimate", "bias", "", "input error", "", "run error", answer.level_words, ""]
    return [head, *(_row(answer, j) for j in range(min(len(answer.names), MOST_ROWS)))]


def _row(answer: SimulationAnswer, j: int) -> list[str]:
    decimals = answer.decimals(j)
    return [
        shortened(answer.names[j]),
        number_text(answer.estimate[j], decimals),
        number_text(answer.bias[j], decimals + 1),
        error_text(float(answer.bias_error[j]), decimals + 1),
        number_text(answer.input_error[j], decimals + 1),
        error_text(float(answer.input_error_error[j]), decimals + 1),
        number_text(answer.run_error[j], decimals + 1),
        f"{number_text(answer.low[j], decimals)} to {number_text(answer.high[j], decimals)}",
        error_text(float(answer.end_errors[:, j].max()), decimals),
    ]


def _shares(answer: SimulationAnswer) -> list[list[str]]:
    shown = min(len(answer.names), MOST_ROWS)
    rows = [["", *map(shortened, answer.names[:shown])]]
    for p in shown_parts(answer):
        shares, errors = answer.shares[p, :shown], answer.share_errors[p, :shown]
        cells = [share_text(share, error) for share, error in zip(shares.tolist(), errors.tolist(), strict=True)]
        rows.append([answer.parts[p], *cells])
    # The longer side goes down the page.
    return (
        [list(column) for column in zip(*rows, strict=True)] if len(rows[0]) > max(len(rows), _MOST_COLUMNS) else rows
    )


def share_text(share: float, error: float) -> str:
    """Return a share with its simulation error."""
    return "unknown" if np.isnan(share) else f"{share:.1%} ± {error:.1%}"


def shown_parts(answer: SimulationAnswer) -> list[int]:
    """Return the places of inputs and of nonzero interactions; if there are many, of the largest."""
    largest = np.nan_to_num(answer.shares).max(axis=1)
    found = [p for p, name in enumerate(answer.parts) if " x " not in name or largest[p] >= _SMALL_SHARE]
    most = sorted(found, key=lambda p: (-largest[p], p))[:MOST_ROWS]
    return sorted(most)


def left_out(answer: SimulationAnswer) -> list[str]:
    """Return what the tables do not show."""
    notes = []
    outputs, inputs = len(answer.names), sum(" x " not in name for name in answer.parts)
    if outputs > MOST_ROWS:
        notes.append(f"The first {MOST_ROWS} of {outputs:,} outputs are shown; `to_frame()` has them all.")
    if inputs > MOST_ROWS:
        notes.append(f"The {MOST_ROWS} largest shares of {inputs:,} inputs are shown; `contributions` has them all.")
    return notes


def _aligned(rows: list[list[str]], errors: Sequence[int]) -> list[str]:
    """Return the rows with their cells below one another; those at the places of errors stand close to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = [f"  {cell.rjust(width)}" for cell, width in zip(row, widths, strict=True)]
        padded[0] = row[0].ljust(widths[0])
        for place in errors:
            padded[place] = f" {row[place].ljust(widths[place])}"
        lines.append("".join(padded).rstrip())
    return lines

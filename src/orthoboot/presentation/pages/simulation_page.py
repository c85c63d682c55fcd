"""One self-contained HTML page about the input uncertainty of a simulation."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from orthoboot.presentation.outputs import output_number
from orthoboot.presentation.pages.elements import listed, number, program, table, table_of_rows, terms, warnings_or_none
from orthoboot.presentation.pages.frame import answer_page, checked_path, written
from orthoboot.presentation.pages.pictures import pictures
from orthoboot.presentation.pages.simulation_code import simulation_code
from orthoboot.presentation.plots.simulation.kinds import page_kinds
from orthoboot.presentation.simulation_answer import SimulationAnswer
from orthoboot.presentation.simulation_summary import MOST_ROWS, left_out, shown_parts
from orthoboot.presentation.wording import shortened


def written_page(answer: SimulationAnswer, path: Any, output: Any = None, command: str | None = None) -> Path:
    """Write the page to a file, and return its path; `command` is what was typed in the shell."""
    j = output_number(answer, output)
    place = checked_path(path)
    return written(simulation_page(answer, j, command), place)


def simulation_page(answer: SimulationAnswer, j: int, command: str | None = None) -> str:
    """Return the page; pictures, rows and what more data would do are those of output `j` where there are several."""
    of = f" of {shortened(answer.names[j])}" if len(answer.names) > 1 else ""
    notes = listed([*answer.notes, *left_out(answer)], "notes")
    sections = [
        ("Result", _sentence(answer) + _numbers(answer) + notes),
        ("Warnings", warnings_or_none(answer.warnings, "the data, the model and the runs")),
        ("Where it comes from", _shares(answer, j, of) + _doubled(answer, j, of)),
        ("Plots", pictures(answer, page_kinds(answer, j), j)),
        ("The most influential rows", table_of_rows(answer.influential_rows(j), of)),
        ("Assumptions", _assumptions(answer)),
        ("How to reproduce it", program(simulation_code(answer), command)),
    ]
    return answer_page(answer.title, answer.heading, sections)


# The numbers


def _sentence(answer: SimulationAnswer) -> str:
    k = len(answer.names)
    if k > 1:
        return f"<p>The model has {k:,} outputs.</p>\n"
    estimate, low, high, input_error, run_error, _ = _values(answer, 0)
    return (
        f'<p class="lead">The estimate is <strong>{estimate}</strong>. Its input error, from the limited '
        f"data, is {input_error}; its run error, from the limited number of runs, is {run_error}. The "
        f"{answer.level_words} with both goes from <strong>{low}</strong> to <strong>{high}</strong>.</p>\n"
    )


def _values(answer: SimulationAnswer, j: int) -> list[str]:
    """Return the numbers of output `j` as HTML, each with its simulation error."""
    decimals = answer.decimals(j)
    low_error, high_error = answer.end_errors[:, j]
    return [
        number(answer.estimate[j], decimals),
        number(answer.low[j], decimals, low_error),
        number(answer.high[j], decimals, high_error),
        number(answer.input_error[j], decimals + 1, answer.input_error_error[j]),
        number(answer.run_error[j], decimals + 1),
        number(answer.bias[j], decimals + 1, answer.bias_error[j]),
    ]


def _numbers(answer: SimulationAnswer) -> str:
    head = ("output", "estimate", "low", "high", "input error", "run error", "bias")
    rows = [(escape(shortened(answer.names[j])), *_values(answer, j)) for j in range(min(len(answer.names), MOST_ROWS))]
    caption = f"Estimates, and the ends of the {answer.level_words}; ± is the simulation error."
    return table("numbers", caption, head, rows)


# Where it comes from


def _shares(answer: SimulationAnswer, j: int, of: str) -> str:
    rows = [
        (escape(answer.parts[part]), _percent(answer.shares[part, j], answer.share_errors[part, j]))
        for part in shown_parts(answer)
    ]
    caption = f"Shares of the input variance{of}, by input and by pairs of inputs."
    return table("shares", caption, ("part", "share"), rows)


def _doubled(answer: SimulationAnswer, j: int, of: str) -> str:
    decimals, now = answer.decimals(j) + 1, answer.input_error[j]
    rows = [
        (
            escape(entry.name),
            number(entry.ratio[j] * now, decimals, entry.error[j] * now),
            _percent(entry.ratio[j] - 1, entry.error[j], "+"),
        )
        for entry in answer.read_doubled()
    ]
    caption = f"Input error{of} with twice the rows of an input, other inputs unchanged."
    return table("doubled", caption, ("input", "input error", "change"), rows)


def _percent(value: float, error: float, sign: str = "") -> str:
    if np.isnan(value):
        return "unknown"
    shown = format(100 * value, f"{sign}.1f")
    return f'<data value="{float(value)!r}">{shown}%</data> <span class="error">± {100 * error:.1f}%</span>'


# What it rests on


def _assumptions(answer: SimulationAnswer) -> str:
    return (
        "<p>The model is right, the rows represent future inputs, and the inputs, and the units that are drawn "
        f"independently, are independent. No bootstrap can check this.</p>\n{terms(_terms(answer))}"
    )


def _terms(answer: SimulationAnswer) -> Iterator[tuple[str, str]]:
    yield "Model", shortened(answer.model)
    for entry in answer.inputs:
        yield f"Input {entry.name}", entry.description
    yield "Runs", f"{answer.n_runs:,}"
    seed = answer.call.seed
    yield "Seed", f"`rng={seed}`" if seed is not None else "not a number; the draws cannot be reproduced"
    yield "Input variance", answer.way
    yield "Interval", f"{answer.level_words}, normal, with the input error and the run error"

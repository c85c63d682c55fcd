"""One self-contained HTML page about the result of a bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from orthoboot.presentation.influential_rows import influential_rows, missing_rows
from orthoboot.presentation.outputs import output_number
from orthoboot.presentation.pages.elements import (
    listed,
    number,
    program,
    table,
    table_of_rows,
    terms,
    warnings_or_none,
    worded,
)
from orthoboot.presentation.pages.frame import answer_page, checked_path, written
from orthoboot.presentation.pages.pictures import pictures
from orthoboot.presentation.pages.result_code import result_code
from orthoboot.presentation.plots.kinds import KINDS
from orthoboot.presentation.summary import MOST_ROWS, Answer, heading, notes
from orthoboot.presentation.wording import shortened

_SIDES = {
    "two-sided": "two ends",
    "less": "upper end only",
    "greater": "lower end only",
}


def written_page(answer: Answer, path: Any, output: Any = None, command: str | None = None) -> Path:
    """Write the page to a file, and return its path; `command` is what was typed in the shell."""
    j = output_number(answer, output)
    place = checked_path(path)
    return written(result_page(answer, j, command), place)


def result_page(answer: Answer, j: int, command: str | None = None) -> str:
    """Return the page; the pictures and rows are those of output `j` where there are several."""
    sections = [
        ("Result", _sentence(answer) + _numbers(answer) + listed(notes(answer), "notes")),
        ("Warnings", warnings_or_none(answer.warnings, "the data, the statistic and the replicates")),
        ("Plots", pictures(answer, KINDS.values(), j)),
        ("The most influential rows", _rows(answer, j)),
        ("Assumptions", _assumptions(answer)),
        ("How to reproduce it", program(result_code(answer), command)),
    ]
    title = f"Bootstrap of {shortened(answer.estimation.run.functional.name)}"
    return answer_page(title, heading(answer), sections)


# The numbers


def _sentence(answer: Answer) -> str:
    k = len(answer.names)
    if k > 1:
        more = f" The table shows the first {MOST_ROWS}." if k > MOST_ROWS else ""
        return f"<p>The statistic has {k:,} outputs.{more}</p>\n"
    estimate, low, high, error, _ = _values(answer, 0)
    return (
        f'<p class="lead">The estimate is <strong>{estimate}</strong>, with a standard error of {error}. The '
        f"{escape(answer.level_words)} goes from <strong>{low}</strong> to <strong>{high}</strong>.</p>\n"
    )


def _values(answer: Answer, j: int) -> list[str]:
    """Return estimate, ends, standard error and bias of output `j` as HTML, each with its simulation error."""
    estimation, ends, decimals = answer.estimation, answer.ends, answer.decimals(j)
    bias_error, standard_error_error, _ = answer.errors[:, j]
    low_error, high_error = answer.end_errors[:, j]
    return [
        number(estimation.estimate[j], decimals),
        number(ends.low[j], decimals, low_error),
        number(ends.high[j], decimals, high_error),
        number(estimation.standard_error[j], decimals + 1, standard_error_error),
        number(estimation.bias[j], decimals + 1, bias_error),
    ]


def _numbers(answer: Answer) -> str:
    level = f"{'simultaneous ' if answer.simultaneous and len(answer.names) > 1 else ''}{answer.level_words}"
    head = ("output", "estimate", "low", "high", "std. error", "bias")
    rows = [(escape(shortened(answer.names[j])), *_values(answer, j)) for j in range(min(len(answer.names), MOST_ROWS))]
    return table("numbers", f"Estimates, and the ends of the {level}; ± is the simulation error.", head, rows)


# The rows


def _rows(answer: Answer, j: int) -> str:
    reason = missing_rows(answer)
    if reason:
        return f"<p>No list: {worded(reason)}</p>"
    of = f" of {shortened(answer.names[j])}" if len(answer.names) > 1 else ""
    return table_of_rows(influential_rows(answer, j), of)


# What it rests on


def _assumptions(answer: Answer) -> str:
    return (
        "<p>The rows represent the population, and the units that are drawn independently are independent. No "
        f"bootstrap can check this.</p>\n{terms(_terms(answer))}"
    )


def _terms(answer: Answer) -> Iterator[tuple[str, str]]:
    estimation, ends = answer.estimation, answer.ends
    run, replicates = estimation.run, estimation.replicates
    yield "Statistic", shortened(run.functional.name)
    yield "Resampling plan", run.plan.description
    failed = f", of which {replicates.n_failed:,} failed and were left out" if replicates.n_failed else ""
    yield "Resamples", f"{replicates.n_drawn:,}{failed}" if estimation.estimator.simulates else "none"
    yield "Seed", f"`rng={run.seed}`" if run.seed is not None else "not a number; the draws cannot be reproduced"
    yield "Estimator", f"{estimation.estimator.title}, `{estimation.estimator.name}`"
    yield "Influence function", run.influence_source
    yield "Control", estimation.control_name
    together = ", simultaneous over all outputs" if answer.simultaneous and len(answer.names) > 1 else ""
    reason = f", since {ends.reason}" if ends.reason else ", as requested"
    yield "Interval", f"{answer.level_words}, {_SIDES[answer.alternative]}{together}{reason}"

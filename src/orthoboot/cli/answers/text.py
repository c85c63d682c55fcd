"""Answers as text for the terminal, and as tables for files."""

from __future__ import annotations

import math
from collections.abc import Iterator

from orthoboot.cli.answers.answer import Answer, Output, Publication
from orthoboot.presentation.tables import ReportTable
from orthoboot.presentation.wording import error_text, exponent, number_text, shortened, wrapped_list

_MOST_ROWS = 40
_ERRORS = (4, 6, 8)
"""The cells of a row with simulation errors."""

_TIMED = ("compare", "demo")
"""Commands whose answers differ in what they cost."""

_COLUMNS = (
    "statistic",
    "label",
    "output",
    "estimate",
    "bias",
    "standard_error",
    "low",
    "high",
    "bias_simulation_error",
    "standard_error_simulation_error",
    "low_simulation_error",
    "high_simulation_error",
    "confidence_level",
    "interval",
    "estimator",
    "n_resamples",
    "seconds",
)


def summary(publication: Publication, *, all_rows: bool = False) -> str:
    """Return the text of one answer, or a table of several with their warnings."""
    answers = publication.answers
    lines = [f"Note: {note}" for note in publication.notes]
    lines += [""] if lines else []
    if len(answers) == 1 and answers[0].text:
        return "\n".join([*lines, answers[0].text])
    timed = publication.command in _TIMED
    rows = list(_rows(answers, timed=timed))
    shown = rows if all_rows else rows[:_MOST_ROWS]
    lines += [_heading(answers), "", *_aligned([_header(answers, timed=timed), *shown]), ""]
    if len(rows) > len(shown):
        lines.append(f"- {len(rows) - len(shown)} more rows are not shown; `--output` writes them all.")
    if any(row[place] for row in shown for place in _ERRORS):
        lines += ["- ± is the simulation error: what another seed would change."]
    worries = _worries(answers)
    lines += ["", "Warnings:", *wrapped_list(worries)] if worries else []
    return "\n".join(lines).rstrip()


def table(publication: Publication) -> ReportTable:
    """Return one row for each number, in full."""
    rows = [_record(answer, output) for answer in publication.answers for output in answer.outputs]
    return ReportTable(publication.command, publication.command, _COLUMNS, rows)


def _record(answer: Answer, one: Output) -> tuple[str | int | float, ...]:
    numbers = (one.estimate, one.bias, one.standard_error, one.low, one.high)
    errors = (one.bias_error, one.standard_error_error, one.low_error, one.high_error)
    how = (answer.level, answer.interval, answer.estimator, answer.n_resamples, round(answer.seconds, 4))
    return (answer.statistic, answer.label, one.name, *numbers, *errors, *how)


def _heading(answers: tuple[Answer, ...]) -> str:
    statistics = list(dict.fromkeys(answer.statistic for answer in answers))
    if len(answers) == 1:
        return f"{answers[0].statistic}: {answers[0].plan}, {answers[0].n_resamples} resamples"
    return f"{len(answers)} results: {shortened(', '.join(statistics))}"


def _header(answers: tuple[Answer, ...], *, timed: bool) -> list[str]:
    levels = {f"{100 * answer.level:g}% interval" for answer in answers}
    methods = {answer.interval for answer in answers}
    interval = f"{levels.pop()}{f' ({methods.pop()})' if len(methods) == 1 else ''}"
    first = "resamples" if timed else "rows"
    return ["", first, "estimate", "bias", "", "std. error", "", interval, "", "", "seconds" if timed else ""]


def _rows(answers: tuple[Answer, ...], *, timed: bool) -> Iterator[list[str]]:
    several = len({answer.interval for answer in answers}) > 1
    for answer in answers:
        for output in answer.outputs:
            method = answer.interval if several else ""
            size = f"{answer.n_resamples:,}" if timed else "+".join(f"{n:,}" for n in answer.n_rows)
            seconds = f"{answer.seconds:.3f}" if timed else ""
            yield [_name(answer, output, answers), size, *_cells(output), method, seconds]


def _name(answer: Answer, output: Output, answers: tuple[Answer, ...]) -> str:
    """Return a name that no other row has: label, statistic and output, as far as they tell rows apart."""
    several = len({one.statistic for one in answers}) > 1
    statistic = answer.statistic if several else ""
    name = output.name if len(answer.outputs) > 1 or output.name != answer.statistic else ""
    return shortened(" ".join(filter(None, (answer.label, statistic, name))))


def _who(answer: Answer) -> str:
    return " ".join(filter(None, (answer.label, answer.statistic)))


def _cells(output: Output) -> list[str]:
    sizes = (output.standard_error, abs(output.estimate), 1.0)
    scale = next(size for size in sizes if math.isfinite(size) and size > 0)
    decimals = 2 - exponent(scale)
    known_errors = [error for error in (output.low_error, output.high_error) if not math.isnan(error)]
    end_error = max(known_errors, default=math.nan)
    return [
        number_text(output.estimate, decimals),
        _known(output.bias, decimals + 1),
        _error(output.bias_error, decimals + 1, scale),
        _known(output.standard_error, decimals + 1),
        _error(output.standard_error_error, decimals + 1, scale),
        f"{number_text(output.low, decimals)} to {number_text(output.high, decimals)}",
        _error(end_error, decimals, scale),
    ]


def _known(value: float, decimals: int) -> str:
    return "" if math.isnan(value) else number_text(value, decimals)


def _error(value: float, decimals: int, scale: float) -> str:
    return "" if math.isnan(value) or value < 1e-9 * scale else error_text(value, decimals)


def _worries(answers: tuple[Answer, ...]) -> list[str]:
    """Return the warnings of all answers, each once, with those that have it."""
    found: dict[str, list[str]] = {}
    for answer in answers:
        for warning in answer.warnings:
            found.setdefault(warning, []).append(_who(answer))
    return [f"{', '.join(dict.fromkeys(who))}: {warning}" for warning, who in found.items()]


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = [f"  {cell.rjust(width)}" for cell, width in zip(row, widths, strict=True)]
        padded[0] = row[0].ljust(widths[0])
        for i in (*_ERRORS, 9):  # an error stands close behind its number
            padded[i] = f" {row[i].ljust(widths[i])}"
        lines.append("".join(padded).rstrip())
    return lines

"""One self-contained HTML page about the predictions of a model."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from orthoboot.presentation.pages.elements import number, program, table, terms, warnings_or_none, worded
from orthoboot.presentation.pages.frame import answer_page, checked_path, written
from orthoboot.presentation.pages.pictures import pictures
from orthoboot.presentation.plots.predictions import PREDICTIONS, Predictions
from orthoboot.presentation.summary import MOST_ROWS
from orthoboot.presentation.wording import shortened


def written_page(answer: Predictions, path: Any, command: str | None = None) -> Path:
    """Write the page to a file, and return its path; `command` is what was typed in the shell."""
    place = checked_path(path)
    return written(prediction_page(answer, command), place)


def prediction_page(answer: Predictions, command: str | None = None) -> str:
    """Return the page."""
    sections = [
        ("Result", _sentence(answer) + _numbers(answer)),
        ("Warnings", warnings_or_none(answer.warnings, "the data, the model and its refits")),
        ("Plots", pictures(answer, [PREDICTIONS], 0)),
        ("Assumptions", _assumptions(answer)),
        ("How to reproduce it", program(answer.code, command)),
    ]
    title = f"Predictions of {shortened(answer.target)}"
    return answer_page(title, f"{title} by the {answer.model} model for {_rows(answer)}", sections)


def _rows(answer: Predictions) -> str:
    return f"{len(answer.names):,} rows" if len(answer.names) > 1 else "one row"


def _sentence(answer: Predictions) -> str:
    more = f" The table shows the first {MOST_ROWS} rows." if len(answer.names) > MOST_ROWS else ""
    by = ", ".join(f"<code>{escape(shortened(name))}</code>" for name in answer.features)
    return f"<p>Predicted by {by}.{more}</p>\n"


def _numbers(answer: Predictions) -> str:
    rows = []
    for j, name in enumerate(answer.names[:MOST_ROWS]):
        decimals = answer.decimals(j)
        rows.append(
            (
                escape(shortened(name)),
                number(answer.estimate[j], decimals),
                number(answer.low[j], decimals),
                number(answer.high[j], decimals),
                number(answer.standard_error[j], decimals + 1, answer.standard_error_error[j]),
            )
        )
    caption = (
        f"Predictions, and the ends of the {answer.level_words}s for the responses; std. deviation is that of the "
        "response about its prediction, and ± its simulation error."
    )
    return table("numbers", caption, ("row", "prediction", "low", "high", "std. deviation"), rows)


def _assumptions(answer: Predictions) -> str:
    sentence = (
        "The new rows come from the same population as those of the fit, these are independent, and the noise is "
        "about normal with constant variance. No bootstrap can check this."
    )
    return f"<p>{worded(sentence)}</p>\n{terms(answer.terms)}"

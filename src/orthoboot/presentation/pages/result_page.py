"""One self-contained HTML page about a result."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from orthoboot.errors import ArgumentError
from orthoboot.presentation.influential_rows import influential_rows, missing_rows
from orthoboot.presentation.outputs import output_number
from orthoboot.presentation.pages.frame import html_page, worded
from orthoboot.presentation.pages.result_code import result_code
from orthoboot.presentation.pages.style import RESULT_STYLE, STYLE
from orthoboot.presentation.style import has_matplotlib
from orthoboot.presentation.summary import MOST_ROWS, Answer, heading, notes
from orthoboot.presentation.wording import error_text, number_text, shortened

_SIZE = (4.8, 3.3)
"""Of a picture in inches: small, so that its text can be read on a phone."""

_NO_PICTURES = 'Install matplotlib for pictures: `pip install "orthoboot[plot]"`.'

_SIDES = {
    "two-sided": "two ends",
    "less": "an upper end alone",
    "greater": "a lower end alone",
}


def written_page(answer: Answer, path: Any, output: Any = None) -> Path:
    """Write the page to a file, and return its path."""
    j = output_number(answer, output)
    try:
        place = Path(path)
    except TypeError:
        raise ArgumentError(
            f'`path` must be the name of a file, such as "result.html"; got {type(path).__name__}.'
        ) from None
    place.write_text(result_page(answer, j), encoding="utf-8")
    return place


def result_page(answer: Answer, j: int) -> str:
    """Return the page; the pictures and rows are those of output `j` where there are several."""
    name = shortened(answer.estimation.run.functional.name)
    style = STYLE + RESULT_STYLE
    pictures = ""
    if has_matplotlib():
        from orthoboot.presentation.plots.inline import PLOT_STYLE

        style, pictures = style + PLOT_STYLE, "\n".join(_pictures(answer, j))
    else:
        pictures = f"<p>{worded(_NO_PICTURES)}</p>"
    parts = [
        f'<header>\n<h1>Bootstrap of {escape(name)}</h1>\n<p class="run">{escape(heading(answer))}</p>\n</header>',
        _section("The answer", _sentence(answer) + _numbers(answer) + _listed(notes(answer), "notes")),
        _section("What to worry about", _worries(answer)),
        _section("Pictures", pictures),
        _section("The most influential rows", _rows(answer, j)),
        _section("What was assumed", _assumptions(answer)),
        _section("How to make it again", _again(answer)),
    ]
    return html_page(f"Bootstrap of {name}", style, parts)


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>"


# The numbers


def _sentence(answer: Answer) -> str:
    k = len(answer.names)
    if k > 1:
        more = f" The table has the first {MOST_ROWS}." if k > MOST_ROWS else ""
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
        _number(estimation.estimate[j], decimals),
        _number(ends.low[j], decimals, low_error),
        _number(ends.high[j], decimals, high_error),
        _number(estimation.standard_error[j], decimals + 1, standard_error_error),
        _number(estimation.bias[j], decimals + 1, bias_error),
    ]


def _number(value: float, decimals: int, error: float = 0.0) -> str:
    """Return a number as it is read, and in full for programs."""
    shown = f'<data value="{float(value)!r}">{escape(number_text(value, decimals))}</data>'
    known = error_text(float(error), decimals) if np.isfinite(value) else ""
    return f'{shown} <span class="error">{escape(known)}</span>' if known else shown


def _numbers(answer: Answer) -> str:
    level = f"{'simultaneous ' if answer.simultaneous and len(answer.names) > 1 else ''}{answer.level_words}"
    head = ("output", "estimate", "low", "high", "std. error", "bias")
    rows = [(escape(shortened(answer.names[j])), *_values(answer, j)) for j in range(min(len(answer.names), MOST_ROWS))]
    return _table("numbers", f"Estimates, and the ends of the {level}; ± is the simulation error.", head, rows)


def _table(name: str, caption: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table whose first column is names, and the others numbers; the cells are HTML."""
    first, *others = head
    columns = f'<th scope="col">{first}</th>' + "".join(f'<th scope="col" class="number">{one}</th>' for one in others)
    body = "\n".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f'<td class="number">{cell}</td>' for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="table">\n<p class="caption" id="table-{name}">{escape(caption)}</p>\n'
        # Focusable, so that the keyboard can scroll it too.
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="table-{name}">\n'
        f"<table>\n<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n</div>\n"
    )


def _listed(sentences: list[str], kind: str) -> str:
    return f'<ul class="{kind}">\n' + "\n".join(f"<li>{worded(one)}</li>" for one in sentences) + "\n</ul>"


def _worries(answer: Answer) -> str:
    if not answer.warnings:
        return "<p>Nothing: the checks of the data, the statistic and the replicates found nothing.</p>"
    return _listed([str(warning) for warning in answer.warnings], "worries")


# The pictures


def _pictures(answer: Answer, j: int) -> Iterator[str]:
    from orthoboot.presentation.plots.inline import inline_svg
    from orthoboot.presentation.plots.kinds import KINDS, figure_of

    missing = []
    if len(answer.names) > 1:
        yield f"<p>All but the first are of the output <code>{escape(shortened(answer.names[j]))}</code>.</p>"
    for kind in sorted(KINDS.values(), key=lambda one: one.shows_one):
        reason = kind.refusal(answer)
        if reason and kind.shows_one:
            missing.append(f"No picture of the {kind.name}: {reason}")
        if not reason:
            height = kind.size(answer)[1]
            size = (_SIZE[0], height if height < _SIZE[1] or not kind.shows_one else _SIZE[1])
            figure = figure_of(answer, kind, j, size)
            drawing = inline_svg(figure, kind.name)
            yield f"<figure>\n{drawing}\n<figcaption>{escape(figure.caption)}</figcaption>\n</figure>"
    yield from (f"<p>{worded(sentence)}</p>" for sentence in missing)


# The rows


def _rows(answer: Answer, j: int) -> str:
    reason = missing_rows(answer)
    if reason:
        return f"<p>No list: {worded(reason)}</p>"
    rows = influential_rows(answer, j)
    if not rows:
        return "<p>No row stands out: many move the statistic as much as any.</p>"
    of = f" of {shortened(answer.names[j])}" if len(answer.names) > 1 else ""
    caption = f"About how much the estimate{of} would change if the row counted twice; rows are counted from 0."
    cells = [
        (escape(row.name), f'<data value="{row.change!r}">{row.change:+#.3g}</data>', f"{100 * row.share:.1f}%")
        for row in rows
    ]
    return _table("rows", caption, ("row", "change", "share of squared influence"), cells)


# What it rests on


def _assumptions(answer: Answer) -> str:
    entries = "\n".join(f"<dt>{escape(term)}</dt>\n<dd>{worded(words)}</dd>" for term, words in _terms(answer))
    return (
        "<p>That the rows represent what is asked about, and that what is drawn independently is independent: no "
        f"bootstrap can check this.</p>\n<dl>\n{entries}\n</dl>"
    )


def _terms(answer: Answer) -> Iterator[tuple[str, str]]:
    estimation, ends = answer.estimation, answer.ends
    run, replicates = estimation.run, estimation.replicates
    yield "Statistic", shortened(run.functional.name)
    yield "Resampling plan", run.plan.description
    failed = f", of which {replicates.n_failed:,} failed and were left out" if replicates.n_failed else ""
    yield "Resamples", f"{replicates.n_drawn:,}{failed}" if estimation.estimator.simulates else "none"
    yield "Seed", f"`rng={run.seed}`" if run.seed is not None else "not a number; the draws cannot be made again"
    yield "Estimator", f"{estimation.estimator.title}, `{estimation.estimator.name}`"
    yield "Influence function", run.influence_source
    yield "Control", estimation.control_name
    together = ", simultaneous over all outputs" if answer.simultaneous and len(answer.names) > 1 else ""
    reason = f", since {ends.reason}" if ends.reason else ", as asked for"
    yield "Interval", f"{answer.level_words}, {_SIDES[answer.alternative]}{together}{reason}"


def _again(answer: Answer) -> str:
    return (
        f'<pre tabindex="0"><code>{escape(result_code(answer))}</code></pre>\n'
        f'<p class="versions">{escape(", ".join(_versions()))}</p>'
    )


def _versions() -> Iterator[str]:
    # The root imports this room, so that it cannot be imported here; it always is by then.
    yield f"orthoboot {sys.modules[__name__.partition('.')[0]].__version__}"
    yield f"Python {platform.python_version()}"
    for package in ("numpy", "scipy", "matplotlib"):
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            continue

"""Reports of experiments as Markdown."""

from __future__ import annotations

from orthoboot.paper.section import LEGEND, PAPER, Section, run_in_words
from orthoboot.presentation.text import markdown_table


def markdown_report(section: Section) -> str:
    """Return the Markdown file of an experiment, with links to the files of its tables and figures."""
    report = section.report
    blocks = [f"# {report.title}", PAPER, *report.paragraphs]
    if section.compares:
        blocks.append(LEGEND)
    for table in report.tables:
        file = f"{section.stem(table.name)}.csv"
        blocks += [f"## {table.title}", markdown_table(table), f"In full: [{file}]({file})"]
        if table.disagreements:
            blocks.append("Differs from the paper:\n\n" + "\n".join(f"- {one}" for one in table.disagreements))
    for figure in report.figures:
        stem = section.stem(figure.name)
        blocks += [f"![{_within_link(figure.caption)}]({stem}.svg)", figure.caption]
    blocks += ["---", f"{run_in_words(section.settings)}. Repetitions: {section.sizes}."]
    return "\n\n".join(blocks) + "\n"


def _within_link(caption: str) -> str:
    return caption.replace("[", "\\[").replace("]", "\\]")

"""``orthoboot reproduce``: the paper's tables and figures, reproduced and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXPERIMENTS = ("ci", "debias", "influence", "prediction", "rates")
"""Those of `orthoboot.paper`, whose import would keep the help of all commands waiting."""

_INTERRUPTED = 130
"""The exit code of a program that Ctrl-C has ended."""


def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME", help=f"What to reproduce: {', '.join(EXPERIMENTS)}, or all.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions: minutes instead of half an hour.")] = False,
    # Not `Path`, for which an empty name is the current folder.
    out: Annotated[
        str, typer.Option(metavar="DIR", help="The folder of the tables, figures and the page.")
    ] = "orthoboot-paper",
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Processes to use.", show_default="all cores")] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="The seed of all random numbers.")] = 0,
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="A folder with the data sets as CSV files.", show_default="fetch them"),
    ] = None,
) -> None:
    """Compute the paper's tables and figures, and show ours beside theirs.

    Everything is written to one folder: tables as Markdown and CSV, figures as PNG and SVG, and a page, `index.html`,
    with all of it. The same command resumes a run that was stopped.

    **Examples**

    `orthoboot reproduce all --quick`

    `orthoboot reproduce ci --jobs 8 --out results`

    `orthoboot reproduce prediction --data my-data-sets`
    """
    from orthoboot.paper.reproduction import reproduce as reproduced
    from orthoboot.paper.terminal import show
    from orthoboot.presentation.terminal import console

    where = console()
    try:
        reproduced(
            names,
            out=out,
            quick=quick,
            seed=seed,
            jobs=jobs,
            data=data,
            show=lambda section: show(section, where),
            tell=lambda sentence: typer.echo(f"orthoboot: {sentence}", err=True),
        )
    except KeyboardInterrupt as interrupted:
        kept = str(interrupted) or f"What is finished is kept in {Path(out) / 'parts'}"
        typer.echo(f"\northoboot: interrupted. {kept}; the same command goes on from there.", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    except ExceptionGroup:
        _say_where(out)
        raise
    _say_where(out)


def _say_where(out: str) -> None:
    page = Path(out) / "index.html"
    if page.is_file():
        typer.echo(f"\nAll of it: {page.resolve()}")

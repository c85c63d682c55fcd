"""The commands, with errors shown as one message and an exit code."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import rich  # noqa: F401  the help has no columns without it, and no command its tables
import typer

from orthoboot import __version__, errors
from orthoboot.cli.ci import ci
from orthoboot.cli.compare import compare
from orthoboot.cli.demo import demo
from orthoboot.cli.fit import fit
from orthoboot.cli.metric import metric
from orthoboot.cli.options import OPTIONS
from orthoboot.cli.predict import predict
from orthoboot.cli.reproduce import reproduce
from orthoboot.cli.simulate import simulate

COMMANDS = (ci, metric, fit, compare, simulate, predict, demo, reproduce)
"""To add one: its file, and its name here."""

_PROGRAM = "orthoboot"

_FAILURES = tuple(
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, (ValueError, RuntimeError))
)
"""Every error of the library."""

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in COMMANDS:
    app.command()(_command)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"orthoboot {__version__}")
        raise typer.Exit


@app.callback(
    help="The orthogonal bootstrap: bias, variance and intervals from about ten refits instead of a thousand."
)
def _orthoboot(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Parse the options before the command; their callbacks do the work."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for invalid arguments, 130 for Ctrl-C, 1 for other errors."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Hours of work must not end at a sign such as ± that the terminal does not have.
            stream.reconfigure(errors="replace")
    try:
        given = None if arguments is None else list(arguments)
        typed = shlex.join([_PROGRAM, *(sys.argv[1:] if given is None else given)])
        app(args=given, prog_name=_PROGRAM, obj=typed)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except KeyboardInterrupt:
        return 130
    except (ExceptionGroup, OSError, *_FAILURES) as error:
        for message in _messages(error):
            print(f"orthoboot: {_with_options(message)}", file=sys.stderr)
        return 2 if isinstance(error, errors.ArgumentError) else 1
    return 0


def _with_options(message: str) -> str:
    """Return a message of the library with the options of the command line in place of arguments."""
    for argument, option in OPTIONS.items():
        message = message.replace(f"`{argument}`", f"`{option}`")
        message = re.sub(rf"\b{argument}=['\"]?([\w.]+)['\"]?", rf"{option} \1", message)
    return message


def _messages(error: Exception) -> Iterator[str]:
    """Yield the message of each error, with its note if there are several."""
    if isinstance(error, ExceptionGroup):
        yield f"{error.message}:"
        for one in error.exceptions:
            yield from _messages(one)
    else:
        yield ": ".join([*getattr(error, "__notes__", ()), errors.in_words(error)])

"""The command line: parse, call, print. Each command is one file, and one line in `app`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_PACKAGES = ("click", "rich", "typer")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, the one of this process by default, and return its exit code."""
    try:
        from orthoboot.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        print(
            f'orthoboot: the command line needs {error.name}; install it with `pip install "orthoboot[cli]"`.',
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        return 130
    return run(arguments)

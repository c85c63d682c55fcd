"""The pages with commands: these print what the page says."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")
pytest.importorskip("formulaic")
pytest.importorskip("sklearn")

from tests.conftest import REPOSITORY

PAGES = {"command-line": 12, "start": 1}
"""How many commands a page has at least."""

DIGITS = re.compile(r"(\d\.\d{6})\d+")
"""Digits of numbers in full, which may differ between processors."""

SECONDS = re.compile(r"(?m) +\d+\.\d{3}$")
"""The last cell of a row with the time it took, which is another one every time."""


def comparable(text):
    """Return what must be the same in every run."""
    return DIGITS.sub(r"\1", SECONDS.sub("", text)).rstrip()


def printed_by(command, run, monkeypatch):
    """Return what a command of the page prints, and its complaints after it."""
    if command.startswith("cat ") and "|" not in command:
        return Path(command.removeprefix("cat ")).read_text()
    piped, _, called = command.rpartition("|")
    with open(piped.split()[1] if piped else "law.csv", "rb") as stream:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        _, printed, complaints = run(*shlex.split(called)[1:])
    return printed + complaints


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize(("page", "least"), PAGES.items())
def test_the_commands_of_a_page_print_what_it_says(page, least, run, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"```(\w*)\n(.*?)```", (REPOSITORY / "docs" / f"{page}.md").read_text(encoding="utf-8"), flags=re.DOTALL
    )
    exec(next(program for language, program in blocks if language == "python"), {})
    capsys.readouterr()
    sessions = [session for language, session in blocks if language == "console"]
    commands = 0
    for session in sessions:
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, flags=re.MULTILINE):
            found = printed_by(command, run, monkeypatch)
            assert comparable(found) == comparable(expected), command
            commands += 1
    assert commands >= least

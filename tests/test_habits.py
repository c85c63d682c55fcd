"""What is written down twice is the same: linters and versions of Python."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.conftest import REPOSITORY

MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text_of(name: str) -> str:
    """A file of the repository that the sdist leaves out."""
    file = REPOSITORY / name
    if not file.exists():
        pytest.skip(f"no {name}: this is not the repository")
    return file.read_text(encoding="utf-8")


def test_the_hooks_run_what_make_lint_runs():
    (recipe,) = re.findall(r"^lint: .*\n((?:\t.*\n)+)", MAKEFILE, flags=re.MULTILINE)
    programs = re.findall(r"\$\(BIN\)/(ruff \w+|\S+)", recipe)
    entries = re.findall(r"entry: \.venv/bin/(ruff \w+|\S+)", text_of(".pre-commit-config.yaml"))
    assert entries == programs
    assert len(programs) == 5


def test_the_versions_of_python_are_the_same_everywhere():
    label = "Programming Language :: Python :: 3."
    promised = [entry.rpartition(" ")[2] for entry in PROJECT["classifiers"] if entry.startswith(label)]
    (tried,) = re.findall(r"^VERSIONS := (.*)$", MAKEFILE, flags=re.MULTILINE)
    assert tried.split() == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"
    assert f"python: {promised}".replace("'", '"') in text_of(".github/workflows/ci.yml")

"""The paper is reproduced with what a user has: the public names, and nothing behind them."""

from __future__ import annotations

import ast

import pytest

import orthoboot as ob
from tests.conftest import REPOSITORY

PAPER = REPOSITORY / "src" / "orthoboot" / "paper"
ALLOWED = ("orthoboot.errors", "orthoboot.paper", "orthoboot.presentation", "orthoboot.typing")
# What runs the experiments is a part of the library, and may check arguments and draw progress bars as others do.
SURROUNDINGS = {"reproduction.py", "run.py", "store.py"}
EXPERIMENTS = sorted(file for file in PAPER.rglob("*.py") if file.name not in SURROUNDINGS)


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.relative_to(PAPER).as_posix())
def test_an_experiment_imports_nothing_from_behind_the_public_names(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    ours = {module for module in imported if module.split(".")[0] == "orthoboot"}
    assert {module for module in ours if not module.startswith(ALLOWED)} == set()


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.relative_to(PAPER).as_posix())
def test_an_experiment_uses_names_that_users_see(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ob"
    }
    assert used <= set(dir(ob))

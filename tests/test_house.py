"""The house is in order, and its map is the one on the page."""

from __future__ import annotations

import runpy
from functools import cache

from tests.conftest import REPOSITORY

DEVELOPER = REPOSITORY / "docs" / "developer"
_map = runpy.run_path(str(DEVELOPER / "map.py"))


@cache
def house():
    """All modules and their imports."""
    return _map["read"](REPOSITORY)


def test_every_rule_of_the_house_is_kept():
    assert _map["broken_rules"](house()) == []


def test_the_map_on_the_page_is_that_of_the_house():
    page = (DEVELOPER / "architecture.md").read_text(encoding="utf-8")
    assert _map["drawn"](house()) in page, "run `make map`"

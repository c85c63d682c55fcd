"""The house is in order, and its map is the one on the page."""

from __future__ import annotations

import runpy

from tests.conftest import REPOSITORY

DEVELOPER = REPOSITORY / "docs" / "developer"
_map = runpy.run_path(str(DEVELOPER / "map.py"))
HOUSE = _map["read"](REPOSITORY)


def test_every_rule_of_the_house_is_kept():
    assert _map["broken_rules"](HOUSE) == []


def test_the_map_on_the_page_is_that_of_the_house():
    page = (DEVELOPER / "architecture.md").read_text(encoding="utf-8")
    assert _map["drawn"](HOUSE) in page, "run `make map`"

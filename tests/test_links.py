"""Links between the pages lead somewhere: to a file that exists, and to a heading that it has."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

PAGES = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if "generated" not in page.parts and "_build" not in page.parts]

FENCED = re.compile(r"^```.*?^```\s*$", flags=re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#{1,6}) (.+)$", flags=re.MULTILINE)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of the headings of a page, as GitHub and the site make them."""
    found: list[str] = []
    for _, title in HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.append(anchor if anchor not in found else f"{anchor}-{found.count(anchor)}")
    return frozenset(found)


def links(page: Path) -> list[str]:
    """Return where the links and pictures of a page lead, but for other sites."""
    text = re.sub(r"`[^`\n]+`", "", FENCED.sub("", page.read_text(encoding="utf-8")))
    return [target for target in LINK.findall(text) if not re.match(r"[a-z]+:", target)]


def is_broken(page: Path, target: str) -> bool:
    """Return whether a link of a page leads nowhere."""
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    return not file.exists() or bool(anchor and file.suffix == ".md" and anchor not in anchors(file))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert [target for target in links(page) if is_broken(page, target)] == []


def test_links_are_found_and_judged(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `two`: three\n\n[a](page.md#one-two-three), [b](#none), [c](none.md),\n![d\ne](none.svg)\n\n"
        "`[f](code.md)` and [g](https://example.org)\n\n```\n# [h](code.md)\n```\n"
    )
    assert links(page) == ["page.md#one-two-three", "#none", "none.md", "none.svg"]
    assert [is_broken(page, target) for target in links(page)] == [False, True, True, True]


def test_there_are_links_to_check() -> None:
    assert sum(len(links(page)) for page in PAGES) > 200

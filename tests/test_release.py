"""What a release needs to agree: version, citation, changelog and extras."""

from __future__ import annotations

import re
import tomllib

import pytest
from tools import extras

import orthoboot as ob
from tests.conftest import REPOSITORY

CITATION = REPOSITORY / "CITATION.cff"
CHANGELOG = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_citation_has_what_the_format_asks_for_and_this_version():
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
    # Citation File Format 1.2.0: these four are required.
    assert found["cff-version"] == "1.2.0"
    assert found["message"]
    assert found["title"]
    assert found["authors"]
    assert found["type"] == "software"
    assert found["version"] == ob.__version__
    assert found["license"] == SETTINGS["license"]
    for work in (found["preferred-citation"], *found["references"]):
        assert work["type"] == "conference-paper"
        assert work["title"]
        assert all({"family-names", "given-names"} <= author.keys() for author in work["authors"])


def test_the_newest_release_of_the_changelog_is_this_version():
    unreleased, *released = re.findall(r"^## (.*)$", CHANGELOG, flags=re.MULTILINE)
    assert unreleased == "Unreleased"
    for newest in released[:1]:
        assert re.fullmatch(rf"{re.escape(ob.__version__)} \(\d{{4}}-\d\d-\d\d\)", newest)


def test_every_extra_has_an_example_or_is_tried_elsewhere():
    assert set(extras.names()) == {path.stem for path in extras.EXAMPLES.glob("*.py")}
    assert {*extras.names(), *extras.ELSEWHERE} == {extras.CORE, *SETTINGS["optional-dependencies"]}
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for target in extras.ELSEWHERE.values():
        assert re.search(rf"^{target.removeprefix('make ')}:", makefile, flags=re.MULTILINE)


def test_without_a_wheel_it_is_said_what_makes_one(tmp_path):
    with pytest.raises(SystemExit, match="`make build` makes one"):
        extras.newest_wheel(tmp_path)

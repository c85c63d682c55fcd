"""The pages of the reference list every public name, and the site every page."""

from __future__ import annotations

import re

import orthoboot as ob
from tests.conftest import REPOSITORY

DOCUMENTS = REPOSITORY / "docs"
LISTED = re.compile(r"\.\. currentmodule:: (\S+)\n\n\.\. autosummary::\n   :toctree: generated/\n\n((?:   \w+\n)+)")


def listed_names():
    """Return the full names that the reference has a page or a section for."""
    names = []
    for page in sorted((DOCUMENTS / "reference").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        names += [f"{module}.{name}" for module, block in LISTED.findall(text) for name in block.split()]
        names += re.findall(r"\.\. automodule:: (\S+)\n   :members:", text)
    return names


def test_the_reference_lists_every_public_name_once():
    names = listed_names()
    modules = {"errors", "plans", "solvers"}
    promised = {f"orthoboot.{name}" for name in set(dir(ob)) - modules - {"__version__"}}
    promised |= {
        f"orthoboot.{module.__name__.split('.')[-1]}.{name}"
        for module in (ob.plans, ob.solvers)
        for name in module.__all__
    }
    promised -= {"orthoboot.solvers.SOLVERS"}  # a table of the three solvers, told of in words
    promised |= {"orthoboot.errors"}
    assert set(names) == promised
    assert len(names) == len(set(names))


def test_every_page_is_in_a_table_of_contents():
    entries = set()
    for page in DOCUMENTS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(?::\w+:\n)*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for entry in block.split("\n"):
                pattern = re.sub(r".*<(.*)>", r"\1", entry)
                if pattern.startswith("../"):
                    entries.add((page.parent / f"{pattern}.md").resolve())
                elif pattern:
                    entries |= {file.resolve() for file in page.parent.glob(f"{pattern}.md")}
    pages = {page.resolve() for page in DOCUMENTS.rglob("*.md")} - {(DOCUMENTS / "index.md").resolve()}
    assert entries == pages

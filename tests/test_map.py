"""The map of the rooms, docs/developer/map.py, on small houses that each break one rule."""

from __future__ import annotations

import importlib
import runpy
import sys

import pytest

from tests.conftest import REPOSITORY

_map = runpy.run_path(str(REPOSITORY / "docs" / "developer" / "map.py"))
read, drawn, filled, broken_rules = _map["read"], _map["drawn"], _map["filled"], _map["broken_rules"]

LAYERS = ["top", "left | right", "middle : centre", "(cellar)", "ground"]
ORDERLY = {
    "__init__.py": '"""A small house."""\nfrom cottage.top import enter\n',
    "top.py": '"""Where one enters."""\nfrom cottage import ground\nimport cottage.left\n\ndef enter(): ...\n',
    "left/__init__.py": '"""A room of two modules: | is a sign.\n\nAnd more."""\n',
    "left/window.py": "from ..middle import table\nfrom .curtain import *\n",
    "left/curtain.py": "def close():\n    from cottage.ground import stone\n",
    "right.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from cottage.ground import stone\n",
    "middle.py": "import cottage.centre\ntable = 1\n",
    "centre.py": "import os\n",
    "ground.py": "stone = 1\n",
}


@pytest.fixture
def house(tmp_path, monkeypatch):
    """Build a package from the texts of its files and read it; it can be imported until the test ends."""

    def build(files):
        settings = '[tool.importlinter]\nroot_package = "cottage"\n[[tool.importlinter.contracts]]\ntype = "layers"\n'
        (tmp_path / "pyproject.toml").write_text(f'{settings}containers = ["cottage"]\nlayers = {LAYERS}\n')
        for name, text in files.items():
            path = tmp_path / "src" / "cottage" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        importlib.invalidate_caches()
        return read(tmp_path)

    monkeypatch.syspath_prepend(tmp_path / "src")
    yield build
    for name in [name for name in sys.modules if name.partition(".")[0] == "cottage"]:
        del sys.modules[name]


def test_a_house_in_order_breaks_no_rule(house):
    assert broken_rules(house(ORDERLY)) == []


def test_imports_are_read_in_all_their_forms_with_when_they_run(house):
    imports = {(entry.importer, entry.imported, entry.when) for entry in house(ORDERLY).imports}
    assert imports == {
        ("cottage", "cottage.top", "always"),
        ("cottage.top", "cottage.ground", "always"),
        ("cottage.top", "cottage.left", "always"),
        ("cottage.left.window", "cottage.middle", "always"),
        ("cottage.left.window", "cottage.left.curtain", "always"),
        ("cottage.left.curtain", "cottage.ground", "called"),
        ("cottage.right", "cottage.ground", "types"),
        ("cottage.middle", "cottage.centre", "always"),
    }


def test_a_module_that_is_imported_by_its_name_is_read(house):
    root = 'from importlib import import_module\n_LAZY = {"stone": "cottage.ground"}\nimport_module(_LAZY["stone"])\n'
    (entry,) = (entry for entry in house({**ORDERLY, "__init__.py": root}).imports if entry.importer == "cottage")
    assert (entry.imported, entry.when) == ("cottage.ground", "called")


def test_the_map_shows_the_rooms_from_top_to_bottom(house):
    assert drawn(house(ORDERLY)).splitlines()[2:] == [
        "|  | `cottage/` | A small house. | top |  |",
        "| 1 | `top` | Where one enters. | left, ground |  |",
        r"| 2 | `left/` | A room of two modules: \| is a sign. | middle | ground |",
        "| 2 | `right` |  |  | ground |",
        "| 3 | `middle` |  | centre |  |",
        "| 3 | `centre` |  |  |  |",
        "| 5 | `ground` |  |  |  |",
    ]


def test_the_map_is_put_between_its_markers():
    page = "before\n<!-- map -->\nold\n<!-- end of map -->\nafter\n"
    once = filled(page, "new\n")
    assert once == "before\n<!-- map -->\n\nnew\n\n<!-- end of map -->\nafter\n"
    assert filled(once, "new\n") == once


BROKEN = {
    "a cycle of imports: cottage.left.curtain -> cottage.left.window -> cottage.left.curtain": {
        "left/curtain.py": "def close():\n    from cottage.left import window\n",
    },
    "an import upwards, from layer 5 to layer 2: cottage.ground, line 2, imports cottage.right": {
        "ground.py": "stone = 1\nimport cottage.right\n",
        "right.py": "",
    },
    "an import between independent rooms of layer 2: cottage.right, line 1, imports cottage.left": {
        "right.py": "import cottage.left\n",
    },
    "a room in no layer of pyproject.toml: cottage.shed": {"shed.py": ""},
    "a folder with 11 modules of its own, of at most 10: cottage": {
        **{f"shed{number}.py": "" for number in range(5)},
        "__main__.py": "",
    },
    "a folder with 15 modules of its own, of at most 14: cottage.left": {
        f"left/pane{number}.py": "" for number in range(13)
    },
    "a module shadowed by a name of its package: cottage.left binds window to a int": {
        "left/__init__.py": "from cottage.left.window import table as window\n"
    },
    "a module shadowed by a name of its package: cottage.left binds curtain to a function": {
        "left/__init__.py": "def curtain(): ...\n"
    },
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_named_with_its_place(house, rule):
    broken = broken_rules(house({**ORDERLY, **BROKEN[rule]}))
    assert rule in broken
    # Five sheds are in no layer either.
    assert [other for other in broken if other != rule and "shed" not in other] == []


def test_two_modules_may_name_each_other_s_types(house):
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from cottage.left.window import table\n"
    assert broken_rules(house({**ORDERLY, "left/curtain.py": types})) == []


def test_a_module_that_cannot_be_imported_here_is_told(house, capsys):
    assert broken_rules(house({**ORDERLY, "right.py": "import a_package_that_is_not_installed\n"})) == []
    assert "not looked at: cottage.right" in capsys.readouterr().err

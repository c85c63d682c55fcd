"""Where an optional package is missing, what needs it is left out of the tests, and nothing else: conftest.py."""

from __future__ import annotations

import runpy

import pytest

from tests.conftest import REPOSITORY


def test_a_file_that_cannot_be_imported_is_an_error(pytestconfig):
    # With this option pytest would skip, without a word, every test of a file that imports a name which is gone.
    assert not pytestconfig.getoption("doctest_ignore_import_errors")


@pytest.fixture
def needed(tmp_path):
    """What is imported with a file of a small repository."""
    files = {
        "src/house/__init__.py": "from house.hall import door\n",
        "src/house/hall.py": "import numpy as np\ndef door():\n    import torch\n",
        "src/house/cellar/__init__.py": "try:\n    import sklearn\nexcept ImportError:\n    raise\n",
        "src/house/cellar/wine.py": "",
        "src/house/attic.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n",
        "tests/registry.py": "import statsmodels.api as sm\n",
        "tests/test_hall.py": "from house import hall\nfrom tests.registry import ROWS\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    function = runpy.run_path(str(REPOSITORY / "conftest.py"))["_needed"]
    function.__globals__["ROOTS"] = (tmp_path / "src", tmp_path)
    return lambda name: function(tmp_path / name) & {"numpy", "torch", "sklearn", "statsmodels"}


def test_what_a_file_needs_is_what_runs_when_it_is_imported(needed):
    assert needed("src/house/hall.py") == {"numpy"}, "a function's import runs when it is called"
    assert needed("src/house/attic.py") == {"numpy"}, "an import for types never runs"
    assert needed("src/house/cellar/wine.py") == {"numpy", "sklearn"}, "the packages around a module run with it"
    assert needed("tests/test_hall.py") == {"numpy", "statsmodels"}, "and the files that it imports"

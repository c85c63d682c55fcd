"""Docstrings and documents hold what they promise."""

from __future__ import annotations

import inspect
import pathlib
import re
import subprocess
import sys
import tomllib

import numpy as np
import pandas as pd
import pytest

import orthoboot as ob

REPOSITORY = pathlib.Path(__file__).parents[1]
LABELS = set((REPOSITORY / "tests" / "paper_labels.txt").read_text().splitlines())
SOURCES = sorted((REPOSITORY / "src").rglob("*.py")) + sorted((REPOSITORY / "docs").rglob("*.md"))

# A label as the paper writes them: a kind, a colon, a name. Labels without a colon cannot be told from code.
KINDS = "eq|equation|alg|lem|lemma|thm|theorem|section|subsection|appendix|table|fig|assumption|cor"
CITED = re.compile(rf"`{{1,2}}((?:{KINDS}):[^`]+)`{{1,2}}")

OPTIONAL = (
    "numba",
    "pandas",
    "polars",
    "pyarrow",
    "tqdm",
    "torch",
    "jax",
    "sklearn",
    "statsmodels",
    "cvxpy",
    "diffcp",
    "matplotlib",
)


def test_every_cited_label_is_in_the_paper():
    cited = {(path.name, label) for path in SOURCES for label in CITED.findall(path.read_text())}
    assert len(cited) > 10
    assert [entry for entry in sorted(cited) if entry[1] not in LABELS] == []


def test_every_public_name_has_a_docstring():
    for name in ob.__all__:
        entry = getattr(ob, name)
        assert inspect.getdoc(entry), name


def test_what_the_guide_needs_is_listed():
    assert {"solvers", "plans", "errors", "__version__"} <= set(dir(ob))


LATER = (
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "orthoboot.models",
    "orthoboot.prediction",
)
"""What takes long to import and is not needed before it is used."""


def loaded_among(names, program):
    """Return which of the modules a program has loaded when it ends."""
    whole = f"import sys; {program}; print([name for name in {names} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_imports_no_optional_dependency():
    assert loaded_among(OPTIONAL, "import orthoboot") == "[]"


def test_importing_the_package_imports_nothing_that_takes_long_before_it_is_used():
    assert loaded_among(("numpy", "orthoboot.api", *LATER), "import orthoboot") == "[]"
    assert loaded_among(LATER, "import orthoboot; orthoboot.bootstrap; orthoboot.correlation; orthoboot.Result") == "[]"
    assert "orthoboot.models" in loaded_among(LATER, "import orthoboot; orthoboot.from_sklearn")


def test_whatever_is_imported_later_is_listed_once():
    assert len(dir(ob)) == len(set(dir(ob)))
    assert all(getattr(ob, name) is not None for name in ob.__all__)


def test_the_version_is_the_same_everywhere():
    citation = (REPOSITORY / "CITATION.cff").read_text()
    assert f"version: {ob.__version__}\n" in citation


# What the README and the tour show is what happens


BLOCK = re.compile(r"```(\w*)\n(.*?)```", flags=re.DOTALL)
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
TOUR = (REPOSITORY / "docs" / "tour.md").read_text(encoding="utf-8")


def test_the_first_example_prints_what_the_readme_says(capsys):
    (_, program), (_, printed) = BLOCK.findall(README)[:2]
    exec(program, {})
    assert capsys.readouterr().out == printed


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_examples_of_the_tour_run(jax):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))

    def fit(X, y, weights):
        return np.linalg.solve((X * weights[:, None]).T @ X, (X * weights[:, None]).T @ y)

    def gini(x, weights):
        jnp = jax.numpy
        order = jnp.argsort(x)
        shares = weights[order] / weights.sum()
        below = jnp.cumsum(shares)[:-1]
        return jnp.sum(below * (1 - below) * jnp.diff(x[order])) / jnp.sum(shares * x[order])

    names = {
        "np": np,
        "ob": ob,
        "x": rng.gamma(2.0, size=60),
        "y": (X @ [1.0, 2.0] + rng.standard_normal(60) > 0).astype(float),
        "score": X @ [1.0, 2.0],
        "other_score": X @ [2.0, 1.0],
        "X": X,
        "a": rng.gamma(2.0, size=40),
        "b": rng.gamma(2.0, size=50),
        "frame": pd.DataFrame({"revenue": rng.gamma(2.0, size=60), "visits": rng.poisson(3, 60) + 1}),
        "fit": fit,
        "counts": rng.poisson(3, 60),
        "gini": gini,
        "loss": lambda theta, X, y: (y - X @ theta) ** 2,
        "cost": lambda x, mean: ((x - mean) ** 2).sum(),
        "budget": lambda x, mean: x.sum() - 1,
    }
    programs = [program for language, program in BLOCK.findall(TOUR) if language == "python"]
    assert len(programs) == 3
    for program in programs:
        exec(program, names)


def test_the_readme_takes_two_screens_and_names_every_extra():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = {"test", "dev", "docs", "bench"}
    assert len(README.splitlines()) <= 100
    assert set(re.findall(r'"\.\[(\w+)\]"', README)) == set(project["optional-dependencies"]) - ours

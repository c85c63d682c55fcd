"""The pages of the documentation: their programs run, one after the other, and print what the pages say."""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

DOCUMENTS = pathlib.Path(__file__).parents[1] / "docs"
PAGES = {
    "controls": (),
    "cvxpy": ("cvxpy", "diffcp"),
    "gallery/aspirin": ("matplotlib",),
    "gallery/coefficients": ("sklearn", "pandas", "matplotlib"),
    "gallery/growth": ("matplotlib",),
    "gallery/law-school": ("matplotlib",),
    "gallery/medians": ("sklearn", "pandas", "matplotlib"),
    "gallery/own-statistic": ("sklearn", "matplotlib"),
    "gallery/portfolio": ("jax", "matplotlib"),
    "gallery/prediction": ("sklearn", "matplotlib"),
    "gallery/sunspots": ("statsmodels", "matplotlib"),
    "gallery/two-models": ("sklearn", "pandas", "matplotlib"),
    "guide": ("jax", "torch", "joblib", "pandas"),
    "how": (),
    "large_data": ("dask.array", "polars", "pyarrow"),
    "migrating": (),
    "plots": ("matplotlib",),
    "prediction": ("sklearn", "torch"),
    "simulation": ("simpy", "matplotlib"),
    "simulation-clinic": ("simpy", "matplotlib"),
    "simulation-inventory": ("matplotlib",),
    "simulation-policies": ("matplotlib",),
    "simulation-queue": ("matplotlib",),
    "sklearn": ("sklearn", "torch"),
    "start": (),
    "statsmodels": ("statsmodels",),
    "torch": ("torch", "sklearn"),
}
"""Which packages a page needs."""


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_programs_of_a_page_print_what_it_says(
    page: str, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for files that a program writes
    for package in PAGES[page]:
        pytest.importorskip(package)
    blocks = re.findall(r"```(\w*)\n(.*?)```", (DOCUMENTS / f"{page}.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {}
    programs = 0
    for (language, program), (following, printed) in zip(blocks, [*blocks[1:], ("end", "")], strict=True):
        if language == "python":
            exec(program, names)
            assert capsys.readouterr().out == ("" if following else printed)
            programs += 1
    assert programs


@pytest.fixture(autouse=True)
def no_figure_is_left_open() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def test_every_example_of_the_gallery_is_run() -> None:
    examples = {f"gallery/{file.stem}" for file in (DOCUMENTS / "gallery").glob("*.md")} - {"gallery/index"}
    assert examples == {page for page in PAGES if page.startswith("gallery/")}


@pytest.mark.slow
def test_two_thousand_ordinary_refits_have_the_standard_errors_that_the_gallery_says() -> None:
    for package in ("sklearn", "pandas"):
        pytest.importorskip(package)
    text = (DOCUMENTS / "gallery" / "coefficients.md").read_text(encoding="utf-8")
    program = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0]
    more = program.replace("paired=True", 'paired=True, estimator="standard", n_resamples=2000')
    names: dict[str, Any] = {}
    exec(more.partition("table =")[0], names)
    told = re.findall(r"give (.*?), (.*?), (.*?) and (.*?), and take", text)[0]
    assert [f"{error:.2f}" for error in names["result"].standard_error.ravel()] == list(told)

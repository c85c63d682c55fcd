from __future__ import annotations

import base64
import html
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.presentation.pages.reader import Page, check_access, check_page

import orthoboot as ob
from orthoboot import errors
from orthoboot.presentation.pages.result_code import result_code

RNG = np.random.default_rng(1)
X = RNG.lognormal(size=(80, 2))
EVIL = "<script>alert('x')</script> & \"co\""


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        return ob.bootstrap(*args, **{"n_resamples": 20, "rng": 0, **options})


def evil_result():
    def statistic(frame):
        return frame.mean() ** 2

    statistic.__name__ = "<b>bold</b>"
    frame = pd.DataFrame({EVIL: X[:40, 0], "$u_": X[:40, 1]}, index=[f"<i>{i}" for i in range(40)])
    return quietly(frame, statistic)


RESULTS = {
    "scalar": quietly(X, ob.correlation),
    "vector": quietly(X, ob.variance, simultaneous=True),
    "evil": evil_result(),
    "one-sided": quietly((X[:, 0], X[:50, 1]), ob.difference(ob.mean), alternative="greater"),
    "constant": quietly(np.full(20, 3.0), ob.mean),
    "jackknife": quietly(X, ob.correlation, estimator="jackknife", n_resamples=None),
    "standard": quietly(X[:, 0], np.ptp, estimator="standard", n_resamples=100),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {name: result.to_html(folder / f"{name}.html") for name, result in RESULTS.items()}


def test_the_path_is_given_back(pages, tmp_path):
    assert all(isinstance(path, Path) and path.is_file() for path in pages.values())
    assert RESULTS["constant"].to_html(str(tmp_path / "page.html")) == tmp_path / "page.html"


@pytest.mark.parametrize("name", RESULTS)
def test_a_page_is_well_formed_small_and_needs_nothing_from_elsewhere(pages, name):
    check_page(pages[name].read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RESULTS)
def test_a_page_can_be_read_by_everyone(pages, name):
    check_access(pages[name].read_text(encoding="utf-8"), sections=6)


@pytest.mark.parametrize("name", RESULTS)
def test_the_numbers_on_a_page_are_those_of_the_result(pages, name):
    result = RESULTS[name]
    values = [float(value) for value in Page(pages[name].read_text(encoding="utf-8")).all("data", "value")]
    if len(result.names) == 1:
        values = values[4:]  # the sentence has four of them
    frame = result.to_frame()[["estimate", "low", "high", "standard_error", "bias"]]
    np.testing.assert_array_equal(values[: frame.size], frame.to_numpy().ravel())


def test_what_is_read_is_what_the_summary_says(pages):
    page = Page(pages["scalar"].read_text(encoding="utf-8"))
    result = RESULTS["scalar"]
    for number in re.findall(r"-?\d+\.\d+", str(result).splitlines()[3]):
        assert number in page.text
    for words in ("abc" if result.interval_method == "abc" else result.interval_method, result.interval_reason):
        assert words in page.text
    assert "rng=0" in page.text
    assert f"orthoboot {ob.__version__}" in page.text
    assert f"numpy {np.__version__}" in page.text


def test_every_worry_stands_on_the_page(pages):
    for name, result in RESULTS.items():
        text = Page(pages[name].read_text(encoding="utf-8")).text
        for warning in result.warnings:
            assert "".join(str(warning).replace("`", "").split()) in "".join(text.split())
        assert ("found no problem" in text) == (not result.warnings)


def test_names_are_escaped_everywhere(pages):
    text = pages["evil"].read_text(encoding="utf-8")
    page = Page(text)
    assert "<script" not in text
    assert not {"script", "b", "i"} & set(page.tags)
    assert "alert('x')" in page.text
    assert "<b>bold</b>" in page.text
    assert html.escape("<i>") in text
    assert "$u_" in page.text


def test_the_pictures_are_those_that_there_are(pages):
    pytest.importorskip("matplotlib")
    pictures = {name: Page(path.read_text(encoding="utf-8")).tags.count("svg") for name, path in pages.items()}
    assert pictures == {
        "scalar": 5,
        "vector": 6,
        "evil": 6,
        "one-sided": 5,
        "constant": 5,
        "jackknife": 2,
        "standard": 3,
    }
    text = Page(pages["standard"].read_text(encoding="utf-8")).text
    assert "No picture of the control: it needs an influence function" in text


def test_pictures_take_the_colours_of_the_page(pages):
    pytest.importorskip("matplotlib")
    text = pages["scalar"].read_text(encoding="utf-8")
    drawings = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))
    assert re.findall(r"#[0-9a-fA-F]{6}\b", drawings) == []
    used = set(re.findall(r"var\((--plot-\w+)\)", drawings))
    style = re.search(r"<style>(.*?)</style>", text, flags=re.DOTALL)[1]
    assert len(used) == 5
    assert all(style.count(f"{name}:") == 2 for name in used), "for light and for dark"
    assert "<text" in drawings, "words, and not outlines of letters"


def test_the_rows_are_the_most_influential_ones(pages):
    result = RESULTS["scalar"]
    page = Page(pages["scalar"].read_text(encoding="utf-8"))
    order = np.argsort(-np.abs(result.influence))[:10]
    changes = [float(value) for value in page.all("data", "value")[-10:]]
    np.testing.assert_allclose(changes, result.influence[order] / len(X))
    assert all(f"row {row} " in page.text for row in order)
    assert "No list: it needs an influence function" in Page(pages["standard"].read_text(encoding="utf-8")).text


@pytest.mark.parametrize(
    ("data", "statistic", "options"),
    [
        (X, ob.correlation, {}),
        ((X[:, 0], X[:, 1]), ob.ratio, {"paired": True, "confidence_level": 0.9, "control": "linear"}),
        ((X[:, 0], X[:30, 1]), ob.difference(ob.mean), {"alternative": "less", "method": "normal"}),
        (X, ob.variance, {"simultaneous": True, "estimator": "paper"}),
        (X[:, 0], ob.variance, {"estimator": "jackknife", "n_resamples": None}),
        (X[:, 0], lambda x: np.mean(x), {"transform": "log", "n_resamples": 30}),
    ],
)
def test_the_program_on_the_page_makes_the_result_again(data, statistic, options, capsys):
    result = quietly(data, statistic, **options)
    names = {"data": data, "statistic": statistic}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        exec(result_code(result._answer), names)
    assert capsys.readouterr().out.rstrip("\n") == str(result)
    assert names["result"].to_dict() == result.to_dict()


def test_the_program_stands_on_the_page(pages):
    for name, path in pages.items():
        text = path.read_text(encoding="utf-8")
        program = html.unescape(re.search(r"<pre[^>]*><code>(.*?)</code></pre>", text, flags=re.DOTALL)[1])
        assert program == result_code(RESULTS[name]._answer)
        compile(program, name, "exec")


def test_the_program_says_what_it_cannot_know():
    groups = np.repeat(np.arange(20), 4)
    program = result_code(quietly(X, ob.correlation, groups=groups, rng=np.random.default_rng(0))._answer)
    assert "# and `strata`, `groups` or `block_length` as they were" in program
    assert "these draws cannot be reproduced" in program


def test_the_output_in_the_pictures_is_chosen(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "page.html"
    text = Page(RESULTS["vector"].to_html(path, output="variance[1]").read_text(encoding="utf-8")).text
    assert "All but the first are of the output variance[1]" in text
    with pytest.raises(errors.ArgumentError, match="`output` must be one of"):
        RESULTS["vector"].to_html(path, output="x")


def test_a_bad_path_is_named(tmp_path):
    with pytest.raises(errors.ArgumentError, match="`path` must be the name of a file"):
        RESULTS["scalar"].to_html(3)
    with pytest.raises(FileNotFoundError, match="missing"):
        RESULTS["scalar"].to_html(tmp_path / "missing" / "page.html")


def test_without_matplotlib_the_page_has_all_but_the_pictures(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(RESULTS["scalar"].to_html(tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "svg" not in page.tags
    assert 'pip install "orthoboot[plot]"' in page.text
    assert "img" not in Page(RESULTS["scalar"]._repr_html_()).tags


def test_a_notebook_shows_the_table_and_a_small_picture():
    pytest.importorskip("matplotlib")
    for name in ("scalar", "vector", "evil", "constant", "one-sided"):
        text = RESULTS[name]._repr_html_()
        page = Page(text)
        assert page.tags.count("img") == 1
        assert page.all("img", "alt")[0].endswith(".")
        source = page.all("img", "src")[0]
        picture = base64.b64decode(source.removeprefix("data:image/png;base64,"))
        assert picture.startswith(b"\x89PNG")
        assert len(text) < 120_000
    many = quietly(RNG.normal(size=(30, 20)), ob.mean)
    assert "img" not in Page(many._repr_html_()).tags

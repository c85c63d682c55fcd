"""Pages as a browser has them: `make test-browser` installs what looks for what some readers cannot see."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytest.importorskip("typer")

from tests.conftest import REPOSITORY
from tests.presentation.pages.reader import Page

import orthoboot as ob
from orthoboot.cli import main
from orthoboot.errors import OrthobootWarning

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")]

MODULES = REPOSITORY / "build" / "browser"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
LOOKS = 4
"""Of a page: light and dark, on a desktop and on a phone."""

GRAVE = ("serious", "critical")


def bootstraps():
    rows = np.random.default_rng(1).lognormal(size=(80, 2))
    yield "scalar", ob.bootstrap(rows, ob.correlation, n_resamples=20, rng=0)
    yield "vector", ob.bootstrap(rows, ob.variance, n_resamples=20, simultaneous=True, rng=0)
    yield "many", ob.bootstrap(np.random.default_rng(2).normal(size=(60, 25)), ob.mean, n_resamples=20, rng=0)
    yield "worries", ob.bootstrap(rows[:12, 0], np.ptp, n_resamples=5, estimator="standard", rng=0)


def simulations():
    rng = np.random.default_rng(3)
    inputs = {"arrival": rng.exponential(1.0, 60), "service": rng.exponential(0.7, 50)}

    def one(arrival, service):
        return np.maximum(service.sum(axis=1) - arrival.sum(axis=1), 0)

    def two(arrival, service):
        return {"now": one(arrival, service), "faster": one(arrival, 0.8 * service)}

    yield "simulation", ob.input_uncertainty(one, inputs, horizon=5, n_runs=600, rng=0)
    yield "two-policies", ob.input_uncertainty(two, inputs, horizon=5, n_runs=600, rng=0)


COLUMNS = {
    ob.Result: ["estimate", "low", "high", "standard_error", "bias"],
    ob.InputUncertainty: ["estimate", "low", "high", "input_error", "run_error", "bias"],
}


@pytest.fixture(scope="module")
def results():
    """By name what there is a page of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrthobootWarning)
        return dict([*bootstraps(), *simulations()])


@pytest.fixture(scope="module")
def pages(results, tmp_path_factory):
    """The files of the pages; those of the command line have no result beside them."""
    folder = tmp_path_factory.mktemp("pages")
    found = {name: result.to_html(folder / f"{name}.html") for name, result in results.items()}
    rows = folder / "rows.csv"
    x = np.random.default_rng(4).normal(size=(40, 3)).round(3)
    np.savetxt(rows, x + x.sum(axis=1, keepdims=True), delimiter=",", header="a,b,y", comments="", fmt="%.3f")
    with contextlib.redirect_stdout(io.StringIO()):
        for name, arguments in {
            "command": ("ci", rows, "--statistic", "correlation", "--columns", "a,y"),
            "predictions": ("predict", rows, "--target", "y", "--new", rows),
        }.items():
            found[name] = folder / f"{name}.html"
            assert main([*map(str, arguments), "--report", str(found[name])]) == 0
    return found


@pytest.fixture(scope="module")
def chromium():
    """The browser."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs chromium (Debian: chromium)")
    return program


def check_numbers(found, result):
    """Check that the numbers on a page, in its order, are those of a result; a single output has a sentence as well."""
    values = result.to_frame()[COLUMNS[type(result)]].to_numpy()
    in_sentence = values.shape[1] - 1 if len(values) == 1 else 0
    assert set(found[:in_sentence]) == set(values.ravel()[:in_sentence])
    np.testing.assert_array_equal(found[in_sentence:][: values.size], values.ravel())


def test_a_browser_shows_the_numbers_of_the_result_and_complains_of_nothing(chromium, pages, results, tmp_path):
    for name, path in pages.items():
        command = [chromium, *FLAGS, f"--user-data-dir={tmp_path / name}", "--enable-logging=stderr", "--v=0"]
        ended = subprocess.run(
            [*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120, check=True
        )
        assert "CONSOLE" not in ended.stderr, name
        text = path.read_text(encoding="utf-8")
        assert len(text.encode()) < 1_000_000
        assert ended.stdout.count("<svg") == text.count("<svg") > 0
        values = [float(value) for value in re.findall(r'<data value="([^"]*)"', ended.stdout)]
        assert values == [float(value) for value in Page(text).all("data", "value")]
        if name in results:
            check_numbers(values, results[name])


@pytest.fixture(scope="module")
def looks(chromium, pages):
    """What a reader meets on every page; the pictures of it are in build/browser/pictures."""
    node = shutil.which("node")
    if node is None or not (MODULES / "node_modules" / "axe-core").is_dir():
        pytest.skip("needs node, with axe-core and playwright-core in build/browser: `make test-browser`")
    pictures = MODULES / "pictures"
    pictures.mkdir(exist_ok=True)
    command = [node, Path(__file__).with_name("look.mjs"), chromium, MODULES, pictures, *pages.values()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_every_page_was_looked_at(looks, pages):
    assert len(looks) == LOOKS * len(pages)
    sizes = {name: path.stat().st_size for name, path in pages.items()}
    print(f"\n{len(pages)} pages of {min(sizes.values()):,} to {max(sizes.values()):,} bytes, {len(looks)} looks")


def test_nothing_is_complained_of_and_nothing_comes_from_elsewhere(looks, pages):
    for look in looks:
        assert look["complaints"] == [], look["page"]
        assert look["requests"] == [pages[look["page"]].as_uri()]


def test_the_numbers_are_those_of_the_result_on_every_screen(looks, results):
    for look in looks:
        if look["page"] in results:
            check_numbers([float(value) for value, _ in look["numbers"]], results[look["page"]])
        assert all(shown.strip() for _, shown in look["numbers"])


def test_no_page_is_wider_than_its_screen(looks):
    assert [look["page"] for look in looks if look["overflow"] > 0] == []


def test_everyone_can_read_every_page(looks):
    findings = [(look["page"], look["screen"], look["colours"], one) for look in looks for one in look["findings"]]
    print(f"\naxe: {len(findings)} findings, {min(look['passes'] for look in looks)} rules or more passed on each page")
    assert [finding for finding in findings if finding[-1]["impact"] in GRAVE] == []


def ratio(one, other):
    """Return the contrast of two colours by WCAG 2."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_words_in_pictures_can_be_told_from_the_ground(pages):
    # Of text in SVG, and of what lies over something else, axe says that it cannot tell.
    text = pages["scalar"].read_text(encoding="utf-8")
    style = re.search(r"<style>(.*?)</style>", text, flags=re.DOTALL)[1]
    style = re.sub(r"@media print \{.*?\n\}", "", style, flags=re.DOTALL)
    in_the_dark = r"@media [^{]*prefers-color-scheme: dark\) \{(.*?)\n\}"
    modes = re.sub(in_the_dark, "", style, flags=re.DOTALL), " ".join(re.findall(in_the_dark, style, flags=re.DOTALL))
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w{6});", mode)) for mode in modes)
    assert light.keys() == dark.keys()
    for colours in (light, dark):
        for name in ("ink", "quiet", "link", "differs", "plot-ink"):
            assert ratio(colours[name], colours["ground"]) >= 4.5, name
            assert ratio(colours[name], colours["panel"]) >= 4.5, name
        for name in ("plot-accent", "plot-quiet", "plot-second"):
            assert ratio(colours[name], colours["ground"]) >= 3, name

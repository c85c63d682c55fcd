from __future__ import annotations

import html
import pickle
import re
import sys
import warnings

import numpy as np
import pytest
from tests.presentation.pages.reader import Page, check_access, check_page
from tests.simulators.queues import INPUTS, mean_wait, mean_wait_by_draws, two_waits

import orthoboot as ob
from orthoboot import errors
from orthoboot.presentation.pages.simulation_code import simulation_code
from orthoboot.presentation.simulation_summary import shown_parts


def quietly(run, inputs, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        return ob.input_uncertainty(run, inputs, **{"horizon": 10, "n_runs": 600, "rng": 0, **options})


def evil(arrival, service):
    return {"<b>now</b> & $x": mean_wait(arrival, service), "other": service.mean(axis=1)}


evil.__name__ = "<script>alert('x')</script>"
GROUPED = ob.input(INPUTS["service"], groups=np.repeat(np.arange(20), 4))
RESULTS = {
    "grouped": quietly(mean_wait, {**INPUTS, "service": GROUPED}),
    "two": quietly(two_waits, INPUTS),
    "evil": quietly(evil, INPUTS, n_runs=100),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    paths = {name: result.to_html(folder / f"{name}.html") for name, result in RESULTS.items()}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items()}


@pytest.mark.parametrize("name", RESULTS)
def test_a_page_is_well_formed_and_can_be_read_by_everyone(pages, name):
    check_page(pages[name])
    check_access(pages[name], sections=7)


@pytest.mark.parametrize("name", RESULTS)
def test_the_numbers_on_a_page_are_those_of_the_result(pages, name):
    result = RESULTS[name]
    values = [float(value) for value in Page(pages[name]).all("data", "value")]
    if len(result.names) == 1:
        values = values[5:]  # the sentence has five of them
    frame = result.to_frame()
    numbers = frame[["estimate", "low", "high", "input_error", "run_error", "bias"]].to_numpy().ravel()
    np.testing.assert_array_equal(values[: len(numbers)], numbers)
    shares = [f"share_{list(result.contributions)[part]}" for part in shown_parts(result._answer)]
    following = values[len(numbers) :]
    np.testing.assert_array_equal(following[: len(shares)], frame[shares].to_numpy()[0])
    doubled = following[len(shares) :][:6:2]
    more = [result.more_data(**factors) for factors in ({"arrival": 2}, {"service": 2}, {"arrival": 2, "service": 2})]
    first = [one.input_error[result.names[0]] if len(result.names) > 1 else one.input_error for one in more]
    np.testing.assert_array_equal(doubled, first)


def test_what_was_assumed_and_what_to_worry_about_stand_on_the_page(pages):
    page = Page(pages["grouped"])
    assert "80 rows in 20 groups" in page.text
    assert RESULTS["grouped"].regime_reason in page.text
    assert "found no problem" in Page(pages["two"]).text
    assert RESULTS["evil"].warnings
    for warning in RESULTS["evil"].warnings:
        assert "".join(str(warning).replace("`", "").split()) in "".join(Page(pages["evil"]).text.split())


def test_names_are_escaped_everywhere(pages):
    page = Page(pages["evil"])
    assert not {"script", "b"} & set(page.tags)
    assert "<b>now</b> & $x" in page.text


def test_the_pictures_are_those_that_there_are(pages):
    pytest.importorskip("matplotlib")
    # Interval, shares, doubling and the rows of two inputs; of several outputs their intervals too.
    pictures = {name: Page(text).tags.count("svg") for name, text in pages.items()}
    assert pictures == {"grouped": 5, "two": 6, "evil": 6}


def test_the_rows_are_the_most_influential_ones_of_all_inputs(pages):
    result = RESULTS["grouped"]
    changes = {(name, row): value / len(x) for name, x in result.influence.items() for row, value in enumerate(x)}
    largest = sorted(changes, key=lambda row: -abs(changes[row]))[:10]
    page = Page(pages["grouped"])
    shown = [float(value) for value in page.all("data", "value")[-10:]]
    np.testing.assert_allclose(shown, [changes[row] for row in largest])
    assert all(f"row {row} of {name}" in page.text for name, row in largest)


@pytest.mark.parametrize(
    ("run", "options"),
    [
        (mean_wait, {}),
        (mean_wait, {"horizon": {"arrival": 10, "service": 9}, "confidence_level": 0.9, "transform": "log"}),
        (mean_wait_by_draws, {"horizon": None, "n_runs": 300}),
        (mean_wait, {"n_runs": None, "tol": 0.2, "max_runs": 3000}),
    ],
)
def test_the_program_on_the_page_makes_the_result_again(run, options, capsys):
    result = quietly(run, INPUTS, **options)
    program_makes(result, run, capsys)


def test_the_program_has_what_was_done_with_the_result_since(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        result = quietly(two_waits, INPUTS).extend(200).difference("now", "faster")
    program_makes(result, two_waits, capsys)


def program_makes(result, run, capsys):
    names = {"run": run, "inputs": INPUTS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        exec(simulation_code(result._answer), names)
    assert capsys.readouterr().out.rstrip("\n") == str(result)
    assert names["result"].to_dict() == result.to_dict()


def test_the_program_stands_on_the_page(pages):
    for name, text in pages.items():
        program = html.unescape(re.search(r"<pre[^>]*><code>(.*?)</code></pre>", text, flags=re.DOTALL)[1])
        assert program == simulation_code(RESULTS[name]._answer)
        compile(program, name, "exec")
    unseeded = quietly(mean_wait, INPUTS, rng=np.random.default_rng(0))
    assert "these draws cannot be reproduced" in simulation_code(unseeded._answer)


def test_the_output_is_chosen_and_a_bad_path_is_named(tmp_path):
    path = RESULTS["two"].to_html(str(tmp_path / "page.html"), output="faster")
    assert "Shares of the input variance of faster" in Page(path.read_text(encoding="utf-8")).text
    with pytest.raises(errors.ArgumentError, match="`output` must be one of"):
        RESULTS["two"].to_html(path, output="x")
    with pytest.raises(errors.ArgumentError, match="`path` must be the name of a file"):
        RESULTS["two"].to_html(3)


def test_without_matplotlib_there_is_all_but_the_pictures(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(RESULTS["grouped"].to_html(tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "svg" not in page.tags
    assert 'pip install "orthoboot[plot]"' in page.text
    assert "img" not in Page(RESULTS["grouped"]._repr_html_()).tags
    with pytest.raises(errors.MissingDependencyError, match="`plot` needs matplotlib"):
        RESULTS["grouped"].plot()


def test_a_notebook_shows_the_tables_and_a_small_picture():
    pytest.importorskip("matplotlib")
    for name in RESULTS:
        page = Page(RESULTS[name]._repr_html_())
        assert page.tags.count("img") == 1
        assert page.tags.count("table") == 2
        assert page.all("img", "alt")[0].endswith(".")


def test_a_result_that_was_shown_can_be_pickled():
    result = RESULTS["grouped"]
    result._repr_html_()
    assert pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict()

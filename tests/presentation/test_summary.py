from __future__ import annotations

import html
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import orthoboot as ob
from orthoboot import errors
from orthoboot.presentation import summary

X = np.random.default_rng(0).exponential(size=300)


def summarized(data, statistic, **options) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        return ob.bootstrap(data, statistic, **{"rng": 0, **options}).summary()


def row(text: str, name: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return " ".join(line.removeprefix(name).split())


def test_a_summary_says_what_was_done_and_what_came_out():
    result = ob.bootstrap(X, ob.std, n_resamples=10, method="normal", rng=0)
    heading, blank, header, line, *rest = result.summary().splitlines()
    assert re.fullmatch(
        r"Orthogonal bootstrap of std: 300 rows, 10 resamples, worth about [\d,]+ ordinary ones", heading
    )
    assert blank == ""
    assert header.split() == ["estimate", "bias", "std.", "error", "95%", "interval", "(normal)"]
    low, high = result.confidence_interval
    number = r"-?[\d.]+"
    pattern = (
        f"std +({number}) +({number}) ± ({number}) +({number}) ± ({number}) +({number}) to ({number}) ± ({number})"
    )
    shown = [float(value) for value in re.fullmatch(pattern, line).groups()]
    errors_shown = result.simulation_error
    expected = [
        result.estimate,
        result.bias,
        errors_shown.bias,
        result.standard_error,
        errors_shown.standard_error,
        low,
        high,
        max(errors_shown.low, errors_shown.high),
    ]
    assert shown == pytest.approx(expected, rel=0.5, abs=5e-4)
    assert shown[0] == pytest.approx(result.estimate, abs=5.1e-4)
    assert any("simulation error" in note for note in rest)
    assert "- Influence function: closed form of `std`." in rest
    assert any(
        re.match(r"- The quadratic control explains \d+\.\d% of the variance \(slope \d\.\d\d\)\.", note)
        for note in rest
    )


def test_numbers_stand_below_each_other():
    data = pd.DataFrame({"x": X, "a much longer name": 1000 * X, "u": X / 50})
    lines = summarized(data, ob.variance).splitlines()[2:6]
    ends = [re.search(r"^.{18} +[\d,.]+", line).end() for line in lines[1:]]
    assert ends == [lines[0].index("estimate") + len("estimate")] * 3
    errors_start = [[match.start() for match in re.finditer("±", line)] for line in lines[1:]]
    assert errors_start == [errors_start[0]] * 3


def test_every_line_of_a_summary_fits_on_a_wide_terminal():
    names = [f"a very long name of a column that nobody wants to read in full, number {i}" for i in range(3)]
    text = summarized(pd.DataFrame(dict(zip(names, [X, X**2, 1e6 * X], strict=True))), lambda df: df.mean() ** 2)
    assert max(map(len, text.splitlines())) <= 120


def test_long_names_lose_their_middle_and_line_breaks():
    assert summary.shortened("short") == "short"
    assert summary.shortened("two\nlines") == "two lines"
    long = summary.shortened("beginning " + "x" * 100 + " end 7")
    assert len(long) <= 40
    assert long.startswith("beginning x")
    assert long.endswith("x end 7")


DIGITS = {
    "plain": (X, r"1\.1586 "),
    "tiny": (1e-12 * X, r"1\.1586e-12 "),
    "huge": (1e15 * X, r"1\.1586e\+15 "),
    "thousands": (1e6 * X, r"1,158,\d{3} "),
    "far from zero": (1e9 + X, r"1,000,000,001\.1586 "),
    "very far from zero": (1e13 + 1e4 * X, r"1\.0000000011586e\+13 "),
}


@pytest.mark.parametrize(("data", "estimate"), DIGITS.values(), ids=DIGITS.keys())
def test_an_estimate_has_the_digits_that_its_standard_error_leaves(data, estimate):
    assert re.match(estimate, row(summarized(data, ob.mean), "mean"))


def test_the_ends_of_an_interval_can_be_told_apart():
    for scale, shift in ((1.0, 1e9), (1e-3, 1e9), (1e-9, 1.0), (1e9, 1e15)):
        line = row(summarized(shift + scale * X, ob.mean), "mean")
        low, high = re.search(r"(\S+) to (\S+)", line).groups()
        assert low != high


def test_an_exactly_linear_statistic_has_no_simulation_error_to_show():
    text = summarized(X, ob.mean)
    assert "±" not in text
    assert "worth more than a million ordinary ones" in text
    assert "explains 100.0% of the variance (slope 1.00)" in text


def test_of_several_outputs_the_least_is_told():
    result = ob.bootstrap(np.column_stack([X, X**2]), ob.std, rng=0)
    least = min(result.equivalent_resamples)
    told = int(re.search(r"worth at least ([\d,]+) ordinary ones", str(result))[1].replace(",", ""))
    assert 0.9 * least <= told <= least


def test_a_rounded_negative_number_is_zero_without_a_sign():
    assert "-0.0000 " not in summarized(X, ob.mean)
    assert row(summarized(X, ob.mean), "mean").split()[1] == "0.00000"


def test_a_one_sided_interval_shows_its_open_end():
    assert "-inf to 1." in summarized(X, ob.variance, alternative="less")
    assert re.search(r"0\.\d+ to inf", summarized(X, ob.variance, alternative="greater"))


def test_zero_variance_is_shown_and_worried_about():
    text = summarized(np.full(20, 3.0), ob.mean)
    assert row(text, "mean") == "3.00 0.000 0.000 3.00 to 3.00"
    assert "worth" not in text
    assert "explains" not in text
    assert "Warnings:\n- the statistic does not vary" in text


def test_a_constant_zero_is_shown():
    assert row(summarized(np.zeros(20), ob.mean), "mean") == "0.00 0.000 0.000 0.00 to 0.00"


def test_many_outputs_are_cut_and_the_reader_is_told_where_they_are():
    data = np.random.default_rng(0).exponential(size=(100, 50))
    text = summarized(data, ob.variance)
    assert sum(line.startswith("variance[") for line in text.splitlines()) == 30
    assert "- 20 more outputs are not shown; `to_frame()` has them all." in text
    assert re.search(r"explains \d+\.\d% to \d+\.\d% of the variance \(slope \d\.\d\d to \d\.\d\d\)", text)


def test_an_infinitesimal_jackknife_speaks_of_no_resamples():
    result = ob.bootstrap(X, ob.variance, estimator="jackknife")
    text = result.summary()
    assert text.startswith("Infinitesimal jackknife of variance: 300 rows, no resamples\n")
    assert "±" not in text
    assert result.extend(10).summary() == text, "it does not read the replicates"


def test_a_standard_bootstrap_does_not_claim_the_influence_function():
    text = summarized(X, ob.variance, estimator="standard", n_resamples=1000)
    assert text.startswith("Standard bootstrap of variance: 300 rows, 1,000 resamples\n")
    assert "- Influence function: closed form of `variance`; this estimator does not use it." in text
    assert "explains" not in text


def test_one_replicate_leaves_the_simulation_error_unknown():
    text = summarized(X, ob.variance, estimator="cheap", n_resamples=1)
    assert text.startswith("Cheap bootstrap of variance: 300 rows, 1 resample\n")
    assert row(text, "variance").count("± ?") == 3
    assert "- ± ? means that there are too few resamples to estimate the simulation error." in text
    assert "what another seed would change" not in text


def test_several_samples_show_all_their_sizes():
    assert "difference of mean: 300 + 1,200 rows," in summarized((X, np.tile(X, 4)), ob.difference(ob.mean))


def test_simulation_errors_have_one_digit_and_no_exponent_where_that_is_short():
    text = summarized(1e4 * X, lambda x: np.std(x))
    assert re.search(r"± \d0+\b", row(text, "statistic"))
    assert "e+0" not in text
    assert re.search(r"± \de\+\d+", row(summarized(1e9 * X, lambda x: np.std(x)), "statistic"))


def test_the_method_and_the_level_head_the_interval():
    text = summarized(X, ob.variance, method="abc", confidence_level=0.999)
    assert "99.9% interval (abc)" in text


def test_every_worry_is_listed():
    with pytest.warns(errors.SmallSampleWarning), pytest.warns(errors.FewReplicatesWarning):
        result = ob.bootstrap(X[:7], ob.mean, n_resamples=3, rng=0)
    worries = result.summary().partition("Warnings:\n")[2]
    assert len(result.warnings) == 2
    flat = " ".join(worries.split())
    assert all(str(warning) in flat for warning in result.warnings)
    assert worries.count("- ") >= 2


# HTML


class Checker(HTMLParser):
    """Collects the text of table cells and checks that tags are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.cells = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def test_the_table_for_notebooks_escapes_names_and_worries():
    evil = "<script>alert('x')</script> & co"

    def statistic(df):
        return df.mean() ** 2

    statistic.__name__ = "<b>bold</b>"
    frame = pd.DataFrame({evil: X[:8], "u": X[8:16]})
    with pytest.warns(errors.SmallSampleWarning):
        page = ob.bootstrap(frame, statistic, estimator="standard", n_resamples=50, rng=0)._repr_html_()
    assert "<script" not in page
    assert "<b>bold" not in page
    assert html.escape(evil) in page
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.cells[0] == evil
    assert "only 8 rows" in page


def test_the_table_for_notebooks_has_the_cells_of_the_text():
    result = ob.bootstrap(np.column_stack([X, X**2]), ob.variance, rng=0)
    checker = Checker()
    checker.feed(result._repr_html_())
    rows = result.summary().splitlines()[3:5]
    assert " ".join(" ".join(checker.cells).split()) == " ".join(" ".join(rows).split())

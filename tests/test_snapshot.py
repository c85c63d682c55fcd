"""The judge of a change: what it calls the same, what it lists, and what it fails."""

from __future__ import annotations

import copy
import json
import math

import pytest
from tools.comparison import compared, relative_difference
from tools.snapshot import only, read, save, unstable


def snapshot(**entries):
    return {"environment": {"numpy": "2.0"}, "skipped": [], "unstable": {}, "entries": entries}


def entry(**numbers):
    found = {"estimate": [10.0, 2.0], "bias": [1e-9, 0.0], "standard_error": [1.0, 0.5], "r_squared": [0.9, "nan"]}
    return {"numbers": found | numbers, "texts": {"shape": "(2,)"}, "warnings": [["SlopeWarning", "the slope is 2"]]}


OLD = snapshot(**{"plans/iid": entry(), "models/line": entry(), "plans/blocks": {"error": ["ArgumentError", "no"]}})


def changed(**entries):
    new = copy.deepcopy(OLD)
    new["entries"] |= {name.replace("__", "/"): value for name, value in entries.items()}
    return new


def test_equal_snapshots_are_the_same_bits():
    comparison = compared(OLD, copy.deepcopy(OLD))
    assert comparison.passes(0.0, strict=True)
    assert comparison.different_bits == comparison.different_texts == comparison.missing == comparison.new == ()
    assert comparison.report(0.0) == (
        "3 entries compared: 3 with the same bits, 0 within 0, 0 beyond; 0 with other texts, 0 missing, 0 new."
    )
    assert "0 models/line" in comparison.report(0.0, every=True)


def test_other_bits_are_listed_and_pass():
    comparison = compared(OLD, changed(models__line=entry(estimate=[math.nextafter(10.0, 11.0), 2.0])))
    (difference,) = comparison.different_bits
    assert difference.name == "models/line"
    assert difference.largest == pytest.approx(1.8e-16, rel=0.02)
    assert "estimate[0]: 10.0 became 10.000000000000002" in comparison.report(1e-12)
    assert comparison.passes(1e-12)
    assert not comparison.passes(0.0)


def test_the_sign_of_a_zero_is_a_bit_and_no_difference():
    comparison = compared(OLD, changed(plans__iid=entry(bias=[1e-9, -0.0])))
    assert [difference.place for difference in comparison.different_bits] == ["the sign of a zero"]
    assert comparison.passes(0.0)


def test_a_difference_is_beside_the_standard_error_where_the_number_is_smaller():
    new = changed(plans__iid=entry(bias=[1e-9 + 1e-13, 0.0]))
    assert compared(OLD, new).beyond(1e-12) == ()
    assert [difference.name for difference in compared(OLD, new).beyond(1e-14)] == ["plans/iid"]


@pytest.mark.parametrize(
    "numbers",
    [
        {"estimate": [10.0 + 1e-9, 2.0]},
        {"estimate": [10.0]},
        {"r_squared": [0.9, 0.9]},
        {"r_squared": ["inf", "nan"]},
        {"n_failed": [1.0]},
    ],
)
def test_what_is_beyond_the_tolerance_fails(numbers):
    comparison = compared(OLD, changed(models__line=entry(**numbers)))
    assert [difference.name for difference in comparison.beyond(1e-12)] == ["models/line"]
    assert not comparison.passes(1e-12)
    assert "BEYOND THE TOLERANCE" in comparison.report(1e-12)


def test_an_answer_that_became_an_error_fails_and_so_does_another_error():
    for name in ("plans__iid", "plans__blocks"):
        comparison = compared(OLD, changed(**{name: {"error": ["DataError", "no"]}}))
        assert comparison.beyond(1e-12)[0].largest == math.inf


def test_other_words_are_listed_and_fail_only_if_asked():
    other = entry() | {"warnings": [["SlopeWarning", "the slope is 3"]]}
    comparison = compared(OLD, changed(plans__iid=other, plans__blocks={"error": ["ArgumentError", "never"]}))
    assert comparison.passes(0.0)
    assert not comparison.passes(0.0, strict=True)
    report = comparison.report(0.0)
    assert "- SlopeWarning: the slope is 2" in report
    assert "+ SlopeWarning: the slope is 3" in report
    assert "+ ArgumentError: never" in report


def test_a_missing_entry_fails_unless_its_package_is_missing_and_a_new_one_does_not():
    new = changed(plans__new=entry())
    del new["entries"]["models/line"]
    comparison = compared(OLD, new)
    assert (comparison.missing, comparison.new) == (("models/line",), ("plans/new",))
    assert not comparison.passes(1e-12)
    for skipped in ("models", "models/line"):
        comparison = compared(OLD, new | {"skipped": [skipped]})
        assert comparison.missing == ()
        assert comparison.passes(1e-12)
        assert f"skipped for want of a package:\n  {skipped}" in comparison.report(1e-12)


def test_what_is_not_stable_is_noted_and_told():
    new = changed(models__line=entry(estimate=[10.0 + 1e-9, 2.0]))
    noted = unstable(compared(OLD, new))
    assert noted == {"models/line": pytest.approx(1e-10)}
    assert "not stable in the old tree either" in compared(OLD | {"unstable": noted}, new).report(1e-12)


def test_another_environment_is_told():
    assert "numpy: 2.1" in compared(OLD, OLD | {"environment": {"numpy": "2.1"}}).report(0.0)


@pytest.mark.parametrize(
    ("a", "b", "expected"), [(1.0, 1.0, 0.0), (math.nan, math.nan, 0.0), (math.nan, 1.0, math.inf), (0.0, 3.0, 0.75)]
)
def test_relative_differences(a, b, expected):
    assert relative_difference(a, b, unit=4.0) == expected


def test_a_file_keeps_every_bit_and_is_plain_json(tmp_path):
    path = tmp_path / "snapshot.json"
    numbers = snapshot(one=entry(estimate=[0.1 + 0.2, 5e-324], bias=["nan", "-inf"]))
    save(numbers, path)
    assert read(path) == numbers
    json.loads(path.read_text(), parse_constant=pytest.fail)


def test_a_part_can_be_chosen_by_a_pattern():
    assert list(only(OLD, "plans/*")["entries"]) == ["plans/iid", "plans/blocks"]

"""Weights that a user passes to a statistic of the catalogue are weights of rows, or they are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.registry import FUNCTIONALS, FunctionalRow

import orthoboot as ob
from orthoboot.errors import ArgumentError, DataError

X = np.random.default_rng(1).gamma(2, size=200)


def filled(value: float) -> Callable[[int], np.ndarray]:
    """Return what makes weights of one for n rows, the last of them `value`."""
    return lambda n: np.r_[np.ones(n - 1), value]


ATTACKS: dict[str, tuple[Callable[[int], Any], str]] = {
    "NaN": (lambda n: np.full(n, np.nan), "must be finite; got"),
    "one NaN": (filled(np.nan), "must be finite; got 1 value(s)"),
    "infinite": (filled(np.inf), "must be finite; got 1 value(s)"),
    "negative": (filled(-2.0), "must not be negative; got 1 negative value(s), the first, -2, in row"),
    "zero": (np.zeros, "must not all be zero"),
    "beyond the largest number": (lambda n: np.full(n, 1.7e308), "must have a finite sum"),
    "too few": (lambda n: np.ones(n - 1), "must have one number per row"),
    "none": (lambda n: [], "must have one number per row"),
    "a table": (lambda n: np.ones((n, 2)), "must have one number per row"),
    "one number": (lambda n: 1.0, "must have one number per row"),
    "text": (lambda n: "a", "must be an array of real numbers, one per row; got 'a'"),
    "words": (lambda n: ["a"] * n, "must be an array of real numbers"),
    "a dict": (lambda n: {}, "must be an array of real numbers, one per row; got dict"),
    "complex": (lambda n: np.ones(n) * 1j, "must be an array of real numbers"),
    "ragged": (lambda n: [[1.0], [1.0, 2.0]], "must be an array of real numbers"),
    "masked": (
        lambda n: np.ma.array(np.ones(n), mask=np.arange(n) < 2),
        "must be an array of real numbers, one per row; got m",
    ),
}


def is_called_by_rows(row: FunctionalRow) -> bool:
    """Return whether a call reads the samples as the row's data: one of paired arrays takes no call of its own."""
    data = row.data()
    return row.functional.paired or len(data.tables) == len(data.sizes)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("row", [row for row in FUNCTIONALS if is_called_by_rows(row)], ids=lambda row: row.id)
def test_what_cannot_be_a_weight_is_refused(row: FunctionalRow, attack: str) -> None:
    data = row.data()
    make, message = ATTACKS[attack]
    parts = tuple(make(n) for n in data.sizes)
    weights = parts[0] if len(parts) == 1 else parts
    label = "`weights`" if len(parts) == 1 else "`weights[0]`"
    samples = [table.container for table in data.tables]
    with pytest.raises(DataError, match=f"{re.escape(label)} {re.escape(message)}"):
        row.functional(*samples, weights=weights)


def test_samples_have_weights_each() -> None:
    difference = ob.difference(ob.mean)
    weights = np.arange(200.0), np.ones(100)
    expected = np.average(X, weights=weights[0]) - X[:100].mean()
    assert difference(X, X[:100], weights=weights) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(DataError, match=r"a tuple with one array per sample, here 2; got 1 for samples of 200 and 100"):
        difference(X, X[:100], weights=np.ones(200))


@pytest.mark.parametrize("weights", [np.arange(200), list(range(200)), np.arange(200) > 3, np.arange(200.0) * 1e-300])
def test_any_real_numbers_are_weights(weights: Any) -> None:
    expected = np.average(X, weights=np.asarray(weights, dtype=float))
    assert ob.mean(X, weights=weights) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("container", [tuple, list])
def test_one_sample_may_have_its_weights_in_a_tuple(container: Callable[[Any], Any]) -> None:
    weights = np.arange(200.0)
    assert ob.mean(X, weights=container([weights])) == ob.mean(X, weights=weights)
    assert ob.mean(X, weights=container([weights.tolist()])) == ob.mean(X, weights=weights)
    with pytest.raises(DataError, match=r"`weights` must have one number per row, shape \(200,\); got shape \(1,\)"):
        ob.mean(X, weights=container([1.0]))
    with pytest.raises(DataError, match=r"`weights` must have one number per row.* got shape \(2, 200\)"):
        ob.mean(X, weights=container([weights, weights]))


@pytest.mark.parametrize("kind", ["with gradients", "short", "in a tuple"])
def test_tensors_are_weights_as_they_are_data(kind: str) -> None:
    torch = pytest.importorskip("torch")
    numbers = np.arange(200.0)
    tensor = torch.tensor(numbers, requires_grad=kind != "short")
    weights = {"with gradients": tensor, "short": tensor.to(torch.bfloat16), "in a tuple": (tensor,)}[kind]
    assert ob.mean(X, weights=weights) == ob.mean(X, weights=numbers)
    assert ob.mean(torch.tensor(X, requires_grad=True), weights=weights) == ob.mean(X, weights=numbers)


class Unreadable:
    """An array that cannot be read."""

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("the device is gone.")


def test_why_weights_cannot_be_read_ends_in_one_full_stop() -> None:
    message = "`weights` must be an array of real numbers, one per row; got Unreadable: the device is gone."
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        ob.mean(X, weights=Unreadable())


@pytest.mark.parametrize(
    ("statistic", "options", "message"),
    [
        (ob.mean, {"axis": 0}, "`mean` has no option 'axis'; it has none. Statistics reduce axis 0"),
        (ob.variance, {"q": 0}, "`variance` has no option 'q'; its options are ddof."),
        (ob.variance, {"ddof": 1}, "options of `variance` are set beforehand; write `variance.replace(ddof=1)`."),
        (ob.difference(ob.variance), {"axis": 0}, "`variance` has no option 'axis'; its options are ddof."),
    ],
)
def test_options_in_a_call_are_answered_with_those_that_there_are(
    statistic: ob.Functional, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        statistic(X, **options)


@pytest.mark.parametrize("weight", [1e-320, 5e-324, 1e-300])
def test_weights_next_to_zero_count_by_their_ratios(weight):
    x = np.random.default_rng(0).gamma(2, size=200)
    for statistic in (ob.mean, ob.median, ob.skewness, ob.variance):
        assert statistic(x, weights=np.full(200, weight)) == pytest.approx(statistic(x), rel=1e-12)

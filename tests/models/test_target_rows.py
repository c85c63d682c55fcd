"""Targets that look at the rows: with the weights of the resample, or told that they count every row once."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import orthoboot as ob
from orthoboot.data import read
from orthoboot.errors import ArgumentError, InfluenceError, StatisticError, UnweightedRowsWarning
from orthoboot.models import target_rows
from orthoboot.models.target_rows import direct_influence, rows_taken, unweighted_rows

sm = pytest.importorskip("statsmodels.api")

N_ROWS = 150
RNG = np.random.default_rng(0)
X = RNG.gamma(1.0, 1.5, (N_ROWS, 2))
Y = (RNG.random(N_ROWS) < 1 / (1 + np.exp(2 - X @ [1.2, -0.5]))).astype(int)
MODEL = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
FRAME = sm.add_constant(pd.DataFrame(X, columns=["a", "b"]))


def effect(model: Any, X: Any, weights: Any) -> float:
    """Return the average marginal effect of the first column."""
    p = model.predict_proba(X)[:, 1]
    return float(np.average(p * (1 - p) * model.coef_[0, 0], weights=weights))


def effect_of_params(params: Any, X: Any, y: Any, weights: Any) -> float:
    p = 1 / (1 + np.exp(-X.to_numpy() @ params.to_numpy()))
    return float(np.average(p * (1 - p) * params["a"], weights=weights))


def written_out(X: Any, y: Any) -> float:
    return effect(MODEL.fit(X, y), X, np.ones(len(y)))


def test_a_target_gets_the_rows_and_the_weights_of_the_resample() -> None:
    model = ob.from_sklearn(MODEL, effect)
    found = ob.bootstrap((X, Y), model, paired=True, n_resamples=20, rng=0)
    by_hand = ob.bootstrap((X, Y), written_out, paired=True, n_resamples=20, rng=0, estimator="standard")
    # The same resamples, refitted by weights and by rows: what differs is lbfgs' tolerance.
    np.testing.assert_allclose(found.replicates.values, by_hand.replicates.values, rtol=1e-4)


def test_its_influence_has_the_part_of_the_rows_themselves() -> None:
    prepared = ob.from_sklearn(MODEL, effect).prepared(read((X, Y), paired=True))
    (influence,) = prepared.influence()
    step, towards = 1e-4, np.full(N_ROWS, -1.0)
    towards[3] += N_ROWS
    values = [prepared.values(target_weights(1 + sign * step * towards))[0] for sign in (1, -1)]
    np.testing.assert_allclose(influence[3], (values[0] - values[1]) / (2 * step), rtol=1e-3)


def target_weights(weights: Any) -> Any:
    from orthoboot.draws.resamples import Resamples

    return Resamples((weights[np.newaxis],))


def test_a_target_of_statsmodels_gets_them_too() -> None:
    model = ob.from_statsmodels(sm.Logit(Y, FRAME), target=effect_of_params)
    found = ob.bootstrap(model.data, model, paired=True, rng=0)
    same = ob.bootstrap((X, Y), ob.from_sklearn(MODEL, effect), paired=True, rng=0)
    np.testing.assert_allclose(found.standard_error, same.standard_error, rtol=1e-5)


def test_a_model_without_an_influence_function_takes_such_a_target() -> None:
    def share(model: Any, X: Any, y: Any, weights: Any) -> float:
        return float(np.average(model.predict(X) == y, weights=weights))

    tree = ob.from_sklearn(DecisionTreeClassifier(max_depth=1, random_state=0), share)
    found = ob.bootstrap((X, Y), tree, paired=True, rng=0, estimator="standard", n_resamples=20)

    def of_rows(X: Any, y: Any) -> float:
        stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
        return float(np.mean(stump.predict(X) == y))

    (counts,) = found.run.resamples(range(20)).weights
    drawn = [np.repeat(np.arange(N_ROWS), one.astype(int)) for one in counts]
    by_hand = [of_rows(X[rows], Y[rows]) for rows in drawn]
    # Counts are weights without rounding, so that every stump splits where it does with repeated rows.
    np.testing.assert_allclose(found.replicates.values[:, 0], by_hand, rtol=1e-12)
    assert found.standard_error == pytest.approx(np.std(by_hand, ddof=1), rel=1e-12)


@pytest.mark.parametrize("kind", ["global", "closed over", "default", "bound", "inside"])
def test_a_target_that_reads_as_many_rows_from_outside_is_told(kind: str) -> None:
    rows = X + 0.0

    def closed_over(model: Any) -> float:
        return float(model.predict_proba(rows)[:, 1].mean())

    def with_default(model: Any, rows: Any = rows) -> float:
        return float(model.predict_proba(rows)[:, 1].mean())

    targets = {
        "global": lambda model: model.predict_proba(X)[:, 1].mean(),
        "closed over": closed_over,
        "default": with_default,
        "bound": partial(with_default, rows=rows),
        "inside": lambda model: np.mean([model.predict_proba(X)[i, 1] for i in range(3)]),
    }
    name = "X" if kind in ("global", "inside") else "rows"
    with pytest.warns(UnweightedRowsWarning, match=f"reads `{name}`, which has 150 rows as the data have"):
        ob.bootstrap((X, Y), ob.from_sklearn(MODEL, targets[kind]), paired=True, rng=0)


def test_a_target_of_statsmodels_that_reads_the_rows_is_told() -> None:
    model = ob.from_statsmodels(sm.Logit(Y, FRAME), target=lambda params: (FRAME @ params).mean())
    with pytest.warns(UnweightedRowsWarning, match="reads `FRAME`"):
        ob.bootstrap(model.data, model, paired=True, rng=0)


def test_new_rows_and_functions_of_the_model_alone_are_not_told() -> None:
    new = X[:10]
    for target in (lambda model: model.predict_proba(new)[:, 1], lambda model: model.coef_[0], effect, len):
        assert not unweighted_rows(target, N_ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnweightedRowsWarning)
        ob.bootstrap((X, Y), ob.from_sklearn(MODEL, lambda model: model.predict_proba(new)[:, 1]), paired=True, rng=0)


def test_rows_without_weights_are_refused() -> None:
    with pytest.raises(ArgumentError, match="`target` takes `X` and `y` without `weights`: it would count every row"):
        ob.from_sklearn(MODEL, lambda model, X, y: 0.0)


def test_what_has_a_default_is_the_users_own() -> None:
    assert rows_taken(lambda model, X=3: model) == ()
    assert rows_taken(lambda model, weights: model) == ("weights",)
    assert rows_taken(lambda model, *, y, weights: model) == ("y", "weights")


def test_the_model_may_be_positional_only() -> None:
    def positional(model: Any, /, X: Any, weights: Any) -> float:
        return effect(model, X, weights)

    assert rows_taken(positional) == ("X", "weights")
    assert rows_taken(lambda model=None, *, X, weights: model) == ("X", "weights")
    found, same = (
        ob.bootstrap((X, Y), ob.from_sklearn(MODEL, target), paired=True, rng=0) for target in (positional, effect)
    )
    assert found.standard_error == same.standard_error


def test_many_rows_are_no_place_for_differences_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_rows, "_MOST_ROWS", 10)
    with pytest.raises(InfluenceError, match="takes the weights of 11 rows, more than 10"):
        direct_influence(lambda weights: weights[:1], 11)


class Holder:
    """A target that holds rows as an attribute."""

    def __init__(self, rows):
        self.rows = rows

    def __call__(self, model):
        return np.mean(model.predict(self.rows) ** 2)

    def method(self, model):
        return self(model)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("held", ["object", "method", "dict", "helper", "list"])
def test_rows_that_something_else_holds_are_told(held):
    rng = np.random.default_rng(7)
    rows, table = rng.normal(size=(120, 3)), {}
    y = rows @ [1.0, 2.0, 0.0] + rng.normal(size=120)
    table["rows"], parts = rows, [rows]

    def helper(model):
        return model.predict(rows)

    targets = {
        "object": Holder(rows),
        "method": Holder(rows).method,
        "dict": lambda model: np.mean(model.predict(table["rows"]) ** 2),
        "helper": lambda model: np.mean(helper(model) ** 2),
        "list": lambda model: np.mean(model.predict(parts[0]) ** 2),
    }
    statistic = ob.from_sklearn(LinearRegression(), targets[held])
    with pytest.warns(UnweightedRowsWarning, match="which has 120 rows"):
        ob.bootstrap((rows, y), statistic, paired=True, rng=0)


def unweighted_error(model: Any, X: Any, y: Any, weights: Any) -> float:
    return float(np.mean((y - model.predict_proba(X)[:, 1]) ** 2))


def unweighted_share(params: Any, X: Any, y: Any, weights: Any) -> float:
    return float(np.mean(1 / (1 + np.exp(-X.to_numpy() @ params.to_numpy()))))


IGNORED = "`target` ignores its `weights`: with the counts of a resample as weights it stays at"


@pytest.mark.parametrize("estimator", ["standard", "orthogonal"])
def test_a_target_that_takes_the_weights_and_ignores_them_is_refused(estimator: str) -> None:
    model = ob.from_sklearn(MODEL, unweighted_error)
    with pytest.raises(StatisticError, match=IGNORED):
        ob.bootstrap((X, Y), model, paired=True, estimator=estimator, n_resamples=10, rng=0)


def test_a_target_of_statsmodels_that_ignores_its_weights_is_refused() -> None:
    with pytest.raises(StatisticError, match=IGNORED):
        ob.from_statsmodels(sm.Logit(Y, FRAME), target=unweighted_share)


def test_a_target_that_takes_the_weights_and_reads_no_rows_needs_none() -> None:
    def first(model: Any, X: Any, y: Any, weights: Any) -> float:
        return float(model.coef_[0, 0])

    found = ob.bootstrap((X, Y), ob.from_sklearn(MODEL, first), paired=True, rng=0)
    same = ob.bootstrap((X, Y), ob.from_sklearn(MODEL, lambda model: model.coef_[0, 0]), paired=True, rng=0)
    assert found.standard_error == pytest.approx(same.standard_error, rel=1e-6)


def test_a_target_that_reads_the_rows_of_the_fit_itself_is_told() -> None:
    fit = sm.Logit(Y, FRAME).fit(disp=0)
    model = ob.from_statsmodels(fit, target=lambda params: fit.model.predict(params).mean())
    with pytest.warns(UnweightedRowsWarning, match="reads `fit"):
        ob.bootstrap(model.data, model, paired=True, rng=0)


def test_a_target_that_reads_rows_from_a_class_is_told() -> None:
    class Held:
        rows = X

    for holder in (Held, Held()):
        target = ob.from_sklearn(MODEL, lambda model, holder=holder: model.predict_proba(holder.rows)[:, 1].mean())
        with pytest.warns(UnweightedRowsWarning, match="rows`, which has 150 rows"):
            ob.bootstrap((X, Y), target, paired=True, rng=0)


def test_the_source_of_the_influence_tells_what_the_weights_of_a_target_cost() -> None:
    found = ob.bootstrap((X, Y), ob.from_sklearn(MODEL, effect), paired=True, rng=0)
    assert "and differences of `target` in its weights, 300 evaluations" in found.influence_source

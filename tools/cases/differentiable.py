"""Functions with `weights` that a user writes in jax or torch, differentiated by it."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import orthoboot as ob
from tools.cases.base import COLUMN, PAIRED, TABLE, TWO_SAMPLES, answer

MODULES = {"jax": "jax.numpy", "torch": "torch"}


def _functions(xp: Any) -> dict[str, tuple[Any, Any]]:
    """Return functions in a library, with their data; the names are those that both libraries have."""

    def gini(x: Any, weights: Any) -> Any:
        order = xp.argsort(x)
        x, shares = x[order], weights[order] / weights.sum()
        below = xp.cumsum(shares, 0)[:-1]
        return xp.sum(below * (1 - below) * xp.diff(x)) / xp.sum(shares * x)

    def deviations(x: Any, weights: Any) -> Any:
        shares = weights / weights.sum()
        return xp.sqrt(shares @ (x - shares @ x) ** 2)

    def moments(x: Any, weights: Any) -> Any:
        return {"mean": weights @ x / weights.sum(), "powers": [(weights @ x**p) / weights.sum() for p in (2, 3)]}

    def difference(x: Any, y: Any, weights: Any) -> Any:
        u, v = weights
        return xp.log((u * x).sum() / u.sum()) - (v * y).sum() / v.sum()

    def ratio(x: Any, y: Any, weights: Any) -> Any:
        return xp.sum(weights * x) / xp.sum(weights * y)

    return {
        "gini": (COLUMN, gini),
        "deviations": (TABLE, deviations),
        "dict of moments": (COLUMN, moments),
        "two samples": (TWO_SAMPLES, difference),
        "paired": (PAIRED, ratio),
    }


ASKED: dict[str, dict[str, Any]] = {
    "auto": {},
    "as asked": {"influence": "its library"},
    "standard": {"estimator": "standard", "n_resamples": 30},
    "jackknife": {"estimator": "jackknife", "n_resamples": 0},
}


def _answer(library: str, name: str, options: dict[str, Any]) -> ob.Result:
    data, function = _functions(import_module(MODULES[library]))[name]
    asked = {"influence": library} if "influence" in options else {}
    return answer(data, function, paired=name == "paired", **(options | asked))


def _composed(library: str) -> ob.Result:
    xp = import_module(MODULES[library])
    return answer(COLUMN, ob.compose(lambda s, m: xp.log(s) / m, ob.std, ob.mean))


def _of_means(library: str) -> ob.Result:
    xp = import_module(MODULES[library])
    return answer(COLUMN, ob.function_of_means(lambda x: [x, x**2], lambda m: xp.sqrt(m[1] - m[0] ** 2) / m[0]))


CASES = (
    {
        f"{library}, {name}, {asked}": partial(_answer, library, name, options)
        for library in MODULES
        for name in ("gini", "deviations", "dict of moments", "two samples", "paired")
        for asked, options in ASKED.items()
    }
    | {f"{library}, compose": partial(_composed, library) for library in MODULES}
    | {f"{library}, function_of_means": partial(_of_means, library) for library in MODULES}
)

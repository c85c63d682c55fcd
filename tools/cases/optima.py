"""Statistics that minimise: losses of the user's own, and problems with constraints, in jax and in torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import orthoboot as ob
from tools.cases.base import TABLE, answer, paired_answer

_RNG = np.random.default_rng(20)
X = _RNG.standard_normal((80, 3))
NUMBERS = X @ [1.0, -2.0, 0.5] + _RNG.standard_t(4, size=80)
CLASSES = (_RNG.random(80) < 1 / (1 + np.exp(-X @ [0.8, -0.5, 0.3]))).astype(float)
RETURNS = np.random.default_rng(3).normal(np.linspace(0.05, 0.3, 5), 0.2, size=(40, 5))
LOADS = np.random.default_rng(21).standard_normal((3, 5))
MODULES = {"jax": "jax.numpy", "torch": "torch"}


def squares(theta: Any, X: Any, y: Any) -> Any:
    """Return half the squared residuals; written without a library, so that either may be asked for."""
    return (y - X @ theta) ** 2 / 2


def ridge(theta: Any) -> Any:
    """Return a penalty."""
    return 0.15 * (theta**2).sum()


def squared_distance(x: Any, xi: Any) -> Any:
    """Return what the nearest point minimises."""
    return ((x - xi) ** 2).sum()


def beyond_the_ball(x: Any, xi: Any) -> Any:
    """Return a constraint that binds."""
    return (x**2).sum() - 1


def moments(returns: Any) -> Any:
    """Return the rows whose mean a portfolio depends on."""
    return np.hstack([returns, (returns[:, :, np.newaxis] * returns[:, np.newaxis]).reshape(len(returns), -1)])


def risk(x: Any, xi: Any) -> Any:
    """Return the risk of a portfolio of five shares, less a tenth of what it brings."""
    return x @ xi[5:].reshape(5, 5) @ x / 2 - (xi[:5] @ x) ** 2 / 2 - xi[:5] @ x / 10


def _logistic(xp: Any) -> Any:
    def loss(theta: Any, X: Any, y: Any) -> Any:
        return xp.log1p(xp.exp(X @ theta)) - y * (X @ theta)

    return loss


def _estimating_equations(xp: Any) -> Any:
    def psi(theta: Any, x: Any) -> Any:
        return xp.stack([x - theta[0], (x - theta[0]) ** 2 - theta[1]]).T

    return psi


def _least_squares(library: str, **options: Any) -> ob.Result:
    return paired_answer((X, NUMBERS), ob.m_estimator(squares, init=3, library=library, **options))


def _classified(library: str, **options: Any) -> ob.Result:
    loss = _logistic(import_module(MODULES[library]))
    return paired_answer((X, CLASSES), ob.m_estimator(loss, init=3, library=library, **options))


def _solved(library: str) -> ob.Result:
    psi = _estimating_equations(import_module(MODULES[library]))
    return answer(TABLE[:, 0], ob.m_estimator(psi=psi, init=[0.0, 1.0], library=library))


def _nearest(library: str, **options: Any) -> ob.Result:
    nearest = ob.minimize(squared_distance, 3, inequality=beyond_the_ball, output="both", library=library)
    return answer(TABLE, nearest, **options)


def _portfolio(library: str, method: str = "SLSQP", **options: Any) -> ob.Result:
    statistic = ob.minimize(
        risk,
        np.full(5, 0.2),
        equality=lambda x, xi: x.sum() - 1,
        inequality=lambda x, xi: -x,
        parameters=moments,
        output="both",
        variables=["a", "b", "c", "d", "e"],
        method=method,
        library=library,
    )
    return answer(RETURNS, statistic, **options)


def _energy(library: str, **options: Any) -> ob.Result:
    loads = LOADS if library == "jax" else import_module("torch").tensor(LOADS)
    energy = ob.minimize(
        lambda x, xi: (x**2).sum(), 5, equality=lambda x, xi: loads @ x - xi, output="value", library=library
    )
    return answer(TABLE, energy, **options)


def _squeezed(library: str) -> ob.Result:
    """Return the answer where some resamples have no feasible point."""
    rows = np.repeat([0.0, 1.0], [15, 5])
    squeezed = ob.minimize(
        lambda x, xi: (x**2).sum(), 1, inequality=lambda x, xi: [xi - x, x - 0.3], output="value", library=library
    )
    return answer(rows, squeezed, n_resamples=20)


ASKED: dict[str, Callable[[str], ob.Result]] = {
    "squares": _least_squares,
    "squares, penalty": partial(_least_squares, penalty=ridge),
    "squares, conjugate gradients": partial(_least_squares, solver="cg"),
    "squares, lu": partial(_least_squares, solver="lu"),
    "squares, damped": partial(_least_squares, solver=ob.solvers.Cholesky(damping=1e-3)),
    "squares, target": partial(_least_squares, target=lambda theta: theta[0] / theta[1]),
    "squares, dict": partial(_least_squares, target=lambda theta: {"first": theta[0], "rest": theta[1:] ** 2}),
    "squares, start": partial(_least_squares, name="coefficients", penalty=ridge, solver="cg"),
    "logistic": _classified,
    "logistic, penalty": partial(_classified, penalty=ridge),
    "logistic, target": partial(_classified, target=lambda theta: theta[:2]),
    "psi": _solved,
    "nearest": _nearest,
    "nearest, jackknife": partial(_nearest, estimator="jackknife", n_resamples=0),
    "nearest, abc": partial(_nearest, method="abc"),
    "portfolio": _portfolio,
    "portfolio, trust-constr": partial(_portfolio, method="trust-constr"),
    "energy": _energy,
    "energy, jackknife": partial(_energy, estimator="jackknife", n_resamples=0),
    "squeezed": _squeezed,
}


def _answer(library: str, asked: Callable[[str], ob.Result]) -> ob.Result:
    # A missing package is the case's to tell, before the library does so in its own words.
    import_module(library)
    return asked(library)


CASES = {f"{library}, {name}": partial(_answer, library, asked) for library in MODULES for name, asked in ASKED.items()}

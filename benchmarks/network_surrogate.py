"""Print why networks have no surrogate: how far three Newton steps from the fit miss the refits.

    python -m benchmarks.network_surrogate

A network of tanh units on Friedman's data, with weight decay, fitted until its gradient vanishes. On each resample its
prediction at some points is refitted from the fit, and approximated by the linear part and by three Newton steps with
the gradient and the Hessian of the resample. Printed is the distance from the refit over the distance of the refit from
the fit: its median, and the share of resamples on which it is above one, where knowing nothing would do better.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from sklearn.datasets import make_friedman1

N_ROWS, N_POINTS, N_RESAMPLES = 200, 20, 60
WEIGHT_DECAY = 0.01
N_STEPS = 3

jax.config.update("jax_enable_x64", True)


class Missed(NamedTuple):
    """Distances from the refits, each over the change by the refit, shape ``(resamples,)``."""

    linear: np.ndarray
    newton: np.ndarray


@dataclass(frozen=True, eq=False)
class Network:
    """A network of one layer of tanh units, and the rows it is fitted to."""

    X: np.ndarray
    y: np.ndarray
    units: int

    def predicted(self, theta: Any, X: Any) -> Any:
        """Return its predictions at rows."""
        d = X.shape[1]
        first, bias, second = jnp.split(theta[:-1], [d * self.units, (d + 1) * self.units])
        return jnp.tanh(X @ first.reshape(d, self.units) + bias) @ second + theta[-1]

    def loss(self, theta: Any, weights: Any) -> Any:
        """Return the mean squared error of the weighted rows, with weight decay."""
        return jnp.average((self.y - self.predicted(theta, self.X)) ** 2, weights=weights) + WEIGHT_DECAY * (
            theta @ theta
        )

    def fitted(self, start: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the minimum that a search from a start finds."""
        value = jax.jit(jax.value_and_grad(partial(self.loss, weights=jnp.asarray(weights))))
        found = scipy.optimize.minimize(
            lambda theta: tuple(np.asarray(each, dtype=float) for each in value(theta)),
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9},
        )
        return np.asarray(found.x)


def missed(units: int, seed: int) -> Missed:
    """Return how far both approximations are from the refits of one data set."""
    rng = np.random.default_rng(seed)
    X, y = make_friedman1(N_ROWS + N_POINTS, noise=1.0, random_state=seed)
    X, y = (X - 0.5) * np.sqrt(12), (y - y.mean()) / y.std()
    network, points = Network(X[:N_ROWS], y[:N_ROWS], units), X[N_ROWS:]
    ones = np.ones(N_ROWS)
    fit = network.fitted(rng.standard_normal((X.shape[1] + 2) * units + 1) / 2, ones)
    gradient, hessian = (jax.jit(each(network.loss)) for each in (jax.grad, jax.hessian))
    at_fit, slopes = hessian(fit, ones), jax.jacobian(network.predicted)(fit, points)
    centre = network.predicted(fit, points)
    found = []
    for _ in range(N_RESAMPLES):
        weights = rng.multinomial(N_ROWS, ones / N_ROWS).astype(float)
        refit = network.predicted(network.fitted(fit, weights), points) - centre
        linear = -slopes @ np.linalg.solve(at_fit, gradient(fit, weights))
        theta = fit
        for _ in range(N_STEPS):
            theta = theta - np.linalg.solve(hessian(theta, weights), gradient(theta, weights))
        newton = network.predicted(theta, points) - centre
        size = np.linalg.norm(refit)
        found.append([np.linalg.norm(linear - refit) / size, np.linalg.norm(newton - refit) / size])
    return Missed(*np.array(found).T)


def main() -> None:
    print("| units | linear part, median | above 1 | Newton steps, median | above 1 |")
    print("| --- " * 5 + "|")
    for units in (2, 5):
        sets = [missed(units, seed) for seed in range(3)]
        cells = [np.concatenate(each) for each in zip(*sets, strict=True)]
        words = " | ".join(f"{np.median(each):.2f} | {np.mean(each > 1):.0%}" for each in cells)
        print(f"| {units} | {words} |", flush=True)


if __name__ == "__main__":
    main()

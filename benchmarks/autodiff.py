"""Print what the influence function by automatic differentiation costs beside one evaluation of the statistic.

python -m benchmarks.autodiff
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from orthoboot.autodiff import PACKAGES
from orthoboot.data import read
from orthoboot.functionals.user.differentiable import PreparedDifferentiable, differentiable
from orthoboot.typing import FloatArray

N_ROWS = 100_000
N_COLUMNS = 10
N_REPLICATES = 1_000

Statistic = Callable[..., Any]


def statistics(library: str) -> dict[str, tuple[Statistic, FloatArray]]:
    """Return functions as a user writes them in `library`, with their data."""
    xp = import_module("jax.numpy" if library == "jax" else "torch")
    rng = np.random.default_rng(0)
    x, table = rng.exponential(size=N_ROWS), rng.normal(size=(N_ROWS, N_COLUMNS))

    def gini(x: Any, weights: Any) -> Any:
        order = xp.argsort(x)
        x, shares = x[order], weights[order] / weights.sum()
        below = xp.cumsum(shares, 0)[:-1]
        return xp.sum(below * (1 - below) * xp.diff(x)) / xp.sum(shares * x)

    def correlation(d: Any, weights: Any) -> Any:
        shares = weights / weights.sum()
        deviations = d - shares @ d
        moments = (deviations * shares[:, None]).T @ deviations
        return moments[0, 1] / xp.sqrt(moments[0, 0] * moments[1, 1])

    def standard_deviations(d: Any, weights: Any) -> Any:
        shares = weights / weights.sum()
        return xp.sqrt(shares @ (d - shares @ d) ** 2)

    def coefficients(d: Any, weights: Any) -> Any:
        weighted = d * weights[:, None]
        return xp.linalg.solve(weighted.T @ d, weighted.T @ (d.sum(1) + d[:, 0] ** 2))

    return {
        "Gini coefficient": (gini, x),
        "correlation": (correlation, table[:, :2]),
        "ten standard deviations": (standard_deviations, table),
        "ten regression coefficients": (coefficients, table),
    }


@dataclass(frozen=True)
class Cost:
    """Seconds, the warm ones the best of several runs."""

    library: str
    name: str
    n_outputs: int
    evaluation: float
    influence: float
    cold: float
    """The first influence function, with what is compiled for it."""

    @property
    def evaluations(self) -> float:
        """Return the cost of the influence function in evaluations of the statistic."""
        return self.influence / self.evaluation


def cost(library: str, name: str, *, n_runs: int = 15) -> Cost:
    if library == "torch":
        # Threads that wait for each other on a busy machine would make the ratio one of luck.
        import_module("torch").set_num_threads(1)
    statistic, table = statistics(library)[name]
    data = read(table)
    functional = differentiable(statistic, data, library)
    prepared = functional.prepared(data)
    evaluate = functional.package.function(prepared.program)
    arguments = (np.ones(N_ROWS), *prepared.package_arrays)
    cold = seconds(lambda: influence(prepared))
    evaluate(*arguments)
    # In turn, so that whatever else the machine does slows both.
    runs = [(seconds(lambda: evaluate(*arguments)), seconds(lambda: influence(prepared))) for _ in range(n_runs)]
    evaluation, warm = np.min(runs, axis=0)
    return Cost(library, name, len(functional.value), float(evaluation), float(warm), cold)


def replication(name: str, *, n_runs: int = 5) -> tuple[float, float]:
    """Return the seconds of a thousand replicates of a thousand rows: in JAX's loop, and side by side under `vmap`."""
    statistic, table = statistics("jax")[name]
    data = read(table[:N_REPLICATES])
    functional = differentiable(statistic, data, "jax")
    weights = np.random.default_rng(1).multinomial(N_REPLICATES, np.full(N_REPLICATES, 1 / N_REPLICATES), N_REPLICATES)
    prepared = functional.prepared(data)
    package, program, arrays = functional.package, prepared.program, prepared.package_arrays

    def side_by_side(weights: Any, *arrays: Any) -> Any:
        return import_module("jax").vmap(lambda one: program(one, *arrays))(weights)

    ways = [package.one_by_one(program), package.function(side_by_side)]
    runs = [[seconds(lambda: way(weights, *arrays)) for way in ways] for _ in range(n_runs + 1)]  # noqa: B023
    loop, together = np.min(runs[1:], axis=0)
    return float(loop), float(together)


def influence(prepared: PreparedDifferentiable) -> object:
    """Return the influence function, computed anew: the prepared statistic keeps it."""
    return type(prepared)._influence.func(prepared)


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def costs() -> Iterator[Cost]:
    for library in PACKAGES:
        if find_spec(library) is not None:
            yield from (cost(library, name) for name in statistics(library))


def main() -> None:
    print("| library | statistic | evaluation, ms | influence, ms | ratio | per output | first time, s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for one in costs():
        print(
            f"| {one.library} | {one.name} | {one.evaluation * 1e3:.1f} | {one.influence * 1e3:.1f} | "
            f"{one.evaluations:.1f} | {one.evaluations / one.n_outputs:.1f} | {one.cold:.2f} |"
        )
    if find_spec("jax") is not None:
        print("\n| 1000 replicates of 1000 rows in JAX | one after the other, ms | under vmap, ms |")
        print("| --- | --- | --- |")
        for name in statistics("jax"):
            print(f"| {name} | " + " | ".join(f"{1e3 * cost:.1f}" for cost in replication(name)) + " |")


if __name__ == "__main__":
    main()

"""Simulation models with data, and their input variance by brute force: for `benchmarks.input_uncertainty`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

Data = dict[str, np.ndarray]


def mean_wait(arrival: np.ndarray, service: np.ndarray) -> np.ndarray:
    """Return the mean wait of the first T customers of a single server, by Lindley's recursion."""
    wait = total = np.zeros(len(arrival))
    for t in range(arrival.shape[1] - 1):
        wait = np.maximum(wait + service[:, t] - arrival[:, t], 0)
        total = total + wait
    return total / arrival.shape[1]


def long_wait(arrival: np.ndarray, service: np.ndarray) -> np.ndarray:
    """Return whether the last of T customers waits longer than 2."""
    wait = np.zeros(len(arrival))
    for t in range(arrival.shape[1] - 1):
        wait = np.maximum(wait + service[:, t] - arrival[:, t], 0)
    return wait > 2


def inventory_cost(demand: np.ndarray, lead: np.ndarray) -> np.ndarray:
    """Return the mean cost of a period under an (s, S) policy with lead times, in whole periods."""
    runs, periods = demand.shape
    stock, due, ordered = np.full(runs, 60.0), np.full(runs, -1), np.zeros(runs)
    cost, orders = np.zeros(runs), np.zeros(runs, dtype=int)
    for t in range(periods):
        arrived = due == t
        stock, due = np.where(arrived, stock + ordered, stock), np.where(arrived, -1, due)
        stock = stock - demand[:, t]
        cost = cost + np.maximum(stock, 0) + 5 * np.maximum(-stock, 0)
        reorders = (stock < 20) & (due < 0)
        ordered = np.where(reorders, 60 - stock, ordered)
        wait = np.ceil(lead[np.arange(runs), orders]).astype(int)
        due, orders = np.where(reorders, t + 1 + wait, due), orders + reorders
        cost = cost + 32 * reorders
    return cost / periods


def project_length(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Return the longest path through a network of five activities."""
    a, b, c, d, e = (activity[:, 0] for activity in (a, b, c, d, e))
    return np.maximum(np.maximum(a + d, b + e), a + c + e)


def repair_cost(life: np.ndarray, repair: np.ndarray) -> np.ndarray:
    """Return the cost of the first ten failures, each with a price list of steps: a rough function of every draw."""
    steps = np.where(repair < 0.5, 1.0, np.where(repair < 1.2, 4.0, 3.0)) * (1 + (np.floor(4 * repair) % 2))
    return (steps * np.exp(-0.1 * np.cumsum(life, axis=1))).sum(axis=1)


def ruin(premium: np.ndarray, claim: np.ndarray) -> np.ndarray:
    """Return whether claims exceed premiums and a reserve within T periods."""
    return (5 + np.cumsum(premium - claim, axis=1)).min(axis=1) < 0


def stock_out(demand: np.ndarray, delay: np.ndarray) -> np.ndarray:
    """Return whether demand during one of five deliveries exceeds what is held."""
    periods = np.minimum(np.ceil(delay).astype(int), 5)
    held, use = np.zeros(len(demand), dtype=bool), np.cumsum(demand, axis=1)
    for order in range(delay.shape[1]):
        first = 5 * order
        last = first + periods[:, order] - 1
        needed = use[np.arange(len(use)), last] - (use[:, first - 1] if order else 0)
        held = held | (needed > 9)
    return held


def tandem_time(arrival: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the mean time of T customers in two queues one after the other."""
    clock = done = left = total = np.zeros(len(arrival))
    for t in range(arrival.shape[1]):
        clock = clock + arrival[:, t]
        done = np.maximum(clock, done) + first[:, t]
        left = np.maximum(done, left) + second[:, t]
        total = total + left - clock
    return total / arrival.shape[1]


def wait_until_closing(arrival: np.ndarray, service: np.ndarray) -> np.ndarray:
    """Return the mean wait of the customers of a single server who come before it closes, after eight hours."""
    clock, wait, total, number = arrival[:, 0], np.zeros(len(arrival)), np.zeros(len(arrival)), np.zeros(len(arrival))
    for t in range(1, arrival.shape[1]):
        is_open = clock < CLOSES
        total, number = total + np.where(is_open, wait, 0.0), number + is_open
        wait = np.maximum(wait + service[:, t - 1] - arrival[:, t], 0)
        clock = clock + arrival[:, t]
    return total / np.maximum(number, 1)


def draws_until_closing(arrival: np.ndarray, service: np.ndarray) -> dict[str, np.ndarray]:
    """Return how many draws `wait_until_closing` uses: the last arrival comes when the server is closed."""
    customers = (np.cumsum(arrival, axis=1) < CLOSES).sum(axis=1)
    most = arrival.shape[1]
    return {"arrival": np.minimum(customers + 1, most), "service": np.clip(customers - 1, 0, most)}


CLOSES = 8.0


class Case(NamedTuple):
    """A model, what generates its data, and how many draws of each input a run takes.

    Attributes
    ----------
    used
        How many of them it uses, where that is random.
    """

    name: str
    model: Callable[..., np.ndarray]
    generate: Callable[[np.random.Generator], Data]
    horizon: Mapping[str, int]
    used: Callable[..., dict[str, np.ndarray]] | None = None

    def data(self, seed: int) -> Data:
        """Return data sorted, so that no method gains by their order."""
        made = self.generate(np.random.default_rng([seed, 16]))
        return {name: np.sort(values) for name, values in made.items()}


def _queue(n: int, load: float = 0.7) -> Callable[[np.random.Generator], Data]:
    return lambda rng: {"arrival": rng.exponential(1.0, n), "service": rng.exponential(load, n)}


def queue_case(draws: int, n: int) -> Case:
    """Return the mean wait of a queue of `draws` customers with `n` rows for each input."""
    horizon = {"arrival": draws, "service": draws}
    return Case(f"queue, T={draws}, n={n}", mean_wait, _queue(n), horizon)


TABLE = (
    queue_case(10, 500),
    queue_case(50, 100),
    Case(
        "(s, S) inventory, n=500",
        inventory_cost,
        lambda rng: {"demand": rng.gamma(2, 5, 500), "lead": rng.gamma(2, 1, 500)},
        {"demand": 30, "lead": 30},
    ),
    Case(
        "activity network, n=500",
        project_length,
        lambda rng: {name: rng.exponential(1.0, 500) for name in "abcde"},
        dict.fromkeys("abcde", 1),
    ),
    Case("P(wait > 2), n=500", long_wait, _queue(500, 0.8), {"arrival": 10, "service": 10}),
)

FRESH = (
    Case(
        "tandem queue, n=60, 200, 700",
        tandem_time,
        lambda rng: {
            "arrival": rng.exponential(1.0, 700),
            "first": rng.lognormal(-0.9, 0.7, 60),
            "second": rng.gamma(2.0, 0.3, 200),
        },
        {"arrival": 12, "first": 12, "second": 12},
    ),
    Case(
        "repairs with steps, n=150",
        repair_cost,
        lambda rng: {"life": rng.weibull(1.5, 150), "repair": rng.exponential(0.8, 150)},
        {"life": 10, "repair": 10},
    ),
    Case(
        "P(ruin), n=300",
        ruin,
        lambda rng: {"premium": rng.normal(1.0, 0.2, 300), "claim": rng.lognormal(-0.7, 1.0, 300)},
        {"premium": 20, "claim": 20},
    ),
    Case(
        "P(stock-out), n=80, 400",
        stock_out,
        lambda rng: {"demand": rng.gamma(1.5, 1.0, 400), "delay": rng.weibull(1.2, 80) * 2},
        {"demand": 25, "delay": 5},
    ),
    Case(
        "queue until closing, n=120, 80",
        wait_until_closing,
        lambda rng: {"arrival": rng.exponential(1.0, 120), "service": rng.exponential(0.7, 80)},
        {"arrival": 40, "service": 40},
        draws_until_closing,
    ),
)
"""Models that were not used in choosing thresholds: unequal numbers of rows, a rough influence function, probabilities.

Other data of P(ruin) were looked at for the share of a column that one run may have.
"""


# Brute force

_MOST_TIMES = 20
_RUNS_AT_ONCE = 2_000


def simulate(case: Case, data: Data, runs: int, rng: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the outputs of runs, and the rows that they drew."""
    rows = {name: rng.integers(0, len(data[name]), (runs, case.horizon[name])) for name in data}
    return case.model(**{name: data[name][rows[name]] for name in data}).astype(float), rows


class Reference(NamedTuple):
    """The input variance of a case by brute force with its Monte Carlo error, and the mean output at the data."""

    variance: float
    error: float
    estimate: float


def raw_influence(case: Case, data: Data, runs: int, rng: np.random.Generator) -> tuple[float, Data]:
    """Return the mean output and the influence of rows from so many runs, without any features."""
    sums: dict[str, Any] = {name: np.zeros(len(values)) for name, values in data.items()}
    total, done, first = 0.0, 0, 0.0
    while done < runs:
        outputs, rows = simulate(case, data, 10_000, rng)
        first = outputs.mean() if done == 0 else first
        total, done = total + outputs.sum(), done + len(outputs)
        for name, values in data.items():
            n, draws = len(values), case.horizon[name]
            weights = np.repeat(outputs - first, draws)
            counted = np.bincount(rows[name].ravel(), weights=weights, minlength=n)
            sums[name] += n * counted - draws * (outputs - first).sum()
    return total / done, {name: values / done for name, values in sums.items()}


def reference(
    case: Case,
    data: Data,
    seed: int = 0,
    *,
    resamples: int = 2_000,
    runs: int = 200,
    base: int = 200_000,
    precision: float = 0.01,
    sizes: Mapping[str, int] | None = None,
) -> Reference:
    """Return the variance of the mean output over resamples, by two sets of runs of each and its linear part.

    Parameters
    ----------
    resamples, runs, base
        Resamples at a time, runs in each set, and runs at the data.
    precision
        The relative error to reach; resamples are added until it is, twenty times at most.
    sizes
        Rows of the inputs that are resampled, all of them with as many as they have by default.
    """
    rng = np.random.default_rng([seed, 99])
    sizes = {name: len(values) for name, values in data.items()} if sizes is None else sizes
    estimate, influence = raw_influence(case, data, base, rng)
    exact = sum((influence[name] ** 2).mean() / size for name, size in sizes.items())
    linear, values = np.empty(0), np.empty((0, 2))
    at_once = max(_RUNS_AT_ONCE // runs, 1)
    for _ in range(_MOST_TIMES):
        for start in range(0, resamples, at_once):
            more = of_resamples(case, data, influence, (min(at_once, resamples - start), runs), sizes, rng)
            linear, values = np.append(linear, more[0]), np.append(values, more[1], axis=0)
        variance, error = _variance(linear, values, exact)
        if error <= precision * variance:
            break
    return Reference(variance, error, float(estimate))


def of_resamples(
    case: Case,
    data: Data,
    influence: Data,
    shape: tuple[int, int],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear parts ``(B,)`` of resamples and the mean outputs ``(B, 2)`` of two sets of runs of each.

    What the mean influence of a run's draws is above that of its resample has mean zero, and is taken off.
    """
    resamples, runs = shape
    linear, noise, draws = np.zeros(resamples), np.zeros((resamples, 2 * runs)), {}
    for name, values in data.items():
        n, horizon = len(values), case.horizon[name]
        rows = rng.integers(0, n, (resamples, sizes[name])) if name in sizes else np.tile(np.arange(n), (resamples, 1))
        places = rng.integers(0, rows.shape[1], (resamples, 2 * runs * horizon))
        taken = np.take_along_axis(rows, places, axis=1).reshape(resamples, 2 * runs, horizon)
        own = influence[name][rows].mean(axis=1)
        linear += own
        noise += influence[name][taken].mean(axis=2) - own[:, np.newaxis]
        draws[name] = values[taken].reshape(resamples * 2 * runs, horizon)
    outputs = case.model(**draws).astype(float).reshape(resamples, 2 * runs) - noise
    return linear, outputs.reshape(resamples, 2, runs).mean(axis=2)


def _variance(linear: np.ndarray, values: np.ndarray, exact: float) -> tuple[float, float]:
    """Return the variance of values ``(B, 2)`` whose linear part has the variance `exact`, and its error."""
    beta = np.cov(values.mean(axis=1), linear)[0, 1] / linear.var()
    rest = values - beta * linear[:, np.newaxis]
    rest = rest - rest.mean(axis=0)
    terms = beta**2 * exact + 2 * beta * rest.mean(axis=1) * linear + rest[:, 0] * rest[:, 1]
    return float(terms.mean()), float(terms.std() / np.sqrt(len(terms)))

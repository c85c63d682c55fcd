"""Print how well the input variance of simulations is found, by `ob.input_uncertainty` and by what is used today.

    python -m benchmarks.input_uncertainty table          relative RMSE at 10,000 runs beside other methods
    python -m benchmarks.input_uncertainty fresh          at 2,000 runs, on models that no threshold was chosen on
    python -m benchmarks.input_uncertainty coverage       of the intervals of queues, beside replications alone
    python -m benchmarks.input_uncertainty errors         reported simulation errors over true ones
    python -m benchmarks.input_uncertainty contributions  shares and doubling beside references
    python -m benchmarks.input_uncertainty long           long horizons beside the two-layer bootstrap
    python -m benchmarks.input_uncertainty influence      of the rows of models whose influence is known

Every study takes `--data-sets`, `--repetitions` and `--first-seed`, which other data and other runs begin with.
`errors` takes `--models`, a part of the names of those that it looks at.
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from benchmarks.simulation_models import (
    FRESH,
    TABLE,
    Case,
    Data,
    Reference,
    of_resamples,
    queue_case,
    reference,
    simulate,
)

import orthoboot as ob

RUNS = 10_000
PRECISE = 0.005
"""Relative error of references that small differences are measured from."""

OF_SHARES = 0.0025
"""The same for shares, which are quotients of two of them."""


class Sizes(NamedTuple):
    """How many data sets a study has, how many repetitions of each, the seed that both begin with, and of what."""

    data_sets: int
    repetitions: int
    first_seed: int
    models: str = ""

    @property
    def data_seeds(self) -> range:
        """Return the seeds of the data sets."""
        return range(self.first_seed, self.first_seed + self.data_sets)

    @property
    def run_seeds(self) -> range:
        """Return the seeds of the repetitions."""
        return range(self.first_seed, self.first_seed + self.repetitions)


# Other methods


def two_layer(case: Case, data: Data, runs: int, inner: int, rng: np.random.Generator, share: float = 1.0) -> float:
    """Return the variance between resamples of `inner` runs each; of `share` of the rows for subsampling."""
    outer = runs // inner
    draws = {}
    for name, values in data.items():
        n = max(int(share * len(values)), 2)
        taken = rng.integers(0, len(values), (outer, n))
        places = rng.integers(0, n, (outer, inner * case.horizon[name]))
        rows = np.take_along_axis(taken, places, axis=1)
        draws[name] = values[rows].reshape(outer * inner, case.horizon[name])
    outputs = case.model(**draws).astype(float).reshape(outer, inner)
    return share * float(outputs.mean(axis=1).var(ddof=1) - outputs.var(axis=1, ddof=1).mean() / inner)


def on_moments(case: Case, data: Data, runs: int, rng: np.random.Generator) -> float:
    """Return the variance through a regression on the sums of x and x^2 over the draws of each run."""
    outputs, rows = simulate(case, data, runs, rng)
    columns, covariances = [np.ones(runs)], []
    for name, values in data.items():
        powers = np.stack([values - values.mean(), (values - values.mean()) ** 2 - values.var()])
        columns += [power[rows[name]].sum(axis=1) for power in powers]
        covariances.append(case.horizon[name] ** 2 * np.cov(powers, ddof=0) / len(values))
    slopes = np.linalg.lstsq(np.stack(columns, axis=1), outputs, rcond=None)[0][1:].reshape(-1, 2)
    return float(sum(slope @ covariance @ slope for slope, covariance in zip(slopes, covariances, strict=True)))


def ten_resamples(case: Case, data: Data, runs: int, seed: int) -> float:
    """Return the variance by the orthogonal bootstrap of ten resamples: half of the runs at the data, half in them."""
    influence, rng = ours(case, data, runs // 2, seed).influence, np.random.default_rng([seed, 11])
    shape = (10, runs // 40)
    linear, pairs = of_resamples(
        case, data, influence, shape, {name: len(values) for name, values in data.items()}, rng
    )
    means = pairs.mean(axis=1)
    exact = sum((influence[name] ** 2).sum() / len(values) ** 2 for name, values in data.items())
    left = means - linear
    return float(exact + 2 * np.cov(linear, left)[0, 1] + left.var(ddof=1))


def ours(case: Case, data: Data, runs: int, seed: int) -> ob.InputUncertainty:
    model, used = case.model, case.used
    with_used = model if used is None else lambda **draws: (model(**draws), used(**draws))
    if used is not None:
        with_used.__signature__ = inspect.signature(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ob.input_uncertainty(with_used, data, horizon=dict(case.horizon), n_runs=runs, rng=seed)


# Studies

SPLITS = (2, 5, 10, 25, 50, 100, 200)


def _best(case: Case, data: Data, truth: float, seeds: range, share: float) -> np.ndarray:
    """Return the relative errors of the split with the smallest RMSE."""
    errors = {}
    for inner in SPLITS:
        found = [two_layer(case, data, RUNS, inner, np.random.default_rng([r, inner, 5]), share) for r in seeds]
        errors[inner] = np.array(found) / truth - 1
    return min(errors.values(), key=lambda error: float((error**2).mean()))


def table(sizes: Sizes) -> None:
    counted = f"{sizes.data_sets} data sets x {sizes.repetitions} repetitions"
    print(f"relative RMSE of the input variance at {RUNS:,} runs, {counted}")
    print(
        "| model | two-layer, best split | subsampling n/2 | regression on x, x^2 | ten resamples | ours | ours: bias "
        "| regime |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in TABLE:
        errors: dict[str, list[np.ndarray]] = {"two": [], "sub": [], "moments": [], "ten": [], "ours": []}
        regimes = set()
        for seed in sizes.data_seeds:
            data = case.data(1000 + seed)
            truth = reference(case, data, seed).variance
            few = sizes.run_seeds[: max(sizes.repetitions // 2, 3)]
            errors["two"].append(_best(case, data, truth, few, 1.0))
            errors["sub"].append(_best(case, data, truth, few, 0.5))
            moments = [on_moments(case, data, RUNS, np.random.default_rng([r, 7])) for r in sizes.run_seeds]
            errors["moments"].append(np.array(moments) / truth - 1)
            ten = [ten_resamples(case, data, RUNS, r) for r in sizes.run_seeds]
            errors["ten"].append(np.array(ten) / truth - 1)
            results = [ours(case, data, RUNS, r) for r in sizes.run_seeds]
            errors["ours"].append(np.array([result.input_error**2 for result in results]) / truth - 1)
            regimes |= {result.regime for result in results}
        cells = [f"{_rms(np.concatenate(found)):.3f}" for found in errors.values()]
        bias = f"{np.mean(np.concatenate(errors['ours'])):+.3f}"
        print(f"| {' | '.join([case.name, *cells, bias, ', '.join(sorted(regimes))])} |", flush=True)


def fresh(sizes: Sizes) -> None:
    print("| model | RMSE at 2,000 runs | bias | reference error | regime |")
    print("| --- | --- | --- | --- | --- |")
    for case in FRESH:
        errors, precision, regimes = [], [], set()
        for seed in sizes.data_seeds:
            data = case.data(7000 + seed)
            truth = reference(case, data, seed)
            results = [ours(case, data, 2_000, r) for r in sizes.run_seeds]
            errors.append(np.array([result.input_error**2 for result in results]) / truth.variance - 1)
            precision.append(truth.error / truth.variance)
            regimes |= {result.regime for result in results}
        joined = np.concatenate(errors)
        cells = [f"{_rms(joined):.3f}", f"{joined.mean():+.3f}", f"{np.mean(precision):.3f}"]
        print(f"| {' | '.join([case.name, *cells, ', '.join(sorted(regimes))])} |", flush=True)


def coverage(sizes: Sizes) -> None:
    """Print how often intervals cover; `repetitions` samples of data each, `data_sets` is not used.

    Brute force is a bootstrap of a million plain runs, around the mean of another million at the data.
    """
    # Compiled, by numba of the extra `fast`, which other studies do without.
    from benchmarks.queue_brute_force import queue_bootstrap

    print(f"coverage of 95% intervals at 2,000 runs over {sizes.repetitions} samples of data")
    print("| model | ours | brute force | difference | replications alone |")
    print("| --- | --- | --- | --- | --- |")
    for draws in (10, 50):
        for n in (100, 500):
            case = queue_case(draws, n)
            truth = _true_mean(case)
            hits = np.zeros((sizes.repetitions, 3))
            for row, seed in zip(hits, sizes.run_seeds, strict=True):
                data = case.data(30_000 + seed)
                result = ours(case, data, 2_000, seed)
                low, high = result.confidence_interval
                alone = 1.96 * result.run_error
                brute = queue_bootstrap(data["arrival"], data["service"], draws, seed)
                row[:] = (low <= truth <= high, brute.covers(truth), abs(result.estimate - truth) <= alone)
            both = hits[:, 0] - hits[:, 1]
            difference = f"{both.mean():+.3f} ± {both.std() / np.sqrt(len(both)):.3f}"
            cells = [*(f"{share:.3f}" for share in hits.mean(axis=0))]
            print(f"| {' | '.join([case.name, *cells[:2], difference, cells[2]])} |", flush=True)


def _true_mean(case: Case) -> float:
    """Return the mean output under the distributions that the data come from."""
    rng = np.random.default_rng(123)
    total, batches = 0.0, 200
    for _ in range(batches):
        draws = {"arrival": rng.exponential(1.0, (10_000, case.horizon["arrival"]))}
        draws["service"] = rng.exponential(0.7, (10_000, case.horizon["service"]))
        total += case.model(**draws).mean()
    return total / batches


def errors(sizes: Sizes) -> None:
    """Print reported errors over those about the mean of seeds, and of the input error over those from the truth."""
    print("| model | runs | reported / true: input error | from the truth | bias | estimate | regime |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    cases = (*TABLE, *FRESH, queue_case(10, 100), queue_case(50, 500))
    for case in (each for each in cases if sizes.models in each.name):
        data = [case.data(4000 + seed) for seed in sizes.data_seeds]
        truths = [
            reference(case, each, seed, precision=PRECISE) for each, seed in zip(data, sizes.data_seeds, strict=True)
        ]
        for runs in (2_000, 5_000):
            ratios, regimes = [], set()
            for each, truth in zip(data, truths, strict=True):
                results = [ours(case, each, runs, r) for r in sizes.run_seeds]
                regimes |= {one.regime for one in results}
                ratios.append(_reported_over_true(results, truth))
            mean = np.exp(np.mean(np.log(np.maximum(ratios, 1e-300)), axis=0))
            cells = [f"{runs:,}", *(f"{ratio:.2f}" for ratio in mean), ", ".join(sorted(regimes))]
            print(f"| {' | '.join([case.name, *cells])} |", flush=True)


def _reported_over_true(results: list[ob.InputUncertainty], truth: Reference) -> np.ndarray:
    """Return mean reported errors over true ones: of the input error twice, then of the bias and of the estimate.

    The second of the input error is from the truth, whose own error is taken off.
    """
    found = np.array([(one.input_error, one.bias, one.estimate) for one in results])
    said = [one.simulation_error for one in results]
    reported = np.mean([(one.input_error, one.bias, one.estimate) for one in said], axis=0)
    spread = np.maximum(found.std(axis=0, ddof=1), 1e-300)
    exact = np.sqrt(truth.variance)
    square = np.mean((found[:, 0] - exact) ** 2) - (truth.error / (2 * exact)) ** 2
    return np.insert(reported / spread, 1, reported[0] / np.sqrt(max(square, 0.25 * spread[0] ** 2)))


def contributions(sizes: Sizes) -> None:
    print("| model | input | share, reference | share, ours | off by | doubled, reference | ours | off by |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in (queue_case(10, 500), queue_case(10, 100), TABLE[4], FRESH[0]):
        for seed in sizes.data_seeds:
            data = case.data(5000 + seed)
            total = reference(case, data, seed, precision=OF_SHARES).variance
            results = [ours(case, data, 5_000, r) for r in sizes.run_seeds]
            for name, values in data.items():
                alone = reference(case, data, seed, precision=OF_SHARES, sizes={name: len(values)}).variance / total
                rows = {other: len(each) * (2 if other == name else 1) for other, each in data.items()}
                after = np.sqrt(reference(case, data, seed, precision=OF_SHARES, sizes=rows).variance / total)
                shares = np.array([result.contributions[name] for result in results])
                doubled = np.array([result.more_data(**{name: 2}).ratio for result in results])
                cells = [f"{alone:.3f}", f"{shares.mean():.3f}", f"{_rms(shares - alone):.3f}", f"{after:.3f}"]
                cells += [f"{doubled.mean():.3f}", f"{_rms(doubled - after):.3f}"]
                print(f"| {' | '.join([case.name, name, *cells])} |", flush=True)


def _rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def long(sizes: Sizes) -> None:
    print("| model | runs | two-layer, best split | ours | ratio | regime |")
    print("| --- | --- | --- | --- | --- | --- |")
    runs = 2_000
    for n in (100, 500):
        case = queue_case(1000, n)
        for seed in sizes.data_seeds:
            data = case.data(6000 + seed)
            truth = reference(case, data, seed, runs=10, precision=0.03).variance
            two = [
                [two_layer(case, data, runs, inner, np.random.default_rng([r, inner])) for r in sizes.run_seeds]
                for inner in (2, 4, 10)
            ]
            results = [ours(case, data, runs, r) for r in sizes.run_seeds]
            mine = np.array([result.input_error**2 for result in results]) / truth - 1
            regimes = ", ".join(sorted({result.regime for result in results}))
            cells = _beside_best(np.array(two) / truth - 1, mine)
            print(f"| {case.name} | {runs:,} | {cells} | {regimes} |", flush=True)


def _beside_best(others: np.ndarray, mine: np.ndarray) -> str:
    """Return the RMSE of the best of several methods, ours, and their ratio with its error over repetitions.

    The errors have long tails, so that the RMSE of few repetitions says little; resampled repetitions say how little.
    """

    def both(repetitions: np.ndarray) -> tuple[float, float]:
        return min(_rms(errors[repetitions]) for errors in others), _rms(mine[repetitions])

    rng = np.random.default_rng(0)
    drawn = np.array([both(rng.integers(0, len(mine), len(mine))) for _ in range(400)])
    best, own = both(np.arange(len(mine)))
    return f"{best:.3f} | {own:.3f} | {own / best:.2f} ± {np.std(drawn[:, 1] / drawn[:, 0]):.2f}"


def influence(sizes: Sizes) -> None:
    """Print squared correlations of the influence of rows with the exact one, and how far the variance is off."""
    from tests.simulators import closed_forms as exact

    models = {
        "sum": (exact.sum_of, lambda x: exact.influence_of_sum(exact.sum_of, x, 3)),
        "product": (exact.product, lambda x: exact.influence_of_product(x, 3)),
        "maximum": (exact.maximum, lambda x: exact.influence_of_maximum(x, 3)),
        "sum of roots": (exact.sum_of_roots, lambda x: exact.influence_of_sum(exact.sum_of_roots, x, 3)),
    }
    print(f"three draws, 1,000 runs, {sizes.data_sets} data sets x {sizes.repetitions} repetitions")
    print("| model | data | median r^2 | smallest | above .99 | first-order variance: bias | in its errors |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (model, of_rows) in models.items():
        for law, n in (("gamma", 100), ("gamma", 500), ("exponential", 100)):
            agreement, off = [], []
            for seed in sizes.data_seeds:
                x = np.random.default_rng([seed, 17]).gamma(2.0 if law == "gamma" else 1.0, size=n)
                case = Case(name, model, lambda _: {}, {"x": 3})
                # Other runs for every data set: with the same draws their errors would be alike.
                results = [ours(case, {"x": x}, 1_000, 1_000 * seed + r) for r in range(sizes.repetitions)]
                agreement += [np.corrcoef(result.influence["x"], of_rows(x))[0, 1] ** 2 for result in results]
                variances = [result.estimation.first.variances.sum() for result in results]
                off += list(np.array(variances) / exact.variance(of_rows(x)) - 1)
            share, error = np.mean(np.array(agreement) > 0.99), np.std(off) / np.sqrt(len(off))
            cells = [f"{np.median(agreement):.5f}", f"{min(agreement):.4f}", f"{share:.3f}"]
            cells += [f"{np.mean(off):+.4f}", f"{np.mean(off) / max(error, 1e-12):+.1f}"]
            print(f"| {' | '.join([name, f'{law}, n={n}', *cells])} |", flush=True)


STUDIES: dict[str, Callable[[Sizes], None]] = {
    "table": table,
    "fresh": fresh,
    "coverage": coverage,
    "errors": errors,
    "contributions": contributions,
    "long": long,
    "influence": influence,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", nargs="*", choices=[*STUDIES, []], default=["table"])
    parser.add_argument("--data-sets", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--models", default="")
    options = parser.parse_args()
    sizes = Sizes(options.data_sets, options.repetitions, options.first_seed, options.models)
    for name in options.study or ["table"]:
        STUDIES[name](sizes)


if __name__ == "__main__":
    main()

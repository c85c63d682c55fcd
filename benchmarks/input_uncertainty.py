"""Print how well the input variance of simulations is found, by `ob.input_uncertainty` and by what is used today.

    python -m benchmarks.input_uncertainty table          relative RMSE at 10,000 runs beside other methods
    python -m benchmarks.input_uncertainty fresh          at 2,000 runs, on models that no threshold was chosen on
    python -m benchmarks.input_uncertainty coverage       of the intervals of queues, beside replications alone
    python -m benchmarks.input_uncertainty errors         reported simulation errors over true ones
    python -m benchmarks.input_uncertainty contributions  shares and doubling beside references
    python -m benchmarks.input_uncertainty long           long horizons beside the two-layer bootstrap

Every study takes `--data-sets` and `--repetitions`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from benchmarks.simulation_models import FRESH, TABLE, Case, Data, queue_case, reference, simulate

import orthoboot as ob

RUNS = 10_000


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


def ours(case: Case, data: Data, runs: int, seed: int) -> ob.InputUncertainty:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ob.input_uncertainty(case.model, data, horizon=dict(case.horizon), n_runs=runs, rng=seed)


# Studies

SPLITS = (2, 5, 10, 25, 50, 100, 200)


def _best(case: Case, data: Data, truth: float, repetitions: int, share: float) -> np.ndarray:
    """Return the relative errors of the split with the smallest RMSE."""
    errors = {}
    for inner in SPLITS:
        found = [
            two_layer(case, data, RUNS, inner, np.random.default_rng([r, inner, 5]), share) for r in range(repetitions)
        ]
        errors[inner] = np.array(found) / truth - 1
    return min(errors.values(), key=lambda error: float((error**2).mean()))


def table(data_sets: int, repetitions: int) -> None:
    print(f"relative RMSE of the input variance at {RUNS:,} runs, {data_sets} data sets x {repetitions} repetitions")
    print("| model | two-layer, best split | subsampling n/2 | regression on x, x^2 | ours | ours: bias | regime |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in TABLE:
        errors: dict[str, list[np.ndarray]] = {"two": [], "sub": [], "moments": [], "ours": []}
        regimes = set()
        for seed in range(data_sets):
            data = case.data(1000 + seed)
            truth = reference(case, data, seed).variance
            few = max(repetitions // 2, 3)
            errors["two"].append(_best(case, data, truth, few, 1.0))
            errors["sub"].append(_best(case, data, truth, few, 0.5))
            moments = [on_moments(case, data, RUNS, np.random.default_rng([r, 7])) for r in range(repetitions)]
            errors["moments"].append(np.array(moments) / truth - 1)
            results = [ours(case, data, RUNS, r) for r in range(repetitions)]
            errors["ours"].append(np.array([result.input_error**2 for result in results]) / truth - 1)
            regimes |= {result.regime for result in results}
        cells = [f"{np.sqrt(np.mean(np.concatenate(found) ** 2)):.3f}" for found in errors.values()]
        bias = f"{np.mean(np.concatenate(errors['ours'])):+.3f}"
        print(f"| {' | '.join([case.name, *cells, bias, ', '.join(sorted(regimes))])} |", flush=True)


def fresh(data_sets: int, repetitions: int) -> None:
    print("| model | RMSE at 2,000 runs | bias | reference error | reported / true error | regime |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in FRESH:
        errors, ratios, precision, regimes = [], [], [], set()
        for seed in range(data_sets):
            data = case.data(7000 + seed)
            truth = reference(case, data, seed)
            results = [ours(case, data, 2_000, r) for r in range(repetitions)]
            found = np.array([result.input_error for result in results])
            errors.append(found**2 / truth.variance - 1)
            ratios.append(np.mean([result.simulation_error.input_error for result in results]) / found.std())
            precision.append(truth.error / truth.variance)
            regimes |= {result.regime for result in results}
        joined = np.concatenate(errors)
        cells = [f"{np.sqrt(np.mean(joined**2)):.3f}", f"{joined.mean():+.3f}", f"{np.mean(precision):.3f}"]
        cells += [f"{np.mean(ratios):.2f}", ", ".join(sorted(regimes))]
        print(f"| {' | '.join([case.name, *cells])} |", flush=True)


def coverage(data_sets: int, repetitions: int) -> None:
    """Print how often intervals cover; `repetitions` samples of data each, `data_sets` is not used."""
    print(f"coverage of 95% intervals at 2,000 runs over {repetitions} samples of data")
    print("| model | ours | brute force, same centre | replications alone |")
    print("| --- | --- | --- | --- |")
    for draws in (10, 50):
        for n in (100, 500):
            case = queue_case(draws, n)
            truth = _true_mean(case)
            hits = np.zeros((repetitions, 3))
            for seed in range(repetitions):
                data = case.data(30_000 + seed)
                result = ours(case, data, 2_000, seed)
                low, high = result.confidence_interval
                alone = 1.96 * result.run_error
                brute = _brute_error(case, data, seed)
                inside = (low <= truth <= high, brute.covers(truth), abs(result.estimate - truth) <= alone)
                hits[seed] = inside
            print(f"| {' | '.join([case.name, *(f'{share:.3f}' for share in hits.mean(axis=0))])} |", flush=True)


class _Brute:
    """A normal interval around the mean of many runs, with the variance between many resamples."""

    def __init__(self, estimate: float, variance: float) -> None:
        self.estimate, self.error = estimate, np.sqrt(max(variance, 0.0))

    def covers(self, truth: float) -> bool:
        return bool(abs(self.estimate - truth) <= 1.959964 * self.error)


def _brute_error(case: Case, data: Data, seed: int) -> _Brute:
    found = reference(case, data, seed, resamples=300, runs=100, base=50_000)
    return _Brute(found.estimate, found.variance)


def _true_mean(case: Case) -> float:
    """Return the mean output under the distributions that the data come from."""
    rng = np.random.default_rng(123)
    total, batches = 0.0, 200
    for _ in range(batches):
        draws = {"arrival": rng.exponential(1.0, (10_000, case.horizon["arrival"]))}
        draws["service"] = rng.exponential(0.7, (10_000, case.horizon["service"]))
        total += case.model(**draws).mean()
    return total / batches


def errors(data_sets: int, repetitions: int) -> None:
    print("| model | runs | reported / true: input error | bias | estimate | regime |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in (*TABLE, *FRESH, queue_case(10, 100), queue_case(50, 500)):
        for runs in (2_000, 5_000):
            ratios, regimes = [], set()
            for seed in range(data_sets):
                data = case.data(4000 + seed)
                results = [ours(case, data, runs, r) for r in range(repetitions)]
                found = np.array([(one.input_error, one.bias, one.estimate) for one in results])
                said = [one.simulation_error for one in results]
                reported = np.mean([(one.input_error, one.bias, one.estimate) for one in said], axis=0)
                ratios.append(reported / np.maximum(found.std(axis=0, ddof=1), 1e-300))
                regimes |= {one.regime for one in results}
            mean = np.exp(np.mean(np.log(np.maximum(ratios, 1e-300)), axis=0))
            cells = [f"{runs:,}", *(f"{ratio:.2f}" for ratio in mean), ", ".join(sorted(regimes))]
            print(f"| {' | '.join([case.name, *cells])} |", flush=True)


def contributions(data_sets: int, repetitions: int) -> None:
    print("| model | input | share, reference | share, ours | off by | doubled, reference | ours | off by |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in (queue_case(10, 500), queue_case(10, 100), TABLE[4], FRESH[0]):
        for seed in range(data_sets):
            data = case.data(5000 + seed)
            total = reference(case, data, seed).variance
            results = [ours(case, data, 5_000, r) for r in range(repetitions)]
            for name, values in data.items():
                alone = reference(case, data, seed, sizes={name: len(values)}).variance / total
                sizes = {other: len(rows) * (2 if other == name else 1) for other, rows in data.items()}
                after = np.sqrt(reference(case, data, seed, sizes=sizes).variance / total)
                shares = np.array([result.contributions[name] for result in results])
                doubled = np.array([result.more_data(**{name: 2}).ratio for result in results])
                cells = [f"{alone:.3f}", f"{shares.mean():.3f}", f"{_rms(shares - alone):.3f}", f"{after:.3f}"]
                cells += [f"{doubled.mean():.3f}", f"{_rms(doubled - after):.3f}"]
                print(f"| {' | '.join([case.name, name, *cells])} |", flush=True)


def _rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def long(data_sets: int, repetitions: int) -> None:
    print("| model | runs | two-layer, best split | ours | ratio | regime |")
    print("| --- | --- | --- | --- | --- | --- |")
    for n in (100, 500):
        case = queue_case(1000, n)
        for seed in range(data_sets):
            data = case.data(6000 + seed)
            truth = reference(case, data, seed, resamples=4_000, runs=25).variance
            runs = 2_000
            best = np.inf
            for inner in (2, 4, 10):
                found = [
                    two_layer(case, data, runs, inner, np.random.default_rng([r, inner])) for r in range(repetitions)
                ]
                best = min(best, _rms(np.array(found) / truth - 1))
            results = [ours(case, data, runs, r) for r in range(repetitions)]
            mine = _rms(np.array([result.input_error**2 for result in results]) / truth - 1)
            regimes = ", ".join(sorted({result.regime for result in results}))
            print(f"| {case.name} | {runs:,} | {best:.3f} | {mine:.3f} | {mine / best:.2f} | {regimes} |", flush=True)


STUDIES: dict[str, Callable[[int, int], None]] = {
    "table": table,
    "fresh": fresh,
    "coverage": coverage,
    "errors": errors,
    "contributions": contributions,
    "long": long,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", nargs="*", choices=[*STUDIES, []], default=["table"])
    parser.add_argument("--data-sets", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=20)
    options = parser.parse_args()
    for name in options.study or ["table"]:
        STUDIES[name](options.data_sets, options.repetitions)


if __name__ == "__main__":
    main()

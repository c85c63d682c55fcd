"""Print how often 95% intervals of a correlation hold the truth: BCa beside the normal interval on Fisher's z.

    python -m benchmarks.correlation_intervals [--rows 300 1000] [--data-sets 300] [--first-seed 0] [--laws NAME ...]

Both intervals are of the same 2000 replicates, so that their coverages are compared in pairs.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import orthoboot as ob
from orthoboot.intervals.normal import NaturalNormal

TAILS = (0.025, 0.975)


class Law(NamedTuple):
    """A distribution of pairs, and its correlation; None to find it from twenty million pairs."""

    draw: Callable[[np.random.Generator, int], np.ndarray]
    correlation: float | None

    @property
    def truth(self) -> float:
        """Return the correlation."""
        if self.correlation is not None:
            return self.correlation
        rng = np.random.default_rng(1)
        return float(np.mean([np.corrcoef(self.draw(rng, 10**6).T)[0, 1] for _ in range(20)]))


def _normal(rho: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=n)


def _lognormal(rho: float) -> Law:
    return Law(lambda rng, n: np.exp(_normal(rho)(rng, n)), float((np.exp(rho) - 1) / (np.e - 1)))


def _shared(shape: float, own: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Return sums of a gamma variable that both columns share, and of one of their own."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        common, first, second = rng.gamma(shape, size=(3, n))
        return np.column_stack([common + first, common + own * second])

    return draw


def _scaled(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.standard_normal(n)
    return np.column_stack([x, x + np.abs(x) * rng.standard_normal(n)])


def _curved(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.uniform(size=n)
    return np.column_stack([x, x**2 + 0.2 * rng.standard_normal(n)])


def _binary(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.random(n) < 0.3
    return np.column_stack([x, np.where(rng.random(n) < 0.6, x, rng.random(n) < 0.3)]).astype(float)


def _with_outliers(rng: np.random.Generator, n: int) -> np.ndarray:
    pairs = _normal(0.8)(rng, n)
    pairs[rng.random(n) < 0.05] *= 5
    return pairs


LAWS = {
    "normal, .5": Law(_normal(0.5), 0.5),
    "normal, .9": Law(_normal(0.9), 0.9),
    "lognormal, .5": _lognormal(0.5),
    "lognormal, .9": _lognormal(0.9),
    "t with 4 degrees, .5": Law(
        lambda rng, n: _normal(0.5)(rng, n) / np.sqrt(rng.chisquare(4, n) / 4)[:, np.newaxis], 0.5
    ),
    "exponential": Law(_shared(1.0, 1.0), 0.5),
    "gamma": Law(_shared(0.5, 0.3), None),
    "heteroscedastic": Law(_scaled, 2**-0.5),
    "curved": Law(_curved, None),
    "binary": Law(_binary, 0.6),
    "outliers": Law(_with_outliers, 0.8),
}


def covered(law: Law, n: int, seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """Return which intervals hold the truth, BCa and Fisher's z, shape ``(data sets, 2)``, and their widths."""
    ends = []
    truth = law.truth
    for seed in seeds:
        result = ob.bootstrap(
            law.draw(np.random.default_rng([seed, n, 91]), n),
            ob.correlation,
            rng=seed,
            n_resamples=2000,
            method="normal",
        )
        fisher = NaturalNormal().ends(result._estimation, TAILS)
        ends.append([result.interval(method="bca"), (float(fisher.low[0]), float(fisher.high[0]))])
    low, high = np.moveaxis(np.array(ends, dtype=float), -1, 0)
    return (low <= truth) & (truth <= high), high - low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[300, 1000])
    parser.add_argument("--data-sets", type=int, default=300)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--laws", nargs="*", default=[""])
    options = parser.parse_args()
    warnings.simplefilter("ignore", ob.errors.OrthobootWarning)
    print("| pairs | n | BCa | on Fisher's z | difference | width over BCa's |")
    print("| --- " * 6 + "|", flush=True)
    seeds = range(options.first_seed, options.first_seed + options.data_sets)
    for name, law in LAWS.items():
        if not any(part in name for part in options.laws):
            continue
        for n in options.rows:
            holds, widths = covered(law, n, seeds)
            difference = holds[:, 1].astype(float) - holds[:, 0]
            error, width = difference.std() / np.sqrt(len(difference)), np.median(widths[:, 1] / widths[:, 0])
            shares = " | ".join(f"{share:.3f}" for share in holds.mean(axis=0))
            print(f"| {name} | {n} | {shares} | {difference.mean():+.3f} ± {error:.3f} | {width:.2f} |", flush=True)


if __name__ == "__main__":
    main()

"""Print how near ten refits come with a control beyond the linear part.

Five tables: the relative RMSE of the variance against the bootstrap's own; that of the bias in standard errors, and how
honest the reported simulation errors are; the ends of percentile and BCa intervals beside those of 2000 plain refits;
what wrong surrogates do; and the time of ten refits with a surrogate beside that of 2000 refits.

    python -m benchmarks.surrogates [--data-sets 8] [--first-seed 100] [--tables variance errors ends wrong time]
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from benchmarks.cases import exponential_pair, heteroscedastic, lognormal_pair

import orthoboot as ob
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.result import Result

SIZES = (5, 10, 25)
ERROR_SIZES = (10, 20)
N_PLAIN = 8000
"""Plain replicates, of which 2000 at a time are the standard bootstrap."""
SMALL = 20
"""Small bootstraps of each size that a run gives at most."""


@dataclass(frozen=True)
class Case:
    """A data generator, a statistic, its control, and how many replicates tell the truth."""

    name: str
    generate: Callable[[np.random.Generator], Any]
    statistic: Any
    control: str
    paired: bool = False
    n_truth: int = 20_000
    goal: str = ""


def exponential(n: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.exponential(size=n)


def logistic(n: int, d: int, size: float = 1.0) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    def generate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.standard_normal((n, d))
        return X, (rng.random(n) < 1 / (1 + np.exp(-size * X.sum(axis=1) / np.sqrt(d)))).astype(float)

    return generate


def counts(n: int, d: int) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    def generate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.standard_normal((n, d))
        return X, rng.poisson(np.exp(0.5 + X.sum(axis=1) / (2 * np.sqrt(d)))).astype(float)

    return generate


def returns(n: int, n_assets: int) -> Callable[[np.random.Generator], np.ndarray]:
    covariance = 0.04 * (np.diag(np.linspace(0.5, 1.5, n_assets)) + 0.3)
    return lambda rng: rng.multivariate_normal(np.zeros(n_assets), covariance, size=n)


def portfolio(n_assets: int, output: str = "value") -> Any:
    """Return the smallest variance of a portfolio without short sales, or its shares."""

    def variance(x: Any, xi: Any) -> Any:
        mean, second = xi[:n_assets], xi[n_assets:].reshape(n_assets, n_assets)
        return x @ second @ x - (mean @ x) ** 2

    def moments(rows: np.ndarray) -> np.ndarray:
        products = rows[:, :, np.newaxis] * rows[:, np.newaxis, :]
        return np.hstack([rows, products.reshape(len(rows), -1)])

    return ob.minimize(
        variance,
        np.full(n_assets, 1 / n_assets),
        equality=lambda x, xi: x.sum() - 1,
        inequality=lambda x, xi: -x,
        parameters=moments,
        output=output,
        library="jax",
    )


def convex_portfolio(n_assets: int) -> Any:
    """Return the same shares by cvxpy."""
    import cvxpy as cp

    factor, shares = cp.Parameter((n_assets, n_assets)), cp.Variable(n_assets)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(factor @ shares)), [cp.sum(shares) == 1, shares >= 0])
    return ob.from_cvxpy(problem, {factor: ob.covariance_factor}, shares)


def least_squares() -> Any:
    """Return the coefficients of least squares as a model that is refitted; the tables are of the first one."""
    from sklearn.linear_model import LinearRegression

    return ob.from_sklearn(LinearRegression(fit_intercept=False), target="coef_")


def own_logistic(d: int) -> Any:
    """Return a logistic regression as a user writes it, as a loss in jax."""
    from jax.nn import softplus

    return ob.m_estimator(lambda theta, X, y: softplus(X @ theta) - y * (X @ theta), init=d)


class RobustRegression:
    """The coefficients of statsmodels' RLM, which is made for its data; the tables are of the first one."""

    def __init__(self, norm: str) -> None:
        self.norm = norm

    def __call__(self, X: np.ndarray, y: np.ndarray) -> Any:
        """Return the model of the data."""
        import statsmodels.api as sm

        model = sm.RLM(y, X, M=getattr(sm.robust.norms, self.norm)())
        return ob.from_statsmodels(model.fit(maxiter=2000, tol=1e-12))


def outliers(n: int, d: int, *, skewed: bool = False) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    """Return a generator of a regression with t errors of three degrees of freedom, or with skewed ones."""

    def generate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = np.column_stack([np.ones(n), rng.standard_normal((n, d - 1))])
        errors = rng.exponential(size=n) ** 1.5 if skewed else rng.standard_t(3, size=n)
        return X, X.sum(axis=1) + errors

    return generate


def cases() -> list[Case]:
    """Return the cases; models are made here, since scikit-learn, statsmodels and jax are optional."""
    fits = {"control": "surrogate", "paired": True}
    return [
        Case("correlation of lognormal, n=200", lognormal_pair(200), ob.correlation, "quadratic", goal=".21/.15/.10"),
        Case("correlation of lognormal, n=1000", lognormal_pair(1000), ob.correlation, "quadratic", goal=".07/.06/.04"),
        Case("ratio of exponentials, n=50", exponential_pair(50), ob.ratio, "quadratic", goal=".06/.05/.04"),
        Case("skewness of exponential, n=200", exponential(200), ob.skewness, "quadratic", goal=".16/.12/.09"),
        Case("OLS, n=30, d=10", heteroscedastic(30, 10), least_squares(), **fits, goal=".04"),
        Case("OLS, n=1000, d=10", heteroscedastic(1000, 10), least_squares(), **fits, goal=".02"),
        Case("logistic, n=200, d=5", logistic(200, 5), ob.logistic_regression, **fits, goal=".02"),
        Case("Poisson, n=200, d=5", counts(200, 5), ob.glm("poisson"), **fits, goal=".02"),
        Case("own logistic, n=100, d=5", logistic(100, 5), own_logistic(5), **fits, n_truth=5000),
        Case("RLM, t errors, n=100, d=4", outliers(100, 4), RobustRegression("HuberT"), **fits, n_truth=5000),
        Case(
            "RLM, skewed errors, n=200, d=3",
            outliers(200, 3, skewed=True),
            RobustRegression("HuberT"),
            **fits,
            n_truth=5000,
        ),
        Case("RLM, biweight, n=100, d=4", outliers(100, 4), RobustRegression("TukeyBiweight"), **fits, n_truth=5000),
        Case("RLM, trimmed, n=200, d=3", outliers(200, 3), RobustRegression("TrimmedMean"), "auto", True, 5000),
        Case("portfolio, value", returns(200, 5), portfolio(5), "quadratic", n_truth=3000, goal=".05/.04/.03"),
        Case("portfolio, shares", returns(200, 5), portfolio(5, "solution"), "surrogate", n_truth=3000),
        Case("portfolio by cvxpy, shares", returns(200, 5), convex_portfolio(5), "surrogate", n_truth=3000),
        Case("median, n=200", exponential(200), ob.median, "auto", goal=".36/.32/.20"),
    ]


def near_separated() -> list[Case]:
    """Return a case in which the simulation error is not honest, and must be told."""
    return [
        Case(
            "near-separated logistic, n=100, d=6",
            logistic(100, 6, 4.0),
            ob.logistic_regression,
            "surrogate",
            True,
            4000,
        )
    ]


def run(case: Case, data: Any, n_resamples: int, seed: int, **options: Any) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        statistic = case.statistic(*data) if isinstance(case.statistic, RobustRegression) else case.statistic
        return ob.bootstrap(data, statistic, n_resamples=n_resamples, paired=case.paired, rng=seed, **options)


def parts(result: Result, size: int, estimator: str = "orthogonal") -> Iterator[Result]:
    """Yield the small bootstraps that a run is made of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in range(0, min(len(result.replicates), size * SMALL) - size + 1, size):
            yield result.with_estimator(estimator, slice(start, start + size))


@dataclass(frozen=True)
class Answers:
    """Small bootstraps of one data set, and the truth about it."""

    case: Case
    data: Any
    seed: int
    truth: Result
    linear: list[Result]
    control: list[Result]

    @staticmethod
    def of(case: Case, seed: int, n_runs: int) -> Answers:
        """Return the answers about the data set of a seed."""
        data = case.generate(np.random.default_rng([seed, 14]))
        truth = run(case, data, case.n_truth, 10_000 + seed, estimator="standard")
        seeds = [1000 * seed + number for number in range(n_runs)]
        n_resamples = max(*SIZES, *ERROR_SIZES) * SMALL
        linear = [run(case, data, n_resamples, each, control="linear") for each in seeds]
        control = [_with_control(case, result) for result in linear]
        return Answers(case, data, seed, truth, linear, control)

    @cached_property
    def plain(self) -> Result:
        """Return the plain replicates."""
        return run(self.case, self.data, N_PLAIN, 20_000 + self.seed, estimator="standard")

    @property
    def variance(self) -> float:
        """Return the bootstrap's own variance."""
        values = self.truth.replicates.values[:, 0]
        return float(np.var(values, ddof=1))


def _with_control(case: Case, result: Result) -> Result:
    """Return the same replicates with the control of a case: they need not be simulated again."""
    found = replace(result.run, control_request=case.control, control_is_found=False).with_control()
    return replace(result, run=found)


def variance_errors(answers: Answers) -> dict[tuple[str, int], np.ndarray]:
    """Return ``variance / truth - 1`` for each estimator and size."""
    columns = {
        "standard": (answers.linear, "standard"),
        "paper": (answers.linear, "paper"),
        "linear": (answers.linear, "orthogonal"),
        "control": (answers.control, "orthogonal"),
    }
    return {
        (name, size): np.array(
            [
                first(part.variance) / answers.variance - 1
                for result in results
                for part in parts(result, size, estimator)
            ]
        )
        for name, (results, estimator) in columns.items()
        for size in SIZES
    }


def first(numbers: Any) -> float:
    return float(np.ravel(numbers)[0])


def ends_of(result: Result, method: str) -> np.ndarray:
    """Return both ends of the first output."""
    return np.array([first(end) for end in result.interval(method=method)])


def rms(numbers: Any) -> float:
    return float(np.sqrt(np.mean(np.square(numbers))))


def print_variance(everything: list[list[Answers]]) -> None:
    names = ("standard", "paper", "linear", "control")
    print(f"\nRelative RMSE of the variance, B = {' / '.join(map(str, SIZES))}\n")
    print("| case | standard | paper | linear part | control | asked |")
    print("| --- " * 6 + "|")
    for sets in everything:
        errors = [variance_errors(answers) for answers in sets]
        cells = [
            " / ".join(f"{rms(np.concatenate([each[name, size] for each in errors])):.3f}" for size in SIZES)
            for name in names
        ]
        case = sets[0].case
        print(f"| {case.name} | " + " | ".join(cells) + f" | {case.goal} |", flush=True)


def print_errors(everything: list[list[Answers]]) -> None:
    print("\nBias: RMSE in standard errors. Reported simulation error over true, both averaged over data sets\n")
    print("| case | B | bias, linear | bias, control | reported/true, std. error | reported/true, bias |")
    print("| --- " * 6 + "|")
    for sets in everything:
        for size in ERROR_SIZES:
            rows = np.array([_honesty(answers, size) for answers in sets])
            linear, control = np.sqrt(np.mean(rows[:, :2] ** 2, axis=0))
            of_error, of_bias = rows[:, 2].sum() / rows[:, 3].sum(), rows[:, 4].sum() / rows[:, 5].sum()
            name = sets[0].case.name
            print(f"| {name} | {size} | {linear:.3f} | {control:.3f} | {of_error:.2f} | {of_bias:.2f} |", flush=True)


def _honesty(answers: Answers, size: int) -> tuple[float, ...]:
    """Return the RMSE of the bias by both controls, and reported and true errors of standard error and of bias.

    All in standard errors. True errors are from the bootstrap's own answer, not from the mean of seeds: a bias of the
    estimator counts. Runs have draws of their own, small bootstraps of one run share them: hence few of each.
    """
    spread = np.sqrt(answers.variance)
    # The control knows the bias better than the mean of the plain replicates does.
    truth = float(np.mean([first(result.bias) for result in answers.control]))
    of_each = max(60 // len(answers.control), 1)
    linear, control = (
        [part for result in results for part in islice(parts(result, size), of_each)]
        for results in (answers.linear, answers.control)
    )
    biases = [rms([(first(part.bias) - truth) / spread for part in some]) for some in (linear, control)]
    errors = [part.simulation_error for part in control]
    return (
        *biases,
        float(np.mean([first(each.standard_error) for each in errors])) / spread,
        rms([first(part.standard_error) / spread - 1 for part in control]),
        float(np.mean([first(each.bias) for each in errors])) / spread,
        biases[1],
    )


def print_ends(everything: list[list[Answers]]) -> None:
    print("\nEnds from ten refits: RMSE in standard errors, low / high, over that of 2000 plain refits\n")
    print("| case | method | linear | control | 2000 refits | ratio |")
    print("| --- " * 6 + "|")
    for sets in everything:
        if sets[0].case.control != "surrogate":
            continue
        for method in ("percentile", "bca"):
            rows = np.array([_end_errors(answers, method) for answers in sets])
            linear, control, plain = np.sqrt(np.mean(rows**2, axis=0))
            ratio = np.sqrt(np.mean(control**2) / np.mean(plain**2))
            cells = [f"{low:.3f} / {high:.3f}" for low, high in (linear, control, plain)]
            print(f"| {sets[0].case.name} | {method} | " + " | ".join(cells) + f" | {ratio:.2f} |", flush=True)


def _end_errors(answers: Answers, method: str) -> np.ndarray:
    """Return the RMSE of both ends by the linear part, by the control and by 2000 plain refits, shape ``(3, 2)``."""
    spread = np.sqrt(answers.variance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = ends_of(answers.truth, method)
        plain = [
            answers.plain.with_estimator("standard", slice(start, start + 2000)) for start in range(0, N_PLAIN, 2000)
        ]
        kinds = (
            [part for result in answers.linear for part in list(parts(result, 10))[:5]],
            [part for result in answers.control for part in list(parts(result, 10))[:5]],
            plain,
        )
        ends = [np.array([ends_of(part, method) for part in some]) for some in kinds]
    return np.array([np.sqrt(np.mean(((each - truth) / spread) ** 2, axis=0)) for each in ends])


WRONG: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "right": lambda s, rng: s,
    "times 3": lambda s, rng: 3 * s,
    "times 0.3": lambda s, rng: 0.3 * s,
    "noise times 20": lambda s, rng: 20 * rng.standard_normal() * np.ones_like(s),
    "1% explosions": lambda s, rng: np.where(rng.random() < 0.01, 50.0, s),
    "0.1% explosions": lambda s, rng: np.where(rng.random() < 0.001, 200.0, s),
}
"""What is done to the change of a surrogate in standard errors, by its name."""


class WrongSurrogate(Surrogate):
    """A surrogate that something is done to, as a function of the resample alone."""

    def __init__(self, of: Any, estimate: np.ndarray, spread: np.ndarray, name: str) -> None:
        self.of, self.estimate, self.spread, self.name = of, estimate, spread, name

    def values(self, resamples: Any) -> np.ndarray:
        """Return the wrong values, shape ``(B, k)``."""
        changes = (self.of.values(resamples) - self.estimate) / self.spread
        seeds = resamples.seeds(7)
        wrong = [WRONG[self.name](row, np.random.default_rng(seed)) for row, seed in zip(changes, seeds, strict=True)]
        return self.estimate + self.spread * np.array(wrong)

    def values_at(self, weights: Any) -> np.ndarray:
        """Raise: a wrong value needs the number of its resample."""
        raise NotImplementedError

    @property
    def work(self) -> float:
        """Return the work of the right one."""
        return float(self.of.work)


def _misled(case: Case, result: Result, name: str) -> Result:
    """Return the same replicates with a wrong surrogate."""
    prepared = copy.copy(result.run.prepared)
    spread = np.sqrt(result.run.linear_variance)
    vars(prepared)["surrogate"] = WrongSurrogate(prepared.surrogate, prepared.estimate, spread, name)
    return _with_control(case, replace(result, run=replace(result.run, prepared=prepared)))


def print_wrong(everything: list[list[Answers]]) -> None:
    print("\nWrong surrogates: relative RMSE of the variance over that of the linear part, B = 10 / 20 / 25\n")
    print("| case | surrogate | linear | control | ratio |")
    print("| --- " * 5 + "|")
    sizes = (10, 20, 25)
    for sets in everything:
        if sets[0].case.control != "surrogate":
            continue
        linear = [_rms_of(sets, [answers.linear for answers in sets], size) for size in sizes]
        for name in WRONG:
            misled = [[_misled(answers.case, each, name) for each in answers.linear] for answers in sets]
            control = [_rms_of(sets, misled, size) for size in sizes]
            cells = [" / ".join(f"{each:.3f}" for each in some) for some in (linear, control)]
            ratios = " / ".join(f"{new / old:.2f}" for old, new in zip(linear, control, strict=True))
            print(f"| {sets[0].case.name} | {name} | " + " | ".join(cells) + f" | {ratios} |", flush=True)


def _rms_of(sets: list[Answers], results: list[list[Result]], size: int) -> float:
    return rms(
        [
            first(part.variance) / answers.variance - 1
            for answers, runs in zip(sets, results, strict=True)
            for result in runs
            for part in parts(result, size)
        ]
    )


def print_time() -> None:
    """Print the time of scikit-learn's logistic regression on 5,000 x 20 end to end, in one run."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 20))
    y = (rng.random(5000) < 1 / (1 + np.exp(-X[:, :5].sum(axis=1) / 2))).astype(float)
    model = ob.from_sklearn(LogisticRegression(), target="coef_")
    calls = {
        "default, ten refits": {"method": "bca"},
        "2000 draws of the surrogate": {"method": "bca", "control": "surrogate"},
        "2000 refits": {"method": "bca", "estimator": "standard", "n_resamples": 2000},
    }
    seconds, found = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ob.bootstrap((X[:500], y[:500]), model, paired=True, rng=0)  # loads what is loaded once
        for name, options in calls.items():
            start = time.perf_counter()
            found[name] = ob.bootstrap((X, y), model, paired=True, rng=1, **options)
            seconds[name] = time.perf_counter() - start
    print("\nLogisticRegression, 5,000 x 20: seconds, and the error of the BCa ends in standard errors\n")
    print("| call | seconds | times faster | difference from 2000 refits |")
    print("| --- " * 4 + "|")
    plain, slowest = found["2000 refits"], seconds["2000 refits"]
    for name, result in found.items():
        ends = np.array(result.confidence_interval) - np.array(plain.confidence_interval)
        difference = rms(ends / np.ravel(plain.standard_error))
        print(f"| {name} | {seconds[name]:.2f} | {slowest / seconds[name]:.1f} | {difference:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=8)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--tables", nargs="*", default=["variance", "errors", "ends", "wrong", "time"])
    parser.add_argument("--cases", nargs="*", default=[""])
    options = parser.parse_args()
    chosen = [case for case in cases() if any(part in case.name for part in options.cases)]
    seeds = range(options.first_seed, options.first_seed + options.data_sets)
    if "time" in options.tables:
        print_time()
    everything = [[Answers.of(case, seed, options.runs) for seed in seeds] for case in chosen]
    tables = {"variance": print_variance, "errors": print_errors, "ends": print_ends, "wrong": print_wrong}
    for name in options.tables:
        if name != "time":
            tables[name](everything)


if __name__ == "__main__":
    main()

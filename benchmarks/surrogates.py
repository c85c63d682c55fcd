"""Print how near ten refits come with a control beyond the linear part.

Five tables: the relative RMSE of the variance against the bootstrap's own; that of the bias in standard errors, and how
honest the reported simulation errors are; the ends of percentile and BCa intervals beside those of 2000 plain refits;
what wrong surrogates do; and the time of ten refits with a surrogate beside that of 2000 refits.

    python -m benchmarks.surrogates [--tables variance errors ends wrong time] [--cases NAME ...] [--data-sets 8]
        [--first-seed 100] [--runs N] [--folder FOLDER]

A line is printed as soon as its data sets are done. What was found for a data set is kept in the folder, if one is
given, and not computed again.
"""

from __future__ import annotations

import argparse
import copy
import pathlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from benchmarks.kept import kept
from benchmarks.surrogate_cases import Case, cases

import orthoboot as ob
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.result import Result

SIZES = (5, 10, 25)
ERROR_SIZES = (10, 20)
WRONG_SIZES = (10, 20, 25)
PLAIN = 2000
"""Replicates of a standard bootstrap."""
MOST_PLAIN = 20
"""Standard bootstraps of a data set at most."""
METHODS = ("percentile", "bca")


def run(case: Case, data: Any, n_resamples: int, seed: int, statistic: Any = None, **options: Any) -> Result:
    """Return a run whose interval costs nothing: small bootstraps of it would else each make their own by default."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        statistic = case.statistic_of(data) if statistic is None else statistic
        return ob.bootstrap(
            data, statistic, n_resamples=n_resamples, paired=case.paired, rng=seed, method="normal", **options
        )


def parts(result: Result, size: int, estimator: str = "orthogonal", most: int | None = None) -> Iterator[Result]:
    """Yield the small bootstraps that a run is made of, at most so many."""
    n_parts = len(result.replicates) // size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(n_parts if most is None else min(most, n_parts)):
            yield result.with_estimator(estimator, slice(number * size, (number + 1) * size))


@dataclass(frozen=True)
class Answers:
    """Small bootstraps of one data set, and the truth about it.

    Attributes
    ----------
    truth
        Very many replicates beside their linear part, whose variance is exact.
    linear, control
        Runs with the linear part and with the case's control, of the same replicates. None of the latter where the
        control is refused.
    n_small
        Small bootstraps of each size that a run gives.
    """

    case: Case
    data: Any
    seed: int
    truth: Result
    linear: list[Result]
    control: list[Result]
    n_small: int

    @staticmethod
    def of(case: Case, seed: int, n_runs: int, n_small: int) -> Answers:
        """Return the answers about the data set of a seed."""
        data = case.generate(np.random.default_rng([seed, 14]))
        truth = run(case, data, case.n_truth, 10_000 + seed, case.batched, control="linear")
        n_resamples = max(*SIZES, *ERROR_SIZES, *WRONG_SIZES) * n_small
        seeds = [1000 * seed + number for number in range(n_runs)]
        linear = [run(case, data, n_resamples, each, control="linear") for each in seeds]
        return Answers(case, data, seed, truth, linear, _with_control(case, linear), n_small)

    def small(self, results: list[Result], size: int, estimator: str = "orthogonal") -> list[Result]:
        """Return the small bootstraps of a size of some runs."""
        return [part for result in results for part in parts(result, size, estimator, self.n_small)]

    @cached_property
    def plain(self) -> list[Result]:
        """Return standard bootstraps."""
        n_resamples = min(MOST_PLAIN, 2 * self.case.n_truth // PLAIN) * PLAIN
        result = run(self.case, self.data, n_resamples, 20_000 + self.seed, self.case.batched, estimator="standard")
        return list(parts(result, PLAIN, "standard"))

    @property
    def variance(self) -> float:
        """Return the bootstrap's own variance."""
        return first(self.truth.variance)

    def mean_square(self, results: list[Result], size: int, estimator: str = "orthogonal") -> float:
        """Return the mean square of ``variance / truth - 1`` over the small bootstraps of a size."""
        variances = [first(part.variance) for part in self.small(results, size, estimator)]
        return mean_square(np.array(variances) / self.variance - 1)


def _with_control(case: Case, results: list[Result]) -> list[Result]:
    """Return the same replicates with the control of a case, and none where it is refused."""
    try:
        return [_controlled(case, result) for result in results]
    except ob.errors.ArgumentError:
        return []


def _controlled(case: Case, result: Result) -> Result:
    """Return the same replicates with the control of a case: they need not be simulated again."""
    found = replace(result.run, control_request=case.control, control_is_found=False).with_control()
    return replace(result, run=found)


def first(numbers: Any) -> float:
    return float(np.ravel(numbers)[0])


def mean_square(numbers: Any, axis: int | None = None) -> Any:
    return np.mean(np.square(numbers), axis=axis)


def _slashed(numbers: Any, form: str = ".3f") -> str:
    return " / ".join(format(number, form) for number in np.ravel(numbers))


# The variance


def variance_found(answers: Answers) -> np.ndarray:
    """Return the mean squares of the relative errors of the variance, ``(columns, sizes)``."""
    columns = (
        (answers.linear, "standard"),
        (answers.linear, "paper"),
        (answers.linear, "orthogonal"),
        (answers.control, "orthogonal"),
    )
    return np.array(
        [[answers.mean_square(results, size, estimator) for size in SIZES] for results, estimator in columns]
    )


def variance_lines(case: Case, found: np.ndarray) -> Iterator[str]:
    """Yield the line of a case; the median data set shows what a few wild ones do to the mean."""
    cells = [_slashed(each) for each in np.sqrt(found.mean(axis=0))]
    typical = _slashed(np.sqrt(np.median(found[:, -1], axis=0)))
    yield f"| {case.name} | " + " | ".join(cells) + f" | {typical} | {case.goal} |"


# The errors


def errors_found(answers: Answers) -> np.ndarray:
    """Return for each size what `_honesty` does, ``(sizes, 7)``; NaN where the control is refused."""
    if not answers.control:
        return np.full((len(ERROR_SIZES), 7), np.nan)
    return np.array([_honesty(answers, size) for size in ERROR_SIZES])


def _honesty(answers: Answers, size: int) -> tuple[float, ...]:
    """Return the mean square error of the bias by both controls; reported and true errors; the share that warns.

    All in standard errors. Reported ones are means, of the standard error and of the bias; the true one of the standard
    error is a mean square. True errors are from the bootstrap's own answer, not from the mean of seeds: a bias of the
    estimator counts. Runs have draws of their own, small bootstraps of one run share them: hence few of each.
    """
    spread = np.sqrt(answers.variance)
    truth = first(answers.truth.bias)
    linear, control = (answers.small(results, size) for results in (answers.linear, answers.control))
    biases = [mean_square([(first(part.bias) - truth) / spread for part in some]) for some in (linear, control)]
    errors = [part.simulation_error for part in control]
    return (
        *biases,
        float(np.mean([first(each.standard_error) for each in errors])) / spread,
        mean_square([first(part.standard_error) / spread - 1 for part in control]),
        float(np.mean([first(each.bias) for each in errors])) / spread,
        biases[1],
        float(np.mean([len(part.warnings) > 0 for part in control])),
    )


def errors_lines(case: Case, found: np.ndarray) -> Iterator[str]:
    """Yield a line for each size."""
    used = found[~np.isnan(found).any(axis=(1, 2))]
    refused = f", refused in {len(found) - len(used)} of {len(found)}" if len(used) < len(found) else ""
    for number, size in enumerate(ERROR_SIZES):
        of_linear, of_control, error, true_error, bias, true_bias, warned = used[:, number].T
        ratios = error / np.sqrt(true_error)
        cells = (
            *(f"{np.sqrt(each.mean()):.4f}" for each in (of_linear, of_control)),
            f"{error.sum() / np.sqrt(true_error).sum():.2f}",
            f"{ratios.min():.2f} to {ratios.max():.2f}",
            f"{bias.sum() / np.sqrt(true_bias).sum():.2f}",
            f"{warned.mean():.0%}{refused}",
        )
        yield f"| {case.name} | {size} | " + " | ".join(cells) + " |"


# The ends


def ends_found(answers: Answers) -> np.ndarray:
    """Return mean squares of the errors of both ends, ``(methods, 3, 2)``: linear part, control, 2000 plain refits."""
    whole = answers.truth.with_estimator("standard")
    kinds = (answers.small(answers.linear, 10), answers.small(answers.control, 10), answers.plain)
    spread = np.sqrt(answers.variance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([[_end_errors(whole, some, method) / spread**2 for some in kinds] for method in METHODS])


def _end_errors(whole: Result, some: Sequence[Result], method: str) -> np.ndarray:
    """Return the mean squares of the distance of both ends from those of very many replicates."""
    truth = _ends_of(whole, method)
    return np.asarray(mean_square([_ends_of(part, method) - truth for part in some], axis=0))


def _ends_of(result: Result, method: str) -> np.ndarray:
    """Return both ends of the first output."""
    return np.array([first(end) for end in result.interval(method=method)])


def ends_lines(case: Case, found: np.ndarray) -> Iterator[str]:
    """Yield a line for each method, with the ratio's standard error over data sets."""
    for number, method in enumerate(METHODS):
        squares = found[:, number]
        cells = [_slashed(each) for each in np.sqrt(squares.mean(axis=0))]
        ratio, error = _ratio_with_error(*squares[:, 1:].mean(axis=2).T)
        yield f"| {case.name} | {method} | " + " | ".join(cells) + f" | {ratio:.2f} ± {error:.2f} |"


def _ratio_with_error(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """Return the root of the ratio of two means over data sets, and its standard error by the jackknife."""
    n = len(above)
    ratio = np.sqrt(above.mean() / below.mean())
    if n < 2:
        return float(ratio), float("nan")
    without = np.sqrt((above.sum() - above) / (below.sum() - below))
    return float(ratio), float(np.sqrt((n - 1) * np.var(without)))


# Wrong surrogates


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
    return _controlled(case, replace(result, run=replace(result.run, prepared=prepared)))


def wrong_found(answers: Answers) -> np.ndarray:
    """Return mean squares of the relative errors of the variance, ``(1 + wrong, sizes)``, the linear part first."""
    misled = [[_misled(answers.case, each, name) for each in answers.linear] for name in WRONG]
    return np.array(
        [[answers.mean_square(results, size) for size in WRONG_SIZES] for results in (answers.linear, *misled)]
    )


def wrong_lines(case: Case, found: np.ndarray) -> Iterator[str]:
    """Yield a line for each wrong surrogate, with the standard errors of its ratios over data sets."""
    for number, name in enumerate(WRONG, start=1):
        linear, control = found[:, 0], found[:, number]
        ratios = [_ratio_with_error(*each) for each in zip(control.T, linear.T, strict=True)]
        cells = [_slashed(np.sqrt(each.mean(axis=0))) for each in (linear, control)]
        shown = " / ".join(f"{ratio:.2f} ± {error:.2f}" for ratio, error in ratios)
        yield f"| {case.name} | {name} | " + " | ".join(cells) + f" | {shown} |"


# The time


def print_time() -> None:
    """Print the time of scikit-learn's logistic regression on 5,000 x 20 end to end, in one run."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 20))
    y = (rng.random(5000) < 1 / (1 + np.exp(-X[:, :5].sum(axis=1) / 2))).astype(float)
    model = ob.from_sklearn(LogisticRegression(), target="coef_")
    calls = {
        "default, ten refits": {"method": "bca"},
        'control="surrogate"': {"method": "bca", "control": "surrogate"},
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
        difference = np.sqrt(mean_square(ends / np.ravel(plain.standard_error)))
        print(f"| {name} | {seconds[name]:.2f} | {slowest / seconds[name]:.1f} | {difference:.3f} |", flush=True)


# All of them


@dataclass(frozen=True)
class Table:
    """What is found for a data set, the lines of a case, and of how many runs and small bootstraps.

    Attributes
    ----------
    only
        The control of the cases that have a line; empty for all.
    """

    title: str
    columns: str
    found: Callable[[Answers], np.ndarray]
    lines: Callable[[Case, np.ndarray], Iterator[str]]
    n_runs: int
    n_small: int
    only: str = ""

    def print_head(self) -> None:
        """Print the title and the names of the columns."""
        print(f"\n{self.title}\n\n{self.columns}")
        print("| --- " * (self.columns.count("|") - 1) + "|", flush=True)


TABLES = {
    "variance": Table(
        f"Relative RMSE of the variance, B = {_slashed(SIZES, 'd')}",
        "| case | standard | paper | linear part | control | median data set | asked |",
        variance_found,
        variance_lines,
        n_runs=4,
        n_small=20,
    ),
    "errors": Table(
        "Bias: RMSE in standard errors. Reported simulation error over true, both averaged over data sets",
        "| case | B | bias, linear | bias, control | reported/true, s.e. | data sets | reported/true, bias | warn |",
        errors_found,
        errors_lines,
        n_runs=40,
        n_small=2,
    ),
    "ends": Table(
        "Ends from ten refits: RMSE in standard errors, low / high, over that of 2000 plain refits",
        "| case | method | linear | control | 2000 refits | ratio |",
        ends_found,
        ends_lines,
        n_runs=10,
        n_small=2,
        only="surrogate",
    ),
    "wrong": Table(
        f"Wrong surrogates: relative RMSE of the variance over the linear part's, B = {_slashed(WRONG_SIZES, 'd')}",
        "| case | surrogate | linear | control | ratio |",
        wrong_found,
        wrong_lines,
        n_runs=4,
        n_small=20,
        only="surrogate",
    ),
}


def found_for(name: str, case: Case, seed: int, n_runs: int, folder: pathlib.Path | None) -> np.ndarray:
    """Return what a table has for the data set of a seed, from the folder where it is kept."""
    table = TABLES[name]
    return kept(
        f"{name}-{case.name}-{n_runs}-{seed}",
        folder,
        lambda: table.found(Answers.of(case, seed, n_runs, table.n_small)),
    )


def print_table(name: str, chosen: list[Case], seeds: range, runs: int | None, folder: pathlib.Path | None) -> None:
    """Print a table, a case as soon as it is done."""
    table = TABLES[name]
    table.print_head()
    for case in chosen:
        if table.only in case.control:
            found = [found_for(name, case, seed, runs or table.n_runs, folder) for seed in seeds]
            for line in table.lines(case, np.array(found)):
                print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=8)
    parser.add_argument("--runs", type=int, help="runs of a data set, each with draws of its own")
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--tables", nargs="*", choices=[*TABLES, "time"], default=[*TABLES, "time"])
    parser.add_argument("--cases", nargs="*", default=[""])
    options = parser.parse_args()
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases() if any(part in case.name for part in options.cases)]
    seeds = range(options.first_seed, options.first_seed + options.data_sets)
    for name in options.tables:
        if name == "time":
            print_time()
        else:
            print_table(name, chosen, seeds, options.runs, options.folder)


if __name__ == "__main__":
    main()

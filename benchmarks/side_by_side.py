"""Print what the same calls cost in two source trees, timed in turn in one run.

    python -m benchmarks.side_by_side OLD_SRC NEW_SRC [--rounds 7] [--clock wall] [--only PATTERN]

Each tree, named by its folder `src`, has a process of its own that lives as long as the run, with that folder first on
its path. Calls alternate between the two, so that whatever else the machine does slows both; the ratio is the median
over pairs of neighbouring calls, with its quartiles beside it. On a busy machine ``--clock processor`` is steadier: it
leaves out the time that a process waits for its turn, and counts that of all its threads.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Self

REPOSITORY = pathlib.Path(__file__).parents[1]

SECONDS_PER_ROUND = 0.3
"""Calls that are shorter are paired several times in a round."""

# What both trees are asked for in so many words: defaults may differ between them.
TEN = {"n_resamples": 10, "method": "normal", "rng": 0, "control": "linear"}
HUNDRED = {"n_resamples": 100, "estimator": "standard", "method": "normal", "rng": 0}

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}

Call = Callable[[], object]


def known(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that a tree knows: an older one has no controls beyond the linear part."""
    import orthoboot as ob

    parameters = inspect.signature(ob.bootstrap).parameters
    return {name: value for name, value in options.items() if name in parameters}


# The calls, each made in the process of a tree: data first, then what is timed


def variance(n_rows: int, n_resamples: int = 10) -> Call:
    import numpy as np

    import orthoboot as ob

    x = np.random.default_rng(0).exponential(size=n_rows)
    return lambda: ob.bootstrap(x, ob.variance, **known(TEN | {"n_resamples": n_resamples}))


def correlation(n_rows: int) -> Call:
    import numpy as np

    import orthoboot as ob

    x = np.random.default_rng(0).exponential(size=(n_rows, 2)) @ [[1.0, 1.0], [0.0, 1.0]]
    return lambda: ob.bootstrap(x, ob.correlation, tol=0.022, rng=0)


def least_squares(options: dict[str, Any]) -> Call:
    import numpy as np

    import orthoboot as ob

    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(5_000, 50))
    y = X.sum(axis=1) + 10 * rng.normal(size=5_000)
    return lambda: ob.bootstrap((X, y), ob.linear_regression, paired=True, **options)


def plain_function() -> Call:
    import numpy as np

    import orthoboot as ob

    x = np.random.default_rng(0).exponential(size=1_000)
    return lambda: ob.bootstrap(x, lambda x: np.std(x) / np.mean(x), **known(TEN))


def pipeline() -> Call:
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import orthoboot as ob

    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 10)) * np.arange(1, 11)
    y = (rng.random(2_000) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    return lambda: ob.bootstrap((X, y), ob.from_sklearn(estimator), paired=True, **known(TEN))


def m_estimator(*, anew: bool) -> Call:
    import jax.numpy as jnp
    import numpy as np

    import orthoboot as ob

    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 5))
    y = (rng.random(2_000) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)

    def loss(theta: Any, X: Any, y: Any) -> Any:
        return jnp.logaddexp(0.0, X @ theta) - y * (X @ theta)

    kept = ob.m_estimator(loss, init=5)
    return lambda: ob.bootstrap((X, y), ob.m_estimator(loss, init=5) if anew else kept, paired=True, **known(TEN))


def grouped_correlation() -> Call:
    import numpy as np

    import orthoboot as ob

    rng = np.random.default_rng(0)
    x = rng.exponential(size=(20_000, 2)) @ [[1.0, 1.0], [0.0, 1.0]]
    groups = rng.integers(0, 500, size=20_000)
    return lambda: ob.bootstrap(x, ob.correlation, groups=groups, **known(TEN))


CALLS: dict[str, Callable[[], Call]] = {
    "variance, n = 1,000, B = 10": lambda: variance(1_000),
    "variance, n = 100,000, B = 10": lambda: variance(100_000),
    "variance, n = 1,000,000, B = 10": lambda: variance(1_000_000),
    "variance, n = 1,000, B = 10,000": lambda: variance(1_000, 10_000),
    "correlation, n = 1,000,000, tol = 0.022": lambda: correlation(1_000_000),
    "linear_regression, 5,000 x 50, B = 10": lambda: least_squares(known(TEN)),
    "linear_regression, 5,000 x 50, standard, B = 100": lambda: least_squares(HUNDRED),
    "plain function, n = 1,000, jackknife influence": plain_function,
    "from_sklearn, scaled LogisticRegression, n = 2,000": pipeline,
    "m_estimator in jax, n = 2,000": lambda: m_estimator(anew=False),
    "m_estimator in jax, n = 2,000, written anew each time": lambda: m_estimator(anew=True),
    "correlation, n = 20,000, 500 groups": grouped_correlation,
}
IMPORT = "import orthoboot, a fresh interpreter"


# The process of a tree


class FailedCallError(RuntimeError):
    """A call raised in its tree."""


class Tree:
    """A source tree and its process, which times one call whenever it is asked to."""

    def __init__(self, source: pathlib.Path, clock: str = "wall") -> None:
        self.clock = clock
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(source.resolve()), str(REPOSITORY)]),
            # Threads that wait for each other on a busy machine would make the ratio one of luck.
            **dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1"),
        }
        program = [sys.executable, "-P", "-c", "from benchmarks.side_by_side import serve; serve()", clock]
        self.process = subprocess.Popen(
            program, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.library = pathlib.Path(self._answer())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def seconds(self, name: str) -> float:
        """Return what one call costs."""
        if name == IMPORT:
            return self._seconds_of_import()
        print(name, file=self.process.stdin, flush=True)
        answer = self._answer()
        if isinstance(answer, str):
            raise FailedCallError(answer)
        return float(answer)

    def _seconds_of_import(self) -> float:
        clock = CLOCKS[self.clock].__name__
        program = f"from time import {clock} as now; start = now(); import orthoboot; print(now() - start)"
        run = [sys.executable, "-P", "-c", program]
        return float(subprocess.run(run, env=self.environment, capture_output=True, text=True, check=True).stdout)

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the process of a tree ended; its error is above.")
        return json.loads(line)


def serve() -> None:
    """Time the calls whose names come in, one answer a line: where the library is, then seconds, or what was raised."""
    import warnings

    import orthoboot as ob

    warnings.simplefilter("ignore")
    # What a call prints must not come between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps(ob.__file__), file=answers, flush=True)
    clock, made = CLOCKS[sys.argv[1]], cache(lambda name: CALLS[name]())
    for line in sys.stdin:
        print(json.dumps(_timed(clock, made, line.strip())), file=answers, flush=True)


def _timed(clock: Callable[[], float], made: Callable[[str], Call], name: str) -> float | str:
    try:
        call = made(name)
        start = clock()
        call()
        return clock() - start
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# The comparison


@dataclass(frozen=True)
class Pairs:
    """Seconds of neighbouring calls, the old tree's first."""

    name: str
    seconds: list[tuple[float, float]] = field(default_factory=list)

    @property
    def medians(self) -> tuple[float, float]:
        """Return the median seconds of both trees."""
        old, new = zip(*self.seconds, strict=True)
        return statistics.median(old), statistics.median(new)

    @property
    def ratios(self) -> tuple[float, float, float]:
        """Return the quartiles of new over old: lower, median, upper."""
        ratios = [new / old for old, new in self.seconds]
        if len(ratios) == 1:
            return ratios[0], ratios[0], ratios[0]
        lower, middle, upper = statistics.quantiles(ratios, n=4, method="inclusive")
        return lower, middle, upper


def paired(name: str, old: Tree, new: Tree, n_rounds: int) -> Pairs:
    """Return the times of one call in both trees, who is first changing from pair to pair."""
    # What is loaded and compiled once is no part of a call; the second tells how long one is.
    for tree in (old, new):
        tree.seconds(name)
    per_round = max(min(int(SECONDS_PER_ROUND / max(old.seconds(name), 1e-9)), 30), 1)
    found = Pairs(name)
    for number in range(n_rounds * per_round):
        if number % 2:
            second, first = new.seconds(name), old.seconds(name)
        else:
            first, second = old.seconds(name), new.seconds(name)
        found.seconds.append((first, second))
    return found


def measured(
    old: pathlib.Path, new: pathlib.Path, n_rounds: int = 7, clock: str = "wall", pattern: str = "*"
) -> Iterator[Pairs | str]:
    """Yield the times of each call whose name matches `pattern`, or why there are none."""
    for source in (old, new):
        if not (source / "orthoboot").is_dir():
            raise SystemExit(f"{source} must be the folder `src` of a tree; it holds no orthoboot.")
    with ExitStack() as stack:
        trees = [stack.enter_context(Tree(source, clock)) for source in (old, new)]
        for source, tree in zip((old, new), trees, strict=True):
            if source.resolve() not in tree.library.parents:
                raise SystemExit(f"the library of {source} is hidden by that in {tree.library.parent}.")
        for name in [*CALLS, IMPORT]:
            if fnmatchcase(name, pattern):
                try:
                    yield paired(name, *trees, n_rounds)
                except FailedCallError as error:
                    yield f"{name}: {error}"


def row(pairs: Pairs) -> str:
    """Return the line of the table."""
    old, new = pairs.medians
    lower, ratio, upper = pairs.ratios
    times = f"{1e3 * old:.2f} | {1e3 * new:.2f}"
    return f"| {pairs.name} | {times} | {ratio:.3f} | {lower:.3f} to {upper:.3f} | {len(pairs.seconds)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=pathlib.Path, metavar="OLD_SRC")
    parser.add_argument("new", type=pathlib.Path, metavar="NEW_SRC")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="the calls to time, such as 'variance*'")
    options = parser.parse_args()
    print("| call | old, ms | new, ms | new / old | quartiles | pairs |")
    print("| --- | --- | --- | --- | --- | --- |")
    failed = []
    for found in measured(options.old, options.new, options.rounds, options.clock, options.only):
        if isinstance(found, str):
            failed.append(found)
        else:
            print(row(found), flush=True)
    for line in failed:
        print(f"\nnot timed: {line}")


if __name__ == "__main__":
    main()

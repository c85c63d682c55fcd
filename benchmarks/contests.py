"""The works that `benchmarks.peers` times: for each the data, our call, and that of every peer.

Each work says what is fair about it, and what is not. To all of them applies:

- Every call yields a standard error and an interval. The peers give their cheapest interval, the percentiles of the
  replicates. Ours is "percentile" too where there are 200 replicates for it, and "normal" below.
- Ours takes its default number of threads, and so does foostrap: one per core. scipy, arch and resample have one, and
  BLAS has one for all, unless asked otherwise.
- Ours also reports its simulation error, checks the statistic, and keeps the run in its result. Peers that return
  replicates alone (arch, resample) are asked for no more, and numpy takes the percentiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.typing import FloatArray

MILLION = 1_000_000
N_COLUMNS = 50

FEWEST = 5
"""Our fewest replicates that check the influence function. Of a million rows they are more accurate than is asked."""
AS_ACCURATE = 1000
"""Ordinary replicates whose standard error is within 2.2%, by normal theory: 1 / sqrt(2 (B - 1))."""
TIMED_AT = (10, 50)
"""Where a thousand replicates would take minutes, these are timed, and the line through them drawn on."""

FEWEST_FOR_PERCENTILES = 200

Replication = Callable[[int], object]
"""A peer's call, given the number of replicates."""


@dataclass(frozen=True)
class Contest:
    """Our call and the peers', with the data in them."""

    ours: Callable[[], object]
    peers: Mapping[str, Callable[[], Replication]]
    """Each imports its package, and raises an ImportError where that is missing."""


@dataclass(frozen=True)
class Work:
    """A row of the table: what is timed, at which sizes, and how far ahead ours is to be."""

    name: str
    goal: float
    contest: Callable[[int, int], Contest]
    """Takes the number of rows and of the peers' replicates."""
    n_rows: int
    n_resamples: int
    timed_at: tuple[int, int] | None = None
    lower_is_better: bool = False
    without_replicates: bool = False
    """Whether the others have no replicates, and so no simulation error."""

    def cut(self) -> Work:
        """Return the same at sizes of a moment, to try the program."""
        return replace(
            self, n_rows=max(self.n_rows // 100, 300), n_resamples=min(self.n_resamples, FEWEST_FOR_PERCENTILES)
        )


# How each peer is called


def scipy_peer(
    samples: tuple[Any, ...], statistic: Callable[..., Any], *, batch: int | None, vectorized: bool = True
) -> Replication:
    """Return scipy's bootstrap with the percentile interval; it computes the standard error when it is asked for."""
    from scipy.stats import bootstrap

    def call(n_resamples: int) -> object:
        found = bootstrap(
            samples,
            statistic,
            n_resamples=n_resamples,
            batch=batch,
            paired=True,
            vectorized=vectorized,
            method="percentile",
            rng=np.random.default_rng(0),
        )
        return found.confidence_interval, found.standard_error

    return call


def arch_peer(samples: tuple[Any, ...], statistic: Callable[..., Any]) -> Replication:
    """Return arch's bootstrap of independent rows."""
    from arch.bootstrap import IIDBootstrap

    return lambda n_resamples: summary(IIDBootstrap(*samples, seed=0).apply(statistic, n_resamples))


def resample_peer(samples: tuple[Any, ...], statistic: Callable[..., Any]) -> Replication:
    """Return resample's ordinary bootstrap: its default, the balanced one, takes several times as long."""
    from resample.bootstrap import bootstrap

    return lambda n_resamples: summary(
        bootstrap(statistic, *samples, size=n_resamples, method="ordinary", random_state=0)
    )


def foostrap_peer(data: FloatArray, statistic: str) -> Replication:
    """Return foostrap, in all threads, with the percentile interval."""
    from foostrap import foostrap

    def call(n_resamples: int) -> object:
        found = foostrap(data, statistic=statistic, boot_samples=n_resamples, ci_method="percentile", random_state=0)
        return found.ci, found.boot_samples.std(ddof=1)

    return call


def summary(replicates: Any) -> tuple[FloatArray, FloatArray]:
    """Return the percentile interval and the standard error of replicates, ``(B,)`` or ``(B, k)``."""
    found = np.asarray(replicates)
    return np.quantile(found, [0.025, 0.975], axis=0), found.std(axis=0, ddof=1)


# Ours


def same_resamples(data: Any, statistic: Any, n_resamples: int, **options: Any) -> Callable[[], object]:
    """Return the ordinary bootstrap as ours does it, without the help of the influence function."""
    method = "percentile" if n_resamples >= FEWEST_FOR_PERCENTILES else "normal"
    return partial(
        ob.bootstrap, data, statistic, n_resamples=n_resamples, estimator="standard", method=method, rng=0, **options
    )


def same_accuracy(data: Any, statistic: Any) -> Callable[[], object]:
    """Return our fewest replicates; `tol=0.022` would start with ten, and take a fifth longer."""
    return partial(ob.bootstrap, data, statistic, n_resamples=FEWEST, rng=0)


# Data and statistics


def exponential(n_rows: int) -> FloatArray:
    return np.random.default_rng(0).exponential(size=n_rows)


def correlated(n_rows: int) -> FloatArray:
    """Return two columns that share a part, rows first."""
    return np.random.default_rng(0).exponential(size=(n_rows, 2)) @ np.array([[1.0, 1.0], [0.0, 1.0]])


def correlation(x: FloatArray, y: FloatArray, axis: int = -1) -> Any:
    """Return the correlation of columns, of batches too: as fast as numpy's own `corrcoef`, which takes none."""
    x, y = x - x.mean(axis=axis, keepdims=True), y - y.mean(axis=axis, keepdims=True)
    products = [np.einsum("...i,...i->...", *pair) for pair in ((x, y), (x, x), (y, y))]
    return products[0] / np.sqrt(products[1] * products[2])


def linear_data(n_rows: int) -> tuple[FloatArray, FloatArray]:
    """Return lognormal columns and a response with noise, as in the paper's linear regression."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(n_rows, N_COLUMNS))
    return X, X.sum(axis=1) + 10 * rng.normal(size=n_rows)


def least_squares(X: FloatArray, y: FloatArray) -> FloatArray:
    return np.linalg.lstsq(X, y, rcond=None)[0]


def scikit_learn_fit() -> Callable[[FloatArray, FloatArray], Any]:
    from sklearn.linear_model import LinearRegression

    return lambda X, y: LinearRegression(fit_intercept=False).fit(X, y).coef_


# The works


def variance_peers(x: FloatArray) -> dict[str, Callable[[], Replication]]:
    """Return the three that take any function, each with `np.var`; scipy with the batch that is fastest for it."""
    return {
        "scipy": lambda: scipy_peer((x,), np.var, batch=1),
        "arch": lambda: arch_peer((x,), np.var),
        "resample": lambda: resample_peer((x,), np.var),
    }


def correlation_peers(data: FloatArray) -> dict[str, Callable[[], Replication]]:
    """Return the same three with `correlation`, each with the layout of the data that is fastest for it.

    With `np.corrcoef` of resampled rows, which is shorter to write, they take two to four times as long.
    """
    x, y = np.ascontiguousarray(data[:, 0]), np.ascontiguousarray(data[:, 1])
    return {
        "scipy": lambda: scipy_peer((x, y), correlation, batch=1),
        "arch": lambda: arch_peer((x, y), correlation),
        "resample": lambda: resample_peer((data,), lambda rows: correlation(rows[:, 0], rows[:, 1])),
    }


def variance_same_resamples(n_rows: int, n_resamples: int) -> Contest:
    """Return the variance of exponential numbers, equally many replicates on both sides.

    Ours as the standard bootstrap, so that both give an answer of the same quality.
    """
    x = exponential(n_rows)
    return Contest(same_resamples(x, ob.variance, n_resamples), variance_peers(x))


def correlation_same_resamples(n_rows: int, n_resamples: int) -> Contest:
    """Return the correlation of two columns, equally many replicates on both sides."""
    data = correlated(n_rows)
    return Contest(same_resamples(data, ob.correlation, n_resamples), correlation_peers(data))


def variance_of_few_rows(n_rows: int, n_resamples: int) -> Contest:
    """Return the variance of few rows against scipy's batches: by default all replicates at once, or a hundred.

    A hundred stay in the cache and are faster, which a user has to know; both are timed and the faster counts.
    """
    x = exponential(n_rows)
    peers = {
        "scipy": lambda: scipy_peer((x,), np.var, batch=None),
        "scipy, batch=100": lambda: scipy_peer((x,), np.var, batch=100),
    }
    return Contest(same_resamples(x, ob.variance, n_resamples), peers)


def regression_same_resamples(n_rows: int, n_resamples: int) -> Contest:
    """Return all coefficients of a regression, equally many refits on both sides.

    The peers refit by numpy's `lstsq` or by scikit-learn. Ours factors all rows once and solves each refit in their
    orthonormal basis, by weighted products of the rows: a user who wrote normal equations for the peers would be about
    five times faster than here, at the price of digits. scipy resamples row numbers: its samples cannot be matrices.
    """
    X, y = linear_data(n_rows)
    rows = np.arange(n_rows)
    peers = {
        "scipy, lstsq": lambda: scipy_peer(
            (rows,), lambda drawn: least_squares(X[drawn], y[drawn]), batch=1, vectorized=False
        ),
        "arch, lstsq": lambda: arch_peer((X, y), least_squares),
        "arch, scikit-learn": lambda: arch_peer((X, y), scikit_learn_fit()),
        "resample, lstsq": lambda: resample_peer((X, y), least_squares),
    }
    return Contest(same_resamples((X, y), ob.linear_regression, n_resamples, paired=True), peers)


def variance_same_accuracy(n_rows: int, n_resamples: int) -> Contest:
    """Return the variance with as many replicates as each needs for the accuracy: a thousand, and five of ours.

    Ours is far more accurate than is asked: its standard error is off by .02% over seeds.
    """
    x = exponential(n_rows)
    return Contest(same_accuracy(x, ob.variance), variance_peers(x))


def correlation_same_accuracy(n_rows: int, n_resamples: int) -> Contest:
    """Return the correlation likewise."""
    data = correlated(n_rows)
    return Contest(same_accuracy(data, ob.correlation), correlation_peers(data))


def approximate_interval(n_rows: int, n_resamples: int) -> Contest:
    """Return the ABC interval of a variance, in evaluations of the variance by numpy.

    As a user calls it, with the ten replicates that bring the standard error: the ends of ABC alone need none.
    """
    x = exponential(n_rows)
    return Contest(partial(ob.bootstrap, x, ob.variance, method="abc", rng=0), {"np.var": lambda: lambda _: np.var(x)})


def deviation_same_resamples(n_rows: int, n_resamples: int) -> Contest:
    """Return the standard deviation against foostrap, equally many replicates on both sides."""
    x = exponential(n_rows)
    return Contest(same_resamples(x, ob.std, n_resamples), {"foostrap": lambda: foostrap_peer(x, "std")})


def correlation_against_foostrap(n_rows: int, n_resamples: int) -> Contest:
    """Return the correlation likewise.

    Foostrap copies the columns apart and sorts each to warn of ties, in every call: about a quarter of its time here.
    """
    data = correlated(n_rows)
    peers = {"foostrap": lambda: foostrap_peer(data, "pearson")}
    return Contest(same_resamples(data, ob.correlation, n_resamples), peers)


def deviation_same_accuracy(n_rows: int, n_resamples: int) -> Contest:
    """Return the standard deviation with as many replicates as each needs; foostrap's thousand are run in full."""
    x = exponential(n_rows)
    return Contest(same_accuracy(x, ob.std), {"foostrap": lambda: foostrap_peer(x, "std")})


ACCURACY: dict[str, Any] = {"n_rows": MILLION, "n_resamples": AS_ACCURATE}

WORKS = (
    Work("variance n = 1e6, same B", 7, variance_same_resamples, MILLION, 50),
    Work("correlation n = 1e6, same B", 15, correlation_same_resamples, MILLION, 50),
    Work("variance n = 1e3, B = 10,000, scipy vectorised", 4, variance_of_few_rows, 1000, 10_000),
    Work("OLS 5000 x 50, same B (refits)", 50, regression_same_resamples, 5000, 100),
    Work("variance n = 1e6, same accuracy", 500, variance_same_accuracy, timed_at=TIMED_AT, **ACCURACY),
    Work("correlation n = 1e6, same accuracy", 1000, correlation_same_accuracy, timed_at=TIMED_AT, **ACCURACY),
    Work(
        "ABC n = 1e6, in np.var of the data",
        30,
        approximate_interval,
        MILLION,
        10,
        lower_is_better=True,
        without_replicates=True,
    ),
    Work("std n = 1e3, B = 10,000, against foostrap", 3, deviation_same_resamples, 1000, 10_000),
    Work("std n = 1e5, B = 1000, against foostrap", 4, deviation_same_resamples, 100_000, 1000),
    Work("std n = 1e6, same B, against foostrap", 4, deviation_same_resamples, MILLION, 50),
    Work("correlation n = 1e6, same B, against foostrap", 4, correlation_against_foostrap, MILLION, 50),
    Work("std n = 1e6, same accuracy, against foostrap", 100, deviation_same_accuracy, **ACCURACY),
)

"""Models whose mean output, influence and bias are known: sums, products and maxima of a few draws."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom


def sum_of(x):
    return x.sum(axis=1)


def sum_of_roots(x):
    return np.sqrt(x).sum(axis=1)


def rough_sum(x):
    return np.sin(40 * x).sum(axis=1)


def product(x):
    return x.prod(axis=1)


def maximum(x):
    return x.max(axis=1)


def influence_of_sum(f, x, draws):
    values = f(x[:, np.newaxis])
    return draws * (values - values.mean())


def influence_of_product(x, draws):
    return draws * x.mean() ** (draws - 1) * (x - x.mean())


def bias_of_product(x, draws):
    """The bias to second order, ``T (T - 1) / 2 mean^(T - 2) var / n``."""
    return draws * (draws - 1) / 2 * x.mean() ** (draws - 2) * x.var() / len(x)


def third_order_of_product(x, draws):
    """Twice the covariance of the linear and the cubic part, ``slope x third derivative x (var / n)^2``."""
    slope, third = draws * x.mean() ** (draws - 1), draws * (draws - 1) * (draws - 2) * x.mean() ** (draws - 3)
    return slope * third * (x.var() / len(x)) ** 2


def influence_of_maximum(x, draws):
    """``phi = sum_l x_(l) (F_l^T - F_{l-1}^T)``, differentiated by the weight of each row."""
    n, order = len(x), np.argsort(x)
    ordered, levels = x[order], np.arange(len(x) + 1) / len(x)
    upper = draws * ordered * levels[1:] ** (draws - 1)
    lower = draws * ordered * levels[:-1] ** (draws - 1)
    found = np.empty(n)
    found[order] = np.cumsum(upper[::-1])[::-1] - np.append(np.cumsum(lower[::-1])[::-1][1:], 0.0)
    return found - found.mean()


def bias_of_maximum(x, draws):
    """``phi = x_(n) - sum_l (x_(l+1) - x_(l)) F_l^T``, and ``n F_l`` of a resample is binomial."""
    n, ordered = len(x), np.sort(x)
    counts, levels = np.arange(n + 1)[:, np.newaxis], np.arange(1, n) / n
    moments = (binom.pmf(counts, n, levels) * (counts / n) ** draws).sum(axis=0)
    return -(np.diff(ordered) * (moments - levels**draws)).sum()


def variance(influence):
    return (influence**2).sum() / len(influence) ** 2


def residuals_and_distances(estimation):
    """The residuals of runs of one input, shape ``(R,)``, and their ``n N - T`` beyond the features, ``(R, n)``."""
    records = estimation.records
    entry, runs = records.experiment.inputs[0], records.runs
    longest = int(runs.used.max())
    excess = entry.excess_counts(records.experiment.positions(0, range(len(runs)), longest), runs.used[:, 0])
    beyond = excess - entry.loadings @ (entry.loadings.T @ excess) / entry.n_rows
    return estimation.regression.leave_one_out_residuals[:, 0], beyond.T

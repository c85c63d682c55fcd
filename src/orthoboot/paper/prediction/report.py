"""The table of prediction intervals, ``realdata``."""

from __future__ import annotations

from itertools import product

import numpy as np

from orthoboot.paper.experiment import Arrays, Outcomes
from orthoboot.paper.prediction.data_sets import DATA_SETS, RegressionData
from orthoboot.paper.prediction.protocols import NOISES, PROTOCOLS, SIZES, Protocol, case_name
from orthoboot.paper.published import PREDICTION
from orthoboot.paper.shares import share_error
from orthoboot.presentation.report import Report
from orthoboot.presentation.style import WORDS
from orthoboot.presentation.tables import Cell, ReportTable, Simulated, decimals
from orthoboot.typing import FloatArray

_PARAGRAPHS = (
    "95% prediction intervals of a network with 100 tanh units from B refits (the table realdata of the paper): how "
    "many responses in the test they hold, and how wide they are on average, over three splits of each data set. "
    "Batches, epochs and shares of the rows in training are the paper's. All estimators see the same networks and the "
    "same refits. The standard, the cheap and the paper's estimator have the paper's estimate of the noise, the mean "
    "squared residual at rows left out; ours has the corrected one, without the variance of the refits that this "
    "contains. The standard bootstrap divides by B - 1; with the paper's divisor B its widths are up to 1% narrower.",
    "The paper does not say whether its data are scaled before the training. Its figures stand beside those of data as "
    "they are, which its widths are near to. With standardised data, and with a training that ends at the minimum of "
    "the loss, the same intervals are much narrower.",
)


def report(found: Outcomes, n_refits: int) -> Report:
    """Return one table for each data set and protocol, from networks with so many refits."""
    pairs = list(product(DATA_SETS, PROTOCOLS))
    tables = [_table(data, protocol, found[case_name(data, protocol)]) for data, protocol in pairs]
    return Report("Prediction intervals", (*_PARAGRAPHS, _reductions(found), _precision(n_refits)), tables)


def _reductions(found: Outcomes) -> str:
    """Return a note on the variance reduction by the influence function."""
    reductions = [
        f"{data.name} "
        + " / ".join(f"{found[case_name(data, protocol)]['variance reduction'].mean():.1f}" for protocol in PROTOCOLS)
        for data in DATA_SETS
    ]
    return (
        "Variance reduction, Var(P) / Var(P - L) of the predictions P of the refits and their linear part L, median "
        f"over the rows in the test and mean over splits, in the order of the tables: {'; '.join(reductions)}. At one "
        "and below, the refits are worth no more than those of the standard bootstrap, and the slope of ours shrinks."
    )


def _precision(n_refits: int) -> str:
    """Return a note on the sources of the errors."""
    groups = " and ".join(f"{n_refits // B} groups of {B}" for B in SIZES)
    return (
        f"Each network has {n_refits} refits, {groups}: ours are means over these, while the paper's "
        "figures rest on one group for each split. The error of a coverage is the binomial one of the rows in the "
        "test, for the paper's at what it prints, or that from the spread of our three splits, whichever is larger; "
        "that of a width is from the spread over splits and groups. Three splits tell a spread only roughly, so that a "
        "mark is a reason to look and not a verdict. The last column is the standard deviation of the mean width over "
        "groups of refits of the same network, in percent: what another seed of the resamples would change."
    )


def _table(data: RegressionData, protocol: Protocol, outcome: Arrays) -> ReportTable:
    rows: list[list[Cell]] = [
        [B, WORDS[name], *_cells(data, name, B, outcome, is_compared=protocol is PROTOCOLS[0])]
        for B in SIZES
        for name in NOISES
    ]
    title = f"{data.title}, {protocol.title}: {outcome['test rows'][0]:.0f} rows in the test"
    columns = ["B", "estimator", "coverage", "mean width", "deviation over refits, %"]
    return ReportTable(f"prediction-{case_name(data, protocol)}", title, columns, rows)


def _cells(data: RegressionData, name: str, B: int, outcome: Arrays, *, is_compared: bool) -> list[Simulated]:
    number, column = list(NOISES).index(name), DATA_SETS.index(data)
    is_printed = is_compared and (name, B) in PREDICTION
    coverage, width = PREDICTION[name, B][column] if is_printed else (None, None)
    # The paper gives the widths of a data set with the same number of decimals.
    digits = decimals(PREDICTION["standard", B][column][1])
    widths = outcome[f"width, B = {B}"][:, number]
    return [
        _coverage(outcome[f"coverage, B = {B}"][:, number], outcome["test rows"], coverage),
        _width(widths, digits, width),
        _deviation(widths),
    ]


def _coverage(coverages: FloatArray, n_test: FloatArray, printed: str | None) -> Simulated:
    """Return the mean over splits and groups, shape ``(splits, groups)``, with its error and that of the paper's.

    Groups of one split share its rows in the test, so that there is no more to be had from many than from one.
    """
    of_splits = coverages.mean(axis=1)
    spread = float(of_splits.std(ddof=1) / np.sqrt(len(of_splits)))
    value = float(of_splits.mean())
    error, theirs = (max(share_error(share, n_test.sum()), spread) for share in (value, float(printed or value)))
    return Simulated(value, error, printed=printed, printed_error=theirs)


def _width(widths: FloatArray, digits: int, printed: str | None) -> Simulated:
    r"""Return the mean over S splits and G groups, shape ``(S, G)``, with its error and that of the paper's.

    .. math:: e^2 = \max(s_b^2, s_w^2 / G) / S, \qquad e_{paper}^2 = e^2 + (1 - 1/G) s_w^2 / S,

    with :math:`s_b^2` the variance of the splits' means and :math:`s_w^2` that of the groups of one split. The first
    contains the second divided by G, and by chance may be less. The paper has one group for each split.
    """
    n_splits, n_groups = widths.shape
    between, within = widths.mean(axis=1).var(ddof=1), widths.var(axis=1, ddof=1).mean()
    ours = max(between, within / n_groups) / n_splits
    theirs = ours + (1 - 1 / n_groups) * within / n_splits
    return Simulated(float(widths.mean()), float(np.sqrt(ours)), digits, printed, printed_error=float(np.sqrt(theirs)))


def _deviation(widths: FloatArray) -> Simulated:
    """Return the standard deviation over groups in percent of the mean, with the error that normal theory gives it."""
    relative = widths / widths.mean(axis=1, keepdims=True)
    deviation = 100 * float(np.sqrt(relative.var(axis=1, ddof=1).mean()))
    degrees = widths.size - len(widths)
    return Simulated(deviation, deviation / np.sqrt(2 * degrees), digits=1)

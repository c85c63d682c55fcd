"""Prediction intervals of networks from a few refits: the table ``realdata``, under three ways to train."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import product

import numpy as np

import orthoboot as ob
from orthoboot.errors import MissingDependencyError
from orthoboot.paper.experiment import Arrays, Case, Experiment, Outcomes, Settings
from orthoboot.paper.prediction.data_sets import DATA_SETS, RegressionData, digest, loaded
from orthoboot.paper.prediction.protocols import NOISES, PROTOCOLS, SIZES, case_name
from orthoboot.paper.prediction.report import report
from orthoboot.presentation.report import Report
from orthoboot.typing import FloatArray

_SEEDS = 3
_REFITS, _REFITS_QUICK = 40, 10
"""Of each network: twenty and five groups of two, eight and two of five, over which the widths vary."""


class PredictionIntervals(Experiment):
    """Coverage and width of 95% prediction intervals, for every estimator with the same networks and refits."""

    name = "prediction"

    def cases(self, settings: Settings) -> Sequence[Case]:
        """Return every data set under every protocol, three splits of each; raise where the data cannot be had."""
        _check_torch()
        found = {data.name: digest(*loaded(data, settings.data)) for data in DATA_SETS}
        # The longest first, so that at the end no process waits long for another.
        return [
            Case(case_name(data, protocol), _SEEDS, identity=f"{found[data.name]}, {_n_refits(settings)} refits")
            for data, protocol in product(reversed(DATA_SETS), reversed(PROTOCOLS))
        ]

    def repetition(self, case: str, seed: np.random.SeedSequence, settings: Settings) -> Arrays:
        """Return coverage and mean width on the test rows of one split, for each estimator and group of B refits."""
        data, protocol = next(pair for pair in product(DATA_SETS, PROTOCOLS) if case_name(*pair) == case)
        of_split, of_network, of_resamples = seed.spawn(3)
        X, y, X_test, y_test = _split(data, of_split, settings)
        network = ob.NeuralRegressor(
            protocol=protocol.protocol,
            standardize=protocol.standardize,
            epochs=data.epochs,
            batch_size=data.batch_size,
            random_state=int(of_network.generate_state(1)[0]),
        )
        model = ob.PredictionIntervalRegressor(network, n_resamples=_n_refits(settings), rng=of_resamples).fit(X, y)
        outcome: Arrays = {
            "test rows": np.array(float(len(y_test))),
            "variance reduction": np.asarray(np.median(model.variance_reduction(X_test))),
        }
        for B in SIZES:
            outcome[f"coverage, B = {B}"], outcome[f"width, B = {B}"] = _figures(model, X_test, y_test, B)
        return outcome

    def report(self, found: Outcomes, settings: Settings) -> Report:
        """Return one table for each data set and protocol."""
        return report(found, _n_refits(settings))


def _check_torch() -> None:
    if find_spec("torch") is None or find_spec("sklearn") is None:
        raise MissingDependencyError(
            "the prediction intervals of networks need PyTorch and scikit-learn; install them with "
            '`pip install "orthoboot[paper]"`.'
        )


def _n_refits(settings: Settings) -> int:
    return _REFITS_QUICK if settings.quick else _REFITS


def _split(
    data: RegressionData, seed: np.random.SeedSequence, settings: Settings
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return X and y in training, X and y in the test."""
    X, y = loaded(data, settings.data)
    order = np.random.default_rng(seed).permutation(len(y))
    training, test = np.split(order, [round(data.training_share * len(y))])
    return X[training], y[training], X[test], y[test]


def _figures(
    model: ob.PredictionIntervalRegressor, X: FloatArray, y: FloatArray, B: int
) -> tuple[FloatArray, FloatArray]:
    """Return coverages and mean widths, each of shape ``(estimators, groups)``."""
    groups = [slice(start, start + B) for start in range(0, model.n_resamples - B + 1, B)]
    ends = np.array(
        [
            [model.with_variance_estimator(name, group, noise=noise).predict_interval(X)[1] for group in groups]
            for name, noise in NOISES.items()
        ]
    )
    low, high = np.moveaxis(ends, -1, 0)
    return np.mean((low <= y) & (y <= high), axis=-1), np.mean(high - low, axis=-1)

"""Training protocols of networks, and the intervals to compare."""

from __future__ import annotations

from dataclasses import dataclass

from orthoboot.paper.prediction.data_sets import RegressionData

SIZES = (2, 5)
"""Numbers of refits B."""
NOISES = {"standard": "out-of-bag", "cheap": "out-of-bag", "paper": "out-of-bag", "orthogonal": "corrected"}
"""The estimators of the variance, each with its estimate of the noise: the paper's, and for ours the corrected one."""


@dataclass(frozen=True)
class Protocol:
    """How networks are trained.

    Attributes
    ----------
    name, title
        In the names of cases, and in words.
    protocol, standardize
        As `NeuralRegressor` takes them.
    """

    name: str
    title: str
    protocol: str
    standardize: bool


PROTOCOLS = (
    Protocol("paper", "the paper's training, data as they are", "paper", standardize=False),
    Protocol("standardised", "the paper's training, standardised data", "paper", standardize=True),
    Protocol("polished", "training to the minimum, standardised data", "polished", standardize=True),
)


def case_name(data: RegressionData, protocol: Protocol) -> str:
    """Return the name of a data set under a protocol."""
    return f"{data.name}-{protocol.name}"

"""The paper's tables and figures, reproduced with the public interface and compared.

``orthoboot reproduce`` runs them from the command line. `EXPERIMENTS` names them.
"""

from __future__ import annotations

from orthoboot.paper.ci.experiment import ConfidenceIntervals
from orthoboot.paper.debias.experiment import Debiasing
from orthoboot.paper.experiment import Experiment
from orthoboot.paper.influence.experiment import InfluenceFunctions
from orthoboot.paper.prediction.experiment import PredictionIntervals
from orthoboot.paper.rates.experiment import Rates

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (ConfidenceIntervals(), Debiasing(), InfluenceFunctions(), PredictionIntervals(), Rates())
}
"""By their names on the command line. To add one: its file, and one instance here."""

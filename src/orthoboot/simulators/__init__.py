"""Input uncertainty of simulation models: how far the data behind their inputs leave the answer open."""

from orthoboot.simulators.entry import input_uncertainty
from orthoboot.simulators.parametric import fitted
from orthoboot.simulators.planned import input  # noqa: A004 - what the user writes is `ob.input`
from orthoboot.simulators.uncertainty import InputUncertainty

__all__ = ["InputUncertainty", "fitted", "input", "input_uncertainty"]

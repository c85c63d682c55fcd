"""What must hold for every input: one function each, which returns what is wrong or None."""

from tools.fuzz.invariances import of_one_answer, of_repetitions, of_transformations
from tools.fuzz.invariances.base import ALWAYS, SOMETIMES, Invariance, Questioned

__all__ = ["ALWAYS", "SOMETIMES", "Invariance", "Questioned", "of_one_answer", "of_repetitions", "of_transformations"]

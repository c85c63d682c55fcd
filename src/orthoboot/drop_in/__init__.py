"""What the replacements of scipy's and arch's bootstrap share: statistics of theirs that the catalogue computes."""

from orthoboot.drop_in.formula import Formula, formula_of
from orthoboot.drop_in.known_statistic import KnownStatistic

__all__ = ["Formula", "KnownStatistic", "formula_of"]

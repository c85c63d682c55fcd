"""What fits of all kinds have in common."""

from __future__ import annotations

from dataclasses import dataclass

PROTOCOLS = ("polished", "paper")
"""How networks are refitted: from the minimum to the minimum, or by training from scratch."""

DENSE_PARAMETERS = 5_000
"""Up to so many parameters a matrix of all pairs of them is held: two hundred megabytes."""


@dataclass
class FitCount:
    """How many fits there were, and how many of them did not converge."""

    fits: int = 0
    unconverged: int = 0

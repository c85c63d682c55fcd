"""Results of long studies, kept in a folder so that a study goes on where it stopped."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import numpy as np

PART = 50
"""Data sets that are computed together and kept."""


def kept(name: str, folder: pathlib.Path | None, compute: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the array that `compute` returns, from the folder if it was computed before.

    Parameters
    ----------
    name
        Of the array, among those of its folder.
    folder
        It must exist; None keeps nothing.
    compute
        Called once for each name.
    """
    if folder is None:
        return compute()
    file = folder / f"{''.join(letter if letter.isalnum() else '-' for letter in name)}.npy"
    if file.exists():
        return np.load(file)
    found = compute()
    # A study that is stopped while it writes leaves no file of half an array under the name.
    unfinished = file.with_suffix(".part.npy")
    np.save(unfinished, found)
    unfinished.rename(file)
    return found


def part(name: str, folder: pathlib.Path | None, first: int, of_seed: Callable[[int], np.ndarray]) -> np.ndarray:
    """Return what `of_seed` has for `PART` seeds from the first on, shape ``(PART, ...)``."""
    return kept(f"{name}-{first}", folder, lambda: np.array([of_seed(seed) for seed in range(first, first + PART)]))

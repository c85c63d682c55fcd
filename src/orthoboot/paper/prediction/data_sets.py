"""The data sets of the paper's prediction intervals: how it trains on them, and where they are."""

from __future__ import annotations

import csv
import hashlib
import math
import socket
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from orthoboot.errors import ArgumentError, DataError, MissingDependencyError
from orthoboot.typing import FloatArray

_LEAST_ROWS = 20
"""With fewer, a share of five percent for the test may be no row at all."""
_SHOWN = 80
"""How much of a file's first line a message shows."""
_PATIENCE = 20.0
"""Seconds without an answer after which a download is given up."""


@dataclass(frozen=True)
class RegressionData:
    """One of the paper's data sets.

    Attributes
    ----------
    name, title
        Of its file, and in the paper.
    openml
        Its name on OpenML, where the columns have other names but the same order.
    features, target
        The columns of X, and that of y.
    facts
        How many rows the published set has, and the smallest and the largest y.
    batch_size, epochs, training_share
        As in ``appendix:pi experiment detail``.
    """

    name: str
    title: str
    openml: str
    features: tuple[str, ...]
    target: str
    facts: tuple[int, float, float]
    batch_size: int
    epochs: int
    training_share: float

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that its file must have."""
        return (*self.features, self.target)


YACHT = RegressionData(
    name="yacht",
    title="Yacht Hydrodynamics",
    openml="yacht_hydrodynamics",
    features=(
        "longitudinal_position",
        "prismatic_coefficient",
        "length_displacement_ratio",
        "beam_draught_ratio",
        "length_beam_ratio",
        "froude_number",
    ),
    target="residuary_resistance",
    facts=(308, 0.01, 62.42),
    batch_size=64,
    epochs=500,
    training_share=0.8,
)

ENERGY = RegressionData(
    name="energy",
    title="Energy Efficiency",
    openml="energy-efficiency",
    features=(
        "relative_compactness",
        "surface_area",
        "wall_area",
        "roof_area",
        "overall_height",
        "orientation",
        "glazing_area",
        "glazing_area_distribution",
    ),
    target="heating_load",
    facts=(768, 6.01, 43.10),
    batch_size=128,
    epochs=250,
    training_share=0.7,
)

KIN8NM = RegressionData(
    name="kin8nm",
    title="Kin8nm",
    openml="kin8nm",
    features=tuple(f"theta{number}" for number in range(1, 9)),
    target="y",
    facts=(8192, 0.0402, 1.4585),
    batch_size=256,
    epochs=150,
    training_share=0.95,
)

DATA_SETS = (YACHT, ENERGY, KIN8NM)
"""In the order of the paper's table."""


def loaded(data: RegressionData, folder: Path | None) -> tuple[FloatArray, FloatArray]:
    """Return X and y, from ``folder/name.csv``, or from OpenML where there is no folder."""
    table = _fetched(data) if folder is None else _read(data, _file(data, folder))
    return table[:, :-1], table[:, -1]


def digest(X: FloatArray, y: FloatArray) -> str:
    """Return a fingerprint of the data."""
    table = np.column_stack([X, y])
    return hashlib.blake2b(repr(table.shape).encode() + table.tobytes(), digest_size=16).hexdigest()


# A folder with files


def _file(data: RegressionData, folder: Path) -> Path:
    if not folder.is_dir():
        raise ArgumentError(f"`--data` must be a folder with the files {_files()}; there is no folder {folder}.")
    file = folder / f"{data.name}.csv"
    if not file.is_file():
        raise DataError(
            f"`--data` must be a folder with the files {_files()}; {folder} has no {file.name}. Without `--data` the "
            "data sets are fetched from OpenML."
        )
    return file


def _read(data: RegressionData, file: Path) -> FloatArray:
    """Return the columns of the data set's file, the target last."""
    # A spreadsheet's mark at the start of a file is no part of a column's name.
    with file.open(newline="", encoding="utf-8-sig", errors="replace") as stream:
        lines = csv.reader(stream)
        places = _places(data, file, [name.strip() for name in next(lines, [])])
        rows = [_numbers(fields, places, f"{file}, line {lines.line_num}") for fields in lines if fields]
    if len(rows) < _LEAST_ROWS:
        raise DataError(f"{file} must have at least {_LEAST_ROWS} rows below its header; got {len(rows)}.")
    return np.array(rows)


def _places(data: RegressionData, file: Path, header: Sequence[str]) -> dict[str, int]:
    """Return where in a line each column is."""
    if not header:
        raise DataError(f"{file} is empty. Its first line must name the columns {', '.join(data.columns)}.")
    missing = [name for name in data.columns if name not in header]
    if missing:
        first_line = ",".join(header)[:_SHOWN]
        separator = next((f"; it has {sign!r} where commas are needed" for sign in ";\t" if sign in first_line), "")
        raise DataError(
            f"{file} has no column {', '.join(missing)}{separator}; its first line begins {first_line!r}. That must "
            f"name the columns {', '.join(data.columns)}, in any order; others are left out."
        )
    return {name: header.index(name) for name in data.columns}


def _numbers(fields: Sequence[str], places: Mapping[str, int], where: str) -> list[float]:
    """Return the numbers of one line; raise where there is none."""
    numbers = []
    for name, place in places.items():
        text = fields[place].strip() if place < len(fields) else ""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DataError(
                f"{where}: `{name}` must be a finite number; got {text!r}. Remove the line, or fill in the value."
            )
        numbers.append(number)
    return numbers


def _files() -> str:
    """Return a description of the files a folder must have, with their columns."""
    return ", ".join(f"{data.name}.csv (columns {', '.join(data.columns)})" for data in DATA_SETS)


# OpenML


@cache
def _fetched(data: RegressionData) -> FloatArray:
    """Return the columns of the data set on OpenML, the target last; fetched once in a program's life."""
    try:
        frame = _frame(data.openml)
    except ImportError as error:
        raise MissingDependencyError(
            "fetching data from OpenML needs scikit-learn and pandas; install them with "
            '`pip install "orthoboot[paper]"`, or pass `--data DIR` with CSV files.'
        ) from error
    except (OSError, HTTPException, ValueError) as error:  # no network, half an answer, or no such data
        raise DataError(
            f"the data set {data.name} is not available: fetching {data.openml!r} from OpenML failed "
            f"({type(error).__name__}: {error}). Try again with a network connection, or pass `--data DIR`, a folder "
            f"with the files {_files()}."
        ) from error
    table: FloatArray = frame.iloc[:, : len(data.columns)].astype(float).to_numpy()
    _check_facts(data, table)
    return table


def _frame(name: str) -> Any:
    """Return all columns in the order of the file: which of them OpenML takes for targets differs from set to set."""
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings(), _timeout(_PATIENCE):
        warnings.simplefilter("ignore")  # of each attempt: what counts is the last
        return fetch_openml(name, version=1, as_frame=True, parser="auto", target_column=None, n_retries=1).data


@contextmanager
def _timeout(seconds: float) -> Iterator[None]:
    """Set a timeout for downloads, for which scikit-learn has no argument."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _check_facts(data: RegressionData, table: FloatArray) -> None:
    """Raise where the columns, which go by their place, are not those of the published data."""
    n_rows, smallest, largest = data.facts
    found = (len(table), *np.round([table[:, -1].min(), table[:, -1].max()], 4))
    if table.shape[1] != len(data.columns) or found != (n_rows, smallest, largest):
        raise DataError(
            f"{data.openml!r} on OpenML is not the data set {data.name}, which has {n_rows} rows and a "
            f"{data.target} from {smallest} to {largest}; got {found[0]} rows, from {found[1]:g} to {found[2]:g}. "
            f"Pass `--data DIR`, a folder with the files {_files()}."
        )

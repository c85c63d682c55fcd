"""What a snapshot keeps of an answer: plain numbers with all their bits, texts and warnings.

Only public names of the library are used here, so that the same code records trees whose insides differ.
"""

from __future__ import annotations

import math
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

import orthoboot as ob

Cases = Mapping[str, Callable[[], object]]

OPTIONAL = frozenset(
    {"cvxpy", "diffcp", "jax", "numba", "pandas", "polars", "pyarrow", "sklearn", "statsmodels", "torch"}
)
"""Packages without which cases are skipped."""

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class Recording(NamedTuple):
    """The entries of some groups of cases by their names, and what was skipped."""

    entries: dict[str, Any]
    skipped: list[str]


def recording(groups: Iterable[str], wanted: Callable[[str], bool] = lambda name: True) -> Recording:
    """Return what the cases of each group give; a group is a module of `tools.cases` that has `CASES`."""
    found = Recording({}, [])
    for group in groups:
        start, count = time.process_time(), len(found.entries)
        try:
            cases = import_module(f"tools.cases.{group}").CASES
        except Exception as error:
            # A tree that is half rebuilt still has its other groups recorded.
            _keep_failure(found, group, error)
            continue
        for name, case in cases.items():
            if wanted(f"{group}/{name}"):
                _keep(found, f"{group}/{name}", case)
        print(
            f"{group}: {len(found.entries) - count} entries, {time.process_time() - start:.1f} s of processor time",
            file=sys.stderr,
            flush=True,
        )
    return found


def entry(case: Callable[[], object]) -> dict[str, Any]:
    """Return what a case gives: numbers, texts and warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = case()
    shown = [each.message for each in caught if isinstance(each.message, ob.errors.OrthobootWarning)]
    kept = answer.warnings if isinstance(answer, ob.Result) else shown
    parts = _parts(answer)
    return {
        "numbers": {field: _jsonable(value) for field, value in parts.items() if not isinstance(value, str)},
        "texts": {
            **{field: _without_addresses(value) for field, value in parts.items() if isinstance(value, str)},
            "shown": ", ".join(type(warning).__name__ for warning in shown),
        },
        "warnings": [[type(warning).__name__, _without_addresses(str(warning))] for warning in kept],
    }


def flat(value: Any) -> Any:
    """Return a number, an array or a dict of these as one vector."""
    parts = list(value.values()) if isinstance(value, dict) else [value]
    return np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts])


def _keep(found: Recording, name: str, case: Callable[[], object]) -> None:
    try:
        found.entries[name] = entry(case)
    except Exception as error:
        _keep_failure(found, name, error)


def _keep_failure(found: Recording, name: str, error: Exception) -> None:
    if isinstance(error, ModuleNotFoundError) and _is_absent(error.name):
        found.skipped.append(name)
    else:
        found.entries[name] = {"error": [type(error).__name__, _without_addresses(str(error))]}


def _is_absent(module: str | None) -> bool:
    package = (module or "").partition(".")[0]
    return package in OPTIONAL and find_spec(package) is None


def _parts(answer: object) -> dict[str, Any]:
    """Return what is recorded of an answer: texts are strings, everything else is numbers."""
    if isinstance(answer, ob.Result):
        return _parts_of_result(answer)
    if isinstance(answer, ob.InfluenceCheck):
        return _parts_of_check(answer)
    if isinstance(answer, dict):
        return answer
    raise TypeError(f"a case must give a Result, an InfluenceCheck or a dict; got {type(answer).__name__}.")


def _parts_of_result(result: ob.Result) -> dict[str, Any]:
    error = result.simulation_error
    return {
        "estimate": result.estimate,
        "bias": result.bias,
        "standard_error": result.standard_error,
        "low": result.confidence_interval.low,
        "high": result.confidence_interval.high,
        "bias_error": error.bias,
        "standard_error_error": error.standard_error,
        "low_error": error.low,
        "high_error": error.high,
        "r_squared": result.r_squared,
        "slope": result.slope,
        "n_resamples": result.n_resamples,
        "n_failed": result.n_failed,
        "shape": _shape(result.estimate),
        "names": ", ".join(result.names),
        "estimator": result.estimator,
        "influence_source": result.influence_source,
    }


def _parts_of_check(check: ob.InfluenceCheck) -> dict[str, Any]:
    predicted, found = check.directions
    return {
        "mean": check.mean,
        "predicted": predicted,
        "found": found,
        "disagreement": check.disagreement,
        "r_squared": check.r_squared,
        "names": ", ".join(check.names),
        "source": check.source,
        "findings": ", ".join(check.findings),
        "verdict": check.verdict,
        "passed": str(check.passed),
    }


def _jsonable(value: Any) -> list[float | str]:
    """Return numbers as JSON has them, those that it has not as words; Python writes every float with all its bits."""
    return [number if math.isfinite(number) else str(number) for number in flat(value).tolist()]


def _shape(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shape(part)}" for key, part in value.items())
    return "number" if np.ndim(value) == 0 else str(np.shape(value))


def _without_addresses(text: str) -> str:
    """Return a text that is the same in every run: functions without a name are shown with where they lie."""
    return _ADDRESS.sub("0x...", text)

"""Results for other programs: values for JSON, and pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orthoboot.errors import MissingDependencyError
from orthoboot.functionals.output import unique_names
from orthoboot.presentation.simulation_answer import SimulationAnswer
from orthoboot.presentation.summary import Answer

if TYPE_CHECKING:
    import pandas as pd


def frame(answer: Answer) -> pd.DataFrame:
    """Return a pandas frame with one row per output."""
    estimation, ends = answer.estimation, answer.ends
    columns = {
        "estimate": estimation.estimate,
        "bias": estimation.bias,
        "debiased": estimation.estimate - estimation.bias,
        "standard_error": estimation.standard_error,
        "low": ends.low,
        "high": ends.high,
        "bias_simulation_error": estimation.error.bias,
        "standard_error_simulation_error": estimation.standard_error_error,
        "low_simulation_error": ends.low_error,
        "high_simulation_error": ends.high_error,
        "equivalent_resamples": estimation.error.equivalent_resamples,
    }
    return _frame(answer.names, columns)


def simulation_frame(answer: SimulationAnswer) -> pd.DataFrame:
    """Return a pandas frame with one row per output of a simulation."""
    columns = {
        "estimate": answer.estimate,
        "bias": answer.bias,
        "debiased": answer.estimate - answer.bias,
        "input_error": answer.input_error,
        "run_error": answer.run_error,
        "low": answer.low,
        "high": answer.high,
        "input_error_simulation_error": answer.input_error_error,
    }
    columns |= {f"share_{name}": row for name, row in zip(answer.parts, answer.shares, strict=True)}
    return _frame(answer.names, columns)


def _frame(names: tuple[str, ...], columns: dict[str, Any]) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError("`to_frame` needs pandas; install it with `pip install pandas`.") from error
    return pd.DataFrame(columns, index=pd.Index(names, name="output"))


def jsonable(value: Any) -> Any:
    """Return `value` as Python numbers, lists and dicts, with None for values that are not finite."""
    if isinstance(value, dict):
        # 1 and "1" are two keys, and one text.
        keys = unique_names([str(key) for key in value])
        return {key: jsonable(entry) for key, entry in zip(keys, value.values(), strict=True)}
    if isinstance(value, (np.ndarray, list, tuple)):
        return [jsonable(entry) for entry in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value

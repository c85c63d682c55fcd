"""A result for other programs: values for JSON, and a frame of pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.errors import MissingDependencyError
from orthoboot.functionals.output import unique_names
from orthoboot.presentation.summary import Answer


def frame(answer: Answer) -> Any:
    """Return a pandas frame with one row per output."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError("`to_frame` needs pandas; install it with `pip install pandas`.") from error
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
    return pd.DataFrame(columns, index=pd.Index(answer.names, name="output"))


def jsonable(value: Any) -> Any:
    """Return `value` of Python's own numbers, lists and dicts, None for what is not finite."""
    if isinstance(value, dict):
        # 1 and "1" are two keys, and one text.
        keys = unique_names([str(key) for key in value])
        return {key: jsonable(entry) for key, entry in zip(keys, value.values(), strict=True)}
    if isinstance(value, (np.ndarray, list, tuple)):
        return [jsonable(entry) for entry in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value

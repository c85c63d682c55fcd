"""Answers as JSON, by the schema in the file schema.json beside this one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

from orthoboot import __version__
from orthoboot.cli.answers.answer import Answer, Output, Publication

SCHEMA = 1
"""The number of the schema; another where a field changes its meaning or goes."""


def json_text(publication: Publication) -> str:
    """Return all answers as JSON; what is not known is null."""
    return json.dumps(document(publication), indent=2, ensure_ascii=False, allow_nan=False)


def document(publication: Publication) -> dict[str, Any]:
    """Return all answers as Python's own numbers, lists and dicts."""
    whole = {
        "schema": SCHEMA,
        "orthoboot": __version__,
        "command": publication.command,
        "arguments": publication.arguments,
        "notes": publication.notes,
        "results": [_answer(answer) for answer in publication.answers],
    }
    found: dict[str, Any] = _plain(whole)
    return found


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "statistic": answer.statistic,
        "label": answer.label,
        "n_rows": answer.n_rows,
        "confidence_level": answer.level,
        "interval": answer.interval,
        "estimator": answer.estimator,
        "n_resamples": answer.n_resamples,
        "n_failed": answer.n_failed,
        "plan": answer.plan,
        "seconds": round(answer.seconds, 4),
        "interrupted": answer.interrupted,
        "outputs": [_output(output) for output in answer.outputs],
        "details": answer.details,
        "warnings": answer.warnings,
    }


def _output(output: Output) -> dict[str, Any]:
    return {
        "name": output.name,
        "estimate": output.estimate,
        "bias": output.bias,
        "standard_error": output.standard_error,
        "low": output.low,
        "high": output.high,
        "simulation_error": {
            "bias": output.bias_error,
            "standard_error": output.standard_error_error,
            "low": output.low_error,
            "high": output.high_error,
        },
    }


def _plain(value: Any) -> Any:
    """Return a value with nothing in it that JSON does not have."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value

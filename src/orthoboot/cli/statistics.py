"""Statistics and metrics by their names on the command line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from orthoboot.errors import ArgumentError

Columns = Literal["each", "pair", "all", "labels"]
"""Whether a statistic takes every column by itself, two of them, all together, or one of labels."""


@dataclass(frozen=True)
class Entry:
    """What the command line knows of a statistic without importing it.

    Attributes
    ----------
    columns
        Of how many columns it is.
    parameter
        The argument of the function that makes it, where there is one.
    in_pieces
        Whether it can be computed from rows that are read part by part.
    """

    columns: Columns = "each"
    parameter: str | None = None
    in_pieces: bool = True


STATISTICS = {
    "mean": Entry(),
    "median": Entry(),
    "quantile": Entry(parameter="q"),
    "trimmed_mean": Entry(parameter="p", in_pieces=False),
    "std": Entry(),
    "variance": Entry(),
    "skewness": Entry(),
    "kurtosis": Entry(),
    "gini": Entry(in_pieces=False),
    "entropy": Entry("labels", in_pieces=False),
    "norm_of_mean": Entry("all", parameter="power"),
    "correlation": Entry("pair"),
    "covariance": Entry("pair"),
    "ratio": Entry("pair"),
    "spearman": Entry("pair", in_pieces=False),
    "kendall": Entry("pair", in_pieces=False),
    "covariance_matrix": Entry("all"),
}
METRICS = ("roc_auc", "accuracy", "precision", "recall", "f1", "log_loss", "brier", "rmse", "mae", "r2")
"""Of two columns: what was observed, and what was predicted."""

OF_CLASSES = ("roc_auc", "accuracy", "precision", "recall", "f1", "log_loss", "brier")
"""Metrics of classes; the others are of numbers."""

OF_LABELS = ("accuracy", "precision", "recall", "f1")
"""Metrics of predicted labels; the others take scores, probabilities or numbers."""


@dataclass(frozen=True)
class Statistic:
    """A statistic as it was asked for, such as ``quantile:0.9``."""

    name: str
    options: dict[str, float]

    @property
    def entry(self) -> Entry:
        """Return what is known of it."""
        return STATISTICS[self.name]

    def functional(self) -> Any:
        """Return the statistic of the catalogue."""
        from orthoboot import functionals

        options = dict(self.options)
        found = getattr(functionals, self.name)
        if self.entry.parameter is not None:
            found = found(options.pop(self.entry.parameter))
        return found.replace(**options) if options else found


def statistics_of(listed: str, parameters: Sequence[str]) -> list[Statistic]:
    """Return the statistics of a list with commas, checked, each with the options that were given for all.

    Examples
    --------
    >>> statistics_of("median,quantile:0.9", [])
    [Statistic(name='median', options={}), Statistic(name='quantile', options={'q': 0.9})]
    """
    shared = dict(_option(parameter) for parameter in parameters)
    found = [_statistic(one.strip(), shared) for one in listed.split(",") if one.strip()]
    if not found:
        raise ArgumentError(f"`--statistic` must name a statistic: {', '.join(STATISTICS)}.")
    return found


def metrics_of(listed: str) -> list[str]:
    """Return the metrics of a list with commas, checked."""
    names = [name.strip() for name in listed.split(",") if name.strip()]
    for name in names or [""]:
        if name not in METRICS:
            raise ArgumentError(_unknown("--metric", name, METRICS, "statistic" if name in STATISTICS else None))
    return names


def _statistic(written: str, shared: dict[str, float]) -> Statistic:
    name, _, value = written.partition(":")
    if name not in STATISTICS:
        raise ArgumentError(_unknown("--statistic", name, STATISTICS, "metric" if name in METRICS else None))
    parameter, options = STATISTICS[name].parameter, dict(shared)
    if value:
        if parameter is None:
            raise ArgumentError(f"`--statistic {name}` takes no number after a colon; got {written!r}.")
        options[parameter] = _number(written, value)
    if parameter is not None and parameter not in options:
        raise ArgumentError(f"`--statistic {name}` needs a number after a colon, such as {name}:{_example(name)}.")
    return Statistic(name, options)


def _example(name: str) -> str:
    return {"quantile": "0.9", "trimmed_mean": "0.1"}.get(name, "2")


def _option(parameter: str) -> tuple[str, float]:
    name, sign, value = parameter.partition("=")
    if not sign:
        raise ArgumentError(f"`--parameter` must be NAME=NUMBER, such as ddof=1; got {parameter!r}.")
    return name.strip(), _number(parameter, value)


def _number(written: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise ArgumentError(f"{value!r} in {written!r} must be a number.") from None
    return int(number) if number.is_integer() else number


def _unknown(option: str, name: str, known: Sequence[str] | dict[str, Entry], other: str | None) -> str:
    if other == "metric":
        return f"{name!r} is a metric of predictions: `orthoboot metric FILE --truth y --score p --metric {name}`."
    if other == "statistic":
        return f"{name!r} is a statistic of columns: `orthoboot ci FILE --statistic {name}`."
    close = difflib.get_close_matches(name.lower(), list(known), n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    return f"`{option}` must be one of {', '.join(known)}; got {name!r}.{hint}"

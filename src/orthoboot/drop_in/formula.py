"""Formulas: statistics of the user's as functions of statistics that the catalogue computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orthoboot.drop_in.expressions import Evaluated, SampleSymbol, Symbol, Term, Trace
from orthoboot.drop_in.stand_ins import with_stand_ins
from orthoboot.functionals import Functional, recognized
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
class Formula:
    """A statistic as a function of statistics of the catalogue.

    Attributes
    ----------
    terms
        These statistics, and the samples that each of them is of.
    evaluated
        Its value, from theirs.
    by_user
        Whether it was found by calling a function of the user's, whose values must be compared.
    """

    terms: tuple[Term, ...]
    evaluated: Evaluated
    by_user: bool = False

    @property
    def is_columnwise(self) -> bool:
        """Return whether columns of samples can be taken together, each with a value of its own."""
        return self.by_user and all(len(term.samples) == 1 for term in self.terms)


def _only(values: Any) -> FloatArray:
    (value,) = values
    return value  # type: ignore[no-any-return]


def formula_of(
    statistic: Any, n_samples: int, *, row_axes: frozenset[int | None], options: dict[str, Any]
) -> Formula | None:
    """Return what `statistic` computes, or None where the catalogue does not have it.

    A `Functional` is a formula of its own. A function is called once with symbols in the place of its samples: means,
    variances, standard deviations, medians, quantiles, skewnesses, kurtoses and correlations of whole samples, and
    arithmetic with them, are followed. Anything else that it does with a sample, such as asking for its shape or a
    comparison, is not.

    Parameters
    ----------
    statistic
        A function of the samples, or a `Functional`.
    n_samples
        How many samples it takes.
    row_axes
        Which values of `axis` inside of it mean the axis of the rows.
    options
        Keyword arguments of the call.

    Examples
    --------
    >>> import numpy as np
    >>> found = formula_of(lambda x, y: x.mean() / np.std(y), 2, row_axes=frozenset({None}), options={})
    >>> found.terms
    (Term(functional=Mean(), samples=(0,)), Term(functional=StandardDeviation(ddof=0), samples=(1,)))
    >>> formula_of(lambda x: x[0], 1, row_axes=frozenset({None}), options={}) is None
    True
    """
    if isinstance(statistic, Functional):
        return Formula((Term(statistic, tuple(range(n_samples))),), _only)
    known = recognized(statistic)
    if known is not None and n_samples == 1:
        return Formula((Term(known, (0,)),), _only, by_user=True)
    return _traced(statistic, n_samples, Trace(row_axes), options) if callable(statistic) else None


def _traced(statistic: Callable[..., Any], n_samples: int, trace: Trace, options: dict[str, Any]) -> Formula | None:
    samples = [SampleSymbol(trace, number) for number in range(n_samples)]
    try:
        value = with_stand_ins(statistic)(*samples, **options)
    except Exception:  # the user's function may raise anything at a symbol
        return None
    if trace.is_refused or not trace.terms or not isinstance(value, Symbol):
        return None
    return Formula(tuple(trace.terms), value.evaluated, by_user=True)

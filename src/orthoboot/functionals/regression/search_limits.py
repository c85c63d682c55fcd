"""When a fit is found, when it is given up, and in words why there is none; alike for rows in memory and in pieces."""

from __future__ import annotations

from orthoboot.errors import DataError, OrthobootWarning
from orthoboot.functionals.metrics.classification import few_rows
from orthoboot.functionals.regression.families import ResponseProblem

LARGEST_TRACE = 20_000_000_000
"""Multiplications up to which the second-order bias is summed column by column: some seconds."""
WELL_CONDITIONED = 1e-6
"""Reciprocal condition of the cross products from which on solving them keeps at least ten digits."""
STEP = 1e-10
"""From linear predictors that would change by no more than this share of themselves the next step is the last one."""
MAX_ITERATIONS = 60
REGULAR = 1e-14
"""Reciprocal condition of a Hessian below which it is singular but for rounding."""
RUNNING_AWAY = 0.01
"""A last step that still changes the linear predictor of a row at the edge by so much is on its way to infinity."""


def no_fit(n_edge: int, n_rows: int, link: str) -> str:
    """Return why a search found no fit, given how many of the rows have a fitted mean at the end of its range."""
    if n_edge:
        return (
            f"the coefficients diverge, and the fitted mean of {n_edge} of {n_rows} rows reaches the end "
            "of its range. Likely causes: perfect separation, where a combination of the columns predicts these "
            "responses without error; a rare category in which all responses are the same; many columns for few "
            "rows. Drop or merge such columns, or use a penalised fit"
        )
    return (
        f"no minimum was found in {MAX_ITERATIONS} steps. Likely causes: a best fit at the border of what the "
        f"link {link!r} allows; outliers; columns that are nearly dependent. Try another link, and "
        "centre or drop columns"
    )


def no_start(link: str) -> str:
    """Return why a search cannot begin."""
    return (
        f"no start was found: none of the coefficients tried is one for which the link {link!r} gives "
        "a possible mean to every row. Use the log link for positive means, or add an intercept"
    )


def refused_responses(
    name: str, family: str, problem: ResponseProblem, n_broken: int, first: int, response: float
) -> DataError:
    """Return the error for responses that the family does not have."""
    return DataError(
        f"`{name}` with family {family!r} takes {problem.rule}; got {n_broken} other(s), the first in row {first} "
        f"(counted from 0): {response:g}. {problem.advice}"
    )


def degenerate_responses(name: str, degeneracy: str) -> DataError:
    """Return the error for responses of all rows that have no finite fit."""
    return DataError(f"`{name}` has no fit on these data: {degeneracy}. Check the response, or get more rows.")


def few_of_a_class(name: str, n_positive: int, n_negative: int) -> tuple[OrthobootWarning, ...]:
    """Return a warning if one of two classes has few rows."""
    which = "are positive" if n_positive <= n_negative else "are negative"
    return few_rows(name, min(n_positive, n_negative), which)

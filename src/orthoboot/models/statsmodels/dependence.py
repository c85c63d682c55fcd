"""Resampling plan implied by the `cov_type` of a statsmodels fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.errors import ArgumentError
from orthoboot.models.statsmodels.coefficients import repetitions

_INDEPENDENT = ("nonrobust", "HC0", "HC1", "HC2", "HC3", "H1", "H2", "H3", "fixed scale")
"""Covariances for rows that do not depend on one another; the last three are those of RLM."""

_ROW_BY_ROW = 'To draw row by row nevertheless fit it with cov_type="HC0".'


def plan_options(result: Any) -> dict[str, Any]:
    """Return the options of the plan that draws rows as the fit takes them to depend on one another.

    For cov_type="cluster" its groups; none where rows are independent. Raise an `ArgumentError` where the fit allows
    for a dependence of which only the user knows how to draw it.
    """
    kind = getattr(result, "cov_type", "nonrobust")
    if kind in _INDEPENDENT:
        return {}
    if kind == "cluster":
        return {"groups": _groups(result)}
    details = result.cov_kwds
    if details.get("groups") is not None:
        raise ArgumentError(
            f"this fit has cov_type={kind!r}, so its rows are dependent, which drawing them one by one would "
            f"ignore. Draw whole groups, `groups=` with one label per row. {_ROW_BY_ROW}"
        )
    lags = details.get("maxlags")
    example = "" if lags is None else f", longer than its {lags} lags, such as `block_length={_block_length(lags)}`"
    raise ArgumentError(
        f"this fit has cov_type={kind!r}, so its rows are dependent, which drawing them one by one would "
        f"ignore. Draw blocks of rows in time order, `block_length=`{example}. {_ROW_BY_ROW}"
    )


def _groups(result: Any) -> Any:
    groups = np.asarray(result.cov_kwds["groups"])
    if groups.ndim == 2 and groups.shape[1] == 1:
        groups = groups[:, 0]
    if groups.ndim > 1:
        raise ArgumentError(
            f"this fit is clustered in {groups.shape[1]} ways at once, and a resample draws one kind of groups. Pass "
            f"`groups=` with one label per row; the clustering with the fewest groups is the safest. {_ROW_BY_ROW}"
        )
    times = repetitions(result.model) if hasattr(result.model, "freq_weights") else None
    return groups if times is None else np.repeat(groups, times.astype(np.int64))


def _block_length(lags: int) -> int:
    """Return a length within which rows that far apart are together half of the time."""
    return 2 * max(int(lags), 1)

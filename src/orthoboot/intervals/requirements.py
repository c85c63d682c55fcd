"""Whether an interval can be made of a run that is done."""

from __future__ import annotations

from orthoboot.arguments import too_few_replicates
from orthoboot.errors import ArgumentError
from orthoboot.estimators import Estimator
from orthoboot.influence import check_of_resamples, not_of_resamples
from orthoboot.intervals.base import Interval
from orthoboot.intervals.laws.views import LARGEST_LAW, is_beyond_law
from orthoboot.intervals.percentile_family import LEAST_STANDARD
from orthoboot.run import Run


def check_interval(interval: Interval, estimator: Estimator, run: Run, n_drawn: int) -> None:
    """Raise unless the method is sound for the estimator and the number of replicates that were drawn."""
    interval.check(run.functional, run.plan, estimator)
    if interval.needs_linear_law and estimator.needs_influence and n_drawn < LEAST_STANDARD and is_beyond_law(run):
        raise ArgumentError(
            f"method={interval.name!r} of fewer than {LEAST_STANDARD} replicates needs the influence of every row at "
            f"once, which is held for at most {LARGEST_LAW:,} rows where they are read part by part; there are "
            f'{n_drawn} replicates of {sum(run.data.sizes):,} rows. Use method="abc", or `extend` the result first.'
        )
    least = interval.least_resamples(estimator)
    if n_drawn < least:
        asker = f"method={interval.name!r} with estimator={estimator.name!r}"
        advice = " ".join(filter(None, (interval.why_many, "`extend` the result first, or use another method.")))
        raise ArgumentError(too_few_replicates(asker, least, f"there are {n_drawn}", advice))


def check_resamples(interval: Interval, run: Run) -> None:
    """Raise unless every resample has an influence function of its own that costs no evaluations."""
    asker = f"method={interval.name!r}"
    if run.data.is_in_pieces:
        raise ArgumentError(
            f"{asker} needs all rows at once, and these are read part by part. Use another method, or load the rows "
            "into memory first, if they fit."
        )
    if run.influence is None:
        check_of_resamples(asker, "auto", run.prepared)
    elif run.influence_function.of_rows is None:
        raise not_of_resamples(asker, f"that of the run is for the data alone: {run.influence_source}")

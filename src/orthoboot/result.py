"""The result of a bootstrap, with further intervals and estimators from the same replicates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orthoboot.arguments import (
    checked_alternative,
    checked_confidence_level,
    checked_count,
    checked_flag,
    checked_name,
    is_real,
    too_few_replicates,
)
from orthoboot.errors import (
    ArgumentError,
    InfluenceError,
    OrthobootWarning,
    StatisticError,
    emit,
)
from orthoboot.estimators import ESTIMATORS, Estimator, r_squared, slope
from orthoboot.estimators.diagnostics import diagnosed
from orthoboot.estimators.estimation import Estimation
from orthoboot.intervals import INTERVALS, Ends
from orthoboot.intervals.requirements import check_interval, check_resamples
from orthoboot.intervals.significance import significance
from orthoboot.presentation import summary as summaries
from orthoboot.presentation.export import frame, jsonable
from orthoboot.presentation.wording import shortened
from orthoboot.replicates import Replicates, extended, relinearized
from orthoboot.run import Run
from orthoboot.typing import FloatArray, Value

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_LARGEST_COVARIANCE = 500
"""Outputs up to which `to_dict` includes their covariance matrix by default: five megabytes of JSON."""


class ConfidenceInterval(NamedTuple):
    """The two ends of an interval, each in the shape of the statistic."""

    low: Value
    high: Value


class SimulationError(NamedTuple):
    """Simulation errors, each in the shape of the statistic: what another seed would change.

    They are standard deviations over seeds. Those of the bias and the ends are widened if they come from few
    replicates, so that three of them make a safe bound.
    """

    bias: Value
    standard_error: Value
    low: Value
    high: Value


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """The result of a bootstrap: estimates, intervals, simulation errors and warnings.

    Numbers have the shape of the statistic: a float, an array, or a dict of these. Arrays are copies.

    Attributes
    ----------
    run
        The statistic at its data, the plan and the seed.
    replicates
        The simulated replicates.
    estimator, method, confidence_level, alternative, simultaneous
        The options of the estimate and the interval.
    warnings
        All warnings of the run, its replicates and its interval.
    standing
        The warnings that remain however many replicates are added: those about the influence function, or about the
        fallback used in its place.
    """

    run: Run
    replicates: Replicates
    estimator: str
    method: str
    confidence_level: float
    alternative: str
    warnings: tuple[OrthobootWarning, ...] = field(default=())
    standing: tuple[OrthobootWarning, ...] = field(default=())
    simultaneous: bool = field(default=False, kw_only=True)

    # Estimates

    @property
    def estimate(self) -> Value:
        """Return phi_hat, the statistic on the data."""
        return self._packed(self.replicates.estimate)

    @property
    def bias(self) -> Value:
        """Return the estimated bias of the statistic."""
        return self._packed(self._estimation.bias)

    @property
    def debiased(self) -> Value:
        """Return ``estimate - bias`` (``eq:debiasestimator``)."""
        return self._packed(self.replicates.estimate - self._estimation.bias)

    @property
    def standard_error(self) -> Value:
        """Return the square root of the variance."""
        return self._packed(self._estimation.standard_error)

    @property
    def variance(self) -> Value:
        """Return the variance of the statistic under resampling (``eq:varianceestimator`` for "paper")."""
        return self._packed(self._estimation.variance)

    @property
    def covariance(self) -> FloatArray:
        """Return the covariance matrix of the k outputs, shape ``(k, k)``."""
        return self._estimation.covariance.copy()

    @property
    def confidence_interval(self) -> ConfidenceInterval:
        """Return the interval that was requested, with fields `low` and `high`."""
        return ConfidenceInterval(self._packed(self._ends.low), self._packed(self._ends.high))

    @property
    def interval_method(self) -> str:
        """Return the method of the interval: the requested one, or the one that "auto" chose."""
        return self._ends.method

    @property
    def interval_reason(self) -> str:
        """Return why "auto" chose the method; empty if the method was requested."""
        return self._ends.reason

    # Diagnostics

    @property
    def simulation_error(self) -> SimulationError:
        """Return the simulation errors, with fields `bias`, `standard_error`, `low` and `high`."""
        estimation = self._estimation
        errors = (
            estimation.error.bias,
            estimation.standard_error_error,
            self._ends.low_error,
            self._ends.high_error,
        )
        return SimulationError(*(self._packed(error) for error in errors))

    @property
    def equivalent_resamples(self) -> Value:
        """Return the number of ordinary replicates that give the variance with the same relative simulation error."""
        return self._packed(self._estimation.error.equivalent_resamples)

    @property
    def r_squared(self) -> Value:
        """Return the share of the variance between replicates that their control explains; NaN if unknown."""
        if self.replicates.linear is None or len(self.replicates) < 2:
            return self._packed(np.full_like(self.replicates.estimate, np.nan))
        return self._packed(r_squared(self._estimation.moments))

    @property
    def slope(self) -> Value:
        """Return the shrunken slope of the replicates on their control; one if the control has the right scale."""
        if self.replicates.linear is None:
            return self._packed(np.full_like(self.replicates.estimate, np.nan))
        return self._packed(slope(self._estimation.moments))

    @property
    def n_resamples(self) -> int:
        """Return the number of replicates used."""
        return len(self.replicates)

    @property
    def n_failed(self) -> int:
        """Return the number of replicates that raised or were not finite, and were left out."""
        return self.replicates.n_failed

    # Details

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the k outputs."""
        return self.run.output.names

    @property
    def bootstrap_distribution(self) -> Value:
        """Return phi_b with the replicates on the last axis, as scipy does."""
        return self._packed(self.replicates.values.T)

    @property
    def linear_distribution(self) -> Value | None:
        """Return linear_b, centred at its exact mean, with the replicates on the last axis; None without influence."""
        return None if self.replicates.linear is None else self._packed(self.replicates.linear.T)

    @property
    def influence(self) -> Value:
        """Return the influence values: ``(n,)`` or ``(n, k)``, a tuple of these for several samples, or None."""
        if self.run.influence is None:
            return None
        scalar = self.run.output.is_scalar
        parts = tuple((np.array(values)[:, 0] if scalar else np.array(values)) for values in self.run.influence)
        return parts[0] if len(parts) == 1 else parts

    @property
    def influence_source(self) -> str:
        """Return which influence function was used, and why."""
        return self.run.influence_source

    @property
    def block_length(self) -> int | tuple[int | None, ...] | None:
        """Return the number of rows in a block, the mean for stationary blocks; None without blocks.

        For several samples a tuple, with None for those that are drawn row by row.
        """
        lengths = self.run.plan.block_lengths
        if all(length is None for length in lengths):
            return None
        return lengths[0] if len(lengths) == 1 else lengths

    @property
    def control(self) -> str:
        """Return the control of the replicates: "linear", "quadratic" or "surrogate"; "none" without one."""
        return self._estimation.control_name

    @property
    def control_share(self) -> Value:
        """Return the weight of a control beyond the linear part, from 0 to 1, for each output; 0 without one."""
        moments = self._estimation.moments
        share = np.zeros_like(self.replicates.estimate) if moments.by_linear is None else moments.control_share
        return self._packed(share)

    @property
    def jackknife_variance(self) -> Value:
        """Return V, the variance of the infinitesimal jackknife: the exact variance of the linear part."""
        variance = self.run.linear_variance
        return self._packed(np.full_like(self.replicates.estimate, np.nan) if variance is None else variance)

    # Further answers

    def interval(
        self,
        confidence_level: float | None = None,
        method: str | None = None,
        alternative: str | None = None,
        *,
        simultaneous: bool | None = None,
    ) -> ConfidenceInterval:
        """Return another interval from the same replicates; arguments default to those of the run.

        Parameters
        ----------
        confidence_level
            In (0, 1).
        method
            "auto", "normal", "t", "abc", "percentile", "basic", "bca" or "studentized". Each needs as many replicates
            as in `bootstrap`. "studentized" draws the resamples again and computes the influence function of each.
        alternative
            "two-sided"; "less" for an upper bound, "greater" for a lower bound.
        simultaneous
            Whether the intervals of all outputs hold jointly with `confidence_level`, as in `bootstrap`.
        """
        asked = self._asked(confidence_level, method, alternative, simultaneous)
        for warning in asked._ends.warnings:
            emit(warning)
        return asked.confidence_interval

    def pvalue(self, null: Any = 0.0, alternative: str | None = None, *, method: str | None = None) -> Value:
        """Return the p-value of the hypothesis that the parameter equals `null`, from the same replicates.

        It is the smallest alpha for which the interval of level ``1 - alpha`` excludes `null`: in closed form for
        "normal" and "t", by bisection of the level for the others. For simultaneous intervals it is adjusted for the
        number of outputs. If the ends are quantiles of the replicates, the smallest one-sided p-value is 1/(B + 1); a
        p-value at such a limit comes with a warning. ABC takes about fifty more evaluations.

        The data are resampled as they are, not under the hypothesis; for two samples `permutation_test` does that.

        Parameters
        ----------
        null
            A number for all outputs, or a value in the shape of the statistic.
        alternative
            "two-sided"; "less": the parameter is less than `null`; "greater": it is greater. As in scipy, the test
            "less" belongs to the interval "less", which has an upper bound: it rejects if that bound is below `null`.
            None for that of the result.
        method
            The method of the interval to invert; that of the result by default.

        Returns
        -------
        float, array or dict
            In the shape of the statistic.

        Examples
        --------
        >>> import numpy as np
        >>> import orthoboot as ob
        >>> x = np.random.default_rng(0).normal(0.3, size=50)
        >>> result = ob.bootstrap(x, ob.mean, rng=0)
        >>> p = result.pvalue(0.0)
        >>> bool(np.isclose(result.interval(1 - p).low, 0.0))
        True
        """
        asked = self._asked(None, method, alternative, None)
        values = asked._null_values(null)
        found = significance(
            INTERVALS[asked.method],
            asked._estimation,
            values,
            asked.alternative,
            simultaneous=asked.simultaneous,
        )
        for warning in found.warnings:
            emit(warning)
        return self._packed(found.pvalues)

    def _null_values(self, null: Any) -> FloatArray:
        """Return the values of a hypothesis, checked, shape ``(k,)``."""
        try:
            given = np.full(len(self.names), float(null)) if is_real(null) else self.run.output.flatten(null)
        except StatisticError:
            given = np.full(1, np.nan)
        if not np.isfinite(given).all():
            raise ArgumentError(
                f"`null` must be a finite number, or finite numbers in the shape of `estimate`; got {null!r}. Use 0.0 "
                "for no effect."
            )
        return given

    def _asked(
        self, confidence_level: float | None, method: str | None, alternative: str | None, simultaneous: bool | None
    ) -> Result:
        """Return the result with other settings of its interval, checked; None keeps a setting."""
        changes: dict[str, Any] = {}
        if confidence_level is not None:
            changes["confidence_level"] = checked_confidence_level(confidence_level)
        if method is not None:
            changes["method"] = checked_name("method", method, INTERVALS)
        if alternative is not None:
            changes["alternative"] = checked_alternative(alternative)
        if simultaneous is not None:
            changes["simultaneous"] = checked_flag("simultaneous", simultaneous)
        asked = replace(self, **changes)
        # The estimation does not change; its control need not be found again.
        vars(asked)["_estimation"] = self._estimation
        interval = INTERVALS[asked.method]
        if method is not None:
            check_interval(interval, ESTIMATORS[asked.estimator], asked.run, asked.replicates.n_drawn)
        if interval.needs_influence_of_resamples:
            check_resamples(interval, asked.run)
        if interval.needs_influence:
            asked = asked._with_influence(f"method={asked.method!r}")
        return asked

    def with_estimator(self, estimator: str, replicates: slice = slice(None)) -> Result:
        """Return the result of another estimator from the same replicates, or from some of them.

        Parameters
        ----------
        estimator
            "orthogonal", "paper", "standard", "cheap" or "jackknife". If it needs an influence function and the run has
            none, one is found as with ``influence="auto"``.
        replicates
            Which of the successful replicates to use, all by default. Replicate b depends only on the seed and b, so
            that ``slice(5)`` gives the result of a run with five, if none of these fails and the influence function is
            not fitted to the replicates.

        Examples
        --------
        >>> import numpy as np
        >>> import orthoboot as ob
        >>> x = np.random.default_rng(0).exponential(size=1000)
        >>> result = ob.bootstrap(x, ob.variance, n_resamples=100, rng=0)
        >>> first = result.with_estimator("orthogonal", slice(20))
        >>> first.variance == ob.bootstrap(x, ob.variance, n_resamples=20, rng=0).variance
        True
        """
        chosen = ESTIMATORS[checked_name("estimator", estimator, ESTIMATORS)]
        some = replace(self, replicates=self.replicates.among(_checked_slice(replicates)))
        _check_enough(chosen, len(some.replicates), len(self.replicates))
        check_interval(INTERVALS[some.method], chosen, some.run, some.replicates.n_drawn)
        base = some._with_influence(f"estimator={estimator!r}") if chosen.needs_influence else some
        if chosen.uses_control:
            base = replace(base, run=base.run.with_control())
        standing = base.run.influence_function.warnings if chosen.needs_influence else ()
        return base._reported_anew(estimator=estimator, standing=standing)

    def extend(self, n_resamples: int) -> Result:
        """Return the result with more replicates; adding ten twice is the same as adding twenty.

        Parameters
        ----------
        n_resamples
            Number of replicates to add.
        """
        more = checked_count("n_resamples", n_resamples, least=1)
        return self._reported_anew(replicates=extended(self.run, self.replicates, more, self._progress_note))

    def summary(self) -> str:
        """Return a text summary: estimate, bias, standard error, interval, simulation errors and warnings."""
        return summaries.text(self._answer)

    def plot(self, kind: str = "interval", ax: Axes | None = None, *, output: str | int | None = None) -> Axes:
        """Draw the result with matplotlib, and return the axes.

        Parameters
        ----------
        kind
            "interval": the interval, with the simulation errors of its ends. "convergence": the standard error against
            the number of replicates, with that of the standard bootstrap from the same ones. "control": the replicates
            against their control, with the slope. "influence": the influence of every row, with labels for the ten
            largest. "forest": the intervals of all outputs. "distribution": the replicates, with a normal density.
        ax
            The axes to draw into, in their own style; None for a new pyplot figure.
        output
            The name or the number of the output to show, if there are several; the first by default.

        Examples
        --------
        >>> import numpy as np
        >>> import orthoboot as ob
        >>> x = np.random.default_rng(0).exponential(size=100)
        >>> axes = ob.bootstrap(x, ob.variance, rng=0).plot("convergence")
        >>> axes.get_ylabel()
        'standard error'
        """
        from orthoboot.presentation.plots.kinds import plotted_result

        axes: Axes = plotted_result(self._answer, kind, ax, output)
        return axes

    def to_html(
        self, path: str | PathLike[str], *, output: str | int | None = None, command: str | None = None
    ) -> Path:
        """Write a self-contained HTML page about the result, and return its path.

        It has the numbers, the warnings, the plots for light and dark mode (if matplotlib is installed), the most
        influential rows, the assumptions, and a program that reproduces the result.

        Parameters
        ----------
        path
            The file to write; an existing one is replaced.
        output
            The name or the number of the output to plot, if there are several; the first by default.
        command
            The shell command that made the result, shown before the program that reproduces it.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import numpy as np
        >>> import orthoboot as ob
        >>> result = ob.bootstrap(np.random.default_rng(0).exponential(size=100), ob.variance, rng=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.to_html(pathlib.Path(folder) / "variance.html").name
        'variance.html'
        """
        from orthoboot.presentation.pages.result_page import written_page

        return written_page(self._answer, path, output, command)

    def to_dict(self, *, covariance: bool | None = None) -> dict[str, Any]:
        """Return the result as a dict of Python numbers, lists and strings, ready for JSON.

        NaN and infinity become None, since JSON has neither. The keys of a statistic that returns a dict become text.
        Keys with the same text, such as 1 and "1", are numbered in order, ``"1 (1)"`` and ``"1 (2)"``, like `names`.

        Parameters
        ----------
        covariance
            Whether to include the covariance matrix, k x k numbers; None includes it for up to 500 outputs. The entry
            ``"covariance"`` is None if it is left out.
        """
        if covariance is not None and not isinstance(covariance, (bool, np.bool_)):
            raise ArgumentError(f"`covariance` must be True, False or None; got {covariance!r}.")
        with_covariance = len(self.names) <= _LARGEST_COVARIANCE if covariance is None else covariance
        fields: dict[str, Any] = {
            "names": self.names,
            "estimate": self.estimate,
            "bias": self.bias,
            "debiased": self.debiased,
            "standard_error": self.standard_error,
            "variance": self.variance,
            "confidence_interval": self.confidence_interval._asdict(),
            "confidence_level": self.confidence_level,
            "method": self.interval_method,
            "alternative": self.alternative,
            "simultaneous": self.simultaneous,
            "estimator": self.estimator,
            "simulation_error": self.simulation_error._asdict(),
            "equivalent_resamples": self.equivalent_resamples,
            "r_squared": self.r_squared,
            "slope": self.slope,
            "jackknife_variance": self.jackknife_variance,
            "covariance": self.covariance if with_covariance else None,
            "plan": self.run.plan.description,
            "block_length": self.block_length,
            "n_resamples": self.n_resamples,
            "n_failed": self.n_failed,
            "influence_source": self.influence_source,
            "control": self.control,
            "control_share": self.control_share,
            "warnings": [str(warning) for warning in self.warnings],
        }
        return {name: jsonable(value) for name, value in fields.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with one row per output."""
        return frame(self._answer)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        rest = f"n_resamples={self.n_resamples}, estimator={self.estimator!r})"
        if len(self.names) > 1:
            return f"Result({len(self.names)} outputs: {shortened(', '.join(self.names))}; {rest}"
        shown = {
            "estimate": self.replicates.estimate,
            "standard_error": self._estimation.standard_error,
            "low": self._ends.low,
            "high": self._ends.high,
        }
        return f"Result({', '.join(f'{name}={value[0]:.6g}' for name, value in shown.items())}, {rest}"

    def _repr_html_(self) -> str:
        from orthoboot.presentation.pages.notebook import notebook_html
        from orthoboot.presentation.plots.interval import INTERVAL

        answer = self._answer
        return notebook_html(answer, summaries.table(answer), INTERVAL)

    @cached_property
    def _estimation(self) -> Estimation:
        return Estimation(self.run, self.replicates, ESTIMATORS[self.estimator])

    @cached_property
    def _ends(self) -> Ends:
        return INTERVALS[self.method].interval(
            self._estimation, self.confidence_level, self.alternative, simultaneous=self.simultaneous
        )

    @property
    def _answer(self) -> summaries.Answer:
        return summaries.Answer(
            self._estimation,
            self._ends,
            self.confidence_level,
            self.warnings,
            simultaneous=self.simultaneous,
            alternative=self.alternative,
            method=self.method,
        )

    def _packed(self, flat: FloatArray) -> Value:
        return self.run.output.pack(flat)

    def _with_influence(self, asker: str) -> Result:
        """Return the result with the linear part of each replicate; the resamples are not evaluated again."""
        if self.run.influence is not None:
            return self
        found = self.run.find_influence("auto")
        if found.values is None:
            raise InfluenceError(
                f"{asker} needs an influence function, and there is {found.source}. Run again with `influence=`: an "
                "engine by name, an array, or a function of the samples."
            )
        run = self.run.with_influence(found)
        return replace(self, run=run, replicates=relinearized(run, self.replicates))

    def _reported_anew(self, **changes: Any) -> Result:
        """Return the result with `changes` and its warnings; earlier ones are not shown again."""
        return reported(replace(self, **changes), shown=self.warnings)

    def _progress_note(self, replicates: Replicates) -> str:
        return progress_note(self.run, ESTIMATORS[self.estimator], replicates)


def progress_note(run: Run, estimator: Estimator, replicates: Replicates) -> str:
    """Return the relative simulation error of the standard error so far, for the progress bar."""
    if len(replicates) <= max(estimator.minimum, 2) or not estimator.simulates:
        return ""
    error = float(np.max(Estimation(run, replicates, estimator).error.relative_standard_error))
    return f"std. error ± {error:.1%}" if np.isfinite(error) else ""


def reported(
    result: Result, more: tuple[OrthobootWarning, ...] = (), shown: tuple[OrthobootWarning, ...] = ()
) -> Result:
    """Return `result` with all its warnings, each shown once to the user.

    Parameters
    ----------
    more
        Warnings of this call beyond those of the run, the replicates and the interval.
    shown
        Warnings that the user has already seen; they are not shown again.
    """
    if not ESTIMATORS[result.estimator].simulates and result.replicates.second_order_bias is None:
        bias = result.run.second_order_bias
        result = replace(result, replicates=replace(result.replicates, second_order_bias=bias))
    estimation, ends = result._estimation, result._ends
    standing = (*result.run.findings(result.replicates.convergence), *result.standing)
    seen = {(type(warning), str(warning)) for warning in shown}
    new = [warning for warning in standing if (type(warning), str(warning)) not in seen]
    of_answer = (*more, *diagnosed(estimation), *ends.warnings)
    for warning in (*new, *of_answer):
        emit(warning)
    answer = replace(result, warnings=(*standing, *of_answer))
    # Keep what is computed already, so that printing need not compute it again.
    vars(answer).update(_estimation=estimation, _ends=ends)
    return answer


def _checked_slice(replicates: Any) -> slice:
    """Return the slice of replicates, checked."""
    try:
        if isinstance(replicates, slice):
            replicates.indices(0)
            return replicates
    except (TypeError, ValueError):  # limits that are no whole numbers, or a step of zero
        pass
    raise ArgumentError(f"`replicates` must be a slice, such as `slice(5)` for the first five; got {replicates!r}.")


def _check_enough(estimator: Estimator, n_chosen: int, n_resamples: int) -> None:
    if n_chosen < estimator.minimum:
        enough = n_resamples >= estimator.minimum
        there_are = f"`replicates` chooses {n_chosen} of {n_resamples}" if enough else f"there are {n_resamples}"
        advice = "Choose more." if enough else "`extend` the result first."
        raise ArgumentError(too_few_replicates(f"estimator={estimator.name!r}", estimator.minimum, there_are, advice))

"""Which law the outputs of a run have: that of a control on its replicates, or none but theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orthoboot.controls.base import ControlValues, without_groups
from orthoboot.data.pieces import as_pieces, held
from orthoboot.estimators import r_squared
from orthoboot.estimators.estimation import Estimation
from orthoboot.intervals.laws.control import ControlDistribution, Law
from orthoboot.intervals.laws.drawn import DrawnDistribution, OrderedDraws
from orthoboot.intervals.laws.replicated import EmpiricalDistribution
from orthoboot.intervals.laws.saddlepoint import LinearDistribution
from orthoboot.plans import Draws, Iid, Scheme
from orthoboot.plans.strata.stratified_in_pieces import StratifiedInPieces
from orthoboot.run import Run
from orthoboot.typing import BoolArray, FloatArray, IntArray

MANY = 1000
"""So many replicates have the tails themselves, where a control does not fit."""

LARGEST_LAW = 100_000
"""Rows beyond which their linear part is normal for all that intervals show, and its law takes long to find."""

_LEAST_FITTING = 0.5
"""The least r_squared of a control that many replicates follow."""

_COMPARED = np.array([0.025, 0.1, 0.5, 0.9, 0.975])
"""Levels at which the law by a control is compared with the replicates."""

_MOST_OFF = 3.5
"""Standard deviations by which the share of the replicates below a quantile of that law may be off.

Where it holds they are off by less than chance would have it, since the law rests on the same replicates. Beyond three
one in a hundred laws that hold was left aside, for ends with five times the error.
"""

_REACH = 2.0
"""How far out, in standard deviations, a few replicates are followed where the control itself has the tails."""


class View(NamedTuple):
    """A control on the replicates, with its law.

    Attributes
    ----------
    values
        The control, of mean zero, shape ``(B, k)``.
    law
        Its law.
    prior
        How many replicates with slope one the prior of its slope is worth.
    reach
        How far the curve of the residuals is followed.
    without_draws
        The same with each group of the draws left out that its law is known from; none if that is exact.
    """

    values: FloatArray
    law: Law
    prior: float
    reach: float = np.inf
    without_draws: tuple[View, ...] = ()


def linear_draws(estimation: Estimation) -> Sequence[Draws] | None:
    """Return the draws that the linear part is the sum of, or None to use the replicates alone."""
    run = estimation.run
    if not estimation.estimator.needs_influence or run.influence is None or not run.plan.has_draws:
        return None
    if is_beyond_law(run):
        return None
    parts = run.plan.parts(run.influence)
    return run.plan.draws(tuple(held(part) if isinstance(scheme, Iid) else part for scheme, part in parts))


def is_beyond_law(run: Run) -> bool:
    """Return whether rows are read part by part and are too many for the law of their linear part to be found."""
    if run.influence is None or not run.data.is_in_pieces:
        return False
    return any(_is_long(scheme, part) for scheme, part in run.plan.parts(run.influence))


def _is_long(scheme: Scheme, influence: FloatArray) -> bool:
    """Return whether the rows that are drawn are read part by part, and too many to be held; of groups totals are."""
    by_rows = isinstance(scheme, (Iid, StratifiedInPieces))
    return by_rows and as_pieces(influence) is not None and len(influence) > LARGEST_LAW


def _linear_law(draws: Sequence[Draws], outputs: slice) -> LinearDistribution:
    """Return the exact law of the linear part of some outputs."""
    return LinearDistribution([Draws(part.number, part.values[:, outputs]) for part in draws])


def views_of(
    estimation: Estimation, outputs: slice, draws: Sequence[Draws] | None
) -> tuple[list[View | None], IntArray]:
    """Return the controls that give some outputs their law, None for the replicates alone, and which one each takes.

    The nearer control, where the replicates need it or follow it. Decided for each output by itself.
    """
    linear, fits = estimation.replicates.linear, _fits(estimation)[outputs]
    nowhere = np.zeros(len(fits), dtype=np.int64)
    if draws is None or linear is None or not fits.any():
        return [None], nowhere
    law = _linear_law(draws, outputs)
    if len(estimation.replicates) >= MANY:
        fits = fits & ~_moves_in_steps(law)
    views = [View(linear[:, outputs], law, estimation.prior)]
    which = nowhere
    control, nearer = estimation.control_values, estimation.moments.control_is_nearer[outputs]
    if control is not None and control.law is not None and nearer.any():
        by_control = _control_view(control, outputs, law, estimation.prior)
        views = [by_control] if nearer.all() else [by_control, *views]
        which = np.where(nearer, 0, len(views) - 1)
    fits = fits & np.choose(which, [_agrees(view, estimation, outputs) for view in views])
    if not fits.any():
        return [None], nowhere
    return ([*views], which) if fits.all() else ([*views, None], np.where(fits, which, len(views)))


def _agrees(view: View, estimation: Estimation, outputs: slice) -> BoolArray:
    """Return which outputs have a law by their control that the shares of many replicates do not contradict, ``(k,)``.

    A control may move in steps, as one of zeros and ones does; its smooth law has values between them, where no
    replicate tells what it leaves.
    """
    values, estimate = estimation.replicates.values[:, outputs], estimation.estimate[outputs]
    size, k = values.shape
    if size < MANY:
        return np.ones(k, dtype=bool)
    distribution = ControlDistribution(estimate, values, view.values, view.law, view.reach, view.prior)
    levels = np.broadcast_to(_COMPARED[:, np.newaxis], (len(_COMPARED), k))
    shares = EmpiricalDistribution(values).cdf(distribution.quantile(levels))
    off = np.abs(shares - levels) / np.sqrt(levels * (1 - levels) / size)
    return np.asarray((off <= _MOST_OFF).all(axis=0))


def _fits(estimation: Estimation) -> BoolArray:
    """Return which outputs need the law of their control, or follow it: many replicates do without, shape ``(k,)``."""
    run = estimation.run
    if len(estimation.replicates) < MANY or run.influence is None:
        return np.ones(len(estimation.estimate), dtype=bool)
    return np.asarray(run.functional.smooth & (r_squared(estimation.moments) >= _LEAST_FITTING))


def _moves_in_steps(law: LinearDistribution) -> BoolArray:
    """Return for which outputs one or two rows carry a sum, shape ``(k,)``: its law has steps, and no smooth density.

    The first row has more of the variance than all others together, or the second more than all others but these two.
    """
    squares = [part.number / len(part.values) * np.square(part.values - part.values.mean(axis=0)) for part in law.draws]
    largest = np.concatenate([np.partition(part, -min(2, len(part)), axis=0)[-2:] for part in squares])
    first, second = np.sort(np.concatenate([largest, np.zeros_like(largest)]), axis=0)[:-3:-1]
    return np.asarray(first + np.maximum(first, 2 * second) > law.variance)


def _control_view(control: ControlValues, outputs: slice, law: LinearDistribution, prior: float) -> View:
    """Return a control whose law is known from draws."""
    assert control.law is not None
    drawn = OrderedDraws.of(control.law.control[:, outputs], control.law.linear[:, outputs], law)
    values, mean = control.values[:, outputs], control.mean[outputs]

    def view(draws: OrderedDraws, drawn_mean: FloatArray, variance: FloatArray) -> View:
        return View(values + mean - drawn_mean, DrawnDistribution(draws, drawn_mean, variance), prior, _REACH)

    law_without = control.law.means_without[:, outputs], control.law.variances_without[:, outputs]
    groups = zip(without_groups(len(control.law.control)), *law_without, strict=True)
    without = tuple(view(drawn.some(kept), *moments) for kept, *moments in groups)
    return view(drawn, mean, control.variance[outputs])._replace(without_draws=without)

"""`fitted`: an input whose distribution is fitted to data by maximum likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from orthoboot.arguments import is_real
from orthoboot.draws.random_counts import multinomial_counts
from orthoboot.errors import ArgumentError, DataError, FitError, first_line
from orthoboot.simulators.inputs import (
    CurvatureMoments,
    DrawSums,
    FitCurvature,
    Input,
    Positions,
    UnnamedInput,
    empirical_input,
    uniform_levels,
)
from orthoboot.typing import BoolArray, FloatArray, IntArray, Key

_STEP = 1e-4
"""Relative step of the differences that give the scores and their derivatives."""
_LONGER = 100
"""Steps of third derivatives, which are differences of second ones, in those."""
_SMALLEST_SHAPE = 1e-3
"""Steps of a shape parameter do not shrink below those of this one, as where it is zero."""
_SAME_FIT = 1e-6
"""Relative difference of parameters from those of maximum likelihood."""
_IRREGULAR = 0.2
"""How far the information by second derivatives may be from that by scores, relative to it."""
_GRID, _FARTHEST = 4_001, 34.0
"""Points at which means under the fit are taken, and the logit of the outermost level."""
_OTHER_NAMES = {
    "exponential": "expon",
    "gaussian": "norm",
    "lognormal": "lognorm",
    "normal": "norm",
    "student": "t",
    "weibull": "weibull_min",
}
"""What users call distributions, and `scipy.stats` does not."""
_NEWTON_STEPS = 25
_CONVERGED = 1e-9
_CHORD_STEPS = 40


@dataclass(frozen=True, eq=False)
class _Described(UnnamedInput):
    """A family of distributions and data, before the input has a name."""

    family: Any
    data: Any
    fixed: Mapping[str, float]

    def named(self, name: str) -> Input:
        """Return the fitted input."""
        return _fitted_input(name, self.family, self.data, self.fixed)


def fitted(name: str, data: Any, **fixed: float) -> UnnamedInput:
    """Return an input of `input_uncertainty` with a distribution of `scipy.stats` fitted to data.

    The parameters are estimated by maximum likelihood, and vary over resamples. Their influence on the output is
    computed from the score functions: with s the score of a draw, the derivative of the mean output is ``E[Y sum s]``,
    and a row of the data moves the parameters by the inverse information times its own score.

    Bias and variance include the second order of the fit, but not its third. Runs under resamples fit the distribution
    again, to rows that are resampled, and include all orders. A resample to which it cannot be fitted, such as one of
    equal rows, is drawn from directly.

    Parameters
    ----------
    name
        The name of a continuous distribution of `scipy.stats`, such as "gamma", "lognorm", "weibull_min", "expon" or
        "norm", or the distribution itself.
    data
        Numbers.
    **fixed
        Parameters that are not fitted, by their names in `scipy.stats`: its shapes, `loc` and `scale`. For
        distributions on positive values, such as "gamma", `loc` is 0 by default; for those on (0, 1), such as "beta",
        `scale` is 1 too.

    Examples
    --------
    >>> import numpy as np
    >>> import orthoboot as ob
    >>> x = np.random.default_rng(0).gamma(2.0, size=200)
    >>> inputs = {"demand": ob.fitted("gamma", x)}
    >>> result = ob.input_uncertainty(lambda demand: demand.sum(axis=1), inputs, horizon=3, n_runs=200, rng=0)
    >>> bool(abs(result.input_error / (3 * x.std() / np.sqrt(200)) - 1) < 0.1)  # the mean of a gamma fit is that of x
    True
    """
    from scipy import stats

    family = getattr(stats, name, None) if isinstance(name, str) else name
    if not isinstance(family, stats.rv_continuous):
        hint = f" Did you mean {_OTHER_NAMES[name]!r}?" if isinstance(name, str) and name in _OTHER_NAMES else ""
        raise ArgumentError(
            f"`fitted` takes a continuous distribution of scipy.stats or its name, such as 'gamma'; got {name!r}.{hint}"
        )
    known = _names(family)
    for parameter, value in fixed.items():
        if parameter not in known or not is_real(value):
            raise ArgumentError(
                f"`fitted({family.name!r})` may hold fixed numbers for {', '.join(known)}; got {parameter}={value!r}."
            )
    return _Described(family, data, {key: float(value) for key, value in fixed.items()})


def _names(family: Any) -> list[str]:
    """Return the names of the parameters: shapes, loc, scale."""
    shapes = [part.strip() for part in family.shapes.split(",")] if family.shapes else []
    return [*shapes, "loc", "scale"]


@dataclass(frozen=True, eq=False)
class FittedInput(Input):
    """A distribution with parameters of maximum likelihood.

    Attributes
    ----------
    name
        Of the input.
    family
        Its name in `scipy.stats`.
    rows
        Sorted, shape ``(n,)``.
    order
        The place in the data of every sorted row.
    parameters
        Shapes, loc and scale.
    free
        Which of them are fitted.
    """

    name: str
    family: str
    rows: FloatArray
    order: IntArray
    parameters: FloatArray
    free: BoolArray

    has_rows = False

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def description(self) -> str:
        """Return the family and the number of rows that it is fitted to."""
        return f"{self.family} fitted to {self.n_rows:,} rows"

    @property
    def _law(self) -> _Law:
        return _Law(self.family, self.parameters, self.free)

    @cached_property
    def _factor(self) -> FloatArray:
        """Return the Cholesky factor of the information under the fit, shape ``(p, p)``."""
        values, weights = self._grid
        scores = self._law.scores(values)
        scores = scores - weights @ scores
        return np.asarray(np.linalg.cholesky((scores.T * weights) @ scores), dtype=np.float64)

    @property
    def is_regular(self) -> bool:
        """Return whether the two forms of the information agree under the fit, as they do for smooth densities.

        For a density with a kink, as that of "laplace", the second derivatives miss what is at the kink.
        """
        values, weights = self._grid
        _, curved = self._standardised(values)
        difference = np.einsum("n,nkl->kl", weights, curved) - np.eye(len(self._factor))
        return bool(np.abs(difference).max() < _IRREGULAR)

    @cached_property
    def _grid(self) -> tuple[FloatArray, FloatArray]:
        """Return values and weights of a sum that is the mean under the fit, by the trapezoid rule in the logit."""
        logits = np.linspace(-_FARTHEST, _FARTHEST, _GRID)
        lower, upper = expit(logits), expit(-logits)
        weights = lower * upper
        values = np.where(logits < 0, self._law.quantiles(lower), self._law.upper_quantiles(upper))
        usable = np.isfinite(self._law.log_density(values))
        return values[usable], np.asarray(weights[usable] / weights[usable].sum())

    @cached_property
    def _parameter_influence(self) -> FloatArray:
        """Return how far each row moves the free parameters, shape ``(n, p)``."""
        moves = np.linalg.solve(self._information, self._law.scores(self.rows).T).T
        return np.asarray(moves - moves.mean(axis=0))

    @cached_property
    def _information(self) -> FloatArray:
        """Return the observed information of a row, shape ``(p, p)``."""
        return np.asarray(-self._law.curvatures(self.rows).mean(axis=0))

    @cached_property
    def _inverse_information(self) -> FloatArray:
        return np.asarray(np.linalg.inv(self._information), dtype=np.float64)

    @cached_property
    def loadings(self) -> FloatArray:
        """Return how far each row moves the distribution along the standardised scores, shape ``(n, p)``."""
        return np.asarray(self._parameter_influence @ self._factor)

    @cached_property
    def bias(self) -> FloatArray:
        """Return the bias of the fit over resamples along the standardised scores, shape ``(p,)``, to second order.

        Half the mean of the second derivatives by the weight of a row.
        """
        rows, third = self.fit_curvature
        twice = 2 * np.einsum("nab,nb->a", rows, self.loadings)
        twice += np.einsum("abc,nb,nc->a", third, self.loadings, self.loadings)
        return np.asarray(twice / (2 * self.n_rows**2))

    @cached_property
    def fit_curvature(self) -> FitCurvature:
        """Return the second derivatives of the fit.

        With s and h the score of a row and its derivative, psi the parameters' influence and J the information, they
        are ``J^-1 ((h_i + J) psi_j + (h_j + J) psi_i + mean(h')[psi_i, psi_j])``.
        """
        law = self._law
        centred = law.curvatures(self.rows) + self._information
        third = [
            (law.moved(step).curvatures(self.rows) - law.moved(-step).curvatures(self.rows)).mean(axis=0)
            / (2 * step.sum())
            for step in np.diag(_LONGER * law.steps)
        ]
        # To standardised scores: the loadings are F' psi.
        outer, inner = self._factor.T @ self._inverse_information, np.linalg.inv(self._factor).T
        return FitCurvature(
            np.asarray(outer @ centred @ inner), np.einsum("ad,cdb,be,cf->aef", outer, np.array(third), inner, inner)
        )

    @cached_property
    def curvature_moments(self) -> CurvatureMoments:
        """Return the moments of the second derivatives of the density over the density, in standardised scores."""
        values, weights = self._grid
        scores, information = self._standardised(values)
        curved = scores[:, :, np.newaxis] * scores[:, np.newaxis, :] - information
        curved = curved - np.einsum("n,nkl->kl", weights, curved)
        slopes = np.einsum("n,nm,nkl->mkl", weights, scores, curved)
        rest = curved - np.einsum("nm,mkl->nkl", scores, slopes)
        return CurvatureMoments(slopes, np.einsum("n,nkl,nij->klij", weights, rest, rest))

    def _standardised(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the scores of draws, standardised, and minus the second derivatives of their log densities."""
        inverse = np.linalg.inv(self._factor)
        scores = self._law.scores(values) @ inverse.T
        return np.asarray(scores), np.asarray(-(inverse @ self._law.curvatures(values) @ inverse.T))

    def positions(self, key: Key, stream: int, runs: Sequence[int], size: int, capacity: int) -> Positions:
        """Return levels of the distribution function, uniform in (0, 1)."""
        return uniform_levels(key, stream, runs, size)

    def values(self, positions: Positions) -> Any:
        """Return the quantiles at these levels."""
        return self._law.quantiles(positions)

    def resampled_values(self, key: Key, stream: int, resamples: Sequence[int], positions: Positions) -> Any:
        """Return the quantiles at these levels of distributions fitted to the resamples."""
        found = np.empty_like(positions)
        for place, resample in enumerate(resamples):
            counts = multinomial_counts(key, stream, [resample], self.n_rows)[0]
            found[place] = self._resampled_quantiles(counts, positions[place])
        return found

    def _resampled_quantiles(self, counts: FloatArray, levels: FloatArray) -> FloatArray:
        """Return quantiles of the distribution fitted to rows that count so often.

        Where it cannot be fitted, as to rows that are all equal, they are those of the rows themselves.
        """
        drawn = self.rows[counts > 0]
        if drawn[0] == drawn[-1]:
            return np.full(levels.shape, drawn[0])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                found = _Law(self.family, self._refitted(counts), self.free).quantiles(levels)
            except Exception:
                found = np.full(levels.shape, np.nan)
        if np.isfinite(found).all():
            return found
        rows = np.repeat(self.rows, counts.astype(np.int64))
        return np.asarray(rows[np.minimum((levels * len(rows)).astype(np.int64), len(rows) - 1)])

    def _refitted(self, counts: FloatArray) -> FloatArray:
        """Return the parameters for rows that count so often."""
        if self._has_fast_fit:
            return self._by_scipy(counts)
        found = _chord(self._law, self.rows, counts, self._inverse_information)
        if found is None:
            found = _newton(self._law, self.rows, counts)
        return self._by_scipy(counts) if found is None else found.parameters

    def _by_scipy(self, counts: FloatArray) -> FloatArray:
        """Return the parameters by the distribution's own `fit`."""
        rows = np.repeat(self.rows, counts.astype(np.int64))
        fixed = dict(zip(_fixed_names(_family(self.family)), self.parameters, strict=True))
        kept = {key: value for (key, value), free in zip(fixed.items(), self.free, strict=True) if not free}
        return np.array(_family(self.family).fit(rows, **kept))

    @cached_property
    def _has_fast_fit(self) -> bool:
        """Return whether `scipy.stats` has formulas for this distribution, which give the maximum of the likelihood."""
        from scipy import stats

        if type(_family(self.family)).fit is stats.rv_continuous.fit:
            return False
        again = self._by_scipy(np.ones(self.n_rows))[self.free]
        distance = np.abs(again - self.parameters[self.free]) / (self._law.steps / _STEP)
        return bool((distance < _SAME_FIT).all())

    def sums(self, positions: Positions, used: IntArray) -> DrawSums:
        """Return sums of the standardised scores and, as their products, of the information of each draw.

        What in these moves with the scores is left out, so that pairs are uncorrelated with the scores.
        """
        is_used = (np.arange(positions.shape[1]) < used[:, np.newaxis])[:, :, np.newaxis]
        p = len(self._factor)
        scores, information = self._standardised(self._law.quantiles(positions).reshape(-1))
        information = information + np.einsum("nm,mkl->nkl", scores, self.curvature_moments.slopes)
        scores = scores.reshape(*positions.shape, p) * is_used
        information = information.reshape(*positions.shape, p, p) * is_used[..., np.newaxis]
        return DrawSums(scores.sum(axis=1), information.sum(axis=1), np.zeros(len(used)), np.zeros((len(used), p)))


@dataclass(frozen=True, eq=False)
class _Law:
    """A distribution of `scipy.stats` with its parameters, and the derivatives of its log density by the free ones."""

    family: str
    parameters: FloatArray
    free: BoolArray

    def quantiles(self, levels: FloatArray) -> FloatArray:
        return np.asarray(_family(self.family).ppf(levels, *self.parameters))

    def upper_quantiles(self, levels: FloatArray) -> FloatArray:
        return np.asarray(_family(self.family).isf(levels, *self.parameters))

    def moved(self, steps: FloatArray) -> _Law:
        parameters = self.parameters.copy()
        parameters[self.free] += steps
        return _Law(self.family, parameters, self.free)

    def log_density(self, values: FloatArray) -> FloatArray:
        return np.asarray(_family(self.family).logpdf(values, *self.parameters))

    @property
    def steps(self) -> FloatArray:
        """Return the steps of differences: in units of the scale for loc and scale, so that units do not matter."""
        sizes = np.maximum(np.abs(self.parameters), _SMALLEST_SHAPE)
        sizes[-2:] = max(abs(self.parameters[-1]), np.finfo(float).tiny)
        return np.asarray(_STEP * sizes[self.free])

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the derivatives of the log density, shape ``(size, p)``."""
        steps = np.diag(self.steps)
        columns = [
            (self.moved(step).log_density(values) - self.moved(-step).log_density(values)) / (2 * step.sum())
            for step in steps
        ]
        return np.stack(columns, axis=-1)

    def curvatures(self, values: FloatArray) -> FloatArray:
        """Return the second derivatives of the log density, shape ``(size, p, p)``."""
        steps = np.diag(self.steps)
        here = self.log_density(values)
        found = np.empty((len(values), len(steps), len(steps)))
        for k, first in enumerate(steps):
            for j, second in enumerate(steps[: k + 1]):
                if k == j:
                    around = self.moved(first).log_density(values) + self.moved(-first).log_density(values) - 2 * here
                    found[:, k, k] = around / first.sum() ** 2
                    continue
                corners = [
                    sign * self.moved(a * first + b * second).log_density(values)
                    for a, b, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
                ]
                found[:, k, j] = found[:, j, k] = np.sum(corners, axis=0) / (4 * first.sum() * second.sum())
        return found


def _family(name: str) -> Any:
    from scipy import stats

    return getattr(stats, name)


def _chord(law: _Law, rows: FloatArray, counts: FloatArray, inverse: FloatArray) -> _Law | None:
    """Return the distribution of maximum likelihood near `law`, by steps with the information there; None if not."""
    total = counts.sum()
    last = np.inf
    for _ in range(_CHORD_STEPS):
        step = inverse @ (counts @ law.scores(rows) / total)
        size = float(np.max(np.abs(step) / law.steps))
        if not size < last or not np.isfinite(size):
            return None
        law, last = law.moved(step), size
        if size < _CONVERGED / _STEP:
            return law
    return None


def _newton(law: _Law, rows: FloatArray, counts: FloatArray) -> _Law | None:
    """Return the distribution of maximum likelihood by Newton's method; None where that does not arrive."""
    total = counts.sum()
    best = counts @ law.log_density(rows) / total
    for _ in range(_NEWTON_STEPS):
        score = counts @ law.scores(rows) / total
        information = -np.einsum("n,npq->pq", counts, law.curvatures(rows)) / total
        try:
            step = np.linalg.solve(information, score)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(step).all():
            return None
        if score @ step < _CONVERGED**2 + 1e-16:
            return law if score @ step >= 0 else None
        for _ in range(20):
            trial = law.moved(step)
            value = counts @ trial.log_density(rows) / total
            if value >= best:
                break
            step = step / 2
        else:
            return law if np.abs(score * law.steps / _STEP).max() < np.sqrt(_CONVERGED) else None
        law, best = trial, value
    return None


def _fixed_names(family: Any) -> list[str]:
    """Return what `scipy.stats` calls a parameter that its `fit` holds fixed."""
    names = _names(family)
    return [f"f{k}" for k in range(len(names) - 2)] + ["floc", "fscale"]


def _fitted_input(name: str, family: Any, data: Any, fixed: Mapping[str, float]) -> FittedInput:
    empirical = empirical_input(name, data)
    if not empirical.is_single:
        raise DataError(f"`inputs[{name!r}]`: `fitted` takes numbers; got rows of {empirical.rows.shape[1]} numbers.")
    rows = empirical.rows[:, 0]
    held = {**_default_fixed(family), **fixed}
    names = _names(family)
    free = np.array([parameter not in held for parameter in names])
    if not free.any() or rows[0] == rows[-1]:
        why = "all its rows are equal" if free.any() else f"all its parameters are fixed: {_assigned(held)}"
        raise DataError(f"`inputs[{name!r}]`: there is nothing to fit by {family.name!r}, since {why}.")
    arguments = {
        given: held[parameter]
        for given, parameter in zip(_fixed_names(family), names, strict=True)
        if parameter in held
    }
    try:
        with np.errstate(all="ignore"):
            start = np.array(family.fit(rows, **arguments), dtype=np.float64)
            found = _newton(_Law(family.name, start, free), rows, np.ones(len(rows)))
    except Exception as error:  # scipy raises various errors for data outside of the support
        raise FitError(
            f"`inputs[{name!r}]`: fitting {family.name!r} failed: {type(error).__name__}: {first_line(error)}. Check "
            "that the data lie in the support of this distribution."
        ) from error
    law = _Law(family.name, start, free) if found is None else found
    made = FittedInput(name, family.name, rows, empirical.order, law.parameters, free)
    _check_fit(made, family)
    return made


def _assigned(held: Mapping[str, float]) -> str:
    return ", ".join(f"{parameter}={value:g}" for parameter, value in held.items())


def _default_fixed(family: Any) -> dict[str, float]:
    """Return what is not fitted unless asked for: where the values begin, and how far they reach."""
    low, high = family.a, family.b
    held = {}
    if np.isfinite(low):
        held["loc"] = 0.0
        if np.isfinite(high):
            held["scale"] = 1.0
    return held


def _check_fit(made: FittedInput, family: Any) -> None:
    """Raise unless the likelihood is smooth and has an inner maximum, at which scores have mean zero."""
    law = _Law(made.family, made.parameters, made.free)
    scores = law.scores(made.rows)
    usable = bool(np.isfinite(scores).all() and np.isfinite(law.curvatures(made.rows)).all())
    if usable:
        spread = np.sqrt((scores**2).mean(axis=0))
        usable = bool((np.abs(scores.mean(axis=0)) <= 1e-3 * spread).all()) and made.is_regular
    if not usable:
        names = np.array(_names(family))[made.free].tolist()
        raise FitError(
            f"`inputs[{made.name!r}]`: the likelihood of {family.name!r} has no smooth maximum at these data, so that "
            f"the influence of its fitted parameters ({', '.join(names)}) is not defined. Hold one of them fixed, for "
            f"example `{names[-1]}={made.parameters[made.free][-1]:.4g}`, use another distribution, or pass the data "
            "itself."
        )

"""`bootstrap` with the signature, the result and the errors of ``scipy.stats.bootstrap``."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy.stats import bootstrap as scipy_bootstrap

from orthoboot.functionals import Functional
from orthoboot.scipy_compat.intervals import result_of
from orthoboot.scipy_compat.request import Request, key_of
from orthoboot.typing import FloatArray

_NUMBERS_AT_ONCE = 1 << 22
"""Resampled numbers that a function gets at once: 32 MB, or those of one resample where it is larger."""

_HAS_RNG = "rng" in inspect.signature(scipy_bootstrap).parameters
"""Whether this scipy knows `rng`; before version 1.15 it was `random_state` alone."""


def bootstrap(
    data: Any,
    statistic: Any,
    *,
    n_resamples: Any = 9999,
    batch: Any = None,
    vectorized: Any = None,
    paired: Any = False,
    axis: Any = 0,
    confidence_level: Any = 0.95,
    alternative: Any = "two-sided",
    method: Any = "BCa",
    bootstrap_result: Any = None,
    rng: Any = None,
    random_state: Any = None,
) -> Any:
    r"""Compute a bootstrap confidence interval of a statistic, as ``scipy.stats.bootstrap`` does.

    All parameters, the result and the errors are scipy's. `n_resamples` ordinary replicates are drawn, so the interval,
    the standard error and the distribution equal scipy's up to simulation error. Two things differ:

    - A statistic that the catalogue computes is not called on resampled rows. Its replicates come from compiled sums
      over the rows, with another stream of random numbers than scipy's: the same seed gives other replicates with the
      same distribution. BCa's acceleration comes from the same leave-one-out values, computed in one pass if the
      statistic is a function of means. A quantile of one column is drawn from the distribution of its order statistics.
    - Any other statistic goes to scipy, in batches that fit in memory: the same seed gives the same numbers.

    The catalogue computes ``np.mean``, ``var``, ``std``, ``median``, ``quantile`` with one level, ``scipy.stats.skew``
    and ``kurtosis``; functions that combine these, and ``pearsonr`` or ``np.corrcoef`` of paired samples, by
    arithmetic, such as ``lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis)``; and statistics of the
    catalogue, such as `orthoboot.roc_auc`, which scipy does not take. One symbolic call determines what a function
    computes; this is compared with its values on the data and on three resamples. Data that contain NaN or infinity or
    are nearly constant go to scipy, as do calls with at most two million resampled numbers, where there is nothing to
    gain.

    Parameters
    ----------
    data
        A sequence of samples.
    statistic
        A function of the samples, with `axis` if it is vectorised; or a `Functional` of the catalogue.
    n_resamples
        The number of resamples.
    batch
        The number of resamples evaluated at once.
    vectorized
        Whether `statistic` takes `axis`; None to infer it from the signature.
    paired
        Whether corresponding entries of the samples are drawn together.
    axis
        The axis along which the samples are drawn.
    confidence_level
        The level of the interval.
    alternative
        "two-sided"; "less" for an upper bound, "greater" for a lower one.
    method
        "percentile", "basic" or "BCa".
    bootstrap_result
        An earlier result, whose replicates are included.
    rng, random_state
        The seed, or a generator of random numbers, which is advanced.

    Returns
    -------
    BootstrapResult
        The result class of scipy, with `confidence_interval`, `bootstrap_distribution` and `standard_error`.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoboot.scipy_compat import bootstrap
    >>> x = np.random.default_rng(0).exponential(size=1000)
    >>> result = bootstrap((x,), np.std, n_resamples=2000, rng=1)
    >>> result.bootstrap_distribution.shape
    (2000,)
    >>> bool(result.confidence_interval.low < np.std(x) < result.confidence_interval.high)
    True
    """
    request = Request.of(
        data=data,
        statistic=statistic,
        n_resamples=n_resamples,
        batch=batch,
        vectorized=vectorized,
        paired=paired,
        axis=axis,
        confidence_level=confidence_level,
        alternative=alternative,
        method=method,
        bootstrap_result=bootstrap_result,
    )
    known = None if request is None or (rng is not None and random_state is not None) else request.known
    if request is None or known is None:
        seeds = {"rng": rng, "random_state": random_state} if _HAS_RNG else {"random_state": _one(rng, random_state)}
        return scipy_bootstrap(
            data,
            _OfRows(statistic) if isinstance(statistic, Functional) else statistic,
            n_resamples=n_resamples,
            batch=_batch(request, batch),
            vectorized=False if request is not None and isinstance(statistic, Functional) else vectorized,
            paired=paired,
            axis=axis,
            confidence_level=confidence_level,
            alternative=alternative,
            method=method,
            bootstrap_result=bootstrap_result,
            **{name: seed for name, seed in seeds.items() if seed is not None},
        )
    return result_of(request, known, known.distribution(key_of(rng, random_state), request.n_resamples, request.batch))


def _one(rng: Any, random_state: Any) -> Any:
    return random_state if rng is None else np.random.default_rng(rng)


class _OfRows:
    """A statistic of the catalogue as a function of the samples alone, for scipy."""

    def __init__(self, functional: Functional) -> None:
        self._functional = functional

    def __call__(self, *samples: FloatArray) -> Any:
        return self._functional(*samples)


def _batch(request: Request | None, batch: Any) -> Any:
    """Return how many resamples scipy is to hold at once: all of them only where fewer would change its draws.

    The resamples of one sample, or of paired ones, come one after the other from its stream; those of several
    independent samples change with the batch.
    """
    if batch is not None or request is None or (len(request.samples) > 1 and not request.paired):
        return batch
    return max(_NUMBERS_AT_ONCE // max(sum(sample.size for sample in request.samples), 1), 1)

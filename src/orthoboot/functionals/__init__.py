"""The catalogue: statistics that carry their influence function."""

from orthoboot.functionals.association import correlation, covariance, ratio
from orthoboot.functionals.base import Functional, unit_resamples
from orthoboot.functionals.combinators import compose, difference, relative_difference
from orthoboot.functionals.function_of_means import function_of_means
from orthoboot.functionals.moments import kurtosis, mean, norm_of_mean, skewness, std, variance
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.quantiles import median, quantile
from orthoboot.functionals.recognition import recognized

__all__ = [
    "Functional",
    "Output",
    "compose",
    "correlation",
    "covariance",
    "difference",
    "function_of_means",
    "kurtosis",
    "mean",
    "median",
    "norm_of_mean",
    "output_like",
    "quantile",
    "ratio",
    "recognized",
    "relative_difference",
    "skewness",
    "std",
    "unit_resamples",
    "variance",
]

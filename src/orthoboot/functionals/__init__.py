"""The catalogue: statistics that carry their influence function."""

from orthoboot.functionals.base import Functional, unit_resamples
from orthoboot.functionals.columns.entropy import entropy
from orthoboot.functionals.columns.gini import gini
from orthoboot.functionals.columns.moments import kurtosis, mean, norm_of_mean, skewness, std, variance
from orthoboot.functionals.columns.quantiles import median, quantile
from orthoboot.functionals.columns.trimmed_mean import trimmed_mean
from orthoboot.functionals.combined.comparisons import difference, paired_difference, relative_difference
from orthoboot.functionals.combined.compositions import compose
from orthoboot.functionals.combined.function_of_means import function_of_means
from orthoboot.functionals.metrics.classification import accuracy, brier, f1, log_loss, precision, recall
from orthoboot.functionals.metrics.distances import mae, r2, rmse
from orthoboot.functionals.metrics.roc import roc_auc
from orthoboot.functionals.optima.m_estimator import m_estimator
from orthoboot.functionals.optima.minimize import minimize
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.pairs.association import correlation, covariance, ratio
from orthoboot.functionals.pairs.covariance_matrices import covariance_factor, covariance_matrix
from orthoboot.functionals.pairs.rank_association import kendall, spearman
from orthoboot.functionals.regression.generalized_linear import glm, logistic_regression
from orthoboot.functionals.regression.linear import linear_regression
from orthoboot.functionals.user.recognition import recognized

__all__ = [
    "Functional",
    "Output",
    "accuracy",
    "brier",
    "compose",
    "correlation",
    "covariance",
    "covariance_factor",
    "covariance_matrix",
    "difference",
    "entropy",
    "f1",
    "function_of_means",
    "gini",
    "glm",
    "kendall",
    "kurtosis",
    "linear_regression",
    "log_loss",
    "logistic_regression",
    "m_estimator",
    "mae",
    "mean",
    "median",
    "minimize",
    "norm_of_mean",
    "output_like",
    "paired_difference",
    "precision",
    "quantile",
    "r2",
    "ratio",
    "recall",
    "recognized",
    "relative_difference",
    "rmse",
    "roc_auc",
    "skewness",
    "spearman",
    "std",
    "trimmed_mean",
    "unit_resamples",
    "variance",
]

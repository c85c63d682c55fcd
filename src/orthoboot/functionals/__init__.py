"""The catalogue: statistics that carry their influence function."""

from orthoboot.functionals.association import correlation, covariance, ratio
from orthoboot.functionals.base import Functional, unit_resamples
from orthoboot.functionals.classification_metrics import accuracy, brier, f1, log_loss, precision, recall
from orthoboot.functionals.combinators import compose, difference, relative_difference
from orthoboot.functionals.covariance_matrices import covariance_factor, covariance_matrix
from orthoboot.functionals.function_of_means import function_of_means
from orthoboot.functionals.gini import gini
from orthoboot.functionals.glm import glm, logistic_regression
from orthoboot.functionals.information import entropy
from orthoboot.functionals.m_estimator import m_estimator
from orthoboot.functionals.minimize import minimize
from orthoboot.functionals.moments import kurtosis, mean, norm_of_mean, skewness, std, variance
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.quantiles import median, quantile
from orthoboot.functionals.rank_association import kendall, spearman
from orthoboot.functionals.recognition import recognized
from orthoboot.functionals.regression import linear_regression
from orthoboot.functionals.regression_metrics import mae, r2, rmse
from orthoboot.functionals.roc import roc_auc
from orthoboot.functionals.trimmed_mean import trimmed_mean

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

"""The questions of a snapshot: one module for each group, with its cases by name in `CASES`.

A case is a function without arguments that gives a `Result`, an `InfluenceCheck`, or a dict of numbers and texts. Those
that need an optional package import it, and are skipped where it is not installed.
"""

GROUPS = (
    "registry",
    "plans",
    "intervals",
    "functions",
    "differentiable",
    "engines",
    "runs",
    "frames",
    "defaults",
    "checks",
    "optima",
    "sklearn_models",
    "sklearn_networks",
    "statsmodels_models",
    "torch_modules",
    "cvxpy_problems",
    "prediction",
)

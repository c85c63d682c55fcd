"""Which examples in docstrings run: those of optional packages only where these are installed.

Modules are named here one by one, since an import that fails must never hide a file of tests.
"""

from __future__ import annotations

from importlib.util import find_spec

NEEDS = {
    "cvxpy": ["models/cvxpy/solution.py"],
    "jax": ["autodiff/jax.py"],
    "numba": ["draws/numba_kernels.py"],
    "sklearn": ["models/torch/neural_regressor.py", "prediction"],
    "torch": ["autodiff/torch.py", "models/torch"],
    "typer": ["cli"],
}

collect_ignore = [
    f"src/orthoboot/{module}" for package, modules in NEEDS.items() if not find_spec(package) for module in modules
]

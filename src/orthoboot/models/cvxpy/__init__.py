"""Solutions of cvxpy problems as statistics."""

from orthoboot.models.cvxpy.problem import ConvexOptimum, from_cvxpy

__all__ = ["ConvexOptimum", "from_cvxpy"]

"""Functions as a user would write them, with names of no package: each runs in jax and in torch.

A module of its own, so that another process which gets one by its name imports nothing else.
"""

from __future__ import annotations

from typing import Any

PENALTY = 0.3


def squares(theta: Any, X: Any, y: Any) -> Any:
    return (y - X @ theta) ** 2 / 2


def squares_and_fourth_powers(theta: Any, X: Any, y: Any) -> Any:
    return (y - X @ theta) ** 2 / 2 + (y - X @ theta) ** 4 / 20


def normal_equations(theta: Any, X: Any, y: Any) -> Any:
    return X * (X @ theta - y)[:, None]


def ridge_penalty(theta: Any) -> Any:
    return PENALTY * (theta**2).sum() / 2


def square_and_second(theta: Any) -> Any:
    return {"square": theta[0] ** 2, "second": theta[1]}


def squared_distance(x: Any, xi: Any) -> Any:
    return ((x - xi) ** 2).sum()


def beyond_the_ball(x: Any, xi: Any) -> Any:
    return (x**2).sum() - 1


def off_the_plane(x: Any, xi: Any) -> Any:
    return x.sum() - 0.3

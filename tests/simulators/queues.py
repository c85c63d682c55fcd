"""A queue as each kind of model: arrays of many runs, of one run, draws one by one, and SimPy."""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(0)
INPUTS = {"arrival": RNG.exponential(1.0, 120), "service": RNG.exponential(0.7, 80)}


def mean_wait(arrival, service):
    wait = total = np.zeros(len(arrival))
    for t in range(arrival.shape[1] - 1):
        wait = np.maximum(wait + service[:, t] - arrival[:, t], 0)
        total = total + wait
    return total / arrival.shape[1]


def two_waits(arrival, service):
    """Two policies on the same draws: the server as it is, and one that is a fifth faster."""
    return {"now": mean_wait(arrival, service), "faster": mean_wait(arrival, 0.8 * service)}


def mean_wait_of_one(arrival, service):
    return mean_wait(arrival[np.newaxis], service[np.newaxis])[0]


def mean_wait_by_draws(draw):
    wait = total = 0.0
    for _ in range(63):
        wait = max(wait + draw.service() - draw.arrival(), 0.0)
        total += wait
    return total / 64


def waits_until_closing(draw):
    """The mean wait of those who come before closing time: a random number of draws."""
    clock, wait, total, number = draw.arrival(), 0.0, 0.0, 0
    while clock < 8.0:
        total, number = total + wait, number + 1
        gap = draw.arrival()
        wait = max(wait + draw.service() - gap, 0.0)
        clock += gap
    return total / max(number, 1)

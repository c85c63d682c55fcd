"""Resampling plans, and the exact moments of a linear statistic under them."""

from __future__ import annotations

from orthoboot.draws.random_counts import key_from
from orthoboot.plans.base import Draws, Scheme
from orthoboot.plans.block import CircularBlocks, MovingBlocks, StationaryBlocks
from orthoboot.plans.cluster import Cluster
from orthoboot.plans.construction import plan_for
from orthoboot.plans.drawn import DrawnResamples
from orthoboot.plans.iid import Iid
from orthoboot.plans.plan import Plan, PlanCovariance
from orthoboot.plans.strata.stratified import Stratified

__all__ = [
    "CircularBlocks",
    "Cluster",
    "DrawnResamples",
    "Draws",
    "Iid",
    "MovingBlocks",
    "Plan",
    "PlanCovariance",
    "Scheme",
    "StationaryBlocks",
    "Stratified",
    "key_from",
    "plan_for",
]

"""Debiasing: ``fig:BIAS``, ``fig:RMSE`` and ``table: debias``."""

"""Confidence intervals: ``table: ci``."""

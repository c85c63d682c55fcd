"""Metrics of a model on a test set."""

"""Prediction intervals of networks: the table ``realdata``."""

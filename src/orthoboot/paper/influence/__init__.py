"""Implicit and explicit influence functions: ``fig:vs``."""

"""A program for type checkers, which nobody runs: `make test-types`."""

from __future__ import annotations

collect_ignore = ["downstream.py"]

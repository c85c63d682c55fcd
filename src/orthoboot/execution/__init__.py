"""Parallel execution, progress bars and checkpoints."""

"""Locks for library state that all threads of a process share."""

from __future__ import annotations

from threading import RLock

TORCH_STATE = RLock()
"""Held by the thread that uses what torch has once for all threads of a process.

The levels of forward differentiation; the number of threads, which decides the last digits of sums; the random
numbers; the parameters of a module, which are exchanged while it is called.
"""

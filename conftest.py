"""Which examples in docstrings run: those of optional packages only where these are installed."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/orthoboot/models/neural.py", "src/orthoboot/models/torch.py"]

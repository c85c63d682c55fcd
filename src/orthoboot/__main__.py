"""``python -m orthoboot``: the command line."""

from __future__ import annotations

import sys

from orthoboot.cli import main

if __name__ == "__main__":
    sys.exit(main())

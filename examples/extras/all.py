"""`orthoboot[all]`: every extra at once, and so every example."""

import subprocess
import sys
from pathlib import Path

APART = ("all", "bench", "paper")
"""This one, one with packages of its own, and one of minutes."""

for example in sorted(Path(__file__).parent.glob("*.py")):
    if example.stem not in APART:
        print(f"== {example.stem}", flush=True)
        subprocess.run([sys.executable, "-I", example], check=True)

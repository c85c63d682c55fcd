"""`orthoboot[cli]`: commands on files, with a formula, and without a line of Python."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
frame = pd.DataFrame({"x": rng.exponential(size=100), "y": rng.normal(size=100), "g": ["a", "b"] * 50})
with tempfile.TemporaryDirectory() as folder:
    frame.to_csv(Path(folder, "rows.csv"), index=False)
    frame.to_parquet(Path(folder, "rows.parquet"))
    for arguments in (
        ["ci", "rows.csv", "--statistic", "correlation", "--columns", "x,y"],
        ["ci", "rows.parquet", "--columns", "x", "--compare", "g", "--output", "answer.json", "--report", "page.html"],
        ["fit", "rows.csv", "--formula", "y ~ x + C(g)"],
    ):
        subprocess.run([Path(sys.executable).with_name("orthoboot"), *arguments], cwd=folder, check=True)

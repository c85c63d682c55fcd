"""`orthoboot[paper]`: one experiment of the paper, with few repetitions."""

import subprocess
import sys
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    command = [Path(sys.executable).with_name("orthoboot"), "reproduce", "influence", "--quick", "--out", folder]
    subprocess.run(command, check=True)
    print(*sorted(path.name for path in Path(folder).iterdir()))

"""Try every extra alone: a fresh environment, the wheel with that extra, and the example of it.

``python -m tools.extras`` does so for all, ``python -m tools.extras plot cli`` for two, with the newest wheel of dist/.
What is installed is held to constraints.txt, and nothing else of this folder is seen by the example.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "extras"

CORE = "core"
"""The name of no extra at all."""

ELSEWHERE = {"test": "make test-core", "dev": "make test", "docs": "make docs"}
"""Extras for working on the library, and what tries them."""


def names() -> list[str]:
    """Return the core and all extras that have an example."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [CORE, *(name for name in settings["project"]["optional-dependencies"] if name not in ELSEWHERE)]


def newest_wheel(folder: Path) -> Path:
    """Return the wheel of a folder that was built last; end where there is none."""
    found = sorted(folder.glob("orthoboot-*.whl"), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"there is no wheel in {folder}; `make build` makes one.")
    return found[-1]


def tried(name: str, wheel: Path, folder: Path) -> bool:
    """Return whether the example of an extra runs where nothing but this extra is installed; tell how long it took."""
    environment = folder / name
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    start = time.perf_counter()
    wanted = str(wheel) if name == CORE else f"{wheel}[{name}]"
    options = ["--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt"]
    ended = subprocess.run([python, "-m", "pip", "install", *options, wanted], check=False)
    installed = time.perf_counter()
    print(f"== {name}: {'installed' if ended.returncode == 0 else 'NOT INSTALLED'} in {installed - start:.0f} s")
    if ended.returncode == 0:
        sys.stdout.flush()
        # -I: nothing is imported from the folder of the example, where torch.py would hide torch.
        ended = subprocess.run([python, "-I", EXAMPLES / f"{name}.py"], cwd=environment, check=False)
        outcome = "runs" if ended.returncode == 0 else "FAILS"
        print(f"== {name}: the example {outcome}, {time.perf_counter() - installed:.1f} s", flush=True)
    shutil.rmtree(environment, ignore_errors=True)
    return ended.returncode == 0


def main() -> int:
    """Try the extras of the command line; return 1 where one fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "extras", nargs="*", choices=names(), metavar="EXTRA", help=f"all, or some of {', '.join(names())}"
    )
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="the folder of the wheel")
    chosen = parser.parse_args()
    wheel = newest_wheel(chosen.dist)
    folder = ROOT / "build" / "extras"
    folder.mkdir(parents=True, exist_ok=True)
    extras = chosen.extras or names()
    failed = [name for name in extras if not tried(name, wheel, folder)]
    print(f"{len(extras) - len(failed)} of {len(extras)} work alone")
    if failed:
        print(f"not: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

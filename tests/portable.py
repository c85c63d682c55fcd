"""The tests as on other processors: `make test-portable`.

Which kernels a library takes, and so in which order it adds, is decided by the processor that it finds. Each has a
switch that makes it believe in another one; a set of them is a processor of another make or age. Linear algebra rounds
in another order there, vectors have other lengths, products and sums are fused or not, exponentials have other last
digits, and threads are one or many. No test may rest on these, and none may need one of the variables.

    python -m tests.portable                          all sets, one after the other
    python -m tests.portable old -- tests/models -x   one of them, with what pytest is to get
    python -m tests.portable --show                   what the libraries say that they use

A name that a library does not know is ignored by most without a word, so look at `--show` after an update.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import subprocess
import sys
import time

import numpy as np

REPOSITORY = pathlib.Path(__file__).parents[1]

PROCESSORS = {
    # Of 2008: vectors of 128 bits, no fused products and sums.
    "old": {
        "OPENBLAS_CORETYPE": "Nehalem",  # numpy, scipy
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",  # numpy's own loops
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4",  # exp, log, sin of the C library
        "ATEN_CPU_CAPABILITY": "default",  # torch's own loops
        "MKL_CBWR": "SSE4_2",  # torch's linear algebra; on AMD's processors as "AUTO"
        "ONEDNN_MAX_CPU_ISA": "SSE41",  # torch's layers
        "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",  # jax
        "NUMBA_CPU_NAME": "nehalem",
        "NUMBA_CPU_FEATURES": "",
    },
    # Of 2013: vectors of 256 bits, not of 512; and more threads than most machines of continuous integration have.
    "middle": {
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_CBWR": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_NUM_THREADS": "4",  # at most as many as the machine has
        "OMP_NUM_THREADS": "4",
        "MKL_NUM_THREADS": "4",
        "MKL_DYNAMIC": "FALSE",  # else at most as many as the machine has, for torch too
        "NPROC": "4",  # jax
    },
    # What every processor of 64 bits can do, where the libraries offer that, and one thread.
    "compatible": {
        "OPENBLAS_CORETYPE": "Prescott",
        "MKL_CBWR": "COMPATIBLE",
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NPROC": "1",
    },
}

SHOW = """
import numpy, scipy.linalg, threadpoolctl
print("  numpy   ", *numpy.show_config("dicts")["SIMD Extensions"].get("found", []))
try:
    import torch
    print("  torch   ", torch.backends.cpu.get_cpu_capability(), "threads", torch.get_num_threads())
    with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON):
        torch.ones(8, 8) @ torch.ones(8, 8)
    with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
        torch.nn.Conv2d(1, 1, 2)(torch.ones(1, 1, 3, 3))
except ImportError:
    pass
for library in threadpoolctl.threadpool_info():
    print("  ", *(library[key] for key in ("prefix", "version", "architecture", "num_threads") if key in library))
from numba.core.registry import cpu_target
print("  numba   ", *cpu_target.target_context.codegen().magic_tuple()[1:])
"""


def variables(name: str) -> dict[str, str]:
    """Return the environment of a processor: that of now, but for what any of them sets."""
    ours = {key for switches in PROCESSORS.values() for key in switches}
    rest = {key: value for key, value in os.environ.items() if key not in ours}
    # Compiled kernels are kept, those of each processor for itself.
    cache = {"NUMBA_CACHE_DIR": str(REPOSITORY / ".pytest_cache" / f"numba-{name}")}
    return rest | cache | PROCESSORS[name] | known_to_numpy(PROCESSORS[name].get("NPY_DISABLE_CPU_FEATURES", ""))


def known_to_numpy(features: str) -> dict[str, str]:
    """Return those that this version of numpy can do without; it warns of others."""
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    known = [*extensions.get("found", []), *extensions.get("not found", [])]
    kept = " ".join(feature for feature in features.split() if feature in known)
    return {"NPY_DISABLE_CPU_FEATURES": kept} if kept else {}


def main(arguments: list[str]) -> int:
    """Run the tests on the processors that are named, all by default; return how many of them have failures."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(prog="python -m tests.portable", description="The tests as on other processors.")
    parser.add_argument("processors", nargs="*", help=f"which of {', '.join(PROCESSORS)}; all by default")
    parser.add_argument("--show", action="store_true", help="only show what the libraries say that they use")
    options = parser.parse_args(arguments[:cut])
    unknown = set(options.processors) - set(PROCESSORS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}, but {', '.join(PROCESSORS)}")
    if platform.machine() not in ("x86_64", "AMD64"):
        parser.error(f"the switches are for x86-64; this machine is {platform.machine()}")
    tests = [sys.executable, "-m", "pytest", *(arguments[cut + 1 :] or ["-n", "2", "--dist", "worksteal"])]
    command = [sys.executable, "-c", SHOW] if options.show else tests
    failed = []
    for name in options.processors or PROCESSORS:
        print(f"== {name}: {' '.join(f'{key}={value!r}' for key, value in PROCESSORS[name].items())}", flush=True)
        start = time.perf_counter()
        if subprocess.run(command, cwd=REPOSITORY, env=variables(name), check=False).returncode:
            failed.append(name)
        print(f"== {name}: {'failed' if name in failed else 'passed'}, {time.perf_counter() - start:.0f} s", flush=True)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

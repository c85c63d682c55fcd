"""Where the data sets of the bootstrap literature are, and where R is."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import hypothesis
import numpy as np
import pytest

# The same examples every time: a failure must be the change's and not the day's.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.load_profile("fixed")

REPOSITORY = pathlib.Path(__file__).parents[1]


@pytest.fixture(scope="session")
def data_folder() -> pathlib.Path:
    """The folder with city.csv and the other reference data sets, which the project does not ship."""
    candidates = [os.environ.get("ORTHOBOOT_DATA"), REPOSITORY.parent / "shared" / "data"]
    for candidate in candidates:
        if candidate and (pathlib.Path(candidate) / "city.csv").exists():
            return pathlib.Path(candidate)
    pytest.skip("no reference data: set ORTHOBOOT_DATA to the folder that holds city.csv")


@pytest.fixture(scope="session")
def load(data_folder):
    """Load a reference data set by its name."""
    return lambda name: np.loadtxt(data_folder / f"{name}.csv", delimiter=",", skiprows=1)


@pytest.fixture(scope="session")
def city(load) -> np.ndarray:
    """The columns x and u of the city data, so that their ratio is mean(x)/mean(u)."""
    return load("city")[:, ::-1].copy()


@pytest.fixture(scope="session")
def rscript() -> str:
    """The R interpreter, with the package boot."""
    program = shutil.which("Rscript")
    if program is None or subprocess.run([program, "-e", "library(boot)"], capture_output=True, check=False).returncode:
        pytest.skip("needs Rscript with the package boot (Debian: r-base-core, r-cran-boot)")
    return program


@pytest.fixture(scope="session")
def r_numbers(rscript):
    """Run R code with the package boot and return the numbers that it prints."""

    def numbers(script: str) -> np.ndarray:
        run = subprocess.run([rscript, "-e", f"library(boot); {script}"], capture_output=True, text=True, check=True)
        return np.array(run.stdout.split(), dtype=float)

    return numbers


@pytest.fixture(scope="session")
def jax():
    """JAX; a test that asks for it is skipped where it is not installed."""
    return pytest.importorskip("jax")


@pytest.fixture(scope="session")
def torch():
    """PyTorch, likewise."""
    return pytest.importorskip("torch")


@pytest.fixture(params=["jax", "torch"])
def library(request) -> str:
    """The name of each package that differentiates, where it is installed."""
    pytest.importorskip(request.param)
    return request.param

"""Print what data beyond memory cost: regressions on a cluster of two small workers, and a scan of a Parquet file.

    python -m benchmarks.large_data [--only PATTERN] [--rows 2e8] [--folder DIR]

- cluster: a table of ``--rows`` rows and two columns, made partition by partition and held nowhere, on a dask
  `LocalCluster` of two worker processes with 1 GB each: the mean, the correlation and a linear regression, B = 10; a
  logistic and a Poisson regression of a tenth of the rows. The peak is the largest resident memory of a worker.
- scan: a Parquet file of half the rows, written in row groups, scanned by polars here: the correlation, B = 10. The
  peak is the growth of the memory of this process that is not of files.

Each is one call after a small one that loads and compiles everything. Slow: minutes.
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.typing import FloatArray

PARTITION = 2_000_000
WORKERS, MEMORY = 2, "1GB"
SMALL = 200_000
MEGABYTE = 1_000_000


def table(start: int, n_rows: int, kind: str) -> FloatArray:
    """Return rows from number `start` on: x and y, where y follows x by a model of that kind."""
    rng = np.random.default_rng([start, n_rows])
    x = rng.normal(size=n_rows)
    if kind == "logistic":
        y = (rng.random(n_rows) < 1 / (1 + np.exp(0.5 - x))).astype(float)
    elif kind == "poisson":
        y = rng.poisson(np.exp(0.2 + 0.3 * x)).astype(float)
    else:
        y = 1 + 2 * x + rng.normal(size=n_rows) * (1 + np.abs(x))
    return np.column_stack([x, y])


def partitioned(n_rows: int, kind: str) -> Any:
    """Return a dask array of the rows, which no process holds at once."""
    import dask
    import dask.array as da

    sizes = [min(PARTITION, n_rows - start) for start in range(0, n_rows, PARTITION)]
    starts = range(0, n_rows, PARTITION)
    parts = [dask.delayed(table)(start, size, kind) for start, size in zip(starts, sizes, strict=True)]
    arrays = [da.from_delayed(part, (size, 2), float) for part, size in zip(parts, sizes, strict=True)]
    return da.concatenate(arrays)


def resident(pid: int, field: str = "VmRSS") -> float:
    """Return the memory of a process in megabytes; zero where it is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next(
        (float(line.split()[1]) * 1024 / MEGABYTE for line in status.splitlines() if line.startswith(field)), 0.0
    )


@contextmanager
def watched(look: Callable[[], float]) -> Iterator[list[float]]:
    """Look again and again while the block runs, and keep the largest number."""
    largest, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            largest[0] = max(largest[0], look())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield largest
    finally:
        ended.set()
        watcher.join()


def regressed(rows: Any, statistic: Any) -> Any:
    """Return the regression of the last column on the first one."""
    return ob.bootstrap((rows[:, :1], rows[:, 1]), statistic, paired=True, n_resamples=10, rng=0)


def described(rows: Any, statistic: Any) -> Any:
    """Return a statistic of both columns."""
    return ob.bootstrap(rows, statistic, n_resamples=10, rng=0)


CALLS: dict[str, tuple[Callable[[Any, Any], Any], Any, str, float]] = {
    "mean": (described, ob.mean, "linear", 1.0),
    "correlation": (described, ob.correlation, "linear", 1.0),
    "linear regression": (regressed, ob.linear_regression.replace(intercept=True), "linear", 1.0),
    "logistic regression": (regressed, ob.logistic_regression.replace(intercept=True), "logistic", 0.1),
    "Poisson regression": (regressed, ob.glm("poisson", intercept=True), "poisson", 0.1),
}
"""Each call with its statistic, the model of the rows, and the share of the rows that it takes."""


def report(name: str, n_rows: int, seconds: float, peak: float, result: Any) -> None:
    """Print one row of the table."""
    error = ", ".join(f"{value:.3g}" for value in np.ravel(result.standard_error))
    print(f"| {name} | {n_rows:.0e} | {seconds:.1f} | {peak:.0f} | {error} |", flush=True)


def on_cluster(n_rows: int, pattern: str) -> None:
    """Time the calls on a cluster of two small workers."""
    import distributed

    options = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": MEMORY, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        for name, (call, statistic, kind, share) in CALLS.items():
            if not fnmatchcase(f"cluster, {name}", pattern):
                continue
            call(partitioned(SMALL, kind), statistic)
            pids = list(client.run(lambda: __import__("os").getpid()).values())
            size = int(n_rows * share)
            with watched(lambda pids=pids: max(resident(pid) for pid in pids)) as peak:
                start = time.perf_counter()
                result = call(partitioned(size, kind), statistic)
                seconds = time.perf_counter() - start
            report(f"cluster, {name}", size, seconds, peak[0], result)


def write_parquet(path: pathlib.Path, n_rows: int) -> None:
    """Write rows as a Parquet file, a partition at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, PARTITION):
            rows = table(start, min(PARTITION, n_rows - start), "linear")
            writer.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}, schema), row_group_size=PARTITION // 2)


def of_scan(n_rows: int, pattern: str, folder: pathlib.Path) -> None:
    """Time the correlation of a Parquet file that polars scans."""
    if not fnmatchcase("scan, correlation", pattern):
        return
    import polars as pl

    path = folder / f"rows-{n_rows}.parquet"
    if not path.exists():
        write_parquet(path, n_rows)
    described(pl.scan_parquet(path).head(SMALL), ob.correlation)
    before = resident_here()
    with watched(resident_here) as peak:
        start = time.perf_counter()
        result = described(pl.scan_parquet(path), ob.correlation)
        seconds = time.perf_counter() - start
    report("scan, correlation", n_rows, seconds, peak[0] - before, result)
    start = time.perf_counter()
    pl.scan_parquet(path).select(pl.all().sum()).collect()
    print(f"\nReading that file once and adding its columns, by polars: {time.perf_counter() - start:.1f} s.")


def resident_here() -> float:
    """Return the memory of this process that is not of files."""
    import os

    return resident(os.getpid(), "RssAnon")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", metavar="PATTERN", help="the rows to time, such as 'cluster*'")
    parser.add_argument("--rows", type=float, default=2e8)
    parser.add_argument("--folder", type=pathlib.Path, default=None, help="where the Parquet file is kept")
    options = parser.parse_args()
    print("| call, B = 10 | rows | seconds | peak, MB | standard errors |\n| --- | --- | --- | --- | --- |")
    on_cluster(int(options.rows), options.only)
    with tempfile.TemporaryDirectory() as temporary:
        of_scan(int(options.rows / 2), options.only, options.folder or pathlib.Path(temporary))


if __name__ == "__main__":
    main()

"""``orthoboot simulate``: the input uncertainty of a simulation model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orthoboot.cli import options
from orthoboot.cli.answers.destinations import Destinations
from orthoboot.cli.tables.columns import names_of
from orthoboot.errors import ArgumentError, ModelError, OrthobootWarning

if TYPE_CHECKING:
    from collections.abc import Callable

    from orthoboot.cli.answers.answer import Answer

Model = Annotated[
    str,
    typer.Argument(metavar="FILE.py:FUNCTION", help="The model: a file and a function in it.", show_default=False),
]
Inputs = Annotated[
    str,
    typer.Option(
        metavar="A.csv,B.csv",
        help="A file of rows for each input, which has the name of the file, or name=FILE.",
        show_default=False,
    ),
]
Horizon = Annotated[int | None, typer.Option(metavar="N", help="How many draws of each input a run gets.")]
Runs = Annotated[int | None, typer.Option(metavar="N", help="How many runs.", show_default="10,000 or 2,000")]


def simulate(
    context: typer.Context,
    model: Model,
    inputs: Inputs,
    horizon: Horizon = None,
    runs: Runs = None,
    tol: options.Tolerance = None,
    level: options.Level = 0.95,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    output: options.OutputFile = None,
    report: options.ReportFile = None,
    plot: options.PlotFile = None,
) -> None:
    """Say how uncertain a simulated answer is because its inputs are known through data alone.

    The function has a parameter for each input and gets arrays of draws, one row for each run; or it is `run(draw)`.

    **Examples**

    `orthoboot simulate queue.py:mean_wait --inputs arrival.csv,service.csv --horizon 10 --runs 10000`
    """
    from orthoboot import input_uncertainty
    from orthoboot.warning_scopes import recorded, show_again

    destinations = Destinations(as_json, output, report, plot)
    destinations.check()
    data = {name: _rows(path) for name, path in _files(inputs).items()}
    function = _function(model)
    start = time.perf_counter()
    with recorded() as caught:
        result = input_uncertainty(
            function, data, horizon=horizon, n_runs=runs, tol=tol, confidence_level=level, rng=seed
        )
    show_again(w for w in caught if not issubclass(w.category, OrthobootWarning))
    sizes = tuple(len(rows) for rows in data.values())
    answer = _answer(result, function.__name__, sizes, time.perf_counter() - start)
    raise typer.Exit(options.published(context, [answer], destinations))


def _files(inputs: str) -> dict[str, str]:
    """Return the file of each input by its name."""
    found = {}
    for written in names_of(inputs):
        name, sign, path = written.partition("=")
        found[name if sign else Path(written).stem] = path if sign else written
    if not found:
        raise ArgumentError("`--inputs` must name a file for each input.")
    return found


def _rows(path: str) -> Any:
    """Return the rows of a file: one column as a series, several as a frame."""
    from orthoboot.cli.tables.columns import complete, numbers
    from orthoboot.cli.tables.files import read_table

    table = read_table(path)
    names = [str(name) for name in table.frame.columns]
    complete(table, names, drop=False)
    frame = numbers(table, names)
    return frame.iloc[:, 0] if len(names) == 1 else frame


def _function(model: str) -> Callable[..., Any]:
    """Return a function of a file; raise where there is none."""
    import importlib.util

    path, _, name = model.rpartition(":")
    if not path or not name.isidentifier():
        raise ArgumentError(f"MODEL must be a file and a function, such as queue.py:mean_wait; got {model!r}.")
    if not Path(path).is_file() or Path(path).suffix != ".py":
        raise ArgumentError(f"MODEL must be in a file of Python; there is no such file {path!r}.")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ModelError(f"{path} cannot be run: {type(error).__name__}: {error}.") from error
    if not callable(getattr(module, name, None)):
        known = [one for one, value in vars(module).items() if callable(value) and not one.startswith("_")]
        raise ArgumentError(f"there is no function {name!r} in {path}; it has {', '.join(known) or 'none'}.")
    function: Callable[..., Any] = getattr(module, name)
    return function


def _answer(result: Any, name: str, sizes: tuple[int, ...], seconds: float) -> Answer:
    from orthoboot.cli.answers.answer import Answer, Output

    flat = result.output.flatten
    ends, errors = result.confidence_interval, result.simulation_error
    numbers = (result.estimate, result.bias, result.standard_error, ends.low, ends.high)
    of_seed = (errors.bias, errors.input_error, errors.low, errors.high)
    rows = zip(*(flat(column) for column in (*numbers, *of_seed)), strict=True)
    outputs = tuple(Output(one, *map(float, row)) for one, row in zip(result.names, rows, strict=True))
    details = {
        "input_error": dict(zip(result.names, flat(result.input_error), strict=True)),
        "run_error": dict(zip(result.names, flat(result.run_error), strict=True)),
        "contributions": {part: flat(share) for part, share in result.contributions.items()},
    }
    return Answer(
        statistic=name,
        label="",
        n_rows=sizes,
        outputs=outputs,
        level=result.confidence_level,
        interval="normal",
        estimator=result.regime,
        n_resamples=int(result.n_runs),
        n_failed=0,
        plan="draws of the inputs",
        warnings=tuple(str(warning) for warning in result.warnings),
        seconds=seconds,
        text=str(result),
        details=details,
        source=result,
        interrupted=result.interrupted,
    )

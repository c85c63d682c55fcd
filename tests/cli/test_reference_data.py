"""The commands on data sets of the bootstrap literature."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")

import orthoboot as ob
from tests.cli.schema import check_document
from tests.cli.test_ci import first, same

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


def test_the_ratio_of_the_city_data(data_folder, city, run):
    code, printed, complaints = run("ci", data_folder / "city.csv", "-s", "ratio", "-c", "x,u", "--json")
    assert (code, complaints) == (0, "")
    same(first(check_document(printed)), ob.bootstrap(city, ob.ratio, rng=0))


@pytest.mark.parametrize(
    ("command", "file", "options", "n_results"),
    [
        ("ci", "gravity", ("-c", "g", "--by", "series"), 8),
        ("ci", "gravity", ("-c", "g", "--compare", "series", "--baseline", "8"), 7),
        ("ci", "lynx", ("--blocks", "auto"), 1),
        ("ci", "acme", ("-s", "correlation", "-c", "market,acme"), 1),
        ("fit", "acme", ("--formula", "acme ~ market"), 1),
        ("fit", "nuclear", ("--formula", "log(cost) ~ date + log(cap) + ne"), 1),
        ("compare", "bigcity", ("-s", "ratio", "-c", "x,u"), 5),
        ("metric", "frets", ("--truth", "l1", "--score", "l2", "-m", "rmse"), 1),
    ],
)
def test_a_command_on_a_file(command, file, options, n_results, data_folder, run):
    if command == "fit":
        pytest.importorskip("formulaic")
    code, printed, complaints = run(command, data_folder / f"{file}.csv", *options, "--json")
    assert (code, complaints) == (0, "")
    assert len(check_document(printed)["results"]) == n_results

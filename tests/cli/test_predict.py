"""`orthoboot predict`: the intervals are those of the library, and the file has them beside the new rows."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")
pytest.importorskip("sklearn")

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import orthoboot as ob
from tests.cli.schema import check_document

RNG = np.random.default_rng(0)
HOUSES = pd.DataFrame({"area": RNG.uniform(40, 200, 60), "age": RNG.uniform(0, 80, 60), "id": np.arange(60)})
HOUSES["price"] = 50 + 3 * HOUSES["area"] - 0.5 * HOUSES["age"] + RNG.normal(scale=20, size=60)
OFFERS = pd.DataFrame({"name": ["small", "large"], "age": [10.0, 30.0], "area": [60.0, 120.0]})

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files houses.csv and offers.csv in the current folder."""
    monkeypatch.chdir(tmp_path)
    HOUSES.to_csv("houses.csv", index=False)
    OFFERS.to_csv("offers.csv", index=False)


COMMAND = ("predict", "houses.csv", "--target", "price", "--new", "offers.csv")


def test_the_intervals_are_those_of_the_library(files, run):
    code, printed, complaints = run(*COMMAND, "--output", "predicted.csv", "--json")
    assert (code, complaints) == (0, "")
    document = check_document(printed)
    assert document["notes"] == ["predicted by area, age."]
    model = ob.PredictionIntervalRegressor(LinearRegression(), rng=0).fit(HOUSES[["area", "age"]], HOUSES["price"])
    expected = model.predict_interval(OFFERS[["area", "age"]], as_frame=True)
    written = pd.read_csv("predicted.csv")
    assert list(written.columns) == ["name", "age", "area", "prediction", "lower", "upper"]
    assert written["name"].tolist() == ["small", "large"]
    for column, name in (("prediction", "estimate"), ("lower", "low"), ("upper", "high")):
        assert written[column].tolist() == pytest.approx(expected[column].tolist())
        found = [output[name] for output in document["results"][0]["outputs"]]
        assert found == pytest.approx(expected[column].tolist())


def test_one_row_can_be_predicted_and_is_shown(files, run):
    OFFERS.head(1).to_csv("offers.csv", index=False)
    code, printed, _ = run(*COMMAND, "--columns", "area")
    assert code == 0
    assert "Note: predicted by area." in printed
    assert "row 1" in printed


def test_a_network_can_be_asked_for(files, run, monkeypatch):
    monkeypatch.setattr(ob, "NeuralRegressor", lambda random_state: LinearRegression(), raising=False)
    code, printed, _ = run(*COMMAND, "--model", "network", "--output", "a.parquet", "--json")
    assert code == 0
    assert check_document(printed)["results"][0]["statistic"] == "Predictions of the network model"
    assert pd.read_parquet("a.parquet").columns.tolist() == ["name", "age", "area", "prediction", "lower", "upper"]


def test_boosting_has_intervals_from_more_refits(files, run):
    code, printed, _ = run(*COMMAND, "--model", "boosting", "--resamples", "3", "--json")
    result = check_document(printed)["results"][0]
    assert (code, result["estimator"], result["n_resamples"]) == (0, "standard", 3)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--target", "prize"), 2, "there is no column 'prize' in houses.csv. Did you mean 'price'?"),
        (("--columns", "id"), 2, "there is no column 'id' in offers.csv."),
        (("--columns", "name"), 2, "there is no column 'name' in houses.csv."),
        (("--new", "offer.csv"), 2, "Did you mean 'offers.csv'?"),
        (("--model", "forest"), 2, "'forest' is not one of"),
        (("--output", "nowhere/a.csv"), 2, "`--output` must be a file that can be written"),
    ],
)
def test_errors_name_what_is_wrong(arguments, code, message, files, run):
    ended, printed, complaints = run(*COMMAND, *arguments)
    assert message in complaints
    assert (ended, printed) == (code, "")


def test_files_without_a_column_in_common_are_refused(files, run):
    OFFERS[["name"]].to_csv("offers.csv", index=False)
    code, _, complaints = run(*COMMAND)
    assert code == 2
    assert "offers.csv has none of the numeric columns of houses.csv, from which to predict." in complaints

"""`orthoboot metric`: the numbers are those of the library, whatever the labels are called."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")

import numpy as np
import pandas as pd

import orthoboot as ob
from orthoboot.cli.statistics import METRICS
from tests.cli.schema import check_document
from tests.cli.test_ci import first, same

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 80)
P1, P2 = (1 / (1 + np.exp(-(2 * Y - 1 + RNG.normal(size=80) * size))) for size in (1.0, 2.0))
FRAME = pd.DataFrame({"y": Y, "p1": P1, "p2": P2, "answer": np.where(Y == 1, "yes", "no"), "site": np.arange(80) // 4})
LABELS = (P1 > 0.5).astype(float)

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """The file test.csv in the current folder."""
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("test.csv", index=False)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_of_one_model(name, rows, run):
    code, printed, complaints = run("metric", "test.csv", "--truth", "y", "--score", "p1", "-m", name, "--json")
    assert (code, complaints) == (0, "")
    predicted = LABELS if name in ("accuracy", "precision", "recall", "f1") else P1
    same(first(check_document(printed)), ob.bootstrap((Y, predicted), getattr(ob, name), paired=True, rng=0))


def test_two_models_are_compared_on_the_same_rows(rows, run):
    code, printed, _ = run("metric", "test.csv", "--truth", "y", "--score", "p1,p2", "-m", "roc_auc,brier", "--json")
    results = check_document(printed)["results"]
    assert code == 0
    assert [result["label"] for result in results] == ["p1", "p2", "p1 - p2"] * 2
    assert [result["statistic"] for result in results] == ["roc_auc"] * 3 + ["brier"] * 3
    expected = ob.bootstrap((Y, P1, P2), ob.paired_difference(ob.roc_auc), paired=True, rng=0)
    same(results[2]["outputs"][0], expected)
    shown = run("metric", "test.csv", "--truth", "y", "--score", "p1,p2", "-m", "roc_auc")[1]
    assert "p1 - p2" in shown


def test_classes_may_be_words(rows, run):
    code, printed, _ = run("metric", "test.csv", "--truth", "answer", "--score", "p1", "-m", "f1", "--json")
    document = check_document(printed)
    assert code == 0
    same(first(document), ob.bootstrap((Y, LABELS), ob.f1, paired=True, rng=0))
    assert document["notes"] == [
        "the positive class of 'answer' is 'yes'; `--positive` names another.",
        "for f1 a score above 0.5 counts as 'yes'.",
    ]


def test_the_positive_class_and_the_threshold_can_be_chosen(rows, run):
    FRAME.assign(no=1 - P1).to_csv("test.csv", index=False)
    options = ("--truth", "answer", "--score", "no", "--positive", "no", "--threshold", "0.3", "-m", "f1", "--json")
    document = check_document(run("metric", "test.csv", *options)[1])
    same(first(document), ob.bootstrap((1 - Y, (1 - P1 > 0.3).astype(float)), ob.f1, paired=True, rng=0))


def test_predicted_labels_are_taken_as_they_are(rows, run):
    FRAME.assign(said=np.where(LABELS == 1, "yes", "no")).to_csv("test.csv", index=False)
    document = check_document(
        run("metric", "test.csv", "--truth", "answer", "--score", "said", "-m", "f1", "--json")[1]
    )
    same(first(document), ob.bootstrap((Y, LABELS), ob.f1, paired=True, rng=0))


def test_the_accuracy_of_many_classes_is_the_share_of_matches(rows, run):
    truth, said = RNG.choice(["a", "b", "c"], (2, 50))
    pd.DataFrame({"truth": truth, "said": said}).to_csv("test.csv", index=False)
    printed = run("metric", "test.csv", "--truth", "truth", "--score", "said", "-m", "accuracy", "--json")[1]
    expected = ob.bootstrap((truth == said).astype(float), ob.mean, rng=0)
    assert first(check_document(printed))["estimate"] == pytest.approx(expected.estimate)
    assert first(check_document(printed))["standard_error"] == pytest.approx(expected.standard_error)


def test_clusters_are_drawn_whole(rows, run):
    printed = run("metric", "test.csv", "--truth", "y", "--score", "p1", "--clusters", "site", "--json")[1]
    expected = ob.bootstrap((Y, P1), ob.roc_auc, paired=True, groups=FRAME["site"], rng=0)
    same(first(check_document(printed)), expected)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--truth", "z", "--score", "p1"), 2, "there is no column 'z' in test.csv."),
        (("--truth", "y", "--score", "p3"), 2, "there is no column 'p3' in test.csv. Did you mean 'p"),
        (("--truth", "y", "--score", ","), 2, "`--score` must name a column of predictions."),
        (("--truth", "y", "--score", "p1", "-m", "roc_auk"), 2, "got 'roc_auk'. Did you mean 'roc_auc'"),
        (("--truth", "y", "--score", "p1", "-m", "mean"), 2, "'mean' is a statistic of columns"),
        (("--truth", "y", "--score", "answer"), 1, "column 'answer' of test.csv must hold numbers; there is text"),
        (("--truth", "site", "--score", "p1"), 1, "column 'site' of test.csv must hold two classes; it has 20: 0, 1,"),
        (
            ("--truth", "answer", "--score", "p1", "--positive", "maybe"),
            2,
            "`--positive` must be one of 'no' and 'yes'",
        ),
    ],
)
def test_errors_name_what_is_wrong(arguments, code, message, rows, run):
    ended, printed, complaints = run("metric", "test.csv", *arguments)
    assert message in complaints
    assert (ended, printed) == (code, "")

"""A bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.execution.progress import ProgressBar

X = np.random.default_rng(0).gamma(2.0, size=30)


def test_a_bar_that_is_asked_for_counts_evaluations_and_replicates(capsys):
    pytest.importorskip("tqdm")
    ob.bootstrap(X, lambda x: x.mean(), progress=True, rng=0)
    shown = capsys.readouterr().err
    assert "/31 [" in shown  # thirty rows left out, and all of them twice
    assert "evaluation" in shown
    assert "/30 [" in shown  # as many replicates
    assert "replicate" in shown


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_shown_in_a_pipe(capsys, progress):
    ob.bootstrap(X, ob.variance, progress=progress, rng=0)
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_a_bar_only_for_long_work(capsys, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with ProgressBar(3) as bar:
        bar.advance(3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("orthoboot.execution.progress._PATIENCE", 0.05)
    with ProgressBar(3) as bar:
        time.sleep(0.2)
        bar.advance(1)
    assert "1/3" in capsys.readouterr().err


def test_without_tqdm_a_bar_that_is_asked_for_names_the_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ob.errors.MissingDependencyError, match=r"orthoboot\[cli\]"):
        ProgressBar(3, shown=True)


def test_extend_is_as_quiet_as_the_run(capsys):
    pytest.importorskip("tqdm")
    ob.bootstrap(X, ob.variance, progress=True, rng=0).extend(5)
    assert "/5 [" in capsys.readouterr().err

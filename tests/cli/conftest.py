"""Small files, and the commands in this process."""

from __future__ import annotations

import pytest

LAW = """LSAT,GPA,sex,school
576,3.39,f,a
635,3.30,m,b
558,2.81,f,a
578,3.03,m,b
666,3.44,f,c
580,3.07,m,c
555,3.00,f,d
661,3.43,m,d
651,3.36,f,e
605,3.13,m,e
653,3.12,f,f
575,2.74,m,f
545,2.76,f,g
572,2.88,m,g
594,2.96,f,h
"""
"""Fifteen law schools, Efron and Tibshirani (1993), table 3.1, with two columns of labels."""


@pytest.fixture
def law(tmp_path, monkeypatch):
    """The file law.csv in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "law.csv"
    path.write_text(LAW)
    return path


@pytest.fixture
def run(capsys):
    """Run a command and return its exit code, what it printed, and what it complained of."""
    from orthoboot.cli import main

    def runs(*arguments):
        code = main([str(argument) for argument in arguments])
        printed, complaints = capsys.readouterr()
        assert "Traceback" not in complaints
        return code, printed, complaints

    return runs

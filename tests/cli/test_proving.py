"""(`discreet demo` is tested in test_cli.)"""

import json

from typer.testing import CliRunner

from discreet.cli import app

runner = CliRunner()


def test_audit_prints_a_table_and_proves():
    found = runner.invoke(app, ["audit", "--only", "Staircase"])
    assert found.exit_code == 0, found.output
    assert "proven and tight" in found.output
    assert "4 of 4 proven or in agreement" in found.output


def test_audit_in_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    found = runner.invoke(app, ["audit", "--only", "Staircase"])
    assert "Staircase(epsilon=2, sensitivity=5, inner=2)" in found.output
    assert "epsilon 2: worst 2 over 10 pairs, proven and tight" in found.output


def test_audit_as_json():
    found = runner.invoke(app, ["audit", "--only", "RandomizedResponse", "--json"])
    rows = json.loads(found.stdout)
    assert rows
    assert all(row["proven"] for row in rows)
    assert rows[0]["promise"] == {"epsilon": 1.0}
    assert isinstance(rows[0]["worst"], float)


def test_audit_fails_with_exit_code_one_where_a_promise_is_broken(monkeypatch):
    from discreet.audit import report
    from discreet.mechanisms.geometric import Geometric
    from discreet.privacy.guarantee import PureDP

    class Broken(Geometric):
        guarantee = PureDP("0.5")

    monkeypatch.setattr(report, "mechanisms", lambda: [Broken(epsilon=1)])
    monkeypatch.setattr(report, "samplers", list)
    found = runner.invoke(app, ["audit"])
    assert found.exit_code == 1
    assert "NOT PROVEN" in found.output
    assert "inputs" in found.output


def test_nothing_of_that_name():
    found = runner.invoke(app, ["audit", "--only", "Nonsense"])
    assert found.exit_code == 2
    assert runner.invoke(app, ["nonsense"]).exit_code == 2

import json
import subprocess
import sys

from typer.testing import CliRunner

import discreet
from discreet.cli import app

runner = CliRunner()


def test_version_and_help():
    assert runner.invoke(app, ["--version"]).output.strip() == f"discreet {discreet.__version__}"
    for words in (["--help"], ["audit", "--help"], ["demo", "--help"]):
        found = runner.invoke(app, words)
        assert found.exit_code == 0
        assert "Usage" in found.output
    assert "Example" in runner.invoke(app, ["audit", "--help"]).output


def test_the_installed_command_answers():
    command = [sys.executable, "-c", "from discreet.cli import app; app()", "--version"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("discreet ")


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


def test_demo_where_nothing_can_be_written(tmp_path):
    file = tmp_path / "file"
    file.write_text("in the way")
    found = runner.invoke(app, ["demo", "--out", str(file)])
    assert found.exit_code == 2
    assert "cannot write to" in found.output


def test_demo(tmp_path):
    found = runner.invoke(app, ["demo", "--out", str(tmp_path / "new")])
    assert found.exit_code == 0, found.output
    words = ("epsilon 2.12 of 2.5", "at epsilon 1 is refused", "holds 487 counts")
    for number in ("7.4715", "6.9750", "4.9604", "5.6857", "29,000", *words):
        assert number in found.output
    assert (tmp_path / "new" / "counts.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "new" / "counts.svg").read_text().startswith("<svg")

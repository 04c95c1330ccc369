import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet
from discreet import cli
from discreet.cli import app, commands
from discreet.cli.errors import INTERRUPTED

runner = CliRunner()


def test_version_and_help():
    assert runner.invoke(app, ["--version"]).output.strip() == f"discreet {discreet.__version__}"
    for words in (["--help"], ["audit", "--help"], ["demo", "--help"]):
        found = runner.invoke(app, words)
        assert found.exit_code == 0
        assert "Usage" in found.output
    assert "Example" in runner.invoke(app, ["audit", "--help"]).output


def test_the_installed_command_answers():
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "--version"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("discreet ")


def test_demo_where_nothing_can_be_written(tmp_path):
    file = tmp_path / "file"
    file.write_text("in the way")
    found = runner.invoke(app, ["demo", "--out", str(file)])
    assert found.exit_code == 2
    assert f"{file}: File exists" in found.output


def test_demo_for_machines(tmp_path):
    found = runner.invoke(app, ["demo", "--out", str(tmp_path), "--json"])
    told = json.loads(found.stdout)
    assert told["people"] == 29000
    assert [Path(path).name for path in told["figures"]] == ["salaries.png", "departments.png"]
    assert told["accounts"][0]["account"] == "staff"
    assert any("With epsilon 0.5" in step["text"] for step in told["steps"])
    assert told["classroom"][0]["average"] > 7


def test_demo(tmp_path):
    for _ in range(2):  # again, in the same folder: the people are made anew
        found = runner.invoke(app, ["demo", "--out", str(tmp_path / "new")])
        assert found.exit_code == 0, found.output
        told = ("29,000", "epsilon 0.5 is left", "With epsilon 0.5", "the same answer", "intact")
        for words in (
            "7.4715",
            "6.9750",
            "4.9604",
            "5.6857",
            "epsilon 2 of 3 spent, 1 left",
            *told,
        ):
            assert words in found.output
        for name in ("salaries.png", "departments.png"):
            assert (tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("said", [[], ["--json"]])
def test_an_interrupt_while_a_command_is_loaded_is_said_in_a_word(monkeypatch, capsys, said):
    def interrupted(*_):
        raise KeyboardInterrupt

    before = gc.get_threshold()
    monkeypatch.setattr(commands, "made", interrupted)
    monkeypatch.setattr(os, "_exit", sys.exit)
    monkeypatch.setattr(sys, "argv", ["discreet", "ask", *said])
    try:
        with pytest.raises(SystemExit) as end:
            cli.main()
    finally:
        gc.set_threshold(*before)
    told = capsys.readouterr().err
    assert end.value.code == INTERRUPTED
    if said:
        error = {"kind": "interrupted", "message": "interrupted", "charged": False}
        assert json.loads(told) == {"error": error, "exit": INTERRUPTED}
    else:
        assert told == "interrupted.\n"

"""The command that serves, as a process."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from typer.testing import CliRunner

from discreet.cli import app


@pytest.mark.slow
def test_a_first_start_makes_everything_and_a_signal_ends_it(tmp_path):
    command = [sys.executable, "-m", "discreet", "serve", "new.toml", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        try:
            told = ""
            while "shown only now" not in told:
                line = process.stdout.readline()
                assert line, told
                told += line
            address = re.search(r"http://127\.0\.0\.1:\d+", told)[0]
            with urllib.request.urlopen(f"{address}/health/live", timeout=30) as answer:
                assert answer.status == 200
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    assert process.returncode in (0, -signal.SIGTERM)
    assert {"new.toml", "new.ledger", "new.ledger.head"} <= {one.name for one in tmp_path.iterdir()}


def test_a_machine_is_told_everything_in_one_line(tmp_path, monkeypatch):
    from discreet.server import run as running

    def started_only(service, *, started):
        started("http://127.0.0.1:1")
        service.close()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "run", started_only)
    found = CliRunner().invoke(app, ["serve", "new.toml", "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["address"] == "http://127.0.0.1:1"
    assert told["policy"] == "new.toml"
    assert told["made"] == ["Wrote new.toml, a policy without data yet.", "Made its ledger."]
    (owner,) = told["people"]
    assert owner["name"] == "curator"
    assert len(owner["password"]) > 8
    again = json.loads(CliRunner().invoke(app, ["serve", "new.toml", "--json"]).stdout)
    assert again["people"] == again["made"] == []


def test_nobody_is_made_whose_password_is_not_shown(tmp_path, monkeypatch):
    """A first start at a port that is taken: the next one makes the owner, and tells."""
    from discreet.server import run as running

    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = CliRunner().invoke(app, ["serve", "new.toml", "--port", str(port)])
    assert found.exit_code == 2
    assert "cannot be listened at" in found.stderr
    monkeypatch.setattr(running, "run", lambda service, *, started: started("http://there"))
    found = CliRunner().invoke(app, ["serve", "new.toml", "--port", "0"])
    assert "Sign in as curator with this password" in found.stdout


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_that_is_none_makes_nothing(port, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, ["serve", "new.toml", "--port", port])
    assert found.exit_code == 2
    assert "--port must be at " in found.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "or --demo must be said"),
        (["new.toml", "--demo"], "or --demo must be said"),
        (["new.toml", "--certificate", "c.pem"], "goes with"),
        (["new.toml", "--host", "0.0.0.0"], "in clear"),
        (["new.toml", "--host", "0.0.0.0"], "got '0.0.0.0'; nothing is served"),
        (["new.csv"], "is not there, and a new one has to end in .toml"),
        (["new.toml", "--processes", "0"], "at least 1"),
        (["new.toml", "--processes", "3"], "at most half the policy's workers, 4"),
    ],
)
def test_what_cannot_be_served_is_said(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, ["serve", *arguments])
    assert found.exit_code == 2
    assert words in " ".join(found.output.split())

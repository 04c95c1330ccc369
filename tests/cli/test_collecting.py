"""The commands of a survey; the one that serves runs as a process."""

import base64
import json
import os
import re
import signal
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.local.store import Store
from discreet.local.survey import Survey

NEW = ["collect", "new", "s.json", "--values", "tea,coffee", "--epsilon", "2", "--epochs", "3"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, list(words))


def test_a_new_survey_says_what_it_costs(run):
    found = run(*NEW, "--start", "2026-11-16T00:00:00Z", "--hours", "2")
    assert found.exit_code == 0
    assert "2 in an epoch, 6 in all 3" in found.output
    survey = Survey.read("s.json")
    assert survey.oracle.domain.labels() == ["tea", "coffee"]
    assert (survey.epochs, survey.seconds, survey.name) == (3, 7200, "s")
    assert run(*NEW).exit_code == 2  # a survey that devices know is not written over
    assert json.loads(run("collect", "new", "t.json", "--values", "12", "--epsilon", "1",
                          "--json").output)["epsilon_of_all_epochs"] == "1"  # fmt: skip
    assert Survey.read("t.json").oracle.domain.size == 12
    assert run("collect", "new", "u.json", "--values", "a,b", "--epsilon", "1", "--start", "soon"
               ).exit_code == 2  # fmt: skip


def test_the_estimate_of_a_store(run):
    run(*NEW)
    survey = Survey.read("s.json")
    store, _ = Store.create("s.collected", survey)
    assert run("collect", "estimate", "s.json").exit_code == 1
    reports = survey.oracle.reports(["tea"] * 400)
    store.add([(1, f"device {i}", bytes([code])) for i, code in enumerate(reports)])
    store.close()
    found = run("collect", "estimate", "s.json", "--epoch", "1")
    assert "400 reports" in found.output
    told = json.loads(run("collect", "estimate", "s.json", "--epoch", "1", "--json").output)
    assert [row["value"] for row in told["rows"]] == ["tea", "coffee"]
    assert run("collect", "estimate", "s.json", "--epoch", "3").exit_code == 2
    assert run("collect", "estimate", "nowhere.json").exit_code == 2


def test_a_value_drives_no_terminal(run):
    run("collect", "new", "s.json", "--values", "tea,\x1b[2J", "--epsilon", "2")
    survey = Survey.read("s.json")
    store, _ = Store.create("s.collected", survey)
    store.add([(0, "device", bytes(survey.oracle.reports(["tea"])))])
    store.close()
    assert "\n\\x1b[2J  " in run("collect", "estimate", "s.json", "--epoch", "0").output


def test_tickets_are_made_and_needed_from_then_on(run):
    run(*NEW)
    words = ("collect", "tickets", "s.json", "--count", "5", "-o", "t.csv")
    found = run(*words)
    assert found.exit_code == 0
    assert "5 tickets" in found.output
    owner = re.search(r"ck_[0-9a-f]{64}", found.output)[0]
    head, *lines = Path("t.csv").read_text().splitlines()
    assert head == "device,ticket"
    assert stat.S_IMODE(Path("t.csv").stat().st_mode) == 0o600
    store = Store.open("s.collected")
    assert store.needs_tickets
    assert store.owned_by(owner)
    assert all(store.tickets.holds(*line.split(",")) for line in lines)
    assert len({line.partition(",")[0] for line in lines}) == 5
    store.close()
    assert run(*words).exit_code == 2  # the file is not written over
    assert len(Path("t.csv").read_text().splitlines()) == 6
    more = run("collect", "tickets", "s.json", "--count", "2", "-o", "u.csv", "--json")
    assert json.loads(more.output) == {"saved": "u.csv", "count": 2, "owner": ""}
    assert run("collect", "tickets", "s.json", "--count", "0", "-o", "v.csv").exit_code == 2
    assert not Path("v.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "in clear"),
        (["--certificate", "c.pem"], "goes with"),
    ],
)
def test_what_cannot_be_served_is_said(run, words, said):
    run(*NEW)
    found = run("collect", "serve", "s.json", *words)
    assert found.exit_code == 2
    assert said in " ".join(found.output.split())
    assert not Path("s.collected").exists()


def test_another_survey_of_the_same_store_is_refused(run):
    run(*NEW)
    Store.create("s.collected", Survey.read("s.json"))[0].close()
    Path("s.json").unlink()
    run(*NEW[:-1], "4")
    found = run("collect", "serve", "s.json")
    assert found.exit_code == 2
    assert "is not the survey" in " ".join(found.output.split())


@pytest.mark.slow
def test_the_process_collects_and_a_signal_ends_it(run, tmp_path):
    run(*NEW)
    command = [sys.executable, "-m", "discreet", "collect", "serve", "s.json", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        try:
            told = process.stdout.readline() + process.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+", told)[0]
            survey = Survey.read("s.json")
            report = base64.b64encode(survey.oracle.report("tea").to_bytes()).decode()
            body = {
                "survey": survey.identity,
                "epoch": 0,
                "device": "0123456789abcdef",
                "report": report,
            }
            request = urllib.request.Request(
                f"{address}/api/reports", json.dumps(body).encode(),
                {"Content-Type": "application/json"},
            )  # fmt: skip
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.status == 201
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    assert process.returncode in (0, -signal.SIGTERM)
    key = re.search(r"ck_[0-9a-f]{64}", told)[0]
    store = Store.open("s.collected")
    assert store.owned_by(key)
    assert store.collector(0).n == 1
    store.close()

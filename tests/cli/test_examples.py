"""Every example in the help texts runs as it stands; every command has one and a --json."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import POLICY
from typer.main import get_command
from typer.testing import CliRunner

from discreet.cli import app
from discreet.local.store import Store
from discreet.local.survey import Survey


def commands(group, name="discreet"):
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


COMMANDS = dict(commands(get_command(app)))
EXAMPLES = {
    " ".join(example.split()): name
    for name, command in COMMANDS.items()
    for example in re.findall(r"Example: \[bold\](.*?)\[/bold\]", command.help, re.DOTALL)
}
KEY = bytes.fromhex("3f2a9c01d4e8")
DERIVED = {
    "5b1cf": "SELECT department, salary > 90000 AS high, COUNT(*) FROM payroll GROUP BY 1, 2",
    "9d0e2": "SELECT department, SUM(salary) AS pay, COUNT(*) AS people FROM payroll "
    "GROUP BY department",
    "9b02c": "SELECT FLOOR(salary / 10000) * 10000 AS bin, COUNT(*) FROM payroll GROUP BY bin",
}
FIGURES = ("discreet demo", "discreet plot", "discreet report", "discreet serve")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_of_itself(name):
    assert any(example.startswith(f"{name} ") for example, of in EXAMPLES.items() if of == name)
    options = {word for option in COMMANDS[name].params for word in option.opts}
    assert "--json" in options or name in FIGURES


def make_rappor_files(run):
    """What the examples of `discreet rappor` read: 400 words with next to no noise."""
    Path("params.csv").write_text("k,h,m,p,q,f\n8,2,4,0.01,0.99,0\n")
    Path("secret.key").write_bytes(bytes(32))
    rows = "".join(f"c{i},apple\n" for i in range(400))
    Path("values.csv").write_text(f"client,value\n{rows}")
    Path("words.txt").write_text("apple\npear\n")
    given = ("--params", "params.csv")
    run("rappor", "encode", "values.csv", *given, "--secret", "secret.key", "-o", "reports.csv")
    run("rappor", "count", "reports.csv", *given, "-o", "counts.csv")
    run("rappor", "map", "words.txt", *given, "-o", "map.csv")


def make_survey(run):
    """What the examples of `discreet collect` read: a survey, and one report of it."""
    run("collect", "new", "survey.json", "--values", "tea,coffee,milk", "--epsilon", "1")
    survey = Survey.read("survey.json")
    store, _ = Store.create("survey.collected", survey)
    store.add([(0, "a device of somebody", survey.oracle.report("tea").payload)])
    store.close()


def collected(store, settings, started):
    """A collector that is told to stop at once."""
    started("http://127.0.0.1:8081")
    store.close()


def stopped(service, started):
    """A server that is told to stop at once."""
    started("http://127.0.0.1:8080")
    service.close()


def ready(*words):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, f"{words}\n{done.output}"


@pytest.fixture(scope="module")
def began(made, tmp_path_factory):
    """A folder in which everything is there that the examples name; each has a copy."""
    folder = tmp_path_factory.mktemp("examples") / "began"
    shutil.copytree(made, folder)
    (folder / "policy.toml").write_text(POLICY)
    (folder / "questions.sql").write_text("salary > 90000; department = 'Fire'")
    question = "SELECT department, COUNT(*) FROM payroll GROUP BY department"
    with pytest.MonkeyPatch.context() as known:
        known.chdir(folder)
        ready("register", "policy.toml")
        ready("ask", "policy.toml", question, "--key", "3f2a9")
        for key, asked in DERIVED.items():
            ready("ask", "policy.toml", asked, "--key", key)
        ready(
            "publish",
            "policy.toml",
            "salary",
            "--range",
            "0:400000",
            "--epsilon",
            "0.1",
            "--key",
            "7c41e",
        )
        ready("count", "payroll.csv", "--epsilon", "0.1")
        ready("people", "add", "policy.toml", "bob", "--no-password")
        # the id that the help names
        known.setattr("discreet.curator.access.access.new_key", lambda: KEY.ljust(32))
        ready("key", "make", "policy.toml", "bob")
        make_rappor_files(ready)
        make_survey(ready)
    return folder


@pytest.mark.parametrize("example", [one for one in EXAMPLES if "demo" not in one])
def test_examples_run(example, began, run, tmp_path, monkeypatch):
    """(`discreet demo` runs in test_cli.)"""
    monkeypatch.chdir(shutil.copytree(began, tmp_path / "here"))
    if example.startswith("discreet serve"):  # it would serve for ever; test_serving lets it
        monkeypatch.setattr("discreet.server.run.run", stopped)
    if example.startswith("discreet collect serve"):
        monkeypatch.setattr("discreet.server.collecting.run_collecting", collected)
    assert run(*shlex.split(example)[1:]).output

"""A small payroll, a policy, and a way to run the command."""

import csv
import shutil

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.gallery.data import write_payroll

POLICY = """\
[ledger]
path = "staff.ledger"

[family.staff]
epsilon = 3
neighbours = "add_or_remove"

[analyst.alice.allowance.staff]
epsilon = 1

[analyst.bob.allowance.staff]
epsilon = 1

[dataset.payroll]
family = "staff"
source = "payroll.csv"
version = "2024-12"
unit = "row"
[dataset.payroll.columns]
department = { keys = ["Fire", "Police", "Library"] }
salary = { low = 0, high = 400000, grid = 1 }

[defaults]
epsilon = 0.1
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """years.csv: everyone has up to four rows; payroll.csv: one row each."""
    folder = tmp_path_factory.mktemp("payroll")
    write_payroll(folder / "years.csv", people=900)
    with (folder / "years.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    with (folder / "payroll.csv").open("w", newline="") as file:
        csv.writer(file).writerows([head, *(row for row in rows if row[1] == "2024")])
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A folder of its own with the data and a policy, which is the current one."""
    for name in ("years.csv", "payroll.csv"):
        shutil.copy(made / name, tmp_path / name)
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch):
    """Run a command line: its exit code has to be the expected one, and nothing is traced."""
    monkeypatch.setenv("COLUMNS", "120")

    def runs(*words, code=0):
        found = CliRunner().invoke(app, list(map(str, words)))
        assert found.exit_code == code, f"{words}\n{found.output}\n{found.exception!r}"
        assert "Traceback" not in found.output
        assert not any("\x1b" in text for text in (found.stdout, found.stderr)), "colours in a pipe"
        return found

    return runs


@pytest.fixture
def registered(here, run):
    run("register", "policy.toml")
    return here

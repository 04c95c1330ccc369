"""`discreet register`: what the owner has to say apart, and what is told."""

import json
import shutil

from tests.cli.test_curating import COUNT


def changed(folder, old, new):
    text = (folder / "policy.toml").read_text()
    assert old in text
    (folder / "policy.toml").write_text(text.replace(old, new))


def test_register_follows_changes(registered, run):
    assert "No budget has changed" in run("register", "policy.toml").stdout
    changed(registered, "epsilon = 3", "epsilon = 4")
    assert "another version" in run("ask", "policy.toml", COUNT, code=4).stderr
    assert "--more-budget staff" in run("register", "policy.toml", code=4).stderr
    told = json.loads(run("register", "policy.toml", "--more-budget", "staff", "--json").stdout)
    assert told == {"version": 2, "changed": ["staff: from epsilon 3 to epsilon 4"]}


def test_what_is_spent_is_counted_for_the_same_people_and_neighbours(registered, run):
    run("ask", "policy.toml", COUNT, "--epsilon", "0.5")
    changed(registered, '"add_or_remove"', '"replace"')
    words = run("register", "policy.toml", code=4).stderr
    assert "Keep 'add_or_remove'. Nothing was changed" in " ".join(words.split())
    changed(registered, '"replace"', '"add_or_remove"')
    changed(registered, 'unit = "row"', 'unit = { person = "person", max_rows = 4 }')
    assert "--other-unit payroll" in run("register", "policy.toml", code=4).stderr
    assert "payroll" in run("register", "policy.toml", "--other-unit", "staff", code=2).stderr
    told = run("register", "policy.toml", "--other-unit", "payroll").stdout
    assert "  payroll: protects people, named by 'person'; before it was rows\n" in told
    assert "Intact" in run("ledger", "verify", "policy.toml").stdout


def test_a_second_ledger_for_the_same_data_is_told(registered, run):
    assert "adds up" not in run("register", "policy.toml").stderr
    changed(registered, "staff.ledger", "fresh.ledger")
    words = " ".join(run("register", "policy.toml").stderr.split())
    assert "staff.ledger lies here, too, and holds a budget for the same data" in words
    words = " ".join(run("count", "payroll.csv", "--epsilon", "1").stderr.split())
    assert "fresh.ledger lies here, too, and holds a budget for payroll.csv" in words
    assert "adds up" not in run("count", "payroll.csv", "--epsilon", "2").stderr  # told once


def test_a_copy_of_a_ledger_is_told(registered, run):
    for name in ("staff.ledger", "staff.ledger.head"):
        shutil.copy(registered / name, registered / name.replace("staff", "two"))
    changed(registered, "staff.ledger", "two.ledger")
    told = " ".join(run("register", "policy.toml").stderr.split())
    assert "staff.ledger lies here, too, and holds a budget for the same data" in told


def test_a_file_whose_people_are_said_otherwise_is_told(here, run):
    run("count", "years.csv", "--epsilon", "1")
    person = ("--person", "person", "--max-rows", "4")
    words = " ".join(run("count", "years.csv", *person, "--epsilon", "1").stderr.split())
    assert "what was paid so far protects rows" in words
    assert "only if everybody is one of each" in words
    assert "paid so far" not in run("count", "years.csv", *person, "--epsilon", "2").stderr
    assert "paid so far" in run("count", "years.csv", "--epsilon", "1.5").stderr


def test_what_is_not_there_is_told(registered, run):
    """The policy is in force all the same: the data may come later."""
    assert run("register", "policy.toml").stderr == ""
    changed(registered, "[dataset.payroll.columns]", '[dataset.payroll.columns]\npey = "text"')
    words = " ".join(run("register", "policy.toml").stderr.split())
    assert "payroll: columns must be columns of the source, which has:" in words
    assert "got 'pey'. No question can be answered from it until that is mended" in words
    (registered / "payroll.csv").unlink()
    words = " ".join(run("register", "policy.toml").stderr.split())
    assert "warning: payroll: " in words
    assert words.count("No question can be answered") == 1

import csv
import io
import json
import shutil
import sqlite3
from contextlib import closing

import pytest
from typer.testing import CliRunner

from discreet.cli import app

COUNT = "SELECT COUNT(*) FROM payroll"
BY_DEPARTMENT = "SELECT department, COUNT(*) FROM payroll GROUP BY department"


@pytest.fixture
def asked(registered, run):
    """alice asks, bob asks the same, the owner asks another."""
    run("ask", "policy.toml", BY_DEPARTMENT, "--epsilon", "0.5", "--as", "alice")
    run("ask", "policy.toml", BY_DEPARTMENT, "--epsilon", "0.5", "--as", "bob")
    run("ask", "policy.toml", COUNT, "--epsilon", "0.25", "--key", "own-1")
    return registered


def test_show_tells_who_asked_what(asked, run):
    found = run("ledger", "show", "policy.toml").stdout
    rows = [line for line in found.splitlines() if "SELECT" in line]
    assert len(rows) == 3
    assert "alice" in rows[0]
    assert "epsilon 0.5 " in rows[0]
    assert "answered" in rows[0]
    assert "(epsilon 0.5)" in rows[1]
    assert "stored answer" in rows[1]
    assert "owner" in rows[2]
    assert rows[2].endswith("own-1")
    assert "staff: epsilon 0.75 of epsilon 3 spent" in found
    assert all(len(line) <= 120 for line in found.splitlines())


def test_show_tells_an_answer_that_was_made_coarser(asked, run):
    """The people paid nothing for it."""
    run("ask", "policy.toml", COUNT, "--epsilon", "0.125", "--as", "bob")
    found = run("ledger", "show", "policy.toml").stdout
    *_, row = [line for line in found.splitlines() if "SELECT" in line]
    assert "stored answer" in row
    assert "(epsilon 0.125)" in row
    assert "staff: epsilon 0.75 of epsilon 3 spent" in found


def test_show_fits_a_narrow_terminal(asked, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    found = run("ledger", "show", "policy.toml").stdout
    assert max(map(len, found.splitlines())) <= 90
    assert "SELECT" in found


@pytest.mark.parametrize("more", [(), ("--analyst", "bob")])
def test_show_tells_enough_of_every_id_to_find_it(asked, run, more):
    """Also where only some are listed: the ledger holds them all."""
    for who in ("alice", "bob"):
        for day in ("01", "02"):
            key = f"nightly-2026-11-{day}"
            run("ask", "policy.toml", COUNT, "--epsilon", "0.25", "--key", key, "--as", who)
    lines = run("ledger", "show", "policy.toml", *more).stdout.splitlines()
    listed = [line.split()[-1] for line in lines if "SELECT" in line]
    assert len(set(listed)) == len(listed) == (3 if more else 7)
    for one in listed:
        assert f"Release {one}" in run("show", one, "--policy", "policy.toml").stdout
    assert all(len(line) <= 120 for line in lines)


def test_show_one_analyst(asked, run):
    found = run("ledger", "show", "policy.toml", "--analyst", "bob").stdout
    assert "alice" not in found
    assert "staff@bob: epsilon 0.5 of epsilon 1 spent" in found
    assert "Nothing was asked." in run("ledger", "show", "staff.ledger", "--analyst", "x").stdout


def test_show_everything(asked, run):
    found = run("ledger", "show", "policy.toml", "--all").stdout
    for words in ("the ledger was made", "staff may spend epsilon 3", "policy version 1"):
        assert words in found
    run("retire", "policy.toml", "payroll", "--yes")
    found = run("ledger", "show", "policy.toml").stdout
    assert "staff was retired" in found
    assert "spent, retired" in found


def test_show_for_machines(asked, run):
    rows = list(csv.DictReader(io.StringIO(run("ledger", "show", "policy.toml", "--csv").stdout)))
    assert [row["who"] for row in rows] == ["alice", "bob", "owner"]
    assert [row["cost"] for row in rows] == ["epsilon 0.5", "", "epsilon 0.25"]
    assert [row["allowance"] for row in rows] == ["epsilon 0.5", "epsilon 0.5", ""]
    told = json.loads(run("ledger", "show", "policy.toml", "--json").stdout)
    assert [line["release"] for line in told["entries"]][2] == "own-1"
    assert told["totals"][0] == {
        "account": "staff", "spent": "epsilon 0.75", "total": "epsilon 3", "retired": False,
    }  # fmt: skip
    run("ledger", "show", "policy.toml", "--json", "--csv", code=2)


def test_verify_and_head(asked, run):
    found = run("ledger", "verify", "policy.toml").stdout
    assert found.startswith("Intact: ")
    head = run("ledger", "head", "policy.toml").stdout.strip()
    assert head in found
    number, _, only = head.partition(":")
    for said in (head, only):
        found = run("ledger", "verify", "policy.toml", "--head", said).stdout
        assert f"The exported head is that of entry {number}." in found
    told = json.loads(run("ledger", "verify", "staff.ledger", "--json").stdout)
    assert told["intact"] is True
    assert told["head"] == head
    assert told["questions"] == 3
    assert json.loads(run("ledger", "head", "policy.toml", "--json").stdout)["head"] == head
    run("ledger", "verify", "policy.toml", "--head", "nonsense", code=2)
    problem = run("ledger", "verify", "policy.toml", "--head", f"3:{'a' * 64}", code=1).stderr
    assert "not in this ledger" in problem
    problem = run("ledger", "verify", "policy.toml", "--head", "a" * 64, code=1).stderr
    assert "no entry of this ledger has the exported hash aaaaaaaaaaaa" in " ".join(problem.split())


def test_verify_finds_a_change(asked, run):
    with sqlite3.connect("staff.ledger") as database:
        database.execute("UPDATE discreet_account SET spent = 0 WHERE name = 'staff'")
    database.close()
    assert "was changed" in run("ledger", "verify", "policy.toml", code=1).stderr
    told = json.loads(run("ledger", "verify", "policy.toml", "--json", code=1).stdout)
    assert told["intact"] is False
    assert "staff" in told["problem"]


def test_budget_that_was_given_back_in_the_table_is_not_granted(asked, run):
    with sqlite3.connect("staff.ledger") as database:
        database.execute("UPDATE discreet_account SET spent = 0")
    database.close()
    words = run("ask", "policy.toml", COUNT, "--epsilon", "0.5", code=4).stderr
    assert "'staff' has spent epsilon 0 by its tables, and had spent epsilon 0.75 before" in words
    assert "Nothing was charged" in words
    assert "was changed" in run("ledger", "verify", "policy.toml", code=1).stderr
    assert "the log says epsilon 0.75" in run("ledger", "restore", "policy.toml", code=4).stderr
    assert "discreet ledger rebuild" in words
    found = run("ledger", "rebuild", "policy.toml").stdout
    assert "  staff: epsilon 0.75 of epsilon 3 is spent; it had another row\n" in found
    assert "Intact" in run("ledger", "verify", "policy.toml").stdout
    assert "epsilon 0.75 of 3 spent" in run("budget", "policy.toml").stdout
    assert run("ledger", "rebuild", "policy.toml").stdout == "Nothing had to be changed.\n"
    assert json.loads(run("ledger", "rebuild", "policy.toml", "--json").stdout) == {"rebuilt": []}
    run("ask", "policy.toml", COUNT, "--epsilon", "0.5")


def damage(*statements):
    """Change a ledger as nobody but its owner could."""
    with closing(sqlite3.connect("staff.ledger")) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        for one in statements:
            assert database.execute(one).rowcount != 0, one
        database.commit()


def test_a_ledger_that_cannot_be_opened_is_not_called_changed(asked, run):
    head = asked / "staff.ledger.head"
    head.rename("kept")
    head.mkdir()
    words = run("ledger", "verify", "policy.toml", code=4).stderr
    assert "cannot be written" in words
    told = json.loads(run("ledger", "verify", "policy.toml", "--json", code=4).stderr)
    assert told["error"]["kind"] == "ledger"
    head.rmdir()
    (asked / "kept").rename(head)
    run("ledger", "verify", "policy.toml")


DAMAGES = [
    "UPDATE discreet_account SET accounting = 'purex' WHERE id = 2",
    "UPDATE discreet_account SET spent = 'x' WHERE id = 1",
    "UPDATE discreet_account SET sealed = 'no' WHERE id = 1",
    "DELETE FROM discreet_account WHERE id = 1",
    "UPDATE discreet_ledger SET version = -1",
    "UPDATE discreet_ledger SET version = 0",
    "UPDATE discreet_ledger SET version = 'x'",
    "UPDATE discreet_ledger SET policy_version = 'x'",
    "UPDATE discreet_ledger SET policy = 7.5",
    "UPDATE discreet_entry SET body = 'x' WHERE key = 'own-1'",
    "UPDATE discreet_entry SET body = '{}' WHERE key = 'own-1'",
    "UPDATE discreet_entry SET body = '[]' WHERE kind = 'policy'",
    "UPDATE discreet_entry SET body = x'ff' WHERE kind = 'data'",
    "UPDATE discreet_entry SET answer = NULL WHERE key = 'own-1'",
    "UPDATE discreet_entry SET state = 'x' WHERE key = 'own-1'",
    "UPDATE discreet_entry SET digest = NULL WHERE key = 'own-1'",
    "UPDATE discreet_entry SET size = 'x' WHERE key = 'own-1'",
]


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_ledger_is_told_in_words(asked, how):
    """Exit code 1 of verify; the others work, or say that the ledger cannot be used."""
    damage(how)
    found = CliRunner().invoke(app, ["ledger", "verify", "policy.toml"])
    assert found.exit_code == 1, found.output
    for words in (
        ("show", "own-1", "--policy", "policy.toml"),
        ("show", "own-", "--policy", "policy.toml"),
        ("ledger", "show", "policy.toml", "--all"),
        ("ledger", "head", "policy.toml"),
        ("budget", "policy.toml"),
        ("ask", "policy.toml", COUNT, "--epsilon", "0.25"),
        ("ask", "policy.toml", COUNT, "--epsilon", "0.25", "--key", "own-1"),
        ("ask", "policy.toml", COUNT, "--epsilon", "0.25", "--as", "bob"),
        ("register", "policy.toml"),
        ("ledger", "rebuild", "policy.toml"),
    ):
        found = CliRunner().invoke(app, list(words))
        assert found.exit_code in (0, 4), (words, found.output)
        assert "Traceback" not in found.output


@pytest.mark.parametrize(
    ("how", "words", "show"),
    [
        ("UPDATE discreet_account SET accounting = 'purex' WHERE id = 2", "an account", 4),
        ("UPDATE discreet_entry SET body = 'x' WHERE key = 'own-1'", "the ledger's entry", 4),
        ("UPDATE discreet_entry SET answer = NULL WHERE key = 'own-1'", "the question 'own-1'", 0),
    ],
)
def test_what_cannot_be_read_is_named(asked, run, how, words, show):
    damage(how)
    told = run("show", "own-1", "--policy", "policy.toml", code=4).stderr
    assert told.startswith(words)
    assert "cannot be read: it was changed" in told
    run("ledger", "show", "policy.toml", code=show)  # the log has no answers


def test_no_ledger_and_no_database(here, run):
    run("ledger", "verify", "policy.toml", code=4)
    run("ledger", "show", "policy.toml", code=4)
    run("ledger", "show", "payroll.csv", code=4)
    run("ledger", "head", "none.ledger", code=4)
    (here / "x.ledger").write_text("this is no database")
    run("ledger", "show", "x.ledger", code=4)
    run("ledger", "verify", "x.ledger", code=1)


def test_restore_an_old_ledger(registered, run):
    run("ask", "policy.toml", COUNT, "--epsilon", "0.5")
    shutil.copy("staff.ledger", "backup")
    run("ask", "policy.toml", BY_DEPARTMENT, "--epsilon", "1")
    for name in ("staff.ledger-wal", "staff.ledger-shm"):
        (registered / name).unlink(missing_ok=True)
    shutil.copy("backup", "staff.ledger")
    problem = run("ask", "policy.toml", COUNT, code=4).stderr
    assert "discreet ledger restore" in problem
    assert "restore" in run("ledger", "verify", "policy.toml", code=1).stderr
    found = run("ledger", "restore", "policy.toml").stdout
    assert "staff: epsilon 1 counts as spent" in found
    assert "epsilon 1.5 of 3 spent" in run("budget", "policy.toml").stdout
    assert "restored from a backup" in run("ledger", "show", "policy.toml").stdout
    assert "nothing had been spent" in run("ledger", "restore", "policy.toml").stdout
    assert json.loads(run("ledger", "restore", "policy.toml", "--json").stdout) == {"counted": []}


def test_restoring_without_a_head_file_asks_before_all_is_spent(asked, run):
    whole = (asked / "staff.ledger.head").read_bytes()
    (asked / "staff.ledger.head").unlink()
    words = run("ask", "policy.toml", COUNT, code=4).stderr
    assert "everything that is left counts as spent then" in words
    assert "copy of the first one's head file" in words
    words = run("ledger", "restore", "policy.toml", code=4).stderr
    assert words.startswith("the ledger's head file staff.ledger.head is missing, so that nobody")
    assert "staff: epsilon 2.25; staff@alice: epsilon 0.5; staff@bob: epsilon 0.5. " in words
    assert "`discreet ledger restore --all-is-spent` goes on. Nothing was changed." in words
    (asked / "staff.ledger.head").write_bytes(whole)
    assert "epsilon 0.75 of 3 spent" in run("budget", "policy.toml").stdout
    (asked / "staff.ledger.head").write_bytes(b"x" + whole[1:])
    words = run("ledger", "restore", "policy.toml", code=4).stderr
    assert words.startswith("the head file staff.ledger.head is damaged in line 1, so that nobody")
    found = run("ledger", "restore", "policy.toml", "--all-is-spent").stdout
    assert "staff: epsilon 2.25 counts as spent" in found
    assert "epsilon 3 of 3 spent" in run("budget", "policy.toml").stdout


def test_a_head_file_without_its_ledger_leads_in_no_circle(asked, run):
    (asked / "staff.ledger").unlink()
    for command in (("ledger", "restore"), ("ledger", "show"), ("budget",)):
        words = run(*command, "policy.toml", code=4).stderr
        assert "put a backup in its place, and `discreet ledger restore` counts" in words
        assert "register" not in words
    words = run("register", "policy.toml", code=4).stderr
    assert "put a backup in its place" in words
    assert "only the owner of the data can decide that" in words
    (asked / "staff.ledger.head").unlink()
    assert "register" in run("ledger", "restore", "policy.toml", code=4).stderr


def test_raise_the_total_of_a_file(asked, run):
    run("count", "payroll.csv", "--epsilon", "1", "--budget", "2")
    found = run("ledger", "raise", "payroll.csv", "5").stdout
    assert "may spend epsilon 5 instead of epsilon 2" in found
    assert "epsilon 1 of 5 spent, 4 left" in run("budget", "payroll.csv").stdout
    assert "must be above epsilon 5" in run("ledger", "raise", "payroll.csv", "4", code=2).stderr
    run("count", "payroll.csv", "--epsilon", "2")
    assert "Intact" in run("ledger", "verify", "payroll.csv").stdout
    shutil.copy("policy.toml", "mine.toml")
    said = run("ledger", "raise", "mine.toml", "9", code=2).stderr
    assert "`discreet register mine.toml --more-budget ACCOUNT`" in said
    said = run("ledger", "raise", "payroll.csv", "0", code=2).stderr
    assert said.startswith("EPSILON must be above 0, got '0'")
    assert "bare data file" in run("ledger", "raise", "staff.ledger", "9", code=2).stderr
    told = json.loads(run("ledger", "raise", "payroll.csv", "6", "--json").stdout)
    assert told == {"account": "people", "from": "epsilon 5", "to": "epsilon 6"}


def test_a_file_has_a_delta_once_it_is_given_one(asked, run):
    """It adds up like epsilon, and is kept when epsilon is raised alone."""
    sql = "SELECT department, COUNT(*) AS n FROM payroll GROUP BY department"
    words = ("sql", "payroll.csv", sql, "--text", "department", "--delta", "1e-6", "--epsilon", "1")
    said = run(*words, code=3).stderr
    assert "it has no delta: declare the keys" in said
    assert "`discreet ledger raise FILE EPSILON --delta 1e-6`" in said
    found = run("ledger", "raise", "payroll.csv", "10", "--delta", "1.5e-6").stdout
    assert "may spend epsilon 10, delta 1.5e-06 instead of epsilon 10" in found
    run(*words)
    assert "delta 1e-06 of 1.5e-06" in run("budget", "payroll.csv").stdout
    run("ledger", "raise", "payroll.csv", "12")
    assert "of epsilon" not in run(*words[:-1], "2", code=3).stderr
    assert "delta 5e-07 is left" in run(*words[:-1], "2", code=3).stderr
    for total, delta in (("11", "1e-5"), ("12", "1e-7"), ("12", "1.5e-6")):
        said = run("ledger", "raise", "payroll.csv", total, "--delta", delta, code=2).stderr
        assert "must be above epsilon 12, delta 1.5e-06" in said
    said = run("ledger", "raise", "payroll.csv", "12", "--delta", "2", code=2).stderr
    assert said.startswith("--delta must lie strictly between 0 and 1, got '2'")
    assert "Intact" in run("ledger", "verify", "payroll.csv").stdout


def test_an_old_copy_can_be_looked_at(registered, run):
    (registered / "copy").write_bytes((registered / "staff.ledger").read_bytes())
    run("ask", "policy.toml", "SELECT COUNT(*) FROM payroll", "--epsilon", "0.5")
    (registered / "copy").replace(registered / "staff.ledger")
    run("ledger", "head", "policy.toml", code=4)
    found = run("ledger", "show", "policy.toml")
    assert "Nothing was asked." in found.stdout
    assert "warning: this is for looking only." in found.stderr
    assert json.loads(run("ledger", "show", "policy.toml", "--json").stdout)["problem"]
    run("ledger", "head", "policy.toml", code=4)  # looking changed nothing
    run("ledger", "restore", "policy.toml")
    assert run("ledger", "show", "policy.toml").stderr == ""


def test_a_data_file_without_a_ledger_has_nothing_to_restore(here, run):
    found = run("ledger", "restore", "payroll.csv", code=4).stderr
    assert "payroll.csv has no ledger payroll.csv.ledger beside it" in found
    assert "register" not in found


def test_blocks_are_listed(here, run):
    text = (here / "policy.toml").read_text()
    block = """
[dataset.payroll.block.q1]
source = "years.csv"
version = "1"
people = "own"
"""
    (here / "policy.toml").write_text(text + block)
    run("register", "policy.toml")
    run("ask", "policy.toml", "SELECT COUNT(*) FROM payroll")
    assert "about" not in run("ledger", "show", "policy.toml").stdout
    run("ask", "policy.toml", "SELECT COUNT(*) FROM payroll", "--block", "q1")
    found = run("ledger", "show", "policy.toml").stdout
    assert "about" in found.splitlines()[0]
    assert "payroll/q1" in found
    assert "payroll/q1" in run("ledger", "show", "policy.toml", "--csv").stdout


def test_a_question_with_a_public_table_is_listed_with_its_join(here, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    lookup = """
[dataset.payroll.lookup.house]
key = "department"
rows = [{ department = "Fire", area = "north" }, { department = "Police", area = "south" }]
"""
    with (here / "policy.toml").open("a") as policy:
        policy.write(lookup)
    run("register", "policy.toml")
    join = "FROM payroll\nJOIN house USING (department)\nGROUP BY area"
    question = f"SELECT area, COUNT(*) AS n\n{join}"
    run("ask", "policy.toml", question, "--key", "abcd1")
    listed = run("ledger", "show", "policy.toml").stdout
    assert " ".join(question.split()) in listed
    (told,) = json.loads(run("ledger", "show", "policy.toml", "--json").stdout)["entries"]
    assert told["what"] == question
    shown = run("show", "abcd", "--policy", "policy.toml").stdout
    assert "    JOIN house USING (department)\n" in shown
    run("report", "abcd", "--policy", "policy.toml", "-o", "page.html")
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "JOIN house USING (department)" in page
    assert "LOOKUP(" not in page
    # the log itself keeps the question by which it is found again
    (told,) = json.loads(run("ledger", "show", "staff.ledger", "--json").stdout)["entries"]
    assert "LOOKUP('house', 'area', department)" in told["what"]
    assert "free: asked before" in run("ask", "policy.toml", question).stderr
    assert "free: asked before" in run("ask", "policy.toml", told["what"]).stderr
    assert "LOOKUP(" in run("show", "abcd", "--policy", "policy.toml", "--json").stdout

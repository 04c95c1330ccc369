import json
import math
import re

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError

COUNT = "SELECT COUNT(*) FROM payroll"
BY_DEPARTMENT = "SELECT department, COUNT(*) FROM payroll GROUP BY department"


def test_an_explanation_supposes_the_rows_that_were_said(registered, run):
    """Twice the rows in a group, half the error of a mean, in the words and in the figures."""
    mean = "SELECT AVG(salary) AS m FROM payroll"
    for where, more in (("policy.toml", ()), ("payroll.csv", ("--bounds", "salary=0:400000"))):
        found, words = {}, {}
        for rows in ("1000", "4000"):
            args = ("explain", where, mean, *more, "--within", "9000", "--rows", rows)
            told = json.loads(run(*args, "--json").stdout)
            found[rows], words[rows] = told["price"]["columns"][0], told["explanation"]
            assert f"for a group of {int(rows):,} rows" in found[rows]["note"]
            assert f"for a group of {int(rows):,} rows" in words[rows]
            assert found[rows]["within"] <= 9000
    assert (
        "for a group of 1,000 rows" in run("explain", "policy.toml", mean, "--epsilon", "1").stdout
    )


def test_the_way_from_a_file_to_an_answer(here, run):
    (here / "policy.toml").unlink()
    found = run("init", "payroll.csv")
    assert "No row was read" in found.stdout
    assert "epsilon: how much may be learned" in " ".join(found.stdout.split())
    problem = run("check", "policy.toml", code=2).stderr
    assert "[family.people] epsilon: is not decided yet" in problem
    assert "nothing was charged" in problem
    text = (here / "policy.toml").read_text()
    for key, value in (
        ("epsilon", "1"), ("neighbours", '"add_or_remove"'), ("version", '"1"'), ("unit", '"row"'),
        ("salary", "{ low = 0, high = 400000 }"),
    ):  # fmt: skip
        text = text.replace(f'{key} = "DECIDE"', f"{key} = {value}")
    (here / "policy.toml").write_text(text.replace('"DECIDE"', '"hidden"'))
    assert "discreet register policy.toml" in run("check", "policy.toml").stdout
    assert "people may spend epsilon 1" in run("register", "policy.toml").stdout
    assert "discreet register" not in run("check", "policy.toml").stdout
    run("ask", "policy.toml", "SELECT AVG(salary) FROM payroll", "--epsilon", "0.5")


def test_init_replaces_nothing_and_prints(here, run):
    assert "is not replaced" in run("init", "payroll.csv", code=2).stderr
    assert run("init", "payroll.csv", "-o", "-").stdout.startswith("# A draft policy")
    told = json.loads(run("init", "payroll.csv", "-o", "d.toml", "--json").stdout)
    assert {"line", "key", "about"} == set(told["decide"][0])
    assert "salary" in {one["key"] for one in told["decide"]}
    assert "does not exist" in run("init", "none.csv", "-o", "x.toml", code=2).stderr.replace(
        "is not there", "does not exist"
    )


def test_check_as_json(here, run):
    told = json.loads(run("check", "policy.toml", "--json").stdout)
    assert set(told) == {"fingerprint", "warnings", "policy"}
    run("check", "none.toml", code=2)


def test_register_follows_changes(registered, run):
    assert "No budget has changed" in run("register", "policy.toml").stdout
    text = (registered / "policy.toml").read_text()
    (registered / "policy.toml").write_text(text.replace("epsilon = 3", "epsilon = 4"))
    assert "another version" in run("ask", "policy.toml", COUNT, code=4).stderr
    assert "--more-budget staff" in run("register", "policy.toml", code=4).stderr
    told = json.loads(run("register", "policy.toml", "--more-budget", "staff", "--json").stdout)
    assert told == {"version": 2, "changed": ["staff: from epsilon 3 to epsilon 4"]}


def test_ask_needs_a_ledger(here, run):
    assert "discreet register" in run("ask", "policy.toml", COUNT, code=4).stderr
    assert "is not there" in run("ask", "none.toml", COUNT, code=2).stderr


def test_a_key_is_paid_once(registered, run):
    words = ("ask", "policy.toml", COUNT, "--within", "50", "--key", "cron-1")
    first, second = run(*words), run(*words)
    assert first.stdout == second.stdout
    assert "release cron-1" in first.stderr
    assert second.stderr.startswith("free: ")
    problem = run("ask", "policy.toml", BY_DEPARTMENT, "--key", "cron-1", code=4).stderr
    assert "belongs to another question" in problem
    assert "key" in run("ask", "policy.toml", COUNT, "--key", "no good", code=2).stderr


def test_a_refusal_has_an_offer_that_can_be_taken(registered, run):
    words = ("ask", "policy.toml", COUNT, "--epsilon", "1.5", "--as", "alice")
    found = run(*words, code=3)
    assert "nothing was charged" in found.stderr
    assert "With epsilon 1 it could be answered: count within" in found.stderr
    found = run(*words, "--with-what-is-left")
    assert "charged epsilon 1 · left epsilon 0 of 1" in found.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((COUNT, "--as", "mallory"), "must be one of the policy's: alice, bob"),
        ((COUNT, "--dataset", "other"), "there are: payroll"),
        ((COUNT, "--block", "2025"), "no block"),
        ((COUNT, "--epsilon", "1", "--within", "5"), "within"),
        (("SELECT person FROM payroll",), "Nothing was charged"),
        (("SELECT MAX(salary) FROM payroll",), "Nothing was charged"),
        ((COUNT, "--rho", "0.1"), "epsilon"),
        ((COUNT, "--plot", "x.gif"), "must end with"),
    ],
)
def test_wrong_questions(words, said, registered, run):
    assert said in run("ask", "policy.toml", *words, code=2).stderr


def test_ask_saves_a_figure_and_a_page(registered, run):
    run("ask", "policy.toml", BY_DEPARTMENT, "--plot", "f.svg", "--report", "p.html")
    assert (registered / "f.svg").read_text().startswith("<svg")
    assert "<html" in (registered / "p.html").read_text()


def test_explain_is_free_and_makes_no_ledger(registered, run):
    found = run("explain", "policy.toml", "SELECT AVG(salary) FROM payroll", "--epsilon", "0.5")
    assert "costs 0.5-differential privacy" in found.stdout
    assert "costs 0.1-differential" in run("explain", "policy.toml", COUNT).stdout
    found = run("explain", "payroll.csv", COUNT, "--within", "20")
    assert "It takes epsilon 0.147 to be within 20." in found.stdout
    assert not (registered / "payroll.csv.ledger").exists()
    told = json.loads(run("explain", "payroll.csv", COUNT, "--json").stdout)
    assert told["price"]["guarantee"].startswith("1-differential")
    assert told["price"]["columns"][0]["name"] == "count"
    told = json.loads(run("explain", "policy.toml", COUNT, "--within", "20", "--json").stdout)
    assert told["epsilon_for"] == "0.147"
    spent = json.loads(run("budget", "policy.toml", "--json").stdout)[0]["spent"]
    assert spent == {"epsilon": "0", "delta": "0"}


def test_explain_says_what_is_wrong(registered, run):
    problem = run("explain", "policy.toml", COUNT, "--flag", "remote", code=2).stderr
    assert "says itself what is known" in problem
    problem = run("explain", "payroll.csv", COUNT, "--within", "5", "--epsilon", "1", code=2).stderr
    assert "--within goes instead" in problem
    assert "no column" in run("explain", "payroll.csv", "SELECT AVG(x) FROM payroll", code=2).stderr


def test_the_budget_of_everybody_and_of_one(registered, run):
    run("ask", "policy.toml", COUNT, "--epsilon", "0.5", "--as", "alice")
    found = run("budget", "policy.toml").stdout
    assert "staff        ████░░" in found
    assert "epsilon 0.5 of 3 spent, 2.5 left" in found
    only = run("budget", "policy.toml", "--as", "alice").stdout
    assert only == "staff@alice  ████████████░░░░░░░░░░░░  epsilon 0.5 of 1 spent, 0.5 left\n"
    told = json.loads(run("budget", "policy.toml", "--as", "alice", "--json").stdout)
    assert told == [
        {
            "account": "staff@alice",
            "accounting": "pure",
            "spent": {"epsilon": "0.5", "delta": "0"},
            "total": {"epsilon": "1", "delta": "0"},
            "left": {"epsilon": "0.5", "delta": "0"},
            "retired": False,
        }
    ]
    assert "there are: alice, bob" in run("budget", "policy.toml", "--as", "eve", code=2).stderr
    assert "must be an analyst" in run("budget", "staff.ledger", "--as", "eve", code=2).stderr


def test_the_budget_of_a_file_that_nobody_asked(here, run):
    assert "Nothing was asked yet" in run("budget", "payroll.csv").stdout
    assert json.loads(run("budget", "payroll.csv", "--json").stdout) == []
    assert "is not there" in run("budget", "none.csv", code=2).stderr


def test_a_rho_is_told_as_an_epsilon_too(here, run):
    text = (here / "policy.toml").read_text()
    text = text.replace("epsilon = 3\n", 'rho = 1\naccounting = "zcdp"\n')
    text = text.replace(".staff]\nepsilon = 1", ".staff]\nrho = 0.5")
    (here / "policy.toml").write_text(text)
    run("register", "policy.toml")
    found = run("ask", "policy.toml", COUNT, "--rho", "0.125", "--as", "alice")
    assert "charged rho 0.125 · left rho 0.375 of 0.5" in found.stderr
    found = run("budget", "policy.toml").stdout
    told = re.search(
        r"rho 0.125 of 1 spent, 0.875 left \(so far epsilon ([\d.]+) at delta 1e-6", found
    )
    assert 2 < float(told[1]) < 0.125 + 2 * (0.125 * math.log(1e6)) ** 0.5


def test_retire_seals(registered, run):
    answer = run("ask", "policy.toml", COUNT, "--epsilon", "0.5").stdout
    assert "staff is retired" in run("retire", "policy.toml", "payroll").stdout
    assert json.loads(run("retire", "policy.toml", "payroll", "--json").stdout) == {
        "retired": ["staff"]
    }
    assert "retired" in run("ask", "policy.toml", BY_DEPARTMENT, code=3).stderr
    again = run("ask", "policy.toml", COUNT, "--epsilon", "0.5")
    assert again.stdout == answer
    assert "left nothing: retired" in again.stderr
    assert "retired" in run("budget", "policy.toml").stdout
    assert "there are: payroll" in run("retire", "policy.toml", "other", code=2).stderr


def test_a_failure_is_the_owners_to_know(registered, run, monkeypatch):
    def failing(*_, **__):
        raise EngineError("the database failed") from ValueError("row 17 of\nAda Lovelace")

    with monkeypatch.context() as patched:
        patched.setattr(DuckDB, "run", failing)
        found = run("ask", "policy.toml", COUNT, "--epsilon", "0.5", "--as", "alice")
    assert "Ada" not in found.stdout + found.stderr
    assert "fail" not in found.stdout + found.stderr
    noted = registered / "staff.ledger.faults"
    assert noted.read_text().endswith(
        "| EngineError: the database failed | ValueError: row 17 of Ada Lovelace\n"
    )
    assert noted.stat().st_mode & 0o777 == 0o600
    assert "failed" in run("ledger", "show", "policy.toml").stdout
    run("ledger", "verify", "policy.toml")

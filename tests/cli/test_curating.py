import json
import math
import os
import re

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError

COUNT = "SELECT COUNT(*) FROM payroll"
BY_DEPARTMENT = "SELECT department, COUNT(*) FROM payroll GROUP BY department"


def replaced(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


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
    printed = json.loads(run("init", "payroll.csv", "-o", "-", "--json").stdout)
    assert printed["text"].startswith("# A draft policy")
    told = json.loads(run("init", "payroll.csv", "-o", "d.toml", "--json").stdout)
    assert printed["decide"] == told["decide"]
    assert {"line", "key", "about"} == set(told["decide"][0])
    assert "salary" in {one["key"] for one in told["decide"]}
    assert "does not exist" in run("init", "none.csv", "-o", "x.toml", code=2).stderr.replace(
        "is not there", "does not exist"
    )


def test_check_as_json(here, run):
    told = json.loads(run("check", "policy.toml", "--json").stdout)
    names = {"fingerprint", "warnings", "policy", "missing", "retired", "changed_data", "ledger"}
    assert set(told) == names
    assert told["changed_data"] == []
    run("check", "none.toml", code=2)


def test_files_that_change_under_their_version_are_told_by_all_who_would_use_them(registered, run):
    first = json.loads(run("ask", "policy.toml", COUNT, "--key", "k", "--json").stdout)
    with (registered / "payroll.csv").open("a") as rows:
        rows.write((registered / "payroll.csv").read_text().partition("\n")[2])
    for who in ((), ("--as", "alice")):
        refused = run("ask", "policy.toml", COUNT, "--epsilon", "0.2", *who, code=5).stderr
        assert "Nothing was charged" in refused
        assert "`discreet register policy.toml --same-data payroll`" in " ".join(refused.split())
    assert "new version in the policy" in run("register", "policy.toml", code=4).stderr
    checked = run("check", "policy.toml")
    assert "have changed since they were noted as version '2024-12'" in checked.stderr
    assert json.loads(run("check", "policy.toml", "--json").stdout)["changed_data"] == ["payroll"]
    assert json.loads(run("show", "k", "--policy", "policy.toml", "--json").stdout)
    text = (registered / "policy.toml").read_text()
    (registered / "policy.toml").write_text(text.replace("2024-12", "2025-01"))
    assert run("check", "policy.toml").stderr == ""
    run("register", "policy.toml")
    again = json.loads(run("ask", "policy.toml", COUNT, "--json").stdout)
    assert again["charged"] == first["charged"]


def test_files_that_were_only_touched_go_on(registered, run):
    first = json.loads(run("ask", "policy.toml", COUNT, "--json").stdout)
    os.utime(registered / "payroll.csv", (1, 1))
    run("ask", "policy.toml", COUNT, code=5)
    words = run("register", "policy.toml", "--same-data", "payroll").stdout
    assert "payroll: its files have changed, and its rows are the same" in words
    assert (
        json.loads(run("ask", "policy.toml", COUNT, "--json").stdout)["record"] == first["record"]
    )
    assert "same rows: payroll" in run("ledger", "show", "policy.toml").stdout
    assert "payroll" in run("register", "policy.toml", "--same-data", "staff", code=2).stderr


def test_check_goes_on_where_the_ledger_cannot_be_read(registered, run):
    (registered / "staff.ledger.head").write_text("torn")
    found = run("check", "policy.toml", code=4)
    assert "Its ledger cannot be used: the head file" in found.stdout
    assert "staff" in found.stdout, "the policy is explained before"
    told = json.loads(run("check", "policy.toml", "--json", code=4).stdout)
    assert told["ledger"].startswith("the head file")
    assert told["policy"]
    (registered / "payroll.csv").unlink()
    assert "Its ledger cannot be used" in run("check", "policy.toml", code=1).stdout


def test_check_of_a_ledger_that_is_gone(registered, run):
    (registered / "staff.ledger").unlink()
    found = run("check", "policy.toml", code=4).stdout
    assert "Its ledger cannot be used: the head file staff.ledger.head exists" in found
    assert "discreet register" not in found
    begun = (registered / "staff.ledger.head").read_bytes()[:256]
    (registered / "staff.ledger.head").write_bytes(begun)  # as if it had never been finished
    assert "discreet register policy.toml" in run("check", "policy.toml").stdout
    assert "`discreet register policy.toml` makes" in run("budget", "policy.toml", code=4).stderr
    run("register", "policy.toml")


def test_check_before_a_ledger_in_postgres_is_made(here, run, flushing_server, worker_id):
    psycopg = pytest.importorskip("psycopg")
    name = f"check_{worker_id}"
    with psycopg.connect(flushing_server, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
    address = flushing_server.replace("/postgres?", f"/{name}?")
    text = (here / "policy.toml").read_text()
    said = f'address = "{address}"\nhead = "staff.head"'
    (here / "policy.toml").write_text(text.replace('path = "staff.ledger"', said))
    found = run("check", "policy.toml").stdout
    assert "Its ledger is not there yet: discreet register policy.toml" in found
    assert "ledger cannot be used" not in found
    run("register", "policy.toml")
    found = run("check", "policy.toml").stdout
    assert "Its ledger" not in found
    (here / "staff.head").rename(here / "kept")
    found = run("check", "policy.toml", code=4).stdout
    assert "needs a copy of the first one's head file" in found
    (here / "policy.toml").write_text(
        text.replace('path = "staff.ledger"', said.replace(address, "postgresql://127.0.0.1:1/x"))
    )
    assert "could not be opened" in run("check", "policy.toml", code=4).stdout


def test_ask_needs_a_ledger(here, run):
    assert "discreet register" in run("ask", "policy.toml", COUNT, code=4).stderr
    assert "is not there" in run("ask", "none.toml", COUNT, code=2).stderr


def test_a_key_is_paid_once(registered, run):
    words = ("ask", "policy.toml", COUNT, "--within", "50", "--key", "cron-1")
    first, second = run(*words), run(*words)
    assert first.stdout == second.stdout
    assert "release cron-1" in first.stderr
    assert second.stderr.startswith("free: ")
    problem = run("ask", "policy.toml", BY_DEPARTMENT, "--key", "cron-1", code=2).stderr
    assert "this key belongs to another question" in problem
    again = ("ask", "policy.toml", COUNT, "--key", "k1", "--as", "alice")
    run(*again)
    found = run(*again, "--epsilon", "0.2", "--json", code=2).stderr
    assert json.loads(found)["error"]["kind"] == "key"
    assert "k1-" not in found  # nobody typed it
    assert "key" in run("ask", "policy.toml", COUNT, "--key", "no good", code=2).stderr


def test_a_refusal_has_an_offer_that_can_be_taken(registered, run):
    words = ("ask", "policy.toml", COUNT, "--epsilon", "1.5", "--as", "alice")
    found = run(*words, code=3)
    assert "nothing was charged" in found.stderr
    assert "With epsilon 1 it could be answered: count within" in found.stderr
    assert "(--with-what-is-left asks it)" in found.stderr
    found = run(*words, "--with-what-is-left")
    assert "charged epsilon 1 · left epsilon 0 of 1" in found.stderr


@pytest.mark.parametrize(
    ("question", "asked", "error"),
    [
        (COUNT, "20", r"count within 0 \("),
        ("SELECT MEDIAN(salary) AS m FROM payroll", "20", r"m within [\d.]+ ranks \("),
    ],
)
def test_every_offer_tells_its_error(here, run, question, asked, error):
    replaced(here / "policy.toml", "epsilon = 3", "epsilon = 10")
    run("register", "policy.toml")
    found = run("ask", "policy.toml", question, "--epsilon", asked, code=3).stderr
    assert re.search(f"With epsilon 10 it could be answered: {error}", found)


def test_a_cost_that_is_a_little_more_than_what_is_left_says_so(registered, run):
    found = run("ask", "policy.toml", COUNT, "--epsilon", "1.0000001", "--as", "bob", code=3)
    assert "costs epsilon 1.0000001, and of staff@bob epsilon 1 is left" in found.stderr


def test_the_people_s_rest_is_offered_where_the_policy_tells_it(here, run):
    replaced(here / "policy.toml", "epsilon = 3\n", "epsilon = 3\ntells_rest = true\n")
    run("register", "policy.toml")
    run("ask", "policy.toml", COUNT, "--epsilon", "2.8")
    words = ("ask", "policy.toml", BY_DEPARTMENT, "--epsilon", "0.5", "--as", "bob")
    found = run(*words, code=3).stderr
    assert "of the budget of these people epsilon 0.2 is left" in found
    assert "With epsilon 0.2 it could be answered: count within" in found
    assert (
        "charged epsilon 0.2 · left epsilon 0.8 of 1" in run(*words, "--with-what-is-left").stderr
    )


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
    assert told["paid"] is False
    spent = json.loads(run("budget", "policy.toml", "--json").stdout)[0]["spent"]
    assert spent == {"epsilon": "0", "delta": "0"}


def test_explain_tells_what_was_paid(registered, run):
    asked = ("policy.toml", COUNT, "--epsilon", "0.2", "--as")
    assert "takes nothing off" not in run("explain", *asked, "alice").stdout
    run("ask", *asked, "alice")
    assert "takes nothing off your budget" in run("explain", *asked, "alice").stdout
    assert "takes nothing off" not in run("explain", *asked, "bob").stdout
    for within, paid in ((100, True), (1, False)):
        words = ("policy.toml", COUNT, "--within", str(within), "--as", "alice", "--json")
        assert json.loads(run("explain", *words).stdout)["paid"] is paid


def test_another_search_is_told_and_paid(here, run):
    text = (here / "policy.toml").read_text()
    found = text.replace("{ low = 0, high = 400000, grid = 1 }", "{ find = true, epsilon = 0.3 }")
    (here / "policy.toml").write_text(found)
    run("register", "policy.toml")
    total = ("policy.toml", "SELECT SUM(salary) AS s FROM payroll", "--epsilon", "0.1")
    told, again = (
        run("explain", *total, "--as", "alice").stdout,
        ("--as", "alice", "--search-again"),
    )
    assert "bounds of salary (epsilon 0.3) have still to be found" in told
    assert "charged epsilon 0.4" in run("ask", *total, "--as", "alice").stderr
    assert "to be found" not in run("explain", *total, "--as", "alice").stdout
    assert "have still to be found" in run("explain", *total).stdout  # the owner has not searched
    told = run("explain", *total, *again).stdout
    assert (
        "bounds of salary (epsilon 0.3) are searched for, and paid, again: in all epsilon 0.4"
        in told
    )
    assert "charged epsilon" not in run("ask", *total, "--as", "alice").stderr
    assert "charged epsilon 0.4" in run("ask", *total, *again, "--key", "twice").stderr
    assert "free: asked before" in run("ask", *total, *again, "--key", "twice").stderr
    assert "left epsilon 0.2" in run("ask", *total, "--as", "alice").stderr


def test_explain_says_what_is_wrong(registered, run):
    problem = run("explain", "policy.toml", COUNT, "--flag", "remote", code=2).stderr
    assert "says itself what is known" in problem
    problem = run("explain", "payroll.csv", COUNT, "--within", "5", "--epsilon", "1", code=2).stderr
    assert "--within goes instead" in problem
    assert "no column" in run("explain", "payroll.csv", "SELECT AVG(x) FROM payroll", code=2).stderr
    found = run("explain", "payroll.csv", COUNT, "--epsilon", "1", "--search-again", code=2).stderr
    assert "--search-again needs a policy" in found


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
    assert "staff is retired" in run("retire", "policy.toml", "payroll", "--yes").stdout
    assert json.loads(run("retire", "policy.toml", "payroll", "--yes", "--json").stdout) == {
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


def test_a_median_says_why_it_has_no_interval(registered, run):
    words = ("ask", "policy.toml", "SELECT MEDIAN(salary) AS m FROM payroll", "--epsilon", "0.5")
    found = " ".join(run(*words).stdout.split())
    assert "Note: m has no interval: how far off a quantile is depends on the data." in found
    assert re.search(r"With 95 % confidence it is within [\d.,]+ rows of the true rank\.", found)


def test_answers_speak_no_python(registered, run):
    run("ask", "policy.toml", BY_DEPARTMENT, "--key", "abcd")
    told = run("show", "abcd", "--policy", "policy.toml").stdout
    run("report", "abcd", "--policy", "policy.toml", "-o", "p.html")
    entry = run("export", "abcd", "--policy", "policy.toml", "--registry").stdout
    for text in (told, (registered / "p.html").read_text(), entry):
        assert "is missing, or not declared, are in no group" in " ".join(text.split())
        assert "other=True" not in text
        assert ".raw" not in text


# several datasets

OTHER = """
[dataset.health]
family = "staff"
source = "years.csv"
version = "1"
unit = "row"
[dataset.health.columns]
salary = { low = 0, high = 400000, grid = 1 }
"""


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("SELEC foo", "a question is a SELECT, not 'SELEC'"),
        ("SELECT COUNT(*) FROM", "SELECT COUNT(*) FROM"),
        ("SELECT COUNT(*) FROM payrol", "no dataset 'payrol' (did you mean 'payroll'?); there are"),
        ("SELECT COUNT(*)", "names no dataset; say FROM with one of: payroll, health"),
        (
            "SELECT COUNT(*) FROM payroll JOIN health ON payroll.salary = health.salary",
            "about one dataset, and this one names payroll and health",
        ),
    ],
)
def test_what_is_wrong_with_a_question_to_several_datasets(here, run, question, words):
    (here / "policy.toml").write_text((here / "policy.toml").read_text() + OTHER)
    run("register", "policy.toml")
    found = run("ask", "policy.toml", question, "--epsilon", "0.1", code=2).stderr
    if words not in question:
        assert words in found
    assert found.count("Nothing was charged") == 1


def test_a_question_to_one_of_several_datasets(here, run):
    (here / "policy.toml").write_text((here / "policy.toml").read_text() + OTHER)
    run("register", "policy.toml")
    told = json.loads(run("ask", "policy.toml", "SELECT COUNT(*) FROM health", "--json").stdout)
    assert told["record"]["dataset"] == "health"


# what is over


def test_a_retired_budget_is_retired_for_everybody(registered, run):
    run("retire", "policy.toml", "payroll", "--yes")
    for words in ((), ("--as", "bob")):
        found = run("budget", "policy.toml", *words).stdout
        assert " left" not in found
        assert "retired" in found
        told = json.loads(run("budget", "policy.toml", *words, "--json").stdout)
        assert all(one["retired"] and one["left"]["epsilon"] == "0" for one in told)


def test_nothing_is_retired_unasked(here, run, monkeypatch):
    (here / "policy.toml").write_text((here / "policy.toml").read_text() + OTHER)
    run("register", "policy.toml")
    found = run("retire", "policy.toml", "payroll", code=2).stderr
    assert "This ends payroll and health for good. Left is staff: epsilon 3 of 3;" in found
    monkeypatch.setattr("discreet.cli.curating._somebody_is_there", lambda: True)
    for answer, code in ((False, 1), (True, 0)):
        monkeypatch.setattr("discreet.cli.curating._confirmed", lambda _, said=answer: said)
        run("retire", "policy.toml", "payroll", code=code)
        assert ("retired" in run("budget", "policy.toml").stdout) == answer


def test_a_policy_without_its_data_does_not_pass(registered, run):
    (registered / "payroll.csv").rename(registered / "gone.csv")
    found = run("check", "policy.toml", code=1)
    assert "payroll: source is not there" in found.stderr
    assert json.loads(run("check", "policy.toml", "--json", code=1).stdout)["missing"]
    (registered / "payroll.csv").write_text("person,year\n1,2024\n")
    assert "payroll: " in run("check", "policy.toml", code=1).stderr
    (registered / "gone.csv").replace(registered / "payroll.csv")
    assert json.loads(run("check", "policy.toml", "--json").stdout)["missing"] == []


def test_an_analyst_is_not_told_where_data_were(registered, run):
    (registered / "payroll.csv").rename(registered / "gone.csv")
    owner = run("ask", "policy.toml", COUNT, code=2).stderr
    assert str(registered)[:20] in owner
    for more in ((), ("--json",)):
        found = run("ask", "policy.toml", COUNT, "--as", "bob", *more, code=2).stderr
        assert "the data cannot be opened; nothing was charged" in found
        assert str(registered)[:20] not in found


def test_an_explanation_tells_what_the_asker_has_left(registered, run):
    run("ask", "policy.toml", COUNT, "--epsilon", "0.4", "--as", "bob")
    words = ("explain", "policy.toml", BY_DEPARTMENT, "--epsilon", "0.1")
    assert "Left of staff@bob: epsilon 0.6 of 1." in run(*words, "--as", "bob").stdout
    assert "Left of staff: epsilon 2.6 of 3." in run(*words).stdout
    told = json.loads(run(*words, "--as", "alice", "--json").stdout)
    assert told["left"] == {"epsilon": "1", "delta": "0"}
    assert "must be one of" in run(*words, "--as", "mallory", code=2).stderr
    bare = ("explain", "payroll.csv", COUNT, "--epsilon", "1", "--as", "bob")
    assert "needs a policy" in run(*bare, code=2).stderr
    run("retire", "policy.toml", "payroll", "--yes")
    for more in ((), ("--as", "bob")):
        assert "These data were retired" in run(*words, *more).stdout
    assert "staff is retired" in run("check", "policy.toml").stdout

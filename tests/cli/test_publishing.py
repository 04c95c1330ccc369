import json

import pytest

from discreet.curator.derive import between
from discreet.curator.release import Release

PUBLISH = ("publish", "payroll.csv", "salary", "--range", "0:400000")


def test_a_file_is_published_and_asked_for_free(here, run):
    made = run(*PUBLISH, "--bins", "256", "--epsilon", "0.5")
    assert "0.5-differential privacy" in made.stdout
    assert "charged epsilon 0.5 · left epsilon 9.5 of 10 · release " in made.stderr
    name = made.stderr.partition("release ")[2].split()[0]
    told = json.loads(run("range", name, "40000:90000", "--ledger", "payroll.csv", "--json").stdout)
    assert told[0]["low"] <= told[0]["value"] <= told[0]["high"]
    found = run("quantile", name[:6], "0.25", "0.5", "--ledger", "payroll.csv").stdout
    assert len(found.splitlines()) == 2
    assert "salary" in found
    again = run(*PUBLISH, "--bins", "256", "--epsilon", "0.5")
    assert again.stdout == made.stdout
    assert again.stderr.startswith("free: asked before")


def test_a_policy_is_published_under_an_allowance(registered, run):
    made = run("publish", "policy.toml", "salary", "--range", "0:400000", "--epsilon", "0.25",
               "--as", "alice", "--json")  # fmt: skip
    told = json.loads(made.stdout)
    assert told["charged"] == "epsilon 0.25"
    name = told["record"]["id"]
    assert " n " in run("range", name, "40000:90000", "--policy", "policy.toml",
                        "--confidence", "0.5").stdout  # fmt: skip


def test_a_roll_up_adds_up(registered, run):
    file = ("publish", "payroll.csv", "--rollup", "department, year", "--epsilon", "1", "--keys",
            "department=Fire,Police,Library", "--range", "year=2021:2024")  # fmt: skip
    policy = ("publish", "policy.toml", "--rollup", "department", "--epsilon", "0.5", "--as",
              "alice")  # fmt: skip
    for args, parts in ((file, 5), ((*file, "--no-ledger"), 5), (policy, 1)):
        made = json.loads(run(*args, "--json").stdout)
        release = made["record"]["release"] if "record" in made else made["release"]
        total, *rest = release["rows"]
        outer = [row for row in rest if parts == 1 or row[1] is None]
        assert total[-1] == sum(row[-1] for row in outer)
        assert len(rest) == parts * len(outer)


def test_two_columns_and_a_picture(here, run):
    run("publish", "payroll.csv", "salary", "year", "--bins", "16,4", "--range", "0:400000",
        "--range", "2021:2025", "--epsilon", "1", "--plot", "grid.svg")  # fmt: skip
    assert (here / "grid.svg").read_text().startswith("<svg")


def test_without_a_ledger_and_from_a_json_file(here, run):
    made = run(*PUBLISH, "--epsilon", "1", "--no-ledger", "--json")
    assert "nobody adds up" in made.stderr
    (here / "made.json").write_text(made.stdout)
    assert "salary" in run("quantile", "made.json", "0.5").stdout
    assert not (here / "payroll.csv.ledger").exists()


def test_rows_outside_of_the_range_are_not_counted(here, run):
    """Cells have noise of a rate above 4 here: 40 is passed with a chance below 1e-60."""
    (here / "x.csv").write_text("x\n" + "5\n" * 100 + "999\n" * 100 + "-50\n" * 100)
    made = run("publish", "x.csv", "x", "--bins", "4", "--range", "0:100", "--epsilon", "5",
               "--no-ledger", "--json")  # fmt: skip
    rows = json.loads(made.stdout)["release"]["rows"]
    assert [n for _, n in rows] == pytest.approx([100, 0, 0, 0], abs=40)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("salary", "--epsilon", "1"), "--range must say"),
        (("--epsilon", "1"), "COLUMN must be said, or --rollup"),
        (("salary", "--rollup", "year", "--epsilon", "1"), "--rollup goes instead"),
        (("--rollup", "department", "--epsilon", "1"), "there is no column 'department'"),
        (("salary", "--range", "0:10", "--range", "0:10", "--epsilon", "1"), "--range must say"),
        (("salary", "--range", "0:10"), "price of a publication"),
        (("salary", "--range", "0:10", "--within", "5"), "No such option: --within"),
        (("salary", "--range", "0:10", "--epsilon", "1", "--no-ledger", "--budget", "3"),
         "needs a ledger"),
        (("salary", "--range", "0:10", "--epsilon", "1", "--bins", "2,3"), "--bins"),
        (("salary", "--range", "0:10", "--epsilon", "1", "--bins", "x"), "--bins"),
        (("salary", "--range", "0:10", "--epsilon", "1", "--bins", "0"), "bins"),
        (("salary", "--range", "0:10", "--epsilon", "1", "--bins", "9" * 5000), "400 digits"),
        (("salary", "--range", "9:1", "--epsilon", "1"), "low below high"),
        (("salary", "--range", "0:10", "--epsilon", "0"), "epsilon"),
        (("nothing", "--range", "0:10", "--epsilon", "1"), "nothing"),
        (("salary", "--range", "0:10", "--epsilon", "1", "--as", "alice"), "policy"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(here, run, args, problem):
    found = run("publish", "payroll.csv", *args, code=2)
    assert problem in found.stderr


@pytest.mark.parametrize("more", [("--budget", "3"), ("--no-ledger",)])
def test_a_policy_says_its_budget_itself(registered, run, more):
    found = run("publish", "policy.toml", "salary", "--range", "0:10", "--epsilon", "1", *more,
                code=2)  # fmt: skip
    assert "go with a bare file" in found.stderr


def test_an_answer_to_one_question_is_no_publication(here, run):
    made = run("count", "payroll.csv", "--epsilon", "1")
    name = made.stderr.partition("release ")[2].split()[0]
    found = run("range", name, "0:1", "--ledger", "payroll.csv", code=2)
    assert "no publication" in found.stderr


HISTOGRAM = ("histogram", "payroll.csv", "salary", "--bins", "40", "--range", "0:400000")


def test_ranges_of_a_stored_histogram_are_free(here, run):
    made = run(*HISTOGRAM, "--epsilon", "1", "--json")
    record = json.loads(made.stdout)["record"]
    stored = Release.from_dict(record["release"])
    wanted = between(stored, stored.keys[0], 40000, 90000)
    (value,), ((low, high),) = wanted["count"], wanted.intervals["count"]
    where = ("--ledger", "payroll.csv")
    told = json.loads(run("range", record["id"][:8], "40000:90000", *where, "--json").stdout)
    assert told == [{"of": "40000:90000", "name": "count", "value": value, "low": low,
                     "high": high, "confidence": 0.95}]  # fmt: skip
    shown = run("range", record["id"], "40000:90000", *where, "--confidence", "0.95").stdout
    assert shown == f"40000:90000  count {wanted['count'][0]:,}  (95%: {low:,} to {high:,})\n"
    again = run(*HISTOGRAM, "--epsilon", "1")
    assert again.stderr.startswith("free: asked before")  # nothing else was charged


def test_a_bin_that_is_cut_counts_by_its_part_if_that_is_said(here, run):
    name = run(*HISTOGRAM, "--epsilon", "1").stderr.partition("release ")[2].split()[0]
    asked = ("range", name, "42000:90000", "--ledger", "payroll.csv")
    assert "--share" in run(*asked, code=2).stderr
    assert "spread evenly" in run(*asked, "--share").stderr


@pytest.mark.parametrize(
    ("more", "problem"),
    [(("0:1", "0:1"), "must be said once"), (("0:10000", "--confidence", "0.5"), "must be 0.95"),
     (("a:b",), "must be numbers"), (("9:1",), "must not be above high")],
)  # fmt: skip
def test_ranges_that_no_histogram_has(here, run, more, problem):
    made = run(*HISTOGRAM, "--epsilon", "1", "--no-ledger", "--json")
    (here / "made.json").write_text(made.stdout)
    assert problem in run("range", "made.json", *more, code=2).stderr


def test_groups_of_a_histogram_stay_apart_and_words_are_no_axis(registered, run):
    asked = ("SELECT department, FLOOR(salary / 100000) * 100000 AS bin, COUNT(*) AS n "
             "FROM payroll GROUP BY department, bin")  # fmt: skip
    run("ask", "policy.toml", asked, "--key", "abcd1")
    run("ask", "policy.toml", "SELECT department, COUNT(*) AS n FROM payroll GROUP BY department",
        "--key", "abcd2")  # fmt: skip
    told = run("range", "abcd1", "100000:300000", "--policy", "policy.toml").stdout.splitlines()
    assert [line.partition("  ")[0].strip() for line in told] == [
        "100000:300000, Fire", "100000:300000, Police", "100000:300000, Library"
    ]  # fmt: skip
    refused = run("range", "abcd2", "0:1", "--policy", "policy.toml", code=2).stderr
    assert "no publication, and no histogram" in refused


QUESTIONS = """
SELECT department, COUNT(*) FROM payroll GROUP BY department;
SELECT COUNT(*) FROM payroll
WHERE salary >= 90000;
department = 'Fire' AND salary < 50000;
"""


def test_the_questions_of_a_file_are_answered_together(registered, run):
    (registered / "questions.sql").write_text(QUESTIONS)
    asked = ("publish", "policy.toml", "--workload", "questions.sql", "--epsilon", "0.5")
    made = json.loads(run(*asked, "--as", "alice", "--json").stdout)
    assert made["charged"] == "epsilon 0.5"
    assert len(made["record"]["release"]["rows"]) == 3 + 1 + 1
    again = run(*asked, "--as", "alice")
    assert again.stderr.startswith("free: asked before")


def test_tables_of_pairs_of_a_file(here, run):
    words = ("--keys", "department=Fire,Police", "--range", "year=2024:2025", "--epsilon", "1")
    made = run("publish", "payroll.csv", "department", "year", "--ways", "2", *words)
    assert "everybody" in made.stdout
    assert "charged epsilon 1" in made.stderr
    free = run("publish", "payroll.csv", "department", "--ways", "1", *words, "--no-ledger")
    assert "everybody" in free.stdout


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("salary", "--workload", "q.sql"),
        ("--workload", "nowhere.sql"),
        ("--workload", "empty.sql"),
        ("--workload", "q.sql", "--where", "salary > 3"),
        ("--workload", "wrong.sql"),
        ("department", "--ways", "2"),
    ],
)
def test_workloads_and_tables_that_make_no_sense(args, here, run):
    (here / "empty.sql").write_text(" ;\n;")
    (here / "q.sql").write_text("salary > 3")
    (here / "wrong.sql").write_text("SELECT AVG(salary) FROM payroll")
    found = run("publish", "payroll.csv", *args, "--bounds", "salary=0:9", "--keys",
                "department=Fire", "--epsilon", "1", code=2)  # fmt: skip
    assert found.stderr
    assert "charged epsilon" not in found.stderr

import json

import duckdb
import pytest

COUNT = ("count", "payroll.csv", "--by", "department", "--keys", "Fire,Police,Library")
AVERAGE = "SELECT department, AVG(salary) FROM payroll GROUP BY department"


def left(run, file="payroll.csv"):
    (account,) = json.loads(run("budget", file, "--json").stdout)
    return account["left"]["epsilon"]


def test_count_by_department(here, run):
    found = run(*COUNT, "--epsilon", "1")
    assert "Fire" in found.stdout
    assert "1-differential privacy" in found.stdout
    assert "charged epsilon 1 · left epsilon 9 of 10 · release " in found.stderr
    assert "payroll.csv.ledger" in found.stderr
    assert (here / "payroll.csv.ledger").exists()


def test_a_new_ledger_is_told_and_so_is_one_whose_file_is_gone(here, run):
    """A new name creates a budget, which nothing can prevent; but nobody does it unseen."""
    made = run(*COUNT, "--epsilon", "1").stderr
    assert "made payroll.csv.ledger: epsilon 10 in all" in made
    assert "warning" not in made
    assert "made" not in run(*COUNT, "--epsilon", "2").stderr
    (here / "payroll.csv").rename(here / "renamed.csv")
    again = run("count", "renamed.csv", "--epsilon", "1", "--budget", "2").stderr
    assert "made renamed.csv.ledger: epsilon 2 in all" in again
    assert "payroll.csv.ledger lies here, and payroll.csv is gone" in again
    assert "old name" in again
    assert "warning" not in run("count", "renamed.csv", "--epsilon", "0.5").stderr


@pytest.mark.parametrize(
    "words",
    [
        ("count", "payroll.csv", "--by", "team", "--keys", "A,B", "--epsilon", "1"),
        ("count", "payroll.csv", "--epsilon", "nan"),
        ("count", "payroll.csv", "--within", "-1"),
        ("count", "payroll.csv", "--epsilon", "1", "--budget", "inf"),
        ("sql", "payroll.csv", "SELECT FROM", "--epsilon", "1"),
        ("publish", "payroll.csv", "salary", "--range", "salary=0:400000", "--epsilon", "0"),
        ("publish", "payroll.csv", "pay", "--range", "pay=0:400000", "--epsilon", "1"),
        ("count", "empty.csv", "--epsilon", "1"),
        ("count", "folder", "--epsilon", "1"),
    ],
)
def test_a_slip_in_the_first_question_fixes_no_budget(words, here, run):
    """The total of a new ledger stays: who mistypes a column must still be able to say it."""
    (here / "folder").mkdir()
    (here / "empty.csv").write_text("")
    assert "made" not in run(*words, code=2).stderr
    assert not list(here.glob("*.ledger*"))
    found = run("count", "payroll.csv", "--epsilon", "1", "--budget", "3").stderr
    assert "left epsilon 2 of 3" in found


def test_asking_again_is_free_and_gives_the_same(here, run):
    first, second = run(*COUNT, "--epsilon", "1"), run(*COUNT, "--epsilon", "1")
    assert first.stdout == second.stdout
    assert second.stderr.startswith("free: asked before, on ")
    assert left(run) == "9"


def test_different_questions_add_up(here, run):
    run(*COUNT, "--epsilon", "0.1")
    run("sql", "payroll.csv", AVERAGE, "--bounds", "salary=0:400000",
        "--keys", "department=Fire,Police", "--epsilon", "0.2")  # fmt: skip
    run("histogram", "payroll.csv", "salary", "--range", "40000:400000", "--epsilon", "0.3")
    assert left(run) == "9.4"


def test_several_groupings_and_a_condition(here, run):
    told = json.loads(
        run("count", "payroll.csv", "--by", "department", "--by", "remote", "--json",
            "--keys", "department=Fire,Police", "--flag", "remote", "--where", "salary > 50000",
            "--bounds", "salary=0:400000", "--epsilon", "3").stdout
    )  # fmt: skip
    assert told["free"] is False
    assert told["charged"] == "epsilon 3"
    assert told["left"] == "epsilon 7 of 10"
    assert [row[:2] for row in told["record"]["release"]["rows"]] == [
        ["Fire", False], ["Fire", True], ["Police", False], ["Police", True],
    ]  # fmt: skip


def test_people_with_many_rows(here, run):
    found = run("count", "years.csv", "--by", "year", "--range", "year=2021:2024",
                "--person", "person", "--max-rows", "4", "--epsilon", "1")  # fmt: skip
    assert "2021" in found.stdout
    assert "needs --person" in run("count", "years.csv", "--max-rows", "4", "--epsilon", "1",
                                   code=2).stderr  # fmt: skip


def test_an_accuracy_instead_of_a_price(here, run):
    found = run("count", "payroll.csv", "--within", "20")
    assert "charged epsilon 0.147" in found.stderr


def test_a_long_histogram_is_printed_in_full_and_drawn(here, run):
    found = run("histogram", "payroll.csv", "salary", "--bins", "36", "--range", "40000:400000",
                "--epsilon", "0.5", "--plot", "s.svg", "--report", "s.html")  # fmt: skip
    assert sum(line.lstrip().startswith(tuple("123456789")) for line in found.stdout.splitlines()
               if " to " in line) == 36  # fmt: skip
    assert "█" in found.stdout
    assert (here / "s.svg").read_text().startswith("<svg")
    assert "0.5" in (here / "s.html").read_text()
    assert "saved s.svg" in found.stderr


def test_a_histogram_needs_its_range(here, run):
    words = ("histogram", "payroll.csv", "salary", "--epsilon", "1")
    assert "from rules" in run(*words, code=2).stderr
    assert "from rules" in run(*words, "--range", "1:2", "--range", "3:4", code=2).stderr
    assert "both say" in run(*words, "--range", "1:2", "--bounds", "salary=1:2", code=2).stderr
    run(*words, "--range", "0:400000", "--range", "year=2021:2024", "--where", "year = 2024")
    assert "bins" in run(*words, "--range", "0:10", "--bins", "0", code=2).stderr


def test_without_a_ledger_it_warns(here, run):
    found = run(*COUNT, "--epsilon", "1", "--no-ledger")
    assert found.stderr.startswith("warning: --no-ledger: nobody adds up")
    assert "charged epsilon 1 · nothing is remembered" in found.stderr
    assert not list(here.glob("*.ledger*"))
    told = json.loads(run(*COUNT, "--within", "50", "--no-ledger", "--json").stdout)
    assert told["left"] is None
    assert told["release"]["columns"]
    problem = run(*COUNT, "--epsilon", "1", "--no-ledger", "--report", "r.html", code=2).stderr
    assert "leave out --no-ledger" in problem


def test_a_budget_of_its_own_and_a_refusal_with_an_offer(here, run):
    run(*COUNT, "--epsilon", "1", "--budget", "1.5")
    found = run("count", "payroll.csv", "--epsilon", "1", code=3)
    assert "epsilon 0.5 is left; nothing was charged" in found.stderr
    assert "With epsilon 0.5 it could be answered: count within" in found.stderr
    assert found.stdout == ""
    found = run("count", "payroll.csv", "--epsilon", "1", "--with-what-is-left")
    assert "charged epsilon 0.5 · left epsilon 0 of 1.5" in found.stderr
    assert "nothing was charged" in run("count", "payroll.csv", "--epsilon", "0.5",
                                        "--where", "TRUE", code=3).stderr  # fmt: skip
    assert "budget" in run(*COUNT, "--epsilon", "1", "--budget", "2", code=2).stderr


@pytest.mark.parametrize("budget", ["0", "nan", "-1", "much"])
def test_a_wrong_budget_is_called_by_its_name(budget, here, run):
    words = ("count", "payroll.csv", "--epsilon", "1")
    assert run(*words, "--budget", budget, code=2).stderr.startswith("--budget must")
    run(*words)
    assert run(*words, "--budget", budget, code=2).stderr.startswith("--budget must")


def test_keys_are_never_read_from_the_data(here, run):
    found = run("count", "payroll.csv", "--by", "department", "--epsilon", "1", code=2)
    assert "--keys department=A,B,C" in found.stderr
    assert "not read from the data" in found.stderr
    assert not list(here.glob("*.ledger*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("count", "nothing.csv", "--epsilon", "1"), "is not there"),
        (("count", "policy.toml", "--epsilon", "1"), "discreet ask"),
        (("count", "payroll.csv"), "--within must be said"),
        (("count", "payroll.csv", "--epsilon", "-1"), "epsilon"),
        (("count", "payroll.csv", "--epsilon", "many"), "epsilon"),
        (("count", "payroll.csv", "--epsilon", "1", "--where", "salary >"), "Nothing was charged"),
        (("count", "payroll.csv", "--epsilon", "1", "--where", "salary > 5"), "--bounds salary="),
        (("count", "payroll.csv", "--by", "nope", "--keys", "a", "--epsilon", "1"), "nope"),
        (("sql", "payroll.csv", "SELECT * FROM payroll", "--epsilon", "1"), "Nothing was charged"),
        (("sql", "payroll.csv", "DROP TABLE payroll", "--epsilon", "1"), "Nothing was charged"),
        (("sql", "payroll.csv", "", "--epsilon", "1"), "Nothing was charged"),
        (("count", "payroll.csv", "--epsilon", "1", "--plot", "x.pdf"), "must end with"),
    ],
)
def test_wrong_arguments(words, said, here, run):
    assert said in run(*words, code=2).stderr
    if list(here.glob("*.ledger")):
        assert left(run) == "10"


def test_a_folder_a_broken_file_and_an_odd_ending(here, run):
    (here / "folder").mkdir()
    (here / "notes.docx").write_text("x")
    (here / "empty.csv").write_text("")
    (here / "broken.parquet").write_text("no parquet")
    for name in ("folder", "notes.docx", "empty.csv", "broken.parquet"):
        found = run("count", name, "--epsilon", "1", code=5 if "parquet" in name else 2)
        assert name in found.stderr or "empty" in found.stderr
    assert "The database says: " in found.stderr


@pytest.mark.parametrize(
    "name",
    ["a b.csv", "-dash.csv", "é😀.csv", "quote'\".csv", "[x].csv", "a;DROP TABLE t.csv",
     "%2e.csv", "$(x).csv"],
)  # fmt: skip
def test_hostile_file_names(name, here, run):
    (here / name).write_bytes((here / "payroll.csv").read_bytes())
    found = run("count", "--epsilon", "5", "--json", "--", name)
    (row,) = json.loads(found.stdout)["record"]["release"]["rows"]
    assert 880 < row[0] < 920


def test_a_name_that_is_a_pattern_reads_no_other_file(here, run):
    (here / "*.csv").write_bytes((here / "payroll.csv").read_bytes())
    assert "as a pattern" in run("count", "*.csv", "--epsilon", "1", code=2).stderr
    (here / "*.csv").unlink()
    assert "is not there" in run("count", "*.csv", "--epsilon", "1", code=2).stderr


def test_hostile_keys_and_columns(here, run):
    (here / "odd.csv").write_text('"a""b; --",x\n\x1b[2J,1\n\'; DROP,2\n"Parks, east",3\n')
    found = run("count", "odd.csv", "--by", 'a"b; --', "--epsilon", "5",
                "--keys", "\x1b[2J,'; DROP,\"Parks, east\"")  # fmt: skip
    assert r"\x1b[2J" in found.stdout
    assert "Parks, east" in found.stdout


@pytest.mark.parametrize("column", ["salary", "SALARY"])
@pytest.mark.parametrize("more", [(), ("--no-ledger",), ("--flag", "remote")])
def test_a_column_of_which_nothing_was_said_is_told_with_the_options_that_say_it(
    column, more, here, run
):
    question = f"SELECT AVG({column}) FROM payroll"
    said = run("sql", "payroll.csv", question, "--epsilon", "1", *more, code=2).stderr
    assert "payroll.csv has a column 'salary', and nothing was said of it" in said
    assert "say --bounds salary=LOW:HIGH if it is a number, --keys salary=A,B,C if" in said
    assert not list(here.glob("*.ledger*"))


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("BIGINT", '--bounds "a=b"=LOW:HIGH.'),
        ("DOUBLE", '--bounds "a=b"=LOW:HIGH.'),
        ("BOOLEAN", "--flag a=b."),
        ("DATE", '--dates "a=b"=FIRST:LAST.'),
        ("TIMESTAMP", '--dates "a=b"=FIRST:LAST.'),
        ("VARCHAR", '--bounds "a=b"=LOW:HIGH if'),
    ],
)
def test_the_option_fits_how_the_column_is_stored(kind, way, here, run):
    with duckdb.connect(here / "d.duckdb") as made:
        made.execute(f'CREATE TABLE t ("a=b" {kind})')
    said = run("count", "d.duckdb", "--table", "t", "--where", '"a=b" IS NULL',
               "--epsilon", "1", code=2).stderr  # fmt: skip
    assert f"say {way}" in said


@pytest.mark.parametrize("asked", ["sql", "count", "histogram"])
def test_a_column_that_the_file_does_not_have_is_told_with_those_it_has(asked, here, run):
    words = {
        "sql": ("sql", "payroll.csv", "SELECT SUM(salry) FROM payroll"),
        "count": ("count", "payroll.csv", "--where", "salry > 3"),
        "histogram": (
            "histogram", "payroll.csv", "salary", "--range", "0:9", "--where", "salry > 3"
        ),
    }[asked]  # fmt: skip
    run("count", "payroll.csv", "--epsilon", "1")  # also where there is a ledger already
    said = run(*words, "--epsilon", "1", code=2).stderr
    assert "payroll.csv has no column 'salry' (did you mean 'salary'?); it has: person, " in said
    assert "there are: ." not in said
    assert left(run) == "9"


def test_a_column_that_a_subquery_leaves_out_was_declared(here, run):
    said = run("sql", "payroll.csv", "SELECT SUM(salary) FROM (SELECT year FROM payroll)",
               "--bounds", "salary=0:9", "--bounds", "year=0:9", "--epsilon", "1",
               code=2).stderr  # fmt: skip
    assert "no column 'salary' that a question may use; there are: year." in said

"""What spans several tables of a policy, where it is allowed; test_wrong.py has what is not."""

import contextlib
import tomllib
from fractions import Fraction

import pytest
from tests.curator.policy.example import FOLDER, FULL, SMALL, policy

from discreet.curator.policy.building import build
from discreet.curator.policy.reading import PolicyError, parse_policy
from discreet.table import Table

X = "x = { low = 0, high = 10 }\n"
OTHER = """\
[dataset.e]
family = "f"
source = "e.csv"
version = "1"
unit = "row"
columns = {}
"""


def test_a_small_policy_has_defaults():
    found = policy(text=SMALL)
    assert found.analysts == {}
    assert found.families["f"].expires is None
    assert found.families["f"].releases == "private"
    assert found.defaults.epsilon is None
    assert found.defaults.confidence == Fraction(19, 20)
    assert found.datasets["d"].row_limit == 1 << 40


def test_two_datasets_of_one_family_may_have_one_source():
    found = policy((X, X + OTHER.replace("e.csv", "d.csv")), text=SMALL)
    assert found.datasets["e"].source == found.datasets["d"].source


def test_tables_of_one_database_may_belong_to_two_families():
    more = '[family.g]\nepsilon = 1\nneighbours = "replace"\n'
    first = 'source = "a.duckdb"\ntable = "d"\n'
    second = OTHER.replace('"f"', '"g"').replace('source = "e.csv"\n', first.replace('"d"', '"e"'))
    found = policy((X, X + more + second), ('source = "d.csv"\n', first), text=SMALL)
    assert found.datasets["e"].unit.neighbours == "replace"
    assert found.datasets["d"].unit.neighbours == "add_or_remove"


def test_blocks_of_one_name_share_one_account():
    block = (
        '[dataset.{0}.block.q1]\nsource = "{0}1.csv"\nversion = "1"\npeople = "own"\nepsilon=2\n'
    )
    found = policy((X, X + block.format("d") + OTHER + block.format("e")), text=SMALL)
    accounts = {one.account("q1") for one in found.datasets.values()}
    assert accounts == {"f/q1"}
    assert found.datasets["d"].blocks["q1"].limit.most.value() == 2


def test_a_block_takes_its_table_from_the_dataset():
    block = '[dataset.d.block.q1]\nsource = "q1.duckdb"\nversion = "1"\npeople = "shared"\n'
    source = ('source = "d.csv"\n', 'source = "a.duckdb"\ntable = "pay"\n')
    assert policy(source, (X, X + block), text=SMALL).datasets["d"].blocks["q1"].table == "pay"
    named = block + 'table = "new"\n'
    assert policy(source, (X, X + named), text=SMALL).datasets["d"].blocks["q1"].table == "new"


def test_allowances_up_to_the_total_and_more_together():
    two = "[analyst.a.allowance.f]\nepsilon = 1\n[analyst.b.allowance.f]\nepsilon = 1\n"
    found = policy((X, X + two), text=SMALL)
    assert [one.allowances["f"].most.value() for one in found.analysts.values()] == [1, 1]


def test_allowances_in_zcdp():
    total = ("epsilon = 1\n", 'accounting = "zcdp"\nepsilon = 1\ndelta = 1e-6\n')
    rho = "[analyst.a.allowance.f]\nrho = 0.01\n"
    both = "[analyst.b.allowance.f]\nepsilon = 0.5\ndelta = 1e-7\n"
    found = policy(total, (X, X + rho + both), text=SMALL)
    assert found.analysts["a"].allowances["f"].accounting == "zcdp"
    assert found.analysts["b"].allowances["f"].most.failing() > 0
    with pytest.raises(PolicyError, match="is more than the family f has in all"):
        policy(total, (X, X + rho.replace("0.01", "1")), text=SMALL)


def test_numbers_among_options_are_floats():
    found = policy(('unit = "row"\n', 'unit = "row"\noptions = { timeout = 2.5 }\n'), text=SMALL)
    assert found.datasets["d"].options == {"timeout": 2.5}


def test_a_problem_in_one_table_does_not_hide_another():
    text = SMALL.replace("epsilon = 1", "epsilon = 0").replace('"row"', "{ person = 3, rows = 2 }")
    _, problems = build(tomllib.loads(text), FOLDER)
    assert [one.path for one in problems] == [
        ("family", "f", "epsilon"),
        ("dataset", "d", "unit", "person"),
    ]


def test_whatever_a_file_holds_it_is_a_policy_error():
    """Every value of the example replaced by every kind of value: refused in words, or taken."""
    odd = [
        "1",
        "-1",
        "0.5",
        "nan",
        '""',
        '"x"',
        "true",
        "2024-01-01",
        "[]",
        "[1]",
        "{}",
        "{ a = 1 }",
    ]
    lines = SMALL.splitlines()
    for i, line in enumerate(lines):
        if "=" not in line:
            continue
        for value in odd:
            key = line.partition(" =")[0]
            text = "\n".join([*lines[:i], f"{key} = {value}", *lines[i + 1 :]])
            with contextlib.suppress(PolicyError):
                parse_policy(text, folder=FOLDER)


def test_a_dataset_is_what_a_table_takes(tmp_path):
    rows = ["employee_id;department;year;salary;bonus;hired;remote;job;name"]
    rows += [f"{i};Fire;2024;{1000 * i};5;2020-02-03;true;clerk;n{i}" for i in range(50)]
    (tmp_path / "payroll.csv").write_text("\n".join(rows) + "\n")
    data = parse_policy(FULL, folder=tmp_path).datasets["payroll"]
    table = Table(
        data.source, unit=data.unit, columns=data.columns, name=data.name, table=data.table,
        lookups=data.lookups, row_limit=data.row_limit, **data.options,
    )  # fmt: skip
    session = table.session(epsilon=100)
    question = (
        "SELECT region, COUNT(*) AS n FROM payroll JOIN region "
        "ON payroll.department = region.department GROUP BY region"
    )
    answer = session.ask(question, epsilon=50)
    assert answer["region"] == ["east", "west"]
    table.close()


def test_a_policy_says_how_it_is_served_and_means_the_same():
    said = '[server]\nport = 0\ndeadlines = [0.5, 2]\nsecret = "s"\nnames = ["data.example.org"]\n'
    found = parse_policy(SMALL + said, folder=FOLDER)
    assert found.server.deadlines == (Fraction(1, 2), Fraction(2))
    assert found.server.secret == FOLDER / "s"
    assert found.server.names == ("data.example.org",)
    assert found.fingerprint == policy(text=SMALL).fingerprint


def test_a_served_policy_may_begin_without_people_and_data():
    found = parse_policy('[ledger]\npath = "x.ledger"\n[server]\n', folder=FOLDER)
    assert found.datasets == {}
    assert found.families == {}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("port = 70000", "from 0 to 65535"),
        ('certificate = "c.pem"', "go together"),
        ("workers = 0", "from 1 to 64"),
        ("requests_per_minute = 0", "from 1 to"),
        ("deadlines = [10, 1]", "rising"),
        ("deadlines = [0.001]", "rising"),
        ("deadlines = [nan]", "deadlines"),
        ("hosts = 1", "is not known here"),
    ],
)
def test_what_cannot_be_served_is_said(line, words):
    with pytest.raises(PolicyError, match=words):
        parse_policy(f"{SMALL}[server]\n{line}\n", folder=FOLDER)


def test_where_the_page_adds_families_a_missing_one_is_still_missing():
    served = '[ledger]\npath = "x.ledger"\n[server]\n'
    dataset = (
        '[dataset.d]\nfamily = "staff"\nsource = "d.csv"\nversion = "1"\nunit = "row"\n'
        "[dataset.d.columns]\n"
    )
    analyst = "[analyst.ann.allowance.staff]\nepsilon = 1\n"
    assert not parse_policy(served, folder=FOLDER).datasets
    for more in (dataset, analyst):
        with pytest.raises(PolicyError, match='"staff" is no family of this file; there are: none'):
            parse_policy(served + more, folder=FOLDER)

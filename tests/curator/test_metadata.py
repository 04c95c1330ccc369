"""What an analyst is told of a dataset: enough for every question, and nothing else."""

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from tests.curator.policy.example import SMALL, policy

from discreet.curator.bind import bound
from discreet.curator.metadata import FORM, metadata, schema_from
from discreet.curator.policy.model import Defaults
from discreet.errors import ParameterError, QueryError
from discreet.query.build import Query
from discreet.query.render import to_sql
from discreet.query.schema import (
    Boolean,
    Bounds,
    Dates,
    FindBounds,
    FreeText,
    Hidden,
    Keys,
    PerPerson,
    PerRow,
    PublicTable,
    Schema,
)
from discreet.query.sql import parse

COLUMNS = {
    "amount": Bounds(0, 400_000),
    "share": Bounds(0, 1),
    "thirds": Bounds("-1/3", "2/3", "1/3"),
    "filled": Bounds(0, 10, 2, missing=4),
    "bonus": FindBounds(Fraction(1, 10)),
    "dept": Keys(["it", "hr", "it's", "1", "ä☃"]),
    "year": Keys(range(2021, 2025)),
    "odd": Keys([7, 5, -3]),
    "flag": Keys([False, True]),
    "day": Keys([date(2024, 2, 29), date(2023, 1, 1)]),
    "hired": Dates("2000-01-01", "2024-12-31"),
    "remote": Boolean(),
    "job": FreeText(),
    "secret": Hidden(),
}
LOOKUPS = {
    "region": PublicTable(
        "dept",
        {
            "it": {"area": "east", "rank": 1, "new": True, "since": date(2001, 1, 1)},
            "hr": {"area": None, "rank": 2, "new": None, "since": None},
        },
    ),
    "era": PublicTable("year", {2021: {"name": "old"}, 2024: {"name": "new"}}),
}
UNITS = {
    "rows": PerRow(),
    "households": PerRow(together=4),
    "public rows": PerRow(neighbours="replace", rows=1000),
    "person": PerPerson("person"),
    "limits": PerPerson("person", max_rows=4, max_groups=2, bounding="sample"),
    "trusted": PerPerson("person", max_rows=3, trusted=True),
    "found": PerPerson("person", max_rows="find", find_epsilon="1/3"),
    "public people": PerPerson("person", max_rows=2, neighbours="replace", people=500, together=2),
}
QUESTIONS = (
    lambda q: q.count(),
    lambda q: q.group_by("dept").count().mean("amount"),
    lambda q: q.where("share > 0.25").group_by("year", "odd").sum("thirds").sum("filled"),
    lambda q: q.where("dept IN ('it', 'hr')").group_by("dept", other=True).count(),
    lambda q: q.group_by("flag", "remote").median("amount").quantile("share", "0.9"),
    lambda q: q.group_by("DATE_TRUNC('year', hired) AS y").count().having("count > 9"),
    lambda q: q.histogram("amount", bins=8).order_by("count DESC").limit(3),
    lambda q: q.group_by("LOOKUP('region', 'area', dept) AS area").count(),
    lambda q: q.where("LOOKUP('era', 'name', year) = 'old'").stddev("amount"),
    lambda q: q.group_by("job", keys="unknown").count(),
    lambda q: q.group_by("job", keys=["a", "b'c"]).count("day", where="day > DATE '2023-06-01'"),
    lambda q: q.group_by("dept", "year", keys=[("it", 2021), ("hr", 2024)]).variance("filled"),
    lambda q: q.select("SUM(amount) / COUNT(*) AS pay"),
)
WRONG = (
    "SELECT COUNT(*) FROM t WHERE secret = 1",
    "SELECT COUNT(*) FROM t WHERE person = 1",
    "SELECT COUNT(*) FROM t WHERE secrets = 1",
    "SELECT SUM(bonus) FROM t",
    "SELECT COUNT(*) FROM t WHERE dept = 'law'",
    "SELECT dept FROM t",
    "SELECT COUNT(*) FROM other",
    "SELECT COUNT(*) FROM t JOIN nowhere USING (dept)",
)
STORAGE = {
    **dict.fromkeys(("amount", "share", "filled", "year", "odd", "person"), "integer"),
    **dict.fromkeys(("thirds", "bonus"), "real"),
    **dict.fromkeys(("dept", "job", "secret", "undeclared"), "text"),
    **dict.fromkeys(("flag", "remote"), "boolean"),
    **dict.fromkeys(("day", "hired"), "date"),
}


def data(unit=None, columns=None, lookups=None):
    made = policy(text=SMALL).datasets["d"]
    return replace(
        made, name="t", unit=unit or PerRow(), columns=columns or COLUMNS,
        lookups=LOOKUPS if lookups is None else lookups, row_limit=12_345,
    )  # fmt: skip


def owned(dataset, storage=STORAGE):
    """The owner's schema, as `bound` makes it."""
    columns = {
        name: said.stored_as(storage[name]) if isinstance(said, Bounds) else said
        for name, said in dataset.columns.items()
    }
    return Schema("t", dataset.unit, columns, storage, dict(dataset.lookups), dataset.row_limit)


def sent(dataset, schema, **more):
    return json.loads(json.dumps(metadata(dataset, schema, **more), allow_nan=False))


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_the_schema_comes_back_without_what_is_hidden(unit):
    dataset = data(unit)
    schema = owned(dataset)
    usable = {n: d for n, d in schema.columns.items() if not isinstance(d, Hidden)}
    there = schema_from(sent(dataset, schema))
    assert there == replace(schema, columns=usable, storage={})
    assert list(there.columns) == list(usable)
    assert [d.kind for d in there.columns.values() if not isinstance(d, FindBounds)] == [
        d.kind for d in usable.values() if not isinstance(d, FindBounds)
    ]


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_every_question_is_the_same_sql_and_the_same_plan(unit):
    dataset = data(unit)
    here = owned(dataset)
    there = schema_from(sent(dataset, here))
    for ask in QUESTIONS:
        mine, theirs = ask(Query(here)).plan, ask(Query(there)).plan
        assert mine == theirs
        assert to_sql(mine, here) == to_sql(theirs, there) == ask(Query(there)).to_sql()
        assert parse(to_sql(theirs, there), here) == mine


@pytest.mark.parametrize("sql", WRONG)
@pytest.mark.parametrize("unit", ["rows", "person"])
def test_refusals_are_the_same_and_name_nothing_hidden(sql, unit):
    dataset = data(UNITS[unit])
    here = owned(dataset)
    there = schema_from(sent(dataset, here))
    words = []
    for schema in (here, there):
        with pytest.raises(QueryError) as refused:
            parse(sql, schema)
        words.append(str(refused.value))
    assert words[0] == words[1]
    assert "secret" not in words[0].replace("'secret'", "").replace("'secrets'", "")


def test_the_grid_follows_how_the_table_is_stored(tmp_path):
    dataset = data(columns={"amount": Bounds(0, 10), "exact": Bounds(0, 10, "0.5")}, lookups={})
    source = {"amount": [1, 2], "exact": [1.0, 2.5], "more": ["x", "y"]}
    schema, engine = bound(source, unit=PerRow(), columns=dataset.columns, name="t")
    engine.close()
    told = {one["name"]: one for one in sent(dataset, schema)["columns"]}
    assert (told["amount"]["grid"], told["exact"]["grid"]) == ("1", "1/2")
    assert set(told) == {"amount", "exact"}
    text = owned(dataset, {"amount": "text", "exact": "text"})
    assert sent(dataset, text)["columns"][0]["grid"] == "1/100000"
    assert schema_from(sent(dataset, text)).columns == text.columns


def test_what_was_found_is_not_told():
    dataset = data(UNITS["found"])
    found = replace(
        owned(dataset),
        columns={**owned(dataset).columns, "bonus": Bounds(1, 4711)},
        unit=PerPerson("person", max_rows=4711),
    )
    assert "4711" not in json.dumps(sent(dataset, found))
    assert sent(dataset, found) == sent(dataset, owned(dataset))


def test_the_example_as_an_analyst_sees_it():
    whole = policy()
    dataset = whole.datasets["payroll"]
    storage = dict.fromkeys([*dataset.columns, "employee_id", "salary_note"], "text")
    told = sent(
        dataset, owned(dataset, storage), family=whole.families["staff"], defaults=whole.defaults
    )
    assert told["form"] == FORM
    assert (told["name"], told["family"], told["version"]) == ("payroll", "staff", "2024-12")
    assert (told["accounting"], told["expires"]) == ("pure", "2027-12-31")
    assert told["blocks"] == [{"name": "2025-q1", "version": "2025-q1", "own_people": True}]
    assert told["unit"]["words"] == [
        "A person is a value of employee_id; the guarantee is for one who is added or removed.",
        "At most 4 rows of a person count in each group of a question.",
        "A person counts in at most 2 groups of a question.",
    ]
    assert told["row_limit"] == "100000000"
    assert told["defaults"] == {"epsilon": "1/10", "delta": None, "confidence": "19/20"}
    columns = {one["name"]: one for one in told["columns"]}
    assert "name" not in columns
    assert columns["year"]["range"] == ["2021", "2024"]
    assert columns["salary"]["words"] == (
        "a number from 0 to 400000, in steps of 1; what is outside is moved to the nearer end, "
        "a missing value is left out."
    )
    text = json.dumps(told)
    for secret in (".csv", "srv", "ledger", "delimiter", ';"', "salary_note", "alice", "hidden"):
        assert secret not in text


def test_words_of_the_other_units():
    def said(unit):
        return sent(data(unit), owned(data(unit)))["unit"]["words"][1:]

    assert said(UNITS["rows"]) == []
    assert said(UNITS["public rows"]) == ["The number of rows is public: 1,000."]
    assert said(UNITS["trusted"]) == ["Nobody has more than 3 rows."]
    assert said(UNITS["found"]) == [
        "How many rows of a person count is found privately, for epsilon 1/3."
    ]
    one = PerPerson("p", max_rows=1, max_groups=1)
    assert said(one) == [
        "At most 1 row of a person counts in each group of a question.",
        "A person counts in at most 1 group of a question.",
    ]
    assert said(UNITS["public people"]) == [
        "At most 2 rows of a person count in a question.",
        "Groups of up to 2 people are protected together.",
        "The number of people is public: 500.",
    ]


def test_long_lists_are_cut_for_people_and_whole_for_programs():
    columns = {"key": Keys(f"k{i}" for i in range(5000)), "n": Keys(range(9000))}
    lookups = {"l": PublicTable("key", {f"k{i}": {"v": i} for i in range(3000)})}
    dataset = data(columns=columns, lookups=lookups)
    schema = owned(dataset, {"key": "text", "n": "integer"})
    cut = sent(dataset, schema)
    assert [len(one["keys"]) for one in cut["columns"]] == [2000, 2000]
    assert [one["count"] for one in cut["columns"]] == [5000, 9000]
    assert (len(cut["lookups"][0]["rows"]), cut["lookups"][0]["count"]) == (2000, 3000)
    with pytest.raises(ParameterError, match=r"lists 2,000 of 5,000; ask for all"):
        schema_from(cut)
    assert schema_from(sent(dataset, schema, most=None)) == replace(schema, storage={})
    only = data(columns={"n": columns["n"]}, lookups={})
    assert schema_from(sent(only, schema)).columns == only.columns  # a range needs no list


def test_defaults_may_be_left_out():
    told = sent(data(), owned(data()))
    assert told["defaults"] == Defaults().canonical()
    assert told["accounting"] is None


BROKEN = {
    "nothing": lambda told: [],
    "another form": lambda told: {**told, "form": "x"},
    "a missing part": lambda told: {k: v for k, v in told.items() if k != "unit"},
    "columns of text": lambda told: {**told, "columns": "abc"},
    "an unknown kind": lambda told: {**told, "columns": [{"name": "a", "kind": "magic"}]},
    "no bounds": lambda told: {**told, "columns": [{"name": "a", "kind": "number"}]},
    "a strange type": lambda told: {
        **told,
        "columns": [
            {"name": "a", "kind": "keys", "of": "eval", "keys": ["1"], "count": 1, "range": None}
        ],
    },
    "a limit in words": lambda told: {**told, "row_limit": "many"},
    "a short row": lambda told: {**told, "lookups": [{**told["lookups"][0], "columns": ["x"]}]},
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_what_is_no_metadata_is_refused(change):
    with pytest.raises(ParameterError):
        schema_from(change(sent(data(), owned(data()))))

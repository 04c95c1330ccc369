"""A draft: from names and types only, refused until everything in it is decided."""

import csv
import re
import tomllib
from pathlib import Path
from typing import ClassVar

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.curator.policy.draft import draft, drafted
from discreet.curator.policy.reading import PolicyError, parse_policy
from discreet.engines.base import Engine
from discreet.engines.duckdb import DuckDB
from discreet.query.schema import Boolean, Hidden

HEADER = ["employee_id", "name", "department", "salary", "HireDate", "remote", 'odd "one"']
HIDDEN = '"hidden"'
DECIDED = {
    "epsilon": "1",
    "neighbours": '"replace"',
    "version": '"2024-12"',
    "unit": '{ person = "employee_id", max_rows = 4 }',
}


@pytest.fixture
def payroll(tmp_path) -> Path:
    return written(tmp_path / "payroll.csv", HEADER, ["1", "Ann", "Fire", "50000", "x", "y", "z"])


def written(path: Path, *rows: list[str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def undecided(text: str) -> list[int]:
    return [i for i, line in enumerate(text.split("\n"), 1) if '= "DECIDE"' in line]


def refused(text: str, folder: Path) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, folder=folder)
    return caught.value


def decided(text: str, **columns: str) -> str:
    def word(found: re.Match[str]) -> str:
        return f"{found[1]} = {({**DECIDED, **columns}).get(found[1], HIDDEN)}"

    return re.sub(r'^(.*) = "DECIDE"', word, text, flags=re.MULTILINE)


def test_it_lists_exactly_what_is_undecided(payroll):
    text = draft(payroll)
    error = refused(text, payroll.parent)
    assert [int(one.split(":")[1]) for one in error.problems] == undecided(text)
    assert all("is not decided yet" in one for one in error.problems)
    assert len(error.problems) == 4 + len(HEADER)
    for line in undecided(text):
        assert "# DECIDE: " in text.split("\n")[line - 1]


def test_a_decided_draft_is_a_policy(payroll):
    text = decided(draft(payroll), salary="{ low = 0, high = 400000 }", remote='"boolean"')
    found = parse_policy(text, folder=payroll.parent)
    data = found.datasets["payroll"]
    assert data.source == str(payroll)
    assert list(data.columns) == HEADER
    assert data.unit.column == "employee_id"
    assert found.ledger.address == str(payroll.parent / "payroll.ledger")


def test_no_row_is_read(payroll, monkeypatch):
    expected = draft(payroll)

    def run(*_: object, **__: object) -> None:
        pytest.fail("a row was read")

    for engine in (Engine, DuckDB):
        monkeypatch.setattr(engine, "run", run)
    written(payroll, HEADER, *[[str(i)] * 7 for i in range(100)])
    assert draft(payroll) == expected
    written(payroll, HEADER)
    assert draft(payroll) == expected


def test_hints_are_of_names_and_only_comments(payroll):
    lines = {line.split(" = ")[0]: line for line in draft(payroll).split("\n") if " = " in line}
    assert lines["name"].endswith('# DECIDE: "hidden", for it names people')
    assert "{ keys = [" in lines["department"]
    assert "from rules, not from the data" in lines["salary"]
    assert "first = 2000-01-01" in lines["HireDate"]
    assert 'person = "employee_id"' in lines["unit"]
    assert '"odd \\"one\\""' in lines


def test_types_where_the_file_has_them(tmp_path):
    path = tmp_path / "staff.parquet"
    for rows in (1, 1000):
        duckdb.execute(
            "COPY (SELECT i AS number, i > 3 AS fits, i / 7 AS share, DATE '2020-01-01' AS day, "
            "'a' AS word, [i] AS odd, i * 3 AS phone, "
            f"TIMESTAMP '2020-01-01' AS moment FROM range({rows}) t(i)) "
            f"TO '{path}' (FORMAT parquet)"
        )
        text = draft(path)
        if rows == 1:
            first = text
    assert text == first
    columns = tomllib.loads(text)["dataset"]["staff"]["columns"]
    assert columns["fits"] == "boolean"
    assert columns["odd"] == "hidden"
    assert [name for name, value in columns.items() if value == "DECIDE"] == [
        "number", "share", "day", "word", "phone", "moment",
    ]  # fmt: skip
    lines = {line.split(" = ")[0]: line for line in text.split("\n") if " = " in line}
    assert "grid = 1 }" in lines["number"]
    assert "grid = 0.01 }" in lines["share"]
    assert "first =" in lines["day"]
    assert "time of day" in lines["moment"]
    assert "it names people" in lines["phone"]
    found = parse_policy(decided(text, unit='"row"'), folder=tmp_path).datasets["staff"].columns
    assert found["fits"] == Boolean()
    assert found["word"] == Hidden()


def test_databases_options_and_folders(tmp_path):
    path = tmp_path / "data" / "all.duckdb"
    path.parent.mkdir()
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE pay (id INTEGER)")
    text = draft(path, table="pay", folder=tmp_path, threads=2, hashing="portable")
    raw = tomllib.loads(text)["dataset"]["pay"]
    assert raw["source"] == "data/all.duckdb"
    assert raw["table"] == "pay"
    assert raw["options"] == {"threads": 2, "hashing": "portable"}
    away = draft(path, table="pay", folder=tmp_path / "elsewhere")
    assert tomllib.loads(away)["dataset"]["pay"]["source"] == str(path)
    assert parse_policy(decided(away, unit='"row"'), folder=tmp_path / "x")


def test_a_pattern(tmp_path):
    for name in ("a 1.csv", "a 2.csv"):
        written(tmp_path / name, ["x"], ["1"])
    raw = tomllib.loads(draft(tmp_path / "a *.csv"))
    assert raw["dataset"]["data"]["source"] == "a *.csv"


def test_the_password_of_an_address_stays_out(monkeypatch):
    class Opened:
        storage: ClassVar = {"x": "integer"}

        def close(self) -> None:
            pass

    monkeypatch.setattr("discreet.curator.policy.draft.open_source", lambda *_, **__: Opened())
    text = draft("postgresql://ann:secret@db/staff", table="public.pay")
    assert "secret" not in text
    assert "PGPASSWORD" in text
    raw = tomllib.loads(text)["dataset"]["pay"]
    assert raw["source"] == "postgresql://ann@db/staff"


NAMES = st.lists(
    st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1),
    min_size=1,
    max_size=4,
    unique_by=lambda name: name.lower(),
)


@settings(max_examples=60, deadline=None)
@given(names=NAMES)
def test_any_names_of_columns(names, tmp_path_factory):
    kept = {name.lower(): name for name in names if name.strip()}
    if len({name.casefold() for name in kept.values()}) != len(kept) or not kept:
        return
    folder = tmp_path_factory.mktemp("draft")
    path = folder / "d.csv"
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in kept.values())
    path.write_text(quoted + "\n", encoding="utf-8")
    text = draft(path)
    assert list(tomllib.loads(text)["dataset"]["d"]["columns"]) == list(kept.values())
    problems = refused(text, folder).problems
    assert len(problems) == 4 + len(kept)
    assert all("is not decided yet" in one for one in problems)


def test_proposals_are_values_too(payroll):
    found = drafted(payroll)
    assert (found.name, found.source, found.table) == ("payroll", "payroll.csv", None)
    assert found.persons == ("employee_id",)
    told = {one.column: (one.storage, one.kind, one.because, one.settled) for one in found.columns}
    assert told == {
        "employee_id": ("text", "hidden", "name", False),
        "name": ("text", "hidden", "name", False),
        "department": ("text", "keys", "name", False),
        "salary": ("text", "number", "name", False),
        "HireDate": ("text", "dates", "name", False),
        "remote": ("text", None, None, False),
        'odd "one"': ("text", None, None, False),
    }


def test_types_propose_where_names_do_not(tmp_path):
    path = tmp_path / "staff.parquet"
    duckdb.execute(
        "COPY (SELECT 1 AS year, 1.5 AS x, DATE '2020-01-01' AS y, true AS z, [1] AS odd) "
        f"TO '{path}' (FORMAT parquet)"
    )
    told = {one.column: (one.kind, one.because, one.settled) for one in drafted(path).columns}
    assert told == {
        "year": (None, None, False),
        "x": ("number", "type", False),
        "y": ("dates", "type", False),
        "z": ("boolean", "type", True),
        "odd": ("hidden", "type", True),
    }

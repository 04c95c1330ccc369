"""The facade: from a source to a release, and every odd declaration."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.curator.people import COLUMNS, frame, rows

import discreet as dp
from discreet.gallery.data import DEPARTMENTS, write_payroll

COUNT = "SELECT dept, COUNT(*) AS n FROM {} GROUP BY dept"


def asked(t):
    return t.session(epsilon=1000).ask(COUNT.format(t.name), epsilon=900)["n"]


def test_parquet_files_globs_and_folders(tmp_path):
    listed = rows(300)
    for i in range(3):
        pq.write_table(frame(listed[i * 100 : (i + 1) * 100]), tmp_path / f"part{i}.parquet")
    for source in (tmp_path, str(tmp_path / "part*.parquet")):
        t = dp.Table(source, unit=dp.PerRow(), columns=COLUMNS, name="t")
        assert asked(t) == [100, 100, 100, 0]
    one = dp.Table(tmp_path / "part0.parquet", unit=dp.PerRow(), columns=COLUMNS)
    assert one.name == "part0"
    assert sum(asked(one)) == 100


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict"])
def test_data_frames(kind):
    source = frame(rows(300))
    made = {
        "pandas": source.to_pandas,
        "polars": lambda: __import__("polars").from_arrow(source),
        "arrow": lambda: source,
        "dict": source.to_pydict,
    }[kind]()
    assert asked(dp.Table(made, unit=dp.PerRow(), columns=COLUMNS)) == [100, 100, 100, 0]


def test_a_duckdb_file_and_connection(tmp_path):
    import duckdb

    path = tmp_path / "people.duckdb"
    with duckdb.connect(path) as db:
        db.register("given", frame(rows(300)))
        db.execute("CREATE TABLE staff AS FROM given")
        t = dp.Table(db, table="staff", unit=dp.PerRow(), columns=COLUMNS)
        assert t.name == "staff"
        assert asked(t) == [100, 100, 100, 0]
        t.close()
    assert asked(dp.Table(path, table="staff", unit=dp.PerRow(), columns=COLUMNS)) == [
        100,
        100,
        100,
        0,
    ]


def test_a_csv_file(tmp_path):
    path = write_payroll(tmp_path / "payroll.csv", people=400)
    t = dp.Table(
        path,
        unit=dp.PerPerson("person", max_rows=4),
        columns={
            "department": dp.Keys(DEPARTMENTS),
            "year": dp.Keys(range(2021, 2025)),
            "salary": dp.Bounds(0, 400_000, grid="0.01"),
            "hired": dp.Dates("2000-01-01", "2024-12-31"),
            "remote": dp.Boolean(),
            "title": dp.FreeText(),
        },
    )
    assert t.name == "payroll"
    session = t.session(epsilon=1000)
    years = session.ask("SELECT year, COUNT(*) AS n FROM payroll GROUP BY year", epsilon=400)
    assert years["n"] == [100, 200, 300, 400]
    lines = path.read_text().splitlines()[1:]
    remote = sum(line.split(",")[5] == "true" for line in lines)
    assert (
        session.ask("SELECT COUNT(*) AS n FROM payroll WHERE remote", epsilon=400).value == remote
    )


def test_lookups():
    jobs = dp.PublicTable(
        "dept", {"clerk": {"grade": 2}, "nurse": {"grade": 5}, "chef": {"grade": 2}}
    )
    t = dp.Table(frame(rows(300)), unit=dp.PerRow(), columns=COLUMNS, lookups={"jobs": jobs})
    answer = t.session(epsilon=1000).ask(
        "SELECT grade, COUNT(*) AS n FROM t JOIN jobs USING (dept) GROUP BY grade", epsilon=900
    )
    assert dict(zip(answer["grade"], answer["n"], strict=True)) == {2: 200, 5: 100}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"unit": None}, "PerRow"),
        ({"unit": "person_id"}, "PerRow"),
        ({"columns": ["dept"]}, "dictionary"),
        ({"columns": {"dept": 3}}, "dp.Keys"),
        ({"row_limit": 0}, "row_limit"),
        ({"source": Path("nowhere.parquet")}, "nowhere"),
        ({"source": 17}, "source"),
    ],
)
def test_odd_declarations(change, words):
    given = {"source": frame(rows(3)), "unit": dp.PerRow(), "columns": COLUMNS} | change
    with pytest.raises(dp.ParameterError, match=words):
        dp.Table(given.pop("source"), **given)


def test_a_table_says_what_it_is():
    t = dp.Table(frame([]), unit=dp.PerRow(), columns={"age": (0, 120)}, name="staff")
    assert repr(t) == "<Table 'staff' on duckdb: age>"
    assert t.schema.unit == dp.PerRow()


def test_nothing_is_read_at_registration(tmp_path):
    """A table whose rows cannot be read at all is still declared, because only its head is."""
    path = tmp_path / "broken.csv"
    path.write_text('dept,age\n"never closed, 7\n')
    t = dp.Table(path, unit=dp.PerRow(), columns={"dept": dp.Keys(["a"])})
    assert (
        len(
            t.session(epsilon=1).ask(
                "SELECT dept, COUNT(*) AS n FROM broken GROUP BY dept", epsilon=1
            )
        )
        == 1
    )

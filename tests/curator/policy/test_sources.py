"""Sources: where they are, and which of them may be the same people's."""

from pathlib import Path

import pytest

from discreet.curator.policy.sources import of_address, overlap, placed, placed_table
from discreet.errors import ParameterError

HERE = Path("/srv/policies")
PG = "postgresql://ann:pw@db:5432/staff"


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("a.csv", "/srv/policies/a.csv"),
        ("./x/../a.csv", "/srv/policies/a.csv"),
        ("../a.csv", "/srv/a.csv"),
        ("/data/a.csv", "/data/a.csv"),
        ("parts/*.parquet", "/srv/policies/parts/*.parquet"),
        (PG, PG),
    ],
)
def test_placed(text, there):
    assert placed(text, HERE) == there


@pytest.mark.parametrize("text", ["", "a\0b", "s3://b/k", "file:///a.csv", "postgresql://h:x/d"])
def test_not_placed(text):
    with pytest.raises(ParameterError):
        placed(text, HERE)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("/d/a.csv", None), ("/d/a.csv", None), True),
        (("/d/a.csv", None), ("/d/b.csv", None), False),
        (("/d/*.csv", None), ("/d/a.csv", None), True),
        (("/d/**/*.csv", None), ("/d/x/a.csv", None), True),
        (("/d/*.parquet", None), ("/d/a.csv", None), False),
        (("/d/parts", None), ("/d/parts/a.parquet", None), True),
        (("/d/parts", None), ("/d/parts2/a.parquet", None), False),
        (("/d/a.duckdb", "t"), ("/d/a.duckdb", "T"), True),
        (("/d/a.duckdb", "t"), ("/d/a.duckdb", "main.t"), True),
        (("/d/a.duckdb", "t"), ("/d/a.duckdb", "u"), False),
        ((PG, "t"), ("postgres://bob@DB/staff", "public.t"), True),
        ((PG, "t"), ("postgresql:///staff?host=db&port=5432", "t"), True),
        ((PG, "t"), ("postgresql://db:5433/staff", "t"), False),
        ((PG, "t"), ("postgresql://db/other", "t"), False),
        ((PG, "t"), (PG, "u"), False),
        ((PG, "t"), ("/d/a.csv", None), False),
        (("/d/a.parquet", None), ("/d/a.parquet/part-0.parquet", None), True),  # a folder
        (("/d/a.parquet", None), ("/d/a.parquet/*.parquet", None), True),
        (("/d/x", None), ("/d/*/a.parquet", None), True),
        (("/d/x.csv", None), ("/d/*/a.csv", None), False),
        (("/d/**/*.csv", None), ("/d/a.csv", None), True),  # ** may stand for no folder
        (("/d/**/b/**/*.csv", None), ("/d/b/x/a.csv", None), True),
        (("/d/**/a.csv", None), ("/d/ba.csv", None), False),
        (("/d/a.duckdb", "t"), ("/d/a.duckdb", "data.main.t"), True),
        (("/d/a.duckdb", "t"), ("/d/a.duckdb", "data.hr.t"), False),
        ((PG, "t"), ("postgresql://x:1/y?host=db&port=5432&dbname=staff", "t"), True),
        ((PG, "t"), ("postgresql://db/sta%66f", "t"), True),
        ((PG, "t"), ("postgresql://staff@db", "t"), True),  # the user's name is the database's
        (("postgresql://localhost/s", "t"), ("postgresql://127.0.0.1/s", "t"), True),
        (("postgresql://localhost/s", "t"), ("postgresql://[::1]/s", "t"), True),
    ],
)
def test_overlap(one, other, same):
    assert overlap(one, other) is same
    assert overlap(other, one) is same


def test_a_link_is_what_it_points_to(tmp_path):
    (tmp_path / "a.csv").write_text("x\n")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    assert overlap((str(tmp_path / "a.csv"), None), (str(tmp_path / "b.csv"), None))


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
@pytest.mark.parametrize("many", ["new", "new/*.parquet", "ne?/b*"])
def test_files_of_a_folder_or_pattern_are_what_they_point_to(tmp_path, link, many):
    (tmp_path / "new").mkdir()
    for name in ("a.parquet", "other.parquet"):
        (tmp_path / name).write_text("x\n")
    getattr(tmp_path / "new" / "b.parquet", link)(tmp_path / "a.parquet")
    one = (str(tmp_path / many), None)
    assert overlap(one, (str(tmp_path / "a.parquet"), None))
    assert overlap((str(tmp_path / "a*"), None), one)
    assert not overlap(one, (str(tmp_path / "other.parquet"), None))


@pytest.mark.parametrize(
    ("address", "source", "table"),
    [
        ("a.csv", "a.csv", None),
        ("a#1.csv", "a#1.csv", None),
        ("a.duckdb#t", "a.duckdb", "t"),
        ("a#1.duckdb#t#2", "a#1.duckdb", "t#2"),
        ("postgresql://db/staff#t#2", "postgresql://db/staff", "t#2"),
    ],
)
def test_addresses_as_a_ledger_has_them(address, source, table):
    assert of_address(address) == (source, table)


def test_tables():
    assert placed_table("/d/a.duckdb", "t") == "t"
    assert placed_table("/d/parts", None) is None
    assert placed_table("/d/a.csv.gz", None) is None
    for source, table in (("/d/a.db", None), (PG, ""), ("/d/a.tsv", "t")):
        with pytest.raises(ParameterError, match="table"):
            placed_table(source, table)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("/d/2024-*.csv", "/d/*-01.csv", True),
        ("/d/2024-*.csv", "/d/2025-*.csv", False),
        ("/d/a?.csv", "/d/?b.csv", True),
        ("/d/a?.csv", "/d/b?.csv", False),
        ("/d/[ab].csv", "/d/[bc].csv", True),
        ("/d/*", "/d/*.csv", True),
        ("/d/*.csv", "/e/*.csv", False),
    ],
)
def test_two_patterns(one, other, meet):
    assert overlap((one, None), (other, None)) is meet
    assert overlap((other, None), (one, None)) is meet

"""Sources: where they are, and which of them may be the same people's."""

from pathlib import Path

import pytest

from discreet.curator.policy.sources import overlap, placed, placed_table
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
    ],
)
def test_overlap(one, other, same):
    assert overlap(one, other) is same
    assert overlap(other, one) is same


def test_a_link_is_what_it_points_to(tmp_path):
    (tmp_path / "a.csv").write_text("x\n")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    assert overlap((str(tmp_path / "a.csv"), None), (str(tmp_path / "b.csv"), None))


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

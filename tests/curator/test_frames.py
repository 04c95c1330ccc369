"""Data frames with the right types, and CSV."""

import csv
import io
import sys
from datetime import date

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from tests.curator.releases import DAY, HOSTILE, any_release, counts, make

from discreet.errors import ParameterError

COLUMNS = ("text", "day", "yes", "year", "count", "mean", "gap", "mixed", "never")
ROWS = (
    ("a", DAY, True, 2024, 3, 1.5, 7, 1, None),
    (None, None, None, 2025, 4, 2, None, "x", None),
    ("日本", date(1, 1, 1), False, 2026, 5, None, 8, DAY, None),
)
RELEASE = make(COLUMNS, COLUMNS[:4], ROWS, {"count": ((1, 5), None, (3.5, None))})


def test_pandas():
    frame = RELEASE.to_pandas()
    assert list(frame.columns) == [
        *COLUMNS[:5], "count_low", "count_high", *COLUMNS[5:],
    ]  # fmt: skip
    wanted = {
        "text": "string", "day": "datetime64[s]", "yes": "boolean", "year": "int64",
        "count": "int64", "count_low": "float64", "count_high": "Int64", "mean": "float64",
        "gap": "Int64", "mixed": "string", "never": "object",
    }  # fmt: skip
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == wanted
    assert frame["gap"].tolist() == [7, pd.NA, 8]
    assert frame["mixed"].tolist() == ["1", "x", "2024-02-29"]
    assert frame["day"][0] == pd.Timestamp("2024-02-29")
    assert pd.isna(frame["day"][1])
    assert frame["count_high"].tolist() == [5, pd.NA, pd.NA]
    assert frame.attrs["guarantee"] == str(RELEASE.guarantee)
    assert list(RELEASE.to_pandas(intervals=False).columns) == list(COLUMNS)


def test_polars():
    frame = RELEASE.to_polars()
    assert dict(frame.schema) == {
        "text": pl.String, "day": pl.Date, "yes": pl.Boolean, "year": pl.Int64, "count": pl.Int64,
        "count_low": pl.Float64, "count_high": pl.Int64, "mean": pl.Float64, "gap": pl.Int64,
        "mixed": pl.String, "never": pl.Null,
    }  # fmt: skip
    assert frame["day"].to_list() == [DAY, None, date(1, 1, 1)]
    assert frame["gap"].to_list() == [7, None, 8]
    assert frame["count_low"].to_list() == [1.0, None, 3.5]
    assert RELEASE.to_polars(intervals=False).columns == list(COLUMNS)


def test_arrow():
    table = RELEASE.to_arrow()
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    assert kinds == {
        "text": pa.string(), "day": pa.date32(), "yes": pa.bool_(), "year": pa.int64(),
        "count": pa.int64(), "count_low": pa.float64(), "count_high": pa.int64(),
        "mean": pa.float64(), "gap": pa.int64(), "mixed": pa.string(), "never": pa.null(),
    }  # fmt: skip
    assert table["day"].to_pylist() == [DAY, None, date(1, 1, 1)]
    assert table["yes"].to_pylist() == [True, None, False]
    assert table.schema.metadata[b"discreet.sql"] == RELEASE.sql.encode()
    assert RELEASE.to_arrow(intervals=False).column_names == list(COLUMNS)


def test_no_rows_and_many():
    empty = counts([])
    for made in (empty.to_pandas(), empty.to_polars(), empty.to_arrow()):
        assert made.shape == (0, 4)
    long = counts(list(range(1000)))
    assert long.to_pandas()["count"].sum() == long.to_polars()["count"].sum() == 499_500
    assert long.to_arrow().num_rows == 1000


@pytest.mark.parametrize(
    "big", [2**63, 2**100, 10**37, 10**60, 10**200, 10**400], ids=lambda n: f"{n.bit_length()} bits"
)
def test_whole_numbers_beyond_64_bits(big):
    release = make(("count",), (), ((big,), (-big,), (None,)))
    assert release.to_pandas()["count"].tolist() == [big, -big, None]
    exact_polars, exact_arrow = big < 2**127, big < 10**76
    polars, arrow = release.to_polars()["count"], release.to_arrow()["count"]
    if exact_polars:
        assert polars.to_list() == [big, -big, None]
    if exact_arrow:
        assert [None if v is None else int(v) for v in arrow.to_pylist()] == [big, -big, None]
    elif big < 1e300:
        assert arrow.to_pylist() == [float(big), -float(big), None]
    least = make(("count",), (), ((-(2**63),), (2**63 - 1,)))
    assert least.to_arrow()["count"].type == pa.int64()
    assert least.to_pandas()["count"].tolist() == [-(2**63), 2**63 - 1]


def test_names_that_clash_stay_apart():
    release = make(("count_low", "count"), ("count_low",), (("a", 5),), {"count": ((1, 9),)})
    assert list(release.to_pandas().columns) == ["count_low", "count", "count_low_", "count_high"]


@given(any_release())
def test_any_release_converts(release):
    sizes = {
        len(release.to_pandas()), release.to_polars().height, release.to_arrow().num_rows,
        len(release),
    }  # fmt: skip
    assert len(sizes) == 1


def test_hostile_text():
    release = counts(list(range(len(HOSTILE))), keys=list(HOSTILE))
    wanted = [text if text is None else text.replace("\ud800", "?") for text in HOSTILE]
    assert release.to_polars()["department"].to_list() == wanted
    assert release.to_arrow()["department"].to_pylist() == wanted
    assert [None if pd.isna(v) else v for v in release.to_pandas()["department"]] == wanted


def test_csv(tmp_path):
    text = RELEASE.to_csv(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text(encoding="utf-8") == text
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][4:7] == ["count", "count_low", "count_high"]
    assert rows[1] == ["a", "2024-02-29", "true", "2024", "3", "1", "5", "1.5", "7", "1", ""]
    assert rows[2][:3] == ["", "", ""]
    assert RELEASE.to_csv(intervals=False).startswith(",".join(COLUMNS))


@given(any_release())
def test_csv_reads_back_row_by_row(release):
    rows = list(csv.reader(io.StringIO(release.to_csv(intervals=False), newline="")))
    assert len(rows) == len(release) + 1
    assert tuple(rows[0]) == release.columns
    for row, fields in zip(release.rows, rows[1:], strict=True):
        for value, field in zip(row, fields, strict=True):
            if isinstance(value, str):
                assert field == value


def test_hostile_csv():
    release = counts(list(range(len(HOSTILE))), keys=list(HOSTILE))
    rows = list(csv.reader(io.StringIO(release.to_csv(), newline="")))
    assert [row[0] for row in rows[1:]] == [text or "" for text in HOSTILE]
    safe = list(csv.reader(io.StringIO(release.to_csv(spreadsheet=True), newline="")))
    assert "'=HYPERLINK(1)" in [row[0] for row in safe]
    assert not any(row[0].startswith(("=", "+", "-", "@", "\t", "\r")) for row in safe)
    starts = ["=1", "+1", "-1", "@x", "\tx", "\rx"]
    guarded = counts(list(range(6)), keys=starts).to_csv(spreadsheet=True)
    rows = list(csv.reader(io.StringIO(guarded, newline="")))
    assert [row[0] for row in rows[1:]] == ["'" + text for text in starts]
    negative = make(("k", "sum"), ("k",), (("a", -5),))
    assert "-5" in negative.to_csv(spreadsheet=True)
    assert "'" not in negative.to_csv(spreadsheet=True)


@pytest.mark.parametrize(
    ("method", "library"),
    [("to_pandas", "pandas"), ("to_polars", "polars"), ("to_arrow", "pyarrow")],
)
def test_an_absent_library_is_named_with_its_cure(monkeypatch, method, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ParameterError, match=f"needs {library}: pip install {library}"):
        getattr(RELEASE, method)()

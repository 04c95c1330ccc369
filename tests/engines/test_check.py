"""The check at registration: names and types, no row."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import EngineError

DATA = pa.table({"id": [1], "name": ["x"], "pay": [1.5], "on": [True]})


def made(columns, unit=None):
    return dp.Table(DATA, unit=unit or dp.PerRow(), columns=columns)


def test_what_fits_is_taken():
    columns = {"name": dp.FreeText(), "pay": (0, 10), "on": dp.Boolean, "id": dp.Hidden()}
    assert set(made(columns).schema.columns) == {"name", "pay", "on", "id"}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"wages": (0, 10)}, "which has: id, name, pay, on"),
        (
            {
                "name": dp.Dates("2020-01-01", "2021-01-01"),
                "pay": dp.Dates("2020-01-01", "2021-01-01"),
            },
            "real numbers",
        ),
        ({"pay": dp.FreeText()}, "stored as real numbers, which cannot be read as text"),
        ({"on": dp.Dates("2020-01-01", "2021-01-01")}, "true and false"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(columns, words):
    with pytest.raises(dp.ParameterError, match=words):
        made(columns)


def test_the_person_must_be_a_column():
    with pytest.raises(dp.ParameterError, match="which has"):
        made({}, unit=dp.PerPerson("who"))


def test_bounds_to_be_found_need_a_number():
    made({"pay": dp.Bounds.find(epsilon=1)})
    with pytest.raises(dp.ParameterError):
        made({"on": dp.Keys(["a"])})


@pytest.mark.parametrize(
    "lines",
    [
        b"1,2\n1\n3,4\n",
        b'1,2\n1,"x\n3,4\n5,6\n',
        b"1,2\n1,2,3\n",
        b"1,Jos\xe9\n1,An\n",
    ],
    ids=["too few fields", "a quotation mark that stays open", "too many fields", "no UTF-8"],
)
def test_the_owner_is_told_that_lines_would_be_left_out(tmp_path, lines):
    """Questions leave them out, so that no row decides whether they fail."""
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + lines)
    table = dp.Table(tmp_path / "t.csv", unit=dp.PerRow(), columns={"a": dp.Bounds(0, 9)})
    assert len(table.session(epsilon=1).ask("SELECT COUNT(*) AS n FROM t", epsilon=1)) == 1
    with pytest.raises(EngineError, match="lines of the CSV files are no rows"):
        table.read_through()


@pytest.mark.parametrize(
    "lines",
    [b"", b"1,2\n", b"1,2\r\n3,4\r\n", b'1,"two\nlines"\n\n3,""\n', b'"x, ""y""",5" z\n', b"1,"],
)
def test_the_owner_is_told_nothing_where_all_lines_are_rows(tmp_path, lines):
    end = b"\r\n" if b"\r" in lines else b"\n"
    (tmp_path / "t.csv").write_bytes(b"a,b" + end + lines)
    columns = {"a": dp.Bounds(0, 9), "b": dp.FreeText()}
    assert dp.Table(tmp_path / "t.csv", unit=dp.PerRow(), columns=columns).read_through() is None


def test_the_owner_may_have_every_row_read():
    columns = {
        "name": dp.FreeText(),
        "pay": dp.Bounds.find(epsilon=1),
        "on": dp.Boolean,
        "id": dp.Hidden(),
    }
    assert made(columns).read_through() is None
    assert dp.Table(DATA.slice(0, 0), unit=dp.PerRow(), columns=columns).read_through() is None

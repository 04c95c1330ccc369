"""CSV files: names from the first line, and rows that never fail."""

import gzip
from datetime import date

import pytest
from tests.engines.test_duckdb import counts

from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError, ParameterError
from discreet.query.schema import Boolean, Bounds, Dates, FreeText, Keys


def test_csv_is_text_that_is_parsed_without_failing(tmp_path):
    path = tmp_path / "o'dd; name.csv"
    path.write_bytes(
        b'\xef\xbb\xbfid,age,on,day,"a ""b"""\r\n'
        b"1,5,true,2020-01-02,x\r\n"
        b'2,abc,F,2020-01-03 10:11:12,"y,\ny"\r\n'
        b"3,1e300,maybe,never,\r\n"
        b'4,nan,1,,""\r\n'
        b"5, 7 ,0,infinity,z\r\n"
        b"6,-inf,T,2020-13-45,z\r\n"
    )
    engine = DuckDB.from_files([path], kind="csv")
    assert engine.storage == dict.fromkeys(["id", "age", "on", "day", 'a "b"'], "text")
    assert counts(engine, "age", Bounds(0, 10, 1)) == {0: 1, 5: 1, 7: 1, 10: 1, None: 2}
    assert counts(engine, "on", Boolean()) == {True: 3, False: 2, None: 1}
    days = Dates("2020-01-01", "2020-12-31")
    assert counts(engine, "day", days) == {
        date(2020, 1, 2): 1,
        date(2020, 1, 3): 1,
        date(2020, 12, 31): 1,
        None: 3,
    }
    assert counts(engine, 'a "b"', FreeText()) == {"x": 1, "y,\ny": 1, "z": 2, None: 2}
    assert counts(engine, "id", Keys(range(1, 4))) == {1: 1, 2: 1, 3: 1, None: 3}


def test_lines_of_csv_that_are_no_rows_are_left_out(tmp_path):
    path = tmp_path / "rows.csv"
    long = b"9," + b"a" * (1 << 25) + b"\n"
    path.write_bytes(b"id,x\n1,a\n2\n3,b\n4,\xff\xfe\n" + long + b"5,c,too,many\n6,d\n")
    engine = DuckDB.from_files([path], kind="csv")
    found = counts(engine, "x", FreeText())
    assert {"a", "b", "d"} <= found.keys() <= {"a", "b", "c", "d"}
    assert all(n == 1 for n in found.values())


def test_csv_of_other_forms(tmp_path):
    (tmp_path / "rows.tsv").write_text("id\tx\n1\ta,b\n")
    with gzip.open(tmp_path / "rows.csv.gz", "wt") as file:
        file.write('id,x\n1,"a,b"\n')
    (tmp_path / "semicolon.csv").write_text("id;x\n1;a,b\n")
    for name, more in (
        ("rows.tsv", {}),
        ("rows.csv.gz", {}),
        ("semicolon.csv", {"delimiter": ";"}),
    ):
        engine = DuckDB.from_files([tmp_path / name], kind="csv", **more)
        assert counts(engine, "x", FreeText()) == {"a,b": 1}


@pytest.mark.parametrize("text", ["", "a,a\n1,2\n", "a,A\n1,2\n", "a,\n1,2\n"])
def test_a_csv_header_names_every_column(tmp_path, text):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(ParameterError, match="name"):
        DuckDB.from_files([tmp_path / "rows.csv"], kind="csv")


def test_several_csv_files_have_one_header(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\n1,a\n")
    (tmp_path / "b.csv").write_text("id,x\n2,b\n")
    (tmp_path / "c.csv").write_text("id,y\n2,b\n")
    engine = DuckDB.from_files([tmp_path / "a.csv", tmp_path / "b.csv"], kind="csv")
    assert counts(engine, "x", FreeText()) == {"a": 1, "b": 1}
    with pytest.raises(ParameterError, match="other names"):
        DuckDB.from_files([tmp_path / "a.csv", tmp_path / "c.csv"], kind="csv")


@pytest.mark.parametrize("delimiter", ["ab", "\n", '"', "\0"])
def test_a_delimiter_is_one_letter(tmp_path, delimiter):
    (tmp_path / "rows.csv").write_text("a;b\n1;2\n")
    with pytest.raises(ParameterError, match="one letter"):
        DuckDB.from_files([tmp_path / "rows.csv"], kind="csv", delimiter=delimiter)


def test_columns_of_a_file_that_has_changed_are_not_taken_for_others(tmp_path):
    """They are known by their place, and another file may have them in another order."""
    path, said = tmp_path / "x.csv", Keys(["1", "2"])
    path.write_text("a,b\n1,2\n")
    engine = DuckDB.from_files([path], kind="csv")
    assert counts(engine, "a", said) == {"1": 1}
    path.write_text("a,b\n1,2\n1,2\n")
    assert counts(engine, "a", said) == {"1": 2}, "more rows are no other columns"
    path.write_text("b,a\n2,1\n2,1\n2,1\n")
    with pytest.raises(EngineError, match="columns of the files have changed"):
        counts(engine, "a", said)
    path.write_text("")
    with pytest.raises(EngineError, match="could not be read any more"):
        counts(engine, "a", said)
    path.write_text("a,b\n1,2\n")
    assert counts(engine, "a", said) == {"1": 1}
    engine.close()

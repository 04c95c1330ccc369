from datetime import date

import pytest

from discreet.cli.options import Cost, Known, Out, pair_of, reading, split_keys
from discreet.errors import ParameterError
from discreet.query.schema import Boolean, Bounds, Dates, FreeText, Keys


def test_every_kind_of_declaration():
    known = Known(
        bounds=["salary=0:400000", "rate=-0.5:1.5:0.01"],
        keys=["department=Fire,Police"],
        ranges=["year=2021:2024"],
        dates=["hired=2000-01-01:2024-12-31"],
        flags=["remote"],
        texts=["job"],
    )
    assert known.declared() == {
        "salary": Bounds(0, 400_000),
        "rate": Bounds("-0.5", "1.5", "0.01"),
        "department": Keys(["Fire", "Police"]),
        "year": Keys(range(2021, 2025)),
        "hired": Dates("2000-01-01", "2024-12-31"),
        "remote": Boolean(),
        "job": FreeText(),
    }


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Fire, Police", ["Fire", "Police"]),
        ('"Parks, east",Fire', ["Parks, east", "Fire"]),
        ('"say ""hi""",x', ['say "hi"', "x"]),
        ('"",x', ["", "x"]),
        ("1,2,30", [1, 2, 30]),
        ("-1,0", [-1, 0]),
        ("01,02", ["01", "02"]),
        ("1,x", ["1", "x"]),
        ('"1","2"', ["1", "2"]),
        ("2024-01-31,2024-02-29", [date(2024, 1, 31), date(2024, 2, 29)]),
        ("true,false", [True, False]),
        ("True,False", ["True", "False"]),
        ("a=b", ["a=b"]),
        ("; DROP TABLE x;--,'", ["; DROP TABLE x;--", "'"]),
        ("\x1b[2J,é", ["\x1b[2J", "é"]),
    ],
)
def test_keys_as_they_are_typed(text, keys):
    found = Known(keys=[f"c={text}"]).declared()["c"].values
    assert list(found) == keys
    assert [type(key) for key in found] == [type(key) for key in keys]


def test_keys_of_the_only_grouping_need_no_name():
    assert Known(keys=["Fire,Police"]).declared(["d"]) == {"d": Keys(["Fire", "Police"])}
    assert Known(keys=["d=Fire"]).declared(["d"]) == {"d": Keys(["Fire"])}
    assert Known(keys=["e=x"]).declared(["d"]) == {"e": Keys(["x"])}
    assert Known(keys=["a b=c,d"]).declared(["d"]) == {"d": Keys(["a b=c", "d"])}
    assert Known(keys=["odd one=x"]).declared(["odd one"]) == {"odd one": Keys(["x"])}
    with pytest.raises(ParameterError, match="must name its column, such as --keys department="):
        Known(keys=["Fire"]).declared(["d", "e"])


def test_a_column_with_an_odd_name():
    assert Known(bounds=['"a=b"=0:1']).declared() == {"a=b": Bounds(0, 1)}
    assert Known(bounds=['"say ""hi"""=0:1']).declared() == {'say "hi"': Bounds(0, 1)}


def test_keys_from_a_file(tmp_path):
    file = tmp_path / "keys.txt"
    file.write_bytes('\ufeffFire\r\nParks, east\n\n"q"\n'.encode())
    assert Known(keys=[f"d=@{file}"]).declared() == {"d": Keys(["Fire", "Parks, east", '"q"'])}
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ParameterError, match="no UTF-8 text"):
        Known(keys=[f"d=@{file}"]).declared()
    with pytest.raises(ParameterError, match="cannot be read"):
        Known(keys=[f"d=@{tmp_path}/none"]).declared()
    with pytest.raises(ParameterError, match="cannot be read"):
        Known(keys=[f"d=@{tmp_path}"]).declared()


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("bounds", "salary", "must name its column, such as --bounds salary=0:400000"),
        ("bounds", "salary=5", "two ends"),
        ("bounds", "salary=1:2:3:4", "LOW:HIGH:GRID"),
        ("bounds", "salary=5:1", "low below high"),
        ("bounds", "salary=a:b", "low"),
        ("bounds", "salary=0:nan", "high"),
        ("bounds", "salary=0:1e99999", "high"),
        ("bounds", "=0:1", "must name its column"),
        ("keys", "d=", "empty key"),
        ("keys", "d=a,,b", "empty key"),
        ("keys", "d=a,a", "there twice"),
        ("keys", 'd=a"b', "double quote"),
        ("keys", 'd="a', "double quote"),
        ("keys", "d=2024-02-30", "look like dates"),
        ("keys", "d=a\0b", "NUL"),
        ("ranges", "year=2021", "two ends"),
        ("ranges", "year=2024:2021", "FROM before TO"),
        ("ranges", "year=0:99999999", "numbers"),
        ("ranges", "year=1.5:2", "whole number"),
        ("dates", "hired=2000:2001", "must be a date"),
        ("dates", "hired", "hired=2000-01-01:2024-12-31"),
    ],
)
def test_what_cannot_be_read_is_named(option, text, words):
    with pytest.raises(ParameterError, match=words) as caught:
        Known(**{option: [text]}).declared()
    assert caught.value.name == {"ranges": "--range"}.get(option, f"--{option}")


def test_one_declaration_for_each_column():
    with pytest.raises(ParameterError, match="twice"):
        Known(keys=["d=a"], flags=["d"]).declared()


def test_what_does_not_go_together(tmp_path):
    for cost in (Cost(), Cost(epsilon="1", within="5")):
        with pytest.raises(ParameterError, match="--within must be said, one of the two"):
            cost.check()
    with pytest.raises(ParameterError, match="needs a ledger"):
        Cost(epsilon="1", budget="3", no_ledger=True).check()
    with pytest.raises(ParameterError, match="needs a ledger"):
        Cost(epsilon="1", less=True, no_ledger=True).check()
    with pytest.raises(ParameterError, match="needs --person"):
        Known(max_rows=3).unit()
    with pytest.raises(ParameterError, match=r"must end with \.png"):
        Out(plot=tmp_path / "a.jpg").check()
    with pytest.raises(ParameterError, match="folder that is there"):
        Out(report=tmp_path / "none" / "a.html").check()
    Out(plot=tmp_path / "A.PNG", report=tmp_path / "a.html").check()


def test_pairs_and_lists():
    assert pair_of("--range", " 1 : 2") == ("1", "2")
    assert split_keys("a") == [("a", False)]


def test_delimiters():
    assert Known().options == {}
    assert reading(";") == {"delimiter": ";"}
    assert reading("tab") == reading("\\t") == {"delimiter": "\t"}
    for odd in ("", "ab", "\0", "é"):
        with pytest.raises(ParameterError, match="must be one letter"):
            reading(odd)

"""Reading a file: exact numbers, paths beside the file, and errors that travel well."""

import pickle
import re
from fractions import Fraction
from pathlib import Path

import pytest
from tests.curator.policy.example import FOLDER, FULL, SMALL, changed, policy

from discreet.curator.policy.reading import PolicyError, parse_policy, read_policy
from discreet.errors import ParameterError
from discreet.privacy.guarantee import PureDP


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(FULL, encoding="utf-8")
    return path


def test_paths_start_beside_the_file(file, monkeypatch):
    assert read_policy(file).datasets["payroll"].source == str(file.parent / "payroll.csv")
    monkeypatch.chdir(file.parent)
    found = read_policy("policy.toml")
    assert found.folder == file.parent
    assert found.ledger.address == str(file.parent / "staff.ledger")
    monkeypatch.setenv("HOME", "/home/ann")
    home = policy(('"d.csv"', '"~/d.csv"'), text=SMALL)
    assert home.datasets["d"].source == "/home/ann/d.csv"


def test_numbers_are_exact():
    found = policy(("epsilon = 1\n", "epsilon = 0.1\n"), text=SMALL)
    assert found.families["f"].limit.guarantee == PureDP(Fraction(1, 10))
    bounds = policy(("high = 10", "high = 0.3, grid = 0.1"), text=SMALL).datasets["d"].columns["x"]
    assert (bounds.high, bounds.grid) == (Fraction(3, 10), Fraction(1, 10))


@pytest.mark.parametrize(
    "write",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
    ],
    ids=["BOM", "CRLF", "both"],
)
def test_files_of_windows_editors(file, write):
    plain = read_policy(file).fingerprint
    file.write_bytes(write(FULL))
    assert read_policy(file).fingerprint == plain
    file.write_bytes(write(FULL.replace("epsilon = 3", "epsilon = 0")))
    with pytest.raises(PolicyError, match=r":5: \[family.staff\] epsilon: must be above 0"):
        read_policy(file)


def test_an_error_names_the_file_as_it_was_named(file, monkeypatch):
    file.write_text("x = 1\n")
    monkeypatch.chdir(file.parent)
    with pytest.raises(PolicyError, match=r"^policy.toml:1: x: is not known here"):
        read_policy("policy.toml")


def test_an_error_is_a_parameter_error_and_can_be_sent():
    with pytest.raises(ParameterError) as caught:
        parse_policy("x = 1\ny = 2\n", folder=FOLDER)
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.problems == error.problems
    assert (again.file, again.line) == ("policy.toml", 1)


def test_undecided_things_are_listed_and_nothing_else():
    text = changed(
        ("epsilon = 1\n", 'epsilon = "DECIDE"\n'),
        ('unit = "row"', 'unit = { person = "DECIDE", max_rows = "DECIDE" }'),
        ("x = { low = 0, high = 10 }", 'x = "DECIDE"'),
        text=SMALL,
    )
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, folder=FOLDER)
    places = [one.split(": is not decided yet")[0] for one in caught.value.problems]
    assert places == [
        "policy.toml:4: [family.f] epsilon",
        "policy.toml:10: [dataset.d] unit.person",
        "policy.toml:10: [dataset.d] unit.max_rows",
        "policy.toml:12: [dataset.d.columns] x",
    ]


def test_odd_names_are_quoted():
    text = changed(("x = {", '"a b".\'c"d\' = 3\n"\\n" = {'), text=SMALL)
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, folder=FOLDER)
    assert caught.value.problems[0].startswith('policy.toml:12: [dataset.d.columns] "a b": c"d is')


@pytest.mark.parametrize(("name", "shown"), [("f", "f"), ('"a (b)"', '"a (b)"')])
def test_a_table_that_is_there_twice_is_called_by_its_name(name, shown):
    text = f"{SMALL}\n[family.{name}]\n[family.{name}]\n"
    with pytest.raises(PolicyError, match=rf"table \[family\.{re.escape(shown)}\] is there twice"):
        parse_policy(text, folder=FOLDER)

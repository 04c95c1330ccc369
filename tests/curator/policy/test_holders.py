"""Other ledgers in a folder that hold a budget for the same data are named."""

import shutil

import pytest
from tests.curator.payroll import COUNT, POLICY, changed, write_rows

from discreet.curator.curator import Curator
from discreet.curator.oneoff import open_file
from discreet.curator.policy.holders import held_elsewhere, was_renamed
from discreet.curator.policy.reading import read_policy


@pytest.fixture
def folder(tmp_path):
    write_rows(tmp_path / "payroll.csv")
    write_rows(tmp_path / "other.csv")
    Curator.register(changed(tmp_path, text=POLICY))
    return tmp_path


def test_a_policy_is_told_of_the_ledger_of_another(folder):
    assert held_elsewhere(read_policy(folder / "policy.toml")) == []  # that is its own
    moved = read_policy(changed(folder, ("staff.ledger", "new.ledger")))
    assert held_elsewhere(moved) == ["staff.ledger"]
    elsewhere = read_policy(changed(folder, ("payroll.csv", "other.csv")))
    assert held_elsewhere(elsewhere) == []


def test_a_file_is_told_of_the_ledger_of_a_policy_and_the_other_way_round(folder):
    with open_file(folder / "payroll.csv", columns={}) as file:
        assert held_elsewhere(file.policy) == ["staff.ledger"]
        file.ask("SELECT COUNT(*) AS n FROM payroll", epsilon=1)
    with open_file(folder / "other.csv", columns={}) as file:
        assert held_elsewhere(file.policy) == []
    assert held_elsewhere(read_policy(folder / "policy.toml")) == ["payroll.csv.ledger"]


def test_the_ledger_of_a_bare_file_lies_beside_it_wherever_the_policy_is(folder):
    (folder / "data").mkdir()
    write_rows(folder / "data" / "payroll.csv")
    with open_file(folder / "data" / "payroll.csv", columns={}) as file:
        file.ask("SELECT COUNT(*) AS n FROM payroll", epsilon=1)
    below = read_policy(changed(folder, ('"payroll.csv"', '"data/payroll.csv"')))
    assert held_elsewhere(below) == ["data/payroll.csv.ledger"]
    every = read_policy(changed(folder, ('"data/payroll.csv"', '"data/*.csv"')))
    assert held_elsewhere(every) == ["data/payroll.csv.ledger"]


def test_what_a_ledger_held_before_its_last_policy_counts(folder):
    Curator.register(changed(folder, ("payroll.csv", "other.csv")))
    again = (("staff.ledger", "new.ledger"), ("other.csv", "payroll.csv"))
    assert held_elsewhere(read_policy(changed(folder, *again))) == ["staff.ledger"]


def test_a_ledger_of_a_policy_elsewhere_speaks_of_its_own_files(folder):
    (folder / "books").mkdir()
    Curator.register(changed(folder, ("staff.ledger", "books/one.ledger")))
    write_rows(folder / "books" / "payroll.csv")
    with open_file(folder / "books" / "payroll.csv", columns={}) as file:
        assert held_elsewhere(file.policy) == []
    above = ("staff.ledger", "two.ledger"), ('"payroll.csv"', '"../payroll.csv"')
    found = held_elsewhere(read_policy(changed(folder / "books", *above, text=POLICY)))
    assert found == ["one.ledger", "../staff.ledger"]


def test_a_copy_of_a_ledger_is_told_of_the_other(folder):
    assert not was_renamed(read_policy(folder / "policy.toml"))
    for name in ("staff.ledger", "staff.ledger.head"):
        shutil.copy(folder / name, folder / name.replace("staff", "two"))
    copy = changed(folder, ("staff.ledger", "two.ledger"))
    assert Curator.register(copy)[0] == 2
    assert was_renamed(read_policy(copy))
    assert held_elsewhere(read_policy(copy)) == ["staff.ledger"]


def test_what_cannot_be_read_holds_nothing_and_nothing_is_changed(folder):
    (folder / "torn.ledger").write_text("this is no database")
    (folder / "empty.ledger").touch()
    (folder / "folder.ledger").mkdir()
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="0.1")
    before = (folder / "staff.ledger").read_bytes()
    assert held_elsewhere(read_policy(changed(folder, ("staff.ledger", "new.ledger")))) == [
        "staff.ledger"
    ]
    assert (folder / "staff.ledger").read_bytes() == before
    assert (folder / "torn.ledger").read_text() == "this is no database"

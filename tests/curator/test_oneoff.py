"""A bare file: its ledger remembers."""

import os
import shutil
import subprocess
import sys

import duckdb
import pytest

from discreet.curator.ledger.database import Database
from discreet.curator.ledger.verify import verified
from discreet.curator.oneoff import open_file, orphans
from discreet.errors import BudgetExceededError, ChangedDataError, LedgerError, ParameterError

COUNT = "SELECT dept, COUNT(*) AS n FROM staff GROUP BY dept"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "staff.csv"
    path.write_text("id,dept,pay\n" + "".join(f"{i},{'ab'[i % 2]},{i}\n" for i in range(100)))
    return path


def left(curator):
    return curator.accounts()["people"].left.said("pure")


def test_questions_of_different_days_add_up(file):
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        first = curator.ask(COUNT, epsilon=1)
        assert left(curator) == "epsilon 9"
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        assert curator.ask(COUNT, epsilon=1) == first
        assert left(curator) == "epsilon 9"
    with open_file(file, columns={"pay": (0, 100)}) as curator:
        curator.ask("SELECT SUM(pay) AS s FROM staff", epsilon=2)
        assert left(curator) == "epsilon 7"
        verified(curator.ledger)
    assert sorted(p.name for p in file.parent.iterdir()) == [
        "staff.csv", "staff.csv.ledger", "staff.csv.ledger.head",
    ]  # fmt: skip


def test_the_ledger_is_the_owners_alone_whatever_the_file_is(file):
    file.chmod(0o644)
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        curator.ask(COUNT, epsilon=1)
        beside = [path for path in file.parent.iterdir() if path != file]
        assert len(beside) == 4
        assert {path.stat().st_mode & 0o777 for path in beside} == {0o600}


def test_the_ledger_is_opened_once_and_closed_in_the_end(file, monkeypatch):
    open_file(file, columns={"dept": ["a", "b"]}).close()
    opened, connect = [], Database._connect
    monkeypatch.setattr(Database, "_connect", lambda self: (opened.append(self), connect(self)))
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        curator.ask(COUNT, epsilon=1)
    assert len(opened) == 1
    with pytest.raises(LedgerError, match="was closed"):
        left(curator)
    assert not file.with_name("staff.csv.ledger-wal").exists()


def test_the_ledger_is_closed_where_something_else_is_refused(file, monkeypatch):
    open_file(file, columns={"dept": ["a", "b"]}).close()
    opened, connect = [], Database._connect
    monkeypatch.setattr(Database, "_connect", lambda self: (opened.append(self), connect(self)))
    for wrong in ({"columns": {"dept": object()}}, {"columns": {}, "budget": 0}):
        with pytest.raises(ParameterError):
            open_file(file, **wrong)
    assert [database._closed for database in opened] == [True, True]


def test_the_total_is_said_once(file):
    with open_file(file, columns={"dept": ["a", "b"]}, budget="0.5") as curator:
        with pytest.raises(BudgetExceededError):
            curator.ask(COUNT, epsilon=1)
        curator.ask(COUNT, epsilon="0.5")
    with pytest.raises(ParameterError, match=r"is epsilon 0\.5 since its ledger was made"):
        open_file(file, columns={"dept": ["a", "b"]}, budget=5)
    with open_file(file, columns={"dept": ["a", "b"]}, budget="0.5") as curator:
        assert left(curator) == "epsilon 0"


def test_the_total_is_not_fixed_by_what_was_refused(file):
    """It is as long as nothing was spent: also above the one that nobody said."""
    first = open_file(file, columns={"dept": ["a", "b"]})
    with first, pytest.raises(BudgetExceededError):
        first.ask(COUNT, epsilon=11)
    for budget in ("3", "20", "0.5"):
        with open_file(file, columns={"dept": ["a", "b"]}, budget=budget) as curator:
            assert left(curator) == f"epsilon {budget}"
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        curator.ask(COUNT, epsilon="0.25")
        assert left(curator) == "epsilon 0.25"
        verified(curator.ledger)
    with pytest.raises(ParameterError, match=r"is epsilon 0\.5 since its ledger was made"):
        open_file(file, columns={"dept": ["a", "b"]}, budget=3)


def test_people_may_have_many_rows(file):
    with open_file(file, columns={"dept": ["a", "b"]}, person="id", max_rows=3) as curator:
        assert curator.ask(COUNT, epsilon=1).unit.startswith("a person is a value of id")
    with pytest.raises(ParameterError, match="needs person"):
        open_file(file, columns={"dept": ["a", "b"]}, max_rows=3)


def test_a_link_has_the_budget_of_its_file(file):
    link = file.with_name("link.csv")
    link.symlink_to(file)
    for path in (file, link):
        with open_file(path, columns={"dept": ["a", "b"]}) as curator:
            curator.ask(f"SELECT COUNT(*) AS n FROM {curator.query().schema.name}", epsilon=1)
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        assert left(curator) == "epsilon 9"
    assert not link.with_name("link.csv.ledger").exists()


def test_a_changed_file_is_other_data(file):
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        before = curator.ask(COUNT, epsilon=1)
    file.write_text("id,dept,pay\n" + "1,a,1\n" * 9000)
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        after = curator.ask(COUNT, epsilon=1)
        assert after.release["n"][0] > 8000 > before.release["n"][0]  # noise: below 1e-300
        assert left(curator) == "epsilon 8"


def test_a_version_does_not_tell_how_large_the_file_is(file, tmp_path):
    """It is printed in reports. The same state has the same name in one ledger, and in no other."""
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        record = curator.ask(COUNT, epsilon=1)
    size, at = file.stat().st_size, file.stat().st_mtime_ns
    assert str(size) not in record.data_version
    assert str(at)[:8] not in record.data_version
    other = shutil.copy2(file, tmp_path / "other.csv")
    with open_file(other, columns={"dept": ["a", "b"]}) as curator:
        again = curator.ask(COUNT.replace("staff", "other"), epsilon=1)
    assert again.data_version != record.data_version
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        assert curator.ask(COUNT, epsilon=1).data_version == record.data_version


def write_parquet(path, rows):
    with duckdb.connect() as own:
        own.execute(f"COPY (SELECT 'a' AS dept FROM range({rows})) TO '{path}'").fetchall()


def test_a_changed_file_in_a_folder_is_other_data(tmp_path):
    """The folder itself keeps its size and its time."""
    folder = tmp_path / "staff"
    folder.mkdir()
    write_parquet(folder / "a.parquet", 9)
    times = folder.stat().st_mtime_ns
    with open_file(folder, columns={"dept": ["a", "b"]}) as curator:
        before = curator.ask(COUNT, epsilon=1)
    write_parquet(tmp_path / "b.parquet", 9000)
    (folder / "a.parquet").write_bytes((tmp_path / "b.parquet").read_bytes())
    os.utime(folder, ns=(times, times))
    with open_file(folder, columns={"dept": ["a", "b"]}) as curator:
        after = curator.ask(COUNT, epsilon=1)
    assert after.release["n"][0] > 8000 > before.release["n"][0]  # noise: below 1e-300


def test_a_file_that_changes_after_it_was_opened_is_asked_again(file):
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        file.write_text("id,dept,pay\n" + "1,a,1\n" * 9000)
        with pytest.raises(ChangedDataError, match="Nothing was charged"):
            curator.ask(COUNT, epsilon=1)
        assert left(curator) == "epsilon 10"


def test_ledgers_whose_file_is_gone_are_found(file):
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        assert curator.is_new
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        assert not curator.is_new
    for policy in ("people.ledger", "odd.thing.ledger"):
        (file.parent / policy).write_text("")
    assert orphans(file) == []
    moved = file.rename(file.with_name("renamed.csv"))
    assert orphans(moved) == ["staff.csv"]
    assert orphans(moved.parent / "new.csv") == ["staff.csv"]


def test_a_file_that_is_renamed_with_its_ledger_keeps_its_budget(file):
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        curator.ask(COUNT, epsilon=1)
    for end in ("", ".ledger", ".ledger.head"):
        file.with_name(f"staff.csv{end}").rename(file.with_name(f"renamed.csv{end}"))
    with open_file(file.with_name("renamed.csv"), columns={"dept": ["a", "b"]}) as curator:
        assert left(curator) == "epsilon 9"
        curator.ask(COUNT.replace("staff", "renamed"), epsilon=2)
        assert left(curator) == "epsilon 7"
        verified(curator.ledger)


_KILLED = """
import os, sys
from discreet.curator.ledger import tables
from discreet.curator.oneoff import open_file
tables.make = lambda *_: os._exit(9)
open_file(sys.argv[1], columns={"dept": ["a", "b"]})
"""


def test_a_ledger_that_was_never_finished_is_made(file):
    """Who made it was killed: there is a head file of one line, and a database without tables."""
    subprocess.run([sys.executable, "-c", _KILLED, str(file)], check=False)
    assert file.with_name("staff.csv.ledger").exists()
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        assert curator.is_new
        curator.ask(COUNT, epsilon=1)
        verified(curator.ledger)


def test_a_lost_ledger_is_not_made_anew(file):
    with open_file(file, columns={"dept": ["a", "b"]}) as curator:
        curator.ask(COUNT, epsilon=1)
    ledger = file.with_name("staff.csv.ledger")
    ledger.rename(file.with_name("elsewhere"))
    with pytest.raises(LedgerError, match="moved or deleted"):
        open_file(file, columns={"dept": ["a", "b"]})


def test_odd_names_and_missing_files(tmp_path):
    with pytest.raises(ParameterError, match="does not exist"):
        open_file(tmp_path / "nowhere.csv", columns={})
    for pattern in ("*.csv", "a?.csv"):
        with pytest.raises(ParameterError, match="not a pattern"):
            open_file(tmp_path / pattern, columns={})
    odd = tmp_path / "2024 'odd'; name.csv"
    odd.write_text("dept\na\n")
    with open_file(odd, columns={"dept": ["a"]}) as curator:
        assert curator.ask("SELECT COUNT(*) AS n FROM t", epsilon=1).dataset == "t"

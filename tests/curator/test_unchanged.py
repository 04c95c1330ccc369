"""Data that change under an unchanged version are not answered from, and nothing is charged."""

import os
import shutil
import signal
from dataclasses import replace

import pytest
from tests.curator.payroll import COUNT, changed, spent, write_rows

from discreet.curator.curator import Curator
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.marks import marks_in
from discreet.curator.ledger.registry import register
from discreet.curator.ledger.verify import verified
from discreet.curator.policy.reading import read_policy
from discreet.curator.policy.registration import registration
from discreet.errors import ChangedDataError, EngineError, LedgerError

TOTAL = "SELECT COUNT(*) AS n FROM payroll"
FOUND = "SELECT SUM(bonus) AS s FROM payroll"


def touched(folder, name="payroll.csv", seconds=60):
    at = (folder / name).stat().st_mtime_ns + seconds * 10**9
    os.utime(folder / name, ns=(at, at))


def replaced(folder, **rows):
    write_rows(folder / "payroll.csv", **{"people": 5000, **rows})


def entries(curator):
    return [entry.kind for entry in curator.ledger.entries()]


def ways(curator):
    """Every way to a charge."""
    return [
        lambda **who: curator.ask(TOTAL, epsilon="0.2", **who),
        lambda **who: curator.ask(FOUND, epsilon="0.2", **who),
        lambda **who: curator.ask(TOTAL, epsilon="0.1", key="first", **who),
        lambda **who: curator.publish("pay", bins=8, ranges=(0, 1000), epsilon="0.2", **who),
        lambda **who: curator.publish_rollup(["dept"], epsilon="0.2", **who),
        lambda **who: curator.publish_workload([COUNT], epsilon="0.2", **who),
        lambda **who: curator.publish_marginals(["dept"], ways=1, epsilon="0.2", **who),
        lambda **who: curator.ask(
            "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY ROLLUP (dept)", epsilon="0.2", **who
        ),
    ]


@pytest.mark.parametrize("who", [{}, {"analyst": "alice"}], ids=["owner", "alice"])
@pytest.mark.parametrize("opened", ["before", "after"])
def test_nothing_is_answered_from_files_that_changed(folder, who, opened):
    """Whether the curator was there before the change, as in a server, or came after it."""
    curator = Curator(folder / "policy.toml")
    first = curator.ask(TOTAL, epsilon="0.1", key="first", **who)
    before, kinds = spent(curator), entries(curator)
    replaced(folder)
    if opened == "after":
        curator.close()
        curator = Curator(folder / "policy.toml")
    with curator:
        for way in ways(curator):
            with pytest.raises(ChangedDataError) as refused:
                way(**who)
            for words in ("'payroll'", "'2024'", "new version", "--same-data payroll"):
                assert words in str(refused.value)
            assert str(refused.value).endswith("Nothing was charged")
        assert spent(curator) == before
        assert entries(curator) == kinds
        assert curator.record(first.id) == first, "what is stored can be looked at"
        assert curator.price(TOTAL, epsilon=1), "what is free is free"


def test_a_new_version_is_another_question_and_is_never_combined(folder):
    with Curator(folder / "policy.toml") as curator:
        curator.ask(TOTAL, epsilon="0.5", analyst="alice")
    replaced(folder)
    with pytest.raises(LedgerError, match="--same-data payroll"):
        Curator.register(folder / "policy.toml")
    Curator.register(changed(folder, ('version = "2024"', 'version = "2025"')))
    with Curator(folder / "policy.toml") as curator:
        record = curator.ask(TOTAL, epsilon="0.4", analyst="alice")
        assert record.release["n"][0] > 4000  # noise: below 1e-100
        assert "combined" not in " ".join(record.release.notes)
        verified(curator.ledger)


def test_a_question_that_crashed_does_not_give_its_noise_to_other_rows(folder, killing):
    """The difference of two answers with the same noise would be exact."""
    code = killing.ask(folder, "after compute", TOTAL, epsilon="0.5", key="k")
    assert code == -signal.SIGKILL
    replaced(folder)
    with Curator(folder / "policy.toml") as curator:
        with pytest.raises(ChangedDataError):
            curator.ask(TOTAL, epsilon="0.5", key="k")
        assert len(curator.ledger.pending) == 1
    Curator.register(changed(folder, ('version = "2024"', 'version = "2025"')))
    other = pytest.raises(LedgerError, match="belongs to another question")
    with Curator(folder / "policy.toml") as curator, other:
        curator.ask(TOTAL, epsilon="0.5", key="k")


def test_the_same_rows_in_a_touched_file_go_on_once_the_owner_says_so(folder):
    """Also in a curator that is open meanwhile, as in a server."""
    with Curator(folder / "policy.toml") as curator:
        first = curator.ask(TOTAL, epsilon="0.2")
        touched(folder)
        with pytest.raises(ChangedDataError):
            curator.ask(TOTAL, epsilon="0.2")
        version, words = Curator.register(folder / "policy.toml", same_data=["payroll"])
        assert version == 1
        assert words == ["payroll: its files have changed, and its rows are the same"]
        assert curator.ask(TOTAL, epsilon="0.2") == first
        curator.ask(TOTAL, epsilon="0.3")
        touched(folder)
        with pytest.raises(ChangedDataError):
            curator.ask(TOTAL, epsilon="0.2")
        verified(curator.ledger)


def test_a_folder_that_is_moved_or_copied_with_its_times_goes_on(folder):
    with Curator(folder / "policy.toml") as curator:
        first = curator.ask(TOTAL, epsilon="0.2")
    there = shutil.move(folder, folder.with_name("there"))
    with Curator(there / "policy.toml") as curator:
        assert curator.ask(TOTAL, epsilon="0.2") == first
    shutil.copy2(there / "payroll.csv", there / "copy")
    (there / "copy").replace(there / "payroll.csv")
    with Curator(there / "policy.toml") as curator:
        curator.ask(TOTAL, epsilon="0.3")
    Curator.register(there / "policy.toml")


# ledgers without marks


def forgotten(folder, name="other.ledger"):
    """A ledger as it was made before there were marks."""
    path = changed(folder, ('path = "staff.ledger"', f'path = "{name}"'))
    policy = read_policy(path)
    with Ledger.create(policy.ledger.address, head=policy.ledger.head) as ledger:
        register(ledger, replace(registration(policy), data=()))
    return path


def test_the_first_question_notes_what_nobody_noted(folder):
    path = forgotten(folder)
    with Curator(path) as curator:
        assert not marks_in(curator.ledger)
        curator.ask(TOTAL, epsilon="0.1")
        curator.ask(TOTAL, epsilon="0.2")
        assert entries(curator).count("data") == 1
        verified(curator.ledger)
    replaced(folder)
    with Curator(path) as curator, pytest.raises(ChangedDataError):
        curator.ask(TOTAL, epsilon="0.3")


def test_a_registration_notes_what_nobody_noted(folder):
    path = forgotten(folder)
    assert Curator.register(path) == (1, [])
    replaced(folder)
    with Curator(path) as curator, pytest.raises(ChangedDataError):
        curator.ask(TOTAL, epsilon="0.3")


def test_a_policy_of_data_that_come_later_is_noted_at_the_first_question(folder):
    rows = (folder / "payroll.csv").read_text()
    (folder / "payroll.csv").unlink()
    path = changed(folder, ('path = "staff.ledger"', 'path = "other.ledger"'))
    Curator.register(path)
    (folder / "payroll.csv").write_text(rows)
    with Curator(path) as curator:
        curator.ask(TOTAL, epsilon="0.1")
        assert entries(curator).count("data") == 1


def test_whoever_comes_second_to_note_is_compared(folder, monkeypatch):
    """Two curators find no mark, and the file changes before the second one notes it."""
    path = forgotten(folder)
    with Curator(path) as one, Curator(path) as two:
        one.ask(TOTAL, epsilon="0.1")
        touched(folder)
        monkeypatch.setattr("discreet.curator.unchanged.marks_in", lambda _: {})
        with pytest.raises(ChangedDataError):
            two.ask(TOTAL, epsilon="0.1")
        assert entries(two).count("data") == 1


def test_nothing_is_noted_for_a_policy_that_is_not_in_force(folder):
    path = forgotten(folder)
    with Curator(path) as curator:
        (folder / "payroll.csv").rename(folder / "aside.csv")
        Curator.register(changed(folder, ("epsilon = 0.1\n", "epsilon = 0.2\n")))
        (folder / "aside.csv").rename(folder / "payroll.csv")
        with pytest.raises(LedgerError, match="another version of the policy"):
            curator.ask(TOTAL, epsilon="0.1")
        assert "data" not in entries(curator)


# files that change while they are read, go, or come


@pytest.mark.parametrize("analyst", [None, "alice"])
def test_what_was_read_of_a_file_that_changed_meanwhile_is_not_handed_out(folder, analyst):
    """An analyst is answered as by an empty table, as after every failure; the charge stands."""
    faults = []
    with Curator(folder / "policy.toml", on_fault=faults.append) as curator:
        engine = curator._asking(TOTAL, None, None).engine
        run = engine.run

        def meanwhile(*what, **how):
            found = run(*what, **how)
            replaced(folder, people=100_000)
            return found

        engine.run = meanwhile
        ask = {"epsilon": "0.5", "key": "k", "analyst": analyst}
        if analyst is None:
            with pytest.raises(ChangedDataError, match="while they were read"):
                curator.ask(TOTAL, **ask)
            assert len(curator.ledger.pending) == 1
        else:
            assert abs(curator.ask(TOTAL, **ask).release["n"][0]) < 200  # noise: below 1e-40
            assert [type(fault) for fault in faults] == [ChangedDataError]
        assert spent(curator)["staff"] == "epsilon 0.5"
        with pytest.raises(ChangedDataError):
            curator.ask(TOTAL, **ask)
        verified(curator.ledger)


def test_a_file_that_is_gone_is_told_and_costs_nothing(curator, folder):
    curator.ask(TOTAL, epsilon="0.1")
    (folder / "payroll.csv").unlink()
    for question in (TOTAL, COUNT):
        with pytest.raises(EngineError, match="not there any more") as refused:
            curator.ask(question, epsilon="0.2")
        assert str(folder) not in str(refused.value)
    assert spent(curator)["staff"] == "epsilon 0.1"


def test_a_file_that_cannot_be_read_any_more_names_no_path(curator, folder):
    curator.ask(TOTAL, epsilon="0.1")
    (folder / "payroll.csv").write_text("")
    with pytest.raises(EngineError, match="cannot be opened; nothing was charged") as refused:
        curator.ask(TOTAL, epsilon="0.2")
    assert str(folder) not in str(refused.value)


def pattern(folder):
    write_rows(folder / "part-1.csv", people=100)
    path = changed(folder, ('source = "payroll.csv"', 'source = "part-*.csv"'))
    Curator.register(path)
    return path


def test_a_file_more_under_a_pattern_is_a_change(folder):
    path = pattern(folder)
    with Curator(path) as before:
        before.ask(TOTAL, epsilon="0.1")
        write_rows(folder / "part-2.csv", people=5000)
        with Curator(path) as after, pytest.raises(ChangedDataError):
            after.ask(TOTAL, epsilon="0.2")
        assert before.ask(TOTAL, epsilon="0.9").release["n"][0] < 1000, "it reads what it opened"
        with pytest.raises(LedgerError, match="--same-data payroll"):
            Curator.register(path)


def test_a_file_more_that_is_said_to_change_nothing_is_seen_by_all(folder):
    path = pattern(folder)
    with Curator(path) as before:
        before.ask(TOTAL, epsilon="0.1")
        (folder / "part-2.csv").write_text("id,dept,pay,bonus\n")
        Curator.register(path, same_data=["payroll"])
        touched(folder, "part-1.csv")
        with pytest.raises(ChangedDataError):
            before.ask(TOTAL, epsilon="0.2")
        Curator.register(path, same_data=["payroll"])
        before.ask(TOTAL, epsilon="0.2")


def test_a_block_has_a_version_of_its_own(folder):
    write_rows(folder / "q1.csv")
    block = """
[dataset.payroll.block.q1]
source = "q1.csv"
version = "q1"
people = "shared"
"""
    path = changed(folder, ("[defaults]", f"{block}\n[defaults]"))
    Curator.register(path)
    touched(folder, "q1.csv")
    with Curator(path) as curator:
        curator.ask(TOTAL, epsilon="0.1")
        with pytest.raises(ChangedDataError, match="--same-data payroll/q1"):
            curator.ask(TOTAL, epsilon="0.1", block="q1")
        Curator.register(path, same_data=["payroll/q1"])
        curator.ask(TOTAL, epsilon="0.1", block="q1")


def test_a_duckdb_file_is_a_file(folder):
    import duckdb

    file = folder / "payroll.duckdb"
    with duckdb.connect(file) as made:
        made.execute(f"CREATE TABLE staff AS FROM read_csv('{folder / 'payroll.csv'}')")
    pairs = ('source = "payroll.csv"', 'source = "payroll.duckdb"\ntable = "staff"')
    path = changed(folder, pairs)
    Curator.register(path)
    with Curator(path) as curator:
        curator.ask(TOTAL, epsilon="0.1")
    with Curator(path) as curator:
        curator.ask(TOTAL, epsilon="0.2")
    with duckdb.connect(file) as made:
        made.execute("CREATE TABLE another AS SELECT 1 AS a")
    with Curator(path) as curator, pytest.raises(ChangedDataError):
        curator.ask(TOTAL, epsilon="0.3")


def test_a_look_takes_no_statement_and_little_time(curator, monkeypatch):
    """Once a part was looked at, the next questions ask the file system alone."""
    curator.ask(TOTAL, epsilon="0.1")
    asking, looked = curator._asking(TOTAL, None, None), []
    monkeypatch.setattr("discreet.curator.unchanged.marks_in", looked.append)
    curator.ask(TOTAL, epsilon="0.2")
    curator._insist_unchanged(asking)
    assert not looked

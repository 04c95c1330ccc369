"""Data that change under an unchanged version are not answered from, and nothing is charged."""

import os
import shutil
import signal
from dataclasses import replace
from itertools import count

import pytest
from tests.curator.payroll import COUNT, changed, renewed, spent, write_rows

from discreet.curator.curator import Curator
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.marks import marks_in
from discreet.curator.ledger.registry import register
from discreet.curator.ledger.verify import verified
from discreet.curator.policy.reading import read_policy
from discreet.curator.policy.registration import registration
from discreet.engines.state import Watched
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
        engine = curator._asking(TOTAL, None, None, None).engine
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


# files that go and come back


def aside(folder, name="payroll.csv"):
    """The file of the version goes, and comes back as it was."""
    (folder / name).rename(folder / "aside")
    return lambda: (folder / "aside").replace(folder / name)


ORDERED = "id,dept,pay,bonus\n" + "".join(f"{i},a,1000,1\n" for i in range(400))
TURNED = "id,dept,bonus,pay\n" + "".join(f"{i},a,1,1000\n" for i in range(400))
PAY = "SELECT SUM(pay) AS s FROM payroll"


@pytest.mark.parametrize("asked", [True, False])
def test_columns_are_named_by_the_file_that_is_read(folder, asked):
    """A file with its columns in another order was there when the data were opened."""
    renewed(folder, text=ORDERED)
    with Curator(folder / "policy.toml") as curator:
        if asked:
            curator.ask(PAY, epsilon="0.5")
        back = aside(folder)
        (folder / "payroll.csv").write_text(TURNED[:-9])
        curator.query("payroll")
        if asked:
            with pytest.raises(ChangedDataError):
                curator.ask(PAY, epsilon="0.5")
        back()
        found = curator.ask(PAY, epsilon="1").release["s"][0]
        assert abs(found - 400_000) < 100_000  # noise: below 1e-20


def test_columns_in_another_order_are_found_again_where_the_rows_are_the_same(folder):
    """Also by a question that was asked before, at the same price."""
    renewed(folder, text=ORDERED)
    with Curator(folder / "policy.toml") as curator:
        curator.ask(PAY, epsilon="1", key="one")
        (folder / "payroll.csv").write_text(TURNED)
        Curator.register(folder / "policy.toml", same_data=["payroll"])
        found = curator.ask(PAY, epsilon="1", key="two")
        assert abs(found.release["s"][0] - 400_000) < 100_000  # noise: below 1e-20


def test_a_column_that_was_text_for_a_while_is_a_number_again(folder):
    """Types are those of the file that is read, too."""
    import duckdb

    def write(name, pay, rows):
        with duckdb.connect() as own:
            columns = f"range AS id, 'a' AS dept, {pay} AS pay, 1 AS bonus"
            to = f"TO '{folder / name}' (FORMAT parquet)"
            own.execute(f"COPY (SELECT {columns} FROM range({rows})) {to}").fetchall()

    write("payroll.parquet", "1000", 400)
    path = changed(folder, ('source = "payroll.csv"', 'source = "payroll.parquet"'))
    Curator.register(path)
    back = aside(folder, "payroll.parquet")
    write("payroll.parquet", "'1000'", 3)
    with Curator(path) as curator:
        before = curator.query("payroll").schema
        back()
        found = curator.ask(PAY, epsilon="1")
        assert abs(found.release["s"][0] - 400_000) < 100_000  # noise: below 1e-20
        assert curator.query("payroll").schema != before


def test_a_database_that_comes_back_is_read_and_not_the_one_that_was_there_meanwhile(folder):
    """DuckDB keeps its file open, whatever becomes of its name."""
    import duckdb

    for name, people in (("staff.duckdb", 400), ("other.duckdb", 9000)):
        with duckdb.connect(folder / name) as made:
            columns = "range AS id, 'a' AS dept, 1 AS pay, 1 AS bonus"
            made.execute(f"CREATE TABLE staff AS SELECT {columns} FROM range({people})")
    pairs = ('source = "payroll.csv"', 'source = "staff.duckdb"\ntable = "staff"')
    path = changed(folder, pairs)
    Curator.register(path)
    with Curator(path) as curator:
        curator.ask(TOTAL, epsilon="0.5")
        back = aside(folder, "staff.duckdb")
        (folder / "other.duckdb").rename(folder / "staff.duckdb")
        with pytest.raises(ChangedDataError):
            curator.ask(TOTAL, epsilon="0.6")
        back()
        assert curator.ask(TOTAL, epsilon="0.7").release["n"][0] < 1000  # noise: below 1e-100


def test_a_file_that_could_not_be_opened_for_a_while_is_asked_again(folder):
    with Curator(folder / "policy.toml") as curator:
        curator.ask(TOTAL, epsilon="0.1")
        back = aside(folder)
        with pytest.raises(EngineError, match="not there any more"):
            curator.ask(TOTAL, epsilon="0.2")
        (folder / "payroll.csv").write_text("")
        with pytest.raises(EngineError, match="cannot be opened"):
            curator.ask(TOTAL, epsilon="0.2")
        back()
        curator.ask(TOTAL, epsilon="0.2")


def test_a_file_that_changes_whenever_it_is_opened_is_not_asked(folder, monkeypatch):
    with Curator(folder / "policy.toml") as curator:
        asking = curator._asking(TOTAL, None, None, None)
        bind = asking._bind

        def meanwhile():
            touched(folder)
            return bind()

        asking._bind = meanwhile
        touched(folder)
        with pytest.raises(EngineError, match="are being changed; nothing was charged"):
            curator.ask(TOTAL, epsilon="0.1")
        assert spent(curator)["staff"] == "epsilon 0"


def test_a_file_that_was_another_while_it_was_read_is_not_used(folder):
    """It has come back, and its time with it."""
    faults = []
    with Curator(folder / "policy.toml", on_fault=faults.append) as curator:
        engine = curator._asking(TOTAL, None, None, None).engine
        run = engine.run

        def meanwhile(*what, **how):
            back = aside(folder)
            replaced(folder)
            found = run(*what, **how)
            back()
            return found

        engine.run = meanwhile
        found = curator.ask(TOTAL, epsilon="0.5", analyst="alice").release["n"][0]
        assert abs(found) < 200  # noise: below 1e-40
        assert [type(fault) for fault in faults] == [ChangedDataError]


def test_a_file_system_that_makes_up_numbers_is_asked_all_the_same(folder, monkeypatch):
    """Each look at a file sees another number; its size and its time are what they are."""
    numbers = count()
    now = Watched.now

    def look(watched):
        seen = now(watched)
        return seen and seen._replace(which=((0, next(numbers), 0),))

    monkeypatch.setattr(Watched, "now", look)
    with Curator(folder / "policy.toml") as curator:
        curator.ask(TOTAL, epsilon="0.1")
        assert curator.ask(TOTAL, epsilon="0.5").release["n"][0] > 200  # noise: below 1e-40
        touched(folder)
        with pytest.raises(ChangedDataError):
            curator.ask(TOTAL, epsilon="0.6")


def test_a_folder_that_is_a_value_is_part_of_the_data(folder):
    """DuckDB makes a column of year=2024, and nothing else of a file changes with that name."""
    import duckdb

    there = folder / "parts" / "dept=a"
    there.mkdir(parents=True)
    with duckdb.connect() as own:
        columns = "range AS id, 1 AS pay, 1 AS bonus"
        own.execute(f"COPY (SELECT {columns} FROM range(400)) TO '{there / 'x.parquet'}'")
    path = changed(folder, ('source = "payroll.csv"', 'source = "parts"'))
    Curator.register(path)
    with Curator(path) as curator:
        assert curator.ask(COUNT, epsilon="1").release["n"][0] > 200  # noise: below 1e-40
    there.rename(there.with_name("dept=b"))
    with Curator(path) as curator, pytest.raises(ChangedDataError):
        curator.ask(COUNT, epsilon="1.5")


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


def test_a_file_less_that_is_said_to_change_nothing_is_seen_by_all(folder):
    (folder / "part-2.csv").write_text("id,dept,pay,bonus\n")
    path = pattern(folder)
    with Curator(path) as before:
        before.ask(TOTAL, epsilon="0.1")
        (folder / "part-2.csv").unlink()
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
    asking, looked = curator._asking(TOTAL, None, None, None), []
    monkeypatch.setattr("discreet.curator.unchanged.marks_in", looked.append)
    curator.ask(TOTAL, epsilon="0.2")
    curator._insist_unchanged(asking)
    assert not looked


def test_explaining_tells_the_owner_that_asking_would_be_refused(folder):
    """It looks, and notes nothing; an analyst is told when she asks."""
    with Curator(folder / "policy.toml") as curator:
        assert "Note: asking" not in curator.explain(TOTAL)
        touched(folder)
        known = entries(curator)
        told = curator.explain(TOTAL)
        assert "Note: asking would be refused. The files of 'payroll' have changed" in told
        assert "--same-data payroll`." in told
        assert "Note: asking" not in curator.explain(TOTAL, analyst="alice")
        assert entries(curator) == known

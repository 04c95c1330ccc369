"""What is kept on disk: once for each device and epoch, through crashes, without names."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime

import pytest

import discreet as dp
from discreet.errors import LedgerError, ParameterError
from discreet.local import store as module
from discreet.local.catalogue import oracles
from discreet.local.store import Store
from discreet.local.survey import Survey

START = datetime(2026, 11, 16, tzinfo=UTC)
DEVICE = "device-of-somebody-{}"


def survey(oracle=None, epochs=3):
    oracle = oracle or dp.local.SubsetSelection(8, 1)
    return Survey(oracle, start=START, epochs=epochs, name="test")


def reports_of(oracle, n, epoch=0):
    labels = oracle.domain.labels()
    found = [oracle.report(labels[i % len(labels)]).payload for i in range(n)]
    return [(epoch, DEVICE.format(i), payload) for i, payload in enumerate(found)]


def tallied(oracle, reports):
    whole = dp.local.Collector(oracle)
    whole.add(oracle.array_of(b"".join(payload for _, _, payload in reports)))
    return whole


@pytest.fixture
def store(tmp_path):
    made, _ = Store.create(tmp_path / "s.collected", survey())
    yield made
    made.close()


@pytest.mark.parametrize("oracle", oracles(), ids=repr)
def test_the_counts_are_those_of_a_collector(oracle, tmp_path, monkeypatch):
    """Folded after every few reports or not, opened again or not."""
    monkeypatch.setattr(module, "FOLD", 7)
    store, _ = Store.create(tmp_path / "s", survey(oracle))
    reports = reports_of(oracle, 60)
    for one in range(0, 60, 4):
        assert all(store.add(reports[one : one + 4]))
    assert store.collector(0) == tallied(oracle, reports)
    store.close()
    again = Store.open(tmp_path / "s")
    assert again.collector(0) == tallied(oracle, reports)
    assert again.collector(1).n == 0
    again.fold()
    assert again.collector(0) == tallied(oracle, reports)
    again.close()


def test_a_second_report_of_a_device_is_not_counted(store):
    reports = reports_of(store.survey.oracle, 3)
    assert store.add([*reports, reports[0]]) == [True, True, True, False]
    other = (0, reports[1][1], reports_of(store.survey.oracle, 3)[2][2])
    assert store.add([other]) == [False]
    assert store.collector(0) == tallied(store.survey.oracle, reports)
    assert store.add([(1, *one[1:]) for one in reports]) == [True] * 3  # the next epoch is another
    assert store.collector(1).n == 3


def test_stores_merge(tmp_path):
    oracle = survey().oracle
    parts, reports = [], reports_of(oracle, 40)
    for place, some in enumerate((reports[:15], reports[15:])):
        made, _ = Store.create(tmp_path / str(place), survey())
        made.add(some)
        parts.append(made.collector(0))
        made.close()
    assert parts[0].merge(parts[1]) == tallied(oracle, reports)


def test_names_and_times_are_not_kept(store, tmp_path):
    """Neither in the database nor in its log; and the order of arrival is not, either."""
    store.add(reports_of(store.survey.oracle, 50))
    files = [one for one in tmp_path.iterdir() if not one.name.endswith(".key")]
    assert len(files) >= 2
    for one in files:
        assert b"device-of-somebody" not in one.read_bytes()
    with sqlite3.connect(store.path) as connection:
        for table in ("seen", "waiting"):
            names = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            assert names <= {"epoch", "device", "payload", "n"}
            with pytest.raises(sqlite3.OperationalError, match="no such column"):
                connection.execute(f"SELECT rowid FROM {table}")
    connection.close()


def test_a_device_looks_different_in_each_epoch_and_store(store, tmp_path):
    other, _ = Store.create(tmp_path / "other", survey())
    found = {one.device("somebody", epoch) for one in (store, other) for epoch in (0, 1, 2)}
    assert len(found) == 6
    assert store.device("somebody", 1) == store.device("somebody", 1)
    other.close()


def test_the_store_is_the_owners_alone(store, tmp_path):
    files = [path for path in tmp_path.iterdir() if path.suffix != ".key"]
    assert len(files) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    for path in files:
        path.chmod(0o644)  # as before they were made private
    Store.open(tmp_path / "s.collected").close()
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    (tmp_path / "s.collected.key").chmod(0o640)
    (tmp_path / "s.collected").chmod(0o640)
    Store.open(tmp_path / "s.collected").close()
    assert stat.S_IMODE((tmp_path / "s.collected").stat().st_mode) == 0o640


def test_the_key_is_the_owners_alone_and_needed(store, tmp_path):
    key = tmp_path / "s.collected.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    text = key.read_text()
    store.close()
    key.write_text("00" * 32)
    with pytest.raises(ParameterError, match="created with"):
        Store.open(tmp_path / "s.collected")
    key.unlink()
    with pytest.raises(ParameterError, match="without its key"):
        Store.open(tmp_path / "s.collected")
    key.write_text(text)
    Store.open(tmp_path / "s.collected").close()


def test_the_owner(tmp_path):
    store, owner = Store.create(tmp_path / "s", survey())
    assert store.owned_by(owner)
    assert not store.owned_by("")
    assert not store.owned_by(owner[:-1])
    assert owner.encode() not in (tmp_path / "s").read_bytes()
    new = store.new_owner()
    assert store.owned_by(new)
    assert not store.owned_by(owner)
    store.close()


def test_what_is_no_store_is_refused(tmp_path):
    (tmp_path / "text").write_text("nonsense " * 200)
    (tmp_path / "text.key").write_text("00" * 32)
    sqlite3.connect(tmp_path / "empty").close()
    (tmp_path / "empty.key").write_text("00" * 32)
    for name in ("text", "empty", "nowhere"):
        with pytest.raises(ParameterError, match="store"):
            Store.open(tmp_path / name)
    (tmp_path / "left.key").write_text("00" * 32)
    for name in ("text", "left"):
        with pytest.raises(ParameterError, match="there"):
            Store.create(tmp_path / name, survey())


def test_a_failing_disk_counts_nothing(store):
    store.add(reports_of(store.survey.oracle, 5))
    store._connection.execute("PRAGMA max_page_count = 1")
    many = [(1, *one[1:]) for one in reports_of(store.survey.oracle, 3000)]
    with pytest.raises(LedgerError):
        store.add(many)
    store._connection.execute("PRAGMA max_page_count = 1000000")
    assert store.collector(1).n == 0
    assert all(store.add(many))
    assert store.collector(1) == tallied(store.survey.oracle, many)


def test_an_epoch_that_does_not_exist(store):
    for epoch in (-1, 3):
        with pytest.raises(ParameterError, match="epoch"):
            store.collector(epoch)


def test_two_processes_and_threads_count_each_device_once(store):
    """Four connections add the same 300 devices at once."""
    reports = reports_of(store.survey.oracle, 300)
    others = [Store.open(store.path) for _ in range(3)]
    firsts = []

    def work(turn, one):
        for start in range(0, 300, 10):
            place = (start + 70 * turn) % 300
            firsts.extend(one.add(reports[place : place + 10]))

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate([store, *others])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(firsts), sum(firsts)) == (1200, 300)
    assert store.collector(0) == tallied(store.survey.oracle, reports)
    for one in others:
        one.close()


CHILD = """
import sys
from discreet.local import store as module
from discreet.local.store import Store
module.FOLD = 20
store = Store.open(sys.argv[1])
for line in sys.stdin:
    place, payload = line.split()
    first = store.add([(0, f"device-of-somebody-{place}", bytes.fromhex(payload))])
    print(place, int(first[0]), flush=True)
"""


@pytest.mark.slow
def test_kills_lose_nothing_and_count_nothing_twice(store):
    """A process that adds reports is killed at any moment, 6 times; the same are sent again."""
    oracle = store.survey.oracle
    reports = reports_of(oracle, 300)
    done, kills = 0, 0
    while done < len(reports):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, str(store.path)], env={**os.environ}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as child:  # fmt: skip
            feeding = threading.Thread(target=feed, args=(child.stdin, reports[done:], done))
            feeding.start()
            for line in child.stdout:
                place, _ = map(int, line.split())
                assert place == done
                done += 1
                if done % 50 == 0 and kills < 6:
                    kills += 1
                    child.send_signal(signal.SIGKILL)
                    break
            child.wait(60)
            feeding.join()
        found = store.collector(0)
        assert done <= found.n  # what was answered for is there
    assert kills == 6
    assert store.collector(0) == tallied(oracle, reports)


def feed(pipe, reports, first):
    try:
        for place, (_, _, payload) in enumerate(reports, start=first):
            pipe.write(f"{place} {payload.hex()}\n")
        pipe.close()
    except OSError:  # it was killed
        with suppress(OSError):
            pipe.close()


def test_tickets_are_opt_in_and_stay(store):
    """Also for another process that has the store open, from its next transaction on."""
    other = Store.open(store.path)
    assert not store.needs_tickets
    assert not other.needs_tickets
    store.require_tickets()
    store.require_tickets()
    assert store.needs_tickets
    other.add(reports_of(other.survey.oracle, 1))
    assert other.needs_tickets
    other.close()
    again = Store.open(store.path)
    assert again.needs_tickets
    assert again.tickets.of("some device") == store.tickets.of("some device")
    again.close()


def test_tickets_are_those_of_one_store(tmp_path, store):
    """The ticket key comes from the store's own, and is not that of its devices."""
    another, _ = Store.create(tmp_path / "t.collected", survey())
    assert another.survey == store.survey
    name = DEVICE.format(1)
    assert another.tickets.of(name) != store.tickets.of(name)
    assert store.tickets.of(name) not in store.device(name, 0).hex()
    another.close()

"""A process that stays on one core, and what it lets use all of them."""

import os
import threading
from pathlib import Path

import pytest

from discreet.engines import cores, kept
from discreet.engines.cores import everywhere, staying
from discreet.engines.own import own
from discreet.engines.running import fetched

ALL = getattr(os, "sched_getaffinity", lambda _: set())(0)
several = pytest.mark.skipif(len(ALL) < 2, reason="there is one core, or no choice among them")


def mine():
    return os.sched_getaffinity(0)


def in_thread(action):
    found = []
    thread = threading.Thread(target=lambda: found.append(action()))
    thread.start()
    thread.join()
    return found[0]


@several
def test_a_thread_and_those_it_starts_stay_on_one_core_and_leave_it_in_the_end():
    with staying(0):
        first = mine()
        assert len(first) == 1
        assert in_thread(mine) == first
    assert mine() == ALL
    with staying(1):
        assert mine() not in (first, ALL)
    with staying(len(ALL)):
        assert mine() == first
    with pytest.raises(KeyError), staying(0):
        raise KeyError
    assert mine() == ALL


@several
def test_who_has_no_number_is_on_any_core():
    """Not on that of its process: in containers all have the same. Fails once in 2^39."""
    found = set()
    for _ in range(40):
        with staying(cores.any_core()):
            found |= mine()
    assert len(found) > 1


@several
def test_rows_are_kept_on_any_core(tmp_path, monkeypatch):
    """A thread reads them beside the questions, which stay on one."""
    seen, path = [], tmp_path / "rows.csv"
    path.write_text("a\n1\n")

    def watched(*what, **how):
        connection = own(*what, **how)
        connection.create_function("seen", lambda: seen.append(mine()) or 1, [], "BIGINT")
        return connection

    monkeypatch.setattr(kept, "own", watched)
    files = kept.Files([str(path)], "csv", None)
    with staying(0):
        in_thread(lambda: files._made(f"SELECT seen() AS a FROM '{path}'", 1))
    assert seen
    assert all(one == ALL for one in seen)


@several
def test_who_stays_already_is_not_moved():
    with staying(0):
        before = mine()
        with staying(1):
            assert mine() == before
        assert mine() == before
    assert mine() == ALL


@several
def test_everywhere_is_all_cores_for_as_long_as_it_lasts():
    with staying(1):
        before = mine()
        with everywhere():
            assert mine() == ALL
            with everywhere():
                assert in_thread(mine) == ALL
            assert mine() == ALL
        assert mine() == before
        with pytest.raises(KeyError), everywhere():
            raise KeyError
        assert mine() == before


@several
def test_a_database_and_its_statements_use_all_cores(tmp_path):
    """Its threads are those that the system knows and Python does not."""

    def threads():
        return {int(one.name) for one in Path("/proc/self/task").iterdir()}

    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n")
    with staying(0):
        before = threads()
        with own([str(path)], threads=2) as connection:
            started = threads() - before
            assert started
            assert all(os.sched_getaffinity(one) == ALL for one in started)
            seen = []
            connection.create_function("seen", lambda: seen.append(mine()) or 1, [], "BIGINT")
            assert in_thread(lambda: fetched(connection, "SELECT seen()")) == [(1,)]
            assert seen
            assert all(one == ALL for one in seen)
            assert in_thread(mine) != ALL


def test_where_there_is_no_choice_nothing_is_chosen(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    with staying(0), everywhere():
        assert not cores._all


@pytest.mark.skipif(not ALL, reason="there is no choice among cores")
def test_one_core_is_no_choice(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    with staying(0):
        assert not cores._all


@pytest.mark.skipif(not ALL, reason="there is no choice among cores")
def test_a_system_that_refuses_is_left_alone(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    with staying(0), everywhere():
        assert not cores._all
    assert mine() == ALL

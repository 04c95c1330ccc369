"""Questions that go through their steps together."""

import asyncio
import threading
import time
from collections import Counter

import pytest

from discreet.curator.ledger.group import Member
from discreet.server import batches as module
from discreet.server.batches import LONG, MOST, PATIENCE, Batches


class Desk:
    """Writes what is wanted, and remembers what came together."""

    def __init__(self):
        self.together, self.fails = [], None
        self._lock = threading.Lock()

    def write(self, members):
        with self._lock:
            self.together.append([one.name for one in members])
        if self.fails is not None:
            raise self.fails
        for one in members:
            one.get(f"{one.name} written")
            one.over = True


def question(name, seen, *, work=lambda: None):
    """Wants two things written, as a question does."""
    found = []
    for part in ("charge", "answer"):
        wanted = Member(f"{part} of {name}", None)
        yield wanted
        found.append(wanted.result())
        if part == "charge":
            work()
    seen.append((name, threading.current_thread().name, found))


async def until(there):
    """Wait for something that a thread does."""
    while not there():  # noqa: ASYNC110 - it is no event of the loop
        await asyncio.sleep(0.001)


def run(many, asking, write):
    """Have questions asked in a loop; how often each was told of, and with what."""
    told, numbers = [], iter(range(1, 1000))

    async def go():
        batches, wanted = Batches(many, write), []

        def put(steps):
            wanted.append(next(numbers))
            batches.put(steps, lambda failure, number=wanted[-1]: told.append((number, failure)))

        await asking(put)
        await asyncio.wait_for(until(lambda: len(told) >= len(wanted)), 60)
        batches.end()

    asyncio.run(go())
    return told


def test_what_they_want_is_written_together():
    desk, seen = Desk(), []

    async def ask(put):
        for n in range(6):
            put(question(n, seen))

    told = run(4, ask, desk.write)
    assert sorted(told) == [(n, None) for n in range(1, 7)]
    assert sorted(name for name, _, _ in seen) == list(range(6))
    assert all(
        found == [f"charge of {n} written", f"answer of {n} written"] for n, _, found in seen
    )
    assert len({thread for _, thread, _ in seen}) == 1
    assert len(desk.together) < 12  # how many depends on when the thread came to take them
    assert Counter(x for some in desk.together for x in some) == Counter(
        f"{part} of {n}" for n in range(6) for part in ("charge", "answer")
    )


def test_who_comes_meanwhile_joins():
    desk, seen = Desk(), []
    begun, may = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert may.wait(30)

    async def ask(put):
        put(question("first", seen, work=wait))
        await until(begun.is_set)
        put(question("second", seen))
        may.set()

    run(1, ask, desk.write)
    assert desk.together == [["charge of first"], ["answer of first", "charge of second"],
                             ["answer of second"]]  # fmt: skip


@pytest.mark.parametrize("where", ["behind it", "beside it", "in the queue"])
def test_who_waits_behind_something_long_is_taken_over(where):
    """Those that have not begun their step, those that wait to be written, and those who come."""
    desk, seen = Desk(), []
    begun, may = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert may.wait(30)

    async def ask(put):
        names = ["long", "other"] if where == "behind it" else ["other", "long"]
        if where == "in the queue":
            put(question("long", seen, work=wait))
            await until(begun.is_set)
            put(question("other", seen))
        else:
            for name in names:
                put(question(name, seen, work=wait if name == "long" else lambda: None))
        await until(lambda: seen)
        assert [name for name, _, _ in seen] == ["other"]
        may.set()

    told = run(2, ask, desk.write)
    assert sorted(told) == [(1, None), (2, None)]
    (_, one, _), (_, two, _) = seen
    assert one != two


def test_where_they_take_long_each_has_a_thread():
    """They would wait for one another; so many run at once then."""
    desk, seen = Desk(), []
    meeting = threading.Barrier(4)

    def slowly():
        time.sleep(30 * LONG)

    async def ask(put):
        put(question("slow", seen, work=slowly))
        await until(lambda: seen)
        for n in range(4):
            put(question(n, seen, work=lambda: meeting.wait(30)))

    told = run(4, ask, desk.write)
    assert len(told) == 5
    assert len({thread for name, thread, _ in seen if name != "slow"}) == 4


def test_it_is_one_thread_again_where_they_do_not():
    desk, seen = Desk(), []

    async def ask(put):
        put(question("slow", seen, work=lambda: time.sleep(30 * LONG)))
        await until(lambda: seen)
        for n in range(300):
            put(question(n, seen))
            await asyncio.sleep(0)
        await until(lambda: len(seen) == 301)
        seen.clear()
        for n in range(8):
            put(question(n, seen))

    run(4, ask, desk.write)
    assert len({thread for _, thread, _ in seen}) == 1


def test_what_a_step_raises_is_told_and_no_matter_to_the_others():
    desk, seen = Desk(), []

    def broken():
        raise SystemExit

    async def ask(put):
        for n in range(3):
            put(question(n, seen, work=broken if n == 1 else lambda: None))

    told = dict(run(2, ask, desk.write))
    assert isinstance(told.pop(2), SystemExit)
    assert told == {1: None, 3: None}
    assert sorted(name for name, _, _ in seen) == [0, 2]


def test_what_cannot_be_written_is_raised_where_it_is_wanted():
    desk, seen, raised = Desk(), [], []
    desk.fails = ValueError("closed")

    def asks(n):
        try:
            yield from question(n, seen)
        except ValueError as error:
            raised.append((n, str(error)))

    async def ask(put):
        for n in range(3):
            put(asks(n))

    told = run(2, ask, desk.write)
    assert sorted(told) == [(1, None), (2, None), (3, None)]
    assert sorted(raised) == [(n, "closed") for n in range(3)]


def test_not_more_than_so_many_wait_for_one_another():
    desk, seen = Desk(), []
    begun, may = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert may.wait(30)

    async def ask(put):
        put(question("first", seen, work=wait))
        await until(begun.is_set)
        for n in range(3 * MOST):
            put(question(n, seen))
        may.set()

    told = run(1, ask, desk.write)
    assert len(told) == 3 * MOST + 1
    assert max(map(len, desk.together)) == MOST


def test_the_end_waits_for_what_was_handed_over():
    desk, seen = Desk(), []

    async def go():
        batches = Batches(3, desk.write)
        for n in range(40):
            batches.put(question(n, seen, work=lambda: time.sleep(0.001)), lambda _: None)
        batches.end()

    asyncio.run(go())
    assert len(seen) == 40


def test_many_at_random_times_are_told_once(monkeypatch):
    """Threads take over from each other all the time; a false alarm is not possible."""
    monkeypatch.setattr(module, "PATIENCE", PATIENCE / 20)
    desk, seen = Desk(), []

    async def ask(put):
        for n in range(400):
            put(question(n, seen, work=lambda n=n: time.sleep(0.0002 * (n % 9))))
            if n % 7 == 0:
                await asyncio.sleep(0.002)

    told = run(6, ask, desk.write)
    assert sorted(told) == [(n, None) for n in range(1, 401)]
    assert Counter(name for name, _, _ in seen) == Counter(range(400))
    assert Counter(x for some in desk.together for x in some) == Counter(
        f"{part} of {n}" for n in range(400) for part in ("charge", "answer")
    )


def test_beside_a_long_one_nobody_waits_for_each_time():
    """The thread that took over goes on, as long as the other is stuck, and is one again after."""
    desk, seen = Desk(), []
    begun, may = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert may.wait(30)

    async def ask(put):
        put(question("long", seen, work=wait))
        await until(begun.is_set)
        for n in range(20):
            put(question(n, seen))
            await until(lambda n=n: len(seen) > n)
        assert len({thread for _, thread, _ in seen}) == 1
        may.set()
        await until(lambda: len(seen) == 21)
        seen.clear()
        for n in range(20):
            put(question(n, seen))

    run(6, ask, desk.write)
    assert len({thread for _, thread, _ in seen}) == 1


def test_a_thread_that_cannot_be_started_loses_nothing(monkeypatch):
    """The system has no more of them: what is there is done by those that are there."""
    desk, seen, refused = Desk(), [], []
    start = threading.Thread.start

    def none(thread):
        refused.append(thread)
        raise RuntimeError("can't start new thread")

    async def ask(put):
        put(question("slow", seen, work=lambda: time.sleep(30 * LONG)))
        await until(lambda: seen)
        monkeypatch.setattr(threading.Thread, "start", none)
        for n in range(8):
            put(question(n, seen, work=lambda: time.sleep(0.002)))
        await until(lambda: len(seen) == 9)
        monkeypatch.setattr(threading.Thread, "start", start)

    told = run(4, ask, desk.write)
    assert len(told) == 9
    assert refused


def test_not_even_the_first_thread(monkeypatch):
    desk, seen = Desk(), []
    start, tries = threading.Thread.start, []

    def late(thread):
        tries.append(1)
        if len(tries) < 3:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", late)

    async def ask(put):
        put(question("first", seen))

    assert run(2, ask, desk.write) == [(1, None)]

"""Buckets and turns, with a clock of their own."""

import asyncio
import threading

import pytest

from discreet.server import limits
from discreet.server.limits import Alone, Rate, Turns
from discreet.server.problems import Problem


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def refused(rate, name):
    """The seconds to wait; None for who is let in."""
    try:
        rate.take(name)
    except Problem as problem:
        return int(problem.headers["Retry-After"])
    return None


def test_so_many_a_minute_and_each_for_itself():
    clock = Clock()
    rate = Rate(6, "tries", clock=clock)
    assert [refused(rate, "a") for _ in range(8)] == [None] * 6 + [10, 10]
    assert refused(rate, "b") is None
    clock.now = 9.9
    assert refused(rate, "a") == 1
    clock.now = 10
    assert refused(rate, "a") is None  # who comes when told is let in, and refusals cost nothing
    assert refused(rate, "a") == 10
    clock.now = 10_000
    assert [refused(rate, "a") for _ in range(7)] == [None] * 6 + [10]


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(limits, "_MOST", 3)
    rate = Rate(1, "tries", clock=Clock())
    for name in "abcd":
        rate.take(name)
    assert len(rate._buckets._left) == 3
    assert refused(rate, "d") is not None
    assert refused(rate, "a") is None  # forgotten: it starts anew


def test_threads_share_a_bucket():
    rate, granted = Rate(50, "tries", clock=Clock()), []

    def work():
        granted.extend(1 for _ in range(20) if refused(rate, "a") is None)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 50


def test_one_at_a_time_for_each_name():
    alone = Alone()
    with alone.turn("a"), alone.turn("b"):
        with pytest.raises(Problem) as problem, alone.turn("a"):
            pass
        assert problem.value.headers["Retry-After"] == "1"
    with pytest.raises(ValueError, match="x"), alone.turn("a"):
        raise ValueError("x")
    with alone.turn("a"):
        pass


def test_who_has_many_things_at_once_waits_in_line():
    begun, refusals = [], []

    async def work(turns, name, end):
        try:
            async with turns.turn(name):
                begun.append(name)
                await end.wait()
        except Problem as problem:
            refusals.append((name, problem.kind))

    async def story():
        turns, end = Turns(3, each=2, line=4, longest=30), asyncio.Event()
        tasks = [asyncio.create_task(work(turns, name, end)) for name in "aaaaaabb"]
        await asyncio.sleep(0.01)
        assert begun == ["a", "a", "b"]  # two of one name, three in all
        assert refusals == [("a", "limit")] * 2
        end.set()
        await asyncio.gather(*tasks)
        assert sorted(begun) == ["a"] * 4 + ["b"] * 2
        assert turns._lines == {}

    asyncio.run(story())


def test_who_waits_too_long_is_told():
    async def story():
        turns = Turns(1, each=2, line=8, longest=0.01)
        async with turns.turn("a"):
            with pytest.raises(Problem) as problem:
                async with turns.turn("b"):
                    pass
        assert problem.value.kind == "busy"
        with pytest.raises(ValueError, match="x"):
            async with turns.turn("b"):
                raise ValueError("x")
        async with turns.turn("b"):
            assert list(turns._lines) == ["b"]

    asyncio.run(story())


def test_who_would_have_to_wait_can_ask_first():
    async def story():
        turns = Turns(2, each=1, line=8, longest=30)
        assert not turns.is_full("a")
        async with turns.turn("a"):
            assert turns.is_full("a")
            assert not turns.is_full("b")
            async with turns.turn("b"):
                assert turns.is_full("c")
        assert not turns.is_full("a")

    asyncio.run(story())


def test_a_turn_is_taken_at_once_or_not_at_all():
    async def story():
        turns = Turns(3, each=2, line=8, longest=30)
        assert [turns.take("a") for _ in range(3)] == [True, True, False]  # two of one name
        assert [turns.take(name) for name in "bc"] == [True, False]  # three in all
        waiting = asyncio.create_task(_one_turn(turns, "c"))
        await asyncio.sleep(0)
        turns.leave("a")
        assert not turns.take("d")  # somebody waits for it
        await waiting
        assert turns.take("d")
        for name in "abd":
            turns.leave(name)
        assert turns._lines == {}
        assert turns._all._value == 3
        assert not Turns(3, each=3, line=0, longest=30).take("a")

    asyncio.run(story())


async def _one_turn(turns, name):
    async with turns.turn(name):
        pass

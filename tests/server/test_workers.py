"""Threads that do what an event loop hands to them."""

import asyncio
import threading

import pytest

from discreet.server.workers import Back, Workers


def test_all_is_done_and_the_loop_goes_on():
    async def run():
        workers, met = Workers(3), threading.Barrier(3)
        seen = []

        def work(number):
            met.wait(30)  # three at once, or never
            seen.append((number, threading.current_thread().name))

        await asyncio.gather(*(workers.run(lambda n=n: work(n)) for n in range(9)))
        workers.end()
        return seen

    seen = asyncio.run(run())
    assert sorted(number for number, _ in seen) == list(range(9))
    assert {name for _, name in seen} == {"question_0", "question_1", "question_2"}


def test_what_is_raised_is_raised_where_it_is_waited_for():
    async def run():
        workers = Workers(1)
        for _ in range(2):  # it goes on
            with pytest.raises(ZeroDivisionError):
                await workers.run(lambda: 1 / 0)
        workers.end()

    asyncio.run(run())


def test_who_does_not_wait_leaves_it_to_be_done():
    done, may = threading.Event(), threading.Event()

    async def run():
        workers = Workers(1)
        waiting = asyncio.ensure_future(workers.run(lambda: may.wait(30) and done.set()))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        may.set()
        workers.end()
        await asyncio.sleep(0)  # it is told, and nobody listens

    asyncio.run(run())
    assert done.is_set()


def test_the_end_waits_for_what_was_handed_over():
    seen, may = [], threading.Event()

    async def run():
        workers = Workers(1)
        first = asyncio.ensure_future(workers.run(lambda: may.wait(30)))
        second = asyncio.ensure_future(workers.run(lambda: seen.append(1)))
        await asyncio.sleep(0)
        may.set()
        workers.end()
        assert seen == [1]
        await asyncio.gather(first, second)

    asyncio.run(run())


def test_the_loop_is_woken_once_for_all_that_is_done_by_then(monkeypatch):
    async def run():
        loop, back, told, woken = asyncio.get_running_loop(), Back(), [], []
        wake = loop.call_soon_threadsafe
        monkeypatch.setattr(loop, "call_soon_threadsafe", lambda f: woken.append(f) or wake(f))

        def work():
            for number in range(5):
                back.tell(lambda _, n=number: told.append(n), None)

        for turn in range(1, 3):  # and again, once it has heard
            thread = threading.Thread(target=work)
            thread.start()
            thread.join(30)  # the loop hears of nothing meanwhile
            assert len(woken) == turn
            await asyncio.sleep(0)
            assert told == [0, 1, 2, 3, 4] * turn

    asyncio.run(run())


def test_none_that_is_told_keeps_it_from_the_others():
    told, seen = [], []

    def wrong(_):
        raise ValueError("x")

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda _, about: seen.append(about))
        back, failure = Back(), ZeroDivisionError()
        for over in (wrong, told.append, wrong, told.append):
            back.tell(over, failure)
        await asyncio.sleep(0)
        return failure

    failure = asyncio.run(run())
    assert told == [failure] * 2
    assert [str(about["exception"]) for about in seen] == ["x", "x"]

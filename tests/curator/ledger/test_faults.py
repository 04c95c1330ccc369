"""What the ledger survives: kills, races, full disks, clocks; and whether the checker sees faults.

The short versions run always. TORTURE=10000 sets the number of kills (a fifth of it on PostgreSQL),
and makes the other tests as long as the table of faults wants them: 200 full disks, 500 backends
that are terminated, 80,000 charges by eight processes. Torn files are in test_torn.py, lost flushes
in test_flushed.py.
"""

import contextlib
import json
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.curator.ledger.harness import (
    UNIT,
    Checker,
    Place,
    Torture,
    ViolationError,
    ask,
    claim,
    compute,
    new_ledger,
    noted,
    registration,
    replace,
)
from tests.examples import TORTURE

from discreet.curator.ledger.anchor import Anchor
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import register
from discreet.curator.ledger.steps import STEPS, on_step, reached
from discreet.curator.ledger.values import Pending
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError, LedgerError

LABELS = (*STEPS, "outside")
PAGES = range(40) if TORTURE else range(0, 12, 3)
SIZES = range(0, 40_000, 250 if TORTURE else 1_711)
"""What a database or a file may grow by: 200 full disks, 28 without TORTURE."""
TERMINATED = 39 if TORTURE else 5
"""Backends at each step: 507 in all, or 65."""


@contextlib.contextmanager
def at_steps(action):
    on_step(action)
    try:
        yield
    finally:
        on_step(None)


def refused_in_a_fork(ledger):
    """Fork while the ledger reserves: the child is refused, and the parent goes on."""
    codes, inside = [], []

    def fork(step):
        if step == "in reserve" and not codes:
            codes.append(None)
            pid = os.fork()
            if not pid:
                inside.append(True)
            else:
                codes[0] = os.waitpid(pid, 0)[1]

    with at_steps(fork):
        try:
            ledger.reserve(claim("a"))
        except BaseException as error:
            if not inside:
                raise
            os._exit(3 if isinstance(error, LedgerError) and "process" in str(error) else 4)
        if inside:
            os._exit(5)
    assert os.waitstatus_to_exitcode(codes[0]) == 3


# kills


def survive(torture, kills):
    torture.run(kills, LABELS)
    assert torture.kills >= kills, "too slow"
    assert set(torture.at) == set(LABELS)


@pytest.mark.slow
def test_kills_at_every_step_and_at_random_times(nursery, places):
    survive(Torture(nursery, places, seconds=120 + TORTURE), TORTURE or 100)


@pytest.mark.slow
def test_kills_on_postgres(nursery, postgres_places):
    survive(Torture(nursery, postgres_places, seconds=240 + TORTURE), TORTURE // 5 or 200)


def test_the_ledger_passes_all_steps_in_their_order(place):
    seen = []
    with place.new() as ledger, at_steps(seen.append):
        ask(ledger, place, claim("a"))
    assert tuple(seen) == STEPS


def test_steps_do_nothing_by_themselves():
    reached("anything")


def test_who_is_killed_after_the_charge_goes_on_under_it(nursery, place):
    """A kill at each step, then the same key: one charge, one answer, and the same noise."""
    with place.new(total=len(STEPS)):
        pass
    for number, label in enumerate(STEPS):
        name = f"k{number}"
        assert nursery.run("asks", place, names=[name], kill=label, after=0) == -9
        waiting = {}
        with place.open() as ledger:
            waiting = {p.key: p.noise for p in ledger.pending}
            got = ask(ledger, place, claim(name))
            assert ledger.accounts["staff"].spent.main == (number + 1) * UNIT
        if name in waiting:
            assert got.answer == compute(name, waiting[name])
    Checker(place).check()


@pytest.mark.parametrize("asked", [0, 2], ids=["first", "usual"])
def test_who_is_interrupted_is_charged_once_or_not_at_all(either, asked):
    """At each step, as by Ctrl-C or a client that went: the ledger goes on, and so may the key.

    What was committed stays charged, and is never given back; the same key gets one answer.
    """
    committed = STEPS.index("after the commit of reserve")
    checker, before = Checker(either), 0
    with either.new() as ledger:
        for number, label in enumerate(STEPS):
            for more in range(asked):
                ask(ledger, either, claim(f"more{number}-{more}"))

            def interrupt(step, label=label):
                if step == label:
                    raise KeyboardInterrupt

            name = f"k{number}"
            with at_steps(interrupt), pytest.raises(KeyboardInterrupt):
                ask(ledger, either, claim(name))
            checker.look(ledger)
            before += asked * UNIT
            charged = before + (number >= committed) * UNIT
            assert ledger.accounts["staff"].spent.main == charged
            noises = {p.key: p.noise for p in ledger.pending}
            got = ask(ledger, either, claim(name))
            assert ask(ledger, either, claim(name)).answer == got.answer
            if name in noises:
                assert got.answer == compute(name, noises[name])
            before += UNIT
            assert ledger.accounts["staff"].spent.main == before
            checker.look(ledger)
    checker.check()


# the tester is tested


@pytest.mark.slow
@pytest.mark.parametrize(
    ("job", "labels", "words"),
    [
        ("check_then_spend", ("never",), "charged more than it had|I1"),
        ("send_first", STEPS, "I2|I3"),
        ("refund", ("never",), "I1|I5|I6|this ledger was changed"),
        ("redraw", ("after compute", "before the commit of store"), "I3"),
    ],
)
def test_broken_ledgers_are_caught(nursery, places, job, labels, words):
    """Each within 30 rounds. A round that finds nothing is followed by another one."""
    torture = Torture(nursery, places, job=job, seconds=60)
    with pytest.raises(ViolationError, match=words):
        torture.run(10**9, labels, rounds=30)


@pytest.mark.slow
def test_a_ledger_that_checks_first_is_caught_on_postgres(nursery, postgres_places):
    """The CHECK of the database refuses what it did not look at: the worker fails."""
    torture = Torture(nursery, postgres_places, job="check_then_spend", seconds=60)
    with pytest.raises(AssertionError, match="ended with 1"):
        torture.run(10**9, ("never",), rounds=30)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE discreet_account SET spent = spent - 1 WHERE id = 1", "open: .*was changed"),
        ("UPDATE discreet_account SET spent = spent + 1 WHERE id = 1", "I6"),
        ("UPDATE discreet_entry SET key = 'other' WHERE key = 'a'", "I6"),
        ("UPDATE discreet_entry SET answer = 'other' WHERE key = 'a'", "I6"),
        ("UPDATE discreet_entry SET noise = x'00' WHERE key = 'b'", "I6: .*noise key"),
        ("DELETE FROM discreet_entry WHERE seq = (SELECT max(seq) FROM discreet_entry)", "open"),
    ],
)
def test_the_checker_sees_a_changed_table(place, change, words):
    with place.new() as ledger:
        ask(ledger, place, claim("a"))
        ledger.reserve(claim("b"))
        checker = Checker(place)
        checker.look(ledger)
        ledger._database._raw.execute(change)
    with pytest.raises(ViolationError, match=words):
        checker.check()


@pytest.mark.parametrize(
    ("file", "line", "words"),
    [
        ("sent", {"key": "a", "of": "a", "answer": "other"}, "I2"),
        ("sent", {"key": "c", "of": "c", "answer": "x"}, "I2"),
        ("sent", {"key": "b", "of": "b", "answer": "x"}, "I2"),
        ("computed", {"key": "a", "answer": "other"}, "I3"),
        ("computed", {"key": "c", "answer": "x"}, "I4"),
    ],
)
def test_the_checker_sees_what_was_sent(place, file, line, words):
    with place.new() as ledger:
        ask(ledger, place, claim("a"))
        ledger.reserve(claim("b"))
        Checker(place).look(ledger)
        with Path(getattr(place, file)).open("a") as out:
            out.write(json.dumps(line) + "\n")
        with pytest.raises(ViolationError, match=words):
            Checker(place).look(ledger)


# races


PRICES = [(203, 2 * UNIT), (40, UNIT // 3 + 1)]
if TORTURE:  # 8 processes, 10,000 charges each; and so that something is left
    PRICES = [(200, 200 * UNIT // 80_000), (40, 40 * UNIT // 80_000 - 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("total", "cost"), PRICES)
def test_eight_processes_get_exactly_what_there_is(nursery, either, tmp_path, total, cost):
    either.new(total=total).close()
    result = str(tmp_path / "result")
    more = {"cost": cost, "result": result, "limit": 60 + TORTURE}
    started = [nursery.start("until_refused", either, number=n, **more) for n in range(8)]
    assert [nursery.wait(pid) for pid in started] == [0] * 8
    granted = sum(line["granted"] for line in noted(result))
    assert granted == total * UNIT // cost
    with either.open() as ledger:
        assert ledger.accounts["staff"].spent.main == granted * cost
        verified(ledger)


@pytest.mark.slow
def test_backends_that_are_terminated(postgres_places):
    """At every step, in and between transactions: an error at most, and then it goes on."""
    import psycopg

    place = postgres_places()
    checker = Checker(place)
    errors = Counter()
    with place.new(total=1000) as ledger, psycopg.connect(place.address, autocommit=True) as owner:
        kill = (
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
        for number in range(TERMINATED * len(STEPS)):
            label, name = STEPS[number % len(STEPS)], f"k{number}"
            todo = [label]

            def action(step, todo=todo):
                if [step] == todo:
                    todo.clear()
                    assert owner.execute(kill).fetchone()[0] == 1

            with at_steps(action):
                try:
                    ask(ledger, place, claim(name))
                except LedgerError:
                    errors[label] += 1
            ask(_awake(ledger), place, claim(name))
            checker.look(ledger)
        assert ledger.accounts["staff"].spent.main == TERMINATED * len(STEPS) * UNIT
    assert errors["in reserve"] == errors["before the commit of store"] == TERMINATED


def _awake(ledger):
    """After a connection was lost, the next use says so and the one after makes a new one."""
    with contextlib.suppress(LedgerError):
        _ = ledger.head
    return ledger


def test_a_reader_does_not_wait_for_a_writer(place):
    with place.new() as writer, place.open() as reader:
        ask(writer, place, claim("a"))
        with writer.writing() as on:
            on.append("seal", {"id": 1})
            begun = time.monotonic()
            assert reader.answer("a") is not None
            assert reader.accounts["staff"].spent.main == UNIT
            assert time.monotonic() - begun < 5
            on.entries.clear()  # nothing is committed


def test_two_curators_with_different_policies(place):
    """Who still has the old policy is told to read it again; nothing is charged."""
    with place.new() as old, place.open() as new:
        register(new, registration(fingerprint="policy-2"))
        with pytest.raises(LedgerError, match="another version of the policy"):
            old.reserve(claim("a"))
        assert old.accounts["staff"].spent.main == 0
        ask(new, place, claim("a", policy="policy-2"))
        with pytest.raises(LedgerError, match="another version of the policy"):
            old.reserve(claim("b"))


def test_clocks_decide_nothing(tmp_path):
    """Jumps of a day: the same grants, the same log but for the times and what is random."""
    logs = []
    for jumps in ([0], [0, 1, -2, 30, -400]):
        days = iter(jumps * 100)
        clock = lambda days=days: datetime(2026, 5, 5, tzinfo=UTC) + timedelta(days=next(days))
        place = Place.at(Path(tempfile.mkdtemp(dir=tmp_path)))
        with new_ledger(place.address, head=place.head, total=5, clock=clock) as ledger:
            granted = []
            for number in range(8):
                with contextlib.suppress(BudgetExceededError):
                    ask(ledger, place, claim(f"k{number}"))
                    granted.append(number)
            bodies = [(e.kind, e.values()) for e in ledger.entries()]
        for _, body in bodies:
            for hidden in ("at", "uid", "answer", "salt", "noise"):
                body.pop(hidden, None)
        logs.append((granted, bodies))
        Checker(place).check()
    assert logs[0] == logs[1]
    assert logs[0][0] == [0, 1, 2, 3, 4]


# disks


@pytest.mark.slow
@pytest.mark.parametrize("pages", PAGES)
def test_a_full_database(nursery, place, tmp_path, pages):
    """Refused, nothing sent, and everything is fine when there is room again."""
    place.new().close()
    result = str(tmp_path / "result")
    assert nursery.run("full_pages", place, pages=pages, result=result) == 0
    _fine_after(place, noted(result)[0]["refused"])


@pytest.mark.slow
@pytest.mark.parametrize("more", SIZES)
def test_a_full_disk(nursery, place, tmp_path, more):
    """No file may grow over a limit, at many limits."""
    place.new().close()
    result = str(tmp_path / "result")
    size = max(Path(place.address).stat().st_size, 20_000) + more
    assert nursery.run("full_files", place, size=size, result=result) == 0
    _fine_after(place, noted(result)[0]["refused"])


def _fine_after(place, refused):
    assert refused is not None, "it was never full"
    assert refused not in {line["key"] for line in noted(place.sent)}
    Checker(place).check()
    with place.open() as ledger:
        ask(ledger, place, claim(refused, digest_of=refused))
    Checker(place).check()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not write")
@pytest.mark.parametrize("writable", ["nothing", "head"])
def test_a_folder_that_cannot_be_written(nursery, writable):
    """Refused before anything is computed, by a message that says why."""
    folder = Path(tempfile.mkdtemp())
    try:
        place = Place.at(folder)
        place.new().close()
        result = folder / "result"
        result.touch()
        result.chmod(0o666)
        for name in (place.address, place.head):
            Path(name).chmod(0o444)
        if writable == "head":
            Path(place.head).chmod(0o666)
        folder.chmod(0o555)
        assert nursery.run("as_nobody", place, result=str(result)) == 0
        assert "cannot be written" in result.read_text() or "could not be" in result.read_text()
        folder.chmod(0o755)
        Checker(place).check()
        with place.open() as ledger:
            assert ledger.accounts["staff"].spent.main == 0
    finally:
        shutil.rmtree(folder)


# threads and forks


def test_threads_of_one_ledger_and_of_two(place):
    """Eight threads, four on each of two objects, never get more than there is."""
    with place.new(total=30) as one, place.open() as two:
        granted, errors = [], []

        def work(number):
            ledger = one if number % 2 else two
            for turn in range(10):
                try:
                    ask(ledger, place, claim(f"{number}-{turn}"))
                    granted.append(turn)
                except BudgetExceededError:
                    pass
                except Exception as error:  # noqa: BLE001 - told below
                    errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert not errors
        assert len(granted) == 30
        Checker(place).look(one)


def test_who_waited_sees_what_was_committed_meanwhile(either, tmp_path):
    """Without a head file in common: the look comes after the lock, and finds the same key."""
    other = replace(either, head=str(tmp_path / "elsewhere"))
    with either.new() as one:
        shutil.copyfile(either.head, other.head)
        with other.open() as two:
            got = []
            waiting = threading.Thread(target=lambda: got.append(two.reserve(claim("same"))))

            def start(step):
                if step == "before the commit of reserve" and not waiting.ident:
                    waiting.start()
                    waiting.join(timeout=0.5)  # it has asked for the lock by then
                    assert not got

            with at_steps(start):
                first = one.reserve(claim("same"))
                waiting.join(timeout=60)
            assert got == [replace(first, resumed=True)]
            Checker(either).look(one)


def test_writers_that_do_not_share_a_head_file(either, tmp_path):
    """The head file's lock is not the only one: the database lets one write, and the other wait."""
    place, other = either, replace(either, head=str(tmp_path / "elsewhere"))
    with place.new(total=40) as one:
        shutil.copyfile(place.head, other.head)
        with other.open() as two:
            errors = []

            def work(ledger, name):
                try:
                    for number in range(20):
                        ask(ledger, place, claim(f"{name}{number}"))
                except LedgerError as error:
                    errors.append(error)

            threads = [
                threading.Thread(target=work, args=pair) for pair in ((one, "a"), (two, "b"))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(timeout=120)
            assert not errors
            assert one.accounts["staff"].left.main == 0
            Checker(place).look(one)


def test_threads_racing_for_one_key(place):
    with place.new() as ledger:
        answers = []
        work = lambda: answers.append(ask(ledger, place, claim("same")).answer)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert len(answers) == 8
        assert len(set(answers)) == 1
        assert ledger.accounts["staff"].spent.main == UNIT
        Checker(place).look(ledger)


def _child(work):
    """Run in a forked child; its exit code is 0 if it returned."""
    pid = os.fork()
    if not pid:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the child ends here
            os._exit(1)
        os._exit(0)
    return pid


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_ledger_of_its_own(either):
    """Parent and children go on; the parent may close while the children write."""
    parent = either.new()
    ask(parent, either, claim("before"))
    read, write = os.pipe()

    def work(name):
        ask(parent, either, claim(f"{name}-1"))
        os.read(read, 1)  # until the parent has closed
        ask(parent, either, claim(f"{name}-2"))

    children = [_child(lambda name=name: work(name)) for name in ("x", "y")]
    ask(parent, either, claim("parent"))
    deadline = time.monotonic() + 60
    while len(noted(either.sent)) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    parent.close()
    os.write(write, b"..")
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0]
    os.close(read)
    os.close(write)
    with either.open() as ledger:
        assert ledger.accounts["staff"].spent.main == 6 * UNIT
    Checker(either).check()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("where", ["closes", "opens"])
def test_a_forked_child_that_is_interrupted_has_no_lock_of_its_parents(place, monkeypatch, where):
    """While it exchanges the head file: it does so again, or is closed."""
    with place.new() as parent:
        ask(parent, place, claim("before"))
        inherited = parent._anchor

        def work():
            def interrupted(*_):
                raise KeyboardInterrupt

            with monkeypatch.context() as patched:
                if where == "closes":
                    patched.setattr(Anchor, "close", interrupted)
                else:
                    patched.setattr(Anchor, "__init__", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    parent.reserve(claim("a"))
            if where == "closes":
                assert isinstance(parent.reserve(claim("b")), Pending)
                assert parent._anchor is not inherited
            else:
                with pytest.raises(LedgerError, match="closed"):
                    parent.reserve(claim("b"))

        assert os.waitpid(_child(work), 0)[1] == 0
        ask(parent, place, claim("c"))
        Checker(place).look(parent)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_transaction_does_not_go_through_a_fork(place):
    """Forked in the middle of a transaction, the child can not commit it; the parent can."""
    with place.new() as ledger:
        refused_in_a_fork(ledger)
        ask(ledger, place, claim("b"))
        assert ledger.accounts["staff"].spent.main == 2 * UNIT
    Checker(place).check()


def test_a_ledger_is_not_used_inside_its_own_transaction(ledger):
    with pytest.raises(LedgerError, match="middle of a transaction"), ledger.writing():
        _ = ledger.accounts
    assert Ledger(ledger.address).head == ledger.head

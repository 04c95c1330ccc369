"""Writers of one process that are written together: each as if it had been alone."""

import contextlib
import os
import signal
import sqlite3
import threading
import time
from collections import Counter

import pytest
from tests.curator.ledger.harness import (
    UNIT,
    Checker,
    Place,
    Torture,
    ask,
    claim,
    compute,
    new_ledger,
    noted,
    replace,
)
from tests.curator.ledger.test_faults import at_steps
from tests.examples import TORTURE

from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.group import Group, Member
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.statements import HEAD
from discreet.curator.ledger.steps import STEPS
from discreet.curator.ledger.values import Charge, Done, Pending
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError, DiscreetError, LedgerError

LABELS = (*STEPS, "outside")


@pytest.fixture(params=["new", "known"])
def accounts(request, monkeypatch):
    """Whether a new ledger has charged all of its accounts before: then those who wait are written
    in one go each, in a file.
    """
    if request.param == "known":
        new = Place.new

        def knowing(place, **options):
            ledger = new(place, **options)
            ledger._numbers.update((one.name, one.id) for one in ledger.accounts.values())
            return ledger

        monkeypatch.setattr(Place, "new", knowing)


@pytest.fixture
def either(either, accounts):
    return either


class Gathering:
    """Runs a first piece of work up to its commit, until all others wait; they are then a group."""

    def __init__(self, *, during=None, at="before the commit"):
        self.steps, self.outcomes = [], {}
        self._during, self._at = during, at
        self._queued, self._open = threading.Semaphore(0), True
        self._first = threading.Event()
        self._wanted = 0

    def __call__(self, step):
        self.steps.append(step)
        if step.endswith("is queued"):
            self._queued.release()
        if step.startswith(self._at):
            if self._open:
                self._open = False
                self._first.set()
                for _ in range(1 + self._wanted):
                    assert self._queued.acquire(timeout=30)
            elif self._during is not None:
                self._during(step)

    def run(self, first, *others):
        """The outcomes, by place: what came back, or what was raised."""
        self._wanted = len(others)

        def work(number, what):
            try:
                self.outcomes[number] = what()
            except (DiscreetError, KeyboardInterrupt) as error:
                self.outcomes[number] = error

        threads = [threading.Thread(target=work, args=(0, first))]
        with at_steps(self):
            threads[0].start()
            assert self._first.wait(timeout=30)
            for number, what in enumerate(others, 1):
                threads.append(threading.Thread(target=work, args=(number, what)))
                threads[-1].start()
                late = time.monotonic() + 30
                while sum(step.endswith("is queued") for step in self.steps) <= number:
                    time.sleep(0.001)  # so that they wait in this order
                    assert time.monotonic() < late, "a writer is not queued"
            for thread in threads:
                thread.join(timeout=60)
        assert len(self.outcomes) == len(threads), "a writer hangs"
        return [self.outcomes[n] for n in range(len(threads))]


def do(group, name, act, write=None):
    """Have one thing written; what it returns."""
    member = Member(name, act, write)
    group.write((member,))
    return member.result()


def reserving(ledger, *names, **more):
    return [lambda name=name: ledger.reserve(claim(name, **more)) for name in names]


def test_who_waits_at_the_same_moment_is_written_by_one_commit(either):
    """Seven behind one: two flushes, eight entries, in the order of the queue."""
    with either.new() as ledger:
        seq = ledger.head.seq
        gathering = Gathering()
        got = gathering.run(*reserving(ledger, *"abcdefgh"))
        commits = [step for step in gathering.steps if step.startswith("after the commit")]
        assert commits == ["after the commit of reserve"] * 2
        assert [(p.key, p.seq) for p in got] == [(k, seq + 1 + n) for n, k in enumerate("abcdefgh")]
        assert [e.values()["key"] for e in ledger.entries(seq)] == list("abcdefgh")
        assert len({pending.noise for pending in got}) == 8
        assert ledger.accounts["staff"].spent.main == 8 * UNIT
        verified(ledger)


def test_in_a_file_a_usual_group_is_written_in_one_go_each(place, monkeypatch):
    """By one statement for each, in one transaction; and what is unusual takes all of it back."""
    decided = []
    decide = Member.decide
    monkeypatch.setattr(Member, "decide", lambda one, on: (decided.append(one), decide(one, on)))
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        decided.clear()
        Gathering().run(*reserving(ledger, *"abcd"))
        assert not decided or not ledger._database.is_file
        Gathering().run(*(lambda key=key: ledger.store(key, "answer") for key in "abcd"))
        assert not decided or not ledger._database.is_file
        there = ledger._anchor
        assert there.head == ledger.head
        assert all(there.spent(one.id) == one.spent for one in ledger.accounts.values())
        Checker(place).look(ledger)
        decided.clear()
        got = Gathering().run(*reserving(ledger, "e", "f", "a", "g"))
        assert [type(one) for one in got] == [Pending, Pending, Done, Pending]
        assert len(decided) == 3
        assert ledger.accounts["staff"].spent.main == 8 * UNIT
        verified(ledger)


def test_who_is_refused_in_a_group_and_written_alone_is_not_refused(place):
    """What came of a transaction that was taken back is nothing."""
    tries = []

    def at_first(on):
        on.look(HEAD)
        tries.append(1)
        if len(tries) > 1:
            raise LedgerError("not again")
        on.pay([Charge("staff", Amount(UNIT))])

    def late(on):
        on.pay([Charge("staff", Amount(0))])
        raise LedgerError("changed my mind")

    with place.new(total=3) as ledger:
        ask(ledger, place, claim("first"))
        taking, changing = (
            lambda act=act: do(ledger._group, "reserve", act) for act in (at_first, late)
        )
        a, c = reserving(ledger, *"ac")
        got = Gathering().run(a, taking, c, changing)
        assert [type(one) for one in got] == [Pending, LedgerError, Pending, LedgerError]
        assert ledger.accounts["staff"].spent.main == 3 * UNIT
        verified(ledger)


def test_who_comes_alone_does_not_wait(ledger):
    """One commit each, and nobody is asked for."""
    seen = []
    with at_steps(seen.append):
        for name in "abc":
            ledger.reserve(claim(name))
    assert sum(step.startswith("after the commit") for step in seen) == 3


def test_nobody_has_an_answer_before_the_flush(either):
    """While the commit of a group has not returned, none of it has."""
    with either.new() as ledger:
        early = []
        gathering = Gathering(during=lambda _: (time.sleep(0.1), early.append(len(there()))))
        there = lambda: [n for n in gathering.outcomes if n]
        got = gathering.run(*reserving(ledger, *"abcd"))
        assert early == [0]
        assert all(isinstance(one, Pending) for one in got)


def test_charges_and_answers_go_together(either):
    """Answers, charges, a key that is asked again, and one that was never charged, at once."""
    with either.new() as ledger:
        noise = {name: ledger.reserve(claim(name)).noise for name in "ab"}
        gathering = Gathering()
        got = gathering.run(
            *reserving(ledger, "c"),
            lambda: ledger.store("a", "answer a"),
            *reserving(ledger, "a", "b"),
            lambda: ledger.store("b", "answer b"),
            lambda: ledger.store("never", "answer"),
            *reserving(ledger, "d"),
            lambda: ledger.store("b", "another"),
        )
        assert sum(step.startswith("after the commit of") for step in gathering.steps) == 3
        assert [type(one) for one in got] == [
            Pending, Done, Done, Pending, Done, LedgerError, Pending, Done,
        ]  # fmt: skip
        assert got[2].answer == got[1].answer == "answer a"
        assert got[3].resumed
        assert got[3].noise == noise["b"]
        assert got[7].answer == "answer b"
        assert ledger.accounts["staff"].spent.main == 4 * UNIT
        verified(ledger)


@pytest.mark.parametrize("refused", [1, 2, 3])
def test_a_refusal_is_no_matter_to_the_others(either, refused):
    """Too expensive, in any place of a group: the others are charged, and it is not."""
    with either.new(total=10) as ledger:
        costs = [UNIT, 2 * UNIT, 3 * UNIT, UNIT]
        costs[refused] = 11 * UNIT
        works = [
            lambda n=n, cost=cost: ledger.reserve(claim(f"k{n}", cost=cost))
            for n, cost in enumerate(costs)
        ]
        got = Gathering().run(*works)
        assert [type(one) for one in got] == [
            BudgetExceededError if n == refused else Pending for n in range(4)
        ]
        paid = sum(costs) - costs[refused]
        assert ledger.accounts["staff"].spent.main == paid
        assert [e.values()["key"] for e in ledger.entries() if e.kind == "reserve"] == [
            f"k{n}" for n in range(4) if n != refused
        ]
        assert f"{10 - sum(costs[:refused]) // UNIT} is left" in str(got[refused])
        verified(ledger)


def test_a_group_is_charged_in_the_order_of_its_queue(either):
    """Together they ask for more than there is: the first ones get it, and not one unit more."""
    with either.new(total=5) as ledger:
        got = Gathering().run(*reserving(ledger, *"abcdefgh"))
        assert [isinstance(one, Pending) for one in got] == [True] * 5 + [False] * 3
        assert ledger.accounts["staff"].left.main == 0
        verified(ledger)


def test_one_key_asked_by_a_whole_group_is_charged_once(either):
    with either.new() as ledger:
        got = Gathering().run(*reserving(ledger, *["same"] * 6))
        assert len({one.noise for one in got}) == 1
        assert [one.resumed for one in got] == [False] + [True] * 5
        assert ledger.accounts["staff"].spent.main == UNIT
        verified(ledger)


def test_what_the_database_cannot_hold_is_no_matter_to_the_others(either):
    """A failure before the commit: each is written alone, and one of them fails."""
    with either.new() as ledger:
        gathering = Gathering()
        wrong = replace(claim("c"), key="lone \ud800")
        a, b, d = reserving(ledger, "a", "b", "d")
        got = gathering.run(a, b, lambda: ledger.reserve(wrong), d)
        assert [type(one) for one in got] == [Pending, Pending, LedgerError, Pending]
        assert "could not be written" in str(got[2])
        assert ledger.accounts["staff"].spent.main == 3 * UNIT
        verified(ledger)


def test_who_is_first_charged_beside_what_cannot_be_held_is_charged(either):
    """The process has never charged that account: it is told of a charge only if there is one."""
    with either.new() as ledger:
        ask(ledger, either, claim("first"))
        wrong = replace(claim("c"), key="lone \ud800")
        (a,), (b,) = reserving(ledger, "a"), reserving(ledger, "b", analyst="bob")
        got = Gathering().run(a, b, lambda: ledger.reserve(wrong))
        assert [type(one) for one in got] == [Pending, Pending, LedgerError]
        assert [e.values()["key"] for e in ledger.entries(got[0].seq - 1)] == ["a", "b"]
        assert ledger.accounts["staff"].spent.main == 3 * UNIT
        verified(ledger)


def test_a_refusal_that_comes_too_late_takes_back_what_it_changed(either):
    """It changed something and then refused: nothing of it stays, and the others are written."""

    def late(on):
        on.look(HEAD)
        on.pay([Charge("staff", Amount(7 * UNIT))])
        raise LedgerError("changed my mind")

    with either.new() as ledger:
        a, b, c = reserving(ledger, *"abc")
        got = Gathering().run(a, b, lambda: do(ledger._group, "reserve", late), c)
        assert [type(one) for one in got] == [Pending, Pending, LedgerError, Pending]
        assert str(got[2]) == "changed my mind"
        assert ledger.accounts["staff"].spent.main == 3 * UNIT
        verified(ledger)


def test_a_commit_that_fails_fails_all_and_charges_nothing_twice(either):
    """Also who was refused, and who was only given another's answer; the same keys go on."""
    with either.new(total=5) as ledger:
        ledger.reserve(claim("old"))

        def broken(_step):
            raise sqlite3.OperationalError("disk I/O error")

        got = Gathering(during=broken).run(
            *reserving(ledger, "a", "b", "c"),
            lambda: ledger.store("old", "answer"),
            *reserving(ledger, "old"),
            *reserving(ledger, "d", cost=9 * UNIT),
        )
        assert isinstance(got[0], Pending)
        assert [type(one) for one in got[1:]] == [LedgerError] * 5
        assert all("could not be written (disk I/O error); nothing was sent" in str(one)
                   for one in got[1:])  # fmt: skip
        assert len({id(one) for one in got[1:]}) == 5
        assert ledger.accounts["staff"].spent.main == 2 * UNIT
        again = [ask(ledger, either, claim(name)).key for name in ("old", "a", "b", "c")]
        assert again == ["old", "a", "b", "c"]
        assert ledger.accounts["staff"].spent.main == 4 * UNIT
        Checker(either).look(ledger)


def test_a_failure_after_the_commit_keeps_the_charges(either):
    """The head file could not be written: all are told, the charges stand, and the keys go on."""
    with either.new() as ledger:
        write, writes = ledger._anchor._write, []

        def failing(*given):
            writes.append(given)
            if len(writes) == 2:
                raise LedgerError("the head file cannot be written; the charge stands")
            write(*given)

        ledger._anchor._write = failing
        got = Gathering().run(*reserving(ledger, *"abc"))
        assert [type(one) for one in got] == [Pending, LedgerError, LedgerError]
        assert "the charge stands" in str(got[2])
        assert ledger.accounts["staff"].spent.main == 3 * UNIT
        for name in "abc":
            ask(ledger, either, claim(name))
        assert ledger.accounts["staff"].spent.main == 3 * UNIT
        Checker(either).look(ledger)


def test_balances_are_not_remembered_where_nothing_was_committed(either):
    """After a failed charge the whole budget is still there; after another's, only the rest."""
    with either.new(total=3) as ledger, either.open() as other:
        ledger.reserve(claim("a"))

        def broken(step):
            if step == "before the commit of reserve":
                raise sqlite3.OperationalError("disk I/O error")

        with at_steps(broken):
            for name in "bcdef":
                with pytest.raises(LedgerError, match="disk I/O error"):
                    ledger.reserve(claim(name))
        ledger.reserve(claim("b"))
        other.reserve(claim("c"))
        for one in (ledger, other):
            with pytest.raises(BudgetExceededError, match="epsilon 0 is left"):
                one.reserve(claim("d"))
        assert ledger.accounts["staff"].left.main == 0
        verified(ledger)


def test_an_interrupted_leader_leaves_nobody_behind(either):
    """The others fail, and say so; whoever comes next leads."""
    with either.new() as ledger:
        turns = []

        def interrupt(_step):
            if not turns:
                turns.append(1)
                raise KeyboardInterrupt

        got = Gathering(during=interrupt).run(*reserving(ledger, *"abc"))
        assert isinstance(got[0], Pending)
        assert sorted(type(one).__name__ for one in got[1:]) == ["KeyboardInterrupt", "LedgerError"]
        assert ledger.accounts["staff"].spent.main == UNIT
        for name in "abcd":
            ask(ledger, either, claim(name))
        Checker(either).look(ledger)


def results(members):
    """What each of them got, or what it raises."""
    found = []
    for one in members:
        try:
            found.append(one.result())
        except DiscreetError as error:
            found.append(error)
    return found


def test_what_one_thread_has_is_written_by_one_commit(either):
    """Charges and answers of several questions; who is refused is so alone, and for its reason."""
    with either.new() as ledger:
        wait = ask(ledger, either, claim("before"))
        ledger.reserve(claim("waits"))
        seq, steps = ledger.head.seq, []
        members = [
            ledger.reserving(claim("a")), ledger.storing("waits", "answer"),
            ledger.reserving(claim("b", policy="another")), ledger.reserving(claim("before")),
            ledger.reserving(claim("c")), ledger.storing("never", "answer"),
        ]  # fmt: skip
        with at_steps(steps.append):
            ledger.write(members)
        a, waits, b, before, c, never = results(members)
        assert sum(step.startswith("after the commit") for step in steps) == 2  # one of each name
        assert (a.seq, c.seq, waits.answer) == (seq + 1, seq + 3, "answer")
        assert isinstance(b, LedgerError)
        assert "another version of the policy" in str(b)
        assert "never charged" in str(never)
        assert before == wait
        assert ledger.accounts["staff"].spent.main == 4 * UNIT
        got = [ledger.storing(one.key, "answer") for one in (a, c)]
        ledger.write(got)
        assert [one.key for one in results(got)] == ["a", "c"]
        Checker(either).look(ledger)


def test_several_of_several_threads_are_written_whoever_leads(either):
    """Each thread has its own results, and they are those of the order of the queue."""
    with either.new() as ledger:
        seq = ledger.head.seq

        def several(names):
            members = [ledger.reserving(claim(name, cost=1)) for name in names]
            ledger.write(members)
            return [one.seq for one in results(members)]

        gathering = Gathering()
        a, b, c = gathering.run(
            lambda: several("a"), lambda: several("bcd"), lambda: several("ef")
        )  # fmt: skip
        assert [*a, *b, *c] == [seq + n for n in range(1, 7)]
        assert ledger.accounts["staff"].spent.main == 6
        many, got = 40, {}

        def work(number):
            got[number] = [several([f"{number}-{n}-{k}" for k in range(3)]) for n in range(many)]

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(timeout=120)
        found = [seq for each in got.values() for some in each for seq in some]
        assert sorted(found) == [seq + 7 + n for n in range(4 * many * 3)]
        verified(ledger)


@pytest.mark.parametrize("label", ["is queued", "in reserve", "before the commit of reserve"])
def test_who_is_interrupted_with_several_leaves_none_behind(either, label):
    """Whatever was not committed is as if it had not been asked; the next one leads."""
    with either.new() as ledger:
        ask(ledger, either, claim("before"))

        def interrupt(step):
            if label in step:
                raise KeyboardInterrupt

        members = [ledger.reserving(claim(name)) for name in "abc"]
        with at_steps(interrupt), pytest.raises(KeyboardInterrupt):
            ledger.write(members)
        assert (ledger._group._led, ledger._group._waiting) == (0, [])
        assert ledger.accounts["staff"].spent.main == UNIT
        for name in "abc":
            ask(ledger, either, claim(name))
        Checker(either).look(ledger)


def test_a_leader_interrupted_while_it_writes_apart_hands_out_nothing_that_was_taken_back(either):
    """One of a group spoils the transaction; the leader is interrupted before the rest is written.

    What the others got before the transaction was taken back is not theirs.
    """

    class Spoiled(Exception):
        pass

    def spoil(on):
        if not spoiled:
            spoiled.append(on)
            raise Spoiled
        raise KeyboardInterrupt

    spoiled = []
    with either.new() as ledger:
        noise = ledger.reserve(claim("old")).noise
        a, b = reserving(ledger, "a", "b")
        got = Gathering().run(
            a, lambda: do(ledger._group, "reserve", spoil), b, lambda: ledger.store("old", "answer")
        )
        assert [type(one) for one in got] == [
            Pending, KeyboardInterrupt, LedgerError, LedgerError,
        ]  # fmt: skip
        assert [(p.key, p.noise) for p in ledger.pending] == [("old", noise), ("a", got[0].noise)]
        assert ledger.accounts["staff"].spent.main == 2 * UNIT
        for name in ("old", "a", "b"):
            ask(ledger, either, claim(name))
        Checker(either).look(ledger)


class Interrupting:
    """A lock whose waiting is interrupted."""

    def acquire(self):
        raise KeyboardInterrupt

    def release(self):
        pass


@pytest.mark.parametrize("state", ["_WAITS", "_LEADS", "_TAKEN"])
def test_who_is_interrupted_while_waiting_is_not_waited_for(state):
    """In the queue it is taken out; if it should have led, the next one does."""
    from discreet.curator.ledger import group as module

    group = Group(lambda take: take())
    two = module.Member("two", lambda _: None)
    two.wait()

    def queued(_step):
        one = group._waiting.pop()
        one.woken, one.state = Interrupting(), getattr(module, state)
        group._waiting[:] = [two] if state == "_TAKEN" else [one, two]

    group._led = True
    with at_steps(queued), pytest.raises(KeyboardInterrupt):
        do(group, "one", lambda _: None)
    assert group._waiting == [two]
    assert group._led
    assert (two.state == module._LEADS) == (state == "_LEADS")


def test_who_is_interrupted_before_it_leads_leaves_the_lead(ledger):
    """Between the queue and the transaction: whoever comes next is not kept waiting."""

    def interrupt(_step):
        raise KeyboardInterrupt

    for _ in range(2):
        with at_steps(interrupt), pytest.raises(KeyboardInterrupt):
            do(ledger._group, "reserve", lambda _: None)
        assert not ledger._group._led
        assert not ledger._group._waiting
    ledger.reserve(claim("a"))


class Interrupted:
    """A lock that lets go, and at its nth use a signal is told then."""

    def __init__(self, lock, at):
        self._lock, self._at, self.used = lock, at, 0

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()
        self.used += 1
        if self.used == self._at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("write", [None, 0, 1])
@pytest.mark.parametrize("at", range(1, 6))
def test_an_interrupt_anywhere_keeps_nobody_waiting(write, at):
    """Wherever the queue is changed: the next one leads, be it another thread."""

    def together(take):
        for member in take():
            member.decide(Changes())

    group = Group(together, lambda _, made: made or None)
    group._mutex = Interrupted(group._mutex, at)
    with contextlib.suppress(KeyboardInterrupt):
        do(group, "one", lambda _: 1, write)
    group._mutex = group._mutex._lock
    assert (group._led, group._waiting) == (0, [])
    got = []
    other = threading.Thread(target=lambda: got.append(do(group, "two", lambda _: 2)), daemon=True)
    other.start()
    other.join(timeout=30)
    assert got == [2]


def test_an_interrupt_while_they_are_woken_wakes_them_all():
    from discreet.curator.ledger import group as module

    class Told:
        """A lock that is let go of, and a signal is told then, once."""

        held = True

        def locked(self):
            return self.held

        def release(self):
            self.held = False
            raise KeyboardInterrupt

    group = Group(lambda take: [member.decide(Changes()) for member in take()])
    group._waiting = members = [module.Member(name, lambda _: 1) for name in "abc"]
    for one in members:
        one.wait()
    members[0].woken = told = Told()
    with pytest.raises(KeyboardInterrupt):
        do(group, "d", lambda _: 1)
    assert not told.held
    assert [member.over for member in members[:3]] == [True] * 3
    assert not any(member.woken.locked() for member in members[:3])
    assert (group._led, group._waiting) == (0, [])


class Changes:
    """A transaction in which nothing is changed."""

    changes = 0


def test_a_closed_ledger_says_so_each_time(place):
    """Whoever leads there fails alone, and leaves the lead to the next."""
    ledger = place.new()
    ledger.close()
    for name in "abc":
        with pytest.raises(LedgerError, match="closed"):
            ledger.reserve(claim(name))
    assert not ledger._group._led
    assert not ledger._group._waiting


def test_a_ledger_is_not_charged_inside_its_own_transaction(ledger):
    """It would wait for itself, behind whoever leads and waits for the transaction to end."""
    for what in (lambda: ledger.reserve(claim("a")), lambda: ledger.store("a", "x")):
        leads = threading.Thread(target=ledger.reserve, args=(claim("b"),))
        with ledger.writing():
            leads.start()
            while not ledger._group._led:
                time.sleep(0.001)
            with pytest.raises(LedgerError, match="middle of a transaction"):
                what()
        leads.join(timeout=30)
    assert ledger.accounts["staff"].spent.main == UNIT


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_queue_of_its_own(place):
    """Forked while another thread leads, which the child does not have."""
    with place.new() as ledger:
        ledger._group._led = True
        pid = os.fork()
        if not pid:
            signal.alarm(20)
            try:
                ask(ledger, place, claim("child"))
            finally:
                os._exit(0 if ledger.answer("child") else 1)
        assert os.waitpid(pid, 0)[1] == 0
        ledger._group._led = False
        ask(ledger, place, claim("parent"))
        assert ledger.accounts["staff"].spent.main == 2 * UNIT
    Checker(place).check()


# races and kills


@pytest.mark.slow
@pytest.mark.parametrize("cost", [UNIT, UNIT // 3 + 1])
def test_eight_threads_get_exactly_what_there_is(either, cost):
    """Together they ask for far more: floor(total / cost) of them get it, in some groups."""
    with either.new(total=20) as ledger:
        granted, sizes = Counter(), []
        started = threading.Barrier(8)

        def work(number):
            started.wait()
            for turn in range(20):
                with contextlib.suppress(BudgetExceededError):
                    ledger.reserve(claim(f"{number}-{turn}", cost=cost))
                    granted[number] += 1

        write = ledger._group._write
        ledger._group._write = lambda take: write(lambda: (sizes.append(len(t := take())), t)[1])
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
        assert sum(granted.values()) == 20 * UNIT // cost
        assert ledger.accounts["staff"].spent.main == 20 * UNIT // cost * cost
        assert max(sizes) > 1, "nobody ever waited"
        verified(ledger)


@pytest.mark.slow
def test_kills_of_processes_that_write_in_groups(nursery, places):
    """At every step and at random times, with three threads in each of three processes."""
    torture = Torture(nursery, places, job="together", racing=3, seconds=150 + TORTURE)
    torture.run(TORTURE or 60, LABELS)
    assert torture.kills >= (TORTURE or 60), "too slow"


@pytest.mark.slow
def test_kills_of_processes_that_write_in_groups_on_postgres(nursery, postgres_places):
    torture = Torture(nursery, postgres_places, job="together", racing=2, seconds=150 + TORTURE)
    torture.run(TORTURE // 5 or 30, LABELS)
    assert torture.kills >= (TORTURE // 5 or 30), "too slow"


def test_who_is_killed_with_a_group_queued_goes_on_under_its_key(nursery, place):
    """Killed while the others of its process are queued, before and after the flush."""
    place.new(total=8 * len(STEPS)).close()
    for number, label in enumerate(STEPS):
        names = [f"q{8 * number + n}" for n in range(8)]
        code = nursery.run("together", place, names=names, kill=label, after=3)
        assert code in (0, -9)
        with place.open() as ledger:
            waiting = {p.key: p.noise for p in ledger.pending}
            for name in names:
                got = ask(ledger, place, claim(name))
                assert name not in waiting or got.answer == compute(name, waiting[name])
            assert ledger.accounts["staff"].spent.main == 8 * (number + 1) * UNIT
        Checker(place).check()
    assert len({line["key"] for line in noted(place.sent)}) == 8 * len(STEPS)


def test_two_ledgers_have_two_queues(tmp_path):
    with new_ledger(tmp_path / "x") as one, new_ledger(tmp_path / "y") as two:
        assert one._group is not two._group
        assert isinstance(one, Ledger)

"""Writers of one process that wait at the same moment, written in one transaction.

A flush takes longer than all that comes before it, and while one is under way others arrive. The
first who finds nobody writing leads: it takes all who wait by then, lets each of them do its part
in one transaction, and flushes once. Who arrives meanwhile waits, and the first of those leads
next, as soon as that flush ends. Nobody waits for company: who comes alone leads at once, alone,
and is written in one go where that is enough (`discreet.curator.ledger.at_once`), and so is each
of several in a file. One thread may have several things to write, which queue together.

Guarantee. For every member it is as if it had had a transaction of its own, in the order of the
queue: it gets its answer, or its refusal, after everything that the answer rests on is on the disk.
Proof. The parts run one after the other, under the lock that keeps all other writers out, so that
each sees what those before it wrote: balances, keys and the head of the log are those it would have
found. What is refused has changed nothing (a refusal that comes after a change takes the whole
transaction back), so that the others are as if it had not been there. Nobody is woken before the
commit has returned. If it fails, or what comes after it, all members fail, also those who were only
given what another one had written: whether it reached the disk is not known, and their keys tell
when they are used again, which charges nothing twice. If something fails before the commit, nothing
was written, and each member is written alone: what is wrong with one is no matter to the others.
Where the leader is interrupted, members that it has not written by then fail, whatever they got in
a transaction that was taken back.

Between processes the database lets one of them write; `discreet.curator.ledger.post` is for those.
Tested by tests/curator/ledger/test_group.py
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from discreet.curator.ledger.steps import passed
from discreet.curator.ledger.writing import Writing
from discreet.errors import DiscreetError, LedgerError

__all__ = ["Group", "Member", "tell_failed"]

_WAITS, _LEADS, _TAKEN = range(3)


class Member:
    """What one writer wants to do in a transaction.

    Args:
        name: of what is done, for the steps.
        act: does it, and returns what the writer gets; what it raises first is a refusal.
        write: does it in one go; None where that cannot be enough.
        learn: told what the writer got, before the writer is.
    """

    __slots__ = (
        "_act", "_error", "_got", "_learn", "name", "over", "state", "thread", "woken", "write",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        act: Callable[[Writing], Any],
        write: Any = None,
        learn: Callable[[Any], None] | None = None,
    ) -> None:
        self.name, self._act, self.write, self._learn = name, act, write, learn
        self._got: Any = None
        self._error: BaseException | None = None
        self.over = False
        self.state = _WAITS
        self.thread = 0

    def wait(self) -> None:
        """Be one of those who wait, and are woken."""
        self.thread = threading.get_ident()
        self.woken = threading.Lock()
        self.woken.acquire()

    def decide(self, on: Writing) -> None:
        """Do its part; what was refused without a change is no matter to the others."""
        changes = on.changes
        try:
            self._got, self._error = self._act(on), None
        except DiscreetError as refusal:
            if on.changes != changes:
                raise
            self._error = refusal

    def at_once(self, go: Callable[[Any], Any]) -> bool:
        """Do its part in one go; whether that was enough."""
        self.get(None if self.write is None else go(self.write))
        return self._got is not None

    def get(self, got: Any) -> None:
        """It was done, and this is what it returns; what came of an earlier try is forgotten."""
        self._got, self._error = got, None

    def fail(self, error: BaseException) -> None:
        """It is not known to be written."""
        self._error, self.over = error, True

    def result(self) -> Any:
        """What it got; or what kept it from that is raised."""
        if self._error is not None:
            raise self._error
        if self._learn is not None:
            self._learn(self._got)
        return self._got


class Group:
    """Those who wait to be written.

    Args:
        write: takes those who wait, once nobody else writes, and writes them in one transaction.
            What it raises came before the commit. Members whose commit failed it has told so.
        alone: writes what was prepared in one go, once nobody else writes; None if that did not do.
    """

    def __init__(
        self,
        write: Callable[[Callable[[], Sequence[Member]]], None],
        alone: Callable[[str, Any], Any] = lambda *_: None,
    ) -> None:
        self._write, self._alone = write, alone
        self.after_fork()
        _OPEN.add(self)

    def after_fork(self) -> None:
        """In a child nobody waits and nobody leads: those threads are the parent's."""
        self._mutex = threading.Lock()
        self._waiting: list[Member] = []
        self._led = 0  # by which thread

    def write(self, members: Sequence[Member]) -> None:
        """Have some written, together with whatever else waits; each has its result then.

        Who has one thing to write, and finds nobody writing, tries to write it alone in one go,
        before anything else.
        """
        try:
            first = members[0]
            if len(members) == 1 and first.write is not None and self._enter():
                passed(first.name, ("is queued",))
                if self._goes_alone(first):
                    self._pass_on()
                    return
                self._led_by(first)
                self._lead(first)
                return
            leads = self._queue(members)
            for one in members:
                passed(one.name, ("is queued",))
            if leads:
                self._lead(first)
            for one in members:
                if not one.over:
                    one.woken.acquire()
                    if not one.over:
                        self._lead(one)
        except BaseException:  # interrupted, wherever that was: nobody may wait for them
            self._abandon(members)
            raise

    def _goes_alone(self, member: Member) -> bool:
        """Write it in one go; whether it is over."""
        try:
            got = self._alone(member.name, member.write)
        except Exception as error:  # noqa: BLE001 - it is raised where its result is taken
            member.fail(error)
            return True
        member.get(got)
        member.over, member.write = got is not None, None  # which has been tried
        return member.over

    def _enter(self) -> bool:
        """Lead, if nobody else does; whether one does."""
        me = threading.get_ident()
        with self._mutex:
            if self._led not in (0, me):
                return False
            self._led = me
        return True

    def _led_by(self, member: Member) -> None:
        """It leads already, and is the first of those who wait."""
        member.wait()
        with self._mutex:
            member.state = _LEADS
            self._waiting.insert(0, member)

    def _queue(self, members: Sequence[Member]) -> bool:
        """Wait; or lead, if nobody else does; whether the first of them does."""
        for one in members:
            one.wait()
        with self._mutex:
            self._waiting.extend(members)
            leads = self._led in (0, members[0].thread)
            if leads:
                self._led, members[0].state = members[0].thread, _LEADS
        return leads

    def _abandon(self, members: Sequence[Member]) -> None:
        """They do not come back: out of the queue with them; and who was to lead, another does."""
        with self._mutex:
            leads = self._led == threading.get_ident()
            for one in members:
                if one in self._waiting:
                    self._waiting.remove(one)
                leads = leads or one.state == _LEADS
                one.state = _TAKEN
        if leads:
            self._pass_on()

    def _lead(self, leader: Member) -> None:
        taken: list[Member] = []

        def take() -> Sequence[Member]:
            with self._mutex:
                taken[:], self._waiting = self._waiting, []
                for member in taken:
                    member.state = _TAKEN
            return taken

        try:
            try:
                self._write(take)
            except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
                self._apart(taken or [leader], error)
        except BaseException as interrupt:  # also while they were written apart
            for member in taken:
                if not member.over:
                    member.fail(_unknown(interrupt))
            raise
        finally:
            try:
                self._leave(leader)
            finally:  # an interrupt there, or here, keeps nobody waiting
                try:
                    _wake(taken)
                except BaseException:
                    _wake(taken)
                    raise

    def _apart(self, members: Sequence[Member], error: Exception) -> None:
        """Nothing was written: each in a transaction of its own."""
        left = [member for member in members if not member.over]
        if len(left) == 1:
            left[0].fail(error)
            return
        for member in left:
            try:
                self._write(lambda member=member: [member])  # type: ignore[misc]
            except Exception as own:  # noqa: BLE001 - it is raised where it is waited for
                if not member.over:
                    member.fail(own)
            member.over = True

    def _leave(self, leader: Member) -> None:
        """Let the first of those who wait lead."""
        with self._mutex:
            if leader in self._waiting:  # it was not taken
                self._waiting.remove(leader)
            leader.state = _TAKEN  # it has led
        self._pass_on()

    def _pass_on(self) -> None:
        """Let the first of those who wait lead."""
        with self._mutex:
            self._led = self._waiting[0].thread if self._waiting else 0
            if self._waiting:
                self._waiting[0].state = _LEADS
                self._waiting[0].woken.release()


def _wake(members: Sequence[Member]) -> None:
    """It is over for all of them; to be told it twice is no harm."""
    for member in members:
        member.over = True
        if member.woken.locked():
            member.woken.release()


def tell_failed(members: Sequence[Member], error: BaseException) -> None:
    """Tell all of them that the commit failed; each has an error of its own to raise."""
    for member in members:
        member.fail(error if len(members) == 1 else _unknown(error))


def _unknown(error: BaseException) -> LedgerError:
    words = "the ledger was interrupted while it wrote; nothing was sent"
    made = LedgerError(str(error) if isinstance(error, LedgerError) else words)
    made.__cause__ = error
    return made


_OPEN: weakref.WeakSet[Group] = weakref.WeakSet()


def _after_fork() -> None:
    for group in list(_OPEN):
        group.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

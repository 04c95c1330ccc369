"""The ledger itself: open, reserve, store, look up. See the package for protocol and proof.

Tested by tests/curator/ledger/test_ledger.py
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from discreet import private
from discreet.curator.ledger import forks, unfinished
from discreet.curator.ledger import tables as t
from discreet.curator.ledger.anchor import Anchor, gone_words
from discreet.curator.ledger.at_once import (
    Answered,
    Once,
    Rising,
    Usual,
    charging,
    grouped_in,
    of_letter,
    once_in,
)
from discreet.curator.ledger.chain import START, Head
from discreet.curator.ledger.charging import answered, reserve, store
from discreet.curator.ledger.connecting import failing
from discreet.curator.ledger.database import Database
from discreet.curator.ledger.group import Group, Member, tell_failed
from discreet.curator.ledger.making import is_empty, is_postgres, make
from discreet.curator.ledger.post import Letter
from discreet.curator.ledger.reading import Reading
from discreet.curator.ledger.statements import (
    ACCOUNTS,
    HASH_AT,
    HEAD,
    LEDGER,
)
from discreet.curator.ledger.steps import passed, reached
from discreet.curator.ledger.values import Charged, Claim, Done, Pending
from discreet.curator.ledger.writing import Balance, Writing, account_of
from discreet.errors import LedgerError, ParameterError

__all__ = ["Ledger", "head_path", "insist_there"]


T = TypeVar("T")
_WRITTEN = failing("could not be written")
_SECOND, _NEVER = timedelta(seconds=1), datetime.min.replace(tzinfo=UTC)
REMEMBERED = 1024
"""So many charges are remembered until their answers come; the others are looked up."""


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger(Reading):
    """An open ledger.

    Args:
        address: the file of a SQLite database, or a "postgresql://..." address.
        head: the head file; beside a SQLite file if that is not said.
        clock: what is written down as the time.
    """

    def __init__(
        self,
        address: str | Path,
        *,
        head: str | Path | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self.address = str(address)
        self.head_path = head_path(self.address, head).absolute()
        self._clock = clock
        self._connect()
        self.anchor()

    @classmethod
    def create(
        cls,
        address: str | Path,
        *,
        head: str | Path | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> Ledger:
        """Make a new, empty ledger; refuses where there is one, or was one."""
        text = str(address)
        place = head_path(text, head)
        file = None if is_postgres(text) else Path(text)
        unfinished.clear(place, partial(is_empty, text), file)
        if file is not None and file.exists():
            raise LedgerError(f"{Path(text).name} exists; it is opened, not made anew")
        uid = uuid.uuid4().hex
        anchor = Anchor.create(place, uid)
        try:
            with anchor.locked():
                if not anchor.is_there:  # it was taken for what somebody had left
                    raise LedgerError("somebody else makes this ledger, too; nothing was changed")
                make(text, uid, clock)
        except BaseException:
            if anchor.is_there:
                place.unlink()
            anchor.close()
            raise
        anchor.close()
        return cls(text, head=place, clock=clock)

    @classmethod
    def unanchored(cls, address: str | Path, *, head: str | Path | None = None) -> Ledger:
        """A ledger without its head file, for looking at one that does not open otherwise."""
        made = cls.__new__(cls)
        made.address = str(address)
        made.head_path = head_path(made.address, head).absolute()
        made._clock = _now  # noqa: SLF001 - its own
        made._connect()  # noqa: SLF001 - its own
        return made

    def _connect(self) -> None:
        self._anchor: Anchor | None = None
        self._last = (_NEVER, _NEVER, "")
        self._group = Group(self._together, self._alone)
        self._known: tuple[Head, dict[str, Balance]] | None = None
        self._charged: dict[str, Charged] = {}
        self._numbers: dict[str, int] = {}
        self._forks = forks.count
        if not is_postgres(self.address):
            insist_there(self.address, self.head_path)
            private.keep_as(self.head_path, self.address)
        self._database = Database(self.address)
        self._once, self._grouped = once_in(self._database), grouped_in(self._database)
        try:
            t.migrate(self._database)
            with self._reading() as cursor:
                row = self._database.run(cursor, LEDGER).fetchone()
            if row is None:
                raise LedgerError("the ledger is empty: it was never finished, and holds nothing")
            self.uid = str(row[1])
        except BaseException:
            self._database.close()
            raise

    def anchor(self) -> None:
        """Open the head file; the log must contain what it names, and the accounts agree."""
        with self._database.turn():
            self._open_anchor()

    def _open_anchor(self) -> None:
        try:
            self._anchor = anchor = Anchor(self.head_path, self.uid)
            anchor.meeting.database = self._database.file
            anchor.meeting.sweep()
            with anchor.locked(), failing("could not be read"), self._database.reading() as cursor:
                head = self._head(cursor)
                self._check(anchor, partial(self._database.run, cursor), head)
                rows = self._database.run(cursor, ACCOUNTS).fetchall()
                anchor.catch_up(head, [account_of(row) for row in rows])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the database and the head file, once no other thread uses them."""
        self._database.close()
        if self._anchor is not None:
            self._anchor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.uid[:8]} at entry {self.head.seq}>"

    # inside a transaction

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """One flushed transaction: commits at the end of the block, or takes everything back."""
        with self._database.turn():
            anchor = self._written_in()
            with anchor.locked(), _WRITTEN, self._database.writing() as c:
                on = Writing(self._database, c, self._checked)
                on.look(HEAD)
                on.payers = {}  # what an owner does to accounts is not followed
                yield on
                if on.entries:
                    self._commit(partial(anchor.advance, on.head, on.spent), (on.name,))

    def _together(self, take: Callable[[], Sequence[Member]]) -> None:
        """Write all who wait, in one transaction; see `discreet.curator.ledger.group`."""
        with self._database.turn():
            anchor = self._written_in()
            with anchor.locked(), _WRITTEN:
                members = take()
                if not self._each_at_once(members, anchor):
                    self._transaction(members, anchor)

    def _transaction(self, members: Sequence[Member], anchor: Anchor) -> None:
        with self._database.writing() as cursor:
            on = Writing(self._database, cursor, self._checked)
            for member in members:
                member.decide(on)
            if on.entries:
                self._committed(members, partial(anchor.advance, on.head, on.spent))
            self._known = on.head, on.payers
            self._numbers.update((name, one.id) for name, one in on.payers.items())

    def _each_at_once(self, members: Sequence[Member], anchor: Anchor) -> bool:
        """Write those who wait in one go each, where that is enough for all; whether it was."""
        if len(members) == 1:
            return self._at_once(members[0], anchor)
        if self._grouped is None or any(one.write is None for one in members):
            return False
        wanted = [one.write for one in members]
        commit = partial(self._committed, members)
        found = self._in_one(self._grouped, wanted, anchor, anchor.meeting.letters(), commit)
        if found is None:
            return False
        for member, got in zip(members, found, strict=True):
            member.get(got)
        return True

    def _in_one(
        self, once: Once, wanted: Sequence[Usual], anchor: Anchor, letters: Sequence[Letter],
        commit: Callable[[Callable[[], None]], None],
    ) -> list[Any] | None:  # fmt: skip
        """Write some in one transaction, in one go each, and what other processes ask for.

        What each of them gets; None if it did not do for one. A letter for which it does not do is
        left to its sender, and is no matter to the others: its statement is taken back by itself.
        Where the database fails at one, all of it is taken back, and no letter is answered.
        """
        self._database.prepare()
        rising, heads = Rising(anchor), []
        theirs = [(one, of_letter(one.asked)) for one in letters]
        with self._database.writing():
            for one in wanted:
                head = one.write(once, rising)
                if head is None:
                    self._known = None  # something is unusual: the accounts are looked at
                    return None
                heads.append(head)
            told = [(letter, _if_usual(one, once, rising)) for letter, one in theirs]
            commit(rising.write)
        for letter, head in told:
            anchor.meeting.tell(letter, head or ())
        return [one.done(head) for one, head in zip(wanted, heads, strict=True)]

    def _at_once(self, member: Member, anchor: Anchor) -> bool:
        """Write who waits alone in one go, where that is enough; whether it was."""
        try:
            return member.at_once(partial(self._whole, member.name, anchor))
        except BaseException as error:
            tell_failed([member], error)
            raise

    def _alone(self, name: str, wanted: Usual) -> Any:
        """Write in one go, or have another process do so; None if that did not do."""
        with self._database.lock:  # it is not this thread's: that was asked before
            anchor = self._written_in()
            with anchor.locked(None if self._grouped is None else wanted.letter) as told:
                if told is None:
                    return self._whole(name, anchor, wanted)
            if not told:
                return None
            passed("after the head of", (name,))
            return wanted.done(Head(*told))

    def _whole(self, name: str, anchor: Anchor, wanted: Usual) -> Any:
        """Write in one go, up to the head file; and what other processes ask for."""
        letters = anchor.meeting.letters()
        try:
            if letters and self._grouped is not None:
                commit = partial(self._commit, names=(name,))
                found = self._in_one(self._grouped, (wanted,), anchor, letters, commit)
                return None if found is None else found[0]
            head = wanted.write(self._once, anchor)
        except Exception as error:
            _WRITTEN.tell(error)
            raise
        if head is None:
            self._known = None  # something is unusual: the accounts are looked at
            return None
        passed("after the head of", (name,))
        return wanted.done(head)

    def _remember(self, analyst: str, made: Pending | Done) -> None:
        """A charge that is committed; its answer need not look for it."""
        if not isinstance(made, Pending) or made.resumed:
            return
        self._charged[made.key] = Charged(made.seq, made.hash, analyst)
        if len(self._charged) > REMEMBERED:
            with suppress(RuntimeError, StopIteration):  # another thread does the same
                self._charged.pop(next(iter(self._charged)), None)

    def _committed(self, members: Sequence[Member], reach: Callable[[], None]) -> None:
        """Commit what some have written together; all are told where that fails."""
        try:
            with _WRITTEN:
                self._commit(reach, [one.name for one in members])
        except BaseException as error:
            tell_failed(members, error)
            raise

    def _commit(self, reach: Callable[[], None], names: Iterable[str]) -> None:
        """Commit, and have the head file say what was reached."""
        passed("before the commit of", names)
        self._database.commit()
        passed("after the commit of", names)
        reach()
        passed("after the head of", names)

    def _written_in(self) -> Anchor:
        """The head file, of this process."""
        self._database.insist_open()  # it may have been closed while this waited
        if self._forks != forks.count:
            self._own()
        if self._anchor is None:
            raise LedgerError("this ledger was opened without its head file: it can be read only")
        self._database.ready()
        self._anchor.meeting.database = self._database.file
        return self._anchor

    def _checked(self, on: Writing) -> None:
        """The head file and the log agree; and what is known of accounts at this head is known."""
        anchor = self._anchor
        assert anchor is not None  # noqa: S101 - who writes has it open
        if self._check(anchor, on.run, on.head):
            # Somebody committed and died, or has another head file: this file learns of it first.
            anchor.catch_up(on.head, on.accounts())
        on.believe = anchor.believe
        known, self._known = self._known, None  # until it is committed
        if known is not None and known[0] == on.head:
            on.payers = known[1]

    def _own(self) -> None:
        """A forked child opens the head file for itself: locks go with the opening."""
        if self._forks != forks.count:
            if self._anchor is not None:
                self._anchor.close()
                self._open_anchor()
            self._forks = forks.count  # not before: who is interrupted begins anew

    def _check(self, anchor: Anchor, run: Callable[..., Any], head: Head) -> bool:
        """The log must contain what the head file says was reached; whether it has more."""
        anchored = anchor.head
        if anchored == head:
            return False
        if anchored == START:
            return True
        found = run(HASH_AT, at=anchored.seq).fetchone()
        if found is None or str(found[0]) != anchored.hash:
            if not anchor.is_there:
                raise LedgerError(
                    "this ledger was restored, or its head file replaced, since it was opened "
                    "here: open it again, which for a server is to start it again. Nothing was "
                    "charged"
                )
            how = f"this ledger ends at entry {head.seq}, and entry {anchored.seq} was reached"
            if found is not None:
                how = f"entry {anchored.seq} of this ledger is another one than was reached"
            raise LedgerError(
                f"{how} before: it was taken back to an older state, or changed. What was "
                "answered since cannot be unsaid. `discreet ledger restore` accepts it and counts "
                "all of that as spent. Nothing was charged"
            )
        return True

    # questions

    def reserve(self, claim: Claim) -> Pending | Done:
        """Charge a question and flush, or give the answer that is stored already.

        BudgetExceededError if an account has not enough left; LedgerError if the key is another
        question's, or the policy is not the ledger's. Nothing is charged then.
        """
        return self._written(self.reserving(claim))  # type: ignore[no-any-return]

    def reserving(self, claim: Claim) -> Member:
        """The same, for `write`: its result is what `reserve` gives."""
        reached("before reserve")
        write = charging(claim, self._numbers, self.now)
        act = partial(reserve, claim=claim, now=self.now)
        return Member("reserve", act, write, partial(self._remember, claim.analyst))

    def store(self, key: str, answer: str, *, failed: bool = False) -> Done:
        """Put an answer in and the noise key out; who comes second gets the stored answer.

        Args:
            key: of the asking.
            answer: what it gets.
            failed: whether the answer is that of a failure: the log says so, and nothing else
                differs.
        """
        return self._written(self.storing(key, answer, failed=failed))  # type: ignore[no-any-return]

    def storing(self, key: str, answer: str, *, failed: bool = False) -> Member:
        """The same, for `write`: its result is what `store` gives."""
        if answer.startswith("@"):
            raise ParameterError("answer", None, "must not begin with @: that is another's answer")
        with _WRITTEN:
            body = answered(key, answer, self.now(), failed=failed)
        paid = self._charged.pop(key, None)
        write = None if paid is None or failed else Answered(key, answer, body, paid)
        act = partial(store, key=key, answer=answer, body=body, failed=failed)
        return Member("store", act, write)

    def write(self, members: Sequence[Member]) -> None:
        """Have charges and answers of several questions written together, and flushed at once.

        Each has its result then, or what kept it from that, as if it had been written alone.
        """
        self._database.outside()
        self._group.write(members)

    def through(self, steps: Generator[Member, None, T]) -> T:
        """Go through steps that stop where something has to be written; what they return."""
        with closing(steps):
            try:
                while True:
                    self.write((next(steps),))
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    def _written(self, member: Member) -> Any:
        self.write((member,))
        return member.result()

    def now(self) -> str:
        """The time, for the log."""
        at, (begin, end, said) = self._clock(), self._last
        if not begin <= at < end:
            begin = at.replace(microsecond=0)
            said = begin.isoformat()
            self._last = begin, begin + _SECOND, said
        return said

    def jot(self, statement: Any, /, **values: Any) -> None:
        """Change what the log says nothing of: sessions, and when a key was used."""
        with self._database.turn(), failing("could not be written"):
            self._database.jot(statement, **values)


def _if_usual(wanted: Usual | None, once: Once, at: Rising) -> Head | None:
    """Write what another process asks for, in one go; None if that does not do."""
    try:
        return None if wanted is None else wanted.write(once, at)
    except LedgerError:  # of the head file: who asks finds it, too
        return None


def insist_there(address: str, head: Path) -> None:
    """LedgerError with the way out where the file of a ledger is not there."""
    if is_postgres(address) or Path(address).is_file():
        return
    if unfinished.was_finished(head):
        raise LedgerError(f"{gone_words(head)}. Nothing was charged")
    raise LedgerError(
        f"there is no ledger {Path(address).name}; nothing was charged. "
        "`discreet register policy.toml` makes the ledger of a policy"
    )


def head_path(address: str, head: str | Path | None) -> Path:
    """The head file of a ledger."""
    if head is not None:
        return Path(head)
    if is_postgres(address):
        problem = "must be said for a ledger in PostgreSQL: a file on this machine"
        raise ParameterError("head", None, problem)
    return Path(f"{address}.head")

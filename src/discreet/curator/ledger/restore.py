"""Going on with a ledger that is older than its head file: a backup that was put back.

What was answered after the backup cannot be unsaid. The head file says how much every account had
spent by then; all of it is charged to the old ledger, as one entry. Where the head file is missing
or damaged nobody knows, and everything that was left counts as spent, if the owner says that it
should; the owner may raise totals afterwards, which is logged. Nobody knows who was shut out,
either: see `discreet.curator.ledger.admitted`.

The charge is flushed before the head file is replaced. A crash in between leaves the old head file,
with which the ledger does not open; restoring again charges nothing twice.

A process that had the old head file open would go on writing there, where nobody looks any more. So
the old file is made to name an entry that no log has, before the new one takes its place: whoever
has it open is refused, and opens the ledger anew.
Tested by tests/curator/ledger/test_restore.py
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from discreet import private
from discreet.curator.ledger.admitted import shut
from discreet.curator.ledger.amounts import NOTHING, Amount
from discreet.curator.ledger.anchor import Anchor
from discreet.curator.ledger.chain import START, Head
from discreet.curator.ledger.ledger import Ledger, head_path, insist_there
from discreet.curator.ledger.unfinished import is_at
from discreet.curator.ledger.values import Account, Charge
from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError

with contextlib.suppress(ImportError):  # there is none on Windows, where no ledger is kept
    import fcntl

__all__ = ["restored"]


def restored(
    address: str | Path, *, head: str | Path | None = None, all_is_spent: bool = False
) -> list[str]:
    """Accept an older ledger, and count what was spent since; what was counted, in words.

    The old ledger has to be intact.

    Args:
        address: of the ledger.
        head: its head file; None for the one beside it.
        all_is_spent: whether everything that is left may count as spent, where nobody knows better;
            LedgerError otherwise, and nothing is changed.
    """
    place = head_path(str(address), head)
    insist_there(str(address), place)
    with _held(place):
        words = _accepted(address, place, all_is_spent=all_is_spent)
    private.keep_as(place, address)  # a backup may have come with other rights
    return words


def _accepted(address: str | Path, place: Path, *, all_is_spent: bool) -> list[str]:
    new = place.with_name(f"{place.name}.new")
    new.unlink(missing_ok=True)
    with contextlib.closing(Ledger.unanchored(address, head=new)) as ledger:
        verified(ledger)
        reached = _reached(place, ledger)
        if reached.why and not all_is_spent:
            _insist_nothing_is_left(ledger, reached)
        Anchor.create(new, ledger.uid).close()
        ledger.anchor()
        words = _charged(ledger, reached)
        if place.exists():
            shutil.copymode(place, new)  # who shared the ledger still does
            shutil.copy2(place, place.with_name(f"{place.name}.before-entry-{ledger.head.seq}"))
            if not reached.why:
                _end(place, ledger)
        new.replace(place)
    return words


@contextlib.contextmanager
def _held(place: Path) -> Iterator[None]:
    """Keep others from writing meanwhile, and from restoring the same."""
    try:
        opened = os.open(place, os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # it is missing, or somebody else may open it: that is told apart later
        yield
        return
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        if not is_at(opened, place):
            raise LedgerError("somebody else has just restored this ledger. Nothing was changed")
        yield
    finally:
        os.close(opened)


def _end(place: Path, ledger: Ledger) -> None:
    """Have a head file name an entry that no log has; what was spent by then it still says."""
    with contextlib.closing(Anchor(place, ledger.uid)) as old:
        old.advance(Head(max(old.head.seq, ledger.head.seq) + 1, START.hash), {})


@dataclass(frozen=True, slots=True)
class _Reached:
    """The head that was reached, what each account had spent, and what others had; or why nobody
    knows.
    """

    head: str
    spent: dict[int, Amount]
    unseen: tuple[Amount, ...] = ()
    why: str = ""


def _reached(place: Path, ledger: Ledger) -> _Reached:
    """What the head file says; all of every account where nobody knows."""
    accounts = {account.id: account for account in ledger.accounts.values()}
    totals = {number: a.total for number, a in accounts.items()}
    try:
        anchor = Anchor(place, ledger.uid)
    except LedgerError as error:
        if error.__cause__ is not None:  # it is there, and somebody else may open it
            raise
        return _Reached("unknown", totals, why=str(error))
    try:
        spent = {n: anchor.spent(n) for n in range(1, max(anchor.accounts, *accounts, 0) + 1)}
        head = str(anchor.head)
    except LedgerError as error:
        return _Reached("unknown", totals, why=str(error))
    finally:
        anchor.close()
    unseen = tuple(spent[n] for n in spent if n not in accounts and spent[n] != NOTHING)
    return _Reached(head, spent, unseen)


def _insist_nothing_is_left(ledger: Ledger, reached: _Reached) -> None:
    """Refuse to count everything as spent: the owner has to say that this is meant."""
    left = [
        f"{one.name}: {lost.said(one.accounting)}"
        for one in ledger.accounts.values()
        if not one.sealed and (lost := _lost(one, reached.spent[one.id])) != NOTHING
    ]
    if left:
        raise LedgerError(
            f"{reached.why.partition('. ')[0]}, so that nobody knows what was spent since. "
            f"Everything that is left would count as spent: {'; '.join(left)}. If the head file "
            "is elsewhere (where the ledger was before, or with another curator of the same "
            "ledger), bring a copy of it. If it is lost, `discreet ledger restore --all-is-spent` "
            "goes on. Nothing was changed"
        )


def _charged(ledger: Ledger, reached: _Reached) -> list[str]:
    words, charges = [], []
    with ledger.writing() as on:
        on.name = "restore"
        for account in on.accounts():
            lost = _lost(account, reached.spent[account.id])
            if lost == NOTHING or account.sealed:
                continue
            if not (account.spent + lost).within(account.total):  # it was raised since
                on.limit(account, _most(account.total, account.spent + lost))
            charges += on.pay([Charge(account.name, lost)])
            words.append(f"{account.name}: {lost.said(account.accounting)} counts as spent")
        unseen = [[amount.main, amount.delta] for amount in reached.unseen]
        if unseen:
            words.append(
                f"{len(unseen)} accounts are not in this ledger; a new account starts with the "
                "most that any of them had spent"
            )
        body = {"reached": reached.head, "charges": charges, "at": ledger.now()}
        on.append("lost", {**body, "unseen": unseen})
        if shut(on, str(body["at"]), "restored from a backup"):
            words.append(
                "all keys are revoked and all passwords forgotten: nobody knows who was shut out "
                "since. `discreet people password` and `discreet key make` give new ones"
            )
    return words


def _lost(account: Account, reached: Amount) -> Amount:
    """What was spent since."""
    gone = reached - account.spent
    return Amount(max(gone.main, 0), max(gone.delta, 0))


def _most(one: Amount, other: Amount) -> Amount:
    return Amount(max(one.main, other.main), max(one.delta, other.delta))

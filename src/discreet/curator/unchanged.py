"""Before a question is charged: the files that it would read are those that its version names.

Guarantee. All answers of one version come from files in one state, or in states of which the owner
said that the rows are the same. So no answers from different rows are combined, none is handed out
for another, and a question that is taken up again does not give its noise to other rows.
Assumes. A change of the rows shows in a file's size or time. Of a server's tables nothing is known:
the owner promises that a version names one state of them.
Proof. Every way from a question to a charge begins here, and after the rows were read their files
are looked at again (`discreet.curator.asking`); what was read of others is not used.
Tested by tests/curator/test_unchanged.py
"""

from __future__ import annotations

from discreet.curator.asking import Asking
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.marks import (
    Data,
    Mark,
    changed_words,
    marks_in,
    marks_on,
    note,
    otherwise,
)
from discreet.curator.policy.registration import data_of
from discreet.engines.state import Seen
from discreet.errors import ChangedDataError, DiscreetError, EngineError, LedgerError

__all__ = ["change_of", "insist_unchanged", "seen_by"]

_GONE = "a file of the data is not there any more; nothing was charged"
_CLOSED = "the data cannot be opened; nothing was charged"


def insist_unchanged(ledger: Ledger, asking: Asking, *, policy: str) -> None:
    """Refuse a question to files that have changed; nothing was charged.

    Where the files are as they were at the last question that is one look at each of them. Else the
    ledger says which state they may have; a version that it has no mark of gets one now.

    Args:
        ledger: the policy's.
        asking: the part of the data that the question is about.
        policy: its fingerprint; for an older one nothing is noted.
    """
    seen = seen_by(asking)
    if seen is None or seen == asking.agreed:
        return
    agrees = _agrees(ledger, asking, seen, policy)
    if not agrees and asking.listed() != list(asking.engine.files):  # a pattern has others now
        seen = _anew(asking)
        agrees = _agrees(ledger, asking, seen, policy)
    if not agrees:
        data = data_of(asking.dataset, asking.block, "")
        raise ChangedDataError(f"{changed_words(data)}. Nothing was charged")
    asking.agreed = seen


def change_of(ledger: Ledger, asking: Asking) -> str:
    """What a question would be refused with, in the owner's words; "" where it would not.

    It only looks: nothing is noted and nothing is opened.
    """
    seen = None if asking.watched is None else asking.watched.now()
    if seen is None or seen == asking.agreed:
        return ""
    changed = otherwise(marks_in(ledger), [data_of(asking.dataset, asking.block, seen.state)])
    return changed_words(changed[0]) if changed else ""


def seen_by(asking: Asking) -> Seen | None:
    """The files that its engine reads, as they are now; None where it reads none.

    An engine that was opened on others is opened anew: it may have those still open, and took the
    names of columns from them.
    """
    if asking.watched is None:
        return None
    seen = asking.watched.now()
    if seen is None:
        return _anew(asking, _GONE)
    return seen if seen == asking.opened else _anew(asking)


def _anew(asking: Asking, problem: str = _CLOSED) -> Seen:
    """Open what is there now: a pattern may have more files than when it was opened."""
    try:
        asking.reopen()
    except DiscreetError as error:  # its words name paths
        raise EngineError(problem) from error
    if asking.opened is None:
        raise EngineError("the data are being changed; nothing was charged")
    asking.begin()  # types may be others
    return asking.opened


def _agrees(ledger: Ledger, asking: Asking, seen: Seen, policy: str) -> bool:
    data = data_of(asking.dataset, asking.block, seen.state)
    mark = marks_in(ledger).get(data.key) or _noted(ledger, data, policy)
    return mark.fits(data)


def _noted(ledger: Ledger, data: Data, policy: str) -> Mark:
    """Note the state of a version that has no mark; the one that it has now, maybe of another."""
    with ledger.writing() as on:
        on.name = "note"
        if data.key not in marks_on(on):
            if on.policy[0] != policy:
                raise LedgerError(
                    "the ledger follows another version of the policy than this question was "
                    "priced under; read the policy again. Nothing was charged"
                )
            note(on, [data], ledger.now())
        return marks_on(on)[data.key]

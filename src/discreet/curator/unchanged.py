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
from discreet.curator.ledger.marks import Data, Mark, changed_words, marks_in, marks_on, note
from discreet.curator.policy.registration import data_of
from discreet.errors import ChangedDataError, DiscreetError, EngineError

__all__ = ["insist_unchanged"]

_GONE = "a file of the data is not there any more; nothing was charged"


def insist_unchanged(ledger: Ledger, asking: Asking, *, policy: str) -> None:
    """Refuse a question to files that have changed; nothing was charged.

    Where the files are as they were at the last question that is one look at each of them. Else the
    ledger says which state they may have; a version that it has no mark of gets one now.

    Args:
        ledger: the policy's.
        asking: the part of the data that the question is about.
        policy: its fingerprint; for an older one nothing is noted.
    """
    if asking.watched is None:
        return
    state = asking.watched.now()
    if state is not None and state == asking.agreed:
        return
    if state is None:
        raise EngineError(_GONE)
    if not _agrees(ledger, asking, state, policy):
        state = _anew(asking)
        if not _agrees(ledger, asking, state, policy):
            data = data_of(asking.dataset, asking.block, "")
            raise ChangedDataError(f"{changed_words(data)}. Nothing was charged")
    asking.agreed = state


def _anew(asking: Asking) -> str:
    """The state of what is there now: a pattern may have more files than when it was opened."""
    try:
        asking.reopen()
    except DiscreetError as error:  # its words name paths
        raise EngineError("the data cannot be opened; nothing was charged") from error
    state = None if asking.watched is None else asking.watched.now()
    if state is None:
        raise EngineError(_GONE)
    return state


def _agrees(ledger: Ledger, asking: Asking, state: str, policy: str) -> bool:
    data = data_of(asking.dataset, asking.block, state)
    mark = marks_in(ledger).get(data.key) or _noted(ledger, data, policy)
    return mark is None or mark.fits(data)


def _noted(ledger: Ledger, data: Data, policy: str) -> Mark | None:
    """Note the state of a version that has no mark; the one that it has now, maybe of another."""
    with ledger.writing() as on:
        on.name = "note"
        if data.key not in marks_on(on) and on.policy[0] == policy:
            note(on, [data], ledger.now())
        return marks_on(on).get(data.key)

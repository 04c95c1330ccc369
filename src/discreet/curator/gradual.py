"""Which stored answers a question can be made of, at no cost to the people in the data.

Guarantee. What is made of a stored answer has, given the data, exactly the law of a new answer to
the question at its price; so an asker cannot tell one from the other, but for the time it takes.
Assumes. The ledger makes no two answers of one for the same asker (`discreet.curator.ledger`).
Proof. `discreet.curator.answer`: both questions are priced, from the policy alone, and must differ
in nothing but the width of geometric noise. They are the same question to the same data, because
the ledger looks under one canonical name, which has all of that in it but the price.

An answer of another version of the software is left alone: it may have been measured otherwise.
Tested by tests/curator/test_gradual.py
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.curator.answer import Finer, finer_of
from discreet.curator.asking import Asking
from discreet.curator.kept import SCHEMA, Kept
from discreet.curator.ledger.values import Done
from discreet.errors import LedgerError
from discreet.query.price import Priced
from discreet.version import VERSION

__all__ = ["finer_answer", "finer_keys"]


def finer_keys(stored: Mapping[str, str], asking: Asking, question: Priced) -> tuple[str, ...]:
    """The keys of the answers that a question can be made of, in their order."""
    return tuple(key for key, text in stored.items() if _finer(text, asking, question) is not None)


def finer_answer(stored: Done | None, asking: Asking, question: Priced) -> Finer:
    """The answer that the ledger says a question has to be made of."""
    found = None if stored is None else _finer(stored.answer, asking, question)
    if found is None:
        raise LedgerError(
            "this question was charged to be made of a stored answer, which another version of "
            "the software has stored; ask with a new key"
        )
    return found


def _finer(text: str, asking: Asking, question: Priced) -> Finer | None:
    if SCHEMA not in text[:40]:  # it has no cells: nothing need be read
        return None
    kept = Kept.from_text(text)
    if kept.cells is None or kept.record.software != f"discreet {VERSION}":
        return None
    fine, _ = asking.priced(question.plan, kept.cells.price)
    return finer_of(kept.cells.noisy, fine, question)

"""What a ledger tells changes nothing, whoever asks for it and however often."""

import inspect

import pytest
from tests.curator.ledger.harness import ask, claim

from discreet.curator.ledger.reading import Reading
from discreet.curator.ledger.statements import LEDGER
from discreet.errors import LedgerError

CALLS = {
    "accounts": lambda ledger: ledger.accounts,
    "admitted": lambda ledger: ledger.admitted(0),
    "answer": lambda ledger: ledger.answer("a"),
    "entries": lambda ledger: ledger.entries(),
    "entry_of": lambda ledger: ledger.entry_of("b", "alice"),
    "everything": lambda ledger: ledger.everything(),
    "finer": lambda ledger: ledger.finer("a", 0),
    "following": lambda ledger: ledger.following(ledger.policy[0]),
    "glance": lambda ledger: ledger.glance(LEDGER),
    "head": lambda ledger: ledger.head,
    "is_answered": lambda ledger: ledger.is_answered("a", 1, "alice"),
    "is_near": lambda ledger: ledger.is_near,
    "is_own": lambda ledger: ledger.is_own("a", "ann"),
    "paid": lambda ledger: ledger.paid("a", "alice", before=99),
    "parts": lambda ledger: ledger.parts(),
    "pending": lambda ledger: ledger.pending,
    "policy": lambda ledger: ledger.policy,
}


def test_all_of_it_is_here():
    assert {name for name, _ in inspect.getmembers(Reading) if not name.startswith("_")} == {*CALLS}


@pytest.mark.parametrize("name", CALLS)
def test_reading_changes_nothing_and_tells_the_same_again(either, name):
    with either.new() as ledger:
        ask(ledger, either, claim("a"))
        ledger.reserve(claim("b"))
        before, file = ledger.everything(), ledger.head_path.read_bytes()
        told = CALLS[name](ledger)
        assert CALLS[name](ledger) == told
        assert (ledger.everything(), ledger.head_path.read_bytes()) == (before, file)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "is_near"])
def test_a_closed_ledger_tells_nothing(place, name):
    ledger = place.new()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        CALLS[name](ledger)


def test_what_is_answered_is_so_for_its_asker_as_good_and_no_better(either):
    """A question that waits is none; and no number is too large to ask about."""
    with either.new() as ledger:
        ask(ledger, either, claim("a"))
        ledger.reserve(claim("b"))
        (size,) = {row["size"] for row in ledger.everything()[2]}
        who = claim("a").analyst
        assert ledger.is_answered("a", size, who)
        assert ledger.is_answered("a", 0, None)
        assert not ledger.is_answered("a", size, "somebody else")
        for canon, least in (("a", size + 1), ("a", 2**63), ("a", 10**40), ("b", 0), ("c", 0)):
            for one in (who, None):
                assert not ledger.is_answered(canon, least, one)

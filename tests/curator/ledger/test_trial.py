"""A ledger is tried by writing: nothing stays, nothing is charged, and a full one is found."""

import pytest
from tests.curator.ledger.harness import ask, claim

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.trial import try_writing
from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError


def sessions(ledger):
    return ledger.glance(t.session.select())


def test_a_trial_leaves_nothing_behind(either):
    with either.new() as ledger:
        ask(ledger, either, claim("a"))
        before = ledger.head, ledger.accounts
        try_writing(ledger)
        assert (ledger.head, ledger.accounts) == before
        assert not sessions(ledger)
        verified(ledger)


def test_where_no_charge_has_room_a_trial_has_none(place):
    with place.new() as ledger:
        raw = ledger._database._raw
        pages = raw.execute("PRAGMA page_count").fetchone()[0]
        raw.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="could not be written"):
            try_writing(ledger)
        raw.execute(f"PRAGMA max_page_count = {pages + 100}")
        try_writing(ledger)
        assert not sessions(ledger)

"""People at a ledger, with passwords that are cheap to check and a clock that can be moved."""

import pytest
from tests.curator.access.people import SECRET, Clock, cheapen
from tests.curator.ledger.harness import new_ledger

from discreet.curator.access import Access


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    monkeypatch.delenv("DISCREET_SECRET", raising=False)
    cheapen(monkeypatch)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(tmp_path):
    with new_ledger(tmp_path / "ledger.db") as made:
        yield made


@pytest.fixture
def access(ledger, clock):
    """alice is an analyst who sees two datasets, olga an owner, rex an auditor without password."""
    made = Access(ledger, SECRET, clock=clock)
    made.add("alice", "analyst", password="the first of alice", datasets=["a", "b"], by="x")
    made.add("olga", "owner", password="the first of olga", by="x")
    made.add("rex", "auditor", by="x")
    return made

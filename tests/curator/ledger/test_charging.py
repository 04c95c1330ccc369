"""An answer under a charge that this process remembers: only if it still waits, and only there."""

import hashlib
import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curator.ledger.harness import UNIT, Checker, ask, claim

from discreet.curator.ledger import ledger as module
from discreet.curator.ledger.chain import canonical, noise_mark
from discreet.curator.ledger.charging import answered, charged
from discreet.curator.ledger.values import Charged, Claim
from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError


def test_an_answer_carries_the_entry_of_its_charge(either):
    """The same whether the charge is remembered, or looked up by another process."""
    with either.new() as one, either.open() as two:
        for key, stores in (("a", one), ("b", two), ("c", one)):
            charged = one.reserve(claim(key))
            got = stores.store(key, "answer")
            assert (got.seq, got.hash, got.analyst) == (charged.seq, charged.hash, "ann")
        verified(one)


def test_who_comes_second_gets_the_stored_answer(either):
    with either.new() as one, either.open() as two:
        one.reserve(claim("a"))
        two.store("a", "theirs")
        seq = one.head.seq
        for _ in range(2):
            assert one.store("a", "ours").answer == "theirs"
        assert one.head.seq == seq
        verified(one)


@pytest.mark.parametrize("wrong", ["another entry", "a key that was never charged"])
def test_what_is_remembered_is_not_believed_against_the_database(either, wrong):
    """The update finds the charge by its key and its number, or it is looked for."""
    with either.new() as ledger:
        before = ledger.reserve(claim("before"))
        charged = ledger.reserve(claim("a"))
        remembered = Charged(before.seq, before.hash, "bob")
        if wrong == "another entry":
            ledger._charged["a"] = remembered
            got = ledger.store("a", "answer")
            assert (got.seq, got.hash, got.analyst) == (charged.seq, charged.hash, "ann")
        else:
            ledger._charged["never"] = remembered
            with pytest.raises(LedgerError, match="never charged"):
                ledger.store("never", "answer")
        Checker(either).look(ledger)


def test_a_charge_that_was_not_committed_is_not_remembered(either, monkeypatch):
    with either.new() as ledger:
        ask(ledger, either, claim("before"))
        ledger._charged.clear()
        for name in ("commit", "called", "wrote"):
            monkeypatch.setattr(ledger._database, name, _broken)
        with pytest.raises(LedgerError, match="disk"):
            ledger.reserve(claim("a"))
        monkeypatch.undo()
        assert not ledger._charged
        with pytest.raises(LedgerError, match="never charged"):
            ledger.store("a", "answer")
        assert ledger.accounts["staff"].spent.main == UNIT


def _broken(*_, **__):
    raise LedgerError("the disk is full")


def test_few_charges_are_remembered(ledger, monkeypatch):
    """Who is never answered is forgotten, and looked up when an answer comes all the same."""
    monkeypatch.setattr(module, "REMEMBERED", 3)
    for number in range(6):
        ledger.reserve(claim(f"k{number}"))
    assert list(ledger._charged) == ["k3", "k4", "k5"]
    for number in range(6):
        assert ledger.store(f"k{number}", "answer").analyst == "ann"
    assert not ledger._charged
    verified(ledger)


words = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ['"', "\\", "\x7f\u2028", ""]
)
amounts = st.integers(0, 2**70)


@given(
    st.tuples(*[words] * 4), amounts, st.lists(st.tuples(*[amounts] * 3), max_size=3), words,
    st.none() | st.binary(min_size=32, max_size=32), st.none() | words,
)  # fmt: skip
def test_what_the_log_says_of_a_charge_is_canonical(said, size, spent, info, noise, of):
    """The same text as of the values, whatever an asker writes: nobody slips a value in."""
    key, digest, canon, analyst = said
    told = MappingProxyType({"sql": info, "price": [info, size]})
    text = charged(
        Claim(key, digest, canon, size, analyst, (), "p", told), spent, info, noise=noise, of=of
    )
    found = json.loads(text)
    assert canonical(found) == text
    assert len(found.pop("salt")) == 32
    wanted = {
        "key": key, "digest": digest, "canon": canon, "size": size, "analyst": analyst,
        "charges": [list(one) for one in spent], "at": info, "info": dict(told),
    }  # fmt: skip
    wanted |= {} if noise is None else {"noise": noise_mark(noise)}
    wanted |= {} if of is None else {"of": of}
    assert found == wanted


@given(words, st.text(), words, st.booleans())
def test_what_the_log_says_of_an_answer_is_canonical(key, answer, at, failed):
    text = answered(key, answer, at, failed=failed)
    found = json.loads(text)
    assert canonical(found) == text
    assert len(found.pop("salt")) == 32
    digest = hashlib.sha256(answer.encode()).hexdigest()
    assert found == {"key": key, "answer": digest, "at": at} | ({"failed": True} if failed else {})

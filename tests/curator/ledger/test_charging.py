"""An answer under a charge that this process remembers: only if it still waits, and only there."""

import hashlib
import json
import tempfile
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curator.ledger.harness import UNIT, Checker, Place, ask, claim, new_ledger, replace

from discreet.curator.ledger import ledger as module
from discreet.curator.ledger.chain import canonical, noise_mark
from discreet.curator.ledger.charging import answered, charged
from discreet.curator.ledger.values import Charged, Claim, Pending
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError, LedgerError


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
        monkeypatch.setattr(ledger._database, "commit", _broken)
        monkeypatch.setattr(ledger._once, "_put", _broken)
        with pytest.raises(LedgerError, match="disk"):
            ledger.reserve(claim("a"))
        monkeypatch.undo()
        assert not ledger._charged
        with pytest.raises(LedgerError, match="never charged"):
            ledger.store("a", "answer")
        assert ledger.accounts["staff"].spent.main == UNIT


def _broken(*_, **__):
    raise LedgerError("the disk is full")


def test_what_was_paid_before_is_what_was_there_before(either):
    """Charged before and answered after: it is no part of the later one, then or ever."""
    with either.new() as ledger:
        ask(ledger, either, claim("first", canon="a", size=1))
        slow = ledger.reserve(claim("slow", canon="a", size=2))
        later = ledger.reserve(claim("later", canon="a", size=UNIT))
        for _ in range(2):
            found = ledger.paid("a", "ann", before=later.seq)
            assert [one.key for one in found] == ["first"]
            ledger.store(slow.key, "its answer")
        ledger.store(later.key, "answer")
        last = ledger.reserve(claim("last", canon="a", size=2 * UNIT))
        found = ledger.paid("a", "ann", before=last.seq)
        assert [one.key for one in found] == ["first", "slow", "later"]
        assert ledger.paid("a", "bob", before=last.seq) == []


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


# failures


def asking(number, *, canon, size, who, public, named, finer):
    """A claim of somebody, who pays as a curator lets them."""
    made = claim(f"k{number}", canon=canon, size=size * UNIT, cost=size * UNIT, analyst=who)
    people, own = made.charges
    charges = (people,) if not who else (replace(own, on_hit=not public), people)
    info = {"sql": canon, "price": [str(size)]}
    return replace(made, charges=charges, info=info, public=public, named=named, finer=tuple(finer))


steps = st.lists(
    st.fixed_dictionaries({
        "canon": st.sampled_from(["q", "r"]), "size": st.integers(1, 4),
        "who": st.sampled_from(["ann", "bob", ""]), "named": st.booleans(),
        "stores": st.sampled_from([True, True, True, False]), "fails": st.booleans(),
    }),
    max_size=25,
)  # fmt: skip


def told(ledger, listed, *, public, fails):
    """All that follows from a stream of questions but its noise: what each got, and the books."""
    got = []
    for number, step in enumerate(listed):
        one = {name: step[name] for name in ("canon", "size", "who", "named")}
        finer = ledger.finer(step["canon"], step["size"] * UNIT) if not public else ()
        try:
            found = ledger.reserve(asking(number, **one, public=public, finer=finer))
        except BudgetExceededError as error:
            got.append(str(error))
            continue
        waits = isinstance(found, Pending)
        got.append((found.key, found.paid, found.of if waits else (found.hit, found.analyst)))
        if waits and step["stores"]:
            ledger.store(found.key, f"answer {number}", failed=fails and step["fails"])
        who = step["who"]
        combined = ledger.paid(step["canon"], who, before=10**6)
        got.append([(done.key, done.answer, done.seq) for done in combined])
    verified(ledger)
    entries, accounts, rows = ledger.everything()
    charges = [(one.kind, one.values().get("charges"), one.values().get("of")) for one in entries]
    listed = [[row[name] for name in ("key", "canon", "size", "analyst", "state")] for row in rows]
    return got, accounts, charges, listed


@given(steps, st.booleans(), st.sampled_from([12, 100]))
def test_whether_answers_are_those_of_failures_decides_nothing(listed, public, total):
    """Any stream of questions, of which one twin's fail: every charge, hit and list is the same."""
    found = []
    for fails in (False, True):
        with tempfile.TemporaryDirectory() as folder, Place.at(folder).new(total=total) as ledger:
            found.append(told(ledger, listed, public=public, fails=fails))
    assert found[0] == found[1]


@pytest.mark.parametrize("public", [False, True])
def test_it_decides_nothing_in_either_database(either, tmp_path, public):
    """One stream in which all of it happens, against a twin in a file that never fails."""
    listed = [
        {"canon": canon, "size": size, "who": who, "named": named, "stores": True, "fails": True}
        for named in (False, True)
        for size in (2, 1, 3)
        for who in ("ann", "bob", "", "ann")
        for canon in ("q", "r")
    ]
    with either.new() as ledger, new_ledger(tmp_path / "twin.db") as twin:
        found = told(ledger, listed, public=public, fails=True)
        assert found == told(twin, listed, public=public, fails=False)
        assert sum(kind == "hit" for kind, *_ in found[2]) > 8

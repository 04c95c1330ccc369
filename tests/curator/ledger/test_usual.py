"""One statement writes all of a charge, or of an answer, or nothing of it."""

import sqlite3
from contextlib import closing

import pytest
from tests.curator.ledger.harness import POLICY, UNIT, Checker, ask, claim, replace

from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.registry import retire
from discreet.curator.ledger.usual import ANSWER, CHARGE
from discreet.curator.ledger.values import Charge, Pending
from discreet.curator.ledger.verify import verified


@pytest.fixture
def opened(place):
    """A ledger in which a question was asked, and one has failed."""
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        ledger.store(ledger.reserve(claim("wrong")).key, "nothing", failed=True)
        yield ledger


def numbers(ledger):
    return {name: account.id for name, account in ledger.accounts.items()}


SECOND = ("payer2", "main2", "delta2", "had2", "delta_had2")


def charge(ledger, **other):
    """Values of a charge that is as usual, but for what is said."""
    number, head = numbers(ledger), ledger.head
    told = {
        "next": head.seq + 1, "body": "{}", "made": "f" * 64, "policy": POLICY,
        "last": head.seq, "hash": head.hash, "asked": "new", "digest": "d", "canon": "new",
        "size": UNIT, "analyst": "ann", "noise": bytes(range(32)),
        "payer1": number["staff"], "main1": 2 * UNIT, "delta1": 0,
        "had1": 2 * UNIT, "delta_had1": 0,
        "payer2": number["staff@ann"], "main2": 3 * UNIT, "delta2": 0,
        "had2": 2 * UNIT, "delta_had2": 0,
    }  # fmt: skip
    return tuple((told | other)[place] for place in CHARGE.places)


def answer(ledger, waiting, **other):
    head = ledger.head
    told = {
        "charged": waiting.seq, "asked": waiting.key, "told": "answer", "next": head.seq + 1,
        "body": "{}", "made": "f" * 64, "last": head.seq, "hash": head.hash,
    }  # fmt: skip
    return tuple((told | other)[place] for place in ANSWER.places)


def wrote(ledger, statement, values):
    with ledger._database.turn():
        return ledger._database.wrote("test", statement, values)


def test_a_usual_charge_is_written(opened):
    before = opened.accounts
    assert wrote(opened, CHARGE, charge(opened))
    after = opened.accounts
    assert after["staff"].spent.main - before["staff"].spent.main == 2 * UNIT
    assert after["staff@ann"].spent.main - before["staff@ann"].spent.main == 3 * UNIT
    assert opened.entries()[-1].kind == "reserve"
    assert [one.key for one in opened.pending] == ["new"]


def test_one_may_pay_alone(opened):
    before = opened.accounts
    alone = charge(opened, **dict.fromkeys(SECOND))
    assert wrote(opened, CHARGE, alone)
    changed = {n for n, account in opened.accounts.items() if account != before[n]}
    assert changed == {"staff"}


UNUSUAL = {
    "another policy": {"policy": "policy-9"},
    "no policy": {"policy": None},
    "another head": {"hash": "0" * 64},
    "a head that is not there": {"last": 10**6},
    "a number that is taken": {"next": 1},
    "a key that is taken": {"asked": "first"},
    "no key": {"asked": None},
    "an answer that is there": {"canon": "first"},
    "an answer that is too coarse": {"canon": "first", "size": 2 * UNIT},
    "a failure that is there": {"canon": "wrong"},
    "a first payer who is not there": {"payer1": 999},
    "a second payer who is not there": {"payer2": 999},
    "a first payer with too little": {"main1": 1000 * UNIT},
    "a second payer with too little": {"main2": 1000 * UNIT},
    "a delta that nobody has": {"delta1": 1},
    "a second delta that nobody has": {"delta2": 1},
    "a first payer who had spent more": {"had1": 4 * UNIT},
    "a second payer who had spent more": {"had2": 4 * UNIT},
    "a delta that was more": {"delta_had1": 1},
    "a second delta that was more": {"delta_had2": 1},
    "nothing said of before": {"had1": None},
    "no amount": {"main1": None},
    "no second amount": {"main2": None},
    "no noise key": {"noise": None},
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_what_is_unusual_writes_nothing(opened, what):
    before = opened.everything()
    assert not wrote(opened, CHARGE, charge(opened, **UNUSUAL[what]))
    assert opened.everything() == before
    assert not opened._database._raw.in_transaction
    assert wrote(opened, CHARGE, charge(opened))


def test_a_sealed_account_pays_nothing(opened):
    retire(opened, "staff")
    before = opened.everything()
    assert not wrote(opened, CHARGE, charge(opened))
    assert opened.everything() == before


def test_a_usual_answer_is_written(opened):
    charged = opened.reserve(claim("a"))
    assert wrote(opened, ANSWER, answer(opened, charged))
    assert opened.answer("a").answer == "answer"
    assert opened.entries()[-1].kind == "done"
    assert not opened.pending


@pytest.mark.parametrize(
    "other",
    [
        {"charged": 1}, {"asked": "first"}, {"asked": None}, {"told": None}, {"next": 1},
        {"last": 10**6}, {"hash": "0" * 64}, {"charged": None},
    ],
    ids=str,
)  # fmt: skip
def test_an_unusual_answer_writes_nothing(opened, other):
    charged = opened.reserve(claim("a"))
    before = opened.everything()
    assert not wrote(opened, ANSWER, answer(opened, charged, **other))
    assert opened.everything() == before
    assert wrote(opened, ANSWER, answer(opened, charged))
    before = opened.everything()
    assert not wrote(opened, ANSWER, answer(opened, charged))  # it does not wait any more
    assert opened.everything() == before


def test_three_who_pay_are_charged_by_a_transaction(place):
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        ask(ledger, place, claim("other", analyst="bob"))
        three = tuple(Charge(name, Amount(UNIT)) for name in ("staff", "staff@ann", "staff@bob"))
        asked = ledger.reserve(replace(claim("a"), charges=three))
        assert isinstance(asked, Pending)
        spent = {name: account.spent.main // UNIT for name, account in ledger.accounts.items()}
        assert spent == {"staff": 3, "staff@ann": 2, "staff@bob": 2}
        Checker(place).look(ledger)
        verified(ledger)


def test_the_file_knows_nothing_of_it(place):
    """Whoever opens the ledger with other software finds tables and indexes."""
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        ask(ledger, place, claim("second"))
        with closing(sqlite3.connect(ledger.address)) as other:
            kinds = {row[0] for row in other.execute("SELECT type FROM sqlite_master")}
    assert kinds == {"table", "index"}


def test_what_was_made_in_part_is_made_whole(place):
    """An interrupt while a connection gets ready leaves nothing that is in the way."""
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        ledger._database._usual = None  # as if it had been interrupted at the end
        ask(ledger, place, claim("second"))
        verified(ledger)

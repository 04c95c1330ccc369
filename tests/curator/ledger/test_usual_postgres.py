"""One call writes all of a charge, or of an answer, or nothing of it, whatever the tables refuse.

What the tables refuse as well (an account below nothing, a key that is taken) is asked here with
those checks and indexes taken away, too: then the function alone has to see it.
"""

import psycopg
import pytest
from tests.curator.ledger.harness import UNIT, Checker, ask, claim, replace
from tests.curator.ledger.test_usual import SECOND, answer, charge

from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.registry import retire
from discreet.curator.ledger.usual import ANSWER as ANSWER_OF_A_FILE
from discreet.curator.ledger.usual import CHARGE as CHARGE_OF_A_FILE
from discreet.curator.ledger.usual_postgres import ANSWER, CHARGE
from discreet.curator.ledger.values import Charge, Pending
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError

LOOSE = """
ALTER TABLE discreet_account DROP CONSTRAINT discreet_account_check;
ALTER TABLE discreet_account DROP CONSTRAINT discreet_account_check1;
DROP INDEX discreet_entry_key;
"""


@pytest.fixture
def place(postgres_places):
    return postgres_places()


@pytest.fixture
def opened(place):
    """A ledger in which a question was asked, and one has failed."""
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        ask(ledger, place, claim("second"))  # its functions are made
        ledger.store(ledger.reserve(claim("wrong")).key, "nothing", failed=True)
        yield ledger


def wrote(ledger, call, values):
    with ledger._database.turn():
        return ledger._database.called("test", call, values)


def says(ledger, call, values):
    """What the function itself says: no error."""
    with ledger._database.turn():
        return ledger._database._usual.run(call, values)


def loosen(ledger):
    with psycopg.connect(ledger.address, autocommit=True) as owner:
        owner.execute(LOOSE)


def test_its_values_have_the_places_of_a_file():
    assert CHARGE.places == CHARGE_OF_A_FILE.places
    assert ANSWER.places == ANSWER_OF_A_FILE.places


def test_a_usual_charge_is_written(opened):
    before = opened.accounts
    assert wrote(opened, CHARGE, charge(opened))
    after = opened.accounts
    assert after["staff"].spent.main - before["staff"].spent.main == 2 * UNIT
    assert after["staff@ann"].spent.main - before["staff@ann"].spent.main == 3 * UNIT
    assert after["staff@bob"] == before["staff@bob"]
    assert opened.entries()[-1].kind == "reserve"
    assert [one.key for one in opened.pending] == ["new"]
    assert opened.pending[0].noise == bytes(range(32))


def test_one_may_pay_alone(opened):
    before = opened.accounts
    alone = charge(opened, **dict.fromkeys(SECOND))
    assert wrote(opened, CHARGE, alone)
    changed = {n for n, account in opened.accounts.items() if account != before[n]}
    assert changed == {"staff"}


def test_delta_is_paid_too(place):
    with place.new() as ledger:
        raw = ledger._database._raw
        raw.execute("UPDATE discreet_account SET delta_total = 100")
        paid = (Charge("staff", Amount(2, 3)), Charge("staff@ann", Amount(4, 5)))
        for name in "abc":
            ask(ledger, place, replace(claim(name), charges=paid))
        spent = {"staff": Amount(6, 9), "staff@ann": Amount(12, 15)}
        for name, amount in spent.items():
            account = ledger.accounts[name]
            assert account.spent == ledger._anchor.spent(account.id) == amount


SAID = {
    "another policy": {"policy": "policy-9"},
    "no policy": {"policy": None},
    "another head": {"hash": "0" * 64},
    "a head that is not there": {"last": 10**6},
    "a key that is taken": {"asked": "first"},
    "an answer that is there": {"canon": "first"},
    "an answer that is too coarse": {"canon": "first", "size": 2 * UNIT},
    "a failure that is there": {"canon": "wrong"},
    "a first payer who is not there": {"payer1": 999},
    "a first payer with too little": {"main1": 1000 * UNIT},
    "a delta that nobody has": {"delta1": 1},
    "a first payer who had spent more": {"had1": 4 * UNIT},
    "a delta that was more": {"delta_had1": 1},
    "nothing said of before": {"had1": None},
    "no amount": {"main1": None},
    "no delta": {"delta1": None},
}
RAISED = {
    "a number that is taken": {"next": 1},
    "a second payer who is not there": {"payer2": 999},
    "a second payer with too little": {"main2": 1000 * UNIT},
    "a second delta that nobody has": {"delta2": 1},
    "a second payer who had spent more": {"had2": 4 * UNIT},
    "a second delta that was more": {"delta_had2": 1},
    "no second amount": {"main2": None},
    "no second delta": {"delta2": None},
    "a key with a nul": {"asked": "nu\0l"},
}
UNUSUAL = SAID | RAISED | {"a key that is no text": {"asked": "lone \ud800"}}


@pytest.mark.parametrize("loose", [False, True], ids=["", "loose"])
@pytest.mark.parametrize("what", UNUSUAL)
def test_what_is_unusual_writes_nothing(opened, what, loose):
    if loose:
        loosen(opened)
    before = opened.everything()
    told = charge(opened, **UNUSUAL[what])
    assert not wrote(opened, CHARGE, told)
    if what in SAID:
        assert says(opened, CHARGE, told) is False
    if what in RAISED:
        with pytest.raises((psycopg.IntegrityError, psycopg.DataError)) as caught:
            says(opened, CHARGE, told)
        assert "00010203" not in str(caught.value)
    assert opened.everything() == before
    assert wrote(opened, CHARGE, charge(opened))


@pytest.mark.parametrize("loose", [False, True], ids=["", "loose"])
@pytest.mark.parametrize("sealed", ["staff", "staff@ann"])
def test_a_sealed_account_pays_nothing(opened, sealed, loose):
    if loose:
        loosen(opened)
    if sealed == "staff":
        retire(opened, "staff")
    else:
        row = "UPDATE discreet_account SET sealed = 1 WHERE name = %s"
        opened._database._raw.execute(row, (sealed,))
    before = opened.everything()
    assert not wrote(opened, CHARGE, charge(opened))
    assert opened.everything() == before


def test_a_usual_answer_is_written(opened):
    charged = opened.reserve(claim("a"))
    others = [row for row in opened.everything()[2] if row["key"] != "a"]
    assert wrote(opened, ANSWER, answer(opened, charged))
    assert opened.answer("a").answer == "answer"
    assert opened.entries()[-1].kind == "done"
    assert not opened.pending
    assert [row for row in opened.everything()[2] if row["key"] != "a"] == others


@pytest.mark.parametrize(
    "other",
    [
        {"charged": 1}, {"asked": "first"}, {"asked": None}, {"next": 1}, {"last": 10**6},
        {"hash": "0" * 64}, {"charged": None}, {"told": "nu\0l"},
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


@pytest.mark.parametrize("call", [CHARGE, ANSWER], ids=["charge", "answer"])
def test_it_waits_until_no_other_writes(opened, call):
    waiting = opened.reserve(claim("a"))
    told = charge(opened) if call is CHARGE else answer(opened, waiting)
    opened._database._raw.execute("SET lock_timeout TO '50ms'")
    with psycopg.connect(opened.address) as other:
        other.execute("SELECT id FROM discreet_ledger FOR UPDATE")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            wrote(opened, call, told)
    assert wrote(opened, call, told)


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


def test_who_asks_once_makes_no_function(place):
    """A command opens the ledger for one question."""
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        assert ledger._database._usual is None
        ask(ledger, place, claim("second"))
        assert ledger._database._usual


def test_the_database_keeps_nothing_of_it(opened, place):
    known = "SELECT count(*) FROM pg_proc WHERE proname LIKE 'discreet%'"
    with psycopg.connect(place.address, autocommit=True) as other:
        assert other.execute(known).fetchone() == (2,)
        shown = f"{known} AND pg_function_is_visible(oid)"
        assert other.execute(shown).fetchone() == (0,)


@pytest.mark.parametrize("gone", ["DEALLOCATE ALL", "DISCARD TEMP", "DISCARD ALL"])
def test_what_is_gone_is_made_anew(opened, place, begun, gone):
    opened._database._raw.execute(gone, prepare=False)
    opened._database._raw.execute("SET default_transaction_isolation TO 'read committed'")
    for name in "ab":
        begun.clear()
        ask(opened, place, claim(name))
    assert not begun
    verified(opened)


def test_what_the_driver_forgets_is_prepared_again(opened, place, begun):
    """It does so whenever a transaction is taken back."""
    with pytest.raises(BudgetExceededError):
        opened.reserve(claim("a", cost=1000 * UNIT))
    assert not prepared(opened)
    begun.clear()
    ask(opened, place, claim("b"))
    assert not begun
    for _ in range(9):
        opened.finer("first", UNIT)  # the driver prepares this, too
    _ = opened.accounts  # who only looks takes nothing back
    assert len(prepared(opened)) == 2


def prepared(ledger):
    known = "SELECT name FROM pg_prepared_statements WHERE name LIKE 'discreet%'"
    return ledger._database._raw.execute(known).fetchall()


def test_what_was_made_in_part_is_made_whole(opened, place, begun):
    """An interrupt while a connection gets ready leaves nothing that is in the way."""
    opened._database._usual = None  # as if it had been interrupted at the end
    ask(opened, place, claim("a"))
    assert not begun
    verified(opened)


def test_texts_are_what_they_are_in_any_encoding(place):
    other = replace(place, address=f"{place.address}&client_encoding=LATIN1")
    with other.new() as ledger:
        names = ["é first", "é second", "é third"]
        _ = [ledger.store(ledger.reserve(claim(name)).key, f"{name} told") for name in names]
        assert ledger._database._usual
        assert [ledger.answer(name).answer for name in names] == [f"{name} told" for name in names]
        verified(ledger)
    with place.open() as ledger:
        assert ledger.answer("é third").answer == "é third told"


def test_who_may_make_no_functions_writes_by_transactions(place, begun):
    place.new().close()
    begun.clear()
    with psycopg.connect(place.address, autocommit=True) as owner:
        name = owner.info.dbname
        owner.execute("DROP ROLE IF EXISTS discreet_humble")
        owner.execute("CREATE ROLE discreet_humble LOGIN")
        owner.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO discreet_humble")
        owner.execute("GRANT USAGE ON SCHEMA public TO discreet_humble")
        owner.execute(f"REVOKE TEMP ON DATABASE {name} FROM PUBLIC")
    try:
        humble = place.address.replace("//postgres:@", "//discreet_humble@")
        with replace(place, address=humble).open() as ledger:
            for key in "abc":
                ask(ledger, place, claim(key))
            assert ledger._database._usual is False
            assert len(begun) == 6
            Checker(place).look(ledger)
    finally:
        with psycopg.connect(place.address, autocommit=True) as owner:
            owner.execute(f"GRANT TEMP ON DATABASE {name} TO PUBLIC")
            owner.execute("DROP OWNED BY discreet_humble")
            owner.execute("DROP ROLE discreet_humble")

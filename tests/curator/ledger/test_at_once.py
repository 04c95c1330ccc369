"""One statement instead of a transaction: it writes the same, or nothing, whatever is unusual."""

import threading

import pytest
from tests.curator.ledger.harness import UNIT, Checker, ask, claim, registration, replace, slowly
from tests.curator.ledger.test_faults import at_steps, refused_in_a_fork

from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.registry import register, retire
from discreet.curator.ledger.usual_postgres import ANSWER, CHARGE
from discreet.curator.ledger.values import Charge, Done, Pending
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError, LedgerError


@pytest.fixture
def place(either):
    return either


@pytest.fixture
def server(postgres_places):
    return postgres_places()


def test_a_usual_charge_is_two_statements(place, begun):
    """Accounts are looked up once; then a charge is one statement, and so is its answer."""
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        begun.clear()
        for name in "abc":
            for write in (ledger.reserve, lambda asked: ledger.store(asked.key, "answer")):
                got = write(claim(name))
                there = ledger._anchor
                assert there.head == ledger.head
                for account in ledger.accounts.values():
                    assert there.spent(account.id) == account.spent
            assert isinstance(got, Done)
        assert not begun
        assert ledger.accounts["staff"].spent.main == 4 * UNIT
        assert [e.kind for e in ledger.entries()][-6:] == ["reserve", "done"] * 3
        Checker(place).look(ledger)


def test_it_writes_what_a_transaction_writes(place, monkeypatch):
    """The same rows and entries, but for what is random."""
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        at = ledger.now()
        monkeypatch.setattr(ledger, "now", lambda: at)
        ask(ledger, place, claim("a"))
        slowly(ledger)
        ask(ledger, place, claim("b"))
        entries, _, rows = ledger.everything()
    told = [e.values() for e in entries[-4:]]
    for one, other in ((told[0], told[2]), (told[1], told[3])):
        assert one.keys() == other.keys()
        assert {k for k in one if one[k] != other[k]} <= {
            "salt", "key", "digest", "canon", "info", "answer", "noise",
        }  # fmt: skip
    one, other = rows[-2:]
    assert {k for k in one if one[k] != other[k]} == {"key", "digest", "canon", "answer", "seq"}


def test_who_is_the_first_to_ask_knows_it(either):
    """Whatever is there of the same question: one that waits, one of another size, a failure."""
    with either.new() as ledger:
        ask(ledger, either, claim("before"))
        assert ledger.reserve(claim("a")).first
        assert not ledger.reserve(claim("a")).first  # its own key again
        for number, size in enumerate((UNIT // 2, UNIT, 2 * UNIT)):  # it waits
            for who in ("ann", "bob"):
                got = ledger.reserve(claim(f"{number} {who}", canon="a", size=size, analyst=who))
                assert isinstance(got, Pending)
                assert not got.first
        ledger.store(ledger.reserve(claim("wrong")).key, "nothing", failed=True)
        assert not ledger.reserve(claim("again", canon="wrong", size=2 * UNIT)).first
        assert ledger.reserve(claim("b")).first
        slowly(ledger)
        assert not ledger.reserve(claim("c")).first  # nobody has looked
        verified(ledger)


def test_better_answers_are_looked_for_where_there_are_any(either):
    """Who has not looked yet is charged nothing, and told so; all others are charged."""
    with either.new() as ledger:
        ask(ledger, either, claim("fine", size=2 * UNIT))
        spent = ledger.accounts["staff"].spent
        coarse = claim("coarse", canon="fine", analyst="bob")
        for _ in range(2):
            assert ledger.reserve(replace(coarse, finer=None)) is None
        assert ledger.accounts["staff"].spent == spent
        assert ledger.head.seq == ledger.entries()[-1].seq
        made = ledger.reserve(replace(coarse, finer=("fine",)))
        assert made.of == "fine"
        assert ledger.accounts["staff"].spent == spent
        other = ledger.reserve(replace(claim("more", canon="fine", size=3 * UNIT), finer=None))
        assert isinstance(other, Pending)
        assert ledger.reserve(replace(claim("new"), finer=None)).first
        Checker(either).look(ledger)


def unusual_key(ledger, place):
    ask(ledger, place, claim("a"))
    with pytest.raises(LedgerError, match="another question"):
        ledger.reserve(claim("a", canon="other"))


def unusual_policy(ledger, place):
    with pytest.raises(LedgerError, match="another version of the policy"):
        ledger.reserve(claim("a", policy="policy-9"))


def unusual_answer(ledger, place):
    ask(ledger, place, claim("a"))
    assert isinstance(ledger.reserve(claim("b", canon="a")), Done)
    assert ledger.reserve(claim("c", canon="a", analyst="bob")).hit == "other"


def unusual_failure(ledger, place):
    ledger.store(ledger.reserve(claim("a")).key, "answer", failed=True)
    assert isinstance(ledger.reserve(claim("b", canon="a")), Done)


def unusual_cost(ledger, place):
    with pytest.raises(BudgetExceededError, match="is left"):
        ledger.reserve(claim("a", cost=1000 * UNIT))
    for amount in (Amount(10**30), Amount(1, 10**30), Amount(1, 10)):
        with pytest.raises(BudgetExceededError):
            ledger.reserve(replace(claim("a"), charges=(Charge("staff", amount),)))


def unusual_allowance(ledger, place):
    """The second of two cannot pay: the first has not, either."""
    dear = Charge("staff@ann", Amount(1000 * UNIT))
    with pytest.raises(BudgetExceededError, match="of staff@ann"):
        ledger.reserve(replace(claim("a"), charges=(Charge("staff", Amount(1)), dear)))


def unusual_account(ledger, place):
    with pytest.raises(LedgerError, match="no account"):
        ledger.reserve(replace(claim("a"), charges=(Charge("nobody", Amount(1)),)))


def unusual_charges(ledger, place):
    """Nobody pays, or one pays twice."""
    assert isinstance(ledger.reserve(replace(claim("a"), charges=())), Pending)
    twice = (Charge("staff", Amount(UNIT)),) * 2
    assert isinstance(ledger.reserve(replace(claim("b"), charges=twice)), Pending)
    assert ledger.accounts["staff"].spent.main == 3 * UNIT


def unusual_size(ledger, place):
    assert isinstance(ledger.reserve(claim("a", size=2**63 - 1)), Pending)


def unusual_text(ledger, place):
    for key in ("lone \ud800",) if ledger._database.is_file else ("lone \ud800", "nul \0"):
        with pytest.raises(LedgerError, match="could not be written"):
            ledger.reserve(replace(claim("a"), key=key))


def unusual_store(ledger, place):
    ledger.reserve(claim("a"))
    with place.open() as other:
        assert other.store("a", "theirs").answer == "theirs"
    assert ledger.store("a", "ours").answer == "theirs"
    with pytest.raises(LedgerError, match="never charged"):
        ledger.store("never", "x")


def unusual_seal(ledger, place):
    with place.open() as other:
        retire(other, "staff")
    with pytest.raises(BudgetExceededError, match="retired"):
        ledger.reserve(claim("a"))


def unusual_register(ledger, place):
    with place.open() as other:
        register(other, registration(fingerprint="policy-2"))
    with pytest.raises(LedgerError, match="another version of the policy"):
        ledger.reserve(claim("a"))
    assert isinstance(ledger.reserve(claim("a", policy="policy-2")), Pending)


UNUSUAL = {k: v for k, v in globals().items() if k.startswith("unusual_")}


@pytest.mark.parametrize("name", UNUSUAL)
def test_whatever_is_unusual_is_decided_by_a_transaction(place, begun, name):
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        begun.clear()
        UNUSUAL[name](ledger, place)
        assert begun or name == "unusual_size"
        Checker(place).look(ledger)
        verified(ledger)


@pytest.mark.parametrize("what", [CHARGE, ANSWER], ids=["reserve", "store"])
def test_who_waited_for_the_lock_writes_nothing_on_what_it_saw_before(server, tmp_path, what):
    """Another writer, with another head file, commits while the statement waits for the lock.

    What it looked at is older than what it finds; the number of its entry is taken.
    """
    place = server
    other = replace(place, head=str(tmp_path / "elsewhere"))
    with place.new() as one:
        ask(one, place, claim("first"))
        (tmp_path / "elsewhere").write_bytes((tmp_path / place.head).read_bytes())
        with other.open() as two:
            ask(two, other, claim("second"))
            _ = [ask(one, place, claim(name)) for name in ("x", "y")]
            ask(two, other, claim("z"))
            if what is ANSWER:
                two.reserve(claim("mine"))
                one.reserve(claim("hers"))
                ask(two, other, claim("zz"))
            refused, done = [], []
            called = two._once._put

            def watched(name, call, values):
                wrote = called(name, call, values)
                refused.append((call is what, wrote))
                return wrote

            def work():
                if what is CHARGE:
                    done.append(two.reserve(claim("same")))
                else:
                    done.append(two.store("mine", "answer"))

            thread = threading.Thread(target=work)

            def start(step):
                if step.startswith("before the commit of") and not thread.ident:
                    two._once._put = watched
                    thread.start()
                    thread.join(timeout=0.5)  # it has asked for the lock by then
                    assert not done

            slowly(one)  # a transaction holds the lock
            with at_steps(start):
                first = one.reserve(claim("same"))
                thread.join(timeout=60)
            assert (True, False) in refused
            if what is CHARGE:
                assert done == [replace(first, resumed=True)]
            else:
                assert done[0].answer == "answer"
            Checker(place).look(one)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE discreet_entry SET hash = '0000' WHERE seq = {last}",
        "DELETE FROM discreet_entry WHERE seq = {last}",
    ],
)
def test_it_builds_on_nothing_but_the_head_of_the_file(place, change):
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        ledger._database._raw.execute(change.format(last=ledger.head.seq))
        before = ledger.accounts["staff"].spent
        with pytest.raises(LedgerError, match="taken back to an older state"):
            ledger.reserve(claim("a"))
        assert ledger.accounts["staff"].spent == before


def test_an_account_that_is_gone_pays_nothing(place):
    with place.new() as ledger:
        _ = [ask(ledger, place, claim(name)) for name in ("first", "second")]
        ledger._database._raw.execute("DELETE FROM discreet_account WHERE name = 'staff'")
        seq = ledger.head.seq
        with pytest.raises(LedgerError, match="no account"):
            ledger.reserve(claim("a"))
        assert ledger.head.seq == seq


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_does_not_write_on_its_parents_connection(place):
    with place.new() as ledger:
        ask(ledger, place, claim("first"))
        refused_in_a_fork(ledger)
        ask(ledger, place, claim("b"))
        assert ledger.accounts["staff"].spent.main == 3 * UNIT
        Checker(place).look(ledger)

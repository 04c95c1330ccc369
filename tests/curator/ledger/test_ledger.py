"""The ledger's behaviour: keys, charges, hits, sizes, refusals; on SQLite and PostgreSQL."""

import os
import pickle
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from tests.curator.ledger.harness import (
    POLICY,
    UNIT,
    Checker,
    Place,
    ask,
    claim,
    compute,
    new_ledger,
    registration,
    replace,
)

from discreet import private
from discreet.curator.ledger import tables
from discreet.curator.ledger.amounts import Amount, limit_of
from discreet.curator.ledger.anchor import Anchor
from discreet.curator.ledger.ledger import Ledger, head_path
from discreet.curator.ledger.registry import register, retire
from discreet.curator.ledger.restore import restored
from discreet.curator.ledger.steps import on_step
from discreet.curator.ledger.values import Account, Charge, Claim, Done, Pending
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError, LedgerError, ParameterError


@pytest.fixture
def ledger(either):
    with either.new() as made:
        yield made


def spent(ledger):
    return {name: account.spent.main // UNIT for name, account in ledger.accounts.items()}


def state(ledger):
    """Everything that a refusal must not change."""
    return ledger.everything()


# reserve and store


def test_who_reserves_is_told_what_was_paid_now(ledger, either):
    """In full; by nobody again, or under the same key; for another's answer the allowance only."""
    both, allowance = claim("a").charges, claim("a", analyst="bob").charges[1:]
    assert ledger.reserve(claim("a")).paid == both
    assert ledger.reserve(claim("a")).paid == ()
    ledger.store("a", "42")
    assert ledger.reserve(claim("a")).paid == ()
    assert ledger.reserve(claim("b", canon="a")).paid == ()
    assert ledger.reserve(claim("c", canon="a", analyst="bob")).paid == allowance
    assert ledger.reserve(claim("c", canon="a", analyst="bob")).paid == ()
    own = replace(claim("d", canon="a"), named=True)
    assert ledger.reserve(own).paid == ()
    half = claim("e", canon="z", size=2 * UNIT, cost=2 * UNIT)
    assert ledger.reserve(half).paid == half.charges  # in one statement
    ledger.store("e", "43")
    coarse = replace(claim("f", canon="z", analyst="bob"), finer=("e",))
    made = ledger.reserve(coarse)
    assert (made.of, made.paid) == ("e", coarse.charges[1:])
    paid = {"staff": 3, "staff@ann": 3, "staff@bob": 2}
    assert spent(ledger) == paid


def test_a_question_is_charged_computed_and_stored(ledger):
    pending = ledger.reserve(claim("a"))
    assert isinstance(pending, Pending)
    assert not pending.resumed
    assert len(pending.noise) >= 32
    assert spent(ledger) == {"staff": 1, "staff@ann": 1, "staff@bob": 0}
    assert ledger.answer("a") is None
    done = ledger.store("a", "42")
    assert (done.key, done.answer, done.seq, done.hit) == ("a", "42", pending.seq, "")
    assert ledger.answer("a") == done
    assert ledger.pending == ()
    verified(ledger)


def test_every_question_has_a_noise_of_its_own(ledger):
    assert len({ledger.reserve(claim(f"k{n}")).noise for n in range(20)}) == 20


def test_the_same_key_again_before_the_answer_resumes(ledger):
    first = ledger.reserve(claim("a"))
    before = state(ledger)
    again = ledger.reserve(claim("a"))
    assert again == replace(first, resumed=True)
    assert ledger.pending == (again,)
    assert state(ledger) == before


def test_the_same_key_again_after_the_answer_gets_it(ledger, either):
    done = ask(ledger, either, claim("a"))
    before = state(ledger)
    for _ in range(3):
        assert ledger.reserve(claim("a")) == done
    assert state(ledger) == before


def test_the_same_key_for_another_question_is_refused(ledger, either):
    ledger.reserve(claim("a"))
    ask(ledger, either, claim("b"))
    before = state(ledger)
    for key in ("a", "b"):
        with pytest.raises(LedgerError, match=r"another question.*Nothing was charged"):
            ledger.reserve(claim(key, canon="other"))
    assert state(ledger) == before


def test_who_stores_second_gets_the_first_answer(ledger):
    ledger.reserve(claim("a"))
    first = ledger.store("a", "1")
    before = state(ledger)
    assert ledger.store("a", "2").answer == first.answer == "1"
    assert state(ledger) == before


def test_nothing_is_stored_that_was_not_charged(ledger):
    with pytest.raises(LedgerError, match="never charged"):
        ledger.store("a", "1")
    assert ledger.answer("a") is None


def test_an_answer_that_looks_like_a_pointer_is_refused(ledger):
    ledger.reserve(claim("a"))
    with pytest.raises(ParameterError):
        ledger.store("a", "@b")
    assert ledger.store("a", "").answer == ""


@pytest.mark.parametrize("answer", ["x" * 300_000, "ünïcödé ☃ 💡", '"; DROP TABLE x; --', "\n\t"])
def test_answers_are_kept_as_they_are(ledger, answer):
    ledger.reserve(claim("a"))
    ledger.store("a", answer)
    assert ledger.answer("a").answer == answer
    verified(ledger)


@pytest.mark.parametrize("key", ["", "'; --", "ключ", "a" * 5000, "@b", "%(x)s", "?:1"])
def test_any_text_is_a_key(ledger, either, key):
    done = ask(ledger, either, claim(key, canon="q"))
    assert ledger.answer(key) == done
    verified(ledger)


def test_a_key_that_is_no_text_is_refused(ledger):
    before = state(ledger)
    with pytest.raises(LedgerError, match="could not be written"):
        ledger.reserve(claim("\ud800", digest_of="x", canon="c"))
    assert state(ledger) == before


# hits


def test_an_own_question_again_is_free(ledger, either):
    done = ask(ledger, either, claim("a", canon="q"))
    before = state(ledger)
    again = ledger.reserve(claim("b", canon="q"))
    assert (again.key, again.answer, again.hit) == ("a", done.answer, "own")
    assert state(ledger) == before


def test_a_chosen_key_keeps_the_own_answer_that_it_got(ledger, either):
    done = ask(ledger, either, claim("a", canon="q"))
    named = replace(claim("b", canon="q"), named=True)
    got = ledger.reserve(named)
    assert (got.key, got.answer, got.hit) == ("b", done.answer, "other")
    assert spent(ledger) == {"staff": 1, "staff@ann": 1, "staff@bob": 0}
    finer = ask(ledger, either, claim("c", canon="q", size=2 * UNIT, cost=2 * UNIT))
    before = state(ledger)
    assert finer.answer != done.answer
    assert ledger.reserve(named).answer == done.answer, "one key, one answer"
    assert ledger.reserve(claim("d", canon="q")).answer == finer.answer
    assert state(ledger) == before
    verified(ledger)


def test_a_chosen_key_may_follow_one_that_points_at_another(ledger, either):
    done = ask(ledger, either, claim("a", canon="q"))
    ledger.reserve(replace(claim("b", canon="q", analyst="bob"), named=True))
    again = ledger.reserve(replace(claim("c", canon="q", analyst="bob"), named=True))
    assert (again.key, again.answer) == ("c", done.answer)
    assert ledger.answer("c").answer == done.answer
    assert spent(ledger) == {"staff": 1, "staff@ann": 1, "staff@bob": 1}
    verified(ledger)


def test_a_chosen_key_may_follow_a_failed_one(ledger, either):
    ledger.reserve(claim("a", canon="q"))
    ledger.store("a", "{}", failed=True)
    again = ledger.reserve(replace(claim("b", canon="q"), named=True))
    assert (again.key, again.answer, again.failed) == ("b", "{}", True)
    verified(ledger)


def test_no_two_entries_of_answers_can_be_told_apart_by_their_hashes(ledger, either):
    ask(ledger, either, claim("a", canon="q"))
    ledger.reserve(claim("b", canon="q", analyst="bob"))
    salts = [one.values()["salt"] for one in ledger.entries() if one.kind == "done"]
    assert len(set(salts)) == 2


def test_anothers_question_costs_the_allowance_only(ledger, either):
    done = ask(ledger, either, claim("a", canon="q"))
    hit = ledger.reserve(claim("b", canon="q", analyst="bob"))
    assert isinstance(hit, Done)
    assert (hit.key, hit.answer, hit.hit, hit.analyst) == ("b", done.answer, "other", "bob")
    assert spent(ledger) == {"staff": 1, "staff@ann": 1, "staff@bob": 1}
    assert ledger.answer("b").answer == done.answer
    before = state(ledger)
    assert ledger.reserve(claim("b", canon="q", analyst="bob")).answer == done.answer
    assert ledger.reserve(claim("c", canon="q", analyst="bob")).answer == done.answer
    assert state(ledger) == before
    verified(ledger)


def test_a_question_that_waits_is_no_hit(ledger, either):
    """Nobody waits for another's computation: both pay, both draw."""
    one = ledger.reserve(claim("a", canon="q"))
    two = ledger.reserve(claim("b", canon="q", analyst="bob"))
    assert isinstance(two, Pending)
    assert one.noise != two.noise
    assert spent(ledger)["staff"] == 2


def test_many_hits_are_found_at_once(ledger, either):
    done = ask(ledger, either, claim("a", canon="q"))
    for number in range(30):
        got = ledger.reserve(claim(f"b{number}", canon="q", analyst="bob"))
        assert got.answer == done.answer
    assert spent(ledger) == {"staff": 1, "staff@ann": 1, "staff@bob": 1}


def test_an_exhausted_allowance_refuses_a_hit_too(either):
    with either.new(total=10, allowance=1) as ledger:
        ask(ledger, either, claim("a", canon="q"))
        ask(ledger, either, claim("b", canon="r", analyst="bob"))
        before = state(ledger)
        for canon in ("q", "new"):
            with pytest.raises(BudgetExceededError, match="staff@bob") as caught:
                ledger.reserve(claim(f"c{canon}", canon=canon, analyst="bob"))
            assert (caught.value.asked, caught.value.left) == (Amount(UNIT), Amount(0))
        assert state(ledger) == before


# sizes


@pytest.mark.parametrize(("asked", "free"), [(3, True), (5, True), (6, False), (50, False)])
def test_a_better_answer_serves_a_smaller_question(ledger, either, asked, free):
    ask(ledger, either, claim("a", canon="q", size=5, cost=5))
    got = ledger.reserve(claim("b", canon="q", size=asked, cost=asked))
    assert isinstance(got, Done) == free
    assert ledger.accounts["staff"].spent.main == (5 if free else 5 + asked)


def test_the_best_answer_is_given(ledger, either):
    for number, size in enumerate((3, 9, 5)):
        ledger.reserve(claim(f"k{number}", canon="q", size=size, digest_of=f"{number}"))
        waiting = number
    for number in range(waiting + 1):
        ledger.store(f"k{number}", f"answer {number}")
    got = ledger.reserve(claim("last", canon="q", size=2))
    assert (got.key, got.answer) == ("k1", "answer 1")
    for size, found in ((4, None), (9, "answer 1"), (3, "answer 1")):
        hit = ledger.reserve(claim(f"bob{size}", canon="q", size=size, analyst="bob"))
        assert isinstance(hit, Pending) if found is None else hit.answer == found


def test_a_better_answer_of_somebody_else_serves_only_where_answers_are_public(ledger, either):
    ask(ledger, either, claim("a", canon="q", size=5, cost=5))
    asked = claim("b", canon="q", size=3, cost=3, analyst="bob")
    assert isinstance(ledger.reserve(asked), Pending)
    public = replace(claim("c", canon="q", size=2, cost=2, analyst="bob"), public=True)
    hit = ledger.reserve(public)
    assert (hit.hit, hit.analyst) == ("other", "bob")
    verified(ledger)


def test_other_questions_are_no_hits(ledger, either):
    ask(ledger, either, claim("a", canon="q"))
    assert isinstance(ledger.reserve(claim("b", canon="r")), Pending)


# refusals


def test_a_question_under_another_policy_is_refused(ledger, either):
    ask(ledger, either, claim("a"))
    before = state(ledger)
    with pytest.raises(LedgerError, match="another version of the policy"):
        ledger.reserve(claim("b", policy="old"))
    assert state(ledger) == before
    assert ledger.reserve(claim("a", policy="old")).key == "a"  # it was answered: that stands


def test_what_is_too_much_is_refused_and_changes_nothing(either):
    with either.new(total=3) as ledger:
        ledger.reserve(claim("a", cost=2 * UNIT))
        before = state(ledger)
        for cost in (UNIT + 1, 2 * UNIT, 10**18, 2**63 - 1, 2**63, 10**40):
            with pytest.raises(BudgetExceededError, match="nothing was charged") as caught:
                ledger.reserve(claim("b", cost=cost, size=cost))
            assert caught.value.left == Amount(UNIT)
        assert state(ledger) == before
        assert isinstance(ledger.reserve(claim("b")), Pending)
        with pytest.raises(BudgetExceededError):
            ledger.reserve(claim("c", cost=1))


def test_an_account_that_cannot_pay_lets_the_others_alone(either):
    """Families first, allowances second: the second one's refusal takes the first charge back."""
    with either.new(total=10, allowance=1) as ledger:
        ask(ledger, either, claim("a"))
        with pytest.raises(BudgetExceededError, match="staff@ann"):
            ledger.reserve(claim("b"))
        assert spent(ledger) == {"staff": 1, "staff@ann": 1, "staff@bob": 0}


def test_deltas_are_charged_beside(tmp_path):
    made = Ledger.create(tmp_path / "l.db")
    limit = limit_of(epsilon=1, delta="1e-6")
    register(made, registration(families={"staff": limit}, allowances={}))
    charge = lambda main, delta: (Charge("staff", Amount(main, delta)),)
    asked = lambda key, *amount: replace(claim(key), charges=charge(*amount))
    made.reserve(asked("a", 5, 10**15 - 1))
    with pytest.raises(BudgetExceededError, match="delta"):
        made.reserve(asked("b", 5, 2))
    with pytest.raises(BudgetExceededError):
        made.reserve(asked("b", 5, 10**21))
    made.reserve(asked("b", 5, 1))
    assert made.accounts["staff"].spent == Amount(10, 10**15)
    made.close()


@pytest.mark.parametrize("amount", [Amount(-1), Amount(0, -1), Amount(-(10**30))])
def test_a_negative_charge_is_refused(ledger, amount):
    before = state(ledger)
    with pytest.raises(ParameterError, match="negative"):
        ledger.reserve(replace(claim("a"), charges=(Charge("staff", amount),)))
    assert state(ledger) == before


def test_an_unknown_account_is_refused(ledger):
    with pytest.raises(LedgerError, match="no account 'nobody'"):
        ledger.reserve(replace(claim("a"), charges=(Charge("nobody", Amount(1)),)))


def test_a_sealed_account_pays_nothing_and_keeps_its_answers(ledger, either):
    done = ask(ledger, either, claim("a", canon="q"))
    waiting = ledger.reserve(claim("w"))
    retire(ledger, "staff")
    before = state(ledger)
    with pytest.raises(BudgetExceededError, match="retired") as caught:
        ledger.reserve(claim("b"))
    assert caught.value.left == Amount(0)
    assert state(ledger) == before
    assert ledger.reserve(claim("a", canon="q")).answer == done.answer
    with pytest.raises(BudgetExceededError, match="retired"):  # it would show that it is stored
        ledger.reserve(claim("c", canon="q", analyst="bob"))
    assert state(ledger) == before
    assert ledger.store("w", compute("w", waiting.noise)).key == "w"  # it was charged before
    verified(ledger)


@pytest.mark.parametrize(("price", "kind"), [("0.1", Done), ("0.0999999999999", Pending)])
def test_equal_is_the_price_that_was_said(ledger, either, price, kind):
    """Two prices that cost one number of units are not one price."""
    ask(ledger, either, replace(claim("a", canon="q"), info={"price": "0.1"}))
    asked = replace(claim("b", canon="q", analyst="bob"), info={"price": price})
    assert isinstance(ledger.reserve(asked), kind)


def test_charges_are_salted(ledger, either):
    """Whoever knows the log up to an entry cannot try out what the next one was."""
    ask(ledger, either, claim("a", canon="q"))
    ledger.reserve(claim("b", canon="q", analyst="bob"))
    ledger.reserve(claim("c", canon="r", analyst="bob"))
    kinds = ("reserve", "hit")
    salts = [entry.values()["salt"] for entry in ledger.entries() if entry.kind in kinds]
    assert len(set(salts)) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", salt) for salt in salts)


# opening


def test_a_ledger_is_found_again_as_it_was(either):
    with either.new() as ledger:
        ask(ledger, either, claim("a"))
        waiting = ledger.reserve(claim("b"))
        before = (state(ledger), ledger.head, ledger.policy, ledger.uid)
    with either.open() as ledger:
        assert (state(ledger), ledger.head, ledger.policy, ledger.uid) == before
        assert ledger.reserve(claim("b")) == replace(waiting, resumed=True)
        assert ledger.policy == (POLICY, 1)


def test_there_is_one_ledger_at_one_place(either, tmp_path):
    either.new().close()
    with pytest.raises(LedgerError, match=r"not made anew|exists"):
        either.new()
    with pytest.raises(LedgerError, match=r"not made anew|exists"):
        Ledger.create(either.address, head=tmp_path / "other-head")
    assert not (tmp_path / "other-head").exists()
    Checker(either).check()


def rights(place):
    """What may be done with each file of a ledger, by its ending."""
    found = Path(place.address).parent.glob(f"{Path(place.address).name}*")
    return {one.name.partition(".db")[2]: f"{one.stat().st_mode & 0o777:o}" for one in found}


def test_a_ledger_is_made_for_its_owner_alone(place):
    """From the first moment: no umask and no later step has a say in it."""
    seen, made, before = [], private.make, os.umask(0)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(private, "make", lambda path: (made(path), seen.append(rights(place))))
            ledger = place.new()
        with ledger:
            ask(ledger, place, claim("a"))
            assert seen == [{"": "600"}]
            assert rights(place) == {"": "600", "-wal": "600", "-shm": "600"}
    finally:
        os.umask(before)


def test_an_older_ledger_is_taken_from_others_when_its_owner_opens_it(place):
    with place.new() as ledger:
        for name in ("", "-wal", "-shm"):
            Path(f"{place.address}{name}").chmod(0o644)
        place.open().close()
        assert rights(place) == {"": "600", "-wal": "600", "-shm": "600"}
        ask(ledger, place, claim("a"))


def test_who_shares_the_head_file_shares_the_ledger(place):
    place.new().close()
    Path(place.head).chmod(0o660)
    Path(place.address).chmod(0o664)
    with place.open() as ledger:
        assert rights(place) == {"": "660", "-wal": "660", "-shm": "660"}
        ask(ledger, place, claim("a"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become two people of a group")
def test_two_people_of_a_group_share_a_ledger(nursery):
    """As the guide says: two files and their folder are given to the group."""
    group, folder = 54321, Path(tempfile.mkdtemp())
    try:
        place = Place.at(folder)
        place.new().close()
        os.chown(folder, 0, group)
        folder.chmod(0o2770)
        for name in (place.address, place.head):
            os.chown(name, 54322, group)
            Path(name).chmod(0o660)
        for number, user in enumerate((54322, 54323, 54322, 54323)):
            names = [f"q{number}"]
            assert nursery.run("as_member", place, user=user, group=group, names=names) == 0
        with place.open() as ledger:
            assert spent(ledger)["staff"] == 4
            verified(ledger)
        assert rights(place) == {"": "660"}
    finally:
        shutil.rmtree(folder)


def test_a_ledger_that_cannot_be_made_leaves_nothing(place, monkeypatch):
    def fails(*_):
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(tables, "make", fails)
        with pytest.raises(LedgerError, match="disk is full"):
            place.new()
    assert list(Path(place.address).parent.iterdir()) == []
    place.new().close()


def test_a_ledger_where_no_file_can_be_made_is_refused(place, tmp_path):
    with pytest.raises(LedgerError, match=r"no ledger can be made here: ledger.db.*No such file"):
        Ledger.create(tmp_path / "nowhere" / "ledger.db", head=place.head)
    assert list(tmp_path.iterdir()) == []


def test_a_head_file_without_its_ledger_keeps_a_new_one_away(place):
    place.new().close()
    Path(place.address).unlink()
    with pytest.raises(LedgerError, match=r"moved or deleted.* new ledger with all of its budget"):
        place.new()
    for use in (place.open, lambda: restored(place.address, head=place.head)):
        with pytest.raises(LedgerError, match=r"moved or deleted.* put a backup in its place") as e:
            use()
        assert "register" not in str(e.value)


def test_a_ledger_without_its_head_file_is_refused(either):
    either.new().close()
    Path(either.head).unlink()
    with pytest.raises(LedgerError, match="missing"):
        either.open()
    with Ledger.unanchored(either.address, head=either.head) as ledger:
        verified(ledger)
        with pytest.raises(LedgerError, match="read only"):
            ledger.reserve(claim("a"))


def test_the_head_file_of_another_ledger_is_refused(places):
    one, two = places(), places()
    one.new().close()
    two.new().close()
    Path(two.head).replace(one.head)
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        one.open()


def test_a_ledger_of_before_under_a_running_curator_is_noticed(place, tmp_path):
    """The head is checked in every transaction, not only when the ledger is opened."""
    with place.new() as ledger:
        ask(ledger, place, claim("a"))
        seq = ledger.head.seq
        ledger._database._raw.execute(f"DELETE FROM discreet_entry WHERE seq = {seq}")
        with pytest.raises(LedgerError, match="taken back"):
            ledger.reserve(claim("b"))
        assert spent(ledger)["staff"] == 1


def test_the_head_file_is_beside_a_file_and_must_be_said_for_postgres():
    assert head_path("x.ledger", None) == Path("x.ledger.head")
    assert head_path("x.ledger", "y") == Path("y")
    with pytest.raises(ParameterError, match="must be said"):
        head_path("postgresql://host/x", None)


def test_a_closed_ledger_says_so(place):
    ledger = place.new()
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.reserve(claim("a"))


# the head file keeps up


class Plug(Exception):
    """Stands for a kill: the process goes on elsewhere."""


def crash(ledger, label, work):
    def pull(step):
        if step == label:
            raise Plug

    on_step(pull)
    try:
        with pytest.raises(Plug):
            work()
    finally:
        on_step(None)


def anchored(place, ledger):
    anchor = Anchor(Path(place.head), ledger.uid)
    try:
        return anchor.head, anchor.spent(1)
    finally:
        anchor.close()


def test_a_head_that_was_not_written_is_made_up_for(either):
    """Killed between commit and head: who goes on under that charge writes it down first."""
    with either.new() as one, either.open() as other:
        crash(one, "after the commit of reserve", lambda: one.reserve(claim("a")))
        assert anchored(either, one)[1] == Amount(0)
        assert isinstance(other.reserve(claim("a")), Pending)
        assert anchored(either, one) == (one.head, Amount(UNIT))


def test_opening_brings_the_head_up_to_date(either):
    with either.new() as one:
        crash(one, "after the commit of reserve", lambda: one.reserve(claim("a")))
    with either.open() as ledger:
        assert anchored(either, ledger) == (ledger.head, Amount(UNIT))


def test_curators_with_head_files_of_their_own(postgres_places, tmp_path):
    """Two machines, one PostgreSQL: each head file knows what the other one charged."""
    place = postgres_places()
    other = replace(place, head=str(tmp_path / "elsewhere"))
    with place.new() as one:
        Anchor.create(Path(other.head), one.uid).close()
        with other.open() as two:
            for number in range(6):
                ask((one, two)[number % 2], place, claim(f"k{number}"))
            assert anchored(other, two) == (two.head, Amount(6 * UNIT))
            assert anchored(place, one)[1] == Amount(5 * UNIT)
            ask(one, place, claim("k5"))  # a hit on its own key charges nothing, and catches up
            assert anchored(place, one) == (one.head, Amount(6 * UNIT))


LESS = {
    "all": "UPDATE discreet_account SET spent = 0",
    "a unit of the people": "UPDATE discreet_account SET spent = spent - 1 WHERE name = 'staff'",
    "an allowance": "UPDATE discreet_account SET spent = 0 WHERE name = 'staff@ann'",
    "an account": "DELETE FROM discreet_account WHERE name = 'staff'",
}


@pytest.mark.parametrize("what", LESS)
def test_a_ledger_whose_accounts_have_spent_less_does_not_open(either, what):
    """Somebody gave the budget back in the table: it is not granted again."""
    with either.new() as ledger:
        ask(ledger, either, claim("a"))
        before = anchored(either, ledger)
        ledger._database._raw.execute(LESS[what])
    with pytest.raises(LedgerError, match=r"changed.*ledger rebuild.*restore.*Nothing was charged"):
        either.open()
    with Ledger.unanchored(either.address, head=either.head) as ledger:
        assert anchored(either, ledger) == before
        with pytest.raises(LedgerError, match="account 'staff"):
            verified(ledger)


def test_a_delta_that_was_given_back_is_noticed(tmp_path):
    limit = limit_of(epsilon=5, delta="0.001")
    wanted = replace(registration(), families={"staff": limit}, allowances={})
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        register(ledger, wanted)
        ledger.reserve(replace(claim("a"), charges=(Charge("staff", Amount(0, 9)),)))
        ledger._database._raw.execute("UPDATE discreet_account SET delta_spent = 8")
    with pytest.raises(LedgerError, match="was changed"):
        Ledger(tmp_path / "ledger.db")


def test_a_dataset_that_is_retired_no_more_is_noticed(either):
    with either.new() as ledger:
        retire(ledger, "staff")
    with either.open() as ledger:  # as it was retired it opens
        assert ledger.accounts["staff"].sealed
        ledger._database._raw.execute("UPDATE discreet_account SET sealed = 0")
        with pytest.raises(LedgerError, match="was changed"):
            ledger.reserve(claim("a"))
    with pytest.raises(LedgerError, match="was changed"):
        either.open()


@pytest.mark.parametrize("asked", [0, 1, 3], ids=["first", "second", "usual"])
def test_budget_that_is_given_back_under_a_running_curator_is_not_spent(either, asked):
    """Its next charge is refused, whether it looks first or is one statement."""
    with either.new() as ledger:
        ask(ledger, either, claim("before"))
    with either.open() as ledger:
        for number in range(asked):
            ask(ledger, either, claim(f"k{number}"))
        ledger._database._raw.execute(LESS["all"])
        log = ledger.head
        for name in ("x", "y"):
            with pytest.raises(LedgerError, match="'staff' has spent epsilon 0 by"):
                ledger.reserve(claim(name))
        assert ledger.head == log


# values


def test_noise_keys_are_not_shown(ledger):
    pending = ledger.reserve(claim("a"))
    assert pending.noise.hex() not in repr(pending)
    assert repr(pending.noise) not in repr(pending)
    assert "Pending 'a'" in repr(pending)
    log = "".join(entry.body for entry in ledger.entries())
    assert pending.noise.hex() not in log
    assert ledger.uid[:8] in repr(ledger)


def test_what_is_left():
    account = Account(1, "staff", "pure", Amount(5, 3), Amount(2, 1), sealed=False)
    assert account.left == Amount(3, 2)
    assert replace(account, sealed=True).left == Amount(0)


def test_values_are_values():
    asked = claim("a")
    assert isinstance(asked, Claim)
    assert pickle.loads(pickle.dumps(asked)) == asked
    with pytest.raises(AttributeError):
        asked.key = "b"


def test_the_log_tells_who_asked_what(tmp_path):
    with new_ledger(tmp_path / "l.db") as ledger:
        pending = ledger.reserve(claim("a", analyst="bob"))
        entry = ledger.entries(pending.seq - 1)[0]
        values = entry.values()
        assert (entry.kind, values["analyst"], values["key"]) == ("reserve", "bob", "a")
        assert values["charges"] == [[1, UNIT, 0], [3, UNIT, 0]]
        assert values["info"] == {"sql": "SELECT a"}


def test_what_is_closed_leaves_no_log_of_sqlite_behind(place):
    """Also after a refusal: a statement that was cut off would keep the file open, and with it the
    pages in which erased noise keys still stand.
    """
    with place.new(total=1) as ledger:
        ask(ledger, place, claim("a"))
        with pytest.raises(BudgetExceededError):
            ledger.reserve(claim("b"))
    found = Path(place.address).parent.glob(f"{Path(place.address).name}-*")
    assert [one.name for one in found] == []

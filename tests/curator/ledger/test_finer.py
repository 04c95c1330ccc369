"""A better stored answer that a question is made of: who pays, what is logged, what is refused."""

import threading

import pytest
from tests.curator.ledger.harness import UNIT, ask, claim, compute, replace

from discreet.curator.ledger.registry import retire
from discreet.curator.ledger.values import Done, Pending
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError, LedgerError


@pytest.fixture
def ledger(either):
    with either.new() as made:
        yield made


def sized(key, size, *, analyst="ann", finer=(), canon="q"):
    made = claim(key, canon=canon, size=size * UNIT, cost=size * UNIT, analyst=analyst)
    return replace(made, finer=tuple(finer))


def spent(ledger):
    return {name: account.spent.main // UNIT for name, account in ledger.accounts.items()}


def test_the_asker_pays_and_the_people_do_not(ledger, either):
    ask(ledger, either, sized("a", 3))
    made = ledger.reserve(sized("b", 1, analyst="bob", finer=["a"]))
    assert isinstance(made, Pending)
    assert (made.of, made.resumed) == ("a", False)
    assert spent(ledger) == {"staff": 3, "staff@ann": 3, "staff@bob": 1}
    entry = ledger.entries()[made.seq - 1]
    assert (entry.kind, entry.values()["of"], entry.values()["size"]) == ("reserve", "a", UNIT)
    assert entry.hash == made.hash
    done = ledger.store("b", compute("b", made.noise))
    assert (done.key, done.hit, done.analyst) == ("b", "", "bob")
    verified(ledger)


def test_it_is_taken_up_again_with_its_noise_and_its_origin(ledger, either):
    ask(ledger, either, sized("a", 3))
    first = ledger.reserve(sized("b", 1, analyst="bob", finer=["a"]))
    (waiting,) = ledger.pending
    again = ledger.reserve(sized("b", 1, analyst="bob"))  # whatever is there by now
    assert (again.noise, again.of, again.seq, again.hash) == (
        first.noise, first.of, first.seq, first.hash,
    )  # fmt: skip
    assert again.resumed
    assert waiting == again
    assert spent(ledger)["staff@bob"] == 1
    verified(ledger)


def test_a_new_question_is_made_of_nothing(ledger, either):
    ask(ledger, either, sized("a", 3))
    assert ledger.reserve(sized("b", 5, analyst="bob", finer=["a"])).of == ""
    assert ledger.reserve(sized("c", 1, analyst="bob")).of == ""
    assert "of" not in ledger.entries()[-1].values()
    assert spent(ledger) == {"staff": 9, "staff@ann": 3, "staff@bob": 6}


@pytest.mark.parametrize(
    "finer", [["missing"], ["waiting"], ["other"], ["coarse"], ["missing", "other"]], ids=str
)
def test_only_a_better_stored_answer_to_the_same_question_serves(ledger, either, finer):
    ask(ledger, either, sized("other", 5, canon="r"))
    ask(ledger, either, sized("coarse", 1))
    ledger.reserve(sized("waiting", 4))
    before = spent(ledger)["staff"]
    made = ledger.reserve(sized("b", 2, analyst="bob", finer=finer))
    assert (made.of, spent(ledger)["staff"]) == ("", before + 2)


def test_an_equal_answer_comes_first_and_an_own_one_before_it(ledger, either):
    ask(ledger, either, sized("a", 3))
    ask(ledger, either, sized("b", 2, analyst="bob", finer=["a"]))
    mine = ledger.reserve(sized("c", 1, analyst="bob", finer=["a"]))
    assert (mine.key, mine.hit) == ("b", "own")
    owner = replace(sized("d", 2, finer=["a"]), analyst="", charges=())
    equal = ledger.reserve(owner)
    assert isinstance(equal, Done)
    assert equal.hit == "other"
    assert ledger.entries()[equal.seq - 1].values()["of"] == "b"
    verified(ledger)


def test_where_answers_are_public_the_best_serves(ledger, either):
    for key, size in (("a", 1), ("b", 3), ("c", 2)):
        ask(ledger, either, sized(key, size))
    found = ledger.reserve(sized("d", 1, analyst="bob")._replace(public=True))
    assert isinstance(found, Done)
    assert ledger.entries()[found.seq - 1].values()["of"] == "b"


def test_of_one_noise_an_analyst_is_given_one_answer(ledger, either):
    ask(ledger, either, sized("a", 5))
    ask(ledger, either, sized("b", 1, analyst="bob", finer=["a"]))
    assert spent(ledger)["staff"] == 5
    for key, size, finer in (("c", 2, ["a"]), ("d", 5, [])):
        made = ledger.reserve(sized(key, size, analyst="bob", finer=finer))
        assert isinstance(made, Pending)
        assert made.of == ""
        ledger.store(key, compute(key, made.noise))
    assert spent(ledger) == {"staff": 12, "staff@ann": 5, "staff@bob": 8}


def test_what_points_at_a_coarser_answer_has_its_noise(ledger, either):
    ask(ledger, either, sized("a", 5))
    owner = {"analyst": "", "charges": ()}
    ask(ledger, either, replace(sized("b", 1, finer=["a"]), **owner))
    hit = ask(ledger, either, sized("c", 1, analyst="bob"))
    assert hit.hit == "other"
    made = ledger.reserve(sized("d", 2, analyst="bob", finer=["b", "a"]))
    assert made.of == ""
    ask(ledger, either, sized("e", 6))
    assert ledger.reserve(sized("f", 3, analyst="bob", finer=["a", "e"])).of == "e"


def test_one_that_waits_counts(ledger, either):
    ask(ledger, either, sized("a", 5))
    ledger.reserve(sized("b", 1, analyst="bob", finer=["a"]))
    assert ledger.reserve(sized("c", 2, analyst="bob", finer=["a"])).of == ""


def test_better_answers_are_listed_the_cheapest_first(ledger, either):
    for key, size in (("a", 5), ("b", 9), ("c", 7), ("d", 2)):
        ledger.reserve(sized(key, size))
    for key in "abcd":
        ledger.store(key, f"answer {key}")
    assert list(ledger.finer("q", 2 * UNIT).items()) == [
        ("a", "answer a"), ("c", "answer c"), ("b", "answer b"),
    ]  # fmt: skip
    ask(ledger, either, sized("e", 5, analyst="bob"))  # points at another's
    assert list(ledger.finer("q", 5 * UNIT)) == ["c", "b"]
    assert list(ledger.finer("q", 4 * UNIT)) == ["a", "c", "b"]
    assert ledger.finer("q", 9 * UNIT) == {}
    assert ledger.finer("q", 1 << 80) == {}
    assert ledger.finer("r", 0) == {}


def test_an_exhausted_allowance_refuses_and_nothing_changes(either):
    with either.new(total=10, allowance=4) as ledger:
        ask(ledger, either, sized("a", 3))
        ask(ledger, either, sized("b", 4, analyst="bob", canon="r"))
        head = ledger.head
        with pytest.raises(BudgetExceededError, match="staff@bob"):
            ledger.reserve(sized("c", 1, analyst="bob", finer=["a"]))
        assert ledger.head == head


def test_retirement_ends_what_waits_for_a_stored_answer_too(ledger, either):
    ask(ledger, either, sized("a", 3))
    ledger.reserve(sized("b", 1, analyst="bob", finer=["a"]))
    ledger.reserve(sized("c", 1, analyst="bob", canon="r"))
    retire(ledger, "staff")
    for waiting in (sized("b", 1, analyst="bob"), sized("c", 1, analyst="bob", canon="r")):
        with pytest.raises(BudgetExceededError, match="retired"):
            ledger.reserve(waiting)
    verified(ledger)


def test_a_log_that_makes_an_answer_of_one_that_is_not_there_is_refused(either):
    from discreet.curator.ledger.chain import canonical, follows
    from discreet.curator.ledger.verify import rebuilt

    with either.new() as ledger:
        ask(ledger, either, sized("a", 3))
        ask(ledger, either, sized("b", 1, analyst="bob", finer=["a"]))
        entries = list(ledger.entries())
    rebuilt(entries)
    for of in ("missing", "b", "canon", "size"):
        made, head = [], None
        for entry in entries:
            values = entry.values()
            if values.get("of") == "a":
                values |= {"canon": {"canon": "z"}, "size": {"size": 10**30}}.get(of, {"of": of})
            start = head if head is not None else _start()
            made.append(follows(start, entry.kind, canonical(values)))
            head = made[-1].head
        with pytest.raises(LedgerError, match=r"was not there|another question"):
            rebuilt(made)


def _start():
    from discreet.curator.ledger.chain import START

    return START


def test_racing_for_one_origin(either):
    """Threads of one analyst: one is made of it, all others are new."""
    either.new().close()
    with either.open() as ledger:
        ask(ledger, either, sized("a", 5))
    got = []

    def race(number):
        with either.open() as mine:
            got.append(mine.reserve(sized(f"b{number}", number + 1, analyst="bob", finer=["a"])))

    threads = [threading.Thread(target=race, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made.of for made in got) == ["", "", "", "a"]
    with either.open() as ledger:
        verified(ledger)

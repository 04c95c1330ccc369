"""What a ledger tells changes nothing, whoever asks for it and however often."""

import inspect

import pytest
from tests.curator.ledger.harness import UNIT, ask, claim

from discreet.curator.ledger import statements
from discreet.curator.ledger.compiled import Statement
from discreet.curator.ledger.reading import Reading
from discreet.curator.ledger.statements import (
    ASKED,
    ASKED_BEFORE,
    BEST,
    BEST_OF,
    BY_CANON,
    FINER,
    LEDGER,
    OWN_BEST,
)
from discreet.errors import LedgerError

CALLS = {
    "accounts": lambda ledger: ledger.accounts,
    "admitted": lambda ledger: ledger.admitted(0),
    "answer": lambda ledger: ledger.answer("a"),
    "best": lambda ledger: ledger.best("a", "alice"),
    "entries": lambda ledger: ledger.entries(),
    "entry_of": lambda ledger: ledger.entry_of("b", "alice"),
    "everything": lambda ledger: ledger.everything(),
    "finer": lambda ledger: ledger.finer("a", 0),
    "following": lambda ledger: ledger.following(ledger.policy[0]),
    "glance": lambda ledger: ledger.glance(LEDGER),
    "head": lambda ledger: ledger.head,
    "is_near": lambda ledger: ledger.is_near,
    "is_own": lambda ledger: ledger.is_own("a", "ann"),
    "paid": lambda ledger: ledger.paid("a", "alice", before=99),
    "parts": lambda ledger: ledger.parts(),
    "pending": lambda ledger: ledger.pending,
    "policy": lambda ledger: ledger.policy,
    "prepare": lambda ledger: ledger.prepare(statements),
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


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("is_near", "prepare")])
def test_a_closed_ledger_tells_nothing(place, name):
    ledger = place.new()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        CALLS[name](ledger)


def test_the_best_answer_is_its_askers_or_anybodys(either):
    """A question that waits has none; one that points at another's counts as her own."""
    with either.new() as ledger:
        ask(ledger, either, claim("a", analyst="ann"))
        assert ledger.best("a", "ann") == ledger.best("a", None) == UNIT
        assert ledger.best("a", "bob") is None
        ask(ledger, either, claim("b", canon="a", analyst="ann", size=3 * UNIT))
        ledger.reserve(claim("c", canon="a", analyst="ann", size=4 * UNIT))
        assert ledger.best("a", "ann") == ledger.best("a", None) == 3 * UNIT
        ask(ledger, either, claim("d", canon="a", analyst="bob"))
        assert [entry.kind for entry in ledger.entries()][-2:] == ["hit", "done"]
        assert (ledger.best("a", "bob"), ledger.best("a", None)) == (UNIT, 3 * UNIT)
        for canon, who in (("a", "somebody else"), ("d", "bob"), ("e", None)):
            assert ledger.best(canon, who) is None


def _effort(ledger, statement, **values):
    """How many steps a statement takes in SQLite's machine; no clock is asked."""
    made, steps = Statement(statement, ledger._database.dialect), []
    raw = ledger._database._raw
    raw.set_progress_handler(lambda: steps.append(1), 1)
    raw.execute(made.text, values).fetchall()
    raw.set_progress_handler(None, 1)
    return len(steps)


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (BEST_OF, {"who": "ann"}),
        (BEST, {}),
        (ASKED_BEFORE, {"who": "ann", "before": 10**6}),
        (ASKED, {"who": "ann"}),
        (OWN_BEST, {"who": "ann", "least": 0, "kind": "reserve"}),
        (OWN_BEST, {"who": "bob", "least": 0, "kind": "hit"}),
        (BY_CANON, {"least": 0, "most": 10**9}),
        (FINER, {"least": 0}),
    ],
)
@pytest.mark.parametrize("asked", [False, True])
def test_what_others_repeat_shows_in_nobodys_time(place, statement, values, asked):
    """Nor do own repetitions in what is read of the best. Each has a name, and is a row."""
    with place.new() as ledger:
        if asked:
            ask(ledger, place, claim("own", canon="a", analyst="ann"))
        for number in range(2):
            ask(ledger, place, claim(f"b{number}", canon="a", analyst="bob")._replace(named=True))
        before = _effort(ledger, statement, asked="a", **values)
        for number in range(2, 60):
            ask(ledger, place, claim(f"b{number}", canon="a", analyst="bob")._replace(named=True))
        assert [entry.kind for entry in ledger.entries()][-2:] == ["hit", "done"]
        assert _effort(ledger, statement, asked="a", **values) == before


@pytest.mark.parametrize("paid", [2, 30])
def test_what_others_pay_for_shows_in_nobodys_time(place, paid):
    """Another's askings at many prices, each of which is answered from the data."""
    with place.new(total=999) as ledger:
        before = _effort(ledger, BEST_OF, asked="a", who="ann")
        for number in range(1, paid + 1):
            ask(ledger, place, claim(f"{number}", canon="a", analyst="bob", size=number * UNIT))
        assert {entry.kind for entry in ledger.entries()} >= {"reserve"}
        assert _effort(ledger, BEST_OF, asked="a", who="ann") == before


def test_what_others_ask_shows_in_nobodys_time_in_postgres(postgres_places):
    """An analyst's answers are found by an index that has her name in it."""
    with postgres_places().new() as ledger:
        text = Statement(BEST_OF, ledger._database.dialect).text
        with ledger._reading() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            values = {"asked": "a", "who": "ann"}
            plan = cursor.execute(f"EXPLAIN (FORMAT JSON) {text}", values).fetchone()[0]
    looks = [part["Plans"][0] for part in plan[0]["Plan"]["Plans"]]
    assert len(looks) == 2
    for look in looks:
        assert look["Index Name"] == "discreet_entry_canon"
        assert all(f"({name} = " in look["Index Cond"] for name in ("canon", "kind", "analyst"))


@pytest.mark.parametrize("wrong", ["'abc'", "1e30", "x'00'"])
def test_a_size_that_was_changed_is_found(place, wrong):
    with place.new() as ledger:
        ask(ledger, place, claim("a", analyst="ann"))
        ledger._database._raw.execute(f"UPDATE discreet_entry SET size = {wrong} WHERE key = 'a'")
        for who in ("ann", None):
            with pytest.raises(LedgerError, match="size of a question cannot be read"):
                ledger.best("a", who)


def test_what_was_paid_for_also_points_at_an_answer_of_others(place):
    """An asker whose only earlier answers are such has earlier answers."""
    with place.new() as ledger:
        ask(ledger, place, claim("a", canon="q", analyst="bob"))
        ask(ledger, place, claim("b", canon="q", analyst="ann"))
        assert ledger.entries()[-2].kind == "hit"
        later = ledger.reserve(claim("c", canon="q", analyst="ann", size=3 * UNIT))
        assert [one.key for one in ledger.paid("q", "ann", before=later.seq)] == ["b"]
        assert ledger.paid("q", "eve", before=later.seq) == []

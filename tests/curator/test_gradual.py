"""A stored answer serves others at a lower price: who pays, what they see, and what they get."""

import signal
import subprocess
import sys
import textwrap
from dataclasses import fields
from datetime import UTC, datetime
from itertools import combinations, pairwise

import pytest
from tests.curator.payroll import COUNT, POLICY, SUM, failing, spent

from discreet.curator.answering import Answering, Telling
from discreet.curator.curator import Curator
from discreet.curator.gradual import finer_answer
from discreet.curator.kept import Kept
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError, EngineError, LedgerError
from discreet.mechanisms.geometric import Geometric
from discreet.noise.source import KeyedSource
from discreet.query.price import Target

THREE = POLICY.replace(
    "[dataset.payroll]", "[analyst.carol.allowance.staff]\nepsilon = 1\n\n[dataset.payroll]"
)
MEDIAN = "SELECT MEDIAN(pay) AS m FROM payroll"


@pytest.fixture
def policy():
    return THREE


def paid(curator, *who):
    accounts = curator.accounts()
    names = ["staff", *(f"staff@{one}" for one in who)]
    return [accounts[name].spent.said("pure").removeprefix("epsilon ") for name in names]


def origins(curator):
    """Of every asking the key of the one whose noise it has, from the log."""
    found = {}
    for entry in curator.ledger.entries():
        if entry.kind in ("reserve", "hit"):
            values = entry.values()
            found[values["key"]] = found[values["of"]] if "of" in values else values["key"]
    return found


# who pays, and for what


def test_a_lower_price_costs_the_asker_and_not_the_people(curator):
    first = curator.ask(COUNT, epsilon="0.3", analyst="alice")
    second = curator.ask(COUNT, epsilon="0.1", analyst="bob")
    assert paid(curator, "alice", "bob") == ["0.3", "0.3", "0.1"]
    assert origins(curator)[second.id] == first.id
    assert str(second.release.guarantee.epsilon) == "1/10"
    assert (second.cost, second.analyst) == ("epsilon 0.1", "bob")
    assert [loss.epsilon for loss in second.release.losses] == [second.release.guarantee.epsilon]
    assert second.id != first.id
    assert second.entry > first.entry
    assert curator.ledger.entries()[second.entry - 1].hash == second.head
    width = Geometric(epsilon="0.1", sensitivity=2).error("0.95")
    for raw, (low, high) in zip(
        second.release.raw["n"], second.release.intervals["n"], strict=True
    ):
        assert high - round(raw) == pytest.approx(width, abs=1)
        assert low <= high
    assert curator.record(second.id) == second


def test_an_own_answer_serves_at_a_lower_price_as_ever(curator):
    first = curator.ask(COUNT, epsilon="0.3", analyst="alice")
    assert curator.ask(COUNT, epsilon="0.1", analyst="alice") == first
    assert paid(curator, "alice") == ["0.3", "0.3"]


def test_the_owner_pays_nothing_for_a_coarser_answer(curator):
    curator.ask(COUNT, epsilon="0.3", analyst="alice")
    made = curator.ask(COUNT, epsilon="0.2")
    assert str(made.release.guarantee.epsilon) == "1/5"
    assert paid(curator) == ["0.3"]


def test_a_third_analyst_gets_the_coarser_answer_at_its_price(curator):
    curator.ask(COUNT, epsilon="0.3", analyst="alice")
    second = curator.ask(COUNT, epsilon="0.1", analyst="bob")
    third = curator.ask(COUNT, epsilon="0.1", analyst="carol")
    assert third.release.rows == second.release.rows
    assert third.analyst == "carol"
    least = curator.ask(COUNT, epsilon="0.05")
    assert str(least.release.guarantee.epsilon) == "1/20"
    assert len(set(origins(curator).values())) == 1
    assert paid(curator, "alice", "bob", "carol") == ["0.3", "0.3", "0.1", "0.1"]


def test_an_allowance_that_does_not_suffice_refuses(curator):
    curator.ask(SUM, epsilon="0.95", analyst="bob")
    curator.ask(COUNT, epsilon="0.3", analyst="alice")
    with pytest.raises(BudgetExceededError, match=r"staff@bob epsilon 0\.05 is left"):
        curator.ask(COUNT, epsilon="0.1", analyst="bob")


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("price", ["0.9", "0.5"])
def test_what_the_people_cannot_pay_is_refused_whether_or_not_it_is_stored(curator, asked, price):
    """A budget that is spent up, or retired, does not show what others asked."""
    if asked:
        curator.ask(COUNT, epsilon="0.9", analyst="alice")
    curator.ask(SUM, epsilon="2.1" if asked else "3")
    assert curator.accounts()["staff"].left.main == 0
    before = curator.accounts()["staff@bob"]
    with pytest.raises(BudgetExceededError) as spent_up:
        curator.ask(COUNT, epsilon=price, analyst="bob")
    assert str(spent_up.value) == (
        "the budget of these people does not suffice for this question; nothing was charged"
    )
    curator.retire("payroll")
    with pytest.raises(BudgetExceededError, match="retired"):
        curator.ask(COUNT, epsilon=price, analyst="bob")
    assert curator.accounts()["staff@bob"] == before
    if asked:  # what was paid for, and what the owner sees anyway, stays
        curator.ask(COUNT, epsilon=price, analyst="alice")
        curator.ask(COUNT, epsilon=price)


# what they see


def shape(record):
    """All that an asker can see of an answer but its numbers, its time and its names."""
    told = {item.name: getattr(record, item.name) for item in fields(record)}
    release = told.pop("release")
    seen = {name: told[name] for name in set(told) - {"id", "head", "entry"}}
    values = {item.name: getattr(release, item.name) for item in fields(release)}
    numbers = {"rows", "raw", "intervals", "asked_at"}
    seen |= {f"release.{name}": values[name] for name in set(values) - numbers}
    kinds = [[type(value) for value in row] for row in release.rows]
    return seen, kinds, {name: len(each) for name, each in release.raw.items()}


def test_a_hit_looks_like_a_miss(folder):
    """The same askings of bob's, with and without somebody who asked for more before."""
    seen = {}
    for hit in (False, True):
        if hit:
            for path in folder.glob("staff.ledger*"):
                path.unlink()
            Curator.register(folder / "policy.toml")
        with Curator(folder / "policy.toml") as curator:
            if hit:
                curator.ask(COUNT, epsilon="0.9", analyst="alice")
            records = [
                curator.ask(COUNT, epsilon=price, analyst="bob") for price in ("0.2", "0.1", "0.4")
            ]
            asked = [e for e in curator.ledger.entries() if e.values().get("analyst") == "bob"]
            gaps = [b.seq - a.seq for a, b in pairwise(asked)]
            seen[hit] = [*map(shape, records), gaps, curator.accounts("bob")]
            assert paid(curator) == (["1.3"] if hit else ["0.6"])
    assert seen[True] == seen[False]
    first, again, better = records
    assert again == first
    assert "combined" in better.release.notes[-1]
    assert str(better.release.guarantee.epsilon) == "3/5"


def test_nothing_of_the_finer_answer_is_in_the_coarser_one(curator):
    first = curator.ask(COUNT, epsilon="0.9", analyst="alice")
    second = curator.ask(COUNT, epsilon="0.1", analyst="bob")
    assert "alice" not in second.to_json()
    assert first.id not in second.to_json()
    assert "cells" not in second.to_json()
    assert "cells" not in first.to_json()
    text = curator.ledger.answer(second.id).answer
    assert Kept.from_text(text).cells is None
    assert Kept.from_text(curator.ledger.answer(first.id).answer).cells is not None


# noise in common


def test_no_analyst_is_given_two_answers_with_noise_in_common(curator):
    """They would be combined as if they were independent, and would agree too often."""
    curator.ask(COUNT, epsilon="0.3", analyst="alice")
    low = curator.ask(COUNT, epsilon="0.1", analyst="bob")
    assert paid(curator) == ["0.3"]
    equal = curator.ask(COUNT, epsilon="0.3", analyst="bob")
    assert origins(curator)[equal.id] == equal.id
    assert paid(curator, "bob") == ["0.6", "0.4"]
    assert "combined" in equal.release.notes[-1]
    assert origins(curator)[low.id] != origins(curator)[equal.id]
    pointing = curator.ask(COUNT, epsilon="0.1", analyst="carol")
    assert pointing.release.rows == low.release.rows
    higher = curator.ask(COUNT, epsilon="0.2", analyst="carol")
    assert origins(curator)[higher.id] == equal.id, "bob's has other noise than alice's"
    assert paid(curator, "carol") == ["0.6", "0.3"]


def test_the_coarsest_that_suffices_is_taken(curator):
    """What is left over is left for later: bob still gets alice's better one."""
    low = curator.ask(COUNT, epsilon="0.2", analyst="alice")
    high = curator.ask(COUNT, epsilon="0.5", analyst="alice")
    first = curator.ask(COUNT, epsilon="0.1", analyst="bob")
    second = curator.ask(COUNT, epsilon="0.4", analyst="bob")
    assert [origins(curator)[r.id] for r in (first, second)] == [low.id, high.id]
    assert paid(curator, "bob") == ["0.7", "0.5"]
    assert "combined" in second.release.notes[-1]


def test_whatever_is_asked_in_whatever_order_answers_of_one_analyst_are_independent(curator):
    prices = ["0.05", "0.11", "0.02", "0.2", "0.07", "0.11", "0.3", "0.01"]
    who = ["alice", "bob", "carol", None]
    fresh = 0
    for number, price in enumerate(prices * 2):
        curator.ask(COUNT, epsilon=price, analyst=who[(number * 3 + number // 4) % 4])
    found, given = origins(curator), {}
    for entry in curator.ledger.entries():
        values = entry.values()
        if entry.kind in ("reserve", "hit"):
            given.setdefault(values["analyst"], []).append(found[values["key"]])
            fresh += 0 if "of" in values else values["size"]
    assert all(len(each) == len(set(each)) for each in given.values())
    assert len({key for each in given.values() for key in each}) < sum(map(len, given.values()))
    assert curator.accounts()["staff"].spent.main == fresh


# what cannot be made coarser


def charged_again(curator, question, *, fine, coarse):
    curator.ask(question, epsilon=fine, analyst="alice")
    before = curator.accounts()["staff"].spent.main
    curator.ask(question, epsilon=coarse, analyst="bob")
    return curator.accounts()["staff"].spent.main > before


def test_quantiles_are_asked_anew(curator):
    assert charged_again(curator, MEDIAN, fine="0.3", coarse="0.1")


def test_another_question_or_price_is_asked_anew(curator):
    curator.ask(COUNT, epsilon="0.3", analyst="alice")
    curator.ask(COUNT + " LIMIT 2", epsilon="0.1", analyst="bob")
    curator.ask(COUNT, epsilon="0.4", analyst="bob")
    assert paid(curator) == ["0.8"]


def test_sums_counts_and_means_together(curator):
    question = "SELECT dept, COUNT(*) AS n, AVG(pay) AS m, SUM(pay) AS s FROM payroll GROUP BY dept"
    assert not charged_again(curator, question, fine="0.3", coarse="0.1")


def test_answers_of_before_there_were_cells_stay_readable_and_are_not_used(curator, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Kept, "to_text", lambda self: self.record.to_json())
        first = curator.ask(COUNT, epsilon="0.3", analyst="alice")
    assert curator.record(first.id) == first
    assert curator.ask(COUNT, epsilon="0.3", analyst="bob").release.rows == first.release.rows
    assert paid(curator) == ["0.3"]
    curator.ask(COUNT, epsilon="0.1", analyst="carol")
    assert paid(curator) == ["0.4"]


def test_answers_of_another_software_are_not_used(curator, monkeypatch):
    monkeypatch.setattr("discreet.curator.gradual.VERSION", "99")
    assert charged_again(curator, COUNT, fine="0.3", coarse="0.1")


def test_what_came_of_a_failure_is_made_coarser_as_any_other(folder, monkeypatch):
    with Curator(folder / "policy.toml", on_fault=lambda _: None) as curator:
        asking = curator._asking(COUNT, None, None, None)
        with monkeypatch.context() as patched:
            patched.setattr(type(asking.engine), "run", failing)
            first = curator.ask(COUNT, epsilon="0.9", analyst="alice")
        second = curator.ask(COUNT, epsilon="0.8", analyst="bob")
        assert origins(curator)[second.id] == first.id
        assert max(second.release["n"]) < 50  # 133 in each; false alarm: below 1e-9
        assert paid(curator, "bob") == ["0.9", "0.8"]
        assert curator.ledger.answer(second.id).failed
        verified(curator.ledger)


def test_public_releases_serve_as_they_are(folder):
    text = THREE.replace("epsilon = 3\n", 'epsilon = 3\nreleases = "public"\n')
    (folder / "policy.toml").write_text(text)
    Curator.register(folder / "policy.toml")
    with Curator(folder / "policy.toml") as curator:
        first = curator.ask(COUNT, epsilon="0.3", analyst="alice")
        assert curator.ask(COUNT, epsilon="0.1", analyst="bob").release.rows == first.release.rows
        assert paid(curator, "bob") == ["0.3", "0"]


# crashes


def by_hand(curator, waiting):
    """What the noise key of a waiting question makes of the answer that it points at."""
    asking = curator._asking(COUNT, None, None, None)
    priced, _ = asking.priced(asking.plan(COUNT), Target(epsilon="0.1"))
    finer = finer_answer(curator.ledger.answer(waiting.of), asking, priced)
    telling = Telling(asking.schema, curator.policy.defaults.confidence, [], datetime.now(UTC))
    source = KeyedSource(waiting.noise)
    return Answering(asking.engine).coarser(priced, finer, source, telling)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "waits"),
    [("before reserve", None), ("in reserve", None), ("after the commit of reserve", True),
     ("after compute", True), ("in store", True), ("after the commit of store", False),
     ("before send", False)],
)  # fmt: skip
def test_a_crash_neither_charges_twice_nor_draws_twice(folder, killing, step, waits):
    with Curator(folder / "policy.toml") as curator:
        first = curator.ask(COUNT, epsilon="0.3", analyst="alice")
    killed = killing.ask(folder, step, COUNT, epsilon="0.1", analyst="bob", key="k")
    assert killed == -signal.SIGKILL
    with Curator(folder / "policy.toml") as curator:
        pending = curator.ledger.pending
        assert [p.of for p in pending] == ([first.id] if waits else [])
        expected = by_hand(curator, pending[0]).raw if pending else None
        assert paid(curator, "bob") == ["0.3", "0" if waits is None else "0.1"]
        # somebody asks for more in between: the answer is made of what it was to be made of
        curator.ask(COUNT, epsilon="0.25", analyst="carol")
        record = curator.ask(COUNT, epsilon="0.1", analyst="bob", key="k")
        assert expected in (None, record.release.raw)
        assert origins(curator)[record.id] == first.id
        assert curator.ask(COUNT, epsilon="0.1", analyst="bob", key="k") == record
        assert paid(curator, "bob") == ["0.3", "0.1"]
        assert not curator.ledger.pending
        verified(curator.ledger)


def stopped(curator, monkeypatch, **how):
    """A question that was charged and whose process then stopped."""

    def stop(step):
        if step == "after compute":
            raise EngineError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr("discreet.curator.settling.reached", stop)
        with pytest.raises(EngineError, match="stopped"):
            curator.ask(COUNT, **how)
    return curator.ledger.pending[-1]


def test_an_analyst_sees_an_answer_whatever_fails_and_the_owner_the_failure(folder, monkeypatch):
    """As for a new one: an answer as of an empty table."""
    told = []
    with Curator(folder / "policy.toml", on_fault=told.append) as curator:
        curator.ask(COUNT, epsilon="0.9", analyst="alice")
        monkeypatch.setattr("discreet.curator.answering.coarsened", failing)
        record = curator.ask(COUNT, epsilon="0.8", analyst="bob")
        assert max(record.release["n"]) < 70
        assert "on purpose" in str(told[0])
        with pytest.raises(EngineError, match="on purpose"):
            curator.ask(COUNT, epsilon="0.7")
        assert paid(curator, "bob") == ["0.9", "0.8"]


def test_a_waiting_question_uses_up_its_origin(curator, monkeypatch):
    """It will be answered some day, with that noise."""
    first = curator.ask(COUNT, epsilon="0.3", analyst="alice")
    waiting = stopped(curator, monkeypatch, epsilon="0.1", analyst="bob", key="k")
    assert waiting.of == first.id
    other = curator.ask(COUNT, epsilon="0.2", analyst="bob")
    assert origins(curator)[other.id] == other.id
    curator.ask(COUNT, epsilon="0.1", analyst="bob", key="k")
    assert paid(curator, "bob") == ["0.5", "0.3"]


def test_a_waiting_question_is_not_answered_after_retirement(curator, monkeypatch):
    """As it is with one that comes from the data."""
    curator.ask(COUNT, epsilon="0.3", analyst="alice")
    stopped(curator, monkeypatch, epsilon="0.1", analyst="bob", key="k")
    curator.retire("payroll")
    with pytest.raises(BudgetExceededError, match="retired"):
        curator.ask(COUNT, epsilon="0.1", analyst="bob", key="k")


def test_a_waiting_question_of_another_software_says_so(curator, monkeypatch):
    curator.ask(COUNT, epsilon="0.3", analyst="alice")
    stopped(curator, monkeypatch, epsilon="0.1", analyst="bob", key="k")
    with monkeypatch.context() as patched:
        patched.setattr("discreet.curator.gradual.VERSION", "99")
        with pytest.raises(LedgerError, match="ask with a new key"):
            curator.ask(COUNT, epsilon="0.1", analyst="bob", key="k")
    curator.ask(COUNT, epsilon="0.1", analyst="bob", key="k")


def test_a_question_that_waited_through_a_restore_is_not_taken_up_again(folder, monkeypatch):
    from discreet.curator.ledger.restore import restored

    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="0.3", analyst="alice")
        stopped(curator, monkeypatch, epsilon="0.1", analyst="bob", key="k")
    backup = (folder / "staff.ledger").read_bytes()
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="0.1", analyst="bob", key="k")
    (folder / "staff.ledger").write_bytes(backup)
    restored(folder / "staff.ledger")
    with Curator(folder / "policy.toml") as curator:
        with pytest.raises(LedgerError, match="before this ledger was restored"):
            curator.ask(COUNT, epsilon="0.1", analyst="bob", key="k")
        for price in ("0.2", "0.3"):  # she may have alice's answer already
            curator.ask(COUNT, epsilon=price, analyst="carol")
        assert paid(curator, "bob", "carol") == ["0.8", "0.1", "0.5"]
        curator.ask(COUNT, epsilon="0.25", analyst="bob")  # made of carol's, which is new
        assert paid(curator, "bob", "carol") == ["0.8", "0.35", "0.5"]
        verified(curator.ledger)


RACING = """
import sys
from discreet.curator.curator import Curator
with Curator("policy.toml") as curator:
    for price in ("0.05", "0.1", "0.2", "0.25"):
        curator.ask({question!r}, epsilon=price, analyst=sys.argv[1])
"""


@pytest.mark.slow
def test_two_processes_at_once(folder):
    with Curator(folder / "policy.toml") as curator:
        for price in ("0.3", "0.35", "0.34"):
            curator.ask(COUNT + " -- x", epsilon=price, analyst="alice")
    code = textwrap.dedent(RACING.format(question=COUNT))
    started = [
        subprocess.Popen([sys.executable, "-c", code, who], cwd=folder) for who in ("bob", "carol")
    ]
    assert [process.wait(timeout=120) for process in started] == [0, 0]
    with Curator(folder / "policy.toml") as curator:
        verified(curator.ledger)
        found, given, fresh = origins(curator), {}, 0
        for entry in curator.ledger.entries():
            values = entry.values()
            if entry.kind in ("reserve", "hit"):
                given.setdefault(values["analyst"], []).append(found[values["key"]])
                fresh += 0 if "of" in values else values["size"]
        for who in ("bob", "carol"):
            assert all(one != other for one, other in combinations(given[who], 2))
            assert paid(curator, who)[1] == "0.6"
        assert curator.accounts()["staff"].spent.main == fresh
        assert spent(curator)["staff@alice"] == "epsilon 0.65"

"""What is told before a question is paid, under a ledger: with what the asker has paid for."""

from contextlib import contextmanager
from fractions import Fraction

import pytest
from tests.curator.payroll import POLICY, changed, spent, write_rows
from tests.curator.test_searching import AVG, SUM, curator, failed, folder  # noqa: F401

from discreet.curator import asking, questions
from discreet.curator.curator import Curator
from discreet.engines import duckdb
from discreet.errors import NothingFoundError, ParameterError, QueryError
from discreet.query import known
from discreet.query.schema import FindBounds

LEVELS = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY ROLLUP (dept)"


def test_before_it_is_paid_the_whole_price_is_told_and_the_error_is_supposed(curator):  # noqa: F811
    entries = curator.ledger.head.seq
    text = curator.explain(SUM, epsilon="0.1", analyst="alice")
    assert "bounds of bonus (epsilon 0.1) and rows per person (epsilon 0.2) have still" in text
    assert "in all epsilon 0.4" in text
    assert "supposed, as if nothing were found (bounds of bonus: 1 to 1000000; rows" in text
    assert curator.cost(SUM, epsilon="0.1", analyst="alice").value() == Fraction(4, 10)
    assert [one.name for one in curator.to_find(SUM, analyst="alice")] == [
        "bounds of bonus", "rows per person"
    ]  # fmt: skip
    assert curator.ledger.head.seq == entries


def test_what_was_given_is_known_to_its_asker_alone(curator):  # noqa: F811
    before = curator.price(SUM, epsilon="0.1", analyst="alice")
    curator.ask(SUM, epsilon="0.1", analyst="alice")
    entries = curator.ledger.head.seq
    assert curator.to_find(AVG, analyst="alice") == []
    assert curator.cost(AVG, epsilon="0.1", analyst="alice").value() == Fraction(1, 10)
    assert "still to be found" not in curator.explain(AVG, epsilon="0.1", analyst="alice")
    assert curator.price(SUM, epsilon="0.1", analyst="alice")["s"].error < before["s"].error
    assert curator.epsilon_for(SUM, within=10**5, analyst="alice") > 0
    for other in ("bob", None):
        assert len(curator.to_find(AVG, analyst=other)) == 2
        assert curator.price(SUM, epsilon="0.1", analyst=other) == before
    assert curator.ledger.head.seq == entries


def test_what_another_search_would_cost_is_told_before(curator):  # noqa: F811
    before = curator.price(SUM, epsilon="0.1", analyst="alice")
    again = {"analyst": "alice", "search_again": True}
    assert len(curator.to_find(SUM, **again)) == 2  # nothing was found yet
    curator.ask(SUM, epsilon="0.1", analyst="alice")
    entries = curator.ledger.head.seq
    assert [one.name for one in curator.to_find(SUM, **again)] == [
        "bounds of bonus", "rows per person"
    ]  # fmt: skip
    assert curator.cost(SUM, epsilon="0.1", **again).value() == Fraction(4, 10)
    text = curator.explain(SUM, epsilon="0.1", **again)
    assert "rows per person (epsilon 0.2) are searched for, and paid, again: in all" in text
    assert curator.price(SUM, epsilon="0.1", **again) == before  # nobody knows what it finds
    assert curator.epsilon_for(SUM, within=10**5, **again) > 0
    assert "again" not in curator.explain(SUM, epsilon="0.1", analyst="alice")
    assert curator.cost(SUM, epsilon="0.1", analyst="alice").value() == Fraction(1, 10)
    assert curator.to_find(LEVELS, **again) == []  # a publication searches for nothing,
    assert curator.explain(LEVELS, **again)  # and takes what was found
    assert curator.ledger.head.seq == entries
    curator.ask(SUM, epsilon="0.1", **again)
    assert spent(curator)["staff@alice"] == "epsilon 0.8"  # as it was told


def test_after_a_failure_what_was_taken_is_known(curator):  # noqa: F811
    before = curator.price(SUM, epsilon="0.1", analyst="alice")
    failed(curator, analyst="alice")
    assert curator.to_find(SUM, analyst="alice") == []
    assert curator.price(SUM, epsilon="0.1", analyst="alice") == before


def test_a_publication_finds_nothing_and_uses_what_was_given(curator):  # noqa: F811
    said = {"bins": 8, "ranges": (0, 512), "epsilon": "0.1", "analyst": "alice"}
    for wrong in (
        lambda: curator.publish("bonus", **said), lambda: curator.ask(LEVELS, analyst="alice"),
        lambda: curator.explain(LEVELS, analyst="alice"),
    ):  # fmt: skip
        with pytest.raises(QueryError, match="still to be found"):
            wrong()
    answer = curator.ask(SUM, epsilon="0.1", analyst="alice")
    bounds, rows = answer.release.notes[:2]
    assert set(curator.publish("bonus", **said).release.notes) >= {bounds, rows}
    plain = curator.publish("pay", **{**said, "epsilon": "0.05"})
    assert rows in plain.release.notes
    assert bounds not in plain.release.notes
    assert [loss.epsilon for loss in plain.release.losses] == [Fraction(1, 20), Fraction(1, 5)]
    assert rows in curator.ask(LEVELS, epsilon="0.05", analyst="alice").release.notes
    assert curator.explain(LEVELS, analyst="alice")
    assert curator.publish("bonus", **said) == curator.publish("bonus", **said)
    with pytest.raises(QueryError, match="still to be found"):
        curator.publish("bonus", **{**said, "analyst": "bob"})


# what is paid already

COUNT = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY dept"
OTHER_WAY = "select count(*) n, dept from payroll group by dept"


def free_of_charge(curator, question, **more):  # noqa: F811
    """Ask; whether no account has paid for it."""
    before = spent(curator)
    curator.ask(question, **more)
    return spent(curator) == before


@pytest.mark.parametrize("question", [COUNT, SUM])
@pytest.mark.parametrize(
    ("price", "expected"),
    [({"epsilon": "0.2"}, True), ({"epsilon": "0.1"}, True), ({"epsilon": "0.3"}, False)],
)
def test_what_was_answered_is_paid_at_its_price_and_below(curator, question, price, expected):  # noqa: F811
    """It is told what `ask` does then; SUM needs what is found first."""
    more = {"analyst": "alice"}
    assert not curator.is_paid(question, epsilon="0.2", **more)
    assert "takes nothing off" not in curator.explain(question, epsilon="0.2", **more)
    assert not free_of_charge(curator, question, epsilon="0.2", **more)
    entries = curator.ledger.head.seq
    assert curator.is_paid(question, **price, **more) == expected
    assert ("takes nothing off" in curator.explain(question, **price, **more)) == expected
    assert curator.ledger.head.seq == entries
    assert free_of_charge(curator, question, **price, **more) == expected


@pytest.mark.parametrize("public", [False, True])
def test_what_others_have_paid_is_told_only_where_it_is_public(tmp_path, public):
    """Nothing has to be found here: the questions of two are the same."""
    releases = "public" if public else "private"
    write_rows(tmp_path / "payroll.csv", people=100)
    changed(tmp_path, ("epsilon = 3", f'epsilon = 3\nreleases = "{releases}"'), text=POLICY)
    Curator.register(tmp_path / "policy.toml")
    with Curator(tmp_path / "policy.toml") as made:
        made.ask(COUNT, epsilon="0.2", analyst="alice")
        for who in ("bob", None):
            assert made.is_paid(COUNT, epsilon="0.2", analyst=who) == public
            told = made.explain(COUNT, epsilon="0.2", analyst=who)
            assert ("takes nothing off" in told) == public
            assert not made.is_paid(COUNT, epsilon="0.3", analyst=who)
        assert free_of_charge(made, COUNT, epsilon="0.2", analyst="bob") == public
        assert made.is_paid(COUNT, epsilon="0.2", analyst="bob")


def test_another_question_another_price_or_another_search_is_not_paid(curator):  # noqa: F811
    curator.ask(SUM, epsilon="0.2", analyst="alice")
    for question, more in (
        (AVG, {"epsilon": "0.2"}),
        (f"{SUM} WHERE dept = 'b'", {"epsilon": "0.2"}),
        (SUM, {"epsilon": "0.2", "search_again": True}),
        (LEVELS, {"epsilon": "0.2"}),
        (SUM, {"epsilon": "0.2", "delta": "1e-6"}),
        (SUM, {"epsilon": "1000"}),
    ):
        assert not curator.is_paid(question, **more, analyst="alice"), (question, more)
    assert curator.is_paid(OTHER_WAY, epsilon="0.2", analyst="alice") is False
    curator.ask(COUNT, epsilon="0.2", analyst="alice")
    assert curator.is_paid(OTHER_WAY, epsilon="0.2", analyst="alice") == free_of_charge(
        curator, OTHER_WAY, epsilon="0.2", analyst="alice"
    )


def test_a_price_in_options_is_the_price_that_is_told(curator):  # noqa: F811
    """The policy's own epsilon is for questions that say none; it would be told as paid here."""
    dearer = COUNT.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.3)", 1)
    assert curator.policy.defaults.epsilon is not None
    curator.ask(COUNT, epsilon="0.1", analyst="alice")
    assert not curator.is_paid(dearer, analyst="alice")
    assert "takes nothing off" not in curator.explain(dearer, analyst="alice")
    assert curator.cost(dearer, analyst="alice").value() == Fraction(3, 10)
    cheaper = curator.price(COUNT, epsilon="0.1", analyst="alice")
    assert curator.price(dearer, analyst="alice")["n"].error < cheaper["n"].error
    assert not free_of_charge(curator, dearer, analyst="alice")
    assert curator.is_paid(dearer, analyst="alice")
    assert curator.is_paid(dearer, epsilon="0.2", analyst="alice")  # what is said goes first


def test_an_accuracy_is_looked_up_at_what_it_costs(curator):  # noqa: F811
    price = curator.epsilon_for(COUNT, within=20, analyst="alice")
    curator.ask(COUNT, epsilon=price / 2, analyst="alice")
    assert not curator.is_paid(COUNT, within=20, analyst="alice")
    assert not free_of_charge(curator, COUNT, within=20, analyst="alice")
    assert curator.is_paid(COUNT, within=20, analyst="alice")
    with pytest.raises(ParameterError, match="goes instead of epsilon"):
        curator.is_paid(COUNT, within=20, epsilon=1, analyst="alice")
    with pytest.raises(TypeError, match="epsilom"):
        curator.is_paid(COUNT, epsilom="5", analyst="alice")


def test_of_roll_ups_it_is_not_told(curator):  # noqa: F811
    assert curator.is_paid(LEVELS, epsilon="0.1", analyst="alice") is None


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("question", [COUNT, SUM, AVG, LEVELS])
def test_at_several_prices_it_is_told_what_is_told_of_each(curator, monkeypatch, question, given):  # noqa: F811
    """And what is known of the question, and what the ledger holds, is looked up once."""
    if given:
        curator.ask(SUM, epsilon="0.1", analyst="alice")
        curator.ask(COUNT, epsilon="0.2", analyst="alice")
    elif question is LEVELS:
        with pytest.raises(QueryError, match="still to be found"):
            curator.told_at(LEVELS, [{"epsilon": 1}], analyst="alice")
        return
    prices = [{}, {"epsilon": "0.1"}, {"epsilon": "0.2", "delta": None}, {"epsilon": 1}]
    expected = [
        (
            curator.price(question, analyst="alice", rows=7, **price),
            curator.cost(question, analyst="alice", **price),
            curator.is_paid(question, analyst="alice", **price),
        )
        for price in prices
    ]
    looked = []
    best, informed = curator.ledger.best, curator._informed
    monkeypatch.setattr(curator.ledger, "best", lambda *of: looked.append("best") or best(*of))
    monkeypatch.setattr(
        curator, "_informed", lambda *of, **more: looked.append("informed") or informed(*of, **more)
    )
    assert curator.told_at(question, prices, analyst="alice", rows=7) == expected
    told = given and question is not LEVELS
    assert looked == ["informed", "best"][: 1 + told]
    assert curator.told_at(question, [], analyst="alice") == []


def test_a_price_that_is_none_is_refused_among_others(curator):  # noqa: F811
    for wrong in (0, -1, "nan", "inf"):
        with pytest.raises(ParameterError, match="epsilon"):
            curator.told_at(COUNT, [{"epsilon": 1}, {"epsilon": wrong}], analyst="alice")


def test_names_that_differ_in_the_price_are_looked_up_apart(tmp_path):
    """An epsilon, an epsilon with a delta and a rho are three questions, of which one is paid."""
    write_rows(tmp_path / "payroll.csv", people=100)
    rhos = ("epsilon = 3", 'rho = 3\naccounting = "zcdp"')
    changed(tmp_path, rhos, ("staff]\nepsilon = 1", "staff]\nrho = 1"), text=POLICY)
    Curator.register(tmp_path / "policy.toml")
    prices = [{"epsilon": "0.2"}, {"epsilon": "0.2", "delta": "1e-6"}, {"rho": "0.0002"}]
    with Curator(tmp_path / "policy.toml") as made:
        for paid in ([], prices[:1]):
            for price in paid:
                made.ask(COUNT, **price, analyst="alice")
            for order in (prices, prices[::-1]):
                told = made.told_at(COUNT, order, analyst="alice")
                assert [one.paid for one in told] == [price in paid for price in order]


def test_nothing_is_paid_once_asking_is_over(tmp_path):
    write_rows(tmp_path / "payroll.csv", people=100)
    changed(tmp_path, text=POLICY)
    Curator.register(tmp_path / "policy.toml")
    with Curator(tmp_path / "policy.toml") as made:
        made.ask(COUNT, epsilon="0.2", analyst="alice")
        assert made.is_paid(COUNT, epsilon="0.2", analyst="alice")
    over = ("[analyst.alice.", "[analyst.alice]\nexpires = 2001-01-01\n[analyst.alice.")
    changed(tmp_path, over, text=POLICY)
    Curator.register(tmp_path / "policy.toml")
    with Curator(tmp_path / "policy.toml") as made:
        assert made.is_paid(COUNT, epsilon="0.2", analyst="alice") is False
        told = made.told_at(COUNT, [{"epsilon": "0.2"}] * 3, analyst="alice")
        assert [one.paid for one in told] == [False] * 3


def test_an_owner_is_not_told_that_what_asking_refuses_is_paid(folder):  # noqa: F811
    """An analyst's search found nothing, and is public: because of it the owner is refused."""
    changed(folder, ("epsilon = 10", 'epsilon = 10\nreleases = "public"'))
    Curator.register(folder / "policy.toml")
    with Curator(folder / "policy.toml", on_fault=lambda _: None) as made:
        failed(made, COUNT, analyst="alice")
        made.ask(COUNT, epsilon="0.1", analyst="bob")
        assert made.is_paid(COUNT, epsilon="0.1", analyst="bob")
        with pytest.raises(NothingFoundError):
            made.ask(COUNT, epsilon="0.1")
        assert made.to_find(COUNT) == []
        assert not made.is_paid(COUNT, epsilon="0.1")
        assert "takes nothing off" not in made.explain(COUNT, epsilon="0.1")


def test_what_one_question_did_not_find_is_of_no_other(tmp_path):
    """An analyst's search for bounds found nothing; the owner's next question needs none."""
    write_rows(tmp_path / "payroll.csv", people=100)
    public = ("epsilon = 3", 'epsilon = 3\nreleases = "public"')
    changed(tmp_path, public, text=POLICY)
    Curator.register(tmp_path / "policy.toml")
    with Curator(tmp_path / "policy.toml", on_fault=lambda _: None) as made:
        made.ask(COUNT, epsilon="0.1", analyst="bob")
        failed(made, "SELECT SUM(bonus) AS s FROM payroll", analyst="alice")
        for _ in range(2):
            with pytest.raises(NothingFoundError):
                made.ask("SELECT SUM(bonus) AS s FROM payroll", epsilon="0.1")
            assert made.is_paid(COUNT, epsilon="0.1")


def test_what_is_declared_is_said_to_its_asker_alone(curator):  # noqa: F811
    curator.ask(SUM, epsilon="0.1", analyst="alice")
    for who in ("alice", "bob", None, "alice"):
        found = curator.declared("payroll", analyst=who)
        assert isinstance(found.columns["bonus"], FindBounds) == (who != "alice")
        mine = curator._part("payroll", None, who)
        assert mine._desk is mine._desks[who or ""]
        assert curator.declared("payroll", analyst=who) is found  # decided once
        assert mine._desk is mine._desks[who or ""]


# what others have asked does not make it faster


@contextmanager
def counted():
    """What is decided anew meanwhile, one after the other."""
    done = []
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (known, "parsed"), (questions, "priced"), (asking, "priced"), (asking, "next_search"),
            (asking.Asking, "searched"),
        ):  # fmt: skip
            inner = getattr(module, name)

            def outer(*given, name=name, inner=inner, **more):
                done.append(name)
                return inner(*given, **more)

            patch.setattr(module, name, outer)
        yield done


FREE = {
    "explain": {"epsilon": "0.1"},
    "price": {"epsilon": "0.1"},
    "cost": {"epsilon": "0.1"},
    "is_paid": {"epsilon": "0.1"},
    "told_at": {},
    "to_find": {},
    "epsilon_for": {"within": 10**6},
    "plan": {},
    "reads": {},
}


@pytest.mark.parametrize("question", [COUNT, SUM])
@pytest.mark.parametrize("free", FREE)
def test_what_others_ask_makes_nothing_faster(folder, free, question):  # noqa: F811
    """Nothing that is decided for one asker is kept for another, under what is declared or found:
    the time of what is free would tell whether somebody has asked the same.
    """
    path, more = folder / "policy.toml", {**FREE[free], "analyst": "alice"}
    prices = ([{"epsilon": "0.1"}],) if free == "told_at" else ()
    with Curator(path) as first, Curator(path) as second:
        for who in ("alice", "bob"):
            first.ask(AVG, epsilon="0.1", analyst=who)  # both were given the bounds and rows
        second.ask(AVG, epsilon="0.1", analyst="alice")
        for other in ("bob", None):
            for one in (first, second):  # asked just before: it is not her question for that
                one.plan(OTHER_WAY, analyst="alice")
            first.ask(question, epsilon="0.1", analyst=other)
            first.explain(question, epsilon="0.1", analyst=other)
        efforts = []
        for one in (first, second):
            with counted() as done:
                getattr(one, free)(question, *prices, **more)
            efforts.append(list(done))
        assert efforts[0] == efforts[1]
        assert efforts[0]
        with counted() as again:
            getattr(first, free)(question, *prices, **more)
        assert len(again) < len(efforts[0])  # the own questions do


def test_only_so_many_askers_are_remembered(curator):  # noqa: F811
    part = curator._part("payroll", None, "alice")
    plan = part.plan(COUNT)
    for number in range(7):
        part.begin(f"other {number}")
        assert part.plan(COUNT) is not plan
    part.begin("alice")
    assert part.plan(COUNT) is plan
    for number in range(8):
        part.begin(f"one more {number}")
    part.begin("alice")
    assert part.plan(COUNT) is not plan
    assert len(part._desks) == 8


def test_who_is_no_analyst_of_the_policy_takes_nobodys_place(curator):  # noqa: F811
    part = curator._part("payroll", None, "alice")
    for number in range(9):
        for ask in (curator.price, curator.plan, curator.explain):
            with pytest.raises(ParameterError, match="one of the policy's"):
                ask(COUNT, analyst=f"nobody {number}")
    assert list(part._desks) == ["alice"]


def test_what_all_askers_share_is_there_before_the_first_one_asks(tmp_path, monkeypatch):
    """With one curator for both: whoever is second does not see that somebody was first. Neither
    after the data were opened anew.
    """
    made, inner = [], duckdb.whole
    monkeypatch.setattr(duckdb, "whole", lambda *a, **b: made.append(a) or inner(*a, **b))
    write_rows(tmp_path / "payroll.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    Curator.register(tmp_path / "policy.toml")
    with Curator(tmp_path / "policy.toml") as alone:
        part = alone._opened("payroll", None)
        for turn in (1, 2):
            assert len(made) == turn
            for who in ("alice", "bob", None):
                alone.explain(COUNT, analyst=who, epsilon="0.1")
            assert len(made) == turn
            part.reopen()

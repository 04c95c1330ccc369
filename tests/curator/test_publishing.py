"""Publications under a session's budget and under a ledger."""

from datetime import UTC, datetime
from fractions import Fraction

import pandas as pd
import pytest
from tests.curator.payroll import failing, spent, write_rows

import discreet as dp
from discreet.curator import publishing
from discreet.curator.curator import Curator
from discreet.curator.ledger.steps import on_step
from discreet.curator.ledger.verify import verified
from discreet.curator.published import Published
from discreet.curator.publishing import axes_of, publication
from discreet.engines.duckdb import DuckDB
from discreet.errors import (
    BudgetExceededError,
    EngineError,
    LedgerError,
    ParameterError,
    QueryError,
)
from discreet.noise.source import KeyedSource
from discreet.privacy.loss import ZCDPLoss
from discreet.publish.histogram import adaptive_tree
from discreet.query.cells import Axis

PAY = {"bins": 100, "ranges": (0, 1000)}


def people(n=500):
    each = range(n)
    return pd.DataFrame({
        "pay": [(7 * i) % 1000 for i in each], "age": [i % 80 for i in each],
        "id": [i // 2 for i in each],
    })  # fmt: skip


def table(unit=None):
    columns = {"pay": (0, 1000), "age": (0, 120)}
    return dp.Table(people(), unit=unit or dp.PerRow(), columns=columns, name="staff")


def test_a_histogram_from_a_table():
    """Noise of 100 is passed with a chance below 1e-9: the least rate is 0.07 of 20."""
    h = table().publish_histogram("pay", bins=100, range=(0, 1000), epsilon=20)
    truth = sum(100 <= x < 300 for x in people().pay)
    assert abs(h.range(100, 300).value - truth) < 100
    assert h.guarantee == dp.PureDP(20)
    assert h.where is None


def test_a_grid_from_a_table():
    """False alarm as above."""
    g = table().publish_grid(
        ("pay", "age"), shape=(10, 12), ranges=((0, 1000), (0, 120)), epsilon=20, where="age < 40"
    )
    assert abs(g.total().value - sum(people().age < 40)) < 100
    assert g.where == "age < 40"


def test_a_session_pays_once():
    session = table().session(epsilon=1)
    made = session.publish("pay", **PAY, epsilon="0.6")
    for _ in range(20):
        made.range(0, 500)
    assert str(session.left) == "epsilon 0.4"
    with pytest.raises(BudgetExceededError, match=r"costs epsilon 0\.6, and epsilon 0\.4 is left"):
        session.publish("pay", **PAY, epsilon="0.6")
    assert str(session.left) == "epsilon 0.4"


def test_a_session_pays_in_rho_where_it_adds_up_rhos():
    """The noise of a count has a deviation of 1/4 to 1: 30 of these are never passed."""
    session = table().session(rho=9)
    made = session.publish("pay", **PAY, rho=8)
    assert str(session.left) == "rho 1"
    assert made.guarantee == dp.ZCDP(8)
    assert made.release.losses == (ZCDPLoss(rho=8),)
    assert "discrete Gaussian" in made.release.mechanisms["n"]
    assert abs(made.total().value - 500) < 30
    with pytest.raises(BudgetExceededError, match=r"costs rho 2, and rho 1 is left"):
        session.publish("pay", **PAY, rho=2)
    again = Published.from_json(made.to_json())
    assert (again.guarantee, again.total()) == (made.guarantee, made.total())
    assert Published.of(made.release).range(0, 500) == made.range(0, 500)
    for price in ({}, {"epsilon": 1, "rho": 1}, {"rho": 0}):
        with pytest.raises(ParameterError):
            session.publish("pay", **PAY, **price)
    assert str(session.left) == "rho 1"
    with pytest.raises(BudgetExceededError, match="say epsilon="):
        table().session(epsilon=1).publish("pay", **PAY, rho="0.1")


def test_a_histogram_and_a_grid_have_a_budget_in_rho_of_their_own():
    h = table().publish_histogram("pay", bins=100, range=(0, 1000), rho="0.1")
    ranges = ((0, 1000), (0, 120))
    g = table().publish_grid(("pay", "age"), shape=(10, 12), ranges=ranges, rho="0.1")
    assert h.guarantee == g.guarantee == dp.ZCDP("0.1")


@pytest.mark.parametrize(
    ("unit", "least"),
    [
        (dp.PerRow(), 1),
        (dp.PerRow(neighbours="replace"), 2),
        (dp.PerPerson("id", max_rows=3), 3),
        (dp.PerPerson("id", max_rows=3, neighbours="replace"), 6),
    ],
    ids=str,
)
def test_the_tree_is_told_how_far_a_person_moves_the_cells(unit, least, monkeypatch):
    told = []

    def seen(cells, **how):
        told.append(how)
        return adaptive_tree(cells, **how)

    monkeypatch.setattr(publishing, "adaptive_tree", seen)
    made = table(unit).publish_histogram("pay", bins=10, range=(0, 1000), epsilon=1)
    assert told[0]["sensitivity"] == least * made.scale
    assert told[0]["neighbours"] == unit.neighbours == made.guarantee.neighbours
    assert told[0]["epsilon"] == 1


def test_what_was_found_before_is_part_of_the_promise():
    """As in every other release: the cells are bounded by what was found, which leaks, too."""
    unit = dp.PerPerson("id", max_rows="find", find_epsilon="0.5")
    session = table(unit).session(epsilon=4)
    with pytest.raises(QueryError, match="found"):
        session.publish("pay", **PAY, epsilon=1)
    session.ask("SELECT COUNT(*) AS n FROM staff", epsilon=1)
    made = session.publish("pay", **PAY, epsilon=1)
    assert made.guarantee == made.release.guarantee == dp.PureDP("1.5")
    assert sum(loss.epsilon for loss in made.release.losses) == Fraction(3, 2)
    assert "row" in made.release.notes[0]
    again = Published.of(dp.Release.from_json(made.release.to_json()))
    assert (again.guarantee, again.found) == (made.guarantee, made.found)


def test_what_is_refused_is_not_charged():
    session = table().session(epsilon=1)
    wrong = [
        (("nothing",), {**PAY, "epsilon": 1}),
        (("pay",), {**PAY, "epsilon": 0}),
        (("pay",), {**PAY, "epsilon": -1}),
        (("pay",), {**PAY, "epsilon": "nan"}),
        (("pay",), {**PAY, "epsilon": "1e-14"}),
        (("pay",), {"bins": 2000, "ranges": (0, 1000), "epsilon": 1}),
        (("pay",), {"bins": 10, "ranges": (0, 1000, 3), "epsilon": 1}),
        (("pay",), {"bins": 10, "ranges": 1000, "epsilon": 1}),
        (("pay",), {"bins": "x", "ranges": (0, 1000), "epsilon": 1}),
        ((("pay", "age"),), {"bins": 10, "ranges": (0, 1000), "epsilon": 1}),
        (((),), {"bins": (), "ranges": (), "epsilon": 1}),
        (("pay",), {**PAY, "epsilon": 1, "where": "pay"}),
        (("pay",), {**PAY, "epsilon": 1, "where": "pay < 5 /* \x1b[2J */"}),
        (("pay /* \x1b[2J */",), {**PAY, "epsilon": 1}),
        (("pay --\n",), {**PAY, "epsilon": 1}),
    ]
    for args, how in wrong:
        with pytest.raises((ParameterError, QueryError)):
            session.publish(*args, **how)
    assert str(session.left) == "epsilon 1"


def test_an_analyst_does_not_see_that_the_engine_failed(monkeypatch):
    faults = []
    t = table()
    monkeypatch.setattr(DuckDB, "run", failing)
    session = t.session(epsilon=2, audience="analyst", on_fault=faults.append)
    assert session.publish("pay", **PAY, epsilon=1).total().value >= 0
    assert isinstance(faults[0], EngineError)
    with pytest.raises(EngineError):
        t.session(epsilon=1).publish("pay", **PAY, epsilon=1)


def test_an_analyst_does_not_see_that_the_program_failed(monkeypatch):
    faults = []
    t = table()

    def broken(cells, **how):
        if cells.count(0, 0):  # only with somebody in it
            raise RuntimeError("on purpose")
        return adaptive_tree(cells, **how)

    monkeypatch.setattr(publishing, "adaptive_tree", broken)
    session = t.session(epsilon=2, audience="analyst", on_fault=faults.append)
    assert session.publish("pay", **PAY, epsilon=1).total().value >= 0
    assert [type(fault) for fault in faults] == [RuntimeError]
    with pytest.raises(RuntimeError):
        t.session(epsilon=1).publish("pay", **PAY, epsilon=1)


def test_an_empty_table_is_published_like_any_other():
    t = dp.Table(people(0).astype(int), unit=dp.PerRow(), columns={"pay": (0, 1000)}, name="staff")
    made = t.publish_histogram("pay", bins=100, range=(0, 1000), epsilon=1)
    assert 0 <= made.total().low <= made.total().high < 1000


def test_axes_as_people_say_them():
    assert axes_of("x", 3, (0, 1)) == (Axis("x", 0, 1, 3),)
    assert axes_of(("x", "y"), (3, 4), ((0, 1), (2, 3))) == (Axis("x", 0, 1, 3), Axis("y", 2, 3, 4))


def test_equal_publications_are_the_same_to_the_ledger():
    t = table()
    make = lambda epsilon=None, where=None, rho=None: (
        publication(
            t.schema, t._engine, axes_of("pay", 10, (0, 1000)), where, epsilon=epsilon, rho=rho
        ).asked
    )
    assert make(1).canonical == make(2).canonical
    assert make(1).price != make(2).price
    assert make(1).canonical != make(1, "age < 40").canonical
    assert make(rho=1).canonical == make(rho=2).canonical != make(1).canonical
    assert make(rho=1).price != make(rho=2).price


# under a ledger


def test_a_publication_is_charged_and_stored(curator):
    record = curator.publish("pay", **PAY, epsilon="0.5", analyst="alice")
    assert spent(curator) == {"staff": "epsilon 0.5", "staff@alice": "epsilon 0.5",
                              "staff@bob": "epsilon 0"}  # fmt: skip
    assert curator.record(record.id) == record
    assert Published.of(record.release).guarantee.epsilon == Fraction(1, 2)
    assert curator.publish("pay", **PAY, epsilon="0.5", analyst="alice") == record
    assert curator.publish("pay", **PAY, epsilon="0.2", analyst="alice") == record
    assert spent(curator)["staff@alice"] == "epsilon 0.5"


def test_another_analyst_gets_the_same_and_pays_the_allowance(curator):
    first = curator.publish("pay", **PAY, epsilon="0.5", analyst="alice")
    second = curator.publish("pay", **PAY, epsilon="0.5", analyst="bob")
    assert second.release.rows == first.release.rows
    assert second.id != first.id
    assert spent(curator) == {"staff": "epsilon 0.5", "staff@alice": "epsilon 0.5",
                              "staff@bob": "epsilon 0.5"}  # fmt: skip


def test_a_better_publication_pays_in_full(curator):
    coarse = curator.publish("pay", **PAY, epsilon="0.2")
    fine = curator.publish("pay", **PAY, epsilon="0.7")
    assert spent(curator)["staff"] == "epsilon 0.9"
    assert fine.release != coarse.release
    assert curator.record(fine.id) == fine


def test_what_cannot_be_paid_is_refused(curator):
    with pytest.raises(BudgetExceededError, match="nothing was charged"):
        curator.publish("pay", **PAY, epsilon="1.5", analyst="alice")
    assert spent(curator)["staff"] == "epsilon 0"
    with pytest.raises(ParameterError, match="analyst"):
        curator.publish("pay", **PAY, epsilon="0.1", analyst="mallory")
    with pytest.raises(QueryError, match="no dataset"):
        curator.publish("pay", **PAY, epsilon="0.1", dataset="nothing")


def test_a_ledger_of_epsilons_refuses_a_rho(curator):
    with pytest.raises(QueryError, match="epsilon="):
        curator.publish("pay", **PAY, rho="0.1")
    assert spent(curator)["staff"] == "epsilon 0"


def test_a_key_is_paid_once_and_names_one_publication(curator):
    first = curator.publish("pay", **PAY, epsilon="0.3", key="may")
    assert curator.publish("pay", **PAY, epsilon="0.3", key="may") == first
    assert spent(curator)["staff"] == "epsilon 0.3"
    with pytest.raises(LedgerError, match="another question"):
        curator.publish("pay", bins=50, ranges=(0, 1000), epsilon="0.3", key="may")


def test_a_crash_after_the_charge_goes_on_with_the_same_noise(folder):
    def kill(step):
        if step == "after compute":
            raise KeyboardInterrupt

    with Curator(folder / "policy.toml") as curator:
        on_step(kill)
        try:
            with pytest.raises(KeyboardInterrupt):
                curator.publish("pay", **PAY, epsilon="0.3", key="may")
        finally:
            on_step(None)
        assert curator.ledger.pending
        record = curator.publish("pay", **PAY, epsilon="0.3", key="may")
        assert spent(curator)["staff"] == "epsilon 0.3"
        assert curator.record(record.id) == record
        verified(curator.ledger)


def test_the_noise_is_the_key_s():
    t = table()
    wanted = publication(t.schema, t._engine, axes_of("pay", 10, (0, 1000)), None, epsilon=1)
    at = datetime.now(UTC)
    same = [
        wanted.published([{(3,): (50,)}], KeyedSource(bytes([i]) * 32), confidence=Fraction(9, 10),
                         at=at).to_json()
        for i in (1, 1, 2)
    ]  # fmt: skip
    assert same[0] == same[1] != same[2]


def test_a_failing_engine_is_charged_and_serves_others_as_any_answer(curator, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(DuckDB, "run", failing)
        failed = curator.publish("pay", **PAY, epsilon="0.3", analyst="alice")
    assert failed.release.published is not None
    given = curator.publish("pay", **PAY, epsilon="0.3", analyst="bob")
    assert given.release.published == failed.release.published
    assert spent(curator)["staff"] == spent(curator)["staff@bob"] == "epsilon 0.3"


def test_families_in_rho_pay_for_publications_too(folder):
    text = (folder / "policy.toml").read_text()
    text = text.replace("epsilon = 3", 'rho = 3\naccounting = "zcdp"').replace(
        "staff]\nepsilon = 1", "staff]\nrho = 1"
    )
    (folder / "policy.toml").write_text(text.replace("staff.ledger", "rho.ledger"))
    write_rows(folder / "payroll.csv")
    Curator.register(folder / "policy.toml")
    with Curator(folder / "policy.toml") as curator:
        curator.publish("pay", **PAY, epsilon="0.5", analyst="alice")
        assert curator.accounts()["staff"].spent.value() < Fraction(1, 8) + Fraction(1, 10**9)
        before = curator.accounts()["staff"].spent.value()
        record = curator.publish("pay", **PAY, rho="0.25", analyst="alice")
        assert record.cost == "rho 0.25"
        assert Published.of(record.release).guarantee == dp.ZCDP("0.25")
        assert curator.publish("pay", **PAY, rho="0.2", analyst="alice") == record
        assert curator.accounts()["staff"].spent.value() == before + Fraction(1, 4)

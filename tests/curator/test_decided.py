"""What all kinds of publications share: read once, promised in full, known again."""

from datetime import UTC, datetime
from fractions import Fraction

import pytest
from tests.curator.test_rolling import table

from discreet.curator.answering import Answering
from discreet.curator.margining import margining
from discreet.curator.publishing import axes_of, publication
from discreet.curator.rolling import rolling
from discreet.curator.workloads import working
from discreet.errors import ParameterError
from discreet.noise.source import KeyedSource
from discreet.privacy.compose import sequential
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.privacy.loss import PureLoss
from discreet.query.nested import rollup_plan

T = table()
AXES = axes_of("band", 5, (0, 5))
HOW = {"confidence": Fraction(9, 10), "at": datetime(2026, 1, 1, tzinfo=UTC)}
KINDS = {
    "grid": lambda **more: publication(T.schema, T._engine, AXES, None, epsilon=1, **more),
    "grid by rho": lambda **more: publication(
        T.schema, T._engine, AXES, None, epsilon=None, rho=1, **more
    ),
    "roll-up": lambda **more: rolling(
        T.schema, T._engine, rollup_plan(T.schema, ["region"]), 1, **more
    ),
    "workload": lambda **more: working(T.schema, T._engine, ["band < 2"], 1, **more),
    "marginals": lambda **more: margining(
        T.schema, T._engine, ["region", "band"], 2, epsilon=1, **more
    ),
    "marginals by rho": lambda **more: margining(
        T.schema, T._engine, ["region", "band"], 2, rho=1, **more
    ),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


class Looking(Answering):
    """Counts how often somebody looks."""

    looks = 0

    def _looked(self, request, statement):
        type(self).looks += 1
        return super()._looked(request, statement)


@every_kind
def test_the_data_is_looked_at_once(kind, monkeypatch):
    monkeypatch.setattr(Looking, "looks", 0)
    assert len(KINDS[kind]().released(Looking(T._engine), KeyedSource(bytes(32)), **HOW))
    assert Looking.looks == 1


@every_kind
def test_a_failure_is_an_empty_table_for_an_analyst_and_an_error_for_an_owner(kind):
    wanted, told = KINDS[kind](), []
    empty = [{} for _ in wanted.counted.request.parts]

    def failing_on_people(parts):
        if any(parts):
            raise ZeroDivisionError
        return wanted.published(parts, KeyedSource(bytes(32)), **HOW)

    analyst = Answering(T._engine, "analyst", told.append)
    made = wanted.looked(analyst, failing_on_people)
    assert made == wanted.published(empty, KeyedSource(bytes(32)), **HOW)
    assert [type(fault) for fault in told] == [ZeroDivisionError]
    with pytest.raises(ZeroDivisionError):
        wanted.looked(Answering(T._engine), failing_on_people)


@every_kind
def test_what_was_found_before_is_part_of_the_promise(kind):
    loss = PureLoss(epsilon="0.5", neighbours=T.schema.unit.neighbours)
    made = KINDS[kind](found=[("a note", loss)])
    release = made.released(Answering(T._engine), KeyedSource(bytes(32)), **HOW)
    rho = "rho" in kind
    own = ZCDP(1) if rho else PureDP(1)
    assert release.guarantee == sequential(own, PureDP(Fraction(1, 2))) != own
    assert release.losses[0] == made.loss
    assert "a note" in release.notes


@every_kind
def test_a_price_is_no_part_of_the_question(kind):
    """The ledger knows a publication again by `canonical`, at whatever price."""
    asked = KINDS[kind]().asked
    assert set(asked.canonical) == {"publish"}
    assert asked.price == (("None", "None", "1") if "rho" in kind else ("1", "None", "None"))


@pytest.mark.parametrize("price", [{}, {"epsilon": 1, "rho": 1}])
def test_a_price_is_an_epsilon_or_a_rho(price):
    price = {"epsilon": None, **price}
    with pytest.raises(ParameterError, match="or rho must be said, and not both"):
        publication(T.schema, T._engine, AXES, None, **price)
    with pytest.raises(ParameterError, match="or rho must be said, and not both"):
        margining(T.schema, T._engine, ["region", "band"], 2, **price)

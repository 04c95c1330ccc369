"""What a question would cost: free, and the same for both forms of it."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from tests.curator.people import table

import discreet as dp
from discreet.curator.answer import answered
from discreet.curator.present import presented
from discreet.curator.questions import foreseen
from discreet.curator.stored import as_line
from discreet.noise.source import KeyedSource
from discreet.query.kinds import Number
from discreet.query.plan import PostAggregate
from discreet.query.price import Target, priced
from discreet.query.render import question_sql, to_sql

BY_DEPT = "SELECT dept, COUNT(*) AS n FROM t GROUP BY dept"


def test_both_forms_are_one_question():
    t = table()
    asked = t.query().where("salary > 100000").group_by("dept").count().sum("salary").mean("salary")
    session = t.session(epsilon=1)
    assert session.plan(asked.to_sql()) == session.plan(asked) == session.plan(asked.plan)


def test_a_plan_with_a_condition_that_all_share_is_that_question():
    session = table().session(epsilon=1)
    wanted = session.plan("SELECT COUNT(*) AS n FROM t WHERE age > 30")
    (output,) = wanted.outputs
    there = PostAggregate(replace(output.value.aggregate, where=wanted.where))
    made = replace(wanted, where=None, outputs=(replace(output, value=there),))
    assert session.plan(made) == wanted
    assert session.ask(made, epsilon="0.1").sql == session.ask(wanted, epsilon="0.1").sql
    other = replace(made, where=replace(wanted.where, op=">="))
    assert session.plan(other).where != wanted.where
    lie = replace(wanted.where, left=replace(wanted.where.left, kind=Number(0, 1)))
    false = PostAggregate(replace(there.aggregate, where=lie))
    with pytest.raises(dp.QueryError, match="not one of this table"):
        session.plan(replace(made, outputs=(replace(output, value=false),)))


def test_price_falls_with_epsilon():
    t = table()
    widths = [t.price(BY_DEPT, epsilon=epsilon)["n"].half_width for epsilon in ("0.1", 1, 10)]
    assert widths == [30, 3, 0]
    assert t.price(BY_DEPT, epsilon=1, confidence="0.5")["n"].half_width == 1


def test_price_in_words():
    text = str(table().price(BY_DEPT, epsilon=1))
    assert text.splitlines() == [
        "costs 1-differential privacy (neighbours: one person is added or removed)",
        "number  expected error  95% within  noise",
        "n                0.851           3  geometric, epsilon 1",
    ]


def test_the_reverse_of_a_price():
    t = table()
    found = t.epsilon_for(BY_DEPT, within=30)
    assert isinstance(found, Decimal)
    assert t.price(BY_DEPT, epsilon=found)["n"].half_width <= 30
    less = Fraction(found) - Fraction(1, 10_000)
    assert t.price(BY_DEPT, epsilon=less)["n"].half_width > 30


def test_explanations_say_everything():
    words = table(unit=dp.PerPerson("person_id", max_rows=4, max_groups=2)).explain(
        "SELECT dept, COUNT(*) AS n, AVG(salary) AS m FROM t WHERE age > 30 GROUP BY dept",
        epsilon="0.5",
    )
    for said in (
        "WHERE age > 30",
        "is a value of person_id",
        "weighted so that they count as at most 8 in all",
        "costs 0.5-differential privacy",
        "geometric, epsilon 0.5",
        "GROUP BY",
        "Statement",
    ):
        assert said in words


def test_explaining_costs_nothing_and_needs_no_price():
    session = table().session(epsilon=1)
    session.explain(BY_DEPT)
    session.price(BY_DEPT, epsilon=100)  # more than there is: it is only a question
    assert str(session.left) == "epsilon 1"


@pytest.mark.parametrize("bad", [{"within": 0}, {"within": -3}, {"within": "x"}])
def test_odd_accuracies(bad):
    with pytest.raises(dp.ParameterError, match="within"):
        table().epsilon_for(BY_DEPT, **bad)


def test_unknown_columns_of_a_price():
    with pytest.raises(dp.ParameterError, match="must be one of n"):
        table().price(BY_DEPT, epsilon=1)["m"]
    with pytest.raises(dp.ParameterError, match="must be one of n"):
        table().epsilon_for(BY_DEPT, within=3, column="m")


def test_what_was_decided_is_remembered():
    session = table().session(epsilon=1000)
    first = session.priced(session.plan(BY_DEPT), session_target())
    assert session.priced(session.plan(BY_DEPT), session_target()) is first
    for year in range(300):  # more than are kept
        session.plan(f"SELECT COUNT(*) AS n FROM t WHERE age > {year / 4}")
    assert len(session._memory.plans) <= 256


def session_target():
    from discreet.query.price import Target

    return Target(epsilon=1)


@pytest.mark.parametrize("where", [
    "SELECT COUNT(*) AS n FROM t WHERE age IN ({})",
    "SELECT SUM(CASE WHEN age IN ({}) THEN 2 ELSE 0 END) AS n FROM t",
])  # fmt: skip
def test_what_is_kept_of_long_questions_is_bounded(where):
    """By what they hold, constants as well, in every memory of them."""
    session = table().session(epsilon=1000)
    for n in range(40):
        listed = ",".join(str(n + many) for many in range(1500))
        session.explain(where.format(listed), epsilon=f"0.{n + 1}")
    kept, engine = session._memory, session._engine
    shapes = [made._shapes for _, made in engine._shapes.values() if made is not None]
    for memory in (kept.plans, kept.prices, kept.kin, *shapes):
        assert len(memory) < 40


def test_what_is_foreseen_of_a_question():
    t = table()
    told = foreseen(t, BY_DEPT, {"epsilon": "0.5"}, figures={"confidence": "0.5"})
    assert told.text == t.explain(BY_DEPT, epsilon="0.5")
    assert told.price == t.price(BY_DEPT, epsilon="0.5", confidence="0.5")
    assert told.epsilon_for is None
    told = foreseen(t, BY_DEPT, {"epsilon": None}, accuracy={"within": 30})
    assert told.epsilon_for == t.epsilon_for(BY_DEPT, within=30)
    assert told.price == t.price(BY_DEPT, epsilon=told.epsilon_for)
    assert told.text == t.explain(BY_DEPT, epsilon=told.epsilon_for)


def test_a_question_without_a_price_is_foreseen_at_epsilon_1():
    t = table()
    told = foreseen(t, BY_DEPT, {"epsilon": None}, words={"with_statement": False})
    assert told.price == t.price(BY_DEPT, epsilon=1)
    assert "Statement" not in told.text
    with pytest.raises(dp.QueryError, match="MAX"):
        foreseen(t, "SELECT MAX(salary) FROM t", {})


SHAPES = [
    "SELECT COUNT(*) AS n FROM t {}",
    "SELECT dept, COUNT(*) AS n, AVG(salary) AS m FROM t {} GROUP BY dept",
    "SELECT dept, SUM(salary) AS s FROM t {} GROUP BY dept HAVING s > 0 ORDER BY 2 LIMIT 2",
    "SELECT MEDIAN(salary) AS m, COUNT(*) FILTER (WHERE age > 30) AS n FROM t {}",
    "SELECT COUNT(DISTINCT person_id) AS n FROM t {}",
]
CONDITIONS = ["", "age > 30", "age > 31", "dept = 'nurse'", "salary < 5 OR age BETWEEN 1 AND 40"]


@pytest.mark.parametrize(
    "unit",
    [
        dp.PerPerson("person_id", max_rows=4, max_groups=2),
        dp.PerRow(rows=1000, neighbours="replace"),
    ],
)
def test_what_where_says_changes_no_price(unit):
    """Questions that are priced one after the other are priced as if each were alone."""
    session = table(unit=unit).session(epsilon=100)
    target = Target(epsilon=1)
    for shape in SHAPES:
        if "person_id" in shape and isinstance(unit, dp.PerRow):
            continue
        for condition in CONDITIONS:
            plan = session.plan(shape.format(f"WHERE {condition}" if condition else ""))
            found, statement = session.priced(plan, target)
            assert found == priced(plan, session.schema, target)
            if found.request.parts:
                assert statement == session._engine.ready(found.request)
            assert session.priced(plan, target)[0] is found


NEAR_MISSES = [
    "SELECT COUNT(*) AS n FROM t WHERE age < {}",
    "SELECT dept, COUNT(*) AS n, AVG(salary) AS m FROM t WHERE salary >= {} GROUP BY dept",
    "SELECT dept, COUNT(*) AS n FROM t WHERE salary >= {} GROUP BY dept HAVING n > 1",
    "SELECT dept, COUNT(*) AS n FROM t WHERE salary >= {} GROUP BY dept HAVING n > 1.5 ORDER BY 2",
    "SELECT COUNT(*) AS n, 1 AS k FROM t WHERE age > {}",
    "SELECT COUNT(*) AS n, 1.0 AS k FROM t WHERE age > {}",
    "SELECT COUNT(*) AS n, TRUE AS k FROM t WHERE age > {}",
    "SELECT COUNT(*) AS n, '1' AS k FROM t WHERE age > {}",
    "SELECT COUNT(*) AS n, 0 AS k FROM t WHERE age > {}",
    "SELECT COUNT(*) AS n, -0 AS k FROM t WHERE age > {}",
    "SELECT COUNT(*) AS n, FALSE AS k FROM t",
    "SELECT SUM(CASE WHEN age > {} THEN 1 ELSE 0 END) AS n FROM t",
    "SELECT dept, COUNT(*) AS n FROM t WHERE dept = 'nurse' AND age <> {} GROUP BY dept",
    "SELECT MEDIAN(salary) AS n FROM t WHERE age <= {}",
]


def told(asker, question, target):
    """All that is decided of a question, and an answer to it from no rows under one key."""
    plan = asker.plan(question)
    found, _ = asker.priced(plan, target)
    empty, at = [{} for _ in found.request.parts], datetime(2026, 1, 1, tzinfo=UTC)
    made = answered(found, empty, KeyedSource(bytes(32)), confidence=Fraction(9, 10))
    release = presented(
        found, made, sql=question_sql(found), confidence=Fraction(9, 10), found_before=(),
        asked_at=at,
    )  # fmt: skip
    return repr((plan, found, found.guarantee)), as_line(release), to_sql(plan, asker.schema)


def test_what_is_kept_of_earlier_questions_changes_nothing():
    """One asker that has met all of them, in turns, against a new one for each question."""
    warm = table().session(epsilon=1)
    targets = [Target(epsilon="0.5"), Target(epsilon=1, delta="1e-6")]
    for constant in ("0", "1", "1.0", "2.5"):
        for target in targets:
            for shape in NEAR_MISSES:
                question = shape.format(constant)
                cold = table().session(epsilon=1)
                assert told(warm, question, target) == told(cold, question, target)

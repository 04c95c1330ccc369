"""Attacks on a session: twin tables that differ in one person give the same refusals, the same
shapes and the same charges (A3 to A5, A7, A8, A12 to A17 of the attack list).
"""

import math

import pytest
from tests.curator.people import COLUMNS, NASTY, TARGET, frame, rows, table
from tests.query import hostile

import discreet as dp
from discreet.query.price import Target, priced

UNIT = dp.PerPerson("person_id", max_rows=3, max_groups=2)


def twins():
    """Two sessions on neighbouring tables: one has the target's rows."""
    without, having = rows(60), [*rows(60), *NASTY]
    return [
        table(listed, unit=UNIT).session(epsilon=1000, delta="1e-3") for listed in (without, having)
    ]


def seen(session, question):
    """All that an analyst sees but the noise: the refusal, or the shape; and the charge."""
    try:
        answer = session.ask(question, epsilon="0.01", delta="1e-9")
    except dp.DiscreetError as error:
        return type(error).__name__, str(error), str(session.left)
    except Exception as error:  # noqa: BLE001 - any other error would be a finding
        return "LEAK", type(error).__name__, str(error)
    selected = any("selected" in note for note in answer.notes)
    shape = (answer.columns, "selected" if selected else len(answer), answer.sql, answer.notes)
    return "answer", shape, str(session.left), str(answer.guarantee), answer.covers


@pytest.fixture(scope="module")
def pair():
    return twins()


def test_the_corpus_is_large_enough():
    assert len(set(hostile.EXPRESSIONS)) >= 75


@pytest.mark.parametrize("position", hostile.POSITIONS)
def test_expressions_show_nothing(pair, position):
    for expression in hostile.EXPRESSIONS:
        question = hostile.POSITIONS[position].format(expression)
        first, second = (seen(session, question) for session in pair)
        assert first == second, question
        assert first[0] in ("QueryError", "answer"), (question, first)


def test_queries_show_nothing(pair):
    for question in hostile.QUERIES:
        first, second = (seen(session, question) for session in pair)
        assert first == second, question
        assert first[0] in ("QueryError", "answer"), (question, first)


HARMLESS = [
    "SELECT COUNT(*) AS n, SUM(salary) AS s, AVG(salary) AS m, STDDEV(salary) AS d FROM t",
    "SELECT dept, COUNT(*) AS n, COUNT(salary) AS c FROM t GROUP BY dept",
    "SELECT FLOOR(age / 10) * 10 AS decade, MEDIAN(salary) AS q FROM t GROUP BY decade",
    "SELECT DATE_TRUNC('year', hired) AS y, COUNT(DISTINCT person_id) AS p FROM t GROUP BY y",
    "SELECT active, AVG(salary / (age + 1)) AS m FROM t GROUP BY active",
    "SELECT SUM(salary / (age - 42)) AS s FROM t",
    "SELECT AVG(LN(GREATEST(salary, 1))) AS l, PRODUCT(age + 1) AS p FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE note LIKE 'SECRET%'",
    "SELECT COUNT(*) AS n FROM t WHERE salary IS NULL OR age % 7 = 0",
]


@pytest.mark.parametrize("question", HARMLESS)
def test_odd_values_change_no_shape(pair, question):
    """NaN, infinities, missing values and -0.0 in the target's rows."""
    first, second = (seen(session, question) for session in pair)
    assert first == second
    assert first[0] == "answer"


@pytest.mark.parametrize("question", HARMLESS)
@pytest.mark.parametrize("name", ["salary", "age", "hired", "note", "dept", "active"])
def test_columns_that_are_missing_everywhere(question, name):
    listed = [row | {name: None} for row in rows(20)]
    session = table(listed, unit=UNIT).session(epsilon=1)
    assert seen(session, question)[0] == "answer"


def test_parquet_statistics_do_not_hide_nan(tmp_path):
    """Writers leave NaN out of a column's minimum and maximum, which an optimiser may trust."""
    import pyarrow.parquet as pq

    for number, odd in enumerate((math.nan, math.inf, -math.inf)):
        path = tmp_path / f"{number}.parquet"
        listed = [row | {"dept": "clerk"} for row in rows(50)]
        pq.write_table(frame([*listed, listed[0] | {"salary": odd}]), path)
        t = dp.Table(path, unit=dp.PerRow(), columns=COLUMNS, name="t")
        answer = t.session(epsilon=1000).ask(
            "SELECT COUNT(*) AS n, COUNT(salary) AS c, SUM(salary) AS s FROM t", epsilon=900
        )
        truth = sum(row["salary"] for row in listed)
        clamped = 400_000 * (odd == math.inf)
        (row,) = list(answer)
        assert row["n"] == 51
        assert row["c"] == 51 - math.isnan(odd)
        assert row["s"] == pytest.approx(truth + clamped, abs=30_000)


def test_keys_of_one_person_are_not_shown():
    """A name that one person has: the rows, their order and their types do not depend on it."""
    session = table([*rows(300), TARGET]).session(epsilon=100, delta="1e-6")
    for _ in range(20):
        answer = session.ask(
            "SELECT note, COUNT(*) AS n FROM t GROUP BY note", epsilon=1, delta="1e-9"
        )
        assert answer["note"] == sorted(answer["note"])
        assert "SECRET:7" not in answer["note"]


def test_hostile_names_and_keys():
    import pyarrow as pa

    names = ['a"b', "semi;colon", "select", "ünï", "x--y", "tab\tname", "'quote'"]
    keys = ["'; DROP TABLE t; --", '"', "\\", "%", "naïve", " ", "NULL"]
    data = pa.table(dict.fromkeys(names, keys * 10))
    t = dp.Table(data, unit=dp.PerRow(), columns=dict.fromkeys(names, dp.Keys(keys)), name="t")
    session = t.session(epsilon=1000)
    for name in names:
        quoted = '"' + name.replace('"', '""') + '"'
        answer = session.ask(
            f"SELECT {quoted}, COUNT(*) AS n FROM t GROUP BY {quoted}", epsilon=100
        )
        assert answer["n"] == [10] * 7
        assert answer[name] == keys


def test_sums_do_not_wrap_or_round():
    """2^52 and its neighbours in floats, 2^61 in integers: exact, in any order."""
    import pyarrow as pa

    big = [2**61, 2**61, 2**61, -(2**61)] * 50
    for values in (big, big[::-1]):
        data = pa.table({"v": pa.array(values, pa.int64())})
        columns = {"v": dp.Bounds(-(2**61), 2**61, grid=1)}
        t = dp.Table(data, unit=dp.PerRow(), columns=columns, name="t", row_limit=10**6)
        question = priced(t.query().sum("v").plan, t.schema, Target(epsilon=1))
        (cells,) = t._engine.run(question.request)
        assert cells[()] == (sum(values),)


def test_bounds_that_bound_nothing_are_refused():
    with pytest.raises(dp.ParameterError, match="low below high"):
        dp.Bounds(5, 5)
    with pytest.raises(dp.QueryError, match="no column"):
        table(columns={"age": dp.Bounds(0, 120)}).session(epsilon=1).ask(
            "SELECT SUM(salary) FROM t", epsilon=1
        )


def test_a_clamp_is_the_last_step():
    """An expression that amplifies one row is bounded by its own range, not the column's."""
    session = table([TARGET | {"age": 120}]).session(epsilon=1)
    found = session.price("SELECT SUM(age * 1000) AS s FROM t", epsilon=1)
    assert found["s"].half_width >= 120_000

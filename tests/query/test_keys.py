"""The public keys of an expression: everything that can come out, from the declaration alone."""

import time
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.query.example import PEOPLE, TABLES
from tests.query.generate import days, flags, numbers, texts
from tests.query.rows import ROWS

from discreet.errors import QueryError
from discreet.query import keys
from discreet.query.evaluate import evaluate
from discreet.query.keys import keys_of, shown_key
from discreet.query.schema import Bounds, Dates, Keys, PerRow, Schema
from discreet.query.sql import expression, parse


def of(text, schema=PEOPLE):
    return keys_of(expression(text, schema), schema)


@settings(max_examples=examples(200))
@given(
    st.one_of(numbers(2), flags(2), days(2), texts(2)),
    st.lists(ROWS, min_size=1, max_size=10),
    st.sampled_from([0, 2000]),
)
def test_no_row_has_a_value_that_is_not_a_key(text, rows, evaluations):
    """∀ expressions, ∀ rows: the value is a key or missing, by evaluation and by shape."""
    usual = keys.EVALUATIONS
    keys.EVALUATIONS = evaluations
    try:
        node = expression(text, PEOPLE)
        found = keys_of(node, PEOPLE)
    except QueryError:
        assume(False)
    finally:
        keys.EVALUATIONS = usual
    assume(found is not None)
    assert None not in found
    assert len(set(found)) == len(found)
    for row in rows:
        value = evaluate(node, row, TABLES)
        assert value is None or value in found


def test_declared_keys_keep_their_order_and_numbers_rise():
    assert of("dept") == ("clerk", "nurse", "it's", "Ärzte")
    assert of("code") == (3, 1, 2, -7)
    assert of("code + 1") == (-6, 2, 3, 4)
    assert of("active") == (False, True)
    assert of("age") == tuple(range(121))
    assert of("hired")[:2] == (date(2019, 3, 5), date(2019, 3, 6))
    assert len(of("hired")) == 2129
    assert of("note") is None
    assert of("COALESCE(note, 'a')") is None


def test_declared_keys_are_kept_once():
    """However many questions have them, but for those of which WHERE leaves some."""
    declared = PEOPLE.columns["dept"].values
    assert of("dept") is declared
    texts = [f"SELECT dept, COUNT(*) AS n FROM t WHERE age > {n} GROUP BY dept" for n in (1, 2)]
    texts.append("SELECT dept, COUNT(*) AS n FROM t WHERE dept <> 'nurse' GROUP BY dept")
    (first,), (second,), (some,) = (parse(text, PEOPLE).groupings for text in texts)
    assert first.keys is second.keys is declared
    assert some.keys == tuple(key for key in declared if key != "nurse") != declared


def test_only_what_can_come_out_where_that_can_be_tried():
    assert of("FLOOR(age / 10) * 10") == tuple(range(13))  # multiples of a grid of 10
    assert of("MOD(code, 3)") == (-1, 0, 1, 2)
    assert of("code > 0") == (False, True)
    assert of("code > 5") == (False,)
    assert of("WIDTH_BUCKET(age, 10, 50, 4)") == (0, 1, 2, 3, 4, 5)
    assert of("WIDTH_BUCKET(age, 0, 200, 4)") == (1, 2, 3)
    assert of("LOOKUP('regions', 'region', zip)") == ("east", "west")
    assert of("LOOKUP('regions', 'coast', zip)") == (True,)
    assert of("dept LIKE '%e%'") == (False, True)


def test_what_is_too_much_to_try_follows_from_the_shape():
    assert of("WIDTH_BUCKET(salary, 0, 100000, 4)") == (0, 1, 2, 3, 4, 5)
    assert of("FLOOR(salary / 100000) * 100000") == (0, 1, 2, 3, 4)
    assert of("FLOOR(salary / 100000) * 100000 + 50000") == (1, 3, 5, 7, 9)  # half are not there
    assert of("CASE WHEN salary > 5 THEN 'rich' WHEN age > 3 THEN dept ELSE 'none' END") == (
        "rich", "clerk", "nurse", "it's", "Ärzte", "none",
    )  # fmt: skip
    assert of("salary > 3") == (False, True)
    assert of("EXTRACT(MONTH FROM hired)") == tuple(range(1, 13))
    assert of("DATE_TRUNC('year', hired)") == tuple(date(y, 1, 1) for y in range(2019, 2025))
    quarters = of("DATE_TRUNC('quarter', hired)")
    assert (quarters[0], len(quarters)) == (date(2019, 1, 1), 24)
    assert of("COALESCE(dept, 'unknown')")[-1] == "unknown"
    far = "CASE WHEN active THEN hired ELSE DATE '9999-12-31' END"
    assert of(f"DATE_TRUNC('year', {far})")[-1] == date(9999, 1, 1)


@pytest.mark.parametrize("unit", ["day", "week", "month", "quarter", "year"])
def test_every_first_day_is_listed(unit):
    schema = Schema("t", PerRow(), {"d": Dates("1999-11-17", "2001-03-02")}, {})
    node = expression(f"DATE_TRUNC('{unit}', d)", schema)
    by_hand = {evaluate(node, {"d": d}) for d in keys_of(expression("d", schema), schema)}
    assert keys_of(node, schema) == tuple(sorted(by_hand))


def test_too_many_keys_are_refused_in_words(monkeypatch):
    wide = Schema("t", PerRow(), {"x": Bounds(-(1 << 62), 1 << 62, 1)}, {})
    for text, schema in (("salary", PEOPLE), ("salary + age", PEOPLE), ("x", wide)):
        with pytest.raises(QueryError, match="bins such as FLOOR"):
            of(text, schema)
    few = Schema("t", PerRow(), {"a": Keys(range(60)), "b": Keys(range(-60, 0))}, {})
    monkeypatch.setattr(keys, "MOST_KEYS", 100)
    with pytest.raises(QueryError, match="needs 120 keys"):
        of("CASE WHEN a > 5 THEN a ELSE b END", few)


def test_keys_as_a_person_reads_them():
    decade = expression("FLOOR(age / 10) * 10", PEOPLE)
    assert shown_key(3, decade) == 30
    assert shown_key(1, expression("age / 4", PEOPLE)) == Fraction(1, 4)
    assert shown_key(None, decade) is None
    assert shown_key("a", expression("dept", PEOPLE)) == "a"
    assert shown_key(True, expression("active", PEOPLE)) is True


def test_a_condition_on_many_keys_is_folded():
    schema = Schema("t", PerRow(), {"x": Bounds(0, 999_999, 1)}, {})
    every = of("x", schema)
    where = expression(" AND ".join(f"x >= {i} AND x <> {i}" for i in range(100)), schema)
    started = time.process_time()
    assert keys.admitted(every, expression("x", schema), where) == every[100:]
    assert time.process_time() - started < 5  # about 0.5 s, and not for each part


@settings(max_examples=examples(150))
@given(st.lists(flags(1), min_size=1, max_size=3), st.lists(ROWS, min_size=1, max_size=10))
def test_a_row_that_is_kept_has_a_key_that_is_kept(conditions, rows):
    """∀ conditions, ∀ rows: where the condition is true, the row's key is still answered."""
    try:
        where = expression(" AND ".join(f"({one})" for one in conditions), PEOPLE)
    except QueryError:
        assume(False)
    for name in ("dept", "code", "age", "active", "hired", "zip"):
        every = keys_of(expression(name, PEOPLE), PEOPLE)
        left = keys.admitted(every, expression(name, PEOPLE), where)
        assert set(left) <= set(every)
        for row in rows:
            if row[name] is not None and evaluate(where, row, TABLES) is True:
                assert row[name] in left

"""A question of a known shape has the plan that its text has, or the refusal."""

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.query.example import PEOPLE, ROWS
from tests.query.generate import questions
from tests.query.hostile import EXPRESSIONS, QUERIES, placed

from discreet.errors import QueryError
from discreet.query import known
from discreet.query.known import Reader
from discreet.query.sql import parse

CONSTANTS = [
    "0", "1", "3", "7", "-3", "1010", "99", "0.5", "0.50", "0.25", "0.3", "1.0", "2.25", "007",
    "00", "400000", "400001", "4611686018427387904", "999999999999999", "9999999999999999", "1e3",
    "1_000", "0.000000000000001", "TRUE", "NULL", "'7'", "DATE '2021-02-03'", "1/3", "+5", "-0",
    "- 5", "x'5'", "5.", ".5", "$1", "@5", "0x10", "0b1", "5 5", "5 -- 6", "/* 4 */ 5", "(5)",
    "((6))", "5::INT", "1 + 1", "age", "salary", "5 DAY", "5,", "5)", "5;", "", "\u0663",
    "5\u00a0", "5\x85", "$$5$$", '"5"', "1 = 1",
]  # fmt: skip
SHAPES = [
    "SELECT COUNT(*) AS n FROM t WHERE salary < {}",
    "SELECT dept, COUNT(*) AS n FROM t WHERE {} <= age GROUP BY dept",
    "SELECT AVG(salary) AS m FROM t WHERE salary <> {} AND NOT (age = {} OR temperature > {})",
    "SELECT COUNT(*) AS n FROM t WHERE age BETWEEN {} AND {}",
    "SELECT COUNT(*) AS n FROM t WHERE NOT age BETWEEN 3 AND {} AND height < {}",
    "SELECT COUNT(*) AS n FROM t WHERE code = {}",
    "SELECT code, COUNT(*) AS n FROM t WHERE code >= {} GROUP BY code",
    "SELECT code, COUNT(*) AS n FROM t WHERE code * 2 > {} GROUP BY code",
    "SELECT code, COUNT(*) AS n FROM t WHERE {} < code + 0.5 AND age > {} GROUP BY code",
    "SELECT code, COUNT(*) AS n FROM t WHERE code * 2 BETWEEN {} AND {} GROUP BY code",
    "SELECT code, COUNT(*) AS n FROM t WHERE age > {} AND code <> 3 GROUP BY 1 ORDER BY {} LIMIT 5",
    "SELECT FLOOR(age / 40) AS a, COUNT(*) AS n FROM t WHERE age < {} AND salary > {} GROUP BY 1",
    "SELECT age < 9 AS a, COUNT(*) AS n FROM t WHERE age < {} GROUP BY 1",
    "SELECT COUNT(*) AS n FROM t WHERE salary + {} > {}",
    "SELECT COUNT(*) AS n FROM t WHERE salary * {} > 3 AND age > {}",
    "SELECT COUNT(*) AS n FROM t WHERE age IN ({}, {}) OR age > {}",
    "SELECT SUM(CASE WHEN salary > {} THEN 1 ELSE 0 END) AS n FROM t WHERE age > {}",
    "SELECT COUNT(*) FILTER (WHERE age > {}), COUNT(*) FILTER (WHERE age>7) FROM t WHERE age < {}",
    "SELECT COUNT(*) FILTER (WHERE age > {}), COUNT(*) FILTER (WHERE age > {}) FROM t",
    "SELECT AVG(salary) FILTER (WHERE age > {} AND salary <> {}) AS m FROM t WHERE age <> {}",
    "SELECT SUM(CASE WHEN age > {} THEN {} ELSE 0 END) AS m FROM t WHERE salary < {}",
    "SELECT SUM(CASE WHEN age > {} THEN 1 END) FILTER (WHERE salary < {}) AS m FROM t",
    "SELECT dept, COUNT_IF(age > {}) AS n FROM t GROUP BY dept HAVING n > {} LIMIT {}",
    "SELECT FLOOR(age / 40) AS a, COUNT_IF(age > {}) AS n FROM t WHERE salary > {} GROUP BY 1",
    "SELECT age < {} AS a, COUNT_IF(salary > {}) AS n FROM t GROUP BY 1",
    "SELECT SUM(CASE age WHEN {} THEN 1 ELSE 0 END) AS n FROM t WHERE salary < {}",
    "SELECT SUM(IF(age = {}, 1, 0)) / {} AS n FROM (SELECT * FROM t WHERE code > {})",
    "SELECT COUNT(CASE WHEN age > {} THEN 1 END) AS n FROM t WHERE salary < {}",
    "SELECT SUM(CASE WHEN age > {} THEN salary ELSE 0 END) AS n FROM t WHERE salary < {}",
    "SELECT SUM(IF(age > {}, 1, 0)) AS n, COUNT(*) AS m FROM t WHERE salary < {}",
    "SELECT SUM(IF(age > {}, 1, 0)) AS n, COUNT_IF(age > {}) AS m FROM t WHERE salary < {}",
    "SELECT COUNT_IF(age > {}) AS n FROM t WHERE salary < {} HAVING COUNT_IF(age > {}) > 5",
    "SELECT COUNT_IF(age > {}) AS n FROM t WHERE age > {} ORDER BY COUNT_IF(age > 7)",
    "SELECT dept, COUNT(*) AS n FROM t WHERE age < {} GROUP BY dept HAVING n > {} LIMIT {}",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) COUNT(*) AS n FROM t WHERE age < {}",
    "SELECT COUNT(*) FROM (SELECT age, age > {} AS o FROM t WHERE salary < {}) WHERE o AND age<{}",
    "WITH c AS (SELECT age FROM t WHERE age > {}) SELECT COUNT(*) AS n FROM c WHERE age < {}",
    "SELECT region, COUNT(*) FROM t JOIN regions USING (zip) WHERE zip>{} AND age < {} GROUP BY 1",
    "SELECT COUNT(*) AS n FROM t WHERE hired < {}",
    "SELECT COUNT(*) AS n FROM t WHERE note = '{}' AND age < {} -- {}",
    "SELECT COUNT(*) AS n FROM t WHERE active = {}",
    "SELECT COUNT(*) AS n FROM t WHERE (age < {}) IS NOT DISTINCT FROM active AND age = {}",
    "SELECT COUNT(*) AS n FROM t WHERE age < {}\tAND\nage>{}",
    "SELECT COUNT(*) AS n FROM t WHERE age<{}AND age>{}",
    "SELECT COUNT(*) AS \"n {}\" FROM t WHERE age < {}",
    "SELECT dept, COUNT(*) AS n FROM t WHERE age > {} GROUP BY ROLLUP (dept)",
    "SELECT COUNT(*) AS n FROM t WHERE {} < {}",
    "SELECT MEDIAN(salary) AS n FROM t WHERE age >= {} LIMIT {}",
]  # fmt: skip


def outcome(read, text):
    """The plan in full (TRUE and 1 are equal, and differ), or the words of the refusal."""
    try:
        return repr(read(text))
    except QueryError as error:
        return f"refused: {error}"


@pytest.fixture
def reads(monkeypatch):
    """How often a text was read in full."""
    seen = []
    inner = known.parsed

    def counted(text, schema):
        seen.append(text)
        return inner(text, schema)

    monkeypatch.setattr(known, "parsed", counted)
    return seen


@pytest.mark.parametrize("schema", [PEOPLE, ROWS], ids=["people", "rows"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_constant_in_every_place(shape, schema):
    """Each constant after each other one, so that each meets the pattern of each."""
    reader = Reader(schema)
    texts = [shape.format(*(CONSTANTS[(i * step) % len(CONSTANTS)] for step in (1, 2, 5)))
             for i in range(len(CONSTANTS))]  # fmt: skip
    texts += [shape.format(one, one, one) for one in CONSTANTS]
    texts += [shape.format(7, one, 9) for one in CONSTANTS]
    wanted = {text: outcome(lambda said: parse(said, schema), text) for text in texts}
    for text in (*texts, *reversed(texts)):
        assert outcome(reader.plan, text) == wanted[text]


@given(text=questions(), others=st.lists(st.sampled_from(CONSTANTS), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_random_questions_with_other_numbers(text, others):
    """Every number of a random question is replaced by others, one after the other."""
    reader = Reader(PEOPLE)
    places = [found.span() for found in re.finditer(r"\d+(\.\d+)?", text)]
    told = [text]
    for turn, one in enumerate(others):
        changed = text
        for place, (start, end) in reversed(list(enumerate(places))):
            if (place + turn) % 3:
                changed = changed[:start] + one + changed[end:]
        told.append(changed)
    for said in (*told, *told):
        assert outcome(reader.plan, said) == outcome(lambda t: parse(t, PEOPLE), said)


def test_hostile_questions_after_each_other():
    """With one reader, and each again with other numbers: near misses of what is known."""
    reader = Reader(PEOPLE)
    texts = [*QUERIES, *(text for one in EXPRESSIONS for text in placed(one))]
    for text in texts:
        for said in (text, re.sub(r"\b1\b", "2", text), re.sub(r"\b0\b", "7", text)):
            if isinstance(said, str) and len(said) < 4000:
                assert outcome(reader.plan, said) == outcome(lambda t: parse(t, PEOPLE), said)


@pytest.mark.parametrize(
    "shape",
    [
        "SELECT COUNT(*) AS n FROM t WHERE salary < {}",
        "SELECT dept, SUM(salary) AS n FROM t WHERE {} <= age AND active GROUP BY dept",
        "SELECT code, COUNT(*) AS n FROM t WHERE NOT (age = {} OR salary > 5) GROUP BY 1 LIMIT 3",
        "SELECT COUNT(*) AS n FROM (SELECT * FROM t WHERE active) WHERE age BETWEEN 3 AND {}",
        "SELECT COUNT(*) AS n FROM t WHERE note = '5' AND age <> {};",
        "SELECT COUNT(*) FILTER (WHERE age > {}) AS n FROM t WHERE active",
        "SELECT dept, AVG(salary) FILTER (WHERE age > {} OR active) AS n FROM t GROUP BY dept",
        "SELECT SUM(CASE WHEN salary > {} THEN 1 ELSE 0 END) AS n FROM t WHERE age <> 5",
        "SELECT SUM((IF(age BETWEEN 3 AND {}, 1, 0))) / 2 AS n FROM t HAVING n > 7",
        "SELECT COUNT_IF(age > {}) AS n FROM (SELECT * FROM t WHERE active) WHERE salary > 5",
        "SELECT COUNT(CASE WHEN age > {} THEN 1 END) AS n FROM t",
        "SELECT SUM(active) AS n FROM t WHERE age > {}",
        "SELECT SUM(CAST(active AS INTEGER)) AS n FROM t WHERE age > {}",
        "SELECT SUM(CASE WHEN active THEN salary ELSE 0 END) AS n FROM t WHERE age > {}",
        "SELECT SUM(IF(active, 1, 0)) AS n, COUNT(*) AS m FROM t WHERE age > {}",
        "SELECT COUNT_IF(active) AS n, AVG(salary) FILTER (WHERE active) FROM t WHERE age > {}",
        "SELECT COUNT_IF(active) FILTER (WHERE note = 'x') AS n FROM t WHERE age > {}",
        "SELECT COUNT_IF(age > 3) AS n FROM t WHERE age > {} HAVING COUNT_IF(age > 3) > 5",
    ],
)
def test_known_shapes_are_not_read_again(shape, reads):
    reader = Reader(PEOPLE)
    for n in range(50):
        assert reader.plan(shape.format(n)) == parse(shape.format(n), PEOPLE)
    assert reads == [shape.format(0)]


@pytest.mark.parametrize(
    "shape",
    [
        "SELECT COUNT(*) AS n FROM t WHERE active LIMIT {}",
        "SELECT code, COUNT(*) AS n FROM t WHERE code > {} GROUP BY code",
        "SELECT COUNT(*) AS n FROM t WHERE salary > 10 + {}",
        "SELECT COUNT(*) FILTER (WHERE age > {}) AS n, COUNT(*) AS m FROM t WHERE active",
        "SELECT COUNT(*) FILTER (WHERE age > {}) AS n FROM t ORDER BY COUNT_IF(age > 0)",
        "SELECT FLOOR(age / 9) AS a, COUNT(*) FILTER (WHERE age > {}) AS n FROM t GROUP BY 1",
        "SELECT SUM(CASE WHEN age > {} THEN 1 ELSE 0 END) FILTER (WHERE active) AS n FROM t",
        "SELECT SUM(CASE age WHEN {} THEN 1 ELSE 0 END) AS n FROM t",
        "SELECT COUNT(*) AS n FROM t WHERE note <> '{}'",
        "SELECT COUNT(*) AS n FROM t WHERE active -- {}",
    ],
)
def test_other_places_are_always_read(shape, reads):
    reader = Reader(PEOPLE)
    for n in (1, 2, 1, 2):
        reader.plan(shape.format(n))
    assert len(reads) == 4


def test_numbers_that_are_no_slots_are_parts_of_the_shape(reads):
    reader = Reader(PEOPLE)
    shape = "SELECT dept, COUNT(*) AS n FROM t WHERE age < {} GROUP BY 1 ORDER BY {} LIMIT {}"
    for n in range(20):
        for order, limit in ((1, 2), (2, 2), (2, 9)):
            text = shape.format(n, order, limit)
            assert reader.plan(text) == parse(text, PEOPLE)
    assert len(reads) == 3


def test_a_number_that_is_a_slot_beside_one_number_only():
    """What is grouped by decides which number is a slot, and a number says what is grouped by."""
    reader = Reader(PEOPLE)
    shape = (
        'SELECT "c {} x" AS g, COUNT(*) AS n FROM (SELECT code AS "c 1 x", zip AS "c 2 x" FROM t) '
        'WHERE "c 1 x" > {} AND "c 2 x" > {} GROUP BY g'
    )
    for numbers in ((1, 2, 1009), (2, 0, 8000), (1, 0, 2)):
        text = shape.format(*numbers)
        assert reader.plan(text) == parse(text, PEOPLE)


def test_another_grid_is_read_in_full(reads):
    """A finer constant moves the column to its grid, and the condition grows."""
    reader = Reader(PEOPLE)
    for one in ("5", "5.5", "6", "7.0"):
        text = f"SELECT COUNT(*) AS n FROM t WHERE age < {one}"
        assert reader.plan(text) == parse(text, PEOPLE)
    assert len(reads) == 3  # the last shape that was learnt is that of 6


def test_long_questions_and_many_numbers_are_read_in_full(reads):
    reader = Reader(PEOPLE)
    many = " OR ".join(f"age = {n}" for n in range(known.MOST_NUMBERS + 1))
    for text in (f"SELECT COUNT(*) AS n FROM t WHERE {many}",
                 f"SELECT COUNT(*) AS n FROM t WHERE age < 5 {' ' * known.LONGEST}"):  # fmt: skip
        for _ in range(2):
            assert outcome(reader.plan, text) == outcome(lambda t: parse(t, PEOPLE), text)
    assert len(reads) == 4


def test_a_full_stack_does_not_change_the_plan():
    reader, text = Reader(PEOPLE), "SELECT COUNT(*) AS n FROM t WHERE age < {}"
    reader.plan(text.format(1))

    def deep(left):
        return deep(left - 1) if left else reader.plan(text.format(2))

    depth = 0
    here = sys._getframe()
    while here is not None:
        here, depth = here.f_back, depth + 1
    wanted = parse(text.format(2), PEOPLE)
    for left in range(24, 64, 2):
        assert deep(sys.getrecursionlimit() - depth - left) == wanted

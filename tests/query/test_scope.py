"""Names: tables, subqueries that filter and project, public joins."""

import pickle

import pytest
from tests.query.example import PEOPLE

from discreet.errors import QueryError
from discreet.query import total
from discreet.query.schema import FreeText, PerPerson, Schema
from discreet.query.scope import Environment, base, checked, extent, pick
from discreet.query.sql import expression, parse


def where(text):
    return parse(text, PEOPLE).where


def test_filters_add_up_through_every_layer():
    nested = (
        "WITH a AS (SELECT * FROM t WHERE age > 1), "
        "b AS (SELECT age + 1 AS older, dept FROM a AS x WHERE x.dept = 'clerk') "
        "SELECT COUNT(*) FROM (SELECT older FROM b) AS c WHERE c.older < 9"
    )
    assert where(nested) == expression("age > 1 AND dept = 'clerk' AND age + 1 < 9", PEOPLE)


def test_a_subquery_may_take_the_name_of_the_table():
    assert where(
        "WITH t AS (SELECT age FROM t WHERE active) SELECT COUNT(*) FROM t WHERE age > 1"
    ) == expression("active AND age > 1", PEOPLE)


def test_inner_joins_keep_what_is_there_and_left_joins_everything():
    there = expression("LOOKUP('regions', 'region', zip) IS NOT NULL", PEOPLE)
    assert where("SELECT COUNT(*) FROM t JOIN regions USING (zip)") == there
    assert where("SELECT COUNT(*) FROM t INNER JOIN regions AS r ON (r.zip = t.zip)") == there
    assert where("SELECT COUNT(*) FROM t LEFT OUTER JOIN regions USING (zip)") is None
    assert where("SELECT COUNT(*) FROM t LEFT JOIN regions USING (zip) WHERE rank > 1") == (
        expression("LOOKUP('regions', 'rank', zip) > 1", PEOPLE)
    )


def test_joins_can_follow_joins_and_subqueries():
    plan = parse(
        "SELECT j.grade, COUNT(*) FROM (SELECT zip + 0 AS z, dept FROM t) AS s "
        "LEFT JOIN regions AS r ON s.z = r.zip LEFT JOIN jobs AS j USING (dept) "
        "WHERE r.rank > 1 GROUP BY j.grade",
        PEOPLE,
    )
    assert plan.groupings[0].keys == (2, 5)
    two = where(
        "SELECT COUNT(*) FROM t LEFT JOIN regions AS a USING (zip) "
        "LEFT JOIN regions AS b ON age = b.zip WHERE a.rank = b.rank"
    )
    assert two == expression("LOOKUP('regions','rank',zip) = LOOKUP('regions','rank',age)", PEOPLE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) FROM t AS x WHERE t.age > 1", "no table 't' in FROM"),
        ("SELECT COUNT(*) FROM t JOIN regions ON t.zip = t.age", "needs ON"),
        ("SELECT COUNT(*) FROM t JOIN regions ON zip > regions.zip", "needs ON"),
        ("SELECT COUNT(*) FROM t JOIN regions ON zip = zip", "needs ON"),
        ("SELECT COUNT(*) FROM t JOIN regions USING (age)", r"say USING \(zip\)"),
        ("SELECT COUNT(*) FROM t JOIN regions USING (zip, age)", r"say USING \(zip\)"),
        ("SELECT COUNT(*) FROM t JOIN regions ON dept = regions.zip", "do not compare"),
        ("SELECT COUNT(*) FROM t JOIN regions ON salary = regions.zip", "whole numbers"),
        ("SELECT COUNT(*) FROM t, regions", "needs ON"),
        ("SELECT COUNT(*) FROM t RIGHT JOIN regions USING (zip)", "JOIN or LEFT JOIN"),
        ("SELECT COUNT(*) FROM t SEMI JOIN regions USING (zip)", "JOIN or LEFT JOIN"),
        ("SELECT COUNT(*) FROM t NATURAL JOIN regions", "METHOD"),
        (
            "SELECT COUNT(*) FROM t JOIN (SELECT * FROM t) AS u USING (zip)",
            "cannot be used in FROM",
        ),
        ("SELECT COUNT(*) FROM t JOIN regions AS t USING (zip)", "two tables"),
        ("SELECT COUNT(*) FROM (SELECT age, code AS AGE FROM t)", "two columns called"),
        ("SELECT COUNT(*) FROM (SELECT age + 1 FROM t)", "say AS name"),
        ("SELECT COUNT(*) FROM (SELECT age FROM t) WHERE code = 1", "there are: age"),
        ("SELECT COUNT(*) FROM (SELECT person_id FROM t) WHERE person_id = 1", "whose a row is"),
        (
            "WITH a AS (SELECT 1 AS x FROM t), A AS (SELECT 1 AS x FROM t) SELECT COUNT(*) FROM a",
            "two",
        ),
        ("WITH regions AS (SELECT age FROM t) SELECT COUNT(*) FROM regions", "is a public table"),
        ("WITH a(x) AS (SELECT age FROM t) SELECT COUNT(*) FROM a", "COLUMNS"),
        ("WITH RECURSIVE a AS (SELECT age FROM t) SELECT COUNT(*) FROM a", "RECURSIVE"),
        ("WITH a AS (SELECT age FROM other) SELECT COUNT(*) FROM t", "no table 'other'"),
        ("SELECT COUNT(*) FROM (SELECT * EXCLUDE (age) FROM t)", "does not take"),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT age FROM t)", "does not take DISTINCT"),
        (
            "SELECT COUNT(*) FROM (SELECT age FROM t UNION SELECT age FROM t)",
            "cannot be used in FROM",
        ),
        ("SELECT COUNT(*) FROM t JOIN regions USING (zip) WHERE zip2 = 1", "no column 'zip2'"),
    ],
)
def test_refusals(text, words):
    with pytest.raises(QueryError, match=words):
        parse(text, PEOPLE)


def test_a_name_in_two_tables_is_ambiguous():
    schema = Schema("t", PEOPLE.unit, {**PEOPLE.columns, "region": FreeText()}, {}, PEOPLE.tables)
    joined = "SELECT COUNT(*) FROM t JOIN regions USING (zip) WHERE {} = 'x'"
    with pytest.raises(QueryError, match="ambiguous"):
        parse(joined.format("region"), schema)
    assert parse(joined.format("t.region"), schema) != parse(
        joined.format("regions.region"), schema
    )


def test_a_declared_person_column_can_be_counted_and_used():
    schema = Schema("t", PerPerson("who"), {"who": FreeText()}, {})
    plan = parse("SELECT COUNT(DISTINCT WHO), COUNT(*) FILTER (WHERE who = 'x') FROM t", schema)
    assert plan.outputs[0].value.aggregate.function == "people"


def test_picking_names():
    assert pick({"a": 1, "A": 2}, "A", "none") == 2
    assert pick({"Ab": 1}, "aB", "none") == 1
    with pytest.raises(QueryError, match="ambiguous"):
        pick({"ab": 1, "AB": 2}, "aB", "none")
    with pytest.raises(QueryError, match="none"):
        pick({}, "a", "none")


def test_sizes():
    node = expression("age + code > 3 AND active", PEOPLE)
    assert extent(node) == (6, 4)
    deep = node
    for _ in range(30):
        deep = total.negation(total.all_of([deep, node]))
    with pytest.raises(QueryError, match="nested more than 28"):
        checked(deep)
    wide = total.any_of([node] * 100)
    with pytest.raises(QueryError, match="more than 500 parts"):
        checked(wide)


def test_the_table_itself():
    scope = base(PEOPLE, "x")
    assert scope.where is None
    assert "secret" not in scope.sources[0].columns
    assert "person_id" in scope.sources[0].columns
    assert Environment(PEOPLE).ctes == ()


NAMES = [
    ("SELECT SUM(salry) FROM t", "(did you mean 'salary'?); there are: Group, active"),
    ("SELECT COUNT(DISTINCT persn_id) FROM t", "(did you mean 'person_id'?)"),
    ('SELECT COUNT(*) FROM t WHERE dept = "clerk"', "text goes in single quotes: 'clerk'"),
    ('SELECT COUNT(*) FROM t WHERE dept IN ("it\'s")', "text goes in single quotes: 'it''s'"),
    ('SELECT SUM("salry") FROM t', "(did you mean 'salary'?); double quotes name a column"),
    ("SELECT COUNT(*) FROM t AS x WHERE y.age > 1", "no table 'y' in FROM; there are: x"),
    ("SELECT COUNT(*) FROM main.t", "a table has one name here: say FROM t. Nothing"),
    ("SELECT COUNT(*) FROM a.main.t", "a table has one name here: say FROM t. Nothing"),
    ("WITH old AS (SELECT age FROM t) SELECT COUNT(*) FROM odl", "(did you mean 'old'?)"),
    ("SELECT COUNT(*) FROM t JOIN region USING (zip)", "(did you mean 'regions'?)"),
    ("SELECT LOOKUP('region', 'rank', zip), COUNT(*) FROM t GROUP BY 1", "'regions'?"),
    ("SELECT LOOKUP('regions', 'rnk', zip), COUNT(*) FROM t GROUP BY 1", "'rank'?); there are"),
    ("SELECT age / 2 AS half, COUNT(*) FROM t WHERE half > 3 GROUP BY 1", "expression again"),
    ("SELECT COUNT(*) AS n FROM t WHERE n > 3", "'n' is a name of the answer, and WHERE"),
    ("SELECT COUNT(*) AS n FROM t WHERE n > 3", "a condition on it goes into HAVING"),
    ("SELECT COUNT(*) AS people FROM t ORDER BY peopel", "name of the answer (did you mean 'p"),
    ("SELECT COUNT(*) AS people FROM t HAVING peopel > 3", "name of the answer (did you mean 'p"),
    ("SELECT dept FROM t", "say GROUP BY dept or COUNT(dept)"),
    ("SELECT COUNT(*) AS n, N / 2 AS half FROM t", "write its expression again"),
    (
        "SELECT COUNT(*) FROM (SELECT age / 2 AS half FROM t WHERE half > 3)",
        "'half' is a name of the answer",
    ),
]


@pytest.mark.parametrize(("text", "words"), NAMES)
def test_slips_in_names_are_pointed_at(text, words):
    with pytest.raises(QueryError) as refused:
        parse(text, PEOPLE)
    assert words in str(refused.value)


def test_suggestions_come_from_what_a_question_may_use():
    with pytest.raises(QueryError) as refused:
        parse("SELECT COUNT(*) FROM t WHERE secrets = 1", PEOPLE)  # 'secret' is hidden
    assert "secret'" not in str(refused.value)
    with pytest.raises(QueryError) as refused:
        parse("SELECT COUNT(*) FROM t WHERE unsen = 1", PEOPLE)  # 'unseen' is not declared
    assert "unseen" not in str(refused.value)


def test_an_alias_with_the_name_of_a_column_hides_no_column():
    assert where("SELECT COUNT(*) AS age FROM t WHERE age > 3") == expression("age > 3", PEOPLE)


def test_a_table_of_which_nothing_is_declared_lists_nothing():
    with pytest.raises(QueryError, match=r"may use; none is declared\. Nothing") as refused:
        parse("SELECT SUM(age) FROM t", Schema("t", PerPerson("id"), {}, storage={}))
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.column, str(again)) == ("age", str(refused.value))

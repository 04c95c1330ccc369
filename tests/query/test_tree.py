"""The door to the SQL parser: limits, refusals, and nothing but a tree or a QueryError."""

import logging
import re
import time
from contextlib import suppress
from contextvars import ContextVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from discreet.errors import QueryError
from discreet.query import tree


def test_a_statement_and_a_fragment():
    tokens = tree.tokens_of("SELECT 1;")
    assert isinstance(tree.statement(tokens, "SELECT 1;"), exp.Select)
    assert isinstance(tree.fragment("a > 1", what="x"), exp.GT)
    assert isinstance(tree.fragment("a AS b", what="x"), exp.Alias)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (" ; ; ", "empty"),
        ("-- only a comment", "empty"),
        ("a\0", "NUL"),
        ("\ud800", "UTF-8"),
        ("a; b", "one statement"),
        ("'a", "cannot be read"),
        ("(" * 33, "nested at most 32"),
        ("CASE " * 33, "nested at most 32"),
        ("[" * 33, "nested at most 32"),
        ("x" * 65_537, "65536 bytes"),
        ("1 " * 10_001, "10000 words"),
        ("WITH a AS (SET x = 1) SELECT 1", "holds no 'SET'"),
        (5, "not int"),
        (b"SELECT", "not bytes"),
    ],
)
def test_texts_that_are_not_read(text, words):
    with pytest.raises(QueryError, match=words):
        tree.tokens_of(text)


@pytest.mark.parametrize(
    "text", ["DROP TABLE t", "PRAGMA x", "INSERT INTO t SELECT 1", "SET a = 1"]
)
def test_commands_are_refused_before_they_are_parsed(text, caplog):
    with caplog.at_level(logging.DEBUG):
        with pytest.raises(QueryError, match="a question is a SELECT"):
            tree.statement(tree.tokens_of(text), text)
        with pytest.raises(QueryError, match="is an expression"):
            tree.fragment(text, what="it")
    assert not caplog.records


def test_deep_and_large_trees_are_refused():
    chain = tree.fragment("a" + " + a - a" * 400, what="it")
    assert isinstance(chain, exp.Sub)
    for text, words in (
        ("- " * 130 + "a", "nested"),
        ("NOT " * 90 + " - " * 60 + "a", "nested"),
        ("a * " * 130 + "a", "nested"),
        ("a" + " + a" * 2500, "at most 4000 parts"),
        ("a IN (" + "1, " * 4500 + "1)", "at most 4000 parts"),
    ):
        with pytest.raises(QueryError, match=words):
            tree.fragment(text, what="it")


def test_a_slip_is_pointed_at():
    text = "SELECT a FROM t WHERE a >"
    with pytest.raises(QueryError, match=r"cannot be read at line 1, column 25"):
        tree.statement(tree.tokens_of(text), text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT `a` FROM t", 'a name goes in double quotes: "name"'),
        ("SELECT [a] FROM t", "holds no .; a name goes in double quotes"),
        ("SELECT {'a': 1} FROM t", "holds no {"),
        ("SELECT a FROM t WHERE a" + "[1]" * 3000, "holds no"),
        ("SELECT TOP 5 a FROM t", "TOP 5 is not known; say LIMIT 5"),
        ("SELECT a FROM (SELECT top (10) b FROM t)", "say LIMIT 10"),
    ],
)
def test_words_of_other_dialects(text, words):
    with pytest.raises(QueryError, match=words):
        tree.statement(tree.tokens_of(text), text)


@pytest.mark.parametrize(
    "text", ["SELECT top, a FROM t", "SELECT TOP FROM t", "SELECT TOP(a) FROM t", "SELECT '`' = a"]
)
def test_top_may_be_a_name_and_a_backtick_a_text(text):
    assert isinstance(tree.statement(tree.tokens_of(text), text), exp.Select)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("MEDAIN(a)", "MEDAIN .did you mean 'MEDIAN'"),
        ("average(a)", "did you mean 'AVG'"),
        ("error(a)", "the functions there are"),
        ("SUM(a) OVER ()", "other people's rows.*GROUP BY.*release.map"),
        ("ROW_NUMBER() OVER (ORDER BY a)", "other people's rows"),
        ("SUM(a) OVER w", "other people's rows"),
        ("SUM(a) FILTER (WHERE b) OVER ()", "other people's rows"),
        ("SUM(COUNT(*)) OVER ()", "divide by their sum.*post-processing is free"),
        ("RANK() OVER (ORDER BY COUNT(*))", "ORDER BY them"),
    ],
)
def test_refusals_say_what_to_write(text, words):
    assert re.search(words, str(tree.refused(tree.fragment(text, what="it"), "here")))


WIDE = "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "a" + ")" * 5000,
        "(" * 4000 + "a" + ")" * 4000,
        "a AND " * 10_000 + "a",
        "a AND " * 4000 + "a",
        "NOT " * 5000 + "a",
        "- " * 5000 + "a",
        "CASE WHEN a THEN " * 2000 + "1" + " END" * 2000,
        "a" + "::INT" * 3000,
        "a" + " IS TRUE" * 4000,
        "a" + " OVER ()" * 1500,
        "INTERVAL " * 3000 + "1",
    ],
    ids=lambda text: text[:20],
)
def test_deep_texts_are_refused_soon(text):
    started = time.process_time()
    with pytest.raises(QueryError, match=r"nested|words|bytes|parts|cannot be read"):
        tree.fragment(text, what="it")
    assert time.process_time() - started < 5  # about 0.3 s


def test_numbers_of_many_digits_are_refused():
    for text in (WIDE, "1e5000", "0." + WIDE, "1e-5000", "1" * 1001):
        with pytest.raises(QueryError, match="must"):
            tree.number(text)


def test_only_refuses_the_words_that_are_not_read():
    node = tree.fragment("ROUND(a, 1)", what="x")
    tree.only(node, "this", "decimals")
    with pytest.raises(QueryError, match="the function ROUND does not take DECIMALS here"):
        tree.only(node, "this")


def test_arguments_that_have_to_be_there():
    node = tree.fragment("WIDTH_BUCKET(a, 1, 2)", what="x")
    assert tree.part(node, "min_value").this == "1"
    with pytest.raises(QueryError, match="the function WIDTH_BUCKET needs one more argument"):
        tree.part(node, "num_buckets")


def test_numbers_and_names():
    assert tree.number("1e3") == 1000
    for text in ("1e999", "1e-99999999999", "0x1", "1.2.3", "nan"):
        with pytest.raises(QueryError):
            tree.number(text)
    with pytest.raises(QueryError, match="a name was expected"):
        tree.name_of(exp.Star())
    with pytest.raises(QueryError, match="must not be empty"):
        tree.name_of(exp.Identifier(this="", quoted=True))


def test_what_fails_inside_the_parser_is_a_refusal():
    def broken():
        raise AttributeError("inside")

    with pytest.raises(QueryError, match="cannot be read"):
        tree._guarded(broken)


def test_a_deep_caller_gets_another_stack():
    calls = []

    def work():
        calls.append(1)
        if len(calls) == 1:
            raise RecursionError
        return 7

    assert tree.deeply(work) == 7
    with pytest.raises(QueryError, match="nested too deeply"):
        tree.deeply(_endless)

    def fails():
        calls.append(1)
        if len(calls) % 2:
            raise RecursionError
        raise QueryError("in the thread")

    with pytest.raises(QueryError, match="in the thread"):
        tree.deeply(fails)


def test_another_stack_belongs_to_the_same_asker():
    told, calls = ContextVar("told", default="nobody"), []

    def work():
        calls.append(1)
        if len(calls) == 1:
            raise RecursionError
        return told.get()

    told.set("alice")
    assert tree.deeply(work) == "alice"


def _endless():
    return _endless()


@given(st.text(max_size=40))
def test_any_text_is_a_tree_or_a_refusal(text):
    for make in (
        lambda: tree.fragment(text, what="it"),
        lambda: tree.statement(tree.tokens_of(text), text),
    ):
        with suppress(QueryError):
            assert isinstance(make(), exp.Expression)

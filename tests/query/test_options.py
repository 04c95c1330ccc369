"""The OPTIONS clause is cut out of the words, and says constants only."""

from contextlib import suppress
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError, QueryError
from discreet.query.options import NO_OPTIONS, Options, split
from discreet.query.price import Target
from discreet.query.tree import tokens_of


def cut(text):
    tokens, options = split(tokens_of(text))
    return " ".join(t.text for t in tokens), options


def said(clause):
    return cut(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({clause}) a FROM t")[1]


def test_the_clause_is_cut_out():
    rest, options = cut("WITH x AS (SELECT a FROM t) SELECT WITH Differential_Privacy b FROM x")
    assert rest == "WITH x AS ( SELECT a FROM t ) SELECT b FROM x"
    assert options == NO_OPTIONS
    rest, options = cut("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1,) (a) FROM t")
    assert rest == "SELECT ( a ) FROM t"
    assert options == Options(epsilon=Fraction(1))
    named = "SELECT differential_privacy , WITH FROM DIFFERENTIAL_PRIVACY"
    assert cut(named) == (named, NO_OPTIONS)
    assert cut("SELECT a FROM t") == ("SELECT a FROM t", NO_OPTIONS)


def test_everything_that_can_be_said():
    assert said("epsilon = .5, delta = 1e-6, other = true, extremes = 1/100") == Options(
        Fraction(1, 2), Fraction(1, 10**6), None, other=True, extremes=Fraction(1, 100)
    )
    assert said("RHO = 0.1").rho == Fraction(1, 10)
    assert said("keys = {'a': ['x', 'y''z'], 'b': NULL, 'c': [1, -2.5, 1/3]}").keys == {
        "a": ("x", "y'z"),
        "b": None,
        "c": (1, Fraction(-5, 2), Fraction(1, 3)),
    }
    assert said("keys = {'d': (DATE '2020-01-02', TRUE)}").keys == {"d": (date(2020, 1, 2), True)}
    assert said("combinations = [('a', 1), ('b', 2)]").combinations == (("a", 1), ("b", 2))


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("seed = 1", "knows no 'seed'; there are: epsilon"),
        ("epsilon = 1, epsilon = 2", "twice"),
        ("epsilon = 1, rho = 2", "say one of them"),
        ("epsilon = 0", "epsilon must be above 0"),
        ("epsilon = 1/0", "divides by 0"),
        ("epsilon = 'a'", "epsilon must be"),
        ("epsilon = TRUE", "epsilon must be"),
        ("epsilon = 1e9", "epsilon"),
        ("delta = 1", "strictly between"),
        ("rho = -1", "rho must be above 0"),
        ("other = 1", "other = TRUE"),
        ("extremes = 0.5", "below 1/2"),
        ("keys = ['a']", "keys = {"),
        ("keys = {'a': [NULL]}", "none of them NULL"),
        ("keys = {'a': 5}", "lists of constants"),
        ("combinations = 3", "combinations = "),
        ("combinations = ['a']", "lists of constants"),
        ("epsilon 1", "cannot be read"),
        ("epsilon = a", "cannot be read"),
        ("epsilon = (SELECT 1)", "cannot be read"),
        ("epsilon = 1 delta = 2", "cannot be read"),
        ("epsilon = ", "cannot be read"),
        ("epsiln = 1", "did you mean 'epsilon'"),
        ("epsilon = " + "9" * 5000, "at most 400 digits"),
        ("epsilon = 1e5000", "within 10"),
        ("epsilon = 1e-300", "epsilon must be at least 1e-20"),
        ("rho = 1e-300", "rho must be at least 1e-40"),
        ("delta = " + "9" * 5000, "at most 400 digits"),
        ("extremes = 1e-5000", "within 10"),
        ("keys = {'a': [" + "9" * 5000 + "]}", "at most 400 digits"),
        ("combinations = [(" + "9" * 5000 + ")]", "at most 400 digits"),
        ("keys = " + "[" * 5000, "nested at most 32"),
        ("keys = {a: ['x']}", "cannot be read"),
        ("keys = {'a': [DATE '2020-13-01']}", "is no date"),
    ],
)
def test_refusals(clause, words):
    with pytest.raises(QueryError, match=words):
        said(clause)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM (SELECT WITH DIFFERENTIAL_PRIVACY b FROM t)",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS",
    ],
)
def test_the_clause_belongs_after_the_outermost_select(text):
    with pytest.raises(QueryError):
        cut(text)


WORDS = """epsilon keys = , ( ) [ ] { } : 1 0.5 'a' NULL TRUE DATE - / . SELECT"""


@given(st.lists(st.sampled_from(WORDS.split())))
def test_any_words_are_options_or_a_refusal(words):
    with suppress(QueryError):
        split(tokens_of("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ( " + " ".join(words)))


def test_prices_too_small_or_too_long_are_refused_in_words():
    for how in (
        {"epsilon": "1e-300"}, {"rho": "1e-300"}, {"epsilon": 10**5000}, {"rho": 10**5000},
        {"epsilon": 1, "delta": 10**5000}, {"epsilon": 10**5000, "rho": 10**5000},
        {"rho": 1, "delta": 10**5000},
    ):  # fmt: skip
        with pytest.raises(ParameterError, match="nothing was released"):
            Target(**how)
    assert Target(epsilon="1e-20").epsilon == Fraction(1, 10**20)

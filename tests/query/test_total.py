"""Every expression has a value for every row, within its kind and within 2^62 on the way."""

from contextlib import suppress
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
from discreet.query import expr as e
from discreet.query import kinds, total
from discreet.query.evaluate import evaluate
from discreet.query.kinds import WIDEST, Day, Flag, Number, Text
from discreet.query.render import expr_sql
from discreet.query.schema import Bounds, PerRow, Schema
from discreet.query.sql import expression

X = e.Column("x", Number(-50, 200, Fraction(1, 100), nullable=True))
Y = e.Column("y", Number(0, 9))
FLAG = e.Column("f", Flag(nullable=True))
NOTE = e.Column("s", Text(nullable=True))
ONE = total.constant(1)


def intermediates(node, row):  # noqa: C901 - one case per kind of node
    """Every integer that an engine computes on the way, beyond the values of the nodes."""
    match node:
        case e.Linear(terms=terms, constant=constant):
            ns = [evaluate(term, row, TABLES) for _, term in terms]
            if None not in ns:
                partial = constant
                yield from (constant, *(factor for factor, _ in terms))
                for (factor, _), n in zip(terms, ns, strict=True):
                    yield factor * n
                    partial += factor * n
                    yield partial
        case e.Quotient(left=left, factor=factor):
            yield (evaluate(left, row, TABLES) or 0) * factor
        case e.FloorDivide(operand=operand, divisor=divisor, kind=kind):
            yield divisor
            yield (evaluate(operand, row, TABLES) or 0) - kind.low * divisor
        case e.Remainder(divisor=divisor):
            yield divisor
        case e.Logarithm(operand=operand, knots=knots, levels=levels):
            n = evaluate(operand, row, TABLES)
            if n is not None:
                for i in range(len(knots) - 1):
                    if knots[i] <= n <= knots[i + 1]:
                        yield (n - knots[i]) * (levels[i + 1] - levels[i])
        case e.Literal(value=int() as n):
            yield n


def fits(value, kind):
    if value is None:
        return kind.nullable
    match kind:
        case Number(low=low, high=high):
            return type(value) is int and low <= value <= high
        case Day(low=low, high=high):
            return low <= value <= high
        case Flag():
            return type(value) is bool
        case _:
            return type(value) is str


@settings(max_examples=examples(300))
@given(st.one_of(numbers(), flags(), days(), texts()), st.lists(ROWS, min_size=1, max_size=8))
def test_every_node_has_a_value_of_its_kind_on_every_row(text, rows):
    """∀ expressions, ∀ rows, ∀ nodes inside: a value of the kind, and no integer beyond 2^62."""
    try:
        made = expression(text, PEOPLE)
    except QueryError:
        assume(False)
    for row in rows:
        for node in e.walk(made):
            assert fits(evaluate(node, row, TABLES), node.kind), (node, row)
            assert all(abs(n) <= WIDEST for n in intermediates(node, row))


def worth(node, **row):
    """The value as a number, or None."""
    n = evaluate(node, row)
    return None if n is None else n * node.kind.grid


@given(st.integers(-50, 200), st.integers(0, 9))
def test_arithmetic_is_exact(n, m):
    x, y = Fraction(n, 100), Fraction(m)
    at = {"x": n, "y": m}
    half = total.constant(Fraction(1, 2))
    assert worth(total.add(X, Y), **at) == x + y
    assert worth(total.add(X, Y, minus=True), **at) == x - y
    assert worth(total.negate(X), **at) == -x
    assert worth(total.multiply(X, Y), **at) == x * y
    assert worth(total.multiply(X, half), **at) == x / 2
    assert worth(total.divide(X, total.constant(3)), **at) == x / 3
    assert worth(total.floor(X), **at) == x // 1
    assert worth(total.ceil(X), **at) == -(-x // 1)
    assert worth(total.round_to(X, 1), **at) == Fraction((10 * x + Fraction(1, 2)) // 1, 10)
    assert worth(total.absolute(X), **at) == abs(x)
    seven = total.remainder(X, total.constant(Fraction(7, 10)))
    assert worth(seven, **at) == (abs(x) % Fraction(7, 10)) * (1 if x >= 0 else -1)
    quotient = worth(total.divide(X, Y), **at)
    if m == 0:
        assert quotient is None
    else:
        assert x / y - Fraction(1, 100_000) < quotient <= x / y


def test_equal_sums_are_equal_however_they_were_written():
    half = total.multiply(X, total.constant(Fraction(1, 2)))
    assert total.add(half, half) == X
    assert total.add(total.add(X, Y), X) == total.add(total.multiply(X, total.constant(2)), Y)
    assert total.multiply(total.multiply(X, total.constant(4)), total.constant(Fraction(1, 4))) == X
    assert total.floor(Y) == Y
    five = e.Column("z", Number(0, 9, Fraction(5)))
    assert total.floor(five) == five  # already whole, and not on a finer grid


def test_what_cancels_keeps_its_missing_values():
    gone = total.add(X, X, minus=True)
    assert worth(gone, x=3) == 0
    assert worth(gone, x=None) is None
    assert total.add(Y, Y, minus=True) == total.constant(0)


def test_constants_are_folded_to_one_form():
    assert total.round_to(total.constant(Fraction(7256, 1000)), 2) == total.constant(
        Fraction(726, 100)
    )
    assert total.floor(total.constant(Fraction(-1, 2))) == total.constant(-1)
    assert total.divide(ONE, total.constant(3)) == total.constant(Fraction(1, 3))
    assert total.floor(total.constant(None)) == total.constant(None)
    assert total.divide(Y, total.constant(None)) == total.constant(None)


HUGE = e.Column("h", Number(-WIDEST, WIDEST))
TINY = Fraction(1, 10**30)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: total.add(HUGE, ONE), "could be as large as"),
        (lambda: total.multiply(HUGE, Y), "a product could be as large as"),
        (lambda: total.divide(HUGE, Y), "a quotient could be as large as"),
        (lambda: total.constant(WIDEST + 1), "too large"),
        (lambda: total.constant(Fraction(WIDEST + 1, 3)), "too large"),
        (lambda: total.divide(X, total.constant(0)), "division by the constant 0"),
        (lambda: total.compare("=", Y, total.constant(TINY)), "could be as large as"),
        (lambda: total.compare("=", e.Column("z", Number(0, 0)), total.constant(TINY)), "a sum"),
        (lambda: total.floor(total.multiply(Y, total.constant(TINY))), "a divisor"),
        (lambda: total.remainder(X, total.constant(10**18)), "a divisor"),
        (lambda: total.remainder(X, Y), "constant divisor"),
        (lambda: total.remainder(X, total.constant(-3)), "above 0"),
        (lambda: total.remainder(X, total.constant("a")), "constant divisor"),
        (lambda: total.round_to(X, 19), "between -18 and 18"),
        (lambda: total.logarithm(X), "LN needs a number above 0"),
        (lambda: total.add(X, NOTE), "needs a number, not text"),
        (lambda: total.multiply(FLAG, X), "needs a number, not true or false"),
        (lambda: total.compare("=", X, NOTE), "mixes"),
        (lambda: total.compare("<", FLAG, FLAG), "no order"),
        (lambda: total.compare("~", X, X), "not known"),
        (lambda: total.all_of([X]), "needs a condition"),
        (lambda: total.negation(NOTE), "needs a condition"),
        (lambda: total.member(X, []), "list of constants"),
        (lambda: total.member(X, [Y]), "list of constants"),
        (lambda: total.member(X, [total.constant(None)]), "none of them NULL"),
        (lambda: total.like(X, "a"), "LIKE needs text"),
        (lambda: total.like(NOTE, "a\\%"), "backslash"),
        (lambda: total.case([(X, X)], None), "WHEN needs a condition"),
        (lambda: total.case([(FLAG, X)], NOTE), "CASE mixes"),
        (lambda: total.coalesce([X, NOTE]), "COALESCE mixes"),
        (lambda: total.extreme("least", [NOTE]), "LEAST needs a number"),
        (lambda: total.flag_number(NOTE), "is no number"),
        (lambda: total.on_grid(X, Fraction(1)), "does not hold"),
    ],
)
def test_what_could_fail_is_refused_in_words(make, words):
    with pytest.raises(QueryError, match=words) as refused:
        make()
    assert "Nothing was charged" in str(refused.value)


def test_missing_constants_take_the_kind_of_the_others():
    made = total.case([(FLAG, NOTE)], None)
    assert made.otherwise == e.Literal(None, Text(nullable=True))
    assert total.coalesce([total.constant(None), total.constant(date(2020, 1, 1))]).kind == Day(
        date(2020, 1, 1), date(2020, 1, 1)
    )
    assert total.coalesce([X]) == X
    assert total.coalesce([total.constant(None), total.constant(None)]).kind.nullable
    assert total.extreme("greatest", [X, total.constant(None)]).kind.nullable


def test_extremes_know_their_ends():
    assert total.extreme("least", [X, Y]).kind == Number(-50, 900, Fraction(1, 100))
    assert total.extreme("greatest", [X, Y]).kind == Number(0, 900, Fraction(1, 100))
    assert total.extreme("least", [X, X]).kind.nullable


def test_ranges_are_tight():
    """Both ends of every range are reached, so that no smaller one could be promised."""
    for node in (
        total.add(X, Y),
        total.multiply(X, Y),
        total.floor(X),
        total.absolute(X),
        total.remainder(X, total.constant(3)),
    ):
        found = {evaluate(node, {"x": n, "y": m}) for n in range(-50, 201) for m in range(10)}
        assert (min(found), max(found)) == (node.kind.low, node.kind.high)
    below = total.negate(total.add(Y, ONE))
    assert total.absolute(below).kind == Number(1, 10)


def test_logic_is_flattened_and_double_negation_goes():
    both = total.all_of([total.all_of([FLAG, FLAG]), FLAG])
    assert len(both.operands) == 3
    assert total.any_of([FLAG]) == FLAG
    assert total.negation(total.negation(FLAG)) == FLAG
    assert total.flag_number(X) == X


def test_long_lists_are_read_in_a_blink():
    listed = [total.constant(n) for n in range(5000)]
    assert len(total.member(Y, listed).values) == 5000


KINDS = [(0, 3), (-2, 2), (1, 4), (-3, -1), (2, 2), (0, 0)]


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_kinds_hold_on_every_pair_of_values(first, second):
    """∀ values of two columns that are never missing: the value fits, and is missing where said."""
    a = e.Column("a", Number(*first, Fraction(1, 2)))
    b = e.Column("b", Number(*second, Fraction(3)))
    for made in (
        total.add(a, b),
        total.add(a, b, minus=True),
        total.multiply(a, b),
        total.divide(a, b),
        total.extreme("least", [a, b]),
        total.extreme("greatest", [a, b]),
        total.floor(a),
        total.absolute(b),
        total.compare("<", a, b),
    ):
        for n in range(first[0], first[1] + 1):
            for m in range(second[0], second[1] + 1):
                assert fits(evaluate(made, {"a": n, "b": m}), made.kind), made
    assert total.divide(a, b).kind.nullable == (second[0] <= 0 <= second[1])


LONG = [
    "age" + " * 1e-300" * 20,
    "age" + " / 7e-300" * 15,
    "age" + " / 7" * 40,
    "age" + " * 1e18" * 3,
    "age > " + " * ".join(["1e-300"] * 20),
    "age + 1e-300",
    "age > 1e60",
    "age > 1 / 7" + " / 7" * 40,
    "COALESCE(age, 1e-300)",
    "MOD(age, 1e-300)",
    "age = " + "9" * 5000,
    "age IN (1e400)",
    "age IN (1, 1e-400)",
    "ROUND(salary, " + "9" * 5000 + ")",
    "WIDTH_BUCKET(age, 0, 1e300, 3)",
    "hired > '" + "9" * 5000 + "'",
]


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:30])
def test_numbers_of_many_digits_are_refused_in_few_words(text):
    with pytest.raises(QueryError) as refused:
        expression(text, PEOPLE)
    assert len(str(refused.value)) < 300


def test_grids_far_from_one():
    """Within what a declaration may say, no expression fails otherwise than in words."""
    far = {
        "big": Bounds(0, 10**80, 10**80),
        "small": Bounds(0, "1e-300", "1e-306"),
        "x": Bounds(0, 9, 1),
    }
    schema = Schema("t", PerRow(), far, {})
    texts = (
        "big * big * x", "small * small", "big / small", "small / big", "big * small",
        "big * big * big", "ABS(small)", "small > 1e-303", "small / 3", "big - 0 * small",
    )  # fmt: skip
    held = 0
    for text in texts:
        with suppress(QueryError):
            made = expression(text, schema)
            held += 1
            assert expression(expr_sql(made), schema) == made
    assert held >= 5


SIDES = [
    X, Y, FLAG, NOTE, ONE, total.constant(Fraction(1, 2)), total.constant(None),
    total.constant(value=True), e.Literal(None, Number(0, 9, nullable=True)), total.add(X, Y),
    e.Column("z", Number(-3, 3, Fraction(1), nullable=True)), total.constant("a"),
]  # fmt: skip


@pytest.mark.parametrize("op", ["=", "<", ">="])
def test_numbers_on_one_grid_are_compared_as_all_others(op, monkeypatch):
    """The short way and the long one, for every pair."""

    def compared(left, right):
        try:
            return total.compare(op, left, right)
        except QueryError as error:
            return str(error)

    short = [compared(left, right) for left in SIDES for right in SIDES]
    monkeypatch.setattr(kinds, "are_beside", lambda *_: False)
    assert short == [compared(left, right) for left in SIDES for right in SIDES]

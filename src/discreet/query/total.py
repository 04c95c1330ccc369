"""Build expressions that have a value for every row: what could fail is rewritten or refused.

Theorem (totality). An expression made by these functions evaluates on every row of every table,
without an error, to a value of its kind or to a missing one, and all intermediate integers stay
within 2^62. Proof. By induction: each function computes the exact range of its result from the
ranges of its operands, and refuses it beyond `WIDEST`; a divisor of 0 gives a missing value; casts,
text that would have to be parsed, and functions that can fail are not offered.

The one rule for each odd value (docs/guides/tables.md says it to users): a missing value follows
SQL; NaN counts as missing; an infinity or a number out of its declared bounds is clamped to them;
-0.0 is 0; a value that is not a declared key counts as missing; a row without a person is left out.
Tested by tests/query/test_total.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction
from functools import reduce
from itertools import product as pairs
from typing import get_args

from discreet.errors import QueryError
from discreet.exact import shown
from discreet.query import expr as e
from discreet.query import kinds as k
from discreet.query.kinds import WIDEST, Day, Flag, Kind, Number, Text, common_grid, said, with_null
from discreet.query.logarithm import chords

__all__ = [
    "absolute",
    "add",
    "all_of",
    "any_of",
    "case",
    "ceil",
    "coalesce",
    "compare",
    "constant",
    "divide",
    "extreme",
    "flag_number",
    "floor",
    "is_null",
    "like",
    "logarithm",
    "member",
    "multiply",
    "negate",
    "negation",
    "on_grid",
    "remainder",
    "round_to",
]

QUOTIENT_STEPS = 1000
"""A quotient of two columns is rounded down to thousandths of the ratio of their grids."""
FINEST, COARSEST = 10**400, 10**100
"""No grid is below 1/FINEST, which could not be written, or above COARSEST, to fit a float."""
_COMPARISONS = frozenset(get_args(e.Comparison))
DEEPEST = 28
"""Nesting beyond this is refused: no honest question needs it, and its SQL has to be readable."""


def constant(value: int | Fraction | bool | str | date | None) -> e.Literal:  # noqa: FBT001
    """A constant as an expression; a bare NULL is a missing number until something says more."""
    match value:
        case bool():
            return e.Literal(value, Flag())
        case int() | Fraction():
            return _constant_number(Fraction(value))
        case str():
            return e.Literal(value, Text())
        case date():
            return e.Literal(value, Day(value, value))
        case _:
            return e.Literal(None, Number(0, 0, nullable=True))


def _constant_number(value: Fraction) -> e.Literal:
    if value.denominator == 1:
        return e.Literal(_fitting(int(value)), Number(int(value), int(value)))
    n, grid = _fitting(value.numerator), _written(Fraction(1, value.denominator))
    return e.Literal(n, Number(n, n, grid))


def _fitting(n: int) -> int:
    if abs(n) > WIDEST:
        raise QueryError(
            f"the constant {shown(Fraction(n))} is too large: numbers stay within 2^62"
        )
    return n


def _written(share: Fraction) -> Fraction:
    """A factor or a grid that SQL can write: a decimal, or a fraction of numbers within 2^62."""
    above, below = abs(share.numerator), share.denominator
    if above > WIDEST or (below > WIDEST and FINEST % below):
        raise QueryError(
            "a factor or a constant has too many digits; they are decimals, or fractions of "
            "numbers within 2^62: say ROUND(x, 6), or declare the column in another unit"
        )
    return share


def number(node: e.Expr, what: str) -> Number:
    """The kind of an operand that has to be a number."""
    if not isinstance(node.kind, Number):
        raise QueryError(f"{what} needs a number, not {said(node.kind)}")
    return node.kind


def _checked(low: int, high: int, grid: Fraction, *, nullable: bool, what: str) -> Number:
    if grid.numerator > COARSEST or grid.denominator > FINEST:
        raise QueryError(f"{what} has a grid of too many digits; declare coarser grids")
    if max(abs(low), abs(high)) > WIDEST:
        raise QueryError(
            f"{what} could be as large as {shown(max(abs(low), abs(high)) * grid)} for some row, "
            "beyond 2^62 steps of its grid; declare tighter bounds or a coarser grid"
        )
    return Number(low, high, grid, nullable)


def on_grid(node: e.Expr, grid: Fraction) -> e.Expr:
    """The same number, held as a multiple of a finer grid."""
    kind = number(node, "arithmetic")
    if kind.grid == grid:
        return node
    factor = kind.grid / grid
    if factor.denominator != 1:
        raise QueryError(f"a grid of {shown(grid)} does not hold multiples of {shown(kind.grid)}")
    times = int(factor)
    if isinstance(node, e.Literal):
        n = None if node.value is None else int(node.value) * times  # type: ignore[arg-type]
        fitting = _checked(
            kind.low * times, kind.high * times, grid, nullable=kind.nullable, what="a constant"
        )
        return e.Literal(n, fitting)
    return _linear([(Fraction(1), node)], Fraction(0), grid)


def _linear(
    parts: Sequence[tuple[Fraction, e.Expr]], offset: Fraction, grid: Fraction | None = None
) -> e.Expr:
    """Offset + sum of share * value, flattened: terms of terms are added up.

    Without a grid it is the coarsest one that holds every multiple, so that equal sums are equal
    expressions however they were written.
    """
    scales: dict[e.Expr, Fraction] = {}
    total = Fraction(offset)
    for share, node in parts:
        kind = number(node, "arithmetic")
        if isinstance(node, e.Linear):
            total += share * node.constant * kind.grid
            inner = [(share * factor * kind.grid, term) for factor, term in node.terms]
        elif isinstance(node, e.Literal) and node.value is not None:
            total += share * int(node.value) * kind.grid  # type: ignore[arg-type]
            inner = []
        else:
            inner = [(share * kind.grid, node)]
        for scaled, term in inner:
            scales[term] = scales.get(term, Fraction(0)) + scaled
    held = _coarsest([*scales.values(), total]) if grid is None else grid
    factors = {term: _steps(scaled, held) for term, scaled in scales.items()}
    return _made_linear(factors, _steps(total, held), held)


def _coarsest(values: Sequence[Fraction]) -> Fraction:
    """The coarsest grid that holds all of these; 1 where all are 0."""
    there = [abs(value) for value in values if value]
    return reduce(common_grid, there) if there else Fraction(1)


def _steps(value: Fraction, grid: Fraction) -> int:
    steps = value / grid
    if steps.denominator != 1:  # the callers choose a grid that holds everything
        raise QueryError(f"{shown(value)} is no multiple of the grid {shown(grid)}")
    return int(steps)


def _made_linear(factors: dict[e.Expr, int], total: int, grid: Fraction) -> e.Expr:
    """A term that cancels is kept with factor 0 where it may be missing: x - x is then missing."""
    terms = tuple((f, t) for t, f in factors.items() if f != 0 or t.kind.nullable)
    if not terms:
        return constant(total * grid)
    if len(terms) == 1 and terms[0][0] == 1 and total == 0:
        only = terms[0][1]
        if number(only, "").grid == grid:
            return only
    low = high = total
    # partial sums, in the order of evaluation, stay within the sum of the magnitudes
    spread = abs(total)
    for factor, term in terms:
        kind = number(term, "arithmetic")
        ends = sorted((factor * kind.low, factor * kind.high))
        low, high = low + ends[0], high + ends[1]
        spread += max(abs(ends[0]), abs(ends[1]), abs(factor))
        _written(factor * grid / kind.grid)
    _checked(-spread, spread, grid, nullable=False, what="a sum")
    nullable = any(term.kind.nullable for _, term in terms)
    return e.Linear(terms, total, Number(low, high, grid, nullable))


def add(left: e.Expr, right: e.Expr, *, minus: bool = False) -> e.Expr:
    """Left + right, or left - right."""
    number(left, "+ and -"), number(right, "+ and -")
    sign = Fraction(-1 if minus else 1)
    return _linear([(Fraction(1), left), (sign, right)], Fraction(0))


def negate(node: e.Expr) -> e.Expr:
    """-node."""
    number(node, "-")
    return _linear([(Fraction(-1), node)], Fraction(0))


def multiply(left: e.Expr, right: e.Expr) -> e.Expr:
    """Left * right; by a constant this changes the grid only."""
    first, second = number(left, "*"), number(right, "*")
    for node, other in ((left, right), (right, left)):
        if isinstance(node, e.Literal) and node.value is not None:
            return _scaled(other, int(node.value) * number(node, "*").grid)  # type: ignore[arg-type]
    ends = [a * b for a, b in pairs((first.low, first.high), (second.low, second.high))]
    grid = first.grid * second.grid
    nullable = first.nullable or second.nullable
    kind = _checked(min(ends), max(ends), grid, nullable=nullable, what="a product")
    return e.Product(left, right, kind)


def _scaled(node: e.Expr, by: Fraction) -> e.Expr:
    """Node * by for a constant: the same integers on another grid, with the sign in the factor."""
    kind = number(node, "*")
    if isinstance(node, e.Literal):
        if node.value is None:
            return node
        return constant(int(node.value) * kind.grid * by)  # type: ignore[arg-type]
    return _linear([(by, node)], Fraction(0))


def divide(left: e.Expr, right: e.Expr) -> e.Expr:
    """Left / right: exact by a constant; by a column rounded down, and missing where that is 0."""
    first, second = number(left, "/"), number(right, "/")
    if isinstance(right, e.Literal) and right.value is not None:
        by = int(right.value) * second.grid  # type: ignore[arg-type]
        if by == 0:
            raise QueryError("a division by the constant 0 has no value; say NULL if you mean it")
        return _scaled(left, 1 / by)
    factor = QUOTIENT_STEPS
    grid = first.grid / second.grid / factor
    largest = max(abs(first.low), abs(first.high)) * factor
    _checked(-largest, largest, grid, nullable=False, what="a quotient")
    divisors = [d for d in (second.low, second.high, -1, 1) if d and second.low <= d <= second.high]
    if not divisors:
        return constant(None)
    ends = [n * factor // d for n, d in pairs((first.low, first.high), divisors)] + (
        [0] if first.low <= 0 <= first.high else []
    )
    nullable = first.nullable or second.nullable or second.low <= 0 <= second.high
    kind = _checked(min(ends), max(ends), grid, nullable=nullable, what="a quotient")
    return e.Quotient(left, right, factor, kind)


def _divisor(step: Fraction, fine: Fraction) -> int:
    divisor = int(step / fine)
    _checked(1, divisor, fine, nullable=False, what="a divisor")
    return divisor


def _floored(node: e.Expr, step: Fraction) -> e.Expr:
    """The largest multiple of `step` that is at most node, as a number on the grid `step`."""
    kind = number(node, "rounding")
    if (kind.grid / step).denominator == 1:
        return node
    if isinstance(node, e.Literal):
        there = None if node.value is None else int(node.value) * kind.grid  # type: ignore[arg-type]
        return constant(None if there is None else there // step * step)
    fine = common_grid(kind.grid, step)
    held = on_grid(node, fine)
    divisor = _divisor(step, fine)
    inner = number(held, "rounding")
    low, high = inner.low // divisor, inner.high // divisor
    # the engine first subtracts the multiple below the low end, so that truncation is flooring
    _checked(low * divisor, inner.high, fine, nullable=False, what="rounding")
    _checked(0, inner.high - low * divisor, fine, nullable=False, what="rounding")
    return e.FloorDivide(held, divisor, Number(low, high, step, inner.nullable))


def floor(node: e.Expr) -> e.Expr:
    """The largest whole number that is at most node."""
    return _floored(node, Fraction(1))


def ceil(node: e.Expr) -> e.Expr:
    """The smallest whole number that is at least node."""
    return negate(floor(negate(node)))


def round_to(node: e.Expr, digits: int = 0) -> e.Expr:
    """Rounded to this many decimal digits, halves up."""
    if not -18 <= digits <= 18:
        raise QueryError(f"ROUND to {digits} digits is out of reach; say between -18 and 18")
    step = Fraction(10) ** -digits
    return _floored(add(node, constant(step / 2)), step)


def remainder(left: e.Expr, right: e.Expr) -> e.Expr:
    """Left modulo a whole constant above 0, with the sign of left, as in SQL."""
    first = number(left, "MOD")
    if not isinstance(right, e.Literal) or not isinstance(right.value, int):
        raise QueryError("MOD needs a constant divisor, such as MOD(age, 10)")
    by = right.value * number(right, "MOD").grid
    if by <= 0:
        raise QueryError(f"MOD needs a divisor above 0, not {shown(by)}")
    fine = common_grid(first.grid, by)
    held = on_grid(left, fine)
    divisor, inner = _divisor(by, fine), number(held, "MOD")
    low = max(inner.low, -(divisor - 1)) if inner.low < 0 else 0
    high = min(inner.high, divisor - 1) if inner.high > 0 else 0
    return e.Remainder(held, divisor, Number(low, high, fine, inner.nullable))


def absolute(node: e.Expr) -> e.Expr:
    """The value without its sign."""
    kind = number(node, "ABS")
    if kind.low >= 0:
        return node
    high = max(abs(kind.low), abs(kind.high))
    low = 0 if kind.high >= 0 else -kind.high
    return e.Absolute(node, Number(low, high, kind.grid, kind.nullable))


def _is_null(node: e.Expr) -> bool:
    return isinstance(node, e.Literal) and node.value is None


def _together(nodes: Sequence[e.Expr], what: str) -> list[e.Expr]:
    """Values of one kind: numbers on one grid; a missing constant takes the others' kind."""
    typed = [n for n in nodes if not _is_null(n)]
    if not typed:
        return list(nodes)
    shape = type(typed[0].kind)
    other = next((n for n in typed if type(n.kind) is not shape), None)
    if other is not None:
        raise QueryError(f"{what} mixes {said(typed[0].kind)} with {said(other.kind)}")
    missing = with_null(typed[0].kind, nullable=True)
    same = [e.Literal(None, missing) if _is_null(n) else n for n in nodes]
    if shape is not Number:
        return same
    grid = number(typed[0], what).grid
    for node in typed[1:]:
        grid = common_grid(grid, number(node, what).grid)
    return [on_grid(node, grid) for node in same]


def _hull(nodes: Sequence[e.Expr], *, nullable: bool) -> Kind:
    """The smallest kind that holds all of these."""
    kinds = [n.kind for n in nodes if not _is_null(n)]
    first = (kinds or [nodes[0].kind])[0]
    numbers = [k for k in kinds if isinstance(k, Number)]
    days = [k for k in kinds if isinstance(k, Day)]
    if numbers:
        low, high = min(k.low for k in numbers), max(k.high for k in numbers)
        return Number(low, high, numbers[0].grid, nullable)
    if days:
        return Day(min(k.low for k in days), max(k.high for k in days), nullable)
    return with_null(first, nullable=nullable)


def extreme(which: str, nodes: Sequence[e.Expr]) -> e.Expr:
    """The least or the greatest of some numbers, leaving out the missing ones."""
    operands = _together(nodes, which.upper())
    kinds = [number(n, which.upper()) for n in operands]
    pick: Callable[..., int] = min if which == "least" else max
    sure = [k for k in kinds if not k.nullable]
    ends_low, ends_high = [k.low for k in kinds], [k.high for k in kinds]
    low, high = min(ends_low), max(ends_high)
    if which == "least" and sure:
        high = pick(k.high for k in sure)
    if which == "greatest" and sure:
        low = pick(k.low for k in sure)
    kind = Number(low, high, kinds[0].grid, not sure)
    return e.Extreme("least" if which == "least" else "greatest", tuple(operands), kind)


def logarithm(node: e.Expr) -> e.Expr:
    """The natural logarithm of a number that is above 0 for every row."""
    kind = number(node, "LN")
    if kind.low <= 0:
        raise QueryError(
            f"LN needs a number above 0, and this is {said(kind)}; "
            "declare a low bound above 0, or say LN(GREATEST(x, 1))"
        )
    knots, levels, grid = chords(kind)
    made = Number(levels[0], levels[-1], grid, kind.nullable)
    return e.Logarithm(node, knots, levels, made)


def flag_number(node: e.Expr) -> e.Expr:
    """1 for true and 0 for false."""
    if isinstance(node.kind, Number):
        return node
    if not isinstance(node.kind, Flag):
        raise QueryError(f"{said(node.kind)} is no number")
    return e.FlagNumber(node, Number(0, 1, nullable=node.kind.nullable))


def compare(op: str, left: e.Expr, right: e.Expr) -> e.Expr:
    """A comparison of two values of one kind."""
    if op not in _COMPARISONS:
        raise QueryError(f"the comparison {op} is not known")
    if k.are_beside(left.kind, right.kind) and not (_is_null(left) or _is_null(right)):
        return e.Compare(op, left, right, Flag(left.kind.nullable or right.kind.nullable))  # type: ignore[arg-type]
    first, second = _together([left, right], f"the comparison {op}")
    if isinstance(first.kind, Flag) and op not in ("=", "<>"):
        raise QueryError("true and false have no order; compare them with = or <>")
    return e.Compare(op, first, second, Flag(first.kind.nullable or second.kind.nullable))  # type: ignore[arg-type]


def flag(node: e.Expr, what: str) -> Flag:
    """The kind of an operand that has to be true or false."""
    if not isinstance(node.kind, Flag):
        raise QueryError(f"{what} needs a condition, not {said(node.kind)}")
    return node.kind


def _logic(op: str, nodes: Sequence[e.Expr]) -> e.Expr:
    flat: list[e.Expr] = []
    for node in nodes:
        flag(node, op.upper())
        flat += node.operands if isinstance(node, e.Logic) and node.op == op else [node]
    if len(flat) == 1:
        return flat[0]
    kind = Flag(any(node.kind.nullable for node in flat))
    return e.Logic("and" if op == "and" else "or", tuple(flat), kind)


def all_of(nodes: Sequence[e.Expr]) -> e.Expr:
    """True where all are."""
    return _logic("and", nodes)


def any_of(nodes: Sequence[e.Expr]) -> e.Expr:
    """True where any is."""
    return _logic("or", nodes)


def negation(node: e.Expr) -> e.Expr:
    """NOT node."""
    return node.operand if isinstance(node, e.Not) else e.Not(node, flag(node, "NOT"))


def is_null(node: e.Expr) -> e.Expr:
    """Whether it is missing."""
    return e.IsNull(node, Flag())


def member(node: e.Expr, values: Sequence[e.Expr]) -> e.Expr:
    """Whether the value is one of some constants."""
    if not values or not all(isinstance(v, e.Literal) and v.value is not None for v in values):
        raise QueryError("IN needs a list of constants, none of them NULL")
    first, *rest = _together([node, *values], "IN")
    return e.Member(
        first, tuple(v for v in rest if isinstance(v, e.Literal)), Flag(first.kind.nullable)
    )


def like(node: e.Expr, pattern: str) -> e.Expr:
    """SQL's LIKE; a backslash is refused because the engines disagree about it."""
    if not isinstance(node.kind, Text):
        raise QueryError(f"LIKE needs text, not {said(node.kind)}")
    if "\\" in pattern or "\0" in pattern:
        raise QueryError("a LIKE pattern may hold no backslash: engines read it differently")
    return e.Like(node, pattern, Flag(node.kind.nullable))


def case(whens: Sequence[tuple[e.Expr, e.Expr]], otherwise: e.Expr | None) -> e.Expr:
    """CASE WHEN ... THEN ... ELSE ... END."""
    conditions = [condition for condition, _ in whens]
    for condition in conditions:
        flag(condition, "WHEN")
    last = constant(None) if otherwise is None else otherwise
    *values, end = _together([*(value for _, value in whens), last], "CASE")
    nullable = any(v.kind.nullable for v in (*values, end))
    kind = _hull([*values, end], nullable=nullable)
    return e.Case(tuple(zip(conditions, values, strict=True)), end, kind)


def coalesce(nodes: Sequence[e.Expr]) -> e.Expr:
    """The first value that is not missing."""
    operands = _together(nodes, "COALESCE")
    if len(operands) == 1:
        return operands[0]
    kind = _hull(operands, nullable=all(n.kind.nullable for n in operands))
    return e.Coalesce(tuple(operands), kind)

"""Questions of a known shape: the plan of an earlier one, with other numbers in its condition.

Dashboards and loops ask one question again and again with other constants. A shape is a text
without its numbers. The first question of a shape is read in full (`discreet.query.sql`); the next
ones take its plan, and only those parts of WHERE are made anew in which another number stands.

Theorem. `Reader.plan(text)` is `parse(text, schema)`: the same plan, or the same refusal.
Proof. Numbers are taken out of a text only where they stand alone, between spaces, brackets, commas
and signs of comparison, as plain digits with or without a point. So two texts of one shape differ
in digits inside of such places. The tokenizer looks at one character after the other and asks of a
digit only whether it is one, so that the words of both texts are of the same kinds, at the same
places of the list, and differ in the texts of numbers, or inside of strings, quoted names and
comments. `Pattern` holds by its position in the text what each number of the first question was to
the parser. A number is a *slot* if it is one side of a comparison or one end of BETWEEN, and if
this stands under nothing but AND, OR, NOT and brackets in the WHERE of the outermost SELECT, or in
the condition of its one aggregate, where `discreet.query.narrow` makes that a part of WHERE. All
numbers that are no slots, and all that is no word of its own, must be the same, or the question is
read in full. (Which numbers are slots may depend on the others, as on one in a quoted name that is
grouped by. So what is kept is found by its slots, too.) The parser asks of a number only whether it
is one, so that the trees differ in slots alone. What is read of a slot: the comparison, which is
made by the very function that reads it; the connectives above it, likewise; the size of the
condition, which must be the same as before; and `discreet.query.keys.admitted`, which looks only at
parts that compare a grouping itself, and for which no slot is compared with anything that shares a
column with a grouping. Nothing else that makes a plan looks into WHERE; and whether the condition
of an aggregate is put there depends on its columns and on its size. Whatever is refused on the
way is read in full, and refused there.
Tested by tests/query/test_known.py
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.query import expr as e
from discreet.query import total
from discreet.query.kinds import Number
from discreet.query.narrow import columns
from discreet.query.parse_expr import (
    COMPARISONS,
    Names,
    between,
    compared,
    is_aggregate,
    read,
    spine,
)
from discreet.query.plan import Plan, aggregates, keys_in, with_where
from discreet.query.recent import Recent
from discreet.query.schema import Schema
from discreet.query.scope import Environment, before_where, extent
from discreet.query.sql import parsed
from discreet.query.tree import LONGEST, Node, deeply, number, part

__all__ = ["Reader"]

_NUMBER = re.compile(r"(?<=[ \n\t(<>=,])([0-9]{1,15}(?:\.[0-9]{1,15})?)(?=[ \n\t)<>=,;]|\Z)")
"""A number that stands alone."""
MOST_NUMBERS = 64
"""Questions with more numbers than this are read in full."""
_LONGEST = LONGEST // 4
"""And so are questions of more letters: a letter has up to four bytes, and bytes are limited."""

Numbers = Sequence[str]
"""All numbers of a question that stand alone, in their order, as they are written."""
Filled = Callable[[Numbers], e.Expr]
"""The condition, or a part of it, with these numbers."""


@dataclass(frozen=True, slots=True)
class Known:
    """The plan of a shape, and how its condition is made of other numbers.

    Attributes:
        plan: of the first question of this shape.
        size: of its condition; with another size it might be refused.
        where: the condition, of all numbers.
    """

    plan: Plan
    size: tuple[int, int]
    where: Filled

    def filled(self, numbers: Numbers) -> Plan | None:
        """The plan with these numbers; None where the question has to be read."""
        try:
            where = self.where(numbers)
        except (QueryError, ParameterError):
            return None
        return with_where(self.plan, where) if extent(where) == self.size else None


class Reader:
    """Reads questions to one schema, those of a known shape at once.

    Args:
        schema: the table that they are asked to.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._slots: Recent[tuple[str, ...], frozenset[int]] = Recent()
        self._known: Recent[tuple[object, ...], Known] = Recent()

    def plan(self, text: str) -> Plan:
        """The plan of a question in SQL, as `discreet.query.sql.parse` reads it."""
        return deeply(lambda: self._plan(text))

    def _plan(self, text: str) -> Plan:
        pieces = _NUMBER.split(text) if len(text) <= _LONGEST else [text]
        shape, numbers = tuple(pieces[::2]), tuple(pieces[1::2])
        if not 0 < len(numbers) <= MOST_NUMBERS:
            return parsed(text, self._schema)[0]
        slots = self._slots.get(shape)
        if slots is not None:
            known = self._known.get((shape, slots, _others(numbers, slots)))
            found = None if known is None else known.filled(numbers)
            if found is not None:
                return found
        plan, select = parsed(text, self._schema)
        if plan.where is not None:
            self._learn(shape, numbers, plan, select)
        return plan

    def _learn(
        self, shape: tuple[str, ...], numbers: Numbers, plan: Plan, select: exp.Select
    ) -> None:
        """Keep what was read, if any number of it is a slot.

        The condition of the plan is that of the text; or with it that of the one aggregate, of
        whose numbers some may be slots; or with it whatever else was moved there, of whose numbers
        none is.
        """
        scope = before_where(select, Environment(self._schema))
        grouped = columns(*(grouping.value for grouping in plan.groupings))
        pattern = Pattern(_places(shape, numbers, select), numbers, grouped, scope, set())
        own, kept = select.args.get("where"), _filter(plan, select)
        parts: list[Filled] = [] if scope.where is None else [_always(scope.where)]
        parts += [] if own is None else [pattern.made(own.this)]
        where = _all_of(parts) if parts else None
        if (where is None or where(numbers) != plan.where) and kept is not None:
            fuller = replace(pattern, slots=set(pattern.slots))
            both = _all_of([*parts, fuller.made(kept)])
            if both(numbers) == plan.where:
                pattern, where = fuller, both
        if where is None or not pattern.slots:
            return
        if plan.where is not None and where(numbers) != plan.where:
            where = _all_of([where, *map(_always, _rest(plan.where, where(numbers)))])
        if where(numbers) == plan.where:
            slots = self._slots.keep(shape, frozenset(pattern.slots), sum(map(len, shape)))
            known = Known(plan, extent(plan.where), where)
            weight = sum(map(len, shape)) + keys_in(plan)
            self._known.keep((shape, slots, _others(numbers, slots)), known, weight)


def _constant(text: str) -> e.Literal:
    """A number of a shape, as it is read from the text; no whole one of them is too large."""
    if "." in text:
        return total.constant(number(text))
    return e.Literal(n := int(text), Number(n, n))


def _others(numbers: Numbers, slots: frozenset[int]) -> tuple[str, ...]:
    """The numbers that are no slots."""
    return tuple([one for place, one in enumerate(numbers) if place not in slots])


def _places(
    shape: tuple[str, ...], numbers: Numbers, select: exp.Select
) -> dict[tuple[int, int], int]:
    """Which number begins and ends at these places of the text; only those that the tree has once.

    (A parser might say a word of the text in two places of its tree.)
    """
    met = Counter(_span(node) for node in select.find_all(exp.Literal))
    found, at = {}, 0
    for place, (before, one) in enumerate(zip(shape, numbers, strict=False)):
        span = at + len(before), at + len(before) + len(one) - 1
        if met[span] == 1:
            found[span] = place
        at = span[1] + 1
    return found


def _span(node: Node) -> tuple[int, int]:
    """Where a word stood in the text, as far as the parser tells."""
    return node.meta.get("start", -1), node.meta.get("end", -1)


def _always(made: e.Expr) -> Filled:
    """A part without a slot."""
    return lambda _: made


def _all_of(parts: Sequence[Filled]) -> Filled:
    """The condition that all parts hold, as it is read."""
    if len(parts) == 1:
        return parts[0]
    return lambda given: total.all_of([part(given) for part in parts])


def _rest(whole: e.Expr, begun: e.Expr) -> Sequence[e.Expr]:
    """What a condition has besides the one that it begins with."""
    return _parts(whole)[len(_parts(begun)) :]


def _parts(node: e.Expr) -> Sequence[e.Expr]:
    """What has to hold, all of it, for a condition to hold."""
    return node.operands if isinstance(node, e.Logic) and node.op == "and" else (node,)


def _filter(plan: Plan, select: exp.Select) -> Node | None:
    """The condition of the one aggregate, which `narrowed` may have put into WHERE.

    Whether it has, and whether that is all that it has put there, finds whoever compares.
    """
    found = [node for node in select.walk(prune=is_aggregate) if is_aggregate(node)]
    if len(found) != 1 or any(one.where is not None for one in aggregates(plan)):
        return None
    node, operand, condition = found[0], found[0].this, None
    while isinstance(operand, exp.Paren):
        operand = operand.this
    if isinstance(operand, exp.Case) and operand.this is None:
        operand = part(operand, "ifs")[0]
    if isinstance(node, exp.Filter):
        condition = part(node.expression, "this")
    elif node.key == "countif":
        condition = operand
    elif node.key in ("count", "sum") and isinstance(operand, exp.If):
        condition = part(operand, "this")
    return condition


@dataclass(frozen=True, slots=True)
class Pattern:
    """What the numbers of one question are to the parser.

    Attributes:
        places: by the first and the last place in the text, which of the numbers it is.
        numbers: these numbers.
        grouped: the columns that are grouped by.
        names: what the names in WHERE mean.
        slots: the numbers that are slots, as far as they were met.
    """

    places: Mapping[tuple[int, int], int]
    numbers: Numbers
    grouped: frozenset[str]
    names: Names
    slots: set[int]

    def made(self, node: Node) -> Filled:
        """A part of WHERE as a function of the numbers."""
        match node.key:
            case "paren":
                return self.made(node.this)
            case "not":
                inner = self.made(node.this)
                return lambda given: total.negation(inner(given))
            case "and" | "or":
                parts = [self.made(link) for _, link in spine(node, node.key)]
                joined = total.all_of if node.key == "and" else total.any_of
                return lambda given: joined([one(given) for one in parts])
            case "between":
                return self._between(node)
            case key if key in COMPARISONS:
                return self._compared(node)
            case _:
                return self._fixed(node)

    def _fixed(self, node: Node) -> Filled:
        return _always(read(node, self.names))

    def _place(self, node: Node) -> int | None:
        """Which of the numbers a node is; None for anything else."""
        if not isinstance(node, exp.Literal) or node.args.get("is_string"):
            return None
        place = self.places.get(_span(node))
        return place if place is not None and self.numbers[place] == str(node.this) else None

    def _side(self, node: Node, beside: e.Expr) -> Filled:
        """One side of a comparison: a slot, if it is a number beside what is not grouped by."""
        place = self._place(node)
        if place is None or not self.grouped.isdisjoint(columns(beside)):
            return self._fixed(node)
        self.slots.add(place)
        return lambda given: _constant(given[place])

    def _compared(self, node: Node) -> Filled:
        sides = node.this, part(node, "expression")
        first, second = (read(side, self.names) for side in sides)
        left, right = self._side(sides[0], second), self._side(sides[1], first)
        key, names = node.key, self.names
        return lambda given: compared(key, left(given), right(given), names)

    def _between(self, node: Node) -> Filled:
        value = read(node.this, self.names)
        low, high = (self._side(part(node, name), value) for name in ("low", "high"))
        return lambda given: between(value, low(given), high(given))

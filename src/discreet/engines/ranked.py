"""The shapes of `bounding` that are fastest on DuckDB; the integers are the same.

DuckDB sorts the rows of a person faster than it groups by person and group, and it reads a table
twice faster than it keeps a copy. So: one window over each person's rows finds the first groups of
the person (d) and the place of a row in its group (q, from 0); totals are taken over all rows that
are left, and only the few people who have more than `rows` rows in a group are looked at again, to
take away what they have too much.

Who they are. With at most 64 different groups told apart by six bits of a hash, a person with more
than `rows` rows in one group has at least `rows` more rows than bits: whoever has fewer is left
alone. (A group with more rows has `rows` rows beyond its first; every other group has at least as
many rows as bits.)
Tested by tests/engines/test_ranked.py, tests/engines/contract.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.engines.dialects import Node, call, cast, column, number
from discreet.engines.parts import (
    Base,
    aliased,
    carried,
    count,
    furthest,
    inputs,
    keyed,
    numbered,
    ordered,
    select,
    sub,
    term,
    where,
)
from discreet.query.request import Part

__all__ = ["paired", "sampled", "weighted_people"]


def _window(function: Node, order: Sequence[Node]) -> Node:
    """A function over a person's rows in some order."""
    by = exp.Order(expressions=[ordered(node.copy()) for node in order])
    return exp.Window(this=function, partition_by=[column("p", "w")], order=by)


def _place(order: Sequence[Node]) -> Node:
    """How many rows of the same group come before a row."""
    rank = _window(call("RANK"), order)
    return exp.Sub(this=_window(exp.RowNumber(), order), expression=rank)


def _first_groups(base: Base, part: Part, groups: int) -> exp.Select:
    """The rows of each person's first groups, with the place q of each in its group."""
    titles = ["p", *base.titles([*part.keys, *inputs(part)])]
    hashed = aliased(base.hashed(part.keys, "b"), "h")
    rows = sub(select([*carried(titles, "b"), hashed], base.rows()), "w")
    order = [column("h", "w"), *(base.at(node, "w") for node in part.keys)]
    places = [aliased(_place(order), "q"), aliased(_window(exp.DenseRank(), order), "d")]
    placed = sub(select([*carried(titles, "w"), *places], rows), "v")
    few = exp.LTE(this=column("d", "v"), expression=number(groups))
    return where(select(carried([*titles, "q"], "v"), placed), few)


def _exists(source: Node, condition: Node) -> Node:
    return exp.Exists(this=where(select([number(1)], source), condition))


def _full(
    base: Base, part: Part, groups: int | None, rows: int
) -> tuple[Callable[[], Node], Callable[[], Node]]:
    """The rows that are left, for FROM (as b); and which of them may be in too full a group."""
    same: Node = exp.EQ(this=column("p", "o"), expression=column("p", "b"))
    if groups is None:
        heavy = _heavy(base, part, rows)
        return base.rows, lambda: _exists(sub(heavy, "o"), same)
    kept = base.cte(_first_groups(base, part, groups))
    titles = base.titles(part.keys)
    many = exp.GTE(this=column("q", "b"), expression=number(rows))
    full = where(select(carried(["p", *titles], "b"), kept()), many)
    full.set("distinct", exp.Distinct())
    for title in titles:
        one = exp.NullSafeEQ(this=column(title, "o"), expression=column(title, "b"))
        same = exp.And(this=same, expression=one)
    found = base.cte(full, alias="o")
    return kept, lambda: _exists(found(), same)


def _heavy(base: Base, part: Part, rows: int) -> exp.Select:
    """The people who may have more than `rows` rows in a group."""
    person = column("p", "b")
    heavy = select([aliased(person, "p")], base.rows(), group=[person])
    if not part.keys:
        many: Node = exp.GT(this=count(), expression=number(rows))
    else:
        hashed = call("HASH", *(base.at(node) for node in part.keys))
        six = exp.Paren(this=exp.BitwiseRightShift(this=hashed, expression=number(58)))
        one = cast(number(1), "UBIGINT")
        bit = exp.BitwiseLeftShift(this=one, expression=cast(six, "UTINYINT"))
        groups = call("BIT_COUNT", call("BIT_OR", bit))
        extra = exp.Sub(this=count(), expression=groups)
        many = exp.GTE(this=extra, expression=number(rows))
    heavy.set("having", exp.Having(this=many))
    return heavy


def _over(base: Base, part: Part, rows: Node) -> exp.Select:
    """The totals of all rows that are left."""
    keys = [base.at(node) for node in part.keys]
    totals = [term(base, part, total, "b", None) for total in part.totals]
    return select([*keyed(keys), *numbered(totals)], rows, group=keys)


def _less(part: Part, everything: exp.Select, beyond: exp.Select) -> exp.Select:
    """The totals of all rows, and what has to be added to (that is, taken away from) them."""
    both = exp.Union(this=everything, expression=beyond, distinct=False)
    keys = [column(f"k{i}", "u") for i in range(len(part.keys))]
    sums = [exp.Sum(this=column(f"t{i}", "u")) for i in range(len(part.totals))]
    return select([*keyed(keys), *numbered(sums)], sub(both, "u"), group=keys)


def sampled(base: Base, part: Part, groups: int | None, rows: int) -> exp.Select:
    """At most so many rows of each person and group: rows beyond are taken away again."""
    left, in_full = _full(base, part, groups, rows)
    used = inputs(part)
    order = [base.hashed([*part.keys, *used], "b"), *(base.at(node) for node in used)]
    place = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column("p", "b"), *(base.at(node) for node in part.keys)],
        order=exp.Order(expressions=[ordered(node) for node in order]),
    )
    passed = carried(base.titles([*part.keys, *used]), "b")
    placed = sub(where(select([*passed, aliased(place, "i")], left()), in_full()), "s")
    keys = [base.at(node, "s") for node in part.keys]
    less = [exp.Neg(this=term(base, part, total, "s", None)) for total in part.totals]
    beyond = select([*keyed(keys), *numbered(less)], placed, group=keys)
    where(beyond, exp.GT(this=column("i", "s"), expression=number(rows)))
    return _less(part, _over(base, part, left()), beyond)


def paired(base: Base, part: Part, groups: int | None, rows: int | None) -> exp.Select:
    """Each total of a person and group up to a limit: what is beyond is taken away again."""
    if part.people and groups is not None:
        return _people(base, part, groups)
    if rows is None:
        return _over(base, part, sub(_first_groups(base, part, groups or 0), "b"))
    left, in_full = _full(base, part, groups, rows)
    keys = [base.at(node) for node in part.keys]
    totals = [term(base, part, total, "b", None) for total in part.totals]
    pairs = select([*keyed(keys), *numbered(totals)], left(), group=[column("p", "b"), *keys])
    where(pairs, in_full())
    less = []
    for i, total in enumerate(part.totals):
        there = column(f"t{i}", "q")
        kept = call("LEAST", there, number(rows * furthest(total)))
        beyond = exp.Sum(this=exp.Sub(this=kept, expression=there.copy()))
        less.append(exp.Coalesce(this=beyond, expressions=[number(0)]))
    outer = [column(f"k{i}", "q") for i in range(len(keys))]
    taken = select([*keyed(outer), *numbered(less)], sub(pairs, "q"), group=outer)
    return _less(part, _over(base, part, left()), taken)


def _people(base: Base, part: Part, groups: int) -> exp.Select:
    """How many people are in each group: the first row of each of a person's first groups."""
    keys = [base.at(node) for node in part.keys]
    kept = sub(_first_groups(base, part, groups), "b")
    made = select([*keyed(keys), *numbered([count()])], kept, group=keys)
    return where(made, exp.EQ(this=column("q", "b"), expression=number(0)))


def weighted_people(base: Base, part: Part, weights: Callable[[Node], Node]) -> exp.Select:
    """People by the number of their groups: their rows, less the repeated ones."""
    titles = ["p", *base.titles(part.keys)]
    order = [base.at(node, "w") for node in part.keys]
    rows = exp.Window(this=count(), partition_by=[column("p", "w")])
    read = sub(select(carried(titles, "b"), base.rows()), "w")
    counted = [*carried(titles, "w"), aliased(rows, "c"), aliased(_place(order), "q")]
    placed = base.cte(select(counted, read))
    person = column("p", "b")
    repeated = select([aliased(person, "p"), aliased(count(), "n")], placed(), group=[person])
    where(repeated, exp.GT(this=column("q", "b"), expression=number(0)))
    again = exp.Coalesce(this=column("n", "h"), expressions=[number(0)])
    groups = exp.Paren(this=exp.Sub(this=column("c", "b"), expression=again))
    keys = [base.at(node) for node in part.keys]
    made = select([*keyed(keys), *numbered([weights(groups)])], placed(), group=keys)
    on = exp.EQ(this=column("p", "h"), expression=column("p", "b"))
    made.set("joins", [exp.Join(this=sub(repeated, "h"), side="LEFT", on=on)])
    return where(made, exp.EQ(this=column("q", "b"), expression=number(0)))

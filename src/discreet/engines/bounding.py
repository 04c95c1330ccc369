"""Bound what one person can add to a part, in SQL; the ways are said in `discreet.query.request`.

Why it bounds. Whatever a person's rows are, "sample" keeps at most `groups` of the person's groups
and at most `rows` rows in each; "clamp" keeps at most `groups` groups and lets each total of a
person and group count as at most `rows` rows; "weight" gives the R > rows rows of a person the
weight floor(scale rows / R), which adds up to at most scale rows. Which rows and groups are kept is
decided by a keyed hash of the person, the group and the values that the part adds up: by nothing
of other people, and by no order in which rows are stored. Rows that agree in all of this can be
exchanged without changing a total.
Tested by tests/engines/test_sensitivity.py, tests/engines/test_compile.py
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.engines import ranked
from discreet.engines.dialects import Node, case, column, number, to_integer
from discreet.engines.parts import (
    MOST,
    Base,
    aliased,
    carried,
    count,
    furthest,
    inputs,
    keyed,
    most_of,
    numbered,
    ordered,
    select,
    sub,
    term,
    where,
)
from discreet.errors import QueryError
from discreet.query.kinds import WIDEST, Number
from discreet.query.request import Part, Total
from discreet.query.schema import PerPerson, Schema

__all__ = ["bounds_nobody", "check", "part_select"]


def part_select(base: Base, part: Part) -> exp.Select:
    """The SELECT of one part; its columns are k0, k1, ... and t0, t1, ..."""
    check(base.schema, part)
    bounding = part.bounding
    if part.spread is not None:
        return _spread(base, part.spread)
    if bounds_nobody(part):
        return _plain(base, part)
    if bounding.way == "weight":
        return _weighted_people(base, part) if part.people else _weighted(base, part)
    groups, rows = _bounds(part)
    if bounding.way == "sample" and rows is not None and inputs(part):
        shape = ranked.sampled if base.sql.sorts_fast else _sampled
        return shape(base, part, groups, rows)
    shape = ranked.paired if base.sql.sorts_fast else _paired
    return shape(base, part, groups, rows)


def _bounds(part: Part) -> tuple[int | None, int | None]:
    """How many groups a person may be in, and with how many rows in each."""
    groups = part.bounding.groups if part.keys else None
    return groups, None if part.people else part.bounding.rows


def bounds_nobody(part: Part) -> bool:
    """Whether a part adds up every row as it is."""
    if part.spread is not None or part.bounding.way == "weight":
        return False
    return part.bounding.way == "none" or _bounds(part) == (None, None)


def check(schema: Schema, part: Part) -> None:
    """Refuse a part that cannot be answered; QueryError says why."""
    personal = part.spread is not None or part.bounding.way != "none"
    if personal and not isinstance(schema.unit, PerPerson):
        raise QueryError(
            "people can be bounded only where a column says whose a row is: "
            "declare unit=dp.PerPerson(...)"
        )
    if part.spread is None and not part.people and not part.totals:
        raise QueryError("a part needs a total, people or a spread")
    bounding = part.bounding
    if bounding.way == "weight":
        limit = bounding.groups if part.people else bounding.rows
        if limit is None:
            raise QueryError("weights need a number of rows (of groups, to count people)")
        if limit * bounding.scale > WIDEST:
            raise QueryError("the scale of the weights times the number of rows is beyond 2^62")
    elif bounding.scale != 1:
        raise QueryError("only weights have a scale")
    for total in part.totals:
        most_of(schema, part, total)
        if bounding.way == "clamp" and not _clampable(total):
            raise QueryError(
                "a person's totals can be clamped for counts and for sums from the low end"
            )


def _clampable(total: Total) -> bool:
    """Whether no row can lower the total: then clamping it from above is all there is to do."""
    if total.power == 0 or total.value is None:
        return True
    kind = total.value.kind
    return isinstance(kind, Number) and total.power == 1 and total.offset == kind.low


# the ways


def _plain(base: Base, part: Part) -> exp.Select:
    """Every row as it is."""
    keys = [base.by(node) for node in part.keys]
    if part.people:
        personal = isinstance(base.schema.unit, PerPerson)
        people = exp.Count(this=exp.Distinct(expressions=[base.person()]))
        totals: list[Node] = [people if personal else count()]
    else:
        totals = [term(base, part, total, "b", None) for total in part.totals]
    made = select([*keyed(keys), *numbered(totals)], base.rows(), group=keys)
    return where(made, base.condition())


def _spread(base: Base, spread: Sequence[int]) -> exp.Select:
    whens = [(exp.LTE(this=count(), expression=number(n)), number(i)) for i, n in enumerate(spread)]
    place = case(whens, number(len(spread))) if whens else number(0)
    people = select([aliased(to_integer(place), "k")], base.rows(), group=[column("p", "b")])
    key = column("k", "s")
    return select([aliased(key, "k0"), aliased(count(), "t0")], sub(people, "s"), group=[key])


def _weighted(base: Base, part: Part) -> exp.Select:
    """Only people with more than `rows` rows have to be found: all others have full weight."""
    bounding, sql = part.bounding, base.sql
    limit, person = bounding.rows or 0, column("p", "b")
    share = to_integer(sql.divide(number(limit * bounding.scale), count()))
    heavy = select([aliased(person, "p"), aliased(share, "w")], base.rows(), group=[person])
    heavy.set("having", exp.Having(this=exp.GT(this=count(), expression=number(limit))))
    weight = exp.Coalesce(this=column("w", "h"), expressions=[number(bounding.scale)])
    keys = [base.at(node) for node in part.keys]
    totals = [term(base, part, total, "b", weight.copy()) for total in part.totals]
    made = select([*keyed(keys), *numbered(totals)], base.rows(), group=keys)
    on = exp.EQ(this=column("p", "h"), expression=column("p", "b"))
    made.set("joins", [exp.Join(this=sub(heavy, "h"), side="LEFT", on=on)])
    return made


def _weighted_people(base: Base, part: Part) -> exp.Select:
    """The weight of a person follows from the number of the person's groups."""
    bounding, sql = part.bounding, base.sql
    limit = bounding.groups or 0
    most = base.schema.row_limit * bounding.scale
    if most >= MOST:
        raise QueryError("the weights of all people could reach 10^37; take a smaller scale")

    def weights(groups: Node) -> Node:
        light = exp.LTE(this=groups.copy(), expression=number(limit))
        share = sql.divide(number(limit * bounding.scale), groups)
        weight = case([(light, to_integer(number(bounding.scale)))], to_integer(share))
        return sql.sum(weight, most=most)

    if sql.sorts_fast and part.keys:
        return ranked.weighted_people(base, part, weights)
    groups = exp.Window(this=count(), partition_by=[column("p", "q")])
    keys = [base.at(node, "q") for node in part.keys]
    counted = select([*keyed(keys), aliased(groups, "r")], sub(_pairs(base, part, []), "q"))
    outer = [column(f"k{i}", "s") for i in range(len(keys))]
    total = numbered([weights(column("r", "s"))])
    return select([*keyed(outer), *total], sub(counted, "s"), group=outer)


def _pairs(base: Base, part: Part, totals: Sequence[Node]) -> exp.Select:
    """One row for each person and group."""
    keys = [base.at(node) for node in part.keys]
    person = column("p", "b")
    passed = carried(["p", *base.titles(part.keys)], "b")
    return select([*passed, *numbered(totals)], base.rows(), group=[person, *keys])


def _first(by: Sequence[Node], order: Sequence[Node], *, ties: bool = False) -> Node:
    """The place of a row, or with ties of its group, in an order."""
    return exp.Window(
        this=exp.DenseRank() if ties else exp.RowNumber(),
        partition_by=list(by),
        order=exp.Order(expressions=[ordered(node) for node in order]),
    )


def _paired(base: Base, part: Part, groups: int | None, rows: int | None) -> exp.Select:
    """Totals of each person and group first; then at most so many groups of each person."""
    sql = base.sql
    wanted = () if part.people else part.totals
    totals: list[Node] = []
    for total in wanted:
        node = term(base, part, total, "b", None)
        if rows is not None:
            limit = rows * furthest(total)
            node = sql.extreme("least", [node, number(limit)])
            node = to_integer(node) if limit <= WIDEST else node
        totals.append(node)
    kept, table = sub(_pairs(base, part, totals), "q"), "q"
    condition: Node | None = None
    if groups is not None:
        keys = [base.at(node, "q") for node in part.keys]
        place = _first([column("p", "q")], [base.hashed(part.keys, "q"), *keys])
        passed = carried([*base.titles(part.keys), *(f"t{i}" for i in range(len(totals)))], "q")
        kept, table = sub(select([*passed, aliased(place, "g")], kept), "s"), "s"
        condition = exp.LTE(this=column("g", "s"), expression=number(groups))
    keys = [base.at(node, table) for node in part.keys]
    sums = [
        sql.sum(column(f"t{i}", table), most=most_of(base.schema, part, total))
        for i, total in enumerate(wanted)
    ]
    made = select([*keyed(keys), *numbered(sums or [count()])], kept, group=keys)
    return where(made, condition)


def _sampled(base: Base, part: Part, groups: int | None, rows: int) -> exp.Select:
    """Number each person's rows within a group, and the person's groups, by keyed hashes."""
    used = inputs(part)
    person, keys = column("p", "b"), [base.at(node) for node in part.keys]
    order = [base.hashed([*part.keys, *used], "b"), *(base.at(node) for node in used)]
    places = [aliased(_first([person, *keys], order), "i")]
    condition: Node = exp.LTE(this=column("i", "s"), expression=number(rows))
    if groups is not None:
        by = [base.hashed(part.keys, "b"), *(key.copy() for key in keys)]
        places.append(aliased(_first([person.copy()], by, ties=True), "g"))
        few = exp.LTE(this=column("g", "s"), expression=number(groups))
        condition = exp.And(this=condition, expression=few)
    passed = carried(base.titles([*part.keys, *used]), "b")
    placed = sub(select([*passed, *places], base.rows()), "s")
    outer = [base.at(node, "s") for node in part.keys]
    totals = [term(base, part, total, "s", None) for total in part.totals]
    return where(select([*keyed(outer), *numbered(totals)], placed, group=outer), condition)

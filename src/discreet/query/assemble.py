"""The last step of both languages: public keys and limits make a plan.

Tested by tests/query/test_assemble.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import QueryError
from discreet.exact import shown
from discreet.query import expr as e
from discreet.query import total
from discreet.query.keys import Key, admitted, keys_of
from discreet.query.kinds import Day, Flag, Number, Text, said
from discreet.query.names import group_names
from discreet.query.narrow import narrowed
from discreet.query.options import NO_OPTIONS, Options, Said
from discreet.query.plan import (
    Grouping,
    Order,
    Output,
    Plan,
    Post,
    PostAggregate,
    PostCall,
    PostGroup,
    aggregates,
)
from discreet.query.schema import MOST_KEYS, Schema, storable
from discreet.query.scope import checked, extent
from discreet.query.words import brief, meant

__all__ = ["Tail", "assembled", "held_keys"]

LARGEST = 1000
"""The most nodes of a whole plan, not counting constants."""


@dataclass(frozen=True, slots=True)
class Tail:
    """What is done to the released answer at the end: HAVING, ORDER BY and LIMIT."""

    having: Post | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None


NO_TAIL = Tail()


def assembled(
    schema: Schema,
    where: e.Expr | None,
    groups: Sequence[e.Expr],
    outputs: Sequence[Output],
    tail: Tail = NO_TAIL,
    options: Options = NO_OPTIONS,
) -> Plan:
    """The plan, once everything has its name, its keys and a size that can be handled."""
    names = group_names(groups, outputs)
    for name in options.keys:
        if name not in names:
            close = meant(name, names)
            raise QueryError(f"keys are given for {name[:60]!r}{close}, which is not grouped by")
    kept = where if options.combinations is None else None  # what is listed is answered
    groupings = tuple(
        _grouping(name, group, schema, options, kept)
        for name, group in zip(names, groups, strict=True)
    )
    groupings, combinations = _combined(groupings, options)
    _check_cells(groupings, combinations)
    plan = Plan(
        table=schema.name,
        where=where,
        groupings=groupings,
        outputs=tuple(outputs),
        having=tail.having,
        order=tail.order,
        limit=tail.limit,
        combinations=combinations,
        other=options.other,
        epsilon=options.epsilon,
        delta=options.delta,
        rho=options.rho,
    )
    _check(plan)
    return narrowed(plan)


def _grouping(
    name: str, group: e.Expr, schema: Schema, options: Options, where: e.Expr | None
) -> Grouping:
    if not any(isinstance(part, e.Column) for part in e.walk(group)):
        raise QueryError("GROUP BY needs a column, not a constant")
    if name not in options.keys:
        keys = admitted(keys_of(group, schema), group, where)
        if keys == ():
            raise QueryError(
                f"WHERE leaves no key of {name[:60]!r}, so no row can be in any group; "
                "take one of its conditions out"
            )
        return Grouping(name, group, keys)
    given = options.keys[name]
    if given is None:
        return Grouping(name, group, None)
    return Grouping(name, group, held_keys(name, group, given, schema))


def held_keys(name: str, group: e.Expr, given: Sequence[Said], schema: Schema) -> tuple[Key, ...]:
    """Keys that were given, as the engine holds them; all must be possible, and different."""
    held = tuple(_held(name, group, key) for key in given)
    if not held or len(set(held)) < len(held):
        raise QueryError(f"the keys of {name!r} have to be different, and at least one")
    try:
        known = keys_of(group, schema)
    except QueryError:  # too many to list: the range is all that can be checked
        known = None
    possible = None if known is None else set(known)
    for key, said_key in zip(held, given, strict=True):
        if (possible is not None and key not in possible) or not _within(key, group):
            close = meant(said_key, known or ())
            raise QueryError(f"{name!r} is never {_quoted(said_key)}{close}; leave out that key")
    return held


def _held(name: str, group: e.Expr, key: Said) -> Key:
    problem = f"the key {_quoted(key)} of {name!r} is not {said(group.kind)}"
    match group.kind:
        case Number(grid=grid) if isinstance(key, int | Fraction) and not isinstance(key, bool):
            n = Fraction(key) / grid
            if n.denominator == 1:
                return int(n)
        case Flag() if isinstance(key, bool):
            return key
        case Text() if isinstance(key, str) and storable(key):
            return key
        case Day() if not isinstance(key, int | Fraction | str):
            return key
    raise QueryError(problem)


def _within(key: Key, group: e.Expr) -> bool:
    kind = group.kind
    if isinstance(kind, Number | Day):
        return bool(kind.low <= key <= kind.high)  # type: ignore[operator]
    return True


def _quoted(key: Said) -> str:
    short = brief(key)
    return shown(short) if isinstance(short, Fraction) else repr(short)[:60]


def _combined(
    groupings: tuple[Grouping, ...], options: Options
) -> tuple[tuple[Grouping, ...], tuple[tuple[Key, ...], ...] | None]:
    """The listed combinations; they also name the keys of what had none."""
    rows = options.combinations
    if rows is None:
        return groupings, None
    if not groupings or not rows or any(len(row) != len(groupings) for row in rows):
        raise QueryError(f"every combination needs {len(groupings)} keys, one for each grouping")
    held = tuple(
        tuple(_held(g.name, g.value, key) for g, key in zip(groupings, row, strict=True))
        for row in rows
    )
    if len(set(held)) < len(held):
        raise QueryError("the combinations of keys have to be different")
    filled = []
    for place, grouping in enumerate(groupings):
        used = dict.fromkeys(row[place] for row in held)
        keys = tuple(used) if grouping.keys is None else grouping.keys
        if not set(used) <= set(keys) or not all(_within(k, grouping.value) for k in used):
            raise QueryError(f"a combination has a key that {grouping.name!r} never has")
        filled.append(Grouping(grouping.name, grouping.value, keys))
    return tuple(filled), held


def _check_cells(
    groupings: Sequence[Grouping], combinations: Sequence[tuple[Key, ...]] | None
) -> None:
    product = math.prod(len(g.keys) for g in groupings if g.keys is not None)
    cells = product if combinations is None else len(combinations)
    if cells > MOST_KEYS:
        raise QueryError(
            f"the question asks for {cells} groups, and at most {MOST_KEYS} can be answered; "
            "group by less, or list the combinations"
        )


def _check(plan: Plan) -> None:
    wanted = aggregates(plan)
    if not wanted:
        raise QueryError("a question needs an aggregate, such as COUNT(*) or AVG(salary)")
    for output in plan.outputs:
        if not output.name or not storable(output.name):
            raise QueryError("the name of a column has to be UTF-8 text without the character NUL")
    posts = [o.value for o in plan.outputs] + [o.value for o in plan.order]
    posts += [] if plan.having is None else [plan.having]
    inside = [x for a in wanted for x in (a.operand, a.where) if x is not None]
    rows = [*(g.value for g in plan.groupings), *inside]
    rows += [] if plan.where is None else [plan.where]
    parts = sum(extent(checked(node))[0] for node in rows) + sum(_post_size(post) for post in posts)
    if parts > LARGEST:
        raise QueryError(f"the question has {parts} parts, and at most {LARGEST} can be handled")
    if max(_post_depth(post, plan.groupings) for post in posts) > total.DEEPEST:
        raise QueryError(f"the question is nested more than {total.DEEPEST} deep")


def _post_size(post: Post) -> int:
    return 1 + sum(map(_post_size, post.arguments)) if isinstance(post, PostCall) else 1


def _post_depth(post: Post, groupings: Sequence[Grouping]) -> int:
    match post:
        case PostCall(arguments=arguments):
            return 1 + max((_post_depth(a, groupings) for a in arguments), default=0)
        case PostAggregate(aggregate=aggregate):
            parts = (aggregate.operand, aggregate.where)
            return 1 + max((extent(part)[1] for part in parts if part is not None), default=0)
        case PostGroup(place=place):
            return extent(groupings[place].value)[1]
        case _:
            return 1

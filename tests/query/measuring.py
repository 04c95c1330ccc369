"""Questions, declarations and exact answers by hand, for the tests of the measurement layer.

`contribution` is the meaning of a `Part` in plain Python, straight from the words of
discreet/query/request.py. Totals add up over people, so that two neighbouring tables differ by the
contribution of one person, or by the difference of two.
"""

import hashlib
import itertools
from collections import Counter
from fractions import Fraction

import numpy as np

from discreet.privacy.loss import PureLoss
from discreet.query.blocks import blocks_of
from discreet.query.evaluate import evaluate
from discreet.query.expr import Column, Compare, IsNull, Literal, Not
from discreet.query.kinds import Flag, Number, Text
from discreet.query.plan import Aggregate, Grouping, Output, Plan, PostAggregate, aggregates
from discreet.query.price import Measured, _part, priced
from discreet.query.schema import FreeText, Keys, PerPerson, PerRow, Schema
from discreet.query.stability import stabilities

X = Column("x", Number(0, 4, nullable=True))
SURE = Column("y", Number(0, 4))
G = Column("g", Text(nullable=True))
PLUS = Compare(">", Column("f", Number(0, 1)), Literal(0, Number(0, 0)), Flag())


def number(low, high, *, grid=1, nullable=False, name="x"):
    return Column(name, Number(low, high, Fraction(grid), nullable))


def there(node):
    return Not(IsNull(node, Flag()), Flag())


def question(*wanted, keys=None, unknown=False, **more):
    """SELECT these aggregates, by g if there are keys."""
    groupings = ()
    if keys is not None or unknown:
        groupings = (Grouping("g", G, None if unknown else tuple(keys)),)
    outputs = tuple(Output(f"c{i}", PostAggregate(a)) for i, a in enumerate(wanted))
    return Plan("t", more.pop("where", None), groupings, outputs, **more)


def declared(unit):
    columns = {"g": FreeText(), "h": Keys(["u", "v"])}
    storage = dict.fromkeys(["x", "y", "f", "g", "h", "id"], "other")
    return Schema("t", unit, columns, storage)


def ask(*wanted, unit=None, target, **more):
    return priced(question(*wanted, **more), declared(unit or PerRow()), target)


def block_of(plan, schema, known=None):
    """The only block of a question."""
    found = blocks_of(
        aggregates(plan), rows_are_people=isinstance(schema.unit, PerRow), known_rows=known
    )
    (block,) = set(found.values())
    return block


# exact answers


def _hashed(*what):
    return hashlib.sha256(repr(what).encode()).hexdigest()


def _row_total(total, row):
    if total.where is not None and evaluate(total.where, row) is not True:
        return 0
    if total.value is None:
        return 1
    n = evaluate(total.value, row)
    return 0 if n is None else (n - total.offset) ** total.power


def _span(total):
    if total.value is None or total.power == 0:
        return 0, 1
    kind = total.value.kind
    ends = [(n - total.offset) ** total.power for n in (kind.low, kind.high, total.offset)]
    ends = ends if kind.low <= total.offset <= kind.high else [*ends[:2], 0]
    return min(*ends, 0), max(*ends, 0)


def contribution(part, rows, where=None):
    """What one person with these rows adds to each group: {keys: totals}."""
    rows = [r for r in rows if where is None or evaluate(where, r) is True]
    grouped = {}
    for place, row in enumerate(rows):
        key = tuple(evaluate(k, row) for k in part.keys)
        grouped.setdefault(key, []).append((_hashed("row", key, sorted(row.items()), place), row))
    bounding = part.bounding
    if bounding.groups is not None and bounding.way in ("sample", "clamp"):
        kept = sorted(grouped, key=lambda key: _hashed("group", key))[: bounding.groups]
        grouped = {key: grouped[key] for key in kept}
    if part.people:
        number_of = len(grouped)
        weight = _weight(bounding, number_of, bounding.groups)
        return dict.fromkeys(grouped, (weight,))
    weight = _weight(bounding, len(rows), bounding.rows)
    found = {}
    for key, listed in grouped.items():
        most = bounding.rows if bounding.way == "sample" else None
        kept = [row for _, row in sorted(listed, key=lambda pair: pair[0])[:most]]
        totals = []
        for total in part.totals:
            n = weight * sum(_row_total(total, row) for row in kept)
            if bounding.way == "clamp":
                low, high = _span(total)
                n = min(max(n, bounding.rows * low), bounding.rows * high)
            totals.append(n)
        found[key] = tuple(totals)
    return found


def _weight(bounding, number_of, most):
    if bounding.way != "weight":
        return 1
    return bounding.scale if number_of <= most else bounding.scale * most // number_of


def cells_of(block, found, plan):
    """The noiseless cells of each group of the answer, where the keys of the plan are public."""
    listed = None
    if plan.groupings and plan.groupings[0].keys is not None:
        listed = {(key,) for key in plan.groupings[0].keys}
    cells = Counter()
    for key, totals in found.items():
        group, bins = key[: len(plan.groupings)], key[len(plan.groupings) :]
        if None in bins or (listed is not None and group not in listed and not plan.other):
            continue
        home = group if listed is None or group in listed else None
        for j, cell in enumerate(block.cells):
            n = sum(f * n for f, n in zip(cell.of, totals, strict=True))
            cells[(home, *bins), j] += n
    return cells


def part_of(block, stability, plan):
    loss = PureLoss(epsilon=1)
    measured = Measured(block, stability, (), Fraction(1), loss)
    return _part(measured, tuple(grouping.value for grouping in plan.groupings))


def everybody(kinds, most):
    """All people with at most this many rows of these kinds, nobody included."""
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(kinds, size)


def vectors(block, stability, plan, people):
    """The different changes that one of these people can make, in units, one per line."""
    part = part_of(block, stability, plan)
    found = [cells_of(block, contribution(part, rows, plan.where), plan) for rows in people]
    places = sorted({place for cells in found for place in cells}, key=repr)
    table = [[cells[place] for place in places] for cells in found]
    units = np.array([block.cells[j].unit for _, j in places])
    return np.unique(np.array(table, dtype=object).astype(np.int64), axis=0), units


def furthest(block, stability, plan, people, unit):
    """The largest L1 and squared L2 distance of any two neighbouring tables, in units."""
    table, units = vectors(block, stability, plan, people)
    scaled = table / units
    if unit.together == 2:
        scaled = np.unique(
            (scaled[:, None, :] + scaled[None, :, :]).reshape(-1, len(units)), axis=0
        )
    if unit.neighbours == "add_or_remove":
        return np.abs(scaled).sum(axis=1).max(), (scaled**2).sum(axis=1).max()
    worst = [0.0, 0.0]
    for line in scaled:
        change = scaled - line
        worst[0] = max(worst[0], np.abs(change).sum(axis=1).max())
        worst[1] = max(worst[1], (change**2).sum(axis=1).max())
    return tuple(worst)


def every_way(plan, unit, known=None):
    """The block of a question, with all its ways of bounding."""
    schema = declared(unit)
    block = block_of(plan, schema, known)
    return block, stabilities(block, plan, schema)


__all__ = [
    "PLUS",
    "SURE",
    "Aggregate",
    "G",
    "PerPerson",
    "PerRow",
    "X",
    "ask",
    "block_of",
    "cells_of",
    "contribution",
    "declared",
    "every_way",
    "everybody",
    "furthest",
    "number",
    "part_of",
    "question",
    "there",
    "vectors",
]

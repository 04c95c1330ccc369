"""What a request means, slowly, in plain Python integers: every engine has to equal it.

Written from the words of `discreet.query.request` and `discreet.query.schema`, not from the SQL.
"""

import hashlib
import math
from collections import defaultdict
from datetime import date, datetime
from fractions import Fraction

from discreet.query.evaluate import compiled
from discreet.query.schema import Boolean, Bounds, Dates, FreeText, Keys, PerPerson

# cleaning


def clean(value, declared, storage):
    """The value that questions see of a stored one."""
    found = None if value is None else cleaned(value, declared, storage)
    if found is None and isinstance(declared, Bounds) and declared.missing is not None:
        return int(declared.missing / declared.grid)
    return found


_last = (None, {})
"""A table, and its rows cleaned under each schema that was asked about."""


def clean_rows(rows, schema):
    """The rows that questions see. Most requests are about the table of the one before."""
    global _last  # noqa: PLW0603 - one table is remembered
    if _last[0] is not rows:
        _last = (rows, {})
    kept, found = _last[1].get(id(schema), (None, []))
    if kept is not schema or len(found) != len(rows):
        columns = {n: d for n, d in schema.columns.items() if hasattr(d, "kind")}
        found = [
            {n: clean(raw[n], d, schema.storage[n]) for n, d in columns.items()} for raw in rows
        ]
        _last[1][id(schema)] = schema, found
    return found


def cleaned(value, declared, storage):
    match declared:
        case Bounds():
            return clean_number(value, declared, storage)
        case Keys(values=values):
            found = read_like(values[0], value)
            return found if found in values else None
        case Boolean():
            return read_flag(value)
        case Dates(low=low, high=high):
            found = read_day(value)
            return None if found is None else min(max(found, low), high)
        case FreeText():
            return value
    raise AssertionError(declared)


def clean_number(value, bounds, storage):
    low, high = int(bounds.low / bounds.grid), int(bounds.high / bounds.grid)
    if storage in ("integer", "boolean"):
        exact = min(max(Fraction(int(value)), bounds.low), bounds.high)
        return math.floor(exact / bounds.grid + Fraction(1, 2))
    found = read_float(value)
    if found is None or math.isnan(found):
        return None
    if found < float(bounds.low):
        return low
    if found > float(bounds.high):
        return high
    if bounds.grid.denominator != 1:
        found *= float(bounds.grid.denominator)
    if bounds.grid.numerator != 1:
        found /= float(bounds.grid.numerator)
    return min(max(math.floor(found + 0.5), low), high)


def read_float(value):
    try:
        return float(value)
    except ValueError:
        return None


def read_flag(value):
    if isinstance(value, str):
        return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(
            value.lower()
        )
    return {1: True, 0: False}.get(value)


def read_day(value):
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    return value.date() if isinstance(value, datetime) else value


def read_like(key, value):
    """A stored value as the type that a key has."""
    match key:
        case bool():
            return read_flag(value)
        case int():
            if isinstance(value, int):
                return int(value)
            found = read_float(value)
            if found is None or not math.isfinite(found) or found != math.floor(found):
                return None
            return (
                int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else int(found)
            )
        case date():
            return read_day(value)
    return value


# hashes


def written(value):
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return str(int(value)) if value == math.floor(value) else repr(value)
        case date():
            return value.isoformat()
    return str(value)


def hashed(key, *values):
    text = "|".join([key, *map(written, values)])
    return hashlib.md5(text.encode()).hexdigest()


def order(values):
    """Missing values first, texts by their bytes."""
    return tuple((v is not None, v.encode() if isinstance(v, str) else v) for v in values)


# answering


def answer(rows, request, key="k"):
    """The cells of every part."""
    schema = request.schema
    person = schema.unit.column if isinstance(schema.unit, PerPerson) else None
    where = None if request.where is None else compiled(request.where, schema.tables)
    meanings = {node: compiled(node, schema.tables) for node in nodes(request)}
    kept = []
    for i, (raw, row) in enumerate(zip(rows, clean_rows(rows, schema), strict=True)):
        who = i if person is None else raw[person]
        if who is None or (isinstance(who, float) and math.isnan(who)):
            continue
        if where is None or where(row) is True:
            kept.append((who, {node: meaning(row) for node, meaning in meanings.items()}))
    return [part_cells(kept, part, key) for part in request.parts]


def nodes(request):
    for part in request.parts:
        yield from part.keys
        for total in part.totals:
            yield from (x for x in (total.value, total.where) if x is not None)


def amount(total, row):
    """What one row adds to a total, before its weight."""
    if total.where is not None and row[total.where] is not True:
        return 0
    if total.value is not None and row[total.value] is None:
        return 0
    if total.value is None or total.power == 0:
        return 1
    return (row[total.value] - total.offset) ** total.power


def part_cells(rows, part, key):
    """`rows` are pairs of a person and the values of all expressions."""
    pairs = defaultdict(list)
    for who, row in rows:
        pairs[who, tuple(row[k] for k in part.keys)].append(row)
    if part.spread is not None:
        return spread_cells(rows, part.spread)
    way = part.bounding.way
    if way in ("sample", "clamp"):
        pairs = kept_groups(pairs, part.bounding.groups, key)
    cells = defaultdict(lambda: [0] * (1 if part.people else len(part.totals)))
    if not part.keys:
        cells[()]
    weights = weights_of(rows, pairs, part)
    for (who, group), theirs in pairs.items():
        if part.people:
            cells[group][0] += weights[who]
            continue
        used = theirs
        if way == "sample" and part.bounding.rows is not None:
            used = kept_rows(theirs, part, key, who, group)
        for i, total in enumerate(part.totals):
            amounts = sum(amount(total, row) for row in used)
            if way == "clamp" and part.bounding.rows is not None:
                amounts = min(max(amounts, 0), part.bounding.rows * width(total))
            cells[group][i] += weights[who] * amounts
    return {group: tuple(totals) for group, totals in cells.items()}


def width(total):
    if total.value is None or total.power == 0:
        return 1
    return max(1, total.value.kind.width)


def spread_cells(rows, spread):
    counts = defaultdict(int)
    for who, _ in rows:
        counts[who] += 1
    cells = defaultdict(int)
    for r in counts.values():
        cells[next((i for i, n in enumerate(spread) if r <= n), len(spread)),] += 1
    return {at: (n,) for at, n in cells.items()}


def weights_of(rows, pairs, part):
    bounding = part.bounding
    if bounding.way != "weight":
        return defaultdict(lambda: 1)
    counts = defaultdict(int)
    for who, _ in pairs if part.people else rows:
        counts[who] += 1
    limit = bounding.groups if part.people else bounding.rows
    full = bounding.scale
    return {who: full if r <= limit else full * limit // r for who, r in counts.items()}


def kept_groups(pairs, groups, key):
    if groups is None:
        return pairs
    theirs = defaultdict(list)
    for who, group in pairs:
        theirs[who].append(group)
    kept = {}
    for who, found in theirs.items():
        found.sort(key=lambda group: (hashed(key, who, *group), order(group)))
        kept.update({(who, group): pairs[who, group] for group in found[:groups]})
    return kept


def kept_rows(rows, part, key, who, group):
    used = dict.fromkeys(
        x for total in part.totals for x in (total.value, total.where) if x is not None
    )

    def place(row):
        values = tuple(row[node] for node in used)
        return hashed(key, who, *group, *values), order(values)

    return sorted(rows, key=place)[: part.bounding.rows]

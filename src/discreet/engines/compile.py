"""One SQL statement for a request, as a sqlglot tree; `reading` reads its rows.

The statement, from the inside out:

1. the cleaned columns (`clean`), and the person, from the rows that have one; whole numbers that
   nothing is computed with stay in the type that they are stored in, where SUM allows it;
2. named values and public tables, where an expression needs them (`expressions`);
3. base: the keys, values and conditions of all parts, from the rows where `where` is true;
4. for each part one SELECT that bounds the people (`bounding`) and adds up.

Several parts are joined by UNION ALL: a part's number first, then keys by type, then totals.
Sums never overflow: the largest total there can be, by the bounds and the row limit, has to stay
below 10^37, or the request is refused.
Tested by tests/engines/test_compile.py, tests/engines/test_as_stored.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from sqlglot import exp

from discreet.engines.base import Hashing
from discreet.engines.bounding import part_select
from discreet.engines.clean import cleaned, in_range, read
from discreet.engines.dialects import DIALECTS, Dialect, Node, cast, column, name, number
from discreet.engines.expressions import Level, Translator, bare, type_of
from discreet.engines.parts import Base, aliased, carried, select, sub, where
from discreet.engines.reading import Key, Layout
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.kinds import Day, Flag, Kind, Number, Text
from discreet.query.request import Part, Request
from discreet.query.schema import PerPerson, Schema, Storage

__all__ = [
    "Cleaned", "Made", "base_rows", "cleaned_rows", "columns_used", "needed", "over",
    "person_names", "statement", "tree",
]  # fmt: skip

_KEPT = 256
"""So many texts are remembered; then all are forgotten."""


def statement(  # noqa: PLR0913 - all that a statement depends on
    request: Request,
    *,
    dialect: str,
    relation: Node,
    hashing: Hashing,
    key: str,
    stable: bool = True,
    pretty: bool = False,
    known: Cleaned | None = None,
) -> str:
    """The one statement that answers a request.

    Args:
        request: what is asked for.
        dialect: one of `DIALECTS`.
        relation: the table, as it stands after FROM, without a name of its own.
        hashing: which hash chooses rows and groups.
        key: the key of that hash.
        stable: whether the table shows the same rows when a statement reads it twice; a view that
            draws a sample does not, and is then read once.
        pretty: on many lines.
        known: what was written before of the same relation; not for statements on many lines.
    """
    sql = DIALECTS[dialect]
    made = tree(
        request, sql=sql, relation=relation, hashing=hashing, key=key, stable=stable, known=known
    )
    return sql.render(made, pretty=pretty)


def tree(
    request: Request,
    *,
    sql: Dialect,
    relation: Node,
    hashing: Hashing,
    key: str,
    stable: bool = True,
    known: Cleaned | None = None,
) -> Node:
    """The statement as a tree."""
    made = _base(request, sql, relation, known)
    base = Base(sql, request.schema, made.names, hashing, key)
    return over(base, made.select, request.parts, stable=stable)


def over(
    base: Base, rows: exp.Select | None, parts: Sequence[Part], *, stable: bool = True
) -> Node:
    """The statement that answers parts from base rows, which are selected if they are no table."""
    if not parts:
        raise QueryError("a request needs at least one part")
    sql = base.sql
    selects = [part_select(base, part) for part in parts]
    total: Node = selects[0]
    if len(selects) > 1:
        layout = Layout(parts)
        laid = [layout.laid_out(sql, at, one) for at, one in enumerate(selects)]
        total = laid[0]
        for one in laid[1:]:
            total = exp.Union(this=total, expression=one, distinct=False)
    ctes = base.ctes
    if rows is not None:
        if base.uses > 1:
            title = exp.TableAlias(this=name("base"))
            kept = sql.keeps_base if stable else True
            ctes = [exp.CTE(this=rows, alias=title, materialized=kept), *ctes]
        base.fill(rows, inline=base.uses == 1)
    if ctes:
        total.set(_WITH, exp.With(expressions=ctes))
    return total


_WITH = next(key for key in exp.Select.arg_types if key.startswith("with"))


# base


@dataclass(frozen=True, slots=True)
class Made:
    """Base rows, and what each expression is called there."""

    select: exp.Select
    names: dict[e.Expr, str]


def needed(request: Request) -> list[e.Expr]:
    """The expressions that the parts are made of, each once."""
    found: dict[e.Expr, None] = {}
    for part in request.parts:
        found.update(dict.fromkeys(part.keys))
        for total in part.totals:
            found.update(dict.fromkeys(x for x in (total.value, total.where) if x is not None))
    return list(found)


class Cleaned:
    """The cleaned columns of one relation as they were written before, by schema and columns.

    They follow from the declaration and from which columns a question uses: nothing else of the
    question, and no row, is in them.
    """

    def __init__(self) -> None:
        self._texts: dict[tuple[object, ...], tuple[Schema, Node]] = {}

    def written(
        self, request: Request, sql: Dialect, names: Sequence[str], make: Callable[[], Node]
    ) -> Node:
        """The rows of cleaned columns; made and written out the first time."""
        bare = _not_computed_with(request)
        wanted = _wanted(request)
        key = (id(request.schema), sql.name, *names, _needs_person(request), bare, wanted)
        found = self._texts.get(key)
        if found is None:
            text = exp.Var(this=sql.render(make()))
            if len(self._texts) >= _KEPT:
                self._texts.clear()
            found = self._texts[key] = (request.schema, text)  # its id stays its own
        return found[1].copy()


def _base(request: Request, sql: Dialect, relation: Node, known: Cleaned | None) -> Made:
    used = list(columns_used(request))
    names = {title: f"c{i}" for i, title in enumerate(used)}
    clean = partial(cleaned_rows, request, sql, relation, names)
    if known is None or (request.where is None and all(map(_is_column, needed(request)))):
        return base_rows(request, sql, names, clean)
    return base_rows(request, sql, names, lambda: known.written(request, sql, used, clean))


def base_rows(
    request: Request, sql: Dialect, names: Mapping[str, str], clean: Callable[[], Node]
) -> Made:
    """The keys, values and conditions of all parts, from the rows where `where` is true.

    Args:
        request: what is asked for.
        sql: the dialect.
        names: what the cleaned columns that it uses are called.
        clean: selects them.
    """
    parts = needed(request)
    if request.where is None and all(map(_is_column, parts)):
        rows = clean()
        assert isinstance(rows, exp.Select)  # noqa: S101 - written text has a condition above it
        return Made(rows, {n: names[n.name] for n in parts if isinstance(n, e.Column)})
    translate = Translator(sql, columns=names, tables=request.schema.tables)
    values = [(f"x{i}", translate(node)) for i, node in enumerate(parts)]
    condition = None if request.where is None else translate(request.where)
    person = person_names(request)
    passed = [*person, *names.values()]
    rows = clean()
    for level in translate.levels:
        rows = _levelled(rows, level, passed, request.schema, sql)
        passed += [title for title, _ in level.values]
    listed = [*carried(person, "a"), *(aliased(node, title) for title, node in values)]
    made = where(select(listed, sub(rows, "a")), condition)
    return Made(made, {node: title for node, (title, _) in zip(parts, values, strict=True)})


def _is_column(node: e.Expr) -> bool:
    return isinstance(node, e.Column)


def person_names(request: Request) -> list[str]:
    """What the person is called in the base rows, where it is needed."""
    return ["p"] if _needs_person(request) else []


def _needs_person(request: Request) -> bool:
    if not isinstance(request.schema.unit, PerPerson):
        return False
    return any(p.people or p.spread or p.bounding.way != "none" for p in request.parts)


def cleaned_rows(
    request: Request, sql: Dialect, relation: Node, names: dict[str, str]
) -> exp.Select:
    """The cleaned columns; where reading one is work, it is read in a subquery of its own."""
    schema = request.schema
    source = relation.copy()
    source.set("alias", exp.TableAlias(this=name("r")))
    reads = {
        at: read(at, schema.declaration(at), _storage(schema, at), column(at, "r"), sql)
        for at in names
    }
    kept, condition = _person(request, sql)
    if not all(_is_plain(node) for node in reads.values()):
        raw = [*kept, *(aliased(node, names[at]) for at, node in reads.items())]
        source = sub(where(select(raw, source), condition), "r")
        kept, condition = carried(person_names(request), "r"), None
        reads = {at: column(title, "r") for at, title in names.items()}
    loose = _not_computed_with(request) if sql.sums_as_stored else frozenset()
    values = []
    for at, title in names.items():
        said, stored, value = schema.declaration(at), _storage(schema, at), reads[at]
        test = in_range(said, stored, value) if at in loose & _wanted(request) else None
        if test is None:
            value = cleaned(at, said, stored, value, sql, as_stored=at in loose)
        else:
            condition = test if condition is None else exp.And(this=condition, expression=test)
        values.append(aliased(value, title))
    return where(select([*kept, *values], source), condition)


def _wanted(request: Request) -> frozenset[str]:
    """The columns that all parts group by, where rows without a key are not wanted by any.

    Such rows can be left out by a condition, which a database checks against the least and the
    largest value of a column, and knows the range of what is left: a CASE hides both. Where people
    are bounded, such rows count among a person's rows, and stay.
    """
    found: frozenset[str] | None = None
    for part in request.parts:
        if not part.listed or part.bounding.way != "none":
            return frozenset()
        columns = frozenset(node.name for node in part.keys if isinstance(node, e.Column))
        found = columns if found is None else found & columns
    return found or frozenset()


def _not_computed_with(request: Request) -> frozenset[str]:
    """The columns that are only grouped by, counted or added up, as they are, by unbounded parts.

    A sum of squares, a centred sum, a weight, a hash, a condition and any larger expression
    computes with a column: then 32 bits might overflow, or a hash might see another type.
    """
    plain: list[e.Expr] = []
    other: list[e.Expr] = [] if request.where is None else [request.where]
    for part in request.parts:
        unbounded = part.bounding.way == "none"
        (plain if unbounded else other).extend(part.keys)
        for total in part.totals:
            direct = unbounded and (total.power == 0 or (total.power == 1 and total.offset == 0))
            if total.value is not None:
                (plain if direct else other).append(total.value)
            if total.where is not None:
                other.append(total.where)
    other += [node for node in plain if not isinstance(node, e.Column)]
    used = {n.name for node in other for n in e.walk(node) if isinstance(n, e.Column)}
    return frozenset(n.name for n in plain if isinstance(n, e.Column)) - used


def _person(request: Request, sql: Dialect) -> tuple[list[Node], Node | None]:
    """The person as a column, where it is needed; and that there is one."""
    unit = request.schema.unit
    if not isinstance(unit, PerPerson):
        return [], None
    raw, storage = column(unit.column, "r"), _storage(request.schema, unit.column)
    there: Node = exp.Not(this=exp.Is(this=raw.copy(), expression=exp.Null()))
    if storage == "real":
        there = exp.And(this=there, expression=exp.Not(this=sql.is_nan(raw.copy())))
    if not _needs_person(request):
        return [], there
    return [aliased(sql.text(raw) if storage == "text" else raw, "p")], there


def _is_plain(node: Node) -> bool:
    """Whether reading a column is no work: then it may be written several times."""
    if isinstance(node, exp.Cast | exp.Paren | exp.Collate) and not isinstance(node, exp.TryCast):
        return _is_plain(node.this)
    return isinstance(node, exp.Column)


def _storage(schema: Schema, column_name: str) -> Storage:
    found = schema.storage.get(column_name)
    if found is None:
        raise QueryError(f"the table {schema.name!r} stores no column {column_name!r}")
    return found


def _levelled(
    below: Node, level: Level, passed: Sequence[str], schema: Schema, sql: Dialect
) -> exp.Select:
    """One subquery more, with named values and joins to public tables."""
    if sql.fenced:
        below.set("offset", exp.Offset(expression=number(0)))
    named = [aliased(node, title) for title, node in level.values]
    made = select([*carried(passed, "a"), *named], sub(below, "a"))
    joins = [
        exp.Join(
            this=_public(schema, table, title, sql),
            side="LEFT",
            on=exp.EQ(this=column("v0", title), expression=key),
        )
        for title, table, key in level.joins
    ]
    made.set("joins", joins)
    return made


def _kind_of(value: Key) -> Kind:
    match value:
        case bool():
            return Flag()
        case int():
            return Number(value, value)
        case date():
            return Day(value, value)
        case _:
            return Text()


def _public(schema: Schema, table: str, alias: str, sql: Dialect) -> Node:
    """A public table as rows of constants."""
    found = schema.tables[table]
    kinds = [_kind_of(found.rows[0][0])]
    kinds += [found.keys_of(c).kind for c in found.columns]
    titles = [f"v{i}" for i in range(len(kinds))]
    rows = [
        [
            exp.Null() if value is None else bare(value, kind, sql)
            for value, kind in zip((key, *values), kinds, strict=True)
        ]
        for key, values in found.rows
    ]
    listed = sql.values(rows, titles, "t")
    columns = [
        aliased(_typed(column(title, "t"), kind, sql), title)
        for title, kind in zip(titles, kinds, strict=True)
    ]
    return sub(select(columns, listed), alias)


def _typed(node: Node, kind: Kind, sql: Dialect) -> Node:
    return sql.text(node) if isinstance(kind, Text) else cast(node, type_of(kind))


def columns_used(request: Request) -> Iterator[str]:
    """The names of the columns that a request reads."""
    nodes = [*needed(request), *([] if request.where is None else [request.where])]
    yield from dict.fromkeys(n.name for x in nodes for n in e.walk(x) if isinstance(n, e.Column))

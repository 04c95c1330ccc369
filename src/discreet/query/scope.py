"""What the names in a question mean: the table, subqueries that filter and project, public joins.

A scope is a list of sources, each a mapping from names to expressions about one row of the table,
together with the condition that all of its rows meet. Subqueries and CTEs vanish by substitution,
so no question can multiply a person's rows: a row of any scope is a row of the table.
Tested by tests/query/test_scope.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import sugar, total
from discreet.query.parse_expr import Memory, is_aggregate, read
from discreet.query.schema import Hidden, PerPerson, PublicTable, Schema
from discreet.query.tree import Node, found, name_of, only, part, refused
from discreet.query.words import listed, meant

__all__ = ["Environment", "Person", "Scope", "base", "before_where", "opened", "pick"]

LARGEST = 500
"""The most nodes that an expression may have after substitution, not counting constants."""
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Person:
    """The column that says whose a row is: it can be counted, and nothing else."""

    name: str


@dataclass(frozen=True, slots=True)
class _Declared:
    """A column of the table itself; its kind is asked for when it is used."""

    name: str


@dataclass(frozen=True, slots=True)
class _Public:
    """A column of a public table, at a key."""

    table: str
    column: str
    key: e.Expr


Meaning = e.Expr | Person | _Declared | _Public


@dataclass(frozen=True, slots=True)
class Source:
    """One name in FROM, and its columns."""

    name: str | None
    columns: Mapping[str, Meaning]


@dataclass(frozen=True)
class Scope:
    """All names that an expression may use, and the condition that holds for every row.

    `aliases` are names of the SELECT list with what they name: no expression about a row may use
    them, and the refusal says so.
    """

    schema: Schema
    sources: tuple[Source, ...]
    where: e.Expr | None = None
    aliases: Mapping[str, Node] = field(default_factory=dict, compare=False, repr=False)
    memory: Memory | None = field(default=None, compare=False, repr=False)

    def remembering(self) -> Scope:
        """The same names, for a tree that stays alive and is read more than once."""
        return replace(self, memory={})

    def meaning(self, node: exp.Column) -> Meaning:
        """What a name stands for."""
        return self._hit(node)[1]

    def spelling(self, node: exp.Column) -> str:
        """A name as it was declared, or given in a subquery."""
        return self._hit(node)[0]

    def _hit(self, node: exp.Column) -> tuple[str, Meaning]:
        only(node, "this", "table")
        name = name_of(node.this) if isinstance(node.this, exp.Identifier) else None
        if name is None:
            raise refused(node.this, "an expression; name the columns")
        sources = self.sources
        if node.args.get("table") is not None:
            wanted = name_of(part(node, "table"))
            named = {s.name: s for s in sources if s.name is not None}
            problem = f"the question has no table {wanted[:60]!r} in FROM"
            sources = (pick(named, wanted, f"{problem}; there are: {listed(named, 30)}"),)
        hits = [(n, s.columns[n]) for s in sources for n in s.columns if n == name]
        if not hits:
            hits = [(n, s.columns[n]) for s in sources for n in _matching(s.columns, name)]
        if not hits:
            raise self._unknown(name, quoted=bool(node.this.args.get("quoted")))
        if len({meaning for _, meaning in hits}) > 1:
            raise QueryError(f"the name {name[:60]!r} is ambiguous; say table.column, as written")
        return hits[0]

    def _unknown(self, name: str, *, quoted: bool) -> QueryError:
        if name.lower() in self.aliases:
            aggregated = any(map(is_aggregate, self.aliases[name.lower()].walk()))
            after = "; a condition on it goes into HAVING" if aggregated else ""
            return QueryError(
                f"{name[:60]!r} is a name of the answer, and WHERE and the SELECT list come before "
                f"it: write its expression again{after}"
            )
        known = {n: m for s in self.sources for n, m in s.columns.items()}
        there = listed(sorted(n for n, m in known.items() if m != Person(n)), 30)
        text = name[:60].replace("'", "''")
        say = f"; double quotes name a column, and text goes in single quotes: '{text}'"
        return QueryError(
            f"there is no column {name[:60]!r} that a question may use{meant(name, known)}"
            f"{say if quoted else ''}; {f'there are: {there}' if there else 'none is declared'}",
            column=name,
        )

    def column(self, node: exp.Column) -> e.Expr:
        """The expression behind a name."""
        meaning = self.meaning(node)
        if isinstance(meaning, Person):
            raise QueryError(
                f"{meaning.name!r} says whose a row is; "
                f"only COUNT(DISTINCT {meaning.name}) may use it"
            )
        return self.expression(meaning)

    def expression(self, meaning: _Declared | _Public | e.Expr) -> e.Expr:
        """A meaning as an expression; the kind of a declared column is looked up now."""
        if isinstance(meaning, _Declared):
            return e.Column(meaning.name, self.schema.kind(meaning.name))
        if isinstance(meaning, _Public):
            return sugar.lookup(self.schema, meaning.table, meaning.column, meaning.key)
        return meaning

    def is_person(self, node: Node) -> bool:
        """Whether the node is the name of the column that says whose a row is."""
        unit = self.schema.unit
        if not isinstance(node, exp.Column) or not isinstance(unit, PerPerson):
            return False
        return self.meaning(node) in (Person(unit.column), _Declared(unit.column))

    def filtered(self, condition: e.Expr) -> Scope:
        """The same names, for fewer rows."""
        total.flag(condition, "WHERE")
        both = [one for one in (self.where, condition) if one is not None]
        return replace(self, where=total.all_of(both), memory=None)


def _matching(columns: Mapping[str, V], name: str) -> list[str]:
    return [n for n in columns if n.lower() == name.lower()]


def pick(named: Mapping[str, V], name: str, problem: str) -> V:
    """The value under a name: exactly, or else without regard to case if only one fits."""
    if name in named:
        return named[name]
    fits = _matching(named, name)
    if not fits:
        raise QueryError(problem)
    if len(fits) > 1:
        raise QueryError(f"the name {name[:60]!r} is ambiguous; write it as it was declared")
    return named[fits[0]]


@dataclass(frozen=True, slots=True)
class Environment:
    """The tables that a FROM may name: the private one, public ones, and CTEs so far."""

    schema: Schema
    ctes: tuple[tuple[str, Scope], ...] = ()

    def defined(self, name: str, scope: Scope) -> Environment:
        """With one more CTE."""
        if any(name.lower() == other.lower() for other, _ in self.ctes):
            raise QueryError(f"the name {name[:60]!r} is given to two subqueries")
        if _matching(self.schema.tables, name):
            raise QueryError(f"{name[:60]!r} is a public table; call the subquery something else")
        return Environment(self.schema, (*self.ctes, (name, scope)))


def base(schema: Schema, name: str | None = None) -> Scope:
    """The table itself: its declared columns, and who a row is about."""
    usable = [n for n, d in schema.columns.items() if not isinstance(d, Hidden)]
    columns: dict[str, Meaning] = {n: _Declared(n) for n in usable}
    if isinstance(schema.unit, PerPerson):
        columns.setdefault(schema.unit.column, Person(schema.unit.column))
    return Scope(schema, (Source(name or schema.name, columns),))


def opened(select: exp.Select, around: Environment) -> Scope:
    """The scope of a SELECT: its WITH, FROM, joins and WHERE."""
    scope = before_where(select, around)
    where = select.args.get("where")
    if where is not None:
        only(where, "this")
        scope = scope.filtered(checked(read(where.this, scope)))
    return scope


def before_where(select: exp.Select, around: Environment) -> Scope:
    """The scope that WHERE itself is read in."""
    environment = _with(found(select, "with"), around)
    source = found(select, "from")
    if source is None:
        raise QueryError(f"a question needs FROM {around.schema.name}")
    only(source, "this")
    scope = _source(source.this, environment)
    for join in select.args.get("joins") or ():
        scope = _joined(scope, join, environment)
    aliased = [item for item in select.expressions if isinstance(item, exp.Alias)]
    return replace(scope, aliases={item.alias.lower(): item for item in aliased})


def _with(node: Node | None, environment: Environment) -> Environment:
    if node is None:
        return environment
    only(node, "expressions")
    for cte in node.expressions:
        only(cte, "this", "alias", "materialized")
        alias = _alias(part(cte, "alias"))
        environment = environment.defined(alias, _projected(cte.this, environment, alias))
    return environment


def _alias(node: Node) -> str:
    only(node, "this")
    return name_of(node.this)


def _source(node: Node, environment: Environment) -> Scope:
    """What stands in FROM."""
    if isinstance(node, exp.Subquery):
        only(node, "this", "alias")
        alias = node.args.get("alias")
        name = None if alias is None else _alias(alias)
        return _projected(node.this, environment, name)
    name, alias = _table(node)
    schema = environment.schema
    ctes = {cte: scope for cte, scope in environment.ctes}  # noqa: C416 - a later one would win
    if _matching(ctes, name):
        scope = pick(ctes, name, "")
        return replace(scope, sources=(replace(scope.sources[0], name=alias or name),))
    if name.lower() == schema.name.lower():
        return base(schema, alias or name)
    if _matching(schema.tables, name):
        raise QueryError(
            f"{name!r} is a public table; say FROM {schema.name} JOIN {name} ON ... instead"
        )
    close = meant(name, [schema.name, *ctes])
    raise QueryError(f"there is no table {name[:60]!r}{close}; say FROM {schema.name}")


def _table(node: Node) -> tuple[str, str | None]:
    if not isinstance(node, exp.Table):
        raise refused(node, "FROM")
    only(node, "this", "alias")
    if not isinstance(node.this, exp.Identifier):
        raise refused(node.this, "FROM")
    alias = node.args.get("alias")
    return name_of(node.this), None if alias is None else _alias(alias)


def _projected(node: Node, environment: Environment, name: str | None) -> Scope:
    """A subquery that filters and projects, as one source."""
    while isinstance(node, exp.Subquery | exp.Paren):
        only(node, "this")
        node = node.this
    if not isinstance(node, exp.Select):
        raise refused(node, "FROM")
    only(node, "expressions", "from", "from_", "with", "with_", "joins", "where", "kind")
    scope = opened(node, environment)
    columns: dict[str, Meaning] = {}
    for item in node.expressions:
        for label, meaning in _items(item, scope):
            if _matching(columns, label):
                raise QueryError(f"a subquery has two columns called {label[:60]!r}")
            columns[label] = meaning
    return Scope(scope.schema, (Source(name, columns),), scope.where)


def _items(item: Node, scope: Scope) -> Iterable[tuple[str, Meaning]]:
    """The columns that one item of a subquery's SELECT gives."""
    if isinstance(item, exp.Star):
        only(item)
        return [pair for source in scope.sources for pair in source.columns.items()]
    label = None
    if isinstance(item, exp.Alias):
        only(item, "this", "alias")
        label, item = name_of(part(item, "alias")), item.this
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Identifier):
        return [(label or name_of(item.this), scope.meaning(item))]
    if label is None:
        raise QueryError("every expression of a subquery needs a name: say AS name")
    return [(label, checked(read(item, scope)))]


def checked(node: e.Expr) -> e.Expr:
    """An expression of a size that can be handled: substitution multiplies."""
    parts, levels = extent(node)
    if parts > LARGEST:
        raise QueryError(f"an expression has more than {LARGEST} parts after substitution")
    if levels > total.DEEPEST:
        raise QueryError(f"an expression is nested more than {total.DEEPEST} deep")
    return node


def is_handled(node: e.Expr) -> bool:
    """Whether it is of such a size."""
    parts, levels = extent(node)
    return parts <= LARGEST and levels <= total.DEEPEST


def extent(node: e.Expr) -> tuple[int, int]:
    """How many nodes, not counting constants, and how deep the nesting is."""
    parts, levels, below = int(type(node) is not e.Literal), 0, e.children(node)
    for child in below:
        more, deep = extent(child)
        parts += more
        levels = max(levels, deep)
    return parts, levels + 1


def _joined(scope: Scope, join: exp.Join, environment: Environment) -> Scope:
    """A join to a public table: it adds columns, and an inner one also a condition."""
    only(join, "this", "side", "kind", "on", "using")
    side, kind = str(join.args.get("side") or ""), str(join.args.get("kind") or "")
    if (side, kind) not in (("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")):
        raise QueryError(f"the join {side}{kind} is not known; say JOIN or LEFT JOIN")
    name, alias = _table(join.this)
    schema = environment.schema
    if not _matching(schema.tables, name):
        raise QueryError(
            f"{name[:60]!r} is no public table{meant(name, schema.tables)}, and only those can be "
            "joined: a join of people with people would multiply their rows"
        )
    table = pick({key: key for key in schema.tables}, name, "")
    label = alias or name
    if any((s.name or "").lower() == label.lower() for s in scope.sources):
        raise QueryError(f"two tables in FROM are called {label[:60]!r}; give one another name")
    key = sugar.public_key(schema, table, _join_key(scope, join, schema.tables[table], label))
    checked(key)
    columns: dict[str, Meaning] = {c: _Public(table, c, key) for c in schema.tables[table].columns}
    joined = replace(scope, sources=(*scope.sources, Source(label, columns)))
    return joined if side == "LEFT" else joined.filtered(sugar.present(schema, table, key))


def _join_key(scope: Scope, join: exp.Join, table: PublicTable, label: str) -> e.Expr:
    """The expression that is looked up in the key of the public table."""
    using, on = join.args.get("using"), join.args.get("on")
    if using:
        if len(using) != 1 or name_of(using[0]).lower() != table.key.lower():
            raise QueryError(f"USING takes the key of the public table: say USING ({table.key})")
        return scope.column(exp.Column(this=using[0]))
    while isinstance(on, exp.Paren):
        on = on.this
    if isinstance(on, exp.EQ):
        for mine, theirs in ((on.this, on.expression), (on.expression, on.this)):
            if _is_key(theirs, table, label):
                return read(mine, scope)
    raise QueryError(f"a join needs ON expression = {label}.{table.key} or USING ({table.key})")


def _is_key(node: Node, table: PublicTable, label: str) -> bool:
    return (
        isinstance(node, exp.Column)
        and isinstance(node.this, exp.Identifier)
        and node.this.name.lower() == table.key.lower()
        and isinstance(node.args.get("table"), exp.Identifier)
        and part(node, "table").name.lower() == label.lower()
    )

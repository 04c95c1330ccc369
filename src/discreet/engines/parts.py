"""What the parts of a statement are built from: the base rows, and the sums over them.

Sums never overflow. The largest total there can be, by the declared bounds, the scale of the
weights and the row limit, has to stay below 10^37, or the part is refused; where one row's term may
leave 2^62 it is computed in the wide type.
Tested by tests/engines/test_parts.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from discreet.engines.base import Hashing
from discreet.engines.dialects import Dialect, Node, Written, case, column, name, number
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.kinds import WIDEST, Number
from discreet.query.request import Part, Total
from discreet.query.schema import PerPerson, Schema

__all__ = [
    "MOST",
    "Base",
    "Flat",
    "aliased",
    "carried",
    "count",
    "furthest",
    "inputs",
    "keyed",
    "most_of",
    "numbered",
    "ordered",
    "select",
    "sub",
    "term",
    "where",
]

MOST = 10**37
"""No total may reach this: the wide types of all engines hold it."""


class Base:
    """The base rows, by the names of what is in them, and what the parts need beside them.

    Args:
        sql: the dialect.
        schema: the declaration.
        names: what each expression is called.
        hashing: which hash chooses rows and groups.
        key: the key of that hash.
    """

    def __init__(
        self, sql: Dialect, schema: Schema, names: dict[e.Expr, str], hashing: Hashing, key: str
    ) -> None:
        self.sql = sql
        self.schema = schema
        self.names = names
        self.hashing = hashing
        self.key = key
        self.ctes: list[exp.CTE] = []
        self._places: list[exp.Subquery] = []

    @property
    def uses(self) -> int:
        """How often the base rows are read."""
        return len(self._places)

    def rows(self) -> Node:
        """The base rows, for FROM; `fill` says later what they are."""
        place = exp.Subquery(this=exp.Select(), alias=exp.TableAlias(this=name("b")))
        self._places.append(place)
        return place

    def fill(self, select: exp.Select, *, inline: bool) -> None:
        """Put the base in its places: the subquery itself, or its name."""
        for place in self._places:
            if inline:
                place.set("this", select)
            else:
                table = exp.Table(this=name("base"), alias=exp.TableAlias(this=name("b")))
                place.replace(table)

    def cte(self, made: exp.Select, alias: str = "b") -> Callable[[], Node]:
        """Rows that are read more than once: computed once and kept; for FROM."""
        title = f"kept{len(self.ctes)}"
        names = exp.TableAlias(this=name(title))
        self.ctes.append(exp.CTE(this=made, alias=names, materialized=True))
        return lambda: exp.Table(this=name(title), alias=exp.TableAlias(this=name(alias)))

    def at(self, node: e.Expr, table: str = "b") -> Node:
        """A value of the base rows."""
        return column(self.names[node], table)

    def condition(self) -> Node | None:
        """Which rows count, where the base rows are more."""
        return None

    def by(self, node: e.Expr) -> Node:
        """A value of the base rows to group by, where nothing else is done with it."""
        return self.at(node)

    def person(self) -> Node:
        """Whose a base row is."""
        return column("p", "b")

    def sum(self, node: Node, *, most: int) -> Node:
        """The sum of integers whose total stays within `most`."""
        return self.sql.sum(node, most=most)

    def titles(self, nodes: Sequence[e.Expr]) -> list[str]:
        """The names of some values, each once."""
        return list(dict.fromkeys(self.names[node] for node in nodes))

    def hashed(self, nodes: Sequence[e.Expr], table: str) -> Node:
        """The keyed hash of a person and some values."""
        unit = self.schema.unit
        if not isinstance(unit, PerPerson):
            raise QueryError("people can be bounded only where a column says whose a row is")
        person = column("p", table)
        storage = self.schema.storage[unit.column]
        values: list[Written] = [(person, self.sql.person_text(person.copy(), storage))]
        for node in nodes:
            there = self.at(node, table)
            values.append((there, self.sql.portable(there.copy(), node.kind)))
        return self.sql.hashed(self.hashing, self.key, values)


class Flat(Base):
    """Base rows that are a table as it stands: values have no names, and are written where used.

    Only for parts that bound nobody. A sum of nothing is NULL here: who reads it takes it for 0.

    Args:
        sql: the dialect.
        schema: the declaration.
        table: the table, as it stands after FROM, with the name a.
        values: each expression, of columns of the table, in brackets where it needs some.
        codes: the columns to group by instead of some expressions; see `shapes.Whole`.
        condition: which rows count; None for all.
    """

    def __init__(
        self, sql: Dialect, schema: Schema, table: Node, values: Mapping[e.Expr, Node],
        codes: Mapping[e.Expr, str], condition: Node | None,
    ) -> None:  # fmt: skip
        super().__init__(sql, schema, {}, "engine", "")
        self._table, self._values, self._codes = table, values, codes
        self._condition = condition

    def rows(self) -> Node:
        """The table."""
        return self._table.copy()

    def at(self, node: e.Expr, table: str = "a") -> Node:  # noqa: ARG002 - there is only one
        """A value, written out."""
        return self._values[node].copy()

    def condition(self) -> Node | None:
        """Which rows of the table count."""
        return None if self._condition is None else self._condition.copy()

    def by(self, node: e.Expr) -> Node:
        """The code of a value, or the value itself."""
        return column(self._codes[node], "a") if node in self._codes else self.at(node)

    def person(self) -> Node:
        """Whose a row of the table is."""
        return column("p", "a")

    def sum(self, node: Node, *, most: int) -> Node:
        """The sum, which is NULL where nothing is added up."""
        made = super().sum(node, most=most)
        return made.this if isinstance(made, exp.Coalesce) else made


def furthest(total: Total) -> int:
    """How large |(n - offset)^power| can be."""
    if total.power == 0 or total.value is None:
        return 1
    kind = total.value.kind
    if not isinstance(kind, Number):
        raise QueryError("only numbers can be added up")
    distance: int = max(1, abs(kind.low - total.offset), abs(kind.high - total.offset))
    return int(distance**total.power)


def most_of(schema: Schema, part: Part, total: Total) -> int:
    """How large a total can be; QueryError beyond 10^37."""
    found = schema.row_limit * part.bounding.scale * furthest(total)
    if found >= MOST:
        raise QueryError(
            "a total could reach 10^37 steps of its grid with as many rows as the row limit "
            "allows; declare tighter bounds, a coarser grid or a smaller row_limit"
        )
    return found


# building blocks


def aliased(node: Node, title: str) -> Node:
    """Node AS title."""
    return exp.Alias(this=node, alias=name(title))


_FROM = next(key for key in exp.Select.arg_types if key.startswith("from"))


def select(columns: Sequence[Node], source: Node, *, group: Sequence[Node] = ()) -> exp.Select:
    """SELECT columns FROM source GROUP BY group."""
    # a subquery needs at least one column, also where only rows are counted
    listed = list(columns) or [aliased(number(1), "one")]
    made = exp.Select(expressions=listed, **{_FROM: exp.From(this=source)})
    if group:
        made.set("group", exp.Group(expressions=[node.copy() for node in group]))
    return made


def sub(made: Node, alias: str) -> Node:
    """A subquery, for FROM."""
    return exp.Subquery(this=made, alias=exp.TableAlias(this=name(alias)))


def where(made: exp.Select, condition: Node | None) -> exp.Select:
    """The same SELECT, with a condition."""
    if condition is not None:
        made.set("where", exp.Where(this=condition))
    return made


def keyed(nodes: Sequence[Node]) -> list[Node]:
    """Keys by the names that they have in the answer."""
    return [aliased(node.copy(), f"k{i}") for i, node in enumerate(nodes)]


def numbered(nodes: Sequence[Node]) -> list[Node]:
    """Totals by the names that they have in the answer."""
    return [aliased(node, f"t{i}") for i, node in enumerate(nodes)]


def carried(titles: Sequence[str], table: str) -> list[Node]:
    """Columns of a subquery under their own names."""
    return [aliased(column(title, table), title) for title in titles]


def count() -> Node:
    """COUNT(*)."""
    return exp.Count(this=exp.Star())


def _all(conditions: Sequence[Node]) -> Node | None:
    total: Node | None = None
    for condition in conditions:
        total = condition if total is None else exp.And(this=total, expression=condition)
    return total


def term(base: Base, part: Part, total: Total, table: str, weight: Node | None) -> Node:
    """The aggregate of one total over rows."""
    sql, most = base.sql, most_of(base.schema, part, total)
    conditions: list[Node] = [] if total.where is None else [base.at(total.where, table)]
    if total.power == 0 or total.value is None:
        value = total.value
        if value is not None and value.kind.nullable:
            if not conditions and weight is None:
                return exp.Count(this=base.at(value, table))
            there = exp.Is(this=base.at(value, table), expression=exp.Null())
            conditions.append(exp.Not(this=there))
        condition = _all(conditions)
        if weight is None:
            one = number(1)
            return count() if condition is None else exp.Count(this=case([(condition, one)]))
        return base.sum(weight if condition is None else case([(condition, weight)]), most=most)
    amount = _power(base, total, table, part.bounding.scale)
    if weight is not None:
        wide = part.bounding.scale * furthest(total) > WIDEST
        amount = exp.Mul(this=sql.widened(weight) if wide else weight, expression=amount)
    condition = _all(conditions)
    return base.sum(amount if condition is None else case([(condition, amount)]), most=most)


def _power(base: Base, total: Total, table: str, scale: int) -> Node:
    """(n - offset)^power, in the wide type where 64 bits may not do."""
    if total.value is None:  # pragma: no cover - the caller looked
        raise QueryError("a sum needs a value")
    value = base.at(total.value, table)
    if scale * furthest(total) > WIDEST or abs(total.offset) > WIDEST:
        value = base.sql.widened(value)
    centred: Node = value
    if total.offset:
        kind = exp.Sub if total.offset > 0 else exp.Add
        centred = exp.Paren(this=kind(this=value, expression=number(abs(total.offset))))
    power = centred
    for _ in range(total.power - 1):
        power = exp.Mul(this=power, expression=centred.copy())
    return power


def inputs(part: Part) -> list[e.Expr]:
    """The values and conditions that the totals of a part are made of, each once."""
    found: dict[e.Expr, None] = {}
    for total in part.totals:
        found.update(dict.fromkeys(x for x in (total.value, total.where) if x is not None))
    return list(found)


def ordered(node: Node) -> Node:
    """One item of ORDER BY; missing values come first, on every engine."""
    return exp.Ordered(this=node, nulls_first=True)

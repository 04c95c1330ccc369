"""What differs between SQL dialects, and nothing else: one small class for each.

Everything else is built once, as a sqlglot tree, by `compile`, `clean` and `expressions`. DuckDB,
PostgreSQL and Spark are run against one contract; BigQuery, Snowflake and Trino are rendered and
parsed only, so that their SQL is a starting point and no promise.

Rules that every method keeps: a number that is computed with is a BIGINT, and no result may depend
on a setting of the session, fail for some row, or differ between engines.
Tested by tests/engines/test_dialects.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from functools import cache
from typing import ClassVar

from sqlglot import Dialect as Syntax
from sqlglot import exp

from discreet.engines.base import Hashing
from discreet.errors import QueryError
from discreet.query.kinds import Day, Kind, Text
from discreet.query.schema import Storage

__all__ = [
    "DIALECTS", "Dialect", "Node", "Written", "call", "case", "cast", "column", "day", "double",
    "name", "number", "to_integer", "typed",
]  # fmt: skip

Node = exp.Expr
Written = tuple[Node, Node]
"""A value, and the text that the portable hash reads of it."""
BIGGEST = 1 << 63
_syntax = cache(Syntax.get_or_raise)
"""What sqlglot knows of a dialect; it is found once."""


def name(text: str) -> exp.Identifier:
    """An identifier, always quoted."""
    return exp.Identifier(this=text, quoted=True)


def column(text: str, table: str) -> exp.Column:
    """A column of a named part of the statement."""
    return exp.Column(this=name(text), table=name(table))


def number(n: int) -> Node:
    """A whole number as it is written."""
    return exp.Literal(this=str(n), is_string=False) if n >= 0 else exp.Neg(this=number(-n))


def cast(node: Node, to: str) -> exp.Cast:
    """CAST(node AS to)."""
    return exp.Cast(this=node, to=typed(to))


def typed(to: str) -> exp.DataType:
    """A type by its name; DECIMAL(38, 0) is the one with arguments."""
    bare, _, arguments = to.partition("(")
    sizes = [number(int(size)) for size in arguments.rstrip(")").split(",") if size]
    listed: list[exp.Expr] = [exp.DataTypeParam(this=size) for size in sizes]
    return exp.DataType(this=exp.DataType.Type[bare], expressions=listed)


def to_integer(node: Node) -> Node:
    """The type that every number has that is computed with."""
    return cast(node, "BIGINT")


def double(value: Fraction) -> Node:
    """The double nearest to a public number, written so that every engine reads that double."""
    nearest = float(value)
    if nearest == int(nearest) and abs(nearest) < 1 << 31:
        return number(int(nearest))
    return cast(exp.Literal.string(repr(nearest)), "DOUBLE")


def day(value: date) -> Node:
    """A date as it is written."""
    return cast(exp.Literal.string(value.isoformat()), "DATE")


def call(function: str, *arguments: Node) -> Node:
    """A function by the name that the dialect knows it by."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def case(whens: Sequence[tuple[Node, Node]], otherwise: Node | None = None) -> Node:
    """CASE WHEN ... THEN ... ELSE ... END."""
    ifs = [exp.If(this=condition, true=value) for condition, value in whens]
    return exp.Case(ifs=ifs, default=otherwise)


class Dialect:
    """Standard SQL, as far as there is one.

    Attributes:
        name: what sqlglot calls the dialect.
        wide: the type of exact integers with 38 digits.
        reads_text: whether numbers and dates may be parsed from text without ever failing.
        fenced: whether named intermediate results must be kept apart from the optimiser, which
            would otherwise copy them into every place that uses them.
        skips_null: whether LEAST and GREATEST leave out missing values.
        integer_sums_wrap: whether SUM over BIGINT may overflow.
        sums_as_stored: whether SUM over integers of every type that is stored is exact and wide.
        sorts_fast: whether people are bounded faster by sorting their rows (`ranked`).
        keeps_base: whether base rows that are read twice are kept; None leaves it to the engine.
    """

    name: ClassVar[str]
    wide: ClassVar[str] = "DECIMAL(38, 0)"
    reads_text: ClassVar[bool] = False
    fenced: ClassVar[bool] = False
    skips_null: ClassVar[bool] = True
    integer_sums_wrap: ClassVar[bool] = True
    sums_as_stored: ClassVar[bool] = False
    sorts_fast: ClassVar[bool] = False
    keeps_base: ClassVar[bool | None] = None

    def render(self, tree: Node, *, pretty: bool = False) -> str:
        """The statement as text; the tree is used up."""
        return _syntax(self.name).generate(tree, pretty=pretty, comments=False, copy=False)

    # text

    def string(self, value: str) -> Node:
        """A text as it is written."""
        if "\0" in value:
            raise QueryError("a text may not hold the character NUL")
        return exp.Literal.string(value)

    def text(self, node: Node) -> Node:
        """A value as text that is compared byte by byte."""
        return cast(node, "TEXT")

    # numbers

    def widened(self, node: Node) -> Node:
        """An integer in the wide type."""
        return cast(node, self.wide)

    def divide(self, left: Node, right: Node) -> Node:
        """The quotient without its fraction; both are above or equal to 0, or right is NULL."""
        return exp.IntDiv(this=_bracketed(left), expression=_bracketed(right))

    def remainder(self, left: Node, right: Node) -> Node:
        """The remainder, with the sign of the left side."""
        return exp.Mod(this=_bracketed(left), expression=_bracketed(right))

    def is_nan(self, node: Node) -> Node:
        """Whether a double is not a number."""
        return call("ISNAN", node)

    def real(self, node: Node) -> Node:
        """A stored real number as the nearest double."""
        return cast(node, "DOUBLE")

    def whole(self, node: Node) -> Node:
        """A double that is a whole number within 2^62 as an integer."""
        return to_integer(node)

    def sealed(self, node: Node) -> Node:
        """A value that the engine does not look through: see `DuckDBDialect`."""
        return node

    def extreme(self, which: str, nodes: Sequence[Node]) -> Node:
        """LEAST or GREATEST of what is not missing."""
        if not self.skips_null:
            nodes = [
                exp.Coalesce(
                    this=node.copy(),
                    expressions=[n.copy() for j, n in enumerate(nodes) if j != i],
                )
                for i, node in enumerate(nodes)
            ]
        return call(which.upper(), *nodes)

    def sum(self, node: Node, *, most: int) -> Node:
        """The sum of integers whose total stays within `most`; 0 for none."""
        if self.integer_sums_wrap and most >= BIGGEST:
            node = self.widened(node)
        return exp.Coalesce(this=exp.Sum(this=node), expressions=[number(0)])

    def flag_number(self, node: Node) -> Node:
        """1 for true, 0 for false."""
        return to_integer(cast(node, "INT"))

    # dates

    def cut(self, node: Node) -> Node:
        """The day of a timestamp."""
        return cast(node, "DATE")

    def trunc(self, unit: str, node: Node) -> Node:
        """The first day of a unit."""
        stamp = cast(node, "TIMESTAMP")
        return cast(call("DATE_TRUNC", exp.Literal.string(unit), stamp), "DATE")

    def part(self, part: str, node: Node) -> Node:
        """A number of the calendar; dayofweek is 0 for Sunday, week is the ISO week."""
        short = {"dayofweek": "dow", "dayofyear": "doy"}.get(part, part)
        return to_integer(exp.Extract(this=exp.Var(this=short), expression=node))

    def days(self, left: Node, right: Node) -> Node:
        """How many days left is after right."""
        return to_integer(exp.Paren(this=exp.Sub(this=left, expression=right)))

    # hashes

    def portable(self, node: Node, kind: Kind) -> Node:
        """A value as the text that the portable hash reads; missing is ''."""
        text = node if isinstance(kind, Text) else self.written(node, kind)
        return exp.Coalesce(this=text, expressions=[self.string("")])

    def written(self, node: Node, kind: Kind) -> Node:  # noqa: ARG002 - dates differ in some
        """A number in decimal digits, a date as 2024-12-31, a flag as true or false."""
        return self.text(node)

    def person_text(self, node: Node, storage: Storage) -> Node:
        """A person's name as text; whole numbers are written alike however they are stored."""
        if storage != "real":
            return self.text(node)
        whole = exp.And(
            this=exp.Between(this=node.copy(), low=number(-(1 << 53)), high=number(1 << 53)),
            expression=exp.EQ(this=node.copy(), expression=exp.Floor(this=node.copy())),
        )
        return case([(whole, self.text(to_integer(node.copy())))], self.text(node))

    def md5(self, texts: Sequence[Node]) -> Node:
        """The MD5 hash of texts with | between them, in lower-case hexadecimal digits."""
        return exp.MD5(this=_joined(texts))

    def own_hash(self, key: str, values: Sequence[Written]) -> Node:
        """The engine's own fast hash."""
        return call("HASH", self.string(key), *(value for value, _ in values))

    def hashed(self, hashing: Hashing, key: str, values: Sequence[Written]) -> Node:
        """A keyed hash of some values."""
        if hashing == "portable":
            return self.md5([self.string(key), *(text for _, text in values)])
        return self.own_hash(key, values)

    # tables

    def values(self, rows: Sequence[Sequence[Node]], columns: Sequence[str], alias: str) -> Node:
        """Rows of constants, for FROM."""
        tuples: list[Node] = [exp.Tuple(expressions=list(row)) for row in rows]
        names = exp.TableAlias(this=name(alias), columns=[name(c) for c in columns])
        return exp.Values(expressions=tuples, alias=names)


def _joined(texts: Sequence[Node]) -> Node:
    """Texts with | between them."""
    joined = texts[0]
    for text in texts[1:]:
        joined = exp.DPipe(this=joined, expression=exp.Literal.string("|"), safe=False)
        joined = exp.DPipe(this=joined, expression=text, safe=False)
    return joined


def _bracketed(node: Node) -> Node:
    plain = isinstance(node, exp.Column | exp.Literal | exp.Anonymous | exp.Cast | exp.Paren)
    return node if plain else exp.Paren(this=node)


class DuckDBDialect(Dialect):
    """DuckDB: sums of all integers are HUGEINT (of decimals DECIMAL(38)), TRY_CAST never fails.

    It decides comparisons by the least and greatest value that a Parquet file states, and files
    state them without NaN: v <= 1000 is then true of NaN, ISNAN(v) is false, and a CAST behind it
    fails. So NaN is looked for behind TRY, which hides the statistics, and doubles become integers
    by TRY_CAST, which makes NaN missing. It also moves a TRY_CAST of a column into the reading of a
    CSV file, where it fails, or drops the line; not one of TRY(column).
    """

    name = "duckdb"
    wide = "INT128"
    reads_text = True
    integer_sums_wrap = False
    sums_as_stored = True
    sorts_fast = True
    keeps_base = False

    def is_nan(self, node: Node) -> Node:
        return call("ISNAN", self.sealed(node))

    def whole(self, node: Node) -> Node:
        return exp.TryCast(this=node, to=typed("BIGINT"))

    def sealed(self, node: Node) -> Node:
        return call("TRY", node)

    def text(self, node: Node) -> Node:
        return exp.Paren(this=exp.Collate(this=cast(node, "TEXT"), expression=name("binary")))

    def own_hash(self, key: str, values: Sequence[Written]) -> Node:
        """32 bits sort faster than 64; ties are broken by the values themselves."""
        digest = hashlib.sha256(key.encode()).digest()[:8]
        hashed = call("HASH", *(value for value, _ in values))
        keyed = call("XOR", hashed, cast(number(int.from_bytes(digest)), "UBIGINT"))
        high = exp.BitwiseRightShift(this=call("HASH", keyed), expression=number(32))
        return cast(exp.Paren(this=high), "UINT")

    def days(self, left: Node, right: Node) -> Node:
        return exp.Paren(this=exp.Sub(this=left, expression=right))

    def part(self, part: str, node: Node) -> Node:
        short = {"dayofweek": "dow", "dayofyear": "doy"}.get(part, part)
        return exp.Extract(this=exp.Var(this=short), expression=node)


class PostgresDialect(Dialect):
    """PostgreSQL: text is compared in the collation "C"; doubles fail where they underflow."""

    name = "postgres"
    wide = "DECIMAL"
    fenced = True
    integer_sums_wrap = False

    def string(self, value: str) -> Node:
        return exp.Collate(this=cast(super().string(value), "TEXT"), expression=name("C"))

    def text(self, node: Node) -> Node:
        return exp.Paren(this=exp.Collate(this=cast(node, "TEXT"), expression=name("C")))

    def divide(self, left: Node, right: Node) -> Node:
        return exp.Div(this=_bracketed(left), expression=_bracketed(right), typed=True, safe=False)

    def is_nan(self, node: Node) -> Node:
        return exp.EQ(this=node, expression=exp.Literal.string("NaN"))

    def real(self, node: Node) -> Node:
        """Where a cast from NUMERIC, or a later division, would overflow or underflow it fails.

        What is nearer to 0 than 1e-100, and not 0, is read as 1e-100: it is still no whole number,
        and the multiple 0 of every grid that is allowed.
        """

        def at(text: str) -> Node:
            return cast(exp.Literal.string(text), "DOUBLE")

        def above(text: str) -> Node:
            return exp.GT(this=node.copy(), expression=_e(text))

        def below(text: str) -> Node:
            return exp.LT(this=node.copy(), expression=_e(text))

        return case(
            [
                (self.is_nan(node.copy()), at("NaN")),
                (above("1e200"), at("Infinity")),
                (below("-1e200"), at("-Infinity")),
                (exp.And(this=above("0"), expression=below("1e-100")), at("1e-100")),
                (exp.And(this=above("-1e-100"), expression=below("0")), at("-1e-100")),
            ],
            cast(node, "DOUBLE"),
        )

    def written(self, node: Node, kind: Kind) -> Node:
        if isinstance(kind, Day):  # a cast would follow the session's DateStyle
            return call("TO_CHAR", node, exp.Literal.string("YYYY-MM-DD"))
        return super().written(node, kind)

    def own_hash(self, key: str, values: Sequence[Written]) -> Node:
        digest = hashlib.sha256(key.encode()).digest()[:8]
        joined = _joined([text for _, text in values])
        return call("HASHTEXTEXTENDED", joined, number(int.from_bytes(digest, signed=True)))


def _e(text: str) -> Node:
    return exp.Literal(this=text, is_string=False)


class SparkDialect(Dialect):
    """Spark: sums of BIGINT wrap or fail, so that they are sums of DECIMAL(38, 0)."""

    name = "spark"

    def is_nan(self, node: Node) -> Node:
        """Its own ISNAN takes a missing value for a number; its NaN equals itself."""
        return exp.EQ(this=node, expression=cast(exp.Literal.string("NaN"), "DOUBLE"))

    def trunc(self, unit: str, node: Node) -> Node:
        return node if unit == "day" else call("TRUNC", node, exp.Literal.string(unit.upper()))

    def part(self, part: str, node: Node) -> Node:
        if part == "dayofweek":
            return to_integer(exp.Paren(this=exp.Sub(this=call(part, node), expression=number(1))))
        function = {"week": "WEEKOFYEAR", "day": "DAYOFMONTH"}.get(part, part.upper())
        return to_integer(call(function, node))

    def days(self, left: Node, right: Node) -> Node:
        return to_integer(call("DATEDIFF", left, right))

    def own_hash(self, key: str, values: Sequence[Written]) -> Node:
        return call("XXHASH64", self.string(key), *(value for value, _ in values))


class BigQueryDialect(Dialect):
    """BigQuery; rendered and parsed only."""

    name = "bigquery"
    wide = "BIGDECIMAL"
    skips_null = False

    def is_nan(self, node: Node) -> Node:
        return call("IS_NAN", node)

    def trunc(self, unit: str, node: Node) -> Node:
        word = "ISOWEEK" if unit == "week" else unit.upper()
        return call("DATE_TRUNC", node, exp.Var(this=word))

    def part(self, part: str, node: Node) -> Node:
        word = "ISOWEEK" if part == "week" else part.upper()
        found: Node = exp.Extract(this=exp.Var(this=word), expression=node)
        if part == "dayofweek":
            found = exp.Paren(this=exp.Sub(this=found, expression=number(1)))
        return found

    def days(self, left: Node, right: Node) -> Node:
        return call("DATE_DIFF", left, right, exp.Var(this="DAY"))

    def own_hash(self, key: str, values: Sequence[Written]) -> Node:
        joined = _joined([self.string(key), *(text for _, text in values)])
        return call("FARM_FINGERPRINT", joined)


class SnowflakeDialect(Dialect):
    """Snowflake; rendered and parsed only."""

    name = "snowflake"
    skips_null = False
    integer_sums_wrap = False

    def divide(self, left: Node, right: Node) -> Node:
        """Its / rounds to a few digits; what divides evenly is exact."""
        even = exp.Sub(this=_bracketed(left.copy()), expression=self.remainder(left, right.copy()))
        return to_integer(exp.Div(this=exp.Paren(this=even), expression=_bracketed(right)))

    def is_nan(self, node: Node) -> Node:
        return exp.EQ(this=node, expression=cast(exp.Literal.string("NaN"), "DOUBLE"))

    def part(self, part: str, node: Node) -> Node:
        short = {"dayofweek": "DAYOFWEEK", "week": "WEEKISO"}.get(part, part.upper())
        found = call("DATE_PART", exp.Var(this=short), node)
        return call("MOD", found, number(7)) if part == "dayofweek" else found

    def days(self, left: Node, right: Node) -> Node:
        return call("DATEDIFF", exp.Var(this="DAY"), right, left)


class TrinoDialect(Dialect):
    """Trino; rendered and parsed only."""

    name = "trino"
    skips_null = False

    def divide(self, left: Node, right: Node) -> Node:
        return exp.Div(this=_bracketed(left), expression=_bracketed(right), typed=True, safe=False)

    def is_nan(self, node: Node) -> Node:
        return call("IS_NAN", node)

    def part(self, part: str, node: Node) -> Node:
        function = {"dayofweek": "DAY_OF_WEEK", "dayofyear": "DAY_OF_YEAR"}.get(part, part.upper())
        found = call(function, node)
        return exp.Mod(this=found, expression=number(7)) if part == "dayofweek" else found

    def days(self, left: Node, right: Node) -> Node:
        return call("DATE_DIFF", exp.Literal.string("day"), right, left)

    def own_hash(self, key: str, values: Sequence[Written]) -> Node:
        joined = _joined([self.string(key), *(text for _, text in values)])
        return call("XXHASH64", call("TO_UTF8", joined))


DIALECTS: dict[str, Dialect] = {
    found.name: found
    for found in (
        DuckDBDialect(),
        PostgresDialect(),
        SparkDialect(),
        BigQueryDialect(),
        SnowflakeDialect(),
        TrinoDialect(),
    )
}

"""The owner's declaration: what a person is, and what is publicly known about each column.

Nothing here is read from the data. A column that is not declared cannot be used at all; a bound
that is not declared is asked for in words. The declaration also fixes how every stored value is
cleaned, before any question sees it; the cleaning never fails:

* a number is clamped to its bounds (infinities too) and rounded to the nearest multiple of its
  grid, halves up; NaN counts as missing;
* a key, a flag or text that is not one of the declared keys counts as missing;
* a date is clamped to its bounds; a time of day is cut off;
* a row without a person is left out.
Tested by tests/query/test_schema.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from itertools import islice
from typing import Any, Literal, get_args

from discreet.errors import ParameterError, QueryError
from discreet.exact import Exact, positive, rational, shown, whole
from discreet.privacy.guarantee import Neighbours, epsilon_of, neighbours_of
from discreet.query.kinds import WIDEST, Day, Flag, Kind, Number, Text
from discreet.query.words import brief

__all__ = [
    "MOST_KEYS", "Boolean", "Bounds", "Dates", "Declared", "FreeText", "Hidden", "Keys",
    "PerPerson", "PerRow", "PublicTable", "Schema", "Storage", "Unit", "declared",
]  # fmt: skip

MOST_KEYS = 1_000_000
"""The largest number of public cells that one question may list."""
MOST_ROWS = 1 << 40
"""The row limit that overflow proofs use unless the owner states another one."""
FARTHEST = 10**80
"""Bounds and grids lie within this, so that the squares of sums still fit a float."""
Storage = Literal["integer", "real", "text", "boolean", "date", "timestamp", "other"]
"""How an engine stores a column, as far as the cleaning needs to know."""
Key = int | bool | str | date
Enforced = Literal["best", "weight", "sample", "clamp"]


@dataclass(frozen=True, slots=True, init=False)
class Bounds:
    """A number between two public bounds, on a public grid.

    Args:
        low: the least value; a smaller one counts as this.
        high: the greatest value; a greater one counts as this.
        grid: values are rounded to multiples of it. Without it: 1 where the column is stored as
            integers, or where low and high are whole numbers at least 1,000 apart, else a power
            of ten about a millionth of the range.
        missing: what a missing value counts as; without it, it is left out. With a public number
            of rows this makes means finer, because the number of values is public too.

    >>> Bounds(0, 400_000).kind
    Number(low=0, high=400000, grid=Fraction(1, 1), nullable=True)
    """

    low: Fraction
    high: Fraction
    grid: Fraction
    missing: Fraction | None
    grid_is_given: bool = field(compare=False, repr=False)

    def __init__(
        self, low: Exact, high: Exact, grid: Exact | None = None, *, missing: Exact | None = None
    ) -> None:
        put = object.__setattr__
        first = _near(rational(low, name="low"), "low")
        last = _near(rational(high, name="high"), "high")
        if not first < last:
            raise ParameterError("Bounds", (low, high), "must have low below high")
        step = _grid(first, last) if grid is None else _near(positive(grid, name="grid"), "grid")
        for name, value in (("low", first), ("high", last)):
            if (value / step).denominator != 1:
                problem = f"must be a multiple of the grid {shown(step)}"
                raise ParameterError(name, shown(value), problem)
            if abs(value / step) > WIDEST:
                raise ParameterError(name, shown(value), "must be within 2^62 steps of the grid")
        put(self, "low", first)
        put(self, "high", last)
        put(self, "grid", step)
        put(self, "grid_is_given", grid is not None)
        put(self, "missing", None if missing is None else _inside(missing, first, last, step))

    def stored_as(self, storage: Storage) -> Bounds:
        """With the grid of whole numbers, where integers are stored and no grid was given."""
        plain = self.low.denominator == self.high.denominator == 1
        if storage != "integer" or self.grid_is_given or not plain:
            return self
        return Bounds(self.low, self.high, 1, missing=self.missing)

    @classmethod
    def find(cls, *, epsilon: Exact) -> FindBounds:
        """Bounds that a session finds privately, at this cost, before the first question."""
        return FindBounds(epsilon_of(epsilon))

    @property
    def kind(self) -> Number:
        """What every question may rely on."""
        low, high = int(self.low / self.grid), int(self.high / self.grid)
        return Number(low, high, self.grid, nullable=self.missing is None)


def _near(value: Fraction, name: str) -> Fraction:
    if abs(value) > FARTHEST:
        problem = "must lie within 10^80; declare the column in another unit"
        raise ParameterError(name, shown(value), problem)
    return value


def _inside(missing: Exact, low: Fraction, high: Fraction, grid: Fraction) -> Fraction:
    value = rational(missing, name="missing")
    if not low <= value <= high or (value / grid).denominator != 1:
        problem = f"must be a multiple of the grid {shown(grid)} between the bounds"
        raise ParameterError("missing", missing, problem)
    return value


@dataclass(frozen=True, slots=True)
class FindBounds:
    """Bounds that are still to be found privately; see `Bounds.find`."""

    epsilon: Fraction


def _grid(low: Fraction, high: Fraction) -> Fraction:
    if low.denominator == high.denominator == 1 and high - low >= 1000:
        return Fraction(1)
    step = Fraction(10) ** (_decade(high - low) - 6)
    while (low / step).denominator != 1 or (high / step).denominator != 1:
        step /= 10
        if high - low > step * 10**15:
            problem = "cannot both be multiples of one decimal grid; say grid=..."
            raise ParameterError("Bounds", (shown(low), shown(high)), problem)
    return step


def _decade(value: Fraction) -> int:
    """The k with 10^k <= value < 10^(k + 1), in integers."""
    k = len(str(value.numerator)) - len(str(value.denominator))
    return k if Fraction(10) ** k <= value else k - 1


@dataclass(frozen=True, slots=True, init=False)
class Keys:
    """A public list of the values that a column may have: text, whole numbers, dates or flags.

    Questions grouped by it answer every key, those of nobody too. A value that is not listed
    counts as missing.

    >>> Keys(["clerk", "nurse"]).kind
    Text(nullable=True)
    >>> Keys(range(18, 100)).kind
    Number(low=18, high=99, grid=Fraction(1, 1), nullable=True)
    """

    values: tuple[Key, ...]

    def __init__(self, values: Iterable[Any]) -> None:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ParameterError("Keys", brief(values), "needs a list, such as dp.Keys(['a', 'b'])")
        listed = tuple(_key(value) for value in islice(values, MOST_KEYS + 1))
        if not listed:
            raise ParameterError("Keys", None, "needs at least one key")
        if len(listed) > MOST_KEYS:
            raise ParameterError("Keys", "more keys", f"takes at most {MOST_KEYS}")
        if len({type(key) for key in listed}) != 1:
            kinds = sorted({type(key).__name__ for key in listed})
            raise ParameterError("Keys", kinds, "must all be of one type")
        if len(set(listed)) != len(listed):
            twice = next(key for key, n in Counter(listed).items() if n > 1)
            raise ParameterError("Keys", twice, "must all be different; this one is there twice")
        object.__setattr__(self, "values", listed)

    @property
    def kind(self) -> Kind:
        """What every question may rely on."""
        first = self.values[0]
        if isinstance(first, bool):
            return Flag(nullable=True)
        if isinstance(first, int):
            numbers = [int(v) for v in self.values if isinstance(v, int)]
            return Number(min(numbers), max(numbers), nullable=True)
        if isinstance(first, date):
            days = [v for v in self.values if isinstance(v, date)]
            return Day(min(days), max(days), nullable=True)
        return Text(nullable=True)


def storable(text: str) -> bool:
    """Whether every engine can hold this text: UTF-8 (no half of a pair) and no NUL."""
    return "\0" not in text and (text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text))


def _key(value: object) -> Key:
    if hasattr(value, "item") and type(value).__module__ == "numpy":
        value = value.item()
    if isinstance(value, datetime):
        raise ParameterError("Keys", value, "takes dates, not times; say value.date()")
    if isinstance(value, int) and abs(value) > WIDEST:
        raise ParameterError("Keys", brief(value), "must be within 2^62")
    if isinstance(value, str) and not storable(value):
        raise ParameterError("Keys", value, "must be UTF-8 text without the character NUL")
    if isinstance(value, bool | int | str | date):
        return value
    problem = "must be text, whole numbers, dates or True and False"
    raise ParameterError("Keys", brief(value), problem)


@dataclass(frozen=True, slots=True)
class Boolean:
    """True or false."""

    @property
    def kind(self) -> Flag:
        """What every question may rely on."""
        return Flag(nullable=True)


@dataclass(frozen=True, slots=True, init=False)
class Dates:
    """A date between two public dates; a time of day is cut off.

    >>> Dates("2020-01-01", "2024-12-31").kind.high
    datetime.date(2024, 12, 31)
    """

    low: date
    high: date

    def __init__(self, low: date | str, high: date | str) -> None:
        first, last = _date(low, "low"), _date(high, "high")
        if not first < last:
            raise ParameterError("Dates", (str(first), str(last)), "must have low before high")
        object.__setattr__(self, "low", first)
        object.__setattr__(self, "high", last)

    @property
    def kind(self) -> Day:
        """What every question may rely on."""
        return Day(self.low, self.high, nullable=True)


def _date(value: object, name: str) -> date:
    if isinstance(value, datetime):
        raise ParameterError(name, value, "must be a date without a time")
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value)
        except ValueError:
            raise ParameterError(name, value, "must be a date such as '2024-12-31'") from None
    if not isinstance(value, date):
        raise ParameterError(name, brief(value), "must be a date such as '2024-12-31'")
    if not date(1000, 1, 1) <= value <= date(9000, 12, 31):
        raise ParameterError(name, value, "must lie between the years 1000 and 9000")
    return value


@dataclass(frozen=True, slots=True)
class FreeText:
    """Text of which nothing is known: it may be grouped by, which costs a delta, and compared."""

    @property
    def kind(self) -> Text:
        """What every question may rely on."""
        return Text(nullable=True)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A column that no question may use."""


Declared = Bounds | FindBounds | Keys | Boolean | Dates | FreeText | Hidden


def declared(name: str, value: Any) -> Declared:
    """A declaration as it may be written: a list is keys, a pair of numbers is bounds."""
    match value:
        case Bounds() | FindBounds() | Keys() | Boolean() | Dates() | FreeText() | Hidden():
            return value
        case type() if value in (Boolean, FreeText, Hidden):
            made: Declared = value()
            return made
        case (low, high) if isinstance(value, tuple):
            return Dates(low, high) if isinstance(low, date) else Bounds(low, high)
        case list() | range() | set() | frozenset():
            return Keys(sorted(value) if isinstance(value, set | frozenset) else value)
        case _:
            raise ParameterError(
                f"columns[{name!r}]",
                brief(value),
                "must be dp.Bounds(low, high), dp.Keys([...]), dp.Dates(first, last), "
                "dp.Boolean(), dp.FreeText() or dp.Hidden()",
            )


@dataclass(frozen=True, slots=True, init=False)
class PerRow:
    """Every row is about one person, and everyone has at most one row. This is trusted.

    Args:
        neighbours: "add_or_remove", or "replace": then the number of rows may be public.
        rows: with "replace", the public number of rows.
        together: people who come or go together (households): the guarantee is for groups of
            up to this many.
    """

    neighbours: Neighbours
    rows: int | None
    together: int

    def __init__(
        self,
        *,
        neighbours: Neighbours = "add_or_remove",
        rows: int | None = None,
        together: int = 1,
    ) -> None:
        object.__setattr__(self, "neighbours", neighbours_of(brief(neighbours)))
        object.__setattr__(self, "rows", _public_size(rows, self.neighbours, "rows"))
        object.__setattr__(
            self, "together", whole(together, name="together", at_least=1, at_most=10**6)
        )


def _public_size(value: int | None, neighbours: Neighbours, name: str) -> int | None:
    if value is None:
        return None
    if neighbours != "replace":
        problem = "may be public with neighbours='replace' only: otherwise it is private"
        raise ParameterError(name, brief(value), problem)
    return whole(value, name=name, at_least=1, at_most=MOST_ROWS)


@dataclass(frozen=True, slots=True, init=False)
class PerPerson:
    """A person may have many rows; a column says whose a row is.

    Args:
        column: the column that names the person. A row in which it is missing is left out.
        max_rows: how many rows of one person count in one group of a question at most; without
            `max_groups`, in the whole question. "find" lets a session find it privately.
        max_groups: in how many groups of a question one person counts at most.
        bounding: how it is enforced: "weight", "sample" or "clamp" (`discreet.query.request`), or
            "best", which takes what gives the least error.
        trusted: nobody has more than `max_rows` rows in all. Else the statement enforces it.
        neighbours: "add_or_remove", or "replace": then the number of people may be public.
        people: with "replace", the public number of people.
        together: people who come or go together (households).
        find_epsilon: what finding `max_rows` may cost, with "find".
    """

    column: str
    max_rows: int | Literal["find"] | None
    max_groups: int | None
    bounding: Enforced
    trusted: bool
    neighbours: Neighbours
    people: int | None
    together: int
    find_epsilon: Fraction | None

    def __init__(  # noqa: PLR0913 - every word that an owner may say
        self,
        column: str,
        *,
        max_rows: int | Literal["find"] | None = None,
        max_groups: int | None = None,
        bounding: Enforced = "best",
        trusted: bool = False,
        neighbours: Neighbours = "add_or_remove",
        people: int | None = None,
        together: int = 1,
        find_epsilon: Exact | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "column", _name(column, "PerPerson"))
        if max_rows is not None and max_rows != "find":
            max_rows = whole(max_rows, name="max_rows", at_least=1, at_most=10**9)
        put(self, "max_rows", max_rows)
        if max_groups is not None:
            max_groups = whole(max_groups, name="max_groups", at_least=1, at_most=10**9)
        put(self, "max_groups", max_groups)
        if bounding not in get_args(Enforced):
            problem = f"must be one of {', '.join(get_args(Enforced))}"
            raise ParameterError("bounding", brief(bounding), problem)
        put(self, "bounding", bounding)
        if trusted and max_groups is not None:  # true of one grouping, it says little of another
            problem = "cannot be trusted: say max_rows=..., the rows of a person in all, without it"
            raise ParameterError("max_groups", max_groups, problem)
        put(self, "trusted", bool(trusted))
        put(self, "neighbours", neighbours_of(brief(neighbours)))
        put(self, "people", _public_size(people, self.neighbours, "people"))
        put(self, "together", whole(together, name="together", at_least=1, at_most=10**6))
        if (max_rows == "find") != (find_epsilon is not None):
            problem = "goes with max_rows='find', and says what finding it may cost"
            raise ParameterError("find_epsilon", brief(find_epsilon), problem)
        found = None if find_epsilon is None else epsilon_of(find_epsilon, name="find_epsilon")
        put(self, "find_epsilon", found)


Unit = PerRow | PerPerson


def _name(value: object, what: str) -> str:
    if not isinstance(value, str) or not value or not storable(value):
        raise ParameterError(what, brief(value), "needs the name of a column")
    return value


@dataclass(frozen=True, slots=True, init=False)
class PublicTable:
    """A public lookup table: rows of constants, found by the first column, which is a key.

    Joining it cannot multiply anybody's rows, because every key is there once.

    >>> PublicTable("zip", {"1010": {"region": "east"}, "8001": {"region": "west"}}).columns
    ('region',)
    """

    key: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Key, tuple[Key | None, ...]], ...]

    def __init__(self, key: str, rows: Mapping[Any, Mapping[str, Any]]) -> None:
        put = object.__setattr__
        put(self, "key", _name(key, "PublicTable"))
        if not rows:
            raise ParameterError("PublicTable", None, "needs at least one row")
        if len(rows) > MOST_KEYS:
            raise ParameterError("PublicTable", len(rows), f"takes at most {MOST_KEYS} rows")
        names = tuple(next(iter(rows.values())))
        if key in names:
            raise ParameterError("PublicTable", key, "must name the key once, not as a column too")
        listed = []
        for at, row in rows.items():
            if tuple(row) != names:
                raise ParameterError("PublicTable", brief(at), f"must have the columns {names}")
            listed.append((_key(at), tuple(None if v is None else _key(v) for v in row.values())))
        put(self, "columns", names)
        put(self, "rows", tuple(listed))
        Keys(at for at, _ in listed)  # one type, all different
        for name in names:
            self.keys_of(name)

    def keys_of(self, column: str) -> Keys:
        """The different values of a column, which are public."""
        place = self.columns.index(column)
        values = dict.fromkeys(row[place] for _, row in self.rows if row[place] is not None)
        return Keys(values)


@dataclass(frozen=True, slots=True)
class Schema:
    """One table as the owner declared it, with how its columns are stored.

    Attributes:
        name: what questions call the table.
        unit: what a person is.
        columns: the declaration of each column.
        storage: how the engine stores each column that exists; columns without a declaration
            are there too, and hidden.
        tables: the public lookup tables.
        row_limit: the table never has more rows than this; overflow proofs use it.
    """

    name: str
    unit: Unit
    columns: Mapping[str, Declared]
    storage: Mapping[str, Storage]
    tables: Mapping[str, PublicTable] = field(default_factory=dict)
    row_limit: int = MOST_ROWS

    def declaration(self, name: str) -> Declared:
        """What was declared about a column that a question may use."""
        found = self.columns.get(name)
        if found is None or isinstance(found, Hidden):
            usable = sorted(n for n, d in self.columns.items() if not isinstance(d, Hidden))
            there = f"that a question may use; there are: {', '.join(usable) or 'none'}"
            raise QueryError(f"the table {self.name!r} has no column {name!r} {there}")
        return found

    def kind(self, name: str) -> Kind:
        """What is known about every value of a column."""
        found = self.declaration(name)
        if isinstance(found, FindBounds):
            raise QueryError(
                f"the bounds of {name!r} have still to be found, as a question does for epsilon "
                f"{shown(found.epsilon)}: ask SUM({name}) first, or let the owner declare them"
            )
        assert not isinstance(found, Hidden)  # noqa: S101 - declaration() refuses it
        return found.kind

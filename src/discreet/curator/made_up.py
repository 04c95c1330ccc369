"""Made-up rows: a table that a policy could be about, from the policy alone.

Guarantee. The rows are a function of the declaration and of how columns are stored. No source is
opened and nothing is drawn: the same declaration makes the same rows.

Row i of a column takes the place i * a modulo 1 between its bounds, where a is the square root of a
prime, another one for each column. These places fill the range evenly, and those of two columns
together fill the square (Weyl), so that every combination of few keys is there. Every declared key
is there, too, as long as there are no more than `MOST_ROWS`. One value in 41 is missing. People
have one row, two rows and so on up to the number that counts. Text of which nothing is known is a
word, of which the first is half of all, the second a quarter and so on.
Tested by tests/curator/test_made_up.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from fractions import Fraction

from discreet.curator.policy.model import Dataset
from discreet.query.schema import (
    Boolean,
    Bounds,
    Dates,
    Declared,
    FindBounds,
    FreeText,
    Hidden,
    Keys,
    PerPerson,
    Storage,
    Unit,
)

__all__ = ["FOUND", "MOST_ROWS", "ROWS", "made_up", "natural"]

ROWS = 2_000
MOST_ROWS = 20_000
FOUND = (1, 1_000)
"""Between these lie the made-up numbers of a column whose bounds have still to be found."""
_PER_KEY = 3
_MISSING = 41
_SPREAD = 4
"""The most rows of a made-up person where the owner does not say how many count."""
_WHOLE, _NEAR = 1 << 62, 1 << 53
_BITS = 64
Column = tuple[Storage, list[str | None]]


def made_up(dataset: Dataset, storage: Mapping[str, Storage] | None = None) -> dict[str, Column]:
    """For every column that questions may use, and the person's, its storage and its values.

    Args:
        dataset: the declaration.
        storage: how columns are stored; where it does not say, as the declaration suggests.
    """
    stored = storage or {}
    usable = {n: said for n, said in dataset.columns.items() if not isinstance(said, Hidden)}
    people = _people(dataset.unit, _size(dataset))
    person = dataset.unit.column if isinstance(dataset.unit, PerPerson) else None
    made: dict[str, Column] = {}
    for (name, said), prime in zip(usable.items(), _primes(), strict=False):
        kept = stored.get(name) or natural(said)
        value = _values(said, kept, _Sequence(prime))
        made[name] = (kept, [value(i) for i in (people if name == person else range(len(people)))])
    if person is not None and person not in made:
        kept = stored.get(person) or "integer"
        made[person] = (kept, [_person(who, kept) for who in people])
    return made


def natural(said: Declared) -> Storage:
    """How a column would be stored, by its declaration."""
    match said:
        case Bounds(low=low, high=high, grid=grid):
            near = max(abs(low), abs(high)) < _NEAR
            return "integer" if near and grid.denominator == low.denominator == 1 else "real"
        case FindBounds():
            return "real"
        case Keys(values=(bool(), *_)) | Boolean():
            return "boolean"
        case Keys(values=(int(), *_)):
            return "integer"
        case Keys(values=(date(), *_)) | Dates():
            return "date"
        case _:
            return "text"


# how many


def _size(dataset: Dataset) -> int:
    """The number of rows: as many as are public, or some thousand."""
    unit = dataset.unit
    if not isinstance(unit, PerPerson) and unit.rows is not None:
        return min(unit.rows, MOST_ROWS)
    keys = [len(said.values) for said in dataset.columns.values() if isinstance(said, Keys)]
    return min(max(ROWS, _PER_KEY * max(keys, default=0)), MOST_ROWS, dataset.row_limit)


def _people(unit: Unit, rows: int) -> list[int]:
    """For each row the number of its person."""
    most = 1
    if isinstance(unit, PerPerson):
        most = unit.max_rows if isinstance(unit.max_rows, int) else _SPREAD
        most = min(most, _SPREAD)
    public = unit.people if isinstance(unit, PerPerson) else None
    found: list[int] = []
    who = 0
    while len(found) < rows and (public is None or who < public):
        found += [who] * min(1 + who % most, rows - len(found))
        who += 1
    return found


def _person(who: int, storage: Storage) -> str:
    match storage:
        case "integer" | "real":
            return str(who)
        case "boolean":
            return str(who % 2 == 0).lower()
        case "date" | "timestamp":
            return (date(1900, 1, 1) + timedelta(days=who)).isoformat()
        case _:
            return f"person {who}"


# values


class _Sequence:
    """The places of one column: the multiples of the root of a prime, modulo 1, in 64 bits."""

    def __init__(self, prime: int) -> None:
        self.prime = prime
        self._step = math.isqrt(prime << (2 * _BITS)) & ((1 << _BITS) - 1)

    def below(self, i: int, n: int) -> int:
        """A number from 0 to n - 1 for the place of row i."""
        return ((i + 1) * self._step & ((1 << _BITS) - 1)) * n >> _BITS

    def is_missing(self, i: int) -> bool:
        """Whether row i has no value."""
        return (i + self.prime) % _MISSING == 0


def _values(said: Declared, storage: Storage, at: _Sequence) -> Callable[[int], str | None]:
    """The value of each row of a column, as text."""
    plain = _plain(said, storage, at)
    listed = len(said.values) if isinstance(said, Keys) else 0

    def value(i: int) -> str | None:
        return None if i >= listed and at.is_missing(i) else plain(i)

    return value


def _plain(said: Declared, storage: Storage, at: _Sequence) -> Callable[[int], str]:
    match said:
        case Bounds(low=low, high=high, grid=grid):
            steps = int((high - low) / grid) + 1
            return lambda i: _number(low + at.below(i, steps) * grid, storage)
        case FindBounds():
            low_end, high_end = FOUND
            many = high_end - low_end + 1
            return lambda i: _number(Fraction(low_end + at.below(i, many)), storage)
        case Keys(values=keys):
            texts = [_key(key, storage) for key in keys]
            return lambda i: texts[i if i < len(texts) else at.below(i, len(texts))]
        case Dates(low=first, high=last):
            days = (last - first).days + 1
            return lambda i: (first + timedelta(days=at.below(i, days))).isoformat()
        case Boolean():
            return lambda i: _key(at.below(i, 2) == 1, storage)
        case FreeText() | Hidden():
            return lambda i: f"word {((i + 1) & -(i + 1)).bit_length()}"


def _number(value: Fraction, storage: Storage) -> str:
    if storage == "boolean":
        return str(value > 0).lower()
    if storage == "integer":
        return str(max(-_WHOLE, min(_WHOLE, math.floor(value))))
    return repr(float(value))


def _key(key: object, storage: Storage) -> str:
    if isinstance(key, int) and storage == "boolean":
        return str(bool(key)).lower()
    if isinstance(key, bool):
        return str(int(key)) if storage in ("integer", "real") else str(key).lower()
    return str(key)


def _primes() -> Iterator[int]:
    """2, 3, 5, 7 and so on."""
    found: list[int] = []
    n = 2
    while True:
        if all(n % p for p in found if p * p <= n):
            found.append(n)
            yield n
        n += 1

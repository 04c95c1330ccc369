"""The public list of values that a person may report, and how values become places in it.

A domain is declared, never found in the data. A value that is not in it is refused without being
quoted: it is a person's.
Tested by tests/local/test_domain.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import whole
from discreet.local.device import digest_of
from discreet.mechanisms.base import plain_array

__all__ = ["MOST_VALUES", "Domain", "Value"]

Value = str | int | bool
MOST_VALUES = 1 << 24
"""A larger domain is for the search for heavy hitters; a vector of estimates would be noise."""


@dataclass(frozen=True, init=False, repr=False)
class Domain:
    """Two or more different public values, or the integers 0 .. k-1 for a number k.

    >>> Domain(["red", "green", "blue"]).place("green")
    1
    >>> Domain(1024).size
    1024
    """

    size: int
    values: tuple[Value, ...] | None
    _places: dict[tuple[bool, Value], int] = field(compare=False)
    _sorted: NDArray[Any] | None = field(compare=False)
    _order: NDArray[Any] | None = field(compare=False)

    def __init__(self, domain: Domain | Sequence[Value] | NDArray[Any] | int) -> None:
        put = object.__setattr__
        values = _values(domain)
        size = len(values) if values is not None else _number(domain)
        put(self, "size", size)
        put(self, "values", values)
        places = {(isinstance(v, bool), v): i for i, v in enumerate(values or ())}
        put(self, "_places", places)
        array, order = _searchable(values)
        put(self, "_sorted", array)
        put(self, "_order", order)

    def __repr__(self) -> str:
        return repr(self.size) if self.values is None else repr(list(self.values))

    def __len__(self) -> int:
        return self.size

    def label(self, place: int) -> Value:
        """The value at a place."""
        return place if self.values is None else self.values[place]

    def labels(self) -> list[Value]:
        """All values, in order."""
        return list(range(self.size)) if self.values is None else list(self.values)

    def place(self, value: object) -> int:
        """The place of one value."""
        plain = value.item() if isinstance(value, np.generic) else value
        if not isinstance(plain, str | int):
            raise self._unknown()
        if self.values is None:
            if isinstance(plain, bool | str) or not 0 <= plain < self.size:
                raise self._unknown()
            return plain
        found = self._places.get((isinstance(plain, bool), plain))
        if found is None:
            raise self._unknown()
        return found

    def places(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
        """The places of many values, as a flat int64 array."""
        if not isinstance(values, np.ndarray):
            if isinstance(values, str | bytes) or not isinstance(values, Sequence):
                raise InputTypeError("a list or an array of values is needed; nothing was reported")
            if self.values is not None or not _all_integers(values):
                return np.array([self.place(value) for value in values], dtype=np.int64)
            values = np.array(values) if len(values) else np.empty(0, dtype=np.int64)
        flat = plain_array(values).reshape(-1)
        if self.values is None and flat.dtype.kind in "iu":
            return self._checked(flat)
        table, order = self._sorted, self._order
        if table is None or order is None or flat.dtype.kind != table.dtype.kind:
            return np.array([self.place(value) for value in flat.tolist()], dtype=np.int64)
        ranks = np.minimum(np.searchsorted(table, flat), self.size - 1)
        if not np.array_equal(table[ranks], flat):
            raise self._unknown()
        return np.asarray(order[ranks])

    def _checked(self, flat: NDArray[Any]) -> NDArray[Any]:
        if flat.size and not (int(flat.min()) >= 0 and int(flat.max()) < self.size):
            raise self._unknown()
        return flat.astype(np.int64, copy=False)

    def digest(self) -> str:
        """What tells this domain from all others, as text."""
        return digest_of(self.size if self.values is None else self.values)

    def _unknown(self) -> InputTypeError:
        if self.values is None:
            said = f"0 .. {self.size - 1}"
        else:
            said = ", ".join(map(repr, self.values[:8])) + (", ..." if self.size > 8 else "")
        return InputTypeError(
            f"a value is not in the declared domain ({said}); nothing was reported"
        )


def _all_integers(values: Sequence[Any]) -> bool:
    return all(type(value) is int and abs(value) < 1 << 62 for value in values)


def _number(domain: object) -> int:
    number = domain.size if isinstance(domain, Domain) else domain
    return whole(number, name="domain", at_least=2, at_most=MOST_VALUES)


def _values(domain: Any) -> tuple[Value, ...] | None:
    if isinstance(domain, Domain):
        return domain.values
    if isinstance(domain, str | bytes) or not isinstance(domain, Sequence | np.ndarray):
        if isinstance(domain, int | np.integer) and not isinstance(domain, bool):
            return None
        problem = "must be a list of public values, or the number of values"
        raise ParameterError("domain", domain, problem)
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in domain)
    if not 2 <= len(names) <= MOST_VALUES:
        raise ParameterError("domain", len(names), f"must have 2 to {MOST_VALUES:,} values")
    if not all(isinstance(name, str | int) for name in names):
        raise ParameterError("domain", domain, "must hold texts, integers or truth values")
    if len(set(names)) < len(names):
        problem = "must hold different values (1 and True are equal)"
        raise ParameterError("domain", domain, problem)
    return names


def _searchable(
    values: tuple[Value, ...] | None,
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """The values as a sorted array and their places, where numpy holds them without a change."""
    if values is None or len({type(value) for value in values}) > 1:
        return None, None
    if isinstance(values[0], int) and max(abs(value) for value in values) >= 1 << 62:  # type: ignore[arg-type]
        return None, None
    array = np.array(values)
    if array.dtype.kind not in "iUb" or array.tolist() != list(values):
        return None, None
    order = np.argsort(array, kind="stable")
    return array[order], order

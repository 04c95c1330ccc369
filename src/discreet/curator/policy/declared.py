"""Columns, units and lookup tables of a policy file, as the values that questions rely on.

Each is written as one short TOML value: `{ low = 0, high = 400000 }`, `{ keys = ["a", "b"] }`,
`"hidden"`. Which one is meant is seen from its keys; what is wrong with it is said together with
the words that mend it.
Tested by tests/curator/policy/test_declared.py
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from discreet.curator.policy.form import Epsilon, Form, Number, said, unknown, wrong
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.privacy.guarantee import Neighbours
from discreet.query.schema import (
    MOST_KEYS,
    Boolean,
    Bounds,
    Dates,
    Declared,
    Enforced,
    FindBounds,
    FreeText,
    Hidden,
    Keys,
    PerPerson,
    PerRow,
    PublicTable,
    Unit,
)
from discreet.query.words import meant

__all__ = ["column_of", "lookup_of", "unit_of"]

_WORDS: dict[str, Declared] = {"boolean": Boolean(), "text": FreeText(), "hidden": Hidden()}
_FORMS = (
    '{ low = 0, high = 400000, grid = 1 }, { keys = ["a", "b"] }, { from = 2021, to = 2024 }, '
    "{ first = 2000-01-01, last = 2024-12-31 }, { find = true, epsilon = 0.1 }, "
    '"boolean", "text" or "hidden"'
)


# columns


class _BoundsForm(Form):
    hint: ClassVar[str] = "{ low = 0, high = 400000, grid = 1 }"
    low: Number
    high: Number
    grid: Number | None = None
    missing: Number | None = None

    def declared(self) -> Declared:
        if not self.high > self.low:
            raise wrong(f"high must be above low, got {shown(self.high)}; say {self.hint}")
        return Bounds(self.low, self.high, self.grid, missing=self.missing)


class _KeysForm(Form):
    hint: ClassVar[str] = '{ keys = ["a", "b"] }'
    keys: list[Any]

    @field_validator("keys")
    @classmethod
    def _are_plain(cls, keys: list[Any]) -> list[Any]:
        for key in keys:
            if isinstance(key, datetime) or not isinstance(key, bool | int | str | date):
                problem = "must be text, whole numbers, dates, or true and false"
                raise wrong(f"{problem}, got {said(key)}")
            if key == "":
                raise wrong('must not be empty text: a missing value is no key, got ""')
        return keys

    def declared(self) -> Declared:
        return Keys(self.keys)


class _RangeForm(Form):
    hint: ClassVar[str] = "{ from = 2021, to = 2024 }"
    first: Annotated[int, Field(alias="from")]
    last: Annotated[int, Field(alias="to")]

    def declared(self) -> Declared:
        if not self.first <= self.last:
            raise wrong(f"to must not be below from, got {said(self.last)}; say {self.hint}")
        if self.last - self.first >= MOST_KEYS:
            raise wrong(
                f"from and to must be at most {MOST_KEYS} keys apart; for a number that is summed "
                f"say {_BoundsForm.hint}"
            )
        return Keys(range(self.first, self.last + 1))


class _DatesForm(Form):
    hint: ClassVar[str] = "{ first = 2000-01-01, last = 2024-12-31 }"
    first: date
    last: date

    def declared(self) -> Declared:
        if not self.first < self.last:
            raise wrong(f"last must be after first, got {self.last}; say {self.hint}")
        for name, day in (("first", self.first), ("last", self.last)):
            if not 1000 <= day.year <= 9000:
                raise ParameterError(name, day, "must lie between the years 1000 and 9000")
        return Dates(self.first, self.last)


class _FindForm(Form):
    hint: ClassVar[str] = "{ find = true, epsilon = 0.1 }"
    find: Literal[True]
    epsilon: Epsilon

    def declared(self) -> Declared:
        return FindBounds(self.epsilon)


_BY_KEY: dict[str, type[_BoundsForm | _KeysForm | _RangeForm | _DatesForm | _FindForm]] = {
    "keys": _KeysForm,
    "find": _FindForm,
    "low": _BoundsForm,
    "high": _BoundsForm,
    "from": _RangeForm,
    "to": _RangeForm,
    "first": _DatesForm,
    "last": _DatesForm,
    "grid": _BoundsForm,
    "missing": _BoundsForm,
    "epsilon": _FindForm,
}


def column_of(value: object) -> Declared:
    """What is publicly known of a column, from what the file says."""
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    if isinstance(value, Mapping):
        for key, form in _BY_KEY.items():
            if key in value:
                return form.model_validate(value).declared()
        if value:
            raise wrong(f"{next(iter(value))} {unknown(next(iter(value)), list(_BY_KEY))}")
    raise wrong(f"must be one of {_FORMS}, got {said(value)}{meant(value, _WORDS)}")


# units


class _UnitForm(Form):
    per: Literal["row"] | None = None
    person: str | None = None
    neighbours: Literal["add_or_remove", "replace"] | None = None
    rows: Any = None
    people: Any = None
    together: Any = 1
    max_rows: Any = None
    max_groups: Any = None
    find_epsilon: Any = None
    bounding: Enforced = "best"
    trusted: bool = False


_OF_PEOPLE = ("people", "max_rows", "max_groups", "find_epsilon", "bounding", "trusted")


def unit_of(value: object, neighbours: Neighbours | None, family: str) -> Unit:
    """What a person is. The relation is the family's; None where that is not known yet."""
    if value == "row":
        return PerRow(neighbours=neighbours or "add_or_remove")
    if not isinstance(value, Mapping):
        raise wrong(
            'must be "row" (one row each) or { person = "employee_id" }, the column that names '
            f"the person, got {said(value)}"
        )
    form = _UnitForm.model_validate(value)
    relation = form.neighbours or neighbours or "add_or_remove"
    if neighbours is None and (form.rows is not None or form.people is not None):
        relation = "replace"
    if neighbours is not None and relation != neighbours:
        problem = f'must be "{neighbours}", as the family {family} says, or be left out'
        raise ParameterError("neighbours", relation, problem)
    if (form.person is None) == (form.per is None):
        raise wrong(
            'must say whose a row is: { person = "employee_id" }, or { per = "row" } where '
            "everyone has one row"
        )
    if form.person is None:
        return _per_row(form, relation)
    if form.rows is not None:
        raise ParameterError("rows", None, "goes with per = 'row'; say people = ... instead")
    return PerPerson(
        form.person,
        max_rows=form.max_rows,
        max_groups=form.max_groups,
        bounding=form.bounding,
        trusted=form.trusted,
        neighbours=relation,
        people=form.people,
        together=form.together,
        find_epsilon=form.find_epsilon,
    )


def _per_row(form: _UnitForm, neighbours: Neighbours) -> PerRow:
    for name in _OF_PEOPLE:
        if name in form.model_fields_set:
            raise ParameterError(name, None, 'goes with person = "...", not with per = "row"')
    return PerRow(neighbours=neighbours, rows=form.rows, together=form.together)


# lookup tables


class _LookupForm(Form):
    key: Annotated[str, Field(examples=['key = "department"'])]
    rows: Annotated[
        list[dict[str, Any]], Field(examples=['rows = [{ department = "Fire", region = "east" }]'])
    ]


def lookup_of(value: object) -> PublicTable:
    """A public lookup table; what a row leaves out is missing there."""
    form = _LookupForm.model_validate(value)
    names = list(dict.fromkeys(name for row in form.rows for name in row if name != form.key))
    if not names:
        raise ParameterError("rows", None, "need a column besides the key")
    found: dict[Any, dict[str, Any]] = {}
    for number, row in enumerate(form.rows, 1):
        at = row.get(form.key)
        if at is None:
            raise ParameterError("rows", None, f"must all have the key {form.key}; not so {number}")
        if isinstance(at, list | dict | Decimal) or at in found:
            problem = "must have keys that are text, whole numbers or dates, each once"
            raise ParameterError("rows", at, problem)
        found[at] = {name: row.get(name) for name in names}
    return PublicTable(form.key, found)

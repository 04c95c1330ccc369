"""What each table of a policy file may say: its keys and their types, with errors in plain words.

A form is a pydantic model that takes no key it does not know and turns no type into another. What
is wrong with it comes back as a list of problems, each at the path of keys where it stands.
Tested by tests/curator/policy/test_form.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, ParamSpec, TypeVar, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from discreet.curator.policy.lines import Path
from discreet.errors import ParameterError
from discreet.exact import positive, probability, rational
from discreet.exact.rational import type_error
from discreet.privacy.guarantee import LARGEST_EPSILON, epsilon_of
from discreet.query.words import LONGEST, meant

__all__ = [
    "UNDECIDED", "AllowanceForm", "AmountForm", "AnalystForm", "BlockForm", "DatasetForm",
    "DefaultsForm", "FamilyForm", "Form", "LedgerForm", "Number", "Problem", "Problems",
    "ServerForm", "as_table", "said", "unknown", "wrong",
]  # fmt: skip

UNDECIDED = "DECIDE"
"""What a draft says where the owner has to choose."""
_TYPES = {
    "string_type": "must be text in quotes",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "date_type": "must be a date without quotes and without a time, such as 2027-12-31",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "list_type": 'must be a list, such as ["a", "b"]',
}
_CALLED = {
    "Keys": "keys",
    "Bounds": "low and high",
    "Dates": "first and last",
    "PublicTable": "rows",
    "PerPerson": "person",
}
"""What Python calls it, and what the file does."""
_WRITTEN = re.compile(r"(about )?[-+0-9./eE]+( bits)?")
_OWN = "policy"
_THIS = "this"


def said(value: object) -> str:
    """A value as it may be written in the file, in at most 60 letters.

    >>> said("a"), said(True), said(Decimal("0.10")), said([1, 2])
    ('"a"', 'true', '0.10', 'a list')
    """
    match value:
        case bool():
            text = str(value).lower()
        case str():
            text = f'"{value}"'
        case int() if value.bit_length() > 4 * LONGEST:
            text = f"a number of {value.bit_length()} bits"
        case Decimal() if not value.is_finite():
            text = str(float(value))
        case int() | Decimal() | Fraction() | date() | datetime() | time():
            text = str(value)
        case Mapping():
            text = "a table"
        case list() | tuple() | set():
            text = "a list"
        case _:
            text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


# problems


class Problem(NamedTuple):
    """What is wrong, in words, and the path of keys where it stands."""

    path: Path
    text: str


FormT = TypeVar("FormT", bound="Form")
Found = TypeVar("Found")
Given = ParamSpec("Given")


class Problems(list[Problem]):
    """Everything that is wrong with a file."""

    def add(self, path: Path, text: str) -> None:
        """Keep one more."""
        self.append(Problem(path, text))

    def tried(
        self, path: Path, make: Callable[Given, Found], *args: Given.args, **kwargs: Given.kwargs
    ) -> Found | None:
        """What is made from the value at a path, or None and its problems."""
        try:
            return make(*args, **kwargs)
        except ValidationError as error:
            for one in error.errors(include_url=False):
                self.add((*path, *one["loc"]), one["msg"])
        except ParameterError as error:
            self.add(path, _parameter(error, path[-1:]))
        return None

    def read(self, form: type[FormT], value: object, path: Path) -> FormT | None:
        """The table that stands at a path, or None and its problems."""
        return self.tried(path, form.model_validate, value)


def wrong(text: str) -> ParameterError:
    """A problem of the value that is read, in words that are complete."""
    return ParameterError(_THIS, None, text)


def _parameter(error: ParameterError, at: tuple[str | int, ...]) -> str:
    name = _CALLED.get(error.name, error.name)
    start = "" if at == (name,) or name == _THIS else f"{name} "
    problem = "must be a number" if error.problem == type_error else error.problem
    got = "" if error.value is None else f", got {_got(error.value)}"
    return f"{start}{problem}{got}"


def _got(value: object) -> str:
    """What another layer quotes: a list of words, or a number that it has written out."""
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return ", ".join(value)[:LONGEST]
    return value if isinstance(value, str) and _WRITTEN.fullmatch(value) else said(value)


class Form(BaseModel):
    """A table of the file. Its errors are in words, and a missing key is the table's."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)
    hint: ClassVar[str] = ""
    """What to say where a key of this table is missing, if its own example is not enough."""

    @model_validator(mode="wrap")
    @classmethod
    def _in_words(cls, value: Any, handler: ModelWrapValidatorHandler[FormT]) -> FormT:
        try:
            return handler(value)
        except ValidationError as error:
            told = [cls._told(one) for one in error.errors(include_url=False)]
            raise ValidationError.from_exception_data(cls.__name__, told) from None

    @classmethod
    def _told(cls, error: ErrorDetails) -> InitErrorDetails:
        loc, text = error["loc"], error["msg"]
        match error["type"]:
            case "policy":
                pass
            case "missing":
                text = f"{loc[-1]} is missing{cls._example(loc)}"
                loc = loc[:-1]
            case "extra_forbidden":
                text = unknown(loc[-1], cls._keys())
            case "literal_error":
                expected = error["ctx"]["expected"].replace("'", '"').replace("True", "true")
                text = f"must be {expected}, got {said(error['input'])}"
            case "value_error" if isinstance(error["ctx"]["error"], ParameterError):
                text = _parameter(error["ctx"]["error"], loc[-1:])
            case other:
                words = _TYPES.get(other, "cannot be used")
                text = f"{words}, got {said(error['input'])}{cls._example(loc)}"
        told = PydanticCustomError(_OWN, "{text}", {"text": text})
        return InitErrorDetails(type=told, loc=loc, input=error["input"])

    @classmethod
    def _keys(cls) -> list[str]:
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def _example(cls, loc: tuple[str | int, ...]) -> str:
        examples = [
            example
            for name, field in cls.model_fields.items()
            if loc == (field.alias or name,)
            for example in field.examples or ()
        ]
        found = cls.hint or (examples[0] if examples else "")
        return f"; say {found}" if found else ""


def unknown(key: object, known: list[str]) -> str:
    """A key that is not known, with the one that was probably meant."""
    return f"is not known here{meant(key, known)}; known are: {', '.join(known)}"


# numbers, exactly as they were typed


def _number(value: object) -> Fraction:
    if isinstance(value, date):
        raise wrong("must be a number; a column of dates has { first = ..., last = ... }")
    return rational(value, name=_THIS)


def _epsilon(value: object) -> Fraction:
    return epsilon_of(value)


def _rho(value: object) -> Fraction:
    return positive(value, name="rho", at_most=LARGEST_EPSILON)


def _delta(value: object) -> Fraction:
    number = rational(value, name="delta")
    if not 0 <= number < Fraction(1, 128):
        problem = "must be 0, or above 0 and below 1/128, and far smaller"
        raise ParameterError("delta", value, problem)
    return number


def _confidence(value: object) -> Fraction:
    return probability(value, name="confidence")


Number = Annotated[Fraction, PlainValidator(_number)]
Epsilon = Annotated[Fraction, PlainValidator(_epsilon)]
Rho = Annotated[Fraction, PlainValidator(_rho)]
Delta = Annotated[Fraction, PlainValidator(_delta)]
Confidence = Annotated[Fraction, PlainValidator(_confidence)]


def _version(value: object) -> str:
    if isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable():
        return value
    if isinstance(value, str):
        raise wrong(f"must be a name of 1 to {LONGEST} printable letters, got {said(value)}")
    shown = f'version = "{value}"' if isinstance(value, int | date) else 'version = "2024-12"'
    raise wrong(f"must be text in quotes; say {shown}")


Version = Annotated[str, PlainValidator(_version)]


# tables


class LedgerForm(Form):
    """Where the budget is kept: a file, or a PostgreSQL database with a head file."""

    path: str | None = None
    address: str | None = None
    head: str | None = None


class AmountForm(Form):
    """A budget, in one of its forms."""

    accounting: Literal["pure", "zcdp"] | None = None
    epsilon: Epsilon | None = None
    delta: Delta = Fraction(0)
    rho: Rho | None = None


class FamilyForm(AmountForm):
    """People with one budget."""

    neighbours: Annotated[
        Literal["add_or_remove", "replace"],
        Field(examples=['neighbours = "add_or_remove", or "replace"']),
    ]
    releases: Literal["private", "public"] = "private"
    tells_rest: bool = False
    expires: date | None = None


class AllowanceForm(AmountForm):
    """The part of a family's budget that one analyst may use."""


class AnalystForm(Form):
    """Somebody who may ask."""

    expires: date | None = None
    allowance: dict[str, Any] = {}


class BlockForm(Form):
    """New data of one period."""

    source: Annotated[str, Field(examples=['source = "payroll-2025-q1.csv"'])]
    table: str | None = None
    version: Annotated[Version, Field(examples=['version = "2025-q1"'])]
    people: Annotated[
        Literal["own", "shared"],
        Field(examples=['people = "own" if nobody in it is in another part, else "shared"']),
    ]
    epsilon: Epsilon | None = None
    delta: Delta = Fraction(0)
    rho: Rho | None = None


class DefaultsForm(Form):
    """What a question costs that does not say it."""

    epsilon: Epsilon | None = None
    delta: Delta | None = None
    confidence: Confidence = Fraction(95, 100)


class ServerForm(Form):
    """How the curator is offered on a network."""

    host: str = "127.0.0.1"
    port: int = 8080
    names: list[str] = []
    certificate: str | None = None
    private_key: str | None = None
    secret: str | None = None
    sources: str | None = None
    deadlines: Annotated[list[Number], Field(examples=["deadlines = [1, 10, 60]"])] = []
    workers: int = 4
    requests_per_minute: int = 60


class DatasetForm(Form):
    """A table about people; units, columns and lookups are read by `declared`."""

    family: Annotated[str, Field(examples=['family = "staff"'])]
    source: Annotated[str, Field(examples=['source = "payroll.csv"'])]
    table: str | None = None
    version: Annotated[Version, Field(examples=['version = "2024-12"'])]
    unit: Annotated[Any, Field(examples=['unit = "row", or { person = "employee_id" }'])]
    row_limit: int | None = None
    options: dict[str, Any] = {}
    columns: Annotated[dict[str, Any], Field(examples=["[dataset.NAME.columns]"])]
    lookup: dict[str, Any] = {}
    block: dict[str, Any] = {}


def as_table(value: object) -> dict[str, Any]:
    """The value as a table, or an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

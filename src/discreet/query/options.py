"""SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (...): what a question may say about its own privacy.

The clause is cut out of the words of the question, after SELECT, before the rest is parsed. Its
values are constants; here is all that it may say:

    OPTIONS (epsilon = 0.5, delta = 1e-6)       the price; or rho = 0.1
    other = TRUE                                one more row for everything in no group
    extremes = 0.01                             MIN and MAX are the quantiles 0.01 and 0.99
    keys = {'note': ['a', 'b'], 'zip': NULL}    the keys of a grouping; NULL: select them privately
    combinations = [('clerk', 2023), ...]       only these combinations of keys are answered
Tested by tests/query/test_options.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

from sqlglot import TokenType

from discreet.errors import ParameterError, QueryError
from discreet.exact import positive, probability, shown
from discreet.privacy.guarantee import delta_of, epsilon_of
from discreet.query.sugar import day_of
from discreet.query.tree import Token, number
from discreet.query.words import meant

__all__ = ["NO_OPTIONS", "Options", "Said", "not_below", "split"]

Said = int | Fraction | bool | str | date
"""A key as it is written: the number itself, not the multiple of its grid."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a question says besides its SQL; see the top of this file."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    other: bool = False
    extremes: Fraction | None = None
    keys: dict[str, tuple[Said, ...] | None] = field(default_factory=dict)
    combinations: tuple[tuple[Said, ...], ...] | None = None


NO_OPTIONS = Options()
SMALLEST_EPSILON = Fraction(1, 10**20)
"""A smaller epsilon gives noise beyond all numbers, and error figures beyond all floats."""
SMALLEST_RHO = SMALLEST_EPSILON**2
_EXAMPLE = "say SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) FROM t"


def split(tokens: Sequence[Token]) -> tuple[list[Token], Options]:
    """The words without the clause, and what the clause says."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0 and token.token_type is TokenType.SELECT:
            if not _starts(tokens, i + 1):
                break
            reader = _Reader(tokens, i + 3)
            options = reader.clause()
            return [*tokens[: i + 1], *tokens[reader.at :]], options
    if any(_starts(tokens, i) for i in range(len(tokens))):
        raise QueryError(f"WITH DIFFERENTIAL_PRIVACY follows the outermost SELECT; {_EXAMPLE}")
    return list(tokens), NO_OPTIONS


def _starts(tokens: Sequence[Token], at: int) -> bool:
    """Whether the words WITH DIFFERENTIAL_PRIVACY stand here, not as a name or a text."""
    if at + 1 >= len(tokens) or tokens[at].token_type is not TokenType.WITH:
        return False
    said = tokens[at + 1]
    return said.token_type is TokenType.VAR and said.text.upper() == "DIFFERENTIAL_PRIVACY"


class _Reader:
    """A walk over the words of the clause."""

    def __init__(self, tokens: Sequence[Token], at: int) -> None:
        self._tokens, self.at = tokens, at

    def _is(self, kind: TokenType) -> bool:
        return self.at < len(self._tokens) and self._tokens[self.at].token_type is kind

    def _take(self, kind: TokenType) -> str:
        if not self._is(kind):
            raise QueryError(f"OPTIONS cannot be read; {_EXAMPLE}")
        self.at += 1
        return str(self._tokens[self.at - 1].text)

    def _word(self) -> str:
        if self.at >= len(self._tokens):
            raise QueryError(f"OPTIONS cannot be read; {_EXAMPLE}")
        self.at += 1
        return str(self._tokens[self.at - 1].text)

    def clause(self) -> Options:
        """OPTIONS ( name = value, ... ), or nothing."""
        if self.at >= len(self._tokens) or self._tokens[self.at].text.upper() != "OPTIONS":
            return NO_OPTIONS
        self.at += 1
        self._take(TokenType.L_PAREN)
        said: dict[str, Any] = {}
        while not self._is(TokenType.R_PAREN):
            name = self._word().lower()
            if name in said:
                raise QueryError(f"OPTIONS says {name[:40]!r} twice")
            self._take(TokenType.EQ)
            said[name] = self.value()
            if not self._is(TokenType.R_PAREN):
                self._take(TokenType.COMMA)
        self._take(TokenType.R_PAREN)
        return _made(said)

    def value(self) -> Any:
        """A constant, a list of them, or a map from names to them."""
        for kind, constant in (
            (TokenType.TRUE, True), (TokenType.FALSE, False), (TokenType.NULL, None),
        ):  # fmt: skip
            if self._is(kind):
                self.at += 1
                return constant
        if self._is(TokenType.STRING):
            return self._take(TokenType.STRING)
        if self._is(TokenType.DATE):
            self.at += 1
            return day_of(self._take(TokenType.STRING))
        if self._is(TokenType.L_BRACKET):
            return self._list(TokenType.L_BRACKET, TokenType.R_BRACKET)
        if self._is(TokenType.L_PAREN):
            return self._list(TokenType.L_PAREN, TokenType.R_PAREN)
        if self._is(TokenType.L_BRACE):
            return self._map()
        return self._number()

    def _number(self) -> Fraction:
        sign = -1 if self._is(TokenType.DASH) else 1
        self.at += sign < 0
        top = self._digits()
        if self._is(TokenType.SLASH):
            self.at += 1
            bottom = self._digits()
            if bottom == 0:
                raise QueryError("OPTIONS divides by 0")
            top /= bottom
        return sign * top

    def _digits(self) -> Fraction:
        point = "0." if self._is(TokenType.DOT) else ""
        self.at += bool(point)
        return number(point + self._take(TokenType.NUMBER))

    def _list(self, opening: TokenType, closing: TokenType) -> list[Any]:
        self._take(opening)
        found = []
        while not self._is(closing):
            found.append(self.value())
            if not self._is(closing):
                self._take(TokenType.COMMA)
        self._take(closing)
        return found

    def _map(self) -> dict[str, Any]:
        self._take(TokenType.L_BRACE)
        found: dict[str, Any] = {}
        while not self._is(TokenType.R_BRACE):
            name = self._take(TokenType.STRING)
            self._take(TokenType.COLON)
            found[name] = self.value()
            if not self._is(TokenType.R_BRACE):
                self._take(TokenType.COMMA)
        self._take(TokenType.R_BRACE)
        return found


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise QueryError("OPTIONS needs other = TRUE or other = FALSE")
    return value


def _extreme(value: Any) -> Fraction:
    made = probability(value, name="extremes")
    if made >= Fraction(1, 2):
        raise QueryError("OPTIONS needs extremes below 1/2, such as 0.01")
    return made


def _keys(value: Any) -> dict[str, tuple[Said, ...] | None]:
    if not isinstance(value, dict):
        raise QueryError("OPTIONS needs keys = {'column': ['a', 'b']}")
    return {name: None if keys is None else _constants(keys) for name, keys in value.items()}


def _constants(values: Any) -> tuple[Said, ...]:
    if not isinstance(values, list) or not all(isinstance(v, Said) for v in values):
        raise QueryError("OPTIONS needs lists of constants as keys, none of them NULL")
    return tuple(values)


def _combinations(value: Any) -> tuple[tuple[Said, ...], ...]:
    if not isinstance(value, list):
        raise QueryError("OPTIONS needs combinations = [('a', 1), ('b', 2)]")
    return tuple(_constants(row) for row in value)


def not_below(value: Fraction, least: Fraction, *, name: str) -> Fraction:
    """The value, unless it is too small to be answered."""
    if value < least:
        raise ParameterError(name, shown(value), f"must be at least {shown(least)}")
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "epsilon": lambda value: not_below(epsilon_of(value), SMALLEST_EPSILON, name="epsilon"),
    "delta": delta_of,
    "rho": lambda value: not_below(positive(value, name="rho"), SMALLEST_RHO, name="rho"),
    "other": _flag,
    "extremes": _extreme,
    "keys": _keys,
    "combinations": _combinations,
}


def _made(said: dict[str, Any]) -> Options:
    for name in said:
        if name not in _READERS:
            known = ", ".join(_READERS)
            close = meant(name, _READERS)
            raise QueryError(f"OPTIONS knows no {name[:40]!r}{close}; there are: {known}")
    if "rho" in said and "epsilon" in said:
        raise QueryError("OPTIONS says epsilon and rho; say one of them")
    try:
        return Options(**{name: _READERS[name](value) for name, value in said.items()})
    except ParameterError as error:
        raise QueryError(f"in OPTIONS, {error.name} {error.problem}") from None

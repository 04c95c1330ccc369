"""Everything that discreet raises on purpose.

The whole tree, so that you know what to catch before you read any class:

* DiscreetError
    * ParameterError      (also a ValueError)     a number that was declared is not usable
    * InputTypeError      (also a TypeError)      a value has the wrong type, or is no number
    * RangeError          (also an OverflowError) an exact integer does not fit where it has to go
    * UnsupportedError    (also a TypeError)      the question has no meaning for this object
    * SourceExhaustedError                        a replayed source of randomness ran out
    * StreamEndedError                            a sparse-vector stream has given all its answers
    * BudgetExceededError                         a release costs more than is left
    * QueryError          (also a ValueError)     a question cannot be asked like this
    * NothingFoundError                           a private search was paid for and found nothing
    * EngineError                                 a database failed; only a data owner sees how
        * ChangedDataError                        files have changed under their version
    * LedgerError                                 the ledger cannot be used; nothing was computed
        * KeyUsedError                            a key names another question already
    * RemoteError                                 a server cannot be reached, or refuses the caller

A message names the thing, the value that was declared, and the way out. It never quotes private
data: parameters (epsilon, bounds, names) are public and may be quoted, values to release may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

__all__ = [
    "BudgetExceededError",
    "ChangedDataError",
    "DiscreetError",
    "EngineError",
    "InputTypeError",
    "KeyUsedError",
    "LedgerError",
    "NothingFoundError",
    "ParameterError",
    "QueryError",
    "RangeError",
    "RemoteError",
    "SourceExhaustedError",
    "StreamEndedError",
    "UnsupportedError",
]


class DiscreetError(Exception):
    """The root: catching it catches everything that discreet raises on purpose."""


class ParameterError(DiscreetError, ValueError):
    """A declared parameter cannot be used. Nothing was drawn and nothing was released.

    Attributes:
        name: the parameter, as the caller writes it.
        value: what was given (parameters are public); None where nothing was.
        ending: what became of it.
    """

    def __init__(
        self, name: str, value: object, problem: str, ending: str = "nothing was released"
    ) -> None:
        self.name = name
        self.value = value
        self.problem = problem
        self.ending = ending
        shown = _shown(value)
        got = "" if value is None else f", got {shown}"
        super().__init__(f"{name} {problem}{got}; {ending}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name, self.value, self.problem, self.ending)


def _shown(value: object) -> str:
    """The value in at most 60 letters; Python does not write integers of over 4,300 digits."""
    try:
        text = repr(value)
    except ValueError:
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


class InputTypeError(DiscreetError, TypeError):
    """A value to be released has the wrong type.

    Decided by the type alone, never by the value, with two exceptions that cannot be had otherwise:
    a real number that is not finite, and an answer that is none of the declared categories.
    """


class RangeError(DiscreetError, OverflowError):
    """An exact integer does not fit into its container; it is refused rather than wrapped."""


class UnsupportedError(DiscreetError, TypeError):
    """The question has no meaning for this object."""


class SourceExhaustedError(DiscreetError):
    """A replayed source has no values left. It never starts again from the beginning."""


class StreamEndedError(DiscreetError):
    """A stream that was allowed a fixed number of answers has given them all."""


class BudgetExceededError(DiscreetError):
    """A release costs more than is left of a budget. Nothing was charged, nothing was released.

    Attributes:
        asked: the loss that was to be charged.
        left: what is left, a `discreet.privacy.balance.Balance`.
        could: the largest epsilon of one more pure release that still fits, or None.
        told: what the asker may know, for machines, as plain values: `account`, `cost`, `left`, an
            `offer` with its errors, and `charged` where something had to be found first; empty
            where only the words are known.
    """

    def __init__(
        self,
        message: str,
        *,
        asked: object,
        left: object,
        could: object,
        told: Mapping[str, object] | None = None,
    ) -> None:
        self.asked = asked
        self.left = left
        self.could = could
        self.told = dict(told or {})
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        make = partial(
            type(self), asked=self.asked, left=self.left, could=self.could, told=self.told
        )
        return make, (str(self),)


class QueryError(DiscreetError, ValueError):
    """A question cannot be answered as it stands. Nothing was charged and no row was read.

    Decided by the question and the owner's declaration alone, so it tells nothing about the data.

    Attributes:
        problem: what is wrong, and the words that mend it.
        column: the name that is no column of the declaration, where that is what is wrong.
    """

    def __init__(self, problem: str, *, column: str | None = None) -> None:
        self.problem = problem
        self.column = column
        super().__init__(f"{problem}. Nothing was charged and no row was read")

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), column=self.column), (self.problem,)


class NothingFoundError(DiscreetError):
    """A private search for bounds found nothing that stands out from the noise; it was charged."""


class EngineError(DiscreetError):
    """A database failed. Its own words may quote rows, so they are shown to a data owner only."""


class ChangedDataError(EngineError):
    """The files of a dataset are not those that its version names. Nothing is answered from them.

    Its words are the owner's: they say what to do.
    """


class LedgerError(DiscreetError):
    """The ledger cannot be opened, written or believed. Nothing was computed and nothing sent."""


class KeyUsedError(LedgerError):
    """The key of an asking names another question already. Nothing was charged."""


class RemoteError(DiscreetError):
    """A curator elsewhere cannot be reached, refuses the caller, or answers what cannot be read.

    Attributes:
        kind: "unauthorized", "forbidden", "limit", "busy" or "internal", as the server says it;
            "unreachable" where no answer came, "unreadable" where it made no sense.
        key: the key of the question, where it had one: asking again under it is charged once.
    """

    def __init__(self, message: str, *, kind: str, key: str | None = None) -> None:
        self.kind = kind
        self.key = key
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), kind=self.kind, key=self.key), (str(self),)

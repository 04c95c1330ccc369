"""What a failure looks like from outside: one form, a few kinds, no more than an asker may know.

An asker may know what follows from the own question, the policy and the own budget. Everything
else (an engine, the ledger, a fault of the program) is told in one sentence that is always the
same, and its real words go to the owner's file.
Tested by tests/server/test_problems.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.curator.policy.reading import PolicyError
from discreet.errors import (
    BudgetExceededError,
    ChangedDataError,
    DiscreetError,
    EngineError,
    InputTypeError,
    KeyUsedError,
    LedgerError,
    NothingFoundError,
    ParameterError,
    QueryError,
    RangeError,
    UnsupportedError,
)

__all__ = ["KINDS", "Problem", "problem_of", "unavailable"]

KINDS: Mapping[str, int] = {
    "malformed": 400,
    "unauthorized": 401,
    "budget": 402,
    "forbidden": 403,
    "not_found": 404,
    "not_allowed": 405,
    "late": 408,
    "conflict": 409,
    "too_large": 413,
    "media": 415,
    "query": 422,
    "parameter": 422,
    "nothing_found": 422,
    "limit": 429,
    "internal": 500,
    "busy": 503,
    "unavailable": 503,
    "ledger": 503,
}
"""Every kind of failure, with its status."""
_FIXES = {
    "unauthorized": "Send a valid key as `Authorization: Bearer dk_...`, or sign in on the page.",
    "forbidden": "Ask the data owner for a role that may do this.",
    "budget": "Ask for less (with_what_is_left), or ask the data owner for a larger allowance.",
    "busy": "Ask again later with the same Idempotency-Key: it is charged once.",
    "unavailable": "Ask again later with the same Idempotency-Key: it is charged once.",
    "ledger": "Ask again later with the same Idempotency-Key: it is charged once.",
    "limit": "Wait for the seconds that Retry-After says.",
    "conflict": "Choose a new key for a new question.",
    "nothing_found": "Declare low and high of the column (or max_rows of the unit) in the policy, "
    "or a larger epsilon to find them with.",
    "internal": "Ask again with the same Idempotency-Key; tell the data owner if it happens again.",
}
_SHARED = (
    "A larger allowance would not help, and what is left for all is not told, so that nothing is "
    "offered: try a smaller epsilon. Your earlier answers stay, and what is computed from them is "
    "free; ask the data owner about newer data, or a larger budget of these people."
)
_OWN = (QueryError, ParameterError, InputTypeError, RangeError, UnsupportedError)
_UNAVAILABLE = "these data cannot be read now; nothing was charged"
_CHANGED = "Give the data a new version in the policy, or say there that the rows are the same."
_LEDGER = "the ledger cannot be used now; nothing was sent"
_INTERNAL = "something failed, and the data owner can see what"


@dataclass(eq=False)
class Problem(Exception):  # noqa: N818 - it is what is told, not only raised
    """A failure as it is told.

    Attributes:
        kind: one of `KINDS`.
        message: what is wrong.
        fix: the way out.
        more: further plain values, such as what is left.
        headers: to be sent with it.
        hidden: the real failure, where the message is not it.
    """

    kind: str
    message: str
    fix: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    hidden: BaseException | None = None

    @property
    def status(self) -> int:
        """The status of the answer."""
        return KINDS[self.kind]

    def told(self) -> dict[str, Any]:
        """As plain values."""
        fix = self.fix or _FIXES.get(self.kind, "")
        return {"error": self.kind, "message": self.message, "fix": fix, **self.more}


def problem_of(error: BaseException, *, owner: bool = False) -> Problem:
    """A failure as its asker may see it; an owner sees the real words.

    Args:
        error: the failure.
        owner: whether the owner asks.
    """
    match error:
        case Problem():
            return error
        case BudgetExceededError():
            could = error.could
            more = {} if could is None else {"could": str(could)}
            return Problem("budget", str(error), _way_out(error), more=more)
        case NothingFoundError():
            return Problem("nothing_found", str(error))
        case KeyUsedError():
            return Problem("conflict", str(error))
        case LedgerError():
            return Problem("ledger", str(error) if owner else _LEDGER, hidden=error)
        case EngineError():
            return unavailable(error, owner=owner)
        case PolicyError() if not owner:  # it names the file, and quotes what is in it
            return unavailable(error)
        case QueryError():
            return Problem("query", str(error))
        case DiscreetError() if isinstance(error, _OWN):
            return Problem("parameter", str(error))
        case _:
            words = f"{type(error).__name__}: {error}"
            return Problem("internal", words if owner else _INTERNAL, hidden=error)


def _way_out(error: BudgetExceededError) -> str:
    """What helps, where the usual advice would not; else nothing."""
    if error.asked is None:  # no allowance, or its time is over
        return "Ask the data owner for an allowance, or for more time."
    if error.left is None:  # what others share, of which the asker is not told the rest
        return _SHARED
    return ""


def unavailable(error: BaseException, *, owner: bool = False) -> Problem:
    """Data that cannot be read, whatever the reason is; an owner sees the real words.

    Args:
        error: the reason.
        owner: whether the owner asks.
    """
    words = f"{error}: {error.__cause__}" if error.__cause__ else str(error)
    fix = _CHANGED if owner and isinstance(error, ChangedDataError) else ""
    return Problem("unavailable", words if owner else _UNAVAILABLE, fix, hidden=error)

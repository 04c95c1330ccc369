"""What one person's device keeps: her reports, each drawn once, under a budget for all of them.

This file needs Python's standard library only, like `discreet.local.device`, whose questions it
answers. A device that takes part in a survey over the network is

    diary = Diary("my.diary", budget="4")
    question = Question(survey_at(address))
    diary.send(address, question, "tea")

Guarantee. All reports out of one diary, of any surveys and epochs, are together epsilon-
differentially private with its budget, whatever a collector asks for (new names, new epochs, the
same again) and whatever crashes: a report is on disk with its cost before it is handed out; asked
for again, the same is handed out; and what would exceed the budget is refused, by exact sums.
Neighbours. "replace": all values of one person are replaced by any others. That she takes part, and
when, is seen.
Assumes. Questions that cost what they say (`Question` does). A disk that keeps what it has
confirmed, and a diary that nobody copies or sets back. The epoch is told by the device's own clock.
Proof. Each report is private by itself, and a collector may choose the next question after having
seen the reports before: adaptive composition adds their epsilons up. Which reports are refused
follows from the public questions and the budget.
A device is called by another random name in each survey and epoch, so names do not tie its reports
together (with tickets, the name is the ticket's).
Tested by tests/local/test_diary.py
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import time
import urllib.error
import urllib.request
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Diary", "RefusedError", "survey_at"]

_MOST_BYTES, _SECONDS = 1 << 26, 30
_TABLE = (
    "CREATE TABLE IF NOT EXISTS reports (survey TEXT NOT NULL, epoch INTEGER NOT NULL, "
    "epsilon TEXT NOT NULL, device TEXT NOT NULL, report BLOB NOT NULL, "
    "PRIMARY KEY (survey, epoch)) STRICT, WITHOUT ROWID"
)


class RefusedError(ValueError):
    """A report was not drawn, or a collector did not take it."""


class Asked(Protocol):
    """What is answered: a `discreet.local.device.Question`."""

    epsilon: Fraction
    identity: str

    def epoch(self, now: float, /) -> int | None:
        """The number of the epoch at a time."""

    def place(self, value: object, /) -> int:
        """The place of a value, or ValueError."""

    def report(self, value: object, /) -> bytes:
        """A new report."""


class Diary:
    """The reports of one person, with a budget for all of them together.

    Args:
        path: where it is kept; made if it is not there.
        budget: the largest sum of the epsilons of all reports, exact as typed ("4", "7/2").
    """

    def __init__(self, path: str | Path, *, budget: str | int | Fraction) -> None:
        given: object = budget
        if isinstance(given, bool) or not isinstance(given, str | int | Fraction):
            raise RefusedError("budget must be a text or a whole number, which are exact")
        self.budget = Fraction(given)
        if not self.budget > 0:
            raise RefusedError(f"budget must be above 0, got {self.budget}")
        self.path = Path(path)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=_SECONDS)
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute(_TABLE)
        return connection

    @property
    def spent(self) -> Fraction:
        """The sum of the epsilons of all reports."""
        with closing(self._open()) as connection:
            return _sum(connection)

    def report(
        self, question: Asked, epoch: int, value: object, *, device: str | None = None
    ) -> tuple[str, bytes]:
        """The name and the report of this device in an epoch: drawn once, and then the same.

        What is asked again is not looked at: the first value counts.
        """
        key = (question.identity, epoch)
        with closing(self._open()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                found = connection.execute(
                    "SELECT device, report FROM reports WHERE survey = ? AND epoch = ?", key
                ).fetchone()
                if found is None:
                    self._afford(connection, question.epsilon)
                    found = device or os.urandom(16).hex(), question.report(value)
                    row = (*key, str(question.epsilon), *found)
                    connection.execute("INSERT INTO reports VALUES (?, ?, ?, ?, ?)", row)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        return str(found[0]), bytes(found[1])

    def _afford(self, connection: sqlite3.Connection, epsilon: Fraction) -> None:
        left = self.budget - _sum(connection)
        if not epsilon <= left:
            raise RefusedError(
                f"a report costs epsilon {epsilon} and {left} is left of {self.budget}; "
                "nothing was drawn"
            )

    def send(
        self, address: str, question: Asked, value: object, *,
        ticket: tuple[str, str] | None = None, now: float | None = None,
    ) -> str:  # fmt: skip
        """Send the report of this epoch: "counted", or "before" if it was counted before.

        Args:
            address: of the collector, such as "https://collect.example.org".
            question: of its survey.
            value: the answer; refused without being quoted if it is not in the domain.
            ticket: the name and the ticket of this device, where the survey needs them.
            now: the time in seconds since 1970; that of the device's clock.
        """
        question.place(value)
        epoch = question.epoch(time.time() if now is None else now)
        if epoch is None:
            raise RefusedError("no epoch is open now; nothing was drawn")
        device, report = self.report(question, epoch, value, device=ticket[0] if ticket else None)
        body: dict[str, Any] = {"survey": question.identity, "epoch": epoch, "device": device}
        body["report"] = base64.b64encode(report).decode()
        if ticket:
            body["ticket"] = ticket[1]
        status = _posted(f"{_checked(address)}/api/reports", json.dumps(body).encode())
        if status not in (201, 409):
            raise RefusedError(
                f"the collector answered {status}; send again later: the report is kept"
            )
        return "counted" if status == 201 else "before"


def survey_at(address: str) -> str:
    """The survey that a collector asks, as text for a `Question`."""
    asked = f"{_checked(address)}/api/survey"
    with urllib.request.urlopen(asked, timeout=_SECONDS) as told:  # noqa: S310
        data = told.read(_MOST_BYTES)
    try:
        survey = json.loads(data)["survey"]
    except (ValueError, TypeError, KeyError, RecursionError):
        survey = None
    if not isinstance(survey, str):
        raise RefusedError("this address tells no survey")
    return survey


def _checked(address: str) -> str:
    if not address.startswith(("http://", "https://")):
        raise RefusedError("an address begins with https:// or http://")
    return address.rstrip("/")


def _posted(address: str, body: bytes) -> int:
    asked = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(asked, timeout=_SECONDS) as told:  # noqa: S310
            return int(told.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def _sum(connection: sqlite3.Connection) -> Fraction:
    rows = connection.execute("SELECT epsilon FROM reports").fetchall()
    return sum((Fraction(text) for (text,) in rows), Fraction(0))

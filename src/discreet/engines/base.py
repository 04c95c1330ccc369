"""What every engine offers: its columns' types, and exact integers for a request.

An engine is trusted for exactness only. It sees no epsilon and no budget, and what it returns is
private. Failures are `EngineError`s; whether their words may be shown is for the session to say.
Tested by tests/engines/contract.py, through tests/engines/test_duckdb.py and its siblings
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal

from discreet.query.request import Cells, Request
from discreet.query.schema import Schema, Storage

__all__ = ["Engine", "Hashing"]

Hashing = Literal["engine", "portable"]
"""The engine's own fast hash, or one that makes the same choice of rows on every engine."""


class Engine(ABC):
    """One table in one database.

    Attributes:
        dialect: the name of the SQL dialect.
        hashing: which hash chooses rows where people are sampled.
        key: the key of that hash: public or not, but independent of the data.
        files: the files that it reads; none where it reads memory, or a server.
    """

    dialect: str
    hashing: Hashing
    key: str
    files: Sequence[str] = ()

    @property
    @abstractmethod
    def storage(self) -> Mapping[str, Storage]:
        """How each column is stored, by its declared type; no row is read."""

    @abstractmethod
    def statement(self, request: Request) -> str:
        """The one SQL statement that answers the request."""

    def ready(self, request: Request) -> str:
        """What `run` needs of a request, which may be another form of its statement.

        Like it, it refuses what cannot be answered, and reads no row.
        """
        return self.statement(request)

    @abstractmethod
    def run(
        self,
        request: Request,
        statement: str | None = None,
        *,
        progress: bool = False,
        seconds: float | None = None,
    ) -> Sequence[Cells]:
        """The exact integers of every part, in order; EngineError if the database fails.

        `statement` is what `statement(request)` or `ready(request)` returned, if the caller has it
        already. A database that takes longer than `seconds` is stopped; that is a failure.
        """

    def expect(self, schema: Schema) -> None:  # noqa: B027 - most engines make nothing
        """Make what all questions under a declaration need, before anybody asks one.

        Otherwise who asks first would wait for it, and the next one see that somebody has asked.
        """

    def check_lines(self) -> None:  # noqa: B027 - most engines read rows, and no lines
        """Refuse lines of text that are no rows, which questions leave out; EngineError."""

    @abstractmethod
    def ping(self) -> None:
        """Check without reading any row that the database answers; EngineError if not."""

    def close(self) -> None:  # noqa: B027 - most engines hold nothing
        """Let go of the database."""

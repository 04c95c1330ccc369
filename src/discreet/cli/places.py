"""Which ledger is meant by a policy, a ledger's own file, or a data file that has one beside it.

Tested by tests/cli/test_places.py
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from discreet.curator.ledger.ledger import Ledger
    from discreet.curator.policy.model import Policy

__all__ = ["Place", "is_policy", "place_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """A ledger that somebody named.

    Attributes:
        address: of the ledger.
        head: its head file; None for the one beside it.
        policy: where a policy was named.
        data: where a data file was named.
    """

    address: str
    head: Path | None = None
    policy: Policy | None = None
    data: Path | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a ledger; that of a server is believed to be there."""
        return self.address.startswith("postgres") or Path(self.address).exists()

    @property
    def is_made(self) -> bool:
        """Whether somebody has made the ledger, also if it is gone since, and only its head file is
        left; a server is asked. LedgerError where that does not answer.
        """
        from discreet.curator.ledger.ledger import head_path  # noqa: PLC0415 - it loads a database
        from discreet.curator.ledger.making import is_empty  # noqa: PLC0415
        from discreet.curator.ledger.unfinished import was_finished  # noqa: PLC0415

        if was_finished(head_path(self.address, self.head)):
            return True
        return self.exists and not (self.address.startswith("postgres") and is_empty(self.address))

    def open(self) -> Ledger:
        """The ledger; LedgerError with the way out if there is none."""
        from discreet.curator.ledger.ledger import Ledger  # noqa: PLC0415 - it loads a database

        self.check()
        return Ledger(self.address, head=self.head)

    def looked_at(self) -> tuple[Ledger, str | None]:
        """The ledger, also where it must not be used, such as one from a backup; and why not."""
        from discreet.curator.ledger.ledger import Ledger  # noqa: PLC0415 - it loads a database

        try:
            return self.open(), None
        except LedgerError as error:
            if not self.exists:
                raise
            return Ledger.unanchored(self.address, head=self.head), str(error)

    def check(self) -> None:
        """LedgerError with the way out if nobody made a ledger beside a data file."""
        if self.data is not None and not self.is_made:
            raise LedgerError(
                f"{self.data.name} has no ledger {Path(self.address).name} beside it: nothing was "
                "asked of it yet, or the ledger was moved"
            )


def is_policy(named: str) -> bool:
    """Whether this is the name of a policy file."""
    return named.lower().endswith(".toml")


def place_of(named: str) -> Place:
    """The ledger that belongs to a policy (.toml), a ledger (.ledger) or a data file."""
    if is_policy(named):
        from discreet.curator.policy.reading import read_policy  # noqa: PLC0415

        policy = read_policy(named)
        return Place(policy.ledger.address, policy.ledger.head, policy=policy)
    if named.startswith(("postgresql://", "postgres://")):
        problem = "must be named by its policy, which knows where its head file is"
        raise ParameterError("ledger", "postgresql://...", problem)
    path = Path(named)
    if path.suffix == ".ledger":
        return Place(named)
    if not path.exists() and not Path(f"{named}.ledger").exists():
        problem = "is not there; say a policy (.toml), a ledger (.ledger) or a data file"
        raise ParameterError("file", named, problem)
    return Place(f"{path.resolve()}.ledger", data=path)  # a link has the ledger of its file

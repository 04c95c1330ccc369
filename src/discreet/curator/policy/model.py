"""What a policy means, once it was read: frozen values, and one canonical form of them.

The canonical form holds everything that changes what is promised or answered, as plain JSON with
numbers as exact text. It does not depend on comments, order, spelling or the folder in which the
policy lies, and it holds no password.
Tested by tests/curator/policy/test_model.py
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from discreet.curator.ledger.amounts import Accounting, Limit
from discreet.privacy.guarantee import ZCDP, ApproxDP, Neighbours, PureDP
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
    PublicTable,
    Unit,
)

__all__ = [
    "Analyst", "Block", "Dataset", "Defaults", "Family", "Ledger", "Policy", "Releases", "Server",
    "declared_values", "is_address", "lookup_values", "unit_values", "without_password",
]  # fmt: skip

Releases = Literal["private", "public"]
OF_SPEED = ("threads", "timeout")
"""Options that change how fast an answer comes, not what it is."""
_SECRETS = ("password", "passfile", "sslpassword", "sslkey")


@dataclass(frozen=True, slots=True)
class Ledger:
    """Where the budget is kept.

    Attributes:
        address: the absolute path of a file, or a postgresql:// address.
        head: the file beside it that an old copy cannot agree with.
    """

    address: str
    head: Path


@dataclass(frozen=True, slots=True)
class Family:
    """People with one budget, over everything that is about them.

    Attributes:
        limit: the most that may be spent on them.
        releases: "private", or "public": then a stored answer is free for every analyst.
        expires: the last day on which questions are answered.
        tells_rest: whether an analyst who is refused is told what is left of the family's budget,
            which tells what others have spent.
    """

    name: str
    limit: Limit
    releases: Releases = "private"
    expires: date | None = None
    tells_rest: bool = False

    @property
    def accounting(self) -> Accounting:
        """How losses add up."""
        return self.limit.accounting

    @property
    def neighbours(self) -> Neighbours:
        """Between which data nobody can tell."""
        return self.limit.guarantee.neighbours

    def canonical(self) -> dict[str, Any]:
        """As plain values; what came later is left out where it is not said."""
        told = {**_limit(self.limit), "releases": self.releases, "expires": _day(self.expires)}
        return {**told, "tells_rest": True} if self.tells_rest else told


@dataclass(frozen=True, slots=True)
class Analyst:
    """Somebody who may ask, with the most that each family's people may lose to them."""

    name: str
    allowances: Mapping[str, Limit]
    expires: date | None = None

    def canonical(self) -> dict[str, Any]:
        """As plain values; no secret is among them."""
        allowances = {name: _limit(limit) for name, limit in self.allowances.items()}
        return {"allowances": allowances, "expires": _day(self.expires)}


@dataclass(frozen=True, slots=True)
class Block:
    """New data of one period.

    Attributes:
        own_people: nobody in it is in another part; then it has a budget of its own.
        limit: that budget; None where the family's is charged.
    """

    name: str
    source: str
    table: str | None
    version: str
    own_people: bool
    limit: Limit | None

    def canonical(self, folder: Path) -> dict[str, Any]:
        """As plain values."""
        limit = None if self.limit is None else _limit(self.limit)
        where = {"source": _source(self.source, folder), "table": self.table}
        return {**where, "version": self.version, "own_people": self.own_people, "limit": limit}


@dataclass(frozen=True, slots=True)
class Dataset:
    """One table about people of one family.

    Attributes:
        source: an absolute path or pattern, or an address.
        table: which table, of a database.
        version: the name of this state of the data.
        folder: where the policy lies.
    """

    name: str
    family: str
    source: str
    table: str | None
    version: str
    unit: Unit
    columns: Mapping[str, Declared]
    lookups: Mapping[str, PublicTable]
    row_limit: int
    options: Mapping[str, Any]
    blocks: Mapping[str, Block]
    folder: Path

    def account(self, block: str | None = None) -> str:
        """The budget that a question about this part charges: "staff", or "staff/2025-q1".

        Blocks of one name in one family share a budget, because their people are the same.
        """
        if block is None or not self.blocks[block].own_people:
            return self.family
        return f"{self.family}/{block}"

    def meaning(self, block: str | None = None) -> dict[str, Any]:
        """What the answers of one part depend on, as plain values: neither budgets nor people who
        may ask, nor other parts.
        """
        part: Dataset | Block = self if block is None else self.blocks[block]
        return {
            "family": self.family,
            "source": _source(part.source, self.folder),
            "table": part.table,
            "version": part.version,
            "unit": unit_values(self.unit),
            "columns": {name: declared_values(said) for name, said in self.columns.items()},
            "lookups": {name: lookup_values(table) for name, table in self.lookups.items()},
            "row_limit": str(self.row_limit),
            "options": {k: _plain(v) for k, v in self.options.items() if k not in OF_SPEED},
        }

    def fingerprint(self, block: str | None = None) -> str:
        """The sha256 of `meaning`."""
        return _digest(self.meaning(block))

    def canonical(self) -> dict[str, Any]:
        """The dataset and its blocks as plain values."""
        blocks = {name: one.canonical(self.folder) for name, one in self.blocks.items()}
        return {**self.meaning(), "blocks": blocks}


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a question costs if it does not say so, and the confidence of intervals."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)

    def canonical(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "epsilon": _number(self.epsilon),
            "delta": _number(self.delta),
            "confidence": str(self.confidence),
        }


@dataclass(frozen=True, slots=True)
class Server:
    """How the curator is offered on a network; no part of what is promised or answered.

    Attributes:
        host: the address that it listens at.
        port: and the port.
        names: by which names it may be called; those of this machine itself if none is said.
        certificate: the file of its certificate, for TLS; with
        private_key: the file of its key.
        secret: the file of the secret that keys and passwords are kept with.
        sources: the folder whose files an owner may register from the page.
        deadlines: when answers leave, in seconds after they were asked for.
        workers: how many questions run at once.
        requests_per_minute: of one person or key.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    private_key: Path | None = None
    secret: Path | None = None
    sources: Path | None = None
    deadlines: tuple[Fraction, ...] = (Fraction(1), Fraction(10), Fraction(60))
    workers: int = 4
    requests_per_minute: int = 60


@dataclass(frozen=True)
class Policy:
    """Everything that the owner decided; made by `read_policy` and `parse_policy`.

    Attributes:
        folder: where the policy file lies; paths in it start there.
        server: how it is offered on a network; it is no part of the canonical form.
    """

    folder: Path
    ledger: Ledger
    families: Mapping[str, Family]
    analysts: Mapping[str, Analyst]
    datasets: Mapping[str, Dataset]
    defaults: Defaults
    server: Server = Server()

    def canonical(self) -> dict[str, Any]:
        """The whole policy as plain JSON values, the same for every spelling of it."""
        return {
            "form": "discreet-policy/1",
            "ledger": {
                "address": _source(self.ledger.address, self.folder),
                "head": _source(str(self.ledger.head), self.folder),
            },
            "families": {name: one.canonical() for name, one in self.families.items()},
            "analysts": {name: one.canonical() for name, one in self.analysts.items()},
            "datasets": {name: one.canonical() for name, one in self.datasets.items()},
            "defaults": self.defaults.canonical(),
        }

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the canonical form, in hexadecimal."""
        return _digest(self.canonical())


def _digest(canonical: Mapping[str, Any]) -> str:
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


# plain values


def _number(value: Fraction | int | None) -> str | None:
    return None if value is None else str(value)


def _day(value: date | None) -> str | None:
    return None if value is None else value.isoformat()


def _limit(limit: Limit) -> dict[str, Any]:
    said: dict[str, Any] = {"accounting": limit.accounting}
    match limit.guarantee:
        case PureDP(epsilon, neighbours):
            return {**said, "epsilon": str(epsilon), "delta": "0", "neighbours": neighbours}
        case ApproxDP(epsilon, delta, neighbours):
            return {**said, "epsilon": str(epsilon), "delta": str(delta), "neighbours": neighbours}
        case ZCDP(rho, neighbours):
            return {**said, "rho": str(rho), "neighbours": neighbours}
        case other:
            raise AssertionError(other)  # limit_of makes no other


def unit_values(unit: Unit) -> dict[str, Any]:
    """What a person is, as plain values."""
    said = {"neighbours": unit.neighbours, "together": str(unit.together)}
    if not isinstance(unit, PerPerson):
        return {**said, "per": "row", "rows": _number(unit.rows)}
    most = unit.max_rows
    return {
        **said,
        "per": "person",
        "person": unit.column,
        "max_rows": most if most is None or most == "find" else str(most),
        "max_groups": _number(unit.max_groups),
        "bounding": unit.bounding,
        "trusted": unit.trusted,
        "people": _number(unit.people),
        "find_epsilon": _number(unit.find_epsilon),
    }


def declared_values(said: Declared) -> Any:
    """What is known of a column, as plain values."""
    match said:
        case Bounds():
            grid = str(said.grid) if said.grid_is_given else None  # else how it is stored decides
            missing = _number(said.missing)
            return {"low": str(said.low), "high": str(said.high), "grid": grid, "missing": missing}
        case FindBounds():
            return {"find": True, "epsilon": str(said.epsilon)}
        case Keys():
            return {"keys": [_plain(value) for value in said.values], "of": _type(said)}
        case Dates():
            return {"first": said.low.isoformat(), "last": said.high.isoformat()}
        case Boolean():
            return "boolean"
        case FreeText():
            return "text"
        case Hidden():
            return "hidden"


def lookup_values(table: PublicTable) -> dict[str, Any]:
    """A public lookup table as plain values, each with its type."""
    rows = [[_typed(at), *(_typed(value) for value in row)] for at, row in table.rows]
    return {"key": table.key, "columns": list(table.columns), "rows": rows}


def _typed(value: Any) -> Any:
    return None if value is None else [type(value).__name__, _plain(value)]


def _type(keys: Keys) -> str:
    return type(keys.values[0]).__name__


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | str) else str(value)


# sources


def is_address(source: str) -> bool:
    """Whether a source is a PostgreSQL address rather than a path."""
    return source.startswith(("postgresql://", "postgres://"))


def without_password(source: str) -> str:
    """A source as it may be shown and stored.

    >>> without_password("postgresql://ann:secret@db/staff?password=secret&sslmode=require")
    'postgresql://ann@db/staff?sslmode=require'
    """
    if not is_address(source):
        return source
    parts = urlsplit(source)
    user, _, host = parts.netloc.rpartition("@")
    user = user.partition(":")[0]
    kept = [(k, v) for k, v in parse_qsl(parts.query) if k.lower() not in _SECRETS]
    netloc = f"{user}@{host}" if user else host
    return urlunsplit((parts.scheme, netloc, parts.path, urlencode(kept), ""))


def _source(source: str, folder: Path) -> str:
    """Relative to the policy where it lies beside or below it, so that both can be moved."""
    if is_address(source):
        return without_password(source)
    below = os.path.relpath(source, folder)
    return source if below.startswith("..") else Path(below).as_posix()

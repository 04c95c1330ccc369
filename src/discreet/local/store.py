"""The reports of one survey on disk: one of each device and epoch, counted once, whatever crashes.

Guarantee. `add` answers after its transaction is on disk (SQLite, write-ahead log, a flush for each
commit). That a device has reported and what it reported are written in the same transaction, so
after any crash a report is counted if and only if its device is known to have reported: none that
was answered for is lost, none is counted twice.

What is kept. Of a device: HMAC-SHA256 under a key, of its name and the epoch; so the same device
looks different in each epoch, and nobody without the key can look for a name. Of a report: how
often each payload came, without its device and without its time (tables without row numbers, in
the order of what they hold). Bitmaps are added up and deleted after some thousand.

What is not promised. The report is private by itself, whoever reads it. The rest rests on whoever
runs the collector: they see names, addresses and times as reports come in, they hold the key, and
the file system may hold older pages. Nothing here can prove that they did not write that down.

Tickets are opt-in: once `require_tickets` was called, `needs_tickets` is true for ever, also in a
process that has the store open already, from its next transaction on.

The key lies in a file of its own beside the database (`.key`); a copy of the database alone tells
neither names nor which device said what. Without its key a store cannot be opened: another key
would count everybody again.
Tested by tests/local/test_store.py
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from discreet import private
from discreet.errors import LedgerError, ParameterError
from discreet.exact import whole
from discreet.local.collect import Collector, is_countable
from discreet.local.survey import Survey
from discreet.local.tickets import Tickets
from discreet.noise.source import new_key

__all__ = ["Store"]

FORMAT = "discreet-collected/1"
FOLD = 4096
"""Different bitmaps that wait before they are added up."""
_BUSY = 30.0
_PRAGMAS = (
    "journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "trusted_schema = OFF",
)  # fmt: skip
_TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
    (
        "CREATE TABLE seen (epoch INTEGER NOT NULL, device BLOB NOT NULL, "
        "PRIMARY KEY (epoch, device)) STRICT, WITHOUT ROWID"
    ),
    (
        "CREATE TABLE waiting (epoch INTEGER NOT NULL, payload BLOB NOT NULL, n INTEGER NOT NULL, "
        "PRIMARY KEY (epoch, payload)) STRICT, WITHOUT ROWID"
    ),
    "CREATE TABLE folded (epoch INTEGER PRIMARY KEY, counts BLOB NOT NULL) STRICT",
)


class Store:
    """Who has reported in which epoch, and what was reported in all. For one survey.

    Made by `Store.create` and `Store.open`.

    Attributes:
        survey: what is asked.
        tickets: which devices may report, where that is asked for.
        needs_tickets: whether it is.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, key: bytes) -> None:
        self.path = path
        self._connection, self._key, self._lock = connection, key, threading.Lock()
        self.survey = Survey.from_json(self._about("survey").decode())
        self._identity = self.survey.identity
        row = connection.execute("SELECT count(*) FROM waiting").fetchone()
        self._waiting = int(row[0])
        self.tickets = Tickets(hmac.digest(key, b"tickets", hashlib.sha256), self._identity)
        self.needs_tickets = self._has_tickets(connection)

    @classmethod
    def create(cls, path: str | Path, survey: Survey) -> tuple[Store, str]:
        """A new store, and the owner's key, which is not kept: only its hash is."""
        place = Path(path)
        if place.exists():
            raise ParameterError("store", place.name, "is there already")
        if _key_file(place).exists():
            problem = "is not there, but its key file is; remove that to begin anew"
            raise ParameterError("store", place.name, problem)
        key, owner = new_key(), f"ck_{new_key().hex()}"
        with os.fdopen(os.open(_key_file(place), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600),
                       "w", encoding="ascii") as file:  # fmt: skip
            file.write(key.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        private.make(place)
        connection = _connected(place)
        connection.execute("BEGIN IMMEDIATE")
        for statement in _TABLES:
            connection.execute(statement)
        about = {
            "format": FORMAT.encode(), "survey": survey.to_json().encode(),
            "owner": _hashed(owner), "key": _hashed(key.hex()),
        }  # fmt: skip
        connection.executemany("INSERT INTO about VALUES (?, ?)", list(about.items()))
        connection.execute("COMMIT")
        return cls(place, connection, key), owner

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """A store that was created before; refused without its key."""
        place = Path(path)
        if not place.exists():
            raise ParameterError("store", place.name, "is not there")
        try:
            key = bytes.fromhex(_key_file(place).read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            problem = "cannot be opened without its key file: everybody could report again"
            raise ParameterError("store", place.name, problem) from None
        private.keep_as(_key_file(place), place)
        connection = _connected(place)
        try:
            store = cls(place, connection, key)
            known = (store._about("format"), store._about("key"))
        except (sqlite3.DatabaseError, LedgerError):
            connection.close()
            raise ParameterError("store", place.name, "must be the store of a survey") from None
        if known != (FORMAT.encode(), _hashed(key.hex())):
            connection.close()
            problem = "must be opened with the key that it was created with"
            raise ParameterError("store", place.name, problem)
        return store

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def _about(self, name: str) -> bytes:
        row = self._connection.execute("SELECT value FROM about WHERE name = ?", [name]).fetchone()
        if row is None:
            raise LedgerError("the store is not whole")
        return bytes(row[0])

    def owned_by(self, key: str) -> bool:
        """Whether this is the owner's key."""
        return hmac.compare_digest(_hashed(key), self._about("owner"))

    def new_owner(self) -> str:
        """Another key for the owner; the old one is worth nothing any more."""
        owner = f"ck_{new_key().hex()}"
        with self._writing() as connection:
            connection.execute("UPDATE about SET value = ? WHERE name = 'owner'", [_hashed(owner)])
        return owner

    def require_tickets(self) -> None:
        """From now on only devices with tickets may report; there is no way back."""
        with self._writing() as connection:
            connection.execute("INSERT OR IGNORE INTO about VALUES ('tickets', x'01')")
        self.needs_tickets = True

    @staticmethod
    def _has_tickets(connection: sqlite3.Connection) -> bool:
        found = connection.execute("SELECT 1 FROM about WHERE name = 'tickets'").fetchone()
        return found is not None

    def device(self, name: str, epoch: int) -> bytes:
        """What is kept of a device."""
        message = f"{self._identity}|{epoch}|".encode() + name.encode()
        return hmac.digest(self._key, message, hashlib.sha256)

    def add(self, reports: Iterable[tuple[int, str, bytes]]) -> list[bool]:
        """Add epoch, device and payload of each: whether it was the device's first in the epoch.

        All of them are on disk when this returns; if it raises, adding them again is safe. The
        payloads have been checked (`payload_of`).
        """
        if self._waiting > FOLD and not is_countable(self.survey.oracle):
            self.fold()
        found = [(epoch, self.device(name, epoch), payload) for epoch, name, payload in reports]
        with self._writing() as connection:
            fresh = [self._put(connection, *one) for one in found]
            self.needs_tickets = self._has_tickets(connection)
        self._waiting += sum(fresh)
        return fresh

    @staticmethod
    def _put(connection: sqlite3.Connection, epoch: int, device: bytes, payload: bytes) -> bool:
        first = connection.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", [epoch, device])
        if first.rowcount != 1:
            return False
        connection.execute(
            "INSERT INTO waiting VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1",
            [epoch, payload],
        )
        return True

    def fold(self) -> None:
        """Add up what waits, in one transaction: a crash leaves all of it or nothing."""
        with self._writing() as connection:
            rows = connection.execute("SELECT DISTINCT epoch FROM waiting").fetchall()
            for (epoch,) in rows:
                counts = self._collected(connection, epoch).to_bytes()
                connection.execute("REPLACE INTO folded VALUES (?, ?)", [epoch, counts])
            connection.execute("DELETE FROM waiting")
        self._waiting = 0

    def collector(self, epoch: int) -> Collector:
        """The exact counts of an epoch; it merges with those of other stores of this oracle."""
        number = whole(epoch, name="epoch", at_least=0, at_most=self.survey.epochs - 1)
        with self._transaction("BEGIN") as connection:
            return self._collected(connection, number)

    def _collected(self, connection: sqlite3.Connection, epoch: int) -> Collector:
        oracle = self.survey.oracle
        row = connection.execute("SELECT counts FROM folded WHERE epoch = ?", [epoch]).fetchone()
        found = Collector(oracle) if row is None else Collector.from_bytes(row[0], oracle)
        rows = connection.execute(
            "SELECT payload, n FROM waiting WHERE epoch = ?", [epoch]
        ).fetchall()
        payloads: Sequence[bytes] = [one for one, _ in rows]
        counts = np.array([n for _, n in rows], dtype=np.int64)
        if is_countable(oracle):
            found.add_payloads(payloads, counts, skip=False)
        else:
            found.add(np.repeat(oracle.array_of(b"".join(payloads)), counts, axis=0))
        return found

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._connection
            try:
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                _give_up(connection)
                raise LedgerError(f"the store cannot be used now: {error}") from error
            except BaseException:
                _give_up(connection)
                raise


def _give_up(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_BUSY)
    try:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except sqlite3.DatabaseError:
        connection.close()
        raise ParameterError("store", path.name, "must be the store of a survey") from None
    return connection


def _key_file(path: Path) -> Path:
    return path.with_name(path.name + ".key")


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()

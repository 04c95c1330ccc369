"""The log as a hash chain: every entry names the one before it.

hash(n) = SHA-256 of (hash(n - 1), n, kind, body), with lengths, so that no two different logs have
the same bytes. Whoever holds hash(n) can tell whether a log still begins with the same n entries:
a change, a deletion, a swap or a truncation before n gives another hash or no entry n (unless
SHA-256 collides).
Tested by tests/curator/ledger/test_chain.py
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from struct import Struct
from typing import Any, NamedTuple

from discreet.errors import LedgerError, ParameterError
from discreet.noise.source import system_source

__all__ = [
    "START",
    "Entry",
    "Head",
    "canonical",
    "chained",
    "checked",
    "follows",
    "new_salt",
    "noise_mark",
    "quoted",
    "read_body",
]


class Head(NamedTuple):
    """The last entry of a log: its number and its hash. It may be published.

    Where the number is not for everybody it is 0, and the entry is found by its hash.
    """

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    @classmethod
    def read(cls, text: str) -> Head:
        """Read "17:3af..." back, or the hash alone."""
        found = re.fullmatch(r"(?:(0|[1-9][0-9]{0,17}):)?([0-9a-f]{64})", text.strip())
        if found is None:
            problem = "must look like 17:3af..., a number and 64 hexadecimal digits, or these alone"
            raise ParameterError("head", text, problem)
        return cls(int(found[1] or 0), found[2])


START = Head(0, "0" * 64)
"""The head of an empty log."""


class Entry(NamedTuple):
    """One line of the log."""

    seq: int
    kind: str
    body: str
    hash: str

    @classmethod
    def of(cls, row: Sequence[Any]) -> Entry:
        """An entry from its row."""
        return cls(int(row[0]), str(row[1]), str(row[2]), str(row[3]))

    @property
    def head(self) -> Head:
        """The head of a log that ends here."""
        return Head(self.seq, self.hash)

    def values(self) -> dict[str, Any]:
        """The body as plain values; LedgerError where it is none, or a value is not there."""
        return read_body(self.body, f"the ledger's entry {self.seq}")


class _Body(dict[str, Any]):
    """The values of an entry."""

    def __init__(self, values: Mapping[str, Any], what: str) -> None:
        super().__init__(values)
        self._what = what

    def __missing__(self, name: str) -> Any:
        raise _unreadable(self._what)


def read_body(body: object, what: str = "an entry of the ledger") -> dict[str, Any]:
    """The values of a body; LedgerError where it is none, or where one is asked for that it lacks.

    Args:
        body: as its row has it.
        what: whose it is, in words.
    """
    try:
        found = json.loads(body)  # type: ignore[arg-type]
    except (TypeError, ValueError, RecursionError) as error:
        raise _unreadable(what) from error
    if not isinstance(found, dict):
        raise _unreadable(what)
    return _Body(found, what)


def _unreadable(what: str) -> LedgerError:
    return LedgerError(
        f"{what} cannot be read: it was changed. Put a backup back; nothing was charged"
    )


quoted = json.encoder.encode_basestring_ascii
"""A text as `canonical` writes it."""
_JSON = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False
)
_parts: Any = json.encoder.c_make_encoder  # type: ignore[attr-defined]
if _parts is not None:  # what `encode` would make anew for every text
    _how = {"sort_keys": True, "skipkeys": False, "allow_nan": False}
    _parts = _parts(None, _JSON.default, quoted, None, ":", ",", *_how.values())


def canonical(values: Mapping[str, Any]) -> str:
    """Values as JSON text, the same for equal values: sorted names, no spaces, ASCII."""
    return _JSON.encode(values) if _parts is None else "".join(_parts(values, 0))


_LENGTH = Struct(">Q").pack


class _Told(dict[str, bytes]):
    """Words of which there are few, each with its length."""

    def __missing__(self, word: str) -> bytes:
        raw = word.encode()
        made = _LENGTH(len(raw)) + raw
        if len(self) < _WORDS:
            self[word] = made
        return made


_WORDS = 64
_KINDS = _Told()


def chained(before: str, seq: int, kind: str, body: str) -> str:
    """The hash of an entry, from that of the one before it."""
    number, text = b"%d" % seq, body.encode()
    parts = (
        bytes.fromhex(before), _LENGTH(len(number)), number, _KINDS[kind], _LENGTH(len(text)), text,
    )  # fmt: skip
    return sha256(b"".join(parts)).hexdigest()


def follows(head: Head, kind: str, body: str) -> Entry:
    """The entry that comes after a head."""
    seq = head.seq + 1
    return Entry(seq, kind, body, chained(head.hash, seq, kind, body))


def checked(entries: Iterable[Entry], after: Head = START) -> Iterable[Entry]:
    """The entries, one by one; LedgerError at the first that does not follow."""
    for entry in entries:
        wanted = after.seq + 1
        if entry.seq != wanted:
            raise LedgerError(f"the ledger's entry {wanted} is missing")
        if follows(after, entry.kind, entry.body) != entry:
            raise LedgerError(f"the ledger was changed at or before its entry {wanted}")
        after = entry.head
        yield entry


def noise_mark(noise: bytes) -> str:
    """What the log says of a noise key, so that no other can be put in its place.

    A key is 32 bytes that nobody can guess, so that this tells nothing of it, and nothing of the
    noise once the key is erased.
    """
    return sha256(b"noise key " + noise).hexdigest()


_SALTS: list[str] = []
"""Some that nobody has used, so that the system is not asked for every entry."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SALTS.clear)


def new_salt() -> str:
    """Something that nobody can guess, so that a hash shows nothing of the rest."""
    while True:
        try:
            return _SALTS.pop()
        except IndexError:
            many = system_source().array(128, 64).tobytes().hex()
            _SALTS.extend(many[at : at + 32] for at in range(0, len(many), 32))

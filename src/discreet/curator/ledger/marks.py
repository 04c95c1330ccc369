"""Marks of data: what the log says of the files behind a version, so that no other rows are taken
for the same.

A version names a state of the data. The first time that a version is seen, the ledger notes a mark
of the files behind it: a hash of their state under a salt. A question whose files do not agree with
the mark is refused, and so is a policy, until the owner gives the data another version or says that
the rows are the same; then the new state is noted, and the log says so.

The state of a file (its size above all) tells of the rows, and the salt stands beside the hash:
whoever has both may try sizes and times. So auditors are not told the salt, and the ledger is as
private as the data. Marks belong to a source and a version: the name of a dataset is no part of
what is asked, either.
Tested by tests/curator/ledger/test_marks.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, NamedTuple

from discreet.curator.ledger.chain import canonical, new_salt, read_body
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.statements import MARKS
from discreet.curator.ledger.writing import Writing

__all__ = [
    "KIND", "Data", "Mark", "Marks", "changed_words", "marks_in", "marks_of", "marks_on", "note",
    "otherwise",
]  # fmt: skip

KIND = "data"


@dataclass(frozen=True, slots=True, repr=False)
class Data:
    """One part of a dataset that lies in files, as they are now.

    Attributes:
        part: "payroll", or "payroll/2025-q1" for a block.
        source: the address of the files, as the policy has it.
        version: the owner's name for this state of the data.
        state: of the files; private.
    """

    part: str
    source: str
    version: str
    state: str

    @property
    def key(self) -> tuple[str, str]:
        """What its mark belongs to."""
        return self.source, self.version

    def __repr__(self) -> str:
        return f"<Data {self.part!r}, version {self.version!r}>"


class Mark(NamedTuple):
    """The state of some files, as the log has it."""

    salt: str
    digest: str

    def fits(self, data: Data) -> bool:
        """Whether the files are as they were."""
        return _digest(self.salt, data) == self.digest


Marks = Mapping[tuple[str, str], Mark]
"""By source and version."""


def _digest(salt: str, data: Data) -> str:
    text = canonical({"salt": salt, "of": data.key, "state": data.state})
    return hashlib.sha256(text.encode()).hexdigest()


def marks_of(told: Iterable[Mapping[str, Any]]) -> Marks:
    """The marks that entries say, the newest of each source and version."""
    found: dict[tuple[str, str], Mark] = {}
    for values in told:
        for source, version, digest in values["marks"]:
            found[str(source), str(version)] = Mark(str(values["salt"]), str(digest))
    return found


def marks_in(ledger: Ledger) -> Marks:
    """All marks of a ledger."""
    return marks_of(read_body(row[0]) for row in ledger.glance(MARKS))


def marks_on(on: Writing) -> Marks:
    """The same, in a transaction."""
    return marks_of(read_body(row[0]) for row in on.run(MARKS).fetchall())


def otherwise(marks: Marks, data: Iterable[Data]) -> list[Data]:
    """Data whose files are not as they were when their version was noted."""
    return [one for one in data if one.key in marks and not marks[one.key].fits(one)]


def note(on: Writing, data: Sequence[Data], at: str, *, same: Sequence[str] = ()) -> None:
    """Write down the states of files.

    Args:
        on: the transaction.
        data: what is noted.
        at: when.
        same: the parts of which the owner says that the rows are those of before.
    """
    salt = new_salt()
    different = {one.key: one for one in data}.values()
    marks = [[one.source, one.version, _digest(salt, one)] for one in different]
    on.append(KIND, {"at": at, "marks": marks, "salt": salt, "same": list(same)})


def changed_words(data: Data) -> str:
    """What is wrong, and the two ways out."""
    return (
        f"the files of {data.part!r} have changed since they were noted as version "
        f"{data.version!r}, and answers from different rows must not be taken for answers from the "
        "same. If the rows are others, give the data a new version in the policy and register it. "
        "If they are the same (the files were copied or touched), say so: `discreet register "
        f"policy.toml --same-data {quote(data.part)}`"
    )

"""What `discreet derive --json` writes: a release that was computed, and what it was computed of.

Of a parent in a ledger its id, entry and hash are kept, so that whoever holds the file can find it
there. Files that were written before they were kept tell the ids alone.
Tested by tests/cli/test_derived.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.curator.record import Record
    from discreet.curator.release import Release

__all__ = ["Derived", "Parent"]


@dataclass(frozen=True, slots=True)
class Parent:
    """A release that another one was computed of.

    Attributes:
        id: its id; or the name of its file, where it is in no ledger.
        dataset: what was asked.
        block: the part of its data.
        data_version: the owner's name for the data.
        entry: the number of the ledger's entry; 0 where it is not told to an analyst, None where
            there is none, or it is not known.
        head: the hash of that entry.
    """

    id: str
    dataset: str | None = None
    block: str | None = None
    data_version: str | None = None
    entry: int | None = None
    head: str | None = None

    @classmethod
    def of(cls, record: Record) -> Self:
        """A stored release."""
        return cls(
            record.id, record.dataset, record.block, record.data_version, record.entry, record.head
        )

    def words(self) -> str:
        """Where it is to be found; nothing where that is not known."""
        if self.entry is None:
            return ""
        part = f", block {self.block}" if self.block else ""
        told = f"{self.dataset}{part}, data version {self.data_version}"
        entry = str(self.entry) if self.entry else f"with the hash {self.head}"  # 0: not told
        return f" Release {self.id}: {told}; entry {entry} of the ledger."


@dataclass(frozen=True, slots=True)
class Derived:
    """A release that was computed of others, for free."""

    release: Release
    parents: tuple[Parent, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "free": True,
            "charged": None,
            "of": [one.id for one in self.parents],
            "parents": [asdict(one) for one in self.parents],
            "release": self.release.to_dict(),
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """Read `to_dict` back, also of files that tell no more than ids."""
        from discreet.curator.release import Release  # noqa: PLC0415

        given = told.get("parents") or [{"id": one} for one in told["of"]]
        try:
            parents = tuple(_checked(Parent(**one)) for one in given)
            if not parents:
                raise TypeError
        except TypeError:
            problem = "of a derived release do not have the form that `discreet derive` writes"
            raise ParameterError("parents", None, problem) from None
        return cls(Release.from_dict(told["release"]), parents)

    def words(self) -> str:
        """That it cost nothing, and what it was made of."""
        ids = [one.id for one in self.parents]
        which = f"release{'s' if len(ids) > 1 else ''} {_and(ids)}"
        whose = {1: "that release", 2: "both together"}.get(len(ids), "all of them together")
        return (
            f"This cost nothing: it was computed from {which}, no row was read, and nothing was "
            f"charged. Its guarantee is that of {whose}."
            f"{''.join(one.words() for one in self.parents)}"
        )

    def why_no_record(self) -> str:
        """Why there is nothing to be published about it, and the ways out."""
        ids = [one.id for one in self.parents]
        return (
            f"was computed from {_and(ids)}, and is in no ledger itself: there is no record of it "
            f"to be published. Publish {'those' if len(ids) > 1 else 'that one'}; `discreet show`, "
            "`plot` and `export --csv` take this one as it is"
        )


def _checked(one: Parent) -> Parent:
    """Text and a whole number where they belong; an entry with all that is told beside it."""
    given: dict[str, object] = asdict(one)
    entry = given.pop("entry")
    if not isinstance(given["id"], str) or not all(
        isinstance(text, str | None) for text in given.values()
    ):
        raise TypeError
    if entry is None:
        return one
    if type(entry) is not int or entry < 0 or None in (one.dataset, one.data_version, one.head):
        raise TypeError
    return one


def _and(names: Iterable[str]) -> str:
    return " and ".join(names)

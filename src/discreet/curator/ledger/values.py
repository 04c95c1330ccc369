"""What goes into a ledger and comes out: accounts, claims, charges, answers, promises.

Tested by tests/curator/ledger/test_ledger.py, tests/curator/ledger/test_values.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from discreet.curator.ledger.amounts import Accounting, Amount
from discreet.errors import ParameterError

__all__ = [
    "Account", "Charge", "Charged", "Claim", "Done", "Pending", "Promised", "Protected",
]  # fmt: skip

_NO_INFO: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Account:
    """Who may spend how much, and has."""

    id: int
    name: str
    accounting: Accounting
    total: Amount
    spent: Amount
    sealed: bool

    @property
    def left(self) -> Amount:
        """What may still be spent; nothing of a sealed account."""
        return Amount(0) if self.sealed else self.total - self.spent

    def to_dict(self) -> dict[str, Any]:
        """As plain values fit for JSON, numbers as exact text; `from_dict` reads it back."""
        return {
            "account": self.name,
            "accounting": self.accounting,
            "total": self.total.to_dict(self.accounting),
            "spent": self.spent.to_dict(self.accounting),
            "left": self.left.to_dict(self.accounting),
            "retired": self.sealed,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Account:
        """Read `to_dict` back; the number that a ledger gave the account is not told, and 0."""
        accounting, sealed = values["accounting"], values["retired"]
        if accounting not in ("pure", "zcdp") or not isinstance(sealed, bool):
            raise ParameterError("accounting", accounting, "and retired must be those of a ledger")
        total, spent = (Amount.from_dict(values[name], accounting) for name in ("total", "spent"))
        return cls(0, str(values["account"]), accounting, total, spent, sealed)


class Charge(NamedTuple):
    """What one account pays for a question.

    Attributes:
        account: its name.
        amount: how much.
        on_hit: whether it also pays where somebody else asked before: an allowance does, so that
            nobody sees who asked what; the people's budget does not.
    """

    account: str
    amount: Amount
    on_hit: bool = False


class Claim(NamedTuple):
    """A question that wants to be charged.

    Attributes:
        key: names this asking; the same key again is the same asking.
        digest: of everything that was asked under the key.
        canon: what is asked, the same for equal questions to equal data.
        size: how good the answer is, in units of what it costs the people.
        analyst: who asks.
        charges: who pays.
        policy: the fingerprint of the policy under which the price was made.
        info: what the log should tell, plain values.
        public: whether answers to others are public too; then a better one serves as well.
        finer: the keys of better answers that this one can be made of, the preferred first; None
            if nobody has looked for any yet.
        named: whether the asker chose the key, and may come back with it: then the ledger writes
            down which answer it got, also where that one was there.
    """

    key: str
    digest: str
    canon: str
    size: int
    analyst: str
    charges: tuple[Charge, ...]
    policy: str
    info: Mapping[str, Any]
    public: bool = False
    finer: tuple[str, ...] | None = ()
    named: bool = False


class Charged(NamedTuple):
    """A charge that this process has written: its entry, its hash, and who asked."""

    seq: int
    hash: str
    analyst: str


class Pending(NamedTuple):
    """A question that is charged and not answered yet.

    Attributes:
        key: the asking.
        noise: the key of its noise.
        seq: the entry of the charge.
        hash: of that entry.
        resumed: whether it was charged before, by somebody who did not come back.
        of: the key of the stored answer that it has to be made of; "" if it is a new one.
        failed: whether that one is the answer of a failure, which only the owner may know.
        paid: what was charged for it just now; nothing where it was charged before.
        first: whether it is known that nobody had asked the same before.
    """

    key: str
    noise: bytes
    seq: int
    hash: str
    resumed: bool
    of: str = ""
    failed: bool = False
    paid: tuple[Charge, ...] = ()
    first: bool = False

    def __repr__(self) -> str:
        return f"<Pending {self.key!r}: charged in entry {self.seq}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pending) and self[:-2] == other[:-2]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:-2])


class Done(NamedTuple):
    """An answer from the store.

    Attributes:
        key: the asking.
        answer: its text.
        seq: the entry of the charge that paid for it; for another analyst that of the own charge.
        hash: of that entry.
        hit: "" if it is this asking's own, "own" if it is that of an earlier asking of the same
            analyst, "other" if this asking was pointed at the answer of another.
        analyst: who asked.
        at: when it was asked; this and what follows is read from the log, and empty where an
            answer comes straight from being stored.
        info: what the log tells of this asking.
        canon: what was asked, the same for equal questions to equal data.
        paid: what was charged just now, where another's answer serves.
        failed: whether it is the answer of a failure, which only the owner may know.
    """

    key: str
    answer: str
    seq: int
    hash: str
    hit: str = ""
    analyst: str = ""
    at: str = ""
    info: Mapping[str, Any] = _NO_INFO
    canon: str = ""
    paid: tuple[Charge, ...] = ()
    failed: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Done) and self[:_WHICH] == other[:_WHICH]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:_WHICH])


_WHICH = Done._fields.index("at")
"""So many values say which answer it is; the others tell more of it."""


class Protected(NamedTuple):
    """Whom the questions to one source protect.

    Attributes:
        part: the name of the dataset, or dataset/block.
        account: that pays for them.
        whom: they protect, in words.
    """

    part: str
    account: str
    whom: str


@dataclass(frozen=True, slots=True)
class Promised:
    """What the budgets of a policy are counted in.

    Attributes:
        relations: which tables are neighbours, by family.
        protected: addresses of sources, and who is protected there; one may be there twice.
    """

    relations: Mapping[str, str] = field(default_factory=dict)
    protected: Sequence[tuple[str, Protected]] = ()

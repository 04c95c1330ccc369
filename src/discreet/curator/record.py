"""A stored release with its whole provenance: what was asked, under which policy, at what cost.

A record holds nothing private: everything in it was released, declared by the owner, or is an entry
of the ledger. The one thing that not everybody need see is the name of the analyst, which
`to_registry` leaves out.

The stored form is "discreet-record/1": complete, so that reading it back gives an equal record, and
strict, so that what a reader does not know is refused and never guessed. What a registry gets is
"discreet-registry/1". `discreet.curator.schemas` describes both for other programs.
Tested by tests/curator/test_record.py
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from discreet.curator.release import Release
from discreet.curator.stored import as_line, in_one_line, read_json
from discreet.errors import DiscreetError, ParameterError
from discreet.exact import written
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP, RandomDP, RenyiDP
from discreet.remembered import remembered

__all__ = ["REGISTRY", "SCHEMA", "Record"]

SCHEMA, REGISTRY = "discreet-record/1", "discreet-registry/1"
_FORMS = {"id": re.compile(r"[0-9A-Za-z_-]{1,64}"), "head": re.compile(r"[0-9a-f]{64}")}
_RELATIONS = {
    "add_or_remove": "one person is added or removed",
    "replace": "one person is replaced by another",
}


@dataclass(frozen=True, slots=True)
class Record:
    """One release as it was stored.

    Guarantee. None of its own: it tells that of `release`. It binds the release to the ledger: the
    entry with the number `entry` has the hash `head`, which nobody can make for another log.

    Attributes:
        id: short and unique; twelve hexadecimal digits of the content where `identified` gave it.
        release: the answer.
        question: the SQL as it was asked.
        plan: the same question in canonical SQL.
        dataset: what was asked.
        family: the datasets over the same people, which share a budget.
        block: the period or part whose budget was charged, where there are such blocks.
        data_version: the owner's name for the data that answered.
        policy_version: which of the owner's policies was in force.
        policy_fingerprint: a hash of that policy.
        entry: the number of the ledger's entry; 0 where it is not for the reader, who has its hash.
        head: the hash of that entry, 64 hexadecimal digits.
        analyst: who asked.
        software: what computed it, such as "discreet 0.1.0".
        unit: whom the promise protects, in words.
        cost: what was charged, in words.
    """

    id: str
    release: Release
    question: str
    plan: str
    dataset: str
    family: str
    block: str | None
    data_version: str
    policy_version: int
    policy_fingerprint: str
    entry: int
    head: str
    analyst: str
    software: str
    unit: str
    cost: str

    def __post_init__(self) -> None:
        if not isinstance(self.release, Release):
            raise ParameterError("release", type(self.release).__name__, "must be a Release")
        for name in ("policy_version", "entry"):
            number = getattr(self, name)
            if type(number) is not int or number < 0:
                raise ParameterError(name, number, "must be a whole number, 0 or above")
        texts = _texts(self)
        if self.block is not None or set(map(type, texts)) != {str}:
            for name, text in zip((*_TEXTS, "block"), (*texts, self.block), strict=True):
                if not isinstance(text, str) and (name != "block" or text is not None):
                    raise ParameterError(name, type(text).__name__, "must be text")
        for name, form in _FORMS.items():
            if not form.fullmatch(getattr(self, name)):
                problem = f"must have the form {form.pattern}"
                raise ParameterError(name, getattr(self, name), problem)

    @classmethod
    def identified(cls, **values: Any) -> Record:
        """A record whose id is made from its content: the same content has the same id.

        Twelve hexadecimal digits: among a million records two different ones share an id with a
        chance below one in 500.
        """
        made = cls(id="0", **values)
        text = json.dumps(made.to_dict(), sort_keys=True, allow_nan=False)
        return replace(made, id=hashlib.sha256(text.encode()).hexdigest()[:12])

    def unnumbered(self, software: str | None = None) -> Record:
        """The same without the number of its entry, and with other words for what computed it.

        What was checked of this one holds of that one, and is not checked again.
        """
        made = object.__new__(Record)
        put = object.__setattr__
        for name, value in zip(_ALL, _all(self), strict=True):
            put(made, name, value)
        put(made, "entry", 0)
        if software is not None:
            put(made, "software", software)
        return made

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values fit for JSON; `from_dict` reads it back."""
        told = dict(zip(_TOLD, _told(self), strict=True))
        return {"schema": SCHEMA, **told, "release": self.release.to_dict()}

    def to_line(self) -> str:
        """Everything, as JSON text in ASCII, in one line and without spaces."""
        asked = in_one_line(self.question)
        plan = asked if self.plan is self.question else in_one_line(self.plan)
        where, who = _pieces(_WHERE, _where(self)), _pieces(_WHO, _who(self))
        return (
            f'{{"schema":"{SCHEMA}","id":"{self.id}","question":{asked},"plan":{plan},{where},'
            f'"entry":{self.entry},"head":"{self.head}",{who},"release":{as_line(self.release)}}}'
        )

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything, as JSON text in ASCII, also written to a file where a path is given."""
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"
        if path is not None:
            Path(path).write_text(text, encoding="ascii", newline="")
        return text

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Record:
        """Read `to_dict` back; a field that is missing or not known is refused."""
        given: object = values
        if not isinstance(given, Mapping):
            raise ParameterError("source", type(given).__name__, "must be a stored record")
        if values.get("schema") != SCHEMA:
            raise ParameterError("schema", values.get("schema"), f"must be {SCHEMA!r}")
        told = {name: value for name, value in values.items() if name != "schema"}
        odd = sorted(map(str, set(told) ^ {item.name for item in fields(cls)}))
        if odd:
            raise ParameterError("fields", odd, "of a stored record are missing or not known here")
        if not isinstance(told["release"], Mapping):
            raise ParameterError("release", type(told["release"]).__name__, "must be a dictionary")
        return cls(**{**told, "release": Release.from_dict(told["release"])})

    @classmethod
    def from_json(cls, source: str | bytes | Path) -> Record:
        """Read `to_json` back, from its text or from a file: the record is equal to the first."""
        try:
            values = read_json(source)
        except DiscreetError as error:
            raise ParameterError("source", None, "is not the JSON of a record") from error
        return cls.from_dict(values)

    def to_registry(self, *, publisher: str = "", title: str = "") -> dict[str, Any]:
        """What a public registry of deployments asks for, as plain values.

        Nothing here is private, and who asked is left out. The fields:

        * schema: "discreet-registry/1", the name of this form.
        * record: the id, to find the release by.
        * title: what was released, in the owner's words, or the names of its columns and keys.
        * publisher: who answers for it, in the owner's words; None where nobody said.
        * date: the day of the release, in UTC.
        * question: the canonical SQL.
        * dataset, data_version: what it was computed from, as the owner names it.
        * model: always "central": one trusted curator held the data.
        * privacy_unit: whom the promise protects, in words.
        * neighbours, neighbours_in_words: the relation under which it holds, "add_or_remove" or
          "replace": a factor of two hides there.
        * definition: "pure", "approximate", "concentrated", "renyi" or "random".
        * epsilon, delta, rho: the parameters of this release, exact, as text; None where the
          definition has none. `gamma` and `curve` stand beside them for the last two definitions.
        * guarantee: the same in words.
        * mechanisms: how each column was made, in words.
        * accounting: how the ledger counted it, in words.
        * public: what was not protected, because it is public.
        * notes: what else a reader should know, such as keys that were selected privately.
        * post_processing: the steps since, which cost nothing.
        * confidence, covers: of the intervals.
        * rows: how many.
        * policy_version, policy_fingerprint, ledger_entry, ledger_head: to verify it by; the
          number of the entry is None where only its hash is for the reader.
        * software: what computed it.
        """
        release = self.release
        columns = ", ".join(name for name in release.columns if name not in release.keys)
        by = f" by {', '.join(release.keys)}" if release.keys else ""
        return {
            "schema": REGISTRY,
            "record": self.id,
            "title": title or f"{columns}{by}, from {self.dataset}",
            "publisher": publisher or None,
            "date": release.asked_at.date().isoformat(),
            "question": self.plan,
            "dataset": self.dataset,
            "data_version": self.data_version,
            "model": "central",
            "privacy_unit": self.unit,
            "neighbours": release.guarantee.neighbours,
            "neighbours_in_words": _RELATIONS[release.guarantee.neighbours],
            **_parameters(release.guarantee),
            "guarantee": str(release.guarantee),
            "mechanisms": dict(release.mechanisms),
            "accounting": f"{self.cost}, charged to the budget of {self.family!r} before any row "
            "was read",
            "public": [
                "the question and the names of its columns",
                "group keys that the owner declared",
                "the policy, the cost and the time",
            ],
            "notes": list(release.notes),
            "post_processing": list(release.steps),
            "confidence": str(release.confidence),
            "covers": release.covers,
            "rows": len(release),
            "policy_version": self.policy_version,
            "policy_fingerprint": self.policy_fingerprint,
            "ledger_entry": self.entry or None,
            "ledger_head": self.head,
            "software": self.software,
        }


_ALL = tuple(item.name for item in fields(Record))
_all = attrgetter(*_ALL)
_TOLD = tuple(name for name in _ALL if name != "release")
_TEXTS = tuple(name for name in _TOLD if name not in ("policy_version", "entry", "block"))
_told, _texts = attrgetter(*_TOLD), attrgetter(*_TEXTS)
_WHERE = _TOLD[_TOLD.index("dataset") : _TOLD.index("entry")]
_WHO = _TOLD[_TOLD.index("analyst") :]
_where, _who = attrgetter(*_WHERE), attrgetter(*_WHO)


@remembered(64)
def _pieces(names: tuple[str, ...], values: tuple[str | int | None, ...]) -> str:
    """A part of the line of a record that many records share."""
    return in_one_line(dict(zip(names, values, strict=True)))[1:-1]


def _parameters(guarantee: Guarantee) -> dict[str, Any]:
    told: dict[str, Any] = {"definition": "", "epsilon": None, "delta": None, "rho": None}
    match guarantee:
        case PureDP(epsilon=epsilon):
            return {**told, "definition": "pure", "epsilon": _text(epsilon), "delta": "0"}
        case ApproxDP(epsilon=epsilon, delta=delta):
            said = {"epsilon": _text(epsilon), "delta": _text(delta)}
            return {**told, "definition": "approximate", **said}
        case ZCDP(rho=rho):
            return {**told, "definition": "concentrated", "rho": _text(rho)}
        case RenyiDP(curve=curve):
            listed = [{"order": _text(a), "epsilon": _text(e)} for a, e in curve]
            return {**told, "definition": "renyi", "curve": listed}
        case RandomDP(epsilon=epsilon, gamma=gamma):
            said = {"epsilon": _text(epsilon), "gamma": _text(gamma)}
            return {**told, "definition": "random", **said}


def _text(number: Any) -> str:
    return written(number).strip("'")

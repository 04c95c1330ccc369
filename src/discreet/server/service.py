"""Everything that the routes do, without the web: one ledger, one policy, several curators.

One process has one open ledger, which all threads share, and a curator for each worker; a thread
has a curator for itself while it asks. Where the policy has changed (here, or by another server on
the same ledger), the file is read again before the next question.

What an asker may see is decided here: which datasets are there for them, and a record without what
would tell of others.
Tested by tests/server/test_service.py
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from discreet.curator.access import Access, Credential
from discreet.curator.asking import named_dataset
from discreet.curator.claims import OWNER, record_of
from discreet.curator.curator import Curator
from discreet.curator.faults import note_fault
from discreet.curator.joins import Joins
from discreet.curator.ledger.group import Member
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.listing import released
from discreet.curator.ledger.values import Account
from discreet.curator.metadata import MOST_LISTED, metadata
from discreet.curator.pace import UNHURRIED, Pace
from discreet.curator.policy.model import Dataset, Policy
from discreet.curator.policy.reading import read_policy
from discreet.curator.publishing import axes_of
from discreet.curator.record import Record
from discreet.curator.rehearsal import Rehearsal
from discreet.errors import DiscreetError, QueryError
from discreet.query.cells import counted
from discreet.query.plan import Plan
from discreet.query.stability import number_of_groups
from discreet.server.forms import Forms
from discreet.server.health import Health
from discreet.server.history import answers_before, paid_for
from discreet.server.loading import STATEMENTS, load
from discreet.server.problems import Problem, unavailable
from discreet.server.settings import Settings

with suppress(ImportError):  # there is none on Windows, where no ledger is kept
    import fcntl

__all__ = ["Changing", "Holding", "Service"]

_LOOKED_AT = 200
"""So many stored answers are looked at together."""
_PADDED_CELLS = 4096
"""The length of a publication of so many cells is known before a row is read."""
_CELLS_OF_A_ROW = 8
"""So many measured cells, with the digits of their numbers, need no more room than a row."""
_KEY = re.compile(r"[0-9A-Za-z_-]{1,64}")
"""What the name of an answer looks like; others are not looked for."""
_JUST = 0.05
"""Seconds for which it is known which policy the ledger follows."""


class Holding:
    """One version of the policy, with a curator for each worker.

    Args:
        policy: that version.
        make: makes one curator.
    """

    def __init__(self, policy: Policy, make: Callable[[Policy], Curator]) -> None:
        self.policy = policy
        self._free: list[tuple[str, Curator]] = []  # by whom each was used last
        self._made = 0
        self._make, self._lock = make, threading.Lock()
        self._ended = False

    @contextmanager
    def curator(self, who: str) -> Iterator[Curator]:
        """A curator for this thread alone: the one that remembers most of somebody's questions."""
        with self._lock:
            free = self._taken(who)
        found = free or self._make(self.policy)
        if free is None:
            with self._lock:
                self._made += 1
        try:
            yield found
        finally:
            found.pace = UNHURRIED
            with self._lock:  # not between `end` and what it lets go of
                ended = self._ended
                if not ended:
                    self._free.append((who, found))
            if ended:
                found.close()

    def _taken(self, who: str) -> Curator | None:
        """One that somebody used, the last one, or else the one that rests longest."""
        places = range(len(self._free) - 1, -1, -1)
        place = next((n for n in places if self._free[n][0] == who), 0)
        return self._free.pop(place)[1] if self._free else None

    def warm(self, workers: int) -> None:
        """Open all data before anybody asks, once for each worker."""
        for _ in range(workers - self._made):
            made = self._make(self.policy)
            for name, dataset in self.policy.datasets.items():
                for block in (None, *dataset.blocks):
                    with suppress(DiscreetError):  # whoever asks it is told
                        made.query(name, block=block)
            with self._lock:
                self._made += 1
                self._free.append(("", made))

    def end(self) -> None:
        """Let go of the data: at once, or when the last question is answered."""
        with self._lock:
            self._ended = True
            free, self._free = self._free, []
        for _, one in free:
            one.close()


class Changing:
    """One change of the policy file at a time, in all processes: locks its folder, as a context.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._folder, self._lock, self._file = path.parent, threading.Lock(), -1

    def __enter__(self) -> None:
        self._lock.acquire()
        try:
            self._file = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
        self._lock.release()


class Service:
    """The curator of one policy file, for many askers.

    Args:
        path: the policy file.
        settings: how the server behaves; from the policy if nothing is said.
        clock: what time it is, for expiry.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        settings: Settings | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.path = Path(path).absolute()
        policy = read_policy(self.path)
        self.settings = (settings or Settings(policy.server)).checked()
        self._clock = clock
        place = policy.ledger
        more = {} if clock is None else {"clock": clock}
        self.ledger = Ledger(place.address, head=place.head, **more)
        try:
            secret = self.settings.secret or policy.server.secret
            self.access = Access.at(self.ledger, secret, clock=clock)
            self._reading, self.changing = threading.Lock(), Changing(self.path)
            self.forms, self.health = Forms(), Health(self.ledger, follows=self._follows)
            self._rehearsals: dict[tuple[str, str], Rehearsal] = {}
            self._holding = Holding(policy, self._curator)
            self.ledger.following(policy.fingerprint)
        except BaseException:
            self.ledger.close()
            raise

    def close(self) -> None:
        """Let go of the data and of the ledger."""
        self.forms.close()
        self._holding.end()
        self.ledger.close()

    def _curator(self, policy: Policy) -> Curator:
        return Curator(policy, ledger=self.ledger, on_fault=self.note, clock=self._clock)

    def warm(self) -> None:
        """Get ready: the first question should take no longer than the next."""
        load()
        self.ledger.prepare(*STATEMENTS)
        self._holding.warm(self.settings.workers)

    def note(self, fault: BaseException) -> None:
        """Write down for the owner what nobody else is shown."""
        self.health.noticed(fault)
        with suppress(OSError):
            note_fault(self.ledger, fault)

    # the policy

    @property
    def policy(self) -> Policy:
        """The policy that the ledger follows; the file is read again where it has changed."""
        return self._current().policy

    def _current(self, who: Credential | None = None) -> Holding:
        """What the ledger follows; as was seen just now, where it was.

        What is charged is refused where the ledger follows another policy by then.
        """
        holding = self._holding
        if who is not None and time.monotonic() - who.seen < _JUST:
            follows = who.policy
        else:
            follows = self.ledger.policy[0]
        return holding if follows == holding.policy.fingerprint else self.reload()

    def _follows(self) -> bool:
        """Whether the ledger follows the policy file."""
        return self.ledger.policy[0] == self.policy.fingerprint

    def reload(self) -> Holding:
        """Read the policy file again."""
        with self._reading:
            policy = read_policy(self.path)
            self.ledger.following(policy.fingerprint)
            if policy.fingerprint != self._holding.policy.fingerprint:
                before, self._holding = self._holding, Holding(policy, self._curator)
                self._rehearsals.clear()  # who is at one ends it; nobody begins one of before
                before.end()
                self.warm()
            return self._holding

    # who may see what

    def asker(self, who: Credential, policy: Policy | None = None) -> str:
        """The name that the ledger knows somebody by; Problem for those who may not ask."""
        match who.person.role:
            case "owner":
                return OWNER
            case "analyst" if who.person.name in (policy or self.policy).analysts:
                return who.person.name
            case "analyst":
                words = "you are no analyst of this policy any more; nothing was charged"
                raise Problem("forbidden", words)
            case _:
                raise Problem("forbidden", "an auditor asks no questions; nothing was charged")

    def analyst(self, who: Credential, policy: Policy) -> str | None:
        """The same, as a curator is told it: None for the owner."""
        return self.asker(who, policy) or None

    def datasets(self, who: Credential, policy: Policy | None = None) -> dict[str, Dataset]:
        """The datasets that are there for somebody."""
        policy = policy or self.policy
        found = {name: one for name, one in policy.datasets.items() if who.may_see(name)}
        if who.person.role != "analyst":
            return found
        analyst = policy.analysts.get(who.person.name)
        allowed = () if analyst is None else analyst.allowances
        return {name: one for name, one in found.items() if one.family in allowed}

    def dataset(self, who: Credential, name: str) -> Dataset:
        """One of them."""
        return _there(self.datasets(who), name)

    def accounts(self, who: Credential) -> list[Account]:
        """The budgets that somebody may know of: an analyst the own allowances, others all."""
        found = list(self.ledger.accounts.values())
        if who.datasets is not None:
            families = {one.family for one in self.datasets(who).values()}
            found = [x for x in found if x.name.partition("@")[0].partition("/")[0] in families]
        if who.person.role == "analyst":
            return [one for one in found if one.name.endswith(f"@{who.person.name}")]
        return found

    def shown(self, who: Credential, record: Record) -> Record:
        """A record as somebody may see it.

        The number of the entry would tell an analyst, and who is limited to some datasets, how much
        others have asked; its hash, which is salted, tells nothing, and the owner can find the
        entry by it.
        """
        if who.person.role == "analyst":
            return record.unnumbered("discreet")
        return record if who.datasets is None else record.unnumbered()

    # questions

    @contextmanager
    def part(
        self, who: Credential, question: str, dataset: str | None, block: str | None
    ) -> Iterator[tuple[Curator, dict[str, Any]]]:
        """A curator, and which part of the data a question is about."""
        holding = self._current(who)
        seen = self.datasets(who, holding.policy)
        if not seen:
            raise Problem("not_found", "there is no dataset for you; nothing was charged")
        if dataset is None:
            dataset = named_dataset(question, seen)
        _there(seen, dataset)
        with holding.curator(who.person.name) as curator:
            where = {"dataset": dataset, "block": block}
            try:
                curator.query(dataset, block=block)  # opened, if it was not yet
            except QueryError:
                raise
            except DiscreetError as error:
                raise unavailable(error, owner=who.person.role == "owner") from error
            yield curator, where

    def reads(self, who: Credential, question: str, where: dict[str, Any]) -> Plan:
        """A question as it is understood; refused where it cannot be, from the policy alone."""
        with self.part(who, question, where.get("dataset"), where.get("block")) as (curator, at):
            return curator.reads(question, **at, analyst=self.analyst(who, curator.policy))

    def reads_axes(
        self, who: Credential, columns: Sequence[str], place: Mapping[str, Any], **said: Any
    ) -> None:
        """Refuse a publication that cannot be understood, from the policy alone."""
        with self.published_part(who, place) as (curator, at):
            analyst = self.analyst(who, curator.policy)
            schema = curator.declared(at["dataset"], block=at["block"], analyst=analyst)
            counted(schema, axes_of(columns, said["bins"], said["ranges"]), said["where"])

    def ask(self, *asked: Any, **wanted: Any) -> tuple[Record, int]:
        """What comes of the steps of a question."""
        return self.ledger.through(self.steps(*asked, **wanted))

    def steps(
        self, who: Credential, question: str, where: dict[str, Any], *,
        pace: Pace = UNHURRIED, read: Callable[[], None] = lambda: None, **wanted: Any,
    ) -> Generator[Member, None, tuple[Record, int]]:  # fmt: skip
        """Charge, run and store a question; its record, and how many groups it is public to have.

        It stops where the ledger has to write something for it.

        Args:
            who: asks.
            question: in SQL.
            where: dataset and block, as far as they were said.
            pace: when its parts are over.
            read: called once it is read: what is refused before is so from the policy alone.
            wanted: price, key and the other words of `Curator.ask`.
        """
        with self.part(who, question, where.get("dataset"), where.get("block")) as (curator, at):
            analyst = self.analyst(who, curator.policy)
            curator.reads(question, **at, analyst=analyst)
            read()
            curator.pace = pace
            record = yield from curator.steps(question, analyst=analyst, **at, **wanted)
            groups = _groups(curator, question, {**at, "analyst": analyst})
        return self.shown(who, record), len(record.release) if groups is None else groups

    def publish(
        self, who: Credential, columns: Sequence[str], place: dict[str, Any], *,
        pace: Pace = UNHURRIED, **wanted: Any,
    ) -> tuple[Record, int]:  # fmt: skip
        """Charge, measure and store a publication; its record, and how many rows its length is of.

        These are the rows of its table, and as many as the measurements of its cells may need.
        """
        with self.published_part(who, place) as (curator, at):
            analyst = self.analyst(who, curator.policy)
            curator.pace = pace
            record = curator.publish(columns, analyst=analyst, **at, **wanted)
        cells = min(math.prod(wanted["bins"]), _PADDED_CELLS)
        return self.shown(who, record), len(record.release) + -(-cells // _CELLS_OF_A_ROW)

    @contextmanager
    def published_part(
        self, who: Credential, place: Mapping[str, Any]
    ) -> Iterator[tuple[Curator, dict[str, Any]]]:
        """A curator, and which part of the data a publication is about."""
        seen = self.datasets(who)
        dataset = place.get("dataset") or (next(iter(seen)) if len(seen) == 1 else None)
        if dataset is None:
            words = "say which dataset is published; nothing was charged"
            raise Problem("parameter" if seen else "not_found", words)
        with self.part(who, "", dataset, place.get("block")) as found:
            yield found

    def rehearse(
        self, who: Credential, question: str, where: dict[str, Any], **wanted: Any
    ) -> Record:
        """The same question on made-up rows; free, and nothing is read."""
        with self.part(who, question, where.get("dataset"), where.get("block")) as (curator, at):
            rehearsal = self.rehearsal(curator, str(at["dataset"]))
            asker = self.asker(who, curator.policy)
        played = rehearsal.ask(question, analyst=asker, block=at["block"], **wanted)
        return self.shown(who, played)

    def rehearsal(self, curator: Curator, name: str) -> Rehearsal:
        """A dataset's made-up rows, which are made once."""
        policy = curator.policy
        found = self._rehearsals.get((policy.fingerprint, name))
        if found is None:
            storage = curator.query(name).schema.storage
            dataset = policy.datasets[name]
            accounting = policy.families[dataset.family].accounting
            found = Rehearsal(
                dataset, storage=storage, accounting=accounting, defaults=policy.defaults
            )
            self._rehearsals[policy.fingerprint, name] = found
        return found

    # what is known, and what was answered

    def told(self, who: Credential, name: str, *, most: int | None = MOST_LISTED) -> dict[str, Any]:
        """What somebody may know of a dataset."""
        dataset, policy = self.dataset(who, name), self.policy
        with self.part(who, "", name, None) as (curator, _):
            schema = curator.query(name).schema
        family = policy.families[dataset.family]
        return metadata(dataset, schema, family=family, defaults=policy.defaults, most=most)

    def record(self, who: Credential, key: str, *, alone: bool = False) -> Record:
        """A stored answer, as somebody may see it: an analyst the own ones, by their whole name."""
        done = self.ledger.answer(key) if _KEY.fullmatch(key) else None
        own = done is not None and (who.person.role != "analyst" or done.analyst == who.person.name)
        if own and done is not None:
            record = record_of(self.ledger, done, alone=alone)
            if who.may_see(record.dataset):
                return self.shown(who, record)
        raise Problem("not_found", f"there is no release {key[:60]!r} for you")

    def releases(
        self, who: Credential, *, limit: int, before: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """The stored answers that somebody may see, the newest first; where the next ones begin.

        Pages are numbered by the own answers, or by all for who may see all: the ledger's numbers
        would tell how much others ask. Who is limited to some datasets gets no number at all: the
        next page begins behind the last answer that was listed, by its name. Joins are told as
        they were asked. `cost` is the price of an answer, and `paid` what its asker was charged.
        """
        analyst = who.person.name if who.person.role == "analyst" else None
        scoped = who.datasets is not None
        private = {"owner": (), "auditor": ("failed",)}.get(
            who.person.role, ("entry", "analyst", "failed")
        )
        hidden = {*private, "entry"} if scoped else {*private}
        place, joins = self._place(who, analyst, before), Joins(self.datasets(who))
        listed: list[dict[str, Any]] = []

        def shown(following: str | None) -> tuple[list[dict[str, Any]], str | None]:
            paid = paid_for(self.ledger, [int(one["entry"]) for one in listed])
            told = [{**one, "paid": paid[one["entry"]]} for one in listed]
            return [{k: v for k, v in one.items() if k not in hidden} for one in told], following

        while place != 0:  # what is out of scope takes no place on a page
            found, rest = released(self.ledger, analyst, most=_LOOKED_AT, before=place)
            for at, one in reversed(list(enumerate(found[::-1], rest or 0))):
                if not who.may_see(one["dataset"]):
                    continue
                if len(listed) == limit:
                    return shown(str(listed[-1]["key"] if scoped else at + 1))
                listed.append({**one, "sql": joins.told(one["sql"], one["dataset"])})
            place = rest or 0
        return shown(None)

    def _place(self, who: Credential, analyst: str | None, before: str | None) -> int | None:
        """Before how many answers a page begins; None for the first page."""
        if before is None:
            return None
        if who.datasets is not None:
            return answers_before(self.ledger, self.record(who, before).id, analyst)
        if not before.isdecimal() or not before.isascii():
            raise Problem("parameter", "before must be what the page before told as next")
        return int(before)


def _there(seen: Mapping[str, Dataset], name: str) -> Dataset:
    found = seen.get(name)
    if found is None:
        raise Problem("not_found", f"there is no dataset {name[:60]!r} for you")
    return found


def _groups(curator: Curator, question: str, at: dict[str, Any]) -> int | None:
    """How many groups an answer may have, from the question and the policy alone."""
    try:
        return number_of_groups(curator.plan(question, **at))
    except DiscreetError:  # a bound is still to be found
        return None

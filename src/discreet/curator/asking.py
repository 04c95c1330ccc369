"""One part of a dataset, open for questions, with what was found for it before.

Tested by tests/curator/test_curator.py, tests/curator/test_asking.py
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from discreet.curator.answering import Answering, Audience
from discreet.curator.bind import bound
from discreet.curator.found import PREFIX
from discreet.curator.ledger.amounts import Amount
from discreet.curator.policy.model import Dataset, Defaults, is_address
from discreet.curator.questions import (
    Memory,
    Question,
    Questions,
    plan_of,
    unpriced,
    wanted_target,
)
from discreet.curator.search import Chosen, Search, next_search, supposed
from discreet.engines.base import Engine
from discreet.engines.sources import files_of
from discreet.engines.state import Seen, Watched
from discreet.errors import ChangedDataError, QueryError
from discreet.exact import Exact
from discreet.noise.source import Source
from discreet.privacy.loss import PureLoss
from discreet.query.known import Reader
from discreet.query.plan import Plan, keys_in
from discreet.query.price import Priced, Target, priced
from discreet.query.recent import Recent
from discreet.query.schema import Schema
from discreet.query.words import meant

__all__ = [
    "Asking",
    "Desk",
    "Given",
    "Wanted",
    "named_dataset",
    "only_dataset",
    "priced_at",
    "retired_with",
    "wanting",
]

Wanted = Callable[[Plan, Schema], Target]
"""What a question may cost, once it is read."""
_Taken = tuple[str | None, Chosen]
"""What was chosen for a column's bounds, or, without one, for rows per person."""
_MOST_DECLARED = 16
"""So many declarations are kept for an asker, each with what was decided under it."""
_MOST_DESKS = 8
"""So many askers are remembered, those who asked last."""


class Given(NamedTuple):
    """What came of a search: as text, and how many searches of the same were before it."""

    text: str
    turn: int = 0


class Desk:
    """What was decided about the questions of one asker.

    Nobody else's questions are answered sooner for it, so that nobody learns from the time of what
    is free whether somebody else has asked the same.

    Args:
        schema: what is declared. A desk has a copy of its own: engines and memories know a
            declaration by which object it is, so that what they keep is the asker's alone.

    Attributes:
        began: under what is declared.
        under: under what was found besides, by what that is.
        if_found: what is declared, as if all that is to be found had been found.
        read: questions as if all had been found; by
        reading: what reads them so.
        next: what has to be found next, by question and what was found before it.
    """

    __slots__ = ("began", "if_found", "next", "read", "reading", "under")

    def __init__(self, schema: Schema) -> None:
        declared = replace(schema)
        self.began = Memory(declared)
        self.under: dict[tuple[_Taken, ...], Memory] = {}
        self.if_found = supposed(declared)
        self.read: Recent[str, Plan] = Recent()
        self.reading = Reader(self.if_found)
        self.next: Recent[tuple[str, tuple[_Taken, ...]], tuple[Search | None]] = Recent()

    def declared(self, taken: tuple[_Taken, ...], how: Callable[[], Schema]) -> Memory:
        """What was decided under what was found, which says what is declared."""
        found = self.under.get(taken)
        if found is None:
            if len(self.under) >= _MOST_DECLARED:
                self.under.clear()
            found = self.under[taken] = Memory(how())
        return found


class Asking(Questions):
    """One part of a dataset.

    Args:
        dataset: as the policy declares it.
        block: which part; None for the dataset itself.
        confidence: of intervals.
        engine: reads other rows than those of the dataset's source, which is then not opened.

    Attributes:
        opened: its files as they were when they were opened; None where they are not open, or were
            changed meanwhile.
        agreed: its files as questions are answered from them; None until it is known which these
            are. `discreet.curator.unchanged` decides.
    """

    opened: Seen | None = None
    agreed: Seen | None = None
    _steady = False
    """Whether two looks at the same files see the same: some file systems make up numbers."""

    def __init__(
        self,
        dataset: Dataset,
        block: str | None,
        *,
        confidence: Exact,
        engine: Engine | None = None,
    ) -> None:
        part = dataset if block is None else dataset.blocks[block]
        where: dict[str, Any] = {"table": part.table, "options": dataset.options}

        def bind() -> tuple[Schema, Engine]:
            return bound(
                part.source if engine is None else engine, unit=dataset.unit,
                columns=dataset.columns, name=dataset.name, lookups=dataset.lookups,
                row_limit=dataset.row_limit, **(where if engine is None else {}),
            )  # fmt: skip

        self._bind = bind
        self._source = None if engine is not None or is_address(part.source) else part.source
        schema, found = self._open()
        super().__init__(schema, found, confidence=confidence)
        self.dataset, self.block = dataset, block
        self.version = part.version
        self.account = dataset.account(block)
        self.fingerprint = dataset.fingerprint(block)
        self._base_on(schema)
        found.expect(schema)
        self.found: list[tuple[str, PureLoss]] = []
        self.canon: list[str] = []
        self.paid: list[tuple[str, Amount]] = []
        self.nothing = False
        self._who = ""  # the owner, until somebody else asks

    @property
    def declared(self) -> Schema:
        """What the policy declares; `schema` has what was found besides."""
        return self._base

    @property
    def engine(self) -> Engine:
        """What reads the rows."""
        return self._engine

    def close(self) -> None:
        """Let go of the data."""
        self._engine.close()

    def reopen(self) -> None:
        """Open the data anew: files that were not there before are seen, and types and the names
        of columns are those of now. A question that is under way goes on with those of before.
        """
        self.opened = None
        self._engine.close()
        schema, self._engine = self._open()
        self._last = None  # a statement for the engine of before
        if schema != self._base:
            self._base_on(schema)
        self._engine.expect(self._base)

    def listed(self) -> Sequence[str]:
        """The files of the source now; its engine may have been opened on others."""
        return () if self._source is None else list(files_of(self._source))

    def _open(self) -> tuple[Schema, Engine]:
        files = self.listed()
        before = Watched(files).now() if files else None
        schema, engine = self._bind()
        self.watched = Watched(engine.files) if engine.files else None
        after = None if self.watched is None else self.watched.now()
        self.opened = None
        if before is not None and after is not None and before.state == after.state:
            self.opened, self._steady = after, before == after
        return schema, engine

    def _base_on(self, schema: Schema) -> None:
        """Begin every question with this declaration."""
        self._base = schema
        self._desks: dict[str, Desk] = {}
        self._desk = Desk(schema)  # nobody's
        self._taken: tuple[_Taken, ...] | None = None  # of this declaration: until it is begun with

    def _as_agreed(self) -> None:
        """Refuse what was read of files that were changed meanwhile."""
        agreed, watched = self.agreed, self.watched
        if agreed is None or watched is None:
            return
        seen = watched.now()
        if seen is None or seen.state != agreed.state or (self._steady and seen != agreed):
            raise ChangedDataError("the files of the data were changed while they were read")

    @contextmanager
    def answering(
        self,
        audience: Audience,
        on_fault: Callable[[Exception], None] | None,
        seconds: float | None,
    ) -> Iterator[Answering]:
        """How a charged question is answered.

        Where anything fails the data are opened anew: a connection that broke on one row would
        keep the next question from its answer, and so tell of that row.
        """
        made = Answering(self._engine, audience, on_fault, seconds, self._as_agreed)
        failed = True
        try:
            yield made
            failed = bool(made.faults)
        finally:
            if failed:
                try:
                    self.reopen()
                except Exception as another:  # noqa: BLE001 - told by whoever asks next
                    made.tell(another)

    # what has to be found first

    def begin(self, who: str | None = None) -> None:
        """Forget what was found for the question before: it may have been somebody else's.

        So `found` holds what this question needed, in one order, in every process, `canon` the
        same for a question to be known again by, `paid` what of that was charged with it, and
        `nothing` whether a search of it found nothing, so that an owner is refused.

        Args:
            who: asks, and is remembered apart from all others; None for whoever asked before.
        """
        self._who = self._who if who is None else who
        desk = self._desks.pop(self._who, None) or Desk(self._base)
        if len(self._desks) >= _MOST_DESKS:
            del self._desks[next(iter(self._desks))]
        self._desk = self._desks[self._who] = desk  # the last one now
        self.paid, self.nothing = [], False
        if self._memory is not desk.began:
            self._declare(desk.began)
            self._taken, self.found, self.canon = (), [], []

    def supposed(self, question: Question, wanted: Wanted) -> Priced:
        """The question at its price, as if all had been found: refused before a search is paid."""
        plan = self.read(question)
        schema = self._desk.if_found
        target = wanted(plan, schema)
        if schema is self.schema:  # as it will be asked
            return self.priced(unpriced(plan), target)[0]
        return priced(plan, schema, target)

    def read(self, question: Question) -> Plan:
        """The question as if all had been found; read once, however often it is needed."""
        at = self._desk
        if at.if_found is self.schema:
            return self.plan(question)
        if not isinstance(question, str):
            return plan_of(question, at.if_found)
        found = at.read.get(question)
        if found is None:
            found = at.reading.plan(question)
            at.read.keep(question, found, len(question) + keys_in(found))
        return found

    def search(self, question: Question) -> Search | None:
        """The next thing that has to be found for a question."""
        if self._desk.if_found is self.schema:  # there is nothing to be found
            return None
        if self._taken is None or not isinstance(question, str):
            return self._next_search(question)
        kept, at = self._desk.next, (question, self._taken)
        known = kept.get(at)
        if known is None:
            known = kept.keep(at, (self._next_search(question),), len(question))
        return known[0]

    def _next_search(self, question: Question) -> Search | None:
        plan = self.read(question) if self._memory is self._desk.began else None
        return next_search(question, self.schema, plan=plan)

    def search_key(self, search: Search) -> str:
        """The asking under which a search is stored: one for all who need it."""
        what = json.dumps([self.fingerprint, search.column, str(search.loss.epsilon)])
        return f"{PREFIX}{hashlib.sha256(what.encode()).hexdigest()[:32]}"

    def searched(self, search: Search, answering: Answering, source: Source) -> str:
        """Search, and what came of it, as text to be stored."""
        statement = self._engine.statement(search.request)
        finish = partial(search.told, schema=self.schema, source=source)
        return answering.made(search.request, statement, finish)

    def take(self, search: Search, given: Given, audience: Audience) -> None:
        """Make what was found part of the declaration.

        If nothing was, an owner gets NothingFoundError; for an analyst something public is taken
        instead.
        """
        chosen = search.taken(given.text, audience)
        self.nothing = self.nothing or Chosen.read(given.text) is None
        self._go_on(search, chosen)
        note = search.note(chosen)
        self.found.append((note, search.loss))
        self.canon.append(f"{note} [{given.turn}]" if given.turn else note)

    def suppose(self, search: Search) -> None:
        """Go on as if a search had found nothing, to tell what a question would cost."""
        self._go_on(search, search.instead)

    def _go_on(self, search: Search, chosen: Chosen) -> None:
        """Declare what was chosen. What was decided under the same before is kept: what is taken
        one after the other says what is declared.
        """
        before = self.schema
        if self._taken is None:
            self._declare(Memory(search.applied(before, chosen)))
            return
        taken = (*self._taken, (search.column, chosen))
        self._declare(self._desk.declared(taken, lambda: search.applied(before, chosen)))
        self._taken = taken


def priced_at(
    defaults: Defaults, said: Mapping[str, Any], plan: Plan | None = None
) -> dict[str, Any]:
    """What was said about the price, or what the policy says instead."""
    given = dict(said)
    own = plan is not None and (plan.epsilon is not None or plan.rho is not None)
    if given.get("epsilon") is None and given.get("rho") is None and not own:
        given["epsilon"] = defaults.epsilon
        given["delta"] = given.get("delta") or defaults.delta
    return given


def wanting(
    defaults: Defaults,
    *,
    within: Exact | None,
    rows: Exact | None,
    column: str | None,
    **said: Exact | None,
) -> Wanted:
    """What a question may cost: what was said in `epsilon`, `delta` and `rho`, or as much as an
    accuracy costs, or what the policy says instead.
    """
    last: list[tuple[Plan, Schema, Target]] = []

    def wanted(plan: Plan, schema: Schema) -> Target:
        """Found once for one plan, which is asked about twice."""
        if last and last[0][0] is plan and last[0][1] is schema:
            return last[0][2]
        last[:] = [(plan, schema, found := found_for(plan, schema))]
        return found

    def found_for(plan: Plan, schema: Schema) -> Target:
        price = said if within is not None else priced_at(defaults, said, plan)
        return wanted_target(
            plan, schema, epsilon=price["epsilon"], delta=price["delta"], rho=price["rho"],
            within=within, rows=rows, column=column, confidence=defaults.confidence,
        )  # fmt: skip

    return wanted


def only_dataset(datasets: Collection[str]) -> str:
    """The one dataset of a policy; QueryError if there are several."""
    if len(datasets) != 1:
        raise QueryError(f"say which dataset is meant: {', '.join(datasets)}")
    return next(iter(datasets))


def named_dataset(question: Question, datasets: Collection[str]) -> str:
    """The dataset that a question names."""
    if not isinstance(question, str):
        table = question.table if isinstance(question, Plan) else question.schema.name
        return str(table)
    if len(datasets) == 1:
        return only_dataset(datasets)
    from sqlglot import exp  # noqa: PLC0415 - only where it is needed

    from discreet.query.options import split  # noqa: PLC0415
    from discreet.query.tree import statement, tokens_of  # noqa: PLC0415

    tree = statement(split(tokens_of(question))[0], question)  # refused where it is no SQL
    tables = list(dict.fromkeys(table.name for table in tree.find_all(exp.Table)))
    found = [name for name in tables if name in datasets]
    known = ", ".join(datasets)
    if len(found) > 1:
        raise QueryError(
            f"a question is about one dataset, and this one names {' and '.join(found)}: a join of "
            "people with people would multiply their rows. Ask one after the other"
        )
    if found:
        return found[0]
    if not tables:
        raise QueryError(f"the question names no dataset; say FROM with one of: {known}")
    wrong = tables[0][:60]
    raise QueryError(f"there is no dataset {wrong!r}{meant(wrong, datasets)}; there are: {known}")


def retired_with(dataset: Dataset, block: str | None) -> tuple[str, ...]:
    """The budgets that end with a dataset and all its blocks, or with one of them."""
    if block is not None and block not in dataset.blocks:
        known = ", ".join(dataset.blocks) or "none"
        raise QueryError(f"{dataset.name!r} has no block {block!r}; there are: {known}")
    parts = [None, *dataset.blocks] if block is None else [block]
    return tuple(dict.fromkeys(dataset.account(part) for part in parts))

"""One part of a dataset, open for questions, with what was found for it before.

Tested by tests/curator/test_curator.py, tests/curator/test_asking.py
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from discreet.curator.answering import Answering, Audience
from discreet.curator.bind import bound
from discreet.curator.policy.model import Dataset, Defaults
from discreet.curator.questions import (
    Question,
    Questions,
    plan_of,
    unpriced,
    wanted_target,
)
from discreet.curator.search import Chosen, Search, next_search, supposed
from discreet.engines.base import Engine
from discreet.errors import NothingFoundError, QueryError
from discreet.exact import Exact
from discreet.noise.source import Source
from discreet.privacy.loss import PureLoss
from discreet.query.known import Reader
from discreet.query.plan import Plan
from discreet.query.price import Priced, Target, priced
from discreet.query.recent import Recent
from discreet.query.request import Cells, Request
from discreet.query.schema import Schema

__all__ = ["Asking", "Wanted", "named_dataset", "only_dataset", "priced_at", "wanting"]

_LEAST = 0.01
"""Seconds that a database always has: some take 0 for no limit."""
Look = Callable[[Request, str], Sequence[Cells]]
Wanted = Callable[[Plan, Schema], Target]
"""What a question may cost, once it is read."""


class Asking(Questions):
    """One part of a dataset.

    Args:
        dataset: as the policy declares it.
        block: which part; None for the dataset itself.
        confidence: of intervals.
        engine: reads other rows than those of the dataset's source, which is then not opened.
    """

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

        def opened() -> tuple[Schema, Engine]:
            return bound(
                part.source if engine is None else engine, unit=dataset.unit,
                columns=dataset.columns, name=dataset.name, lookups=dataset.lookups,
                row_limit=dataset.row_limit, **(where if engine is None else {}),
            )  # fmt: skip

        schema, found = opened()
        super().__init__(schema, found, confidence=confidence)
        self._opened = opened
        self.dataset, self.block = dataset, block
        self.version = part.version
        self.account = dataset.account(block)
        self.fingerprint = dataset.fingerprint(block)
        self._base, self._if_found = schema, supposed(schema)
        self._read: Recent[str, Plan] = Recent()
        self._reading = Reader(self._if_found)
        self.found: list[tuple[str, PureLoss]] = []
        self._taken = 0.0

    @property
    def engine(self) -> Engine:
        """What reads the rows."""
        return self._engine

    def close(self) -> None:
        """Let go of the data."""
        self._engine.close()

    @contextmanager
    def answering(
        self,
        audience: Audience,
        on_fault: Callable[[Exception], None] | None,
        seconds: float | None,
    ) -> Iterator[Answering]:
        """How a charged question is answered.

        The seconds are for a question and all that has to be found for it together: otherwise the
        time of a search would add to that of the question, past the end of a deadline.

        Where anything fails the data are opened anew: a connection that broke on one row would
        keep the next question from its answer, and so tell of that row.
        """
        left = None if seconds is None else max(seconds - self._taken, _LEAST)
        made = Answering(self._engine, audience, on_fault, left)
        failed, began = True, monotonic()
        try:
            yield made
            failed = bool(made.faults)
        finally:
            if failed:
                try:
                    self._engine.close()
                    self._engine = self._opened()[1]
                except Exception as another:  # noqa: BLE001 - told by whoever asks next
                    made.tell(another)
            self._taken += monotonic() - began

    # what has to be found first

    def begin(self) -> None:
        """Forget what was found for the question before: it may have been somebody else's.

        So `found` holds what this question needed, in one order, in every process.
        """
        self._taken = 0.0
        if self._schema is not self._base:
            self._declare(self._base)
            self.found = []

    def supposed(self, question: Question, wanted: Wanted) -> Priced:
        """The question at its price, as if all had been found: refused before a search is paid."""
        plan = self.read(question)
        target = wanted(plan, self._if_found)
        if self._if_found is self._schema:  # as it will be asked
            return self.priced(unpriced(plan), target)[0]
        return priced(plan, self._if_found, target)

    def read(self, question: Question) -> Plan:
        """The question as if all had been found; read once, however often it is needed."""
        if self._if_found is self._schema:
            return self.plan(question)
        if not isinstance(question, str):
            return plan_of(question, self._if_found)
        found = self._read.get(question)
        return found or self._read.keep(question, self._reading.plan(question))

    def search(self, question: Question) -> Search | None:
        """The next thing that has to be found for a question."""
        plan = self.read(question) if self._schema is self._base else None
        return next_search(question, self._schema, plan=plan)

    def search_key(self, search: Search) -> str:
        """The asking under which a search is stored: one for all who need it."""
        what = json.dumps([self.fingerprint, search.column, str(search.loss.epsilon)])
        return f"find-{hashlib.sha256(what.encode()).hexdigest()[:32]}"

    def searched(self, search: Search, look: Look, source: Source) -> str:
        """Search, and what came of it, as text to be stored."""
        (cells,) = look(search.request, self._engine.statement(search.request))
        try:
            return search.chosen(self._schema, cells, source).to_json()
        except NothingFoundError as nothing:
            return json.dumps({"nothing": str(nothing)})

    def take(self, search: Search, text: str) -> None:
        """Make what was found part of the declaration; NothingFoundError if nothing was."""
        told = json.loads(text)
        if "nothing" in told:
            raise NothingFoundError(str(told["nothing"]))
        chosen = Chosen.from_json(text)
        self._declare(search.applied(self._schema, chosen))
        self.found.append((search.note(chosen), search.loss))


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
    import sqlglot  # noqa: PLC0415 - only where it is needed
    from sqlglot import exp  # noqa: PLC0415

    try:
        tree = sqlglot.parse_one(question[:100_000], read="duckdb")
        tables = {table.name for table in tree.find_all(exp.Table)}
    except (sqlglot.errors.SqlglotError, RecursionError):
        tables = set()
    found = [name for name in datasets if name in tables]
    if len(found) != 1:
        raise QueryError(
            f"the question must be about one dataset of the policy: {', '.join(datasets)}; "
            "say FROM with its name. Nothing was charged"
        )
    return found[0]

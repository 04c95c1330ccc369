"""A rehearsal: a question on made-up rows, answered on the very way of a real one; free.

Guarantee. What comes out depends on the policy, on how columns are stored, and on noise, and on
nothing else: the dataset's source is not opened, and nothing is charged.
Proof. The rows are those of `discreet.curator.made_up`, in a table in memory that holds nothing
else. From there the path is the curator's: read, price, search, run, add noise, present.

What has to be found for a question is looked for in the made-up rows, once. Where nothing stands
out, as with a small epsilon for a few thousand rows, their range is taken, and the rehearsal goes
on.

The record says in its notes and its version that it is a rehearsal; its cost is what the question
would cost.
Tested by tests/curator/test_rehearsal.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Self

from discreet.curator.answering import Answering, Telling
from discreet.curator.asking import Asking, Given, Wanted, wanting
from discreet.curator.claims import OWNER, made_record
from discreet.curator.decided import Decided
from discreet.curator.ledger.amounts import Accounting, cost_of
from discreet.curator.ledger.values import Claim, Pending
from discreet.curator.made_up import FOUND, made_up
from discreet.curator.policy.model import Dataset, Defaults
from discreet.curator.publishing import axes_of, publication
from discreet.curator.questions import Question
from discreet.curator.record import Record
from discreet.curator.release import Release
from discreet.curator.rolling import rolling
from discreet.curator.search import Chosen, Search, supposed
from discreet.errors import QueryError
from discreet.exact import Exact
from discreet.noise.source import system_source
from discreet.privacy.loss import Loss
from discreet.query.cells import Axis
from discreet.query.plan import Plan
from discreet.query.render import to_sql
from discreet.query.schema import Bounds, Hidden, Storage

__all__ = ["MOST_CELLS", "NOTE", "REHEARSAL", "Rehearsal"]

REHEARSAL = "rehearsal"
"""What a rehearsal calls its data's version and itself."""
NOTE = "made-up rows: a rehearsal; nothing was read and nothing was charged"
MOST_CELLS = 1024
"""So many cells of a publication are rehearsed, at most."""
_SUPPOSED_ROWS = 4


class Rehearsal:
    """One dataset's declaration with made-up rows, which are made once.

    Threads may share it; it answers one question at a time.

    Args:
        dataset: as the policy declares it; its source need not exist.
        storage: how the real table's columns are stored, by their declared types; where that is
            not known, as the declaration suggests.
        accounting: how prices add up in the dataset's family.
        defaults: what a question costs that does not say so, and the confidence of intervals.
        clock: what time it is.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        storage: Mapping[str, Storage] | None = None,
        accounting: Accounting = "pure",
        defaults: Defaults | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        from discreet.engines.duckdb import DuckDB  # noqa: PLC0415 - only if it is used

        self._defaults = defaults or Defaults()
        self._accounting: Accounting = accounting
        self._clock = clock or (lambda: datetime.now(UTC))
        self._blocks = tuple(dataset.blocks)
        usable = {n: said for n, said in dataset.columns.items() if not isinstance(said, Hidden)}
        played = replace(dataset, columns=usable, blocks={}, version=REHEARSAL)
        engine = DuckDB.from_text(made_up(dataset, storage))
        level = self._defaults.confidence
        self._asking = Asking(played, None, confidence=level, engine=engine)
        self._searched: dict[tuple[str, str], str] = {}
        self._busy = Lock()

    def close(self) -> None:
        """Let go of the made-up rows."""
        self._asking.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(  # noqa: PLR0913 - every word that a question may say
        self,
        question: Question,
        /,
        *,
        analyst: str = OWNER,
        block: str | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        within: Exact | None = None,
        rows: Exact | None = None,
        column: str | None = None,
    ) -> Record:
        """The answer that made-up rows give, in the form of a real one.

        The arguments are those of `Curator.ask`.
        """
        self._known(block)
        wanted = wanting(
            self._defaults, epsilon=epsilon, delta=delta, rho=rho, within=within, rows=rows,
            column=column,
        )  # fmt: skip
        with self._busy:
            return replace(self._answered(question, wanted, analyst), block=block)

    def publish(
        self,
        columns: str | Sequence[str],
        /,
        *,
        bins: int | Sequence[int],
        ranges: tuple[Exact, Exact] | Sequence[tuple[Exact, Exact]],
        epsilon: Exact,
        where: str | None = None,
        analyst: str = OWNER,
        block: str | None = None,
    ) -> Record:
        """What would be published of made-up rows; at most `MOST_CELLS` of its cells are measured.

        The arguments are those of `Curator.publish`, and what it refuses is refused; but what has
        still to be found is supposed.
        """
        self._known(block)
        axes = axes_of(columns, bins, ranges)
        with self._busy:
            asking = self._asking
            asking.begin(analyst)
            schema = supposed(asking.schema)
            publication(schema, asking.engine, axes, where, epsilon=epsilon)
            coarse = _coarser(axes)
            wanted = publication(schema, asking.engine, coarse, where, epsilon=epsilon)
            return replace(self._played(wanted, analyst), block=block)

    def _known(self, block: str | None) -> None:
        if block is not None and block not in self._blocks:
            name, known = self._asking.dataset.name, ", ".join(self._blocks) or "none"
            raise QueryError(f"{name!r} has no block {block!r}; there are: {known}")

    def _answered(self, question: Question, wanted: Wanted, who: str) -> Record:
        asking = self._asking
        asking.begin(who)
        answering = Answering(asking.engine)
        if asking.read(question).rollup:
            plan = asking.plan(question)
            return self._played(rolling(asking.schema, asking.engine, plan, wanted), who)
        plan = self._ready(question, answering, who)
        target = wanted(plan, asking.schema)
        plan = replace(plan, epsilon=None, delta=None, rho=None)
        priced, statement = asking.priced(plan, target)
        at = self._clock().replace(microsecond=0)
        telling = Telling(asking.schema, self._defaults.confidence, asking.found, at)
        release, _ = answering.release(priced, statement, system_source(), telling)
        return self._told(release, to_sql(plan, asking.schema), priced.losses, who)

    def _played(self, wanted: Decided[Any], who: str) -> Record:
        """What is decided to be published, from made-up rows."""
        at, level = self._clock().replace(microsecond=0), self._defaults.confidence
        answering = Answering(self._asking.engine)
        release = wanted.released(answering, system_source(), confidence=level, at=at)
        return self._told(release, wanted.asked.sql, [wanted.loss], who)

    def _told(self, release: Release, sql: str, losses: Sequence[Loss], who: str) -> Record:
        cost = cost_of(losses, self._accounting)
        info = {"sql": sql, "cost": cost.said(self._accounting)}
        claim = Claim(REHEARSAL, "", "", cost.main, who, (), "", info)
        charged = Pending(REHEARSAL, b"", 0, "0" * 64, resumed=False)
        played = replace(release, notes=(NOTE, *release.notes))
        return made_record(self._asking, played, charged, claim, version=0)

    def _ready(self, question: Question, answering: Answering, who: str) -> Plan:
        """The plan, after what it needs and has to be found was found, for each asker anew."""
        asking = self._asking
        while (search := asking.search(question)) is not None:
            key = who, asking.search_key(search)
            if key not in self._searched:
                text = asking.searched(search, answering, system_source())
                nothing = "nothing" in json.loads(text)
                self._searched[key] = _made_up(search).to_json() if nothing else text
            asking.take(search, Given(self._searched[key]), "owner")
        return asking.plan(question)


def _coarser(axes: Sequence[Axis]) -> list[Axis]:
    """As many cells along each axis as are rehearsed: what is played has to be quick."""
    most = int(MOST_CELLS ** (1 / len(axes)))
    return [Axis(axis.of, axis.low, axis.high, min(axis.bins, most)) for axis in axes]


def _made_up(search: Search) -> Chosen:
    """What a search would find, were there more rows."""
    if search.column is None:
        return Chosen(rows=_SUPPOSED_ROWS)
    return Chosen(bounds=Bounds(FOUND[0], 1 << FOUND[1].bit_length(), 1))

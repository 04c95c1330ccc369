"""What a curator publishes once, under its ledger: grids, roll-ups, workloads, marginals.

Each is charged before a row is read, stored, and handed out again where it is asked for again.
Tested by tests/curator/test_publishing.py, tests/curator/test_publications.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from discreet.curator.asking import Asking
from discreet.curator.decided import Decided
from discreet.curator.margining import margining
from discreet.curator.publishing import axes_of, publication
from discreet.curator.questions import Question
from discreet.curator.record import Record
from discreet.curator.rolling import rolling
from discreet.curator.workloads import working
from discreet.exact import Exact
from discreet.query.margins import Ways
from discreet.query.nested import rollup_plan

__all__ = ["Publications"]


class Publications(ABC):
    """Publishes; who pays and what is stored is the curator's."""

    @abstractmethod
    def _published(
        self, decide: Callable[[Asking], Decided[Any]], *, analyst: str | None, dataset: str | None,
        block: str | None, key: str | None,
    ) -> Record:  # fmt: skip
        """Decide what is published, charge it, make it, store it and return it."""

    def publish(  # noqa: PLR0913 - every word that a publication may say
        self,
        columns: str | Sequence[str],
        /,
        *,
        bins: int | Sequence[int],
        ranges: tuple[Exact, Exact] | Sequence[tuple[Exact, Exact]],
        where: str | None = None,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        analyst: str | None = None,
        dataset: str | None = None,
        block: str | None = None,
        key: str | None = None,
    ) -> Record:
        """Charge the ledger once, publish counts over one to three axes, store and return them.

        `Published.of(record.release)` answers any number of questions from it, for nothing.

        Args:
            columns: a column, or an expression in SQL; or up to three of them, one for each axis.
            bins: how many cells of equal width; for each axis, where there are several.
            ranges: (low, high), from where to where; for each axis, where there are several.
            where: only rows for which this condition holds.
            epsilon: what it may cost, in pure privacy; or
            rho: in zero-concentrated privacy, where the policy adds that up.
            analyst: who asks; the owner if nobody is named.
            dataset: which one, where there are several.
            block: which part of its data.
            key: names this asking: the same key again is the same asking, and is charged once.
        """

        def decide(asking: Asking) -> Decided[Any]:
            axes = axes_of(columns, bins, ranges)
            return publication(asking.schema, asking.engine, axes, where, epsilon=epsilon, rho=rho)

        return self._published(decide, analyst=analyst, dataset=dataset, block=block, key=key)

    def publish_rollup(  # noqa: PLR0913 - every word that a publication may say
        self,
        keys: Sequence[str],
        /,
        *,
        epsilon: Exact,
        where: str | None = None,
        combinations: Sequence[tuple[Any, ...]] | None = None,
        analyst: str | None = None,
        dataset: str | None = None,
        block: str | None = None,
        key: str | None = None,
    ) -> Record:
        """Charge the ledger once, publish all levels of GROUP BY ROLLUP (keys), store and return.

        Args:
            keys: columns with public keys, or expressions in SQL, the coarsest first.
            epsilon: what it may cost, all levels together.
            where: only rows for which this condition holds.
            combinations: the finest groups as tuples, where they are not all combinations.
            analyst: who asks; the owner if nobody is named.
            dataset: which one, where there are several.
            block: which part of its data.
            key: names this asking: the same key again is the same asking, and is charged once.
        """

        def decide(asking: Asking) -> Decided[Any]:
            plan = rollup_plan(asking.schema, keys, where, combinations)
            return rolling(asking.schema, asking.engine, plan, epsilon)

        return self._published(decide, analyst=analyst, dataset=dataset, block=block, key=key)

    def publish_workload(
        self,
        questions: Sequence[Question],
        /,
        *,
        epsilon: Exact,
        analyst: str | None = None,
        dataset: str | None = None,
        block: str | None = None,
        key: str | None = None,
    ) -> Record:
        """Charge the ledger once, answer several counting questions together, store and return.

        Args:
            questions: each SELECT COUNT(*) in SQL, with WHERE and GROUP BY over columns whose
                values are public; or the condition alone, such as "age < 30"; or a query.
            epsilon: what it may cost, all questions together.
            analyst: who asks; the owner if nobody is named.
            dataset: which one, where there are several.
            block: which part of its data.
            key: names this asking: the same key again is the same asking, and is charged once.
        """

        def decide(asking: Asking) -> Decided[Any]:
            return working(asking.schema, asking.engine, questions, epsilon)

        return self._published(decide, analyst=analyst, dataset=dataset, block=block, key=key)

    def publish_marginals(  # noqa: PLR0913 - every word that a publication may say
        self,
        columns: Sequence[str],
        /,
        *,
        ways: Ways = 2,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        where: str | None = None,
        analyst: str | None = None,
        dataset: str | None = None,
        block: str | None = None,
        key: str | None = None,
    ) -> Record:
        """Charge the ledger once, publish tables over a few of many columns, store and return.

        Args:
            columns: columns with public keys, or expressions in SQL; "... AS name" gives a name.
            ways: of how many columns each table is; or the tables, each a list of names.
            epsilon: what it may cost, all tables together; or
            rho: in zero-concentrated privacy, which is far better for many tables.
            where: only rows for which this condition holds.
            analyst: who asks; the owner if nobody is named.
            dataset: which one, where there are several.
            block: which part of its data.
            key: names this asking: the same key again is the same asking, and is charged once.
        """

        def decide(asking: Asking) -> Decided[Any]:
            return margining(
                asking.schema, asking.engine, columns, ways, where=where, epsilon=epsilon, rho=rho
            )

        return self._published(decide, analyst=analyst, dataset=dataset, block=block, key=key)

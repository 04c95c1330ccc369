"""What a curator publishes once, under its ledger: grids, roll-ups, workloads, marginals.

Each is charged before a row is read, stored, and handed out again where it is asked for again.
How each is made is loaded when it is published: whoever asks for a count waits for none of them.
Tested by tests/curator/test_publishing.py, tests/curator/test_publications.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.curator.asking import Asking
from discreet.curator.questions import Question
from discreet.curator.record import Record
from discreet.exact import Exact

if TYPE_CHECKING:
    from discreet.curator.decided import Decided
    from discreet.query.margins import Ways

__all__ = ["Publications"]


class Publications(ABC):
    """Publishes; who pays and what is stored is the curator's."""

    @abstractmethod
    def _published(
        self, decide: Callable[[Asking], Decided[Any]], *, analyst: str | None,
        dataset: str | None, block: str | None, key: str | None,
    ) -> Record:  # fmt: skip
        """Decide what is published, charge it, make it, store it and return it."""

    def publish(  # noqa: PLR0913 - every word that a publication may say
        self, columns: str | Sequence[str], /, *, bins: int | Sequence[int],
        ranges: tuple[Exact, Exact] | Sequence[tuple[Exact, Exact]], where: str | None = None,
        epsilon: Exact | None = None, rho: Exact | None = None, analyst: str | None = None,
        dataset: str | None = None, block: str | None = None, key: str | None = None,
    ) -> Record:  # fmt: skip
        """Charge the ledger once, publish counts over one to three axes, store and return them.

        `Published.of(record.release)` answers any number of questions from it, for nothing.
        The arguments are those of `Session.publish` and `Curator.ask`. A rho is for policies that
        add rhos up.
        """
        from discreet.curator.publishing import axes_of, publication  # noqa: PLC0415 - see above

        return self._published(
            lambda part: publication(
                part.schema, part.engine, axes_of(columns, bins, ranges), where,
                epsilon=epsilon, rho=rho,
            ),
            analyst=analyst, dataset=dataset, block=block, key=key,
        )  # fmt: skip

    def publish_rollup(  # noqa: PLR0913 - every word that a publication may say
        self, keys: Sequence[str], /, *, epsilon: Exact, where: str | None = None,
        combinations: Sequence[tuple[Any, ...]] | None = None, analyst: str | None = None,
        dataset: str | None = None, block: str | None = None, key: str | None = None,
    ) -> Record:  # fmt: skip
        """Charge the ledger once, publish all levels of GROUP BY ROLLUP (keys), store and return.

        The arguments are those of `Session.publish_rollup` and `Curator.ask`.
        """
        from discreet.curator.rolling import rolling  # noqa: PLC0415 - see above
        from discreet.query.nested import rollup_plan  # noqa: PLC0415 - see above

        return self._published(
            lambda part: rolling(
                part.schema, part.engine,
                rollup_plan(part.schema, keys, where, combinations), epsilon,
            ),
            analyst=analyst, dataset=dataset, block=block, key=key,
        )  # fmt: skip

    def publish_workload(
        self, questions: Sequence[Question], /, *, epsilon: Exact, analyst: str | None = None,
        dataset: str | None = None, block: str | None = None, key: str | None = None,
    ) -> Record:  # fmt: skip
        """Charge the ledger once, answer several counting questions together, store and return.

        The arguments are those of `Session.publish_workload` and `Curator.ask`.
        """
        from discreet.curator.workloads import working  # noqa: PLC0415 - see above

        return self._published(
            lambda part: working(part.schema, part.engine, questions, epsilon),
            analyst=analyst, dataset=dataset, block=block, key=key,
        )  # fmt: skip

    def publish_marginals(  # noqa: PLR0913 - every word that a publication may say
        self, columns: Sequence[str], /, *, ways: Ways = 2, epsilon: Exact | None = None,
        rho: Exact | None = None, where: str | None = None, analyst: str | None = None,
        dataset: str | None = None, block: str | None = None, key: str | None = None,
    ) -> Record:  # fmt: skip
        """Charge the ledger once, publish tables over a few of many columns, store and return.

        The arguments are those of `Session.publish_marginals` and `Curator.ask`. A rho is for
        policies that add rhos up.
        """
        from discreet.curator.margining import margining  # noqa: PLC0415 - see above

        return self._published(
            lambda part: margining(
                part.schema, part.engine, columns, ways, where=where, epsilon=epsilon, rho=rho
            ),
            analyst=analyst, dataset=dataset, block=block, key=key,
        )  # fmt: skip

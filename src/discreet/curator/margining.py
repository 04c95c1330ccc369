"""From a table to marginals: what is counted, what it costs, and how counts become a release.

Guarantee. `Margining.published` has the guarantee of its price, whatever the counts are.
Neighbours. As the table's unit says.
Assumes. The price was charged, and the source's bits are used for nothing else.
Proof. One person moves each marginal by `counted.sensitivity` at most (`discreet.query.margins`),
which is what `discreet.publish.marginals` is told; the rest sees its output only.
Tested by tests/curator/test_margining.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import product

from discreet.curator.claims import Asked
from discreet.curator.decided import Decided, loss_of
from discreet.curator.one_level import EVERYBODY, MARGINAL
from discreet.curator.release import Release
from discreet.curator.values import Value
from discreet.curator.values import finished as plain
from discreet.curator.workloads import COUNT, tenths
from discreet.engines.base import Engine
from discreet.errors import QueryError
from discreet.exact import Exact
from discreet.noise.source import Source
from discreet.privacy.guarantee import PureDP
from discreet.privacy.loss import PureLoss
from discreet.publish.marginals import Marginals, marginal_counts, measured_by
from discreet.publish.measured import LinearAnswer
from discreet.publish.residuals import closure_of
from discreet.query.keys import shown_key
from discreet.query.margins import Margins, Ways, margins
from discreet.query.price import Target
from discreet.query.render import expr_sql, name_sql
from discreet.query.request import Cells
from discreet.query.schema import Schema

__all__ = ["Margining", "margining"]


@dataclass(frozen=True, slots=True)
class Margining(Decided[Margins]):
    """Marginals that will be published."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(grouping.name for grouping in self.counted.groupings)

    @property
    def sql(self) -> str:
        """The question: one SELECT with GROUPING SETS."""
        names = [name_sql(name) for name in self.names]
        sets = (", ".join(names[i] for i in one) for one in self.counted.wanted)
        values = (expr_sql(grouping.value) for grouping in self.counted.groupings)
        listed = ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True))
        kept = "" if self.counted.where is None else f"\nWHERE {self.counted.where}"
        by = ", ".join(f"({one})" for one in sets)
        return " ".join((
            "SELECT", f"{listed}, COUNT(*) AS {COUNT}\nFROM",
            f"{name_sql(self.schema.name)}{kept}\nGROUP BY", f"GROUPING SETS ({by})",
        ))  # fmt: skip

    @property
    def asked(self) -> Asked:
        """What is published, for the ledger: the same for equal marginals."""
        told = {"marginals": self.sql, "by": "residuals", "pure": "epsilon" in self.price}
        return self.question(self.sql, told)

    def published(
        self, parts: Sequence[Cells], source: Source, *, confidence: Fraction, at: datetime
    ) -> Release:
        """Measure the marginals and forget them."""
        made = marginal_counts(
            self.counted.counts(parts), self.counted.sizes, self.counted.wanted,
            sensitivity=self.counted.sensitivity, neighbours=self.schema.unit.neighbours,
            source=source, **self.price,
        )  # fmt: skip
        return self._release(made, confidence, at)

    def _release(self, made: Marginals, confidence: Fraction, at: datetime) -> Release:
        rows, ends, raw = [], [], []
        for key, answer in self._answers(made, confidence):
            value, interval = tenths(answer, self.counted.scale)
            rows.append((*key, value))
            ends.append(interval)
            raw.append(answer.raw / self.counted.scale)
        return self.release(
            columns=(MARGINAL, *self.names, COUNT),
            keys=(MARGINAL, *self.names),
            rows=tuple(rows),
            intervals={COUNT: tuple(ends)},
            raw={COUNT: tuple(raw)},
            sql=self.sql,
            mechanisms={COUNT: _words(made)},
            confidence=confidence,
            notes=self._notes(),
            asked_at=at,
        )

    def _answers(
        self, made: Marginals, confidence: Fraction
    ) -> Iterator[tuple[tuple[Value, ...], LinearAnswer]]:
        """Every cell of every marginal, those of fewer columns first."""
        for columns in closure_of(self.counted.wanted):
            title = ", ".join(self.names[i] for i in columns) or EVERYBODY
            width, error = made.width(columns, 1 - confidence), made.variance(columns) ** 0.5
            raw, read = made.raw(columns).reshape(-1), made.read(columns).reshape(-1)
            groups = product(*(self.counted.keys[i] for i in columns))
            for group, estimate, value in zip(groups, raw.tolist(), read.tolist(), strict=True):
                low, high = max(estimate - width, 0.0), max(estimate + width, 0.0)
                inside = min(max(value, low), high)
                answer = LinearAnswer(inside, low, high, float(confidence), estimate, error)
                own = dict(zip(columns, group, strict=True))
                keys = (self._shown(i, own.get(i)) for i in range(len(self.names)))
                yield (title, *keys), answer

    def _shown(self, i: int, key: object) -> Value:
        grouping = self.counted.groupings[i]
        return plain(shown_key(key, grouping.value), where=grouping.name)  # type: ignore[arg-type]

    def _notes(self) -> tuple[str, ...]:
        notes = ["(none) in a key that the marginal does not have stands for all of its values"]
        missing = [g.name for g in self.counted.groupings if g.value.kind.nullable]
        if missing:
            notes.append(
                f"(none) in a key that the marginal has says that {' or '.join(missing)} is missing"
            )
        return tuple(notes)


def _words(made: Marginals) -> str:
    law = "geometric" if isinstance(made.guarantee, PureDP) else "discrete Gaussian"
    return (
        f"{law} noise on {len(made.numbers):,} tables of residuals, least squares over all of "
        "them, without negative counts"
    )


def margining(  # noqa: PLR0913 - what is wanted, and what it may cost
    schema: Schema, engine: Engine, columns: Sequence[str], ways: Ways, *,
    where: str | None = None, epsilon: Exact | None = None, rho: Exact | None = None,
    found: Sequence[tuple[str, PureLoss]] = (),
) -> Margining:  # fmt: skip
    """Decide everything that needs no data; refused here, nothing was charged.

    Args:
        schema: the table.
        engine: reads it.
        columns: columns with public keys, or expressions in SQL.
        ways: of how many columns each marginal is, or their names, marginal by marginal.
        where: only rows for which this condition holds.
        epsilon: the price; or
        rho: in zero-concentrated privacy.
        found: what had to be found of the table before, and what that leaks.
    """
    loss = loss_of(Target(epsilon=epsilon, rho=rho), schema)
    wanted = margins(schema, columns, ways, where)
    for grouping in wanted.groupings:
        if grouping.name in (MARGINAL, COUNT):
            raise QueryError(
                f"the column {grouping.name!r} is called like one of the answer; rename it"
            )
    measured_by(
        wanted.sizes, wanted.wanted, epsilon=epsilon, rho=rho, sensitivity=wanted.sensitivity,
        neighbours=schema.unit.neighbours,
    )  # fmt: skip
    return Margining(schema, engine.statement(wanted.request), loss, tuple(found), wanted)

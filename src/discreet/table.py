"""`dp.Table`: a source, what a person is, what is known of each column; and from there questions.

The facade over `query`, `engines` and `curator`. It reads names and types of the source, and no
row: everything that a question needs to know is declared.
Tested by tests/test_table.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import PurePath
from typing import Any, NoReturn

from discreet.curator.answering import Audience
from discreet.curator.bind import bound
from discreet.curator.published import Published
from discreet.curator.questions import Question, Questions
from discreet.curator.release import Release
from discreet.curator.session import Session
from discreet.engines.check import check_rows
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact
from discreet.privacy.budget import Budget, Chargeable
from discreet.privacy.guarantee import delta_of
from discreet.query.build import Query
from discreet.query.explain import Price
from discreet.query.margins import Ways
from discreet.query.schema import MOST_ROWS, PublicTable, Schema, Unit

__all__ = ["Table"]


class Table:
    """A table about people that can be asked privately.

    Guarantee. Whatever sessions of this table hand out has the guarantee of their budget; two
    sessions with budgets of their own add up.
    Assumes. The unit is declared truthfully. Bounds and keys need not be true: values beyond them
    are clamped or count as missing.
    Proof. `discreet.curator.session`.
    Tested by tests/test_table.py

    Args:
        source: a CSV or Parquet file, a glob, a folder of Parquet files, a pandas, polars or arrow
            table, a DuckDB file or connection, a PostgreSQL address, a Spark DataFrame or session.
        unit: what a person is: `dp.PerRow()` or `dp.PerPerson("person_id", max_rows=...)`.
        columns: what is publicly known of each column. Others are hidden.
        name: what questions call the table; from the source's name if that is not said.
        table: the table's name in a database.
        lookups: public lookup tables, by name.
        row_limit: the table never has more rows; proofs that sums do not overflow use it.
        options: for the engine, such as `delimiter=";"` for CSV.

    >>> import pandas as pd
    >>> import discreet as dp
    >>> people = pd.DataFrame({"dept": ["it", "hr", "it"], "salary": [52_000, 61_000, 48_500]})
    >>> t = dp.Table(people, unit=dp.PerRow(), name="staff",
    ...              columns={"dept": ["hr", "it", "law"], "salary": (0, 400_000)})
    >>> session = t.session(epsilon=3)
    >>> answer = session.ask("SELECT dept, COUNT(*) AS n FROM staff GROUP BY dept", epsilon=1)
    >>> answer["dept"]
    ['hr', 'it', 'law']
    >>> print(session.left)
    epsilon 2
    """

    def __init__(
        self,
        source: Any,
        *,
        unit: Unit,
        columns: Mapping[str, Any],
        name: str | None = None,
        table: str | None = None,
        lookups: Mapping[str, PublicTable] | None = None,
        row_limit: Exact = MOST_ROWS,
        **options: Any,
    ) -> None:
        schema, self._engine = bound(
            source, unit=unit, columns=columns, name=name or _name(source, table), table=table,
            lookups=lookups, row_limit=row_limit, options=options,
        )  # fmt: skip
        self._questions = Questions(schema, self._engine)

    @property
    def schema(self) -> Schema:
        """What was declared."""
        return self._questions.schema

    @property
    def name(self) -> str:
        """What questions call the table."""
        return self.schema.name

    def __repr__(self) -> str:
        usable = ", ".join(self.schema.columns)
        return f"<Table {self.name!r} on {self._engine.dialect}: {usable}>"

    def query(self) -> Query:
        """Begin a question in the fluent form."""
        return Query(self.schema, asker=self)

    def session(
        self,
        *,
        epsilon: Exact | None = None,
        delta: Exact = 0,
        rho: Exact | None = None,
        budget: Chargeable | None = None,
        audience: Audience = "owner",
        confidence: Exact = "0.95",
        on_fault: Callable[[Exception], None] | None = None,
    ) -> Session:
        """Open a session with a budget of its own, or on one that is shared.

        Args:
            epsilon: the budget in pure privacy, or with
            delta: in approximate privacy, or
            rho: in zero-concentrated privacy, or
            budget: a `dp.Budget` that other sessions charge too.
            audience: "owner", who may see a database's own errors, or "analyst", who may not.
            confidence: of intervals.
            on_fault: told of every error that an analyst is not shown.
        """
        neighbours = self.schema.unit.neighbours
        if budget is None and epsilon is None and rho is None:
            raise ParameterError(
                "epsilon", None, "or rho or budget must be said: session(epsilon=1)"
            )
        if budget is None:  # half of delta is kept for selecting keys, which may fail
            kept = delta_of(delta) / 2 if delta else 0
            budget = Budget(
                epsilon=epsilon, delta=delta, rho=rho, failures=kept, neighbours=neighbours
            )
        elif epsilon is not None or rho is not None or delta:
            raise ParameterError("budget", budget, "goes instead of epsilon, delta and rho")
        return Session(
            self.schema, self._engine, budget, audience=audience, confidence=confidence,
            on_fault=on_fault,
        )  # fmt: skip

    def publish_histogram(
        self, column: str, *, bins: int, range: tuple[Exact, Exact], epsilon: Exact | None = None,
        rho: Exact | None = None, where: str | None = None, confidence: Exact = "0.95",
    ) -> Published:  # fmt: skip
        """Publish the counts of a column's cells, once: every later question about them is free.

        It has a budget of its own, which it spends; `session.publish` shares one.

        Args:
            column: a column of numbers, or an expression in SQL.
            bins: how many cells of equal width.
            range: (low, high), from where to where; rows outside are not counted.
            epsilon: what it costs, in pure privacy; or
            rho: in zero-concentrated privacy.
            where: only rows for which this condition holds.
            confidence: of the intervals.
        """
        session = self.session(epsilon=epsilon, rho=rho, confidence=confidence)
        return session.publish(
            column, bins=bins, ranges=range, epsilon=epsilon, rho=rho, where=where
        )

    def publish_grid(
        self, columns: Sequence[str], *, shape: Sequence[int],
        ranges: Sequence[tuple[Exact, Exact]], epsilon: Exact | None = None,
        rho: Exact | None = None, where: str | None = None, confidence: Exact = "0.95",
    ) -> Published:  # fmt: skip
        """Publish the counts of a grid over two or three columns, once; as `publish_histogram`.

        Args:
            columns: columns of numbers, or expressions in SQL.
            shape: how many cells along each.
            ranges: (low, high) of each.
            epsilon: what it costs, in pure privacy; or
            rho: in zero-concentrated privacy.
            where: only rows for which this condition holds.
            confidence: of the intervals.
        """
        session = self.session(epsilon=epsilon, rho=rho, confidence=confidence)
        return session.publish(
            columns, bins=shape, ranges=ranges, epsilon=epsilon, rho=rho, where=where
        )

    def publish_rollup(
        self, keys: Sequence[str], *, epsilon: Exact, where: str | None = None,
        combinations: Sequence[tuple[Any, ...]] | None = None, confidence: Exact = "0.95",
    ) -> Release:  # fmt: skip
        """Publish the counts of all levels of GROUP BY ROLLUP (keys): parts add up; once.

        It has a budget of its own, which it spends; `session.publish_rollup` shares one.

        Args:
            keys: columns with public keys, or expressions in SQL, the coarsest first.
            epsilon: what it costs, all levels together.
            where: only rows for which this condition holds.
            combinations: the finest groups as tuples, where they are not all combinations.
            confidence: of the intervals.
        """
        session = self.session(epsilon=epsilon, confidence=confidence)
        return session.publish_rollup(keys, epsilon=epsilon, where=where, combinations=combinations)

    def publish_workload(
        self, questions: Sequence[Question], *, epsilon: Exact, confidence: Exact = "0.95"
    ) -> Release:
        """Answer several counting questions together, once.

        It has a budget of its own, which it spends; `session.publish_workload` shares one.

        Args:
            questions: each SELECT COUNT(*) in SQL, with WHERE and GROUP BY over columns whose
                values are public; or the condition alone, such as "age < 30"; or a query.
            epsilon: what it costs, all questions together.
            confidence: of the intervals.
        """
        session = self.session(epsilon=epsilon, confidence=confidence)
        return session.publish_workload(questions, epsilon=epsilon)

    def publish_marginals(
        self, columns: Sequence[str], *, ways: Ways = 2, epsilon: Exact | None = None,
        rho: Exact | None = None, where: str | None = None, confidence: Exact = "0.95",
    ) -> Release:  # fmt: skip
        """Publish tables of counts over a few of many columns each, once.

        It has a budget of its own, which it spends; `session.publish_marginals` shares one.

        Args:
            columns: columns with public keys, or expressions in SQL; "... AS name" gives a name.
            ways: of how many columns each table is; or the tables, each a list of names.
            epsilon: what it costs, all tables together; or
            rho: in zero-concentrated privacy, which is far better for many tables.
            where: only rows for which this condition holds.
            confidence: of the intervals.
        """
        session = self.session(epsilon=epsilon, rho=rho, confidence=confidence)
        return session.publish_marginals(columns, ways=ways, epsilon=epsilon, rho=rho, where=where)

    def ask(self, question: Question, /, **how: Any) -> NoReturn:  # noqa: ARG002 - never answered
        """Nothing is answered without a budget: open a session."""
        raise UnsupportedError(
            "a table answers through a session, which keeps the budget: "
            "session = table.session(epsilon=...), then session.ask(question, epsilon=...)"
        )

    def explain(self, question: Question, /, **price: Any) -> str:
        """The question in words, with the statement that would run; free."""
        return self._questions.explain(question, **price)

    def price(self, question: Question, /, **price: Any) -> Price:
        """The expected error of every number at a price; free."""
        return self._questions.price(question, **price)

    def epsilon_for(self, question: Question, /, **accuracy: Any) -> Decimal:
        """The least epsilon at which the answer is as accurate as asked; free."""
        return self._questions.epsilon_for(question, **accuracy)

    def read_through(self) -> None:
        """Read every declared column of every row once, for the owner, and tell nothing.

        A table that cannot be read, such as a broken file, fails here with the database's own
        words. Later it would fail behind an analyst's question, which is then charged and answered
        as if the table were empty. So does a CSV file with lines that are no rows (too few fields,
        or too many, a quotation mark that stays open, no UTF-8): questions leave them out.
        """
        check_rows(self.schema, self._engine)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.close()


def _name(source: object, table: str | None) -> str:
    """The table's or file's own name if it is a plain word, else "t"."""
    text = table.rpartition(".")[2] if table else ""
    if not text and isinstance(source, str | PurePath) and "://" not in str(source):
        text = PurePath(source).name.partition(".")[0]
    return text if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) else "t"

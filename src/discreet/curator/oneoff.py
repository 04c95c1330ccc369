"""A bare file with a ledger beside it: questions of today and of next month add up.

`payroll.csv.ledger` is made at the first question, with a total that stays until the owner raises
it. Each question declares the columns that it needs; declaring others, or other bounds, is a new
version of the same policy for the same people, and creates no budget.
Tested by tests/curator/test_oneoff.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.curator.curator import Curator
from discreet.curator.ledger.amounts import Limit, limit_of
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import register
from discreet.curator.policy.model import Dataset, Defaults, Family, Policy
from discreet.curator.policy.model import Ledger as Place
from discreet.curator.policy.registration import registration
from discreet.errors import ParameterError
from discreet.exact import Exact
from discreet.query.schema import MOST_ROWS, PerPerson, PerRow, Unit, declared

__all__ = ["DEFAULT_BUDGET", "open_file"]

DEFAULT_BUDGET = 10
"""The total epsilon of a file for which nobody said another."""
_FAMILY = "people"


def open_file(  # noqa: PLR0913 - all that an owner may say on one line
    path: str | Path,
    *,
    columns: Mapping[str, Any],
    person: str | None = None,
    max_rows: int | None = None,
    max_groups: int | None = None,
    budget: Exact | None = None,
    table: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Curator:
    """A curator over one file.

    Args:
        path: the file.
        columns: what is publicly known of each column, as for `dp.Table`.
        person: the column that names the person; without it every row is one person.
        max_rows: how many rows of a person count.
        max_groups: in how many groups a person counts.
        budget: the total epsilon, at the first use; later it has to agree, or be left out.
        table: the table's name in a database file.
        options: for the engine, such as {"delimiter": ";"}.
    """
    file = Path(path).resolve()  # a link has the ledger of its file
    if any(mark in str(file) for mark in "*?"):
        raise ParameterError("file", str(path), "must be one file, not a pattern")
    if not file.exists():
        raise ParameterError("file", str(path), "does not exist")
    place = Place(f"{file}.ledger", Path(f"{file}.ledger.head"))
    unit: Unit = PerRow()
    if person is not None:
        unit = PerPerson(person, max_rows=max_rows, max_groups=max_groups)
    elif max_rows is not None or max_groups is not None:
        raise ParameterError("max_rows", max_rows, "needs person: the column that names them")
    opened = Ledger if Path(place.address).exists() else Ledger.create
    ledger = opened(place.address, head=place.head)
    try:
        limit = _limit(ledger, budget)
        dataset = Dataset(
            name=_name(file, table), family=_FAMILY, source=str(file), table=table,
            version=_state(file), unit=unit,
            columns={name: declared(name, said) for name, said in columns.items()},
            lookups={}, row_limit=MOST_ROWS, options=dict(options or {}), blocks={},
            folder=file.parent,
        )  # fmt: skip
        policy = Policy(
            folder=file.parent, ledger=place, families={_FAMILY: Family(_FAMILY, limit)},
            analysts={}, datasets={dataset.name: dataset}, defaults=Defaults(),
        )  # fmt: skip
        register(ledger, registration(policy))
        return _OfFile(policy, ledger=ledger)
    except BaseException:
        ledger.close()
        raise


class _OfFile(Curator):
    """A curator whose ledger was opened for it: nobody else will close it."""

    def close(self) -> None:
        """Let go of the ledger and the data."""
        self.ledger.close()
        super().close()


def _limit(ledger: Ledger, budget: Exact | None) -> Limit:
    """The total that the ledger has, or the one of a new ledger."""
    account = ledger.accounts.get(_FAMILY)
    if account is None:
        return limit_of(epsilon=DEFAULT_BUDGET if budget is None else budget)
    if budget is not None and limit_of(epsilon=budget).most != account.total:
        problem = (
            f"of this file is {account.total.said('pure')} since its ledger was made; "
            "leave the budget out, or raise it with `discreet ledger raise`"
        )
        raise ParameterError("budget", str(budget), problem)
    return limit_of(epsilon=account.total.value())


def _state(file: Path) -> str:
    """A name for what the file holds now: a changed file is other data."""
    told = file.stat()
    return f"{told.st_size}-{told.st_mtime_ns}"


def _name(file: Path, table: str | None) -> str:
    """The file's or table's own name if it is a plain word, else "t"."""
    text = (table or file.name).rpartition(".")[2] if table else file.name.partition(".")[0]
    return text if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) else "t"

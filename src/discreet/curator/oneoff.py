"""A bare file with a ledger beside it: questions of today and of next month add up.

`payroll.csv.ledger` is made at the first question, with a total that stays until the owner raises
it. Each question declares the columns that it needs; declaring others, or other bounds, is a new
version of the same policy for the same people, and creates no budget.

A state of the file is a version of the data. Its name is a hash of size and time with the ledger's
own secret number: it is printed in reports, and a size would tell of the rows. The name of the file
is all that says whose budget it is: under another name it is another file, with a budget of its
own, which nothing here can prevent. So whoever makes a ledger is told, and told of ledgers whose
file is gone.
Tested by tests/curator/test_oneoff.py
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.curator.asking import Asking
from discreet.curator.curator import Curator
from discreet.curator.ledger.amounts import NOTHING, Limit, limit_of
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import (
    opened_or_made,
    otherwise_protected,
    policies_in,
    register,
)
from discreet.curator.policy.model import Dataset, Defaults, Family, Policy
from discreet.curator.policy.model import Ledger as Place
from discreet.curator.policy.registration import registration
from discreet.curator.unchanged import seen_by
from discreet.engines.sources import FILES, files_of
from discreet.engines.state import Watched
from discreet.errors import ChangedDataError, ParameterError
from discreet.exact import Exact
from discreet.query.schema import MOST_ROWS, PerPerson, PerRow, Unit, declared

__all__ = ["DEFAULT_BUDGET", "OfFile", "name_of", "open_file", "orphans"]

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
) -> OfFile:
    """A curator over one file.

    Args:
        path: the file.
        columns: what is publicly known of each column, as for `dp.Table`.
        person: the column that names the person; without it every row is one person.
        max_rows: how many rows of a person count.
        max_groups: in how many groups a person counts.
        budget: the total epsilon, as long as nothing was spent of it; later it has to agree, or be
            left out.
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
    ledger = opened_or_made(place.address, place.head)
    try:
        is_new = not ledger.accounts
        limit = _limit(ledger, budget)
        dataset = Dataset(
            name=name_of(file, table), family=_FAMILY, source=str(file), table=table,
            version=_version(ledger, file), unit=unit,
            columns={name: declared(name, said) for name, said in columns.items()},
            lookups={}, row_limit=MOST_ROWS, options=dict(options or {}), blocks={},
            folder=file.parent,
        )  # fmt: skip
        policy = Policy(
            folder=file.parent, ledger=place, families={_FAMILY: Family(_FAMILY, limit)},
            analysts={}, datasets={dataset.name: dataset}, defaults=Defaults(),
        )  # fmt: skip
        wanted = replace(registration(policy), data=())  # a version says its state
        earlier = [] if ledger.policy[0] == wanted.fingerprint else policies_in(ledger)
        other = otherwise_protected(wanted, earlier, ledger.accounts)
        more = [_FAMILY] if _is_untouched(ledger) else []
        register(ledger, wanted, other_unit=[dataset.name], more_budget=more)
        made = OfFile(policy, ledger=ledger)
        made.is_new, made.before = is_new, sorted({was.whom for was, _ in other})
        return made  # noqa: TRY300 - all of it may fail
    except BaseException:
        ledger.close()
        raise


class OfFile(Curator):
    """A curator of a bare file. Its ledger was opened for it: nobody else will close it.

    Attributes:
        is_new: whether the ledger was made just now.
        before: whom questions protected that were paid for, where it is somebody else than now.
    """

    is_new = False
    before: Sequence[str] = ()

    def close(self) -> None:
        """Let go of the ledger and the data."""
        self.ledger.close()
        super().close()

    def _insist_unchanged(self, asking: Asking) -> None:
        """Nothing is answered from another state than the one that was opened."""
        seen = seen_by(asking)
        if seen is None or _named(self.ledger, seen.state) != asking.version:
            raise ChangedDataError("the file has just changed; ask again. Nothing was charged")
        asking.agreed = seen


def orphans(path: str | Path) -> list[str]:
    """Ledgers of data files beside a file that are gone: they may have been renamed.

    A policy's ledger has no such name.
    """
    folder = Path(path).resolve().parent
    found = (one.name.removesuffix(".ledger") for one in folder.glob("*.ledger"))
    return sorted(
        name for name in found if name.endswith(tuple(FILES)) and not (folder / name).exists()
    )


def _is_untouched(ledger: Ledger) -> bool:
    """Whether nothing was spent: its first question was refused, or not even asked."""
    account = ledger.accounts.get(_FAMILY)
    return account is not None and account.spent == NOTHING


def _limit(ledger: Ledger, budget: Exact | None) -> Limit:
    """The total that the ledger has; the one that is said, as long as nothing was spent of it."""
    account = ledger.accounts.get(_FAMILY)
    if account is None:
        return limit_of(epsilon=DEFAULT_BUDGET if budget is None else budget)
    total = account.total
    if budget is not None and _is_untouched(ledger):
        return limit_of(epsilon=budget, delta=total.failing())
    if budget is not None and limit_of(epsilon=budget).most.main != total.main:
        problem = (
            f"of this file is {total.said('pure')} since its ledger was made; "
            "leave the budget out, or raise it with `discreet ledger raise`"
        )
        raise ParameterError("budget", str(budget), problem)
    return limit_of(epsilon=total.value(), delta=total.failing())


def _version(ledger: Ledger, file: Path) -> str:
    """A name for what the file, or the folder, holds now: a changed file is other data."""
    files = files_of(str(file))
    seen = Watched(files).now() if files else None
    return "" if seen is None else _named(ledger, seen.state)


def _named(ledger: Ledger, state: str) -> str:
    """A state's name; who does not have the ledger cannot try states out."""
    return hashlib.sha256(f"{ledger.uid}:{state}".encode()).hexdigest()[:16]


def name_of(file: Path, table: str | None) -> str:
    """The file's or table's own name if it is a plain word, else "t"."""
    text = (table or file.name).rpartition(".")[2] if table else file.name.partition(".")[0]
    return text if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) else "t"

"""A curator on another machine, asked like one in this process.

    curator = dp.Curator("policy.toml")
    curator = dp.connect("https://data.example.org", "dk_...")

Whatever follows stays as it is: `ask`, `explain`, `price`, `epsilon_for`, `query`, `accounts` and
`record` take the same arguments, return the same values and raise the same errors. Who asks is told
by the key. Prices travel as exact text, questions as SQL.

Guarantee. None of its own: everything is decided by the server, and the client is not trusted.
Every `ask` has an idempotency key, so that a question that is sent again is charged once.
Tested by tests/client/test_remote.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from discreet.client.wire import Wire, new_asking
from discreet.curator.asking import only_dataset
from discreet.curator.ledger.values import Account
from discreet.curator.metadata import schema_from
from discreet.curator.questions import Question, plan_of
from discreet.curator.record import Record
from discreet.curator.search import supposed
from discreet.errors import ParameterError, QueryError, RemoteError
from discreet.exact import Exact, rational
from discreet.query.build import Query
from discreet.query.explain import Price
from discreet.query.plan import Plan
from discreet.query.render import to_sql
from discreet.query.schema import Bounds, FindBounds
from discreet.query.sql import parse

__all__ = ["Remote", "connect"]

_PAGE = 100
_RECORD = {"schema", *(item.name for item in fields(Record))}
_FINE, _COARSE = Fraction(1, 1 << 20), Fraction(1, 1 << 10)
_MIGHT_BE = (
    Bounds(-(1 << 40), 1 << 40, _FINE),
    Bounds(_FINE, 1 << 40, _FINE),
    Bounds(-(1 << 20), 1 << 20, _COARSE),
    Bounds(_COARSE, 1 << 20, _COARSE),
)
"""Bounds that might be found, the widest first: of numbers of both signs or one, of fractions."""
T = TypeVar("T")


def connect(
    url: str,
    key: str | None = None,
    *,
    timeout: Exact = 75,
    ca: str | Path | None = None,
    retries: int = 5,
) -> Remote:
    """A curator that runs as a service elsewhere (`discreet serve`).

    Args:
        url: its address, https://host. http:// is for this machine only.
        key: what the owner handed out, "dk_..."; from the environment (DISCREET_KEY) without it.
        timeout: seconds to wait for an answer; a question may take 60.
        ca: a file of certificates to trust instead of the system's, for a server that has its own.
            Certificates are always checked.
        retries: how often a request is sent again if no answer comes. A question is charged once.
    """
    return Remote(Wire(url, key, timeout=timeout, ca=ca, retries=retries))


class Remote:
    """A curator on another machine; made by `dp.connect`."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._name: str | None = None

    def __repr__(self) -> str:
        return f"<Remote curator at {self._wire.url}>"

    def close(self) -> None:
        """Forget the key."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # free

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets that the key may see."""
        told = self._wire.get("datasets")
        return _formed(lambda: tuple(str(one["name"]) for one in told["datasets"]))

    def metadata(self, dataset: str) -> dict[str, Any]:
        """What is known of a dataset: columns, bounds, keys, what a person is."""
        return self._wire.get("datasets", dataset, keys="all")

    def query(self, dataset: str | None = None, *, block: str | None = None) -> Query:
        """Begin a question in the fluent form; hand it to `ask`."""
        name = dataset or only_dataset(self.datasets)
        told = self.metadata(name)
        blocks = _formed(lambda: [str(one["name"]) for one in told["blocks"]])
        if block is not None and block not in blocks:
            known = ", ".join(blocks) or "none"
            raise QueryError(f"{name!r} has no block {block!r}; there are: {known}")
        return Query(_formed(lambda: schema_from(told)))

    def explain(self, question: Question, /, *, dataset: str | None = None,
                block: str | None = None, **price: Any) -> str:  # fmt: skip
        """The question in words; free."""
        told = self._free("explain", question, dataset, block, price)
        return _formed(lambda: str(told["text"]))

    def price(self, question: Question, /, *, dataset: str | None = None,
              block: str | None = None, **price: Any) -> Price:  # fmt: skip
        """The expected error of every number at a price; free."""
        told = self._free("explain", question, dataset, block, price)
        return _formed(lambda: Price.from_dict(told))

    def epsilon_for(self, question: Question, /, *, dataset: str | None = None,
                    block: str | None = None, **accuracy: Any) -> Decimal:  # fmt: skip
        """The least epsilon at which the answer is as accurate as asked, within=...; free."""
        if accuracy.get("within") is None:
            raise ParameterError("within", None, "must be said: how far off the answer may be")
        told = self._free("explain", question, dataset, block, accuracy)
        return _formed(lambda: Decimal(str(told["epsilon_for"])))

    def rehearse(self, question: Question, /, *, dataset: str | None = None,
                 block: str | None = None, **price: Any) -> Record:  # fmt: skip
        """The answer that made-up rows give, at no cost: nothing is read, nothing is charged."""
        return _record(self._free("rehearse", question, dataset, block, price))

    def accounts(self, analyst: str | None = None) -> Mapping[str, Account]:
        """What was spent and is left: of all accounts that the key may see, or of one analyst's."""
        told = self._wire.get("budget")
        found = _formed(lambda: [Account.from_dict(one) for one in told["accounts"]])
        return {
            one.name: one for one in found if analyst is None or one.name.endswith(f"@{analyst}")
        }

    def record(self, key: str, *, alone: bool = False) -> Record:
        """A stored answer, by its key; free. Alone, it is not improved by earlier answers."""
        try:
            return _record(self._wire.get("releases", key, alone="true" if alone else None))
        except QueryError:
            raise ParameterError("release", key, "is not stored here; releases() lists") from None

    def releases(self, most: int | None = None) -> Iterator[dict[str, Any]]:
        """The stored answers that the key may see, the latest first, without their numbers.

        Args:
            most: how many; all without it, fetched as they are needed.
        """
        before: str | None = None
        given = 0
        while most is None or given < most:
            page = _PAGE if most is None else min(_PAGE, most - given)
            told = self._wire.get("releases", limit=page, before=before)
            found = _formed(partial(_listed, told))
            yield from found
            given += len(found)
            if told.get("next") is None:
                return
            before = str(told["next"])

    # questions

    def ask(  # noqa: PLR0913 - every word that a question may say
        self,
        question: Question,
        /,
        *,
        analyst: str | None = None,
        dataset: str | None = None,
        block: str | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        within: Exact | None = None,
        rows: Exact | None = None,
        column: str | None = None,
        key: str | None = None,
        with_what_is_left: bool = False,
        search_again: bool = False,
        deadline: int | None = None,
    ) -> Record:
        """Charge the ledger, run the question, store its answer and return it, all at the server.

        The arguments are those of `Curator.ask`. An `analyst` may be said, and has to be the
        owner of the key. A question `with_what_is_left` has no key, and is not sent again if the
        connection breaks. The answer is sent after `deadline` seconds, 1, 10 or 60, whatever it
        takes.
        """
        if key is not None and with_what_is_left:
            problem = "names one price; it does not go with what is left, which changes"
            raise ParameterError("key", key, problem)
        if analyst is not None:
            self._is(analyst)
        price = {
            "epsilon": epsilon, "delta": delta, "rho": rho, "within": within, "rows": rows,
            "column": column,
        }  # fmt: skip
        body = self._body(question, dataset, block, price)
        if deadline is not None:
            body["deadline"] = deadline
        for name, said in (
            ("with_what_is_left", with_what_is_left),
            ("search_again", search_again),
        ):
            if said:
                body[name] = True
        asking = None if with_what_is_left else key or new_asking()
        return _record(self._wire.post("ask", body=body, asking=asking))

    def publish(  # noqa: PLR0913 - every word that a publication may say
        self,
        columns: str | Sequence[str],
        /,
        *,
        bins: int | Sequence[int],
        ranges: tuple[Exact, Exact] | Sequence[tuple[Exact, Exact]],
        where: str | None = None,
        epsilon: Exact,
        analyst: str | None = None,
        dataset: str | None = None,
        block: str | None = None,
        key: str | None = None,
        deadline: int | None = None,
    ) -> Record:
        """Charge once, and publish counts that answer any number of questions, all at the server.

        The arguments are those of `Curator.publish`, and `deadline`, as for `ask`.
        """
        if analyst is not None:
            self._is(analyst)
        one = isinstance(columns, str)
        spans: Any = [ranges] if one else ranges
        said: dict[str, Any] = {
            "columns": [columns] if one else list(columns), "bins": [bins] if one else bins,
            "ranges": [[str(rational(end, name="range")) for end in span] for span in spans],
            "where": where, "epsilon": str(rational(epsilon, name="epsilon")), "dataset": dataset,
            "block": block, "deadline": deadline,
        }  # fmt: skip
        body = {name: value for name, value in said.items() if value is not None}
        return _record(self._wire.post("publish", body=body, asking=key or new_asking()))

    # inside

    def _is(self, analyst: str) -> None:
        if self._name is None:
            told = self._wire.get("me")
            self._name = _formed(lambda: str(told["name"]))
        if analyst != self._name:
            raise ParameterError("analyst", analyst, f"must be whose key this is: {self._name}")

    def _free(
        self,
        path: str,
        question: Question,
        dataset: str | None,
        block: str | None,
        price: Mapping[str, Any],
    ) -> dict[str, Any]:
        return self._wire.post(path, body=self._body(question, dataset, block, price), free=True)

    def _body(
        self,
        question: Question,
        dataset: str | None,
        block: str | None,
        price: Mapping[str, Any],
    ) -> dict[str, Any]:
        """A question as it travels."""
        name, given = dataset, question
        if isinstance(given, Query):
            name, given = name or given.schema.name, _sql(given)
        elif isinstance(given, Plan):
            name = name or given.table
            told = self.metadata(name)
            schema = _formed(lambda: schema_from(told))
            given = to_sql(plan_of(given, schema), schema)
        sql: object = given
        if not isinstance(sql, str):
            raise ParameterError("question", type(sql).__name__, "must be SQL, a query or a plan")
        said = {"question": sql, "dataset": name, "block": block, **_priced(price)}
        return {what: value for what, value in said.items() if value is not None}


_PRICES = ("epsilon", "delta", "rho", "within", "rows", "confidence")
_AS_SAID = ("column", "search_again")


def _priced(price: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as exact text."""
    made: dict[str, Any] = {}
    for name, value in price.items():
        if name not in (*_PRICES, *_AS_SAID):
            raise TypeError(f"a question says nothing about {name!r}")
        exact = value is not None and name not in _AS_SAID
        number = rational(value, name=name) if exact else None
        made[name] = value if number is None or isinstance(value, str) else str(number)
    return made


def _sql(query: Query) -> str:
    """A query as SQL, which the server reads under its own declaration.

    Bounds that have still to be found are not known here, and FLOOR(x) means x where x is whole. So
    the SQL is sought that reads back as this very query under all of some different bounds, and as
    a refusal where the query is refused; without any, the query is refused here.
    """
    schema = query.schema
    unknown = [name for name, said in schema.columns.items() if isinstance(said, FindBounds)]
    if not unknown:
        return query.to_sql()
    usual = supposed(schema)
    schemas = [replace(schema, columns={**usual.columns, **dict.fromkeys(unknown, bounds)})
               for bounds in _MIGHT_BE] + [usual]  # fmt: skip
    meant = [_planned(partial(_plan, query.with_schema(one))) for one in schemas]
    if meant[-1] is None:
        _plan(query.with_schema(usual))  # raises what is wrong with it
    pairs = zip(meant, schemas, strict=True)
    for sql in dict.fromkeys(to_sql(plan, one) for plan, one in pairs if plan is not None):
        read = [_planned(partial(parse, sql, one)) for one in schemas]
        if read == meant:
            return sql
    raise QueryError(
        f"what this query means depends on bounds that have still to be found, of "
        f"{' or '.join(unknown)}; write it in SQL, which is sent as it is"
    )


def _plan(query: Query) -> Plan:
    return query.plan


def _planned(make: Callable[[], Plan]) -> Plan | None:
    """The plan; None where the question is refused."""
    try:
        return make()
    except QueryError:
        return None


# what came back


def _formed(read: Callable[[], T]) -> T:
    """What is read from an answer; RemoteError if the answer does not have its form."""
    try:
        return read()
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        problem = f"the answer does not have the form that was expected ({type(error).__name__})"
        raise RemoteError(problem, kind="unreadable") from error


def _record(told: Mapping[str, Any]) -> Record:
    """The record of an answer; what else the server says beside it is no part of it."""
    kept = {name: value for name, value in told.items() if name in _RECORD}
    return _formed(lambda: Record.from_dict(kept))


def _listed(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(one) for one in told["releases"]]

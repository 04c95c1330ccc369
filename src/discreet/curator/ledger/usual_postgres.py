"""The usual charge and the usual answer in PostgreSQL: each is one call, committed and flushed.

Two functions look, and write the entry with its question and what the accounts pay, or the answer
and its entry. They are temporary: they belong to one connection, need no right but that of
temporary tables, and the database keeps nothing of them. Their plans are made once for a
connection.

Guarantee. A call writes all of it, or nothing.
Proof. Outside of a transaction a call is one by itself. Where something is not as usual before the
first change, it says so and has changed nothing; after that, an error ends it, which takes
everything back.

No error may hold the row of an entry: the server would write its noise key into a log of its own.
So nothing is left to what a column or a CHECK of the log refuses. (What its unique indexes refuse
is told with the number or the key.)
Tested by tests/curator/ledger/test_usual_postgres.py, tests/curator/ledger/test_at_once.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from struct import Struct
from typing import Any

from discreet.curator.ledger.connecting import unable

__all__ = ["ANSWER", "CHARGE", "Call", "Calls", "calls_of"]

_PACKED: Mapping[str, Callable[[Any], bytes]] = {
    "bigint": Struct("!q").pack,
    "integer": Struct("!i").pack,
    "bytea": bytes,
    "text": str.encode,
}
"""Values as the server reads them without parsing; it knows that texts come in UTF-8. They have a
length: no NUL ends them before it is refused.
"""


class Call:
    """A function of a connection, and how it is called.

    Attributes:
        name: of the prepared statement that calls it.
        places: the names of its values, in their order.
        formats: of all values: none is text to be parsed.
        making: what a connection has to run before the first call.
        prepared: what prepares the call then.

    Args:
        title: of the function.
        values: their types, by name.
        body: what it does, in PL/pgSQL; a value is a name after a colon. It returns whether all
            was written.
    """

    __slots__ = ("_pack", "formats", "making", "name", "places", "prepared")

    def __init__(self, title: str, values: Mapping[str, str], body: str) -> None:
        self.name, self.places = title.encode(), tuple(values)
        self._pack = tuple(_PACKED[kind] for kind in values.values())
        self.formats = (1,) * len(values)
        kinds = ", ".join(values.values())
        given = ", ".join(f"${n + 1}" for n in range(len(values)))
        text = re.sub(r"(?<!:):(\w+)", lambda found: f"${self.places.index(found[1]) + 1}", body)
        self.making = (
            f"CREATE OR REPLACE FUNCTION pg_temp.{title} ({kinds}) RETURNS boolean "
            f"LANGUAGE plpgsql AS $body$ {text} $body$"
        )
        self.prepared = f"PREPARE {title} ({kinds}) AS SELECT pg_temp.{title} ({given})"

    def packed(self, values: Sequence[Any]) -> list[bytes | None]:
        """Values by place, as they go to the server; UnicodeError where one is no text."""
        return [
            None if value is None else pack(value)
            for pack, value in zip(self._pack, values, strict=True)
        ]


_PAYS = """
    UPDATE discreet_account
    SET spent = spent + :main{0}, delta_spent = delta_spent + :delta{0}
    WHERE id = :payer{0} AND sealed = 0 AND spent <= total - :main{0}
        AND delta_spent <= delta_total - :delta{0}
        AND spent >= :had{0} AND delta_spent >= :delta_had{0};
"""
CHARGE = Call(
    "discreet_charge",
    {
        "next": "bigint", "body": "text", "made": "text", "policy": "text", "last": "bigint",
        "hash": "text", "asked": "text", "digest": "text", "canon": "text",
        "size": "bigint", "analyst": "text", "noise": "bytea",
        "payer1": "integer", "main1": "bigint", "delta1": "bigint",
        "had1": "bigint", "delta_had1": "bigint",
        "payer2": "integer", "main2": "bigint", "delta2": "bigint",
        "had2": "bigint", "delta_had2": "bigint",
    },
    f"""BEGIN
    PERFORM FROM discreet_ledger
    WHERE policy = :policy
        AND EXISTS (SELECT FROM discreet_entry WHERE seq = :last AND hash = :hash)
        AND NOT EXISTS (SELECT FROM discreet_entry WHERE key = :asked)
        AND NOT EXISTS (SELECT FROM discreet_entry WHERE canon = :canon)
    FOR UPDATE OF discreet_ledger;
    IF NOT FOUND THEN RETURN false; END IF;
    {_PAYS.format(1)}
    IF NOT FOUND THEN RETURN false; END IF;
    IF :payer2 IS NOT NULL THEN
        {_PAYS.format(2)}
        IF NOT FOUND THEN RAISE check_violation USING MESSAGE = 'unusual'; END IF;
    END IF;
    INSERT INTO discreet_entry
        (seq, kind, body, hash, key, digest, canon, size, analyst, state, noise)
    VALUES (
        :next, 'reserve', :body, :made, :asked, :digest, :canon, :size, :analyst, 'reserved', :noise
    );
    RETURN true;
    END""",  # noqa: S608 - own names
)  # fmt: skip
"""A charge that one or two accounts pay; without a second one its values are NULL."""
ANSWER = Call(
    "discreet_answer",
    {
        "charged": "bigint", "asked": "text", "told": "text", "next": "bigint", "body": "text",
        "made": "text", "last": "bigint", "hash": "text",
    },
    """BEGIN
    PERFORM FROM discreet_ledger
    WHERE EXISTS (SELECT FROM discreet_entry WHERE seq = :last AND hash = :hash)
    FOR UPDATE OF discreet_ledger;
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE discreet_entry SET state = 'done', noise = NULL, answer = :told
    WHERE seq = :charged AND key = :asked AND state = 'reserved';
    IF NOT FOUND THEN RETURN false; END IF;
    INSERT INTO discreet_entry (seq, kind, body, hash) VALUES (:next, 'done', :body, :made);
    RETURN true;
    END""",
)  # fmt: skip
"""The answer is put in and the noise key out, of a question that waits under its charge."""


class Calls:
    """The functions of one connection, to be called.

    The driver is asked to send and to wait, no more: a cursor would take twice as long. Who
    waits can be interrupted, as with a cursor.

    Args:
        connection: psycopg's, in no transaction.
    """

    __slots__ = ("_answered", "_connection", "_failed", "_gone", "_server")

    def __init__(self, connection: Any) -> None:
        from psycopg import errors, generators  # noqa: PLC0415 - only with PostgreSQL

        self._connection, self._server = connection, connection.pgconn
        self._answered, self._failed = generators.execute, errors.error_from_result
        self._gone = errors.InvalidSqlStatementName
        connection.execute("; ".join(call.making for call in _ALL), prepare=False)
        self._prepare()

    def _prepare(self) -> None:
        from psycopg.errors import DuplicatePreparedStatement  # noqa: PLC0415 - as above

        for call in _ALL:
            with suppress(DuplicatePreparedStatement):  # this was interrupted before
                self._connection.execute(call.prepared, prepare=False)

    def run(self, call: Call, values: Sequence[Any]) -> bool:
        """Call a function, as a transaction; whether it has written. Raises psycopg's errors."""
        packed = call.packed(values)
        try:
            return self._run(call, packed)
        except self._gone:  # the driver forgets what is prepared when a transaction is taken back
            self._prepare()
            return self._run(call, packed)

    def _run(self, call: Call, packed: Sequence[bytes | None]) -> bool:
        self._server.send_query_prepared(call.name, packed, call.formats, 1)
        result = self._connection.wait(self._answered(self._server))[-1]
        if result.status != _ROWS:
            raise self._failed(result)
        return bool(result.get_value(0, 0) == _TRUE)


_ALL = (CHARGE, ANSWER)
_ROWS = 2
"""What the driver says of a statement that has given rows."""
_TRUE = b"\1"


def calls_of(connection: Any) -> Calls | bool:
    """The functions of a connection; False where the server lets nobody make them."""
    try:
        return Calls(connection)
    except unable():
        return False

"""The tables of a ledger, for SQLite and PostgreSQL alike, and how old ones become new ones.

ledger: one row. Which ledger this is, the version of its tables, and the policy that it follows.
account: who may spend how much, and has. A family's account, and the allowances under it.
entry: the log. The row of a charge holds its question as well, by its key: its noise key while it
    is computed, and its answer afterwards. The hash of an entry is over number, kind and body; what
    else its row says follows from the log, too.
person, key, secret: who may sign in, their keys, and which secret these were made under. Of what
    must stay secret they hold what a keyed hash leaves of it.
session: who is signed in. It says nothing that lasts, and is not in the log; neither is the time
    at which a key was used last.

The log is the truth; `discreet.curator.ledger.verify` rebuilds the other tables from it.
Tested by tests/curator/ledger/test_tables.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
    insert,
    select,
    update,
)

from discreet.curator.ledger.chain import Entry
from discreet.errors import LedgerError

if TYPE_CHECKING:
    from discreet.curator.ledger.database import Database

__all__ = [
    "FAILED",
    "MIGRATIONS",
    "VERSION",
    "account",
    "asked",
    "entry",
    "key",
    "ledger",
    "make",
    "metadata",
    "migrate",
    "person",
    "question",
    "secret",
    "session",
]

FAILED = "!"
"""Ends the digest of an asking whose answer is that of a failure, for the owner's lists. Nothing is
looked up by digests, so that such an answer serves whom, and for what, any other would.
"""
metadata = MetaData()
_WIDE = BigInteger().with_variant(Integer, "sqlite")
"""64 bits; in SQLite the row's own number, so that the log is one tree and not two."""

ledger = Table(
    "discreet_ledger",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("uid", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("policy", Text, nullable=False),
    Column("policy_version", Integer, nullable=False),
    CheckConstraint("id = 1"),
)

account = Table(
    "discreet_account",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("accounting", Text, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
    Column("delta_total", BigInteger, nullable=False),
    Column("delta_spent", BigInteger, nullable=False),
    Column("sealed", Integer, nullable=False),
    CheckConstraint("spent >= 0 AND spent <= total"),
    CheckConstraint("delta_spent >= 0 AND delta_spent <= delta_total"),
)

_APART, _NOT_BOTH = "discreet_entry_apart", "noise IS NULL OR answer IS NULL"
entry = Table(
    "discreet_entry",
    metadata,
    Column("seq", _WIDE, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("key", Text),
    Column("digest", Text),
    Column("canon", Text),
    Column("size", BigInteger),
    Column("analyst", Text),
    Column("state", Text),
    Column("noise", LargeBinary),
    Column("answer", Text),
    CheckConstraint(
        "CASE WHEN key IS NULL "
        "THEN coalesce(digest, canon, analyst, state, answer) IS NULL "
        "AND size IS NULL AND noise IS NULL "
        "WHEN state = 'reserved' "
        "THEN digest IS NOT NULL AND canon IS NOT NULL AND size IS NOT NULL "
        "AND analyst IS NOT NULL AND noise IS NOT NULL AND answer IS NULL "
        "WHEN state = 'done' "
        "THEN digest IS NOT NULL AND canon IS NOT NULL AND size IS NOT NULL "
        "AND analyst IS NOT NULL AND noise IS NULL AND answer IS NOT NULL "
        "ELSE 1 = 0 END"
    ).ddl_if(dialect="sqlite"),
    CheckConstraint(_NOT_BOTH, name=_APART).ddl_if(dialect="postgresql"),
)
"""PostgreSQL reads the text of a CHECK anew for each row that it writes, and says the whole row in
its own log where one refuses: there the check is a short one. What else cannot be is found when a
row is read, and by `discreet.curator.ledger.verify`.
"""
asked = (
    entry.c.key, entry.c.digest, entry.c.canon, entry.c.size, entry.c.analyst, entry.c.state,
    entry.c.noise, entry.c.answer, entry.c.seq,
)  # fmt: skip
"""What the row of a charged question says besides its entry."""
question = select(*asked).where(entry.c.key.is_not(None)).subquery("question")
"""The same of all charged questions, to be read."""

person = Table(
    "discreet_person",
    metadata,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("datasets", Text),
    Column("expires", Text),
    Column("password", Text),
    Column("disabled", Integer, nullable=False),
    CheckConstraint("role IN ('owner', 'analyst', 'auditor')"),
    CheckConstraint("disabled IN (0, 1)"),
)

key = Table(
    "discreet_key",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("datasets", Text),
    Column("mac", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("expires", Text, nullable=False),
    Column("revoked", Text),
    Column("last_used", Text),
)

secret = Table(
    "discreet_secret",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("mac", Text, nullable=False),
    CheckConstraint("id = 1"),
)

session = Table(
    "discreet_session",
    metadata,
    Column("mac", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("used", Text, nullable=False),
    Column("seal", Text, nullable=False),
)

_KEYED: Any = entry.c.key.is_not(None)
_ANSWERS: Any = entry.c.canon.is_not(None)
Index("discreet_entry_key", entry.c.key, unique=True, sqlite_where=_KEYED)
_by_canon = Index(
    "discreet_entry_canon", entry.c.canon, entry.c.kind, entry.c.analyst, entry.c.size.desc(),
    entry.c.seq, sqlite_where=_ANSWERS,
)  # fmt: skip
"""In the order of its use. Those that were answered from the data stand apart from those that point
at one of them, which may be any number. And an analyst's stand apart from those of others: what she
has been given is found without a look at theirs, which would show in the time that it takes. (A
charge itself, whose answer leaves at its deadline, looks at all prices at which a question was
answered: with 3,000 of them it takes 0.2 ms more.)
"""
_LOST: Any = entry.c.kind == "lost"
_restored = Index("discreet_entry_lost", entry.c.seq, sqlite_where=_LOST)
"""Whether the ledger was restored since is asked for every answer that serves again."""
_DATA: Any = entry.c.kind == "data"
_marked = Index("discreet_entry_data", entry.c.seq, sqlite_where=_DATA)
"""Which files a version stands for is asked before the first question of every process."""

_old = MetaData()
"""What only ledgers of older versions have."""
old_question = Table(
    "discreet_question",
    _old,
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("canon", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("analyst", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("noise", LargeBinary),
    Column("answer", Text),
    Column("seq", BigInteger, nullable=False),
)
old_entry = Table(
    "discreet_entry",
    _old,
    Column("seq", _WIDE, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
)


def _first(connection: Connection) -> None:
    metadata.create_all(connection, tables=[ledger, account])
    _old.create_all(connection)


def _index(_connection: Connection) -> None:
    """Answers are looked up by what was asked; version 5 has another index for it."""


def _kept(_connection: Connection) -> None:
    """Answers hold noisy cells, and may be made of others: older software must not touch them."""


def _people(connection: Connection) -> None:
    """People sign in; the log has entries of a kind that older software does not know."""
    metadata.create_all(connection, tables=[person, key, secret, session])


def _together(connection: Connection) -> None:
    """A question is kept in the row of its charge: fewer pages are written for each."""
    log = old_entry.to_metadata(MetaData(), name="discreet_entry_4")
    connection.exec_driver_sql(f"ALTER TABLE {entry.name} RENAME TO {log.name}")
    entry.create(connection)
    questions = [old_question.c[column.name] for column in asked[:-1]]
    rows = select(*log.c, *questions).join_from(
        log, old_question, log.c.seq == old_question.c.seq, isouter=True
    )
    connection.execute(insert(entry).from_select([column.name for column in entry.c], rows))
    asked_of = (select(func.count()).select_from(of) for of in (old_question, question))
    before, kept = (connection.execute(count).scalar_one() for count in asked_of)
    if before != kept:  # it would be gone, and nothing would show that it was there
        raise LedgerError(
            "this ledger holds a question of no entry of its log: it was changed. Restore it from "
            "a backup; nothing was charged"
        )
    old_question.drop(connection)
    log.drop(connection)


def _lost(connection: Connection) -> None:
    """Who asks whether the ledger was restored since need not read all entries since."""
    _restored.create(connection, checkfirst=True)  # version 5 makes the log with all its indexes


def _marks(connection: Connection) -> None:
    """The log has marks of data; older software would answer from whatever rows there are."""
    _marked.create(connection, checkfirst=True)


def _alike(connection: Connection) -> None:
    """The mark of a failure moves from what was asked, which decides whom an answer serves, to the
    digest, which decides nothing.
    """
    asked = func.substr(entry.c.canon, 1, func.length(entry.c.canon) - len(FAILED))
    marked = entry.c.canon.endswith(FAILED, autoescape=True)
    connection.execute(
        update(entry).where(marked).values(canon=asked, digest=entry.c.digest + FAILED)
    )


def _short(connection: Connection) -> None:
    """PostgreSQL checks less for each row of the log."""
    if connection.dialect.name == "postgresql":
        for title in ("discreet_entry_check", _APART):  # version 5 makes the log as it is now
            gone = f"ALTER TABLE {entry.name} DROP CONSTRAINT IF EXISTS {title}"
            connection.exec_driver_sql(gone)
        made = f"ADD CONSTRAINT {_APART} CHECK ({_NOT_BOTH})"
        connection.exec_driver_sql(f"ALTER TABLE {entry.name} {made}")


def _apart(connection: Connection) -> None:
    """What an analyst has been given is found without a look at the rows of others."""
    _by_canon.drop(connection, checkfirst=True)
    _by_canon.create(connection)


MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {
    1: _first,
    2: _index,
    3: _kept,
    4: _people,
    5: _together,
    6: _lost,
    7: _marks,
    8: _alike,
    9: _short,
    10: _apart,
}
"""What makes the tables of a version from those of the version before."""
VERSION = max(MIGRATIONS)


def _index_the_same_rows(database: Database) -> None:
    """Let the indexes in PostgreSQL leave out what they leave out in SQLite.

    Saying so loads its dialect, which a ledger in a file has no use for.
    """
    if not database.is_file:
        for index in entry.indexes:
            options = index.dialect_options
            options["postgresql"]["where"] = options["sqlite"]["where"]


def make(database: Database, uid: str, first: Entry) -> None:
    """Make the tables of a new ledger, with the first entry of its log, in one transaction."""
    from sqlalchemy import inspect  # noqa: PLC0415 - with the database

    _index_the_same_rows(database)
    with database.defining() as connection:
        if inspect(connection).has_table(ledger.name):
            raise LedgerError("this database holds a ledger; it is opened, not made anew")
        metadata.create_all(connection)
        row = {"id": 1, "uid": uid, "version": VERSION, "policy": "", "policy_version": 0}
        connection.execute(insert(ledger), row)
        connection.execute(insert(entry), first._asdict())


def is_empty(database: Database) -> bool:
    """Whether a database holds no ledger."""
    from sqlalchemy import inspect  # noqa: PLC0415 - with the database

    with database.defining(alone=False) as connection:
        return not inspect(connection).has_table(ledger.name)


def migrate(database: Database) -> None:
    """Bring the tables of an older version up to date, in one transaction."""
    from sqlalchemy import inspect  # noqa: PLC0415 - with the database

    with database.defining(alone=False) as connection:
        if not inspect(connection).has_table(ledger.name):
            raise LedgerError("this database holds no ledger; nothing was charged")
        found = connection.execute(select(ledger.c.version)).fetchone()
        version = VERSION if found is None else _known(found[0])
        if version > VERSION:
            raise LedgerError(
                f"this ledger has tables of version {version}, and this software knows "
                f"{VERSION}: use the newer software. Nothing was charged"
            )
    if version == VERSION:
        return
    _index_the_same_rows(database)
    with database.defining() as connection:
        asked = select(ledger.c.version).with_for_update()
        version = _known(connection.execute(asked).scalar_one())  # another may have done it
        for step in range(version + 1, VERSION + 1):
            MIGRATIONS[step](connection)
        connection.execute(update(ledger).values(version=VERSION))


def _known(version: object) -> int:
    """The version of tables; LedgerError where there was never such a one."""
    if not isinstance(version, int) or version < min(MIGRATIONS):
        raise LedgerError(
            "the version of this ledger's tables cannot be read: it was changed. Put a backup "
            "back; nothing was charged"
        )
    return version

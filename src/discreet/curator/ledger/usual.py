"""The usual charge and the usual answer in SQLite: each is one statement, committed and flushed.

A row that is put into one of two views is written by the view's trigger: the entry and its
question, and what every account pays; or the answer and its entry. Views and triggers are
temporary: they belong to one connection, and the file knows nothing of them.

Guarantee. The statement writes all of it, or nothing.
Proof. Outside of a transaction a statement is one by itself, its triggers within. Where something
is not as usual, the entry would have no kind, an account would have spent less than nothing, or no
row is changed: each of these ends the statement, which takes everything back.

One statement, because a driver lets other threads run whenever it hands one to the database, and
goes on when it is its turn again: with five of them a busy process holds the lock of all writers
for as many turns of others.
Tested by tests/curator/ledger/test_usual.py, tests/curator/ledger/test_at_once.py
"""

from __future__ import annotations

from sqlalchemy import text

from discreet.curator.ledger.compiled import Placed

__all__ = ["ANSWER", "CHARGE", "TEMPORARY"]

_PAYS = """
    UPDATE discreet_account
    SET spent = CASE
            WHEN sealed = 0 AND spent <= total - NEW.main{0}
                AND delta_spent <= delta_total - NEW.delta{0}
                AND spent >= NEW.had{0} AND delta_spent >= NEW.delta_had{0}
            THEN spent + NEW.main{0} ELSE -1
        END,
        delta_spent = delta_spent + NEW.delta{0}
    WHERE id = NEW.payer{0};
    SELECT RAISE(ABORT, 'unusual') WHERE changes() <> (NEW.payer{0} IS NOT NULL);
"""
_CHARGED = (
    "next", "body", "made", "policy", "last", "hash", "asked", "digest", "canon", "size",
    "analyst", "noise", "payer1", "main1", "delta1", "had1", "delta_had1",
    "payer2", "main2", "delta2", "had2", "delta_had2",
)  # fmt: skip
_ANSWERED = ("charged", "asked", "told", "next", "body", "made", "last", "hash")


def _view(title: str, columns: tuple[str, ...]) -> str:
    listed = ", ".join(f"NULL AS {column}" for column in columns)
    return f"CREATE TEMP VIEW IF NOT EXISTS {title} AS SELECT {listed}"


def _into(title: str, columns: tuple[str, ...]) -> Placed:
    values = ", ".join(f":{column}" for column in columns)
    return Placed(text(f"INSERT INTO {title} VALUES ({values})"), *columns)  # noqa: S608 - own names


TEMPORARY = (
    _view("discreet_charging", _CHARGED),
    f"""CREATE TEMP TRIGGER IF NOT EXISTS discreet_charges
    INSTEAD OF INSERT ON discreet_charging BEGIN
    INSERT INTO discreet_entry
        (seq, kind, body, hash, key, digest, canon, size, analyst, state, noise)
    VALUES (
        NEW.next,
        CASE WHEN (SELECT policy FROM discreet_ledger) = NEW.policy
            AND (SELECT hash FROM discreet_entry WHERE seq = NEW.last) = NEW.hash
            AND NOT EXISTS (SELECT 1 FROM discreet_entry WHERE canon = NEW.canon)
        THEN 'reserve' END,
        NEW.body, NEW.made, NEW.asked, NEW.digest, NEW.canon, NEW.size, NEW.analyst, 'reserved',
        NEW.noise
    );
    {_PAYS.format(1)}
    {_PAYS.format(2)}
    END""",  # noqa: S608 - own names
    _view("discreet_answering", _ANSWERED),
    """CREATE TEMP TRIGGER IF NOT EXISTS discreet_answers
    INSTEAD OF INSERT ON discreet_answering BEGIN
    UPDATE discreet_entry SET state = 'done', noise = NULL, answer = NEW.told
    WHERE seq = NEW.charged AND key = NEW.asked AND state = 'reserved';
    SELECT RAISE(ABORT, 'unusual') WHERE changes() <> 1;
    INSERT INTO discreet_entry (seq, kind, body, hash)
    VALUES (
        NEW.next,
        CASE WHEN (SELECT hash FROM discreet_entry WHERE seq = NEW.last) = NEW.hash THEN 'done' END,
        NEW.body, NEW.made
    );
    END""",
)
"""What a connection has to have before the first of these statements."""
CHARGE = _into("discreet_charging", _CHARGED)
"""A charge that one or two accounts pay; without a second one its values are NULL."""
ANSWER = _into("discreet_answering", _ANSWERED)

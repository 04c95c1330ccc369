"""What tests of access share: a secret, a clock, cheap passwords, and what the log says."""

from datetime import UTC, datetime, timedelta

from discreet.curator.access import passwords

SECRET = bytes(range(32))
OTHER = bytes(range(1, 33))
START = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


class Clock:
    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now

    def move(self, **how):
        self.now += timedelta(**how)


def cheapen(monkeypatch):
    for name, value in {"MEMORY": 8, "ROUNDS": 1, "LANES": 1}.items():
        monkeypatch.setattr(passwords, name, value)


def told(ledger):
    """The bodies of all entries about access."""
    return [entry.values() for entry in ledger.entries() if entry.kind == "access"]


def notes(ledger, what):
    return [one for one in told(ledger) if one.get("what") == what]


def rows(ledger, table):
    return ledger._database._raw.execute(f"SELECT * FROM discreet_{table}").fetchall()

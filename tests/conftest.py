"""Two hypothesis profiles: a quick one for people, a longer and repeatable one for CI.

And a PostgreSQL server for ledgers, which several folders need.

Linear algebra has one thread here: workers that run side by side would wait for each other.
"""

import os

import pytest
from hypothesis import HealthCheck, settings
from tests.machines import postgres_named

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported, which is later
_QUIET = [HealthCheck.too_slow]
settings.register_profile("dev", max_examples=40, deadline=None, suppress_health_check=_QUIET)
settings.register_profile(
    "ci", max_examples=100, deadline=None, derandomize=True, suppress_health_check=_QUIET
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def flushing_server(testrun_uid):
    """A server of its own: the one of the engines' tests does not flush, and is refused."""
    with postgres_named(f"ledger-{testrun_uid}") as address:
        yield address

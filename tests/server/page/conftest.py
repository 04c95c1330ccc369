"""One server for the tests of a module: pages are looked at, and rarely change anything."""

import pytest
from tests.server.running import prepared, running, weak


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(prepared(tmp_path_factory.mktemp("payroll"))) as made:
            yield made

"""One server for the tests of a module, as pages rarely change anything; one browser for all."""

import pytest
from tests.server.page.browsing import Browser, chromium
from tests.server.running import prepared, running, weak


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(prepared(tmp_path_factory.mktemp("payroll"))) as made:
            yield made


@pytest.fixture(scope="session")
def driver():
    """It takes seconds to start; what a test leaves in it is forgotten before the next."""
    with chromium() as made:
        yield made


@pytest.fixture
def browser(driver, server):
    """A browser in which nobody has signed in yet, and which has nothing to complain of."""
    made = Browser(driver, server)
    made.forget()
    yield made
    assert made.complaints() == []

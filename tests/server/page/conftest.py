"""One server and one browser for the tests of a module: pages rarely change anything."""

import pytest
from tests.server.page.browsing import Browser, chromium
from tests.server.running import prepared, running, weak


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(prepared(tmp_path_factory.mktemp("payroll"))) as made:
            yield made


@pytest.fixture(scope="module")
def driver():
    with chromium() as made:
        yield made


@pytest.fixture
def browser(driver, server):
    """A browser in which nobody has signed in yet, and which has nothing to complain of."""
    made = Browser(driver, server)
    driver.delete_all_cookies()
    driver.get_log("browser")
    yield made
    assert made.complaints() == []

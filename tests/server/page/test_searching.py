"""Another private search is offered, told and paid for on the page: in a real browser."""

import pytest
from selenium.webdriver.common.keys import Keys
from tests.server.page.rich import served

pytestmark = pytest.mark.slow
NEEDS = "SELECT SUM(bonus) AS b FROM payroll"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory) as made:
        yield made


def left(server):
    return server.service.ledger.accounts["staff@alice"].to_dict()["left"]["epsilon"]


def offered(browser):
    return browser.one("#again-field").is_displayed()


def ask(browser):
    """Press the button; wait until the answer is there and what is told before is told anew."""
    browser.run("document.querySelector('#answer').replaceChildren()")
    browser.press("#ask")
    browser.until_there("#answer .downloads")
    browser.until(lambda: "to be found" not in browser.text("#ask"))


def test_another_search_is_offered_where_something_was_found_before(browser, server):
    browser.login()
    browser.go(f"/ask?dataset=payroll&question={NEEDS}")
    browser.until(lambda: "what is to be found first" in browser.text("#ask"))
    assert not offered(browser)  # it is found for the first time
    ask(browser)
    assert left(server) == "0.8"
    browser.until(lambda: offered(browser))
    assert browser.nameless() == []
    box = browser.one("#search-again")
    assert (box.accessible_name, box.is_selected()) == ("search again, and pay for it", False)
    assert browser.text("#again-says") == (
        "Found for you before: bounds of bonus. That costs nothing now; another search costs "
        "epsilon 0.1."
    )
    assert box.get_attribute("aria-describedby") == "again-says"
    assert "search-again" in browser.tabbed("search-again")
    browser.keep("search-again")

    box.send_keys(Keys.SPACE)  # by the keyboard; the price is told before it is paid
    browser.until(lambda: "what is to be found first" in browser.text("#ask"))
    assert "are searched for, and paid, again: in all epsilon 0.2" in browser.text(
        "#preview-problem"
    )
    ask(browser)
    assert left(server) == "0.6"
    assert not browser.one("#search-again").is_selected()  # the next one is no search
    assert offered(browser)
    ask(browser)
    assert left(server) == "0.6"  # it is stored

    browser.press("#search-again")
    browser.type("#question", Keys.CONTROL, "a")
    browser.type("#question", "SELECT COUNT(*) AS n FROM payroll ")
    browser.until(lambda: not offered(browser))  # it needs nothing that is found
    assert not browser.one("#search-again").is_selected()


def test_a_question_of_before_another_search_is_not_called_free(browser, server):
    """It is another one since: its bounds are others."""
    browser.login("bob")
    browser.go(f"/ask?dataset=payroll&question={NEEDS}")
    browser.until(lambda: "what is to be found first" in browser.text("#ask"))
    ask(browser)
    browser.until(lambda: "free" in browser.text("#ask"))
    browser.type("#question", Keys.CONTROL, Keys.END)
    browser.type("#question", " WHERE pay > 10")
    browser.until(lambda: offered(browser) and "will be left" in browser.text("#ask"))
    browser.press("#search-again")
    browser.until(lambda: "what is to be found first" in browser.text("#ask"))
    ask(browser)
    assert "free" in browser.text("#ask")
    browser.type("#question", Keys.CONTROL, "a")
    browser.type("#question", NEEDS)
    browser.until(lambda: "0.6 left now" in browser.text("#left"))
    browser.until(lambda: "0.5 will be left" in browser.text("#ask"))


def test_a_refusal_is_not_followed_by_another_search(browser, server):
    """Whoever asks with what is left, after the search was paid, does not pay for a third one."""
    browser.login()
    browser.go(f"/ask?dataset=payroll&question={NEEDS}")
    browser.until(lambda: offered(browser))
    browser.press("#search-again")
    browser.until(lambda: "what is to be found first" in browser.text("#ask"))
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "0.55", Keys.TAB)
    browser.until(lambda: "0.55" in browser.text("#ask"))
    browser.press("#ask")
    browser.until_there("#with-what-is-left")
    assert left(server) == "0.5"
    assert not browser.one("#search-again").is_selected()
    browser.press("#with-what-is-left")
    browser.until_there("#answer .downloads")
    assert (browser.text("#answer .badge"), left(server)) == ("cost epsilon 0.5", "0")

"""Which question an answer on the page belongs to, and what it took: in a real browser."""

import pytest
from selenium.webdriver.common.keys import Keys
from tests.server.page.rich import served

pytestmark = pytest.mark.slow
COUNT = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY dept"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory) as made:
        yield made


def opened(browser, name="alice", question=COUNT):
    browser.login(name)
    browser.go(f"/ask?dataset=payroll&question={question}")
    browser.until(lambda: browser.text("#errors .within"))


def ask(browser):
    browser.press("#ask")
    browser.until_there("#answer .downloads")


def earlier(browser):
    return "to an earlier question" in browser.text("#answer .row")


def test_an_answer_says_its_question_and_whether_it_is_an_earlier_one(browser):
    opened(browser)
    ask(browser)
    assert browser.text("#answer .asked") == COUNT
    assert not earlier(browser)
    browser.type("#question", Keys.CONTROL, Keys.END)
    browser.type("#question", " HAVING")
    assert earlier(browser)
    assert browser.text("#answer .asked") == COUNT
    browser.keep("earlier")
    browser.shape(dark=True)
    browser.keep("earlier-dark")
    browser.shape(390, 844)
    browser.keep("earlier-phone")
    browser.shape()
    browser.type("#question", *[Keys.BACKSPACE] * 7)
    assert not earlier(browser)  # the same question again
    browser.press("input[name=mode][value=histogram]")
    assert earlier(browser)
    browser.press("input[name=mode][value=sql]")
    assert not earlier(browser)
    browser.type("#price", Keys.ARROW_LEFT)
    assert not earlier(browser)  # its price stands beside it


def test_what_is_published_says_its_question_too(browser):
    opened(browser)
    browser.press("input[name=mode][value=histogram]")
    browser.until(lambda: "Publish for epsilon" in browser.text("#ask"))
    browser.press("#rehearse")
    browser.until_there("#answer .answer")
    assert "WIDTH_BUCKET(" in browser.text("#answer .asked")
    assert not earlier(browser)
    browser.type("#axis-0-low", "0")
    assert earlier(browser)
    assert browser.nameless() == []


def test_a_refusal_does_not_stay_under_another_question(browser):
    opened(browser, "bob")
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "2", Keys.TAB)
    browser.press("#ask")
    browser.until_there("#with-what-is-left")
    browser.type("#question", Keys.CONTROL, Keys.END)
    browser.type("#question", " ")
    assert browser.one("#with-what-is-left").is_displayed()  # the same question
    browser.type("#question", "HAVING")
    assert not browser.one("#answer").is_displayed()

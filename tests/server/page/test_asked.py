"""Which question an answer on the page belongs to, what it took, how it is drawn: in a browser."""

import asyncio
from fractions import Fraction

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from tests.server.running import POLICY, prepared, running, weak

from discreet.server.page.assets import VEGA

pytestmark = pytest.mark.slow
COUNT = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY dept"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("payroll")
    lines = ["id,dept,pay,bonus,year,born"]
    lines += [
        f"{i},{'abc'[i % 3]},{i},{1 + i % 9},{2021 + i % 4},{1950 + i % 56}" for i in range(600)
    ]
    (folder / "payroll.csv").write_text("\n".join(lines) + "\n")
    years = "year = { from = 2021, to = 2024 }\nborn = { from = 1950, to = 2005 }\n"
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        path = prepared(folder, POLICY.replace("pay = {", f"{years}pay = {{"))
        with running(path, deadlines=(Fraction(3, 10),)) as made:
            asyncio.run(VEGA.get())
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


def test_a_refusal_is_where_the_keyboard_goes_on(browser):
    opened(browser, "bob")
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "2", Keys.TAB)
    browser.type("#ask", Keys.ENTER)
    browser.until_there("#with-what-is-left")
    browser.until(lambda: browser.one("#ask").is_enabled())
    focused = "return document.activeElement.matches(arguments[0])"
    assert browser.run(focused, "#answer .problem")
    browser.keep("refused-by-keyboard")
    browser.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.run(focused, "#with-what-is-left")


def labels(browser, which):
    found = browser.all(f"#preview svg [aria-roledescription=axis][aria-label^='{which}'] text")
    return [one.text for one in found if one.text and one.text not in ("n", "pay", "year", "born")]


def test_years_are_written_as_years(browser):
    browser.login()
    browser.go("/ask?dataset=payroll&publish=map")
    browser.until(lambda: browser.all("#preview svg [aria-roledescription='rect mark']"))
    Select(browser.one("#axis-1-column")).select_by_value("year")
    browser.until(lambda: "2021" in labels(browser, "Y-axis"))
    assert labels(browser, "Y-axis") == ["2021", "2022", "2023", "2024", "2025"]
    browser.keep("years")
    assert not any("." in one for one in labels(browser, "X-axis"))
    browser.go(
        "/ask?dataset=payroll&question=SELECT born, COUNT(*) AS n FROM payroll GROUP BY born"
    )
    browser.until(lambda: "1960" in labels(browser, "X-axis"))
    assert all(one.isdecimal() for one in labels(browser, "X-axis"))
    browser.keep("born")


def test_the_own_answer_again_is_free_and_listed_so(browser):
    opened(browser, "bob", f"{COUNT} HAVING n > 1")
    ask(browser)
    assert browser.text("#answer .badge") == "cost epsilon 0.1"
    browser.until(lambda: "free" in browser.text("#ask"))
    assert browser.text("#ask") == "Ask for epsilon 0.1; free, as you have paid for it"
    assert browser.text("#left .numbers span") == "0.9 left now"
    browser.keep("free-again")
    browser.type("#price", Keys.ARROW_LEFT)
    assert browser.text("#ask") == "Ask for epsilon 0.07; free, as you have paid for it"
    browser.type("#price", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert browser.text("#ask") == "Ask for epsilon 0.15; 0.75 will be left"
    browser.type("#price", Keys.ARROW_LEFT)
    browser.type("#question", Keys.CONTROL, Keys.END)
    browser.type("#question", "0")
    assert "free" not in browser.text("#ask")
    browser.type("#question", Keys.BACKSPACE)
    assert "free" in browser.text("#ask")
    browser.press("#ask")
    browser.until(lambda: browser.text("#answer .badge") == "cost nothing")
    assert "Nothing was charged" in browser.text("#answer .notes")
    browser.go("/releases")
    paid = [one.text for one in browser.all("td[data-label=paid]")]
    assert paid[:2] == ["nothing", "epsilon 0.1"]
    browser.keep("releases-free")


def test_what_was_asked_elsewhere_is_free_here(browser, server):
    """The page learns it before it is asked: from another tab, or another program."""
    question = f"{COUNT} HAVING n > 4"
    assert server.ask(question=question, epsilon="0.1", who="bob").status == 200
    opened(browser, "bob", question)
    browser.until(lambda: "free, as you have paid for it" in browser.text("#ask"))
    browser.type("#price", Keys.ARROW_RIGHT)
    assert "will be left" in browser.text("#ask")
    browser.type("#question", Keys.CONTROL, Keys.END)
    browser.type("#question", "0")
    assert "free" not in browser.text("#ask")


def test_what_is_left_may_have_been_paid_before(browser, server):
    """An answer that is found without a name of its own is an earlier one, and says so."""
    opened(browser, "alice", f"{COUNT} HAVING n > 2")
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "0.8", Keys.TAB)
    browser.until(lambda: "0.8" in browser.text("#ask"))
    ask(browser)
    browser.until(lambda: "free" in browser.text("#ask"))
    before = server.service.ledger.accounts["staff@alice"]
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "2", Keys.TAB)
    browser.until(lambda: "more than" in browser.text("#ask"))
    browser.press("#ask")
    browser.until_there("#with-what-is-left")
    browser.press("#with-what-is-left")
    browser.until_there("#answer .downloads")
    assert server.service.ledger.accounts["staff@alice"] == before
    assert browser.text("#answer .badge") == "cost nothing"

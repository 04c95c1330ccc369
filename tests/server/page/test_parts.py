"""Parts, public tables and budgets in rho, asked about in a real browser."""

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from tests.server.page.rich import served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory) as made:
        yield made


def spent(server, name):
    return server.service.ledger.accounts[name].to_dict()["spent"]


def priced(browser):
    """Wait for the errors before paying."""
    browser.until(lambda: browser.text("#errors .within"))


def farthest(browser):
    browser.type("#price", Keys.END)
    return browser.one("#price").get_attribute("aria-valuetext")


def answered(browser):
    browser.press("#ask")
    browser.until_there("#answer .downloads")


def test_asking_again_stays_in_the_part_and_in_its_budget(browser, server):
    browser.login("olga")
    browser.go("/ask?dataset=payroll")
    priced(browser)
    assert farthest(browser) == "epsilon 3"
    Select(browser.one("#block")).select_by_value("2025-q1")
    priced(browser)
    assert browser.one("#epsilon").get_property("value") == "0.25"  # all that this part has
    assert farthest(browser) == "epsilon 0.25"
    browser.type("#price", Keys.HOME)
    answered(browser)
    browser.press("#answer > p a")
    browser.until_there("main .button[href^='/ask']")
    browser.press("main .button[href^='/ask']")
    priced(browser)
    assert Select(browser.one("#block")).first_selected_option.get_attribute("value") == "2025-q1"
    assert "of epsilon 0.25" in browser.text("#left")
    answered(browser)
    assert spent(server, "staff/2025-q1")["epsilon"] != "0"
    assert spent(server, "staff")["epsilon"] == "0"


def test_public_tables_are_completed(browser):
    browser.login()
    browser.go("/ask?dataset=payroll")
    priced(browser)
    browser.type("#question", Keys.CONTROL, "a")
    browser.type("#question", "SELECT are")
    browser.until_there("#proposals")
    assert browser.text("#proposals [aria-selected=true]").split("\n") == ["area", "of region"]
    browser.type("#question", Keys.ENTER, ", COUNT(*) AS n FROM payroll JO")
    browser.until_there("#proposals")
    browser.type("#question", Keys.ENTER, " WHERE area = 's")
    browser.until(lambda: browser.text("#proposals [aria-selected=true] .label") == "'south'")
    browser.keep("completion-of-public-tables")
    browser.type("#question", Keys.TAB, " GROUP BY area", Keys.ESCAPE)
    assert browser.one("#question").get_property("value") == (
        "SELECT area, COUNT(*) AS n FROM payroll JOIN region USING (dept) "
        "WHERE area = 'south' GROUP BY area"
    )
    priced(browser)
    assert browser.text("#preview-problem") == ""


def offered(browser):
    """The smallest and the largest step of the slider."""
    found = []
    for end in (Keys.HOME, Keys.END):
        browser.type("#price", end)
        found.append(browser.one("#price").get_attribute("aria-valuetext"))
    return found


def test_a_budget_in_rho_is_asked_in_rho_or_in_epsilon(browser, server):
    browser.login()
    browser.go("/ask?dataset=census")
    priced(browser)
    assert offered(browser) == ["epsilon 0.007", "epsilon 0.643"]  # which costs rho 0.2
    browser.until(lambda: "rho" in browser.text("#ask"))
    assert "more than" not in browser.text("#ask")
    browser.press("input[name=unit][value=rho]")
    browser.until(lambda: browser.text("#unit") == "rho")
    assert offered(browser) == ["rho 0.002", "rho 0.2"]
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "0.05", Keys.TAB)
    priced(browser)
    browser.until(lambda: browser.text("#ask") == "Ask for rho 0.05; 0.15 will be left")
    browser.keep("rho")
    answered(browser)
    assert "0.05-zero-concentrated" in browser.text("#answer .promise")
    assert spent(server, "city@alice")["rho"] == "0.05"
    browser.until(lambda: browser.text("#left strong") == "0.15")
    assert offered(browser) == ["rho 0.0015", "rho 0.15"]
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "0.18", Keys.TAB)
    browser.press("#ask")
    browser.until_there("#with-what-is-left")
    assert browser.text("#with-what-is-left") == "Ask with what is left: rho 0.15"
    browser.press("input[name=mode][value=histogram]")
    browser.until(lambda: "Publish for epsilon" in browser.text("#ask"))
    assert not browser.one("#units").is_displayed()


def test_a_budget_in_epsilon_is_asked_in_epsilon(browser):
    browser.login()
    browser.go("/ask?dataset=payroll")
    priced(browser)
    assert browser.all("input[name=unit]") == []


def test_a_wide_answer_is_not_cut(browser):
    browser.login("bob")
    wide = "SELECT dept, COUNT(*) AS n, AVG(pay) AS m FROM payroll GROUP BY dept"
    browser.go(f"/ask?dataset=payroll&question={wide}")
    priced(browser)
    assert "A map needs two columns" in browser.text("#mode-lacks")
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "0.25", Keys.TAB)
    browser.until(lambda: "0.25" in browser.text("#ask"))
    answered(browser)
    inner = (
        "const e = document.querySelector('#answer .scroll'); return e.scrollWidth - e.clientWidth"
    )
    assert browser.run(inner) <= 1
    assert "0.25-differential privacy" in browser.text("#answer .promise")
    assert "Roll it up" in browser.text("#answer > p")
    browser.keep("wide-answer")
    browser.go("/ask?dataset=payroll&question=SELECT COUNT(*) AS n FROM payroll")
    priced(browser)
    browser.press("#more summary")
    assert "COUNT(*)" in browser.text("#words")
    answered(browser)
    assert browser.text("#answer > p") == "Its own page, which stays"
    browser.go("/ask?dataset=payroll&question=SELECT SUM(bonus) AS b FROM payroll")
    browser.until(lambda: browser.text("#preview-problem"))
    browser.press("#more summary")
    assert not browser.one("#words").is_displayed() or browser.text("#words")  # no empty bar

"""Failures in the words of the page, in a real browser: no header, no argument, no function."""

import pytest
from selenium.webdriver.common.keys import Keys
from tests.server.page.rich import served

from discreet.server.problems import KINDS, Problem

pytestmark = pytest.mark.slow
OF_PROGRAMS = ("Idempotency-Key", "Retry-After", "_left", "dp.", "/api/", "delta=", "discreet ")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory) as made:
        yield made


def plain(words):
    return not any(one in words for one in OF_PROGRAMS)


def test_a_refusal_about_a_delta_opens_its_field(browser):
    browser.login()
    browser.go(
        "/ask?dataset=payroll&question=SELECT town, COUNT(*) AS n FROM payroll GROUP BY town"
    )
    browser.until(lambda: "costs a delta" in browser.text("#preview-problem"))
    said = browser.text("#preview-problem")
    assert "say a delta under More (such as 0.000001), or let the owner list them" in said
    assert plain(said)
    assert browser.one("#delta").is_displayed()
    browser.keep("delta-is-missing")
    browser.type("#delta", "0.000001", Keys.TAB)
    browser.until(lambda: browser.text("#preview-problem") == "")


def test_a_refusal_names_the_button(browser):
    browser.login()
    browser.go("/ask?dataset=census")
    browser.until(lambda: browser.all("#errors .within"))
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "2", Keys.TAB)
    browser.until(lambda: "more than" in browser.text("#ask"))
    browser.press("#ask")
    browser.until_there("#with-what-is-left")
    assert "The button asks with what is left." in browser.text("#answer .fix")
    assert plain(browser.text("#answer"))
    browser.keep("refused")
    browser.press("input[name=mode][value=histogram]")
    browser.until(lambda: "Publish for epsilon 2" in browser.text("#ask"))
    browser.press("#ask")
    browser.until(lambda: browser.text("#answer .fix").startswith("Choose a lower price"))
    assert plain(browser.text("#answer"))


def test_a_file_that_is_not_there_is_told_without_an_address_of_the_api(browser):
    browser.login("olga")
    browser.go("/register")
    browser.type("#source", "nothing.csv", Keys.ENTER)
    browser.until_there("#source-problem .problem")
    said = browser.text("#source-problem")
    assert "Choose one of the files that the form proposes." in said
    assert plain(said)


@pytest.mark.parametrize("kind", [one for one in KINDS if one != "unauthorized"])
def test_every_kind_is_told_in_words_of_the_page(browser, kind):
    """What the API says to programs, as answers of a server that fails in this way."""
    browser.login()
    browser.go("/ask?dataset=payroll")
    browser.until(lambda: browser.all("#errors .within"))
    browser.run(
        "const [told, status] = arguments; window.fetch = async () => new Response("
        "JSON.stringify(told), { status, headers: { 'Retry-After': '7' } })",
        Problem(kind, "it failed; nothing was charged").told(), KINDS[kind],
    )  # fmt: skip
    browser.press("#ask")
    browser.until_there("#answer .problem")
    said = browser.text("#answer .problem")
    assert "it failed; nothing was charged" in said
    assert plain(said)
    if kind == "limit":
        assert "Wait 7 seconds" in said
    if kind in ("busy", "unavailable", "ledger", "internal"):
        assert "press the button again" in said
        assert "charged once" in said

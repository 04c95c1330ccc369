"""The whole story in a real browser: from an empty policy to a refusal, and to who verifies it."""

import asyncio
import os
import time

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from tests.server.page.browsing import Browser
from tests.server.running import PASSWORD, prepared, running, weak

from discreet.curator.ledger.verify import verified
from discreet.server.page.assets import VEGA

pytestmark = pytest.mark.slow
EMPTY = '[ledger]\npath = "clinic.ledger"\n\n[server]\nsources = "data"\n'
EVIL = "<img src=x onerror=alert(1)>"
WARDS = ("north", "south", "east", "west")
WANTED = "SCREENSHOTS" in os.environ
PEOPLE = {"olga": "owner", "audrey": "auditor"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "data").mkdir()
    head = f'patient_id,ward,age,admitted,smoker,"{EVIL}"\n'
    rows = [
        f"{i % 500},{WARDS[i % 4]},{20 + i % 70},2024-{1 + i % 12:02}-03,true,x" for i in range(900)
    ]
    (folder / "data" / "visits.csv").write_text(head + "\n".join(rows) + "\n")
    (folder / "data" / "second.csv").write_text(head + "\n".join(rows) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        path = prepared(folder, EMPTY)
        with running(path, deadlines=(1,), people=PEOPLE) as made:
            asyncio.run(VEGA.get())
            yield made


@pytest.fixture
def browser(driver, server):
    made = Browser(driver, server)
    made.forget()
    return made


def refusals(browser, *statuses):
    """The browser's log without requests whose refusal the page tells in words."""
    told = [f"status of {one}" for one in statuses]
    entries = browser.driver.get_log("browser")
    return [one for one in entries if not any(word in one["message"] for word in told)]


def pick(browser, selector, value):
    Select(browser.one(selector)).select_by_value(value)


def click(browser, selector):
    browser.until(lambda: browser.one(selector).is_enabled())
    browser.press(selector)


def signed(browser, name, password=PASSWORD):
    browser.go("/login")
    browser.type("#name", name)
    browser.type("#password", password, Keys.ENTER)
    browser.until(lambda: not browser.path.startswith("/login"))


def sign_out(browser):
    browser.press("#sign-out")
    browser.until(lambda: browser.path == "/login")


def pictures(browser, name):
    """In light, dark and phone width."""
    browser.keep(name)
    if WANTED:
        browser.shape(dark=True)
        time.sleep(0.4)
        browser.keep(f"{name}-dark")
        browser.shape(390, 844)
        time.sleep(0.3)
        assert browser.run("return document.documentElement.scrollWidth") <= 390, name
        browser.keep(f"{name}-phone")
        browser.shape()
        time.sleep(0.2)


def column(name, inside=""):
    return f"[data-column='{name}'] {inside}"


def test_the_whole_story(browser, server):
    password = register_and_let_in(browser)
    ask_until_refused(browser, password)
    look_after(browser)
    audit(browser)
    assert refusals(browser, 402, 409, 422) == []
    verified(server.service.ledger)
    left = {name: one.left.main for name, one in server.service.ledger.accounts.items()}
    assert left["patients@alice"] == 0
    assert left["patients"] == 2_000_000_000_000


def register_and_let_in(browser):
    """The owner begins with nothing, decides everything, and lets an analyst in."""
    signed(browser, "olga")
    assert browser.path == "/overview"
    assert "Nothing can be asked yet" in browser.text("main")
    pictures(browser, "overview-empty")
    browser.press("main .card .button.strong")
    browser.until_there("#look")
    assert "folder data" in browser.text("#source-help")

    browser.type("#source", "../clinic.ledger", Keys.ENTER)
    browser.until_there("#source-problem .problem")
    assert "plain name" in browser.text("#source-problem")
    browser.press("[data-pick='visits.csv']")
    browser.until_there("#step-2")
    assert browser.text("#looked") == "6 columns; no row was read."
    assert EVIL in browser.text("#columns")  # as text
    decided = browser.run(
        "return [...document.querySelectorAll('#columns select')].map((one) => one.value)"
    )
    assert decided == [""] * 6  # hints are no defaults

    browser.press("#check")
    assert "Still to be decided" in browser.text("#problem")
    browser.type("#family-name", "patients")
    browser.type("#amount", "3")
    browser.press("input[name=unit][value=person]")
    pick(browser, "#person", "patient_id")
    browser.type("#max-rows", "2")
    browser.press("input[name=neighbours][value=add_or_remove]")
    browser.press(column("patient_id", "button"))  # its name suggests that it is hidden
    browser.press(column("age", "button"))
    browser.type(column("age", "[data-field=low]"), "0")
    browser.type(column("age", "[data-field=high]"), "120")
    pick(browser, column("ward", "select"), "keys")
    browser.type(column("ward", "textarea"), "\n".join(WARDS))
    pick(browser, column("admitted", "select"), "dates")
    for field, day in (("first", "2024-01-01"), ("last", "2024-12-31")):
        set_value = "const one = document.querySelector(arguments[0]); one.value = arguments[1];"
        browser.run(set_value, column("admitted", f"[data-field={field}]"), day)
    pick(browser, column("smoker", "select"), "boolean")
    browser.press("#hide-rest")
    assert browser.text("#undecided") == "all decided"
    browser.type("#version", "2024")
    pictures(browser, "register")
    browser.press("#check")
    browser.until_there("#meaning .words")
    meaning = browser.text("#meaning")
    assert "Family patients" in meaning
    assert "at most 96 times in 100" in meaning
    pictures(browser, "register-meaning")
    click(browser, "#force")
    browser.until(lambda: browser.path == "/overview")
    assert "visits is registered: version 2" in browser.text("#done")

    browser.go("/people")
    browser.type("#add-name", "alice")
    browser.press("[data-fill=add-password]")
    browser.type("#add-amount", "0.5")
    browser.press("#add button.main")
    browser.until_there("#shown-once")
    password = browser.text("#shown-once")
    assert len(password) == 23
    browser.press("#kept")
    browser.until(lambda: "alice" in browser.text("#people-title ~ .scroll"))
    assert password not in browser.driver.page_source

    browser.press("[data-person=alice] [data-act=key]")
    browser.type("#key-label", "notebook")
    browser.press("#act-go")
    browser.until_there("#shown-once")
    key = browser.text("#shown-once")
    assert key.startswith("dk_")
    browser.keep("people-key")
    browser.press("#kept")
    browser.until(lambda: "notebook" in browser.text("#keys-list"))
    assert key not in browser.driver.page_source

    # more is a decision of its own
    browser.type(".allowance [name=amount]", "1")
    browser.press(".allowance button")
    browser.until_there("#trouble .problem")
    assert "decision of its own" in browser.text("#trouble")
    browser.press(".allowance [name=more]")
    browser.press(".allowance button")
    browser.until(lambda: "from epsilon 0.5 to epsilon 1" in browser.text("#done"))
    pictures(browser, "people")
    sign_out(browser)
    return password


def ask_until_refused(browser, password):
    """The analyst asks, is refused, and takes what is left."""
    signed(browser, "alice", password)
    assert browser.path == "/datasets"
    assert "of epsilon 1" in browser.text(".gauge")
    for path in ("/overview", "/ledger", "/policy", "/people", "/register", "/faults"):
        browser.go(path)
        assert "That did not work" in browser.text("h1")
    assert len(browser.all("nav[aria-label=Pages] a")) == 3
    for by, price in (("ward", "0.6"), ("smoker", "0.7")):
        browser.go(
            f"/ask?dataset=visits&question=SELECT {by}, COUNT(*) AS n FROM visits GROUP BY {by}"
        )
        browser.until(lambda: "epsilon" in browser.text("#ask"))
        browser.type("#epsilon", Keys.CONTROL, "a")
        browser.type("#epsilon", price, Keys.TAB)
        browser.until(lambda price=price: price in browser.text("#ask"))
        browser.press("#ask")
        browser.until_there("#answer table, #with-what-is-left")
    browser.until_there("#with-what-is-left")
    assert "0.4" in browser.text("#with-what-is-left")
    browser.keep("refusal")
    browser.press("#with-what-is-left")
    browser.until_there("#answer table")
    sign_out(browser)
    assert refusals(browser, 402, 403, 409, 422) == []


def look_after(browser):
    """The owner sees what was spent, the chain, the policy; nobody's data are shown."""
    signed(browser, "olga")
    drawn = "return document.querySelector('#spending').dataset.drawn"
    browser.until(lambda: browser.run(drawn) == "2")
    assert browser.text("#spending-says") == "patients: epsilon 1 of 3"
    pictures(browser, "overview")
    browser.press("input[name=by][value=asker]")
    browser.until(lambda: browser.text("#spending-says") == "alice: epsilon 1")
    browser.go("/ask?dataset=visits")
    browser.until_there("#epsilon")

    browser.go("/policy")
    text = browser.one("#text").get_property("value")
    assert "[analyst.alice.allowance.patients]" in text
    browser.run("document.querySelector('#text').value += '\\n[dataset'")
    browser.press("#check")
    browser.until_there("#problem .problem")
    changed = text.replace("epsilon = 3", "epsilon = 4")
    assert changed != text
    browser.run("document.querySelector('#text').value = arguments[0]", changed)
    browser.press("#check")
    browser.until_there("#decisions input")
    assert not browser.one("#force").is_enabled()
    assert "patients rises from epsilon 3 to epsilon 4" in browser.text("#decisions")
    pictures(browser, "policy")
    browser.run("document.querySelector('#text').value = arguments[0]", text)
    browser.press("#check")
    browser.until(lambda: not browser.all("#decisions input"))

    browser.go("/ledger")
    verify(browser)
    pictures(browser, "ledger")
    browser.go("/faults")
    assert "Nothing failed" in browser.text("main")
    sign_out(browser)


def audit(browser):
    """The auditor reads and verifies; there is nothing to ask, to change or to fail."""
    signed(browser, "audrey")
    assert browser.path == "/ledger"
    places = [one.text for one in browser.all("nav[aria-label=Pages] a")]
    assert places == ["Datasets", "Releases", "Policy", "Ledger"]
    verify(browser)
    browser.keep("ledger-auditor")
    browser.go("/policy")
    assert not browser.all("#text")
    assert "[dataset.visits.columns]" in browser.text("pre.policy")
    pictures(browser, "policy-auditor")
    browser.go("/releases")
    assert "alice" in browser.text("main table")
    sign_out(browser)


def verify(browser):
    browser.press("#verify")
    browser.until_there("#verified .good")
    assert "The chain is whole" in browser.text("#verified")
    assert "and 2 questions" in browser.text("#verified")

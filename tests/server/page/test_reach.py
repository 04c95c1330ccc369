"""Pages of owners and auditors by keyboard and by ear, and on a phone."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from tests.server.page.rich import served
from tests.server.running import COUNT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory) as made:
        made.ask(COUNT, epsilon="0.1")
        made.ask("SELECT sex, COUNT(*) AS n FROM census GROUP BY sex", epsilon="0.1")
        yield made


def in_order(seen, wanted):
    """Those that are wanted, each where it was first reached."""
    assert [one for one in dict.fromkeys(seen) if one in wanted] == wanted


def opened(browser):
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def unfolded(browser):
    """The form for registering, with everything that it may ask."""
    browser.go("/register")
    browser.press("[data-pick='visits.csv']")
    browser.until_there("#step-2")
    browser.press("input[name=family][value='']")
    browser.press("input[name=unit][value=person]")
    browser.press("#add-lookup")


def test_the_form_for_registering(browser):
    browser.login("olga")
    unfolded(browser)
    for one in browser.all("#columns select"):  # each kind has other fields
        kinds = [option.get_attribute("value") for option in one.find_elements("css selector", "*")]
        for kind in kinds:
            browser.run(
                "arguments[0].value = arguments[1];"
                "arguments[0].dispatchEvent(new Event('change', { bubbles: true }))", one, kind,
            )  # fmt: skip
            assert browser.nameless() == [], kind
    opened(browser)
    seen = browser.tabbed("check")
    assert seen[0] == "Skip to the content"
    in_order(seen, [
        "sign-out", "where", "source", "look", "family", "new-people", "family-name", "accounting",
        "amount", "delta", "unit", "person", "neighbours", "lookup-1-name", "lookup-1-key",
        "lookup-1-rows", "add-lookup", "name", "version", "check",
    ])  # fmt: skip


def test_the_overview(browser):
    browser.login("olga")
    browser.until(lambda: browser.run("return document.querySelector('#spending').dataset.drawn"))
    opened(browser)
    browser.until(lambda: browser.all("#sources option"))
    assert browser.nameless() == []
    seen = browser.tabbed("All questions in the ledger")
    in_order(seen, [
        "Register a dataset", "period-payroll-name", "period-payroll-source",
        "period-payroll-version", "people", "retire-1-staff", "period-census-name", "by",
        "All questions in the ledger",
    ])  # fmt: skip


def test_the_overview_without_charts_has_its_table(browser):
    browser.login("olga")
    with browser.without_charts():
        browser.go("/overview")
        browser.until_there("#spending-table tbody")
        assert not browser.one("#spending").is_displayed()  # no empty box
        browser.keep("overview-no-charts")


def test_people(browser):
    browser.login("olga")
    browser.go("/people")
    for act in ("key", "password", "disable"):
        browser.press(f"[data-person=alice] [data-act={act}]")
        browser.until_there("#act-go")
        assert browser.nameless() == []
    browser.press("#act button[type=button]")
    in_order(browser.tabbed("allowance-1"), [
        "key", "password", "disable", "role", "add-name", "add-password", "family", "add-unit",
        "add-amount", "add-delta", "allowance-1",
    ])  # fmt: skip


@pytest.mark.parametrize("name", ["olga", "audrey"])
def test_ledger_and_policy(browser, name):
    browser.login(name)
    browser.go("/ledger")
    browser.press("#verify")
    browser.until_there("#verified .good")
    assert browser.nameless() == []
    in_order(browser.tabbed("dataset"), ["verify", "copy-head", "kind", "by", "dataset"])
    browser.go("/policy")
    assert browser.nameless() == []
    assert ("text" in browser.tabbed("check", most=20)) == (name == "olga")
    for path in ("/datasets", "/releases"):
        browser.go(path)
        opened(browser)
        assert browser.nameless() == []


def test_hints_of_columns_keep_away_from_what_is_chosen(browser):
    browser.login("olga")
    unfolded(browser)
    between = browser.run(
        "const box = (one) => one.getBoundingClientRect();"
        "return [...document.querySelectorAll('#columns select + .hint')]"
        ".map((one) => box(one).top - box(one.previousElementSibling).bottom)"
    )
    assert len(between) > 1
    assert min(between) >= 5
    browser.keep("hints")


def test_what_has_no_name_is_found(browser):
    browser.login("olga")
    for tag in ("input", "select", "button"):
        added = "document.querySelector('main').append(document.createElement(arguments[0]))"
        browser.run(added, tag)
    browser.run("document.querySelector('main > select').append(new Option('one'))")
    assert len(browser.nameless()) == 3


def test_a_phone_says_who_paid_what(browser):
    browser.shape(390, 844)
    browser.login("olga")
    label = "return getComputedStyle(arguments[0], '::before').content"
    paid = [browser.run(label, one) for one in browser.all("td.cost")[:2]]
    assert paid == ['"people paid "', '"allowance paid "']
    for path in ("/overview", "/register", "/people", "/policy", "/ledger", "/datasets"):
        browser.go(path)
        opened(browser)
        assert browser.run("return document.documentElement.scrollWidth") <= 390, path
    browser.go("/datasets")
    left = {one.location["x"] for one in browser.all(".dataset .head .button")}
    assert len(left) == 1


def test_nothing_leaves_its_card_and_no_choice_is_cut(browser):
    browser.login("olga")
    beyond = (
        "return [...document.querySelectorAll('.card *')].filter((e) => e.checkVisibility() &&"
        " !e.closest('.scroll, pre, option, svg, .only-read') && e.getBoundingClientRect().right >"
        " e.closest('.card').getBoundingClientRect().right + 1).map((e) => e.outerHTML)"
    )
    cut = (
        "return [...document.querySelectorAll('main select')].filter((e) => {"
        "const twin = e.cloneNode(true); twin.style.cssText ="
        " 'position: absolute; width: max-content; max-width: none'; e.after(twin);"
        "const cut = twin.offsetWidth > e.offsetWidth + 1; twin.remove(); return cut; }).length"
    )
    for width in (390, 1280):
        browser.shape(width, 844)
        for path in ("/overview", "/people", "/policy", "/ledger"):
            browser.go(path)
            opened(browser)
            assert browser.run(beyond) == [], (path, width)
        unfolded(browser)
        assert browser.run(beyond) == [], width
        assert browser.run(cut) == 0, width


def test_times_of_the_chart_are_those_of_the_tables(browser):
    """UTC, and the hours from 00 to 23, as everywhere else."""
    zone = {"timezoneId": "Pacific/Honolulu"}
    browser.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", zone)
    try:
        browser.login("olga")
        drawn = "return document.querySelector('#spending').dataset.drawn"
        browser.until(lambda: browser.run(drawn))
        labels = browser.run(
            "return [...document.querySelectorAll('#spending .role-axis-label text')]"
            ".map((e) => e.textContent).filter((text) => /[^0-9.]/.test(text))"
        )
        assert labels
        form = re.compile(r"\d\d:\d\d(:\d\d)?|(\d{4}-)?\d\d-\d\d")
        assert all(form.fullmatch(one) for one in labels), labels
        hours = {one[:2] for one in labels if ":" in one}
        now = datetime.now(UTC)
        assert hours & {f"{(now - timedelta(hours=h)):%H}" for h in (0, 1)}
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_epsilon_and_rho_have_pictures_of_their_own(browser):
    browser.login("olga")
    browser.until(lambda: browser.run("return document.querySelector('#spending').dataset.drawn"))
    assert len(browser.all("#spending > div svg")) == 2
    assert browser.text("#spending-says") == "staff: epsilon 0.1 of 3; city: rho 0.004996 of 0.5"


def test_a_policy_is_read_without_scrolling_inside(browser):
    browser.login("olga")
    browser.go("/policy")
    inner = "const e = document.querySelector(arguments[0]); return e.scrollHeight - e.clientHeight"
    for box in ("#text", "#meaning .words"):
        assert browser.run(inner, box) <= 1, box

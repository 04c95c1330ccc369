"""The analyst's whole way in a real browser: no console error, no breach of the policy anywhere."""

import asyncio
import csv
from fractions import Fraction

import pytest
from selenium.webdriver.common.keys import Keys
from tests.server.running import POLICY, prepared, running, weak

from discreet.server.page.assets import VEGA

pytestmark = pytest.mark.slow
EVIL = "<img src=x onerror=alert(1)>"
COLOURFUL = POLICY.replace(
    'keys = ["a", "b", "c"]', f'keys = ["a", "b", "it\'s", "{EVIL}"]'
).replace("pay = {", "grade = { keys = [1, 2, 3, 4, 5] }\npay = {")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("payroll")
    lines = ["id,dept,grade,pay,bonus"]
    lines += [f"{i},{'ab'[i % 2]},{1 + i % 5},{i % 1000},{1 + i % 400}" for i in range(600)]
    (folder / "payroll.csv").write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(prepared(folder, COLOURFUL), deadlines=(Fraction(3, 10),)) as made:
            asyncio.run(VEGA.get())
            yield made


@pytest.fixture(scope="module")
def downloads(driver, tmp_path_factory):
    """Where the browser puts what it is given."""
    folder = tmp_path_factory.mktemp("downloads")
    where = {"behavior": "allow", "downloadPath": str(folder)}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", where)
    return folder


def ready(browser):
    """Wait for the picture before paying."""
    browser.until(
        lambda: browser.run("return document.querySelector('#preview .chart')?.dataset.drawn")
    )


def within(browser):
    return float(browser.text("#errors .within").replace(",", ""))


def question(browser, text):
    browser.type("#question", Keys.CONTROL, "a")
    browser.type("#question", text)


def test_the_whole_way(browser, downloads):
    browser.go("/ask")  # not signed in
    assert browser.path == "/login?next=/ask"
    browser.keep("login")
    browser.login()
    assert browser.path == "/datasets"
    assert EVIL in browser.text("main")  # as text
    assert "of epsilon 1" in browser.text(".gauge")
    browser.keep("datasets")

    browser.press(".dataset .button")
    ready(browser)
    assert browser.text("#ask") == "Ask for epsilon 0.1; 0.9 will be left"
    assert len(browser.all("#preview svg path[aria-roledescription=bar]")) == 4
    browser.keep("ask")

    # the slider moves the error at once, without a request
    before, asked = within(browser), requests(browser)
    browser.type("#price", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert browser.text("#ask") == "Ask for epsilon 0.2; 0.8 will be left"
    assert within(browser) == pytest.approx(before / 2, rel=0.01)
    assert requests(browser) == asked
    assert browser.one("#price").get_attribute("aria-valuetext") == "epsilon 0.2"

    # asking by accuracy
    browser.type("#within", "40", Keys.ENTER)
    browser.until(lambda: browser.one("#epsilon").get_property("value") not in ("0.2", ""))
    browser.until(lambda: browser.all("#errors .within") and within(browser) <= 40)

    # completion of columns and keys, by keyboard alone
    question(browser, "SELECT grade, COUNT(*) AS n FROM payroll WHERE de")
    browser.until_there("#proposals")
    assert browser.text("#proposals [aria-selected=true] .label") == "dept"
    browser.keep("completion")
    browser.type("#question", Keys.ENTER, " IN ('b', 'it")
    browser.until_there("#proposals")
    browser.type("#question", Keys.TAB, ") GROUP BY grade", Keys.ESCAPE)
    written = browser.one("#question").get_property("value")
    assert (
        written
        == "SELECT grade, COUNT(*) AS n FROM payroll WHERE dept IN ('b', 'it''s') GROUP BY grade"
    )
    browser.until(lambda: len(browser.all("#preview svg path[aria-roledescription=bar]")) == 5)

    # a typed price, a rehearsal, an answer
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "0.5", Keys.TAB)
    browser.until(lambda: browser.text("#ask") == "Ask for epsilon 0.5; 0.5 will be left")
    browser.press("#rehearse")
    browser.until_there("#answer .badge.made-up")
    assert "made-up rows" in browser.text("#answer").lower()
    browser.press("#ask")
    browser.until_there("#progress progress")
    assert "whatever the data hold" in browser.text("#progress")
    browser.until_there("#answer .downloads")
    browser.until(lambda: browser.all("#answer svg path[aria-roledescription=bar]"))
    assert [row.text for row in browser.all("#answer tbody th")] == ["1", "2", "3", "4", "5"]
    assert "95% interval" in browser.text("#answer thead")
    assert "0.5-differential privacy" in browser.text("#answer .promise")
    browser.until(lambda: browser.text("#left strong") == "0.5")
    assert browser.run("return document.activeElement.textContent") == "Answer"
    browser.keep("answer")

    # a refusal with the offer, which is one click
    question(browser, "SELECT grade, COUNT(*) AS n FROM payroll GROUP BY grade ")
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", "0.9", Keys.TAB)
    browser.until(lambda: "more than the 0.5 that is left" in browser.text("#ask"))
    browser.press("#ask")
    browser.until_there("#with-what-is-left")
    assert "nothing was charged" in browser.text("#answer .problem")
    assert "--" not in browser.text("#answer .problem")  # that is for the command line
    browser.keep("refusal")
    browser.press("#with-what-is-left")
    browser.until_there("#answer .downloads")
    browser.until(lambda: browser.text("#left strong") == "0")

    # its own page: downloads, and what is free
    browser.press("#answer p a")
    browser.until_there("#roll-up")
    key = browser.path.removeprefix("/releases/")
    browser.press(".downloads a[href$='.csv']")
    file = downloads / f"{key}.csv"
    browser.until(file.exists)
    table = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["grade"] for row in table] == ["1", "2", "3", "4", "5"]
    browser.press("#roll-up button")
    browser.until_there("#derived .badge")
    assert browser.text("#derived .badge") == "cost nothing"
    assert len(browser.all("#derived tbody tr")) == 1
    browser.type("#range-low", "2")
    browser.type("#range-high", "4", Keys.ENTER)
    browser.until(lambda: "grade from 2 to below 4" in browser.text("#derived h3"))
    browser.until(lambda: browser.all("#derived svg path[aria-roledescription=bar]"))
    browser.keep("release")
    browser.go("/releases")
    assert len(browser.all("tbody tr")) == 2
    browser.keep("releases")

    browser.press("#sign-out")
    browser.until(lambda: browser.path == "/login")
    browser.go("/releases")
    assert browser.path == "/login?next=/releases"


def requests(browser):
    return browser.run("return performance.getEntriesByType('resource').length")


def test_the_first_view_with_data_is_small(browser):
    """Of a browser that was never here: page, style, module, numbers, charts.

    The icon of the tab is a file that comes with the page for signing in; no view waits for it.
    """
    browser.login("bob")
    browser.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    browser.go("/ask")
    ready(browser)
    found = browser.run(
        "return ['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))"
        ".map((one) => [one.name, one.transferSize, one.decodedBodySize])"
    )
    addresses = [name.removeprefix(browser.server.address) for name, *_ in found]
    sent = sum(size for _, size, _ in found)
    needed = [one for one in addresses if not one.startswith("/static/icon.")]
    assert len(needed) <= 5, addresses
    assert sent <= 1_500_000
    assert sum(size for *_, size in found) <= 1_500_000  # also for a browser that unpacks nothing


def test_the_page_is_usable_without_charts(browser):
    browser.login("bob")
    with browser.without_charts():
        browser.go("/ask")
        browser.until(lambda: within(browser) > 0)
        browser.until(lambda: "There are no charts now" in browser.text("#preview-says"))
        assert "bars" not in browser.text("main")  # nothing is said of a picture
        assert not browser.one("#preview figure").is_displayed()
        browser.keep("no-charts")
        browser.type("#price", Keys.ARROW_LEFT)
        browser.press("#ask")
        browser.until_there("#answer tbody")
        assert len(browser.all("#answer tbody tr")) == 4
        assert browser.all("#answer svg") == []
        browser.until(lambda: not browser.one("#answer figure").is_displayed())


def test_a_phone_in_the_dark(browser):
    browser.shape(360, 740, dark=True)
    browser.login("olga")
    for path in ("/datasets", "/ask", "/releases"):
        browser.go(path)
        if path == "/ask":
            ready(browser)
        wide = browser.run("return document.documentElement.scrollWidth")
        assert wide <= 360, path
        browser.keep(f"phone-dark{path.replace('/', '-')}")
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(19, 23, 24)"


def test_everything_can_be_reached_and_has_a_name(browser):
    browser.login("bob")
    browser.go("/ask")
    ready(browser)
    seen = browser.tabbed("rehearse")
    assert seen[0] == "Skip to the content"
    order = [
        "sign-out",
        "dataset",
        "question",
        "example",
        "epsilon",
        "price",
        "within",
        "ask",
        "rehearse",
    ]
    assert [one for one in seen if one in order] == order
    assert browser.nameless() == []


def choose(browser, mode):
    browser.press(f"input[name=mode][value={mode}]")


def shapes(browser, where, kind):
    return browser.all(f"{where} svg [aria-roledescription='{kind}']")


def priced(browser, price):
    browser.type("#epsilon", Keys.CONTROL, "a")
    browser.type("#epsilon", price, Keys.TAB)
    browser.until(lambda: browser.text("#ask").startswith(f"Publish for epsilon {price};"))


def test_publishing_a_histogram(browser):
    """Bounds are filled in, the error falls with the price, and what follows is free."""
    browser.login("bob")
    browser.go("/ask")
    ready(browser)
    choose(browser, "histogram")
    assert not browser.one("#question").is_displayed()
    ends = [browser.one(f"#axis-0-{end}").get_property("value") for end in ("low", "high", "bins")]
    assert ends == ["0", "1000", "1000"]
    browser.until(lambda: "asked alone" in browser.text("#errors"))
    browser.until(lambda: len(shapes(browser, "#preview", "bar")) == 50)
    before = within(browser)
    priced(browser, "0.3")
    browser.until(lambda: browser.all("#errors .within") and within(browser) < before / 2)
    browser.keep("publish")
    browser.type("#where", "nothing > 1")
    browser.until(lambda: "there is no column 'nothing'" in browser.text("#preview-problem"))
    browser.one("#where").clear()
    browser.type("#where", "pay >= 0")
    browser.until(lambda: browser.text("#preview-problem") == "")

    browser.press("#ask")
    browser.until_there("#progress progress")
    browser.until_there("#answer .downloads")
    browser.until(lambda: len(shapes(browser, "#answer", "bar")) == 50)
    left = browser.text("#left strong")
    browser.type("#count-range .field:nth-child(1) input", "200")
    browser.type("#count-range .field:nth-child(2) input", "500", Keys.ENTER)
    browser.until(lambda: "pay from 200 to 500" in browser.text("[aria-label='Asked of it']"))
    browser.press("#quantile button")
    browser.until(lambda: "below which 0.5" in browser.text("[aria-label='Asked of it']"))
    browser.press("#rebin button")
    browser.until(lambda: len(shapes(browser, "#rebinned", "bar")) == 10)
    browser.keep("published")
    assert browser.text("#left strong") == left
    browser.press("#answer > p a")
    browser.until_there("#count-range")
    browser.keep("published-release")
    assert len(browser.all("#free form")) == 3
    browser.go("/releases")
    assert "published" in browser.text("tbody tr:first-child .badge")


def test_publishing_a_map_and_a_roll_up(browser):
    browser.shape(360, 740, dark=True)
    browser.login("olga")
    browser.go("/ask?publish=map")
    browser.until(lambda: len(shapes(browser, "#preview", "rect mark")) > 40)
    priced(browser, "0.3")
    browser.keep("phone-dark-map")
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    browser.shape()
    browser.press("#ask")
    browser.until_there("#answer .downloads")
    browser.until(lambda: shapes(browser, "#answer", "rect mark"))
    browser.type("#count-range .row:nth-of-type(1) input", "2")
    browser.press("#count-range button")
    browser.until(
        lambda: (
            "pay from 2 to 1000, grade from 1 to 6" in browser.text("[aria-label='Asked of it']")
        )
    )
    browser.keep("map")

    choose(browser, "rollup")
    written = browser.one("#question").get_property("value")
    assert written.endswith("GROUP BY ROLLUP (dept, grade)")
    browser.until(lambda: "n by dept, grade" in browser.text("#errors"))
    browser.until(lambda: "Publish for epsilon" in browser.text("#ask"))
    browser.keep("roll-up-before")
    browser.press("#ask")
    browser.until(lambda: len(browser.all("#answer tbody tr")) == 1 + 4 + 4 * 5)
    browser.keep("roll-up")
    assert "95% interval" in browser.text("#answer thead")
    assert browser.text("#answer tbody tr:first-child th") == "(all)"

    # what else can be asked is one click
    choose(browser, "sql")
    browser.press("#ways-of summary")
    browser.press("[data-way*=bonus]")
    assert browser.one("#question").get_property("value") == (
        "SELECT SUM(bonus) AS total\nFROM payroll"
    )
    browser.until(lambda: "and what is to be found first" in browser.text("#ask"))
    browser.keep("ways")


def test_wrong_words_are_answered_in_words(browser):
    browser.login("bob")
    browser.go("/ask")
    ready(browser)
    question(browser, "SELECT nothing FROM payroll ")
    browser.until(lambda: "there is no column 'nothing'" in browser.text("#preview-problem"))
    browser.press("#ask")
    browser.until_there("#answer .problem")
    assert "Nothing was charged" in browser.text("#answer .problem")
    question(browser, "SELECT SUM(bonus) AS b FROM payroll ")
    browser.until(lambda: "have still to be found" in browser.text("#preview-problem"))
    assert browser.text("#ask") == "Ask for epsilon 0.1, and what is to be found first"
    first = browser.text("#preview-problem")
    browser.type("#price", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)  # what it costs in all follows
    browser.until(lambda: "in all epsilon" in browser.text("#preview-problem"))
    browser.until(lambda: browser.text("#preview-problem") != first)

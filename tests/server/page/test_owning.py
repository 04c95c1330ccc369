"""What an owner adds on the page, in a real browser: periods, and all that a column may be."""

import tomllib

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from tests.server.page.rich import served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory) as made:
        yield made


@pytest.fixture
def browser(browser):
    browser.login("olga")
    return browser


def policy(server):
    return tomllib.loads(server.service.path.read_text())


def test_a_period_is_added_with_people_of_its_own(browser, server):
    form = "form.period[data-dataset=payroll]"
    browser.run("document.querySelector('.period-of').open = true")
    browser.until(lambda: browser.all("#sources option[value='q3.csv']"))
    browser.press(f"{form} .check")
    assert "whether its people are others" in browser.text(f"{form} .trouble")
    browser.type(f"{form} [name=name]", "2025-q3")
    browser.type(f"{form} [name=source]", "q3.csv")
    browser.type(f"{form} [name=version]", "third")
    browser.press(f"{form} [name=people][value=own]")
    browser.press(f"{form} .check")
    assert "nobody in it is in another part" in browser.text(f"{form} .trouble")
    browser.press(f"{form} [name=promise]")
    browser.type(f"{form} [name=epsilon]", "0.5")
    browser.press(f"{form} .check")
    browser.until_there(f"{form} button.main")
    assert "a budget of their own, epsilon 0.5" in browser.text(f"{form} .meant")
    browser.keep("period")
    browser.press(f"{form} button.main")
    browser.until(lambda: "has the period 2025-q3" in browser.text("#done"))
    assert "Period 2025-q3, people of its own" in browser.text(".families")
    assert policy(server)["dataset"]["payroll"]["block"]["2025-q3"] == {
        "source": "data/q3.csv", "version": "third", "people": "own", "epsilon": 0.5,
    }  # fmt: skip
    assert "staff/2025-q3@alice" in server.service.ledger.accounts


def column(name, inside):
    return f"[data-column='{name}'] {inside}"


def pick(browser, selector, value):
    Select(browser.one(selector)).select_by_value(value)


def paste(browser, selector, text):
    """As the clipboard would: a tab that is typed goes to the next field."""
    browser.run(
        "const one = document.querySelector(arguments[0]); one.value = arguments[1];"
        "one.dispatchEvent(new Event('input', { bubbles: true }))",
        selector, text,
    )  # fmt: skip


def test_a_dataset_with_all_that_a_column_may_be(browser, server):
    """Text that may be grouped by, searches, a delta, and a public table."""
    browser.go("/register")
    browser.press("[data-pick='visits.csv']")
    browser.until_there("#step-2")
    browser.press("input[name=family][value='']")
    browser.press("#new-people")
    browser.type("#family-name", "patients")
    browser.type("#amount", "2")
    pick(browser, "#accounting", "zcdp")
    assert not browser.one("#delta").is_displayed()
    pick(browser, "#accounting", "zcdp-epsilon")
    browser.press("#check")
    assert "2: the delta at which the epsilon holds" in browser.text("#problem")
    pick(browser, "#accounting", "pure")
    assert "values that nobody listed can be found" in browser.text("#delta-help")
    browser.type("#delta", "0.0001")
    browser.press("input[name=unit][value=person]")
    pick(browser, "#person", "patient_id")
    browser.press("input[name=rows][value=find]")
    browser.type("#find-epsilon", "0.05")
    browser.press("input[name=neighbours][value=add_or_remove]")
    pick(browser, column("patient_id", "select"), "hidden")
    pick(browser, column("ward", "select"), "keys")
    browser.type(column("ward", "textarea"), "n\ns\ne\nw")
    pick(browser, column("age", "select"), "find")
    assert browser.text("#undecided") == "2 of 4 undecided"
    browser.type(column("age", "[data-field=epsilon]"), "0.2")
    pick(browser, column("town", "select"), "text")
    assert "values that enough people share are shown" in browser.text(column("town", ""))
    assert "never" not in browser.text(column("town", "")).replace("none may ever", "")
    assert browser.text("#undecided") == "all decided"
    browser.press("#add-lookup")
    browser.type("#lookup-1-name", "places")
    pick(browser, "#lookup-1-key", "ward")
    paste(browser, "#lookup-1-rows", 'ward\tside\tbeds\nn\tleft\t10\ns\t"the ""right"" one"')
    assert "3 values in row 2, where 2 are" in browser.text("#lookup-1-says")
    paste(browser, "#lookup-1-rows", 'ward\tside\tbeds\nn\tleft\t10\ns\t"the ""right"" one"\t')
    assert browser.text("#lookup-1-says") == "2 rows; side: text, beds: whole numbers."
    large = "\n".join(f"ward {i}\ta side of the house" for i in range(3000))
    paste(browser, "#lookup-1-rows", f"ward\tside\n{large}")
    browser.press("#check")  # said here, not by a server that refuses what is too long
    assert "4: places: fewer rows: they take " in browser.text("#problem")
    paste(browser, "#lookup-1-rows", 'ward\tside\tbeds\nn\tleft\t10\ns\t"the ""right"" one"\t')
    browser.type("#version", "1")
    browser.press("#check")
    browser.until_there("#force")
    meaning = browser.text("#meaning")
    assert "delta 0.0001 may be spent on them" in meaning
    assert "is a public table of 2 rows: side, beds by ward" in meaning
    browser.keep("register-rich")
    browser.press("#force")
    browser.until(lambda: browser.path == "/overview")
    read = policy(server)
    assert read["family"]["patients"]["delta"] == 0.0001
    made = read["dataset"]["visits"]
    assert made["unit"] == {"person": "patient_id", "max_rows": "find", "find_epsilon": 0.05}
    assert made["columns"]["age"] == {"find": True, "epsilon": 0.2}
    assert made["lookup"]["places"]["rows"] == [
        {"ward": "n", "side": "left", "beds": 10}, {"ward": "s", "side": 'the "right" one'},
    ]  # fmt: skip


def test_what_is_in_force_although_somebody_was_not_let_in(browser, server):
    browser.go("/people")
    browser.type("#add [name=name]", "olga")  # who is there already
    browser.type("#add [name=amount]", "0.25")
    browser.press("#add button.main")
    browser.until_there("#trouble .problem")
    assert "The allowance of olga is in force already" in browser.text("#trouble")
    assert policy(server)["analyst"]["olga"]
    browser.go("/people")


def test_an_allowance_with_a_delta(browser, server):
    browser.go("/people")
    browser.type("#add-name", "carol")
    Select(browser.one("#add [name=family]")).select_by_value("city")
    assert browser.one("#add-unit").get_property("value") == "rho"
    assert not browser.one("#add-delta").is_displayed()
    Select(browser.one("#add [name=family]")).select_by_value("staff")
    browser.type("#add-amount", "0.5")
    browser.type("#add-delta", "0.000001")
    browser.press("#add button.main")
    browser.until(lambda: "carol is let in" in browser.text("#done"))
    assert policy(server)["analyst"]["carol"]["allowance"]["staff"] == {
        "epsilon": 0.5, "delta": 0.000001,
    }  # fmt: skip
    bob = "form.allowance[data-analyst=bob]"
    browser.type(f"{bob} [name=delta]", "0.000002")
    browser.press(f"{bob} [name=more]")
    browser.press(f"{bob} button")
    browser.until(lambda: "Changed:" in browser.text("#done"))
    assert policy(server)["analyst"]["bob"]["allowance"]["staff"]["delta"] == 0.000002


def test_less_than_was_spent_is_refused_and_asks_for_nothing(browser, server):
    assert server.ask("SELECT COUNT(*) AS n FROM payroll", dataset="payroll").status == 200
    browser.go("/people")
    alice = "form.allowance[data-analyst=alice][data-family=staff]"
    browser.type(f"{alice} [name=amount]", "0.9")
    browser.press(f"{alice} button")
    browser.until(lambda: "Changed:" in browser.text("#done"))
    browser.type(f"{alice} [name=amount]", "0.01")
    browser.press(f"{alice} button")
    browser.until_there("#trouble .problem")
    assert "has spent epsilon 0.1 already" in browser.text("#trouble")
    assert not browser.one(f"{alice} .more-budget").is_displayed()
    assert browser.text("#done") == ""
    browser.keep("less-than-spent")
    browser.run("document.querySelector(arguments[0]).dataset.total = '2'", alice)  # it was, once
    browser.type(f"{alice} [name=amount]", Keys.CONTROL, "a")
    browser.type(f"{alice} [name=amount]", "1")
    browser.press(f"{alice} button")
    browser.until(lambda: "tick the box for it" in browser.text("#trouble"))
    browser.press(f"{alice} [name=more]")
    browser.press(f"{alice} button")
    browser.until(lambda: "Changed:" in browser.text("#done"))
    assert policy(server)["analyst"]["alice"]["allowance"]["staff"]["epsilon"] == 1
    refused = [one for one in browser.complaints() if "status of 409" not in one["message"]]
    assert refused == []


def test_who_was_let_in_is_listed_before_the_password_is_kept(browser, server):
    browser.go("/people")
    browser.type("#add-name", "dave")
    browser.press("[data-fill=add-password]")
    Select(browser.one("#add [name=family]")).select_by_value("city")
    browser.type("#add-amount", "0.1")
    browser.press("#add button.main")
    browser.until_there("#shown-once")
    secret = browser.text("#shown-once")
    browser.until(lambda: "dave" in browser.text("#people-list"))
    browser.until(lambda: "dave" in browser.text("#allowances-list"))
    assert browser.text("#shown-once") == secret
    assert browser.one("#add [name=family]").get_property("value") == "staff"  # a new form,
    assert browser.one("#add-unit").get_property("value") == "epsilon"  # which fits together
    assert browser.one("#add-delta").is_displayed()
    browser.keep("people-secret")
    browser.press("[data-person=dave] [data-act=key]")  # and what is new can be used
    browser.type("#key-label", "notebook")
    browser.press("#act-go")
    browser.until(lambda: browser.text("#shown-once").startswith("dk_"))
    browser.until(lambda: "notebook" in browser.text("#keys-list"))
    assert browser.nameless() == []


def test_the_same_rows_under_another_unit_have_a_box_of_their_own(browser, server):
    assert server.ask("SELECT COUNT(*) AS n FROM census", dataset="census").status == 200
    browser.go("/register")
    browser.press("[data-pick='census.csv']")
    browser.until_there("#step-2")
    browser.press("input[name=family][value='city']")
    browser.press("input[name=unit][value=person]")
    pick(browser, "#person", "age")
    browser.type("#max-rows", Keys.CONTROL, "a")
    browser.type("#max-rows", "2")
    browser.press("#hide-rest")
    browser.type("#name", Keys.CONTROL, "a")
    browser.type("#name", "ages")
    browser.type("#version", "1")
    browser.type("#check", Keys.ENTER)
    browser.until_there("#meaning .decision")
    browser.until(lambda: browser.one("#check").is_enabled())
    assert browser.run("return document.activeElement.id") == "check"  # the boxes are next
    box = browser.one("#meaning .decision input")
    assert "was promised to rows, and from now on it protects people" in box.accessible_name
    assert not browser.one("#force").is_enabled()
    assert browser.nameless() == []
    browser.keep("register-other-unit")
    box.send_keys(Keys.SPACE)
    assert browser.one("#force").is_enabled()
    box.send_keys(Keys.SPACE)
    assert not browser.one("#force").is_enabled()
    box.send_keys(Keys.SPACE)
    browser.press("#force")
    browser.until(lambda: browser.path == "/overview")
    assert policy(server)["dataset"]["ages"]["unit"]["person"] == "age"

import json

import pytest
from jsonschema import Draft202012Validator

BY_DEPARTMENT = "SELECT department, COUNT(*) FROM payroll GROUP BY department"
OF = ("--policy", "policy.toml")


@pytest.fixture
def stored(registered, run):
    words = ("ask", "policy.toml", BY_DEPARTMENT, "--epsilon", "0.5", "--as", "alice", "--json")
    (registered / "answer.json").write_text(run(*words, "--key", "3f2a99").stdout)
    return registered


def test_show_by_id_by_its_beginning_and_by_file(stored, run):
    found = run("show", "3f2a99", *OF).stdout
    assert "Fire" in found
    assert "It cost each person 0.5-differential privacy" in found
    assert "asked by alice" in found
    assert run("show", "3f2a", *OF).stdout == found
    assert run("show", "3f2a", "--ledger", "staff.ledger").stdout == found
    assert run("show", "answer.json").stdout == found
    record = json.loads(run("show", "3f2a", *OF, "--json").stdout)
    assert record == json.loads((stored / "answer.json").read_text())["record"]
    (stored / "record.json").write_text(json.dumps(record))
    assert run("show", "record.json").stdout == found


def test_an_entry_whose_number_is_not_told_is_named_by_its_hash(stored, run):
    record = json.loads(run("show", "3f2a", *OF, "--json").stdout)
    (stored / "shown.json").write_text(json.dumps({**record, "entry": 0}))
    found = " ".join(run("show", "shown.json").stdout.split())
    assert f"in entry with the hash {record['head']} of the ledger" in found
    assert "entry 0" not in found


def test_an_answer_that_was_somebody_elses(stored, run):
    run("ask", "policy.toml", BY_DEPARTMENT, "--epsilon", "0.5", "--as", "bob", "--key", "b0b0")
    assert "Fire" in run("show", "b0b0", *OF).stdout


def test_a_file_that_was_asked(here, run):
    run("count", "payroll.csv", "--epsilon", "1")
    told = json.loads(run("ledger", "show", "payroll.csv", "--json").stdout)
    key = told["entries"][0]["release"]
    assert "count" in run("show", key[:6], "--ledger", "payroll.csv").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "none.json"), "say --policy or --ledger"),
        (("show", "abcdef", *OF), "discreet ledger show"),
        (("show", "3f", *OF), "discreet ledger show"),
        (("show", "3f2a", *OF, "--ledger", "staff.ledger"), "not both"),
        (("show", "3f2a", "--policy", "staff.ledger"), "must be a .toml file"),
        (("show", "payroll.csv"), "JSON"),
        (("plot", "3f2a", *OF, "-o", "x.pdf"), "must end with"),
        (("plot", "3f2a", *OF, "-o", "x.svg", "--column", "x"), "must be one of"),
        (("report", "3f2a", *OF, "-o", "x.pdf"), "must end with"),
        (("export", "3f2a", *OF, "--csv", "--registry"), "cannot both"),
        (("report", "forgotten.json", "-o", "x.html"), "without a ledger"),
        (("export", "forgotten.json"), "without a ledger"),
    ],
)
def test_wrong_words(words, said, stored, run):
    forgotten = run("count", "payroll.csv", "--epsilon", "1", "--no-ledger", "--json").stdout
    (stored / "forgotten.json").write_text(forgotten)
    assert said in run(*words, code=2).stderr


def test_two_that_begin_alike(stored, run):
    run("ask", "policy.toml", "SELECT COUNT(*) FROM payroll", "--key", "3f2a77")
    assert "could be any of 3f2a99-" in run("show", "3f2a", *OF, code=2).stderr


def test_plot(stored, run):
    run("plot", "3f2a", *OF, "-o", "f.png")
    assert (stored / "f.png").read_bytes().startswith(b"\x89PNG")
    run("plot", "answer.json", "-o", "f.svg")
    assert (stored / "f.svg").read_text().startswith("<svg")


def test_a_release_without_a_ledger_can_be_shown_and_drawn(here, run):
    words = ("count", "payroll.csv", "--epsilon", "1", "--no-ledger", "--json")
    (here / "r.json").write_text(run(*words).stdout)
    assert "1-differential privacy" in run("show", "r.json").stdout
    run("plot", "r.json", "-o", "f.html")
    assert run("export", "r.json", "--csv").stdout.startswith("count,")


def test_report(stored, run):
    run("report", "3f2a", *OF, "-o", "p.html", "--publisher", "<City> & Co")
    page = (stored / "p.html").read_text()
    assert "&lt;City&gt; &amp; Co" in page
    assert "alice" not in page


def test_export(stored, run):
    record = json.loads(run("export", "3f2a", *OF).stdout)
    assert record["schema"] == "discreet-record/1"
    told = json.loads(run("export", "3f2a", *OF, "--registry", "--publisher", "City").stdout)
    assert told["publisher"] == "City"
    assert "alice" not in json.dumps(told)
    text = run("export", "3f2a", *OF, "--csv").stdout
    assert text.startswith("department,count,count_low,count_high")
    run("export", "3f2a", *OF, "-o", "r.json")
    assert json.loads((stored / "r.json").read_text()) == record
    run("export", "3f2a", *OF, "-o", "r.CSV")
    assert (stored / "r.CSV").read_text() == text


def test_figures_and_pages_are_told_to_machines(registered, run):
    run(
        "ask", "policy.toml", "SELECT department, COUNT(*) FROM payroll GROUP BY 1", "--key", "abcd"
    )
    for command, name in (("plot", "f.svg"), ("report", "p.html")):
        found = run(command, "abcd", "--policy", "policy.toml", "-o", name, "--json")
        assert json.loads(found.stdout) == {"saved": name, "release": "abcd"}
        assert found.stderr == ""
        assert (registered / name).stat().st_size > 1000


@pytest.mark.parametrize(("form", "words"), [("release", ()), ("registry", ("--registry",))])
def test_what_is_exported_has_the_form_of_the_printed_schema(stored, run, form, words):
    schema = json.loads(run("schema", form).stdout)
    told = json.loads(run("export", "3f2a99", *OF, *words).stdout)
    Draft202012Validator(schema).validate(told)
    assert told["schema"] == schema["title"]


def test_a_beginning_that_is_too_short_is_said(stored, run):
    found = run("show", "3f2", *OF, code=2).stderr
    assert "too short for the beginning of one: say 4 letters or more" in found
    assert "not stored" not in found
    assert "is not stored here" in run("show", "nothing", *OF, code=2).stderr


def test_a_whole_key_is_never_too_short_and_goes_before_a_beginning(registered, run):
    for key, more in (("xss", ("--as", "bob")), ("xss2", ("--as", "bob")), ("own", ())):
        found = run("ask", "policy.toml", "SELECT COUNT(*) FROM payroll", "--key", key, *more)
    assert "release own" in found.stderr
    for key in ("xss", "xss2", "own"):
        assert f"Release {key}" in run("show", key, *OF).stdout
    assert "too short" in run("show", "xs", *OF, code=2).stderr
    run("ask", "policy.toml", "SELECT COUNT(*) FROM payroll", "--key", "xss", "--as", "alice")
    assert "could be any of xss-" in run("show", "xss", *OF, code=2).stderr


def test_a_schema_of_something_else(run):
    assert "must be one of release, registry" in run("schema", "policy", code=2).stderr

"""A release that was computed of others knows of which."""

import json

import pytest

from discreet.cli.derived import Derived, Parent
from discreet.errors import ParameterError

OF = ("--policy", "policy.toml")
BY_DEPARTMENT = "SELECT department, COUNT(*) AS n FROM payroll GROUP BY department"


@pytest.fixture
def made(registered, run):
    """Two releases, and a file with the difference of their totals."""
    for key in ("aaaa1", "bbbb2"):
        run("ask", "policy.toml", BY_DEPARTMENT, "--key", key, "--epsilon", "0.3")
    text = run("derive", "aaaa1", "--total", "--difference", "bbbb2", *OF, "--json").stdout
    (registered / "der.json").write_text(text)
    return json.loads(text)


def test_parents_are_kept_and_shown(made, run):
    (first, second), shown = made["parents"], " ".join(run("show", "der.json").stdout.split())
    record = json.loads(run("show", "aaaa1", *OF, "--json").stdout)
    assert first == {name: record[name] for name in first}
    assert {"id", "entry", "head"} <= set(first)
    assert made["of"] == ["aaaa1", "bbbb2"]
    assert "computed from releases aaaa1 and bbbb2, no row was read" in shown
    assert f"Release aaaa1: payroll, data version 2024-12; entry {first['entry']} of" in shown
    assert f"Release bbbb2: payroll, data version 2024-12; entry {second['entry']} of" in shown
    assert json.loads(run("show", "der.json", "--json").stdout) == made
    assert Derived.from_dict(made).to_dict() == made


@pytest.mark.parametrize(
    "words", [("report", "-o", "r.html"), ("export",), ("export", "--registry")], ids=" ".join
)
@pytest.mark.parametrize("old", [False, True])
def test_why_there_is_no_record_of_it(made, registered, run, words, old):
    """Also of files that were written before parents were kept."""
    if old:
        del made["parents"]
        (registered / "der.json").write_text(json.dumps(made))
    said = run(words[0], "der.json", *words[1:], code=2).stderr
    assert "was computed from aaaa1 and bbbb2, and is in no ledger itself" in said
    assert "without a ledger" not in said
    assert "`export --csv` take this one as it is" in said
    assert run("export", "der.json", "--csv").stdout.startswith("n,")
    assert "computed from releases aaaa1 and bbbb2" in " ".join(
        run("show", "der.json").stdout.split()
    )


def test_what_was_computed_twice_is_of_the_first_ones(made, run):
    again = json.loads(run("derive", "der.json", "--difference", "aaaa1", *OF, "--json",
                           code=2).stderr)  # fmt: skip
    assert again["error"]["kind"] == "parameter"  # a file and an id do not go together
    again = json.loads(run("derive", "der.json", "--difference", "der.json", "--json").stdout)
    assert again["parents"] == made["parents"]
    three = Derived(Derived.from_dict(made).release, tuple(map(Parent, "abc")))
    assert "releases a and b and c, no row" in three.words()
    assert three.words().endswith("that of all of them together.")


ENTRY = {"id": "x", "dataset": "d", "data_version": "1", "entry": 1, "head": "ab"}


@pytest.mark.parametrize(
    "parent",
    [{"id": 1}, {"name": "x"}, {"id": "x", "entry": "1"}, {"id": "x", "head": 1}, "x",
     {**ENTRY, "entry": True}, {**ENTRY, "entry": -1}, {**ENTRY, "dataset": None},
     {"id": "x", "entry": 1}],
)  # fmt: skip
def test_what_is_no_parent_is_refused(made, parent):
    with pytest.raises(ParameterError, match="parents"):
        Derived.from_dict({**made, "parents": [parent]})


def test_a_file_that_was_changed_is_no_fault_of_the_program(made, registered, run):
    assert Derived.from_dict({**made, "parents": [ENTRY]}).parents[0].entry == 1
    with pytest.raises(ParameterError, match="parents"):
        Derived.from_dict({**made, "of": [], "parents": []})
    (registered / "der.json").write_text(json.dumps({**made, "release": "x"}))
    for words in (("show",), ("derive", "--total"), ("export", "--csv")):
        assert (
            "must be the JSON of a release" in run(words[0], "der.json", *words[1:], code=2).stderr
        )


def test_a_number_that_an_analyst_is_not_told_is_not_said_to_be_0(made):
    told = Derived.from_dict({**made, "parents": [{**ENTRY, "entry": 0}]}).words()
    assert told.endswith("Release x: d, data version 1; entry with the hash ab of the ledger.")

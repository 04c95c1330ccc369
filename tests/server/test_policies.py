"""The policy over the network: shown, checked, changed."""

import os
import time

import pytest
from tests.curator.payroll import POLICY

from discreet.curator.curator import Curator
from discreet.server.policies import masked


def test_a_policy_is_told_in_words(server):
    told = server.get("/api/policy", who="audrey").json
    assert told["version"] == 1
    assert "payroll" in told["words"]
    assert told["text"] == POLICY


def test_a_change_holds_from_the_next_question_on(server, folder):
    text = POLICY.replace("high = 1000", "high = 2000")
    checked = server.post("/api/policy/check", {"text": text}, who="olga")
    assert checked.status == 200, checked.body
    assert (folder / "policy.toml").read_text() == POLICY
    done = server.call("PUT", "/api/policy", {"text": text}, who="olga")
    assert done.status == 200, done.body
    assert done.json["version"] == 2
    assert (folder / "policy.toml").read_text() == text
    answer = server.ask(epsilon="0.1", question="SELECT SUM(pay) AS s FROM payroll")
    assert answer.status == 200, answer.body
    assert answer.json["policy_version"] == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("epsilon = 3", "epsilon = 30", "more-budget"),
        ("[family.staff]", "[family.others]", "family"),
        ('path = "staff.ledger"', 'path = "other.ledger"', "ledger"),
        ("[ledger]", "[ledger", "TOML"),
    ],
)
def test_what_the_ledger_refuses_changes_nothing(standing, old, new, words):
    text = POLICY.replace(old, new)
    answer = standing.call("PUT", "/api/policy", {"text": text}, who="olga")
    assert answer.status in (409, 422), answer.body
    assert words in answer.json["message"]
    assert standing.service.path.read_text() == POLICY
    assert standing.ask(epsilon="0.1").status == 200


def test_more_budget_is_a_decision_of_its_own(server):
    text = POLICY.replace("epsilon = 3", "epsilon = 30")
    wanted = {"text": text, "more_budget": ["staff"]}
    assert server.call("PUT", "/api/policy", wanted, who="olga").status == 200
    accounts = server.get("/api/budget", who="olga").json["accounts"]
    assert [one["total"]["epsilon"] for one in accounts if one["account"] == "staff"] == ["30"]


def test_a_change_from_outside_is_followed(server, folder):
    (folder / "policy.toml").write_text(POLICY.replace("high = 1000", "high = 5000"))
    assert server.ask(epsilon="0.1").status == 200  # the ledger follows the old one still
    Curator.register(folder / "policy.toml")
    answer = server.ask(epsilon="0.1", question="SELECT SUM(pay) AS s FROM payroll")
    assert answer.json["policy_version"] == 2


def touched(folder, name="payroll.csv"):
    at = (folder / name).stat().st_mtime_ns + 60 * 10**9
    os.utime(folder / name, ns=(at, at))


def test_files_that_changed_are_told_to_the_owner_and_cost_nobody_anything(server, folder):
    assert server.ask(epsilon="0.1").status == 200
    spent = server.get("/api/budget", who="olga").json
    touched(folder)
    seen = server.ask(epsilon="0.2")
    assert (seen.status, seen.json["error"]) == (503, "unavailable")
    assert seen.json["message"] == "these data cannot be read now; nothing was charged"
    own = server.ask(epsilon="0.2", who="olga")
    assert own.status == 503
    for words in (
        "'payroll'",
        "'2024'",
        "new version",
        "--same-data payroll",
        "Nothing was charged",
    ):
        assert words in own.json["message"]
    assert "new version" in own.json["fix"]
    assert server.get("/api/budget", who="olga").json == spent
    faults = server.get("/api/faults", who="olga").json["faults"]
    assert any("have changed since they were noted" in one for one in faults)
    gone = (folder / "payroll.csv").rename(folder / "aside.csv")
    lost = server.ask(epsilon="0.2")
    assert {**lost.json, "key": ""} == {**seen.json, "key": ""}, "an analyst cannot tell why"
    assert len(lost.body) == len(seen.body)
    gone.rename(folder / "payroll.csv")


def test_files_that_changed_stop_every_change_until_the_owner_decides(server, folder):
    touched(folder)
    text = POLICY.replace("high = 1000", "high = 2000")
    checked = server.post("/api/policy/check", {"text": text}, who="olga").json
    assert checked["same_data"] == [{"dataset": "payroll", "version": "2024"}]
    refused = server.call("PUT", "/api/policy", {"text": text}, who="olga")
    assert refused.status == 409
    assert "new version" in refused.json["message"]
    assert (folder / "policy.toml").read_text() == POLICY
    newer = text.replace('version = "2024"', 'version = "2025"')
    assert server.post("/api/policy/check", {"text": newer}, who="olga").json["same_data"] == []
    assert server.call("PUT", "/api/policy", {"text": newer}, who="olga").json["version"] == 2
    assert server.ask(epsilon="0.1").json["data_version"] == "2025"


def test_an_owner_may_say_that_the_rows_are_the_same(server, folder):
    first = server.ask(epsilon="0.1").json
    touched(folder)
    assert server.ask(epsilon="0.1").status == 503
    wanted = {"text": POLICY, "same_data": ["payroll"]}
    done = server.call("PUT", "/api/policy", wanted, who="olga")
    assert done.json == {
        "version": 1, "changed": ["payroll: its files have changed, and its rows are the same"],
    }  # fmt: skip
    assert server.ask(epsilon="0.1").json["release"] == first["release"]
    touched(folder)
    assert server.ask(epsilon="0.1").status == 503
    Curator.register(folder / "policy.toml", same_data=["payroll"])  # outside
    assert server.ask(epsilon="0.1").status == 200
    wrong = {"text": POLICY, "same_data": ["staff"]}
    assert server.call("PUT", "/api/policy", wrong, who="olga").status == 422


def test_an_owner_may_say_that_rows_and_people_are_the_same(server, folder):
    """What is spent was promised to somebody; nobody else is protected unless that is said."""
    text = POLICY.replace('unit = { person = "id", max_rows = 2 }', 'unit = "row"')
    assert text != POLICY
    check = {"text": text}
    assert server.post("/api/policy/check", check, who="olga").json["other_unit"] == []
    server.ask(epsilon="0.1")
    told = server.post("/api/policy/check", check, who="olga").json["other_unit"]
    assert told == [{"dataset": "payroll", "from": "people, named by 'id'", "to": "rows"}]
    refused = server.call("PUT", "/api/policy", check, who="olga")
    assert refused.status == 409
    assert "--other-unit payroll" in refused.json["message"]
    assert (folder / "policy.toml").read_text() == POLICY
    done = server.call("PUT", "/api/policy", {**check, "other_unit": ["payroll"]}, who="olga")
    words = "payroll: protects rows; before it was people, named by 'id'"
    assert done.json == {"version": 2, "changed": [words]}


def test_rows_that_are_kept_are_not_asked_once_their_file_has_changed(server, folder):
    """Kept rows would agree with the version; but nobody knows which rows are meant now."""
    old = time.time() - 3600
    os.utime(folder / "payroll.csv", (old, old))
    Curator.register(folder / "policy.toml", same_data=["payroll"])
    for pay in range(6):
        question = f"SELECT COUNT(*) AS n FROM payroll WHERE pay > {pay}"
        assert server.ask(epsilon="0.01", question=question).status == 200
    touched(folder)
    question = "SELECT COUNT(*) AS n FROM payroll WHERE pay > 9"
    assert server.ask(epsilon="0.01", question=question).status == 503


def test_passwords_are_masked():
    text = 'a = "postgresql://ann:s3cret@db/x?sslpassword=s3cret&b=1"'
    assert "s3cret" not in masked(text)
    assert "ann" in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        'source = "postgresql://ann:s3@cret@db/x"  # of ann@db',
        'source = "postgresql://ann:s3\'cret@db/x"',
        "source = 'postgresql://ann:s3\"cret@db/x'",
        'source = "postgresql://ann:s3\\"cret@db/x"',
        'source = "POSTGRESQL://ann:s3 cret@db/x"',
        'source = "postgres://ann@db/x?password=s3\'cret&b=1"',
        "# postgres://ann:s3@cret@db/x was before",
        'options = { password = "s3cret", user = "ann" }',
    ],
)
def test_passwords_of_any_letters_are_masked(text):
    found = masked(text + '\nversion = "2024"')
    assert "s3" not in found
    assert "cret" not in found
    assert "ann" in found
    assert found.endswith('\nversion = "2024"')

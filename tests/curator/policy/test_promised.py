"""What a budget is counted in stays the same once something is spent of it."""

import sqlite3
from contextlib import closing

import pytest
from tests.curator.payroll import COUNT, POLICY, changed, spent, write_rows
from tests.curator.policy.test_registration import BLOCKS

from discreet.curator.curator import Curator
from discreet.curator.ledger.verify import verified
from discreet.curator.policy.promised import promised
from discreet.curator.policy.reading import parse_policy
from discreet.curator.policy.registration import registration
from discreet.curator.policy.words import warnings
from discreet.errors import LedgerError, ParameterError

PERSON = 'unit = { person = "id", max_rows = 2 }'


@pytest.fixture
def folder(tmp_path):
    """A payroll under a policy of which nothing is spent."""
    write_rows(tmp_path / "payroll.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    Curator.register(tmp_path / "policy.toml")
    return tmp_path


def ask(folder, epsilon=1):
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon=epsilon)


def put(folder, *pairs, **said):
    return Curator.register(changed(folder, *pairs, text=POLICY), **said)


def test_what_a_policy_promises(tmp_path):
    found = promised(parse_policy(POLICY + BLOCKS, folder=tmp_path).canonical())
    assert found.relations == {"staff": "add_or_remove"}
    whom = "people, named by 'id'"
    assert found.protected == [
        ("payroll.csv", ("payroll", "staff", whom)),
        ("q1.csv", ("payroll/q1", "staff/q1", whom)),
        ("q2.csv", ("payroll/q2", "staff", whom)),
    ]
    told = registration(parse_policy(POLICY + BLOCKS, folder=tmp_path)).sources
    assert {address: one.account for address, one in found.protected} == told
    assert promised({}).protected == []  # of a log that says nothing


def test_neighbours_stay_what_they_were(folder):
    """Epsilon 1 of the one is 2 of the other: 1 and 1 would count as 2, and be 3."""
    ask(folder)
    with pytest.raises(LedgerError, match=r"counted for neighbours 'add_or_remove'.*Nothing was"):
        put(folder, ('"add_or_remove"', '"replace"'))
    changed(folder, text=POLICY)
    with Curator(folder / "policy.toml") as curator:  # nothing has changed
        assert curator.version == 1
        assert spent(curator)["staff"] == "epsilon 1"


def test_neighbours_do_not_change_where_a_family_was_left_out_in_between(folder):
    ask(folder)
    other = POLICY.replace("staff", "crew").replace("crew.ledger", "staff.ledger")
    write_rows(folder / "crew.csv")
    (folder / "policy.toml").write_text(other.replace("payroll.csv", "crew.csv"))
    Curator.register(folder / "policy.toml", new_people=["crew"])
    with pytest.raises(LedgerError, match="counted for neighbours"):
        put(folder, ('"add_or_remove"', '"replace"'))


def test_what_is_not_spent_may_be_counted_otherwise(folder):
    assert put(folder, ('"add_or_remove"', '"replace"'), (PERSON, 'unit = "row"')) == (2, [])
    ask(folder)
    with pytest.raises(LedgerError, match="counted for neighbours 'replace'"):
        Curator.register(changed(folder, text=POLICY))


def test_a_family_s_neighbours_hold_for_what_its_blocks_have_spent(folder):
    write_rows(folder / "q1.csv")
    write_rows(folder / "q2.csv")
    text = POLICY.replace("[defaults]", f"{BLOCKS}[defaults]")
    Curator.register(changed(folder, text=text), new_people=["staff/q1"])
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="0.5", block="q1")
        assert spent(curator)["staff"] == "epsilon 0"
    with pytest.raises(LedgerError, match="counted for neighbours"):
        Curator.register(changed(folder, ('"add_or_remove"', '"replace"'), text=text))
    with pytest.raises(LedgerError, match=r"'staff/q1' has spent on payroll/q1 was promised"):
        Curator.register(changed(folder, (PERSON, 'unit = "row"'), text=text))


UNITS = {
    "rows": 'unit = "row"',
    "people, named by 'dept'": 'unit = { person = "dept", max_rows = 2 }',
    "people, named by 'id', 3 together": 'unit = { person = "id", max_rows = 2, together = 3 }',
}


@pytest.mark.parametrize("whom", UNITS)
def test_who_is_protected_stays_the_same_unless_it_is_said(folder, whom):
    ask(folder)
    other = (PERSON, UNITS[whom])
    if "dept" in whom:
        other = (f'{PERSON}\n[dataset.payroll.columns]\ndept = {{ keys = ["a", "b", "c"] }}',
                 f"{UNITS[whom]}\n[dataset.payroll.columns]")  # fmt: skip
    with pytest.raises(LedgerError) as refusal:
        put(folder, other)
    words = f"was promised to people, named by 'id', and the policy now protects {whom}. "
    assert f"what 'staff' has spent on payroll {words}" in str(refusal.value)
    assert "--other-unit payroll`. Nothing was changed" in str(refusal.value)
    version, told = put(folder, other, other_unit=["payroll"])
    assert told == [f"payroll: protects {whom}; before it was people, named by 'id'"]
    assert put(folder, other) == (version, [])  # it is said once
    put(folder, other, ("epsilon = 0.1\n", "epsilon = 0.2\n"))
    with pytest.raises(LedgerError, match="--other-unit payroll"):  # and back
        Curator.register(changed(folder, text=POLICY))
    with Curator(
        changed(folder, other, ("epsilon = 0.1\n", "epsilon = 0.2\n"), text=POLICY)
    ) as one:
        verified(one.ledger)
        assert spent(one)["staff"] == "epsilon 1"


def test_how_many_rows_count_is_not_who_is_protected(folder):
    ask(folder)
    assert put(folder, ("max_rows = 2", "max_rows = 1"))[0] == 2


@pytest.mark.parametrize("source", ["./payroll.csv", "pay*.csv", "linked.csv", "hard.csv"])
def test_another_name_of_the_source_is_the_same_people(folder, source):
    ask(folder)
    (folder / "linked.csv").symlink_to("payroll.csv")
    (folder / "hard.csv").hardlink_to(folder / "payroll.csv")
    names = ("dataset.payroll", "dataset.wages"), ('"payroll.csv"', f'"{source}"')
    with pytest.raises(LedgerError, match="--other-unit wages"):
        put(folder, *names, (PERSON, 'unit = "row"'))


@pytest.mark.parametrize("source", ["hash#1.csv", "link.csv", "has*.csv"])
def test_a_file_whose_name_looks_like_a_table_has_other_names_too(folder, source):
    write_rows(folder / "hash#1.csv")
    (folder / "link.csv").symlink_to("hash#1.csv")
    put(folder, ('"payroll.csv"', '"hash#1.csv"'))
    ask(folder)
    names = ("dataset.payroll", "dataset.wages"), ('"payroll.csv"', f'"{source}"')
    with pytest.raises(LedgerError, match="--other-unit wages"):
        put(folder, *names, (PERSON, 'unit = "row"'))


def test_a_dataset_protects_the_same_people_in_another_file(folder):
    """A copy is another file; that it has the name of the dataset says whose rows they are."""
    ask(folder)
    write_rows(folder / "copy.csv")
    other = ('"payroll.csv"', '"copy.csv"'), (PERSON, 'unit = "row"')
    with pytest.raises(LedgerError, match="--other-unit payroll"):
        put(folder, *other)
    assert put(folder, *other, other_unit=["payroll"])[0] == 2
    assert put(folder, *other, ("epsilon = 0.1\n", "epsilon = 0.2\n")) == (3, [])
    with pytest.raises(LedgerError, match="--other-unit payroll"):  # and back
        put(folder)


def test_other_people_may_have_a_dataset_of_the_same_name(folder):
    ask(folder)
    write_rows(folder / "crew.csv")
    text = POLICY.replace("staff", "crew").replace("crew.ledger", "staff.ledger")
    names = ('"payroll.csv"', '"crew.csv"'), (PERSON, 'unit = "row"')
    assert Curator.register(changed(folder, *names, text=text), new_people=["crew"])[0] == 2


@pytest.mark.parametrize("source", ["pay*.csv", "linked.csv"])
def test_what_was_said_of_a_source_is_not_asked_again(folder, source):
    ask(folder)
    (folder / "linked.csv").symlink_to("payroll.csv")
    other = ('"payroll.csv"', f'"{source}"'), (PERSON, 'unit = "row"')
    assert put(folder, *other, other_unit=["payroll"])[0] == 2
    assert put(folder, *other, ("epsilon = 0.1\n", "epsilon = 0.2\n")) == (3, [])
    with pytest.raises(LedgerError, match="--other-unit wages"):  # and back, under another name
        put(folder, ("dataset.payroll", "dataset.wages"))


def test_two_datasets_that_protect_others_stay_as_they_were(folder):
    twice = POLICY.partition("[dataset.payroll]")[2].partition("[defaults]")[0]
    second = f"[dataset.wages]{twice}".replace("payroll.columns", "wages.columns")
    text = POLICY + second.replace(PERSON, 'unit = "row"')
    Curator.register(changed(folder, text=text))
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, dataset="payroll", epsilon=1)
    more = ("epsilon = 0.1\n", "epsilon = 0.2\n")
    assert Curator.register(changed(folder, more, text=text)) == (3, [])
    other = ('unit = "row"', 'unit = { person = "dept", max_rows = 2 }')
    with pytest.raises(LedgerError, match="--other-unit wages"):
        Curator.register(changed(folder, other, ("dept = { keys", "other = { keys"), text=text))


def test_a_policy_that_was_moved_speaks_of_the_same_files(folder):
    """The log has paths as they were said; where that was is told by the ledger."""
    ask(folder)
    (folder / "sub").mkdir()
    above = ('"staff.ledger"', '"../staff.ledger"'), ('"payroll.csv"', '"../payroll.csv"')
    names = ("dataset.payroll", "dataset.wages"), (PERSON, 'unit = "row"')
    with pytest.raises(LedgerError, match="--other-unit wages"):
        Curator.register(changed(folder / "sub", *above, *names, text=POLICY))
    crew = POLICY.replace("staff", "crew").replace("crew.ledger", "staff.ledger")
    with pytest.raises(LedgerError, match=r"payroll\.csv belongs to the family 'staff'"):
        Curator.register(changed(folder / "sub", *above, text=crew), new_people=["crew"])
    moved = changed(folder / "sub", *above, text=POLICY)
    assert Curator.register(moved)[0] == 2
    write_rows(folder / "sub" / "payroll.csv")  # another file, though the log has that name
    own = above[0], *names, ('"2024"', '"2025"')
    assert Curator.register(changed(folder / "sub", *own, text=POLICY))[0] == 3


@pytest.mark.parametrize(
    "body",
    [
        '{"families": [], "policy": "x", "sources": {}}',
        '{"families": ["staff"], "policy": {"families": {"staff": {}}}, "sources": {}}',
        '{"families": 3, "policy": {}, "sources": {}}',
        '{"families": [], "policy": {}, "sources": []}',
        '{"families": [], "policy": {}, "sources": {"payroll.csv": "staff"}}',
    ],
)
def test_a_policy_of_the_log_that_is_none_is_told(folder, body):
    ask(folder)
    with closing(sqlite3.connect(folder / "staff.ledger")) as database:
        database.execute("UPDATE discreet_entry SET body = ? WHERE kind = 'policy'", [body])
        database.commit()
    with pytest.raises(LedgerError, match=r"cannot be read: it was changed.*Nothing was changed"):
        put(folder, ("epsilon = 0.1\n", "epsilon = 0.2\n"))


def test_only_what_is_there_can_be_said_to_be_the_same(folder):
    with pytest.raises(ParameterError, match="other_unit"):
        put(folder, (PERSON, 'unit = "row"'), other_unit=["staff"])


def test_a_policy_that_protects_rows_and_people_of_one_file_is_told_so(tmp_path):
    twice = POLICY.partition("[dataset.payroll]")[2].partition("[defaults]")[0]
    second = f"[dataset.wages]{twice}".replace("payroll.columns", "wages.columns")
    text = POLICY + second.replace(PERSON, 'unit = "row"')
    (found,) = [
        one for one in warnings(parse_policy(text, folder=tmp_path)) if "one of each" in one
    ]
    assert found.startswith("payroll and wages may hold the same rows, and protect people, named")
    same = parse_policy(POLICY + second, folder=tmp_path)
    assert not any("one of each" in one for one in warnings(same))

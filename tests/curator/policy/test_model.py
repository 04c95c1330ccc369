"""The canonical form: complete, exact, and the same for every spelling of one policy."""

import json
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from tests.curator.policy.example import FOLDER, FULL, SMALL, changed, policy

from discreet.curator.policy.model import is_address, without_password
from discreet.curator.policy.reading import parse_policy


def test_the_example_as_values():
    found = policy()
    assert found.folder == FOLDER
    assert found.ledger.address == str(FOLDER / "staff.ledger")
    assert found.ledger.head == FOLDER / "staff.ledger.head"
    family = found.families["staff"]
    assert (family.name, family.accounting, family.neighbours) == ("staff", "pure", "add_or_remove")
    assert family.limit.most.value() == 3
    assert (family.releases, family.expires) == ("private", date(2027, 12, 31))
    alice = found.analysts["alice"]
    assert alice.allowances["staff"].most.value() == 1
    assert (alice.name, alice.expires) == ("alice", date(2027, 6, 30))
    assert found.defaults.epsilon == Fraction(1, 10)
    assert found.defaults.confidence == Fraction(95, 100)
    data = found.datasets["payroll"]
    assert data.source == str(FOLDER / "payroll.csv")
    assert (data.family, data.table, data.version) == ("staff", None, "2024-12")
    assert data.row_limit == 100_000_000
    assert data.options == {"delimiter": ";"}
    block = data.blocks["2025-q1"]
    assert block.source == str(FOLDER / "payroll-2025-q1.csv")
    assert (block.version, block.own_people, block.limit) == ("2025-q1", True, family.limit)


def test_canonical_is_plain_json_with_exact_numbers():
    found = policy(("epsilon = 0.1\nconfidence = 0.95", "epsilon = 0.1\nconfidence = 0.999"))
    canonical = found.canonical()
    assert json.loads(json.dumps(canonical)) == canonical
    assert canonical["defaults"] == {"epsilon": "1/10", "delta": None, "confidence": "999/1000"}
    data = canonical["datasets"]["payroll"]
    assert data["columns"]["bonus"] == {"find": True, "epsilon": "1/10"}
    assert data["source"] == "payroll.csv"
    assert data["lookups"]["region"]["rows"][1] == [["str", "Police"], ["str", "west"], None]
    assert data["blocks"]["2025-q1"]["limit"]["epsilon"] == "3"

    def no_numbers(value: object) -> bool:
        if isinstance(value, dict):
            return all(map(no_numbers, value.values()))
        if isinstance(value, list):
            return all(map(no_numbers, value))
        return value is None or isinstance(value, str | bool)

    assert no_numbers(canonical)


SPELLINGS = {
    "comments": ("[defaults]", "# a remark\n\n[defaults] # another"),
    "a number": ("epsilon = 0.1\nconfidence", "epsilon = 1.0e-1\nconfidence"),
    "a fraction": ("epsilon = 0.1\nconfidence", 'epsilon = "1/10"\nconfidence'),
    "a path": ('"payroll.csv"', '"./x/../payroll.csv"'),
    "an absolute path": ('"payroll.csv"', f'"{FOLDER}/payroll.csv"'),
    "a range": ("{ from = 2021, to = 2024 }", "{ keys = [2021, 2022, 2023, 2024] }"),
    "a default": ('releases = "private"\n', ""),
    "a later default": ("epsilon = 3", "epsilon = 3\ntells_rest = false"),
    "another default": ('accounting = "pure"\n', ""),
    "the block's own budget": ('people = "own"', 'people = "own"\nepsilon = 3'),
    "neighbours in the unit": ("max_groups = 2 }", 'max_groups = 2, neighbours="add_or_remove" }'),
    "speed": ('delimiter = ";"', 'delimiter = ";"\nthreads = 4'),
    "quotes": ("[dataset.payroll.options]", "[dataset.'payroll'.\"options\"]"),
}


@pytest.mark.parametrize("change", SPELLINGS.values(), ids=SPELLINGS)
def test_another_spelling_has_the_same_fingerprint(change):
    assert policy(change).fingerprint == policy().fingerprint


def test_order_and_folder_do_not_matter():
    head, tail = FULL.split("[dataset.payroll]\n")
    moved = parse_policy(f"[dataset.payroll]\n{tail}\n{head}", folder=Path("/elsewhere"))
    assert moved.fingerprint == policy().fingerprint


MEANINGS = {
    "ledger": ("staff.ledger", "other.ledger"),
    "epsilon": ("epsilon = 3", "epsilon = 3.0000001"),
    "delta": ("epsilon = 3", "epsilon = 3\ndelta = 1e-9"),
    "neighbours": ('"add_or_remove"', '"replace"'),
    "releases": ('"private"', '"public"'),
    "tells the rest": ("epsilon = 3", "epsilon = 3\ntells_rest = true"),
    "expiry": ("2027-12-31", "2027-12-30"),
    "no expiry": ("expires = 2027-12-31\n", ""),
    "analyst": ("expires = 2027-06-30\n", ""),
    "allowance": ("epsilon = 1\n", "epsilon = 2\n"),
    "source": ('"payroll.csv"', '"payroll2.csv"'),
    "version": ('"2024-12"', '"2024-13"'),
    "unit": ("max_rows = 4", "max_rows = 5"),
    "unit by row": (
        'unit = { person = "employee_id", max_rows = 4, max_groups = 2 }',
        'unit = { per = "row", together = 2 }',
    ),
    "row limit": ("row_limit = 100000000", "row_limit = 100000001"),
    "option": ('";"', '"|"'),
    "keys": ('"Police", "Library"]', '"Library", "Police"]'),
    "types of keys": ("{ from = 2021, to = 2024 }", '{ keys = ["2021", "2022", "2023", "2024"] }'),
    "bounds": ("high = 400000", "high = 400001"),
    "grid": (", grid = 1 }", ", grid = 2 }"),
    "no grid": (", grid = 1 }", " }"),
    "missing": (", grid = 1 }", ", grid = 1, missing = 0 }"),
    "find": ("find = true, epsilon = 0.1", "find = true, epsilon = 0.2"),
    "dates": ("first = 2000-01-01", "first = 2000-01-02"),
    "kind": ('job = "text"', 'job = "hidden"'),
    "lookup": ('region = "west"', 'region = "south"'),
    "block source": ("payroll-2025-q1.csv", "payroll-2025-q2.csv"),
    "block people": ('"own"', '"shared"'),
    "block budget": ('"own"', '"own"\nepsilon = 2'),
    "default": ("epsilon = 0.1\nconfidence", "epsilon = 0.2\nconfidence"),
    "confidence": ("0.95", "0.96"),
}


def test_everything_that_changes_the_meaning_changes_the_fingerprint():
    prints = {name: policy(change).fingerprint for name, change in MEANINGS.items()}
    prints["as it is"] = policy().fingerprint
    assert len(set(prints.values())) == len(prints)
    assert all(len(one) == 64 for one in prints.values())


PEOPLE = [
    "ledger", "epsilon", "delta", "releases", "tells the rest", "expiry", "no expiry", "analyst",
    "allowance", "block source", "block people", "block budget", "default", "confidence",
]  # fmt: skip


@pytest.mark.parametrize("name", MEANINGS)
def test_a_dataset_has_a_fingerprint_of_its_own(name):
    """What its answers depend on: budgets, analysts and blocks are no part of it."""
    same = policy(MEANINGS[name]).datasets["payroll"].fingerprint()
    assert (same == policy().datasets["payroll"].fingerprint()) == (name in PEOPLE)


def test_a_block_has_a_fingerprint_and_an_account():
    data = policy().datasets["payroll"]
    assert data.fingerprint("2025-q1") != data.fingerprint()
    assert data.meaning("2025-q1")["version"] == "2025-q1"
    assert data.account() == "staff"
    assert data.account("2025-q1") == "staff/2025-q1"
    shared = policy(('"own"', '"shared"')).datasets["payroll"]
    assert shared.account("2025-q1") == "staff"
    assert shared.blocks["2025-q1"].limit is None


def test_accountings():
    zcdp = 'accounting = "zcdp"\nrho = 0.5\n'
    found = policy(("epsilon = 1\n", zcdp), text=SMALL)
    assert found.canonical()["families"]["f"]["rho"] == "1/2"
    both = policy(("epsilon = 1\n", 'accounting = "zcdp"\nepsilon = 2\ndelta = 1e-6\n'), text=SMALL)
    family = both.families["f"]
    assert family.accounting == "zcdp"
    assert both.canonical()["families"]["f"]["delta"] == "1/1000000"


def test_passwords_are_neither_stored_nor_part_of_the_meaning():
    change = ('source = "d.csv"\n', 'source = "postgresql://ann:secret@db/x"\ntable = "t"\n')
    ledger = ('path = "a.ledger"\n', 'address = "postgresql://b:secret@db/l"\nhead = "a.head"\n')
    found = policy(change, ledger, text=SMALL)
    assert found.ledger.address == "postgresql://b:secret@db/l"
    assert found.ledger.head == FOLDER / "a.head"
    assert found.datasets["d"].source == "postgresql://ann:secret@db/x"
    assert "secret" not in json.dumps(found.canonical())
    other = changed(change, ledger, text=SMALL).replace("secret", "changed")
    assert parse_policy(other, folder=FOLDER).fingerprint == found.fingerprint


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/a/b.csv", "/a/b.csv"),
        ("postgresql://h/d", "postgresql://h/d"),
        ("postgresql://u@h:5432/d", "postgresql://u@h:5432/d"),
        ("postgresql://u:a%40b@h/d", "postgresql://u@h/d"),
        ("postgresql://u:a@b@h/d", "postgresql://u@h/d"),
        ("postgres://h/d?PASSWORD=x&user=u", "postgres://h/d?user=u"),
    ],
)
def test_without_password(address, shown):
    assert without_password(address) == shown
    assert is_address(address) == address.startswith("postgres")


def test_a_policy_is_frozen():
    found = policy()
    with pytest.raises(AttributeError):
        found.folder = Path()  # type: ignore[misc]
    with pytest.raises(TypeError):
        found.families["x"] = found.families["staff"]  # type: ignore[index]
    with pytest.raises(TypeError):
        found.datasets["payroll"].columns["x"] = None  # type: ignore[index]


def test_what_came_later_leaves_old_fingerprints_as_they_were():
    """Ledgers follow a policy by its fingerprint."""
    assert "tells_rest" not in policy().families["staff"].canonical()
    told = policy(("epsilon = 3", "epsilon = 3\ntells_rest = true"))
    assert told.families["staff"].canonical()["tells_rest"] is True

"""A policy that says everything that a policy may say, and a small one."""

from pathlib import Path

from discreet.curator.policy.model import Policy
from discreet.curator.policy.reading import parse_policy

FULL = """\
[ledger]
path = "staff.ledger"

[family.staff]
epsilon = 3
accounting = "pure"
neighbours = "add_or_remove"
releases = "private"
expires = 2027-12-31

[analyst.alice]
expires = 2027-06-30
[analyst.alice.allowance.staff]
epsilon = 1

[dataset.payroll]
family = "staff"
source = "payroll.csv"
version = "2024-12"
unit = { person = "employee_id", max_rows = 4, max_groups = 2 }
row_limit = 100000000
[dataset.payroll.options]
delimiter = ";"
[dataset.payroll.columns]
department = { keys = ["Fire", "Police", "Library"] }
year = { from = 2021, to = 2024 }
salary = { low = 0, high = 400000, grid = 1 }
bonus = { find = true, epsilon = 0.1 }
hired = { first = 2000-01-01, last = 2024-12-31 }
remote = "boolean"
job = "text"
name = "hidden"
[dataset.payroll.lookup.region]
key = "department"
rows = [
  { department = "Fire", region = "east", rank = 1 },
  { department = "Police", region = "west" },
]
[dataset.payroll.block.2025-q1]
source = "payroll-2025-q1.csv"
version = "2025-q1"
people = "own"

[defaults]
epsilon = 0.1
confidence = 0.95
"""

SMALL = """\
[ledger]
path = "a.ledger"
[family.f]
epsilon = 1
neighbours = "add_or_remove"
[dataset.d]
family = "f"
source = "d.csv"
version = "1"
unit = "row"
[dataset.d.columns]
x = { low = 0, high = 10 }
"""
FOLDER = Path("/srv/policies")


def policy(*changes: tuple[str, str], text: str = FULL) -> Policy:
    """The example, with some words replaced by others."""
    return parse_policy(changed(*changes, text=text), folder=FOLDER)


def changed(*changes: tuple[str, str], text: str = FULL) -> str:
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text

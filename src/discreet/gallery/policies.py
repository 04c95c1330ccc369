"""The policy of the guide, over the made-up payroll."""

from __future__ import annotations

from pathlib import Path

from discreet.gallery.data import DEPARTMENTS

__all__ = ["write_policy"]

_POLICY = """\
[ledger]
path = "staff.ledger"

[family.staff]                     # people: one budget for everything that is about them
epsilon = 3
neighbours = "add_or_remove"

[analyst.alice]
expires = 2099-06-30
[analyst.alice.allowance.staff]
epsilon = 1
[analyst.bob.allowance.staff]
epsilon = 1

[dataset.payroll]
family = "staff"
source = "payroll.csv"
version = "2024-12"                # name every state of the data
unit = { person = "person", max_rows = 4 }
[dataset.payroll.columns]
department = { keys = [%s] }
year = { from = 2021, to = 2024 }
salary = { low = 0, high = 400000, grid = 1 }
hired = { first = 2000-01-01, last = 2024-12-31 }
remote = "boolean"
title = "hidden"

[defaults]
epsilon = 0.1
"""


def write_policy(path: str | Path) -> Path:
    """Write a policy for the file of `discreet.gallery.data.write_payroll`, as payroll.csv."""
    file = Path(path)
    listed = ", ".join(f'"{name}"' for name in DEPARTMENTS)
    file.write_text(_POLICY % listed, encoding="utf-8")
    return file

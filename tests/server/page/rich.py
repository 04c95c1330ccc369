"""A policy with all that pages know: periods, public tables, searches, text, delta, zCDP."""

import asyncio
from contextlib import contextmanager

import pytest
from tests.server.running import prepared, running, weak

from discreet.server.page.assets import VEGA

POLICY = """
[ledger]
path = "staff.ledger"
[server]
sources = "data"
[family.staff]
epsilon = 3
delta = 0.00001
neighbours = "add_or_remove"
[family.city]
accounting = "zcdp"
rho = 0.5
neighbours = "replace"
expires = 2030-01-01
[analyst.alice.allowance.staff]
epsilon = 1
delta = 0.000005
[analyst.alice.allowance.city]
rho = 0.2
[analyst.bob.allowance.staff]
epsilon = 1
[dataset.payroll]
family = "staff"
source = "data/payroll.csv"
version = "2024"
unit = { person = "id", max_rows = 2 }
[dataset.payroll.columns]
id = "hidden"
dept = { keys = ["a", "b", "c"] }
pay = { low = 0, high = 1000, grid = 1 }
bonus = { find = true, epsilon = 0.1 }
town = "text"
[dataset.payroll.lookup.region]
key = "dept"
rows = [
    { dept = "a", area = "north", head = "Ms X" }, { dept = "b", area = "south", head = "Mr Y" },
    { dept = "c", area = "south", head = "Mr Z" },
]
[dataset.payroll.block.2025-q1]
source = "data/q1.csv"
version = "first of 2025"
people = "own"
epsilon = 0.25
[dataset.payroll.block.2025-q2]
source = "data/q2.csv"
version = "second of 2025"
people = "shared"
[dataset.census]
family = "city"
source = "data/census.csv"
version = "1"
unit = "row"
[dataset.census.columns]
age = { low = 0, high = 120, grid = 1 }
sex = { keys = ["f", "m"] }
[defaults]
epsilon = 0.1
"""
TOWNS = ("rome", "oslo", "bern")


def written(folder, policy=POLICY):
    """A folder with these data, a policy and its ledger; the policy's path."""
    data = folder / "data"
    data.mkdir()
    rows = "".join(
        f"{i % 300},{'abc'[i % 7 % 3]},{i * 37 % 1000},{1 + i * 11 % 499},{TOWNS[i % 5 % 3]}\n"
        for i in range(600)
    )
    for name in ("payroll", "q1", "q2", "q3", "q4"):
        (data / f"{name}.csv").write_text("id,dept,pay,bonus,town\n" + rows)
    people = "".join(f"{i * 7 % 100},{'fm'[i % 2]}\n" for i in range(600))
    (data / "census.csv").write_text("age,sex\n" + people)
    visits = "".join(f"{i % 90},{'nsew'[i % 4]},{i % 60},{TOWNS[i % 3]}\n" for i in range(300))
    (data / "visits.csv").write_text("patient_id,ward,age,town\n" + visits)
    return prepared(folder, policy)


@contextmanager
def served(folders):
    """A running server of it, which has its charts at hand."""
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(written(folders.mktemp("rich")), deadlines=(1,)) as made:
            asyncio.run(VEGA.get())
            yield made

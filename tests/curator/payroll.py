"""A payroll under a policy, for the tests of the curator."""

import numpy as np

from discreet.curator.curator import Curator
from discreet.errors import EngineError

POLICY = """
[ledger]
path = "staff.ledger"

[family.staff]
epsilon = 3
neighbours = "add_or_remove"

[analyst.alice.allowance.staff]
epsilon = 1
[analyst.bob.allowance.staff]
epsilon = 1

[dataset.payroll]
family = "staff"
source = "payroll.csv"
version = "2024"
unit = { person = "id", max_rows = 2 }
[dataset.payroll.columns]
dept = { keys = ["a", "b", "c"] }
pay = { low = 0, high = 1000, grid = 1 }
bonus = { find = true, epsilon = 0.1 }

[defaults]
epsilon = 0.1
"""
COUNT = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY dept"
SUM = "SELECT dept, SUM(pay) AS s FROM payroll GROUP BY dept"

DEARER = POLICY.replace("epsilon = 1\n", "epsilon = 3\n").replace(
    "epsilon = 0.1 }", "epsilon = 1 }"
)
"""The same, where a search costs epsilon 1 and everybody may spend all."""


def write_rows(path, people=400, seed=1):
    rng = np.random.default_rng(seed)
    lines = ["id,dept,pay,bonus"]
    for i in range(people):
        dept = "abc"[rng.integers(3)]
        lines.append(f"{i},{dept},{rng.integers(1000)},{rng.integers(1, 500)}")
    path.write_text("\n".join(lines) + "\n")


def spent(curator):
    return {name: account.spent.said("pure") for name, account in curator.accounts().items()}


def changed(folder, *pairs, text=None):
    text = text or (folder / "policy.toml").read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (folder / "policy.toml").write_text(text)
    return folder / "policy.toml"


def renewed(folder, text=None, **rows):
    """Other rows, as a new version of the data."""
    if text is None:
        write_rows(folder / "payroll.csv", **rows)
    else:
        (folder / "payroll.csv").write_text(text)
    Curator.register(changed(folder, ('version = "2024"', 'version = "2025"')))


def failing(*_, **__):
    raise EngineError("the database failed on purpose")

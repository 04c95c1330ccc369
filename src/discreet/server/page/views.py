"""What pages show of datasets and budgets, as plain values: shortened for people, nothing added.

Everything comes from what the API would tell the same person.
Tested by tests/server/page/test_views.py
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from typing import Any

from discreet.curator.access import Credential
from discreet.exact import shown
from discreet.server.page.frame import on_page
from discreet.server.problems import Problem
from discreet.server.service import Service

__all__ = [
    "MOST_KEYS", "MOST_ROWS", "axis", "budgets", "described", "example", "gauge_of", "joinable",
    "quoted", "short",
]  # fmt: skip

MOST_KEYS = 12
"""So many keys of a column are shown on a page,"""
MOST_ROWS = 20
"""and so many rows of a public table."""
_GROUPS = 60
"""An example groups by a column of at most so many keys."""
_DOWN = Context(prec=4, rounding=ROUND_DOWN)
_KINDS = {
    "number": "number", "find": "number", "keys": "keys", "dates": "date", "boolean": "yes or no",
    "text": "text",
}  # fmt: skip


def short(number: str) -> str:
    """An exact number of the ledger in four digits, never more than it is.

    >>> short("0.299999999999"), short("1250"), short("0")
    ('0.2999', '1250', '0')
    """
    cut = _DOWN.create_decimal(number)
    return f"{cut.normalize() if cut else Decimal(0):f}"


def quoted(name: str) -> str:
    """A name as SQL has it.

    >>> quoted("pay"), quoted("hours worked")
    ('pay', '"hours worked"')
    """
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else '"' + name.replace('"', '""') + '"'


def budgets(service: Service, who: Credential, name: str) -> list[dict[str, Any]]:
    """The budgets that questions about a dataset are charged to, as far as somebody may know them.

    One for all of it, or one for each block that has people of its own.
    """
    dataset = service.dataset(who, name)
    whose = f"@{who.person.name}" if who.person.role == "analyst" else ""
    known = {one.name: one for one in service.accounts(who)}
    blocks: dict[str, list[str]] = {}
    for block in (None, *dataset.blocks):
        blocks.setdefault(dataset.account(block) + whose, []).append(block or "")
    found = []
    for account, parts in blocks.items():
        if account in known:
            found.append({**gauge_of(known[account].to_dict()), "blocks": parts})
    return found


def gauge_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """A budget for a page: what is left of it, in few digits."""
    unit = "epsilon" if told["accounting"] == "pure" else "rho"
    left, total = Decimal(told["left"][unit]), Decimal(told["total"][unit])
    return {
        "account": told["account"],
        "unit": unit,
        "left": short(told["left"][unit]),
        "total": short(told["total"][unit]),
        "share_left": f"{left / total if total else 0:.4f}",
        "delta_left": told["left"]["delta"],
        "delta_total": told["total"]["delta"],
        "retired": told["retired"],
    }


def described(service: Service, who: Credential, name: str, *, most: int) -> dict[str, Any]:
    """A dataset for a page: its metadata, its budgets, a question to begin with.

    Where its data cannot be read now it is told by name, with the reason.
    """
    told: dict[str, Any] = {"name": name, "budgets": budgets(service, who, name), "problem": None}
    try:
        known = service.told(who, name, most=most)
    except Problem as problem:
        if problem.hidden is not None:
            service.note(problem.hidden)
        return {**told, "columns": [], "problem": on_page(problem)}
    columns = [
        {**one, "what": _KINDS[one["kind"]], "range": _range(one), "axis": axis(one)}
        for one in known["columns"]
    ]
    default = service.policy.defaults.epsilon
    epsilon = None if default is None else shown(default)
    return {**known, **told, "columns": columns, "example": example(known), "epsilon": epsilon}


def joinable(table: Mapping[str, Any]) -> dict[str, Any]:
    """A public table for an editor: its columns with their values, of which none is a secret."""
    columns = []
    for place, name in enumerate(table["columns"], 1):
        typed = [row[place] for row in table["rows"] if row[place] is not None]
        values = list(dict.fromkeys(value for _, value in typed))
        columns.append({
            "name": name, "kind": "keys", "what": f"of {table['name']}", "keys": values,
            "of": typed[0][0] if typed else "str", "axis": None,
        })  # fmt: skip
    return {"name": table["name"], "key": table["key"], "columns": columns}


def axis(column: Mapping[str, Any], *, most: int = 1024) -> dict[str, Any] | None:
    """From where to where a column could be published, and in how many cells; None for no number.

    The declared bounds, and as many cells as there are steps between them, up to `most`.
    """
    match column:
        case {"kind": "number", "low": low, "high": high, "grid": grid}:
            first, last = Fraction(low), Fraction(high)
            steps = most if grid is None else math.floor((last - first) / Fraction(grid))
        case {"kind": "keys", "of": "int", "range": [first_key, last_key]}:
            first, last = Fraction(first_key), Fraction(last_key) + 1
            steps = int(last - first)
        case _:
            return None
    if first >= last:
        return None
    return {"low": shown(first), "high": shown(last), "bins": max(1, min(steps, most))}


def _range(column: Mapping[str, Any]) -> str:
    match column["kind"]:
        case "number":
            steps = "" if column["grid"] is None else f", in steps of {column['grid']}"
            return f"{column['low']} to {column['high']}{steps}"
        case "dates":
            return f"{column['first']} to {column['last']}"
        case _:
            return ""


def example(known: Mapping[str, Any]) -> str:
    """A question that can be asked of a dataset: a count by the first column of few keys."""
    table = quoted(known["name"])
    for one in known["columns"]:
        few = one["kind"] == "boolean" or (one["kind"] == "keys" and one["count"] <= _GROUPS)
        if few:
            by = quoted(one["name"])
            return f"SELECT {by}, COUNT(*) AS n\nFROM {table}\nGROUP BY {by}"
    return f"SELECT COUNT(*) AS n\nFROM {table}"

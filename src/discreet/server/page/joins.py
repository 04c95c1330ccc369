"""Questions that join a public table, as they were asked: the ledger has them without the join.

A stored question says LOOKUP('region', 'area', dept) wherever `area` is meant. Here it says JOIN
again, where that means the very same: both texts are read, and are one plan.
Tested by tests/server/page/test_joins.py
"""

from __future__ import annotations

import re
from contextlib import suppress

from discreet.curator.access import Credential
from discreet.curator.record import Record
from discreet.errors import DiscreetError
from discreet.server.page.views import quoted
from discreet.server.problems import Problem
from discreet.server.service import Service

__all__ = ["as_join", "readable"]

_TEXT = r"'((?:[^']|'')+)'"
_LOOKUP = re.compile(rf"""LOOKUP\({_TEXT}, {_TEXT}, ("(?:[^"]|"")+"|\w+)\)""")


def readable(service: Service, who: Credential, record: Record) -> str:
    """A stored question with its join, or as it is stored where that would be another question."""
    text = as_join(record.question)
    if text is not None:
        with (
            suppress(DiscreetError, Problem),  # it may not be there any more, for them
            service.part(who, text, record.dataset, record.block) as (curator, at),
        ):
            if curator.plan(text, **at) == curator.plan(record.question, **at):
                return text
    return record.question


def as_join(question: str) -> str | None:
    r"""What a question with lookups of one table may have been; None where there is none.

    >>> print(as_join("SELECT LOOKUP('region', 'area', dept) AS area, COUNT(*) AS n\nFROM staff"))
    SELECT area, COUNT(*) AS n
    FROM staff
    JOIN region USING (dept)
    """
    found = _LOOKUP.findall(question)
    if len({(table, key) for table, _, key in found}) != 1:
        return None
    (table, _, key), names = found[0], {_name(column) for _, column, _ in found}
    text = _LOOKUP.sub(lambda one: _name(one[2]), question)
    text = re.sub(
        r"^(FROM .*)$", rf"\1\nJOIN {_name(table)} USING ({key})", text, flags=re.MULTILINE
    )
    for one in names:
        text = text.replace(f"{one} AS {one}", one)
        name = re.escape(one)
        text = re.sub(rf"^WHERE {name} IS NOT NULL\n", "", text, flags=re.MULTILINE)
        text = re.sub(rf"^WHERE {name} IS NOT NULL AND ", "WHERE ", text, flags=re.MULTILINE)
        text = re.sub(rf" AND {name} IS NOT NULL$", "", text, flags=re.MULTILINE)
    return text


def _name(text: str) -> str:
    return quoted(text.replace("''", "'"))

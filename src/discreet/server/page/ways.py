"""What a dataset can be asked beyond counts by its keys, each with a question to begin with.

Everything comes from what is publicly known of the dataset: which columns hold text, whose bounds
are still to be found, which tables can be joined.
Tested by tests/server/page/test_ways.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.exact import rational, shown
from discreet.server.page.views import quoted

__all__ = ["Way", "ways"]

DELTA = "0.000001"
"""What is proposed where keys are selected."""
_MOST = 12
"""So many ways are shown."""
_OPTIONS = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS"


@dataclass(frozen=True, slots=True)
class Way:
    """Something that can be asked.

    Attributes:
        title: what.
        says: what it means, and what it costs besides its price.
        question: in SQL, to begin with.
        delta: what has to be said besides epsilon; empty for nothing.
    """

    title: str
    says: str
    question: str
    delta: str = ""


def ways(known: Mapping[str, Any]) -> list[Way]:
    """What a dataset can be asked, in the order in which it is missed most.

    Args:
        known: its metadata.
    """
    found = [*_selected(known), *_found(known), *_joined(known), *_others(known), *_middle(known)]
    return found[:_MOST]


def _of(known: Mapping[str, Any], *kinds: str) -> Iterator[Mapping[str, Any]]:
    return (one for one in known["columns"] if one["kind"] in kinds)


def _counted(known: Mapping[str, Any], by: str, more: str = "", select: str = "SELECT") -> str:
    return f"{select} {by}, COUNT(*) AS n\nFROM {quoted(known['name'])}{more}\nGROUP BY {by}"


def _selected(known: Mapping[str, Any]) -> Iterator[Way]:
    says = (
        "Its values are not public. Those that enough people share are selected privately and "
        "shown; what one person alone has is not, but for a chance of delta."
    )
    for one in _of(known, "text"):
        yield Way(f"Groups of {one['name']}", says, _counted(known, quoted(one["name"])), DELTA)


def _found(known: Mapping[str, Any]) -> Iterator[Way]:
    for one in _of(known, "find"):
        cost = shown(rational(one["epsilon"], name="epsilon"))
        says = (
            f"Its bounds are not declared. They are found privately first, for epsilon {cost} on "
            "top of the price; asked again, the same bounds are taken."
        )
        name = quoted(one["name"])
        question = f"SELECT SUM({name}) AS total\nFROM {quoted(known['name'])}"
        yield Way(f"Sums of {one['name']}", says, question)


def _joined(known: Mapping[str, Any]) -> Iterator[Way]:
    for table in known["lookups"]:
        key, name = quoted(table["key"]), quoted(table["name"])
        says = f"{table['name']} is a public table with one row for each {table['key']}."
        by = quoted(table["columns"][0])
        question = _counted(known, by, f"\nJOIN {name} USING ({key})")
        yield Way(f"Counts by {table['columns'][0]} of {table['name']}", says, question)


def _others(known: Mapping[str, Any]) -> Iterator[Way]:
    says = "One row more, for everybody whose value is missing or not among the keys."
    for one in list(_of(known, "keys"))[:1]:
        select = f"{_OPTIONS} (other = TRUE)"
        question = _counted(known, quoted(one["name"]), select=select)
        yield Way(f"Everybody else, besides the keys of {one['name']}", says, question)


def _middle(known: Mapping[str, Any]) -> Iterator[Way]:
    says = "A quantile by itself; who wants many of them publishes a histogram instead."
    for one in list(_of(known, "number"))[:1]:
        name = quoted(one["name"])
        question = f"SELECT MEDIAN({name}) AS middle\nFROM {quoted(known['name'])}"
        yield Way(f"The median of {one['name']}", says, question)

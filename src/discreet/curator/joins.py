"""Questions that join a public table, as they were asked: the ledger has them without the join.

A stored question says LOOKUP('region', 'area', dept) wherever `area` is meant, and it is found
again by that text. People are shown JOIN instead, where that means the very same: both texts are
read under what is declared, and are one plan. Otherwise they are shown what is stored.
Tested by tests/curator/test_joins.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from discreet.curator.ledger.listing import Line
from discreet.curator.metadata import declared_schema
from discreet.curator.policy.model import Dataset
from discreet.curator.record import Record
from discreet.curator.search import supposed
from discreet.errors import DiscreetError
from discreet.query.known import Reader
from discreet.query.render import name_sql
from discreet.query.schema import PublicTable

__all__ = ["Joins", "as_joins"]

_TEXT = r"'((?:[^']|'')+)'"
_NAME = r'"(?:[^"]|"")+"|\w+'
_LOOKUP = re.compile(rf"LOOKUP\({_TEXT}, {_TEXT}, ({_NAME})\)")
_FROM = re.compile(r"^FROM .*$", re.MULTILINE)


class Joins:
    """Stored questions with their joins, for one list of them.

    Args:
        datasets: whose declarations may be used, as they are now.
    """

    def __init__(self, datasets: Mapping[str, Dataset]) -> None:
        self._datasets = datasets
        self._readers: dict[str, Reader] = {}
        self._known: dict[tuple[str, str], str] = {}

    def told(self, question: str, dataset: str) -> str:
        """A stored question with its join, or as it is stored where that is another question.

        Args:
            question: as it is stored.
            dataset: which one it is about, or which part of one, if that is still there.
        """
        declared = self._datasets.get(dataset.partition("/")[0])
        if declared is None or not declared.lookups or "LOOKUP(" not in question:
            return question
        found = self._known.get((question, dataset))
        if found is None:
            found = self._known[question, dataset] = self._found(question, declared)
        return found

    def lines(self, lines: Iterable[Line]) -> list[Line]:
        """A list of what happened, with the questions in it told so."""
        return [replace(one, what=self.told(one.what, one.dataset)) for one in lines]

    def record(self, record: Record) -> Record:
        """A stored answer to be read by people, with its question told so in all places."""
        question, plan, sql = (
            self.told(text, record.dataset)
            for text in (record.question, record.plan, record.release.sql)
        )
        return replace(
            record, question=question, plan=plan, release=replace(record.release, sql=sql)
        )

    def _found(self, question: str, dataset: Dataset) -> str:
        reader = self._readers.get(dataset.name)
        if reader is None:
            schema = supposed(declared_schema(dataset, {}))
            reader = self._readers[dataset.name] = Reader(schema)
        for text in as_joins(question, dataset.lookups):
            with suppress(DiscreetError):  # one of them may be no question any more
                if reader.plan(text) == reader.plan(question):
                    return text
        return question


def as_joins(question: str, tables: Mapping[str, PublicTable]) -> Iterator[str]:
    r"""What a question with lookups in public tables may have been, the shortest first.

    >>> region = PublicTable("dept", {"a": {"area": "north"}, "b": {"area": "south"}})
    >>> stored = "SELECT LOOKUP('region', 'area', dept) AS area, COUNT(*) AS n\nFROM staff\n"
    >>> print(next(as_joins(stored + "WHERE LOOKUP('region', 'area', dept) IS NOT NULL",
    ...                     {"region": region})))
    SELECT area, COUNT(*) AS n
    FROM staff
    JOIN region USING (dept)
    """
    found = list(dict.fromkeys(_LOOKUP.findall(question)))
    if not found or any(_plain(table) not in tables for table, _, _ in found):
        return
    for qualified in (False, True):
        text, joins = question, []
        for table, key in dict.fromkeys((table, key) for table, _, key in found):
            columns = [column for t, column, k in found if (t, k) == (table, key)]
            text, inner = _named(text, (table, key), columns, qualified=qualified)
            how = "JOIN" if inner else "LEFT JOIN"
            joins.append(f"{how} {_join(_plain(table), key, tables)}")
        yield _FROM.sub(partial(_behind, joins), text)


def _behind(joins: Sequence[str], found: re.Match[str]) -> str:
    return "\n".join([found[0], *joins])


def _named(
    text: str, of: tuple[str, str], columns: Sequence[str], *, qualified: bool
) -> tuple[str, bool]:
    """The columns of one public table by their names; and whether rows without any are left out."""
    (table, key), inner = of, False
    for column in columns:
        short = name_sql(_plain(column))
        name = f"{name_sql(_plain(table))}.{short}" if qualified else short
        text = text.replace(f"LOOKUP('{table}', '{column}', {key})", name)
        text = text.replace(f"{short} AS {short}", short)
        there = rf"{re.escape(name)} IS NOT NULL"
        for pattern, instead in (
            (rf"^WHERE {there} AND ", "WHERE "),
            (rf"\nWHERE {there}$", ""),
            (rf" AND {there}(?= AND |$)", ""),
        ):
            text, times = re.subn(pattern, instead, text, flags=re.MULTILINE)
            inner = inner or times > 0
    return text, inner


def _join(table: str, key: str, tables: Mapping[str, PublicTable]) -> str:
    """Which rows of a public table belong to which of the people's."""
    name, theirs = name_sql(table), name_sql(tables[table].key)
    return f"{name} USING ({key})" if key == theirs else f"{name} ON {key} = {name}.{theirs}"


def _plain(text: str) -> str:
    """A text constant of SQL without its doubled quotes."""
    return text.replace("''", "'")

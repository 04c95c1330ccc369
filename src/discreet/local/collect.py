"""The collector: adds reports up exactly, merges, and estimates.

Guarantee. A collector holds integers only: how many reports there were, and exact counts of what
they say. Adding is adding integers, so any order and any grouping of reports and of collectors
gives the same collector, bit for bit. Memory is one vector of counts (`oracle.cells`), whatever the
number of reports.
Assumes. Nothing about the reports: they come from devices, and each is checked for a form that the
oracle could have written. Whether somebody lies or reports twice is for the transport to prevent.

The format "discreet-collector/1" is that line, a line of JSON (oracle, fingerprint, n, refused,
cells), and the counts as little-endian 64-bit integers.
Tested by tests/local/test_collect.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Exact
from discreet.local.estimates import Estimates, estimated
from discreet.local.oracle import BATCH, Array, Coded, Oracle
from discreet.local.report import FIRST, HEADER, Report

__all__ = ["Collector", "collect_parquet", "is_countable", "payload_of"]

FORMAT = b"discreet-collector/1\n"
_COUNT = np.dtype("<i8")
MOST_REPORTS = 1 << 50
"""A stored collector of more is refused."""


class Collector:
    """Exact counts of the reports of one oracle.

    >>> from discreet.local.response import KaryResponse
    >>> oracle = KaryResponse(["tea", "coffee"], 1)
    >>> collector = Collector(oracle)
    >>> collector.add(oracle.report("tea"))
    >>> collector.n
    1
    """

    def __init__(self, oracle: Any) -> None:
        self.oracle = _oracle(oracle)
        self.n = 0
        self.refused = 0
        self._tally: Array = np.zeros(self.oracle.cells, dtype=np.int64)

    def __repr__(self) -> str:
        return f"<Collector of {self.n:,} reports: {self.oracle!r}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Collector):
            return NotImplemented
        return (
            self.oracle.fingerprint == other.oracle.fingerprint
            and (self.n, self.refused) == (other.n, other.refused)
            and np.array_equal(self._tally, other._tally)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def tally(self) -> Array:
        """A copy of the exact counts."""
        return self._tally.copy()

    def add(
        self,
        reports: Report | bytes | Array | Iterable[Report | bytes],
        *,
        skip_malformed: bool = False,
    ) -> None:
        """Add one report, an iterable of them, or an array as `oracle.reports` makes it.

        What the oracle cannot have written is refused, and then nothing of this call is added; with
        `skip_malformed` it is left out instead, and counted in `refused`.
        """
        if isinstance(reports, np.ndarray):
            self._add_array(self.oracle.shaped(reports), skip=skip_malformed)
        elif isinstance(reports, Report | bytes | bytearray | memoryview):
            self._add_array(*self._read([reports], skip=skip_malformed))
        else:
            self._add_array(*self._read(_several(reports), skip=skip_malformed))

    def _read(self, reports: Iterable[Any], *, skip: bool) -> tuple[Array, bool]:
        """The payloads of single reports; the wrong ones are refused or counted."""
        payloads, wrong = [], 0
        for report in reports:
            try:
                payloads.append(payload_of(self.oracle, report))
            except (ParameterError, InputTypeError):
                if not skip:
                    raise
                wrong += 1
        array = self.oracle.array_of(b"".join(payloads))
        self.refused += wrong
        return array, skip

    def _add_array(self, reports: Array, skip: bool) -> None:  # noqa: FBT001
        """Check all of them first; then add batch by batch."""
        good = self.oracle.well_formed(reports)
        if not good.all():
            if not skip:
                self._check(reports)
            self.refused += len(reports) - int(good.sum())
            reports = reports[good]
        self._tally += self.oracle.tally(reports)
        self.n += len(reports)

    def _check(self, reports: Array) -> None:
        wrong = int(len(reports) - self.oracle.well_formed(reports).sum())
        if wrong:
            raise _malformed(wrong, len(reports))

    def merge(self, other: Collector) -> Collector:
        """A collector of the reports of both. Associative, commutative, exact."""
        given: object = other
        if not isinstance(given, Collector):
            raise InputTypeError("a collector is merged with a collector")
        if given.oracle.fingerprint != self.oracle.fingerprint:
            problem = "must collect reports of the same oracle with the same parameters"
            raise ParameterError("other", given.oracle, problem)
        merged = Collector(self.oracle)
        merged._put(self.n + given.n, self.refused + given.refused, self._tally + given.tally)
        return merged

    def _put(self, n: int, refused: int, tally: Array) -> None:
        self.n, self.refused, self._tally = n, refused, tally

    def to_bytes(self) -> bytes:
        """The collector in the format "discreet-collector/1"."""
        said = {
            "oracle": self.oracle.kind,
            "fingerprint": self.oracle.fingerprint.hex(),
            "n": self.n,
            "refused": self.refused,
            "cells": len(self._tally),
        }
        counts = self._tally.astype(_COUNT, copy=False).tobytes()
        return FORMAT + json.dumps(said).encode() + b"\n" + counts

    @classmethod
    def from_bytes(cls, data: bytes, oracle: Any) -> Collector:
        """Read a collector of this oracle; what is none of its is refused."""
        made = cls(oracle)
        try:
            head, line, counts = bytes(data).split(b"\n", 2)
            said = json.loads(line)
            found = np.frombuffer(counts, dtype=_COUNT).astype(np.int64)
            n, refused = (_number(said[name]) for name in ("n", "refused"))
            mine = (said["fingerprint"], made.oracle.kind)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ParameterError("data", None, "must be a stored collector") from error
        if head + b"\n" != FORMAT:
            raise ParameterError("data", None, f"must begin with {FORMAT.decode().strip()!r}")
        if mine != (made.oracle.fingerprint.hex(), said.get("oracle")):
            problem = "must be a collector of the same oracle with the same parameters"
            raise ParameterError("data", said.get("oracle"), problem)
        whole = len(found) == made.oracle.cells and refused >= 0
        if not whole or not made.oracle.adds_up(found, n):
            raise ParameterError("data", None, "must hold the counts of n reports of its oracle")
        made._put(n, refused, found)
        return made

    def estimate(self, confidence: Exact = 0.95) -> Estimates:
        """Shares of all values: raw, with standard errors and simultaneous intervals, projected."""
        if not self.n > 0:
            raise ParameterError("reports", self.n, "must be at least one")
        plus, minus = self.oracle.supports(self._tally)
        return estimated(self.oracle, plus, minus, self.n, confidence)

    def add_counts(self, codes: Array, counts: Array, *, skip: bool) -> None:
        """Add `counts[i]` times the report `codes[i]`, as a database counts them."""
        good = (codes >= 0) & (codes < self.oracle.outcomes)
        wrong = int(counts[~good].sum())
        if wrong and not skip:
            raise _malformed(wrong, int(counts.sum()))
        np.add.at(self._tally, codes[good].astype(np.int64), counts[good])
        self.n += int(counts[good].sum())
        self.refused += wrong

    def add_payloads(
        self, payloads: Sequence[bytes | None], counts: Array | None = None, *, skip: bool
    ) -> None:
        """Add payloads as a database gives them; None stands for what was none.

        With `counts`, for oracles of which each different report is counted, `counts[i]` times
        `payloads[i]`.
        """
        there = [payload for payload in payloads if payload is not None]
        array = self.oracle.array_of(b"".join(there))
        if counts is None:
            wrong, total = len(payloads) - len(there), len(payloads)
        else:
            kept = np.array([payload is not None for payload in payloads], dtype=bool)
            wrong, total = int(counts[~kept].sum()), int(counts.sum())
            counts = counts[kept]
        if wrong and not skip:
            raise _malformed(wrong, total)
        self.refused += wrong
        if counts is None:
            self._add_array(array, skip)
        else:
            self.add_counts(array.astype(np.int64), counts, skip=skip)


def payload_of(oracle: Oracle, report: Report | bytes) -> bytes:
    """The payload of a report of this oracle; any other report is refused.

    Whether the oracle could have written this very payload is for `oracle.well_formed` to say.
    """
    read = report if isinstance(report, Report) else Report.from_bytes(report)
    if (read.number, read.fingerprint) != (oracle.number, oracle.fingerprint):
        raise ParameterError(
            "report", None, f"must be one of {type(oracle).__name__} with these parameters"
        )
    if len(read.payload) != oracle.width:
        problem = f"must have a payload of {oracle.width} bytes"
        raise ParameterError("report", f"{len(read.payload)} bytes", problem)
    return read.payload


def _number(value: object) -> int:
    """A stored number of reports; few enough that thousands of collectors can be merged."""
    if type(value) is not int or not -MOST_REPORTS <= value <= MOST_REPORTS:
        raise ValueError("no number of reports")
    return value


def _malformed(wrong: int, of: int) -> ParameterError:
    problem = "must be ones that the oracle can write (skip_malformed=True leaves such out)"
    return ParameterError("reports", f"{wrong:,} malformed of {of:,}", problem)


def _several(reports: Any) -> Iterable[Any]:
    if isinstance(reports, str) or not isinstance(reports, Iterable):
        raise InputTypeError("a report is a Report, bytes or an array; nothing was collected")
    return reports


def _oracle(given: Any) -> Oracle:
    found = getattr(given, "oracle", given)
    if not isinstance(found, Oracle):
        raise InputTypeError("a collector needs an oracle, such as dp.local.Frequency(domain, 1)")
    return found


def collect_parquet(
    oracle: Any,
    path: str | Path,
    *,
    column: str = "report",
    skip_malformed: bool = False,
) -> Collector:
    """Collect all reports of one column of Parquet files, read by DuckDB in bounded memory.

    The column holds integers (the codes that `oracle.reports` makes) or blobs (whole reports in
    the format "discreet-report/1", or payloads alone). Reports of an oracle that writes one integer
    are counted by one statement inside the database; bitmaps come in batches and are counted here.
    """
    import duckdb  # noqa: PLC0415

    collector = Collector(oracle)
    name = '"' + column.replace('"', '""') + '"'
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET enable_progress_bar = false")
        described = connection.execute(
            f"SELECT column_type FROM (DESCRIBE SELECT {name} FROM read_parquet(?))",  # noqa: S608
            [str(path)],
        ).fetchone()
        kind = str(described[0]) if described else ""
        if kind == "BLOB":
            cursor = connection.execute(_blobs(collector.oracle, name), [str(path)])
            while rows := cursor.fetchmany(BATCH):
                counts = np.array([row[1] for row in rows]) if len(rows[0]) > 1 else None
                collector.add_payloads([row[0] for row in rows], counts, skip=skip_malformed)
        elif is_countable(collector.oracle) and kind.endswith(_INTEGERS):
            statement = _codes(collector.oracle, name)
            found = connection.execute(statement, [str(path)]).fetchnumpy()
            codes, counts = (np.asarray(found[key], dtype=np.int64) for key in ("code", "count"))
            collector.add_counts(codes, counts, skip=skip_malformed)
        else:
            problem = "must hold blobs, or the integers of an oracle that writes integers"
            raise ParameterError("column", f"{column}: {kind}", problem)
    return collector


_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")


def is_countable(oracle: Oracle) -> bool:
    """Whether the collector keeps one count for every different report."""
    return isinstance(oracle, Coded) and oracle.cells == oracle.codes


def _codes(oracle: Oracle, name: str) -> str:
    """How often each integer occurs; -1 stands for all that are no codes."""
    last = oracle.outcomes - 1
    fits = f"CASE WHEN {name} BETWEEN 0 AND {last} THEN {name} ELSE -1 END"
    return (
        f"SELECT CAST({fits} AS BIGINT) AS code, count(*) AS count "  # noqa: S608
        "FROM read_parquet(?) GROUP BY 1"
    )


def _blobs(oracle: Oracle, name: str) -> str:
    """Payloads, with their counts where those are kept; NULL stands for what is no report."""
    head = bytes((FIRST, oracle.number)) + oracle.fingerprint
    literal = "".join(f"\\x{byte:02X}" for byte in head)
    payload = (
        f"CASE WHEN octet_length({name}) = {oracle.width} THEN {name} "
        f"WHEN octet_length({name}) = {HEADER + oracle.width} "
        f"AND {name}[:{HEADER}] = '{literal}'::BLOB THEN {name}[{HEADER + 1}:] END"
    )
    if is_countable(oracle):
        return f"SELECT {payload}, count(*) FROM read_parquet(?) GROUP BY 1"  # noqa: S608
    return f"SELECT {payload} FROM read_parquet(?)"  # noqa: S608

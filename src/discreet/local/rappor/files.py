"""Reports and counts, and the files that hold them.

A reports file has the header client,cohort,bloom,prr,irr and one row for each report; bits are
written as 0 and 1, bit k-1 first. Only the client, the cohort and the irr leave a client: bloom and
prr are private, and stand empty unless a simulation asks for them.

A counts file has one row for each cohort and no header: the number of reports, then for each bit,
from bit 0 on, how many reports had a 1. Counts are sums of integers, so adding them up in any order
and in any parts gives the same.
Tested by tests/local/rappor/test_files.py
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.local.rappor.params import Params

__all__ = [
    "Counts",
    "Report",
    "counted",
    "counted_bits",
    "read_reports",
    "write_reports",
    "written_bits",
]

_HEADER = ["client", "cohort", "bloom", "prr", "irr"]
_MOST = 1 << 53
"""Counts are decoded in doubles; beyond 2^53 these would not hold them."""


class Report(NamedTuple):
    """One row of a reports file. `bloom` and `prr` are None unless they were simulated."""

    client: str
    cohort: int
    irr: int
    bloom: int | None = None
    prr: int | None = None


@dataclass(frozen=True, eq=False)
class Counts:
    """How many reports each cohort sent, and how many of them had a 1 at each bit.

    Attributes:
        totals: reports in each of the m cohorts.
        ones: an array of m cohorts and k bits.
    """

    totals: NDArray[np.int64]
    ones: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.totals.ndim != 1 or self.ones.ndim != 2 or len(self.ones) != len(self.totals):
            raise ParameterError("counts", None, "must have one row of bits for each cohort")
        if self.totals.dtype.kind not in "iu" or self.ones.dtype.kind not in "iu":
            raise ParameterError("counts", None, "must be whole numbers")
        if not (self.ones >= 0).all() or not (self.ones <= self.totals[:, None]).all():
            problem = "must have no more ones than reports in each cohort, and none below 0"
            raise ParameterError("counts", None, problem)

    @classmethod
    def empty(cls, params: Params) -> Counts:
        """No reports yet."""
        return cls(np.zeros(params.m, np.int64), np.zeros((params.m, params.k), np.int64))

    @classmethod
    def of(cls, cohorts: Sequence[int], reports: Sequence[int], params: Params) -> Counts:
        """Count reports, given as integers, with their cohorts."""
        found = cls.empty(params)
        for cohort, report in zip(cohorts, reports, strict=True):
            place = whole(cohort, name="cohort", at_least=0, at_most=params.m - 1)
            bits = whole(report, name="a report", at_least=0, at_most=(1 << params.k) - 1)
            found.totals[place] += 1
            for bit in range(params.k):
                found.ones[place, bit] += bits >> bit & 1
        return found

    def __add__(self, other: Counts) -> Counts:
        if self.ones.shape != other.ones.shape:
            raise ParameterError("counts", None, "must have the same cohorts and bits to be added")
        return Counts(self.totals + other.totals, self.ones + other.ones)

    def check(self, params: Params) -> None:
        """Refuse counts of other parameters."""
        if self.ones.shape != (params.m, params.k):
            problem = f"must have {params.m} cohorts of {params.k} bits, as the parameters say"
            raise ParameterError("counts", None, problem)

    @classmethod
    def read(cls, path: str | Path, params: Params) -> Counts:
        """Read a counts file."""
        rows = [row for row in csv.reader(io.StringIO(_text(path, "the counts file"))) if row]
        if len(rows) != params.m or any(len(row) != params.k + 1 for row in rows):
            problem = f"must have {params.m} rows of {params.k + 1} numbers, as the parameters say"
            raise ParameterError("the counts file", None, problem)
        table = np.array(
            [[_count(text, number) for text in row] for number, row in enumerate(rows, start=1)]
        )
        return cls(table[:, 0], table[:, 1:])

    def write(self, path: str | Path) -> None:
        """Write a counts file."""
        rows = np.column_stack((self.totals, self.ones)).tolist()
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        Path(path).write_text(text, encoding="utf-8")


def _count(text: str, row: int) -> int:
    name = f"a number in row {row} of the counts file"
    return whole(text, name=name, at_least=0, at_most=_MOST)


def _text(path: str | Path, name: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(name, str(path), "is no UTF-8 text") from None


def written_bits(bits: int, k: int) -> str:
    """The k bits of an integer, bit k-1 first.

    >>> written_bits(5, 4)
    '0101'
    """
    return format(bits, f"0{k}b")


def write_reports(file: TextIO, reports: Iterable[Report], params: Params) -> None:
    """Write a reports file."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_HEADER)
    for one in reports:
        bits = ["" if x is None else written_bits(x, params.k) for x in (one.bloom, one.prr)]
        writer.writerow([one.client, one.cohort, *bits, written_bits(one.irr, params.k)])


def read_reports(file: TextIO, params: Params) -> Iterator[Report]:
    """Read a reports file, row by row; what cannot be read is named by its row alone."""
    rows = csv.reader(file)
    header: list[str] = next(rows, [])
    if header != _HEADER:
        raise ParameterError("the reports file", None, f"must begin with {','.join(_HEADER)}")
    for number, row in enumerate(rows, start=2):
        name = f"row {number} of the reports file"
        if len(row) != len(_HEADER):
            raise ParameterError(name, None, f"must have {len(_HEADER)} fields")
        cohort = _plain(row[1], f"the cohort in {name}", params.m - 1)
        bloom, prr, irr = (_bits(text, name, params.k) for text in row[2:])
        if irr is None:
            raise ParameterError(name, None, "must have an irr")
        yield Report(row[0], cohort, irr, bloom, prr)


def _plain(text: str, name: str, most: int) -> int:
    if not text.isdecimal() or len(text) > 9 or not int(text) <= most:
        raise ParameterError(name, None, f"must be a whole number from 0 to {most}")
    return int(text)


def _bits(text: str, name: str, k: int) -> int | None:
    if not text:
        return None
    if len(text) != k or set(text) - {"0", "1"}:
        raise ParameterError(name, None, f"must have {k} bits, each 0 or 1")
    return int(text, 2)


def counted(reports: Iterable[Report], params: Params) -> Counts:
    """Count the reports of a file, a block at a time."""
    total, cohorts, bits = Counts.empty(params), [], []
    for one in reports:
        cohorts.append(one.cohort)
        bits.append(one.irr)
        if len(bits) == 1 << 16:
            total += _counted(cohorts, bits, params)
            cohorts, bits = [], []
    return total + _counted(cohorts, bits, params)


def _counted(cohorts: list[int], reports: list[int], params: Params) -> Counts:
    size = (params.k + 7) // 8
    packed = b"".join(report.to_bytes(size, "little") for report in reports)
    raw: NDArray[Any] = np.frombuffer(packed, np.uint8).reshape(len(reports), size)
    bits = np.unpackbits(raw, axis=1, count=params.k, bitorder="little")
    return counted_bits(np.array(cohorts, np.int64), bits, params)


def counted_bits(cohorts: NDArray[Any], bits: NDArray[Any], params: Params) -> Counts:
    """Count reports that are rows of bits."""
    totals = np.bincount(cohorts, minlength=params.m)
    ones = np.empty((params.m, params.k), np.int64)
    for bit in range(params.k):
        ones[:, bit] = np.bincount(cohorts[bits[:, bit].astype(bool)], minlength=params.m)
    return Counts(totals.astype(np.int64), ones)

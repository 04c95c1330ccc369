"""One person's report as it travels: a few bytes that say which oracle wrote them.

The format "discreet-report/1", byte by byte:

    0        0xD1: a discreet report, version 1
    1        the number of the oracle (`Oracle.number`)
    2 .. 9   the fingerprint of its parameters: the first 8 bytes of the SHA-256 of the canonical
             JSON text of format, oracle, domain, epsilon and every further parameter
    10 ..    the payload, whose length the oracle's parameters determine

The payload is an unsigned little-endian integer of 1, 2, 4 or 8 bytes (k-ary response, local
hashing, Hadamard and projective response, HCMS), or a bitmap of the domain, value j at bit
j mod 8 of byte j div 8, unused bits 0 (unary encodings, subset selection; CMS puts two bytes with
the number of its row before a bitmap of its row). A reader refuses what it does not know, and
never guesses.

The header is the same for everybody who answers the same question, so all that a report tells
about its person is the payload.
Tested by tests/local/test_report.py
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import InputTypeError, ParameterError
from discreet.local.device import FIRST, FORMAT

__all__ = ["FIRST", "FORMAT", "HEADER", "Report"]

_FINGERPRINT = 8
HEADER = 2 + _FINGERPRINT
"""Bytes before the payload."""


@dataclass(frozen=True, slots=True)
class Report:
    """A randomised report: the oracle's number, its fingerprint, and the payload.

    >>> report = Report(1, bytes(8), b"x")
    >>> Report.from_bytes(report.to_bytes()) == report
    True
    """

    number: int
    fingerprint: bytes
    payload: bytes

    def to_bytes(self) -> bytes:
        """The report in the format "discreet-report/1"."""
        return bytes((FIRST, self.number)) + self.fingerprint + self.payload

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        """Read a report; what is none is refused."""
        given: object = data
        if not isinstance(given, bytes | bytearray | memoryview):
            raise InputTypeError("a report is read from bytes; nothing was collected")
        plain = bytes(given)
        if len(plain) <= HEADER or plain[0] != FIRST:
            problem = f"must start with 0x{FIRST:X} and be longer than {HEADER} bytes ({FORMAT})"
            raise ParameterError("report", f"{len(plain)} bytes", problem)
        return cls(plain[1], plain[2:HEADER], plain[HEADER:])

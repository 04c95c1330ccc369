"""Tickets: names of devices that only the owner of a survey can have given out.

A ticket of a device is the first 16 bytes, in hexadecimal, of HMAC-SHA256 under the survey's ticket
key of the format, the survey's identity and the device's name.

Guarantee. Who does not know the key, and has seen the tickets of any number of devices, has a
ticket for another name, or for another survey, with a chance of 2^-128 a try. Assumes. HMAC-SHA256
cannot be told from a random function. A ticket is compared in a time that does not depend on
where it is wrong. Since a device counts once in each epoch, n tickets are at most n reports an
epoch.

What it does not solve. Who is handed several tickets reports several times: whoever hands them out
has to know people apart. A ticket that is passed on, sold or stolen is as good as the first. The
issuer can write down who got which name, so a device is not anonymous towards the issuer and the
collector; what it reports is private by itself, all the same. Whoever keeps the collector has the
key and can make tickets. And nobody who has a ticket is kept from lying.
Tested by tests/local/test_tickets.py
"""

from __future__ import annotations

import hashlib
import hmac

from discreet.exact import whole
from discreet.noise.source import new_key

__all__ = ["DIGITS", "Tickets"]

_FORMAT = "discreet-ticket/1"
DIGITS = 32
"""Hexadecimal digits of a ticket."""
_NAME = 32
_MOST = 1_000_000


class Tickets:
    """Who may report in one survey. Made by `Store.tickets`.

    Args:
        key: of at least 16 bytes, which nobody can guess.
        survey: the identity of the survey.

    >>> tickets = Tickets(bytes(32), "0123456789abcdef")
    >>> tickets.holds("device-of-somebody", tickets.of("device-of-somebody"))
    True
    >>> tickets.holds("another-device-00", tickets.of("device-of-somebody"))
    False
    """

    __slots__ = ("_key", "_survey")

    def __init__(self, key: bytes, survey: str) -> None:
        self._key, self._survey = key, survey

    def of(self, device: str) -> str:
        """The ticket of a device."""
        message = f"{_FORMAT}|{self._survey}|".encode() + device.encode()
        return hmac.digest(self._key, message, hashlib.sha256).hex()[:DIGITS]

    def holds(self, device: str, ticket: str) -> bool:
        """Whether this is the ticket of this device."""
        return hmac.compare_digest(self.of(device).encode(), ticket.encode())

    def issue(self, count: int) -> list[tuple[str, str]]:
        """New devices with their tickets; the names are random."""
        number = whole(count, name="count", at_least=1, at_most=_MOST)
        names = [new_key().hex()[:_NAME] for _ in range(number)]
        return [(name, self.of(name)) for name in names]

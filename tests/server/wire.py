"""Requests byte by byte, as no client library would send them."""

import socket
from contextlib import closing, suppress
from dataclasses import dataclass

from tests.server.running import Answer

HEADERS = {
    "content-security-policy", "x-content-type-options", "referrer-policy",
    "cross-origin-opener-policy", "cross-origin-resource-policy", "permissions-policy",
    "x-frame-options", "cache-control",
}  # fmt: skip
"""What every answer has."""


@dataclass
class Wire:
    """One connection to a server."""

    made: socket.socket

    def say(self, data):
        self.made.sendall(data)

    def hear(self):
        """One answer; None if the connection ends without one."""
        text = b""
        while b"\r\n\r\n" not in text:
            more = self._more()
            if not more:
                return None
            text += more
        head, _, body = text.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in lines)
        headers = {name.lower(): value for name, _, value in pairs}
        length = int(headers.get("content-length", -1))
        while length < 0 or len(body) < length:
            more = self._more()
            if not more:
                break
            body += more
        return Answer(int(first.split()[1]), headers, body)

    def _more(self):
        try:
            return self.made.recv(65536)
        except ConnectionResetError:
            return b""

    def ended(self):
        """Whether the server has closed it, or does so in time."""
        try:
            return self.made.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False


def connected(server, *, source="127.0.0.1", timeout=20):
    """A connection, from one of this machine's many addresses."""
    made = socket.create_connection(("127.0.0.1", server.port), timeout, (source, 0))
    return closing_wire(Wire(made))


class closing_wire(closing):
    def __exit__(self, *_):
        self.thing.made.close()


def sent(server, data, **more):
    """What a server answers to these bytes."""
    with connected(server, **more) as wire:
        with suppress(BrokenPipeError, ConnectionResetError):  # it had heard enough
            wire.say(data)
        return wire.hear()


def head(server, line="GET /health/live HTTP/1.1", *more, host=None):
    """The bytes of a request without a body."""
    named = f"Host: {host or f'127.0.0.1:{server.port}'}"
    return "\r\n".join((line, named, *more, "", "")).encode("latin-1")

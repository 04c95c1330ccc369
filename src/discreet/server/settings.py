"""How a server behaves, as far as it is not the policy's: its limits, and what tests turn off.

Tested by tests/server/test_settings.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from ipaddress import ip_address
from pathlib import Path

from discreet.curator.policy.model import Server
from discreet.errors import ParameterError

__all__ = ["LONGEST_BODY", "Settings", "is_loopback"]

LONGEST_BODY = 64 * 1024
"""Bytes that a request may have."""
_ENDING = "nothing is served"
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server is told when it starts.

    Attributes:
        server: what the policy says of it.
        secret: the file of the secret; beside the ledger's head file if nothing is said.
        padded: whether answers wait for their deadline and have a public length. Off only where
            time is measured: then an asker sees how long a question took.
        behind_proxy: whether TLS ends at a proxy in front.
        login_per_minute: tries to sign in, for one name and for one address.
        slowest_body: seconds in which a request has to be there.
        longest_wait: seconds that a question may wait until one of the workers is free.
        processes: how many processes serve together; each has a part of the workers.
    """

    server: Server
    secret: Path | None = None
    padded: bool = True
    behind_proxy: bool = False
    login_per_minute: int = 5
    slowest_body: float = 10.0
    longest_wait: float = 30.0
    processes: int = 1

    def checked(self) -> Settings:
        """Refuse to talk in clear to another machine, and processes with one worker each.

        One person's questions leave a worker to others, in each process: with one worker in each,
        who has as many keys could keep all of them busy.
        """
        server = self.server
        if self.processes > max(server.workers // 2, 1):
            problem = f"must be at most half the policy's workers, {server.workers}: each needs two"
            raise ParameterError("processes", self.processes, problem, _ENDING)
        if not is_loopback(server.host) and server.certificate is None and not self.behind_proxy:
            raise ParameterError(
                "host", server.host,
                "is not this machine, and without TLS keys and answers would travel in clear; say "
                "--certificate and --private-key, or --behind-proxy if TLS ends at a proxy",
                _ENDING,
            )  # fmt: skip
        return self

    def part(self, whole: int) -> int:
        """The part of a limit that one of the processes has; 1 at least."""
        return max(whole // self.processes, 1)

    @property
    def workers(self) -> int:
        """How many questions run at once in one process."""
        return self.part(self.server.workers)

    @property
    def names(self) -> frozenset[str]:
        """By which names it may be called; empty for any."""
        if self.server.names:
            return frozenset(name.lower() for name in self.server.names)
        host = self.server.host.strip("[]").lower()
        own = f"[{host}]" if ":" in host else host
        return frozenset((*_LOCAL, own)) if is_loopback(host) else frozenset()

    @property
    def secure(self) -> bool:
        """Whether browsers reach it by https."""
        return self.server.certificate is not None or self.behind_proxy

    def deadline(self, asked: Fraction | None) -> Fraction:
        """The class of a question: the shortest, unless another one is asked for."""
        known = self.server.deadlines
        if asked is None:
            return known[0]
        if asked not in known:
            listed = ", ".join(f"{float(one):g}" for one in known)
            raise ParameterError("deadline", f"{float(asked):g}", f"must be one of {listed}")
        return asked

    def at(self, host: str | None, port: int | None) -> Settings:
        """With another address."""
        server = replace(
            self.server,
            host=self.server.host if host is None else host,
            port=self.server.port if port is None else port,
        )
        return replace(self, server=server)


def is_loopback(host: str) -> bool:
    """Whether nobody from outside can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False

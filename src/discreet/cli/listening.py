"""Where a server listens: the options of all commands that serve.

Tested by tests/cli/test_listening.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import ParameterError
from discreet.exact import whole

if TYPE_CHECKING:
    from discreet.curator.policy.model import Server
    from discreet.server.settings import Settings

__all__ = ["Listening"]


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a server listens, and how that is secured."""

    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Where to listen; 127.0.0.1.")
    ] = None
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", help="At which port; 0 takes a free one.")
    ] = None
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="FILE", help="For TLS, in PEM.")
    ] = None
    private_key: Annotated[
        Path | None, typer.Option("--private-key", metavar="FILE", help="Its key, in PEM.")
    ] = None
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="TLS ends at a proxy in front of this server.")
    ] = False

    def check(self) -> None:
        """ParameterError for what no policy could make right."""
        if self.port is not None:
            whole(self.port, name="--port", at_least=0, at_most=65_535)
        if (self.certificate is None) != (self.private_key is None):
            raise ParameterError("--certificate", None, "goes with --private-key")

    def settings(self, server: Server) -> Settings:
        """The settings of a server, with what was said here."""
        from discreet.server.settings import Settings as Made  # noqa: PLC0415

        self.check()
        if self.certificate is not None:
            server = replace(server, certificate=self.certificate, private_key=self.private_key)
        return Made(server, behind_proxy=self.behind_proxy).at(self.host, self.port).checked()

"""What pages load: styles, modules and the chart library, from this package alone.

A file is served under a name with its hash, for good; it is read once, and what is not in the
folder has no name. Modules are written as several files that import each other, and leave as one,
so that a page costs one request: `joined` puts a module's imports before it and takes the words
`import` and `export` away. Names at the top of modules are therefore different in all of them.

The chart library is made by the installed package, in a process of its own, since that takes
seconds in which no other thread would run; until it is there, pages do without charts.
Only what is public and fixed is compressed, never an answer.
Tested by tests/server/page/test_assets.py
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

from fastapi import APIRouter, Request, Response

from discreet.server.problems import Problem

__all__ = ["VEGA", "address", "asset", "joined", "prepare", "routes"]

FOLDER = Path(__file__).parent / "static"
FOREVER = "public, max-age=31536000, immutable"
_TYPES = {
    ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
}  # fmt: skip
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z_]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class) )", re.MULTILINE)
_MAKE = (
    "import sys, vl_convert\n"
    "sys.stdout.buffer.write(vl_convert.javascript_bundle('export { vegaEmbed };').encode())"
)
_LONGEST = 120.0
"""Seconds in which the chart library has to be made."""
_LONGEST_WAIT = 30.0
"""Seconds that a request waits for it."""
_PAUSE = 60.0
"""Seconds after which making it is tried again."""

routes = APIRouter(tags=["page"], include_in_schema=False)


@dataclass(frozen=True)
class Asset:
    """A file as it is served."""

    name: str
    body: bytes
    hash: str = field(init=False)
    packed: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", hashlib.sha256(self.body).hexdigest()[:16])
        object.__setattr__(self, "packed", gzip.compress(self.body, 6, mtime=0))

    @property
    def served_as(self) -> str:
        """Its name with its hash in it."""
        path = Path(self.name)
        return f"{path.stem}.{self.hash}{path.suffix}"


def joined(name: str) -> str:
    """A module with all that it imports, each once, as one text."""
    done: list[str] = []
    texts: list[str] = []

    def take(one: str) -> None:
        if one in done:
            return
        done.append(one)
        text = (FOLDER / one).read_text(encoding="utf-8")
        for imported in _IMPORT.findall(text):
            take(imported)
        texts.append(_EXPORT.sub("", _IMPORT.sub("", text)))

    take(name)
    return "\n".join(texts)


@cache
def asset(name: str) -> Asset:
    """A file of the folder; a module with what it imports."""
    path = FOLDER / name
    text = joined(name) if path.suffix == ".js" else path.read_text(encoding="utf-8")
    return Asset(name, text.encode())


def address(name: str) -> str:
    """Where a page finds a file."""
    return f"/static/{asset(name).served_as}"


@cache
def _served() -> dict[str, Asset]:
    files = [asset(path.name) for path in sorted(FOLDER.iterdir()) if path.suffix in _TYPES]
    return {one.served_as: one for one in files}


class _Vega:
    """The chart library: made once, when the first page is shown."""

    name = "vega.js"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: Asset | None = None
        self._making: threading.Thread | None = None
        self._again = 0.0

    @property
    def address(self) -> str:
        """Where it is; another version of it is somewhere else."""
        which = hashlib.sha256(f"{version('vl-convert-python')} {_MAKE}".encode()).hexdigest()
        return f"/static/{self.name}?{which[:16]}"

    def prepare(self) -> None:
        """Begin to make it, unless it is there, being made, or failed a moment ago."""
        with self._lock:
            busy = self._making is not None and self._making.is_alive()
            if self._made is None and not busy and time.monotonic() >= self._again:
                self._again = time.monotonic() + _PAUSE
                self._making = threading.Thread(target=self._make, daemon=True)
                self._making.start()

    async def get(self) -> Asset:
        """It, when it is there; Problem where it cannot be made in time. No thread waits for it."""
        self.prepare()
        until = time.monotonic() + _LONGEST_WAIT
        while self._made is None and self._making is not None and self._making.is_alive():
            if time.monotonic() > until:
                break
            await asyncio.sleep(0.05)
        if self._made is None:
            raise Problem("unavailable", "there are no charts now", fix="The tables say the same.")
        return self._made

    def _make(self) -> None:
        command = [sys.executable, "-I", "-c", _MAKE]
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(  # noqa: S603 - this interpreter, a fixed text
                command, capture_output=True, check=True, timeout=_LONGEST
            )
            self._made = Asset(self.name, done.stdout)


VEGA = _Vega()
prepare = VEGA.prepare


@routes.get("/static/{name}")
async def static(name: str, request: Request) -> Response:
    """One file, by its name with its hash; the chart library."""
    found = await VEGA.get() if name == VEGA.name else _served().get(name)
    if found is None:
        raise Problem("not_found", "there is nothing here")
    etag = f'"{found.hash}"'
    headers = {"Cache-Control": FOREVER, "ETag": etag, "Vary": "Accept-Encoding"}
    if etag in request.headers.get("if-none-match", "").replace("W/", "").split(", "):
        return Response(None, 304, headers=headers)
    body = found.body
    if "gzip" in request.headers.get("accept-encoding", ""):
        body, headers["Content-Encoding"] = found.packed, "gzip"
    return Response(body, media_type=_TYPES[Path(found.name).suffix], headers=headers)

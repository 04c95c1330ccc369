"""The one secret of a server, and the keyed hashes that are made under it.

It is 32 bytes or more, in the environment (DISCREET_SECRET, as hexadecimal digits or base64) or in
a file that nobody but its owner can read. Each use has a key of its own, derived from it, so that
no hash made for one use serves another. Without the secret the ledger's database tells nothing
that opens anything: no key, no session, and no password to be guessed at leisure.

No text that this module makes, of an error or otherwise, quotes the secret.
Tested by tests/curator/access/test_secret.py
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import stat
from pathlib import Path
from typing import Literal

from discreet.errors import ParameterError
from discreet.noise.source import new_key

__all__ = ["VARIABLE", "Pepper", "read_secret", "secret_path"]

VARIABLE = "DISCREET_SECRET"
LEAST = 32
_MOST = 4096
Use = Literal["check", "csrf", "key", "password", "seal", "session"]


class Pepper:
    """Keyed hashes, one kind for each use.

    Args:
        secret: at least 32 bytes.
    """

    __slots__ = ("_keys",)

    def __init__(self, secret: bytes) -> None:
        given: object = secret
        if not isinstance(given, bytes) or len(given) < LEAST:
            raise ParameterError("secret", None, f"must be {LEAST} bytes or more, of read_secret")
        uses: tuple[Use, ...] = ("check", "csrf", "key", "password", "seal", "session")
        self._keys = {use: _mac(secret, f"discreet {use} 1") for use in uses}

    def __repr__(self) -> str:
        return "<Pepper>"

    def mac(self, use: Use, text: str) -> str:
        """The keyed hash of a text, as 64 hexadecimal digits."""
        return _mac(self._keys[use], text).hex()


def _mac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode("utf-8", errors="surrogatepass"), "sha256")


def secret_path(head: Path) -> Path:
    """Where the secret of a ledger lies: beside its head file."""
    return head.with_suffix(".secret")


def read_secret(path: str | Path | None, *, make: bool) -> bytes:
    """The secret: from the environment, else from a file.

    Args:
        path: the file; None where there is none.
        make: whether to make one where there is none.
    """
    said = os.environ.get(VARIABLE)
    if said is not None:
        return _read(said, VARIABLE)
    if path is None:
        raise _wrong(f"must be in {VARIABLE}, or in a file")
    place = Path(path)
    try:
        return _from_file(place)
    except FileNotFoundError:
        if not make:
            raise _wrong(
                f"is missing: there is no {place}. Bring the file along, or say {VARIABLE}; "
                "the first `discreet people add` makes it"
            ) from None
    _make(place)
    return _from_file(place)


def _from_file(path: Path) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _wrong(f"cannot be read from {path} ({error.strerror})") from None
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise _wrong(f"must be in a plain file, and {path} is none")
        if about.st_uid != os.geteuid():
            raise _wrong(f"must be in a file of your own, and {path} belongs to somebody else")
        if stat.S_IMODE(about.st_mode) & 0o077:
            mode = stat.S_IMODE(about.st_mode)
            raise _wrong(f"can be read by others in {path} (mode {mode:04o}): `chmod 600 {path}`")
        raw = os.read(file, _MOST + 1)
    finally:
        os.close(file)
    return _read(raw.decode("ascii", errors="replace"), str(path))


def _read(text: str, where: str) -> bytes:
    """Hexadecimal digits, or base64 of either alphabet."""
    plain = "".join(text.split())
    found = b""
    if len(plain) <= _MOST:
        try:
            found = bytes.fromhex(plain)
        except ValueError:
            padded = plain.rstrip("=").replace("-", "+").replace("_", "/")
            padded += "=" * (-len(padded) % 4)
            try:
                found = base64.b64decode(padded, validate=True)
            except (binascii.Error, ValueError):
                found = b""
    if len(found) < LEAST:
        text = f"in {where} must be {LEAST} bytes or more, as hexadecimal digits or base64"
        raise _wrong(text) from None
    return found


def _make(path: Path) -> None:
    """A new file with a new secret; who comes second keeps the first one's."""
    new = path.with_name(f"{path.name}.{new_key()[:8].hex()}")
    try:
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _wrong(f"cannot be written to {path} ({error.strerror})") from None
    try:
        try:
            os.write(file, f"{new_key().hex()}\n".encode())
            os.fsync(file)
        finally:
            os.close(file)
        os.link(new, path)
    except FileExistsError:
        pass
    finally:
        new.unlink()


def _wrong(problem: str) -> ParameterError:
    return ParameterError("the secret", None, problem)

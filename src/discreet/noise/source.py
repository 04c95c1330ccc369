"""Supplies of random bits: the system's, one under a key of its own, and a replayed one for tests.

`SystemSource` serves few bits from a small buffer of operating-system randomness, and many bits
from an AES-256 counter stream under a fresh key that is used for that one request and dropped.
So the only state that outlives a call is unused system randomness, and a guessed or stolen key
concerns one vector of noise.

`KeyedSource` serves the same bits again under the same key: a question that was interrupted goes on
with the noise that it had. No generator here can be seeded otherwise. Tests hand in a
`ReplayedSource`, which raises when it runs out.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from struct import Struct
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, SourceExhaustedError
from discreet.noise import coins

__all__ = ["KeyedSource", "ReplayedSource", "Source", "SystemSource", "new_key", "system_source"]

Width = Literal[16, 32, 64]
_DTYPES: dict[int, Any] = {16: np.uint16, 32: np.uint32, 64: np.uint64}


class Source(ABC):
    """Independent fair bits, and the exact coins made from them.

    Contract. `bits(k)` returns an integer uniform on 0 .. 2^k - 1, and `array(n, width)` n of
    them, independent of everything returned before. `below`, `flip` and `flip_exp` have exactly
    the laws that `discreet.noise.coins` proves. A subclass for proofs may override them to
    enumerate outcomes instead of drawing them.
    """

    @abstractmethod
    def bits(self, count: int) -> int:
        """An integer uniform on 0 .. 2^count - 1."""

    @abstractmethod
    def array(self, size: int, width: Width) -> NDArray[Any]:
        """`size` independent integers, each uniform on 0 .. 2^width - 1, as unsigned numpy."""

    def below(self, n: int) -> int:
        """An integer uniform on 0 .. n - 1."""
        return coins.below(n, self)

    def flip(self, p: Fraction) -> bool:
        """True with probability exactly p."""
        return coins.bernoulli(p, self)

    def flip_exp(self, x: Fraction) -> bool:
        """True with probability exactly exp(-x), for x >= 0."""
        return coins.bernoulli_exp(x, self)


class SystemSource(Source):
    """Random bits from the operating system.

    Guarantee. Bits are taken from os.urandom, directly (up to 8 KiB a request) or through
    AES-256-CTR under a key from os.urandom made for that request; both are assumed to be
    indistinguishable from uniform bits, and nothing else is assumed. No bit is served twice: one
    object belongs to one thread (`system_source` sees to that), and a forked child drops the
    parent's buffer, found by a hook at fork and, where fork bypassed Python, by the process id.
    Not promised: a virtual machine that is copied while running copies the buffer too (at most
    2 KiB of it).
    Tested by tests/noise/test_source.py
    """

    _BUFFER = 2048
    _DIRECT = 8192

    def __init__(self) -> None:
        self._words: list[int] = []
        self._process = os.getpid()

    def word(self) -> int:
        """64 random bits, from the buffer."""
        if self._process != os.getpid():
            self.drop()
        words = self._words
        if not words:
            words.extend(np.frombuffer(os.urandom(self._BUFFER), dtype=np.uint64).tolist())
        return words.pop()

    def drop(self) -> None:
        """Forget the buffer, so that what it held is never served."""
        self._words = []
        self._process = os.getpid()

    def bits(self, count: int) -> int:
        """An integer uniform on 0 .. 2^count - 1."""
        if count <= 64:
            return self.word() >> (64 - count)
        return int.from_bytes(os.urandom((count + 7) // 8), "little") >> (-count % 8)

    def array(self, size: int, width: Width) -> NDArray[Any]:
        """`size` independent integers of `width` bits; a large request gets a key of its own."""
        length = size * width // 8
        if length <= self._DIRECT:
            return np.frombuffer(os.urandom(length), dtype=_DTYPES[width])
        return np.frombuffer(_stream(length), dtype=_DTYPES[width])[:size]


class KeyedSource(Source):
    """The bits of one AES-256 counter stream: the same again under the same key.

    Guarantee. Under a key from `new_key`, used for one question only and known to nobody, the bits
    are indistinguishable from uniform ones, by the same assumption as for `SystemSource`. No bit is
    served twice: words of 64 bits are cut off the stream some at a time, and what is read of a word
    is its upper bits, once. The calls determine the bits: who makes the same calls, with the same
    version of this file, gets the same bits.
    Assumes. Whoever keeps the key erases it when the question is answered: it tells the noise.
    Tested by tests/noise/test_source.py
    """

    def __init__(self, key: bytes) -> None:
        given: object = key
        if not isinstance(given, bytes) or len(given) != KEY_LENGTH:
            raise ParameterError("key", None, f"must be {KEY_LENGTH} bytes, from new_key()")
        self._cipher = _cipher(key)
        self._words: list[int] = []

    def __repr__(self) -> str:
        return "<KeyedSource>"

    def _next(self, length: int) -> bytearray:
        return _filled(self._cipher, length)

    def _more(self) -> None:
        """Cut some words off the stream, to be taken from the end of a list."""
        self._words.extend(_WORDS.unpack(self._cipher.update(_ZEROS[: _WORDS.size]))[::-1])

    def bits(self, count: int) -> int:
        """An integer uniform on 0 .. 2^count - 1."""
        if count > 64:
            length = (count + 7) // 8
            return int.from_bytes(self._next(length), "little") >> (8 * length - count)
        words = self._words
        if not words:
            self._more()
        return words.pop() >> (64 - count)

    def array(self, size: int, width: Width) -> NDArray[Any]:
        """`size` independent integers of `width` bits."""
        return np.frombuffer(self._next(size * width // 8), dtype=_DTYPES[width])


KEY_LENGTH = 32
_WORDS = Struct("<32Q")
"""So many words are cut off a stream at a time: enough for a few numbers."""


def new_key() -> bytes:
    """A key for one question, from the operating system."""
    return os.urandom(KEY_LENGTH)


def _cipher(key: bytes) -> Any:
    cipher, keyed, mode = _ciphers()
    return cipher(keyed(key), mode).encryptor()


@lru_cache(maxsize=1)
def _ciphers() -> tuple[Any, Any, Any]:
    """What makes a stream, and of what; how it counts has no state of its own."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415

    return Cipher, algorithms.AES256, modes.CTR(bytes(16))


def _stream(length: int) -> bytearray:
    """`length` bytes of AES-256-CTR key stream under a fresh key (a little more, for padding)."""
    return _filled(_cipher(os.urandom(32)), length + (-length % 8))


def _filled(cipher: Any, length: int) -> bytearray:
    """The next `length` bytes of a key stream."""
    out = bytearray(length)
    view = memoryview(out)
    for start in range(0, len(out), len(_ZEROS)):
        piece = view[start : start + len(_ZEROS)]
        cipher.update_into(_ZEROS[: len(piece)], piece)
    return out


_ZEROS = memoryview(bytes(1 << 16))
_local = threading.local()


def system_source() -> SystemSource:
    """The calling thread's own source; a new thread and a forked child start with an empty one."""
    source: SystemSource | None = getattr(_local, "source", None)
    if source is None:
        source = _local.source = SystemSource()
    return source


def _drop_after_fork() -> None:
    """Only the forking thread lives on in the child; the others' buffers go with `_local`."""
    global _local  # noqa: PLW0603
    _local = threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_after_fork)


class ReplayedSource(Source):
    """Serves the integers it is given, for tests; running out raises, it never repeats.

    Each value answers one request, whatever its width, and must fit that width.

    >>> ReplayedSource([5, 1]).bits(3)
    5
    """

    def __init__(self, values: Iterable[int]) -> None:
        self._values: Iterator[int] = iter(values)
        self.served = 0

    def bits(self, count: int) -> int:
        """The next value."""
        try:
            value = int(next(self._values))
        except StopIteration:
            message = f"the replayed source ran out after {self.served} values"
            raise SourceExhaustedError(message) from None
        if not 0 <= value < 1 << count:
            raise SourceExhaustedError(f"a replayed value does not fit {count} bits")
        self.served += 1
        return value

    def array(self, size: int, width: Width) -> NDArray[Any]:
        """The next `size` values."""
        return np.array([self.bits(width) for _ in range(size)], dtype=_DTYPES[width])

"""A million clients at once, with exactly the law of one.

For trying a design before anybody is asked. Values are places in a map of candidates; cohorts are
the client's number modulo m unless they are given. The permanent and the instantaneous bits are
drawn as rows of coins from certified tables (`discreet.noise.table`), so that a row has exactly the
law of `client.permanent` over a uniform secret, followed by `client.instantaneous`.
Tested by tests/local/rappor/test_simulate.py
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import whole
from discreet.local.rappor.bloom import Candidates
from discreet.local.rappor.files import Counts, counted_bits
from discreet.local.rappor.params import Params
from discreet.noise.categorical import Bernoulli
from discreet.noise.source import Source, system_source
from discreet.noise.table import CHUNK, inversion

__all__ = ["collect", "instantaneous_rows", "permanent_rows"]

Bits = NDArray[np.bool_]


def permanent_rows(blooms: Bits, params: Params, *, source: Source | None = None) -> Bits:
    """Permanent responses to rows of Bloom bits: each bit is turned over with probability f/2.

    That is the law of replacing it by a fair coin with probability f.
    """
    return blooms ^ coins(params.f / 2, blooms.shape, source)


def instantaneous_rows(prr: Bits, params: Params, *, source: Source | None = None) -> Bits:
    """Fresh reports of rows of permanent bits: 1 with probability q for a 1 and p for a 0."""
    zeros = coins(params.p, prr.shape, source)
    ones = coins(params.q, prr.shape, source)
    return np.where(prr, ones, zeros)


def coins(chance: Fraction, shape: tuple[int, ...], source: Source | None = None) -> Bits:
    """Independent coins, each True with probability exactly `chance`."""
    if chance in (0, 1):
        return np.full(shape, bool(chance))
    if source is None:
        source = system_source()
    out = np.empty(int(np.prod(shape)), dtype=bool)
    table = inversion(Bernoulli(chance))
    for start in range(0, out.size, CHUNK):
        piece = out[start : start + CHUNK]
        piece[:] = table.chunk(piece.size, source)
    return out.reshape(shape)


def collect(
    params: Params,
    candidates: Candidates,
    values: NDArray[Any],
    *,
    cohorts: NDArray[Any] | None = None,
    reports: int = 1,
    source: Source | None = None,
) -> Counts:
    """The counts of clients with these values, each reporting its value `reports` times.

    Args:
        params: the parameters of the collection.
        candidates: the map, of all values that there are (also of those that a decoder does not
            know of).
        values: for each client, the place of its value among the candidates.
        cohorts: for each client, its cohort; by default its number modulo m.
        reports: how often each client reports the one value.
        source: for tests; the default is the system's randomness.
    """
    candidates.check(params)
    whole(reports, name="reports", at_least=1)
    places = _places(values, len(candidates.words), "values")
    if cohorts is None:
        groups = np.arange(places.size) % params.m
    else:
        groups = _places(cohorts, params.m, "cohorts")
    if groups.size != places.size:
        raise ParameterError("cohorts", groups.size, f"must be {places.size}, one for each value")
    total = Counts.empty(params)
    step = max(1, (1 << 20) // params.k)
    for start in range(0, places.size, step):
        mine = groups[start : start + step]
        blooms = candidates.bits[mine, places[start : start + step]]
        prr = permanent_rows(blooms, params, source=source)
        for _ in range(reports):
            rows = instantaneous_rows(prr, params, source=source)
            total += counted_bits(mine, rows, params)
    return total


def _places(values: NDArray[Any], size: int, name: str) -> NDArray[np.int64]:
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputTypeError(f"{name} must be a flat array of whole numbers; nothing was drawn")
    if found.size and not (found.min() >= 0 and found.max() < size):
        raise InputTypeError(f"{name} must lie from 0 to {size - 1}; nothing was drawn")
    return found.astype(np.int64)

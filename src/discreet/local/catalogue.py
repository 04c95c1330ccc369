"""The oracles that `discreet audit` proves by enumeration: each at several parameters.

`tests/local/test_catalogue.py` fails while one is missing.
"""

from __future__ import annotations

from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import LocalHashing
from discreet.local.oracle import Oracle
from discreet.local.projective import ProjectiveResponse
from discreet.local.response import KaryResponse
from discreet.local.sketch import CountMeanSketch, HadamardSketch
from discreet.local.subset import SubsetSelection
from discreet.local.unary import OptimizedUnary, SymmetricUnary

__all__ = ["oracles"]


def oracles() -> list[Oracle]:
    """Every oracle on domains of 2 to 8 values, small enough to list every report."""
    return [
        KaryResponse(["yes", "no"], 1),
        KaryResponse(8, "0.01"),
        KaryResponse(5, 6),
        SymmetricUnary(6, 1),
        SymmetricUnary(8, "0.1"),
        OptimizedUnary(["a", "b", "c"], 1),
        OptimizedUnary(8, "0.1"),
        OptimizedUnary(5, 6),
        SubsetSelection(["a", "b", "c", "d", "e"], 1),
        SubsetSelection(8, "0.1"),
        SubsetSelection(8, 2, size=3),
        SubsetSelection(7, 6),
        LocalHashing(8, 1),
        LocalHashing(["a", "b", "c", "d"], "0.1"),
        LocalHashing(4, 2, buckets=6),
        HadamardResponse(8, 1),
        HadamardResponse(7, "0.1"),
        HadamardResponse(["a", "b", "c", "d", "e"], 2, blocks=2),
        HadamardResponse(8, 4),
        ProjectiveResponse(8, 1),
        ProjectiveResponse(["a", "b", "c", "d"], "0.1"),
        ProjectiveResponse(7, 2, prime=5),
        CountMeanSketch(5, 1, rows=3, columns=4),
        CountMeanSketch(8, "0.1", rows=2, columns=6),
        HadamardSketch(5, 1, rows=3, columns=4),
        HadamardSketch(8, "0.1", rows=2, columns=8),
    ]

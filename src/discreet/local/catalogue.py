"""The oracles that `discreet audit` proves by enumeration: each at several parameters.

`tests/local/test_catalogue.py` fails while one is missing.
"""

from __future__ import annotations

from discreet.local.oracle import Oracle
from discreet.local.response import KaryResponse
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
    ]

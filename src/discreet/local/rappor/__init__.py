"""RAPPOR (Erlingsson, Pihur and Korolova 2014): strings reported through Bloom filters and coins.

Clients that are compatible bit for bit with the original ones, the original's files, costs as
certified bounds, and a decoder whose false positives are controlled. Names are loaded when they are
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.local.rappor import cost
    from discreet.local.rappor.association import Joint, Variable, associate
    from discreet.local.rappor.bloom import Candidates, bloom_integer
    from discreet.local.rappor.cases import Case
    from discreet.local.rappor.client import Client, OneReport, instantaneous, permanent
    from discreet.local.rappor.cost import Costs, costs
    from discreet.local.rappor.decoding import Decoded, Estimate, decode
    from discreet.local.rappor.files import Counts, Report, counted, read_reports, write_reports
    from discreet.local.rappor.params import Params
    from discreet.local.rappor.simulate import collect

_HOMES = {
    "association": ("Joint", "Variable", "associate"),
    "bloom": ("Candidates", "bloom_integer"),
    "cases": ("Case",),
    "client": ("Client", "OneReport", "instantaneous", "permanent"),
    "cost": ("Costs", "costs"),
    "decoding": ("Decoded", "Estimate", "decode"),
    "files": ("Counts", "Report", "counted", "read_reports", "write_reports"),
    "params": ("Params",),
    "simulate": ("collect",),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}

__all__ = [
    "Candidates",
    "Case",
    "Client",
    "Costs",
    "Counts",
    "Decoded",
    "Estimate",
    "Joint",
    "OneReport",
    "Params",
    "Report",
    "Variable",
    "associate",
    "bloom_integer",
    "collect",
    "cost",
    "costs",
    "counted",
    "decode",
    "instantaneous",
    "permanent",
    "read_reports",
    "write_reports",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name == "cost":
        return import_module("discreet.local.rappor.cost")
    if name not in _HOME:
        raise AttributeError(f"module 'discreet.local.rappor' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)

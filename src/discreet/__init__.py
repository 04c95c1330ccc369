"""Differential privacy from exact discrete noise.

>>> import discreet as dp
>>> mechanism = dp.Geometric(epsilon="0.1", bounds=(0, 30))
>>> print(mechanism.guarantee)
0.1-differential privacy (neighbours: one person is added or removed)

Names are loaded when they are first used, so that importing the package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.version import VERSION

if TYPE_CHECKING:
    from discreet import audit, federated, local, publish, sensitivity
    from discreet.client.remote import Remote, connect
    from discreet.curator.curator import Curator
    from discreet.curator.published import Published
    from discreet.curator.record import Record
    from discreet.curator.release import Release
    from discreet.curator.session import Session
    from discreet.errors import (
        BudgetExceededError,
        ChangedDataError,
        DiscreetError,
        EngineError,
        InputTypeError,
        LedgerError,
        NothingFoundError,
        ParameterError,
        QueryError,
        RangeError,
        RemoteError,
        SourceExhaustedError,
        StreamEndedError,
        UnsupportedError,
    )
    from discreet.exact import Interval, rational
    from discreet.mechanisms.counts import count, histogram
    from discreet.mechanisms.gaussian import Gaussian
    from discreet.mechanisms.geometric import Geometric
    from discreet.mechanisms.keys import SelectKeys
    from discreet.mechanisms.laplace import Laplace
    from discreet.mechanisms.reading import Reading
    from discreet.mechanisms.rejection import RejectionGeometric
    from discreet.mechanisms.response import RandomizedResponse
    from discreet.mechanisms.selection import Exponential, NoisyMax, PermuteAndFlip, TopK
    from discreet.mechanisms.sparse import AboveThreshold
    from discreet.mechanisms.staircase import Staircase
    from discreet.privacy import compose
    from discreet.privacy import loss as losses
    from discreet.privacy.accountant import Accountant
    from discreet.privacy.accuracy import Accuracy
    from discreet.privacy.budget import Budget
    from discreet.privacy.calibrate import Batch, Wish, best_order, calibrate, calibrate_all
    from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP, RandomDP, RenyiDP
    from discreet.privacy.loss import loss_from_dict
    from discreet.privacy.odometer import Odometer
    from discreet.query.build import Query
    from discreet.query.schema import (
        Boolean,
        Bounds,
        Dates,
        FreeText,
        Hidden,
        Keys,
        PerPerson,
        PerRow,
        PublicTable,
    )
    from discreet.sensitivity import sample_sensitivity
    from discreet.table import Table

__version__ = VERSION

_HOMES = {
    "discreet.client.remote": ("Remote", "connect"),
    "discreet.curator.curator": ("Curator",),
    "discreet.curator.published": ("Published",),
    "discreet.curator.record": ("Record",),
    "discreet.curator.release": ("Release",),
    "discreet.curator.session": ("Session",),
    "discreet.errors": (
        "BudgetExceededError",
        "ChangedDataError",
        "DiscreetError",
        "EngineError",
        "InputTypeError",
        "LedgerError",
        "NothingFoundError",
        "ParameterError",
        "QueryError",
        "RangeError",
        "RemoteError",
        "SourceExhaustedError",
        "StreamEndedError",
        "UnsupportedError",
    ),
    "discreet.exact": ("Interval", "rational"),
    "discreet.mechanisms.counts": ("count", "histogram"),
    "discreet.mechanisms.gaussian": ("Gaussian",),
    "discreet.mechanisms.geometric": ("Geometric",),
    "discreet.mechanisms.keys": ("SelectKeys",),
    "discreet.mechanisms.laplace": ("Laplace",),
    "discreet.mechanisms.reading": ("Reading",),
    "discreet.mechanisms.rejection": ("RejectionGeometric",),
    "discreet.mechanisms.response": ("RandomizedResponse",),
    "discreet.mechanisms.selection": ("Exponential", "NoisyMax", "PermuteAndFlip", "TopK"),
    "discreet.mechanisms.sparse": ("AboveThreshold",),
    "discreet.mechanisms.staircase": ("Staircase",),
    "discreet.privacy.accountant": ("Accountant",),
    "discreet.privacy.accuracy": ("Accuracy",),
    "discreet.privacy.budget": ("Budget",),
    "discreet.privacy.calibrate": ("Batch", "Wish", "best_order", "calibrate", "calibrate_all"),
    "discreet.privacy.guarantee": ("ZCDP", "ApproxDP", "PureDP", "RandomDP", "RenyiDP"),
    "discreet.privacy.loss": ("loss_from_dict",),
    "discreet.privacy.odometer": ("Odometer",),
    "discreet.query.build": ("Query",),
    "discreet.query.schema": (
        "Boolean",
        "Bounds",
        "Dates",
        "FreeText",
        "Hidden",
        "Keys",
        "PerPerson",
        "PerRow",
        "PublicTable",
    ),
    "discreet.sensitivity": ("sample_sensitivity",),
    "discreet.table": ("Table",),
}
_MODULES = {
    "audit": "discreet.audit",
    "compose": "discreet.privacy.compose",
    "federated": "discreet.federated",
    "local": "discreet.local",
    "losses": "discreet.privacy.loss",
    "publish": "discreet.publish",
    "sensitivity": "discreet.sensitivity",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ZCDP",
    "AboveThreshold",
    "Accountant",
    "Accuracy",
    "ApproxDP",
    "Batch",
    "Boolean",
    "Bounds",
    "Budget",
    "BudgetExceededError",
    "ChangedDataError",
    "Curator",
    "Dates",
    "DiscreetError",
    "EngineError",
    "Exponential",
    "FreeText",
    "Gaussian",
    "Geometric",
    "Hidden",
    "InputTypeError",
    "Interval",
    "Keys",
    "Laplace",
    "LedgerError",
    "NoisyMax",
    "NothingFoundError",
    "Odometer",
    "ParameterError",
    "PerPerson",
    "PerRow",
    "PermuteAndFlip",
    "PublicTable",
    "Published",
    "PureDP",
    "Query",
    "QueryError",
    "RandomDP",
    "RandomizedResponse",
    "RangeError",
    "Reading",
    "Record",
    "RejectionGeometric",
    "Release",
    "Remote",
    "RemoteError",
    "RenyiDP",
    "SelectKeys",
    "Session",
    "SourceExhaustedError",
    "Staircase",
    "StreamEndedError",
    "Table",
    "TopK",
    "UnsupportedError",
    "Wish",
    "audit",
    "best_order",
    "calibrate",
    "calibrate_all",
    "compose",
    "connect",
    "count",
    "federated",
    "histogram",
    "local",
    "loss_from_dict",
    "losses",
    "publish",
    "rational",
    "sample_sensitivity",
    "sensitivity",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

"""A survey: one question to many devices, epoch after epoch, as a file that everybody may read.

The format "discreet-survey/1" is one JSON object with exactly these names:

    format       "discreet-survey/1"
    name         a text that people read
    oracle       how a device randomises, such as "subset selection"
    domain       the public values, or a number k for 0 .. k-1
    epsilon      of one report, exact, as text
    parameters   what else the oracle takes, such as {"size": 2}
    fingerprint  of the oracle, as reports carry it; who reads a survey computes it again
    start        when the first epoch begins, as 2026-11-16T00:00:00Z
    seconds      how long an epoch lasts
    epochs       how many there are

Guarantee. A device that sends one report in each epoch has told, in all of them together,
`total.epsilon` = epochs times epsilon, whatever its values were (basic composition).
Neighbours. "replace": all values of one device are replaced by any others. Assumes. The device
draws one report for an epoch and keeps it: whoever draws again because an answer was lost has
told twice, also where the second report is not counted.
Tested by tests/local/test_survey.py
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import whole
from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import LocalHashing
from discreet.local.oracle import Oracle
from discreet.local.projective import ProjectiveResponse
from discreet.local.response import KaryResponse
from discreet.local.sketch import CountMeanSketch, HadamardSketch
from discreet.local.subset import SubsetSelection
from discreet.local.unary import OptimizedUnary, SymmetricUnary
from discreet.privacy.guarantee import LARGEST_EPSILON, PureDP

__all__ = ["FORMAT", "Survey"]

FORMAT = "discreet-survey/1"
_KINDS: dict[str, Any] = {
    one.kind: one
    for one in (
        KaryResponse, SymmetricUnary, OptimizedUnary, LocalHashing, SubsetSelection,
        HadamardResponse, ProjectiveResponse, CountMeanSketch, HadamardSketch,
    )
}  # fmt: skip
_NAMES = (
    "format", "name", "oracle", "domain", "epsilon", "parameters", "fingerprint", "start",
    "seconds", "epochs",
)  # fmt: skip
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_LONGEST_NAME = 200
_MOST_SECONDS = 366 * 86_400
_MOST_EPOCHS = 10_000


@dataclass(frozen=True, slots=True, init=False)
class Survey:
    """What is asked, how it is randomised, and when.

    Args:
        oracle: a frequency oracle, or a `dp.local.Frequency`.
        start: when the first epoch begins: a time with its zone, in whole seconds.
        seconds: how long an epoch lasts.
        epochs: how many epochs there are.
        name: what people call it.

    >>> from datetime import UTC, datetime
    >>> survey = Survey(KaryResponse(["tea", "coffee"], 1), name="drinks", epochs=4,
    ...                 start=datetime(2026, 11, 16, tzinfo=UTC), seconds=7 * 86400)
    >>> survey.epoch(datetime(2026, 11, 25, tzinfo=UTC)), float(survey.total.epsilon)
    (1, 4.0)
    >>> Survey.from_json(survey.to_json()) == survey
    True
    """

    oracle: Oracle
    start: datetime
    seconds: int
    epochs: int
    name: str

    def __init__(
        self, oracle: Any, *, start: datetime, seconds: int = 86_400, epochs: int = 1, name: str
    ) -> None:
        found = getattr(oracle, "oracle", oracle)
        if not isinstance(found, Oracle):
            raise InputTypeError("a survey needs an oracle, such as dp.local.Frequency(domain, 1)")
        zoned: object = start
        if not isinstance(zoned, datetime) or zoned.tzinfo is None or zoned.microsecond:
            raise ParameterError("start", start, "must be a time with its zone, in whole seconds")
        text: object = name
        if not isinstance(text, str) or not 1 <= len(text) <= _LONGEST_NAME:
            raise ParameterError("name", None, f"must be a text of 1 to {_LONGEST_NAME} letters")
        put = object.__setattr__
        put(self, "oracle", found)
        put(self, "start", start.astimezone(UTC))
        put(self, "seconds", whole(seconds, name="seconds", at_least=1, at_most=_MOST_SECONDS))
        put(self, "epochs", whole(epochs, name="epochs", at_least=1, at_most=_MOST_EPOCHS))
        put(self, "name", name)
        if not self.epochs * found.epsilon <= LARGEST_EPSILON:
            most = f"must be at most {LARGEST_EPSILON // found.epsilon}: all epochs together"
            problem = f"{most} would cost more than epsilon {LARGEST_EPSILON}, which is no promise"
            raise ParameterError("epochs", epochs, problem)

    @property
    def guarantee(self) -> PureDP:
        """What is promised for one report."""
        return self.oracle.guarantee

    @property
    def total(self) -> PureDP:
        """What is promised for the reports of all epochs together."""
        return PureDP(self.epochs * self.oracle.epsilon, "replace")

    @property
    def identity(self) -> str:
        """What tells this survey from all others: 16 hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def epoch(self, at: datetime) -> int | None:
        """The number of the epoch at a time; None before the first and after the last."""
        if at.tzinfo is None:
            raise ParameterError("at", None, "must be a time with its zone")
        number = (at - self.start) // timedelta(seconds=self.seconds)
        return number if 0 <= number < self.epochs else None

    def to_json(self) -> str:
        """The survey in the format "discreet-survey/1": always the same text."""
        oracle = self.oracle
        said = {
            "format": FORMAT,
            "name": self.name,
            "oracle": oracle.kind,
            "domain": oracle.domain.size
            if oracle.domain.values is None
            else oracle.domain.labels(),
            "epsilon": str(oracle.epsilon),
            "parameters": oracle.parameters,
            "fingerprint": oracle.fingerprint.hex(),
            "start": self.start.strftime(_TIME),
            "seconds": self.seconds,
            "epochs": self.epochs,
        }
        return json.dumps(said, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Survey:
        """Read a survey; what is none, or not of this version, is refused."""
        try:
            said = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            raise ParameterError("survey", None, "must be JSON") from None
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise ParameterError("survey", None, f"must be of the format {FORMAT!r}")
        if sorted(said) != sorted(_NAMES):
            raise ParameterError("survey", None, f"must say exactly {', '.join(_NAMES)}")
        oracle = _oracle(said)
        if said["fingerprint"] != oracle.fingerprint.hex():
            problem = f"must be {oracle.fingerprint.hex()}, that of the oracle as it is described"
            raise ParameterError("fingerprint", said["fingerprint"], problem)
        made = cls(
            oracle, start=_time(said["start"]), seconds=said["seconds"], epochs=said["epochs"],
            name=said["name"],
        )  # fmt: skip
        if json.dumps(said, sort_keys=True) != json.dumps(
            json.loads(made.to_json()), sort_keys=True
        ):
            raise ParameterError("survey", None, "must be written as to_json writes it")
        return made

    @classmethod
    def read(cls, path: str | Path) -> Survey:
        """Read the file of a survey."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


def _oracle(said: dict[str, Any]) -> Oracle:
    kind, given, parameters = said["oracle"], said["epsilon"], said["parameters"]
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ParameterError("oracle", kind, f"must be one of {', '.join(_KINDS)}")
    if not isinstance(given, str):
        raise ParameterError("epsilon", given, "must be a text, which is exact")
    if not isinstance(parameters, dict):
        raise ParameterError("parameters", None, "must be an object")
    try:
        made = _KINDS[kind](said["domain"], given, **parameters)
    except TypeError:
        raise ParameterError("parameters", None, f"must be those of {kind}") from None
    if not isinstance(made, Oracle):  # pragma: no cover - all of them are
        raise InputTypeError("a survey needs an oracle")
    return made


def _time(text: object) -> datetime:
    try:
        return datetime.strptime(str(text), _TIME).replace(tzinfo=UTC)
    except ValueError:
        problem = "must be a time such as 2026-11-16T00:00:00Z"
        raise ParameterError("start", text, problem) from None

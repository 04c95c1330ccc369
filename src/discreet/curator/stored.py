"""A release as plain JSON values, and back.

The form is versioned ("discreet-release/1") and complete: reading it back gives an equal release.
Rationals are strings ("1/10"), dates are ISO strings in a column of dates and {"date": "..."} in
a column of several kinds, what is not a finite number was None before and is null. What a reader
does not know is refused, never guessed.
Tested by tests/curator/test_stored.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.curator.values import Interval, Kind, Value, kind_of
from discreet.errors import ParameterError
from discreet.exact import probability
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP, RandomDP, RenyiDP
from discreet.privacy.loss import loss_from_dict

if TYPE_CHECKING:
    from discreet.curator.release import Release

__all__ = [
    "SCHEMA",
    "as_dict",
    "as_json",
    "as_line",
    "fields_of",
    "fixed_line",
    "in_one_line",
    "read_json",
]

SCHEMA = "discreet-release/1"

_NAMES = (
    "schema",
    "sql",
    "asked_at",
    "guarantee",
    "losses",
    "confidence",
    "covers",
    "notes",
    "steps",
    "columns",
    "rows",
    "intervals",
    "raw",
)
_FIXED = _NAMES[_NAMES.index("guarantee") : _NAMES.index("rows")]
"""What does not differ between releases of one shape."""


def as_dict(release: Release) -> dict[str, Any]:
    """The release as plain values, fit for JSON."""
    kinds = dict(zip(release.columns, _kinds(release), strict=True))
    columns = [
        {
            "name": name,
            "kind": kinds[name],
            "key": name in release.keys,
            "mechanism": release.mechanisms.get(name),
        }
        for name in release.columns
    ]
    more = {} if release.published is None else {"published": json.loads(release.published)}
    return {
        "schema": SCHEMA,
        "sql": release.sql,
        "asked_at": release.asked_at.isoformat(),
        "guarantee": {**_guarantee(release.guarantee), "words": str(release.guarantee)},
        "losses": [loss.to_dict() for loss in release.losses],
        "confidence": str(release.confidence),
        "covers": release.covers,
        "notes": list(release.notes),
        "steps": list(release.steps),
        "columns": columns,
        **_numbers(release, kinds),
        **more,
    }


def _numbers(release: Release, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The values of a release; those of columns without dates are plain already."""
    if _WITH_DATES.isdisjoint(kinds.values()):
        return {
            "rows": list(map(list, release.rows)),
            "intervals": {
                name: [None if pair is None else list(pair) for pair in pairs]
                for name, pairs in release.intervals.items()
            },
            "raw": {name: list(values) for name, values in release.raw.items()},
        }
    return {
        "rows": [
            [_plain(value, kinds[name]) for name, value in zip(release.columns, row, strict=True)]
            for row in release.rows
        ],
        "intervals": {
            name: [_ends(pair, kinds[name]) for pair in pairs]
            for name, pairs in release.intervals.items()
        },
        "raw": {
            name: [_plain(value, kinds[name]) for value in values]
            for name, values in release.raw.items()
        },
    }


_WITH_DATES = frozenset(("date", "mixed"))
in_one_line = json.JSONEncoder(allow_nan=False, separators=(",", ":"), check_circular=False).encode
"""Plain values as JSON text in ASCII, in one line and without spaces."""


def as_line(release: Release) -> str:
    """JSON text in one line and without spaces; of one release it is written once.

    What is stored of an answer and what its asker gets are two texts that it is a part of.
    """
    found: str | None = getattr(release, "line", None)
    if found is None:
        found = _line(release)
        object.__setattr__(release, "line", found)
    return found


def _line(release: Release) -> str:
    """All of `as_dict` in one line; what releases of one shape share is written once."""
    shared = getattr(release, "shared", None)
    kinds = () if shared is None else _kinds(release)
    if shared is None or release.published is not None or not _WITH_DATES.isdisjoint(kinds):
        return in_one_line(as_dict(release))
    numbers = in_one_line({
        "rows": release.rows,
        "intervals": dict(release.intervals),
        "raw": dict(release.raw),
    })  # fmt: skip
    return (
        f'{{"schema":"{SCHEMA}","sql":{in_one_line(release.sql)},'
        f'"asked_at":"{release.asked_at.isoformat()}",{shared.line(release, kinds)},{numbers[1:]}'
    )


def fixed_line(release: Release) -> str:
    """What stands between the time and the numbers in the line of a release."""
    told = as_dict(release)
    return in_one_line({name: told[name] for name in _FIXED})[1:-1]


def as_json(release: Release) -> str:
    """JSON text, the same for the same release, with one line for each row."""
    lines = []
    for name, value in as_dict(release).items():
        text = _dumps(value)
        if name in ("rows", "columns") and value:
            text = "[\n    " + ",\n    ".join(map(_dumps, value)) + "\n  ]"
        lines.append(f'  "{name}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _dumps(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def read_json(source: str | bytes | Path) -> dict[str, Any]:
    """The values of JSON text, or of the file at a path; text begins with a brace."""
    if isinstance(source, str) and not source.lstrip().startswith("{"):
        source = Path(source)
    if isinstance(source, Path):
        source = source.read_bytes()
    try:
        stored = json.loads(source, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError("source", None, "is not the JSON of a release") from error
    if not isinstance(stored, dict):
        raise ParameterError("source", type(stored).__name__, "must be the JSON of a release")
    return stored


def _no_constant(name: str) -> NoReturn:
    raise ParameterError("source", name, "holds a number that JSON does not know")


def fields_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the release that was stored; refuses what this version does not know."""
    if not isinstance(stored, Mapping):
        raise ParameterError("source", type(stored).__name__, "must be the JSON of a release")
    if stored.get("schema") != SCHEMA:
        raise ParameterError("schema", stored.get("schema"), f"must be {SCHEMA!r}")
    odd = sorted((set(stored) - {"published"}) ^ set(_NAMES))
    if odd:
        raise ParameterError("fields", odd, "of a stored release are missing or not known here")
    try:
        return _fields(stored)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, ParameterError):
            raise
        problem = f"does not have the form of {SCHEMA} ({type(error).__name__})"
        raise ParameterError("source", None, problem) from error


def _fields(stored: Mapping[str, Any]) -> dict[str, Any]:
    columns = stored["columns"]
    names = tuple(column["name"] for column in columns)
    kinds: dict[str, Kind] = {column["name"]: column["kind"] for column in columns}
    return {
        "columns": names,
        "keys": tuple(column["name"] for column in columns if column["key"]),
        "rows": tuple(
            tuple(_read(value, kinds[name]) for name, value in zip(names, row, strict=True))
            for row in stored["rows"]
        ),
        "intervals": {
            name: tuple(_read_ends(pair, kinds[name]) for pair in pairs)
            for name, pairs in stored["intervals"].items()
        },
        "raw": {
            name: tuple(_read(value, kinds[name]) for value in values)
            for name, values in stored["raw"].items()
        },
        "guarantee": _read_guarantee(stored["guarantee"]),
        "losses": tuple(loss_from_dict(loss) for loss in stored["losses"]),
        "sql": _string(stored["sql"]),
        "mechanisms": {
            column["name"]: _string(column["mechanism"])
            for column in columns
            if column["mechanism"] is not None
        },
        "confidence": probability(stored["confidence"], name="confidence"),
        "covers": _string(stored["covers"]),
        "notes": tuple(map(_string, stored["notes"])),
        "asked_at": datetime.fromisoformat(stored["asked_at"]),
        "steps": tuple(map(_string, stored["steps"])),
        "published": None if "published" not in stored else _dumps(_mapping(stored["published"])),
    }


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ParameterError("published", type(value).__name__, "must be a dictionary")
    return value


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise ParameterError("source", type(value).__name__, "must hold text where words belong")
    return value


def _kinds(release: Release) -> tuple[Kind, ...]:
    """The kind of each column, its intervals and its raw values together."""
    columns = zip(*release.rows, strict=True) if release.rows else [()] * len(release.columns)
    raw, intervals = release.raw, release.intervals
    return tuple([
        kind_of(chain(values, raw.get(name, ()), *filter(None, intervals.get(name, ()))))
        for name, values in zip(release.columns, columns, strict=True)
    ])  # fmt: skip


def _plain(value: Value, kind: Kind) -> Any:
    if isinstance(value, date):
        return value.isoformat() if kind == "date" else {"date": value.isoformat()}
    return value


def _ends(pair: Interval, kind: Kind) -> list[Any] | None:
    return None if pair is None else [_plain(end, kind) for end in pair]


def _read(value: Any, kind: Kind) -> Value:
    if isinstance(value, dict) and set(value) == {"date"}:
        return date.fromisoformat(value["date"])
    if kind == "date" and value is not None:
        return date.fromisoformat(value)
    if not isinstance(value, bool | int | float | str | None):
        raise ParameterError("rows", type(value).__name__, "of a release hold single values only")
    return value


def _read_ends(pair: Any, kind: Kind) -> Interval:
    if pair is None:
        return None
    low, high = pair
    return _read(low, kind), _read(high, kind)


def _guarantee(guarantee: Guarantee) -> dict[str, Any]:
    told: dict[str, Any] = {"neighbours": guarantee.neighbours}
    match guarantee:
        case PureDP(epsilon=epsilon):
            return {"kind": "pure", "epsilon": str(epsilon), **told}
        case ApproxDP(epsilon=epsilon, delta=delta):
            return {"kind": "approximate", "epsilon": str(epsilon), "delta": str(delta), **told}
        case ZCDP(rho=rho):
            return {"kind": "concentrated", "rho": str(rho), **told}
        case RenyiDP(curve=curve):
            return {"kind": "renyi", "curve": [[str(a), str(e)] for a, e in curve], **told}
        case RandomDP(epsilon=epsilon, gamma=gamma):
            return {"kind": "random", "epsilon": str(epsilon), "gamma": str(gamma), **told}


def _read_guarantee(stored: Mapping[str, Any]) -> Guarantee:
    told = {name: value for name, value in stored.items() if name not in ("kind", "words")}
    match stored["kind"]:
        case "pure":
            return PureDP(**told)
        case "approximate":
            return ApproxDP(**told)
        case "concentrated":
            return ZCDP(**told)
        case "renyi":
            return RenyiDP(dict(told["curve"]), told["neighbours"])
        case "random":
            return RandomDP(**told)
        case kind:
            raise ParameterError("kind", kind, "of a stored guarantee is not known here")

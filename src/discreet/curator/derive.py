"""Numbers computed from releases: roll-ups, ranges, differences and ratios, with their intervals.

All of it is post-processing: nothing private is touched, nothing is charged, the guarantee stays,
and the step is written into the release. A result of two releases has the guarantee of both.

Differences and ratios. The box of two intervals: each misses with the probability 1 - confidence at
most, so both hold with c1 + c2 - 1, however they depend: that is the confidence of the result.

Sums (`rolled_up`, `between`). Raw values are added, because clamping at 0 first would push small
groups up. A release tells the half-width w of one number, with P(|X| > w) <= r = 1 - confidence,
and the family of its noise, not its scale; the number is a sum of K noisy cells f Z (K = 1 where
the question has one aggregate, at most 4). The interval of a sum covers with the confidence of the
release, by proof, and is conservative: a fifth to a half wider than the exact law for plain counts
(more where noise is only a step or two wide), and two to four times where K > 1.

1. The scale from the width. Z is two-sided geometric: P(|Z| > k) = 2 a^(k+1)/(1+a), a = exp(-f/s).
   For K = 1, 2 a^(w/f+1)/(1+a) <= r. For K > 1 the other cells shift a window of length 2w, which
   holds at most 2n + 2 multiples of f, n = floor(w/f); Z is symmetric and unimodal, so w + f stands
   for w. Hence (w + j f)/s + ln((1 + exp(-f/s))/2) >= ln(1/r), j = 1 or 2. The left side falls in
   s and rises in f: the largest possible step f gives the largest s. It is 1 for counts; it divides
   all raw values of a plain sum of whole numbers; and f/s = epsilon/sensitivity <= epsilon.
2. Z is below a Laplace variable L of the same rate t in the convex order. Proof. At whole v,
   E(Z - v)+ = exp(-t v)/(2 sinh t) <= exp(-t v)/(2 t) = E(L - v)+. In between, the left side is a
   chord of its exponential, above it by (1 - a) exp(t/(1 - a) - 1)/t at most. That is below
   sinh(t)/t if t/(1 - a) - 1 <= ln((1 + exp t)/2); both sides are 0 at 0, and their derivatives
   compare by 2 (1 - a) <= t (1 + a), or tanh(t/2) <= t/2.
3. So a sum S of N cells is below a sum Y of N Laplace variables of scale s in that order. The
   quantile of |S| is at most its mean beyond the quantile, which the order bounds by that of |Y|,
   at most v + E(|Y| - v)+/r for every v. Y is normal with the variance 2 s^2 G, G gamma(N), and
   E(|Y| - v)+ rises with G: a sum over pieces of G with their upper ends is a bound.
4. Discrete Gaussian noise: E exp(tZ) <= exp(t^2 sigma^2/2) (Canonne, Kamath and Steinke 2020), so
   sigma sqrt(2 N ln(2/r)) covers. P(|Z| > k) >= P(|normal| > k+1)/(1 + 1/(sigma sqrt(2 pi))) bounds
   the scale: a falling sum is above its integral, the normaliser at most sigma sqrt(2 pi) + 1.

No interval, and a note that says why, where this does not hold: rows chosen by noisy values
(HAVING, LIMIT, selected keys), an earlier step, staircase noise, a column of unknown making.
Tested by tests/curator/test_derive.py
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import sqlglot
from scipy import special
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.curator.one_level import one_level
from discreet.curator.release import Release
from discreet.curator.values import Interval, Value, shortened, visible
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import rational
from discreet.privacy.compose import sequential
from discreet.remembered import remembered

__all__ = ["between", "difference", "ratio", "rolled_up"]

End = Fraction | float
Names = Sequence[str]
Key = tuple[tuple[type, Value], ...]
Part = tuple[int, Fraction]
"""A row, and the share of it that is taken."""

_INSTEAD = {
    "mean": "ask for SUM and COUNT, roll both up and take their ratio",
    "rank": "ask for it with the keys that you want",
    "people": "a person may be in several groups; ask for it with the keys that you want",
    "computed": "roll up the counts and sums that it is made of, and compute it again",
}
_LAW = r"(geometric|discrete Gaussian).*?(?:epsilon|rho) (?:about )?([\d./e+-]+)"
_SQUARES = (exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp)


@dataclass(frozen=True, slots=True)
class _Cell:
    """One number with its interval and its raw value."""

    value: Fraction | Value
    interval: Interval
    raw: Fraction | Value


@dataclass(frozen=True, slots=True)
class _Made:
    """A "count", a "sum" or "unknown"; its noise; `gap` says why sums have no interval."""

    what: str
    law: str = ""
    cells: int = 1
    scale: float = 0.0
    gap: str = ""


def rolled_up(release: Release, by: Names = (), columns: Names | None = None) -> Release:
    """Counts and sums added up over the keys that are not in `by`: free.

    Guarantee. That of the release.
    Intervals. Each covers the noise of its sum with that confidence; one row keeps its own.

    `columns` are those to add up; without it, all that are no keys. Where the question does not
    tell that one adds up, naming it vouches for it, without an interval. See also `one_level`.
    """
    _check(release, by, "by")
    release = one_level(release, by)
    groups: dict[Key, list[Part]] = {} if by else {(): []}
    for place, row in enumerate(release):
        groups.setdefault(_key(row, by), []).append((place, Fraction(1)))
    return _added(release, tuple(by), groups, columns, f"rolled up by {', '.join(by) or 'nothing'}")


def between(
    release: Release, column: str, low: End | date, high: End | date, *,
    width: End | None = None, share: bool = False, columns: Names | None = None,
) -> Release:  # fmt: skip
    """The bins of a stored histogram from `low` up to, not including, `high`, added up: free.

    `column` is a key that is a number or a date and says where its bin begins; other keys stay, and
    rows without a bin (the others) are left out. Bins are as wide as the least step between two
    keys (in months, where all begin a month), or as `width` says (in days, for dates). A bin that
    is cut is refused, or with `share` it counts with its part of the width, as if people were
    spread evenly in it; a note says so. `columns`, guarantee and intervals: as for `rolled_up`.
    """
    _check(release, [column], "column")
    shares = _shares(column, release[column], [low, high], width)
    broken = [visible(str(k)) for k, s in zip(release[column], shares, strict=True) if 0 < s < 1]
    if broken and not share:
        problem = f"cut the bin that begins at {broken[0]}; move them, or say share=True (--share)"
        raise ParameterError("low and high", f"{low} to {high}", problem)
    others = tuple(name for name in release.keys if name != column)
    groups: dict[Key, list[Part]] = {} if others else {(): []}
    for place, (row, part) in enumerate(zip(release, shares, strict=True)):
        if row[column] is not None:
            groups.setdefault(_key(row, others), []).extend([(place, part)] if part else [])
    made = _added(release, others, groups, columns, f"{column} from {low} to below {high}")
    note = f"cut bins of {column} count as if people were spread evenly, which no interval covers"
    return replace(made, notes=(*made.notes, note)) if broken else made


def difference(a: Release, b: Release, column: str) -> Release:
    """The column of one release minus that of another, key by key: free.

    Guarantee. That of both releases together (the same release twice is one).
    Intervals. The box of the two, at the confidence c1 + c2 - 1: see the top of this module.
    """
    pairs = _paired(a, b, column, column)
    cells = []
    for x, y in pairs.values():
        raw = None if x.raw is None or y.raw is None else _exact(x.raw) - _exact(y.raw)
        low, high = _ends(x.interval)
        least, most = _ends(y.interval)
        cells.append(_Cell(_exact(x.value) - _exact(y.value), _pair(low - most, high - least), raw))
    return _of_two(a, b, list(pairs), column, cells, f"{column} minus that of another release")


def ratio(a: Release, b: Release | str, column: str) -> Release:
    """Row by row: `ratio(a, b, "n")` of two releases, `ratio(a, "women", "people")` within one.

    Guarantee. That of all releases that are used, together.
    Intervals. The extremes over the box of the two, at the confidence c1 + c2 - 1. Where the
    interval of the denominator contains 0, or the denominator is 0, there is no value.
    """
    top, other = (b, a) if isinstance(b, str) else (column, b)
    name = f"{top}/{column}" if other is a else f"{column} ratio"
    pairs = _paired(a, other, top, column)
    cells = []
    for x, y in pairs.values():
        low, high = _ends(y.interval)
        if not y.value or (y.interval is not None and low <= 0 <= high):
            cells.append(_Cell(None, None, None))
        else:
            found = None if y.interval is None else _over(*_ends(x.interval), low, high)
            cells.append(_Cell(_exact(x.value) / _exact(y.value), found, None))
    step = f"{top} divided by {column}" + ("" if other is a else " of another release")
    return _of_two(a, other, list(pairs), name, cells, step)


def _added(
    release: Release, by: tuple[str, ...], groups: Mapping[Key, Sequence[Part]],
    columns: Names | None, step: str,
) -> Release:  # fmt: skip
    others = [name for name in release.columns if name not in release.keys]
    wanted = others if columns is None else list(dict.fromkeys(columns))
    if isinstance(columns, str) or not wanted or not set(wanted) <= set(others):
        known = ", ".join(map(visible, others)) or "none, for this release has keys only"
        raise ParameterError("columns", columns, f"must be a list of columns of numbers: {known}")
    notes, found, words = list(release.notes), {}, {}
    most = max(map(len, groups.values()), default=0)
    for name in wanted:
        cells, made = _cells(release, name), _made(release, name, vouched=columns is not None)
        sums = [
            _sum(cells, made, parts, float(1 - release.confidence)) for parts in groups.values()
        ]
        found[name], told = sums, release.mechanisms.get(name, "computed")
        words[name] = f"{told}; then up to {most:,} numbers added up"
        if made.gap and any(cell.interval is None for cell in sums):
            notes.append(f"sums of {name} have no interval: {made.gap}")
    return _finished(replace(release, notes=tuple(notes)), by, list(groups), found, words, step)


def _sum(cells: Sequence[_Cell], made: _Made, parts: Sequence[Part], risk: float) -> _Cell:
    if len(parts) == 1 and parts[0][1] == 1:
        return cells[parts[0][0]]
    taken = [(share, cells[place]) for place, share in parts]
    total = sum((s * _exact(c.value if c.raw is None else c.raw) for s, c in taken), Fraction(0))
    whole = all(isinstance(cell.value, int) for _, cell in taken)
    value = Fraction(round(total)) if whole else total
    width = _half_width(made, len(parts), risk)
    if made.what == "count":
        value = max(value, Fraction(0))
        ends = (max(math.floor(total - width), 0), max(math.ceil(total + width), 0))
        return _Cell(value, None if made.gap else ends, total)
    return _Cell(value, None if made.gap else _pair(total - width, total + width), total)


def _made(release: Release, name: str, *, vouched: bool) -> _Made:
    """What the question and the words about the noise tell about a column that adds up."""
    words = release.mechanisms.get(name, "computed")
    what, cells, chosen = _asked(release.sql, name)
    if words.startswith("computed"):
        what = "unknown"
    if re.search(r"\b(mean|median|quantile|histogram)\b|permute-and-flip", words):
        what = "rank"
    if what in _INSTEAD or (what == "unknown" and not vouched):
        why = f"does not add up over groups: {_INSTEAD.get(what)}; or name the other columns only"
        if what == "unknown":
            why = "is not told to be a count or a sum by the question; if it is one, say its name"
        raise UnsupportedError(f"{visible(name)!r} {why}. Nothing was charged")
    law = re.match(_LAW, words)
    width = _width(release, name, what)
    if release.steps or what == "unknown":
        return _Made(what, gap="the question, or an earlier step, does not tell its noise")
    if chosen or "selected keys" in words:
        return _Made(what, gap="rows were chosen by their noisy values")
    if law is None or width is None:
        return _Made(what, gap="how wide its noise is cannot be told from the release")
    raw = [value for value in release.raw[name] if isinstance(value, int)]
    step = math.inf if what == "sum" else 1.0
    if what == "sum" and cells == 1 and len(raw) == len(release):
        step = float(math.gcd(*raw)) or step
    rate = float(Fraction(law[2].rstrip("."))) * 1.0001  # it may have been written rounded
    most = rate if law[1] == "geometric" else math.sqrt(2 * rate)
    scale = _scale(law[1], width, min(cells, 2), (step, most), float(1 - release.confidence))
    gap = "" if math.isfinite(scale) else "its noise is too narrow to tell how wide it is"
    return _Made(what, law[1], cells, scale, gap)


@remembered(256)
def _asked(sql: str, name: str) -> tuple[str, int, bool]:
    """What a column is, how many noisy cells it may be made of, whether noise chose the rows."""
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except (SqlglotError, RecursionError):
        return "unknown", 1, True
    given = tree.selects if isinstance(tree, exp.Select) else []
    nodes = [node.unalias() for node in given if node.alias_or_name == name]
    if len(nodes) != 1:
        return "unknown", 1, True
    asked = {node.sql() for node in tree.find_all(exp.AggFunc, exp.Anonymous)}
    squares = any(tree.find_all(*_SQUARES))
    node = nodes[0].this if isinstance(nodes[0], exp.Filter | exp.WithinGroup) else nodes[0]
    what, cells = "computed", 1
    if isinstance(node, exp.Count | exp.CountIf):
        what, cells = "people" if isinstance(node.this, exp.Distinct) else "count", 3 + squares
    elif isinstance(node, exp.AggFunc):
        what, cells = {exp.Sum: "sum", exp.Avg: "mean"}.get(type(node), "rank"), 2 + squares
    chosen = any(tree.args.get(part) for part in ("having", "limit", "qualify"))
    return what, 1 if len(asked) == 1 else cells, chosen


def _width(release: Release, name: str, what: str) -> float | None:
    """At least the half-width of one number; None where no row tells it.

    Ends of counts are clamped to 0 and to a public number, which hides it, but not at a low end
    above 0, nor at a high end that is below another row's.
    """
    raw, pairs = release.raw.get(name, ()), release.intervals.get(name, ())
    rows = [(_exact(x), *_ends(pair)) for x, pair in zip(raw, pairs, strict=False) if x is not None]
    if len(rows) < len(release) or not rows or any(math.isinf(x) for row in rows for x in row):
        return None
    largest = max(high for _, _, high in rows)
    found = [max(max(x - low, high - x) for x, low, high in rows)] if what == "sum" else []
    found = found or [x - low for x, low, _ in rows if low > 0]
    found = found or [high - x for x, _, high in rows if 0 < high < largest]
    found = found or [-x for x, _, high in rows if high == 0]
    slack = max(abs(x) for x, _, _ in rows) * Fraction(1, 1 << 50)  # raw values may be rounded
    return float(min(found) + slack) * (1 + 1e-9) if found else None


def _scale(law: str, width: float, j: int, step: tuple[float, float], risk: float) -> float:
    """The largest possible scale of one cell: 1 and 4 above; f is below both parts of `step`."""

    def possible(scale: float) -> bool:
        f = min(step[0], step[1] * scale)
        reach = (width + j * f) / scale
        if law == "geometric":
            return reach + math.log((1 + math.exp(-f / scale)) / 2) >= -math.log(risk)
        inside = 1 / (1 + f / (scale * math.sqrt(2 * math.pi)))
        return math.erfc(reach / math.sqrt(2)) * inside <= risk

    low, high = 0.0, 1e6 * (width + 1)
    if possible(high):
        return math.inf
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return high


def _half_width(made: _Made, numbers: int, risk: float) -> Fraction:
    """How far off a sum of so many numbers is, except with this risk; 0 where unknown."""
    cells = numbers * made.cells
    if made.gap or not cells:
        return Fraction(0)
    if made.law == "geometric":
        return Fraction(made.scale * _laplace_mean_beyond(cells, risk))
    return Fraction(made.scale * math.sqrt(2 * cells * math.log(2 / risk)) * (1 + 1e-9))


@remembered(1024)
def _laplace_mean_beyond(cells: int, risk: float) -> float:
    """At least the mean of |sum of Laplace variables of scale 1| beyond its quantile: 3 above."""
    top = float(special.gammainccinv(cells, 1e-14))
    ends = np.linspace(0.0, top, 4001)
    masses = -np.diff(special.gammaincc(cells, ends))
    rest = math.exp(special.gammaln(cells + 0.5) - special.gammaln(cells))
    rest *= 2 / math.sqrt(math.pi) * float(special.gammaincc(cells + 0.5, top))
    sd = np.sqrt(2 * ends[1:])
    guess = math.sqrt(2 * cells) * -float(special.ndtri(risk / 2))
    best = math.inf
    for v in guess * np.linspace(0.7, 3.0, 231):
        density = np.exp(-((v / sd) ** 2) / 2) / math.sqrt(2 * math.pi)
        beyond = 2 * (sd * density - v * special.ndtr(-v / sd))
        best = min(best, float(v + (masses @ beyond + rest) / risk))
    return best * (1 + 1e-9)


def _shares(column: str, keys: list[Value], ends: list[object], width: object) -> list[Fraction]:
    """The part of each bin that lies between two ends."""
    there = [key for key in keys if key is not None]
    kind = "dates" if any(isinstance(key, date) for key in there) else "numbers"
    if kind == "dates" and width is None and all(getattr(key, "day", 0) == 1 for key in there):
        kind = "months"
    places = [None if key is None else _place(column, key, kind) for key in keys]
    low, high = (_place("low and high", end, kind) for end in ends)
    marks = sorted({place for place in places if place is not None})
    least = min((b - a for a, b in pairwise(marks)), default=None)
    wide = least if width is None else rational(width, name="width")
    if not low <= high:
        raise ParameterError("low", str(ends[0]), f"must not be above high, {ends[1]}")
    if wide is None or not wide > 0 or (least is not None and wide > least):
        problem = f"of a bin must be said, above 0 and at most the step between keys of {column!r}"
        raise ParameterError("width", width, problem)
    inside = (0 if p is None else (min(p + wide, high) - max(p, low)) / wide for p in places)
    return [max(Fraction(0), Fraction(part)) for part in inside]


def _place(name: str, value: object, kind: str) -> Fraction:
    """A number, or a date in days or in months, days being parts of their month."""
    if kind == "numbers" and not isinstance(value, bool | str | date):
        return rational(value, name=name)
    if kind == "numbers" or not isinstance(value, date) or isinstance(value, datetime):
        problem = f"must be {'numbers' if kind == 'numbers' else 'dates'} for a range of keys"
        raise ParameterError(name, type(value).__name__, problem)
    if kind == "dates":
        return Fraction(value.toordinal())
    days = monthrange(value.year, value.month)[1]
    return 12 * value.year + value.month + Fraction(value.day - 1, days)


def _cells(release: Release, column: str) -> list[_Cell]:
    """The numbers of a column; a row without one is refused."""
    values, nothing = release[column], (None,) * len(release)
    pairs, raw = release.intervals.get(column, nothing), release.raw.get(column, nothing)
    cells = [_Cell(v, pair, x) for v, pair, x in zip(values, pairs, raw, strict=True)]
    for row, cell in zip(release, cells, strict=True):
        others = (x for x in (*(cell.interval or ()), cell.raw) if x is not None)
        if column in release.keys or any(
            type(x) not in (int, float) for x in (cell.value, *others)
        ):
            problem = f"has no number for {_told(_key(row, release.keys))}; leave that row out"
            raise ParameterError("column", column, f"{problem} with release.map(...) in Python")
    return cells


def _paired(a: Release, b: Release, first: str, second: str) -> dict[Key, tuple[_Cell, _Cell]]:
    """The numbers of two columns, key by key in the order of the first release."""
    if set(a.keys) != set(b.keys):
        wanted = ", ".join(map(visible, a.keys)) or "none"
        raise ParameterError("b", list(b.keys), f"must have the same keys as a: {wanted}")
    found: list[dict[Key, _Cell]] = []
    for release, column in ((a, first), (b, second)):
        _check(release)
        keys = [_key(row, a.keys) for row in release]
        found.append(dict(zip(keys, _cells(release, column), strict=True)))
    odd = sorted(map(_told, set(found[0]) ^ set(found[1])))
    if odd:
        told = "; ".join(odd[:3]) + (" and others" if len(odd) > 3 else "")
        way = "Leave those rows out with release.map(...) in Python; nothing was charged"
        raise UnsupportedError(f"only one of the two releases has the keys {told}. {way}")
    return {key: (cell, found[1][key]) for key, cell in found[0].items()}


def _of_two(
    a: Release, b: Release, keys: list[Key], name: str, cells: list[_Cell], step: str
) -> Release:
    made, confidence = a, a.confidence + b.confidence - 1
    if a != b:
        made = replace(
            a, guarantee=sequential(a.guarantee, b.guarantee), losses=a.losses + b.losses,
            sql=f"{a.sql}\n-- together with\n{b.sql}", asked_at=max(a.asked_at, b.asked_at),
            notes=tuple(dict.fromkeys(a.notes + b.notes)),
            steps=tuple(dict.fromkeys(a.steps + b.steps)),
        )  # fmt: skip
    if confidence <= 0:
        confidence, cells = a.confidence, [replace(cell, interval=None) for cell in cells]
    words = {name: f"computed from released numbers: {step}"}
    return replace(_finished(made, a.keys, keys, {name: cells}, words, step), confidence=confidence)


def _finished(
    release: Release, by: tuple[str, ...], keys: Sequence[Key],
    found: Mapping[str, Sequence[_Cell]], words: Mapping[str, str], step: str,
) -> Release:  # fmt: skip
    rows: Any = [
        (*(value for _, value in key), *(cells[i].value for cells in found.values()))
        for i, key in enumerate(keys)
    ]
    pairs = {name: tuple(cell.interval for cell in cells) for name, cells in found.items()}
    raw: Any = {name: tuple(cell.raw for cell in cells) for name, cells in found.items()}
    kept = {name: told for name, told in release.mechanisms.items() if name in by}
    return replace(
        release, columns=(*by, *found), keys=by, rows=tuple(rows),
        intervals={name: ends for name, ends in pairs.items() if set(ends) - {None, (None, None)}},
        raw={name: xs for name, xs in raw.items() if any(x is not None for x in xs)},
        mechanisms={**kept, **words}, steps=(*release.steps, step),
    )  # fmt: skip


def _check(release: Release, names: Names = (), argument: str = "") -> None:
    """These are keys, and each key stands once: two rows could be the same people twice."""
    for name in [names] if isinstance(names, str) else names:
        if isinstance(names, str) or name not in release.keys:
            known = ", ".join(map(visible, release.keys)) or "none"
            raise ParameterError(argument, name, f"must be a list of keys of the release: {known}")
    counted = Counter(_key(row, release.keys) for row in release)
    for key in (key for key, times in counted.items() if times > 1):
        way = "they may be about the same people; leave one out with release.map(...) in Python"
        raise UnsupportedError(f"{_told(key)} has two rows: {way}. Nothing was charged")


def _key(row: Mapping[str, Value], keys: Sequence[str]) -> Key:
    return tuple((type(row[key]), row[key]) for key in keys)


def _told(key: Key) -> str:
    told = ", ".join("(none)" if value is None else visible(str(value)) for _, value in key)
    return shortened(told, 60) or "everybody"


def _exact(value: Fraction | Value) -> Fraction:
    return Fraction(value)  # type: ignore[arg-type]


def _ends(pair: Interval) -> tuple[End, End]:
    """Infinite where there is no bound."""
    low, high = pair or (None, None)
    return -math.inf if low is None else _exact(low), math.inf if high is None else _exact(high)


def _pair(low: End, high: End) -> Interval:
    """The interval, its ends rounded outwards; an infinite one is none."""
    return _rounded(low, math.floor, -math.inf), _rounded(high, math.ceil, math.inf)


def _rounded(end: End, whole: Callable[[Fraction], int], towards: float) -> int | float | None:
    if isinstance(end, float):
        return None
    small = end.denominator != 1 and abs(end) < 1 << 53
    return math.nextafter(float(end), towards) if small else whole(end)


def _over(least: End, most: End, low: End, high: End) -> Interval:
    """The extremes of x/y for x between the first two ends and y between the others, never 0."""
    if high < 0:  # x/y is (-x)/(-y)
        least, most, low, high = -most, -least, -high, -low
    slopes = [1 / low, Fraction(0) if math.isinf(high) else 1 / high]
    below = least if math.isinf(least) else min(least * slope for slope in slopes)
    above = most if math.isinf(most) else max(most * slope for slope in slopes)
    return _pair(below, above)

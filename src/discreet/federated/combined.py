"""Sums over several curators: answers added up, with an interval from the laws of all noises.

Theorem. Let node i publish x_i + Z_i with independent noises of known laws. Then the sum of what
they published is the true total plus the sum of the Z_i, and the interval of `width_of` (the exact
law of the sum where it is narrow, its bound elsewhere: see `discreet.query.reading`) covers the
true total with the stated probability.
Assumes. The nodes draw their noise independently, and by the law that their own declaration, the
question and its price determine; a node whose published interval is wider than that law would make
it is left out.

What is promised to the people. If each person is in one node (and it is no secret in which), her
guarantee is that of her node, and the largest one holds for everybody: parallel composition, see
`discreet.federated.data`. If a person may be in several nodes, the guarantees add up.
Tested by tests/federated/test_combined.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.errors import QueryError, UnsupportedError
from discreet.privacy import compose
from discreet.privacy.guarantee import Guarantee
from discreet.query.plan import Aggregate, PostAggregate, PostGroup
from discreet.query.price import Measured, Noise, Priced
from discreet.query.reading import count_form, sum_form, used_by, width_of

__all__ = ["Answer", "Column", "Combined", "agrees", "answers_it", "columns_of", "combine"]

Pieces = tuple[tuple[Fraction, Noise], ...]
"""The noises of one published number, each with its factor."""


@dataclass(frozen=True, slots=True)
class Column:
    """How a column was made: by which noises, and whether it counts (and so is never negative)."""

    pieces: Pieces
    counts: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What one node published, and how each column of numbers was made."""

    release: Any
    columns: Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Combined:
    """Totals over the nodes that answered.

    Guarantee. `guarantee`, of what was published by those that answered; a node that was late may
    have been charged as much.

    Attributes:
        columns: the names of all columns, keys first.
        keys: those that are group keys.
        rows: a dictionary for each group: keys, totals, and <column>_low and <column>_high.
        left_out: groups that not all nodes published: their totals would not be totals.
        confidence: of each interval.
        nodes: the names of the nodes that answered.
        missing: why each of the others did not, in words.
        guarantee: what is promised to each person; None where nodes speak of different neighbours.
        disjoint: whether each person is in one node, as was said.
        key: names this asking; the same key again is charged once by each node.
        records: what each node published.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    left_out: tuple[tuple[Any, ...], ...]
    confidence: Fraction
    nodes: tuple[str, ...]
    missing: Mapping[str, str]
    guarantee: Guarantee | None
    disjoint: bool
    key: str
    records: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(dict(row) for row in self.rows)

    @property
    def complete(self) -> bool:
        """Whether all nodes answered."""
        return not self.missing

    @property
    def value(self) -> Any:
        """The one total of an answer without keys."""
        numbers = [name for name in self.columns if name not in self.keys]
        if len(self.rows) != 1 or len(numbers) != 1:
            raise UnsupportedError(".value is for one row with one number; take .rows")
        return self.rows[0][numbers[0]]

    def __repr__(self) -> str:
        many = len(self.nodes) + len(self.missing)
        return f"<Combined: {len(self.rows)} rows from {len(self.nodes)} of {many} nodes>"


def columns_of(priced: Priced) -> dict[str, Column]:
    """The noises of every column of a question; QueryError where totals cannot be added up."""
    found: dict[str, Column] = {}
    for output in priced.plan.outputs:
        if isinstance(output.value, PostGroup):
            continue
        aggregate = output.value.aggregate if isinstance(output.value, PostAggregate) else None
        home = None if aggregate is None else priced.home.get(aggregate)
        if aggregate is None or aggregate.function not in ("count", "people", "sum"):
            raise QueryError(
                f"{output.name!r} cannot be added up over nodes: ask for counts and sums, and "
                "divide the totals"
            )
        pieces = () if home is None else _noises(aggregate, home)
        found[output.name] = Column(pieces, counts=aggregate.function != "sum")
    if priced.plan.having is not None or priced.counts_keys:
        raise QueryError("groups that a node leaves out by their numbers cannot be added up")
    if not found:
        raise QueryError("ask for at least one count or sum")
    return found


def _noises(aggregate: Aggregate, home: Measured) -> Pieces:
    grid = Fraction(1) if aggregate.function != "sum" else home.block.kind.grid
    if home.block.what == "centred":
        return ((grid / 2, home.noise[0]),)
    form = sum_form(home) if aggregate.function == "sum" else count_form(aggregate, home)
    return tuple((factor * grid / home.scale, noise) for factor, noise in used_by(home, form))


def answers_it(release: Any, priced: Priced) -> bool:
    """Whether a release has the columns of the question, numbers in them, and each group once."""
    names = tuple(output.name for output in priced.plan.outputs)
    keys = {one.name for one in priced.plan.outputs if isinstance(one.value, PostGroup)}
    if tuple(release.columns) != names or set(release.keys) != keys:
        return False
    if not isinstance(release.guarantee, Guarantee):
        return False
    for place, name in enumerate(names):
        cells = [row[place] for row in release.rows]
        if name not in keys and not all(map(_is_number, (*cells, *release.raw.get(name, ())))):
            return False
    return len(_by_group(release)) == len(release.rows)


def _is_number(value: object) -> bool:
    if value is None or isinstance(value, Fraction | int):
        return not isinstance(value, bool)
    return isinstance(value, float) and math.isfinite(value)


def agrees(answer: Answer) -> bool:
    """Whether published intervals are no wider than the laws of the noises would make them."""
    release = answer.release
    for name, column in answer.columns.items():
        pieces = column.pieces
        width = float(width_of(pieces, release.confidence)) if pieces else 0.0
        raws, pairs = release.raw.get(name), release.intervals.get(name)
        if raws is None or pairs is None:
            return not pieces
        for raw, pair in zip(raws, pairs, strict=True):
            high = None if pair is None else pair[1]
            if high is None or raw is None:
                return False
            within = float(high) - float(raw) <= (width + 2) * (1 + 1e-9)
            if not within and not float(high) <= 0:  # an end that is no number agrees with nothing
                return False
    return True


def combine(
    answers: Mapping[str, Answer], missing: Mapping[str, str], *, confidence: Fraction,
    disjoint: bool, key: str, records: Mapping[str, Any],
) -> Combined:  # fmt: skip
    """Totals over nodes that answered the same question (`answers_it`)."""
    releases = {name: answer.release for name, answer in answers.items()}
    first = next(iter(releases.values()))
    tables = [_by_group(release) for release in releases.values()]
    groups = list(dict.fromkeys(group for table in tables for group in table))
    shared = [group for group in groups if all(group in table for table in tables)]
    numbers = [name for name in first.columns if name not in first.keys]
    parts = {name: [one.columns[name] for one in answers.values()] for name in numbers}
    widths = {name: _width(parts[name], confidence) for name in numbers}
    rows = []
    for group in shared:
        row: dict[str, Any] = dict(zip(first.keys, (value for _, value in group), strict=True))
        for name in numbers:
            cells = [table[group] for table in tables]
            counts = all(part.counts for part in parts[name])
            row |= _total(name, cells, list(releases.values()), widths[name], counts=counts)
        rows.append(row)
    return Combined(
        columns=tuple(first.columns), keys=tuple(first.keys), rows=tuple(rows),
        left_out=tuple(tuple(v for _, v in g) for g in groups if g not in shared),
        confidence=confidence, nodes=tuple(answers), missing=dict(missing),
        guarantee=_promised([one.guarantee for one in releases.values()], disjoint=disjoint),
        disjoint=disjoint, key=key, records=dict(records),
    )  # fmt: skip


def _width(columns: Sequence[Column], confidence: Fraction) -> Fraction:
    pieces = [piece for column in columns for piece in column.pieces]
    return width_of(pieces, confidence) if pieces else Fraction(0)


def _by_group(release: Any) -> dict[tuple[tuple[str, Any], ...], int]:
    """The place of each group, told by types and values of its keys."""
    places = [release.columns.index(key) for key in release.keys]
    return {
        tuple((type(row[place]).__name__, row[place]) for place in places): number
        for number, row in enumerate(release.rows)
    }


def _total(
    name: str, cells: Sequence[int], releases: Sequence[Any], width: Fraction, *, counts: bool
) -> dict[str, Any]:
    """A total of one column with its interval; counts stay whole, and are never negative."""
    place = releases[0].columns.index(name)
    raws = [
        release.raw[name][cell] if name in release.raw else release.rows[cell][place]
        for cell, release in zip(cells, releases, strict=True)
    ]
    if any(raw is None for raw in raws):
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    exact = sum((Fraction(raw) for raw in raws), Fraction(0))
    low, high = exact - width, exact + width
    if not counts:
        return {name: float(exact), f"{name}_low": _down(low), f"{name}_high": -_down(-high)}
    ends = (round(exact), math.floor(low), math.ceil(high))
    value, least, most = (max(end, 0) for end in ends)
    return {name: value, f"{name}_low": least, f"{name}_high": most}


def _down(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def _promised(guarantees: Sequence[Guarantee], *, disjoint: bool) -> Guarantee | None:
    relations = {one.neighbours for one in guarantees}
    if len(relations) > 1:
        return None
    if not disjoint:
        return compose.sequential(*guarantees)
    if relations == {"replace"}:  # her node stays the same, only her data in it are replaced
        found = compose.parallel(*(replace(one, neighbours="add_or_remove") for one in guarantees))
        return replace(found, neighbours="replace")
    return compose.parallel(*guarantees)

"""What was published once, in the units of the data: ranges, shares, quantiles, pictures; all free.

A `Published` is made of public numbers alone: what was measured (`discreet.publish`) and the axes.
So every question to it is post-processing of one release, and costs nothing. It can be written down
and read back (`to_json`, `from_json`); a stored release holds it, and `Published.of` takes it out.

Ends of a range that lie inside a cell. The value counts the part of the cell that is inside, as if
its people were spread evenly. The interval supposes nothing of that: its low end is the one of the
whole cells inside, its high end that of all cells that are touched.
Tested by tests/curator/test_published.py
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.release import Release
from discreet.curator.stored import read_json
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, probability, shown, whole
from discreet.privacy.compose import sequential
from discreet.privacy.guarantee import Guarantee, PureDP, epsilon_of
from discreet.privacy.loss import PureLoss
from discreet.publish.histogram import Histogram
from discreet.publish.measured import Answer
from discreet.publish.tree.measured import Measured
from discreet.query.cells import Axis, one_line

__all__ = ["Published", "question_of"]

SCHEMA = "discreet-published/1"
_COVERS = (
    "Intervals cover the noise, by the posterior of the counts: for counts that are unlike its "
    "prior they hold less often."
)
_NAMES = {"schema", "table", "where", "axes", "scale", "confidence", "asked_at", "measured"}
_MAYBE = {"found"}
_SHOWN = {1: (50,), 2: (16, 16), 3: (6, 6, 6)}
"""How fine the table of a release is, at most; the questions are answered as fine as measured."""
_DENSE = 1 << 22
"""Grids of more cells are never spread out."""
Span = tuple[Exact, Exact]
Array = NDArray[Any]


@dataclass(frozen=True)
class Published:
    """Counts of the cells of a grid over a table, published under one guarantee.

    Guarantee. `guarantee`, for everything that is ever computed from it.

    Attributes:
        table: what was counted.
        where: only rows for which this held; None for all.
        axes: what each axis is of.
        histogram: what was measured, and its reading, in cells.
        scale: how many units of the histogram are one row.
        confidence: of intervals, unless another is said.
        asked_at: when.
        found: what had to be found of the table before, in words, and the epsilon of that.
    """

    table: str
    where: str | None
    axes: tuple[Axis, ...]
    histogram: Histogram
    scale: int
    confidence: Fraction
    asked_at: datetime
    found: tuple[tuple[str, Fraction], ...] = ()

    @property
    def guarantee(self) -> Guarantee:
        """What was promised to each person, with what had to be found before."""
        own = self.histogram.guarantee
        return sequential(own, *(PureDP(epsilon, own.neighbours) for _, epsilon in self.found))

    def __repr__(self) -> str:
        of = " and ".join(map(str, self.axes))
        return f"<Published {self.table!r}: {of}; {self.guarantee}>"

    def total(self, *, confidence: Exact | None = None) -> Answer:
        """How many are in all cells."""
        return self.rectangle(*((a.low, a.high) for a in self.axes), confidence=confidence)

    def range(self, low: Exact, high: Exact, *, confidence: Exact | None = None) -> Answer:
        """How many have low <= value < high (up to the end of the axis: <=), on one axis."""
        self._line()
        return self.rectangle((low, high), confidence=confidence)

    def rectangle(self, *spans: Span, confidence: Exact | None = None) -> Answer:
        """How many are inside of a span (low, high) on each axis.

        Args:
            spans: for each axis where it begins and ends, in the units of the data.
            confidence: of the interval.
        """
        level = self._level(confidence)
        places = self._places(spans)
        inner = tuple((math.ceil(low), max(math.floor(high), math.ceil(low)))
                      for low, high in places)  # fmt: skip
        outer = tuple((math.floor(low), math.ceil(high)) for low, high in places)
        if inner == outer:
            return self._unscaled(self.histogram.rectangle(*outer, confidence=level))
        least = self.histogram.rectangle(*inner, confidence=level).low
        most = self.histogram.rectangle(*outer, confidence=level).high
        value = min(max(self._between(places), least), most)
        return self._unscaled(Answer(value, least, most, float(level)))

    def counts(self, boxes: Sequence[Sequence[Span]]) -> list[float]:
        """The values of many rectangles at once, without intervals: fast."""
        every = [self._places(spans) for spans in boxes]
        if math.prod(axis.bins for axis in self.axes) > _DENSE:
            return [self._between(places) / self.scale for places in every]
        ends = np.array(every, dtype=float).reshape(len(every), len(self.axes), 2)
        found = np.zeros(len(every))
        for corner in itertools.product((0, 1), repeat=len(self.axes)):
            sign = (-1) ** (len(corner) - sum(corner))
            found += sign * _interpolated(
                self._areas, [ends[:, i, c] for i, c in enumerate(corner)]
            )
        return [float(n) / self.scale for n in found]

    @cached_property
    def _areas(self) -> Array:
        """For every corner of a cell, how many are before it on all axes."""
        found = np.pad(self.histogram.cells(), [(1, 0)] * len(self.axes))
        for axis in range(found.ndim):
            np.cumsum(found, axis=axis, out=found)
        return found

    def cdf(self, value: Exact, *, confidence: Exact | None = None) -> Answer:
        """Which share is below a value, on one axis."""
        self._line()
        level, place = self._level(confidence), self.axes[0].place(value)
        ends = [self._share(cell, level) for cell in (math.floor(place), math.ceil(place))]
        part = float(place - math.floor(place))
        middle = ends[0].value * (1 - part) + ends[1].value * part
        return Answer(middle, ends[0].low, ends[1].high, float(level))

    def quantile(self, share: Exact, *, confidence: Exact | None = None) -> Answer:
        """A value below which this share is, on one axis; the interval has whole cells."""
        self._line()
        level, axis = self._level(confidence), self.axes[0]
        wanted = float(probability(share, name="share"))
        found = self.histogram.quantile(share, confidence=level)
        upto = np.array([self._share(n, level).value for n in (int(found.value),
                                                              int(found.value) + 1)])  # fmt: skip
        part = float(np.interp(wanted, upto, [0.0, 1.0])) if upto[1] > upto[0] else 0.5
        low, high = float(axis.edge(int(found.low))), float(axis.edge(int(found.high) + 1))
        value = float(axis.edge(int(found.value))) + part * float(axis.width)
        return Answer(min(max(value, low), high), low, high, found.confidence)

    def _share(self, cell: int, level: Fraction) -> Answer:
        if cell == 0:
            return Answer(0.0, 0.0, 0.0, float(level))
        return self.histogram.cdf(cell - 1, confidence=level)

    def rebin(self, *bins: int, confidence: Exact | None = None) -> Release:
        """A table of fewer and wider cells of equal width, with intervals.

        Args:
            bins: how many along each axis.
            confidence: of the intervals.
        """
        if len(bins) != len(self.axes):
            raise ParameterError("bins", bins, f"must be {len(self.axes)} numbers")
        coarse = [
            Axis(a.of, a.low, a.high, whole(n, name="bins", at_least=1, at_most=a.bins))
            for a, n in zip(self.axes, bins, strict=True)
        ]
        return self._table(coarse, self._level(confidence))

    @cached_property
    def release(self) -> Release:
        """A table that people can read, with everything else inside: it can be stored."""
        finest = _SHOWN[len(self.axes)]
        coarse = [
            Axis(a.of, a.low, a.high, _coarser(a.bins, most))
            for a, most in zip(self.axes, finest, strict=True)
        ]
        return self._table(coarse, self.confidence)

    def plot(self, path: str | Path | None = None) -> Any:
        """A chart: bars with intervals on one axis, a heat map on two; a path saves it."""
        if len(self.axes) > 2:
            raise UnsupportedError("three axes have no picture: take rebin(...) or rectangles")
        return self.release.plot(path=path)

    def _table(self, axes: Sequence[Axis], level: Fraction) -> Release:
        names = _labels(axes)
        rows, ends = [], []
        for cell in itertools.product(*(range(axis.bins) for axis in axes)):
            spans = [(a.edge(n), a.edge(n + 1)) for a, n in zip(axes, cell, strict=True)]
            found = self.rectangle(*spans, confidence=level)
            rows.append((*(_plain(low) for low, _ in spans), round(found.value, 1)))
            ends.append((math.floor(10 * found.low) / 10, math.ceil(10 * found.high) / 10))
        widths = ", ".join(f"{n}: {_plain(a.width)}" for n, a in zip(names, axes, strict=True))
        of_all = self.guarantee.neighbours
        before = (PureLoss(epsilon=epsilon, neighbours=of_all) for _, epsilon in self.found)
        return Release(
            columns=(*names, "n"),
            keys=names,
            rows=tuple(rows),
            intervals={"n": tuple(ends)},
            raw={},
            guarantee=self.guarantee,
            losses=(self.histogram.privacy_loss, *before),
            sql=self.question,
            mechanisms={"n": f"an adaptive tree of {self._noise} noise, read by its posterior"},
            confidence=level,
            covers=_COVERS,
            notes=(
                *(note for note, _ in self.found),
                f"each row begins a cell; widths: {widths}",
            ),
            asked_at=self.asked_at,
            published=self.to_json(),
        )

    @property
    def _noise(self) -> str:
        pure = isinstance(self.histogram.guarantee, PureDP)
        return "geometric" if pure else "discrete Gaussian"

    @property
    def question(self) -> str:
        """What was published, in SQL."""
        return question_of(self.table, self.where, self.axes)

    # inside

    def _line(self) -> None:
        if len(self.axes) != 1:
            raise UnsupportedError("this is for one axis; ask for a rectangle")

    def _level(self, confidence: Exact | None) -> Fraction:
        if confidence is None:
            return self.confidence
        return probability(confidence, name="confidence")

    def _places(self, spans: Sequence[Span]) -> list[tuple[Fraction, Fraction]]:
        if len(spans) != len(self.axes):
            raise ParameterError("spans", len(spans), f"must be {len(self.axes)} pairs (low, high)")
        found = []
        for axis, span in zip(self.axes, spans, strict=True):
            low, high = (axis.place(end) for end in span)
            if low > high:
                raise ParameterError("range", tuple(map(str, span)), "must rise: (low, high)")
            found.append((low, high))
        return found

    def _between(self, places: Sequence[tuple[Fraction, Fraction]]) -> float:
        """The posterior mean of a box whose ends may lie inside of cells: linear in each end."""
        ends = [
            [(math.floor(x), 1 - float(x % 1)), (math.ceil(x), float(x % 1))]
            for pair in places
            for x in pair
        ]
        boxes, weights = [], []
        for corner in itertools.product(*ends):
            weight = math.prod(part for _, part in corner)
            cells = [at for at, _ in corner]
            pairs = list(zip(cells[::2], cells[1::2], strict=True))
            if weight > 0:  # within one cell the upper end may come first: then it is taken off
                boxes.append([sorted(pair) for pair in pairs])
                weights.append(weight * math.prod(1 if low <= high else -1 for low, high in pairs))
        found = self.histogram.counts(np.array(boxes))
        return max(float(np.dot(weights, found)), 0.0)

    def _unscaled(self, found: Answer) -> Answer:
        s = self.scale
        return Answer(found.value / s, found.low / s, found.high / s, found.confidence)

    # stored

    def to_json(self) -> str:
        """Everything, as JSON text; `from_json` reads it back."""
        return json.dumps({
            "schema": SCHEMA, "table": self.table, "where": self.where,
            "axes": [axis.to_dict() for axis in self.axes], "scale": self.scale,
            "confidence": str(self.confidence), "asked_at": self.asked_at.isoformat(),
            "measured": self.histogram.measured.to_dict(),
            **({"found": [[note, str(e)] for note, e in self.found]} if self.found else {}),
        }, allow_nan=False)  # fmt: skip

    @classmethod
    def from_json(cls, source: str | bytes | Path) -> Published:
        """Read `to_json` back, from its text or a file."""
        return cls.from_dict(read_json(source))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Published:
        """Read it back from plain values; what is not known is refused."""
        if values.get("schema") != SCHEMA or set(values) - _MAYBE != _NAMES:
            raise ParameterError("published", values.get("schema"), f"must have the form {SCHEMA}")
        try:
            made = cls(
                table=_text(values["table"]),
                where=None if values["where"] is None else _text(values["where"]),
                axes=tuple(map(Axis.from_dict, values["axes"])),
                histogram=Histogram(Measured.from_dict(values["measured"])),
                scale=whole(values["scale"], name="scale", at_least=1, at_most=1 << 62),
                confidence=probability(values["confidence"], name="confidence"),
                asked_at=datetime.fromisoformat(values["asked_at"]),
                found=tuple((_text(note), epsilon_of(e)) for note, e in values.get("found", ())),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, ParameterError):
                raise
            problem = f"does not have the form {SCHEMA} ({type(error).__name__})"
            raise ParameterError("published", None, problem) from error
        if tuple(axis.bins for axis in made.axes) != made.histogram.shape:
            raise ParameterError("published", None, "must have the axes of what was measured")
        return made

    @classmethod
    def of(cls, release: Release) -> Published:
        """What a stored release holds."""
        if release.published is None:
            raise UnsupportedError("this release answers one question; it is no publication")
        made = cls.from_json(release.published)
        if made.guarantee != release.guarantee:
            raise ParameterError("published", None, "must have the guarantee of its release")
        return made


def question_of(table: str, where: str | None, axes: Sequence[Axis]) -> str:
    """A publication in SQL: what is counted, and where the cells are."""
    places = [f"WIDTH_BUCKET({a.of}, {shown(a.low)}, {shown(a.high)}, {a.bins})" for a in axes]
    kept = "" if where is None else f" WHERE {where}"
    by = ", ".join(places)
    return " ".join(("SELECT", f"{by},", "COUNT(*) AS n FROM", f"{table}{kept}", "GROUP BY", by))


def _interpolated(values: Array, at: Sequence[Array]) -> Array:
    """An array between its points: linear along each axis."""
    low = [np.floor(x).astype(np.int64) for x in at]
    found = np.zeros(len(at[0]))
    for corner in itertools.product((0, 1), repeat=len(at)):
        weight, index = np.ones(len(at[0])), []
        for x, floor, end, size in zip(at, low, corner, values.shape, strict=True):
            weight *= x - floor if end else 1 - (x - floor)
            index.append(np.minimum(floor + end, size - 1))
        found += weight * values[tuple(index)]
    return found


def _coarser(bins: int, most: int) -> int:
    """A number of equal cells, up to `most`: one that divides, unless that is much less."""
    found = next(n for n in range(min(bins, most), 0, -1) if bins % n == 0)
    return found if 2 * found >= most or bins <= most else most


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ParameterError("published", type(value).__name__, "must hold text where words belong")
    one_line(value, "published")
    return value


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _labels(axes: Sequence[Axis]) -> tuple[str, ...]:
    """Different names for the columns of a table."""
    found: list[str] = []
    for i, axis in enumerate(axes):
        found.append(axis.of if axis.of not in (*found, "n") else f"{axis.of} ({i + 1})")
    return tuple(found)

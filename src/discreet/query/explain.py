"""A question in words: what it asks, how far one person moves it, what it costs, how far off it is.

Everything here follows from the question and the owner's declaration; nothing is read and nothing
is spent.
Tested by tests/query/test_explain.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.errors import ParameterError, QueryError
from discreet.exact import Exact, positive, probability, shown, whole
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.sums import laplace_error
from discreet.query.blocks import Form
from discreet.query.kinds import said
from discreet.query.plan import Aggregate, Output, Plan, Post, PostAggregate, inside
from discreet.query.price import Measured, Priced, Target, priced
from discreet.query.reading import (
    count_form,
    error_of,
    half_width,
    narrow_law,
    rank_error,
    read,
    standard_deviation,
    sum_form,
)
from discreet.query.render import post_sql
from discreet.query.schema import PerPerson, PerRow, Schema
from discreet.query.stability import Stability, number_of_groups
from discreet.query.words import listed, visible

__all__ = [
    "Price",
    "PriceLine",
    "epsilon_for",
    "explained",
    "figure",
    "in_words",
    "least_epsilon",
    "mechanism_words",
    "moved",
    "price_of",
    "unit_words",
]

_SUPPOSES = "for a group of "
TYPICAL_ROWS = 1000
"""The number of rows in a group for which errors of means are shown, unless another is said."""


@dataclass(frozen=True, slots=True)
class PriceLine:
    """What to expect of one column of the answer.

    Attributes:
        name: the column.
        mechanism: its noise, in words.
        error: the expected absolute error; None where it depends on the data.
        half_width: of the interval; None for quantiles, whose note says how many ranks.
        note: what the figures suppose.
    """

    name: str
    mechanism: str
    error: float | None
    half_width: float | None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        told = {"name": self.name, "noise": self.mechanism, "error": self.error}
        return {**told, "within": self.half_width, "note": self.note}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """Read `to_dict` back."""
        error, within = (None if told[x] is None else float(told[x]) for x in ("error", "within"))
        return cls(str(told["name"]), str(told["noise"]), error, within, str(told["note"]))


@dataclass(frozen=True, slots=True)
class Price:
    """What a question costs, and how far off each number will be.

    Attributes:
        guarantee: what it costs.
        confidence: of the half-widths.
        groups: the number of public groups; None where keys are selected.
        lines: one for each column.
    """

    guarantee: str
    confidence: Fraction
    groups: int | None
    lines: tuple[PriceLine, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        told = {"guarantee": self.guarantee, "confidence": str(self.confidence)}
        return {**told, "groups": self.groups, "columns": [line.to_dict() for line in self.lines]}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """Read `to_dict` back; whatever else is told beside it is passed over."""
        level = probability(told["confidence"], name="confidence")
        groups = None if told["groups"] is None else int(told["groups"])
        lines = tuple(PriceLine.from_dict(one) for one in told["columns"])
        return cls(str(told["guarantee"]), level, groups, lines)

    def __getitem__(self, name: str) -> PriceLine:
        for line in self.lines:
            if line.name == name:
                return line
        names = ", ".join(line.name for line in self.lines)
        raise ParameterError("column", name, f"must be one of {names}")

    def __iter__(self) -> Iterator[PriceLine]:
        return iter(self.lines)

    def __str__(self) -> str:
        level = f"{float(self.confidence):.0%}"
        rows = [("number", "expected error", f"{level} within", "noise")]
        rows += [
            (visible(line.name), figure(line.error), figure(line.half_width), line.mechanism)
            for line in self.lines
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        table = [
            f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}" for a, b, c, d in rows
        ]
        notes = [f"{visible(line.name)}: {line.note}" for line in self.lines if line.note]
        return "\n".join([f"costs {self.guarantee}", *table, *notes])


def figure(value: float | None) -> str:
    """How far off a number is, as people write it."""
    if value is None:
        return "depends"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"


def mechanism_words(measured: Measured | None) -> str:
    """The noise of a block, in words."""
    if measured is None:
        return "none: the number of rows is public"
    if measured.block.what == "quantile":
        how = "two-level noisy histogram" if measured.noise else "permute-and-flip"
        return f"{how}, epsilon {shown(measured.epsilon)}"
    first = measured.noise[0]
    if isinstance(first, Gaussian):
        assert first.rho is not None  # noqa: S101 - made from a rho
        return f"discrete Gaussian, rho {shown(first.rho)}"
    name = "staircase" if isinstance(first, Staircase) else "geometric"
    return f"{name}, epsilon {shown(measured.epsilon)}"


def price_of(question: Priced, *, confidence: Exact = "0.95", rows: Exact | None = None) -> Price:
    """Expected error and half-width of every number; `rows` is the size of a group, for means."""
    level = probability(confidence, name="confidence")
    size = TYPICAL_ROWS if rows is None else whole(rows, name="rows", at_least=1)
    lines = [
        _line(output, question, level, size)
        for output in question.plan.outputs
        if any(inside(output.value))
    ]
    return Price(str(question.guarantee), level, number_of_groups(question.plan), tuple(lines))


def _line(output: Output, question: Priced, confidence: Fraction, rows: int) -> PriceLine:
    if not isinstance(output.value, PostAggregate):
        return PriceLine(output.name, _computed(output.value), None, None)
    wanted = output.value.aggregate
    measured = question.home[wanted]
    words = mechanism_words(measured)
    if measured is None:
        return PriceLine(output.name, words, 0.0, 0.0)
    if measured.block.what == "centred":
        unit = question.schema.unit
        rows = (unit.rows if isinstance(unit, PerRow) else None) or rows
        if wanted.function in ("sum", "mean"):
            return _centred_line(output.name, wanted, measured, confidence, rows)
    form = _linear(wanted, measured)
    if form is not None and wanted.function != "product":
        grid = float(measured.block.kind.grid) if wanted.function == "sum" else 1.0
        width = float(half_width(measured, form, confidence)) * grid
        return PriceLine(output.name, words, _expected(measured, form) * grid, width)
    if wanted.function == "quantile":
        assert wanted.level is not None  # noqa: S101 - every quantile has one
        ranks = float(rank_error(measured, wanted.level, confidence))
        return PriceLine(output.name, words, None, None, f"within {figure(ranks)} ranks")
    return _ratio_line(output.name, wanted, measured, confidence, rows)


def _computed(post: Post) -> str:
    """A function of numbers has no noise of its own, and its error is not known beforehand."""
    parts = dict.fromkeys(post_sql(PostAggregate(one)) for one in inside(post))
    told = listed(parts, 4)
    return f"computed from {told}; how far off it is can be told of these only: ask for them, too"


def _linear(wanted: Aggregate, measured: Measured) -> Form | None:
    """The form of a number that is linear in the cells."""
    if wanted.function in ("count", "people"):
        return count_form(wanted, measured)
    if wanted.function in ("sum", "product") and measured.block.what != "centred":
        return sum_form(measured)
    return None


def _centred_line(
    name: str, wanted: Aggregate, measured: Measured, confidence: Fraction, rows: int
) -> PriceLine:
    """Twice the sum has the noise of the one cell, and the number of rows is public."""
    over = 2 if wanted.function == "sum" else 2 * rows
    step = measured.block.kind.grid / over
    noise = measured.noise[0]
    error = noise.expected_absolute_error() * float(step)
    width = float(error_of(noise, confidence) * step)
    return PriceLine(name, mechanism_words(measured), error, width)


def _ratio_line(
    name: str, wanted: Aggregate, measured: Measured, confidence: Fraction, rows: int
) -> PriceLine:
    """At a group of this many rows with all values at the middle of their range."""
    cells = _middle_cells(measured, rows)
    found = read(wanted, measured, cells, confidence=confidence, rows=rows)
    if found.low is None or found.high is None:
        return PriceLine(name, mechanism_words(measured), None, None)
    width = (found.high - found.low) / 2
    if not math.isfinite(width):
        return PriceLine(name, mechanism_words(measured), None, None, "beyond the range of floats")
    note = f"{_SUPPOSES}{rows:,} rows around the middle of the range"
    return PriceLine(name, mechanism_words(measured), None, width, note)


def _middle_cells(measured: Measured, rows: int) -> list[int]:
    """The exact cells of rows whose t is D/2: the partition is 1/2, 1/2 or 1/4, 1/2, 1/4."""
    if measured.block.what == "centred":
        return [0]
    unit, weight = measured.block.cells[0].unit, rows * measured.scale
    shares = (2, 2) if measured.block.degree == 1 else (1, 2, 1)
    cells = [share * unit * weight // 4 for share in shares]
    return cells + [0] * (len(measured.block.cells) - len(cells))


def _expected(measured: Measured, form: Form) -> float:
    """E |noise| of a form, in whole rows or steps: exactly where noise is narrow."""
    used = [(f, n) for f, n in zip(form.factors, measured.noise, strict=True) if f]
    if len(used) == 1:
        factor, noise = used[0]
        return float(abs(factor)) * noise.expected_absolute_error() / measured.scale
    law = narrow_law(tuple(used))
    if law is not None:
        return float(law.distances @ law.masses) / law.steps / measured.scale
    if isinstance(used[0][1], Gaussian):
        return standard_deviation(measured, form) * math.sqrt(2 / math.pi)
    scales = np.array([float(abs(f)) * math.sqrt(n.variance / 2) for f, n in used])
    return laplace_error(scales) / measured.scale


def epsilon_for(
    plan: Plan,
    schema: Schema,
    *,
    within: Exact,
    confidence: Exact = "0.95",
    column: str | None = None,
    rows: Exact | None = None,
    delta: Exact | None = None,
) -> Decimal:
    """The least epsilon, to three digits, at which every number (or one column) is this accurate.

    Numbers whose error depends on the data (quantiles) are left out, unless nothing else is asked.
    A count that is rounded is this accurate when it is told, if that is 1 or more.
    """
    distance = positive(within, name="within")

    def met(epsilon: Fraction) -> bool:
        question = priced(plan, schema, Target(epsilon=epsilon, delta=delta))
        price = price_of(question, confidence=confidence, rows=rows)
        lines = [price[column]] if column is not None else price.lines
        if rows is None and any(line.note.startswith(_SUPPOSES) for line in lines):
            raise QueryError(
                "how far off a mean is depends on how many rows a group has: say rows=..., a "
                "public guess, or ask by epsilon"
            )
        rounded = _rounded(question) if distance >= 1 else ()
        widths = [
            math.ceil(line.half_width + 0.5) if line.name in rounded else line.half_width
            for line in lines
            if line.half_width is not None
        ]
        if not widths:
            raise ParameterError("within", within, "has no meaning for numbers of unknown error")
        return max(widths) <= distance

    return least_epsilon(met, within)


def _rounded(question: Priced) -> set[str]:
    """The counts that are read off weighted rows: they are rounded to whole numbers, and their
    intervals are told around these.
    """
    return {
        output.name
        for output in question.plan.outputs
        if isinstance(output.value, PostAggregate)
        and output.value.aggregate.function in ("count", "people")
        and (home := question.home[output.value.aggregate]) is not None
        and home.scale > 1
    }


def least_epsilon(met: Callable[[Fraction], bool], within: object) -> Decimal:
    """The smallest d * 10^e with three digits for which `met` holds."""
    steps = [Fraction(d, 100) * Fraction(10) ** e for e in range(-6, 3) for d in range(100, 1000)]
    low, high = 0, len(steps) - 1
    if not met(steps[high]):
        raise ParameterError("within", within, "is out of reach, even at epsilon 999")
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _holds(met, steps[middle]) else (middle + 1, high)
    found = steps[low]  # a decimal of three digits: the division is exact
    return Decimal(found.numerator) / Decimal(found.denominator)


def _holds(met: Callable[[Fraction], bool], epsilon: Fraction) -> bool:
    """An epsilon that is refused (too small to select keys with) is not enough."""
    try:
        return met(epsilon)
    except ParameterError:
        return False


def explained(
    question: Priced, *, statement: str | None, sql: str, confidence: Exact = "0.95",
    rows: Exact | None = None,
) -> str:  # fmt: skip
    """The whole question in words; without a statement for somebody who may not see what runs."""
    moves = [_block(measured) for measured in question.measured]
    if question.selection is not None:
        keys = question.selection
        sure = 2 * keys.threshold + 1 if question.counts_keys else keys.sure_from
        moves.append(f"keys are selected, shown surely from {sure} people on")
    price = price_of(question, confidence=confidence, rows=rows)
    return in_words(sql, question.schema, moves, price, statement)


def in_words(
    sql: str, schema: Schema, moves: Sequence[str], price: Price, statement: str | None
) -> str:
    """A question, how far one person moves its numbers, what they cost, and what will run."""
    lines = ["Question", _indent(sql), "", "One person", _indent(unit_words(schema))]
    lines += map(_indent, moves)
    groups = price.groups
    many = "selected groups" if groups is None else f"{groups:,} group{'s' if groups != 1 else ''}"
    lines += ["", f"Answer ({many})", _indent(str(price))]
    if statement is not None:
        lines += ["", "Statement", _indent(statement)]
    return "\n".join(lines)


def _indent(text: str) -> str:
    return "\n".join(f"  {visible(line)}" for line in text.splitlines())


def unit_words(schema: Schema) -> str:
    """What a person is, and what the guarantee is for."""
    unit = schema.unit
    whose = f"is a value of {unit.column}" if isinstance(unit, PerPerson) else "is a row"
    how = "added or removed" if unit.neighbours == "add_or_remove" else "replaced"
    return f"{whose}; the guarantee is for one who is {how}"


def moved(what: str, stability: Stability) -> str:
    """How far one person moves some number of rows, and why."""
    most = Fraction(stability.l1, stability.bounding.scale)
    return f"{what} moves by at most {shown(most)}: {stability.why}"


def _block(measured: Measured) -> str:
    block = measured.block
    if block.operand is None:
        return moved(f"the number of {block.what}", measured.stability)
    what = "count, sum, mean and variance" if block.degree == 2 else _WHAT[block.what]
    most = Fraction(measured.stability.l1, measured.scale)
    rows = f"{shown(most)} row{'s' if most != 1 else ''}"
    kind = said(block.operand.kind)
    return f"{what} of {kind} moves by at most {rows}: {measured.stability.why}"


_WHAT = {
    "rows": "count",
    "sum": "sum",
    "centred": "sum around the middle",
    "value": "count, sum and mean",
    "quantile": "quantiles",
}

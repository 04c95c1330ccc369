"""Which private numbers a question needs: several aggregates share one measurement.

Partition of unity. One row in [low, high], n - low = t in {0..D}, is split into parts that are
never negative and always add up to the same total:

    count only        1
    sums and means    t, D - t                             adding up to D
    variances         t^2, 2 t (D - t), (D - t)^2          adding up to D^2
    a missing value   a cell of its own, worth the same total

Theorem. Let every cell j have independent noise with P(z) proportional to exp(-rate |z| / unit_j).
If the rows of one person have the total weight w at most, then adding or removing her costs at most
rate w. Proof. The log ratio of the laws is at most the sum over cells of rate |change_j| / unit_j,
and over the cells of one row |change_j| / unit_j adds up to its weight, because the parts are never
negative and add up to the unit. Rows add up to w. (Replacing her costs twice that.)

So count, sum and mean of a column, and with the third cell its variance, cost *one* share of
epsilon, not one each: the count comes free with the sum. With two shares of epsilon/2 instead, the
variance of the count would be 2 (2/epsilon)^2 = 8/epsilon^2; here it is that of two cells,
4/epsilon^2, and the centred sum has half the variance too. For a sum alone a plain noisy sum is
taken: in the limit of fine grids it is never worse.
Tested by tests/query/test_blocks.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query import total
from discreet.query.expr import Expr, FloorDivide, Linear
from discreet.query.kinds import Flag, Number, said
from discreet.query.plan import Aggregate
from discreet.query.request import Total

__all__ = ["MOST_BINS", "Block", "Cell", "Form", "blocks_of"]

MOST_BINS = 1024
"""A quantile is one of at most this many steps of the declared range."""
BRANCHES = 32
"""Many quantiles are read off a histogram of up to 32 blocks of 32 bins."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One private integer per group: a whole combination of the block's exact totals.

    `unit` is how far one row of weight 1 can move it, and at the same time its share of the
    partition: over the cells of a block, |change| / unit adds up to at most 1 for one row. All
    cells of a block have the same unit, so that with Gaussian noise they are one vector of integers
    with one sigma.
    """

    name: str
    unit: int
    of: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """A number that is read off the cells: the sum of factor * cell, exactly."""

    factors: tuple[Fraction, ...]

    def at(self, cells: Iterable[int]) -> Fraction:
        """Its value at these cells."""
        below = math.lcm(*(f.denominator for f in self.factors))
        parts = zip(self.factors, cells, strict=True)
        return Fraction(sum(f.numerator * (below // f.denominator) * n for f, n in parts), below)


@dataclass(frozen=True, slots=True)
class Block:
    """Numbers that are measured together, with one share of the budget.

    Attributes:
        what: "rows", "people", "known" (a public number of rows: no cells), "sum" (one plain sum),
            "centred" (a sum of a public number of rows), "value" (a partition of unity) or
            "quantile".
        operand: of what, for a value.
        where: FILTER: only these rows.
        degree: of the partition: 1 for sums, 2 for variances.
        totals: what the engine adds up.
        cells: what gets noise.
        forms: what can be read off, in steps of the operand's grid: "rows", "count", "sum", and of
            t = n - low "first" (its sum) and "squares"; "centred" is the sum of 2t - D.
        levels: of the quantiles.
    """

    what: str
    operand: Expr | None
    where: Expr | None
    degree: int
    totals: tuple[Total, ...]
    cells: tuple[Cell, ...]
    forms: Mapping[str, Form] = field(compare=False)
    levels: tuple[Fraction, ...] = ()

    @property
    def kind(self) -> Number:
        """The range of the operand."""
        return total.number(self.operand, "this aggregate") if self.operand else Number(1, 1)


def blocks_of(
    wanted: Iterable[Aggregate], *, rows_are_people: bool, known_rows: int | None = None
) -> dict[Aggregate, Block]:
    """The block that each aggregate is read from; equal blocks are one measurement.

    Args:
        wanted: the aggregates of a question.
        rows_are_people: whether every row is a person of its own.
        known_rows: the number of rows, where it is public and the question is about all of them.
    """
    asked = [(a, _sameness(a, rows_are_people=rows_are_people)) for a in wanted]
    found: dict[Aggregate, Block] = {}
    for where in dict.fromkeys(plain.where for _, plain in asked):
        here = [(a, plain) for a, plain in asked if plain.where == where]
        known = known_rows if where is None else None
        found |= _under_one_filter(here, where, known)
    return {a: found[a] for a, _ in asked}


def _sameness(wanted: Aggregate, *, rows_are_people: bool) -> Aggregate:
    """The same number in the plainest words."""
    if wanted.function == "people":
        if wanted.where is not None:
            raise QueryError("COUNT(DISTINCT person) takes no FILTER; put the condition in WHERE")
        return Aggregate("count") if rows_are_people else wanted
    if wanted.operand is None:
        return wanted
    operand = wanted.operand
    if isinstance(operand.kind, Flag) or wanted.function != "count":
        operand = total.flag_number(operand)
    if wanted.function == "count":
        return Aggregate("count", operand if operand.kind.nullable else None, wanted.where)
    if wanted.function in ("product", "geometric_mean"):
        return Aggregate("mean", total.logarithm(operand), wanted.where)
    return Aggregate(wanted.function, operand, wanted.where, wanted.level)


_DEGREES = {"sum": 1, "mean": 1, "variance": 2, "stddev": 2}


def _under_one_filter(
    here: list[tuple[Aggregate, Aggregate]], where: Expr | None, known: int | None
) -> dict[Aggregate, Block]:
    degrees: dict[Expr, int] = {}
    for _, plain in here:
        if plain.function in _DEGREES and plain.operand is not None:
            degrees[plain.operand] = max(degrees.get(plain.operand, 0), _DEGREES[plain.function])
    rows_wanted = known is None and any(
        p.function == "count" and p.operand is None for _, p in here
    )
    made: dict[Expr, Block] = {}
    for operand, degree in degrees.items():
        carries = rows_wanted and not made
        made[operand] = _value_block(here, operand, where, degree, known, carries=carries)
    carrier = next((b for b in made.values() if "rows" in b.forms), None)
    if known is not None:
        carrier = Block("known", None, where, 0, (), (), {})
    return {a: _block_for(plain, made, carrier, where, here) for a, plain in here}


def _block_for(
    plain: Aggregate,
    made: Mapping[Expr, Block],
    carrier: Block | None,
    where: Expr | None,
    here: list[tuple[Aggregate, Aggregate]],
) -> Block:
    match plain.function:
        case "people":
            return _people()
        case "quantile":
            same = (p for _, p in here if p.function == "quantile" and p.operand == plain.operand)
            levels = {p.level for p in same if p.level is not None}
            return _quantile(plain.operand, where, tuple(sorted(levels)))
        case "count" if plain.operand is None:
            return carrier or _rows(None, where)
        case "count":
            block = made.get(plain.operand) if plain.operand is not None else None
            return block if block and "count" in block.forms else _rows(plain.operand, where)
        case _:
            assert plain.operand is not None  # noqa: S101 - the parser gives every other one
            return made[plain.operand]


def _rows(operand: Expr | None, where: Expr | None) -> Block:
    """The number of rows, or of those where the operand is there."""
    form = {"rows" if operand is None else "count": Form((Fraction(1),))}
    totals = (Total(operand, where=where),)
    return Block("rows", operand, where, 0, totals, (Cell("rows", 1, (1,)),), form)


def _people() -> Block:
    form = {"rows": Form((Fraction(1),))}
    return Block("people", None, None, 0, (), (Cell("people", 1, (1,)),), form)


def _quantile(operand: Expr | None, where: Expr | None, levels: tuple[Fraction, ...]) -> Block:
    if operand is None or not isinstance(operand.kind, Number):
        raise QueryError("a quantile needs a number")
    bins = _binned(operand)
    totals = (Total(bins, where=where),)
    return Block("quantile", operand, where, 0, totals, (Cell("rows", 1, (1,)),), {}, levels)


def bin_step(kind: Number) -> int:
    """How many steps of the grid one bin of a quantile is wide."""
    return -(-(kind.width + 1) // MOST_BINS)


def number_of_bins(kind: Number) -> int:
    """How many bins a quantile is chosen from."""
    return kind.width // bin_step(kind) + 1


def _binned(operand: Expr) -> Expr:
    """The bin that a value falls in, from 0 on."""
    kind = total.number(operand, "a quantile")
    step = bin_step(kind)
    shifted = Number(0, kind.width, nullable=kind.nullable)
    moved: Expr = Linear(((1, operand),), -kind.low, shifted)
    if step == 1:
        return moved
    return FloorDivide(moved, step, Number(0, kind.width // step, nullable=kind.nullable))


def _value_block(
    here: list[tuple[Aggregate, Aggregate]],
    operand: Expr,
    where: Expr | None,
    degree: int,
    known: int | None,
    *,
    carries: bool,
) -> Block:
    kind = total.number(operand, "this aggregate")
    functions = {p.function for _, p in here if p.operand == operand} - {"quantile"}
    if kind.width == 0:
        raise QueryError(f"SUM and AVG need a value that can differ, and this is {said(kind)}")
    if degree == 1 and known is not None and not kind.nullable:
        return _centred(operand, where, kind)
    if functions == {"sum"} and not carries:
        return _plain_sum(operand, where, kind)
    return _partition(operand, where, degree, missing=carries and kind.nullable, rows=carries)


def _plain_sum(operand: Expr, where: Expr | None, kind: Number) -> Block:
    """One noisy sum: for a sum alone no partition is better, where noise is wide against a step.

    The partition reads the sum as high A/D + low B/D, with variance proportional to
    high^2 + low^2; the plain sum has max(high^2, low^2).
    """
    cell = Cell("sum", max(abs(kind.low), abs(kind.high)), (1,))
    return Block(
        "sum", operand, where, 1, (Total(operand, 1, 0, where),), (cell,),
        {"sum": Form((Fraction(1),))},
    )  # fmt: skip


def _centred(operand: Expr, where: Expr | None, kind: Number) -> Block:
    """Twice the sum around the middle, 2t - D in [-D, D]: for a public number of rows."""
    totals = (Total(operand, 0, 0, where), Total(operand, 1, kind.low, where))
    cell = Cell("centred", kind.width, (-kind.width, 2))
    return Block("centred", operand, where, 1, totals, (cell,), {"centred": Form((Fraction(1),))})


def _partition(
    operand: Expr, where: Expr | None, degree: int, *, missing: bool, rows: bool
) -> Block:
    kind = total.number(operand, "this aggregate")
    width = kind.width
    totals = [Total(operand, power, kind.low if power else 0, where) for power in range(degree + 1)]
    one, zero = Fraction(1), Fraction(0)
    count: tuple[Fraction, ...]
    first: tuple[Fraction, ...]
    if degree == 1:
        cells = [Cell("high", width, (0, 1)), Cell("low", width, (width, -1))]
        count, first = (one / width, one / width), (one, zero)
        squares = None
    else:
        unit = width * width
        cells = [
            Cell("high", unit, (0, 0, 1)),
            Cell("middle", unit, (0, 2 * width, -2)),
            Cell("low", unit, (unit, -2 * width, 1)),
        ]
        count, first = (one / unit,) * 3, (one / width, one / (2 * width), zero)
        squares = (one, zero, zero)
    if missing:
        totals.append(Total(where=where))
        cells = [Cell(c.name, c.unit, (*c.of, 0)) for c in cells]
        unit = cells[0].unit
        cells.append(Cell("missing", unit, (-unit, *(0,) * degree, unit)))
    pad = (zero,) * missing
    forms = {"count": Form((*count, *pad)), "first": Form((*first, *pad))}
    if squares is not None:
        forms["squares"] = Form((*squares, *pad))
    if rows:
        forms["rows"] = Form((*count, *(count[:1] * missing)))
    return Block("value", operand, where, degree, tuple(totals), tuple(cells), forms)

"""How far one person can move the numbers of a block, for each way of bounding people.

All changes are counted in units of the block's cells (`discreet.query.blocks`): a row of weight 1
moves a block by 1 in all. Let m be the rows of a person that count in one group and k the groups
that she counts in, as the owner declared.

Theorem 1 (sampling, clamping). At most k groups change, each by at most m: L1 <= k m and
L2^2 <= k m^2.
Proof. What is kept of a person depends on her own rows, the key and nothing else, so taking her
away changes nothing of what is kept of others. Of her there are at most m rows in each of at most k
groups; or totals clamped to those of m rows, which keeps both parts of a partition of degree 1
non-negative and their sum at m units at most.

Theorem 2 (weighting). With weights floor(S min(1, C/R)) for a person with R rows, L1 <= S C over
all groups together, and so L2 <= S C.
Proof. R floor(S C/R) <= S C; for R <= C the weights are S and R S <= S C. The weights of others do
not depend on her.

Corollary (why weighting is the first choice). For C = k m it has the L1 bound of sampling, hence
the same noise, and keeps at least as much of everybody, up to R/S rows: whom sampling keeps
whole has R <= k m, so that weighting keeps her whole too; of anybody else sampling keeps at most
k m rows, and weighting the weight R floor(S C/R)/S > C - R/S. Where Gaussian noise is used,
sampling has the smaller L2 bound m sqrt(k) against k m, and is taken if that gives less noise.

Replacing a person is taking one away and adding another: L1 doubles; L2^2 doubles where the parts
are never negative (|u - v|^2 <= |u|^2 + |v|^2 for u, v >= 0), else L2 doubles. One single number
that is never negative does not move further than before: |u - v| <= max(u, v). Groups of h people:
both are multiplied by h.

The row of the others adds up groups that are not listed. It changes no L1; but all k groups of a
person may end in it, so that L2 <= k m; and k is then what was declared, not the number of rows of
the answer.
Tested by tests/query/test_stability.py, tests/engines/test_sensitivity.py
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import QueryError
from discreet.query.blocks import Block
from discreet.query.plan import Plan
from discreet.query.request import Bounding, Way
from discreet.query.schema import PerPerson, PerRow, Schema

__all__ = ["Stability", "key_bound", "number_of_groups", "stabilities"]

_WORD = 61
"""Bits that a sensitivity may take."""
_FINE = 20
"""Weights are fine enough that a person of R rows loses at most R/2^20 of her share."""


@dataclass(frozen=True, slots=True)
class Stability:
    """How far one person (or household) moves one block, in its units times `bounding.scale`.

    Attributes:
        bounding: how it is enforced.
        l1: the sum of all changes, at most.
        move: how far one number moves at most, and
        changes: how many numbers do, for L2^2 <= changes move^2.
        one: whether she moves one single number.
        why: how it follows, in words.
    """

    bounding: Bounding
    l1: int
    move: int
    changes: int
    one: bool
    why: str


def number_of_groups(plan: Plan) -> int | None:
    """The number of public groups; None where keys have to be selected."""
    if plan.combinations is not None:
        return len(plan.combinations)
    count = 1
    for grouping in plan.groupings:
        if grouping.keys is None:
            return None
        count *= len(grouping.keys)
    return count


def stabilities(block: Block, plan: Plan, schema: Schema) -> tuple[Stability, ...]:
    """The proved ways of bounding that the declaration allows, the best for L1 first."""
    unit = schema.unit
    if isinstance(unit, PerRow):
        return (_per_row(block, plan, unit),)
    if block.what == "people":
        return _people(block, plan, unit)
    return _rows(block, plan, unit)


def _per_row(block: Block, plan: Plan, unit: PerRow) -> Stability:
    why = "every row is one person" + _unit_words(unit)
    return _made(block, plan, unit, Bounding("none"), rows=1, groups=1, why=why)


def _unit_words(unit: PerRow | PerPerson) -> str:
    words = "" if unit.neighbours == "add_or_remove" else ", who may be replaced"
    return words + ("" if unit.together == 1 else f", in groups of {unit.together} people")


def _made(
    block: Block,
    plan: Plan,
    unit: PerRow | PerPerson,
    bounding: Bounding,
    *,
    rows: int,
    groups: int,
    why: str,
) -> Stability:
    """Theorem 1 for `rows` in each of `groups` groups; theorem 2 for groups = 1, rows = C."""
    whole = rows * groups * bounding.scale * unit.together
    move = rows * bounding.scale * unit.together
    signed = block.what == "centred" or (block.what == "sum" and block.kind.low < 0)
    spread = bounding.way == "weight" or groups > 1 or rows * unit.together > 1
    replaced = unit.neighbours == "replace"
    one = (
        len(block.cells) == 1
        and block.what != "quantile"  # whose cells are bins
        and (not plan.groupings or not (spread or replaced))
    )
    changes = groups
    if replaced and signed:
        whole, move = whole * 2, move * 2
    elif replaced and not one:
        whole, changes = whole * 2, changes * 2
    if plan.other and groups > 1:  # several of her groups may end in the one row of the others
        move, changes = move * groups, changes // groups
    if max(whole, move) * max(cell.unit for cell in block.cells) > 1 << _WORD + 1:
        raise _too_wide()
    return Stability(bounding, whole, move, changes, one, why)


def _too_wide() -> QueryError:
    return QueryError(
        "sums over so wide a range with so many rows of one person do not fit 64 bits; "
        "declare tighter bounds, a coarser grid or fewer rows"
    )


def _rows(block: Block, plan: Plan, unit: PerPerson) -> tuple[Stability, ...]:
    most = unit.max_rows
    if most is None:
        raise QueryError(
            f"nothing bounds how many rows one person has: the owner should declare "
            f"dp.PerPerson({unit.column!r}, max_rows=...); COUNT(DISTINCT {unit.column}) needs none"
        )
    if most == "find":
        raise QueryError(
            "max_rows has still to be found, which a question does and a publication does not: ask "
            "COUNT(*) first, or let the owner declare max_rows"
        )
    groups = _groups(plan, unit.max_groups)
    if unit.trusted:
        why = f"trusted: at most {_said(most, 1)} of one person" + _unit_words(unit)
        return (_made(block, plan, unit, Bounding("none"), rows=most, groups=1, why=why),)
    bits = _weight_bits(block, unit, most * groups)
    ways = [_weighted(block, plan, unit, most * groups, bits)] if bits else []
    if block.what != "quantile" and (unit.max_groups is not None or not plan.groupings):
        ways += [_kept(block, plan, unit, "sample", most, groups)]
        if block.degree <= 1 and block.what != "sum":
            ways += [_kept(block, plan, unit, "clamp", most, groups)]
    if not ways or (unit.bounding == "weight" and not bits):
        raise _too_wide()
    return _wanted(tuple(ways), unit, block)


def _groups(plan: Plan, most: int | None) -> int:
    """In how many groups a person counts at most; 1 if `max_rows` is for the whole question.

    There are no more than the answer has, unless a row of the others adds up groups beyond those.
    """
    public = number_of_groups(plan)
    if not plan.groupings or most is None:
        return 1
    return most if public is None or plan.other else min(most, public)


def _said(rows: int, groups: int) -> str:
    each = f"{rows} row{'s' if rows > 1 else ''}"
    return each if groups == 1 else f"{each} in each of {groups} groups"


def _wanted(ways: tuple[Stability, ...], unit: PerPerson, block: Block) -> tuple[Stability, ...]:
    if unit.bounding == "best" or block.what == "quantile":
        return ways
    found = tuple(way for way in ways if way.bounding.way == unit.bounding)
    if not found:
        raise QueryError(
            f"the owner wants people bounded by {unit.bounding!r}, which needs max_groups=... for "
            "grouped questions, and cannot clamp plain sums or variances; "
            "bounding='best' would weight rows here"
        )
    return found


def _weight_bits(block: Block, unit: PerPerson, most: int) -> int:
    """How fine the weights can be; 0 where there is no room for any."""
    largest = max(cell.unit for cell in block.cells)
    taken = (most * unit.together * 2).bit_length() + largest.bit_length()
    return max(min(_WORD - taken, max(_FINE - most.bit_length() + 1, 1)), 0)


def _weighted(block: Block, plan: Plan, unit: PerPerson, most: int, bits: int) -> Stability:
    bounding = Bounding("weight", most, None, 1 << bits)
    why = f"a person's rows are weighted so that they count as at most {most} in all" + _unit_words(
        unit
    )
    return _made(block, plan, unit, bounding, rows=most, groups=1, why=why)


def _kept(block: Block, plan: Plan, unit: PerPerson, way: Way, rows: int, groups: int) -> Stability:
    bounding = Bounding(way, rows, groups if plan.groupings else None)
    verb = "chosen by a keyed hash" if way == "sample" else "and totals are clamped to that"
    why = f"at most {_said(rows, groups)} of a person count, {verb}" + _unit_words(unit)
    return _made(block, plan, unit, bounding, rows=rows, groups=groups, why=why)


def key_bound(plan: Plan, unit: PerPerson) -> int:
    """How many groups of a question a person can be in: what selecting keys has to know."""
    declared = unit.max_groups
    if declared is None and isinstance(unit.max_rows, int):
        declared = unit.max_rows
    public = None if plan.other else number_of_groups(plan)
    if declared is None and public is None:
        raise QueryError(
            "people in groups that are not all public can be counted only if it is known in how "
            "many groups one person is: the owner should declare "
            f"dp.PerPerson({unit.column!r}, max_groups=...)"
        )
    return min(n for n in (declared, public) if n is not None)


def _people(block: Block, plan: Plan, unit: PerPerson) -> tuple[Stability, ...]:
    if not plan.groupings:
        why = "one person is counted once" + _unit_words(unit)
        return (_made(block, plan, unit, Bounding("none"), rows=1, groups=1, why=why),)
    groups = key_bound(plan, unit)
    if unit.trusted or (groups == number_of_groups(plan) and not plan.other):
        why = f"one person is in at most {groups} groups" + _unit_words(unit)
        return (_made(block, plan, unit, Bounding("none"), rows=1, groups=groups, why=why),)
    bits = max(_FINE - groups.bit_length() + 1, 1)
    weighted = _made(
        block, plan, unit, Bounding("weight", None, groups, 1 << bits), rows=groups, groups=1,
        why=f"a person counts as at most {groups} groups in all" + _unit_words(unit),
    )  # fmt: skip
    sampled = _made(
        block, plan, unit, Bounding("sample", None, groups), rows=1, groups=groups,
        why=f"at most {groups} groups of a person count, chosen by a keyed hash"
        + _unit_words(unit),
    )  # fmt: skip
    return _wanted((weighted, sampled), unit, block) if unit.bounding != "clamp" else (sampled,)

"""What a question costs and how far off its answer will be, before anything is spent.

The budget of a question is divided equally among its blocks (`discreet.query.blocks`) and, where
keys have to be selected, the selection. Each block takes the bounding and the mechanism with the
least noise among those that are proved for it:

* geometric noise of scale l1 unit/epsilon on every cell (theorem of `discreet.query.blocks`);
* staircase noise, where a person moves one single number and it has less variance;
* discrete Gaussian noise with sigma^2 = changes (move unit)^2/(2 rho), if the question may use a
  delta or is asked for in rho: over the cells, the squares of change/unit add up to L2^2 at most,
  so all cells together cost rho (Bun and Steinke 2016; Canonne, Kamath and Steinke 2020). The
  cells of a block have one unit, hence one sigma, and the loss charged is that of their vector.

A question is priced in one family: all blocks pure, or all in rho. Its guarantee is the sum.
Tested by tests/query/test_price.py
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import ParameterError, QueryError
from discreet.exact import Exact, exp, shown, sqrt
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.convert import largest_rho, pure_rho_upper
from discreet.privacy.guarantee import (
    LARGEST_EPSILON,
    ZCDP,
    ApproxDP,
    Neighbours,
    PureDP,
    delta_of,
    epsilon_of,
)
from discreet.privacy.loss import ApproxLoss, GeometricLoss, Loss, PureLoss
from discreet.query.blocks import Block, blocks_of
from discreet.query.expr import Expr
from discreet.query.options import SMALLEST_EPSILON, SMALLEST_RHO, not_below
from discreet.query.plan import Aggregate, Plan, aggregates
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import PerPerson, PerRow, Schema
from discreet.query.stability import Stability, key_bound, number_of_groups, stabilities
from discreet.query.words import brief
from discreet.remembered import remembered

if TYPE_CHECKING:
    from discreet.mechanisms.keys import SelectKeys

__all__ = ["Measured", "Noise", "Priced", "Target", "priced"]

Noise = Geometric | Staircase | Gaussian
_T = TypeVar("_T")
CLEARLY = 0.75
"""Another way of bounding is taken if its noise has less than this share of the variance."""
MOST_CHOSEN = 3
"""Up to this many quantiles are chosen one by one; more are read off one noisy histogram."""


@dataclass(frozen=True, slots=True, init=False)
class Target:
    """What a question may cost: a pure epsilon, an epsilon with a delta, or a rho."""

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
    ) -> None:
        if (epsilon is None) == (rho is None):
            given = None if rho is None else brief((epsilon, rho))
            raise ParameterError("epsilon", given, "or rho must be said, and not both")
        if rho is not None and delta is not None:
            raise ParameterError("delta", brief(delta), "goes with epsilon, not with rho")
        none_left = delta is None or delta == 0
        object.__setattr__(self, "epsilon", None if epsilon is None else epsilon_of(epsilon))
        object.__setattr__(self, "delta", None if none_left else delta_of(delta))
        object.__setattr__(self, "rho", None if rho is None else ZCDP(rho).rho)
        if self.epsilon is not None:
            not_below(self.epsilon, SMALLEST_EPSILON, name="epsilon")
        if self.rho is not None:
            not_below(self.rho, SMALLEST_RHO, name="rho")

    def guarantee(self, neighbours: Neighbours) -> PureDP | ApproxDP | ZCDP:
        """The promise that a question at this price makes."""
        if self.rho is not None:
            return ZCDP(self.rho, neighbours)
        assert self.epsilon is not None  # noqa: S101 - one of the two is there
        if self.delta is not None:
            return ApproxDP(self.epsilon, self.delta, neighbours)
        return PureDP(self.epsilon, neighbours)

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho {shown(self.rho)}"
        assert self.epsilon is not None  # noqa: S101 - one of the two is there
        more = "" if self.delta is None else f", delta {shown(self.delta)}"
        return f"epsilon {shown(self.epsilon)}{more}"


@dataclass(frozen=True, slots=True)
class _Share:
    """One block's part of the price: an epsilon, or a rho with the epsilon that has it."""

    epsilon: Fraction
    rho: Fraction | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A block with how people are bounded, its noise and what that leaks.

    Attributes:
        block: what is measured.
        stability: how far one person moves it.
        noise: the mechanism of each cell; for quantiles, of the bins or empty.
        epsilon: the share of a pure mechanism.
        loss: what all cells together leak.
    """

    block: Block
    stability: Stability
    noise: tuple[Noise, ...]
    epsilon: Fraction
    loss: Loss

    @property
    def scale(self) -> int:
        """The weight of a row that counts in full."""
        return self.stability.bounding.scale


@dataclass(frozen=True, slots=True)
class Priced:
    """A question with everything that is decided before the data is touched.

    Attributes:
        plan: the question.
        schema: the declaration that it was priced under.
        target: the price.
        home: the measurement that each aggregate is read from; None for a public number of rows.
        measured: the measurements, in the order of the request's parts.
        selection: how keys are selected, where they are not public.
        counts_keys: whether the selection's own noisy counts are the answer.
        request: what the engine will be asked.
        losses: what the whole question leaks.
        memory: what was found that follows from all of this but the condition; `asking` shares it.
    """

    plan: Plan
    schema: Schema
    target: Target
    home: Mapping[Aggregate, Measured | None]
    measured: tuple[Measured, ...]
    selection: SelectKeys | None
    counts_keys: bool
    request: Request
    losses: tuple[Loss, ...]
    memory: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def asking(self, plan: Plan) -> Priced:
        """The same for a plan that differs in what WHERE says, and in nothing else."""
        request = Request(self.request.schema, plan.where, self.request.parts)
        made = Priced(
            plan, self.schema, self.target, self.home, self.measured, self.selection,
            self.counts_keys, request, self.losses,
        )  # fmt: skip
        object.__setattr__(made, "memory", self.memory)
        return made

    def once(self, name: Hashable, find: Callable[[], _T]) -> _T:
        """What follows from all but the condition: found once for all questions that share it."""
        found: _T
        try:
            found = self.memory[name]
        except KeyError:
            found = self.memory[name] = find()
        return found

    @property
    def guarantee(self) -> PureDP | ApproxDP | ZCDP:
        """What asking it promises to everybody in the data."""
        unit, target = self.schema.unit, self.target
        if target.delta is not None and target.epsilon is not None:
            pure = [x.epsilon for x in self.losses if isinstance(x, PureLoss | GeometricLoss)]
            # quantiles priced in rho are pure too, but their epsilons add up to more
            if len(pure) == len(self.losses) and sum(pure) <= target.epsilon:
                target = Target(epsilon=target.epsilon)
        return target.guarantee(unit.neighbours)


def priced(plan: Plan, schema: Schema, target: Target) -> Priced:
    """Choose bounding and noise for a question at a price; QueryError where there is no way."""
    if plan.rollup:
        raise QueryError(
            "GROUP BY ROLLUP is published as a whole, by ask or publish_rollup; "
            "only GROUP BY has a price for each column"
        )
    unit = schema.unit
    blocks = blocks_of(
        aggregates(plan),
        rows_are_people=isinstance(unit, PerRow),
        known_rows=_known_rows(plan, schema),
    )
    unique = list(dict.fromkeys(b for b in blocks.values() if b.what != "known"))
    if number_of_groups(plan) == 0:
        raise QueryError("the question is grouped by something that has no value at all")
    selects = any(grouping.keys is None for grouping in plan.groupings)
    counts_keys = selects and _is_count_of_people(unique, unit) and not plan.other
    if selects and target.delta is None:
        raise QueryError(
            "the keys of "
            + ", ".join(g.name for g in plan.groupings if g.keys is None)
            + " are not public, and selecting them costs a delta: ask with delta=... (such as "
            "1e-6), or let the owner declare dp.Keys([...])"
        )
    selection, extra, measured = _best(
        plan, schema, target, unique, selects=selects, counts=counts_keys
    )
    by_block = {m.block: m for m in measured}
    home = {a: by_block.get(b) for a, b in blocks.items()}
    losses = (*(m.loss for m in measured if not counts_keys), *extra)
    request = _request(plan, schema, () if counts_keys else measured, selects=selects)
    return Priced(plan, schema, target, home, measured, selection, counts_keys, request, losses)


def _known_rows(plan: Plan, schema: Schema) -> int | None:
    """The public number of rows, if the question is about all of them."""
    unit = schema.unit
    if plan.where is not None or plan.groupings or not isinstance(unit, PerRow):
        return None
    return unit.rows


def _is_count_of_people(blocks: list[Block], unit: PerRow | PerPerson) -> bool:
    if len(blocks) != 1 or blocks[0].where is not None or blocks[0].operand is not None:
        return False
    return blocks[0].what == ("rows" if isinstance(unit, PerRow) else "people")


def _best(
    plan: Plan,
    schema: Schema,
    target: Target,
    blocks: list[Block],
    *,
    selects: bool,
    counts: bool,
) -> tuple[SelectKeys | None, tuple[Loss, ...], tuple[Measured, ...]]:
    """Price everything in each family that the target allows, and take the less noisy one."""
    parts = 1 if counts else len(blocks) + selects
    tried: list[tuple[float, SelectKeys | None, tuple[Loss, ...], tuple[Measured, ...]]] = []
    for family in ("pure",) if counts else _families(target):
        selection, rest = None, target
        extra: tuple[Loss, ...] = ()
        if selects:
            selection, loss, rest = _selection(plan, schema, target, family, parts)
            extra = (loss,)
        share = _share(rest, family, len(blocks), parts, selects=selects)
        measured = tuple(_measured(b, plan, schema, share) for b in blocks)
        tried.append((_noisiness(measured), selection, extra, measured))
    best = min(tried, key=lambda found: found[0])
    return best[1:]


def _families(target: Target) -> tuple[str, ...]:
    return ("pure",) if target.rho is None and target.delta is None else ("pure", "rho")


def _selection(
    plan: Plan, schema: Schema, target: Target, family: str, parts: int
) -> tuple[SelectKeys, ApproxLoss, Target]:
    """Keys take an equal share of epsilon; delta is all theirs, or half if noise needs it too.

    A household of h people in k keys each moves the counts by h k single steps. Each step being
    (epsilon/(h k), d/(h k))-private, all are (epsilon, d e^epsilon)-private (group privacy: the
    deltas are multiplied by e^(i epsilon/(h k)), i < h k), so d = delta e^-epsilon is used.
    """
    assert target.epsilon is not None  # noqa: S101 - a target with a delta has one
    assert target.delta is not None  # noqa: S101 - checked before
    unit = schema.unit
    most = 1 if isinstance(unit, PerRow) else key_bound(plan, unit)
    epsilon = target.epsilon / parts
    delta = target.delta if family == "pure" else target.delta / 2
    each = delta
    if unit.together > 1:
        each = _down(delta * exp(-epsilon, 64).lower)
    chosen = _select(epsilon, each, most * unit.together, unit.neighbours)
    loss = ApproxLoss(neighbours=unit.neighbours, epsilon=epsilon, delta=delta)
    return chosen, loss, Target(epsilon=target.epsilon, delta=target.delta / 2)


@remembered(256)
def _select(epsilon: Fraction, delta: Fraction, most: int, neighbours: Neighbours) -> SelectKeys:
    from discreet.mechanisms.keys import SelectKeys as Made  # noqa: PLC0415 - most keys are declared

    return Made(epsilon=epsilon, delta=delta, max_keys=most, neighbours=neighbours)


def _share(target: Target, family: str, blocks: int, parts: int, *, selects: bool) -> _Share:
    """What each block may cost."""
    if not blocks:
        return _Share(Fraction(1), None)
    if target.rho is not None:
        rho = target.rho / parts
        return _Share(_epsilon(rho), rho if family == "rho" else None)
    assert target.epsilon is not None  # noqa: S101 - one of the two is there
    if family == "pure":
        return _Share(target.epsilon / parts, None)
    assert target.delta is not None  # noqa: S101 - the family needs it
    left = target.epsilon * blocks / parts if selects else target.epsilon
    rho = _rho(left, target.delta) / blocks
    return _Share(_epsilon(rho), rho)


@remembered(256)
def _rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    return _down(largest_rho(epsilon, delta))


@remembered(256)
def _epsilon(rho: Fraction) -> Fraction:
    """The largest epsilon, rounded down, with which a pure release costs no more than rho.

    It lies between sqrt(2 rho) and rho + 1, because epsilon tanh(epsilon/2) is below epsilon^2/2
    and above epsilon - 1.
    """
    low, high = _down(sqrt(2 * rho, 64).lower), min(rho + 1, Fraction(LARGEST_EPSILON))
    for _ in range(32):
        middle = _down((low + high) / 2)
        low, high = (middle, high) if pure_rho_upper(middle) <= rho else (low, middle)
    return low


def _down(value: Fraction) -> Fraction:
    """Rounded down to 48 bits, so that printed prices stay short."""
    if value.denominator.bit_length() <= 48:
        return value
    shift = 48 - (value.numerator.bit_length() - value.denominator.bit_length())
    return Fraction(int(value * 2**shift), 2**shift) if shift > 0 else Fraction(int(value))


def _measured(block: Block, plan: Plan, schema: Schema, share: _Share) -> Measured:
    """The bounding and noise with the least variance per row for one block."""
    found = [
        _with_noise(block, stability, schema.unit.neighbours, share)
        for stability in stabilities(block, plan, schema)
    ]
    best = found[0]  # the first keeps the most rows; another has to be clearly less noisy
    for other in found[1:]:
        if _row_variance(other) < CLEARLY * _row_variance(best):
            best = other
    return best


def _with_noise(
    block: Block, stability: Stability, neighbours: Neighbours, share: _Share
) -> Measured:
    if block.what == "quantile":
        return _quantile(block, stability, neighbours, share)
    if share.rho is not None:
        gaussian = tuple(
            _gaussian(share.rho, stability.move * c.unit, stability.changes, neighbours)
            for c in block.cells
        )
        return Measured(block, stability, gaussian, share.epsilon, gaussian[0].privacy_loss)
    noise: tuple[Noise, ...] = tuple(
        _geometric(share.epsilon, stability.l1 * cell.unit, neighbours) for cell in block.cells
    )
    loss: Loss = PureLoss(neighbours=neighbours, epsilon=share.epsilon)
    if stability.one:
        noise = (_for_one(share.epsilon, stability.l1 * block.cells[0].unit, neighbours),)
        loss = noise[0].privacy_loss
    return Measured(block, stability, noise, share.epsilon, loss)


def _quantile(
    block: Block, stability: Stability, neighbours: Neighbours, share: _Share
) -> Measured:
    """Chosen one by one at a share of epsilon each, or all read off one noisy histogram."""
    loss = PureLoss(neighbours=neighbours, epsilon=share.epsilon)
    if len(block.levels) <= MOST_CHOSEN:
        return Measured(block, stability, (), share.epsilon, loss)
    bins = _geometric(share.epsilon / 2, stability.l1, neighbours)
    return Measured(block, stability, (bins,), share.epsilon, loss)


@remembered(1024)
def _geometric(epsilon: Fraction, sensitivity: int, neighbours: Neighbours) -> Geometric:
    return Geometric(epsilon=epsilon, sensitivity=sensitivity, neighbours=neighbours)


@remembered(1024)
def _gaussian(rho: Fraction, sensitivity: int, changes: int, neighbours: Neighbours) -> Gaussian:
    return Gaussian(rho=rho, sensitivity=sensitivity, changes=changes, neighbours=neighbours)


@remembered(1024)
def _for_one(epsilon: Fraction, sensitivity: int, neighbours: Neighbours) -> Geometric | Staircase:
    """The least noise for one number; below epsilon 1 the two hardly differ."""
    geometric = Geometric(epsilon=epsilon, sensitivity=sensitivity, neighbours=neighbours)
    if sensitivity == 1 or epsilon < 1:
        return geometric
    staircase = Staircase(epsilon=epsilon, sensitivity=sensitivity, neighbours=neighbours)
    return staircase if staircase.variance < geometric.variance else geometric


def _row_variance(measured: Measured) -> float:
    """The variance of the noise in units of whole rows, to compare ways of bounding."""
    if not measured.noise:
        each = measured.epsilon / len(measured.block.levels)
        return float((Fraction(measured.stability.l1, measured.scale) / each) ** 2)
    per_cell = [
        variance_of(noise) / (cell.unit * measured.scale) ** 2
        for noise, cell in zip(measured.noise, measured.block.cells, strict=True)
    ]
    return sum(per_cell)


@remembered(4096)
def variance_of(noise: Noise) -> float:
    """The variance of a mechanism's noise, looked up once."""
    return noise.variance


def _noisiness(measured: tuple[Measured, ...]) -> float:
    return sum(_row_variance(m) for m in measured)


def _request(
    plan: Plan, schema: Schema, measured: tuple[Measured, ...], *, selects: bool
) -> Request:
    keys = tuple(grouping.value for grouping in plan.groupings)
    listed = all(grouping.keys is not None for grouping in plan.groupings)
    parts = [replace(_part(m, keys), listed=listed) for m in measured]
    if selects and isinstance(schema.unit, PerPerson):
        most = key_bound(plan, schema.unit)
        bounding = Bounding("none") if schema.unit.trusted else Bounding("sample", None, most)
        parts.append(Part(keys, (), bounding, people=True))
    elif selects:
        parts.append(Part(keys, (Total(),), Bounding("none")))
    return Request(schema, plan.where, tuple(parts))


def _part(measured: Measured, keys: tuple[Expr, ...]) -> Part:
    block, bounding = measured.block, measured.stability.bounding
    if block.what == "people":
        return Part(keys, (), bounding, people=True)
    if block.what == "quantile":
        (binned,) = block.totals
        assert binned.value is not None  # noqa: S101 - a quantile is of something
        return Part((*keys, binned.value), (Total(where=binned.where),), bounding)
    return Part(keys, block.totals, bounding)

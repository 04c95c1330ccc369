"""What a roll-up would cost, and how far off each of its levels would be: free.

Everything here follows from the question and the owner's declaration; nothing is read and nothing
is spent. How far off a count of a level is depends on the shape of the levels and on epsilon: an
empty roll-up without noise (`discreet.publish.rollups.unmeasured`) tells it.
Tested by tests/curator/test_foretold.py
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from discreet.curator.answer import public_groups
from discreet.engines.base import Engine
from discreet.errors import ParameterError, QueryError
from discreet.exact import Exact, positive, shown
from discreet.privacy.loss import PureLoss
from discreet.publish.measured import Terms
from discreet.publish.rollups import Nested, nested, unmeasured
from discreet.query.explain import Price, PriceLine, in_words, least_epsilon, moved
from discreet.query.nested import rolled
from discreet.query.options import SMALLEST_EPSILON, not_below
from discreet.query.plan import Plan, PostGroup
from discreet.query.price import Target
from discreet.query.render import to_sql
from discreet.query.schema import Schema
from discreet.remembered import remembered

__all__ = [
    "level_names",
    "rollup_epsilon",
    "rollup_epsilon_for",
    "rollup_explained",
    "rollup_loss",
    "rollup_price",
]


def rollup_epsilon(target: Target) -> Fraction:
    """The price of a roll-up; QueryError where another one was said."""
    if target.epsilon is None or target.delta is not None:
        raise QueryError("GROUP BY ROLLUP is published with epsilon=... alone")
    not_below(target.epsilon, SMALLEST_EPSILON, name="epsilon")
    return target.epsilon


def rollup_loss(target: Target, schema: Schema) -> PureLoss:
    """What a roll-up at a price leaks."""
    return PureLoss(epsilon=rollup_epsilon(target), neighbours=schema.unit.neighbours)


def level_names(plan: Plan) -> list[str]:
    """The levels of a roll-up in words, from everybody down."""
    count = next(o.name for o in plan.outputs if not isinstance(o.value, PostGroup))
    keys = [grouping.name for grouping in plan.groupings]
    by = [f"{count} by {', '.join(keys[: depth + 1])}" for depth in range(len(keys))]
    return [f"{count} in all", *by]


def rollup_price(plan: Plan, schema: Schema, target: Target, confidence: Fraction) -> Price:
    """How far off each level will be at a price; of groups that differ, the noisiest."""
    counted, loss = rolled(plan, schema), rollup_loss(target, schema)
    terms = Terms(loss.epsilon, counted.sensitivity, schema.unit.neighbours)
    empty = unmeasured(_tree(plan), terms)
    levels = zip(
        level_names(plan),
        empty.shares[::-1],
        empty.off(confidence=confidence, scale=counted.scale)[::-1],
        strict=True,
    )
    lines = tuple(PriceLine(n, _noise(share * loss.epsilon), *off) for n, share, off in levels)
    return Price(str(terms.guarantee), confidence, sum(empty.groups.sizes), lines)


@remembered(4)
def _tree(plan: Plan) -> Nested:
    """The groups: the same at every price that is tried. Plans that are equal have as many."""
    return nested(public_groups(plan))


def _noise(epsilon: Fraction) -> str:
    if not epsilon:
        return "none of its own: the sum of its parts"
    return f"geometric, epsilon {shown(epsilon)}, least squares over all levels"


def rollup_epsilon_for(
    plan: Plan, schema: Schema, *, within: Exact, confidence: Fraction, column: str | None
) -> Decimal:
    """The least epsilon, to three digits, at which every level (or one) is this accurate."""
    distance = positive(within, name="within")
    names = level_names(plan)
    if column is not None and column not in names:
        raise ParameterError("column", column, f"must be one of {'; '.join(names)}")

    def met(epsilon: Fraction) -> bool:
        price = rollup_price(plan, schema, Target(epsilon=epsilon), confidence)
        lines = price.lines if column is None else (price[column],)
        return all(line.half_width is not None and line.half_width <= distance for line in lines)

    return least_epsilon(met, within)


def rollup_explained(
    plan: Plan, schema: Schema, target: Target, *, confidence: Fraction, engine: Engine | None
) -> str:
    """A roll-up in words; without an engine for somebody who may not see what runs."""
    counted = rolled(plan, schema)
    moves = [moved("the number of rows", counted.stability)]
    statement = None if engine is None else engine.statement(counted.request)
    price = rollup_price(plan, schema, target, confidence)
    return in_words(to_sql(plan, schema), schema, moves, price, statement)

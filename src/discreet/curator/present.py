"""From released numbers to the table that was asked for: HAVING, ORDER BY, LIMIT and expressions.

All of it is post-processing of released numbers, and free.
Tested by tests/curator/test_present.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import partial

from discreet.curator.answer import Answered
from discreet.curator.release import Release
from discreet.curator.shared import Shared
from discreet.curator.values import finished
from discreet.exact import shown
from discreet.privacy.compose import sequential
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.privacy.loss import PureLoss
from discreet.query.blocks import bin_step
from discreet.query.explain import mechanism_words
from discreet.query.keys import shown_key
from discreet.query.plan import (
    Aggregate,
    Output,
    Plan,
    Post,
    PostAggregate,
    PostGroup,
    inside,
)
from discreet.query.post import Released, are_short, arrange, evaluate, sound
from discreet.query.price import Measured, Priced
from discreet.query.reading import rank_error
from discreet.query.render import post_sql
from discreet.query.words import listed

__all__ = ["presented"]

Value = int | float | str | bool | date | None


def presented(
    question: Priced,
    found: Answered,
    *,
    sql: str,
    confidence: Fraction,
    found_before: Sequence[tuple[str, PureLoss]],
    asked_at: datetime,
) -> Release:
    """The finished release."""
    plan = question.plan
    keys = _shown(question, found)
    order: Sequence[int] = range(len(keys))
    if plan.having is not None or plan.order or plan.limit is not None:
        lines = arrange(plan, [_Line(i, shown, found) for i, shown in enumerate(keys)])
        order, keys = [line.place for line in lines], [line.groups for line in lines]
    columns = [_column(output.value, order, keys, found) for output in plan.outputs]
    intervals, raw = {}, {}
    for output in plan.outputs:
        if isinstance(output.value, PostAggregate):
            each = found.estimates[output.value.aggregate]
            estimates = [each[i] for i in order]
            raw[output.name] = tuple([estimate.raw for estimate in estimates])
            ends = tuple([(estimate.low, estimate.high) for estimate in estimates])
            if any(low is not None for low, _ in ends):
                intervals[output.name] = ends
    return _shared(question, found, confidence, found_before).release(
        rows=tuple(zip(*columns, strict=True)), intervals=intervals, raw=raw, sql=sql,
        asked_at=asked_at,
    )  # fmt: skip


def _shared(
    question: Priced,
    found: Answered,
    confidence: Fraction,
    before: Sequence[tuple[str, PureLoss]],
) -> Shared:
    """All of a release but its numbers, its SQL and its time: it follows from the price and, in
    its notes, from whether there is a row of the others.
    """
    others = None in found.groups
    make = partial(_sharing, question, confidence, before, others=others)
    return make() if before else question.once(("release", confidence, others), make)


def _sharing(
    question: Priced,
    confidence: Fraction,
    before: Sequence[tuple[str, PureLoss]],
    *,
    others: bool,
) -> Shared:
    outputs = question.plan.outputs
    return Shared(
        columns=tuple(output.name for output in outputs),
        keys=tuple(output.name for output in outputs if isinstance(output.value, PostGroup)),
        guarantee=_guarantee(question, [loss for _, loss in before]),
        losses=(*question.losses, *(loss for _, loss in before)),
        mechanisms={
            output.name: _words(question, output, confidence)
            for output in outputs
            if isinstance(output.value, PostAggregate)
        },
        confidence=confidence,
        covers=_covers(question),
        notes=(*(note for note, _ in before), *_notes(question, confidence, others=others)),
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """One row of the answer, by its place in what was released."""

    place: int
    groups: tuple[Released, ...]
    found: Answered

    @property
    def values(self) -> Mapping[Aggregate, int | float | None]:
        """Its released numbers."""
        return {a: each[self.place].value for a, each in self.found.estimates.items()}


def _shown(question: Priced, found: Answered) -> Sequence[tuple[Released, ...]]:
    """The keys of every group; where they are public, they follow from the question."""
    plan = question.plan
    if question.selection is not None:
        return [_keys(plan, group) for group in found.groups]
    return question.once("keys", lambda: [_keys(plan, group) for group in found.groups])


def _keys(
    plan: Plan, group: tuple[int | bool | str | date | None, ...] | None
) -> tuple[Released, ...]:
    """The keys as people write them; the row of the others has none."""
    if group is None:
        return (None,) * len(plan.groupings)
    return tuple(shown_key(k, g.value) for k, g in zip(group, plan.groupings, strict=True))


def _column(
    post: Post, order: Sequence[int], keys: Sequence[tuple[Released, ...]], found: Answered
) -> list[Value]:
    """One column of the answer; a number that was released is not looked up row by row."""
    match post:
        case PostAggregate(aggregate=aggregate):
            estimates = found.estimates[aggregate]
            values: list[Value] = [estimates[at].value for at in order]
            return values if are_short(values) else [_plain(sound(value)) for value in values]
        case PostGroup(place=place):
            return [_plain(sound(shown[place])) for shown in keys]
        case _:
            lines = [_Line(at, shown, found) for at, shown in zip(order, keys, strict=True)]
            return [_plain(evaluate(post, line.groups, line.values)) for line in lines]


def _plain(value: Released) -> Value:
    if type(value) is int or type(value) is str:
        return value
    return finished(value, where="the answer") if isinstance(value, Fraction) else value


def _words(question: Priced, output: Output, confidence: Fraction) -> str:
    assert isinstance(output.value, PostAggregate)  # noqa: S101 - the caller looked
    wanted = output.value.aggregate
    if question.counts_keys and question.selection is not None:
        return f"noisy counts of selected keys, epsilon {shown(question.selection.epsilon)}"
    measured = question.home[wanted]
    words = mechanism_words(measured)
    if isinstance(measured, Measured) and wanted.level is not None:
        ranks = float(rank_error(measured, wanted.level, confidence))
        step = bin_step(measured.block.kind) * measured.block.kind.grid
        words += f", in steps of {shown(step)}, within {ranks:,.1f} rows of the true rank"
    return words


def _covers(question: Priced) -> str:
    ways = {m.stability.bounding.way for m in question.measured} - {"none"}
    more = "; not what people with more rows than count would add" if ways else ""
    return f"Intervals cover the noise, one number at a time{more}."


def _left_out(plan: Plan) -> list[str]:
    """Whom no row holds."""
    names = [g.name for g in plan.groupings if g.keys is not None and g.value.kind.nullable]
    if not names:
        return []
    listed = " or ".join(names)
    return [f"rows whose {listed} is missing, or not declared, are in no group"]


def _ranks(question: Priced, confidence: Fraction) -> list[str]:
    """Why a quantile has no interval, and how far off it is instead."""
    found = []
    for output in question.plan.outputs:
        wanted = output.value.aggregate if isinstance(output.value, PostAggregate) else None
        if wanted is None or wanted.level is None:
            continue
        measured = question.home[wanted]
        if measured is not None:
            ranks = float(rank_error(measured, wanted.level, confidence))
            found.append(
                f"{output.name} has no interval: how far off a quantile is depends on the data. "
                f"With {shown(confidence * 100)} % confidence it is within {ranks:,.1f} rows of "
                "the true rank"
            )
    return found


def _computed(plan: Plan) -> list[str]:
    """Why what is computed from several numbers has no interval, and what has."""
    found = []
    for output in plan.outputs:
        parts = dict.fromkeys(post_sql(PostAggregate(one)) for one in inside(output.value))
        if parts and not isinstance(output.value, PostAggregate):
            found.append(
                f"{output.name} has no interval: it is computed from {listed(parts, 4)}, which "
                "have one where they are asked for, too"
            )
    return found


def _extremes(plan: Plan) -> list[str]:
    """A maximum is a quantile, and says so."""
    return [
        f"{output.name} is the {shown(output.value.aggregate.level)} quantile"
        for output in plan.outputs
        if isinstance(output.value, PostAggregate)
        and output.value.aggregate.level is not None
        and output.name.startswith(("min", "max"))
    ]


def _guarantee(question: Priced, before: Sequence[PureLoss]) -> Guarantee:
    """Of the answer together with what had to be found for it."""
    if not before:
        return question.guarantee
    neighbours = question.schema.unit.neighbours
    return sequential(question.guarantee, *(PureDP(loss.epsilon, neighbours) for loss in before))


def _notes(question: Priced, confidence: Fraction, *, others: bool) -> tuple[str, ...]:
    notes = []
    if not question.losses:
        notes.append("nothing was charged: the answer is public")
    if others:
        notes.append("the row (none) holds everyone who is in none of the other groups")
    else:
        notes += _left_out(question.plan)
    notes += _extremes(question.plan)
    notes += _computed(question.plan)
    notes += _ranks(question, confidence)
    if question.selection is not None:
        chosen = question.selection
        sure = 2 * chosen.threshold + 1 if question.counts_keys else chosen.sure_from
        notes.append(f"keys were selected: one of {sure} people or more is always shown")
    return tuple(notes)

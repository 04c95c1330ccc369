"""A policy in plain words, for an owner who is no expert: `discreet check policy.toml`.

Nothing here is decided; it is said what the policy means, and what is unwise in it. Chances are
rounded up, so that what is said stays a bound.
Tested by tests/curator/policy/test_words.py
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import combinations
from pathlib import PurePath
from textwrap import fill

from discreet.curator.ledger.amounts import NOTHING, Limit
from discreet.curator.policy.model import (
    Block,
    Dataset,
    Family,
    Policy,
    is_address,
    without_password,
)
from discreet.curator.policy.promised import promised
from discreet.curator.policy.registration import overlapping
from discreet.exact import shown
from discreet.privacy.convert import zcdp_epsilon_upper
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.query.schema import (
    MOST_ROWS,
    Boolean,
    Bounds,
    Dates,
    Declared,
    FindBounds,
    FreeText,
    Hidden,
    Keys,
    PerPerson,
    PublicTable,
    Unit,
)
from discreet.query.words import listed, visible

__all__ = ["chance_of_guessing", "column_words", "explained", "warnings"]

WIDTH = 92
LARGE_EPSILON = 10
LARGE_DELTA = Fraction(1, 10**5)
SMALL_DELTA = Fraction(1, 10**6)
"""At which a rho is compared with an epsilon."""


def explained(policy: Policy) -> str:
    """The whole policy in words: who is protected, who may ask what, and what is unwise."""
    lines: list[str] = []
    for family in policy.families.values():
        lines += _family(policy, family)
    lines += _asking(policy)
    for dataset in policy.datasets.values():
        lines += _dataset(policy, dataset)
    lines += _kept(policy)
    found = warnings(policy)
    if found:
        lines += ["Think again", *(_item(one) for one in found), ""]
    return "\n".join(lines).rstrip() + "\n"


def warnings(policy: Policy, today: date | None = None) -> list[str]:
    """What is allowed and unwise, one sentence or two each; by default as of today."""
    found = list(_over(policy, today or datetime.now(UTC).date()))
    for family in policy.families.values():
        found += _of_limit(f"family {family.name}", family.limit)
        found += _of_family(policy, family)
    for dataset in policy.datasets.values():
        found += _of_dataset(dataset)
    found += _of_units(policy)
    return found


def _of_units(policy: Policy) -> Iterator[str]:
    """Two datasets of the same rows that protect others."""
    meet, found = overlapping(policy.folder), promised(policy.canonical()).protected
    for (one, first), (other, second) in combinations(found, 2):
        if first.whom != second.whom and meet(one, other):
            yield (
                f"{first.part} and {second.part} may hold the same rows, and protect "
                f"{first.whom}, and {second.whom}. What both cost adds up only if everybody is one "
                "of each."
            )


def chance_of_guessing(guarantee: Guarantee) -> float:
    """The best chance of telling two neighbours apart from everything released, at even odds.

    (e^epsilon + delta) / (1 + e^epsilon), because the hypothesis tests of (epsilon, delta) privacy
    end there; for rho, 1/2 + min(sqrt(rho/2), sqrt(1 - e^-rho))/2, by the inequalities of Pinsker
    and of Bretagnolle and Huber, as the Kullback-Leibler divergence is at most rho.

    >>> round(chance_of_guessing(PureDP(1)), 4)
    0.7311
    """
    if isinstance(guarantee, ZCDP):
        rho = float(guarantee.rho)
        return 0.5 + min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho))) / 2
    epsilon = float(getattr(guarantee, "epsilon", math.inf))
    delta = float(getattr(guarantee, "delta", 0))
    return (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


# families and analysts


def _family(policy: Policy, family: Family) -> Iterator[str]:
    limit = family.limit
    yield f"Family {family.name}: the people of {_data_of(policy, family.name)}"
    whom = "whether any one person is in the data, and what is said about them"
    if family.neighbours == "replace":
        whom = "what the data say about any one person; that they are in the data is not hidden"
    yield _item(f"Protected is {whom}.")
    yield _item(
        f"In all, {limit.most.said(limit.accounting)} may be spent on them, whoever asks and "
        "however often. Then no question is answered any more."
    )
    yield _item(_meaning(limit.guarantee))
    if isinstance(limit.guarantee, ZCDP):
        epsilon = math.ceil(zcdp_epsilon_upper(limit.guarantee.rho, SMALL_DELTA) * 100) / 100
        yield _item(f"In the older terms this is epsilon {epsilon:g} at delta 1e-06.")
    elif not isinstance(limit.guarantee, PureDP):
        told = limit.guarantee
        if limit.accounting == "zcdp" and isinstance(told, ApproxDP):
            yield _item(
                f"Rhos are added up, so that all of it together keeps what you wrote: epsilon "
                f"{shown(told.epsilon)} at delta {float(told.delta):g}."
            )
        yield _item(
            "Delta is the chance that this promise fails; it should be far below one in the "
            "number of people."
        )
    if family.releases == "public":
        yield _item("Answers are public: one that is stored is free for every analyst.")
    else:
        yield _item(
            "Answers are private: asking what another analyst has asked costs the allowance, and "
            "nothing of the family's budget."
        )
    if family.tells_rest:
        yield _item(
            "An analyst who is refused because this budget is short is told what is left of it, "
            "and so what others have spent; with that an offer can be made."
        )
    elif policy.analysts:
        yield _item(
            "What is left of this budget is told to nobody but you. An analyst who is refused "
            "because it is short gets no offer; tells_rest = true changes that."
        )
    yield _item(f"Questions are answered {_until(family.expires)}.")
    yield ""


def _meaning(guarantee: Guarantee) -> str:
    chance = chance_of_guessing(guarantee)
    what = "whether a person is in the data"
    if guarantee.neighbours == "replace":
        what = "which of two records is a person's"
    if chance < 0.99:
        right = f"is right at most {math.ceil(chance * 100)} times in 100"
    elif 1 - chance < 1e-9:
        right = "may be right every time"
    else:
        right = f"may be right in all but 1 of {math.ceil(1 / (1 - chance)):,} cases"
    return (
        f"This means: somebody who knows everything else, sees all answers and has to guess {what} "
        f"{right}; by a coin it would be 50."
    )


def _data_of(policy: Policy, family: str) -> str:
    names = [name for name, one in policy.datasets.items() if one.family == family]
    return ", ".join(names) or "no dataset"


def _asking(policy: Policy) -> Iterator[str]:
    yield "Who may ask"
    if not policy.analysts:
        yield _item("Only the owner: no analyst is named.")
    for analyst in policy.analysts.values():
        amounts = [
            f"{limit.most.said(limit.accounting)} of {family}"
            for family, limit in analyst.allowances.items()
        ]
        until = _until(analyst.expires)
        yield _item(f"{analyst.name} may use {' and '.join(amounts)}, {until}.")
    owned = [
        one.name for one in policy.datasets.values() for b in one.blocks.values() if b.own_people
    ]
    if policy.analysts and owned:
        yield _item("An allowance holds once more for every block with people of its own.")
    default = policy.defaults
    if default.epsilon is not None:
        yield _item(f"A question that does not say it costs epsilon {shown(default.epsilon)}.")
    yield _item(f"Intervals hold with a confidence of {shown(default.confidence)}.")
    yield ""


def _until(day: date | None) -> str:
    return "without an end date" if day is None else f"until {day.isoformat()}, that day included"


# datasets


def _dataset(policy: Policy, dataset: Dataset) -> Iterator[str]:
    yield f"Dataset {dataset.name}, of the family {dataset.family}"
    yield _item(
        f"It is read from {_from(policy, dataset)} and this state is called {dataset.version}."
    )
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", dataset.name):
        yield _item(f'In SQL its name has to be in quotes: FROM "{dataset.name}".')
    yield from (_item(one) for one in _unit(dataset.unit))
    if dataset.row_limit != MOST_ROWS:
        yield _item(f"It never has more than {dataset.row_limit:,} rows; you promise this.")
    for name, said in dataset.columns.items():
        yield _item(f"{name}: {column_words(said)}")
    yield _item("Columns that are not named here cannot be used by any question.")
    for name, table in dataset.lookups.items():
        yield _item(f"{name} {_lookup(table)}")
    for block in dataset.blocks.values():
        yield _item(_block(policy, dataset, block))
    yield ""


def _from(policy: Policy, part: Dataset | Block) -> str:
    if is_address(part.source):
        return f"the table {part.table} of {without_password(part.source)}"
    source = _near(part.source, policy)
    return f"the table {part.table} of {source}" if part.table else source


def _near(path: str, policy: Policy) -> str:
    there = PurePath(path)
    return str(there.relative_to(policy.folder) if there.is_relative_to(policy.folder) else there)


def _unit(unit: Unit) -> Iterator[str]:
    if isinstance(unit, PerPerson):
        yield f"A person is known by the column {unit.column}; rows without it are left out."
        yield from _rows(unit)
    else:
        yield "Every row is one person, and everyone has one row at most; you promise this."
    if unit.together > 1:
        yield f"Protected are groups of up to {unit.together} people who come or go together."
    size = unit.people if isinstance(unit, PerPerson) else unit.rows
    if size is not None:
        what = "people" if isinstance(unit, PerPerson) else "rows"
        yield f"The number of {what} is public: {size:,}."


def _rows(unit: PerPerson) -> Iterator[str]:
    if unit.max_rows == "find" and unit.find_epsilon is not None:
        cost = shown(unit.find_epsilon)
        yield f"How many rows of a person count is found privately, for epsilon {cost}."
    elif unit.trusted and unit.max_rows is not None:
        most = _many(unit.max_rows, "row")
        yield f"Nobody has more than {most}; you promise this, nobody checks it."
    elif unit.max_rows is not None:
        where = "in each group of a question" if unit.max_groups is not None else "in a question"
        rest = "more weigh less or are left out"
        count = "counts" if unit.max_rows == 1 else "count"
        yield f"At most {_many(unit.max_rows, 'row')} of a person {count} {where}; {rest}."
    if unit.max_groups is not None:
        yield f"A person counts in at most {_many(unit.max_groups, 'group')} of a question."


def _many(number: object, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def column_words(said: Declared) -> str:
    """What is known of a column, in a sentence."""
    match said:
        case Bounds():
            step = f", in steps of {shown(said.grid)}" if said.grid_is_given else ""
            missing = "is left out" if said.missing is None else f"counts as {shown(said.missing)}"
            return (
                f"a number from {shown(said.low)} to {shown(said.high)}{step}; what is outside is "
                f"moved to the nearer end, a missing value {missing}."
            )
        case FindBounds():
            cost = shown(said.epsilon)
            return f"a number; its bounds are found privately, once, for epsilon {cost}."
        case Keys():
            many = len(said.values)
            shown_keys = listed(said.values, 5)
            return f"one of {many} keys ({shown_keys}); anything else counts as missing."
        case Dates():
            return f"a date from {said.low} to {said.high}; others are moved to the nearer end."
        case Boolean():
            return "yes or no; anything else counts as missing."
        case FreeText():
            return "text of which nothing is known; grouping by it needs a delta."
        case Hidden():
            return "hidden; no question can use it."


def _lookup(table: PublicTable) -> str:
    what = ", ".join(table.columns)
    return f"is a public table of {len(table.rows):,} rows: {what} by {table.key}."


def _block(policy: Policy, dataset: Dataset, block: Block) -> str:
    start = f"Block {block.name}, from {_from(policy, block)}, version {block.version}:"
    if block.limit is None:
        return (
            f"{start} its people are the family's, and it charges the budget of {dataset.family}."
        )
    amount = block.limit.most.said(block.limit.accounting)
    return (
        f"{start} people of its own with a budget of their own, {amount}. You promise that none of "
        "them is in another part; nobody checks it."
    )


def _kept(policy: Policy) -> Iterator[str]:
    yield "Where the budget is kept"
    address = policy.ledger.address
    where = without_password(address) if is_address(address) else _near(address, policy)
    yield _item(
        f"In the ledger {where}, with the head file {_near(str(policy.ledger.head), policy)}. "
        "Whoever can write both could give budget back: let nobody else."
    )
    yield ""


# what is unwise


def _over(policy: Policy, today: date) -> Iterator[str]:
    """What has ended."""
    for kind, named in (("family", policy.families), ("analyst", policy.analysts)):
        for name, one in named.items():
            if one.expires is not None and one.expires < today:
                asks = "nobody is answered" if kind == "family" else "nothing is answered"
                yield f"The {kind} {name} ended on {one.expires.isoformat()}: {asks} any more."


def _of_limit(whose: str, limit: Limit) -> Iterator[str]:
    promised = limit.guarantee
    if isinstance(promised, ZCDP):
        epsilon = zcdp_epsilon_upper(promised.rho, SMALL_DELTA)
    else:
        epsilon = getattr(promised, "epsilon", Fraction(0))
    if epsilon > LARGE_EPSILON:
        yield (
            f"The budget of the {whose} is large: above epsilon 10 little is promised to anybody."
        )
    if getattr(promised, "delta", 0) > LARGE_DELTA:
        yield (
            f"The delta of the {whose} is above 1e-05: with that chance a person's data may be "
            "told as they are."
        )


def _of_family(policy: Policy, family: Family) -> Iterator[str]:
    if not any(one.family == family.name for one in policy.datasets.values()):
        yield f"The family {family.name} has no dataset."
    searches = sum(_searches(one) for one in policy.datasets.values() if one.family == family.name)
    if family.accounting == "pure" and searches * 2 > family.limit.most.value():
        yield (
            f"Finding bounds costs epsilon {shown(Fraction(searches))} of the family {family.name} "
            "before anything is answered: more than half of what it has."
        )
    given = [one.allowances.get(family.name) for one in policy.analysts.values()]
    together = sum((one.most for one in given if one is not None), NOTHING)
    if not together.within(family.limit.most):
        accounting = family.accounting
        yield (
            f"The allowances of {family.name} add up to {together.said(accounting)}, and the "
            f"family has {family.limit.most.said(accounting)}. This is allowed: who asks first is "
            "served first."
        )


def _searches(dataset: Dataset) -> Fraction:
    found = [one.epsilon for one in dataset.columns.values() if isinstance(one, FindBounds)]
    unit = dataset.unit
    rows = unit.find_epsilon if isinstance(unit, PerPerson) else None
    return sum(found, rows or Fraction(0))


def _of_dataset(dataset: Dataset) -> Iterator[str]:
    unit = dataset.unit
    if isinstance(unit, PerPerson) and unit.trusted:
        yield (
            f"The unit of {dataset.name} is trusted: if one person has more rows than promised, "
            "that person is protected less. Without trusted = true this is enforced."
        )
    if isinstance(unit, PerPerson) and not isinstance(
        dataset.columns.get(unit.column, Hidden()), Hidden
    ):
        yield (
            f"The column {unit.column} of {dataset.name} names the person, and questions may use "
            'it. Say "hidden" unless that is meant.'
        )
    for name, table in dataset.lookups.items():
        if isinstance(dataset.columns.get(table.key, Hidden()), Hidden):
            yield (
                f"No question can join the public table {name} of {dataset.name}: its key "
                f"{table.key} is no column that questions may use."
            )
    for block in dataset.blocks.values():
        if block.limit is not None:
            yield from _of_limit(f"block {block.name} of {dataset.name}", block.limit)
    if not any(not isinstance(said, Hidden) for said in dataset.columns.values()):
        yield f"No column of {dataset.name} can be used; only rows or people can be counted."


def _item(text: str) -> str:
    return fill(visible(text), WIDTH, initial_indent="  - ", subsequent_indent="    ")

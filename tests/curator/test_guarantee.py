"""The guarantee, end to end, by brute force: random tables, declarations and questions on DuckDB.

A question is priced, run exactly on a table and on its neighbours (every person taken away, and
replaced by somebody else; households together), and *answered* by the real code, in which each
mechanism is replaced by one that adds nothing and notes what it was handed. From the two notes
follows what the real mechanisms would have leaked:

* geometric noise: the sum of |change| rate; Gaussian: the sum of change^2/(2 sigma^2); staircase:
  one number, by no more than its sensitivity;
* a quantile that is chosen: the largest change of a score, times 2 rate;
* selected keys: how many people's counts change, in how many keys.

Together this may not be more than was charged, and nothing else may differ: the groups, the number
and the order of the releases, the charge.
"""

import os
import random
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.query.example import COLUMNS, TABLES
from tests.query.generate import questions

import discreet as dp
from discreet.curator import answer, find, quantiles
from discreet.curator.present import presented
from discreet.curator.session import Session
from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError, QueryError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.keys import SelectKeys
from discreet.mechanisms.selection import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.convert import pure_rho_upper
from discreet.privacy.loss import ApproxLoss, GaussianLoss
from discreet.query.expr import Column
from discreet.query.kinds import Number
from discreet.query.plan import Aggregate, Output, Plan, PostAggregate
from discreet.query.price import Target, priced
from discreet.query.schema import PerPerson, PerRow, Schema
from discreet.query.sql import parse

ROUNDS = int(os.environ.get("GUARANTEE_ROUNDS", "1"))
"""Many times as many tables, for a night."""
WHO = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string()}
TYPES = {
    "salary": pa.float64(),
    "age": pa.int64(),
    "temperature": pa.float32(),
    "height": pa.float64(),
    "dept": pa.string(),
    "code": pa.int16(),
    "zip": pa.uint64(),
    "active": pa.bool_(),
    "hired": pa.date32(),
    "left_on": pa.timestamp("us"),
    "note": pa.string(),
    'we"ird; DROP': pa.int64(),
    "Group": pa.bool_(),
}
ODD = [None, float("nan"), float("inf"), float("-inf"), -0.0, 1e308, -1e308, 5e-324]
VALUES = {
    "salary": [*ODD, 0.0, 400_000.0, 399_999.995, 52_000.004, 0.015, 1e7, -1e7],
    "age": [None, -(2**63), 2**63 - 1, 0, 17, 18, 64, 120, 121],
    "temperature": [None, float("nan"), float("inf"), -0.0, -30.25, 44.75, 3e38, 1.0, 1e5, -1e5],
    "height": [*ODD, 0.3, 1.65, 2.7, 2.55, 99.0, -99.0],
    "dept": [None, "clerk", "nurse", "it's", "Ärzte", "SECRET:7", "", "Clerk"],
    "code": [None, 3, 1, 2, -7, 9, -32768],
    "zip": [None, 1010, 8001, 9999, 7, 0, 2**64 - 1],
    "active": [None, True, False],
    "hired": [None, date(2019, 3, 5), date(2024, 12, 31), date(2021, 2, 3), date(1, 1, 1)],
    "left_on": [None, datetime(2020, 1, 1), datetime(2022, 7, 1, 23, 59), datetime(9999, 1, 1)],  # noqa: DTZ001
    "note": [None, "", "x", "y", "z", "naïve ☃", "it's"],
    'we"ird; DROP': [None, 0, 1, 5, 9, 10, 2**62],
    "Group": [None, True, False],
}
NAMES = {
    "integer": [0, 1, 2, 3, -(2**63)],
    "real": [0.0, 1.5, float("inf"), 3.0, 1e300],
    "text": ["", "a", "A", "a|b", "ä"],
}
OTHERS = {"integer": 99, "real": -2.25, "text": "new"}
TARGETS = [
    Target(epsilon=1),
    Target(epsilon=3),
    Target(epsilon=1, delta="1e-6"),
    Target(epsilon=2, delta="1e-4"),
    Target(rho="1/3"),
]


# tables


class Source:
    """Small tables on one connection."""

    def __init__(self, who, hashing):
        self.who = who
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.register("rows", self.frame([]))
        table = exp.Table(this=exp.to_identifier("rows", quoted=True))
        self.engine = DuckDB(self.connection, table, hashing=hashing, key="k")

    def frame(self, rows):
        types = pa.schema([("person_id", WHO[self.who]), *TYPES.items()])
        return pa.Table.from_pylist(rows, schema=types)

    def put(self, rows):
        self.connection.unregister("rows")
        self.connection.register("rows", self.frame(rows))

    def run(self, request, statement, rows):
        self.put(rows)
        return self.engine.run(request, statement)

    def schema(self, unit):
        return Schema("t", unit, COLUMNS, dict(self.engine.storage), TABLES, 10**6)


SOURCES = {}


def source_of(who, hashing):
    if (who, hashing) not in SOURCES:
        SOURCES[who, hashing] = Source(who, hashing)
    return SOURCES[who, hashing]


def a_row(rng):
    return {name: rng.choice(values) for name, values in VALUES.items()}


def somebody(rng, most):
    """The rows of one person: like each other, or all different; the same row several times."""
    size = rng.randint(0, most)
    if not size:
        return []
    kinds = [a_row(rng) for _ in range(rng.randint(1, size))]
    alike = a_row(rng)
    same = rng.sample(list(VALUES), rng.randint(0, len(VALUES)))
    kinds = [row | {name: alike[name] for name in same} for row in kinds]
    return [rng.choice(kinds) for _ in range(size)]


def somebody_in_few_codes(rng, unit):
    """Somebody within the bounds of a unit, in questions that are grouped by code."""
    codes = rng.sample([3, 1, 2, -7, None], rng.randint(0, min(unit.max_groups, 5)))
    return [
        a_row(rng) | {"code": code} for code in codes for _ in range(rng.randint(1, unit.max_rows))
    ]


def a_unit(rng):
    neighbours = rng.choice(["add_or_remove", "replace"])
    together = rng.choice([1, 1, 1, 2])
    if rng.random() < 0.25:
        return PerRow(neighbours=neighbours, together=together)
    trusted = rng.random() < 0.2
    return PerPerson(
        "person_id",
        max_rows=rng.choice([1, 2, 2, 3, 5]),
        max_groups=None if trusted else rng.choice([None, None, 1, 2, 3]),
        bounding=rng.choice(["best", "best", "weight", "sample", "clamp"]),
        trusted=trusted,
        neighbours=neighbours,
        together=together,
        people=5 if neighbours == "replace" and rng.random() < 0.5 else None,
    )


def rows_of(people):
    return [row | {"person_id": who} for who, theirs in people for row in theirs]


def person_neighbours(rng, unit, people, anybody, fresh):
    """Tables that differ from this one in one person, or in a household."""
    groups = [rng.sample(range(len(people)), min(unit.together, len(people))) for _ in range(3)]
    if unit.together == 1:
        groups = [[i] for i in range(len(people))]
    for gone in groups:
        kept = [p for i, p in enumerate(people) if i not in gone]
        if unit.neighbours == "add_or_remove":
            yield rows_of(kept)
            continue
        instead = [
            (rng.choice([fresh, people[i][0]]) if n == 0 else people[i][0], anybody())
            for n, i in enumerate(gone)
        ]
        yield rows_of([*kept, *instead])


def row_neighbours(rng, unit, rows):
    for start in range(len(rows) - unit.together + 1):
        kept = [*rows[:start], *rows[start + unit.together :]]
        if unit.neighbours == "replace":
            kept += [{"person_id": None} | a_row(rng) for _ in range(unit.together)]
        yield kept


def tables_of(rng, unit, who, groups=""):
    """A table, and its neighbours."""
    if isinstance(unit, PerRow):
        size = unit.rows or rng.randint(2, 5)
        rows = [{"person_id": None} | a_row(rng) for _ in range(size)]
        return rows, row_neighbours(rng, unit, rows)
    most = rng.choice([3, 9])
    if unit.trusted:
        most = unit.max_rows

    def anybody():
        if rng.random() < 0.5 and groups == "code" and unit.max_groups:
            return somebody_in_few_codes(rng, unit)
        return somebody(rng, most)

    people = [(name, anybody()) for name in rng.sample(NAMES[who], rng.randint(2, 4))]
    people.append((None, somebody(rng, 2)))
    return rows_of(people), person_neighbours(rng, unit, people, anybody, OTHERS[who])


# what the mechanisms are handed


@dataclass
class Notes:
    """Everything that would have got noise, in order."""

    shown: set = field(default_factory=set)
    cells: list = field(default_factory=list)
    choices: list = field(default_factory=list)
    histograms: list = field(default_factory=list)
    keys: list = field(default_factory=list)
    within: object = None


@contextmanager
def noted(shown):
    """Mechanisms that add nothing; of the keys there are, those in `shown` are selected."""
    notes = Notes(shown)
    patch = pytest.MonkeyPatch()
    measure, add = answer._quantiles, answer._noisy_cells

    def measuring(measured, *rest, **more):
        notes.within = measured
        return measure(measured, *rest, **more)

    def adding(measured, rows, groups, source):
        found = add(measured, rows, groups, source)
        notes.cells.append((measured, groups, found))
        return found

    def choosing(mechanism, scores, *, source=None):
        notes.choices.append((notes.within, mechanism, list(scores)))
        return 0

    def spreading(exact, noise, source):
        notes.histograms.append((notes.within, noise, list(exact)))
        return list(exact)

    def selecting(mechanism, people, *, counts=False, source=None):
        notes.keys.append((mechanism, dict(people), counts))
        found = [key for key in people if key in notes.shown]
        return dict.fromkeys(found, 1) if counts else found

    patch.setattr(answer, "_quantiles", measuring)
    patch.setattr(answer, "_noisy_cells", adding)
    patch.setattr(answer, "draws", lambda noise, size, source: [0] * size)
    patch.setattr(PermuteAndFlip, "release", choosing)
    patch.setattr(quantiles, "_noisy", spreading)
    patch.setattr(SelectKeys, "release", selecting)
    try:
        yield notes
    finally:
        patch.undo()


def answered(question, exact, shown):
    """What was handed to the mechanisms, and the groups of the answer."""
    with noted(shown) as notes:
        found = answer.answered(question, exact, None, confidence=Fraction(19, 20))
        release = presented(
            question,
            found,
            sql="",
            confidence=Fraction(19, 20),
            found_before=(),
            asked_at=datetime(2024, 1, 1, tzinfo=UTC),
        )
    assert release.columns == tuple(output.name for output in question.plan.outputs)
    return notes, found.groups


# what it would have cost


def check_cells(first, second):
    """The claims of the stability, and the loss that is charged for this block."""
    measured, groups, before = first
    assert (measured, groups) == (second[0], second[1])
    moves = [
        [a - b for a, b in zip(*pair, strict=True)] for pair in zip(before, second[2], strict=True)
    ]
    units = [cell.unit for cell in measured.block.cells]
    share = [Fraction(m, u) for line in moves for m, u in zip(line, units, strict=True)]
    stability = measured.stability
    assert sum(map(abs, share)) <= stability.l1
    assert sum(x * x for x in share) <= stability.changes * stability.move**2
    assert not stability.one or sum(map(bool, share)) <= 1
    assert len(measured.noise) == len(units)
    check_loss(measured, moves)


def check_loss(measured, moves):
    cost = concentrated = Fraction(0)
    for line in moves:
        for move, noise in zip(line, measured.noise, strict=True):
            if isinstance(noise, Gaussian):
                concentrated += Fraction(move * move) / (2 * noise.sigma_squared)
            elif isinstance(noise, Geometric):
                cost += abs(move) * noise.rate
            else:
                assert isinstance(noise, Staircase)
                assert abs(move) <= noise.sensitivity
                cost += noise.epsilon if move else 0
    loss = measured.loss
    if isinstance(loss, GaussianLoss):
        assert cost == 0
        assert concentrated <= loss.distance_squared / (2 * loss.sigma_squared)
    else:
        assert concentrated == 0
        assert cost <= measured.epsilon
        assert not hasattr(loss, "epsilon") or loss.epsilon == measured.epsilon


def check_choices(first, second):
    """Quantiles: all groups and levels of one block together."""
    spent = {}
    for (measured, mechanism, before), (same, again, after) in zip(first, second, strict=True):
        assert (measured, mechanism) == (same, again)
        moved = max(abs(a - b) for a, b in zip(before, after, strict=True))
        assert moved <= mechanism.sensitivity
        spent[measured.block] = spent.get(measured.block, 0) + 2 * mechanism.rate * moved
        assert spent[measured.block] <= measured.loss.epsilon


def check_histograms(first, second):
    spent = {}
    for (measured, noise, before), (same, again, after) in zip(first, second, strict=True):
        assert (measured, noise) == (same, again)
        moved = sum(abs(a - b) for a, b in zip(before, after, strict=True))
        spent[measured.block] = spent.get(measured.block, 0) + moved * noise.rate
        assert spent[measured.block] <= measured.loss.epsilon


def check_keys(question, first, second):
    unit = question.schema.unit
    for (mechanism, before, counts), (same, after, again) in zip(first, second, strict=True):
        assert (mechanism, counts) == (same, again)
        keys = before.keys() | after.keys()
        moves = [abs(before.get(key, 0) - after.get(key, 0)) for key in keys]
        assert sum(moves) <= mechanism.parts
        assert max(moves, default=0) <= unit.together
        assert any(
            isinstance(loss, ApproxLoss)
            and (loss.epsilon, loss.delta) >= (mechanism.epsilon, mechanism.delta)
            for loss in question.losses
        )


def check_charge(question):
    """Everything that is measured is charged, within what was asked for."""
    charged = list(question.losses)
    for measured in () if question.counts_keys else question.measured:
        charged.remove(measured.loss)
    assert len(charged) == (question.selection is not None)
    target = question.target
    if target.rho is not None:
        total = Fraction(0)
        for loss in question.losses:
            gaussian = isinstance(loss, GaussianLoss)
            ratio = loss.distance_squared / (2 * loss.sigma_squared) if gaussian else 0
            total += ratio if gaussian else pure_rho_upper(loss.epsilon)
        assert total <= target.rho
    elif target.delta is None:
        shares = [m.epsilon for m in question.measured]
        assert sum(shares) <= target.epsilon


def check_question(rng, source, unit, question):
    """All neighbours of one table."""
    check_charge(question)
    if not question.request.parts:
        return 0
    statement = source.engine.statement(question.request)
    number = 0
    groups = ", ".join(grouping.name for grouping in question.plan.groupings)
    table, neighbours = tables_of(rng, unit, source.who, groups)
    whole = source.run(question.request, statement, table)
    for rows in neighbours:
        exact = whole, source.run(question.request, statement, rows)
        common = sorted(set(exact[0][-1]) & set(exact[1][-1]), key=repr)
        shown = set(rng.sample(common, rng.randint(0, len(common)))) if common else set()
        (first, groups), (second, others) = (answered(question, e, shown) for e in exact)
        assert groups == others
        for a, b in zip(first.cells, second.cells, strict=True):
            check_cells(a, b)
        check_choices(first.choices, second.choices)
        check_histograms(first.histograms, second.histograms)
        check_keys(question, first.keys, second.keys)
        number += 1
    return number


# questions

GROUPS = [
    "dept", "code", "zip", "active", "note", "FLOOR(age / 60) * 60", "COALESCE(dept, 'none')",
    "DATE_TRUNC('year', hired)", "EXTRACT(YEAR FROM left_on)", "LOOKUP('regions', 'region', zip)",
    "CASE WHEN age < 18 THEN 'minor' ELSE dept END", "temperature > 0", "salary IS NULL",
]  # fmt: skip
PLAIN = [
    "COUNT(*)", "COUNT(salary)", "COUNT(dept)", "COUNT_IF(active)", "SUM(active)", "SUM(salary)",
    "SUM(temperature)", "SUM(-age)", "SUM(age - 60)", "AVG(salary)", "AVG(temperature)",
    "AVG(COALESCE(age, 7))", "AVG(salary / (age + 1))", "VAR_POP(height)", "STDDEV_POP(age)",
    "VAR_POP(COALESCE(temperature, 1))", "MEDIAN(age)", "MEDIAN(salary)", "QUANTILE(height, 1/3)",
    "QUANTILE(age, 0.001)", 'PRODUCT("we""ird; DROP")', "GEOMEAN(age + 1)",
    "AVG(CASE WHEN active THEN age END)", "SUM(POWER(temperature, 2))",
    "AVG(LOOKUP('regions', 'rank', zip))", "AVG(DATE_DIFF('day', left_on, hired))",
]  # fmt: skip
LEVELS = ", ".join(f"QUANTILE(age, {level})" for level in ("0.1", "0.25", "0.5", "0.9"))
FILTERS = [
    "active",
    "age > 17",
    "dept <> 'clerk'",
    "salary IS NULL",
    "NOT active OR code IN (1, 3)",
]
KEYS = {"dept": "['clerk', 'nurse']", "code": "[3, -7]", "note": "['x', 'y', '']", "zip": "NULL"}


def an_aggregate(rng):
    if rng.random() < 0.15:
        return "COUNT(DISTINCT person_id)"
    found = rng.choice(PLAIN)
    return f"{found} FILTER (WHERE {rng.choice(FILTERS)})" if rng.random() < 0.25 else found


def a_question(rng):
    groups = rng.sample(GROUPS, rng.choice([0, 1, 1, 1, 2]))
    groups = rng.choice([groups] * 6 + [["note"], ["dept", "code"], ["note", "dept"]])
    items = [an_aggregate(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    if rng.random() < 0.05:
        items.append(LEVELS)
    options = []
    if groups and rng.random() < 0.4:
        options.append("other = TRUE")
    if len(groups) == 1 and groups[0] in KEYS and rng.random() < 0.3:
        options.append(f"keys = {{'{groups[0]}': {KEYS[groups[0]]}}}")
    if groups == ["dept", "code"] and rng.random() < 0.5:
        options.append("combinations = [('clerk', 3), ('nurse', 1), ('nurse', -7)]")
    said = f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({', '.join(options)}) " if options else ""
    text = f"SELECT {said}{', '.join([*groups, *items])} FROM t"
    if rng.random() < 0.3:
        text += f" WHERE {rng.choice(FILTERS)}"
    if groups:
        text += " GROUP BY " + ", ".join(groups)
    if rng.random() < 0.1:
        text += " HAVING COUNT(*) > 2"
    return text


def a_rare_one(rng, place):
    """What chance would seldom put together: the unit, the question and its price."""
    neighbours, replace = rng.choice(["add_or_remove", "replace"]), {"neighbours": "replace"}
    rows, groups = rng.choice([(1, 2), (1, 3), (2, 2), (2, 3)])
    kept = PerPerson(
        "person_id",
        max_rows=rows,
        max_groups=groups,
        bounding=rng.choice(["sample", "sample", "clamp"]),
        neighbours=neighbours,
        together=rng.choice([1, 1, 2]),
    )
    few = rng.choice(["{'code': [3]}", "{'code': [3, -7]}"])
    counted = rng.choice(["COUNT(*)", "COUNT(DISTINCT person_id)", "AVG(age)"])
    moved = rng.choice(["SUM(age - 60)", "AVG(COALESCE(age, 7))", "SUM(temperature)", "SUM(-age)"])
    known = PerRow(**replace, rows=4, together=rng.choice([1, 2]))
    loose = PerPerson("person_id", max_rows=rows, **replace)
    home = PerPerson("person_id", max_rows=1, max_groups=1, neighbours=neighbours, together=2)
    rows_only, either = PerRow(neighbours=neighbours), rng.choice(TARGETS)
    other = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (other = TRUE, keys = {few}) code, "
    cases = [
        (kept, f"{other}{counted} FROM t GROUP BY code", Target(rho="1/3")),
        (kept, f"{other}{counted} FROM t GROUP BY code", Target(epsilon=1)),
        (rng.choice([known, loose, kept]), f"SELECT {moved} FROM t", rng.choice(TARGETS)),
        (kept, f"SELECT note, {counted} FROM t GROUP BY note", Target(epsilon=2, delta="1e-4")),
        (rng.choice([loose, kept]), f"SELECT {LEVELS} FROM t", Target(epsilon=1)),
        (home, f"SELECT note, {counted} FROM t GROUP BY note", Target(epsilon=2, delta="1e-4")),
        (
            rng.choice([known, rows_only]),
            f"SELECT code, {counted} FROM t GROUP BY code",
            either,
        ),
        (
            PerPerson("person_id", max_rows=rows, max_groups=groups, bounding="sample"),
            f"SELECT code, {rng.choice(['AVG(age)', 'SUM(salary)'])} FROM t GROUP BY code",
            Target(rho="1/3"),
        ),
    ]
    return cases[place % len(cases)]


def asked(text, schema, target):
    """The priced question, or None where it is refused, which no row decides."""
    try:
        return priced(parse(text, schema), schema, target)
    except QueryError:
        return None


def one_round(rng, text, unit=None, target=None):
    source = source_of(rng.choice(list(WHO)), rng.choice(["engine", "engine", "portable"]))
    unit, target = unit or a_unit(rng), target or rng.choice(TARGETS)
    if ("note" in text or "NULL}" in text) and target.delta is None:
        target = Target(epsilon=1, delta="1e-6")
    question = asked(text, source.schema(unit), target)
    return 0 if question is None else check_question(rng, source, unit, question)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_nobody_moves_what_is_released_by_more_than_was_charged(seed):
    tables = 0
    for number in range(30 * ROUNDS):
        rng = random.Random(f"{seed} {number}")
        tables += one_round(rng, a_question(rng))
    assert tables >= 30


@pytest.mark.slow
def test_nor_in_rare_cases():
    for number in range(176 * ROUNDS):
        rng = random.Random(f"rare {number}")
        unit, text, target = a_rare_one(rng, number)
        one_round(rng, text, unit, target)


@pytest.mark.slow
def test_nor_in_generated_questions():
    @settings(max_examples=25 * ROUNDS)
    @given(questions(), st.integers(0, 2**32))
    def run(text, seed):
        one_round(random.Random(seed), text)

    run()


# what is found


@pytest.mark.parametrize("seed", range(2))
def test_nobody_moves_what_bounds_and_rows_are_found_from(seed):
    rng = random.Random(f"find {seed}")
    for _ in range(2 * ROUNDS):
        source, unit = source_of(rng.choice(list(WHO)), "engine"), a_unit(rng)
        schema = source.schema(unit)
        requests = [find.bounds_request(schema, name) for name in ("salary", "age", "temperature")]
        noise = [find.find_noise(unit, Fraction(1), scale=find._once(unit).scale)] * 3
        if isinstance(unit, PerPerson):
            requests.append(find.rows_request(schema))
            noise.append(find.find_noise(unit, Fraction(1)))
        for request, mechanism in zip(requests, noise, strict=True):
            statement = source.engine.statement(request)
            table, neighbours = tables_of(rng, unit, source.who)
            (before,) = source.run(request, statement, table)
            for rows in neighbours:
                (after,) = source.run(request, statement, rows)
                moves = [
                    abs(before.get(key, (0,))[0] - after.get(key, (0,))[0])
                    for key in before.keys() | after.keys()
                ]
                assert sum(moves) * mechanism.rate <= 1, (unit, request)


# what an analyst sees besides


def seen(source, unit, text, target, rows):
    """All that an analyst sees but the noise."""
    source.put(rows)
    budget = dp.Budget(epsilon=100, delta="0.1", failures="0.05", neighbours=unit.neighbours)
    faults = []
    session = Session(
        source.schema(unit), source.engine, budget, audience="analyst", on_fault=faults.append
    )
    price = {"epsilon": target.epsilon, "delta": target.delta, "rho": target.rho}
    try:
        release = session.ask(text, **price)
    except QueryError as error:
        return type(error), str(error), str(session.left)
    assert not faults, text
    public = not any("selected" in note for note in release.notes) and "HAVING" not in text
    keys = [release[name] for name in release.keys] if public else None
    shape = (release.columns, keys, len(release) if public else None, release.notes)
    made = (release.mechanisms, release.losses, release.guarantee, release.covers)
    return shape, made, str(session.left)


def test_an_analyst_sees_the_same_besides_the_noise():
    rng, answers = random.Random("seen"), 0
    for _ in range(15 * ROUNDS):
        source, unit = source_of(rng.choice(list(WHO)), "engine"), a_unit(rng)
        text, target = a_question(rng), rng.choice(TARGETS)
        table, neighbours = tables_of(rng, unit, source.who)
        first, second = (
            seen(source, unit, text, target, rows) for rows in (table, next(neighbours))
        )
        assert first == second, text
        answers += first[0] is not QueryError
    assert answers >= 5


# one odd row


SPAN = dp.Dates("1900-01-01", "2300-12-31")
STORED = [
    ("DOUBLE", "5", "'nan'", dp.Bounds(-1000, 1000, "0.1")),
    ("DOUBLE", "5", "'-inf'", dp.Bounds(-(2**61), 2**61, 1)),
    ("FLOAT", "5", "'inf'", dp.Keys([5, 7, 10**12])),
    ("BIGINT", "5", "-9223372036854775808", dp.Bounds(0, 700, 7)),
    ("UBIGINT", "5", "18446744073709551615", dp.Bounds(-1000, 1000, "0.1")),
    ("HUGEINT", "5", "-170141183460469231731687303715884105728", dp.Bounds(-9, 9)),
    ("UHUGEINT", "5", f"{2**128 - 1}", dp.Bounds(-9, 9)),
    ("DECIMAL(38, 10)", "5", "-1e27", dp.Bounds(-9, 9)),
    ("VARCHAR", "'5'", "'1e999'", dp.Bounds(-9, 9)),
    ("VARCHAR", "'2020-01-01'", "'290309-12-22 (BC)'", SPAN),
    ("VARCHAR", "'x'", "chr(0)", dp.Keys(["x"])),
    ("DATE", "'2020-01-01'", "'-infinity'", SPAN),
    ("TIMESTAMP", "'2020-01-01'", "'infinity'", SPAN),
    ("TIMESTAMP_S", "'2020-01-01'", "NULL", SPAN),
    ("TIMESTAMPTZ", "'2020-01-01 00:00+00'", "'infinity'", SPAN),
    ("TIMESTAMP_NS", "'2020-01-01'", "NULL", SPAN),
]


@pytest.mark.parametrize(("stored", "ordinary", "odd", "declared"), STORED)
def test_one_odd_row_does_not_fail_the_engine(stored, ordinary, odd, declared):
    """A failure counts as an empty table: if one row could cause it, she would move everything."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TABLE t (c {stored})")
    connection.execute(f"INSERT INTO t SELECT {ordinary}::{stored} FROM range(1000)")
    for _ in range(2):
        t = dp.Table(connection, table="t", unit=dp.PerRow(), columns={"c": declared})
        faults = []
        session = t.session(epsilon=100, audience="analyst", on_fault=faults.append)
        answer = session.ask("SELECT COUNT(*) AS n, COUNT(c) AS c FROM t", epsilon=10)
        assert not faults
        assert answer["c"][0] == pytest.approx(1000, abs=10)
        connection.execute(f"INSERT INTO t VALUES (CAST({odd} AS {stored}))")


def badly_encoded(texts):
    """An arrow column with any bytes in it: nobody checks them."""
    ends = np.cumsum([0, *map(len, texts)]).astype("int32")
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def test_text_that_is_no_utf_8_does_not_fail_the_engine():
    source = pa.table({"c": badly_encoded([b"x"] * 100 + [b"\xff"])})
    t = dp.Table(source, unit=dp.PerRow(), columns={"c": dp.FreeText()}, name="t")
    faults = []
    session = t.session(epsilon=100, delta="0.1", audience="analyst", on_fault=faults.append)
    answer = session.ask("SELECT c, COUNT(*) AS n FROM t GROUP BY c", epsilon=10, delta="1e-6")
    assert not faults
    assert answer["c"] == ["x"]


def test_a_broken_file_is_told_to_the_owner_before_anyone_asks(tmp_path):
    """Parquet that says text and holds other bytes cannot be read at all by DuckDB."""
    source = pa.table({"c": badly_encoded([b"x"] * 100 + [b"\xff"])})
    pq.write_table(source, tmp_path / "t.parquet")
    t = dp.Table(tmp_path / "t.parquet", unit=dp.PerRow(), columns={"c": dp.FreeText()})
    with pytest.raises(EngineError, match="DuckDB could not answer") as told:
        t.read_through()
    assert "encoding" in str(told.value.__cause__)


# a question that lies


def test_a_plan_cannot_say_what_a_column_is():
    """The kind of an expression decides the noise: it has to be the declaration's."""
    t = dp.Table(
        {"salary": [400_000.0, 1.0]},
        unit=PerRow(),
        columns={"salary": dp.Bounds(0, 400_000, 1)},
        name="t",
    )
    session = t.session(epsilon=10, audience="analyst")
    lie = Column("salary", Number(0, 1))
    plan = Plan("t", None, (), (Output("s", PostAggregate(Aggregate("sum", lie))),))
    with pytest.raises(dp.QueryError, match="not one of this table"):
        session.ask(plan, epsilon=1)
    with pytest.raises(dp.QueryError, match="not one of this table"):
        t.query().sum(lie)
    assert str(session.left) == "epsilon 10"

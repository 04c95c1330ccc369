"""Tables and requests for all engines: hand-made ones, and as many generated ones as one likes.

The generator takes its choices from a `Chooser`: hypothesis draws them, or a seeded generator does,
so that the corpus is the same on every engine and in every run.
"""

import random
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from hypothesis import strategies as st

from discreet.errors import QueryError
from discreet.query import calendar
from discreet.query import expr as e
from discreet.query import total as t
from discreet.query.kinds import Day, Flag, Number, Text
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import (
    Boolean,
    Bounds,
    Dates,
    FreeText,
    Keys,
    PerPerson,
    PerRow,
    PublicTable,
    Schema,
)

NASTY = 'sel"ect; --'
WIDE = "größe 📏"

TYPES = {
    "person": "integer",
    "age": "integer",
    "salary": "real",
    "bonus": "real",
    "dept": "text",
    "zip": "integer",
    "level": "integer",
    "code": "real",
    "smoker": "boolean",
    "born": "date",
    "seen": "timestamp",
    "start": "date",
    "note": "text",
    NASTY: "integer",
    WIDE: "real",
}
DEPTS = ["clerk", "nurse", 'O\'Brien "&" söns', "a\\b", "", "東京", "Clerk", "x|y"]
COLUMNS = {
    "age": Bounds(0, 120, 1),
    "salary": Bounds(0, 1000, "0.01"),
    "bonus": Bounds(-50, 50, 5),
    "dept": Keys(DEPTS),
    "zip": Keys([1010, 8001, 4050, -7]),
    "level": Keys(range(-2, 4)),
    "code": Keys(range(10)),
    "smoker": Boolean(),
    "born": Dates("1950-01-01", "2010-12-31"),
    "seen": Dates("2019-12-30", "2021-01-03"),
    "start": Keys([date(2020, 2, 28), date(2020, 2, 29), date(2020, 3, 1), date(1969, 12, 31)]),
    "note": FreeText(),
    NASTY: Bounds(-1000, 1000),
    WIDE: Bounds("0.5", 1_000_000, "0.125"),
}
TABLES = {
    "zips": PublicTable(
        "zip",
        {
            1010: {"region": "east", "rank": 1, "since": date(2000, 1, 1), "city": True},
            8001: {"region": "west 'n' \\", "rank": None, "since": None, "city": None},
            5: {"region": None, "rank": -7, "since": date(1999, 5, 5), "city": False},
        },
    ),
    "ranks": PublicTable("rank", {1: {"title": "first"}, -7: {"title": "last"}}),
    "depts": PublicTable("dept", {d: {"size": len(d)} for d in DEPTS[:5]}),
    "days": PublicTable("day", {date(2020, 2, 29): {"leap": "yes"}}),
}
BIG = (1 << 63) - 1


def pools(rng):
    """For each type, a way to draw a raw value, odd ones often."""
    odd = [None, float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e308, -5e-324, 2.0**53]
    halves = [0.005, 1.005, 0.285, 1.115, 2.5, -2.5, 7.5, 999.995, 0.0625, 1e-7, 12.345, 47.5]
    texts = [None, "", "x|y", "O'Brien", "ü", "😀", "a\\b", "A", "Z", "a", "%", "_", "a_c", "abc"]
    first, stamp = date(1950, 1, 1), datetime(2019, 12, 28)  # noqa: DTZ001 - stored without a zone

    def integer():
        return rng.choice([None, BIG, -BIG - 1, 0, rng.randint(-3, 9), rng.randint(-2000, 2000)])

    def real():
        wide = rng.uniform(-60, 1200)
        return rng.choice([rng.choice(odd), rng.choice(halves), round(wide, 2), wide])

    def day():
        return rng.choice(
            [None, date(1, 1, 1), date(9999, 12, 31), first + timedelta(rng.randint(-400, 26000))]
        )

    def moment():
        return rng.choice(
            [
                None,
                stamp
                + timedelta(
                    seconds=rng.randint(0, 38_000_000), microseconds=rng.randint(0, 999_999)
                ),
            ]
        )

    return {
        "integer": integer,
        "real": real,
        "text": lambda: rng.choice(texts),
        "boolean": lambda: rng.choice([None, True, False]),
        "date": day,
        "timestamp": moment,
    }


def main_rows(size=160, people=12):
    """Rows of the main table: some people with many rows, some with none of their own."""
    rng = random.Random(4)
    draw = pools(rng)
    rows = []
    for _ in range(size):
        row = {name: draw[storage]() for name, storage in TYPES.items()}
        row["person"] = rng.choice([None, 1, 1, 1, 2, 2, *range(3, people), -5, BIG])
        row["dept"] = rng.choice([*DEPTS, *DEPTS[:2], None, "unlisted", "CLERK"])
        row["zip"] = rng.choice([1010, 8001, 4050, -7, 5, None, 4051, BIG])
        row["level"] = rng.choice([-3, -2, -1, 0, 1, 2, 3, 4, None, -BIG])
        row["code"] = rng.choice(
            [0.0, -0.0, 1.0, 9.0, 9.5, 10.0, -1.0, float("nan"), float("inf"), None]
        )
        row["start"] = rng.choice(
            [None, date(2020, 2, 28), date(2020, 2, 29), date(2020, 3, 2), date(1969, 12, 31)]
        )
        if rng.random() < 0.5:
            row["age"] = rng.randint(15, 70)
            row[WIDE] = rng.choice([0.5, 0.56, 1.0, 3.1875, 1000.0, 99999.9, 1e6, 12345.6])
        rows.append(row)
    return rows


UNIT = PerPerson("person", max_rows=3)
NONE = Bounding("none")


def schema_of(columns=COLUMNS, types=TYPES, unit=UNIT, tables=TABLES, row_limit=10**9):
    return Schema("t", unit, columns, types, tables, row_limit)


SCHEMA = schema_of()
ROWS_SCHEMA = schema_of(unit=PerRow())


def col(name, schema=SCHEMA):
    return e.Column(name, schema.kind(name))


def lookup(table, column, key, schema=SCHEMA):
    kind = replace(schema.tables[table].keys_of(column).kind, nullable=True)
    return e.Lookup(table, column, key, kind)


def asked(*parts, where=None, schema=SCHEMA):
    return Request(schema, where, parts)


def sums(*values):
    """Rows, and for each value how often it is there, its sum and its sum of squares."""
    found = [Total()]
    for value in values:
        kind = value.kind
        found.append(Total(value))
        if isinstance(kind, Number):
            middle = (kind.low + kind.high) // 2
            found += [Total(value, 1, kind.low), Total(value, 1, middle), Total(value, 2, middle)]
    return tuple(found)


def clampable(*values):
    return (Total(), *(Total(v) for v in values), *(Total(v, 1, v.kind.low) for v in values))


# the hand-made part

c = t.constant
AGE, SALARY, BONUS, DEPT, ZIP = (col(n) for n in ("age", "salary", "bonus", "dept", "zip"))
LEVEL, CODE, SMOKER, BORN, SEEN = (col(n) for n in ("level", "code", "smoker", "born", "seen"))
START, NOTE, NASTILY, WIDELY = (col(n) for n in ("start", "note", NASTY, WIDE))


def expressions():
    """Named expressions, of every node there is."""
    made = {name: col(name) for name in COLUMNS}
    zipped = lookup("zips", "rank", ZIP)
    made |= {
        "sum": t.add(t.add(AGE, SALARY), c(3)),
        "difference": t.add(BONUS, SALARY, minus=True),
        "cancelled": t.add(AGE, AGE, minus=True),
        "negative": t.negate(NASTILY),
        "third": t.divide(AGE, c(3)),
        "scaled": t.multiply(AGE, c(Fraction(-7, 2))),
        "product": t.multiply(NASTILY, SALARY),
        "square": t.multiply(BONUS, BONUS),
        "by zero": t.multiply(AGE, c(0)),
        "quotient": t.divide(SALARY, AGE),
        "signed quotient": t.divide(NASTILY, BONUS),
        "negative divisor": t.divide(AGE, t.negate(t.add(AGE, c(1)))),
        "below 0": t.divide(t.negate(AGE), t.negate(SALARY)),
        "quotient of quotients": t.divide(t.divide(NASTILY, BONUS), t.divide(BONUS, NASTILY)),
        "decade": t.multiply(t.floor(t.divide(AGE, c(10))), c(10)),
        "floor of negative": t.floor(t.divide(NASTILY, c(7))),
        "ceil": t.ceil(t.divide(NASTILY, c(7))),
        "round": t.round_to(SALARY),
        "round tens": t.round_to(NASTILY, -1),
        "remainder": t.remainder(NASTILY, c(7)),
        "remainder of decimals": t.remainder(SALARY, c(Fraction(5, 2))),
        "absolute": t.absolute(NASTILY),
        "least": t.extreme("least", [AGE, BONUS, c(17)]),
        "greatest": t.extreme("greatest", [AGE, BONUS]),
        "ln": t.logarithm(WIDELY),
        "ln of sum": t.logarithm(t.add(AGE, c(1))),
        "ln ln": t.logarithm(t.add(t.logarithm(t.add(AGE, c(1))), c(1))),
        "ln of constant range": t.logarithm(t.extreme("greatest", [t.multiply(AGE, c(0)), c(5)])),
        "flag number": t.flag_number(SMOKER),
        "flag number of comparison": t.flag_number(t.compare("<", AGE, SALARY)),
        "case": t.case([(t.compare("<", AGE, c(18)), c(100_000)), (SMOKER, BONUS)], None),
        "case times case": t.multiply(
            t.case([(SMOKER, c(100_000))], c(-1)), t.case([(SMOKER, c(1_000_000))], AGE)
        ),
        "case of texts": t.case([(SMOKER, c("b\\'")), (t.is_null(SMOKER), NOTE)], c("a")),
        "case of flags": t.case([(SMOKER, c(value=True))], t.compare("=", AGE, c(3))),
        "coalesce": t.coalesce([AGE, BONUS, c(-3)]),
        "coalesce texts": t.coalesce([NOTE, c("none")]),
        "coalesce days": t.coalesce([SEEN, c(date(2020, 6, 1))]),
        "lookup": zipped,
        "lookup text": lookup("zips", "region", ZIP),
        "lookup day": lookup("zips", "since", ZIP),
        "lookup flag": lookup("zips", "city", ZIP),
        "lookup of lookup": lookup("ranks", "title", zipped),
        "lookup by text": lookup("depts", "size", DEPT),
        "lookup by day": lookup("days", "leap", SEEN),
        "lookup by quotient": lookup("ranks", "title", t.floor(t.divide(NASTILY, BONUS))),
        "days": calendar.days_between(SEEN, BORN),
        "days to a constant": calendar.days_between(SEEN, c(date(2020, 1, 1))),
    }
    for unit in ("day", "week", "month", "quarter", "year"):
        made[f"trunc {unit}"] = calendar.date_trunc(unit, SEEN)
        made[f"trunc {unit} of born"] = calendar.date_trunc(unit, BORN)
    for part in ("year", "quarter", "month", "week", "day", "dayofweek", "dayofyear"):
        made[f"part {part}"] = calendar.date_part(part, SEEN)
        made[f"part {part} of born"] = calendar.date_part(part, BORN)
    return made


def conditions():
    """Named conditions, with all the ways to be neither true nor false."""
    made = {}
    for op in ("=", "<>", "<", "<=", ">", ">="):
        made[f"number {op}"] = t.compare(op, AGE, BONUS)
        made[f"constant {op}"] = t.compare(op, SALARY, c(Fraction(1001, 100)))
        made[f"text {op}"] = t.compare(op, NOTE, c("a"))
        made[f"texts {op}"] = t.compare(op, NOTE, DEPT)
        made[f"day {op}"] = t.compare(op, SEEN, c(date(2020, 6, 15)))
    young, smoker = t.compare("<", AGE, c(30)), SMOKER
    made |= {
        "flag": smoker,
        "flags =": t.compare("=", smoker, young),
        "flags <>": t.compare("<>", smoker, c(value=False)),
        "with null": t.compare("=", AGE, c(None)),
        "not": t.negation(young),
        "not flag": t.negation(smoker),
        "and": t.all_of([young, smoker]),
        "or": t.any_of([young, smoker, t.is_null(NOTE)]),
        "and or": t.all_of([t.any_of([young, smoker]), t.any_of([t.negation(young), smoker])]),
        "or and": t.any_of([t.all_of([young, smoker]), t.all_of([t.negation(young), smoker])]),
        "not or": t.negation(t.any_of([young, smoker])),
        "null": t.is_null(AGE),
        "null of quotient": t.is_null(t.divide(AGE, BONUS)),
        "null of condition": t.is_null(t.all_of([young, smoker])),
        "in": t.member(AGE, [c(0), c(120), c(-5), c(19)]),
        "in texts": t.member(NOTE, [c("a\\b"), c("😀"), c("O'Brien")]),
        "in days": t.member(START, [c(date(2020, 2, 29))]),
        "in flags": t.member(smoker, [c(value=True)]),
        "in decimals": t.member(SALARY, [c(Fraction(1, 3)), c(Fraction(201, 200))]),
        "not in": t.negation(t.member(DEPT, [c("clerk"), c("")])),
    }
    for pattern in ("%", "_", "a%", "%\U0001f600", "a_c", "%_b%", "", "_%_", "%'%", "ü"):
        made[f"like {pattern}"] = t.like(NOTE, pattern)
        made[f"like {pattern} of keys"] = t.like(DEPT, pattern)
    return made


WAYS = [
    Bounding("weight", rows=2, scale=1000),
    Bounding("weight", rows=1, scale=7),
    Bounding("weight", rows=100, scale=3),
    Bounding("sample", rows=2, groups=2),
    Bounding("sample", rows=1, groups=1),
    Bounding("sample", rows=3),
    Bounding("sample", groups=3),
    Bounding("clamp", rows=2, groups=2),
    Bounding("clamp", rows=1),
    Bounding("clamp", groups=1),
]
PEOPLE_WAYS = [
    NONE,
    Bounding("sample", groups=1),
    Bounding("sample", rows=2, groups=3),
    Bounding("clamp", groups=2),
    Bounding("weight", groups=2, scale=1000),
    Bounding("weight", groups=1, scale=5),
]
GROUPINGS = {
    "nothing": (),
    "text keys": (DEPT,),
    "number keys": (LEVEL,),
    "flag": (SMOKER,),
    "days": (START,),
    "free text": (NOTE,),
    "two": (DEPT, SMOKER),
    "four": (SMOKER, START, ZIP, NOTE),
    "same twice": (LEVEL, LEVEL),
    "month": (calendar.date_trunc("month", SEEN),),
    "expressions": (t.floor(t.divide(AGE, c(10))), t.is_null(BONUS)),
    "a constant": (c(3), SMOKER),
}


def hand_made():
    """Named requests to the main table."""
    made = {}
    for name, node in expressions().items():
        made[f"group by {name}"] = asked(Part((node,), sums(AGE), NONE))
        made[f"add up {name}"] = asked(Part((SMOKER,), sums(node), NONE))
    for name, node in conditions().items():
        conditional = (Total(), Total(where=node), Total(AGE, 1, 0, where=node))
        made[f"where {name}"] = asked(Part((LEVEL,), sums(AGE), NONE), where=node)
        made[f"filter {name}"] = asked(Part((), conditional, NONE))
    for name, keys in GROUPINGS.items():
        for i, way in enumerate(WAYS):
            totals = (Total(), Total(where=SMOKER), Total(NOTE), *clampable(SALARY, BONUS))
            if way.way != "clamp":
                totals += (Total(BONUS, 2, -3), Total(AGE, 1, 50, where=SMOKER))
            part = Part(keys, totals, way)
            made[f"{way.way} {i} by {name}"] = asked(part, where=t.compare("<", AGE, c(90)))
        counted = [Part(keys, (), way, people=True) for way in PEOPLE_WAYS]
        made[f"people by {name}"] = asked(*counted)
        made[f"only rows by {name}"] = asked(*(Part(keys, (Total(),), way) for way in WAYS))
    made |= {
        "spread": asked(Part((), (), NONE, spread=(1, 2, 5, 10))),
        "spread of one": asked(Part((), (), NONE, spread=(3,)), where=SMOKER),
        "rows of nobody": asked(Part((), sums(AGE), NONE), where=c(value=False)),
        "groups of nobody": asked(Part((DEPT,), sums(AGE), WAYS[3]), where=c(value=False)),
        "per row": asked(Part((DEPT,), sums(AGE, BONUS), NONE), schema=ROWS_SCHEMA),
        "people per row": asked(Part((DEPT,), (), NONE, people=True), schema=ROWS_SCHEMA),
        "fourth power": asked(Part((), (Total(WIDELY, 2, 5), Total(BONUS, 4, 0)), NONE)),
        "everything at once": asked(
            Part((DEPT,), sums(SALARY), NONE),
            Part((SMOKER, NOTE), sums(BONUS), WAYS[0]),
            Part((START, LEVEL, ZIP), clampable(AGE), WAYS[3]),
            Part((), clampable(BONUS), WAYS[7]),
            Part((DEPT,), (), PEOPLE_WAYS[4], people=True),
            Part((), (), NONE, spread=(1, 4)),
            where=t.compare(">=", SALARY, c(Fraction(1, 2))),
        ),
    }
    return made


# the generated part


class Chooser:
    """Choices from a seeded generator."""

    def __init__(self, seed):
        self._rng = random.Random(seed)

    def pick(self, items):
        return self._rng.choice(list(items))

    def whole(self, low, high):
        return self._rng.randint(low, high)


class Drawn(Chooser):
    """Choices that hypothesis draws, and can make simpler."""

    def __init__(self, draw):
        self._draw = draw

    def pick(self, items):
        return self._draw(st.sampled_from(list(items)))

    def whole(self, low, high):
        return self._draw(st.integers(low, high))


class Generator:
    """Random expressions, parts and requests to a schema."""

    def __init__(self, choose, schema):
        self.choose = choose
        self.schema = schema
        self.columns = [
            e.Column(n, d.kind) for n, d in schema.columns.items() if hasattr(d, "kind")
        ]

    def column(self, kind):
        found = [node for node in self.columns if isinstance(node.kind, kind)]
        return self.choose.pick(found) if found else None

    def number(self, depth):
        pick, whole = self.choose.pick, self.choose.whole
        plain = self.column(Number) or c(whole(-9, 9))
        if depth == 0:
            return pick([plain, plain, c(whole(-9, 9)), c(Fraction(whole(-99, 99), 4))])
        left, right = self.number(depth - 1), self.number(depth - 1)
        condition = self.flag(depth - 1)
        day = self.column(Day)
        makers = [
            lambda: t.add(left, right, minus=pick([True, False])),
            lambda: t.multiply(left, right),
            lambda: t.divide(left, right),
            lambda: t.floor(t.divide(left, c(whole(1, 9)))),
            lambda: t.round_to(left, whole(-2, 1)),
            lambda: t.ceil(left),
            lambda: t.remainder(left, c(whole(1, 50))),
            lambda: t.absolute(left),
            lambda: t.extreme(pick(["least", "greatest"]), [left, right]),
            lambda: t.logarithm(t.add(t.absolute(left), c(1))),
            lambda: t.flag_number(condition),
            lambda: t.case([(condition, left)], pick([right, None])),
            lambda: t.coalesce([left, right]),
            lambda: (
                plain
                if day is None
                else calendar.date_part(pick(["year", "week", "dayofweek"]), day)
            ),
        ]
        return self.tried(pick(makers), plain)

    def flag(self, depth):
        pick = self.choose.pick
        plain = self.column(Flag) or t.is_null(self.columns[0])
        if depth == 0:
            return plain
        left, right = self.number(depth - 1), self.number(depth - 1)
        op = pick(["=", "<>", "<", "<=", ">", ">="])
        text, day = self.column(Text), self.column(Day)
        makers = [
            lambda: t.compare(op, left, right),
            lambda: t.compare(op, text or c("b"), c(pick(["", "a", "ü", "x|y"]))),
            lambda: plain if day is None else t.compare(op, day, c(date(2020, 2, 29))),
            lambda: t.negation(self.flag(depth - 1)),
            lambda: t.all_of([self.flag(depth - 1), plain]),
            lambda: t.any_of([self.flag(depth - 1), plain]),
            lambda: t.is_null(left),
            lambda: t.member(left, [c(self.choose.whole(-9, 9)) for _ in range(3)]),
            lambda: plain if text is None else t.like(text, pick(["a%", "_", "%|%"])),
        ]
        return self.tried(pick(makers), plain)

    @staticmethod
    def tried(maker, otherwise):
        try:
            return maker()
        except QueryError:
            return otherwise

    def any(self, depth):
        day, text = self.column(Day), self.column(Text)
        makers = [
            lambda: self.number(depth),
            lambda: self.flag(depth),
            lambda: text or self.flag(0),
            lambda: (
                self.number(0)
                if day is None
                else calendar.date_trunc(
                    self.choose.pick(["day", "week", "month", "quarter", "year"]), day
                )
            ),
        ]
        return self.choose.pick(makers)()

    def total(self, *, low_only):
        pick = self.choose.pick
        where = pick([None, None, self.flag(1)])
        value = pick([None, self.any(1), self.number(2), self.number(1)])
        if value is None or not isinstance(value.kind, Number):
            return Total(value, where=where)
        if low_only:
            return Total(value, pick([0, 1]), value.kind.low, where)
        return Total(value, pick([0, 1, 2]), self.choose.whole(-9, 9), where)

    def part(self):
        pick, whole = self.choose.pick, self.choose.whole
        keys = tuple(self.any(whole(0, 2)) for _ in range(pick([0, 1, 1, 2, 3])))
        personal = isinstance(self.schema.unit, PerPerson)
        way = pick(["none", "weight", "sample", "clamp"]) if personal else "none"
        if personal and whole(0, 9) == 0:
            return Part((), (), NONE, spread=tuple(sorted({whole(1, 9) for _ in range(3)})))
        rows, groups = whole(1, 4), whole(1, 4)
        if way == "weight":
            bounding = Bounding(way, rows, groups, scale=pick([1, 10, 1000]))
        elif way == "none":
            bounding = NONE
        else:
            bounding = Bounding(way, pick([None, rows, rows]), pick([None, groups, groups]))
        if whole(0, 4) == 0:
            return Part(keys, (), bounding, people=True)
        totals = tuple(self.total(low_only=way == "clamp") for _ in range(whole(1, 3)))
        return Part(keys, totals, bounding)

    def request(self):
        pick = self.choose.pick
        parts = tuple(self.part() for _ in range(pick([1, 1, 2, 3])))
        return Request(self.schema, pick([None, self.flag(2)]), parts)


def generated(count=60):
    """The same random requests to the main table in every run."""
    made = {}
    for seed in range(count):
        schema = ROWS_SCHEMA if seed % 10 == 9 else SCHEMA
        made[f"generated {seed}"] = Generator(Chooser(seed), schema).request()
    return made


def corpus():
    """All requests to the main table, by name."""
    return hand_made() | generated()


# random tables

DECLARATIONS = {
    "integer": [
        Bounds(0, 120, 1),
        Bounds(-1000, 1000),
        Bounds("0.5", "10.5", "0.5"),
        Bounds(-30, 30, 3),
        Bounds("-1/3", "4/3", "1/3"),
        Bounds(-(1 << 60), 1 << 60, 1 << 20),
        Keys(range(-3, 9)),
        Keys([5, -1, 7]),
        Boolean(),
    ],
    "real": [
        Bounds(0, 1000, "0.01"),
        Bounds(-50, 50, 5),
        Bounds("-1/3", "4/3", "1/3"),
        Bounds(-10, 10, "1/7"),
        Bounds("0.1", "0.7", "0.1"),
        Bounds(-(1 << 60), 1 << 60, 1),
        Keys(range(-3, 9)),
        Keys([0, 3]),
        Boolean(),
    ],
    "text": [Keys(["a", "", "x|y", "ü"]), FreeText(), FreeText()],
    "boolean": [Boolean(), Keys([True]), Bounds(0, 1, 1), Bounds(-6, 6, 6)],
    "date": [Dates("1960-02-29", "2010-12-31"), Keys([date(2000, 1, 1), date(2000, 1, 2)])],
    "timestamp": [Dates("2019-12-30", "2021-01-03"), Keys([date(2020, 1, 1), date(2020, 1, 5)])],
}
STORAGES = list(DECLARATIONS)


@st.composite
def asked_tables(draw, person="integer", most_rows=25):
    """A schema, rows, and a request, all random."""
    choose = Drawn(draw)
    storages = [choose.pick(STORAGES) for _ in range(choose.whole(1, 4))]
    types = {"p": person} | {f"c{i}": s for i, s in enumerate(storages)}
    columns = {f"c{i}": choose.pick(DECLARATIONS[s]) for i, s in enumerate(storages)}
    unit = choose.pick([PerPerson("p"), PerPerson("p"), PerRow()])
    schema = Schema("t", unit, columns, types, {}, 10**7)
    rng = draw(st.randoms(use_true_random=False))
    pool = pools(rng)
    rows = []
    for _ in range(choose.whole(0, most_rows)):
        row = {f"c{i}": pool[s]() for i, s in enumerate(storages)}
        row["p"] = choose.pick([None, 1, 1, 2, 2, 3, 4, -5])
        if person == "text" and row["p"] is not None:
            row["p"] = f"p{row['p']}"
        rows.append(row)
    return rows, Generator(choose, schema).request()

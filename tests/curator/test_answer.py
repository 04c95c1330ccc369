"""Noise on exact cells: every number that leaves has its own, and nothing else leaves."""

import time
from collections import Counter
from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from tests.query.measuring import (
    PLUS,
    SURE,
    Aggregate,
    PerPerson,
    PerRow,
    X,
    ask,
    contribution,
    declared,
    question,
)

from discreet.curator import answer
from discreet.curator.answer import (
    answered,
    coarsened,
    draws,
    finer_of,
    public_groups,
    steps_between,
)
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.staircase import Staircase
from discreet.noise.source import KeyedSource, new_key, system_source
from discreet.query.expr import Column
from discreet.query.kinds import Text
from discreet.query.plan import Grouping, Plan
from discreet.query.price import Target, priced

LEVEL = Fraction(19, 20)
COUNT, PEOPLE = Aggregate("count"), Aggregate("people")
SUM, MEAN = Aggregate("sum", X), Aggregate("mean", X)
MEDIAN = Aggregate("quantile", X, level=Fraction(1, 2))
LOUD = Target(epsilon=999)
APPROX = Target(epsilon=1, delta="1e-6")


def engine(question_, people):
    """The exact cells of every part, for people given as lists of (value, group)."""
    found = []
    for part in question_.request.parts:
        cells = Counter()
        for person in people:
            rows = [{"x": x, "y": x or 0, "g": g, "f": 1} for x, g in person]
            for key, totals in contribution(part, rows, question_.request.where).items():
                for j, n in enumerate(totals):
                    cells[key, j] += n
        size = 1 if part.people else len(part.totals)
        keys = dict.fromkeys(key for key, _ in cells)
        found.append({key: tuple(cells[key, j] for j in range(size)) for key in keys})
    return found


def quietly(monkeypatch):
    monkeypatch.setattr(answer, "draws", lambda noise, size, source: [0] * size)


def values(found, aggregate, what="value"):
    return [getattr(estimate, what) for estimate in found.estimates[aggregate]]


PEOPLE_AND_ROWS = [
    [(1, "a")],
    [(3, "a"), (4, "b")],
    [(None, "a")],
    [(0, "c")],
    [(4, "b"), (4, "b")],
    [(2, None)],
]


@pytest.mark.parametrize(
    "unit", [PerPerson("id", max_rows=2), PerPerson("id", max_rows=2, max_groups=2)]
)
def test_every_number_of_every_group_without_noise(monkeypatch, unit):
    quietly(monkeypatch)
    wanted = [COUNT, SUM, MEAN, Aggregate("count", X), MEDIAN, Aggregate("sum", SURE)]
    question_ = ask(*wanted, unit=unit, target=LOUD, keys=["b", "a", "z"])
    found = answered(
        question_, engine(question_, PEOPLE_AND_ROWS), system_source(), confidence=LEVEL
    )
    assert found.groups == (("b",), ("a",), ("z",))
    assert values(found, COUNT) == [3, 3, 0]
    assert values(found, SUM) == [12, 4, 0]
    assert values(found, Aggregate("count", X)) == [3, 2, 0]
    assert values(found, MEAN) == [4, 2, 2]
    assert values(found, Aggregate("sum", SURE)) == [12, 4, 0]
    assert values(found, MEDIAN)[0] == 4


def test_the_row_of_the_others_holds_everybody_else(monkeypatch):
    quietly(monkeypatch)
    unit = PerPerson("id", max_rows=2)
    question_ = ask(COUNT, SUM, MEDIAN, unit=unit, target=LOUD, keys=["a"], other=True)
    found = answered(
        question_, engine(question_, PEOPLE_AND_ROWS), system_source(), confidence=LEVEL
    )
    assert found.groups == (("a",), None)
    assert values(found, COUNT) == [3, 5]
    assert values(found, SUM) == [4, 14]
    assert values(found, MEDIAN)[1] == 4


def test_ungrouped_questions_have_one_row_also_on_an_empty_table(monkeypatch):
    quietly(monkeypatch)
    question_ = ask(COUNT, MEAN, target=LOUD)
    for people, rows in ((PEOPLE_AND_ROWS, 8), ([], 0)):
        found = answered(question_, engine(question_, people), system_source(), confidence=LEVEL)
        assert found.groups == ((),)
        assert values(found, COUNT) == [rows]
    empty = answered(question_, [{}], system_source(), confidence=LEVEL)
    assert values(empty, MEAN) == [2]


def test_a_public_number_of_rows_is_told_as_it_is(monkeypatch):
    quietly(monkeypatch)
    mean = Aggregate("mean", SURE)
    question_ = ask(COUNT, mean, unit=PerRow(neighbours="replace", rows=4), target=LOUD)
    people = [[(n, "a")] for n in (1, 2, 3, 4)]
    found = answered(question_, engine(question_, people), system_source(), confidence=LEVEL)
    assert (
        values(found, COUNT, "low") == values(found, COUNT) == values(found, COUNT, "high") == [4]
    )
    assert values(found, mean) == [2.5]
    alone = ask(COUNT, unit=PerRow(neighbours="replace", rows=4), target=LOUD)
    found = answered(alone, [], system_source(), confidence=LEVEL)
    assert (found.groups, values(found, COUNT)) == (((),), [4])


def test_counts_are_no_larger_than_what_is_public(monkeypatch):
    monkeypatch.setattr(answer, "draws", lambda noise, size, source: [10**6] * size)
    rows = PerRow(neighbours="replace", rows=4)
    wanted = Aggregate("count", None, PLUS)
    question_ = ask(wanted, unit=rows, target=LOUD)
    found = answered(question_, [{(): (3,)}], system_source(), confidence=LEVEL)
    assert values(found, wanted) == [4]
    people = PerPerson("id", max_rows=3, max_groups=1, neighbours="replace", people=7)
    question_ = ask(PEOPLE, COUNT, unit=people, target=LOUD, keys=["a"], other=True)
    found = answered(question_, [{}, {}], system_source(), confidence=LEVEL)
    assert values(found, PEOPLE)[0] == 7
    assert values(found, PEOPLE)[1] > 7  # one person may be in several of the other groups
    assert min(values(found, COUNT)) > 7  # and have many rows


# noise


class Drawn:
    """Counts what is drawn; the n-th number of all gets the noise 1000 n."""

    def __init__(self):
        self.asked = []
        self.number = 0

    def __call__(self, noise, size, source):
        self.asked.append((noise, size))
        first, self.number = self.number + 1, self.number + size
        return [1000 * n for n in range(first, self.number + 1)]


def test_every_cell_of_every_group_has_noise_of_its_own(monkeypatch):
    drawn = Drawn()
    monkeypatch.setattr(answer, "draws", drawn)
    seen = []
    true_reader = answer.reader

    def spying(wanted, measured, *, confidence):
        reads = true_reader(wanted, measured, confidence=confidence)
        return lambda cells, rows: seen.append((wanted, measured, cells)) or reads(cells, rows)

    monkeypatch.setattr(answer, "reader", spying)
    question_ = ask(COUNT, MEAN, Aggregate("sum", SURE), target=Target(epsilon=1), keys="abc")
    assert len(question_.measured) == 2
    answered(question_, [{}, {}], system_source(), confidence=LEVEL)
    cells = [n for m in question_.measured for n in m.noise]
    assert drawn.asked == [(noise, 3) for noise in cells]
    assert drawn.number == 12  # three cells and one, in three groups
    noisy = {id(m): {tuple(row) for _, at, row in seen if at is m} for m in question_.measured}
    used = [n for rows in noisy.values() for row in rows for n in row]
    assert sorted(used) == [1000 * n for n in range(1, 13)]  # each once, and read by all alike


def test_aggregates_of_one_block_read_the_same_noisy_cells():
    question_ = ask(COUNT, MEAN, SUM, target=Target(epsilon=1), keys="ab")
    exact = [{("a",): (50, 100, 60), ("b",): (5, 9, 5)}]
    found, again = (
        answered(question_, exact, KeyedSource(bytes([i]) * 32), confidence=LEVEL) for i in (1, 2)
    )
    sums, means = values(found, SUM, "raw"), values(found, MEAN)
    assert values(again, SUM, "raw") != sums
    assert sums[0] / means[0] == pytest.approx(50, abs=40)  # the noisy number of values


def test_a_group_that_is_listed_twice_is_answered_once(monkeypatch):
    drawn = Drawn()
    monkeypatch.setattr(answer, "draws", drawn)
    question_ = ask(COUNT, target=LOUD, keys="abc", combinations=(("a",), ("b",), ("a",)))
    found = answered(question_, [{}], system_source(), confidence=LEVEL)
    assert found.groups == (("a",), ("b",))
    assert drawn.number == 2
    assert public_groups(question(COUNT, keys=["a", "a", "b"])) == (("a",), ("b",))
    assert public_groups(question(COUNT, keys=[1, True, 2])) == ((1,), (2,))


def test_groups_are_the_product_of_the_keys_in_order():
    two = (
        Grouping("g", Column("g", Text()), ("b", "a")),
        Grouping("h", Column("h", Text()), ("u", "v")),
    )
    plan = Plan("t", None, two, question(COUNT).outputs)
    assert public_groups(plan) == (("b", "u"), ("b", "v"), ("a", "u"), ("a", "v"))
    assert public_groups(question(COUNT)) == ((),)


@pytest.mark.parametrize(
    "noise",
    [
        Geometric(epsilon=1),
        Geometric(epsilon="1/1000000", sensitivity=1 << 62),
        Staircase(epsilon=2, sensitivity=50),
        Gaussian(rho="1/2", sensitivity=3),
        Gaussian(rho="1/1000000000000", sensitivity=1 << 61),
    ],
)
def test_draws_have_the_scale_of_their_noise(noise):
    found = draws(noise, 200, system_source())
    assert len(found) == 200
    assert all(type(n) is int for n in found)
    reach = noise.error(1 - Fraction(1, 10**15))
    assert all(abs(n) <= reach for n in found)
    assert max(map(abs, found)) > reach / 1000
    assert draws(noise, 0, system_source()) == []


@pytest.mark.parametrize("size", [1, 16, 17, 40])
def test_a_key_gives_the_same_noise_again_and_few_numbers_are_drawn_one_by_one(size):
    noise, key = Geometric(epsilon="0.01"), bytes(range(32))
    found = draws(noise, size, KeyedSource(key))
    assert draws(noise, size, KeyedSource(key)) == found
    source = KeyedSource(key)
    alone = [noise.release(0, source=source) for _ in range(size)]
    assert (alone == found) == (size <= 16)


@pytest.mark.statistical
def test_noisy_answers_have_the_law_that_was_priced():
    """20,000 groups; false alarms: each share is more than 7.5 standard deviations off, < 1e-12."""
    size = 20_000
    question_ = ask(COUNT, target=Target(epsilon=1), keys=range(size))
    exact = [{(i,): (i,) for i in range(size)}]
    found = answered(question_, exact, system_source(), confidence=LEVEL)
    noise = np.array(values(found, COUNT, "raw")) - np.arange(size)
    law = Geometric(epsilon=1).noise_law
    for k in range(-2, 3):
        p = law.mass(k)
        assert abs((noise == k).mean() - p) <= 7.5 * (p * (1 - p) / size) ** 0.5


# selected keys


def selecting(*wanted, unit=None, target=APPROX, **more):
    return ask(*wanted, unit=unit or PerRow(), target=target, unknown=True, **more)


def test_selected_keys_come_in_their_own_order_and_never_from_nowhere(monkeypatch):
    quietly(monkeypatch)
    question_ = selecting(MEAN, COUNT)
    counts = {("pear",): (500,), ("",): (400,), (None,): (300,), ("apple",): (200,), ("x",): (0,)}
    exact = [{}, counts]
    found = answered(question_, exact, system_source(), confidence=LEVEL)
    assert found.groups == (("",), ("apple",), ("pear",), (None,))
    shuffled = [{}, dict(sorted(counts.items(), key=lambda item: str(item[0]), reverse=True))]
    assert answered(question_, shuffled, system_source(), confidence=LEVEL).groups == found.groups
    assert answered(question_, [{}, {}], system_source(), confidence=LEVEL).groups == ()


def test_the_selection_decides_and_nothing_else(monkeypatch):
    quietly(monkeypatch)
    question_ = selecting(MEAN, COUNT, other=True)
    monkeypatch.setattr(type(question_.selection), "release", lambda self, counts, source: [("b",)])
    exact = [{("a",): (3, 6, 3), ("b",): (4, 8, 5)}, {("a",): (3,), ("b",): (5,)}]
    found = answered(question_, exact, system_source(), confidence=LEVEL)
    assert found.groups == (("b",), None)
    assert values(found, COUNT) == [5, 3]
    alone = answered(selecting(MEAN, COUNT), exact, system_source(), confidence=LEVEL)
    assert alone.groups == (("b",),)


def test_who_has_no_key_is_among_the_others(monkeypatch):
    """Two rows without a key could not be told apart."""
    quietly(monkeypatch)
    question_ = selecting(MEAN, COUNT, other=True)
    exact = [{(None,): (4, 8, 900), ("b",): (4, 8, 900)}, {(None,): (900,), ("b",): (900,)}]
    found = answered(question_, exact, system_source(), confidence=LEVEL)
    assert found.groups == (("b",), None)
    assert values(found, COUNT) == [900, 900]


def test_keys_beside_public_ones_are_selected_among_declared_ones(monkeypatch):
    quietly(monkeypatch)
    groupings = (
        Grouping("g", Column("g", Text()), None),
        Grouping("h", Column("h", Text()), ("u", "v")),
    )
    plan = Plan("t", None, groupings, question(MEAN).outputs)
    question_ = priced(plan, declared(PerRow()), APPROX)
    counts = {("a", "u"): (900,), ("a", "w"): (900,), ("b", None): (900,), ("b", "v"): (900,)}
    found = answered(question_, [{}, counts], system_source(), confidence=LEVEL)
    assert found.groups == (("a", "u"), ("b", "v"))


@pytest.mark.parametrize("unit", [PerRow(), PerRow(neighbours="replace"), PerRow(together=2)])
def test_counts_of_selected_keys(unit):
    question_ = selecting(COUNT, unit=unit)
    assert question_.counts_keys
    exact = [{("big",): (100_000,), ("",): (50_000,), ("rare",): (1,), (None,): (70_000,)}]
    found = answered(question_, exact, system_source(), confidence=LEVEL)
    assert found.groups == (("",), ("big",), (None,))
    shares = question_.selection.parts
    width = Geometric(epsilon=Fraction(1, shares)).error(LEVEL)
    threshold = question_.selection.threshold
    for estimate, n in zip(found.estimates[COUNT], (50_000, 100_000, 70_000), strict=True):
        assert abs(estimate.value - n) <= threshold
        assert (estimate.low, estimate.high) == (estimate.value - width, estimate.value + width)
    assert answered(question_, [{}], system_source(), confidence=LEVEL).groups == ()


@pytest.mark.statistical
def test_intervals_of_selected_counts_cover():
    """2,000 keys of 10,000 people; false alarms: P(Binomial(2000, 0.05) > 170) < 1e-10."""
    question_ = selecting(COUNT)
    exact = [{(str(i),): (10_000,) for i in range(2000)}]
    found = answered(question_, exact, system_source(), confidence=LEVEL)
    assert len(found.groups) == 2000
    assert sum(not e.low <= 10_000 <= e.high for e in found.estimates[COUNT]) <= 170


# coarser


def at(epsilon, *wanted, **more):
    return ask(*wanted, target=Target(epsilon=epsilon), **more)


def finer_and_coarser(*wanted, fine=1, coarse="0.5", exact, **more):
    """Both questions, the answer to the finer one, and a way to make it coarser."""
    one, other = at(fine, *wanted, **more), at(coarse, *wanted, **more)
    found = answered(one, exact, system_source(), confidence=LEVEL)
    steps = finer_of(found.cells, one, other)

    def made(source=None):
        return coarsened(other, steps, source or system_source(), confidence=LEVEL)

    return one, other, found, made


def test_the_noise_that_is_missing_is_added_to_every_cell(monkeypatch):
    exact = [{("a",): (50, 100, 60), ("b",): (5, 9, 5)}, {("a",): (7,), ("b",): (8,)}]
    wanted = (COUNT, MEAN, SUM, Aggregate("sum", SURE))
    fine, coarse, found, made = finer_and_coarser(*wanted, exact=exact, keys="abc", other=True)
    steps = steps_between(fine, coarse)
    assert [[(s.fine, s.coarse) for s in each] for each in steps] == [
        list(zip(one.noise, other.noise, strict=True))
        for one, other in zip(fine.measured, coarse.measured, strict=True)
    ]
    key = new_key()
    got = made(KeyedSource(key))
    assert (got.groups, list(got.estimates)) == (found.groups, list(found.estimates))
    assert got.groups == (("a",), ("b",), ("c",), None)
    assert made(KeyedSource(key)) == got
    fresh = answered(coarse, exact, system_source(), confidence=LEVEL)
    for aggregate in (SUM, Aggregate("sum", SURE)):
        widths = [
            [e.high - e.low for e in each.estimates[aggregate]] for each in (got, fresh, found)
        ]
        assert widths[0] == pytest.approx(widths[1])
        assert min(widths[0]) > max(widths[2])
    monkeypatch.setattr(
        answer.Coarsening, "release", lambda _, noisy, source: [n + 1000 for n in noisy]
    )
    for aggregate, move in ((COUNT, 750), (Aggregate("sum", SURE), 1000)):  # 3 cells of 1/4 row
        before, after = (values(each, aggregate, "raw") for each in (found, made()))
        assert [b - a for a, b in zip(before, after, strict=True)] == [move] * 4


def test_a_coarser_answer_has_no_cells_to_make_another_of():
    """It would have noise in common with all that is made of the same cells."""
    _, _, found, made = finer_and_coarser(COUNT, exact=[{}], keys="ab")
    assert found.cells is not None
    assert made().cells is None


def test_the_same_price_adds_nothing():
    exact = [{("a",): (9, 9, 9)}]
    _, _, found, made = finer_and_coarser(COUNT, MEAN, exact=exact, keys="ab", fine=1, coarse=1)
    assert made().estimates == found.estimates


def test_a_public_number_of_rows_stays_what_it_is():
    unit = PerRow(neighbours="replace", rows=4)
    mean = Aggregate("mean", SURE)
    exact = [{(): (4, 10)}]
    *_, made = finer_and_coarser(COUNT, mean, fine="0.8", exact=exact, unit=unit)
    assert values(made(), COUNT) == [4]
    alone = at(1, COUNT, unit=unit)
    assert answered(alone, [], system_source(), confidence=LEVEL).cells is None
    assert steps_between(alone, at("0.5", COUNT, unit=unit)) is None


@pytest.mark.statistical
def test_a_coarser_answer_has_the_law_of_a_new_one():
    """100,000 groups of 7 rows, exact law; false alarm below 1e-9 (Dvoretzky et al., Massart)."""
    size = 100_000
    exact = [{(i,): (7,) for i in range(size)}]
    _, coarse, _, made = finer_and_coarser(COUNT, exact=exact, keys=range(size))
    drawn = np.sort(values(made(), COUNT, "raw"))
    law = coarse.measured[0].noise[0].law(7)
    for k in range(-10, 25):
        below = np.searchsorted(drawn, k, side="right") / size
        assert abs(below - law.cumulative(k)) < sqrt(log(2e9 * 2) / (2 * size))


MANY = [Aggregate("quantile", X, level=Fraction(i, 10)) for i in range(1, 10)]
TWO = PerPerson("id", max_rows=2)


@pytest.mark.parametrize(
    ("fine", "coarse"),
    [
        (at("0.5", COUNT), at(1, COUNT)),
        (at(1, COUNT), at("0.5", SUM)),
        (at(1, COUNT, keys="ab"), at("0.5", COUNT, keys="abc")),
        (at(1, COUNT, keys="ab"), at("0.5", COUNT, keys="ab", other=True)),
        (at(1, COUNT), at("0.5", COUNT, where=PLUS)),
        (at(1, COUNT), at("0.5", COUNT, unit=TWO)),
        (at(1, COUNT, unit=TWO), at("0.5", COUNT, unit=PerPerson("id", max_rows=3))),
        (at(1, COUNT, MEDIAN), at("0.5", COUNT, MEDIAN)),
        (at(1, *MANY), at("0.5", *MANY)),
        (at(4, SUM), at(2, SUM)),
        (ask(COUNT, MEAN, keys="abcdefgh", target=Target(rho=1), unit=TWO), at("0.1", COUNT)),
        (ask(COUNT, target=APPROX, unknown=True), ask(COUNT, target=APPROX, unknown=True)),
    ],
)
def test_other_questions_and_other_noise_cannot_be_made_coarser(fine, coarse):
    assert steps_between(fine, coarse) is None
    assert finer_of((), fine, coarse) is None


def test_cells_of_another_shape_are_not_used():
    fine, coarse = at(1, MEAN, keys="ab"), at("0.5", MEAN, keys="ab")
    good = answered(fine, [{}], system_source(), confidence=LEVEL).cells
    assert finer_of(good, fine, coarse) is not None
    ((first, second),) = good
    for bad in ((), ((first,),), (*good, *good), ((first, second, second),), ((first, (1,)),)):
        assert finer_of(bad, fine, coarse) is None


def test_answers_that_cannot_be_made_coarser_keep_no_cells():
    for question_ in (at(1, COUNT, MEDIAN), at(1, *MANY), at(4, SUM)):
        exact = [{} for _ in question_.request.parts]
        assert answered(question_, exact, system_source(), confidence=LEVEL).cells is None


# size


def test_many_groups_are_answered_in_reasonable_time():
    size = 100_000
    question_ = ask(COUNT, SUM, target=Target(epsilon=1), keys=range(size))
    start = time.process_time()
    found = answered(question_, [{(5,): (3, 6, 4)}], system_source(), confidence=LEVEL)
    assert len(found.groups) == size
    assert time.process_time() - start < 30


def test_many_public_and_selected_keys_do_not_take_quadratic_time():
    groupings = (
        Grouping("g", Column("g", Text()), None),
        Grouping("h", Column("h", Text()), tuple(map(str, range(20_000)))),
    )
    plan = Plan("t", None, groupings, question(COUNT).outputs)
    question_ = priced(plan, declared(PerRow()), APPROX)
    exact = [{("a", str(i)): (1,) for i in range(20_000)}]
    start = time.process_time()
    answered(question_, exact, system_source(), confidence=LEVEL)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("others", [True, False])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_exact_integers_are_found_by_their_group(depth, others):
    """As those that are gathered row by row, with rows of nobody's group or without."""
    keys = [(), ("a",), ("b", 1)][depth], [(), ("b",), ("b", None)][depth]
    cells = {keys[0]: (3, 4), keys[1]: (5, 6)} | ({("z",) * depth: (7, 8)} if depth else {})
    groups = (*dict.fromkeys(keys), *((("c",) * depth,) if depth else ()))
    listed = (*groups, None) if others and depth else groups
    gathered = answer._grouped(cells, listed, depth)
    wanted = [[totals for _, totals in gathered.get(group, ())] for group in listed]
    assert [list(each) for each in answer._totals(cells, listed, depth)] == wanted
    longer = {(*key, 65): totals for key, totals in cells.items()}  # what no engine should tell
    assert [list(each) for each in answer._totals(longer, listed, depth)] == wanted
    assert answer._totals({}, listed, depth) == [() if None not in listed else []] * len(listed)

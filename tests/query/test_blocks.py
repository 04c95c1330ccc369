"""Partitions of unity, exactly: every row of every small range; and who shares what."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.measuring import PLUS, SURE, Aggregate, X, contribution, number

from discreet.errors import QueryError
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.staircase import Staircase
from discreet.query import total
from discreet.query.blocks import MOST_BINS, bin_step, blocks_of, number_of_bins
from discreet.query.evaluate import evaluate
from discreet.query.expr import Column
from discreet.query.kinds import Flag, Number, Text
from discreet.query.request import Bounding, Part

RANGES = [(0, 1), (0, 4), (-3, 2), (-5, -1), (7, 9), (-1, 0)]
COUNT, PEOPLE = Aggregate("count"), Aggregate("people")


def shared(*wanted, rows_are_people=True, known=None):
    return blocks_of(wanted, rows_are_people=rows_are_people, known_rows=known)


def exact_cells(block, rows):
    """The cells of these rows, through the totals that the engine is asked for."""
    found = contribution(Part((), block.totals, Bounding("none")), rows)
    totals = found.get((), (0,) * len(block.totals))
    return [sum(f * n for f, n in zip(cell.of, totals, strict=True)) for cell in block.cells]


def row(x, f=1):
    return {"x": x, "y": x, "f": f}


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("function", ["sum", "mean", "variance", "stddev"])
@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("where", [None, PLUS])
@pytest.mark.parametrize("rows", [True, False])
def test_the_parts_of_every_row_add_up_to_one(low, high, function, nullable, where, rows):
    x = number(low, high, nullable=nullable, grid="1/4")
    wanted = [Aggregate(function, x, where)]
    wanted += [Aggregate("count", None, where)] * rows
    block = shared(*wanted)[wanted[0]]
    reached = set()
    for value, f in itertools.product([*range(low, high + 1), *[None] * nullable], (0, 1)):
        cells = exact_cells(block, [row(value, f)])
        shares = [Fraction(c, cell.unit) for c, cell in zip(cells, block.cells, strict=True)]
        counts = where is None or f == 1
        if block.what == "value":
            assert min(shares) >= 0
            there = counts and (value is not None or "rows" in block.forms)
            assert sum(shares) == (1 if there else 0)
        assert sum(map(abs, shares)) <= 1
        reached |= {j for j, share in enumerate(shares) if abs(share) == 1}
    # every unit is reached, so that no smaller one would do; but for 2 t (D - t), at most D^2 / 2
    middle = {j for j, cell in enumerate(block.cells) if cell.name == "middle"}
    assert reached | middle == set(range(len(block.cells)))
    assert len({cell.unit for cell in block.cells}) == 1


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("nullable", [True, False])
@given(data=st.data())
def test_forms_recover_what_was_asked(low, high, degree, nullable, data):
    x = number(low, high, nullable=nullable)
    function = "mean" if degree == 1 else "variance"
    wanted = Aggregate(function, x)
    block = shared(wanted, COUNT)[wanted]
    assert block == shared(wanted, COUNT)[COUNT]
    assert block.degree == degree
    value = st.integers(low, high) | st.none() if nullable else st.integers(low, high)
    values = data.draw(st.lists(value, max_size=8))
    cells = exact_cells(block, [row(n) for n in values])
    known = [n - low for n in values if n is not None]
    expected = {"rows": len(values), "count": len(known), "first": sum(known)}
    expected |= {"squares": sum(t * t for t in known)} if degree == 2 else {}
    assert {name: form.at(cells) for name, form in block.forms.items()} == expected


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_a_plain_sum_and_a_centred_sum(low, high):
    x = number(low, high)
    plain = shared(Aggregate("sum", x))[Aggregate("sum", x)]
    assert plain.what == "sum"
    centred = shared(Aggregate("mean", x), known=5)[Aggregate("mean", x)]
    assert centred.what == "centred"
    for values in itertools.product(range(low, high + 1), repeat=2):
        rows = [row(n) for n in values]
        assert exact_cells(plain, rows) == [sum(values)]
        assert exact_cells(centred, rows) == [sum(2 * n - low - high for n in values)]
    assert plain.cells[0].unit == max(abs(low), abs(high))
    assert centred.cells[0].unit == high - low


FLAG = Column("b", Flag(nullable=True))
TEXT = Column("s", Text(nullable=True))
SUM, MEAN, VARIANCE = (Aggregate(f, X) for f in ("sum", "mean", "variance"))
COUNT_X, COUNT_SURE = Aggregate("count", X), Aggregate("count", SURE)
MEDIAN, MAXIMUM = (Aggregate("quantile", X, level=Fraction(n, 2)) for n in (1, 2))
MINIMUM = Aggregate("quantile", X, level=Fraction(0))
FILTERED = Aggregate("count", None, PLUS)
POSITIVE = number(1, 8, name="p", nullable=True)

# a question, and its blocks as (what, names of the cells, how many of the aggregates it serves)
SHARING = [
    ([COUNT], [("rows", "rows", 1)]),
    ([COUNT, COUNT], [("rows", "rows", 1)]),
    ([PEOPLE, COUNT], [("rows", "rows", 2)]),
    ([COUNT_SURE, COUNT], [("rows", "rows", 2)]),
    ([COUNT_X], [("rows", "rows", 1)]),
    ([COUNT_X, COUNT], [("rows", "rows", 1), ("rows", "rows", 1)]),
    ([SUM], [("sum", "sum", 1)]),
    ([MEAN], [("value", "high low", 1)]),
    ([SUM, MEAN], [("value", "high low", 2)]),
    ([SUM, COUNT_X], [("value", "high low", 2)]),
    ([SUM, COUNT], [("value", "high low missing", 2)]),
    ([SUM, MEAN, COUNT, COUNT_X], [("value", "high low missing", 4)]),
    ([SUM, MEAN, VARIANCE, COUNT], [("value", "high middle low missing", 4)]),
    ([VARIANCE, Aggregate("stddev", X)], [("value", "high middle low", 2)]),
    ([Aggregate("sum", SURE), COUNT], [("value", "high low", 2)]),
    ([SUM, Aggregate("sum", SURE)], [("sum", "sum", 1), ("sum", "sum", 1)]),
    ([MEAN, Aggregate("mean", SURE), COUNT], [("value", "high low missing", 2),
                                              ("value", "high low", 1)]),
    ([MEAN, Aggregate("mean", POSITIVE), COUNT], [("value", "high low missing", 2),
                                                  ("value", "high low", 1)]),
    ([MEDIAN, MAXIMUM, MINIMUM], [("quantile", "rows", 3)]),
    ([MEDIAN, SUM], [("quantile", "rows", 1), ("sum", "sum", 1)]),
    ([MEDIAN, Aggregate("quantile", SURE, level=Fraction(1, 2))],
     [("quantile", "rows", 1), ("quantile", "rows", 1)]),
    ([COUNT, FILTERED], [("rows", "rows", 1), ("rows", "rows", 1)]),
    ([FILTERED, Aggregate("mean", SURE, PLUS)], [("value", "high low", 2)]),
    ([Aggregate("sum", FLAG), Aggregate("count", FLAG)], [("value", "high low", 2)]),
    ([Aggregate("count", TEXT)], [("rows", "rows", 1)]),
    ([Aggregate("product", POSITIVE), Aggregate("geometric_mean", POSITIVE)],
     [("value", "high low", 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "blocks"), SHARING)
def test_who_shares_what(wanted, blocks):
    found = shared(*wanted)
    unique = list(dict.fromkeys(found.values()))
    said = [
        (b.what, " ".join(c.name for c in b.cells), sum(b == c for c in found.values()))
        for b in unique
    ]
    assert said == blocks
    assert list(found) == list(dict.fromkeys(wanted))


def test_people_are_counted_apart_where_they_have_many_rows():
    found = shared(PEOPLE, COUNT, rows_are_people=False)
    assert [found[a].what for a in (PEOPLE, COUNT)] == ["people", "rows"]
    with pytest.raises(QueryError, match="takes no FILTER; put the condition in WHERE"):
        shared(Aggregate("people", None, PLUS))


def test_a_public_number_of_rows_costs_nothing_and_centres_sums():
    sure = Aggregate("mean", SURE)
    found = shared(COUNT, COUNT_SURE, sure, SUM, MEAN, known=100)
    assert found[COUNT].what == found[COUNT_SURE].what == "known"
    assert found[COUNT].cells == ()
    assert found[sure].what == "centred"
    assert found[SUM].what == "value"  # values may be missing: their number is not public
    assert {c.name for c in found[MEAN].cells} == {"high", "low"}
    assert shared(SUM, known=100)[SUM].what == "sum"
    assert shared(Aggregate("variance", SURE), known=9)[Aggregate("variance", SURE)].degree == 2
    assert shared(FILTERED, known=100)[FILTERED].what == "rows"
    assert shared(Aggregate("mean", SURE, PLUS), known=9)[Aggregate("mean", SURE, PLUS)].degree == 1


def test_the_levels_of_all_quantiles_of_a_column_together():
    block = shared(MAXIMUM, MEDIAN, MINIMUM)[MEDIAN]
    assert block.levels == (0, Fraction(1, 2), 1)
    (low,) = shared(MINIMUM)[MINIMUM].levels
    assert low == 0


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0), (0, 1), (-3, 4), (0, 1022), (0, 1023), (5, 1029), (-9999, 10_000)]
)
def test_bins_cover_the_range_once(low, high):
    x = number(low, high, nullable=True)
    wanted = Aggregate("quantile", x, level=Fraction(1, 2))
    block = shared(wanted)[wanted]
    (binned,) = block.totals
    step, bins = bin_step(x.kind), number_of_bins(x.kind)
    assert bins <= MOST_BINS
    assert bins * step > high - low >= (bins - 1) * step
    assert step == 1 or (step - 1) * MOST_BINS < high - low + 1
    places = [evaluate(binned.value, {"x": n}) for n in range(low, high + 1)]
    assert places == [(n - low) // step for n in range(low, high + 1)]
    assert evaluate(binned.value, {"x": None}) is None
    assert (binned.value.kind.low, binned.value.kind.high) == (0, bins - 1)


def test_what_has_no_measurement_is_refused():
    with pytest.raises(QueryError, match="need a value that can differ"):
        shared(Aggregate("sum", number(3, 3)))
    with pytest.raises(QueryError, match="is no number"):
        shared(Aggregate("sum", TEXT))
    with pytest.raises(QueryError, match="is no number"):
        shared(Aggregate("quantile", TEXT, level=Fraction(1, 2)))
    with pytest.raises(QueryError, match="LN needs a number above 0"):
        shared(Aggregate("product", X))


def test_products_are_sums_of_logarithms():
    wanted = Aggregate("product", POSITIVE)
    block = shared(wanted)[wanted]
    assert block.operand == total.logarithm(POSITIVE)
    assert block.what == "value"


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1"])
def test_one_count_with_a_sum_has_half_the_variance_of_two_shares(epsilon):
    width = 1000
    cell = Geometric(epsilon=epsilon, sensitivity=width).variance / width**2
    apart = Geometric(epsilon=Fraction(epsilon) / 2).variance
    limit = 8 / float(epsilon) ** 2
    assert 2 * cell == pytest.approx(limit / 2, rel=1e-5)
    assert apart <= limit
    assert 2 * cell < apart
    centred = 2 * cell * width**2 / 4  # of (high - low)/2
    half_range = Geometric(epsilon=Fraction(epsilon) / 2, sensitivity=width // 2).variance
    assert centred == pytest.approx(half_range / 2, rel=1e-4)


@given(
    st.integers(-2000, 2000),
    st.integers(1, 2000),
    st.sampled_from(["0.01", "0.1", "0.5", "1"]),
)
def test_a_plain_sum_is_never_worse_than_a_partition(low, width, epsilon):
    high = low + width
    unit = max(abs(low), abs(high))
    plain = Geometric(epsilon=epsilon, sensitivity=unit).variance
    partition = Geometric(epsilon=epsilon, sensitivity=width).variance / width**2
    partition *= high**2 + low**2
    assert plain <= partition * (1 + 1e-9)


def test_beyond_fine_grids_a_plain_sum_can_be_a_little_worse():
    """The limit of the claim: at epsilon 5 the noise is narrower than a step."""
    partition = (9**2 + 10**2) * Geometric(epsilon=5).variance
    assert Staircase(epsilon=5, sensitivity=10).variance > partition


def test_equal_blocks_are_one_key():
    first, again = (shared(MEAN, COUNT)[MEAN] for _ in range(2))
    assert first == again
    assert hash(first) == hash(again)
    assert first.kind == Number(0, 4, nullable=True)
    assert shared(COUNT)[COUNT].kind == Number(1, 1)

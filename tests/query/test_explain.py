"""Prices before paying: errors that agree with the exact laws, and the reverse."""

import json
import math
from decimal import Decimal
from fractions import Fraction

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
    declared,
    number,
    question,
)

from discreet.errors import ParameterError, QueryError
from discreet.mechanisms.selection import PermuteAndFlip
from discreet.query.explain import (
    Price,
    epsilon_for,
    explained,
    least_epsilon,
    mechanism_words,
    price_of,
)
from discreet.query.kinds import Number
from discreet.query.plan import Output, PostAggregate, PostCall, PostGroup
from discreet.query.price import Target, priced
from discreet.query.reading import half_width, rank_error, read
from discreet.query.schema import Bounds, Schema
from discreet.query.sql import parse

COUNT = Aggregate("count")
SUM, MEAN, VARIANCE = (Aggregate(f, X) for f in ("sum", "mean", "variance"))
MEDIAN = Aggregate("quantile", X, level=Fraction(1, 2))
LEVEL = Fraction(19, 20)


def absolute(measured, factors):
    """E |sum of factor * noise| by listing the exact laws."""
    values, weights = np.zeros(1), np.ones(1)
    for factor, noise in zip(factors, measured.noise, strict=True):
        if factor:
            reach = noise.error(1 - Fraction(1, 10**9))
            places = np.arange(-reach, reach + 1)
            masses = np.array([noise.noise_law.mass(abs(int(k))) for k in places])
            values = (values[:, None] + float(factor) * places[None, :]).reshape(-1)
            weights = (weights[:, None] * masses[None, :]).reshape(-1)
    return float(np.abs(values) @ weights) / measured.scale


@pytest.mark.parametrize(
    ("target", "near"),
    [
        ({"epsilon": 4}, 1e-4),
        ({"epsilon": 1}, 1e-4),
        ({"epsilon": "1/8"}, 2e-3),
        ({"rho": 4}, 1e-4),
        ({"rho": "1/8"}, 1e-3),
        ({"rho": "1/400"}, 2e-3),
    ],
)
@pytest.mark.parametrize(
    "wanted",
    [
        [COUNT],
        [Aggregate("sum", number(0, 3, grid="1/4"))],
        [COUNT, Aggregate("sum", number(0, 3, grid="1/4"))],
        [COUNT, Aggregate("sum", number(5, 6))],
    ],
)
def test_expected_errors_agree_with_the_exact_laws(wanted, target, near):
    question_ = ask(*wanted, target=Target(**target))
    (measured,) = question_.measured
    for line, aggregate in zip(price_of(question_), wanted, strict=True):
        kind = measured.block.kind
        if aggregate is COUNT:
            form, grid = measured.block.forms["rows"], 1
        else:
            forms = measured.block.forms
            grid = kind.grid
            if "sum" in forms:
                form = forms["sum"]
            else:
                pairs = zip(forms["first"].factors, forms["count"].factors, strict=True)
                form = type(forms["first"])(tuple(f + kind.low * c for f, c in pairs))
        assert line.error == pytest.approx(absolute(measured, form.factors) * grid, rel=near)
        width = half_width(measured, form, LEVEL) * grid
        assert line.half_width == pytest.approx(float(width))
        assert line.half_width > line.error or line.half_width == 0
        assert line.note == ""


def test_half_widths_of_narrow_noise_are_the_exact_ones():
    """At epsilon 2 three cells of noise are within 2 together, not within 2 each and 3 more."""
    x = number(0, 1, nullable=True)
    price = price_of(ask(COUNT, Aggregate("mean", x), target=Target(epsilon=2)))
    assert price["c0"].half_width == 2


@pytest.mark.parametrize("rows", [10, 1000, 100_000])
def test_means_are_priced_for_a_group_of_a_stated_size(rows):
    question_ = ask(MEAN, VARIANCE, target=Target(epsilon=1))
    price = price_of(question_, rows=rows)
    (measured,) = question_.measured
    cells = [rows * 4, rows * 8, rows * 4]  # t = D/2 = 2: t^2, 2 t (D - t), (D - t)^2
    for name, wanted in (("c0", MEAN), ("c1", VARIANCE)):
        found = read(wanted, measured, cells, confidence=LEVEL)
        assert price[name].half_width == pytest.approx((found.high - found.low) / 2)
        assert price[name].error is None
        assert f"for a group of {rows:,} rows" in price[name].note
    widths = [price_of(question_, rows=n)["c0"].half_width for n in (10, 1000, 100_000)]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("rows", [50, 50_000])
def test_a_public_number_of_rows_is_used(rows):
    unit = PerRow(neighbours="replace", rows=rows)
    sure = [Aggregate("sum", SURE), Aggregate("mean", SURE), COUNT]
    question_ = ask(*sure, unit=unit, target=Target(epsilon=1))
    (measured,) = question_.measured
    (noise,) = measured.noise
    price = price_of(question_)
    assert price["c0"].error == pytest.approx(noise.expected_absolute_error() / 2)
    assert price["c0"].half_width == noise.error(LEVEL) / 2
    assert price["c1"].error == pytest.approx(price["c0"].error / rows)
    assert price["c1"].half_width == pytest.approx(price["c0"].half_width / rows)
    assert (price["c2"].error, price["c2"].half_width) == (0, 0)
    assert price["c2"].mechanism == "none: the number of rows is public"
    product = Aggregate("geometric_mean", number(1, 8, name="y"))
    found = price_of(ask(product, unit=unit, target=Target(epsilon=1)))["c0"]
    assert found.half_width is not None
    assert f"{rows:,} rows" in found.note


def test_products_are_priced_or_said_to_be_beyond_floats():
    wanted = [Aggregate(f, number(1, 1000)) for f in ("geometric_mean", "product")]
    price = price_of(ask(*wanted, target=Target(epsilon=1)))
    assert 0 < price["c0"].half_width < 1000
    assert price["c1"].half_width is None
    assert price["c1"].note == "beyond the range of floats"


def test_quantiles_are_priced_in_ranks():
    question_ = ask(MEDIAN, target=Target(epsilon=1))
    line = price_of(question_)["c0"]
    assert (line.error, line.half_width) == (None, None)
    ranks = Fraction(PermuteAndFlip(epsilon=1).error(LEVEL, 5), 2)
    assert rank_error(question_.measured[0], Fraction(1, 2), LEVEL) == ranks
    assert line.note == f"within {float(ranks):.3g} ranks"


def test_prices_are_read_by_name_and_printed():
    question_ = ask(COUNT, SUM, MEDIAN, target=Target(epsilon="1/10"), keys="abc")
    price = price_of(question_)
    assert [line.name for line in price] == ["c0", "c1", "c2"]
    assert price.groups == 3
    assert price.confidence == LEVEL
    with pytest.raises(ParameterError, match="must be one of c0, c1, c2"):
        price["c9"]
    text = str(price).splitlines()
    assert text[0].startswith("costs 0.1-differential privacy")
    assert text[1].split() == ["number", "expected", "error", "95%", "within", "noise"]
    assert text[-1].startswith("c2: within")
    assert "permute-and-flip, epsilon 1/20" in text[4] or "0.05" in text[4]
    assert "depends" in text[4]
    unknown = ask(COUNT, target=Target(epsilon=1, delta="1e-6"), unknown=True)
    assert price_of(unknown).groups is None


def test_prices_travel_as_plain_values():
    known = ask(COUNT, SUM, MEDIAN, MEAN, target=Target(epsilon="1/10"), keys="abc")
    selected = ask(COUNT, target=Target(epsilon=1, delta="1e-6"), unknown=True)
    for question_ in (known, selected):
        price = price_of(question_, confidence="0.9")
        told = json.loads(json.dumps(price.to_dict(), allow_nan=False))
        assert list(told) == ["guarantee", "confidence", "groups", "columns"]
        assert list(told["columns"][0]) == ["name", "noise", "error", "within", "note"]
        assert Price.from_dict({**told, "text": "is passed over"}) == price
    for missing in told:
        with pytest.raises(KeyError):
            Price.from_dict({name: value for name, value in told.items() if name != missing})


@pytest.mark.parametrize("confidence", [0, 1, -1, float("nan"), "no"])
def test_bad_confidence(confidence):
    with pytest.raises(ParameterError, match="confidence"):
        price_of(ask(COUNT, target=Target(epsilon=1)), confidence=confidence)


@pytest.mark.parametrize("rows", [0, -5, 2.5])
def test_bad_rows(rows):
    with pytest.raises(ParameterError, match="rows"):
        price_of(ask(MEAN, target=Target(epsilon=1)), rows=rows)


def test_mechanisms_in_words():
    def words(*wanted, **more):
        return mechanism_words(ask(*wanted, **more).measured[0])

    assert words(COUNT, target=Target(epsilon=1)) == "geometric, epsilon 1"
    assert words(SUM, target=Target(epsilon=4)) == "staircase, epsilon 4"
    assert words(MEAN, target=Target(rho="1/2")) == "discrete Gaussian, rho 0.5"
    assert words(MEDIAN, target=Target(epsilon=1)) == "permute-and-flip, epsilon 1"
    levels = [Aggregate("quantile", X, level=Fraction(n, 5)) for n in range(1, 5)]
    assert words(*levels, target=Target(epsilon=1)) == "two-level noisy histogram, epsilon 1"


# the reverse


STEPS = [Fraction(d, 100) * Fraction(10) ** e for e in range(-6, 3) for d in range(100, 1000)]


@pytest.mark.parametrize(
    ("wanted", "within", "more"),
    [
        ([COUNT], 50, {}),
        ([COUNT], "1/2", {}),
        ([COUNT, SUM], 10, {}),
        ([COUNT, MEAN], 3, {"rows": 1000}),
        ([MEAN], "1/100", {"rows": 500}),
        ([COUNT, SUM], 10, {"column": "c1"}),
        ([SUM], 7, {"confidence": "1/2"}),
        ([COUNT, SUM], 10, {"delta": "1e-6"}),
        ([COUNT], 10**6, {}),
    ],
)
def test_the_least_epsilon_of_three_digits(wanted, within, more):
    plan, schema = question(*wanted), declared(PerRow())
    found = epsilon_for(plan, schema, within=within, **more)

    def widest(epsilon):
        target = Target(epsilon=epsilon, delta=more.get("delta"))
        confidence = more.get("confidence", LEVEL)
        price = price_of(priced(plan, schema, target), confidence=confidence, rows=more.get("rows"))
        lines = [price[more["column"]]] if "column" in more else price.lines
        return max(line.half_width for line in lines)

    place = STEPS.index(found)
    assert widest(found) <= Fraction(within)
    if place:
        assert widest(STEPS[place - 1]) > Fraction(within)
    else:
        assert found == Fraction(1, 10**6)


def test_quantiles_are_left_out_unless_nothing_else_is_asked():
    schema = declared(PerRow())
    both = float(epsilon_for(question(COUNT, MEDIAN), schema, within=50))
    alone = float(epsilon_for(question(COUNT), schema, within=50))
    assert both == pytest.approx(2 * alone, rel=0.01)
    with pytest.raises(ParameterError, match="has no meaning for numbers of unknown error"):
        epsilon_for(question(MEDIAN), schema, within=50)


def test_means_need_a_number_of_rows():
    with pytest.raises(QueryError, match="say rows="):
        epsilon_for(question(COUNT, MEAN), declared(PerRow()), within=3)


def test_epsilons_that_cannot_be():
    schema, wide = declared(PerRow()), number(0, 10**9)
    with pytest.raises(ParameterError, match="out of reach, even at epsilon 999"):
        epsilon_for(question(COUNT, Aggregate("sum", wide)), schema, within="1/1000")
    for within in (0, -1, float("nan")):
        with pytest.raises(ParameterError, match="within"):
            epsilon_for(question(COUNT), schema, within=within)
    with pytest.raises(ParameterError, match="must be one of c0"):
        epsilon_for(question(COUNT), schema, within=5, column="c7")
    with pytest.raises(QueryError, match="ask with delta"):
        epsilon_for(question(COUNT, unknown=True), schema, within=5)
    with pytest.raises(QueryError, match="max_rows"):
        epsilon_for(question(COUNT), declared(PerPerson("id")), within=5)


def test_an_epsilon_too_small_to_select_keys_with_is_not_enough():
    """Selecting keys refuses a tiny epsilon; the search goes on with larger ones."""

    def met(epsilon):
        if epsilon < Fraction(1, 100):
            raise ParameterError("epsilon", epsilon, "is too small")
        return True

    assert least_epsilon(met, 5) == Fraction(1, 100)
    with pytest.raises(ParameterError, match="too small"):
        least_epsilon(lambda _: met(Fraction(1, 1000)), 5)
    plan, schema = question(MEAN, unknown=True), declared(PerRow())
    found = epsilon_for(plan, schema, within="1/10", delta="1/100", rows=1000)
    line = price_of(priced(plan, schema, Target(epsilon=found, delta="1/100")))["c0"]
    assert line.half_width <= 0.1


# the whole question in words


def test_everything_is_explained():
    unit = PerPerson("id", max_rows=2, max_groups=3, neighbours="replace")
    question_ = ask(COUNT, MEAN, MEDIAN, unit=unit, target=Target(epsilon=1), keys="abcd")
    text = explained(question_, statement="SELECT the statement", sql="SELECT the sql")
    for part in (
        "Question\n  SELECT the sql",
        "is a value of id; the guarantee is for one who is replaced",
        "count, sum and mean of a whole number from 0 to 4 or missing moves by at most 12 rows: ",
        "rows: a person's rows are weighted so that they count as at most 6 in all, who may be",
        "quantiles of a whole number from 0 to 4 or missing moves by at most 12 rows",
        "Answer (4 groups)",
        "costs 1-differential privacy (neighbours: ",
        "Statement\n  SELECT the statement",
    ):
        assert part in text
    one = explained(ask(COUNT, target=Target(epsilon=1)), statement="s", sql="q")
    assert "Answer (1 group)" in one
    assert "the number of rows moves by at most 1: every row is one person" in one
    both = explained(ask(VARIANCE, target=Target(epsilon=1)), statement="s", sql="q")
    assert "count, sum, mean and variance of" in both


def test_selected_keys_are_explained_by_the_rule_that_selects_them():
    target = Target(epsilon=1, delta="1e-6")
    counted = ask(COUNT, target=target, unknown=True)
    assert counted.counts_keys
    keys = counted.selection
    text = explained(counted, statement="s", sql="q")
    assert f"shown surely from {2 * keys.threshold + 1} people on" in text
    assert "selected groups" in text
    sure = 2 * keys.threshold + 1
    hidden = [float(keys.law(n, counts=True).mass(None)) for n in (sure - 1, sure)]
    assert hidden[0] > 0 == hidden[1]
    with_mean = ask(MEAN, target=target, unknown=True)
    text = explained(with_mean, statement="s", sql="q")
    assert f"shown surely from {with_mean.selection.sure_from} people on" in text


def test_keys_have_no_price():
    plan = question(COUNT, keys="ab")
    ratio = PostCall("/", (PostAggregate(SUM), PostAggregate(COUNT)))
    outputs = (Output("g", PostGroup(0)), *plan.outputs, Output("ratio", ratio))
    plan = type(plan)(plan.table, plan.where, plan.groupings, outputs)
    price = price_of(priced(plan, declared(PerRow()), Target(epsilon=1)))
    assert [line.name for line in price] == ["c0", "ratio"]


def test_a_filtered_count_has_the_form_of_its_rows():
    wanted = Aggregate("count", None, PLUS)
    question_ = ask(wanted, Aggregate("count", SURE), target=Target(epsilon=1))
    assert len(question_.measured) == 2
    first, second = price_of(question_)
    assert first.error == second.error
    assert isinstance(SURE.kind, Number)
    assert math.isfinite(first.half_width)


@pytest.mark.parametrize(
    "column",
    [Bounds(0, 10**80, 10**80), Bounds(-(10**80), 10**80, 10**70), Bounds(0, "1e-300", "1e-306")],
)
@pytest.mark.parametrize("how", [{"epsilon": 1}, {"epsilon": "1e-20"}, {"rho": "1e-40"}])
def test_numbers_far_from_one_have_a_price(column, how):
    schema = Schema("t", PerRow(), {"x": column}, {})
    for text in ("SUM(x), AVG(x), COUNT(*)", "MEDIAN(x)", "SUM(x / 3)"):
        asked = priced(parse(f"SELECT {text} FROM t", schema), schema, Target(**how))
        for line in price_of(asked).lines:
            assert line.half_width is None or math.isfinite(line.half_width)
        assert explained(asked, statement="", sql="")


def test_an_accuracy_that_nearly_nothing_reaches_costs_nearly_nothing():
    from discreet.query.explain import least_epsilon

    assert least_epsilon(lambda _: True, 1) == Decimal("0.000001")
    assert least_epsilon(lambda e: e >= Fraction("0.0144"), 1) == Decimal("0.0144")
    assert least_epsilon(lambda e: e >= 100, 1) == Decimal(100)


def test_a_number_that_is_computed_from_others_has_a_row_that_says_so():
    schema = Schema("t", PerRow(), {"x": Bounds(0, 9, 1)}, storage={"x": "integer"})
    plan = parse(
        "SELECT SUM(x) / COUNT(*) AS r, COUNT(*) + COUNT(*) AS two, 1 AS one FROM t", schema
    )
    price = price_of(priced(plan, schema, Target(epsilon=1)))
    assert [line.name for line in price] == ["r", "two"]
    assert price["r"].mechanism.startswith("computed from SUM(x), COUNT(*); ")
    assert price["two"].mechanism.startswith("computed from COUNT(*); ")
    assert (price["r"].error, price["r"].half_width) == (None, None)
    assert "r              depends     depends  computed from" in str(price)
    assert Price.from_dict(price.to_dict()) == price


@pytest.mark.parametrize("within", [20, 80])
def test_a_count_of_weighted_rows_is_told_within_what_was_asked_for(within):
    """Rounding to a whole number moves it by up to a half; of all remainders one moves it most."""
    schema = declared(PerPerson("id", max_rows=4, max_groups=2))
    plan = question(COUNT, keys="ab")
    epsilon = epsilon_for(plan, schema, within=within)
    (measured,) = priced(plan, schema, Target(epsilon=epsilon)).measured
    assert measured.scale > 1
    for n in range(1000 * measured.scale, 1001 * measured.scale):
        found = read(COUNT, measured, [n], confidence=LEVEL)
        assert max(found.high - found.value, found.value - found.low) <= within

"""What is charged covers what leaks: by exact laws for small questions, by sums for all."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tests.query.measuring import (
    PLUS,
    SURE,
    Aggregate,
    G,
    PerPerson,
    PerRow,
    X,
    ask,
    everybody,
    number,
    vectors,
)

import discreet as dp
from discreet.audit.exact import SLACK, concentrated, pure_loss
from discreet.errors import ParameterError, QueryError
from discreet.exact import Interval, exp
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.bounds import rho_upper
from discreet.privacy.convert import zcdp_delta_upper
from discreet.privacy.loss import ApproxLoss, GaussianLoss, GeometricLoss, PureLoss
from discreet.query.price import Priced, Target, _down, variance_of
from discreet.query.request import Bounding, Total

COUNT, PEOPLE = Aggregate("count"), Aggregate("people")
SUM, MEAN, VARIANCE = (Aggregate(f, X) for f in ("sum", "mean", "variance"))
SMALL, TWO = number(0, 1, nullable=True), number(0, 2, nullable=True)
MEDIAN = Aggregate("quantile", X, level=Fraction(1, 2))
FOUR = [Aggregate("quantile", X, level=Fraction(n, 5)) for n in range(1, 5)]
PURE, APPROX, RHO = Target(epsilon=1), Target(epsilon=1, delta="1e-6"), Target(rho="1/8")


def means(number_of, function="mean", levels=(None,)):
    columns = [number(0, 9, name=f"x{i}") for i in range(number_of)]
    return [Aggregate(function, x, level=level) for x in columns for level in levels]


# the price itself


def test_a_target_is_an_epsilon_an_epsilon_with_a_delta_or_a_rho():
    assert PURE.guarantee("replace") == dp.PureDP(1, "replace")
    assert APPROX.guarantee("add_or_remove") == dp.ApproxDP(1, "1e-6")
    assert RHO.guarantee("add_or_remove") == dp.ZCDP("1/8")
    assert Target(epsilon=1, delta=0) == PURE
    assert [str(t) for t in (PURE, APPROX, RHO)] == [
        "epsilon 1",
        "epsilon 1, delta 1e-06",
        "rho 0.125",
    ]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "or rho must be said, and not both"),
        ({"epsilon": 1, "rho": 1}, "or rho must be said, and not both"),
        ({"delta": "1e-6"}, "or rho must be said"),
        ({"rho": 1, "delta": "1e-6"}, "goes with epsilon, not with rho"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": 1001}, "epsilon"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "delta": -1}, "delta"),
        ({"epsilon": 1, "delta": float("nan")}, "delta"),
        ({"rho": 0}, "rho"),
        ({"rho": -1}, "rho"),
    ],
)
def test_bad_targets(given, problem):
    with pytest.raises(ParameterError, match=problem):
        Target(**given)


# exact laws: every pair of neighbouring tables of small questions


def rows(values):
    return [{"x": v, "y": v, "g": "a", "f": 1} for v in values]


def changes(priced, values, most):
    """Every change of the cells that a neighbour makes, as (from, to) of each cell."""
    (measured,) = priced.measured
    people = list(everybody(rows(values), most))
    table, _ = vectors(measured.block, measured.stability, priced.plan, people)
    unit = priced.schema.unit
    if unit.neighbours == "add_or_remove":
        return [(np.zeros_like(line), line) for line in table]
    return [(a, b) for a in table for b in table]


LAWS = [
    ([COUNT], PerRow(), [1], 1, Geometric),
    ([SUM], PerRow(), [0, 3, 4], 1, Staircase),
    ([MEAN], PerRow(), range(5), 1, Geometric),
    ([Aggregate("mean", SMALL), COUNT], PerRow(), [0, 1, None], 1, Geometric),
    ([VARIANCE], PerRow(), range(5), 1, Geometric),
    ([MEAN], PerRow(neighbours="replace"), range(5), 1, Geometric),
    ([Aggregate("count", X)], PerRow(neighbours="replace"), [0, None], 1, Geometric),
    ([Aggregate("sum", number(-3, 2))], PerRow(neighbours="replace"), [-3, -1, 2], 1, Staircase),
    ([COUNT], PerPerson("id", max_rows=2, bounding="clamp"), [1], 3, Staircase),
    ([Aggregate("mean", SMALL)], PerPerson("id", max_rows=2, bounding="sample"), [0, 1], 3, None),
    ([Aggregate("mean", SMALL)], PerPerson("id", max_rows=2, bounding="clamp"), [0, 1], 3, None),
]


@pytest.mark.parametrize(("wanted", "unit", "values", "most", "kind"), LAWS)
@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_the_log_ratio_of_the_exact_laws_is_epsilon(wanted, unit, values, most, kind, epsilon):
    priced = ask(*wanted, unit=unit, target=Target(epsilon=epsilon))
    (measured,) = priced.measured
    if kind is not None and (kind is Geometric or epsilon == "3"):
        assert {type(noise) for noise in measured.noise} == {kind}
    worst, known = Interval.of(0), {}
    for first, second in changes(priced, values, most):
        total = Interval.of(0)
        for noise, a, b in zip(measured.noise, first, second, strict=True):
            place = noise, abs(int(b) - int(a))  # noise is symmetric: what counts is the distance
            if place not in known:
                laws = noise.law(0), noise.law(place[1])
                known[place] = pure_loss(*laws)[0] if place[1] else Interval.of(0)
            total = total + known[place]
        worst = max(worst, total, key=lambda loss: loss.upper)
    bound = Fraction(epsilon)
    assert worst.upper <= bound + SLACK
    signed = wanted[0].operand is not None and wanted[0].operand.kind.low < 0
    if not signed:  # -3 and 2 are not as far apart as -3 and 3 would be
        assert worst.lower >= bound * (1 - Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("wanted", "unit", "values", "most"),
    [
        ([COUNT], PerRow(), [1], 1),
        ([Aggregate("mean", TWO)], PerRow(), range(3), 1),
        ([Aggregate("mean", TWO)], PerRow(neighbours="replace"), range(3), 1),
        ([Aggregate("mean", TWO), COUNT], PerRow(), [0, 1, 2, None], 1),
        ([Aggregate("variance", TWO), COUNT], PerRow(), [0, 1, 2, None], 1),
        ([Aggregate("sum", number(-2, 2))], PerRow(neighbours="replace"), [-2, 2], 1),
        ([Aggregate("mean", SMALL)], PerPerson("id", max_rows=2, bounding="sample"), [0, 1], 3),
    ],
)
def test_the_exact_divergence_of_gaussian_noise_is_rho(wanted, unit, values, most):
    priced = ask(*wanted, unit=unit, target=Target(rho="1/8"))
    (measured,) = priced.measured
    assert all(isinstance(noise, Gaussian) for noise in measured.noise)
    order, known, worst = Fraction(2), {}, Interval.of(0)
    for first, second in changes(priced, values, most):
        total = Interval.of(0)
        for noise, a, b in zip(measured.noise, first, second, strict=True):
            place = noise, abs(int(b) - int(a))
            if place not in known:
                laws = noise.law(0), noise.law(place[1])
                known[place] = concentrated(*laws, order) if place[1] else Interval.of(0)
            total = total + known[place]
        worst = max(worst, total, key=lambda loss: loss.upper)
    assert worst.upper <= Fraction(1, 8) + SLACK
    assert worst.lower >= Fraction(1, 8) * Fraction(999, 1000)
    assert measured.loss == measured.noise[0].privacy_loss
    assert rho_upper(measured.loss) == Fraction(1, 8)


# what is charged


def taken(priced: Priced):
    """The sum of what is charged, by the plain rules of composition."""
    rho = sum((rho_upper(x) for x in priced.losses if isinstance(x, GaussianLoss)), Fraction(0))
    rest = [x for x in priced.losses if not isinstance(x, GaussianLoss)]
    epsilon = sum((x.epsilon for x in rest), Fraction(0))
    delta = sum((x.delta for x in rest if isinstance(x, ApproxLoss)), Fraction(0))
    return rho, epsilon, delta


UNITS = [
    PerRow(),
    PerRow(neighbours="replace"),
    PerRow(together=3),
    PerPerson("id", max_rows=10, max_groups=5),
    PerPerson("id", max_rows=10, max_groups=5, neighbours="replace"),
    PerPerson("id", max_rows=2, max_groups=2, together=2),
    PerPerson("id", max_rows=4),
]
ASKED = {
    "count": [COUNT],
    "people": [PEOPLE],
    "mean": [COUNT, MEAN],
    "five": [COUNT, SUM, VARIANCE, MEDIAN, Aggregate("mean", SURE)],
    "many": means(12),
    "quantiles": FOUR,
    "many quantiles": means(40, "quantile", (Fraction(1, 2),)),
    "many histograms": means(25, "quantile", [Fraction(n, 5) for n in range(1, 5)]),
    "mixed": [*means(10), *means(10, "quantile", (Fraction(1, 2),))],
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("target", [PURE, APPROX, RHO])
@pytest.mark.parametrize("more", [{}, {"keys": "abcdefgh"}, {"unknown": True}])
def test_the_sum_of_what_is_charged_is_within_the_guarantee(unit, asked, target, more):
    if more.get("unknown") and target.delta is None:
        with pytest.raises(QueryError, match=r"ask with delta=... \(such as 1e-6\)"):
            ask(*ASKED[asked], unit=unit, target=target, **more)
        return
    priced = ask(*ASKED[asked], unit=unit, target=target, **more)
    guarantee = priced.guarantee
    assert guarantee.neighbours == unit.neighbours
    assert {loss.neighbours for loss in priced.losses} == {unit.neighbours}
    rho, epsilon, delta = taken(priced)
    match guarantee:
        case dp.PureDP():
            assert rho == delta == 0
            assert epsilon <= guarantee.epsilon == 1
            assert dp.Budget(epsilon=1, neighbours=unit.neighbours).affords(*priced.losses)
        case dp.ZCDP():
            assert sum(map(rho_upper, priced.losses)) <= guarantee.rho == Fraction(1, 8)
            assert dp.Budget(rho="1/8", neighbours=unit.neighbours).affords(*priced.losses)
        case dp.ApproxDP():
            assert delta <= guarantee.delta == Fraction(1, 10**6)
            basic = zcdp_delta_upper(rho, 1 - epsilon) if rho and epsilon < 1 else Fraction(0)
            together = epsilon <= 1 and basic + delta <= guarantee.delta
            all_rho = sum(map(rho_upper, priced.losses))
            rest = guarantee.delta - delta
            concentrated_way = rest > 0 and zcdp_delta_upper(all_rho, Fraction(1)) <= rest
            assert together or concentrated_way
    # nothing is left on the table: one of the limits is nearly used up
    if isinstance(guarantee, dp.PureDP) or (delta and not rho):
        assert epsilon > 1 - Fraction(1, 10**9)
    elif isinstance(guarantee, dp.ZCDP):
        assert sum(map(rho_upper, priced.losses)) > guarantee.rho * (1 - Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("asked", "neighbours"),
    [("count", "replace"), ("mean", "add_or_remove"), ("five", "replace"), ("mixed", "replace")],
)
def test_accountants_agree(asked, neighbours):
    """Loss distributions, too, can read what is charged, and find no more than was promised."""
    unit = PerPerson("id", max_rows=1, max_groups=8, neighbours=neighbours)
    for more in ({"keys": "abcdefgh"}, {"unknown": True}):
        priced = ask(*ASKED[asked], unit=unit, target=APPROX, **more)
        accountant = dp.Accountant(priced.losses, neighbours=neighbours)
        assert accountant.epsilon_upper("1e-6") <= 1 + Fraction(1, 10**6)


def test_a_question_without_private_numbers_charges_nothing():
    priced = ask(COUNT, unit=PerRow(neighbours="replace", rows=7), target=PURE)
    assert priced.losses == ()
    assert priced.home == {COUNT: None}
    assert priced.request.parts == ()


def test_pure_quantiles_priced_in_rho_are_not_called_pure():
    """Their epsilons add up to more than the target's: only the approximate promise holds."""
    priced = ask(*ASKED["many histograms"], target=APPROX)
    assert all(isinstance(loss, PureLoss) for loss in priced.losses)
    assert sum(loss.epsilon for loss in priced.losses) > 1
    assert isinstance(priced.guarantee, dp.ApproxDP)
    few = ask(COUNT, target=APPROX)
    assert few.guarantee == dp.PureDP(1)


# shares


@pytest.mark.parametrize(("asked", "parts"), [("mean", 1), ("five", 3), ("many", 12)])
@pytest.mark.parametrize("unknown", [False, True])
def test_shares_are_equal(asked, parts, unknown):
    target = Target(epsilon=1, delta="1e-6") if unknown else PURE
    priced = ask(*ASKED[asked], target=target, unknown=unknown)
    if isinstance(priced.measured[0].loss, GaussianLoss):
        assert len({rho_upper(m.loss) for m in priced.measured}) == 1
        return
    each = Fraction(1, parts + unknown)
    assert [m.epsilon for m in priced.measured] == [each] * parts
    if unknown:
        assert priced.selection.epsilon == each
        assert priced.selection.delta == Fraction(1, 10**6)
        assert priced.losses[-1] == ApproxLoss(epsilon=each, delta="1e-6")


def test_rho_is_divided_too():
    priced = ask(*ASKED["many"], target=RHO)
    assert {rho_upper(m.loss) for m in priced.measured} == {Fraction(1, 96)}
    mixed = ask(*ASKED["mixed"], target=RHO)
    for measured in mixed.measured:
        assert rho_upper(measured.loss) <= Fraction(1, 160)
        assert rho_upper(measured.loss) > Fraction(1, 160) * (1 - Fraction(1, 10**6))


def test_a_histogram_of_quantiles_has_half_of_its_share_for_each_level():
    priced = ask(*FOUR, MEDIAN, COUNT, target=PURE, unit=PerPerson("id", max_rows=3))
    (quantile,) = (m for m in priced.measured if m.block.what == "quantile")
    assert quantile.epsilon == Fraction(1, 2)
    (noise,) = quantile.noise
    assert noise == Geometric(epsilon="1/4", sensitivity=quantile.stability.l1)
    chosen = ask(MEDIAN, target=PURE)
    assert chosen.measured[0].noise == ()


@pytest.mark.parametrize("together", [1, 2, 5])
@pytest.mark.parametrize("neighbours", ["add_or_remove", "replace"])
def test_selecting_keys_for_households(together, neighbours):
    """Steps of one count by one each, chained: their deltas grow by e^(epsilon of the steps)."""
    unit = PerPerson("id", max_rows=1, max_groups=3, together=together, neighbours=neighbours)
    priced = ask(MEAN, unit=unit, target=APPROX, unknown=True)
    keys = priced.selection
    steps = 3 * together * (2 if neighbours == "replace" else 1)
    assert keys.parts == steps
    each, delta = keys.epsilon / steps, keys.delta / steps
    grown = [exp(each * i, 64).upper * delta for i in range(steps)]
    (loss,) = (x for x in priced.losses if isinstance(x, ApproxLoss))
    total = sum(grown) if together > 1 else steps * delta
    assert each * steps <= loss.epsilon
    assert total <= loss.delta
    assert total > loss.delta / 4


def test_the_law_of_a_selected_count_for_a_household():
    """One key that a household of two joins: the exact hockey-stick divergence of two steps."""
    from discreet.audit.exact import hockey_stick

    unit = PerPerson("id", max_rows=1, max_groups=1, together=2)
    priced = ask(PEOPLE, unit=unit, target=Target(epsilon=1, delta="1/100"), unknown=True)
    assert priced.counts_keys
    keys = priced.selection
    for counts, n in itertools.product((False, True), range(30)):
        laws = keys.law(n, counts=counts), keys.law(n + 2, counts=counts)
        for p, q in (laws, laws[::-1]):
            assert hockey_stick(p, q, Fraction(1)).upper <= Fraction(1, 100)


# selected keys


def test_the_selection_s_own_counts_are_the_answer_where_they_can_be():
    people = PerPerson("id", max_rows=3, max_groups=2)
    for unit, wanted, counts in [
        (PerRow(), COUNT, True),
        (PerRow(), PEOPLE, True),
        (people, PEOPLE, True),
        (people, COUNT, False),
        (PerRow(), Aggregate("count", None, PLUS), False),
        (PerRow(), Aggregate("count", X), False),
        (PerRow(), MEAN, False),
    ]:
        priced = ask(wanted, unit=unit, target=APPROX, unknown=True)
        assert priced.counts_keys is counts
        if counts:
            assert priced.losses == (ApproxLoss(epsilon=1, delta="1e-6"),)
            assert priced.selection.epsilon == 1
            assert priced.selection.delta == Fraction(1, 10**6)
            assert len(priced.request.parts) == 1
    many = PerPerson("id", max_groups=64)  # where Gaussian noise would be less, but is not used
    assert ask(PEOPLE, unit=many, target=APPROX, unknown=True).selection.delta == APPROX.delta
    assert not ask(COUNT, target=APPROX, unknown=True, other=True).counts_keys
    assert not ask(COUNT, PEOPLE, unit=people, target=APPROX, unknown=True).counts_keys


def test_the_parts_of_the_request_come_in_order_with_people_last():
    unit = PerPerson("id", max_rows=3, max_groups=2)
    priced = ask(MEAN, MEDIAN, unit=unit, target=APPROX, unknown=True)
    mean, median, people = priced.request.parts
    assert mean.totals == priced.measured[0].block.totals
    assert median.keys[0] == G
    assert len(median.keys) == 2
    assert people == type(people)((G,), (), Bounding("sample", None, 2), people=True)
    trusted = PerPerson("id", max_rows=3, trusted=True)
    *_, people = ask(MEAN, unit=trusted, target=APPROX, unknown=True).request.parts
    assert people.bounding == Bounding("none")
    *_, rows_ = ask(MEAN, target=APPROX, unknown=True).request.parts
    assert rows_.totals == (Total(),)


def test_keys_that_are_not_public_need_a_delta_and_a_bound():
    with pytest.raises(QueryError, match=r"the keys of g are not public.*dp.Keys\(\[...\]\)"):
        ask(COUNT, target=PURE, unknown=True)
    with pytest.raises(QueryError, match="max_groups"):
        ask(PEOPLE, unit=PerPerson("id"), target=APPROX, unknown=True)


# choice of mechanisms


def chosen(*wanted, **more):
    priced = ask(*wanted, **more)
    found = [
        (m.stability.bounding.way, type(m.noise[0]).__name__ if m.noise else "chosen")
        for m in priced.measured
    ]
    return found[0] if len(found) == 1 else found


LOUD = Target(epsilon=4)
NINE, FIFTY = PerPerson("id", max_rows=9), PerPerson("id", max_rows=9, max_groups=50)
TWO_GROUPS = PerPerson("id", max_rows=9, max_groups=2)
ALONE = PerPerson("id")


@pytest.mark.parametrize(
    ("wanted", "target", "unit", "keys", "expected"),
    [
        ([COUNT], LOUD, PerRow(), None, ("none", "Geometric")),
        ([SUM], LOUD, PerRow(), None, ("none", "Staircase")),
        ([SUM], LOUD, PerRow(), "ab", ("none", "Staircase")),
        ([SUM], Target(epsilon="0.5"), PerRow(), None, ("none", "Geometric")),
        ([SUM, COUNT], LOUD, PerRow(), None, ("none", "Geometric")),
        ([SUM], LOUD, PerRow(neighbours="replace"), "ab", ("none", "Geometric")),
        ([SUM], LOUD, PerRow(together=2), "ab", ("none", "Geometric")),
        ([SUM], LOUD, NINE, "ab", ("weight", "Geometric")),
        ([MEAN], PURE, NINE, None, ("weight", "Geometric")),
        ([MEAN], PURE, FIFTY, range(99), ("weight", "Geometric")),
        ([MEAN], RHO, FIFTY, range(99), ("sample", "Gaussian")),
        ([MEAN], APPROX, FIFTY, range(99), ("sample", "Gaussian")),
        ([MEAN], APPROX, TWO_GROUPS, "ab", ("weight", "Geometric")),
        ([PEOPLE], PURE, ALONE, None, ("none", "Geometric")),
        ([PEOPLE], PURE, TWO_GROUPS, "abcd", ("weight", "Geometric")),
        ([MEDIAN], RHO, NINE, None, ("weight", "chosen")),
        (FOUR, RHO, PerRow(), None, ("none", "Geometric")),
    ],
)
def test_bounding_and_noise(wanted, target, unit, keys, expected):
    assert chosen(*wanted, target=target, unit=unit, keys=keys) == expected


def test_the_cheaper_family_is_taken():
    """At (1, 1e-6) geometric noise serves a few numbers of a person, Gaussian noise many."""
    families = []
    for k in (1, 2, 8, 16, 32, 64):
        unit = PerPerson("id", max_rows=1, max_groups=k, bounding="sample")
        priced = ask(COUNT, unit=unit, target=APPROX, keys=range(100))
        (noise,) = priced.measured[0].noise
        pure = Geometric(epsilon=1, sensitivity=k)
        rho = dp.privacy.convert.largest_rho(Fraction(1), Fraction(1, 10**6))
        gaussian = Gaussian(rho=rho, sensitivity=1, changes=k)
        assert variance_of(noise) <= min(pure.variance, gaussian.variance) * (1 + 1e-9)
        families.append(type(noise).__name__)
    assert families == sorted(families, reverse=True)
    assert set(families) == {"Geometric", "Gaussian"}


@pytest.mark.parametrize("unit", UNITS)
def test_all_noise_is_calibrated_to_the_stability(unit):
    for target in (PURE, RHO):
        priced = ask(MEAN, COUNT, Aggregate("sum", SURE), unit=unit, target=target, keys="abcdefgh")
        for measured in priced.measured:
            stability = measured.stability
            for noise, cell in zip(measured.noise, measured.block.cells, strict=True):
                if isinstance(noise, Gaussian):
                    distance = stability.changes * (stability.move * cell.unit) ** 2
                    assert noise.sigma_squared == distance / (2 * Fraction(1, 16))
                    assert noise.privacy_loss == measured.loss
                elif isinstance(noise, Geometric):
                    assert noise.rate == measured.epsilon / (stability.l1 * cell.unit)
                else:
                    assert stability.one
                    assert noise.sensitivity == stability.l1 * cell.unit
                assert noise.neighbours == unit.neighbours


def test_losses_say_as_much_as_is_known():
    assert isinstance(ask(COUNT, target=PURE).losses[0], GeometricLoss)
    assert ask(COUNT, target=PURE).losses[0].sensitivity == 1
    assert ask(MEAN, target=PURE).losses == (PureLoss(epsilon=1),)
    assert ask(COUNT, target=PURE, keys="ab").losses == (GeometricLoss(epsilon=1),)
    replaced = ask(COUNT, target=PURE, keys="ab", unit=PerRow(neighbours="replace"))
    assert replaced.losses == (PureLoss(epsilon=1, neighbours="replace"),)


# size and bounds


def test_a_million_groups_are_priced_at_once():
    priced = ask(COUNT, MEAN, target=PURE, keys=range(1_000_000))
    assert priced.measured[0].epsilon == 1


@pytest.mark.parametrize("function", ["sum", "mean", "variance"])
@pytest.mark.parametrize("target", [PURE, RHO])
def test_bounds_that_are_too_wide_are_refused_in_words(function, target):
    wide = number(-(1 << 61), 1 << 61)
    unit = PerPerson("id", max_rows=10**9, max_groups=10**9)
    for who in (unit, PerRow(neighbours="replace", together=10**6)):
        with pytest.raises(QueryError, match="do not fit 64 bits; declare tighter bounds"):
            ask(Aggregate(function, wide), unit=who, target=target, keys="ab")


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), Fraction(10**40, 3), Fraction(1, 3**50), Fraction(5, 8)]
)
def test_rounding_down(value):
    found = _down(value)
    assert found <= value
    assert found >= value * (1 - Fraction(1, 2**46))
    assert found.denominator.bit_length() <= 48 or found.denominator & (found.denominator - 1) == 0

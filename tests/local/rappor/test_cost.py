"""Costs: the formulas against enumeration of every report, the published figures, and the trap of
patterns that are not public.
"""

import itertools
import math
from fractions import Fraction

import pytest

import discreet as dp
from discreet.audit.exact import pure_loss
from discreet.exact import Interval
from discreet.local.rappor import OneReport, Params, cost, costs
from discreet.noise.law import Outcomes


@pytest.mark.parametrize(
    ("params", "one", "ever"),
    [
        (Params(8, 2, 128, "0.39", "0.61", "0.45"), 0.973, 4.947),
        (Params(8, 2, 128, "0.225", "0.775", 0), 4.947, None),
        (Params(32, 1, 64, "0.25", "0.75", "0.5"), 1.022, 2.197),
        (Params(), 1.074, 4.394),
    ],
)
def test_the_published_figures(params, one, ever):
    assert float(cost.one_report(params)) == pytest.approx(one, abs=6e-4)
    found = cost.forever(params)
    assert found is None if ever is None else float(found) == pytest.approx(ever, abs=6e-4)


def test_the_formulas_in_floats():
    params = Params(8, 2, 128, "0.3", "0.8", "0.4")
    q, p, f = float(params.q_star), float(params.p_star), 0.4
    assert float(cost.one_report(params)) == pytest.approx(2 * math.log(q * (1 - p) / p / (1 - q)))
    assert float(cost.forever(params)) == pytest.approx(4 * math.log((1 - f / 2) / (f / 2)))


CASES = [
    (Params(k, h, 2, p, q, f), n)
    for k, h, n in ((4, 2, 1), (3, 1, 2), (2, 1, 3))
    for p, q, f in (("0.39", "0.61", "0.45"), ("0.25", "0.9", "0.1"), ("0.8", "0.3", "0.5"),
                    ("0.1", "0.6", 0))
]  # fmt: skip


@pytest.mark.parametrize(("params", "n"), CASES)
def test_the_cost_is_proved_and_tight(params, n):
    """Every pair of filters, every sequence of reports."""
    verdict = dp.audit.verify(OneReport(params, n))
    assert verdict.proven
    assert verdict.tight
    assert verdict.pairs > 0


def test_three_hashes_on_the_worst_pairs():
    params = Params(6, 3, 1, "0.25", "0.9", "0.1")
    verdict = dp.audit.verify(OneReport(params), pairs=[(0b111, 0b111000), (0b111, 0b1110)])
    assert verdict.proven
    assert verdict.tight


def test_a_smaller_promise_is_refuted():
    params = Params(4, 2, 2, "0.39", "0.61", "0.45")
    less = dp.PureDP(cost.one_report(params) * Fraction(999, 1000), "replace")
    assert dp.audit.verify(OneReport(params), guarantee=less).refuted


@pytest.mark.parametrize("h", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_few_bits_cost_no_more_than_is_promised(k, h):
    """k < 2h: two filters cannot differ in 2h bits. (k = 1 has one filter only.)"""
    params = Params(k, h, 1, "0.2", "0.6", "0.3")
    if k > 1:
        assert dp.audit.verify(OneReport(params)).proven
    assert cost.one_report(params) <= cost.one_report(Params(8, h, 1, "0.2", "0.6", "0.3"))


def test_one_bit_for_a_yes_or_no():
    """Boolean RAPPOR: the filters 0 and 1; the larger of the two ratios."""
    params = Params(1, 1, 1, "0.2", "0.6", "0.3")
    verdict = dp.audit.verify(OneReport(params), pairs=[(0, 1)])
    assert verdict.proven
    assert verdict.tight


def test_one_hot_values_cost_as_one_hash():
    params = Params(8, 3, 1)
    assert cost.one_report(params, one_hot=True) == cost.one_report(Params(8, 1, 1))
    assert cost.forever(params, one_hot=True) == cost.forever(Params(8, 1, 1))


def test_more_reports_cost_more_up_to_for_ever():
    params = Params(8, 2, 1, "0.39", "0.61", "0.45")
    ever = cost.forever(params)
    found = [cost.reports(params, n) for n in (1, 2, 3, 10, 100, 10_000, 10**12)]
    assert found == sorted(found)
    assert found[0] == cost.one_report(params)
    assert found[-1] == ever
    assert ever - found[-2] < Fraction(1, 10**6)
    assert found[1] < 2 * found[0]


def test_several_values_add_up():
    params = Params(8, 2, 1, "0.39", "0.61", "0.45")
    ever = cost.forever(params)
    assert cost.client(params, [None] * 10) == 10 * ever
    mixed = cost.client(params, [1, 3, None])
    parts = cost.reports(params, 1) + cost.reports(params, 3) + ever
    assert 0 <= mixed - parts <= Fraction(1, 1 << 59)
    assert costs(params, values=10).client == 10 * ever
    assert "49.4706 for 10 values" in str(costs(params, values=10))
    with pytest.raises(dp.ParameterError):
        cost.client(params, [])


def history_law(history, params):
    """The exact law of the reports of a history of filters; equal filters share a response."""
    k, n = params.k, len(history)
    outcomes = list(itertools.product(range(1 << k), repeat=n))

    def mass(reports):
        total = Fraction(1)
        for value in dict.fromkeys(history):
            mine = [report for report, held in zip(reports, history, strict=True) if held == value]
            for bit in range(k):
                one = 1 - params.f / 2 if value >> bit & 1 else params.f / 2
                ones = sum(report >> bit & 1 for report in mine)
                zeros = len(mine) - ones
                total *= (
                    one * params.q**ones * (1 - params.q) ** zeros
                    + (1 - one) * params.p**ones * (1 - params.p) ** zeros
                )
        return Interval.of(total)

    masses = [mass(reports) for reports in outcomes]
    return Outcomes(outcomes, lambda _: masses)


def worst(first, second, params):
    p, q = history_law(first, params), history_law(second, params)
    return max(pure_loss(p, q)[0].upper, pure_loss(q, p)[0].upper)


def test_with_a_public_pattern_the_sum_holds():
    params = Params(3, 1, 1, "0.3", "0.7", "0.5")
    bound = cost.client(params, [2, 1])
    found = worst((1, 1, 2), (2, 2, 4), params)
    assert found <= bound
    assert found >= bound * Fraction(999, 1000)


def test_with_a_secret_pattern_the_sum_does_not_hold():
    """(a, a) against (b, c): that both reports come from one response shows on every bit."""
    params = Params(4, 1, 1, "0.02", "0.98", "0.6")
    twice = max(cost.client(params, [2]), cost.client(params, [1, 1]))
    assert worst((1, 1), (2, 4), params) > twice
    assert worst((1, 1), (2, 4), params) > cost.client(params, [None, None])


@pytest.mark.parametrize("values", [("0.02", "0.98", "0.6"), ("0.39", "0.61", "0.45")])
@pytest.mark.parametrize("histories", [((1, 1), (2, 4)), ((1, 2), (1, 1)), ((1, 2), (4, 2))])
def test_any_two_histories_are_bounded(values, histories):
    params = Params(4, 1, 1, *values)
    assert worst(*histories, params) <= cost.any_history(params, 2)


def test_what_has_no_finite_cost_says_so():
    assert cost.forever(Params(f=0)) is None
    assert cost.one_report(Params(p=0, q=1, f=0)) is None
    assert cost.any_history(Params(p=0, q=1, f="0.5"), 2) is None
    assert cost.any_history(Params(p=0, q=1, f="0.5"), 1) == cost.forever(Params(f="0.5"))
    assert cost.client(Params(f=0), [1, None]) is None
    assert cost.client(Params(), [None] * 10_000) is None
    assert "infinite" in str(costs(Params(f=0)))
    with pytest.raises(dp.ParameterError, match="finite"):
        cost.guarantee(None)
    for number in (0, -1, 1.5):
        with pytest.raises(dp.ParameterError, match=r"^n must"):
            cost.reports(Params(), number)

"""The accountant: every way is an upper bound, the least is taken, and old ledgers add up."""

import json
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.audit.catalogue import mechanisms
from discreet.privacy.loss import (
    ApproxLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    NormalLoss,
    PairLoss,
    PureLoss,
    RandomLoss,
    RangeLoss,
    ZCDPLoss,
)

MILLIONTH = "1e-6"


def of(losses):
    accountant = dp.Accountant()
    for loss, times in losses.items():
        accountant.add(loss, times=times)
    return accountant


def by_name(explanation):
    return {way.name: way.value for way in explanation.ways}


def test_basic_sums_are_exact():
    accountant = dp.Accountant([dp.Geometric(epsilon="0.1"), dp.Geometric(epsilon="0.2")])
    assert accountant.guarantee() == dp.PureDP("0.3")
    accountant.add(dp.SelectKeys(epsilon="0.5", delta="1e-9"), times=2)
    assert accountant.guarantee() == dp.ApproxDP("1.3", "2e-9")
    assert len(accountant) == 4


def test_gaussian_noise_alone_is_zero_concentrated():
    accountant = dp.Accountant([dp.Gaussian(rho="0.1"), dp.Gaussian(rho="0.02")])
    assert accountant.guarantee() == dp.ZCDP("0.12")


@pytest.mark.parametrize(
    "losses",
    [
        {PureLoss(epsilon="0.1"): 30},
        {GeometricLoss(epsilon="0.1"): 10, GeometricLoss(epsilon=1, sensitivity=9): 2},
        {GaussianLoss(sigma_squared=100): 5, PureLoss(epsilon="0.5"): 1},
        {RangeLoss(epsilon="0.5"): 10},
        {ApproxLoss(epsilon="0.1", delta="1e-8"): 20, LaplaceLoss(epsilon="0.1"): 20},
        {ZCDPLoss(rho="0.01"): 3, NormalLoss(sigma_squared=50): 2},
        {PairLoss(first=["0.6", "0.4"], second=["0.4", "0.6"]): 12},
    ],
    ids=lambda losses: "+".join(loss.kind for loss in losses),
)
def test_the_least_way_is_taken_and_each_way_is_true(losses):
    """No way is below the convolved law, which is the truth but for rounding."""
    accountant = of(losses)
    for asked in ({"delta": MILLIONTH}, {"epsilon": 1}):
        told = accountant.explain(**asked)
        known = {name: value for name, value in by_name(told).items() if value is not None}
        assert told.value == min(known.values())
        if "loss distribution" in known and RangeLoss(epsilon="0.5") not in losses:
            assert min(known.values()) >= known["loss distribution"] * F(998, 1000)
    assert accountant.epsilon_upper(MILLIONTH) == accountant.explain(delta=MILLIONTH).value
    assert accountant.delta_upper(1) == accountant.explain(epsilon=1).value


@pytest.mark.parametrize("epsilon", ["0.002", "0.01", "0.02"])
def test_a_batch_holds_more_than_a_filter(epsilon):
    most = {"0.002": 14_010, "0.01": 562, "0.02": 142}[epsilon]
    assert of({PureLoss(epsilon=epsilon): most}).epsilon_upper(MILLIONTH) <= 1
    assert of({PureLoss(epsilon=epsilon): most + 1}).epsilon_upper(MILLIONTH) > 1
    assert of({LaplaceLoss(epsilon=epsilon): most}).epsilon_upper(MILLIONTH) <= 1


def workload():
    """500 Gaussian and 500 Laplace releases, all different."""
    releases = [
        NormalLoss(sigma_squared=F(repr(s)) ** 2) for s in np.linspace(40, 120, 500).tolist()
    ]
    scales = np.linspace(50, 150, 500).tolist()
    return [*releases, *(LaplaceLoss(epsilon=1 / F(repr(b))) for b in scales)]


@pytest.mark.slow
def test_a_thousand_mixed_releases_come_within_a_percent_of_the_best_known():
    """A public accountant gives 1.82817 on its finest grid for this workload, 1.96535 by Renyi."""
    told = dp.Accountant(workload()).explain(delta=MILLIONTH)
    ways = by_name(told)
    assert 1.8270 <= told.value <= 1.8290
    assert told.chosen.name == "loss distribution"
    assert ways["renyi"] == pytest.approx(1.96535, rel=0.005)
    assert ways["basic"] is None


@pytest.mark.slow
def test_discrete_noise_costs_what_continuous_noise_costs():
    sigmas = np.linspace(40, 120, 500).tolist()
    scales = np.linspace(50, 150, 500).tolist()
    releases = [GaussianLoss(sigma_squared=F(repr(s)) ** 2) for s in sigmas]
    releases += [GeometricLoss(epsilon=1 / F(repr(b)), sensitivity=1000) for b in scales]
    assert dp.Accountant(releases).epsilon_upper(MILLIONTH) == pytest.approx(1.828, rel=0.001)


def test_other_peoples_loss_distributions_agree():
    """Theirs for Laplace and Gaussian noise, on a fine grid; ours is as tight to 0.2 %."""
    da = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    theirs = PLDAccountant(value_discretization_interval=1e-4)
    theirs.compose(da.GaussianDpEvent(20.0), 10)
    theirs.compose(da.LaplaceDpEvent(10.0), 20)
    ours = of({NormalLoss(sigma_squared=400): 10, LaplaceLoss(epsilon="0.1"): 20})
    assert float(ours.epsilon_upper(MILLIONTH)) == pytest.approx(theirs.get_epsilon(1e-6), rel=2e-3)


@pytest.mark.parametrize("kind", [PureLoss, RangeLoss, GeometricLoss, LaplaceLoss])
def test_ten_at_once_cost_what_ten_in_turn_cost(kind):
    """No kind forgets its count, in any way of adding up."""
    at_once = of({kind(epsilon="0.5"): 10})
    in_turn = dp.Accountant([kind(epsilon="0.5")] * 10)
    once = by_name(of({kind(epsilon="0.5"): 1}).explain(delta=MILLIONTH))
    ten = by_name(at_once.explain(delta=MILLIONTH))
    assert ten == by_name(in_turn.explain(delta=MILLIONTH))
    assert ten["basic"] == 5
    assert all(ten[way] > 2 * once[way] for way in ("zcdp", "renyi", "loss distribution"))


def test_the_exponential_mechanism_composes_as_a_range():
    """A quarter of the rho that its epsilon alone would cost, and ten of them cost ten times it."""
    ten = of({dp.Exponential(epsilon="0.5").privacy_loss: 10})
    pure = of({PureLoss(epsilon="0.5"): 10})
    assert by_name(ten.explain(delta=MILLIONTH))["renyi"] < F(9, 10) * pure.epsilon_upper(MILLIONTH)


def exact_range_delta(epsilon, times, at):
    """The worst two-point law of a range, alike in every release, over a grid of positions."""
    worst = 0.0
    for position in np.linspace(0.02, 0.98, 49):
        t = epsilon * position
        p = (math.exp(epsilon - t) - 1) / (math.exp(epsilon - t) - math.exp(-t))
        losses = [(k * t + (times - k) * (t - epsilon), k) for k in range(times + 1)]
        mass = [math.comb(times, k) * p**k * (1 - p) ** (times - k) for _, k in losses]
        delta = sum(
            m * max(0.0, 1 - math.exp(at - loss)) for m, (loss, _) in zip(mass, losses, strict=True)
        )
        worst = max(worst, delta)
    return worst


@pytest.mark.parametrize("at", [0.5, 1.0, 2.0])
def test_ranges_are_never_below_the_laws_that_have_them(at):
    said = of({RangeLoss(epsilon="0.5"): 10}).delta_upper(repr(at))
    assert float(said) >= exact_range_delta(0.5, 10, at)


@settings(deadline=None, max_examples=30)
@given(
    epsilons=st.lists(st.fractions(F(1, 100), 1, max_denominator=100), min_size=1, max_size=4),
    more=st.fractions(F(1, 100), 1, max_denominator=100),
)
def test_one_more_release_never_costs_less(epsilons, more):
    accountant = dp.Accountant([PureLoss(epsilon=e) for e in epsilons])
    before = accountant.epsilon_upper(MILLIONTH)
    after = accountant.add(PureLoss(epsilon=more)).epsilon_upper(MILLIONTH)
    assert before <= after * (1 + F(1, 10**6))
    assert after <= sum(epsilons) + more


def test_delta_and_epsilon_turn_each_other_back():
    accountant = of({GaussianLoss(sigma_squared=900): 20, GeometricLoss(epsilon="0.1"): 10})
    epsilon = accountant.epsilon_upper(MILLIONTH)
    assert F(99, 100) * F(1, 10**6) <= accountant.delta_upper(epsilon) <= F(1, 10**6)


def test_the_deltas_of_the_releases_themselves_are_part_of_every_delta():
    """At a large epsilon hardly anything else is left of any way."""
    accountant = of({ApproxLoss(epsilon="0.1", delta="1e-8"): 20})
    ways = by_name(accountant.explain(epsilon=5))
    assert ways["basic"] == F(20, 10**8)
    assert all(value >= F(199, 10**9) for value in ways.values())
    assert accountant.delta_upper(5) >= F(199, 10**9)


@pytest.mark.parametrize("mechanism", mechanisms(), ids=repr)
def test_every_mechanism_that_ships_adds_up(mechanism):
    """Three of each, and never above three times the epsilon that each promises."""
    accountant = dp.Accountant(neighbours=mechanism.guarantee.neighbours)
    told = accountant.add(mechanism, times=3).explain(delta="1e-3")
    if isinstance(mechanism.guarantee, dp.PureDP):
        assert told.value <= 3 * mechanism.guarantee.epsilon
    assert told.value <= accountant.explain(delta="1e-5").value


def test_explain_is_a_table_that_says_which_and_why():
    text = str(of({dp.Gaussian(rho="0.01").privacy_loss: 3}).explain(delta=MILLIONTH))
    assert text.splitlines()[0] == "3 releases: epsilon at delta 1e-06"
    assert "basic             -            some releases have no pure epsilon" in text
    assert " * loss distribution" in text
    assert "every line is an upper bound" in text


def test_random_privacy_is_added_up_alone_and_never_with_a_delta():
    releases = [RandomLoss(epsilon="0.5", gamma="0.01"), PureLoss(epsilon="0.25")]
    with pytest.raises(dp.UnsupportedError, match="not mixed with plain privacy unless"):
        dp.Accountant(releases)
    accountant = dp.Accountant(releases, random=True)
    again = dp.Accountant.from_dict(accountant.to_dict())
    assert again.guarantee() == accountant.guarantee()
    with pytest.raises(dp.UnsupportedError, match="with pure privacy only"):
        again.add(dp.Gaussian(rho=1)).guarantee()
    assert accountant.guarantee() == dp.RandomDP("0.75", "0.01")
    with pytest.raises(dp.UnsupportedError, match="random differential privacy has no delta"):
        accountant.epsilon_upper(MILLIONTH)


LEDGER_OF_VERSION_0_1 = """{"format": 1, "neighbours": "add_or_remove", "losses": [
  {"times": 3, "loss": {"format": 1, "kind": "pure", "neighbours": "add_or_remove",
                        "epsilon": "1/10"}},
  {"times": 2, "loss": {"format": 1, "kind": "geometric", "neighbours": "add_or_remove",
                        "epsilon": "1/5", "sensitivity": 7}},
  {"times": 1, "loss": {"format": 1, "kind": "approximate", "neighbours": "add_or_remove",
                        "epsilon": "1/4", "delta": "1/1000000000"}},
  {"times": 4, "loss": {"format": 1, "kind": "gaussian", "neighbours": "add_or_remove",
                        "sigma_squared": "50", "distance_squared": "4"}}]}"""


def test_a_ledger_of_years_ago_still_adds_up():
    """The words are those that the first version wrote; the sums are what they were then."""
    accountant = dp.Accountant.from_dict(json.loads(LEDGER_OF_VERSION_0_1))
    assert len(accountant) == 10
    told = accountant.explain(delta=MILLIONTH)
    rho = 3 * F(1, 200) + 2 * F(1, 50) + F(1, 32) + 4 * F(4, 100)  # as if all were known by epsilon
    assert (
        by_name(told)["zcdp"]
        <= dp.compose.zcdp_to_approx_upper(dp.ZCDP(rho), F(999, 10**9)).epsilon
    )
    assert float(told.value) == pytest.approx(3.162, abs=0.005)


def test_what_is_stored_reads_back_equal():
    accountant = of(
        {
            GeometricLoss(epsilon=1, changes=3): 2,
            PairLoss(first=["0.6", "0.4"], second=["0.5", "0.5"]): 5,
            ZCDPLoss(rho="1/3"): 1,
        }
    )
    stored = json.loads(json.dumps(accountant.to_dict()))
    assert dp.Accountant.from_dict(stored).losses == accountant.losses


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"format": 1, "neighbours": "add_or_remove"},
        {"format": 1, "neighbours": "add_or_remove", "Losses": []},
        {"format": 1, "neighbours": "add_or_remove", "losses": {}},
        {"format": 1, "neighbours": "add_or_remove", "losses": [], "more": 1},
        {"format": True, "neighbours": "add_or_remove", "losses": []},
        {"format": 2},
        [],
        None,
        {"format": 1, "neighbours": "x"},
        {"format": 1, "neighbours": "replace", "losses": [{"times": 1}]},
        {"format": 1, "neighbours": "replace", "losses": [{"times": 0, "loss": {}}]},
    ],
)
def test_a_ledger_that_is_not_understood_is_refused(stored):
    with pytest.raises(dp.ParameterError):
        dp.Accountant.from_dict(stored)


def test_bad_input_is_refused_in_words():
    accountant = dp.Accountant()
    with pytest.raises(dp.ParameterError, match="releases are missing"):
        accountant.epsilon_upper(MILLIONTH)
    with pytest.raises(dp.ParameterError, match="neighbours of a loss must be 'add_or_remove'"):
        accountant.add(PureLoss(epsilon=1, neighbours="replace"))
    with pytest.raises(dp.InputTypeError, match="a loss or a mechanism is needed"):
        accountant.add(0.1)
    for times in (0, -1, 1.5, float("nan"), None, True):
        with pytest.raises(dp.ParameterError, match="times"):
            accountant.add(PureLoss(epsilon=1), times=times)
    accountant.add(ApproxLoss(epsilon=1, delta="1e-5"))
    with pytest.raises(dp.ParameterError, match="delta is too small: the releases alone fail"):
        accountant.epsilon_upper("1e-6")
    for wrong in (0, 1, -1, float("nan")):
        with pytest.raises(dp.ParameterError, match="delta"):
            accountant.epsilon_upper(wrong)
    with pytest.raises(dp.ParameterError, match="epsilon"):
        accountant.delta_upper(-1)
    with pytest.raises(dp.ParameterError, match="one of the two"):
        accountant.explain()

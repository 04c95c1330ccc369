from fractions import Fraction as F

import pytest

import discreet as dp


def test_guarantees_are_exact_values():
    assert dp.PureDP(0.1) == dp.PureDP("1/10")
    assert hash(dp.PureDP(1)) == hash(dp.PureDP("1"))
    assert dp.PureDP(1) != dp.PureDP(1, neighbours="replace")
    assert dp.ApproxDP(1, "1e-6") != dp.ApproxDP(1, "1e-7")


def test_guarantees_say_what_they_promise():
    assert (
        str(dp.PureDP("0.5"))
        == "0.5-differential privacy (neighbours: one person is added or removed)"
    )
    assert "one person is replaced" in str(dp.PureDP(1, "replace"))
    assert str(dp.ApproxDP(1, "1e-6")).startswith("(1, 1e-06)-differential privacy")
    assert str(dp.ZCDP("0.1")).startswith("0.1-zero-concentrated")


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), 1001, "1e300", None, True])
def test_nonsense_is_refused(wrong):
    with pytest.raises(dp.ParameterError, match="epsilon"):
        dp.PureDP(wrong)
    with pytest.raises(dp.ParameterError, match="rho"):
        dp.ZCDP(wrong)


@pytest.mark.parametrize("wrong", [0, 1, -1, 2, float("nan"), "1e-5000"])
def test_deltas_lie_strictly_between_zero_and_one(wrong):
    with pytest.raises(dp.ParameterError, match="delta"):
        dp.ApproxDP(1, wrong)


def test_neighbours_are_said_or_refused():
    with pytest.raises(
        dp.ParameterError, match="neighbours must be 'add_or_remove' or 'replace', got 'bounded'"
    ):
        dp.PureDP(1, neighbours="bounded")


def test_a_delta_alone_is_a_guarantee():
    """Publishing everybody with probability delta is (0, delta)-private."""
    assert dp.ApproxDP(0, "1e-6").epsilon == 0
    with pytest.raises(dp.ParameterError, match="epsilon"):
        dp.ApproxDP(-1, "1e-6")


def test_random_and_renyi_privacy_say_what_they_promise():
    assert str(dp.RandomDP(1, "0.05")).startswith("(1, 0.05)-random differential privacy")
    assert dp.RenyiDP({8: "0.1", 2: "0.01"}).curve == ((2, F(1, 100)), (8, F(1, 10)))
    for wrong in ({}, {1: 1}, {8: 0}, {8: -1}, {float("nan"): 1}, 5, None):
        with pytest.raises(dp.ParameterError):
            dp.RenyiDP(wrong)
    for wrong in (0, 1, -1, float("nan")):
        with pytest.raises(dp.ParameterError, match="gamma"):
            dp.RandomDP(1, wrong)


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        (dp.PureDP("0.5"), dp.PureDP(1)),
        (dp.PureDP(1), dp.ApproxDP(1, "1e-6")),
        (dp.ApproxDP(1, "1e-9"), dp.ApproxDP(1, "1e-6")),
        (dp.ApproxDP("0.5", "1e-6"), dp.ApproxDP(1, "1e-6")),
        (dp.PureDP(1), dp.RandomDP(1, "0.05")),
        (dp.RandomDP(1, "0.01"), dp.RandomDP(1, "0.05")),
        (dp.ZCDP("0.1"), dp.ZCDP("0.2")),
        (dp.ZCDP("0.1"), dp.RenyiDP({2: "0.2", 10: 1})),
        (dp.RenyiDP({10: "0.1"}), dp.RenyiDP({2: "0.1"})),
    ],
    ids=str,
)
def test_guarantees_are_ordered_where_one_implies_the_other(stronger, weaker):
    assert stronger <= weaker
    assert weaker >= stronger
    assert stronger < weaker
    assert not weaker <= stronger
    assert stronger <= stronger
    assert not stronger < stronger


def test_the_order_is_partial():
    one, other = dp.ApproxDP(1, "1e-9"), dp.ApproxDP("0.5", "1e-6")
    assert not one <= other
    assert not other <= one
    assert not dp.RenyiDP({2: "0.1"}) <= dp.RenyiDP({10: "0.2"})
    assert not dp.ApproxDP(1, "1e-9") <= dp.PureDP(5)


def test_what_has_no_order_is_refused():
    with pytest.raises(dp.UnsupportedError, match="no order between ZCDP and ApproxDP"):
        _ = dp.ZCDP(1) <= dp.ApproxDP(5, "1e-6")
    with pytest.raises(dp.ParameterError, match="neighbours must be 'add_or_remove'"):
        _ = dp.PureDP(1) <= dp.PureDP(1, "replace")
    with pytest.raises(TypeError):
        _ = dp.PureDP(1) <= 1


def test_two_curves_that_imply_each_other_are_not_less_than_each_other():
    one, other = dp.RenyiDP({2: "0.1", 8: "0.1"}), dp.RenyiDP({8: "0.1"})
    assert one <= other <= one
    assert not one < other
    assert not other < one

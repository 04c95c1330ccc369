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

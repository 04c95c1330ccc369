import json
from fractions import Fraction

import pytest

import discreet as dp
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

LOSSES = [
    PureLoss(neighbours="replace", epsilon=Fraction(1, 3)),
    GeometricLoss(neighbours="add_or_remove", epsilon=Fraction(1, 10), sensitivity=7),
    GaussianLoss(
        neighbours="add_or_remove", sigma_squared=Fraction(50), distance_squared=Fraction(4)
    ),
    ApproxLoss(neighbours="add_or_remove", epsilon=Fraction(1), delta=Fraction(1, 10**6)),
    RangeLoss(epsilon="0.3"),
    LaplaceLoss(epsilon=2, neighbours="replace"),
    NormalLoss(sigma_squared="12.25", distance_squared=3),
    ZCDPLoss(rho="1/7"),
    PairLoss(first=["1/2", "1/4", "1/4"], second=["1/4", "1/4", "1/2"]),
    RandomLoss(epsilon=1, gamma="0.05"),
    GeometricLoss(epsilon=1, sensitivity=3, changes=5),
]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.kind)
def test_a_stored_loss_reads_back_through_json(loss):
    assert dp.loss_from_dict(json.loads(json.dumps(loss.to_dict()))) == loss


def test_the_stored_form_never_changes():
    """Ledgers of years ago hold exactly these words."""
    assert LOSSES[1].to_dict() == {
        "format": 1,
        "kind": "geometric",
        "neighbours": "add_or_remove",
        "epsilon": "1/10",
        "sensitivity": 7,
    }


def test_a_loss_amounts_to_a_guarantee():
    assert LOSSES[0].guarantee == dp.PureDP("1/3", "replace")
    assert LOSSES[1].guarantee == dp.PureDP("0.1")
    assert LOSSES[2].guarantee == dp.ZCDP(Fraction(4, 100))
    assert LOSSES[3].guarantee == dp.ApproxDP(1, "1e-6")


def test_several_numbers_are_written_in_the_second_format():
    """A reader of the first format would not see `changes`, so it must refuse the whole."""
    stored = LOSSES[-1].to_dict()
    assert stored["format"] == 2
    assert stored["changes"] == 5
    with pytest.raises(dp.ParameterError, match="format"):
        dp.loss_from_dict({**stored, "changes": 1})
    with pytest.raises(dp.ParameterError, match="fields are not known here"):
        dp.loss_from_dict({**LOSSES[1].to_dict(), "changes": 5})


def test_numbers_are_read_as_typed_and_checked():
    assert PureLoss(epsilon=0.1) == PureLoss(epsilon="1/10")
    for wrong in (0, -1, float("nan"), float("inf"), "x", None, True, 1001):
        with pytest.raises(dp.ParameterError, match="epsilon"):
            PureLoss(epsilon=wrong)
        with pytest.raises(dp.ParameterError):
            GaussianLoss(sigma_squared=wrong if wrong != 1001 else 0)
    for wrong in (0, 1.5, -2, "many"):
        with pytest.raises(dp.ParameterError, match="sensitivity"):
            GeometricLoss(epsilon=1, sensitivity=wrong)
        with pytest.raises(dp.ParameterError, match="changes"):
            GeometricLoss(epsilon=1, changes=wrong)


def test_a_pair_must_be_two_different_laws():
    for first, second in [
        (["1/2", "1/2"], ["1/2", "1/2"]),
        (["1/2", "1/4"], ["1/2", "1/2"]),
        (["1/2", "1/2"], ["1/3", "1/3", "1/3"]),
        (["1"], ["1"]),
        (["1/2", "1/2", "0"], ["1/3", "1/3", "1/3"]),
        ("1/2", "1/2"),
    ]:
        with pytest.raises(dp.ParameterError):
            PairLoss(first=first, second=second)


def test_what_is_no_loss_is_refused():
    with pytest.raises(dp.InputTypeError, match="a loss or a mechanism is needed here, not float"):
        dp.losses.loss_of(0.5)
    assert dp.losses.loss_of(dp.Geometric(epsilon=1)) == GeometricLoss(epsilon=1)


@pytest.mark.parametrize("change", [{"format": 3}, {"kind": "magic"}, {"epsilon": None}])
def test_what_is_not_understood_is_refused(change):
    stored = {**LOSSES[0].to_dict(), **change}
    stored = {name: value for name, value in stored.items() if value is not None}
    with pytest.raises(
        dp.ParameterError, match=next(iter(change)) if "epsilon" not in change else "missing"
    ):
        dp.loss_from_dict(stored)


def test_the_longest_fractions_that_can_be_made_can_be_read():
    loss = PureLoss(epsilon=Fraction(3**1000 + 1, 3**1000))
    assert dp.loss_from_dict(json.loads(json.dumps(loss.to_dict()))) == loss


@pytest.mark.parametrize("number", [True, 1.0, "1", None])
def test_a_format_is_a_plain_number(number):
    with pytest.raises(dp.ParameterError, match="format"):
        dp.loss_from_dict({**LOSSES[0].to_dict(), "format": number})

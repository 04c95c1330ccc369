import json
from fractions import Fraction

import pytest

import discreet as dp
from discreet.privacy.loss import ApproxLoss, GaussianLoss, GeometricLoss, PureLoss

LOSSES = [
    PureLoss(neighbours="replace", epsilon=Fraction(1, 3)),
    GeometricLoss(neighbours="add_or_remove", epsilon=Fraction(1, 10), sensitivity=7),
    GaussianLoss(
        neighbours="add_or_remove", sigma_squared=Fraction(50), distance_squared=Fraction(4)
    ),
    ApproxLoss(neighbours="add_or_remove", epsilon=Fraction(1), delta=Fraction(1, 10**6)),
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


@pytest.mark.parametrize("change", [{"format": 2}, {"kind": "magic"}, {"epsilon": None}])
def test_what_is_not_understood_is_refused(change):
    stored = {**LOSSES[0].to_dict(), **change}
    stored = {name: value for name, value in stored.items() if value is not None}
    with pytest.raises(
        dp.ParameterError, match=next(iter(change)) if "epsilon" not in change else "missing"
    ):
        dp.loss_from_dict(stored)

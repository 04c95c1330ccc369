"""Policies: what states no cost is refused."""

import pytest

import discreet as dp
from discreet.federated import Through
from discreet.federated.access import access_of
from discreet.noise.source import system_source


def test_a_function_is_released_through_a_mechanism():
    access = Through(dp.Geometric(epsilon=100), query=sum)
    assert access.apply([1, 2, 3], source=system_source()) == 6
    assert access.privacy_loss == dp.Geometric(epsilon=100).privacy_loss
    assert access.cost == dp.PureDP(100)
    alone = Through(dp.Geometric(epsilon=100))
    assert alone.apply(41, source=system_source()) == 41


class Leaky:
    def apply(self, data, *, source):
        return data


class Silent:
    privacy_loss = dp.losses.PureLoss(epsilon=1)


@pytest.mark.parametrize("wrong", [Leaky(), Silent(), None, "raw", dp.Geometric(epsilon=1)])
def test_what_states_no_cost_or_gives_no_answer_is_no_policy(wrong):
    with pytest.raises(dp.InputTypeError):
        access_of(wrong)


@pytest.mark.parametrize(
    ("mechanism", "query"), [(None, None), (Silent(), None), (dp.Geometric(epsilon=1), 3)]
)
def test_what_cannot_release_is_refused(mechanism, query):
    with pytest.raises(dp.InputTypeError):
        Through(mechanism, query=query)

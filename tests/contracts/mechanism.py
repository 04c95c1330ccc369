"""What every mechanism must do; `tests/mechanisms/test_contract.py` runs it on all that ship."""

import copy
import json
import pickle
from fractions import Fraction

import pytest

import discreet as dp


def is_a_frozen_value(mechanism):
    """Equal parameters give equal, hashable values that cannot be changed and survive a copy."""
    for twin in (
        copy.copy(mechanism),
        copy.deepcopy(mechanism),
        pickle.loads(pickle.dumps(mechanism)),
    ):
        assert twin == mechanism
        assert hash(twin) == hash(mechanism)
    with pytest.raises((AttributeError, TypeError)):
        mechanism.epsilon = Fraction(5)


def repr_rebuilds_it(mechanism):
    """What it prints is what to write."""
    assert eval(repr(mechanism), {type(mechanism).__name__: type(mechanism)}) == mechanism


def loss_and_guarantee_agree(mechanism):
    """The loss is stored and read back, and says the same neighbour relation."""
    loss = mechanism.privacy_loss
    assert dp.loss_from_dict(json.loads(json.dumps(loss.to_dict()))) == loss
    assert loss.neighbours == mechanism.guarantee.neighbours
    if isinstance(mechanism.guarantee, dp.PureDP):
        assert loss.guarantee == mechanism.guarantee


def releases_what_its_law_says_possible(mechanism):
    """Ten releases of every small neighbour have positive mass under the stated law."""
    for x, _ in list(mechanism.small_neighbours())[:3]:
        law = mechanism.law(x)
        for _ in range(10):
            released = mechanism.release(_as_input(mechanism, x))
            assert law.mass_bounds(_as_outcome(mechanism, released, law)).upper > 0


def _as_input(mechanism, x):
    if isinstance(mechanism, dp.SelectKeys):
        return {"key": x}
    return list(x) if isinstance(x, tuple) else x


def _as_outcome(mechanism, released, law):
    match mechanism:
        case dp.SelectKeys():
            return bool(released)
        case dp.Laplace():
            return int(Fraction(released) / mechanism.grid)
        case dp.AboveThreshold():
            return _answers(released, law)
        case dp.TopK():
            return tuple(released)
        case _:
            return released


def _answers(indices, law):
    """The pattern of answers, until the stream stopped, that these indices stand for."""
    fitting = [
        o for o in law.outcomes if [i for i, above in enumerate(o) if above] == list(indices)
    ]
    assert fitting
    return fitting[0]


def says_how_far_off_it_is_or_that_it_cannot(mechanism):
    """`error`, `variance` and `expected_absolute_error` answer, or say why they have no meaning."""
    value = next(iter(mechanism.small_neighbours()))[0]
    for ask in (lambda: mechanism.variance, lambda: mechanism.expected_absolute_error(value)):
        assert _answer_or_reason(ask, type(mechanism).__name__)
    assert mechanism.error("0.9", **_ALSO_NEEDED.get(type(mechanism).__name__, {})) >= 0


_ALSO_NEEDED = {
    "AboveThreshold": {"questions": 5},
    "RandomizedResponse": {"n": 100},
    **{key: {"candidates": 5} for key in ("Exponential", "PermuteAndFlip", "NoisyMax", "TopK")},
}


def _answer_or_reason(ask, name):
    try:
        return ask() >= 0
    except dp.UnsupportedError as error:
        return name in str(error)


def names_what_it_was_given(mechanism):
    """Its guarantee is a sentence with the neighbour relation in it."""
    assert "neighbours: one person is" in str(mechanism.guarantee)


CONTRACT = [
    is_a_frozen_value,
    repr_rebuilds_it,
    loss_and_guarantee_agree,
    releases_what_its_law_says_possible,
    says_how_far_off_it_is_or_that_it_cannot,
    names_what_it_was_given,
]

"""Totals over nodes: their intervals cover as often as they say, by exact laws."""

import itertools
from dataclasses import dataclass, field
from fractions import Fraction

import pytest

import discreet as dp
from discreet.federated.combined import Answer, Column, agrees, combine
from discreet.query.reading import width_of


@dataclass
class Published:
    """What a release has, without the rest."""

    rows: tuple
    raw: dict
    intervals: dict
    columns: tuple = ("n",)
    keys: tuple = ()
    guarantee: object = field(default_factory=lambda: dp.PureDP(1))
    confidence: Fraction = Fraction(19, 20)
    notes: tuple = ()


def published(raw, reach, **more):
    rounded = max(round(raw), 0)
    return Published(((rounded,),), {"n": (raw,)}, {"n": ((raw - reach, raw + reach),)}, **more)


def noise(epsilon):
    return Column(((Fraction(1), dp.Geometric(epsilon=epsilon)),), counts=True)


def combined(answers, **more):
    said = {"confidence": Fraction(19, 20), "disjoint": True, "key": "k", "records": {}, **more}
    return combine(answers, {}, **said)


@pytest.mark.parametrize("level", ["0.8", "0.95", "0.99"])
def test_the_interval_of_a_sum_covers(level):
    """The exact law of three noises of different scales, listed."""
    level = Fraction(level)
    mechanisms = [dp.Geometric(epsilon=e) for e in ("0.9", "1.4", 2)]
    width = width_of([(Fraction(1), m) for m in mechanisms], level)
    tables = [[(k, m.noise_law.mass(k)) for k in range(-24, 25)] for m in mechanisms]
    inside = less = 0.0
    for draw in itertools.product(*tables):
        total, mass = sum(k for k, _ in draw), draw[0][1] * draw[1][1] * draw[2][1]
        inside += mass * (abs(total) <= width)
        less += mass * (abs(total) <= width - 1)
    assert inside >= level - Fraction(1, 10**6)
    assert less < level  # and no narrower one would


def test_wide_noises_are_covered_too():
    """Ten Laplace-like noises: the width is near that of the normal law, above it."""
    pieces = [(Fraction(1), dp.Geometric(epsilon="0.01"))] * 10
    width = float(width_of(pieces, Fraction(19, 20)))
    sd = (10 * dp.Geometric(epsilon="0.01").variance) ** 0.5
    assert 1.9 * sd < width < 2.1 * sd
    gaussian = [(Fraction(1), dp.Gaussian(rho="1/20000"))] * 10
    assert 1.95 * 316 < float(width_of(gaussian, Fraction(19, 20))) < 2.05 * 330


def test_mixed_noises_share_the_risk():
    mixed = [(Fraction(1), dp.Geometric(epsilon="0.001")), (Fraction(1), dp.Gaussian(rho="1e-6"))]
    risk = Fraction(1, 40)
    alone = sum(mechanism.error(1 - risk) for _, mechanism in mixed)
    assert width_of(mixed, Fraction(19, 20)) == alone


def test_totals_are_of_raw_values():
    """Node a published 0 for a raw value of -7: clamped numbers would be biased upwards."""
    answers = {"a": Answer(published(-7, 3), {"n": noise(1)}),
               "b": Answer(published(10, 3), {"n": noise(1)})}  # fmt: skip
    found = combined(answers)
    assert found.value == 3
    assert found.rows[0]["n_low"] >= 0
    assert found.rows[0]["n_high"] == 3 + width_of(
        [*noise(1).pieces, *noise(1).pieces], Fraction(19, 20)
    )


def test_sums_may_be_negative():
    column = Column(noise(1).pieces, counts=False)
    found = combined({"a": Answer(published(-70, 3), {"n": column})})
    assert found.value == -70
    assert found.rows[0]["n_low"] < -70 < found.rows[0]["n_high"]


def test_groups_that_a_node_did_not_publish_are_left_out():
    both = Published(
        (("x", 5), ("y", 6)), {"n": (5, 6)}, {"n": ((2, 8), (3, 9))}, ("g", "n"), ("g",)
    )
    one = Published((("x", 1),), {"n": (1,)}, {"n": ((0, 4),)}, ("g", "n"), ("g",))
    found = combined({"a": Answer(both, {"n": noise(1)}), "b": Answer(one, {"n": noise(1)})})
    assert [row["g"] for row in found] == ["x"]
    assert found.rows[0]["n"] == 6
    assert found.left_out == (("y",),)
    with pytest.raises(dp.UnsupportedError):
        _ = Answer and combined({"a": Answer(both, {"n": noise(1)})}).value


@pytest.mark.parametrize(("disjoint", "epsilon"), [(True, 2), (False, 3)])
@pytest.mark.parametrize("neighbours", ["add_or_remove", "replace"])
def test_what_is_promised(disjoint, epsilon, neighbours):
    answers = {
        str(e): Answer(published(5, 3, guarantee=dp.PureDP(e, neighbours)), {"n": noise(1)})
        for e in (1, 2)
    }
    assert combined(answers, disjoint=disjoint).guarantee == dp.PureDP(epsilon, neighbours)


def test_different_neighbours_make_no_promise_together():
    answers = {
        r: Answer(published(5, 3, guarantee=dp.PureDP(1, r)), {"n": noise(1)})
        for r in ("add_or_remove", "replace")
    }
    assert combined(answers).guarantee is None


def test_wider_intervals_than_the_law_are_noticed():
    assert agrees(Answer(published(5, 3), {"n": noise(1)}))
    assert not agrees(Answer(published(5, 30), {"n": noise(1)}))
    bare = Published(((5,),), {}, {})
    assert not agrees(Answer(bare, {"n": noise(1)}))
    assert agrees(Answer(bare, {"n": Column((), counts=True)}))

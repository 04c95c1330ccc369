"""PrivTree: the exact law of all trees on small domains, against a law written down anew."""

import itertools
import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from tests.publish.forced import datasets, neighbours

from discreet.audit.exact import verify
from discreet.exact import Interval, exp
from discreet.mechanisms.geometric import Geometric
from discreet.noise.law import Outcomes
from discreet.privacy.guarantee import PureDP
from discreet.publish import privtrees as module
from discreet.publish.partition import Boxes
from discreet.publish.privtrees import Decisions, halved, privtree


def split_chance(biased, rate, w):
    """P(b + Z > 0) from the tails of the geometric law."""
    a = exp(-rate, w)
    if biased <= 0:
        return exp(-rate * (1 - biased), w) / (1 + a)
    return 1 - exp(-rate * biased, w) / (1 + a)


class Trees:
    """The decisions on one axis of 2^h cells as a mechanism with an exact law over trees.

    A tree is a leaf (False) or a pair. Written apart from the code, on nested halves.
    """

    def __init__(self, height, decisions, promise, *, floor=True, fall=True, people=3):
        self.height, self.decisions = height, decisions
        self.guarantee = PureDP(promise)
        self.floor, self.fall, self.people = floor, fall, people

    def __repr__(self):
        return f"Trees({self.height})"

    def trees(self, height):
        yield False
        if height:
            yield from itertools.product(self.trees(height - 1), repeat=2)

    def mass(self, cells, tree, depth, w):
        if len(cells) == 1:
            return Interval.of(1)
        step = self.decisions.step
        biased = sum(cells) - (depth * step if self.fall else 0)
        if self.floor:
            biased = max(biased, -step)
        chance = split_chance(biased, self.decisions.rate, w)
        if tree is False:
            return 1 - chance
        middle = len(cells) // 2
        left = self.mass(cells[:middle], tree[0], depth + 1, w)
        return chance * left * self.mass(cells[middle:], tree[1], depth + 1, w)

    def law(self, cells):
        trees = list(self.trees(self.height))
        return Outcomes(trees, lambda w: [self.mass(cells, tree, 0, w) for tree in trees])

    def small_neighbours(self):
        for cells in datasets(1 << self.height, self.people):
            for other in neighbours(cells, "add_or_remove"):
                yield tuple(cells.tolist()), tuple(other.tolist())


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_the_decisions_keep_their_promise_by_enumeration(share):
    """All trees over 4 cells, up to 3 people, all neighbours; what they cost is the theorem's L."""
    decisions = Decisions.of(share, sensitivity=1, axes=1, depth=2)
    assert share * Fraction(999, 1000) <= decisions.loss_upper(2) <= share
    assert verify(Trees(2, decisions, share)).proven
    assert verify(Trees(2, decisions, decisions.loss_upper(2))).tight


def test_the_decisions_on_eight_cells_and_one_axis_of_two():
    share = Fraction(2)
    decisions = Decisions.of(share, sensitivity=1, axes=1, depth=3)
    verdict = verify(Trees(3, decisions, decisions.loss_upper(3), people=1))
    assert decisions.step == 1
    assert verdict.proven
    assert verdict.tight
    single = Decisions.of(share, sensitivity=1, axes=1, depth=1)
    assert single.rate == share
    assert verify(Trees(1, single, share)).tight


def path_loss(decisions, counts):
    """The log ratio of splitting all along a path, with one more against with these counts."""
    total = 0.0
    for depth, count in enumerate(counts):
        biased = [max(c - depth * decisions.step, -decisions.step) for c in (count, count + 1)]
        low, high = (float(split_chance(b, decisions.rate, 96)) for b in biased)
        total += math.log(high / low)
    return total


@pytest.mark.parametrize(("axes", "deep"), [(1, 12), (2, 7), (3, 5), (1, 60)])
@pytest.mark.parametrize("share", [Fraction(1, 100), Fraction(1, 2), Fraction(3)])
def test_paths_of_any_counts_keep_the_promise_and_one_meets_it(axes, deep, share):
    decisions = Decisions.of(share, sensitivity=1, axes=axes, depth=deep)
    step, upper = decisions.step, float(decisions.loss_upper(deep))
    assert 0.97 * float(share) <= upper <= float(share)  # the step is a whole number
    short = min(deep, 12)
    counts = sorted({k * step // 2 + j for k in range(2 * short) for j in (-1, 0, 1)} - {-1})
    for fall in (0, 1, step):
        for count in counts:
            path = [max(count - fall * i, 0) for i in range(short)]
            assert path_loss(decisions, path) <= upper + 1e-9
    assert path_loss(decisions, [(deep - 2) * step] * deep) == pytest.approx(upper, rel=1e-6)


def test_the_published_bound_is_never_undercut_and_usually_beaten():
    for axes, gain in ((1, 1.1), (2, 1.04), (3, 1.02)):
        parts = 1 << axes
        published = Fraction(1, 20) * Fraction(parts - 1, 2 * parts - 1)
        for deep in (4, 30):
            rate = Decisions.of(Fraction(1, 20), sensitivity=1, axes=axes, depth=deep).rate
            assert rate / published > gain


def test_planted_faults_are_refuted():
    """A larger rate; counts that do not fall with the depth, so that all splits cost alike."""
    share = Fraction(1)
    decisions = Decisions.of(share, sensitivity=1, axes=1, depth=2)
    more = decisions.rate * Fraction(101, 100)
    assert verify(Trees(2, Decisions(more, decisions.step), share, people=1)).refuted
    deep = Decisions.of(share, sensitivity=1, axes=1, depth=3)
    assert verify(Trees(3, deep, share, fall=False, floor=False, people=0)).refuted


def tree_of(boxes):
    """The tree whose leaves are these boxes of one axis."""

    def build(low, high, leaves):
        if (low, high) in leaves:
            return False
        middle = (low + high) // 2
        return build(low, middle, leaves), build(middle, high, leaves)

    leaves = set(zip(boxes.low[:, 0].tolist(), boxes.high[:, 0].tolist(), strict=True))
    return build(0, int(boxes.high.max()), leaves)


def test_the_code_decides_as_the_law_says():
    """Scripted noise: a box is split if and only if its biased count plus the noise is above 0."""
    decisions = Decisions(Fraction(1, 3), 3)
    seen = []

    def many(self, values, source):
        noise = np.random.RandomState(len(seen)).randint(-6, 7, values.shape)
        seen.append((self.rate, values.copy(), noise))
        return values + noise

    for turn in range(60):
        cells = np.random.RandomState(turn).poisson(2, 8)
        seen.clear()
        with mock.patch.object(Geometric, "_many", many):
            boxes = module._leaves(cells, decisions, None)
        tree_of(boxes)
        assert (
            np.bincount(boxes.owners((8,)), minlength=len(boxes)).tolist() == boxes.sizes.tolist()
        )
        active = [(0, 8)]
        leaves = set()
        for depth, (rate, values, noise) in enumerate(seen):
            assert rate == decisions.rate
            expected = {b: max(int(cells[slice(*b)].sum()) - 3 * depth, -3) for b in active}
            assert sorted(expected.values()) == sorted(values.tolist())
            below = list(active)
            got = set(zip(boxes.low[:, 0].tolist(), boxes.high[:, 0].tolist(), strict=True))
            leaves |= got & set(below)
            active = [
                piece
                for low, high in below
                if (low, high) not in got
                for piece in ((low, (low + high) // 2), ((low + high) // 2, high))
            ]
            splits = int((values + noise > 0).sum())
            whole = [b for b in below if b not in got]
            singles = sum(high - low == 1 for low, high in below)
            assert splits - singles <= len(whole) <= splits
        assert not active


def test_the_step_is_the_least_that_the_proof_allows():
    for share in (Fraction(1, 20), Fraction(1), Fraction(7)):
        for axes in (1, 2, 3):
            decisions = Decisions.of(share, sensitivity=2, axes=axes, depth=6)
            assert exp(-decisions.rate * decisions.step, 128).upper * (1 << axes) <= 1
            assert exp(-decisions.rate * (decisions.step - 1), 128).lower * (1 << axes) > 1


def test_a_larger_sensitivity_divides_the_share():
    """In the rule, and in what the measuring draws with."""
    once = Decisions.of(Fraction(1, 3), sensitivity=1, axes=2, depth=4)
    assert Decisions.of(Fraction(1), sensitivity=3, axes=2, depth=4) == once
    rates, plain = [], Geometric._many

    def many(self, values, source):
        rates.append(self.rate)
        return plain(self, values, source)

    with mock.patch.object(Geometric, "_many", many):
        privtree(np.full((16, 16), 50), epsilon=2, sensitivity=3)
    assert set(rates[:-1]) == {once.rate}
    assert rates[-1] == Fraction(1, 3)


def test_boxes_are_halved_along_every_long_axis():
    boxes = halved(Boxes(np.array([[0, 0]]), np.array([[3, 1]])))
    assert boxes.low.tolist() == [[0, 0], [1, 0]]
    four = halved(Boxes(np.array([[0, 0]]), np.array([[4, 4]])))
    assert len(four) == 4
    assert four.sizes.tolist() == [4] * 4


def test_half_of_epsilon_counts_the_leaves():
    cells = np.zeros((16, 16), dtype=np.int64)
    cells[3, 4] = 10_000
    made = privtree(cells, epsilon=1, sensitivity=2)
    assert made.counts.rate == Fraction(1, 4)
    sizes = made.boxes.sizes[made.boxes.covered(((3, 4), (4, 5))) > 0]
    assert sizes.tolist() == [1]
    assert made.rectangle((3, 4), (4, 5)).value == pytest.approx(10_000, abs=300)

"""A proof by transcripts: measuring is run with scripted noise, then on neighbours with the outputs
forced to be the same.

`steps_of` records, for every step, the rate of its noise, the exact values and the outputs. The law
of two-sided geometric noise gives an output o for the value v a mass proportional to
exp(-rate |o - v|), so the log ratio of a transcript is a sum of rate (|o - v'| - |o - v|): whole
numbers times fractions, without rounding. If neighbours, given the same outputs, are measured in
the same steps (same shapes, same rates), decisions depend on outputs only, and log ratios add up.
"""

import itertools
from fractions import Fraction
from unittest import mock

import numpy as np

from discreet.mechanisms.geometric import Geometric


def datasets(size, people):
    """All cells of this many people at most."""
    for number in range(people + 1):
        for places in itertools.combinations_with_replacement(range(size), number):
            yield np.bincount(np.array(places, dtype=np.int64), minlength=size)


def neighbours(cells, relation):
    """All that differ by one person."""
    size = len(cells)
    if relation == "add_or_remove":
        yield from (cells + np.eye(size, dtype=np.int64)[i] for i in range(size))
        return
    for i, j in itertools.permutations(range(size), 2):
        if cells[i]:
            yield cells - np.eye(size, dtype=np.int64)[i] + np.eye(size, dtype=np.int64)[j]


def steps_of(measure, cells, *, script=None, outputs=None):
    """The steps (rate, values, outputs) of a measurement, and what it returned."""
    steps = []

    def many(self, values, source):
        place = len(steps)
        if outputs is None:
            out = values + script(place, values.shape)
        else:
            assert place < len(outputs), "a step more than the neighbour had"
            out = outputs[place]
            assert out.shape == values.shape, "the neighbour measured other blocks"
        steps.append((self.rate, values.copy(), out))
        return out.astype(np.int64)

    with mock.patch.object(Geometric, "_many", many):
        measured = measure(cells)
    return steps, measured


def scripts(spread, number):
    """Scripts of noise: none, then some of about this spread."""
    yield lambda place, shape: np.zeros(shape, dtype=np.int64)
    for turn in range(number - 1):
        rng = np.random.RandomState(turn)
        yield lambda place, shape, rng=rng: rng.randint(-spread, spread + 1, shape)


def worst_loss(measure, shape, epsilon, *, relation="add_or_remove", people=3, spread=4, turns=3):
    """Check every pair of neighbours on every script; the largest of the bounds, exactly."""
    worst = Fraction(0)
    size = int(np.prod(shape))
    for cells in datasets(size, people):
        for script in scripts(spread, turns):
            steps, measured = steps_of(measure, cells.reshape(shape), script=script)
            outputs = [out for _, _, out in steps]
            for other in neighbours(cells, relation):
                again, same = steps_of(measure, other.reshape(shape), outputs=outputs)
                assert len(again) == len(steps), "a step less than the neighbour had"
                assert [r for r, *_ in again] == [r for r, *_ in steps], "other rates"
                assert np.array_equal(measured.cells("raw"), same.cells("raw"))
                loss, bound = Fraction(0), Fraction(0)
                for (rate, v, out), (_, w, _) in zip(steps, again, strict=True):
                    loss += rate * int((np.abs(out - w) - np.abs(out - v)).sum())
                    bound += rate * int(np.abs(v - w).sum())
                assert abs(loss) <= bound <= epsilon, (cells, other)
                worst = max(worst, bound)
    return worst

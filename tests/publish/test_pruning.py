"""The pruned hierarchy: the promise by transcripts, the fit by brute force over all prunings."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tests.publish.forced import worst_loss

from discreet.noise.source import KeyedSource
from discreet.publish import pruning as module
from discreet.publish.measured import Terms
from discreet.publish.pruning import Setting, chosen, pruned

EPSILON = Fraction(1, 2)


@pytest.mark.parametrize(
    ("branching", "shape", "spread"),
    [(None, (5,), 4), (None, (5,), 2_000), (2, (5,), 4), (2, (2, 3), 4)],
)
def test_every_transcript_keeps_the_promise_and_one_meets_it(branching, shape, spread):
    measure = lambda cells: pruned(cells, epsilon=EPSILON, branching=branching)
    assert worst_loss(measure, shape, EPSILON, spread=spread) == EPSILON


def test_the_true_number_of_records_would_be_caught(monkeypatch):
    """A fault planted: the setting is chosen by what was counted, not by what was released."""
    true = {}
    plain = module.counted

    def spying(cells):
        true["total"] = int(np.sum(cells))
        return plain(cells)

    monkeypatch.setattr(module, "counted", spying)
    monkeypatch.setattr(
        module,
        "chosen",
        lambda total, terms: module._SMALL if true["total"] < 2 else module._MIDDLE,
    )
    with pytest.raises(AssertionError, match=r"rates|blocks|step"):
        worst_loss(lambda cells: pruned(cells, epsilon=EPSILON), (5,), EPSILON)


def test_shares_add_up_to_all():
    setting = Setting(4, Fraction(1, 10), Fraction(1), 4.5)
    for levels in range(1, 8):
        assert sum(setting.shares(levels)) == 1
        assert sum(setting.shares(levels, paid=Fraction(1, 20))) == Fraction(19, 20)
    assert setting.shares(3) == [Fraction(3, 10), Fraction(6, 10), Fraction(1, 10)]


def test_the_setting_follows_the_noisy_number():
    terms = Terms("0.1", 2)
    names = {"small": 5_999, "middle": 6_000, "large": 600_000}
    assert [chosen(n, terms).branching for n in names.values()] == [4, 4, 16]
    assert [chosen(n, terms).root for n in names.values()] == [
        Fraction(1, 5),
        *[Fraction(1, 10)] * 2,
    ]


def best_pruning(made):
    """All prunings of a binary tree over 8 cells, each fitted by dense least squares."""
    kappa = made.kappa
    nodes = [(level, i) for level in range(3, 0, -1) for i in range(8 >> level)]
    rows, values, variances = [], [], []
    for level, noisy in enumerate(made.levels):
        for i, y in enumerate(noisy.values.tolist()):
            row = np.zeros(8)
            row[i << level : (i + 1) << level] = 1
            rows.append(row)
            values.append(y)
            variances.append(noisy.variance)
    rows, values, root = np.array(rows), np.array(values), np.sqrt(np.array(variances))
    best = None
    for flags in itertools.product((False, True), repeat=len(nodes)):
        flat = [node for node, flag in zip(nodes, flags, strict=True) if flag]
        spans = [range(i << level, (i + 1) << level) for level, i in flat]
        if any(set(a) & set(b) for a, b in itertools.combinations(spans, 2)):
            continue
        groups = [list(span) for span in spans]
        groups += [[c] for c in range(8) if not any(c in span for span in spans)]
        basis = np.zeros((8, len(groups)))
        for j, group in enumerate(groups):
            basis[group, j] = 1 / len(group)
        design = rows @ basis / root[:, None]
        fit, *_ = np.linalg.lstsq(design, values / root, rcond=None)
        cost = ((design @ fit - values / root) ** 2).sum() + kappa * len(groups)
        if best is None or cost < best[0]:
            best = cost, basis @ fit
    return best[1]


@pytest.mark.parametrize("turn", range(12))
def test_the_pruning_is_the_cheapest_of_all(turn):
    cells = np.random.RandomState(turn).choice([0, 0, 3, 20, 21], 8)
    made = pruned(cells, epsilon=3, branching=2)
    assert made.flattened() == pytest.approx(best_pruning(made), abs=1e-6)


def test_a_number_of_records_joins_the_reading_only():
    made = pruned(np.full(32, 9), epsilon=1, source=KeyedSource(bytes(32)))  # other sums may agree
    assert made.total is not None
    assert made.noise[-1] is made.total
    other = module.Pruned(
        made.algorithm, made.terms, made.shape, made.blocks, made.levels, made.kappa, None
    )
    assert np.array_equal(made.cells("raw"), other.cells("raw"))
    assert made.flattened().sum() != pytest.approx(other.flattened().sum())


def test_one_cell():
    assert pruned(np.array([50]), epsilon=100).cells().tolist() == pytest.approx([50], abs=2)
    assert pruned(np.array([50]), epsilon=100, branching=4).cells("whole").tolist() == [50]

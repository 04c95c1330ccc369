"""Measuring: exact noise, decisions from published values only, accounts that hold."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import BudgetExceededError, RangeError
from discreet.noise.source import system_source
from discreet.publish.tree import measuring as module
from discreet.publish.tree.domain import Cells, Domain
from discreet.publish.tree.measuring import SCRAP, added, measure, planning, settings_for, stages
from discreet.publish.tree.terms import UNITS, Concentrated, Pure, terms_of

PRICES = {"epsilon": 1, "rho": "1/2"}
"""One account of either kind; the same script then leads to much the same decisions."""
SHAPES = [(8,), (5,), (2, 4), (3, 2), (2, 2, 2), (1,), (2,)]
SCRIPTS = list(itertools.product((-3, 5, 500), repeat=4))
"""Published values by turns: nobody, a few, many. At epsilon 1 they lead to all decisions."""


class Watched(Cells):
    """Cells that remember which nodes were counted."""

    def count(self, depth, nodes):
        self.last = super().count(depth, nodes)
        self.asked = [*getattr(self, "asked", []), (depth.tolist(), nodes.tolist())]
        return self.last


def transcript(monkeypatch, counts, script, *, sensitivity=1, step=1, kind="epsilon"):
    """What `measure` asks when the noise happens to make the published values those of a script.

    A stage goes down one depth, so that eight cells have three, with stopping and joining between.

    The values go by turns through the script, so that they do not depend on the counts.
    """
    cells = Watched.dense(counts)
    terms = terms_of(**{kind: PRICES[kind]}, sensitivity=sensitivity)
    units, turn = [], itertools.cycle(script)

    def scripted(self, asked, source):
        assert self == terms
        units.append(asked.tolist())
        return np.array([next(turn) for _ in asked]) - cells.last

    for law in (Pure, Concentrated):
        monkeypatch.setattr(law, "noise", scripted)
    measured = measure(
        cells,
        terms=terms,
        settings=replace(settings_for(cells.domain), step=step),
        source=system_source(),
    )
    return cells.asked, units, measured


def people(shape, most=3):
    """All ways to put up to so many people into cells (of a few, where there are many)."""
    cells = list(np.ndindex(*shape))
    for number in range(most + 1):
        for chosen in itertools.combinations_with_replacement(cells, number):
            counts = np.zeros(shape, dtype=np.int64)
            for cell in chosen:
                counts[cell] += 1
            yield counts


def held(domain, depth, node):
    mask = np.zeros(domain.shape, dtype=bool)
    low, high = domain.sides(depth, np.array([node]))
    mask[tuple(slice(a[0], b[0]) for a, b in zip(low, high, strict=True))] = True
    return mask


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("step", "kind"), [(1, "epsilon"), (2, "epsilon"), (3, "rho"), (1, "rho")])
def test_no_cell_is_spent_on_more_than_its_account_and_some_on_all_of_it(
    monkeypatch, shape, step, kind
):
    """Cell by cell, over scripts that lead to every kind of decision."""
    fullest = 0
    for script in SCRIPTS:
        spent = spending(monkeypatch, shape, script, step, kind)
        assert spent.max() <= UNITS
        assert spent.min() > UNITS - 4 * SCRAP  # joining wastes next to nothing
        fullest = max(fullest, int(spent.max()))
    assert fullest == UNITS


def test_accounts_hold_where_siblings_with_different_accounts_are_joined(monkeypatch):
    """That takes four stages; the values are drawn, repeatably, mostly small."""
    rng = np.random.default_rng(1)
    for _ in range(150):
        script = rng.choice([-3, 3, 12, 40, 500], 100, p=[0.3, 0.2, 0.2, 0.2, 0.1]).tolist()
        spent = spending(monkeypatch, (32,), script, 1)
        assert UNITS - 8 * SCRAP < spent.min() <= spent.max() <= UNITS


def spending(monkeypatch, shape, script, step, kind="epsilon"):
    """Units spent on each cell, added up one by one."""
    domain, nobody = Domain(shape), np.zeros(shape, dtype=np.int64)
    spent = np.zeros(shape, dtype=np.int64)
    asked, units, _ = transcript(monkeypatch, nobody, script, step=step, kind=kind)
    for (depths, nodes), taken in zip(asked, units, strict=True):
        for depth, node, unit in zip(depths, nodes, taken, strict=True):
            inside = held(domain, depth, node)
            assert inside.any(), "a node of the padding was measured"
            spent[inside] += unit
    return spent


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("script", SCRIPTS[::20])
@pytest.mark.parametrize("kind", PRICES)
def test_what_is_asked_depends_on_published_values_only(monkeypatch, shape, script, kind):
    """Every dataset meets the same questions at the same answers: few people, and many.

    A true count that took part in a decision would show between these: 0 and 2,000 in a cell lie on
    either side of every threshold.
    """
    datasets = [*people(shape, 1), *(2000 * counts for counts in people(shape, 1))]
    every = [transcript(monkeypatch, counts, script, kind=kind)[:2] for counts in datasets]
    assert all(each == every[0] for each in every)


@pytest.mark.parametrize("shape", [(8,), (5,), (2, 4), (2, 2, 2)])
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_the_loss_is_at_most_epsilon_and_reaches_it(monkeypatch, shape, sensitivity):
    """In exact integers, over all neighbours of at most three people and all scripts.

    Given the values, the log of the ratio of the chances of neighbours is the sum over the measured
    nodes of units (|value - its count| - |value - the other count|), in units of epsilon/(UNITS
    sensitivity): the normalising constants cancel, and so do the chances of the questions, which
    the test above shows to be the same. For neighbours with L1 distance at most the sensitivity it
    must be at most UNITS sensitivity.
    """
    domain = Domain(shape)
    datasets = list(people(shape))
    tallies = np.stack([each.ravel() for each in datasets])
    worst = 0
    for script in SCRIPTS[:: 1 if sensitivity == 1 else 9]:
        _, _, measured = transcript(monkeypatch, datasets[0], script, sensitivity=sensitivity)
        nodes = zip(measured.depth.tolist(), measured.node.tolist(), strict=True)
        holds = np.stack([held(domain, *node).ravel() for node in nodes])
        counts = holds.astype(np.int64) @ tallies.T
        costs = measured.units @ np.abs(measured.value[:, None] - counts)
        for i, first in enumerate(tallies):
            near = np.abs(tallies - first).sum(axis=1) <= sensitivity
            worst = max(worst, int((costs[near] - costs[i]).max()))
    assert worst == UNITS * sensitivity


@pytest.mark.parametrize("shape", [(8,), (5,), (2, 4), (2, 2, 2)])
@pytest.mark.parametrize("sensitivity", [1, 2, 3])
def test_the_concentrated_loss_is_at_most_rho_and_reaches_it(monkeypatch, shape, sensitivity):
    """In exact integers, over all moves d of the cells with |d|_1 <= sensitivity and all scripts.

    Given the values, the divergence of order a of one node is at most a (its move)^2/(2 variance),
    with equality for whole a; the theorem's sum is that of units (its move)^2, in units of
    rho/(UNITS sensitivity^2). Moves go up and down and over several cells, as a person's may.
    """
    domain = Domain(shape)
    moves = np.array(list(moved(domain.cells, sensitivity)))
    worst = 0
    for script in SCRIPTS[:: 1 if sensitivity == 1 else 9]:
        nobody = np.zeros(shape, dtype=np.int64)
        _, _, measured = transcript(
            monkeypatch, nobody, script, sensitivity=sensitivity, kind="rho"
        )
        nodes = zip(measured.depth.tolist(), measured.node.tolist(), strict=True)
        holds = np.stack([held(domain, *node).ravel() for node in nodes])
        worst = max(worst, int((measured.units @ (holds.astype(np.int64) @ moves.T) ** 2).max()))
    assert worst == UNITS * sensitivity**2


def moved(cells, most):
    """All whole vectors with |d|_1 <= most."""
    for size in range(most + 1):
        for chosen in itertools.combinations_with_replacement(range(cells), size):
            for signs in itertools.product((-1, 1), repeat=size):
                d = np.zeros(cells, dtype=np.int64)
                for cell, sign in zip(chosen, signs, strict=True):
                    d[cell] += sign
                yield d


def test_sums_that_leave_64_bits_are_refused():
    top = np.array([2**63 - 1, 5])
    assert added(top, np.array([-1, 1])).tolist() == [2**63 - 2, 6]
    with pytest.raises(RangeError):
        added(top, np.array([1, 1]))


def test_a_plan_stops_when_it_is_told_that_nobody_is_there():
    domain = Domain((1 << 30,))
    plan = planning(domain, terms_of(epsilon=1), settings_for(domain))
    request, asked = next(plan), 0
    try:
        while asked < 50:
            asked += len(request)
            request = plan.send(np.zeros(len(request), dtype=np.int64))
    except StopIteration:
        return
    pytest.fail("the plan goes on and on")


def test_few_people_are_counted_again():
    domain = Domain((64,))
    for total, second in ((100, True), (10_000, False)):
        plan = planning(domain, terms_of(epsilon=1), settings_for(domain))
        next(plan)
        request = plan.send(np.array([total]))
        assert (request.depth.tolist() == [0]) == second


def test_stages_end_at_the_leaves():
    line, plane = settings_for(Domain((4096,))), settings_for(Domain((128, 128)))
    assert stages(Domain((4096,)), line) == [3, 6, 9, 12]
    assert stages(Domain((128, 128)), plane) == [4, 8, 12, 14]
    assert stages(Domain((2,)), line) == [1]


def test_among_few_people_less_is_looked_into():
    settings = settings_for(Domain((4096,)))
    limit, stop, join = settings.scarce
    assert settings.among(limit) == settings.among(2 * limit) == settings
    few = settings.among(limit / 10)
    assert few.stop == pytest.approx(settings.stop * 10**stop)
    assert few.join == pytest.approx(settings.join * 10**join)
    assert settings.among(0) == settings.among(-5) == settings.among(limit / 1000) == few
    assert settings.stop < settings.among(limit / 3).stop < few.stop


def test_among_many_people_more_is_kept_for_late_stages():
    settings = settings_for(Domain((4096,)))
    limit, thrift = settings.plenty
    assert settings.thrift < thrift
    assert settings.among(limit) == settings
    assert settings.among(limit + 1) == replace(settings, thrift=thrift)
    plane = settings_for(Domain((64, 64)))
    assert plane.among(10.0**9) == plane


@pytest.mark.parametrize(("shape", "people"), [((4096,), 100_000), ((64, 64), 100_000)])
def test_even_data_are_looked_into_less_than_uneven_ones(shape, people):
    """With every value as it would be without noise: no more than that is public."""
    rng = np.random.default_rng(4)
    even = np.full(shape, people // int(np.prod(shape)))
    uneven = rng.multinomial(people, rng.dirichlet(np.full(even.size, 0.1))).reshape(shape)
    asked = []
    for counts in (even, uneven):
        cells = Cells.dense(counts)
        plan = planning(cells.domain, terms_of(epsilon="0.1"), settings_for(cells.domain))
        request, nodes = next(plan), 0
        while request is not None:
            nodes += len(request)
            try:
                request = plan.send(cells.count(request.depth, request.node))
            except StopIteration:
                request = None
        asked.append(nodes)
    assert asked[0] < asked[1] / 4


def test_limits_are_higher_where_counts_fall_evenly_but_never_lower_than_supposed():
    settings = settings_for(Domain((4096,)))
    assert settings.where(0.9) == settings.where(settings.supposed)
    assert settings.where(settings.supposed).stop == settings.stop / settings.supposed
    assert settings.where(settings.supposed / 5).join == pytest.approx(
        5 * settings.join / settings.supposed
    )
    assert np.isfinite(settings.where(0.0).stop)


@pytest.mark.parametrize("kind", PRICES)
def test_a_plan_that_spends_an_account_twice_is_refused_before_noise_is_drawn(monkeypatch, kind):
    plain = module._descend

    def greedy(*args):
        stage = plain(*args)
        return replace(stage, kept=stage.kept + stage.units)

    monkeypatch.setattr(module, "_descend", greedy)
    with pytest.raises(BudgetExceededError):
        transcript(monkeypatch, np.zeros(8, dtype=np.int64), (500, 40, 12), kind=kind)


def test_a_true_count_in_a_decision_would_be_caught(monkeypatch):
    """The fault planted: how far the tree is looked into follows the true count of everybody."""
    plain = module.Cells.count
    last = []

    def watched(self, depth, nodes):
        last.append(int(plain(self, np.array([0]), np.array([0]))[0]))
        return plain(self, depth, nodes)

    def peeking(self, uneven):
        return module._Limits(1e9, 1e9) if last[-1] > 1000 else module._Limits(0.1, 0.1)

    monkeypatch.setattr(module.Cells, "count", watched)
    monkeypatch.setattr(module.Settings, "where", peeking)
    with pytest.raises(AssertionError):
        test_what_is_asked_depends_on_published_values_only(monkeypatch, (8,), SCRIPTS[40], "rho")

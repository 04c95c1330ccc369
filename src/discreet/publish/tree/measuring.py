"""Measure a tree stage by stage: where there are people, look closer.

`planning` decides; it is handed published values only. `measure` alone sees private cells: it
counts the nodes that a plan asks for, charges their account, adds noise, and hands the noisy values
back. The guarantee is the theorem of `discreet.publish.tree.terms`, and rests on nothing that a
plan does, because the account is checked, in integers, before each draw.

The plan. The root gets a small share. At each stage every active node's descendants at the stage's
depth are measured with a part of its account that leaves enough for as many further stages as its
count promises. The tree is read (`discreet.publish.tree.reading`); a new node whose expected count
times what is left of its account, times how unevenly its cells are expected to be filled, is below
`stop` is not looked into any more. Stopped siblings that are small together are joined, and what is
left of their accounts goes into one last measurement.

How uneven. A count of n that is believed to be spread evenly is off by about n u at its middle, if
u is the root mean square of (the left half's share - its share of the cells). Noise is about 1 over
the account. So looking closer pays where n u times the account is large. How uneven the depths of
the last stage were, as far as can be read, says how uneven the next will be: on even data the tree
is left early, though it is full of people.
Tested by tests/publish/tree/test_measuring.py
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.noise.sampler import fitting
from discreet.noise.source import Source
from discreet.publish.tree.domain import Cells, Domain
from discreet.publish.tree.measured import Account, Measured, Request, joined
from discreet.publish.tree.prior import Prior
from discreet.publish.tree.reading import Reading, read
from discreet.publish.tree.terms import UNITS, Terms

__all__ = ["Settings", "measure", "planning", "settings_for"]

Array = NDArray[Any]
Plan = Generator[Request, Array, None]


@dataclass(frozen=True)
class Settings:
    """How to measure and to read; nothing here depends on the data.

    Attributes:
        root: the share of the account for the count of everybody.
        again: a share, and a limit: everybody is counted again with this share if their number
            times the sharpness of a whole account (epsilon) seems to be below the limit. A share of
            0 means never.
        step: how many depths one stage goes down.
        thrift: how much of an account is kept for later stages; more keeps more.
        plenty: a limit and a thrift: what is kept where the number of people times the sharpness
            of a whole account seems to be above the limit. Among many people the late stages tell
            more.
        supposed: how unevenly counts fall, before anything is known, and at most.
        stop: a node is not looked into if its expected count times the sharpness that is left of
            its account, times the unevenness, is below this.
        join: stopped siblings are joined if their expected count times theirs is below this.
        scarce: a limit and two powers: where the number of people times the sharpness of a whole
            account seems to be the limit over f, f up to 10, `stop` and `join` are f to these
            powers times as large. Among few people a second look costs more than it shows.
        prior: how counts are believed to fall.
        rounds: how often the prior's weights are learned, in the last reading and in the stages.
    """

    root: float
    again: tuple[float, float]
    step: int
    thrift: float
    plenty: tuple[float, float]
    supposed: float
    stop: float
    join: float
    scarce: tuple[float, float, float]
    prior: Prior
    rounds: tuple[int, int]

    def among(self, people: float) -> Settings:
        """The settings once the number of people is roughly known, times that sharpness."""
        limit, stop, join = self.scarce
        factor = min(max(limit / max(people, 1.0), 1.0), 10.0)
        thrift = self.plenty[1] if people > self.plenty[0] else self.thrift
        stop, join = self.stop * factor**stop, self.join * factor**join
        return replace(self, thrift=thrift, stop=stop, join=join)

    def where(self, uneven: float) -> _Limits:
        """What counts times sharpness must reach where counts fall so unevenly."""
        uneven = min(max(uneven, _EVEN), self.supposed)
        return _Limits(self.stop / uneven, self.join / uneven)


class _Limits(NamedTuple):
    """The limits of counts times sharpness, where it is known how unevenly counts fall."""

    stop: float
    join: float


_EVEN = 1e-9
SCRAP = UNITS // 256
"""What is left of an account below this is left unused: it would tell next to nothing."""

LINE = Settings(
    root=0.02,
    again=(0.2, 300),
    step=3,
    thrift=0.6,
    plenty=(30_000, 0.8),
    supposed=0.35,
    stop=1.5,
    join=1,
    scarce=(10_000, 0.3, 0.6),
    prior=Prior(empty=0.3, even=0.15, weights=(0.3, 0.1, 0.15), alphas=(1, 0.15, 6)),
    rounds=(2, 1),
)
PLANE = Settings(
    root=0.07,
    again=(0, 0),
    step=4,
    thrift=1.4,
    plenty=(0, 1.4),
    supposed=0.45,
    stop=0.9,
    join=0.45,
    scarce=(1, 0, 0),
    prior=Prior(empty=0.6, even=0.0, weights=(0.25, 0.15), alphas=(1, 0.15)),
    rounds=(2, 1),
)


def settings_for(domain: Domain) -> Settings:
    """The settings for the number of dimensions."""
    return LINE if len(domain.shape) == 1 else PLANE


def measure(cells: Cells, *, terms: Terms, settings: Settings, source: Source) -> Measured:
    """Publish noisy counts of a tree's nodes: the only function that sees private cells.

    Guarantee. As the terms say, for neighbours whose cells differ by an integer vector with L1 norm
    at most their sensitivity.
    Assumes. The sensitivity is a true bound.
    Proof. At the top of `discreet.publish.tree.terms`; the plan is a function of values already
    published, and the account is checked before every draw.
    Tested by tests/publish/tree/test_measuring.py
    """
    account, plan = Account(cells.domain), planning(cells.domain, terms, settings)
    asked: list[Request] = []
    published: list[Array] = []
    request = next(plan, None)
    while request is not None:
        account.charge(request)
        exact = cells.count(request.depth, request.node)
        published.append(added(exact, terms.noise(request.units, source)))
        asked.append(request)
        try:
            request = plan.send(published[-1])
        except StopIteration:
            request = None
    every = joined(asked)
    return Measured(
        cells.domain, terms, every.depth, every.node, every.units, np.concatenate(published)
    )


def added(exact: Array, drawn: Array) -> Array:
    """The sums, or RangeError where one does not fit 64 bits."""
    sums = exact + drawn
    if np.any(((exact ^ sums) & (drawn ^ sums)) < 0):
        return fitting([x + z for x, z in zip(exact.tolist(), drawn.tolist(), strict=True)])
    return np.asarray(sums)


@dataclass
class _Active:
    """Nodes of one depth that will be looked into, with what is left and what is expected."""

    node: Array
    account: Array
    mean: Array


def stages(domain: Domain, settings: Settings) -> list[int]:
    """The depths that are measured; what does not fill a step comes last."""
    return [*range(settings.step, domain.depth, settings.step), domain.depth]


def planning(domain: Domain, terms: Terms, settings: Settings) -> Plan:
    """Ask for measurements step by step, given the values of the earlier ones."""
    seen = _Seen(domain, terms)
    depths = stages(domain, settings) if domain.depth else []
    active = yield from _everybody(seen, settings if depths else None)
    settings = settings.among(float(active.mean[0] * terms.sharpness(np.array(UNITS))))
    above, limits = 0, settings.where(settings.supposed)
    for stage, depth in enumerate(depths):
        left = len(depths) - 1 - stage
        request = _descend(seen, active, (above, depth), left, (settings.thrift, limits.stop))
        if not len(request):
            return
        yield from seen.ask(request)
        if not left:
            return
        rest = request.kept
        reading = read(seen.measured(), settings.prior, rounds=settings.rounds[1])
        level = reading.levels[depth]
        mean = level.mean[np.searchsorted(level.nodes, request.node)]
        limits = settings.where(reading.unevenness(above, depth))
        going = (mean * terms.sharpness(rest) >= limits.stop) & (rest > 0)
        last = _joined_up(reading, depth, request.node[~going], rest[~going], limits)
        if len(last):
            yield from seen.ask(last)
        active = _Active(request.node[going], rest[going], mean[going])
        above = depth
        if not len(active.node):
            return


def _everybody(seen: _Seen, settings: Settings | None) -> Generator[Request, Array, _Active]:
    """Count the root, again if there seem to be few; with all its account if nothing follows."""
    least = 1 / float(seen.terms.sharpness(np.array(UNITS)))
    share = int(settings.root * UNITS) if settings else UNITS
    yield from seen.ask(_root(share))
    total = float(seen.values[0][0])
    if settings and settings.again[0] and max(total, least) / least < settings.again[1]:
        more = int(settings.again[0] * UNITS)
        yield from seen.ask(_root(more))
        total = (share * total + more * float(seen.values[1][0])) / (share + more)
        share += more
    return _Active(np.array([0]), np.array([UNITS - share]), np.array([max(total, least)]))


def _root(units: int) -> Request:
    return Request(np.array([0]), np.array([0]), np.array([units]))


class _Seen:
    """What has been asked and answered so far."""

    def __init__(self, domain: Domain, terms: Terms) -> None:
        self.domain, self.terms = domain, terms
        self.requests: list[Request] = []
        self.values: list[Array] = []

    def ask(self, request: Request) -> Plan:
        """Ask, and keep the answer."""
        values = yield request
        self.requests.append(request)
        self.values.append(values)

    def measured(self) -> Measured:
        """Everything so far, as if it were all."""
        every = joined(self.requests)
        return Measured(
            self.domain, self.terms, every.depth, every.node, every.units,
            np.concatenate(self.values),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Stage(Request):
    kept: Array


def _descend(
    seen: _Seen, active: _Active, depths: tuple[int, int], left: int, ways: tuple[float, float]
) -> _Stage:
    """The descendants of active nodes with their units, and what is kept of their accounts."""
    (above, depth), (thrift, stop) = depths, ways
    fan = 1 << (depth - above)
    seems = active.mean * seen.terms.sharpness(active.account)
    promised = np.log(np.maximum(seems / stop, 1e-300))
    further = np.clip(promised / np.log(fan), 0, left)
    spent = np.floor(active.account / (1 + thrift * further)).astype(np.int64)
    spent = np.clip(spent, 1, active.account)
    node = (active.node[:, None] * fan + np.arange(fan)).ravel()
    real = seen.domain.real(depth, node) > 0
    units, kept = (np.repeat(each, fan)[real] for each in (spent, active.account - spent))
    node = node[real]
    return _Stage(np.full(node.shape, depth), node, units, kept)


def _joined_up(
    reading: Reading, depth: int, node: Array, account: Array, limits: _Limits
) -> Request:
    """The stopped nodes, siblings joined where they are small, with all their accounts."""
    sharpness = reading.measured.terms.sharpness
    out: list[Request] = []
    while len(node):
        level = reading.levels[depth - 1]
        first = np.flatnonzero((node[:-1] ^ 1) == node[1:])  # sorted, so the left one comes first
        least = np.minimum(account[first], account[first + 1])
        mean = level.mean[np.searchsorted(level.nodes, node[first] >> 1)]
        small = (mean * sharpness(least) < limits.join) & (depth > 1)
        first, least = first[small], least[small]
        kept = account > 0
        kept[first] = kept[first + 1] = False
        out.append(Request(np.full(int(kept.sum()), depth), node[kept], account[kept]))
        richer = np.where(account[first] > least, first, first + 1)
        over = account[richer] - least  # what one sibling has and the other has not
        some = over >= SCRAP
        out.append(Request(np.full(int(some.sum()), depth), node[richer][some], over[some]))
        node, account, depth = node[first] >> 1, least, depth - 1
    return joined(out) if out else Request(*(np.zeros(0, dtype=np.int64) for _ in range(3)))

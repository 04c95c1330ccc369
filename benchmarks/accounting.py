"""Adding up: tight sums against a peer, what filters answer, and what a charge costs."""

import math
import statistics
import time
from fractions import Fraction
from functools import partial

import numpy as np

import discreet as dp
from benchmarks.timing import table
from discreet.privacy import bounds, convert

DELTA = "1e-6"
SIGMAS = np.linspace(40, 120, 500).tolist()
SCALES = np.linspace(50, 150, 500).tolist()


def mixed():
    """500 Gaussian and 500 Laplace releases, all different, to epsilon at delta 1e-6.

    Ours starts from losses each time, with every cache emptied; imports are not counted.
    """
    import dp_accounting as da
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    events = [da.GaussianDpEvent(s) for s in SIGMAS] + [da.LaplaceDpEvent(b) for b in SCALES]

    def theirs(make):
        def run():
            accountant = make()
            for event in events:
                accountant.compose(event)
            return accountant.get_epsilon(1e-6)

        return run

    def ours(gaussian, laplace):
        def run():
            forget()
            releases = [gaussian(Fraction(repr(s)) ** 2) for s in SIGMAS]
            releases += [laplace(1 / Fraction(repr(b))) for b in SCALES]
            return float(dp.Accountant(releases).epsilon_upper(DELTA))

        return run

    losses = dp.losses
    calls = {
        "discreet, the same continuous noise": ours(
            lambda v: losses.NormalLoss(sigma_squared=v), lambda e: losses.LaplaceLoss(epsilon=e)
        ),
        "discreet, discrete noise (1,000 steps)": ours(
            lambda v: losses.GaussianLoss(sigma_squared=v),
            lambda e: losses.GeometricLoss(epsilon=e, sensitivity=1000),
        ),
        "dp-accounting PLD, interval 1e-3": theirs(
            lambda: PLDAccountant(value_discretization_interval=1e-3)
        ),
        "dp-accounting PLD, interval 1e-4": theirs(
            lambda: PLDAccountant(value_discretization_interval=1e-4)
        ),
        "dp-accounting RDP": theirs(RdpAccountant),
    }
    times, values = {name: [] for name in calls}, {}
    for turn in range(6):
        for name, call in calls.items():
            start = time.perf_counter()
            values[name] = call()
            if turn:
                times[name].append(time.perf_counter() - start)
    found = {name: statistics.median(runs) for name, runs in times.items()}
    unit = found["discreet, the same continuous noise"]
    rows = [
        (name, f"{values[name]:.5f}", f"{found[name] / unit:.1f}", f"{found[name]:.2f}")
        for name in calls
    ]
    return table(("", "epsilon at 1e-6", "time, ours = 1", "seconds"), rows)


def forget():
    for module in (bounds, convert):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def answered():
    """How many queries of one epsilon are answered before the halt, at (1, 1e-6)."""
    rows = []
    for epsilon in ("0.002", "0.01", "0.02"):
        release = dp.losses.PureLoss(epsilon=epsilon)
        order = dp.best_order(release, epsilon=1, delta=DELTA)
        plain = dp.Budget(epsilon=1, delta=DELTA, accounting="basic")
        zcdp = dp.Budget(epsilon=1, delta=DELTA)
        renyi = dp.Budget(epsilon=1, delta=DELTA, accounting="renyi", order=order)
        filters = [most(partial(allowed, b, release)) for b in (plain, zcdp, renyi)]
        batch = most(partial(fits, release))
        laplace = most(partial(fits, dp.losses.LaplaceLoss(epsilon=epsilon)))
        cells = [f"{n:,}" for n in (filters[0], whitehouse(epsilon), *filters[1:], batch, laplace)]
        rows.append((epsilon, *cells))
    head = (
        "epsilon",
        "plain sums",
        "square-root filter (Whitehouse et al.)",
        "zCDP filter",
        "one-order filter",
        "batch fixed ahead",
        "batch, Laplace noise",
    )
    return table(head, rows)


def exactly():
    """Pure budgets hold exactly as many questions as their epsilons say."""
    rows = []
    for total, epsilon in (("0.2", "0.002"), ("4", "0.2"), ("4", "0.5"), ("4", "0.8")):
        budget, question = dp.Budget(epsilon=total), dp.losses.PureLoss(epsilon=epsilon)
        while budget.affords(question):
            budget.charge(question)
        rows.append((total, epsilon, len(budget)))
    return table(("budget, no delta", "epsilon of a question", "answered"), rows)


def allowed(budget, release, n):
    return budget.affords(release, times=n)


def fits(loss, n):
    return dp.Accountant().add(loss, times=n).epsilon_upper(DELTA) <= 1


def most(holds):
    low, high = 0, 1
    while holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def whitehouse(epsilon):
    e = float(epsilon)
    root = math.sqrt(2 * math.log(1e6))
    return most(lambda n: root * math.sqrt(n) * e + n * e * e / 2 <= 1)


def charges():
    """Seconds per charge after 10 and after 1,000,000 charges, of 1,000 different losses."""
    kinds = {
        "pure": (
            lambda: dp.Budget(epsilon=1000),
            lambda i: dp.losses.PureLoss(epsilon=Fraction(i, 10**9)),
        ),
        "zCDP": (
            lambda: dp.Budget(rho=1000),
            lambda i: dp.losses.GaussianLoss(sigma_squared=10**9 + i),
        ),
        "zCDP, geometric noise": (
            lambda: dp.Budget(rho=1000),
            lambda i: dp.losses.GeometricLoss(epsilon=Fraction(i, 10**6)),
        ),
    }
    rows = []
    for name, (make, loss) in kinds.items():
        losses = [loss(i) for i in range(1, 1001)]
        old = make()
        for i in range(1_000_000):
            old.charge(losses[i % 1000])
        times = {"new": [], "old": []}
        for _ in range(200):
            for which, budget in (("new", make_again(make, losses)), ("old", old)):
                start = time.perf_counter()
                for i in range(10):
                    budget.charge(losses[i])
                times[which].append(time.perf_counter() - start)
        few, many = (statistics.median(times[which]) / 10 for which in ("new", "old"))
        rows.append((name, f"{many / few:.2f}", f"{few * 1e6:.1f}", f"{many * 1e6:.1f}"))
    head = ("budget", "ratio, 1,000,000 to 10", "microseconds at 10", "at 1,000,000")
    return table(head, rows)


def make_again(make, losses):
    """A budget with ten entries that knows its prices."""
    budget = make()
    for i in range(10):
        budget.charge(losses[i])
    return budget

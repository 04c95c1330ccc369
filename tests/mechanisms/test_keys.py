"""Selection of keys: four inequalities for every count, optimality, and the strict threshold."""

from __future__ import annotations

import gc
import math
import pickle
from collections import Counter
from contextvars import copy_context
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chi2

from discreet.audit import verify
from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Interval, exp
from discreet.mechanisms import keys as module
from discreet.mechanisms.keys import LARGEST_COUNT, SelectKeys
from discreet.noise.law import Outcomes
from discreet.noise.source import ReplayedSource
from discreet.privacy.guarantee import ApproxDP
from discreet.privacy.loss import ApproxLoss, loss_from_dict
from discreet.remembered import Results, remembered

F = Fraction
USUAL = SelectKeys(epsilon=1, delta="1e-8")
RULES = [
    USUAL,
    SelectKeys(epsilon="0.1", delta="1e-6"),
    SelectKeys(epsilon="1/3", delta="1e-3", max_keys=3),
    SelectKeys(epsilon=3, delta="1e-5", neighbours="replace"),
    SelectKeys(epsilon=20, delta="1e-8"),
    SelectKeys(epsilon=100, delta="0.4"),
    SelectKeys(epsilon=1, delta="1e-40"),
    SelectKeys(epsilon="1e-30", delta="0.01"),
]


def share(rule: SelectKeys) -> tuple[Fraction, Fraction]:
    """The epsilon and the delta that one key may spend."""
    keys = rule.max_keys * (2 if rule.neighbours == "replace" else 1)
    return rule.epsilon / keys, rule.delta / keys


def broken(p: list[Fraction], epsilon: Fraction, delta: Fraction, factor: str = "lower") -> bool:
    """Whether one of the four inequalities fails between p[n] and p[n+1] for some n."""
    grows = getattr(exp(epsilon, 600), factor)
    return any(
        first > grows * second + delta
        for a, b in pairwise(p)
        for first, second in ((b, a), (1 - a, 1 - b), (a, b), (1 - b, 1 - a))
    )


def table(rule: SelectKeys) -> list[Fraction]:
    return [rule.probability(n) for n in range(rule.sure_from + 2)]


# --- without counts


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_table_is_exactly_private(rule: SelectKeys) -> None:
    """∀ n: the four inequalities of (ε, δ), in fractions, with a certified lower bound of e^ε."""
    p = table(rule)
    assert p[0] == 0
    assert p[-2] == p[-1] == 1 > p[-3]
    assert all(a < b for a, b in pairwise(p[:-1]))
    assert not broken(p, *share(rule))


def test_three_hundred_other_tables_are_exactly_private_too() -> None:
    """So that a bound of e^ε that is one unit too high would show, although steps round down."""
    for i in range(1, 301):
        rule = SelectKeys(epsilon=F(i, 97), delta=F(1, 3 * i * i + 10))
        assert not broken(table(rule), rule.epsilon, rule.delta)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_no_probability_could_be_larger(rule: SelectKeys) -> None:
    """Raise any p(n) by a billionth of δ: an inequality with n-1 fails, even for an e^ε too large.

    So the table is the largest one by induction, and the guarantee is met with equality.
    """
    epsilon, delta = share(rule)
    p = table(rule)
    for n in range(1, rule.sure_from):
        assert broken([p[n - 1], p[n] + delta / 10**9], epsilon, delta, "upper")


def test_a_linear_programme_finds_nothing_better() -> None:
    """The largest sum of p(1) .. p(N) under all four families of inequalities, by simplex."""
    rule = SelectKeys(epsilon="1/2", delta="0.02")
    size, e, d = rule.sure_from + 1, math.exp(0.5), 0.02
    rows, limits = [], []
    for n in range(size - 1):
        for up, down, limit in ((1, -e, d), (-e, 1, d), (e, -1, e - 1 + d), (-1, e, e - 1 + d)):
            row = np.zeros(size)
            row[n + 1], row[n] = up, down
            rows.append(row)
            limits.append(limit)
    bounds = [(0, 0)] + [(0, 1)] * (size - 1)
    best = linprog(-np.ones(size), A_ub=np.array(rows), b_ub=limits, bounds=bounds)
    ours = [float(rule.probability(n)) for n in range(size)]
    assert best.x == pytest.approx(ours, abs=1e-9)


def test_the_first_half_is_a_geometric_sum() -> None:
    for n in range(1, 18):
        sum_of_powers = 1e-8 * math.expm1(n) / math.expm1(1)
        assert float(USUAL.probability(n)) == pytest.approx(sum_of_powers, rel=1e-14)


def test_the_check_of_the_table_finds_planted_faults() -> None:
    """Rounded up, with an e^ε too large, or with only one of the two constraints."""
    epsilon, delta = share(USUAL)
    grid, e = F(1, 2**128), exp(F(1), 200)

    def built(factor: Fraction, *, up: bool, second: bool = True) -> list[Fraction]:
        p = [F(0)]
        while p[-1] < 1:
            step = min(factor * p[-1] + delta, F(1))
            step = min(step, 1 - (1 - p[-1] - delta) / factor) if second else step
            p.append(min((-(-step // grid) if up else step // grid) * grid, F(1)))
        return p

    assert not broken(built(e.lower, up=False), epsilon, delta)
    assert broken(built(e.lower, up=True), epsilon, delta, "upper")
    assert broken(built(e.upper + F(1, 2**60), up=False), epsilon, delta, "upper")
    assert broken(built(e.lower, up=False, second=False), epsilon, delta, "upper")


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_audit_agrees(rule: SelectKeys) -> None:
    verdict, (_, delta) = verify(rule), share(rule)
    assert not verdict.refuted
    if delta > F(1, 2**64):  # the audit reads masses to 128 bits: too few for a smaller δ
        assert verdict.proven
        assert verdict.tight


def test_figures_of_the_usual_rule() -> None:
    assert float(USUAL.probability(1)) == 1e-8
    assert USUAL.probability(1) <= F(1, 10**8)
    assert (USUAL.threshold, USUAL.sure_from) == (18, 37)
    for level in (F(1, 10**9), F(1, 2), F(19, 20), USUAL.probability(20), 1 - F(1, 10**9)):
        n = USUAL.error(level)
        assert USUAL.probability(n) >= level > USUAL.probability(n - 1)
    assert USUAL.probability(-5) == USUAL.probability(0) == 0
    assert USUAL.probability(10**30) == 1
    law = USUAL.law(18)
    assert law.outcomes == (False, True)
    assert USUAL.probability(18) in law.mass_bounds(True)
    assert list(USUAL.small_neighbours())[:2] == [(0, 1), (1, 2)]
    assert max(USUAL.small_neighbours())[0] >= USUAL.sure_from


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_what_is_found_without_a_table_is_what_it_says(rule: SelectKeys) -> None:
    values, words = rule._rule.table
    one = 1 << rule._rule.grid
    assert (values[0], values[-1], values.index(one)) == (0, one, rule.sure_from)
    assert len(values) == len(words) == rule.sure_from + 1
    for n in range(1, len(values)):
        level = F(values[n], one)
        assert rule.error(level) == values.index(values[n]) if level < 1 else True


def test_who_keeps_a_price_keeps_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long one is kept once, for the next release at its price, and never for somebody apart."""
    monkeypatch.setattr(module, "_SHORT", 10)
    made: list[Fraction] = []

    def counted(rule: module._Rule) -> module._Table:
        made.append(rule.rate)
        return module._made(rule)

    for name, kept in (("_short", remembered(64, apart=4)), ("_long", remembered(1, apart=0))):
        monkeypatch.setattr(module, name, kept(counted))
    long, other, short = (SelectKeys(epsilon=e, delta="1e-8") for e in ("1", "1.5", "20"))
    assert (long.sure_from, long.error(F(1, 2))) == (37, 19)
    assert made == []
    for rule in (long, long, other, short, short, long):
        rule.probability(3)
    assert made == [F(1), F(3, 2), F(20), F(1)]

    def told() -> None:
        Results().use()
        for rule in (long, long, short, short):
            rule.probability(3)

    made.clear()
    copy_context().run(told)
    assert made == [F(1), F(1), F(20)]
    assert [one for one in gc.get_referents(long._rule) if isinstance(one, list | tuple)] == []


# --- the draws, without counts


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_release_compares_the_bits_of_one_real_with_the_probability(rule: SelectKeys) -> None:
    """For every n: just below p(n) shows, p(n) itself and above hides, on both readings of bits."""
    rest_bits = rule._rule.grid - 64
    for n in range(rule.sure_from):
        high, rest = divmod(rule._rule.table.values[n], 1 << rest_bits)
        cases = [([high, rest], False)]
        cases += [([high, rest - 1], True)] if rest else []
        cases += [([high - 1], True)] if high else []
        cases += [([high + 1], False)] if high + 1 < 1 << 64 else []
        for words, expected in cases:
            source = ReplayedSource(words)
            assert rule.release(np.array([n]), source=source).tolist() == [expected]
            assert source.served == len(words)
    for word in (0, (1 << 64) - 1):
        sure = rule.release(np.array([rule.sure_from]), source=ReplayedSource([word]))
        assert sure.tolist() == [True]
        assert rule.release(np.array([0]), source=ReplayedSource([word, 0])).tolist() == [False]


@pytest.mark.statistical
def test_arrays_are_shown_as_often_as_stated() -> None:
    """False alarm below 1e-9 over the five counts together."""
    rule, each = SelectKeys(epsilon=1, delta="1e-3"), 200_000
    for n in range(3, 8):
        shown = int(rule.release(np.full(each, n)).sum())
        p = float(rule.probability(n))
        assert chi2.sf((shown - each * p) ** 2 / (each * p * (1 - p)), 1) > 1e-10


# --- with counts


class WithCounts:
    """The release with counts, as something to audit; threshold and comparison can be spoilt."""

    def __init__(
        self, rule: SelectKeys, *, threshold: int | None = None, strict: bool = True
    ) -> None:
        self.rule, self.strict = rule, strict
        self.threshold = rule.threshold if threshold is None else threshold

    @property
    def guarantee(self) -> ApproxDP:
        return ApproxDP(*share(self.rule))

    def small_neighbours(self):
        return self.rule.small_neighbours()

    def law(self, n: int) -> Outcomes:
        """The law written down a second time, from the definition."""
        m = self.threshold
        shown = [
            z for z in range(n - m, n + m + 1) if n > 0 and (z > m or (z == m and not self.strict))
        ]

        def masses(w: int) -> list[Interval]:
            each = _powers(share(self.rule)[0], m, w)
            total = sum((each[abs(x)] for x in range(-m, m + 1)), Interval.of(0))
            hidden = [each[abs(x)] for x in range(-m, m + 1) if n + x not in set(shown)]
            return [
                sum(hidden, Interval.of(0)) / total,
                *(each[abs(z - n)] / total for z in shown),
            ]

        return Outcomes((None, *shown), masses)


@lru_cache(maxsize=64)
def _powers(rate: Fraction, m: int, w: int) -> list[Interval]:
    return [exp(-rate * x, w) for x in range(m + 1)]


class Stated(WithCounts):
    """The same, with the law that the mechanism states."""

    def law(self, n: int) -> Outcomes:
        return self.rule.law(n, counts=True)


COUNTING = [
    USUAL,
    SelectKeys(epsilon="1/2", delta="1e-3"),
    SelectKeys(epsilon="0.3", delta="0.01", neighbours="replace"),
    SelectKeys(epsilon=3, delta="1e-5", max_keys=2),
    SelectKeys(epsilon=20, delta="1e-8"),
    SelectKeys(epsilon=100, delta="0.4"),
]


@pytest.mark.parametrize("rule", COUNTING, ids=repr)
def test_a_noisy_count_costs_nothing_more(rule: SelectKeys) -> None:
    """Proved by enumeration over all pairs of counts; the worst excess is P(X = m), exactly."""
    verdict = verify(Stated(rule))
    assert verdict.proven
    m, (epsilon, delta) = rule.threshold, share(rule)
    a = exp(-epsilon, 300)
    top = (1 - a) * exp(-epsilon * m, 300) / (1 + a - 2 * exp(-epsilon * (m + 1), 300))
    assert top.upper <= delta
    assert float(verdict.worst) == pytest.approx(float(top), rel=1e-9)


@pytest.mark.parametrize("rule", COUNTING, ids=repr)
def test_the_stated_law_of_counts_is_the_definition(rule: SelectKeys) -> None:
    for n in range(2 * rule.threshold + 3):
        stated, again = rule.law(n, counts=True), WithCounts(rule).law(n)
        assert set(stated.outcomes) == set(again.outcomes)
        for outcome in stated.outcomes:
            gap = stated.mass_bounds(outcome) - again.mass_bounds(outcome)
            assert abs(gap.lower) + abs(gap.upper) < F(1, 2**60)


@pytest.mark.parametrize("rule", COUNTING, ids=repr)
def test_one_step_less_noise_would_break_the_promise(rule: SelectKeys) -> None:
    assert rule.threshold == 1 or verify(WithCounts(rule, threshold=rule.threshold - 1)).refuted


@pytest.mark.parametrize("rule", COUNTING[:5], ids=repr)
def test_a_threshold_that_is_not_strict_is_refuted(rule: SelectKeys) -> None:
    """With >= a single person is shown with P(X = m) + P(X = m-1): 2.6 to 3.7 δ at epsilon 1."""
    verdict = verify(WithCounts(rule, strict=False))
    m, (epsilon, delta) = rule.threshold, share(rule)
    alone = sum(WithCounts(rule, strict=False).law(1).mass(z) for z in (m, m + 1))
    assert alone == pytest.approx((1 + math.exp(epsilon)) * rule.law(1, counts=True).mass(m + 1))
    assert verdict.refuted == (alone > delta)
    assert verdict.refuted
    assert float(verdict.worst) >= alone * (1 - 1e-12)


def test_the_price_of_a_threshold_that_is_not_strict() -> None:
    verdict = verify(WithCounts(USUAL, strict=False))
    assert float(verdict.worst) == pytest.approx(2.6169e-8, rel=1e-4)
    assert (verdict.witness.first, verdict.witness.second) == (1, 0)


def test_counts_are_shown_nearly_as_often_as_the_best_rule_allows() -> None:
    """Never more often, and at most one person later."""
    for n in range(40):
        counted = 1 - USUAL.law(n, counts=True).mass(None)
        assert float(USUAL.probability(n - 1)) - 1e-15 <= counted
        assert counted <= float(USUAL.probability(n)) + 1e-15


class Scripted:
    """Stands in for the sampler of the noise and gives the values it is told."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def chunk(self, size: int, _source) -> np.ndarray:
        taken, self.values = self.values[:size], self.values[size:]
        assert len(taken) == size
        return np.array(taken, dtype=np.int16)


def test_every_noise_of_every_count_is_compared_strictly(monkeypatch) -> None:
    """All n and all x in -m .. m: n + x if that is above m, and 0, the mark of a hidden key."""
    rule = SelectKeys(epsilon=1, delta="1e-3")
    m = rule.threshold
    for n in range(-2, 2 * m + 3):
        noise = list(range(-m, m + 1))
        monkeypatch.setattr(module, "two_sided", lambda rate, noise=noise: Scripted(noise))
        found = rule.release(np.full(2 * m + 1, n), counts=True)
        noisy = [max(n, 0) + x for x in noise]
        assert found.tolist() == [z if z > m else 0 for z in noisy]


def test_noise_beyond_the_threshold_is_drawn_again(monkeypatch) -> None:
    rule = SelectKeys(epsilon=1, delta="1e-3")
    m = rule.threshold
    script = [0, m + 1, -m - 1, m, m + 2, 2, 1]  # the second and third again, the second once more
    monkeypatch.setattr(module, "two_sided", lambda rate: Scripted(script))
    found = rule.release(np.full(4, 100), counts=True)
    assert found.tolist() == [100, 101, 102, 100 + m]


@pytest.mark.statistical
def test_counts_have_the_stated_law() -> None:
    """False alarm below 1e-9 for the three counts together; another count is told apart."""
    rule, each = SelectKeys(epsilon=1, delta="1e-2"), 200_000

    def p_value(counts: Counter, n: int) -> float:
        law = rule.law(n, counts=True)
        names = {0 if z is None else z: law.mass(z) for z in law.outcomes}
        names = {z: mass for z, mass in names.items() if mass > 0}
        if not set(counts) <= set(names):
            return 0.0
        statistic = sum((counts[z] - each * p) ** 2 / (each * p) for z, p in names.items())
        return float(chi2.sf(statistic, len(names) - 1))

    for n in (1, rule.threshold, 30):
        counts = Counter(rule.release(np.full(each, n), counts=True).tolist())
        assert p_value(counts, n) > 1e-10
        assert p_value(counts, n + 1) < 1e-10


# --- several keys a person


@pytest.mark.parametrize(
    ("neighbours", "moves"), [("add_or_remove", (1, 1)), ("replace", (1, -1))], ids=str
)
def test_two_keys_together_are_within_the_promise(neighbours, moves) -> None:
    """The joint law of two keys, enumerated: two keys a person, or one key that was changed."""
    max_keys = 2 if neighbours == "add_or_remove" else 1
    rule = SelectKeys(epsilon=1, delta="0.05", max_keys=max_keys, neighbours=neighbours)
    grows, worst = exp(rule.epsilon, 200), F(0)
    p = [rule.probability(n) for n in range(rule.sure_from + 3)]

    def joint(a: int, b: int) -> list[Fraction]:
        return [x * y for x, y in product((p[a], 1 - p[a]), (p[b], 1 - p[b]))]

    for a, b in product(range(1, rule.sure_from + 2), repeat=2):
        one, two = joint(a, b), joint(a + moves[0] if a + moves[0] < len(p) else a, b + moves[1])
        for first, second in ((one, two), (two, one)):
            pairs = zip(first, second, strict=True)
            worst = max(worst, sum(max(x - grows.lower * y, F(0)) for x, y in pairs))
    assert worst <= rule.delta
    alone = SelectKeys(epsilon=1, delta="0.05")
    assert rule.probability(1) == pytest.approx(alone.probability(1) / 2, rel=1e-15)


# --- shapes, order, types


def test_a_dictionary_gives_keys_in_an_order_that_tells_nothing() -> None:
    table_ = {
        "b": 900,
        10: 50,
        "a": 60,
        9: 70,
        ("x", 1): 80,
        "gone": 0,
        "less": -3,
        np.int64(4): 99,
    }
    expected = [9, 10, np.int64(4), "a", "b", ("x", 1)]
    for order in list(permutations(table_.items()))[::1009]:
        assert USUAL.release(dict(order)) == expected
        noisy = USUAL.release(dict(order), counts=True)
        assert list(noisy) == expected
        assert all(abs(noisy[key] - table_[key]) <= 18 for key in expected)
    assert USUAL.release({}) == []
    assert USUAL.release({}, counts=True) == {}
    assert USUAL.release({"big": 10**40}) == ["big"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_arrays_of_any_integer_type(dtype) -> None:
    top = np.iinfo(dtype).max
    values = np.array([[0, 120, top], [0, top, 120]], dtype=dtype)
    assert USUAL.release(values).tolist() == [[False, True, True], [False, True, True]]
    counts = USUAL.release(values, counts=True)
    assert counts.dtype == np.int64
    assert counts[0, 0] == counts[1, 0] == 0
    assert abs(int(counts[0, 2]) - min(int(top), LARGEST_COUNT)) <= 18
    assert USUAL.release(np.array([], dtype=dtype)).shape == (0,)


def test_negative_numbers_count_as_nobody() -> None:
    assert not USUAL.release(np.full(1000, -(2**63))).any()
    assert not USUAL.release(np.full(1000, -5), counts=True).any()


@pytest.mark.parametrize(
    "value",
    [
        {"k": 4711.5},
        {"k": "4711"},
        {"k": True},
        [4711],
        4711,
        np.array([4711.5]),
        np.array(["4711"]),
    ],
    ids=repr,
)
def test_other_types_are_refused_without_being_quoted(value) -> None:
    with pytest.raises(InputTypeError, match="is needed here") as refusal:
        USUAL.release(value)
    assert "4711" not in str(refusal.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": "1e-5", "delta": "1e-8"}, "per key is too small for this delta"),
        ({"epsilon": 1, "delta": "1e-8", "max_keys": 10**8}, "smaller max_keys"),
        ({"epsilon": 0, "delta": "1e-8"}, "above 0"),
        ({"epsilon": 1, "delta": 0}, "strictly between 0 and 1"),
        ({"epsilon": 1, "delta": 1}, "strictly between 0 and 1"),
        ({"epsilon": 1, "delta": "1e-8", "max_keys": 0}, "at least 1"),
        ({"epsilon": 1, "delta": "1e-8", "max_keys": 1.5}, "whole number"),
        ({"epsilon": 1, "delta": "1e-8", "neighbours": "bounded"}, "add_or_remove"),
    ],
)
def test_bad_parameters_are_refused_in_words(arguments, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        SelectKeys(**arguments)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_equal_rules_are_equal_values(rule: SelectKeys) -> None:
    again = eval(repr(rule))
    assert again == rule
    assert hash(again) == hash(rule)
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert rule != SelectKeys(epsilon=7, delta="1e-3")
    assert rule.guarantee == ApproxDP(rule.epsilon, rule.delta, rule.neighbours)
    assert isinstance(rule.privacy_loss, ApproxLoss)
    assert loss_from_dict(rule.privacy_loss.to_dict()).guarantee == rule.guarantee

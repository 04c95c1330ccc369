"""Every rule is enumerated on small exact laws, and one example shows that it is tight.

The laws have rational masses and a rational e^epsilon, such as 2. The guarantee that goes into a
rule has that epsilon rounded up in the 80th bit, so what comes out can be compared with the exact
law: `keeps` says that no set of outputs breaks the promise, `meets` that an epsilon smaller by a
billionth, or a delta smaller by a millionth part, would be broken.
"""

from fractions import Fraction
from itertools import chain, combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.exact import concentrated
from discreet.errors import DiscreetError, InputTypeError, ParameterError, UnsupportedError
from discreet.exact import exp, log
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy import compose, convert
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP, RandomDP, RenyiDP

HALF, THIRD, TINY = Fraction(1, 2), Fraction(1, 3), Fraction(1, 10**9)
NEAR = Fraction(1, 10**6)


# Exact laws: dictionaries from outputs to fractions.


def ln(factor):
    """log(factor), rounded up in the 80th bit."""
    return log(Fraction(factor), 80).upper


def hockey(p, q, factor):
    """The least delta at e^epsilon = factor: the sum of (p - factor q)+."""
    return sum(max(p.get(o, 0) - factor * q.get(o, 0), Fraction(0)) for o in {*p, *q})


def delta_of(guarantee):
    return getattr(guarantee, "delta", Fraction(0))


def keeps(p, q, guarantee):
    """The promise holds for every set of outputs, both ways."""
    factor = exp(guarantee.epsilon, 100).lower
    return max(hockey(p, q, factor), hockey(q, p, factor)) <= delta_of(guarantee)


def meets(p, q, guarantee):
    """A smaller epsilon would break the promise, one way or the other; and so would less delta."""
    less = exp(guarantee.epsilon - TINY, 100).upper
    worse = max(hockey(p, q, less), hockey(q, p, less))
    return worse > delta_of(guarantee) and meets_delta(p, q, guarantee)


def meets_delta(p, q, guarantee):
    """A delta that is smaller by a millionth part would break the promise."""
    same = exp(guarantee.epsilon, 100).upper
    return max(hockey(p, q, same), hockey(q, p, same)) >= delta_of(guarantee) * (1 - NEAR)


def response(factor, truth):
    """Randomised response: the truth (0 or 1) with odds factor : 1."""
    return {truth: Fraction(factor, factor + 1), 1 - truth: Fraction(1, factor + 1)}


def leaky(factor, delta, truth):
    """The worst mechanism that is (log factor, delta)-private: it tells all with chance delta."""
    told = {("told", truth): delta}
    return told | {o: (1 - delta) * mass for o, mass in response(factor, truth).items()}


def geometric(count, top, factor=2):
    """Clamped geometric noise on 0..top with ratio 1/factor."""
    a = Fraction(1, factor)
    tail = [a ** abs(count - o) / (1 + a) for o in (0, top)]
    inner = {o: (1 - a) / (1 + a) * a ** abs(count - o) for o in range(1, top)}
    return {0: tail[0], top: tail[1]} | inner


def then(first, second):
    """The law of pairs: an answer, and an answer of the mechanism that it chose."""
    return {(o, s): mass * more for o, mass in first.items() for s, more in second(o).items()}


def mixed(parts):
    """The average of laws with weights."""
    total = {}
    for weight, law in parts:
        for o, mass in law.items():
            total[o] = total.get(o, 0) + weight * mass
    return total


def processed(law, rows):
    """A random function of the output: the i-th output is replaced by a draw from rows[i]."""
    names = {o: i for i, o in enumerate(sorted(law, key=repr))}
    return mixed((mass, dict(enumerate(rows[names[o]]))) for o, mass in law.items())


def guarantee_of(factor, delta, relation="add_or_remove"):
    if delta == 0:
        return PureDP(ln(factor), relation)
    return ApproxDP(ln(factor), delta, relation)


rows = st.lists(
    st.lists(st.integers(0, 9), min_size=3, max_size=3)
    .filter(any)
    .map(lambda w: [Fraction(x, sum(w)) for x in w]),
    min_size=4,
    max_size=4,
)
factors = st.sampled_from([2, 3, 10])
small = st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1, 7)])
epsilons = st.fractions(min_value=Fraction(1, 100), max_value=20, max_denominator=100)
deltas = st.fractions(min_value=Fraction(1, 10**6), max_value=THIRD / 4, max_denominator=10**6)
pure = st.builds(PureDP, epsilons)
approx = st.builds(ApproxDP, epsilons, deltas)
zcdp = st.builds(ZCDP, epsilons)
renyi = st.builds(lambda r, s: RenyiDP({2: r, "5/2": r + s, 8: r + 2 * s}), epsilons, epsilons)


def renyi_at(p, q, order):
    """The Renyi divergence of finite laws, enclosed."""
    terms = [
        exp(order * log(mass, 200) + (1 - order) * log(q[o], 200), 200)
        for o, mass in p.items()
        if mass > 0
    ]
    return log(sum(terms[1:], terms[0]), 180) / (order - 1)


# One release after another.


@given(
    first=factors, second=factors, d1=small, d2=small, m1=rows, choices=st.tuples(rows, rows, rows)
)
def test_the_sum_holds_whatever_is_chosen_next(first, second, d1, d2, m1, choices):
    """All private pairs of laws are functions of the leaky one; the second is chosen by o."""

    def both(truth):
        start = processed(leaky(first, d1, truth) | dict.fromkeys(gaps(truth), 0), m1)
        return then(
            start,
            lambda o: processed(
                leaky(second, d2, truth) | dict.fromkeys(gaps(truth), 0), choices[o]
            ),
        )

    together = compose.sequential(guarantee_of(first, d1), guarantee_of(second, d2))
    assert keeps(both(0), both(1), together)


def gaps(truth):
    """The output that a leaky mechanism can never give, so that outputs have the same numbers."""
    return [("told", 1 - truth)]


def test_the_sum_of_epsilons_is_met():
    laws = [then(response(2, t), lambda _, t=t: response(3, t)) for t in (0, 1)]
    together = compose.sequential(PureDP(ln(2)), PureDP(ln(3)))
    assert keeps(*laws, together)
    assert meets(*laws, together)
    assert together.epsilon == pytest.approx(float(ln(6)), rel=1e-12)


@pytest.mark.parametrize(("d1", "d2"), [(Fraction(1, 10), Fraction(1, 5)), (TINY, TINY)])
def test_the_sum_of_deltas_is_met_but_for_their_product(d1, d2):
    laws = [then(leaky(2, d1, t), lambda _, t=t: leaky(3, d2, t)) for t in (0, 1)]
    together = compose.sequential(guarantee_of(2, d1), guarantee_of(3, d2))
    assert keeps(*laws, together)
    assert hockey(*laws, 6) == d1 + d2 - d1 * d2
    assert together.delta == d1 + d2
    assert hockey(*laws, Fraction(599, 100)) > d1 + d2 - d1 * d2


def test_pure_and_approximate_together():
    laws = [then(leaky(2, THIRD, t), lambda _, t=t: response(3, t)) for t in (0, 1)]
    together = compose.sequential(PureDP(ln(3)), ApproxDP(ln(2), THIRD))
    assert together == ApproxDP(ln(3) + ln(2), THIRD)
    assert keeps(*laws, together)
    assert meets(*laws, together)


@given(first=factors, second=factors, m1=rows, choices=st.tuples(rows, rows, rows))
def test_rhos_and_divergences_add_up_whatever_is_chosen_next(first, second, m1, choices):
    def both(truth):
        start = processed(response(first, truth), m1)
        return then(start, lambda o: processed(response(second, truth), choices[o]))

    p, q = both(0), both(1)
    one, two = PureDP(ln(first)), PureDP(ln(second))
    rho = compose.sequential(compose.pure_to_zcdp_upper(one), compose.pure_to_zcdp_upper(two)).rho
    curves = [
        {a: renyi_at(response(f, 0), response(f, 1), a).upper for a in (2, 5)}
        for f in (first, second)
    ]
    curve = dict(compose.sequential(*map(RenyiDP, curves)).curve)
    for order in (Fraction(2), Fraction(5)):
        found = renyi_at(p, q, order).lower
        assert found <= rho * order
        assert found <= curve[order]


def test_the_sum_of_rhos_and_of_divergences_is_met():
    laws = [then(response(2, t), lambda _, t=t: response(3, t)) for t in (0, 1)]
    rhos = [compose.pure_to_zcdp_upper(PureDP(ln(f))) for f in (2, 3)]
    total = compose.sequential(*rhos).rho
    barely = 1 + Fraction(1, 10**7)
    assert renyi_at(*laws, barely).lower >= total * barely * (1 - Fraction(1, 10**5))
    curves = [RenyiDP({4: renyi_at(response(f, 0), response(f, 1), 4).upper}) for f in (2, 3)]
    ((_, total),) = compose.sequential(*curves).curve
    assert renyi_at(*laws, 4).lower >= total * (1 - TINY)


@given(guarantee=pure | approx | zcdp | renyi, n=st.integers(1, 9))
def test_n_copies_cost_n_times_one(guarantee, n):
    """The forgotten count: one rule for all kinds."""
    total = compose.sequential(*[guarantee] * n)
    match guarantee:
        case PureDP():
            assert total == PureDP(n * guarantee.epsilon)
        case ApproxDP():
            assert total == ApproxDP(n * guarantee.epsilon, n * guarantee.delta)
        case ZCDP():
            assert total == ZCDP(n * guarantee.rho)
        case RenyiDP():
            assert total == RenyiDP({a: n * r for a, r in guarantee.curve})


@pytest.mark.parametrize("rule", [compose.sequential, compose.parallel])
@given(data=st.data(), kinds=st.sampled_from([pure | approx, pure | zcdp, pure | zcdp | renyi]))
def test_the_order_of_releases_does_not_matter(rule, data, kinds):
    a, b, c = (data.draw(kinds) for _ in range(3))
    assert len({rule(*some) for some in permutations((a, b, c))}) == 1


@pytest.mark.parametrize("rule", [compose.sequential, compose.parallel])
@given(data=st.data(), kinds=st.sampled_from([pure, approx, pure | approx, zcdp, renyi]))
def test_brackets_do_not_matter(rule, data, kinds):
    """Where nothing is converted: a pure epsilon that is converted early costs more than late."""
    a, b, c = (data.draw(kinds) for _ in range(3))
    assert rule(rule(a, b), c) == rule(a, rule(b, c)) == rule(a, b, c)


@given(data=st.data(), kinds=st.sampled_from([pure | approx, zcdp, renyi]))
def test_more_releases_promise_less(data, kinds):
    a, b = data.draw(kinds), data.draw(kinds)
    assert compose.parallel(a, b) <= compose.sequential(a, b)
    assert a <= compose.parallel(a, b)
    assert compose.sequential(a) == a == compose.parallel(a)


def test_pure_goes_with_zcdp_through_its_rho():
    found = compose.sequential(PureDP(1), ZCDP("0.25"))
    assert found == ZCDP(convert.pure_rho_upper(Fraction(1)) + Fraction(1, 4))
    assert float(found.rho) == pytest.approx(0.462117157 + 0.25)


def test_pure_and_zcdp_go_with_renyi():
    """At order 8 the pure epsilon is less than 8 rho; at order 2 it is more."""
    found = compose.sequential(PureDP(1), ZCDP("0.25"), RenyiDP({2: 1, 8: 3}))
    at = dict(found.curve)
    assert at[2] == 2 * convert.pure_rho_upper(Fraction(1)) + HALF + 1
    assert at[8] == 1 + 2 + 3


def test_renyi_orders_that_all_list_are_kept():
    found = compose.sequential(RenyiDP({2: 1, 3: 2}), RenyiDP({3: 5, 4: 6}))
    assert found == RenyiDP({3: 7})
    with pytest.raises(ParameterError, match="order that all the others have"):
        compose.sequential(RenyiDP({2: 1}), RenyiDP({3: 1}))


def test_renyi_orders_at_which_nothing_is_left_are_dropped():
    assert compose.sequential(*[RenyiDP({2: 1, 4: 600})] * 2) == RenyiDP({2: 2})
    with pytest.raises(ParameterError, match="more than 1000"):
        compose.sequential(*[RenyiDP({2: 501})] * 2)


def test_a_long_sum_is_rounded_up_in_the_256th_bit():
    """Denominators that multiply up would soon be too long for a parameter."""
    parts = [Fraction(1, 10**12 + i) for i in range(80)]
    found = compose.sequential(*map(PureDP, parts)).epsilon
    assert 0 < found - sum(parts) < sum(parts) / 2**250


# Random privacy.


def test_random_privacy_is_added_up_only_where_it_is_said():
    with pytest.raises(UnsupportedError, match="random=True"):
        compose.sequential(RandomDP(1, "0.1"), PureDP(1))
    with pytest.raises(UnsupportedError, match="random=True"):
        compose.sequential(RandomDP(1, "0.1"))
    found = compose.sequential(RandomDP(1, "0.1"), PureDP(2), RandomDP(3, "0.2"), random=True)
    assert found == RandomDP(6, "0.3")
    with pytest.raises(UnsupportedError, match="PureDP and RandomDP only"):
        compose.sequential(RandomDP(1, "0.1"), ZCDP(1), random=True)


def publish(bad, x):
    """Tells x if it is in the bad set and gives randomised response on it otherwise."""
    return {("told", x): Fraction(1)} if x in bad else response(2, x % 2)


def bad_share(laws, guarantee):
    """The share of pairs of different values, drawn uniformly, that are not protected."""
    pairs = list(permutations(range(len(laws)), 2))
    broken = [pair for pair in pairs if not keeps(laws[pair[0]], laws[pair[1]], guarantee)]
    return Fraction(len(broken), len(pairs))


def test_the_union_bound_holds_and_is_met():
    """A value out of 0..11 is drawn; two mechanisms fail on one value each, not the same one."""
    first = [publish({3}, x) for x in range(12)]
    second = [publish({8}, x) for x in range(12)]
    each = RandomDP(ln(2), Fraction(1, 6))
    assert bad_share(first, PureDP(ln(2))) == bad_share(second, PureDP(ln(2))) == each.gamma
    together = compose.sequential(each, each, random=True)
    laws = [then(a, lambda _, b=b: b) for a, b in zip(first, second, strict=True)]
    found = bad_share(laws, PureDP(together.epsilon))
    assert found == 2 * Fraction(1, 6) - Fraction(2, 132)  # the pair (3, 8) is bad for both
    assert found <= together.gamma


def test_random_privacy_does_not_survive_an_adaptive_choice():
    """Why the mechanisms must be fixed: the first answer points at the value to publish."""
    pointer = [
        mixed([(HALF, {x: Fraction(1)}), *((Fraction(1, 24), {o: Fraction(1)}) for o in range(12))])
        for x in range(12)
    ]
    assert bad_share(pointer, PureDP(ln(13))) == 0
    for o in range(12):
        assert bad_share([publish({o}, x) for x in range(12)], PureDP(ln(2))) == Fraction(1, 6)
    laws = [then(pointer[x], lambda o, x=x: publish({o}, x)) for x in range(12)]
    assert bad_share(laws, PureDP(500)) == 1


# Disjoint parts.


def people(most, values):
    """All datasets of at most this many people, as sorted tuples."""
    found = [()]
    for size in range(1, most + 1):
        found += {tuple(sorted(some)) for some in product(values, repeat=size)}
    return found


def neighbours(datasets, relation):
    """All pairs of datasets that differ by one person."""
    for x, y in permutations(datasets, 2):
        longer, shorter = (x, y) if len(x) >= len(y) else (y, x)
        if relation == "add_or_remove" and len(longer) == len(shorter) + 1:
            if any(longer[:i] + longer[i + 1 :] == shorter for i in range(len(longer))):
                yield longer, shorter
        elif relation == "replace" and len(x) == len(y):
            rest = list(y)
            for one in x:
                if one in rest:
                    rest.remove(one)
            if len(rest) == 1:
                yield x, y


def by_part(data):
    """Two counts, one for each part; the second mechanism sees the first answer, too."""
    north = geometric(sum(part == 0 for part in data), 3, 2)
    count = sum(part == 1 for part in data)
    return then(north, lambda o: geometric(count, 3, 3) if o else geometric(min(count, 2), 3, 3))


def test_the_largest_holds_for_disjoint_parts_and_is_met():
    together = compose.parallel(PureDP(ln(2)), PureDP(ln(3)))
    assert together == PureDP(ln(3))
    pairs = list(neighbours(people(3, (0, 1)), "add_or_remove"))
    assert all(keeps(by_part(x), by_part(y), together) for x, y in pairs)
    assert any(meets(by_part(x), by_part(y), together) for x, y in pairs)


def test_replacing_changes_two_parts():
    """The reason for the refusal, and the way out."""
    together = compose.parallel(PureDP(ln(2)), PureDP(ln(3)))
    pairs = list(neighbours(people(3, (0, 1)), "replace"))
    assert not all(keeps(by_part(x), by_part(y), together) for x, y in pairs)
    replaced = compose.as_replacement(together)
    assert all(keeps(by_part(x), by_part(y), replaced) for x, y in pairs)
    with pytest.raises(ParameterError, match=r"leave one part and enter another.*as_replacement"):
        compose.parallel(PureDP(1, "replace"), PureDP(1, "replace"))
    with pytest.raises(ParameterError, match="leave one part"):
        compose.parallel(PureDP(1, "replace"))


def test_parts_with_deltas_have_the_largest_of_each():
    """One part has the larger epsilon, the other the larger delta; both are needed."""
    one, two = ApproxDP(ln(3), Fraction(1, 100)), ApproxDP(ln(2), Fraction(1, 10))
    together = compose.parallel(one, two)
    assert together == ApproxDP(ln(3), Fraction(1, 10))

    def parts(x, y):
        return then(leaky(3, Fraction(1, 100), x), lambda _: leaky(2, Fraction(1, 10), y))

    for x, y in product((0, 1), repeat=2):
        assert keeps(parts(x, y), parts(1 - x, y), together)
        assert keeps(parts(x, y), parts(x, 1 - y), together)
    assert compose.parallel(PureDP(2), one) == ApproxDP(2, Fraction(1, 100))
    assert compose.parallel(PureDP(1), ZCDP("0.1")).rho == convert.pure_rho_upper(Fraction(1))
    assert compose.parallel(RenyiDP({2: 1, 4: 3}), RenyiDP({2: 2, 4: 2})) == RenyiDP({2: 2, 4: 3})


# Whatever is done with a release.


@given(factor=factors, delta=small, by=rows)
def test_a_function_of_a_release_promises_the_same(factor, delta, by):
    laws = [leaky(factor, delta, t) | dict.fromkeys(gaps(t), 0) for t in (0, 1)]
    promise = compose.post_processed(guarantee_of(factor, delta))
    assert promise == guarantee_of(factor, delta)
    assert keeps(*(processed(law, by) for law in laws), promise)
    assert meets(*laws, promise)  # the identity is a function, too


@given(factor=factors, by=rows, order=st.sampled_from([Fraction(5, 4), 2, 7]))
def test_a_function_of_a_release_has_no_larger_divergence(factor, by, order):
    laws = [response(factor, t) for t in (0, 1)]
    before = renyi_at(*laws, order)
    assert renyi_at(*(processed(law, by) for law in laws), order).lower <= before.upper


def test_looking_at_the_data_again_is_not_post_processing():
    """The planted fault of this theorem: a 'function' that knows the truth."""
    laws = [then(response(2, t), lambda _, t=t: {t: Fraction(1)}) for t in (0, 1)]
    assert not keeps(*laws, compose.post_processed(PureDP(ln(2))))


# Groups.


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_a_group_has_k_times_epsilon_and_it_is_met(k):
    laws = [geometric(count, 6) for count in range(7)]
    promise = compose.group(PureDP(ln(2)), people=k)
    assert promise == PureDP(k * ln(2))
    pairs = [(laws[i], laws[i + k]) for i in range(7 - k)]
    assert all(keeps(p, q, promise) for p, q in pairs)
    assert all(meets(p, q, promise) for p, q in pairs)


def ladder(factor, delta, steps):
    """A yes whose chance is p = 0 for nobody, and factor p + delta for one person more."""
    chance, found = Fraction(0), []
    for _ in range(steps + 1):
        found.append({"yes": chance, "no": 1 - chance})
        chance = factor * chance + delta
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_the_delta_of_a_group_holds_and_is_met(factor, k):
    delta = Fraction(1, 10**4)
    laws = ladder(factor, delta, 6)
    each = ApproxDP(ln(factor) if factor > 1 else 0, delta)
    assert all(keeps(laws[i], laws[i + 1], each) for i in range(6))
    promise = compose.group(each, people=k)
    assert all(keeps(laws[i], laws[i + k], promise) for i in range(7 - k))
    assert meets_delta(laws[k], laws[0], promise)
    assert promise.delta == pytest.approx(float(delta * sum(factor**i for i in range(k))), rel=1e-9)


def test_no_epsilon_and_a_delta_for_a_group_is_exact():
    assert compose.group(ApproxDP(0, "1e-9"), people=1000) == ApproxDP(0, "1e-6")
    assert compose.group(ApproxDP(2, "1e-9"), people=1) == ApproxDP(2, "1e-9")


@given(epsilon=epsilons | st.just(TINY), delta=st.just(Fraction(1, 10**30)), k=st.integers(1, 3))
def test_the_delta_of_a_group_is_rounded_up_and_hardly(epsilon, delta, k):
    found = compose.group(ApproxDP(epsilon, delta), people=k).delta
    factor = exp(epsilon, 300)
    true = delta * sum((exp(i * epsilon, 300) for i in range(1, k)), start=factor - factor + 1)
    assert true.lower <= found * (1 + Fraction(1, 2**200))
    assert found >= true.upper * (1 - Fraction(1, 2**200))
    assert found <= true.lower * (1 + TINY)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_group_has_k_squared_rho_and_gaussian_noise_meets_it(k):
    noise = Gaussian(rho="0.05")
    promise = compose.group(ZCDP("0.05"), people=k)
    assert promise == ZCDP(k * k * Fraction(1, 20))
    for order in (Fraction(3, 2), Fraction(2), Fraction(4)):
        found = concentrated(noise.law(0), noise.law(k), order)
        assert found.lower <= promise.rho
        if order.denominator == 1:
            assert found.lower >= promise.rho * (1 - TINY)


@given(first=rows, second=rows)
def test_two_steps_cost_four_rhos_at_most(first, second):
    """Any three laws P, R, Q of which neighbouring ones are rho apart."""
    a, b, c = ({o: (x + 1) / 4 for o, x in enumerate(row)} for row in (*first[:2], second[0]))
    worst = max(max(p[o] / q[o], q[o] / p[o]) for p, q in ((a, b), (b, c)) for o in p)
    if worst == 1:
        return
    promise = compose.group(compose.pure_to_zcdp_upper(PureDP(ln(worst))), people=2)
    for order in (Fraction(3, 2), Fraction(2), Fraction(6)):
        assert renyi_at(a, c, order).lower <= promise.rho * order


def test_a_group_that_nothing_is_promised_to():
    with pytest.raises(ParameterError, match="delta comes to 1 or more"):
        compose.group(ApproxDP(1, "0.1"), people=4)
    with pytest.raises(ParameterError, match="delta comes to 1 or more"):
        compose.group(ApproxDP(0, "0.1"), people=10)
    with pytest.raises(ParameterError, match="epsilon comes to more than 1000"):
        compose.group(ApproxDP(1, "1e-9"), people=1 << 62)
    with pytest.raises(ParameterError, match="epsilon comes to more than 1000"):
        compose.group(PureDP(1), people=1001)
    with pytest.raises(ParameterError, match="rho comes to more than 1000"):
        compose.group(ZCDP(1), people=32)
    assert compose.group(ZCDP(1), people=31) == ZCDP(961)


# One replaced.


def test_a_replacement_is_two_steps_and_it_is_met():
    """Two bins, each with its own noise: the replaced person empties one and fills the other."""

    def bins(data):
        return then(
            geometric(sum(one == 0 for one in data), 3),
            lambda _: geometric(sum(one == 1 for one in data), 3),
        )

    promise = compose.as_replacement(PureDP(ln(2)))
    assert promise == PureDP(2 * ln(2), "replace")
    pairs = list(neighbours(people(3, (0, 1)), "replace"))
    assert all(keeps(bins(x), bins(y), promise) for x, y in pairs)
    assert any(meets(bins(x), bins(y), promise) for x, y in pairs)


def test_a_replacement_for_the_other_kinds():
    delta = Fraction(1, 1000)
    promise = compose.as_replacement(ApproxDP(ln(2), delta))
    assert (promise.epsilon, promise.neighbours) == (2 * ln(2), "replace")
    assert promise.delta == pytest.approx(3 * delta, rel=1e-9)
    laws = ladder(2, delta, 2)
    assert keeps(laws[0], laws[2], promise)
    assert meets_delta(laws[2], laws[0], promise)
    assert compose.as_replacement(ZCDP("0.1")) == ZCDP("0.4", "replace")


def test_there_is_no_way_back():
    """Whoever publishes the number of people promises everything under one relation only."""
    published = {data: {len(data): Fraction(1)} for data in people(3, (0, 1))}
    for x, y in neighbours(published, "replace"):
        assert keeps(published[x], published[y], ApproxDP(0, TINY))
    for x, y in neighbours(published, "add_or_remove"):
        assert hockey(published[x], published[y], exp(1000, 64).upper) == 1
    with pytest.raises(ParameterError, match="no way back"):
        compose.as_replacement(PureDP(1, "replace"))


# Samples.


def subsets(data):
    return chain.from_iterable(combinations(data, size) for size in range(len(data) + 1))


def poisson(mechanism, data, rate):
    """The law of a mechanism on a Poisson sample; data is a tuple of different people."""
    return mixed(
        (rate ** len(kept) * (1 - rate) ** (len(data) - len(kept)), mechanism(kept))
        for kept in subsets(data)
    )


def drawn(mechanism, data, size):
    """The law of a mechanism on a uniformly random set of `size` people."""
    choices = list(combinations(data, size))
    return mixed((Fraction(1, len(choices)), mechanism(kept)) for kept in choices)


def counting(kept):
    """Clamped geometric noise on how many have a property; (person, property) pairs."""
    return geometric(sum(has for _, has in kept), 4)


def laddering(kept):
    """(log 2, 1/100)-private, and no better: see `ladder`."""
    return ladder(2, Fraction(1, 100), 5)[sum(has for _, has in kept)]


def watching(factor, delta):
    """Randomised response, leaky, on whether the first person with the property was taken."""
    return lambda kept: leaky(factor, delta, int((0, 1) in kept))


def named(values):
    return tuple(enumerate(values))


MECHANISMS = [
    (counting, PureDP(ln(2))),
    (laddering, ApproxDP(ln(2), Fraction(1, 100))),
    (watching(3, Fraction(0)), PureDP(ln(3))),
    (watching(3, Fraction(1, 9)), ApproxDP(ln(3), Fraction(1, 9))),
]


@pytest.mark.parametrize("rate", [Fraction(1, 10), THIRD, HALF, Fraction(9, 10)])
@pytest.mark.parametrize(("mechanism", "guarantee"), MECHANISMS)
def test_a_poisson_sample_promises_what_is_said(mechanism, guarantee, rate):
    """All datasets of one to four people; each person in turn is removed."""
    promise = compose.poisson_sampled(guarantee, rate)
    for size in (1, 2, 3, 4):
        for values in product((0, 1), repeat=size):
            data = named(values)
            law = poisson(mechanism, data, rate)
            for i in range(size):
                assert keeps(law, poisson(mechanism, data[:i] + data[i + 1 :], rate), promise)


@pytest.mark.parametrize("rate", [Fraction(1, 10), HALF, Fraction(9, 10)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 9)])
def test_the_promise_of_a_poisson_sample_is_met(delta, rate):
    mechanism, data = watching(3, delta), named((1, 0, 1))
    promise = compose.poisson_sampled(guarantee_of(3, delta), rate)
    law, without = poisson(mechanism, data, rate), poisson(mechanism, data[1:], rate)
    assert meets(law, without, promise)
    assert delta_of(promise) == rate * delta
    assert hockey(law, without, 1 + 2 * rate) == rate * delta


@pytest.mark.parametrize(("taken", "of"), [(1, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 4)])
@pytest.mark.parametrize(("mechanism", "guarantee"), MECHANISMS)
def test_a_sample_of_fixed_size_promises_what_is_said(mechanism, guarantee, taken, of):
    """All datasets of this size; each person in turn is replaced by every other value."""
    replaced = guarantee_of(round(exp(guarantee.epsilon, 60).upper), delta_of(guarantee), "replace")
    promise = compose.sampled_without_replacement(replaced, taken=taken, of=of)
    for values in product((0, 1), repeat=of):
        law = drawn(mechanism, named(values), taken)
        for i in range(of):
            other = named((*values[:i], 1 - values[i], *values[i + 1 :]))
            assert keeps(law, drawn(mechanism, other, taken), promise)


@pytest.mark.parametrize(("taken", "of"), [(1, 2), (2, 4), (3, 4), (1, 5)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 9)])
def test_the_promise_of_a_sample_of_fixed_size_is_met(delta, taken, of):
    mechanism, values = watching(3, delta), (1,) * of
    each = guarantee_of(3, delta, "replace")
    promise = compose.sampled_without_replacement(each, taken=taken, of=of)
    law = drawn(mechanism, named(values), taken)
    other = drawn(mechanism, named((0, *values[1:])), taken)
    assert keeps(law, other, promise)
    assert meets(law, other, promise)
    assert hockey(law, other, 1 + 2 * Fraction(taken, of)) == Fraction(taken, of) * delta


def test_the_figures_of_half_a_sample():
    def epsilon(value):
        each = PureDP(value, "replace")
        return float(compose.sampled_without_replacement(each, taken=50, of=100).epsilon)

    assert round(epsilon("0.01"), 6) == 0.005012
    assert epsilon(1) == pytest.approx(0.6201145069582775, rel=1e-12)  # ln(1 + (e - 1)/2)


@given(epsilon=epsilons | st.just(TINY) | st.just(1000), rate=st.fractions(TINY, 1))
def test_the_epsilon_of_a_sample_is_rounded_up_and_hardly(epsilon, rate):
    if not rate < 1:
        return
    found = compose.poisson_sampled(PureDP(epsilon), rate).epsilon
    true = log(1 + rate * (exp(epsilon, 2000) - 1), 1800)
    assert found >= true.upper * (1 - Fraction(1, 2**1500))
    assert found <= true.lower * (1 + TINY)
    assert rate * epsilon < found <= epsilon


@given(guarantee=pure | approx, rate=st.fractions(Fraction(1, 100), Fraction(1, 2)))
def test_a_larger_sample_promises_less(guarantee, rate):
    assert compose.poisson_sampled(guarantee, rate) < compose.poisson_sampled(guarantee, 2 * rate)
    assert compose.poisson_sampled(guarantee, rate) < guarantee


def test_everybody_is_no_sample():
    for one in (PureDP(1), ApproxDP(1, "1e-6"), ZCDP(1)):
        assert compose.poisson_sampled(one, 1) is one
    one = PureDP(1, "replace")
    assert compose.sampled_without_replacement(one, taken=7, of=7) is one
    assert compose.poisson_sampled(ApproxDP(0, "0.1"), "0.1") == ApproxDP(0, "0.01")


def test_a_sample_needs_its_own_relation():
    """With the other relation the same formula is false: enumerated."""
    with pytest.raises(ParameterError, match="sampled_without_replacement"):
        compose.poisson_sampled(PureDP(1, "replace"), "0.1")
    with pytest.raises(ParameterError, match="poisson_sampled"):
        compose.sampled_without_replacement(PureDP(1), taken=1, of=2)
    told = {
        data: poisson(lambda kept: {len(kept): Fraction(1)}, named(data), HALF)
        for data in ((), (0,))
    }
    assert hockey(told[(0,)], told[()], 1) == HALF  # the size is safe under "replace" only


@pytest.mark.parametrize("one", [ZCDP(1), RenyiDP({2: 1}), RandomDP(1, "0.1")])
def test_samples_of_other_kinds_are_refused(one):
    with pytest.raises(UnsupportedError, match="no rule is proved for samples"):
        compose.poisson_sampled(one, "0.5")


# What delta means.


@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**6)])
def test_publishing_everybody_with_probability_delta_is_0_delta_private(delta):
    """Exactly: not less delta, at whatever epsilon."""
    datasets = people(3, ("ann", "bob"))
    laws = {data: {"nothing": 1 - delta, data: delta} for data in datasets}
    for x, y in neighbours(datasets, "add_or_remove"):
        assert keeps(laws[x], laws[y], ApproxDP(0, delta))
        assert hockey(laws[x], laws[y], exp(1000, 64).upper) == delta


@pytest.mark.parametrize("n", [2, 3, 4])
def test_publishing_one_random_person_is_0_1_in_n_private(n):
    """And it harms somebody for certain."""
    datasets = [data for data in people(n, ("ann", "bob", "eve")) if len(data) == n]
    laws = {data: mixed((Fraction(1, n), {one: Fraction(1)}) for one in data) for data in datasets}
    for x, y in neighbours(datasets, "replace"):
        assert keeps(laws[x], laws[y], ApproxDP(0, Fraction(1, n)))
        assert meets_delta(laws[x], laws[y], ApproxDP(0, Fraction(1, n)))


# Conversions.


def test_pure_is_approximate_with_any_delta():
    assert compose.pure_to_approx(PureDP(1, "replace"), "1e-6") == ApproxDP(1, "1e-6", "replace")
    assert PureDP(1) <= compose.pure_to_approx(PureDP(1), "1e-6")


def test_conversions_keep_the_relation_and_agree_with_the_arithmetic():
    assert compose.pure_to_zcdp_upper(PureDP(1, "replace")) == ZCDP(
        convert.pure_rho_upper(Fraction(1)), "replace"
    )
    found = compose.zcdp_to_approx_upper(ZCDP("0.1", "replace"), "1e-6")
    assert (found.delta, found.neighbours) == (Fraction(1, 10**6), "replace")
    assert float(found.epsilon) == pytest.approx(2.14194, abs=1e-5)


def test_the_best_listed_order_is_taken():
    curve = {2: "0.2", 20: 2, 200: 20}
    each = [compose.renyi_to_approx_upper(RenyiDP({a: curve[a]}), "1e-6").epsilon for a in curve]
    found = compose.renyi_to_approx_upper(RenyiDP(curve), "1e-6")
    assert found.epsilon == min(each) == each[1]


@given(guarantee=zcdp, delta=deltas)
def test_a_list_of_orders_is_no_better_than_all_orders(guarantee, delta):
    curve = RenyiDP(
        {a: min(guarantee.rho * a, 1000) for a in (2, 4, 8, 16) if guarantee.rho * a <= 1000}
    )
    by_list = compose.renyi_to_approx_upper(curve, delta).epsilon
    assert compose.zcdp_to_approx_upper(guarantee, delta).epsilon <= by_list * (1 + NEAR)


def test_a_conversion_that_promises_nothing_is_refused():
    with pytest.raises(ParameterError, match="epsilon comes to more than 1000"):
        compose.zcdp_to_approx_upper(ZCDP(999), "1e-6")
    with pytest.raises(ParameterError, match="epsilon comes to more than 1000"):
        compose.renyi_to_approx_upper(RenyiDP({"1.0001": 1}), "1e-6")


def test_adding_up_rhos_beats_adding_up_epsilons():
    """A hundred releases at 0.1: 10 if they are added up as they are, 5.2 through rho."""
    many = [PureDP("0.1")] * 100
    rho = compose.sequential(*map(compose.pure_to_zcdp_upper, many))
    assert float(compose.zcdp_to_approx_upper(rho, "1e-6").epsilon) < 5.22
    assert compose.sequential(*many) == PureDP(10)


# What is refused.


@pytest.mark.parametrize("rule", [compose.sequential, compose.parallel])
def test_nothing_at_all_is_refused(rule):
    with pytest.raises(ParameterError, match="at least one"):
        rule()


@pytest.mark.parametrize("wrong", [1, 0.5, "1", None, [PureDP(1)], PureDP, Gaussian(rho=1)])
@pytest.mark.parametrize(
    "rule",
    [
        compose.sequential,
        compose.parallel,
        compose.post_processed,
        lambda one: compose.group(one, 2),
        compose.as_replacement,
        lambda one: compose.poisson_sampled(one, "0.5"),
        lambda one: compose.sampled_without_replacement(one, taken=1, of=2),
        lambda one: compose.pure_to_approx(one, "0.1"),
        compose.pure_to_zcdp_upper,
        lambda one: compose.zcdp_to_approx_upper(one, "0.1"),
        lambda one: compose.renyi_to_approx_upper(one, "0.1"),
        lambda one: compose.sequential(PureDP(1), one),
    ],
)
def test_what_is_no_guarantee_is_refused(rule, wrong):
    with pytest.raises(InputTypeError, match=r"mechanism\.guarantee"):
        rule(wrong)


@pytest.mark.parametrize("rule", [compose.sequential, compose.parallel])
def test_mixed_neighbours_are_refused(rule):
    with pytest.raises(ParameterError, match="different relations"):
        rule(PureDP(1), PureDP(1, "replace"))


@pytest.mark.parametrize("rule", [compose.sequential, compose.parallel])
def test_approximate_with_concentrated_names_the_conversion(rule):
    with pytest.raises(UnsupportedError, match="zcdp_to_approx_upper"):
        rule(ApproxDP(1, "1e-6"), PureDP(1), ZCDP(1))
    with pytest.raises(UnsupportedError, match="renyi_to_approx_upper"):
        rule(RenyiDP({2: 1}), ApproxDP(1, "1e-6"))


def test_wrong_kinds_for_a_conversion_are_refused():
    for rule in (compose.zcdp_to_approx_upper, compose.renyi_to_approx_upper):
        with pytest.raises(InputTypeError, match="not PureDP"):
            rule(PureDP(1), "1e-6")
    with pytest.raises(InputTypeError, match="not ZCDP"):
        compose.pure_to_approx(ZCDP(1), "1e-6")
    with pytest.raises(InputTypeError, match="not ApproxDP"):
        compose.pure_to_zcdp_upper(ApproxDP(1, "0.1"))


def test_sums_that_promise_nothing_are_refused():
    with pytest.raises(ParameterError, match="epsilon comes to more than 1000"):
        compose.sequential(PureDP(600), PureDP(600))
    with pytest.raises(ParameterError, match="delta comes to 1 or more"):
        compose.sequential(ApproxDP(1, "0.5"), ApproxDP(1, "0.5"))
    with pytest.raises(ParameterError, match="rho comes to more than 1000"):
        compose.sequential(ZCDP(600), ZCDP(600))
    with pytest.raises(ParameterError, match="gamma comes to 1 or more"):
        compose.sequential(RandomDP(1, "0.5"), RandomDP(1, "0.5"), random=True)
    with pytest.raises(ParameterError, match="epsilon comes to more than 1000"):
        compose.sequential(RandomDP(600, "0.1"), PureDP(600), random=True)


def test_rules_that_are_not_proved_are_refused():
    with pytest.raises(UnsupportedError, match="groups under Renyi"):
        compose.group(RenyiDP({2: 1}), people=2)
    with pytest.raises(UnsupportedError, match="groups under random"):
        compose.group(RandomDP(1, "0.1"), people=2)
    with pytest.raises(UnsupportedError, match="groups under Renyi"):
        compose.as_replacement(RenyiDP({2: 1}))
    with pytest.raises(UnsupportedError, match="disjoint parts under random"):
        compose.parallel(RandomDP(1, "0.1"), PureDP(1))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0, -1, "x", None, True, [1]])
def test_bad_numbers_are_refused(bad):
    """And a huge one, where that is wrong: below."""
    for call in (
        lambda: compose.group(PureDP(1), bad),
        lambda: compose.poisson_sampled(PureDP(1), bad),
        lambda: compose.sampled_without_replacement(PureDP(1, "replace"), taken=bad, of=2),
        lambda: compose.sampled_without_replacement(PureDP(1, "replace"), taken=1, of=bad),
        lambda: compose.pure_to_approx(PureDP(1), bad),
        lambda: compose.zcdp_to_approx_upper(ZCDP(1), bad),
        lambda: compose.renyi_to_approx_upper(RenyiDP({2: 1}), bad),
    ):
        with pytest.raises(DiscreetError):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: compose.group(PureDP("1e-9"), 1 << 63),
        lambda: compose.group(PureDP(1), 2.5),
        lambda: compose.poisson_sampled(PureDP(1), "1.0001"),
        lambda: compose.poisson_sampled(PureDP(1), 1e300),
        lambda: compose.sampled_without_replacement(PureDP(1, "replace"), taken=3, of=2),
        lambda: compose.sampled_without_replacement(PureDP(1, "replace"), taken=1, of=10**400),
        lambda: compose.pure_to_approx(PureDP(1), 1),
        lambda: compose.zcdp_to_approx_upper(ZCDP(1), 1),
        lambda: compose.poisson_sampled(ApproxDP(1, "1e-300"), "1e-300"),
    ],
)
def test_numbers_out_of_range_are_refused(call):
    with pytest.raises(ParameterError):
        call()

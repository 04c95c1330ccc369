"""What every frequency oracle must do; `tests/local/test_oracle.py` runs it on all that ship."""

import copy
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

import discreet as dp
from discreet import local
from discreet.audit.exact import verify
from discreet.audit.walk import walk
from discreet.local.report import Report


def is_a_frozen_value(oracle):
    """Equal parameters give equal, hashable values that cannot be changed and survive a copy."""
    for twin in (copy.copy(oracle), copy.deepcopy(oracle), pickle.loads(pickle.dumps(oracle))):
        assert twin == oracle
        assert hash(twin) == hash(oracle)
        assert twin.fingerprint == oracle.fingerprint
    with pytest.raises(AttributeError):
        oracle.epsilon = Fraction(5)
    assert eval(repr(oracle), {type(oracle).__name__: type(oracle)}) == oracle


def loss_and_guarantee_agree(oracle):
    """One report is pure, under replacement, and its loss is stored and read back."""
    loss = oracle.privacy_loss
    assert dp.loss_from_dict(json.loads(json.dumps(loss.to_dict()))) == loss
    assert loss.guarantee == oracle.guarantee == dp.PureDP(oracle.epsilon, "replace")


def the_guarantee_is_proven_and_tight(oracle):
    """For all reports and all ordered pairs of values the loss is at most epsilon, and reaches it.

    Nothing a millionth smaller could be promised: such a claim is refuted.
    """
    verdict = verify(oracle)
    assert verdict.proven, str(verdict)
    assert verdict.tight, str(verdict)
    smaller = dp.PureDP(oracle.epsilon * (1 - Fraction(1, 10**6)), "replace")
    assert verify(oracle, guarantee=smaller).refuted


def exact_ratio(oracle):
    """The largest ratio of two probabilities of a report, as a fraction: it is `ratio`."""
    k = oracle.domain.size
    laws = [oracle.listed(place) for place in range(k)]
    worst = max(
        max(law[payload] for law in laws) / min(law[payload] for law in laws) for payload in laws[0]
    )
    assert all(sum(law.values()) == 1 for law in laws)
    assert worst == oracle.ratio


def p_and_q_are_exact(oracle):
    """P(support | own value) is p for all values, and the mean over others' values is q."""
    k = oracle.domain.size
    for x in range(k):
        law = oracle.listed(x)
        found = [Fraction(0)] * k
        for payload, mass in law.items():
            plus, minus = oracle.supports(oracle.tally(oracle.array_of(payload)))
            score = plus if minus is None else plus - minus
            for v in range(k):
                found[v] += int(score[v]) * mass
        assert found[x] == oracle.p
        if not oracle.kind.startswith("sketch"):
            assert {found[v] for v in range(k) if v != x} == {oracle.q}


def the_scalar_code_has_the_law(oracle):
    """The tree of random choices of `draw`, walked to its end, gives the listed masses."""
    for place in (0, oracle.domain.size - 1):
        found = walk(lambda source, place=place: oracle.draw(place, source))
        law = oracle.listed(place)
        assert set(found.weights) == set(law)
        assert found.unresolved <= Fraction(1, 10**9)
        for payload, mass in law.items():
            bounds = found.mass_bounds(payload)
            assert bounds.lower - Fraction(1, 10**9) <= mass <= bounds.upper + Fraction(1, 10**9)


def chi_square_p(oracle, reports, place):
    """The p-value of reports under the listed law of a value; rare payloads share a cell."""
    n = len(reports)
    seen = {}
    rows = reports if reports.ndim > 1 else reports[:, None]
    for row in rows:
        payload = row.tobytes()
        seen[payload] = seen.get(payload, 0) + 1
    statistic, cells, rest_seen, rest_mass = 0.0, 0, 0, 0.0
    law = oracle.listed(place)
    assert set(seen) <= set(law)
    for payload, mass in law.items():
        expected = n * float(mass)
        if expected < 20:
            rest_seen, rest_mass = rest_seen + seen.get(payload, 0), rest_mass + float(mass)
            continue
        statistic += (seen.get(payload, 0) - expected) ** 2 / expected
        cells += 1
    if n * rest_mass >= 20:
        statistic += (rest_seen - n * rest_mass) ** 2 / (n * rest_mass)
        cells += 1
    return float(chi2.sf(statistic, max(cells - 1, 1)))


def the_vectorised_code_has_the_law(oracle):
    """False alarm below 1e-9 for each oracle: two values, each rejected below 1e-10.

    (The chi-square approximation is good to a factor of two at these sizes.) A law with another
    value as the true one is rejected, so the test can see.
    """
    k, n = oracle.domain.size, 40_000
    for place in (0, k - 1):
        reports = oracle.reports([oracle.domain.label(place)] * n)
        assert chi_square_p(oracle, reports, place) > 1e-10
    if oracle.epsilon >= 1:
        assert chi_square_p(oracle, oracle.reports([oracle.domain.label(0)] * n), k - 1) < 1e-10


def reports_travel(oracle):
    """A report is written, read back and collected; single reports and arrays count the same."""
    value = oracle.domain.label(1)
    reports = [oracle.report(value) for _ in range(20)]
    assert all(Report.from_bytes(report.to_bytes()) == report for report in reports)
    assert all(len(report.to_bytes()) == 10 + oracle.width for report in reports)
    one, all_at_once, as_bytes = (local.Collector(oracle) for _ in range(3))
    for report in reports:
        one.add(report)
    all_at_once.add(oracle.array_of(b"".join(report.payload for report in reports)))
    as_bytes.add([report.to_bytes() for report in reports])
    assert one == all_at_once == as_bytes
    assert one.n == 20
    assert local.Collector.from_bytes(one.to_bytes(), oracle) == one


def an_array_has_the_type_it_says(oracle):
    """`reports` makes what `shaped` and `array_of` describe, for none and for many people."""
    for n in (0, 1, 7):
        made = oracle.reports([oracle.domain.label(0)] * n)
        assert len(oracle.shaped(made)) == n
        assert np.array_equal(oracle.array_of(made.tobytes()), made)
        assert oracle.well_formed(made).all()
        assert oracle.tally(made).shape == (oracle.cells,)
    with pytest.raises(dp.InputTypeError):
        oracle.shaped(np.zeros((3, 2, 2)))


CONTRACT = [
    is_a_frozen_value,
    loss_and_guarantee_agree,
    the_guarantee_is_proven_and_tight,
    exact_ratio,
    p_and_q_are_exact,
    the_scalar_code_has_the_law,
    the_vectorised_code_has_the_law,
    reports_travel,
    an_array_has_the_type_it_says,
]

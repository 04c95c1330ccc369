from fractions import Fraction

import numpy as np
import pytest
from tests.contracts.oracle import CONTRACT

import discreet as dp
from discreet.exact import exp
from discreet.local.catalogue import oracles
from discreet.local.oracle import code_type, normalised, ratio_below


@pytest.mark.statistical
@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("oracle", oracles(), ids=repr)
def test_the_contract(oracle, rule):
    rule(oracle)


@pytest.mark.parametrize("k", range(2, 9))
@pytest.mark.parametrize("kind", sorted({type(one) for one in oracles()}, key=lambda t: t.number))
def test_every_domain_up_to_eight_by_enumeration(kind, k):
    """Over all reports and all pairs of values: e^loss is at most `ratio`, which is at most
    e^epsilon; and it is reached, but by sketches in which all values share their cells.
    """
    size = {"rows": 2, "columns": 4} if kind.kind.startswith("sketch") else {}
    for epsilon in ("0.1", "1"):
        oracle = kind(k, epsilon, **size)
        laws = [oracle.listed(place) for place in range(k)]
        masses = list(zip(*(law.values() for law in laws), strict=True))
        assert all(list(law) == list(laws[0]) for law in laws)
        assert {sum(column) for column in zip(*masses, strict=True)} == {1}
        worst = max(max(row) / min(row) for row in masses)
        assert worst <= oracle.ratio <= exp(Fraction(epsilon), 100).lower
        alike = bool(size) and (oracle.hashed == oracle.hashed[:, :1]).all()
        assert alike or worst == oracle.ratio


@pytest.mark.parametrize("epsilon", ["1e-9", "0.01", "0.5", "1", "7/3", "20", "1000"])
def test_the_ratio_is_below_and_close(epsilon):
    e = Fraction(epsilon)
    r, true = ratio_below(e), exp(e, 3000)
    assert 1 < r <= true.lower
    assert (true.upper - r) / (true.lower - 1) < Fraction(1, 1 << 60)


@pytest.mark.parametrize(
    "epsilon", [0, -1, float("nan"), float("inf"), "x", None, True, 1001, "1e-31"]
)
def test_a_bad_epsilon_is_refused(epsilon):
    for oracle in oracles():
        with pytest.raises(dp.ParameterError, match="epsilon"):
            type(oracle)(3, epsilon)


def test_the_fingerprint_tells_parameters_apart():
    seen = {oracle.fingerprint for oracle in oracles()}
    assert len(seen) == len(oracles())
    make = dp.local.SubsetSelection
    others = [make(8, 1), make(9, 1), make(8, 2), make(8, 1, size=4), make(list("abcdefgh"), 1)]
    assert len({oracle.fingerprint for oracle in others}) == 5


def test_the_fingerprint_does_not_change():
    """Reports that are on their way must be read by tomorrow's collector."""
    assert dp.local.KaryResponse(8, 1).fingerprint.hex() == "47e1372b7aeee74a"
    assert dp.local.SubsetSelection(list("abc"), "0.5").fingerprint.hex() == "d475c9084a225765"


def test_a_value_outside_the_domain_is_refused_and_not_quoted():
    for oracle in oracles():
        for call in (oracle.report, lambda v, o=oracle: o.reports([v]), oracle.law):
            with pytest.raises(dp.InputTypeError) as caught:
                call("a secret 4711")
            assert "4711" not in str(caught.value)


def test_the_variance_of_a_share():
    """Of a fixed group: the mean over its people of the variance of a support, over (p-q)^2."""
    oracle = dp.local.KaryResponse(4, 1)
    p, q = oracle.p, oracle.q
    expected = (p * (1 - p) / 4 + 3 * q * (1 - q) / 4) / (p - q) ** 2
    assert oracle.normalised_variance("1/4") == pytest.approx(float(expected), rel=1e-12)
    assert normalised(p, q) == oracle.normalised_variance()
    assert oracle.standard_error(100) == pytest.approx((oracle.normalised_variance() / 100) ** 0.5)
    with pytest.raises(dp.ParameterError, match="share"):
        oracle.normalised_variance(2)


def test_a_law_too_long_to_list_is_refused():
    for oracle in (dp.local.OptimizedUnary(40, 1), dp.local.KaryResponse(100_000, 1)):
        with pytest.raises(dp.UnsupportedError, match="too many to list"):
            oracle.law(0)


def test_code_types():
    assert [code_type(n).itemsize for n in (2, 256, 257, 65536, 65537, 1 << 32, 1 << 33)] == [
        1, 1, 2, 2, 4, 4, 8,
    ]  # fmt: skip
    assert code_type(300) == np.dtype("<u2")

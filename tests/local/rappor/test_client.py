"""The client: the original's bits, exact laws, and what is refused."""

import hmac
import struct
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.audit.walk import walk
from discreet.local.rappor import (
    Candidates,
    Client,
    OneReport,
    Params,
    cost,
    instantaneous,
    permanent,
)
from discreet.local.rappor.bloom import bloom_integer
from discreet.noise.source import Source

SECRET = bytes(range(16))


class Cycling(Source):
    """The original's mock: the uniforms 0.0, 0.6, 0.0, again from the start for each mask."""

    def __init__(self, k):
        self.k = k
        self.asked = 0

    def bits(self, count):
        raise AssertionError(count)

    def array(self, size, width):
        raise AssertionError(size, width)

    def flip(self, p):
        uniform = (0.0, 0.6, 0.0)[self.asked % self.k % 3]
        self.asked += 1
        return uniform < p


def golden(secret=b"secret", cohort=0, word="abc", *, compatible=True, **more):
    """The permanent response of the original's example, whose secret no client may have."""
    params = Params(**{"k": 16, "h": 2, "m": 64, "f": "0.5", **more})
    return permanent(bloom_integer(word, cohort, params), secret, params, compatible=compatible)


def test_the_golden_report():
    params = Params(k=16, h=2, m=64, p="0.5", q="0.75", f="0.5")
    assert instantaneous(golden(), params, source=Cycling(16)) == 64493


def test_a_client_reports_as_the_golden_parts_do():
    params = Params(k=16, h=2, m=64, p="0.5", q="0.75", f="0.5")
    client = Client(params, secret=SECRET, cohort=3, compatible=True)
    assert client.prr("abc") == golden(SECRET, 3)
    expected = instantaneous(golden(SECRET, 3), params, source=Cycling(16))
    assert client.report("abc", source=Cycling(16)) == expected


def test_the_golden_report_moves_with_every_part():
    """The planted faults: another secret, cohort, word, f or mode gives other permanent bits."""
    others = [golden(b"Secret"), golden(cohort=1), golden(word="abd"), golden(f="0.75"),
              golden(compatible=False)]  # fmt: skip
    assert golden() not in others


@pytest.mark.parametrize("f", ["0", "1/128", "1/2", "127/128"])
def test_compatible_permanent_bits_by_the_book(f):
    """Bit by bit from the digest: the golden report shows five of its permanent bits only."""
    params = Params(k=32, h=2, m=64, f=f)
    for bloom in (0, 1, 0xFFFFFFFF, 0x80000001, 12345):
        digest = hmac.new(b"secret", struct.pack(">L", bloom), "sha256").digest()
        expected = 0
        for place, byte in enumerate(digest):
            noisy = (byte >> 1) < 128 * params.f
            expected |= (byte & 1 if noisy else bloom >> place & 1) << place
        assert permanent(bloom, b"secret", params, compatible=True) == expected


def test_the_permanent_response_is_permanent():
    for compatible in (True, False):
        client = Client(Params(), secret=SECRET, cohort=3, compatible=compatible)
        assert len({client.prr("word") for _ in range(5)}) == 1
        assert len({client.report("word") for _ in range(200)}) > 100


def test_the_instantaneous_law_is_exact():
    """The code's own choices, walked: every report of every permanent response for k = 2."""
    params = Params(k=2, h=1, m=1, p="1/3", q="3/4", f="1/2")
    for prr in range(4):
        found = walk(lambda source, prr=prr: instantaneous(prr, params, source=source))
        for report in range(4):
            expected = Fraction(1)
            for bit in range(2):
                one = params.q if prr >> bit & 1 else params.p
                expected *= one if report >> bit & 1 else 1 - one
            assert expected in found.mass_bounds(report)
            assert found.unresolved == 0


@pytest.mark.statistical
@pytest.mark.parametrize(("compatible", "f"), [(True, "0.5"), (True, "1/128"), (False, "0.45")])
def test_the_permanent_law_over_secrets(compatible, f):
    """Chi-square over all 8 responses and 20,000 secrets; false alarm below 1e-10.

    The secrets are the numbers 0, 1, 2, ..: the test says the same each time.
    """
    params = Params(k=3, h=1, m=1, f=f)
    number, bloom = 20_000, 0b010
    found = Counter(
        permanent(bloom, i.to_bytes(16, "big"), params, compatible=compatible)
        for i in range(number)
    )
    turned = params.f / 2
    expected = []
    for response in range(8):
        away = (response ^ bloom).bit_count()
        expected.append(float(number * turned**away * (1 - turned) ** (3 - away)))
    few = np.array(expected) < 5
    seen = np.array([found[response] for response in range(8)])
    seen = [*seen[~few], seen[few].sum()] if few.any() else seen
    expected = [*np.array(expected)[~few], np.array(expected)[few].sum()] if few.any() else expected
    assert stats.chisquare(seen, expected).pvalue > 1e-10


def test_no_noise_is_the_filter_itself():
    params = Params(k=8, h=2, m=1, p=0, q=1, f=0)
    for compatible in (True, False):
        client = Client(params, secret=SECRET, cohort=0, compatible=compatible)
        assert client.report("word") == client.bloom("word")


def test_one_report_in_law_is_the_client_in_law():
    """The law that is audited: P(bit = 1) is q* or p*."""
    params = Params(k=2, h=1, m=1, p="0.3", q="0.8", f="0.4")
    law = OneReport(params).law(0b01)
    assert law.mass_bounds(0b01).lower == params.q_star * (1 - params.p_star)


def test_guarantees():
    params = Params(8, 2, 4, "0.39", "0.61", "0.45")
    client = Client(params, secret=SECRET, cohort=0)
    assert client.guarantee == dp.PureDP(cost.one_report(params), "replace")
    assert client.forever == dp.PureDP(cost.forever(params), "replace")
    values = Candidates.identity(list("abc"), params)
    basic = Client(params, secret=SECRET, cohort=0, values=values)
    assert basic.guarantee.epsilon == cost.one_report(params, one_hot=True)
    assert basic.bloom("b") == 2
    with pytest.raises(dp.ParameterError, match="finite"):
        _ = Client(Params(f=0), secret=SECRET, cohort=0).forever


@pytest.mark.parametrize("hashed", [True, False])
def test_a_map_with_more_bits_than_the_costs_reckon_with_is_refused(hashed):
    """Two words of two bits each: a report would cost what h = 2 costs, and h is 1."""
    params = Params(k=4, h=1, m=2, p="0.25", q="0.75", f="0.25")
    bits = np.zeros((2, 2, 4), dtype=bool)
    bits[:, 0, :2] = bits[:, 1, 2:] = True
    values = Candidates(("a", "b"), bits, hashed=hashed)
    with pytest.raises(dp.errors.ParameterError, match="at most 1 of the bits"):
        Client(params, secret=SECRET, cohort=0, values=values)
    fitting = Client(Params(k=4, h=2, m=2), secret=SECRET, cohort=0,
                     values=Candidates(("a", "b"), bits))  # fmt: skip
    assert fitting.guarantee.epsilon == cost.one_report(fitting.params)


def test_a_secret_is_not_shown():
    assert "secret" not in repr(Client(Params(), secret=SECRET, cohort=0))


def test_what_is_refused():
    with pytest.raises(dp.ParameterError, match=r"f must be a multiple of 1/128.*29/64"):
        Client(Params(f="0.45"), secret=SECRET, cohort=0, compatible=True)
    with pytest.raises(dp.ParameterError, match="at most 32"):
        Client(Params(k=33), secret=SECRET, cohort=0, compatible=True)
    for compatible in (False, True):
        for short in (b"", b"s", b"secret", SECRET[:15]):
            with pytest.raises(dp.ParameterError, match="secret must be at least 16 bytes"):
                Client(Params(), secret=short, cohort=0, compatible=compatible)
        assert Client(Params(), secret=SECRET[:16], cohort=0, compatible=compatible).cohort == 0
    with pytest.raises(dp.ParameterError, match="secret"):
        Client(Params(), secret="a text of letters", cohort=0)
    with pytest.raises(dp.ParameterError, match="cohort"):
        Client(Params(), secret=SECRET, cohort=64)
    with pytest.raises(dp.InputTypeError, match="must be text"):
        Client(Params(), secret=SECRET, cohort=0).report(5)
    with pytest.raises(dp.ParameterError, match="bloom"):
        permanent(1 << 16, SECRET, Params())
    with pytest.raises(dp.ParameterError, match="prr"):
        instantaneous(-1, Params())
    with pytest.raises(dp.ParameterError, match="enumerated"):
        OneReport(Params(k=16))

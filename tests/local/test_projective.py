from itertools import combinations

import numpy as np
import pytest

import discreet as dp
from discreet.local import projective
from discreet.local.device import digits_of, vector_of
from discreet.local.linear import LinearHash, all_supports
from discreet.local.projective import _points_of, _split, _vectors, projective_plan


@pytest.mark.parametrize(("m", "t"), [(2, 4), (3, 3), (5, 3), (7, 2)])
def test_points_and_vectors(m, t):
    """Points are numbered 0 .. K-1; each vector has its first non-zero digit 1; any two points
    share c2 orthogonal ones.
    """
    count = (m**t - 1) // (m - 1)
    vectors = [vector_of(point, m) for point in range(count)]
    assert _vectors(np.arange(count), m, t).tolist() == vectors
    assert _points_of(_split(np.array(vectors), m, t), m).tolist() == list(range(count))
    digits = [digits_of(vector, m, t) for vector in vectors]
    assert all(next(x for x in reversed(d) if x) == 1 for d in digits)
    product = np.array(digits) @ np.array(digits).T % m
    orthogonal = product == 0
    assert set(orthogonal.sum(axis=0).tolist()) == {(m ** (t - 1) - 1) // (m - 1)}
    shared = {int((orthogonal[x] & orthogonal[y]).sum()) for x, y in combinations(range(count), 2)}
    assert shared == {(m ** (t - 2) - 1) // (m - 1)}


@pytest.mark.parametrize(("k", "prime"), [(100, 3), (60, 5), (100, 2), (30, 7), (40, 31)])
def test_supports_are_those_of_a_loop(k, prime):
    oracle = dp.local.ProjectiveResponse(k, 1, prime=prime)
    reports = oracle.reports(np.arange(2000) % k)
    found, _ = oracle.supports(oracle.tally(reports))
    m, t = oracle.prime, oracle.dimension
    points = np.array([digits_of(vector_of(point, m), m, t) for point in range(oracle.codes)])
    orthogonal = points[reports] @ points[:k].T % m == 0
    assert found.tolist() == orthogonal.sum(axis=0).tolist()


@pytest.mark.parametrize(("k", "prime"), [(8, 3), (40, 31), (1500, 11)])
def test_both_ways_to_count_agree(k, prime, monkeypatch):
    """Pair by pair and all at once; also in pieces, and where nothing was reported."""
    oracle = dp.local.ProjectiveResponse(k, 1, prime=prime)
    tally = oracle.tally(oracle.reports(np.arange(300) % k))
    monkeypatch.setattr(projective, "_PAIRS", 1000)
    direct = oracle._pair_by_pair(tally)
    m, t = oracle.prime, oracle.dimension
    table = np.zeros((m**t, m), dtype=np.int64)
    table[_vectors(np.arange(oracle.codes), m, t), 0] = tally
    together = all_supports(table.reshape(-1), LinearHash(m, m**t))
    assert direct.tolist() == together[_vectors(np.arange(k), m, t)].tolist()
    assert oracle.supports(tally)[0].tolist() == direct.tolist()
    assert oracle.supports(np.zeros_like(tally))[0].tolist() == [0] * k


def test_the_prime_is_chosen_and_checked():
    assert dp.local.ProjectiveResponse(1024, 1).prime == 3
    assert dp.local.ProjectiveResponse(128, 4).prime == 127
    assert projective_plan(1 << 23, dp.local.KaryResponse(4, 1).ratio) is None
    with pytest.raises(dp.ParameterError, match="domain"):
        dp.local.ProjectiveResponse(1 << 23, 1)
    for bad in (4, 1, 10007, 1.5):
        with pytest.raises(dp.ParameterError, match="prime"):
            dp.local.ProjectiveResponse(1000, 1, prime=bad)
    big = dp.local.ProjectiveResponse(100_000, 1)
    found, _ = big.supports(big.tally(big.reports(np.arange(1000))))
    assert len(found) == 100_000


def test_large_epsilon():
    for epsilon in (8, 20, 1000):
        try:
            oracle = dp.local.ProjectiveResponse(1000, epsilon)
        except dp.ParameterError:
            continue
        assert oracle.reports([1, 2, 3]).size == 3

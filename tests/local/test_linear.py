from itertools import combinations

import numpy as np
import pytest

from discreet.local.device import smallest_factor
from discreet.local.linear import LinearHash, all_supports


@pytest.mark.parametrize("g", [2, 3, 4, 5, 6, 8, 9, 10, 12])
def test_two_values_collide_for_exactly_one_seed_in_g(g):
    family = LinearHash(g, 8)
    assert family.base**family.digits >= 8
    seeds = np.arange(family.seeds)
    hashes = [family.many(seeds, np.full(len(seeds), v)) for v in range(8)]
    for x, y in combinations(range(8), 2):
        assert int((hashes[x] == hashes[y]).sum()) * g == family.seeds


@pytest.mark.parametrize(("g", "k"), [(2, 9), (4, 20), (5, 30), (6, 17), (149, 1000)])
def test_one_and_many_agree(g, k):
    family = LinearHash(g, k)
    rng = np.random.default_rng(g)
    seeds, values = rng.integers(0, family.seeds, 200), rng.integers(0, k, 200)
    expected = [family.one(int(a), int(v)) for a, v in zip(seeds, values, strict=True)]
    assert family.many(seeds, values).tolist() == expected


@pytest.mark.parametrize(("g", "k"), [(2, 9), (3, 9), (4, 20), (5, 30), (6, 17), (9, 30)])
def test_all_supports_are_those_of_a_loop(g, k):
    family = LinearHash(g, k)
    rng = np.random.default_rng(k)
    counts = rng.integers(0, 5, family.seeds * g)
    found = all_supports(counts, family)
    seeds = np.arange(family.seeds)
    table = counts.reshape(-1, g)
    for v in range(k):
        own = family.many(seeds, np.full(len(seeds), v))
        assert found[v] == table[seeds, own].sum()


def test_smallest_factors():
    found = [smallest_factor(n) for n in (2, 3, 4, 9, 15, 49, 97)]
    assert found == [2, 3, 2, 3, 3, 7, 97]

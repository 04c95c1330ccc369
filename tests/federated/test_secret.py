"""A secure sum: parts tell nothing, and they add up."""

from collections import Counter
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.federated import gather, join, split
from discreet.noise.source import ReplayedSource


@given(st.lists(st.integers(-(1 << 60), 1 << 60), min_size=2, max_size=6))
def test_every_node_adds_up_its_parts_and_the_sums_are_the_total(values):
    parts = [split(value, len(values)) for value in values]
    sums = [gather(column) for column in zip(*parts, strict=True)]
    assert join(sums) == sum(values)


@pytest.mark.parametrize("nodes", [2, 3])
def test_all_but_one_part_are_uniform_whatever_the_number(nodes):
    """Every choice of random words enumerated, for numbers of 3 bits."""
    for value in range(-4, 4):
        words = product(range(8), repeat=nodes - 1)
        found = [split(value, nodes, bits=3, source=ReplayedSource(word)) for word in words]
        assert all(join(parts, bits=3) == value for parts in found)
        for seen in combinations(range(nodes), nodes - 1):
            counts = Counter(tuple(parts[i] for i in seen) for parts in found)
            assert set(counts.values()) == {1}
            assert len(counts) == 8 ** (nodes - 1)


def published(first, second, adding):
    """The law of what two nodes publish, over all random words, and what the first one kept."""
    found = Counter()
    for one, two in product(range(8), repeat=2):
        a = split(first, 2, bits=3, source=ReplayedSource([one]))
        b = split(second, 2, bits=3, source=ReplayedSource([two]))
        found[tuple(adding(column) for column in zip(a, b, strict=True))] += 1
    return found


def test_what_is_published_tells_the_total_and_nothing_else():
    """Whatever two numbers make the total: all pairs of sums that join to it, equally often.

    Without the modulus carries tell the numbers apart, so such sums are refused.
    """
    reduced = [published(x, 2 - x, lambda c: gather(c, bits=3)) for x in range(-1, 4)]
    assert all(one == reduced[0] for one in reduced)
    assert set(reduced[0].values()) == {8}
    plain = [published(x, 2 - x, sum) for x in range(-1, 4)]
    assert len({frozenset(one.items()) for one in plain}) > 1
    for wrong in ([8], [-1], [3, 9]):
        with pytest.raises(dp.RangeError, match="gather"):
            join(wrong, bits=3)


def test_what_does_not_fit_is_refused_without_being_quoted():
    with pytest.raises(dp.RangeError) as caught:
        split(12345, 2, bits=4)
    assert "12345" not in str(caught.value)
    with pytest.raises(dp.InputTypeError):
        split(1.5, 2)
    for wrong in ({"nodes": 1}, {"nodes": 2, "bits": 0}):
        with pytest.raises(dp.ParameterError):
            split(1, **wrong)
    with pytest.raises(dp.ParameterError):
        join([])
    with pytest.raises(dp.InputTypeError):
        join("12")

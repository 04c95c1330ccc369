"""Finding bounds and rows per person: who moves what, what an empty bin passes, what is chosen."""

import itertools
from collections import Counter
from fractions import Fraction

import pytest
from tests.query.measuring import contribution

from discreet.curator import find
from discreet.curator.find import (
    RISK,
    _covering,
    _edges,
    _once,
    _threshold,
    bounds_from,
    bounds_request,
    find_noise,
    rows_from,
    rows_request,
)
from discreet.errors import NothingFoundError
from discreet.noise.source import system_source
from discreet.query.schema import Bounds, PerPerson, PerRow, Schema

BINS = len(_edges()) + 1
UNITS = [
    PerRow(),
    PerRow(neighbours="replace"),
    PerRow(together=3),
    PerPerson("id", max_rows=2),
    PerPerson("id", max_rows="find", find_epsilon=1, neighbours="replace", together=2),
    PerPerson("id", max_rows=1, trusted=True),
    PerPerson("id", max_rows=3, trusted=True),
]


def schema_for(unit, storage="integer"):
    return Schema("t", unit, {"x": Bounds.find(epsilon=1)}, {"x": storage, "id": "integer"})


def quietly(monkeypatch):
    monkeypatch.setattr(find, "draws", lambda noise, size, source: [0] * size)


def binned(schema, values):
    """The exact cells of one person for each list of values."""
    request = bounds_request(schema, "x")
    (part,) = request.parts
    cells = Counter()
    for person in values:
        found = contribution(part, [{"x": v} for v in person])
        cells.update({key: n for key, (n,) in found.items()})
    return {key: (n,) for key, n in cells.items()}


# bins


def test_bins_cover_all_numbers_once():
    edges = _edges()
    assert edges == sorted(set(edges))
    assert edges[:2] == [-(1 << 60), -(1 << 59)]
    assert edges[60:62] == [-1, 1]
    schema = schema_for(PerRow())
    outer = [-(1 << 61), *edges, 1 << 61]
    for value in (-(1 << 60), -5, -4, -2, -1, 0, 1, 2, 3, 4, 1000, (1 << 60) - 1, 1 << 60):
        (key,) = binned(schema, [[value]])
        (place,) = key
        assert outer[place] <= value < outer[place + 1]
    assert binned(schema, [[None]]) == {(None,): (1,)}


@pytest.mark.parametrize("unit", UNITS)
def test_a_person_counts_once_in_all(unit):
    """However her rows are spread over bins: the change is within what the noise is made for."""
    schema = schema_for(unit)
    noise = find_noise(unit, Fraction(1), scale=_once(unit).scale)
    values = [-7, 0, 900, None]
    most = 1 if isinstance(unit, PerRow) or (unit.trusted and unit.max_rows == 1) else 3
    sizes = range(most + 1)
    people = [
        {key: n for key, (n,) in binned(schema, [list(p)]).items() if key != (None,)}
        for size in sizes
        for p in itertools.combinations_with_replacement(values, size)
    ]
    worst = 0
    for first, second in itertools.product(people, people):
        if unit.neighbours == "add_or_remove" and second:
            continue
        change = sum(abs(first.get(k, 0) - second.get(k, 0)) for k in {*first, *second})
        worst = max(worst, change * unit.together)
    assert worst == noise.sensitivity
    assert noise.epsilon == 1
    assert noise.rate * worst == 1
    assert noise.neighbours == unit.neighbours


def test_only_one_row_in_all_needs_no_bounding():
    assert _once(PerPerson("id", max_rows=1, trusted=True)).way == "none"
    assert _once(PerPerson("id", max_rows=2, trusted=True)).way == "weight"
    assert _once(PerPerson("id", max_rows=1)).way == "weight"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("epsilon", ["1/10", "1", "5"])
def test_no_empty_bin_passes_but_for_one_search_in_a_hundred(unit, epsilon, monkeypatch):
    monkeypatch.setattr("discreet.curator.find.RISK", RISK)  # other tests have a smaller one
    for bins, scale in ((BINS, _once(unit).scale), (32, 1)):
        noise = find_noise(unit, Fraction(epsilon), scale=scale)
        threshold = _threshold(noise, bins)
        passes = noise.noise_law.tail_bounds(threshold).upper  # more than the threshold
        assert bins * passes <= Fraction(1, RISK)
        if threshold > 4:
            assert noise.noise_law.tail_bounds(threshold // 2).lower * bins > Fraction(1, RISK)


# bounds


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([20, 30, 70], 16, 128),
        ([0], -1, 1),
        ([-5, 5], -8, 8),
        ([1], 1, 2),
        ([-1000], -1024, -512),
        ([1 << 60], 1 << 60, 1 << 61),
        ([-(1 << 60)], -(1 << 60), -(1 << 59)),
        ([3, None], 2, 4),
    ],
)
@pytest.mark.parametrize("unit", [PerRow(), PerPerson("id", max_rows=3)])
def test_bounds_are_the_outer_edges_of_the_used_bins(monkeypatch, values, low, high, unit):
    quietly(monkeypatch)
    schema = schema_for(unit)
    cells = binned(schema, [[v] for v in values] * 40)
    found = bounds_from(schema, "x", cells, Fraction(1), system_source())
    assert (found.low, found.high, found.grid) == (low, high, 1)


def test_bins_of_few_people_are_not_used(monkeypatch):
    quietly(monkeypatch)
    schema = schema_for(PerRow())
    threshold = _threshold(find_noise(schema.unit, Fraction(1)), BINS)
    few = binned(schema, [[20]] * (threshold + 1) + [[5000]] * threshold)
    found = bounds_from(schema, "x", few, Fraction(1), system_source())
    assert (found.low, found.high) == (16, 32)
    with pytest.raises(NothingFoundError, match=r"declare them.*larger epsilon"):
        bounds_from(schema, "x", binned(schema, [[20]] * threshold), Fraction(1), system_source())
    with pytest.raises(NothingFoundError, match="which was spent"):
        bounds_from(schema, "x", {}, Fraction(1), system_source())


@pytest.mark.parametrize("storage", ["real", "integer"])
def test_reals_are_looked_at_on_a_fine_grid(monkeypatch, storage):
    quietly(monkeypatch)
    schema = schema_for(PerRow(), storage)
    request = bounds_request(schema, "x")
    kind = request.schema.kind("x")
    assert kind.grid == (1 if storage == "integer" else Fraction(1, 1 << 20))
    steps = 1 if storage == "integer" else 1 << 20
    cells = binned(schema, [[5 * steps // 2 if steps > 1 else 2], [100 * steps]] * 40)
    found = bounds_from(schema, "x", cells, Fraction(1), system_source())
    assert (found.low, found.high) == (2, 128)
    assert (found.high - found.low) / found.grid <= 1 << 20
    assert found.kind.width <= 1 << 20


def test_every_pair_of_bins_makes_bounds(monkeypatch):
    """Whatever the noise shows, it can be declared: low below high, on the grid, within 2^62."""
    quietly(monkeypatch)
    for storage in ("integer", "real"):
        schema = schema_for(PerRow(), storage)
        for first, last in itertools.combinations_with_replacement(range(0, BINS, 5), 2):
            cells = {(first,): (10**6,), (last,): (10**6,)}
            found = bounds_from(schema, "x", cells, Fraction(1), system_source())
            assert found.low < found.high


def test_noise_is_added_to_every_bin(monkeypatch):
    asked = []

    def draws(noise, size, source):
        asked.append((noise, size))
        return [0] * (size - 1) + [10**12]

    monkeypatch.setattr(find, "draws", draws)
    unit = PerPerson("id", max_rows=3)
    found = bounds_from(schema_for(unit), "x", {}, Fraction(1, 2), system_source())
    assert (found.low, found.high) == (1 << 60, 1 << 61)
    assert asked == [(find_noise(unit, Fraction(1, 2), scale=1 << 20), BINS)]


@pytest.mark.statistical
def test_bounds_found_with_real_noise():
    """100,000 people in one bin: another is taken with a chance of at most 1 in 100 each time, so
    that 12 of 40 searches fail with a chance below 1e-13.
    """
    schema = schema_for(PerPerson("id", max_rows=3))
    cells = {(66,): (100_000 << 20,)}
    right = 0
    for _ in range(40):
        found = bounds_from(schema, "x", cells, Fraction(1, 10), system_source())
        right += found.high - found.low == 16
        assert found.low <= 16 < 32 <= found.high
    assert right > 28


# rows per person


def test_rows_are_counted_in_powers_of_two():
    request = rows_request(schema_for(PerPerson("id", max_rows="find", find_epsilon=1)))
    (part,) = request.parts
    assert part.spread == tuple(1 << i for i in range(31))
    assert part.bounding.way == "none"
    assert request.where is None


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([1000], 1),
        ([0, 1000], 2),
        ([990, 10], 1),
        ([989, 11], 2),
        ([500, 0, 0, 500], 8),
        ([0] * 31 + [100], 1 << 30),
        ([99, 0, 0, 0, 1], 1),
        ([98, 0, 0, 0, 2], 16),
    ],
)
def test_the_smallest_power_that_covers_99_of_100(monkeypatch, counts, expected):
    counts = [*counts, *[0] * (32 - len(counts))]
    assert _covering(counts) == expected
    quietly(monkeypatch)
    unit = PerPerson("id", max_rows="find", find_epsilon=1)
    cells = {(i,): (n * 1000,) for i, n in enumerate(counts) if n}
    assert rows_from(unit, cells, Fraction(1), system_source()) == expected


def test_bins_below_the_threshold_count_as_empty(monkeypatch):
    quietly(monkeypatch)
    unit = PerPerson("id", max_rows="find", find_epsilon=1)
    threshold = _threshold(find_noise(unit, Fraction(1)), 32)
    cells = {(0,): (100,), (20,): (threshold,)}
    assert rows_from(unit, cells, Fraction(1), system_source()) == 1
    cells = {(0,): (100,), (20,): (threshold + 1,)}
    assert rows_from(unit, cells, Fraction(1), system_source()) == 1 << 20
    with pytest.raises(NothingFoundError, match=r"declare max_rows.*larger find_epsilon"):
        rows_from(unit, {(0,): (threshold,)}, Fraction(1), system_source())
    with pytest.raises(NothingFoundError, match="which was spent"):
        rows_from(unit, {}, Fraction(1), system_source())


@pytest.mark.parametrize(
    ("unit", "sensitivity"),
    [
        ({}, 1),
        ({"neighbours": "replace"}, 2),
        ({"together": 3}, 3),
        ({"together": 3, "neighbours": "replace"}, 6),
    ],
)
def test_a_person_is_in_one_bin_of_rows(monkeypatch, unit, sensitivity):
    made = []
    monkeypatch.setattr(
        find, "draws", lambda noise, size, source: made.append((noise, size)) or [1000] * size
    )
    who = PerPerson("id", max_rows="find", find_epsilon=1, **unit)
    rows_from(who, {}, Fraction(1, 4), system_source())
    ((noise, size),) = made
    assert (noise.epsilon, noise.sensitivity, size) == (Fraction(1, 4), sensitivity, 32)

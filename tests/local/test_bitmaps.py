import numpy as np
import pytest

from discreet.local.bitmaps import bitmap_bytes, column_counts, payload_of, trimmed, widened


@pytest.mark.parametrize("k", [1, 7, 8, 9, 63, 64, 65, 200])
@pytest.mark.parametrize("n", [0, 1, 2, 23, 24, 25, 26, 100, 1000])
def test_column_counts_are_those_of_a_loop(k, n):
    rng = np.random.default_rng(k * 1000 + n)
    bits = rng.random((n, k)) < rng.random(k)
    rows = np.packbits(bits, axis=1, bitorder="little").reshape(n, bitmap_bytes(k))
    assert column_counts(rows, k).tolist() == bits.sum(axis=0).tolist()


def test_full_columns_carry_all_the_way():
    """All bits set: every carry there is."""
    for n in (31, 32, 4095, 4097, 70_000):
        assert column_counts(np.full((n, 9), 255, dtype=np.uint8), 72).tolist() == [n] * 72


def test_rows_of_words_and_bytes():
    rows = np.arange(27, dtype=np.uint8).reshape(3, 9)
    assert np.array_equal(trimmed(widened(rows), 72), rows)
    assert payload_of({0, 9}, 12) == bytes([1, 2])

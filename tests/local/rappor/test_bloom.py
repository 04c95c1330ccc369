"""Bloom encoding and map files, against the original's vectors."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.local.rappor import Candidates, Params, bloom_integer
from discreet.local.rappor.bloom import bit_chances, bloom_bits, pair_chances

GOLDEN = Params(k=16, h=2, m=4)
ROWS = {
    "apple": [5, 1, 26, 26, 38, 34, 63, 62],
    "banana": [12, 14, 28, 24, 37, 34, 62, 49],
    "carrot": [4, 12, 25, 21, 48, 38, 61, 54],
}


@pytest.mark.parametrize("word", ROWS)
def test_the_golden_rows(word):
    numbers = [
        cohort * 16 + bit + 1 for cohort in range(4) for bit in bloom_bits(word, cohort, GOLDEN)
    ]
    assert numbers == ROWS[word]


def test_a_map_file_has_the_golden_rows_and_is_read_back(tmp_path):
    file = tmp_path / "map.csv"
    found = Candidates.of(ROWS, GOLDEN)
    found.write(file, GOLDEN)
    lines = [",".join([word, *map(str, row)]) for word, row in ROWS.items()]
    assert file.read_text().splitlines() == lines
    again = Candidates.read(file, GOLDEN)
    assert again.words == tuple(ROWS)
    assert again.hashed
    assert np.array_equal(again.bits, found.bits)


def test_words_with_commas_quotes_and_lines_survive_a_file(tmp_path):
    words = ('a,"b"', "né", "two\nlines", "")
    file = tmp_path / "map.csv"
    Candidates.of(words, GOLDEN).write(file, GOLDEN)
    assert Candidates.read(file, GOLDEN).words == words


def test_the_map_and_the_integer_agree():
    found = Candidates.of(ROWS, GOLDEN)
    for word, cohort in itertools.product(ROWS, range(4)):
        assert found.integer(word, cohort) == bloom_integer(word, cohort, GOLDEN)


def test_an_identity_map_is_recognised(tmp_path):
    params = Params(k=4, h=1, m=3)
    found = Candidates.identity(["a", "b", "c"], params)
    assert not found.hashed
    found.write(tmp_path / "map.csv", params)
    assert (tmp_path / "map.csv").read_text() == "a,1,5,9\nb,2,6,10\nc,3,7,11\n"
    again = Candidates.read(tmp_path / "map.csv", params)
    assert not again.hashed
    assert np.array_equal(again.bits, found.bits)
    assert Candidates.read(tmp_path / "map.csv", params, hashed=True).hashed
    with pytest.raises(dp.ParameterError, match="at most 4"):
        Candidates.identity(list("abcde"), params)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "at least one candidate"),
        ("apple,1,2\n", "8 numbers"),
        ("apple\n", "8 numbers"),
        ("apple,5,1,26,26,38,34,63,x\n", "number 8 in row 1"),
        ("apple,5,1,26,26,38,34,63,65\n", "number 8 in row 1"),
        ("apple,5,1,26,26,38,34,63,0\n", "number 8 in row 1"),
        ("apple,5,1,26,26,38,34,63,62\n" * 2, "different"),
    ],
)
def test_a_wrong_map_is_refused(text, told, tmp_path):
    file = tmp_path / "map.csv"
    file.write_text(text)
    with pytest.raises(dp.ParameterError, match=told):
        Candidates.read(file, GOLDEN)


@pytest.mark.parametrize("k", [8, 12])
@pytest.mark.parametrize("h", [1, 2, 3])
def test_the_chances_of_an_unknown_word_by_enumeration(k, h):
    """All h-tuples of bytes of a smaller alphabet have the same formulas; here, all of 256 for
    h = 1 and the multinomial of the residues for more.
    """
    params = Params(k=k, h=h)
    weights = np.bincount(np.arange(256) % k, minlength=k) / 256
    single, pairs = np.zeros(k), np.zeros((k, k))
    for hashes in itertools.product(range(k), repeat=h):
        chance = np.prod(weights[list(hashes)])
        held = np.isin(np.arange(k), hashes)
        single += chance * held
        pairs += chance * np.outer(held, held)
    assert np.allclose([float(chance) for chance in bit_chances(params)], single)
    assert np.allclose(pair_chances(params), pairs)


def test_the_chance_of_a_bit_is_exact():
    assert bit_chances(Params(k=8, h=2)) == [1 - Fraction(7, 8) ** 2] * 8


def test_what_is_no_word_is_refused_without_a_quote():
    for word in (None, b"apple", 5):
        with pytest.raises(dp.InputTypeError, match="must be text"):
            bloom_bits(word, 0, GOLDEN)
    with pytest.raises(dp.InputTypeError, match="UTF-8"):
        bloom_bits("\ud800", 0, GOLDEN)
    with pytest.raises(dp.ParameterError, match="cohort"):
        bloom_bits("apple", 4, GOLDEN)
    with pytest.raises(dp.InputTypeError) as told:
        Candidates.of(ROWS, GOLDEN).integer("secret", 0)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("words", [[], ["a", "a"], [1, 2]])
def test_wrong_candidates_are_refused(words):
    with pytest.raises(dp.ParameterError, match="words"):
        Candidates.of(words, GOLDEN)


def test_too_many_candidates_are_refused_before_memory_is_taken():
    with pytest.raises(dp.ParameterError, match="too many"):
        Candidates.of(map(str, range(3000)), Params(k=256, m=1 << 14))


def test_a_map_for_other_parameters_is_refused():
    with pytest.raises(dp.ParameterError, match="as the parameters say"):
        Candidates.of(ROWS, GOLDEN).check(Params(k=8, h=2, m=4))

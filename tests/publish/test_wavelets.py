"""The wavelet: the transform by its matrix, the promise by transcripts, variances by algebra."""

from fractions import Fraction

import numpy as np
import pytest
from tests.publish.forced import worst_loss

from discreet.publish import wavelets as module
from discreet.publish.wavelets import haar, haar_inverse, wavelet

EPSILON = Fraction(1, 2)


def matrix(n):
    """The rows of the transform on one axis, by its definition."""
    rows, size = [np.ones(n, dtype=int)], n
    while size > 1:
        for start in range(0, n, size):
            row = np.zeros(n, dtype=int)
            row[start : start + size // 2] = 1
            row[start + size // 2 : start + size] = -1
            rows.append(row)
        size //= 2
    return np.array(rows)


@pytest.mark.parametrize("n", [1, 2, 8, 16])
def test_the_transform_is_its_matrix(n):
    x = (np.arange(n) * 37) % 11
    assert haar(x).tolist() == (matrix(n) @ x).tolist()
    assert haar(x).dtype == np.int64
    assert haar_inverse(haar(x)) == pytest.approx(x)


def test_several_axes_are_transformed_one_after_the_other():
    x = np.arange(32).reshape(4, 8) ** 2
    assert haar(x).tolist() == (matrix(4) @ x @ matrix(8).T).tolist()
    assert haar_inverse(haar(x)) == pytest.approx(x)


@pytest.mark.parametrize("shape", [(1,), (8,), (2, 8), (4, 4, 2)])
def test_every_cell_is_in_as_many_numbers_as_the_theorem_says(shape):
    size = int(np.prod(shape))
    count = {
        int(np.abs(haar(unit)).sum()) for unit in np.eye(size, dtype=int).reshape(size, *shape)
    }
    assert count == {int(np.prod([n.bit_length() for n in shape]))}


@pytest.mark.parametrize("shape", [(5,), (8,), (2, 3)])
def test_every_transcript_keeps_the_promise_and_one_meets_it(shape):
    measure = lambda cells: wavelet(cells, epsilon=EPSILON)
    people = 3 if np.prod(shape) < 8 else 2
    assert worst_loss(measure, shape, EPSILON, people=people, turns=2) == EPSILON


def test_a_level_forgotten_in_the_sensitivity_would_be_caught(monkeypatch):
    monkeypatch.setattr(module.math, "prod", lambda heights: 2)
    with pytest.raises(AssertionError):
        worst_loss(lambda cells: wavelet(cells, epsilon=EPSILON), (4,), EPSILON, people=1)


@pytest.mark.parametrize(("shape", "box"), [((11,), [(2, 9)]), ((4, 3), [(1, 4), (0, 2)])])
def test_variances_by_algebra(shape, box):
    made = wavelet(np.zeros(shape, dtype=int), epsilon=1)
    padded = made.numbers.values.shape
    kron = matrix(padded[0])
    for n in padded[1:]:
        kron = np.kron(kron, matrix(n))
    inverse = np.linalg.inv(kron)
    question = np.zeros(padded)
    question[tuple(slice(*side) for side in box)] = 1
    weights = question.reshape(-1) @ inverse
    answer = made.rectangle(*box)
    assert answer.standard_error**2 == pytest.approx(weights @ weights * made.numbers.variance)
    assert answer.raw == pytest.approx(weights @ made.numbers.values.reshape(-1))

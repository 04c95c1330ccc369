"""A thousand questions from one release."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.gallery import publish
from discreet.gallery.data import salaries
from discreet.gallery.experiment import Effort
from discreet.gallery.publish import CELLS, alone, gaussian, ranges, truth
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.convert import largest_rho


def test_the_cells_hold_everybody():
    assert truth().sum() == len(salaries())


def test_the_ranges_are_many_and_different():
    spans = ranges()
    assert spans.shape == (1000, 2)
    assert len({tuple(span) for span in spans.tolist()}) > 990
    assert np.all((spans[:, 0] < spans[:, 1]) & (spans[:, 0] >= 0) & (spans[:, 1] <= CELLS))
    lengths = spans[:, 1] - spans[:, 0]
    assert lengths.mean() == pytest.approx(CELLS / 3, rel=0.02), "as for two even ends"


def test_asked_one_by_one():
    a = math.exp(-0.1 / 1000)
    assert alone(1000) == pytest.approx(math.sqrt(2 * a) / (1 - a))
    assert alone(1) == pytest.approx(14.14, abs=0.01)
    rho = largest_rho(Fraction(1, 10), Fraction(1, 10**6))
    sigma = math.sqrt(1000 / (2 * rho))
    assert gaussian(1000) == pytest.approx(sigma)
    assert Gaussian(rho=rho / 1000).variance == pytest.approx(sigma**2, rel=1e-3)


def test_what_is_told():
    """A publication that is ten times as bad as usual has a chance far below 1e-9.

    Its error is a posterior mean of hundreds of independent draws, each with a tail of e^-x.
    """
    found = publish.run(Effort(fast=True))
    assert found["error of each of 1,000 ranges asked one by one"].ours == 14_142
    assert found["the same with Gaussian noise and a delta of 1e-6"].ours == 1248
    assert found["error of ranges of one published histogram"].ours < 700
    assert found["factor"].ours > 20
    assert [figure.name for figure in found.figures] == ["publish", "publish-salaries"]

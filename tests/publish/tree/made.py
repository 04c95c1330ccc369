"""Made-up measurements."""

from fractions import Fraction

import numpy as np

from discreet.publish.tree.domain import Domain
from discreet.publish.tree.measured import Measured

ROWS = [(0, 0, 4000, 90), (2, 0, 9000, 40), (2, 1, 9000, -3), (2, 2, 9000, 30), (2, 3, 9000, 7)]


def measured(shape, rows, epsilon=1):
    """From rows of depth, node, units, value."""
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Measured(Domain(shape), Fraction(epsilon), 1, "add_or_remove", *columns)

"""Made-up measurements."""

import numpy as np

from discreet.publish.tree.domain import Domain
from discreet.publish.tree.measured import Measured
from discreet.publish.tree.terms import terms_of

ROWS = [(0, 0, 4000, 90), (2, 0, 9000, 40), (2, 1, 9000, -3), (2, 2, 9000, 30), (2, 3, 9000, 7)]


def measured(shape, rows, epsilon=1, rho=None):
    """From rows of depth, node, units, value."""
    terms = terms_of(epsilon=epsilon) if rho is None else terms_of(rho=rho)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Measured(Domain(shape), terms, *columns)

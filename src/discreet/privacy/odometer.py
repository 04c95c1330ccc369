"""An odometer: no limit, but at every moment a true statement of what has leaked so far.

A filter promises its whole budget, however little of it is used. An odometer may be read at any
time, and one may stop because of what it says or of what the answers said. That has a price: the
delta has to cover all the moments at which one might have stopped.

Theorem. Fix rungs rho_j and deltas d_j that add up to at most delta, for j in a fixed set, and read
at any time epsilon = the smaller of
    the sum of the epsilons so far, and
    the epsilon at which rho_j-zCDP gives d_j, for the first rung rho_j >= the sum of the rhos.
Let epsilon(t) be the reading at the end of the transcript t. Then, however the analyst went on and
whenever she stopped, the sum over all transcripts of max(0, P(t) - e^epsilon(t) Q(t)) is at most
delta, so that P(S) <= E_Q[e^epsilon(t); S] + delta for every set S of transcripts.
Proof. Transcripts whose reading is the sum of the epsilons contribute nothing. The others with rung
j are transcripts of the filter with budget rho_j (its sums only grow), and contribute at most d_j
by Theorem 3 of `discreet.privacy.filter`; the d_j add up to at most delta. Releases with a delta of
their own are refused here: their failures would have to be announced ahead.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, whole
from discreet.privacy.bounds import add_upper, failure, gamma_of, pure_upper, rho_upper
from discreet.privacy.convert import largest_rho, zcdp_epsilon_upper
from discreet.privacy.guarantee import (
    LARGEST_EPSILON,
    ApproxDP,
    Neighbours,
    PureDP,
    delta_of,
    epsilon_of,
    neighbours_of,
)
from discreet.privacy.loss import HasLoss, Loss, loss_of

__all__ = ["Odometer"]

RATIO = Fraction(3, 2)  # of one rung to the next
REACH = 60  # rungs above and below the expected one
SHARE = Fraction(3, 7)  # the sum of 1/(1 + |j|)^2 over all integers j is 2.29 < 7/3


class Odometer:
    """Adds up without a limit, and says at any time what has leaked.

    Guarantee. At whatever moment one stops, for whatever reason, the statement holds that `reading`
    makes: see the theorem at the top of this module. Without `delta` it is the sum of the epsilons.
    Neighbours. As said; losses under another relation are refused.
    Tested by tests/privacy/test_odometer.py

    Args:
        delta: what may escape in all; None counts epsilons only.
        expected: about which epsilon one expects to read in the end. Readings are tightest near it
            (at most a factor of about 1.4 above a filter made for just that epsilon) and stay true
            anywhere.
        neighbours: "add_or_remove" or "replace".

    >>> import discreet as dp
    >>> odometer = dp.Odometer(delta="1e-6")
    >>> odometer.add(dp.Geometric(epsilon="0.01"), times=100)
    >>> print(odometer.reading)
    (about 0.589013, 1e-06)-differential privacy (neighbours: one person is added or removed)
    """

    def __init__(
        self,
        *,
        delta: Exact | None = None,
        expected: Exact = 1,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        self.neighbours = neighbours_of(neighbours)
        self.delta = None if delta is None else delta_of(delta)
        near = epsilon_of(expected, name="expected")
        self._base = Fraction(0) if self.delta is None else largest_rho(near, SHARE * self.delta)
        self._epsilon: Fraction | None = Fraction(0)
        self._rho = Fraction(0)
        self._losses: Counter[Loss] = Counter()
        self._lock = threading.Lock()

    def add(self, release: Loss | HasLoss, *, times: int = 1) -> None:
        """Count what a release leaks. Safe from several threads."""
        loss, number = loss_of(release), whole(times, name="times", at_least=1, at_most=10**12)
        if loss.neighbours != self.neighbours:
            raise ParameterError(
                "neighbours", loss.neighbours, f"must be {self.neighbours!r}, like the odometer's"
            )
        if failure(loss) or gamma_of(loss):
            raise UnsupportedError(
                "an odometer does not count releases that may fail; use a budget with failures=..."
            )
        epsilon, rho = pure_upper(loss), rho_upper(loss)
        if epsilon is None and self.delta is None:
            raise UnsupportedError("this noise has no pure epsilon: say delta=... to count it")
        with self._lock:
            if self._epsilon is not None and epsilon is not None:
                self._epsilon = add_upper(self._epsilon, number * epsilon)
            else:
                self._epsilon = None
            self._rho = add_upper(self._rho, number * rho)
            self._losses[loss] += number

    def __repr__(self) -> str:
        return f"<Odometer: {sum(self.losses.values()):,} releases>"

    @property
    def losses(self) -> Mapping[Loss, int]:
        """What was counted: each distinct loss with its number."""
        with self._lock:
            return dict(self._losses)

    @property
    def reading(self) -> PureDP | ApproxDP:
        """What has leaked so far, whatever made you ask now."""
        with self._lock:
            epsilon, rho = self._epsilon, self._rho
        if rho == 0:
            raise ParameterError("releases", None, "are missing: nothing has leaked yet")
        found = [each for each in (epsilon, self._from_rung(rho)) if each is not None]
        least = min(found, default=None)
        if least is None or least > LARGEST_EPSILON:
            raise UnsupportedError(
                f"far more has leaked than an epsilon says: above {LARGEST_EPSILON}"
            )
        if self.delta is None:
            return PureDP(least, self.neighbours)
        return ApproxDP(least, self.delta, self.neighbours)

    def _from_rung(self, rho: Fraction) -> Fraction | None:
        """The epsilon of the first rung at or above rho."""
        if self.delta is None:
            return None
        for j in range(-REACH, REACH + 1):
            rung = self._base * RATIO**j
            if rung >= rho:
                return zcdp_epsilon_upper(rung, SHARE * self.delta / (1 + abs(j)) ** 2)
        return None

"""Numbers as the user typed them, and certified bounds of what is not rational.

`rational` turns 0.1 into exactly 1/10. `Interval` is a pair of rationals that encloses a real
number; `exp`, `log`, `sqrt`, `pi` and `gauss_integral` enclose theirs to any number of bits.
"""

from discreet.exact.functions import exp, gauss_integral, log, pi, sqrt
from discreet.exact.interval import Interval, certify
from discreet.exact.rational import Exact, positive, probability, rational, shown, whole, written

__all__ = [
    "Exact",
    "Interval",
    "certify",
    "exp",
    "gauss_integral",
    "log",
    "pi",
    "positive",
    "probability",
    "rational",
    "shown",
    "sqrt",
    "whole",
    "written",
]

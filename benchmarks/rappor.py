"""RAPPOR's regression matrix: how well the decoder does, beside reference figures.

The reference figures are from an independent implementation of the original decoder, three
collections each; ours are means over as many.
"""

import statistics
import time

from benchmarks.timing import table
from discreet.local.rappor import Case, decode
from discreet.local.rappor.cases import DISTRIBUTIONS

# configuration: distribution: total variation, false positive rate, false negative rate
REFERENCE = {
    "typical": {
        "unif": (0.246, 0.13, 0.24),
        "exp": (0.184, 0.13, 0.57),
        "gauss": (0.207, 0.12, 0.44),
        "zipf1": (0.192, 0.07, 0.60),
        "zipf1.5": (0.109, 0.02, 0.81),
    },
    "sharp": {
        "unif": (0.178, None, 0.16),
        "exp": (0.137, None, 0.54),
        "gauss": (0.147, None, 0.41),
        "zipf1": (0.169, None, 0.56),
        "zipf1.5": (0.098, None, 0.77),
    },
    "loose": {
        "unif": (0.121, 0.38, 0.10),
        "exp": (0.112, 0.28, 0.23),
        "gauss": (0.132, 0.40, 0.21),
        "zipf1": (0.083, 0.25, 0.14),
        "zipf1.5": (0.056, 0.12, 0.44),
    },
    "over_x2": {
        "unif": (0.305, None, 0.40),
        "exp": (0.190, None, 0.65),
        "gauss": (0.236, None, 0.55),
        "zipf1": (0.222, None, 0.74),
        "zipf1.5": (0.114, None, 0.85),
    },
    "over_x10": {},
}
HEAD = (
    "case",
    "total variation, all shares",
    "the same, found words only: bonferroni / bh",
    "reference",
    "false positives over extra: bonferroni / bh",
    "reference",
    "false negatives: bonferroni / bh",
    "reference",
    "seconds to decode",
)


def small():
    """A million clients, 100 words."""
    return matrix("small", collections=3)


def medium():
    """Ten million clients, 1,000 words, typical; there are no reference figures."""
    return matrix("medium", collections=1, configurations=("typical",))


def matrix(size, *, collections, configurations=tuple(REFERENCE)):
    rows = []
    for configuration in configurations:
        for distribution in DISTRIBUTIONS:
            case = Case(distribution, size, configuration)
            found = [played(case) for _ in range(collections)]
            known = REFERENCE[configuration].get(distribution) if size == "small" else None
            rows.append(row(f"{distribution} {configuration}", found, known))
            print(rows[-1], flush=True)
    return table(HEAD, rows)


def played(case):
    """The scores under both corrections, and how long one decoding took."""
    data = case.play()
    start = time.perf_counter()
    first = decode(data.params, data.candidates, data.counts)
    seconds = time.perf_counter() - start
    second = decode(data.params, data.candidates, data.counts, correction="bh")
    return data.score(first), data.score(second), seconds


def row(name, found, known):
    def mean(which, attribute):
        return statistics.mean(getattr(one[which], attribute) for one in found)

    def both(attribute, digits):
        return " / ".join(f"{mean(which, attribute):.{digits}f}" for which in (0, 1))

    reference = ["" if x is None else f"{x:g}" for x in known or (None, None, None)]
    extra = found[0][0].extra
    return (
        name,
        f"{mean(0, 'variation_all'):.3f}",
        both("variation", 3),
        reference[0],
        both("false_positive_rate", 3) if extra else "none extra",
        reference[1],
        both("false_negative_rate", 2),
        reference[2],
        f"{statistics.median(one[2] for one in found):.1f}",
    )

"""RAPPOR's regression matrix: how well the decoder does, beside reference figures; and how much
better a frequency oracle does at the same epsilon where all words are known.

The reference figures are from an independent implementation of the original decoder, three
collections each; ours are means over as many.
"""

import statistics
import time

import numpy as np

from benchmarks.timing import Rows, table
from discreet.local import Collector, Frequency
from discreet.local.rappor import Candidates, Case, collect, cost, decode
from discreet.local.rappor.cases import CONFIGURATIONS, DISTRIBUTIONS, SIZES
from discreet.local.rappor.params import Params
from discreet.noise.source import system_source
from discreet.noise.table import CHUNK, inversion

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
    rows = Rows()
    for configuration in configurations:
        for distribution in DISTRIBUTIONS:
            case = Case(distribution, size, configuration)
            found = [played(case) for _ in range(collections)]
            known = REFERENCE[configuration].get(distribution) if size == "small" else None
            rows.add(*row(f"{distribution} {configuration}", found, known))
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


# the same people, the same epsilon, all words known

KNOWN = (
    "case",
    "oracle: posterior",
    "oracle: projected",
    "RAPPOR, shares of all words",
    "found words only: bonferroni / bh",
    "best of RAPPOR's over posterior, 95 %",
    "over projected, 95 %",
    "reference",
    "reference over posterior, 95 %",
)
COLLECTIONS = {"small": 20, "tiny": 40}
RESAMPLES = 4000
FALSE = ("case", "collections", "of which found a word that nobody has", "alpha")
ALPHA = 0.05
SETTINGS = {"0.973": "sharp", "4.947": "loose"}
"""The epsilon of one report, and whose p, q, f cost that much."""


def known():
    """Total variation of the oracle against RAPPOR's decoder, people for people."""
    rows = Rows()
    for size, collections in COLLECTIONS.items():
        for epsilon, setting in SETTINGS.items():
            for distribution in DISTRIBUTIONS:
                found = [compared(distribution, size, setting) for _ in range(collections)]
                reference = None
                if (size, setting) == ("small", "sharp"):
                    reference = REFERENCE["sharp"][distribution][0]
                rows.add(*versus(f"{distribution} {size}, {epsilon}", found, reference))
    return table(KNOWN, rows)


def false_words():
    """How often the oracle finds a word that nobody has, among 120 words of which 20 are such."""
    rows = Rows()
    for distribution in DISTRIBUTIONS:
        for size, collections in (("tiny", 1000), ("small", 10)):
            found = sum(finds_a_false_word(distribution, size) for _ in range(collections))
            rows.add(f"{distribution} {size}, 0.973", collections, found, ALPHA)
    return table(FALSE, rows)


def finds_a_false_word(distribution, size, extra=20):
    number, clients = SIZES[size]
    values = people(Case(distribution, size, "sharp"), clients)
    question = Frequency(number + extra, cost.one_report(Case(distribution, size, "sharp").params))
    collector = Collector(question)
    collector.add(question.reports(values))
    shares = collector.estimate(confidence=1 - ALPHA)
    return bool((shares.lower[number:] > 0).any())


def compared(distribution, size, setting):
    """One collection of both kinds from the same people."""
    number, clients = SIZES[size]
    values = people(Case(distribution, size, "sharp"), clients)
    truth = np.bincount(values, minlength=number) / clients
    params = Params(8, 2, 128, *CONFIGURATIONS[setting][0])
    words = Candidates.of([f"v{place}" for place in range(1, number + 1)], params)
    counts = collect(params, words, values)
    decoded = [
        decode(params, words, counts, alpha=ALPHA, correction=c) for c in ("bonferroni", "bh")
    ]
    question = Frequency(number, cost.one_report(params))
    collector = Collector(question)
    collector.add(question.reports(values))
    shares = collector.estimate()
    return {
        "posterior": variation(truth, shares.posterior),
        "projected": variation(truth, shares.projected),
        "all": variation(truth, [decoded[0][word].share for word in words.words]),
        "found": [
            variation(truth, [one[w].share if one[w].found else 0.0 for w in words.words])
            for one in decoded
        ],
    }


def people(case, clients):
    source, found = system_source(), np.empty(clients, np.int64)
    law = inversion(case.law())
    for start in range(0, clients, CHUNK):
        piece = found[start : start + CHUNK]
        piece[:] = law.chunk(piece.size, source)
    return found


def variation(truth, found):
    return float(np.abs(truth - np.asarray(found)).sum() / 2)


def versus(name, found, reference):
    ways = np.array([[one["all"], *one["found"]] for one in found])
    ours = np.array([[one["posterior"], one["projected"]] for one in found])
    mine, theirs = ours.mean(axis=0), ways.mean(axis=0)
    known = np.full(len(found), np.nan if reference is None else reference)
    return (
        name,
        f"{mine[0]:.4f}",
        f"{mine[1]:.4f}",
        f"{theirs[0]:.3f}",
        f"{theirs[1]:.3f} / {theirs[2]:.3f}",
        ratio(ways[:, theirs.argmin()], ours[:, 0]),
        ratio(ways[:, theirs.argmin()], ours[:, 1]),
        "" if reference is None else f"{reference:g}",
        "" if reference is None else ratio(known, ours[:, 0]),
    )


def ratio(theirs, ours):
    """The ratio of two means over the same collections, with 95 % of its bootstrap."""
    rng = np.random.default_rng(7)
    picks = rng.integers(0, len(ours), (RESAMPLES, len(ours)))
    low, high = np.quantile(theirs[picks].mean(axis=1) / ours[picks].mean(axis=1), [0.025, 0.975])
    return f"{theirs.mean() / ours.mean():.2f} [{low:.2f}, {high:.2f}]"

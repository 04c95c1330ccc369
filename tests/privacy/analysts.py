"""All adaptive analysts at once: what the best of them gets out of a filter, in exact fractions.

An analyst looks at the transcript so far and chooses the next release, or stops. Her gain is a sum
over the transcripts at which she stops, so that the best choice after each transcript can be found
by itself. What follows depends on a transcript only through the ratio of its two probabilities and
through what was charged, which makes the search small.
"""

from fractions import Fraction
from functools import lru_cache

from discreet.privacy.filter import prices
from discreet.privacy.loss import ApproxLoss, PairLoss, PureLoss

MOST = 50_000  # states of one search


def response(factor):
    """Randomised response with e^epsilon = factor, as a pair of laws."""
    often = Fraction(factor) / (1 + Fraction(factor))
    return PairLoss(first=[often, 1 - often], second=[1 - often, often])


def laws(loss):
    """Both orientations of the two laws; each law lists the same outputs."""
    match loss:
        case PairLoss():
            return [(loss.first, loss.second), (loss.second, loss.first)]
        case ApproxLoss():  # the worst that (epsilon, delta) allows; e^epsilon is rounded down
            return [_failing(loss)]
        case PureLoss():
            return [_failing(loss)]
    raise AssertionError(loss)


def _failing(loss):
    from discreet.exact import exp

    failing, factor = getattr(loss, "delta", Fraction(0)), exp(loss.epsilon, 40).lower
    often = (1 - failing) * factor / (1 + factor)
    rarely = 1 - failing - often
    return (failing, often, rarely, Fraction(0)), (Fraction(0), rarely, often, failing)


def best_gain(menu, allows, gain, *, depth):
    """The largest, over all analysts, of the sum over transcripts of gain(p, q, counts).

    `menu` lists losses; `counts` says how often each was charged; `allows(counts)` is the filter.
    gain(p, q, counts) has to be homogeneous in the two probabilities p and q of the transcript.
    """

    @lru_cache(None)
    def value(p, q, counts):
        assert value.cache_info().currsize < MOST, "the filter lets far too much through"
        found = gain(p, q, counts)
        for i, loss in enumerate(menu if sum(counts) < depth else ()):
            more = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
            if allows(more):
                for first, second in laws(loss):
                    steps = zip(first, second, strict=True)
                    found = max(found, sum(scaled(p * a, q * b, more) for a, b in steps))
        return found

    def scaled(p, q, counts):
        if q == 0:
            return p * value(Fraction(1), q, counts) if p else 0
        return q * value(p / q, Fraction(1), counts)

    return value(Fraction(1), Fraction(1), (0,) * len(menu))


def follows(rule, menu):
    """The filter of a rule, as a function of how often each loss was charged."""
    costs = [prices(loss, rule.currencies) for loss in menu]

    @lru_cache(None)
    def allows(counts):
        totals = [
            None if any(n and one is None for n, one in zip(counts, each, strict=True))
            else sum(n * one for n, one in zip(counts, each, strict=True) if n)
            for each in zip(*costs, strict=True)
        ]  # fmt: skip
        return rule.holds([t if t is None else Fraction(t) for t in totals])

    return allows


def excess(factor):
    """The gain (p - factor q)+, whose best sum is the least delta at epsilon = log factor."""
    return lambda p, q, counts: max(p - factor * q, Fraction(0))


def play(analyst, make):
    """The two laws of the transcripts of one analyst with a real budget: {transcript: (p, q)}.

    `analyst` maps a transcript, a tuple of outputs, to a PairLoss or to None. What the budget
    refuses ends the transcript.
    """
    finished = {}

    def walk(transcript, p, q, charged):
        budget, loss = make(), analyst(transcript)
        for each in charged:
            budget.charge(each)
        if loss is None or not budget.affords(loss):
            finished[transcript] = (p, q)
            return
        for i, (a, b) in enumerate(zip(loss.first, loss.second, strict=True)):
            walk((*transcript, i), p * a, q * b, [*charged, loss])

    walk((), Fraction(1), Fraction(1), [])
    return finished

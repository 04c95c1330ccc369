"""Marginals: tables of counts over a few of many columns each, published together.

The marginal of a set B of columns counts people by their keys in B. Marginals overlap, and noise on
one says something of others. Here all of them are written in one basis that tells apart what they
share (residuals; Xiao, He, Zhang and Kifer 2023), without ever building the whole domain.

Residuals. Let P = I - 11'/n be the projection of n numbers on those that sum to 0. The residual of
a set A is r_A = P x ... x P applied to the marginal x_A, along each of its columns. Every marginal
is the sum over A in B of r_A, spread evenly over the other columns of B (each cell has r_A divided
by the product of their sizes), and the parts are orthogonal.

Measured, as whole numbers, for each A in the downward closure of what is wanted: x_A with a small
matrix of whole numbers along each column: "cells" (I), "difference" ((1, -1), for two keys) or
"centred" (n I - 11'). Two keys: difference. More: cells for pure privacy, centred for
zero-concentrated.

Theorem. Let x_A move by |d_A|_1 <= sensitivity for neighbours, and let S_A be the product over A of
the L1 norms of the columns of the matrices: 1 for cells and difference. Two-sided geometric noise
at rate share_A/(sensitivity S_A) on the numbers of A is share_A-private. Let Q_A be the product of
the squared L2 norms: 1 for difference, n (n - 1) for centred. Discrete Gaussian noise with
sigma^2 = Q_A sensitivity^2/(2 share_A) is share_A-zero-concentrated private. Over all A the shares
add up to epsilon, or rho.
Proof. The columns of a Kronecker product have the product of the norms, |C d| <= |d|_1 max |column|
for either norm, and then `discreet.mechanisms.geometric` and `.gaussian`. Numbers are cut at 2^61,
which moves neighbours no further apart.
It is met by a person who moves one cell by the whole sensitivity: all columns have the same norm.

Reading. From the numbers of A follows an estimate of r_A, with covariance v f P x ... x P, where v
is the variance of the noise and f the product over A of 1 (cells), 1/2 (difference), 1/n^2
(centred).
Where columns of A are measured as cells and summed over, an estimate of r_A' for A' in A follows as
well, with a factor n for each such column. Estimates of different residuals are uncorrelated, those
of one residual have the same covariance but for a factor, so that least squares over everything
is the mean with weights 1/(v f): a closed form. A cell of the marginal of B has the variance
sum over A in B of s_A^2 prod_A (1 - 1/n) / prod_(B - A) n^2, with s_A^2 = 1/sum of 1/(v f).

Shares. See `discreet.publish.residuals`.
Tested by tests/publish/test_marginals.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import BudgetExceededError, ParameterError
from discreet.exact import Exact, probability, whole
from discreet.mechanisms.base import integer_array, plain_array
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric, sensitivity_of
from discreet.mechanisms.sums import geometric_variance, geometric_width
from discreet.noise.source import Source, system_source
from discreet.privacy.guarantee import ZCDP, Neighbours, PureDP, epsilon_of, neighbours_of
from discreet.publish.agreeing import agreeing
from discreet.publish.measured import Array, LinearAnswer
from discreet.publish.residuals import (
    Columns,
    Forms,
    centred,
    closure_of,
    shares_of,
    spread_of,
)

__all__ = ["Marginals", "marginal_counts", "measured_by", "tabulated"]

MOST = 1_000_000
"""Cells of one marginal at most."""
MOST_SETS = 5_000
"""Marginals at most, with all that follow from them."""


def tabulated(
    records: Array, sizes: Sequence[int], wanted: Iterable[Columns]
) -> dict[Columns, Array]:
    """The exact marginals of records: a row for each person, a key below `sizes` in each column.

    >>> tabulated(np.array([[0, 1], [0, 1], [1, 0]]), (2, 2), [(0, 1)])[0, 1].tolist()
    [[0, 2], [1, 0]]
    """
    found = {}
    for columns in wanted:
        shape = tuple(sizes[i] for i in columns)
        places = (
            np.ravel_multi_index([records[:, i] for i in columns], shape)
            if columns
            else (np.zeros(len(records), dtype=np.int64))
        )
        found[columns] = np.bincount(places, minlength=math.prod(shape)).reshape(shape)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Marginals:
    """Noisy numbers about marginals, and everything that can be read from them: public.

    Attributes:
        sizes: how many keys each column has.
        wanted: the marginals that were asked for.
        guarantee: what is promised to each person.
        numbers: for each measured set its noisy numbers.
        scales: for each of them the variance of its noise: exactly the rate of geometric noise, or
            sigma^2 of Gaussian noise.
    """

    sizes: tuple[int, ...]
    wanted: tuple[Columns, ...]
    guarantee: PureDP | ZCDP
    numbers: Mapping[Columns, Array]
    scales: Mapping[Columns, Fraction]

    def __repr__(self) -> str:
        return f"<marginals: {len(self.wanted)} of {len(self.sizes)} columns, {self.guarantee}>"

    @cached_property
    def _forms(self) -> Forms:
        return Forms(self.sizes, isinstance(self.guarantee, PureDP))

    def _variance(self, columns: Columns) -> float:
        """Of the noise on a number: exact, or sigma^2, which is never less."""
        scale = self.scales[columns]
        return geometric_variance(scale) if self._forms.pure else float(scale)

    @cached_property
    def _sources(self) -> dict[Columns, dict[Columns, float]]:
        """For every residual the measured sets that tell of it, with their weights."""
        found: dict[Columns, dict[Columns, float]] = {one: {} for one in closure_of(self.wanted)}
        for columns in self.numbers:
            for part in self._forms.told(columns):
                noise = self._variance(columns) * self._forms.factor(columns, part)
                found[part][columns] = 1 / noise
        return found

    @cached_property
    def _trust(self) -> dict[Columns, float]:
        """1/s_A^2."""
        return {part: sum(sources.values()) for part, sources in self._sources.items()}

    def residual_variance(self, columns: Columns) -> float:
        """s_A^2."""
        return 1 / self._trust[columns]

    @cached_property
    def residuals(self) -> dict[Columns, Array]:
        """The residuals r_A, by least squares over everything that was measured."""
        found = {}
        for part, sources in self._sources.items():
            found[part] = sum(
                weight / self._trust[part] * self._forms.estimate(self.numbers[one], one, part)
                for one, weight in sources.items()
            )
        return found  # type: ignore[return-value]

    def _set(self, columns: Sequence[int]) -> Columns:
        found = tuple(sorted(whole(i, name="column", at_least=0) for i in columns))
        if found not in self._sources:
            problem = "must be a marginal that was published, or one of fewer of its columns"
            raise ParameterError("columns", found, problem)
        return found

    def raw(self, columns: Sequence[int]) -> Array:
        """The unbiased marginal of some columns; marginals agree with each other."""
        return self._joined(self._set(columns), self.residuals)

    def _joined(self, columns: Columns, residuals: Mapping[Columns, Array]) -> Array:
        found = np.zeros([self.sizes[i] for i in columns])
        for part in closure_of([columns]):
            shape = [self.sizes[i] if i in part else 1 for i in columns]
            others = math.prod(self.sizes[i] for i in columns if i not in part)
            found += residuals[part].reshape(shape) / others
        return found

    def variance(self, columns: Sequence[int]) -> float:
        """Of each cell of a raw marginal (with Gaussian noise: at most): the closed form."""
        own = self._set(columns)
        return sum(
            self.residual_variance(part) * spread_of(self.sizes, own, part)
            for part in closure_of([own])
        )

    def width(self, columns: Sequence[int], risk: Exact) -> float:
        """How far a cell of a raw marginal is from the truth, but for this risk: alike for all."""
        own = self._set(columns)
        question = np.zeros([self.sizes[i] for i in own])
        question[(0,) * len(own)] = 1
        return self._width(own, question, probability(risk, name="risk"))

    def _width(self, own: Columns, question: Array, risk: Fraction) -> float:
        """Pure: by the law of the noise. Gaussian: discrete Gaussians are sub-Gaussian."""
        if not self._forms.pure:
            return math.sqrt(2 * self._question_variance(own, question) * math.log(2 / float(risk)))
        parts = list(self._noise(own, question))
        return geometric_width(
            [(w, rate) for w, rate, _ in parts], risk, times=[n for _, _, n in parts]
        )

    def _noise(self, own: Columns, question: Array) -> Iterator[tuple[Array, Fraction, Array]]:
        """The weights of all noise in the raw answer to a question about a marginal.

        With its rate, and how often each weight comes.
        """
        for one, weights in self._weights(own, question).items():
            yield weights.reshape(-1), self.scales[one], np.ones(weights.size, dtype=np.int64)
        everybody = float(self._projected(own, question, ()))
        for rate, (members, each, cells) in self._apart.items():
            others = ~members[:, list(own)].any(axis=1)
            yield everybody * each[others], rate, cells[others]

    def _weights(self, own: Columns, question: Array) -> dict[Columns, Array]:
        """The weights of the noisy numbers in the raw answer to a question about a marginal.

        Only those of sets that have a column of it: the others (`_apart`) tell of everybody alone.
        """
        weights: dict[Columns, Array] = {}
        for part in closure_of([own]):
            shared = self._projected(own, question, part)
            total = self._trust[part]
            for one, weight in self._sources[part].items():
                if not set(one).isdisjoint(own):
                    added = weight / total * self._forms.weights(shared, one, part)
                    weights[one] = weights[one] + added if one in weights else added
        return weights

    @cached_property
    def _apart(self) -> dict[Fraction, tuple[Array, Array, Array]]:
        """The sets that tell how many there are in all, by the rate of their noise.

        Which columns they have, the weight of each of their numbers in that, and how many they are:
        all cells of a set weigh the same.
        """
        sources = self._sources[()]
        total, found = self._trust[()], {}
        for rate in {self.scales[one] for one in sources}:
            sets = [one for one in sources if self.scales[one] == rate]
            members = np.zeros((len(sets), len(self.sizes)), dtype=bool)
            for row, one in enumerate(sets):
                members[row, list(one)] = True
            each = np.array([sources[one] / total for one in sets])
            cells = np.array([self.numbers[one].size for one in sets], dtype=np.int64)
            found[rate] = members, each, cells
        return found

    def _projected(self, own: Columns, question: Array, part: Columns) -> Array:
        """What a question about a marginal asks of one residual."""
        found = question.astype(np.float64)
        for axis, i in reversed(list(enumerate(own))):
            found = centred(found, axis) if i in part else found.mean(axis=axis)
        return found

    def _question_variance(self, own: Columns, question: Array) -> float:
        return sum(
            self.residual_variance(part) * float((self._projected(own, question, part) ** 2).sum())
            for part in closure_of([own])
        )

    def answer(
        self, columns: Sequence[int], question: Any, *, confidence: Exact = 0.95
    ) -> LinearAnswer:
        """A weighted sum of the cells of a marginal, such as the number of people in some of them.

        Args:
            columns: of a published marginal, or fewer of them, rising.
            question: the weight of each cell, as an array like the marginal.
            confidence: of the interval.
        """
        own, level = self._set(columns), probability(confidence, name="confidence")
        asked = np.asarray(question, dtype=np.float64)
        if asked.shape != tuple(self.sizes[i] for i in own):
            raise ParameterError("question", asked.shape, "must have the shape of the marginal")
        raw = float((asked * self.raw(own)).sum())
        width = self._width(own, asked, 1 - level)
        low, high = raw - width, raw + width
        if asked.min(initial=0) >= 0:  # a count is never negative
            low, high = max(low, 0.0), max(high, 0.0)
        value = min(max(float((asked * self.read(own)).sum()), low), high)
        error = math.sqrt(self._question_variance(own, asked))
        return LinearAnswer(value, low, high, float(level), raw, error)

    def read(self, columns: Sequence[int]) -> Array:
        """The marginal without a negative cell; all read marginals agree with each other."""
        return self._joined(self._set(columns), self._obedient)

    @cached_property
    def _obedient(self) -> dict[Columns, Array]:
        """Residuals near to the measured ones whose wanted marginals have no negative cell.

        Nearest by weighted least squares (`discreet.publish.agreeing`); then mixed with the even
        table of the same total, as much as it takes.
        """
        inside = {part for one in self.wanted for part in closure_of([one]) if part != one}
        tops = [one for one in self.wanted if one not in inside]
        penalty = {top: 1 / max(self.variance(top), 1e-300) for top in tops}
        return self._lifted(agreeing(self.sizes, self.residuals, self._trust, penalty), tops)

    def _lifted(self, found: dict[Columns, Array], tops: Sequence[Columns]) -> dict[Columns, Array]:
        total = max(float(found[()]), 0.0)
        mix = 0.0
        for top in tops:
            even = total / math.prod(self.sizes[i] for i in top)
            least = float(self._joined(top, found | {(): np.array(total)}).min())
            if least < 0:
                mix = max(mix, min(1.0, -least / (even - least) * (1 + 1e-9)) if even else 1.0)
        made = {part: (1 - mix) * values for part, values in found.items()}
        made[()] = np.array(total)
        return made


def marginal_counts(  # noqa: PLR0913 - counts, what is wanted, and what is promised to whom
    counts: Mapping[Columns, Array],
    sizes: Sequence[int],
    wanted: Sequence[Sequence[int]],
    *,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Marginals:
    """Publish some marginals of many columns together; those of fewer columns follow.

    Guarantee. Epsilon-differential privacy, or rho-zero-concentrated privacy, for neighbours each
    of whose marginals differ by at most `sensitivity` in the sum of differences.
    Proof. The theorem of this module.
    Tested by tests/publish/test_marginals.py

    Args:
        counts: the exact marginals, as arrays: at least one that holds each wanted set.
        sizes: how many keys each column has, two at least.
        wanted: sets of columns, by their numbers.
        epsilon: the privacy parameter of everything together; or
        rho: that of zero-concentrated privacy, which is far better for many marginals.
        sensitivity: how far each marginal of neighbours can be apart.
        neighbours: the relation under which that holds.
        source: for tests; the default is the system's randomness.

    >>> people = np.array([[0, 2, 1], [1, 0, 1], [1, 1, 0]])
    >>> exact = tabulated(people, (2, 3, 2), [(0, 1), (1, 2)])
    >>> made = marginal_counts(exact, (2, 3, 2), [(0, 1), (1, 2)], epsilon=1)
    >>> bool(np.allclose(made.raw((0, 1)).sum(axis=0), made.raw((1, 2)).sum(axis=1)))
    True
    """
    domain = tuple(whole(n, name="sizes", at_least=2, at_most=MOST) for n in sizes)
    sets = _sets(wanted, domain)
    how: dict[str, Any] = {"sensitivity": sensitivity, "neighbours": neighbours}
    kept, chosen = measured_by(domain, sets, epsilon=epsilon, rho=rho, **how)
    forms, words = Forms(domain, rho is None), system_source() if source is None else source
    numbers, scales = {}, {}
    for columns, mechanism in chosen.items():
        exact = forms.exact(_marginal(counts, columns, domain), columns)
        noisy = mechanism.release(exact, source=words)
        noisy.setflags(write=False)
        numbers[columns] = noisy
        scales[columns] = (
            mechanism.rate if isinstance(mechanism, Geometric) else (mechanism.sigma_squared)
        )
    return Marginals(domain, sets, kept, numbers, scales)


def measured_by(
    sizes: Sequence[int],
    wanted: Sequence[Sequence[int]],
    *,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
) -> tuple[PureDP | ZCDP, dict[Columns, Geometric | Gaussian]]:
    """The noise of each set that is measured, from public facts; what cannot be is refused here.

    The arguments are those of `marginal_counts`.
    """
    domain, pure = tuple(sizes), rho is None
    sets = _sets(wanted, domain)
    if pure == (epsilon is None):
        raise ParameterError("epsilon", epsilon, "or rho must be said, and not both")
    relation, moved = neighbours_of(neighbours), sensitivity_of(sensitivity)
    kept = PureDP(epsilon_of(epsilon), relation) if epsilon is not None else ZCDP(rho, relation)  # type: ignore[arg-type]
    whole_share = kept.epsilon if isinstance(kept, PureDP) else kept.rho
    forms, found, left = Forms(domain, pure), {}, Fraction(1)
    for columns, share in shares_of(domain, sets, pure=pure).items():
        left -= share
        if left < 0:  # whatever the shares are, no more than all is spent
            problem = "the shares of the marginals add up to more than all"
            raise BudgetExceededError(problem, asked=share, left=left + share, could=None)
        how: dict[str, Any] = {"sensitivity": moved, "neighbours": relation}
        how |= {"epsilon" if pure else "rho": share * whole_share, "changes": forms.norm(columns)}
        found[columns] = Geometric(**how) if pure else Gaussian(**how)
        if not _fits(found[columns]):
            name, value = ("epsilon", epsilon) if pure else ("rho", rho)
            raise ParameterError(name, value, "is too small here: the noise does not fit 64 bits")
    return kept, found


def _fits(mechanism: Geometric | Gaussian) -> bool:
    """Whether noise leaves 2^62 with a chance below 2 e^-128; numbers are cut at 2^61."""
    if isinstance(mechanism, Geometric):
        return mechanism.rate >= Fraction(1, 1 << 55)
    return mechanism.sigma_squared <= 1 << 116


def _sets(wanted: Sequence[Sequence[int]], sizes: tuple[int, ...]) -> tuple[Columns, ...]:
    last = len(sizes) - 1
    found = []
    for columns in wanted:
        one = tuple(sorted(whole(i, name="column", at_least=0, at_most=last) for i in columns))
        if not one or len(set(one)) < len(one):
            raise ParameterError("wanted", list(columns), "must be sets of different columns")
        if math.prod(sizes[i] for i in one) > MOST:
            raise ParameterError("wanted", one, f"must have at most {MOST:,} cells")
        found.append(one)
    if not found or len(closure_of(found)) > MOST_SETS:
        problem = f"must be some marginals, with all that follow at most {MOST_SETS:,}"
        raise ParameterError("wanted", len(found), problem)
    return tuple(dict.fromkeys(found))


def _marginal(counts: Mapping[Columns, Array], columns: Columns, sizes: tuple[int, ...]) -> Array:
    """An exact marginal, from the first that holds it: the only function that sees counts."""
    for one, values in counts.items():
        if set(columns) <= set(one):
            cells = integer_array(plain_array(np.asarray(values)))
            if cells.shape != tuple(sizes[i] for i in one) or tuple(sorted(one)) != tuple(one):
                raise ParameterError("counts", one, "must be arrays over rising columns")
            inside = np.clip(cells, 0, (1 << 62) // cells.size)
            return np.asarray(
                inside.sum(axis=tuple(k for k, i in enumerate(one) if i not in columns))
            )
    raise ParameterError("counts", columns, "must hold every marginal that is wanted")

"""Which algorithm: chosen from public facts alone, and explained in words.

The shape of the cells, epsilon and the sensitivity are public; no algorithm is chosen by looking at
the data. The rule:

1. Where a question about half of the cells (along every axis) has no more noise from single cells
   than from a hierarchy (HB), both computed exactly, single cells are published: `identity`.
2. Otherwise the default, the adaptive tree, if this installation has it; else `pruned` on one axis
   and `quadtree` on more.

`ALGORITHMS` says where each is made; another is plugged in by one line there.
DAWA (Li, Hay and Miklau 2014) is left out on purpose: the noise of its first stage, as published
and implemented, is below what the usual argument asks for, and no proof of our own was found.
Tested by tests/publish/test_choosing.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, shown, whole
from discreet.mechanisms.sums import geometric_variance
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours
from discreet.publish.blocks import blocks_of
from discreet.publish.levels import Hierarchy, hb_branching
from discreet.publish.measured import Array, Noisy, Terms

__all__ = ["ALGORITHMS", "DEFAULT", "Choice", "choose", "published"]

DEFAULT = "tree"
MOST_COMPARED = 1 << 13
"""Above this many cells single cells are never enough."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """Where an algorithm is made, on how many axes it works, and what it is in a few words."""

    module: str
    function: str
    axes: tuple[int, ...]
    words: str

    @property
    def is_here(self) -> bool:
        """Whether this installation has it."""
        return find_spec(self.module) is not None

    def load(self) -> Callable[..., Any]:
        """The measuring function."""
        found: Callable[..., Any] = getattr(import_module(self.module), self.function)
        return found


_ANY = (1, 2, 3)
_LEVELS, _GRIDS = "discreet.publish.levels", "discreet.publish.grids"
ALGORITHMS = {
    "tree": Algorithm(
        "discreet.publish.histogram",
        "adaptive_tree",
        _ANY,
        "the adaptive tree measures finer where more people are, and is read by its posterior",
    ),
    "identity": Algorithm(_LEVELS, "identity", _ANY, "every cell has noise of its own"),
    "uniform": Algorithm(_GRIDS, "uniform", _ANY, "one number is spread evenly over all cells"),
    "hierarchy": Algorithm(_LEVELS, "hierarchy", _ANY, "equal shares for all levels of blocks"),
    "wavelet": Algorithm("discreet.publish.wavelets", "wavelet", _ANY, "differences of halves"),
    "pruned": Algorithm(
        "discreet.publish.pruning",
        "pruned",
        _ANY,
        "levels of blocks are measured, and what looks flat is read as flat",
    ),
    "quadtree": Algorithm(
        _LEVELS, "quadtree", _ANY, "halved blocks are measured, the finer the more exactly"
    ),
    "uniform grid": Algorithm(_GRIDS, "uniform_grid", (2,), "one grid of squares"),
    "adaptive grid": Algorithm(_GRIDS, "adaptive_grid", (2,), "a grid, finer where many are"),
    "privtree": Algorithm(
        "discreet.publish.privtrees", "privtree", _ANY, "a partition, finer where many are"
    ),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The name of an algorithm, and why it was chosen."""

    algorithm: str
    because: str

    def __str__(self) -> str:
        return f"{self.algorithm}: {self.because}"


def choose(
    shape: tuple[int, ...], *, epsilon: Exact, sensitivity: Exact = 1, algorithm: str = "auto"
) -> Choice:
    """The algorithm for cells of this shape: the one that was named, or by the rule of this module.

    >>> print(choose((3,), epsilon=1))
    identity: of 3 cells, half have a standard error of 1.9 from single cells and of 2.8 from a \
hierarchy at epsilon 1 and sensitivity 1; single cells are no worse, and simpler
    """
    sides = tuple(whole(size, name="shape", at_least=1) for size in shape)
    terms = Terms(epsilon, sensitivity)
    if algorithm != "auto":
        return Choice(_named(algorithm, len(sides)), "it was asked for")
    single, joint, words = _compared(sides, terms)
    if single <= joint:
        return Choice("identity", f"{words}; single cells are no worse, and simpler")
    fallback = "pruned" if len(sides) == 1 else "quadtree"
    name = DEFAULT if ALGORITHMS[DEFAULT].is_here else fallback
    return Choice(_named(name, len(sides)), f"{words}; {ALGORITHMS[name].words}")


def _named(name: object, axes: int) -> str:
    if not isinstance(name, str) or name not in ALGORITHMS:
        known = ", ".join(["auto", *ALGORITHMS])
        raise ParameterError("algorithm", name, f"must be one of {known}")
    if axes not in ALGORITHMS[name].axes:
        raise ParameterError("algorithm", name, f"does not work on {axes} axes")
    if not ALGORITHMS[name].is_here:
        raise UnsupportedError(f"this installation has no algorithm {name!r}")
    return name


def _compared(shape: tuple[int, ...], terms: Terms) -> tuple[float, float, str]:
    """Standard errors of half of the cells, from single ones and from HB, and the same in words."""
    size = math.prod(shape)
    facts = f"at epsilon {shown(terms.epsilon)} and sensitivity {terms.sensitivity}"
    if size > MOST_COMPARED:
        return 1.0, 0.0, f"{size:,} cells {facts} are too many for noise on single ones to add up"
    half = tuple((0, -(-side // 2)) for side in shape)
    number = math.prod(high for _, high in half)
    single = math.sqrt(number * geometric_variance(terms.unit))
    joint = _planned(shape, terms)._ends(half)[0].standard_error  # noqa: SLF001
    words = (
        f"of {size:,} cells, half have a standard error of {single:.1f} from single cells and of "
        f"{joint:.1f} from a hierarchy {facts}"
    )
    return single, joint, words


def _planned(shape: tuple[int, ...], terms: Terms) -> Hierarchy:
    """The hierarchy of HB before anything is measured: numbers 0, the noise as it will be."""
    blocks = blocks_of(shape, hb_branching(shape))
    used = len(blocks.shapes) if len(shape) == 1 else max(len(blocks.shapes) - 1, 1)
    rate = terms.unit / used
    levels = [Noisy(np.zeros(sides, dtype=np.int64), rate) for sides in blocks.shapes[:used]]
    missing = [None] * (len(blocks.shapes) - used)
    return Hierarchy("planned", terms, shape, blocks, (*levels, *missing))


def published(
    cells: Array,
    *,
    epsilon: Exact,
    algorithm: str = "auto",
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Any:
    """Publish cells by the algorithm that `choose` chooses for their shape.

    Guarantee. That of the algorithm: epsilon-differential privacy for neighbours whose cells differ
    by at most `sensitivity` in the sum of differences. The choice looks at the shape only.
    Tested by tests/publish/test_choosing.py
    """
    shape = tuple(np.shape(cells))
    choice = choose(shape, epsilon=epsilon, sensitivity=sensitivity, algorithm=algorithm)
    measure = ALGORITHMS[choice.algorithm].load()
    return measure(
        cells, epsilon=epsilon, sensitivity=sensitivity, neighbours=neighbours, source=source
    )

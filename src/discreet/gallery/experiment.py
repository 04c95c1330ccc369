"""What an experiment of the gallery is: numbers beside the literature's, and figures.

Every number comes from the exact law of a mechanism where there is one, and otherwise from draws
of the mechanism itself. A number that a source states stands beside ours, with the source's name;
where the two differ, the fact says why.
Tested by tests/gallery/test_experiment.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Effort", "Experiment", "Fact", "Figure", "Found", "Number"]

Number = int | float | str
"""A number, or words where there is none."""
Step = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Fact:
    """One number that an experiment found.

    Attributes:
        name: what it is, in words.
        ours: the number, rounded as far as it is meant.
        theirs: what a source says.
        source: which source.
        remark: why the two differ, or what to see.
    """

    name: str
    ours: Number
    theirs: Number | None = None
    source: str = ""
    remark: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        told = {"name": self.name, "ours": self.ours, "theirs": self.theirs}
        return {**told, "source": self.source, "remark": self.remark}


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, with a caption that says what to see.

    Attributes:
        name: of its files.
        chart: an altair chart; `discreet.gallery.charts` gives all of them one look.
        caption: what to see, in one or two sentences.
    """

    name: str
    chart: Any
    caption: str

    def save(self, folder: Path) -> list[Path]:
        """Write it as PNG and SVG."""
        folder.mkdir(parents=True, exist_ok=True)
        made = []
        for ending, options in ((".png", {"scale_factor": 2}), (".svg", {})):
            path = folder / f"{self.name}{ending}"
            self.chart.save(str(path), format=ending[1:], **options)
            made.append(path)
        return made


@dataclass(frozen=True, slots=True)
class Found:
    """What an experiment found.

    Attributes:
        facts: numbers, in the order in which they are told.
        figures: pictures.
        notes: what a newcomer should read beside them, a line each.
    """

    facts: tuple[Fact, ...]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Fact:
        """The fact of this name."""
        for fact in self.facts:
            if fact.name == name:
                return fact
        raise KeyError(name)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)


def _silent(_what: str, _done: int, _total: int) -> None:
    """Show no progress."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much work an experiment may do, and whom it tells how far it is.

    Attributes:
        fast: whether fewer repetitions will do.
        step: called with what is being done, how much of it is done, and how much there is.
    """

    fast: bool = False
    step: Step = field(default=_silent)

    def of(self, full: int, fast: int) -> int:
        """A number of repetitions: the full one, or the one of a fast run."""
        return fast if self.fast else full

    def each(self, what: str, total: int) -> Iterator[int]:
        """Count from 0, telling how far it is."""
        for i in range(total):
            self.step(what, i, total)
            yield i
        self.step(what, total, total)


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that can be run.

    Attributes:
        name: the word on the command line.
        title: its heading.
        about: what it shows, in one sentence.
        run: does it.
    """

    name: str
    title: str
    about: str
    run: Callable[[Effort], Found]

"""What is sent to the API and comes back, as far as it has a form of its own.

Numbers of privacy may be text, so that they stay exact: "0.1" is one tenth, and so is 0.1.
Tested by tests/server/api/test_questions.py
"""

from __future__ import annotations

import math
from datetime import date
from typing import Annotated, Any, Literal, Self

from fastapi import Header
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, model_validator

__all__ = [
    "Ask", "Boxes", "Derive", "Errors", "KeyHeader", "KeyWanted", "NewPassword", "Page",
    "PersonWanted", "PolicyText", "Publication", "Publish", "Question", "Stretch", "Told", "Words",
]  # fmt: skip

Number = Annotated[str, Field(max_length=60)] | StrictInt | StrictFloat
"""Text of any length must not pass for a number: what is text is limited as text."""
Name = Annotated[str, Field(max_length=60, pattern=r"^[A-Za-z0-9_-]+$")]
Words = Annotated[str, Field(max_length=200)]
KeyHeader = Annotated[str | None, Header(max_length=55, pattern=r"^[0-9A-Za-z_-]+$")]
"""Idempotency-Key, which names an asking like `key` in a body."""
MOST_CELLS = 1 << 20
"""So many cells are published over the network, at most: the time that it takes is bounded."""
MOST_REBINNED = 400
"""So many wider cells are made of a publication at once, each with its interval."""


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Question(_Form):
    """A question, and what it may cost."""

    question: Annotated[
        str,
        Field(
            min_length=1,
            max_length=20_000,
            description="The question, in SQL.",
            examples=["SELECT department, COUNT(*) AS n FROM payroll GROUP BY department"],
        ),
    ]
    dataset: Name | None = None
    block: Name | None = None
    epsilon: Annotated[Number | None, Field(examples=["0.5"])] = None
    delta: Number | None = None
    rho: Number | None = None
    within: Number | None = None
    rows: Number | None = None
    column: Words | None = None
    confidence: Number | None = None
    search_again: Annotated[
        bool, Field(description="Find, and pay, again what has to be found and was found before.")
    ] = False

    def price(self) -> dict[str, Any]:
        """What is said about the price, without `within`."""
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}

    def accuracy(self) -> dict[str, Any]:
        """What is said about the accuracy instead."""
        return {"within": self.within, "rows": self.rows, "column": self.column}

    def where(self) -> dict[str, Any]:
        """Dataset and block."""
        return {"dataset": self.dataset, "block": self.block}


class Ask(Question):
    """A question that is to be charged and answered."""

    key: Annotated[
        str | None,
        Field(max_length=55, pattern=r"^[0-9A-Za-z_-]+$", description="Names this asking."),
    ] = None
    deadline: Annotated[float | None, Field(gt=0, le=3600)] = None
    with_what_is_left: bool = False


class Publication(_Form):
    """Counts that could be published: what the axes are, from where to where, how fine."""

    columns: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=500)]],
        Field(min_length=1, max_length=3, examples=[["salary"]]),
    ]
    bins: Annotated[
        list[Annotated[StrictInt, Field(ge=1, le=MOST_CELLS)]], Field(min_length=1, max_length=3)
    ]
    ranges: Annotated[list[tuple[Number, Number]], Field(min_length=1, max_length=3)]
    where: Annotated[str, Field(min_length=1, max_length=5_000)] | None = None
    epsilon: Number
    dataset: Name | None = None
    block: Name | None = None

    @model_validator(mode="after")
    def _few(self) -> Self:
        if math.prod(self.bins) > MOST_CELLS:
            raise ValueError(f"a server publishes at most {MOST_CELLS:,} cells")
        return self

    def how(self) -> dict[str, Any]:
        """What is said of the axes and the price."""
        return {
            "bins": self.bins, "ranges": self.ranges, "where": self.where, "epsilon": self.epsilon,
        }  # fmt: skip

    def at(self) -> dict[str, Any]:
        """Dataset and block."""
        return {"dataset": self.dataset, "block": self.block}


class Publish(Publication):
    """Counts that are to be charged and published."""

    key: Annotated[
        str | None,
        Field(max_length=55, pattern=r"^[0-9A-Za-z_-]+$", description="Names this asking."),
    ] = None
    deadline: Annotated[float | None, Field(gt=0, le=3600)] = None


class Boxes(_Form):
    """What is asked of a publication: rectangles, a span for each axis; quantiles; wider cells."""

    boxes: Annotated[
        list[Annotated[list[tuple[Number, Number]], Field(min_length=1, max_length=3)]],
        Field(max_length=200),
    ] = []
    quantiles: Annotated[list[Number], Field(max_length=100)] = []
    rebin: Annotated[
        list[Annotated[StrictInt, Field(ge=1, le=MOST_REBINNED)]] | None,
        Field(min_length=1, max_length=3, description="How many cells along each axis."),
    ] = None
    confidence: Number | None = None

    @model_validator(mode="after")
    def _few(self) -> Self:
        if math.prod(self.rebin or ()) > MOST_REBINNED:
            raise ValueError(f"at most {MOST_REBINNED} wider cells at once")
        return self


class Errors(Question):
    """A question, and the prices at which its error is wanted: epsilons, or rhos."""

    epsilons: Annotated[list[Number], Field(max_length=64)] = []
    rhos: Annotated[list[Number], Field(max_length=64)] = []


class Page(_Form):
    """Which stored answers: so many, from where the page before ended (its `next`)."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: Annotated[str | None, Field(pattern=r"^[0-9A-Za-z_-]{1,64}$")] = None


class Stretch(_Form):
    """Which entries of the ledger: so many behind one, or the last ones before one."""

    after: Annotated[int, Field(ge=0, le=2**62)] = 0
    before: Annotated[int | None, Field(ge=0, le=2**62)] = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 200


class Derive(_Form):
    """What to compute from a stored release: a roll-up, or a range of a histogram."""

    by: Annotated[list[Words], Field(max_length=20)] | None = None
    column: Words | None = None
    low: Number | None = None
    high: Number | None = None
    share: bool = False
    columns: Annotated[list[Words], Field(max_length=200)] | None = None


class PersonWanted(_Form):
    """Somebody who is to be let in."""

    name: Name
    role: Literal["owner", "analyst", "auditor"]
    password: Annotated[str, Field(min_length=10, max_length=200)] | None = None
    datasets: Annotated[list[Name], Field(max_length=100)] | None = None
    expires: date | None = None


class KeyWanted(_Form):
    """A key that is to be made."""

    person: Name
    days: Annotated[int, Field(ge=1, le=366)] = 90
    label: Words = ""
    datasets: Annotated[list[Name], Field(max_length=100)] | None = None


class NewPassword(_Form):
    """A password instead of the one before."""

    password: Annotated[str, Field(min_length=10, max_length=200)]


class PolicyText(_Form):
    """A policy, and what the owner says about its changes."""

    text: Annotated[str, Field(max_length=60_000)]
    version: Annotated[int | None, Field(ge=0, le=2**62)] = None
    new_people: Annotated[list[Name], Field(max_length=100)] = []
    more_budget: Annotated[list[Words], Field(max_length=100)] = []
    same_data: Annotated[list[Words], Field(max_length=100)] = []
    other_unit: Annotated[list[Words], Field(max_length=100)] = []


class Told(BaseModel):
    """A failure."""

    model_config = ConfigDict(extra="allow")
    error: str
    message: str
    fix: str

"""All experiments, by name.

Tested by tests/gallery/test_catalogue.py
"""

from __future__ import annotations

from discreet.errors import ParameterError
from discreet.gallery import (
    budget,
    composition,
    differencing,
    game,
    gwas,
    heights,
    l1_error,
    mean,
    models,
    publish,
    randomized_response,
    salaries,
    truncated,
    variance,
)
from discreet.gallery.experiment import Effort, Experiment, Found
from discreet.query.words import meant

__all__ = ["EXPERIMENTS", "experiment", "run"]

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        variance.EXPERIMENT,
        salaries.EXPERIMENT,
        l1_error.EXPERIMENT,
        differencing.EXPERIMENT,
        truncated.EXPERIMENT,
        randomized_response.EXPERIMENT,
        gwas.EXPERIMENT,
        mean.EXPERIMENT,
        heights.EXPERIMENT,
        composition.EXPERIMENT,
        game.EXPERIMENT,
        models.EXPERIMENT,
        budget.EXPERIMENT,
        publish.EXPERIMENT,
    )
}
"""In the order in which they are best read."""


def experiment(name: str) -> Experiment:
    """An experiment by its name; ParameterError if there is none."""
    if name not in EXPERIMENTS:
        problem = f"must be one of {', '.join(EXPERIMENTS)}{meant(name, EXPERIMENTS)}"
        raise ParameterError("experiment", name, problem)
    return EXPERIMENTS[name]


def run(name: str, *, fast: bool = False) -> Found:
    """Run an experiment.

    Args:
        name: which one.
        fast: with fewer repetitions.
    """
    return experiment(name).run(Effort(fast=fast))

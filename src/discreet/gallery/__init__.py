"""Experiments on the project's own mechanisms and on data that it makes itself.

    >>> from discreet.gallery import run
    >>> run("variance", fast=True)["variance ratio at epsilon 3"].ours
    2.015

`discreet gallery list` names them all; `discreet gallery variance` runs one and saves its figures.
"""

from discreet.gallery.catalogue import EXPERIMENTS, run
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found

__all__ = ["EXPERIMENTS", "Effort", "Experiment", "Fact", "Figure", "Found", "run"]

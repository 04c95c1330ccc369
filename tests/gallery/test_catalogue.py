"""All experiments by name; the long run of them is each one's own test."""

import pytest

from discreet.errors import ParameterError
from discreet.gallery.catalogue import EXPERIMENTS, experiment, run
from discreet.gallery.experiment import Found


def test_names_are_words_and_all_say_what_they_show():
    for name, one in EXPERIMENTS.items():
        assert name == one.name
        assert name.replace("-", "").isalnum()
        assert name.islower()
        assert one.title
        assert one.about.endswith(".")


def test_an_unknown_name_is_refused():
    with pytest.raises(ParameterError, match=r"did you mean 'variance'\?"):
        experiment("varianc")
    assert isinstance(run("variance", fast=True), Found)

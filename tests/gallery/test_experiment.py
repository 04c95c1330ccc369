"""What an experiment is made of."""

import pytest

from discreet.gallery.experiment import Effort, Fact, Figure, Found


class Chart:
    def save(self, path, *, format, **_options):
        from pathlib import Path

        Path(path).write_text(format)


def test_facts_are_found_by_name():
    found = Found((Fact("a", 1), Fact("b", 2.5, 3, "a paper", "why")), ())
    assert found["b"].ours == 2.5
    assert [fact.name for fact in found] == ["a", "b"]
    assert found["b"].to_dict() == {
        "name": "b", "ours": 2.5, "theirs": 3, "source": "a paper", "remark": "why",
    }  # fmt: skip
    with pytest.raises(KeyError, match="c"):
        found["c"]


def test_an_effort_counts_and_tells():
    told = []
    effort = Effort(fast=True, step=lambda *step: told.append(step))
    assert (effort.of(500, 20), Effort().of(500, 20)) == (20, 500)
    assert list(effort.each("draws", 2)) == [0, 1]
    assert told == [("draws", 0, 2), ("draws", 1, 2), ("draws", 2, 2)]
    assert list(Effort().each("quietly", 1)) == [0]


def test_a_figure_is_saved_twice(tmp_path):
    made = Figure("x", Chart(), "See.").save(tmp_path / "new")
    assert [path.name for path in made] == ["x.png", "x.svg"]
    assert [path.read_text() for path in made] == ["png", "svg"]

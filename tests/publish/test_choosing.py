"""The choice: public facts only, in words, and one line to plug in another."""

from pathlib import Path

import numpy as np
import pytest

from discreet import publish
from discreet.errors import ParameterError, UnsupportedError
from discreet.publish import choosing as module
from discreet.publish.choosing import ALGORITHMS, Algorithm, choose, published
from discreet.publish.levels import hierarchy, identity

HERE = [name for name, one in ALGORITHMS.items() if one.is_here and name != "tree"]


@pytest.fixture
def without_the_tree(monkeypatch):
    monkeypatch.setitem(
        ALGORITHMS, "tree", Algorithm("discreet.publish.nowhere", "tree", (1, 2, 3), "")
    )


def test_few_cells_are_published_one_by_one():
    for shape in ((1,), (8,), (2, 3), (4, 4)):
        found = choose(shape, epsilon=1)
        assert found.algorithm == "identity"
        assert "no worse" in str(found)


@pytest.mark.usefixtures("without_the_tree")
def test_many_cells_are_published_in_blocks():
    for size in (1_000, 10**6):
        assert choose((size,), epsilon="0.1").algorithm == "pruned"
    for shape in ((128, 128), (64, 64, 64)):
        assert choose(shape, epsilon="0.1").algorithm == "quadtree"
    words = choose((4096,), epsilon="0.1", sensitivity=2).because
    assert "epsilon 0.1 and sensitivity 2" in words
    assert "4,096 cells" in words


def test_the_compared_errors_are_those_of_the_published_objects():
    for shape in ((100,), (20, 30)):
        single, joint, _ = module._compared(shape, module.Terms(1, 2))
        half = [(0, size // 2) for size in shape]
        cells = np.zeros(shape, dtype=int)
        made = identity(cells, epsilon=1, sensitivity=2), hierarchy(cells, epsilon=1, sensitivity=2)
        assert made[0].rectangle(*half).standard_error == pytest.approx(single)
        assert made[1].rectangle(*half).standard_error == pytest.approx(joint)


def test_another_default_is_plugged_in_by_one_line(monkeypatch):
    one = Algorithm("discreet.publish.levels", "hierarchy", (1, 2, 3), "plugged in")
    monkeypatch.setitem(ALGORITHMS, "tree", one)
    found = choose((4096,), epsilon=1)
    assert found.algorithm == "tree"
    assert "plugged in" in found.because
    assert "hierarchy" in published(np.zeros(4096, dtype=int), epsilon=1).algorithm


@pytest.mark.parametrize("name", HERE)
def test_every_name_publishes(name):
    axes = 2 if 1 not in ALGORITHMS[name].axes else 1
    cells = np.full((6,) * axes, 30)
    made = published(cells, epsilon=2, sensitivity=2, neighbours="replace", algorithm=name)
    assert made.guarantee.epsilon == 2
    assert made.cells().shape == cells.shape
    assert choose(cells.shape, epsilon=2, algorithm=name).because == "it was asked for"


@pytest.mark.usefixtures("without_the_tree")
def test_refusals_are_in_words():
    with pytest.raises(ParameterError, match="must be one of auto, tree"):
        choose((4,), epsilon=1, algorithm="dawa")
    with pytest.raises(ParameterError, match="does not work on 1 axes"):
        choose((4,), epsilon=1, algorithm="adaptive grid")
    with pytest.raises(UnsupportedError, match="no algorithm 'tree'"):
        choose((4,), epsilon=1, algorithm="tree")
    with pytest.raises(ParameterError, match="shape"):
        choose((0,), epsilon=1)


def test_no_public_name_is_that_of_a_module():
    """Else it would depend on what was imported before which of the two it is."""
    folder = Path(publish.__file__).parent
    modules = {path.stem for path in folder.iterdir() if path.stem != "__init__"}
    assert not modules & set(publish.__all__)


def test_public_names_are_there():
    for name in publish.__all__:
        assert getattr(publish, name) is not None
    assert set(dir(publish)) == set(publish.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        publish.nothing  # noqa: B018

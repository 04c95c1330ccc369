import json

import numpy as np
import pytest
from tests.curator.test_published import published

from discreet.errors import UnsupportedError
from discreet.query.cells import Axis


@pytest.fixture
def grid():
    counts = np.outer([1, 2, 3, 4], [10, 20, 30, 40])
    return published(counts, Axis("x", 0, 4, 4), Axis("y", -2, 2, 4), where="z > 1")


def test_every_cell_is_drawn_with_its_count(grid, tmp_path):
    chart = grid.plot(tmp_path / "grid.svg")
    told = json.loads(chart.to_json())
    (points,) = told["datasets"].values() if "datasets" in told else [told["data"]["values"]]
    assert len(points) == 16
    assert sum(point["n"] for point in points) == pytest.approx(1000, abs=20)
    assert {point["x"] for point in points} == {0, 1, 2, 3}
    assert "where z > 1" in json.dumps(told["title"])
    assert (tmp_path / "grid.svg").read_text().startswith("<svg")


def test_years_are_written_as_years_and_the_legend_has_marks():
    counts = np.full((3, 2), 50)
    grid = published(counts, Axis("year", 2021, 2024, 3), Axis("pay", "0.5", 100_000, 2))
    told = json.loads(grid.plot().to_json())["encoding"]
    assert told["x"]["axis"] == {"format": "~f", "tickMinStep": 1}
    assert told["y"]["axis"] == {"format": ",~f"}
    assert told["color"]["legend"]["values"][:2] == [0, 1]


def test_many_cells_are_drawn_as_fewer():
    fine = published(np.ones((80, 2), dtype=int), Axis("x", 0, 80, 80), Axis("y", 0, 2, 2))
    told = json.loads(fine.release.plot().to_json())
    (points,) = told["datasets"].values() if "datasets" in told else [told["data"]["values"]]
    assert len(points) == 64 * 2


def test_three_axes_have_no_picture():
    cube = published(np.ones((2, 2, 2), dtype=int), *(Axis(c, 0, 2, 2) for c in "xyz"))
    with pytest.raises(UnsupportedError, match="no picture"):
        cube.plot()


def test_one_axis_is_drawn_as_bars():
    assert "bar" in json.dumps(published().plot().to_dict())

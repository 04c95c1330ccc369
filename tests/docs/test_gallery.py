"""The gallery's pages: one for each experiment, with its figures, its command and its notebook."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from discreet.gallery import EXPERIMENTS

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
_spec = importlib.util.spec_from_file_location("notebooks", GALLERY.parent / "notebooks.py")
notebooks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(notebooks)


def test_every_experiment_has_a_page_and_every_page_an_experiment():
    assert {page.stem for page in notebooks.pages()} == set(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_page_tells_its_command_and_shows_figures_that_are_there(name):
    text = (GALLERY / f"{name}.md").read_text(encoding="utf-8")
    assert f"discreet gallery {name}" in text
    figures = re.findall(r"```\{figure\} (figures/[\w.-]+\.svg)", text)
    assert figures
    for file in figures:
        assert (GALLERY / file).read_text(encoding="utf-8").startswith("<svg")
    index = (GALLERY / "index.md").read_text(encoding="utf-8")
    assert f"\n{name}\n" in index


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_notebook_is_its_page(name):
    """Write them anew with `python docs/notebooks.py`; the page's examples run in test_examples."""
    file = GALLERY / "notebooks" / f"{name}.ipynb"
    assert file.read_text(encoding="utf-8") == notebooks.written(GALLERY / f"{name}.md")
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code
    for one in code:
        compile(one, name, "exec")


def test_a_page_becomes_cells():
    made = notebooks.notebook(
        "# A\n\ntext\n\n```pycon\n>>> 1 + 1\n2\n>>> for i in ():\n...     i\n```\n\n"
        "```{figure} figures/x.svg\n:alt: words\n:width: 100%\n\nSee.\n```\n\n"
        "```console\n$ ls\n```\n"
    )
    kinds = [cell["cell_type"] for cell in made["cells"]]
    assert kinds == ["markdown", "code", "code", "markdown", "markdown"]
    assert "".join(made["cells"][1]["source"]) == "1 + 1"
    assert "".join(made["cells"][2]["source"]) == "for i in ():\n    i"
    assert "".join(made["cells"][3]["source"]) == "![words](../figures/x.svg)\n\n*See.*"

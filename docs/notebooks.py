"""Make the gallery's notebooks from its pages: text becomes text, examples become cells.

Run as `python docs/notebooks.py`. Tested by tests/docs/test_gallery.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parent / "gallery"
FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```\s*$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """The pages of the gallery that are experiments."""
    return sorted(page for page in GALLERY.glob("*.md") if page.stem != "index")


def notebook(page: str) -> dict[str, Any]:
    """A page as a notebook, in the form of version 4.5."""
    cells: list[dict[str, Any]] = []
    end = 0
    for found in FENCE.finditer(page):
        _text(cells, page[end : found.start()])
        end = found.end()
        kind, text = found["kind"].strip(), found["text"]
        if kind in ("python", "pycon"):
            for source in _sources(text):
                cells.append(_cell(len(cells), "code", source))
        elif kind.startswith("{figure}"):
            _text(cells, _figure(kind.removeprefix("{figure}").strip(), text))
        elif not kind.startswith("{"):
            _text(cells, found[0])
    _text(cells, page[end:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _sources(text: str) -> list[str]:
    """What a session types, without prompts: a cell ends where an answer was shown."""
    if ">>>" not in text:
        return [text.strip()]
    cells: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith((">>>", "...")):
            cells[-1].append(line[4:])
        elif cells[-1]:
            cells.append([])
    return ["\n".join(cell) for cell in cells if cell]


def _figure(file: str, text: str) -> str:
    lines = text.splitlines()
    alt = next((x.removeprefix(":alt:").strip() for x in lines if x.startswith(":alt:")), "")
    caption = " ".join(line for line in lines if line and not line.startswith(":"))
    return f"![{alt}](../{file})\n\n*{caption}*"


def _text(cells: list[dict[str, Any]], text: str) -> None:
    if text.strip():
        cells.append(_cell(len(cells), "markdown", text.strip()))


def _cell(number: int, kind: str, text: str) -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        made |= {"execution_count": None, "outputs": []}
    return {**made, "source": text.splitlines(keepends=True)}


def written(page: Path) -> str:
    """The text of a page's notebook."""
    return (
        json.dumps(notebook(page.read_text(encoding="utf-8")), indent=1, ensure_ascii=False) + "\n"
    )


def main() -> None:
    """Write all of them."""
    folder = GALLERY / "notebooks"
    folder.mkdir(exist_ok=True)
    for page in pages():
        (folder / f"{page.stem}.ipynb").write_text(written(page), encoding="utf-8")


if __name__ == "__main__":
    main()

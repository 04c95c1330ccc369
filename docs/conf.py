"""How the documentation site is built: offline, with every warning an error."""

from __future__ import annotations

import re
from typing import Any

import discreet

project = "discreet"
author = "the discreet project"
copyright = "the discreet project"
release = version = discreet.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
smartquotes_action = "D"  # dashes; quotes stay as they were typed

html_theme = "furo"
html_title = f"discreet {release}"
html_static_path = ["_static"]
html_css_files = ["discreet.css"]
html_copy_source = False
html_show_sphinx = False

add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 78
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"
autodoc_type_aliases = {
    name: name
    for name in (
        "ArrayLike",
        "Bounds",
        "Category",
        "Counts",
        "Exact",
        "Guarantee",
        "IntegerArray",
        "Loss",
        "LossFunction",
        "Matrix",
        "NDArray",
        "Neighbours",
        "Number",
        "Prior",
        "Score",
        "Scores",
    )
}

# Docstrings here are plain text: |x|, a^k, 2* and words_ mean themselves, `x` is code, an indented
# line is a formula, and a paragraph may open with a lead such as "Guarantee.". The hook below says
# all that in reStructuredText. It runs before napoleon, which reads the Google-style sections.

SECTIONS = {"Args:", "Attributes:", "Returns:", "Raises:", "Yields:"}
LEADS = (
    "Guarantee",
    "Neighbours",
    "Assumes",
    "Proof",
    "Not promised",
    "Contract",
    "Bound",
    "Law",
    "Theorem",
    "Lemma",
    "Variance",
    "Rounding",
    "Identity",
)
LEAD = re.compile(rf"(?P<lead>(?:{'|'.join(LEADS)})(?: \d+)?(?: \([^()]*\))?)\.(?=\s|$)")
TESTED = re.compile(r"Tested by (?P<file>tests/[\w/]+\.py(?:::\w+)?)")
CODE = re.compile(r"(`[^`]+`)")
STRESSED = re.compile(r"(?<![\w*])\*(\w[\w ]*)\*(?![\w*])")


def literal(text: str) -> str:
    """Text in which no sign means anything but itself."""
    return re.sub(r"_(?=\W|$)", r"\\_", re.sub(r"([\\*|`])", r"\\\1", text))


def escaped(text: str) -> str:
    """A line of plain text in which nothing but `code` and *stress* is markup."""
    parts = []
    for part in CODE.split(text):
        if CODE.fullmatch(part):
            parts.append(f"`{part}`")
        else:
            plain = "".join(
                piece if place % 2 == 0 else f"*{piece}*"
                for place, piece in enumerate(map(literal, STRESSED.split(part)))
            )
            parts.append(plain)
    return "".join(parts)


def paragraph(lines: list[str]) -> list[str]:
    """Plain text: a lead opens a paragraph of its own, an indented line is a formula."""
    out: list[str] = []
    formula = False
    for line in lines:
        indented = line.startswith("    ")
        if indented and not formula:
            out += ["", ".. code-block:: text", ""]
        if formula and not indented:
            out.append("")
        formula = indented
        out += [line] if indented else spoken(line)
    return [*out, ""]


def spoken(line: str) -> list[str]:
    """One line of text, with a lead in bold and the test's file as code."""
    lead = LEAD.match(line)
    if lead is not None:
        return ["", f"**{escaped(lead['lead'])}.**{escaped(line[lead.end() :])}"]
    tested = TESTED.match(line)
    if tested is not None:
        return ["", f"**Tested by** ``{tested['file']}``{escaped(line[tested.end() :])}"]
    return [escaped(line)]


def listed(lines: list[str]) -> list[str]:
    """Bullets, nested by four columns; a formula inside one stays in its running text."""
    out: list[str] = []
    depth = 0
    for line in lines:
        text = line.strip()
        if text.startswith("* "):
            place = (len(line) - len(line.lstrip())) // 4
            out += [""] if place != depth else []
            depth = place
            out.append("  " * depth + "* " + escaped(text.removeprefix("* ")))
        else:
            out.append("  " * (depth + 1) + escaped(text))
    return [*out, ""]


def section(lines: list[str]) -> list[str]:
    """A Google-style section: its name and its indentation are napoleon's, its words are plain."""
    return [lines[0], *(escaped(line) for line in lines[1:]), ""]


def blocks(lines: list[str]) -> list[list[str]]:
    """The runs of lines between blank ones."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [block for block in found if block]


def plain_text(*event: Any) -> None:
    """Turn a docstring of plain text into reStructuredText, in place: the event's last part."""
    lines: list[str] = event[-1]
    out: list[str] = []
    for block in blocks(lines):
        first = block[0]
        if first.startswith(">>>"):
            out += [*block, ""]
        elif first in SECTIONS:
            out += section(block)
        elif any(line.startswith("* ") for line in block):
            split = next(i for i, line in enumerate(block) if line.startswith("* "))
            out += paragraph(block[:split]) if split else []
            out += listed(block[split:])
        else:
            out += paragraph(block)
    lines[:] = out


def short_aliases(*event: Any) -> tuple[str | None, str | None]:
    """Write an alias inside a union by its name, as a person would."""
    signature, returned = event[-2:]
    wrapped = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
    return tuple(part and wrapped.sub(r"\1", part) for part in (signature, returned))


def setup(app: Any) -> dict[str, bool]:
    """Connect the hooks, the one for docstrings before napoleon's."""
    app.connect("autodoc-process-docstring", plain_text, priority=400)
    app.connect("autodoc-process-signature", short_aliases)
    return {"parallel_read_safe": True}

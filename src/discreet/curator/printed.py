"""A release as a person reads it: a text table, notebook HTML, and words.

Keys may hold anything that people wrote into the data: characters that drive a terminal are written
out, and everything is escaped in HTML, which needs nothing from outside.
Tested by tests/curator/test_printed.py
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, TypeGuard

from discreet.curator.binned import bins_of
from discreet.curator.one_level import is_rollup
from discreet.curator.values import Interval, Value, kind_of, shortened, visible, width_of
from discreet.exact import shown

if TYPE_CHECKING:
    from discreet.curator.release import Release

__all__ = [
    "as_html",
    "as_text",
    "confidence_of",
    "explained",
    "key_text",
    "key_texts",
    "number_text",
    "sentence",
]

MOST_ROWS, MOST_ROWS_HTML = 20, 50
WIDTH = 100
LONGEST_KEY = 40
LARGEST_SHOWN = 10**15
"""Numbers from here on are shown with six digits and a power of ten."""


@dataclass(frozen=True, slots=True)
class Block:
    """One column as it is shown: texts, and the margins that stand beside them."""

    name: str
    right: bool
    texts: list[str]
    margins: list[str]


def key_texts(release: Release, name: str, most: int | None = None) -> list[str]:
    """The first keys of a column: of a bin both ends; in a roll-up an empty one stands for all."""
    bins = bins_of(release)
    if bins is not None and bins.key == name:
        return [bins.label(value) for value in release[name][:most]]
    missing = "(all)" if is_rollup(release) else "(none)"
    return [missing if value is None else key_text(value) for value in release[name][:most]]


def key_text(value: Value) -> str:
    """A group key in one visible line; whole numbers without separators (they may be years)."""
    if value is None:
        return "(none)"
    return visible(str(value).lower() if isinstance(value, bool) else str(value))


def number_text(value: Value, decimals: int | None = None) -> str:
    """A number with thousands separators; None is a dash, anything else its own text.

    >>> number_text(1234567), number_text(1234.5678, 1), number_text(None)
    ('1,234,567', '1,234.6', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool | str | date):
        return key_text(value)
    if abs(value) >= LARGEST_SHOWN:
        return f"{Decimal(value):.5e}"
    if isinstance(value, int) and not decimals:
        return f"{value:,}"
    if decimals is None:
        return f"{value:,.6g}"
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def _decimals(values: Sequence[Value], pairs: Sequence[Interval]) -> int | None:
    """How many decimals a column of numbers deserves; None where each number needs its own.

    Two digits of the typical half-width where there are intervals, else six digits of the largest.
    """
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if all(isinstance(v, int) for v in numbers):
        return 0
    halves = sorted(half for pair in pairs if (half := _half(pair)) is not None and half > 0)
    if halves:
        needed = 1 - math.floor(math.log10(halves[len(halves) // 2]))
    else:
        largest = max(abs(v) for v in numbers)
        needed = 5 - math.floor(math.log10(largest)) if largest else 0
    if needed > 9:
        return None
    needed = max(0, needed)
    while needed and all(round(v, needed) == round(v, needed - 1) for v in numbers) and not halves:
        needed -= 1
    return needed


def _half(pair: Interval) -> float | None:
    if pair is None:
        return None
    low, high = pair
    if not _is_number(low) or not _is_number(high):
        return None
    half = (Fraction(high) - Fraction(low)) / 2
    return float(half) if half < LARGEST_SHOWN else None


def _margin(value: Value, pair: Interval, decimals: int | None) -> str:
    """± the half-width where the value is in the middle, else both ends."""
    if pair is None:
        return ""
    low, high = pair
    if low is None:
        return f"({number_text(high, decimals)} or less)"
    if high is None:
        return f"({number_text(low, decimals)} or more)"
    if _is_number(value) and _is_number(low) and _is_number(high):
        below, above = (
            number_text(float(Fraction(a) - Fraction(b)), decimals)
            if decimals
            else number_text(round(Fraction(a) - Fraction(b)), decimals)
            for a, b in ((value, low), (high, value))
        )
        if below == above:
            return f"± {above}"
    return f"({number_text(low, decimals)} to {number_text(high, decimals)})"


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _blocks(release: Release, most: int, longest: int) -> list[Block]:
    blocks = []
    for name in release.columns:
        values = release[name][:most]
        pairs = release.intervals.get(name, ())[:most]
        right = kind_of(values) in ("int", "float", "none")
        if name in release.keys:
            texts = [shortened(text, longest) for text in key_texts(release, name, most)]
            margins = [""] * len(values)
        else:
            decimals = _decimals(values, pairs)
            texts = [shortened(number_text(value, decimals), longest) for value in values]
            margins = [_margin(v, p, decimals) for v, p in zip(values, pairs, strict=False)]
        blocks.append(Block(shortened(visible(name), longest), right, texts, margins))
    return blocks


def as_text(release: Release) -> str:
    """A table of at most 20 rows, and below it what was promised."""
    lines, left_out = _table(_blocks(release, MOST_ROWS, LONGEST_KEY))
    if len(release) > MOST_ROWS:
        lines.append(f"... {len(release) - MOST_ROWS:,} more")
    if not len(release):
        lines.append("(no rows)")
    if left_out:
        lines += textwrap.wrap("More columns: " + ", ".join(left_out), WIDTH)
    lines.append("")
    for text in _footer(release):
        lines += textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _table(blocks: list[Block]) -> tuple[list[str], list[str]]:
    """The lines of as many columns as fit, and the names of the others."""
    columns: list[list[str]] = []
    used = 0
    for place, block in enumerate(blocks):
        column = _column(block)
        used += width_of(column[1]) + 2
        if columns and used > WIDTH + 2:
            return _joined(columns), [left.name for left in blocks[place:]]
        columns.append(column)
    return _joined(columns), []


def _joined(columns: list[list[str]]) -> list[str]:
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _column(block: Block) -> list[str]:
    """Head, rule and cells, all of one width."""
    wide = max(map(width_of, block.texts), default=0)
    beside = max(map(width_of, block.margins), default=0)
    beside += beside > 0
    wide = max(wide, width_of(block.name) - beside)
    put = _right if block.right else _left
    head = _right(block.name, wide) if block.right else block.name
    margins = block.margins or [""] * len(block.texts)
    cells = [
        _left(put(text, wide) + (f" {margin}" if margin else ""), wide + beside)
        for text, margin in zip(block.texts, margins, strict=True)
    ]
    return [_left(head, wide + beside), "─" * (wide + beside), *cells]


def _left(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def _right(text: str, width: int) -> str:
    return " " * (width - width_of(text)) + text


def confidence_of(release: Release) -> str:
    """The confidence in per cent: 95 %."""
    return f"{shown(release.confidence * 100)} %"


def _footer(release: Release) -> list[str]:
    """The promise, what the intervals cover, steps and notes: a line each."""
    first = sentence(str(release.guarantee))
    if release.intervals:
        first += f" Each interval has {confidence_of(release)} confidence. "
        first += sentence(visible(release.covers))
    lines = [first]
    bins = bins_of(release)
    if bins is not None:
        lines.append(f"{visible(bins.key)}: {bins.words()}; an edge is in the bin above.")
    if release.steps:
        lines.append(f"Free steps since: {', '.join(map(visible, release.steps))}.")
    lines += [f"Note: {sentence(visible(note))}" for note in release.notes]
    return lines


def sentence(text: str) -> str:
    """Text that ends like a sentence."""
    text = text.strip()
    return text if text.endswith((".", "!", "?")) or not text else text + "."


def explained(release: Release) -> str:
    """The whole story in words."""
    head = f"Asked on {release.asked_at:%Y-%m-%d at %H:%M:%S} UTC:"
    lines = [head, textwrap.indent(_question(release), "    ")]
    lines.append(f"It cost each person {sentence(str(release.guarantee))}")
    for name in release.columns:
        lines += textwrap.wrap(_column_words(release, name), WIDTH, subsequent_indent="    ")
    if release.intervals:
        lines += textwrap.wrap(
            f"Each interval holds with {confidence_of(release)} confidence on its own. "
            f"{sentence(visible(release.covers))}",
            WIDTH,
        )
    for note in release.notes:
        lines += textwrap.wrap(f"Note: {sentence(visible(note))}", WIDTH)
    if release.steps:
        lines += textwrap.wrap(f"Steps since: {', '.join(map(visible, release.steps))}.", WIDTH)
    lines.append("Whatever is computed from this release is free: it has the same guarantee.")
    return "\n".join(lines)


def _question(release: Release) -> str:
    return "\n".join(visible(line) for line in release.sql.strip().splitlines()) or "(no text)"


def _column_words(release: Release, name: str) -> str:
    said = f"Column {visible(name)}: "
    if name in release.keys:
        return said + visible(release.mechanisms.get(name, "a group key")) + "."
    said += visible(release.mechanisms.get(name, "computed from released numbers"))
    if name in release.raw:
        said += "; what it was before rounding and clamping is kept beside it, as raw"
    return said + "."


_CELL = "padding:.2em .8em;border:0;background:transparent;"
_LINE = "border-bottom:1px solid rgba(128,128,128,.5);"


def as_html(release: Release) -> str:
    """A table for notebooks: no scripts, no assets, colours of the page it stands in."""
    blocks = _blocks(release, MOST_ROWS_HTML, 200)
    parts = [
        '<div style="color:inherit;max-width:72em">',
        '<table style="border-collapse:collapse;color:inherit;font-variant-numeric:tabular-nums">',
        "<thead><tr>",
        *(_head(block) for block in blocks),
        "</tr></thead><tbody>",
    ]
    parts += [
        f"<tr>{''.join(_cells(block, place) for block in blocks)}</tr>"
        for place in range(min(len(release), MOST_ROWS_HTML))
    ]
    parts.append("</tbody></table>")
    more = len(release) - MOST_ROWS_HTML
    small = [f"... {more:,} more"] if more > 0 else [] if len(release) else ["(no rows)"]
    parts += [
        f'<p style="font-size:.85em;opacity:.8;margin:.4em 0">{escape(text)}</p>'
        for text in (*small, *_footer(release))
    ]
    parts.append(
        '<details style="font-size:.85em;opacity:.8"><summary>How it was made</summary>'
        f'<pre style="white-space:pre-wrap">{escape(explained(release))}</pre></details></div>'
    )
    return "\n".join(parts)


def _head(block: Block) -> str:
    align = "right" if block.right else "left"
    name = f'<th scope="col" style="{_CELL}{_LINE}text-align:{align}">{escape(block.name)}</th>'
    return name + (f'<th style="{_CELL}{_LINE}"></th>' if any(block.margins) else "")


def _cells(block: Block, place: int) -> str:
    align = "right" if block.right else "left"
    text = f'<td style="{_CELL}text-align:{align}">{escape(block.texts[place])}</td>'
    if not any(block.margins):
        return text
    beside = f"{_CELL}padding-left:0;text-align:left;opacity:.7;white-space:nowrap"
    return f'{text}<td style="{beside}">{escape(block.margins[place])}</td>'

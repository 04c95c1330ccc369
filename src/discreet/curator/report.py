"""A record as one page of HTML that can be attached to an announcement.

The page needs nothing from outside: no address, no script, one style sheet and one drawing inside.
It is dark on white, fits on a sheet of A4 for small tables, and has a language, headings, table
captions and a text beside the drawing for those who do not see it. Everything that people wrote
(keys, names, questions) is made visible and escaped. The analyst's name is not on it.
Tested by tests/curator/test_report.py
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from html import escape
from string import Template

from discreet.curator.binned import bins_of
from discreet.curator.printed import confidence_of, key_texts, number_text, sentence
from discreet.curator.record import Record
from discreet.curator.release import Release
from discreet.curator.values import Interval, Value, kind_of, shortened, visible
from discreet.exact import shown
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP, RandomDP, RenyiDP

__all__ = ["report"]

MOST_ROWS = 500
"""Rows beyond these are counted, not listed."""
LONGEST_KEY = 120

_STYLE = """
@page { size: A4; margin: 11mm 14mm }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.4rem; max-width: 56rem; background: #fff; color: #1a1a1a;
  font: 10.5pt/1.42 "Source Sans 3", "Helvetica Neue", Arial, "Liberation Sans", sans-serif }
h1 { font-size: 1.75em; line-height: 1.2; margin: 0 0 .15rem }
h2 { font-size: 1.14em; margin: .95rem 0 .2rem }
p { margin: .25rem 0 .45rem }
.lead { color: #444; margin-bottom: .8rem }
.shown { display: flex; flex-wrap: wrap; gap: .6rem 1.8rem; align-items: flex-start }
.shown > * { min-width: 0 }
.shown .table { flex: 0 1 auto; max-width: 100%; overflow-x: auto }
figure { margin: 0; flex: 1 1 22rem }
figure svg { display: block; max-width: 100%; height: auto; max-height: 20rem; margin: 0 auto }
figcaption, caption { font-size: .93em; color: #444; text-align: left; padding-bottom: .3rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; break-inside: auto }
thead { display: table-header-group }
tr { break-inside: avoid }
th, td { padding: .16rem .65rem .16rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid #ddd; overflow-wrap: anywhere }
tbody th { font-weight: normal }
thead th { border-bottom: 1.5px solid #555; overflow-wrap: normal }
.number { text-align: right; white-space: nowrap }
.interval { white-space: nowrap; color: #444 }
.facts { width: 100%; table-layout: fixed }
.facts th { color: #444; width: 11% }
.facts td { width: 39% }
code, pre { font-family: "Source Code Pro", "DejaVu Sans Mono", monospace; font-size: .84em }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0; padding: .45rem .6rem;
  background: #f5f5f5 }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr));
  gap: 0 2rem; margin-top: .4rem }
.columns h2 { margin-top: .6rem }
ul { margin: .2rem 0 .4rem; padding-left: 1.1rem }
@media print {
  body { padding: 0; max-width: none; font-size: 8.6pt; line-height: 1.34 }
  .columns { grid-template-columns: 1fr 1fr }
  h2 { margin-top: .6rem }
  figure svg { max-height: 40mm }
}
"""

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<main>
<h1>$title</h1>
<p class="lead">$lead</p>
$shown
<div class="columns">
<div>
<section><h2>What the numbers mean</h2>$meaning</section>
<section><h2>What the intervals cover</h2>$covers</section>
</div>
<div>
<section><h2>What was promised to the people in the data</h2>$promise</section>
<section><h2>How the noise was made</h2>$noise</section>
</div>
</div>
<h2>Where it comes from</h2>
$provenance
<h2>How to cite and to verify it</h2>
$cite
</main>
</body>
</html>
""")


def report(record: Record, *, publisher: str = "") -> str:
    """One self-contained page of HTML; `publisher` says who answers for the numbers."""
    release = record.release
    title = _title(record)
    by = f"Published by {_safe(publisher)}. " if publisher.strip() else ""
    lead = f"{by}Released on {release.asked_at:%d %B %Y} with {_safe(_kind(release.guarantee))}."
    return _PAGE.substitute(
        title=_safe(title),
        style=_STYLE,
        lead=lead,
        shown=_shown(release, title),
        meaning=_meaning(record),
        promise=_promise(record),
        noise=_noise(release),
        covers=_covers(release),
        provenance=_provenance(record),
        cite=_cite(record, title, publisher),
    )


def _safe(text: str, most: int = 2000) -> str:
    """Text that people wrote: made visible, and escaped."""
    return escape(shortened(visible(" ".join(text.split(" "))), most))


def _paragraph(*sentences: str) -> str:
    return f"<p>{' '.join(sentences)}</p>"


def _listed(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _title(record: Record) -> str:
    release = record.release
    numbers = [name for name in release.columns if name not in release.keys]
    what = _and([_name(name) for name in numbers]) or "Groups"
    by = f" by {_and([_name(key) for key in release.keys])}" if release.keys else ""
    return f"{_capital(what) if len(what) > 1 else what}{by}: {record.dataset}"


def _name(name: str) -> str:
    return shortened(visible(name), 60)


def _and(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _shown(release: Release, title: str) -> str:
    drawing = _drawing(release, title)
    return f'<div class="shown"><div class="table">{_table(release)}</div>{drawing}</div>'


def _table(release: Release) -> str:
    heads, columns = [], []
    for name in release.columns:
        values = release[name][:MOST_ROWS]
        pairs = release.intervals.get(name, ())[:MOST_ROWS]
        is_key = name in release.keys
        decimals = None if is_key else _decimals(values, pairs)
        texts = (
            key_texts(release, name, MOST_ROWS)
            if is_key
            else [number_text(v, decimals) for v in values]
        )
        right = not is_key and kind_of(values) in ("int", "float", "none")
        style = ' class="number"' if right else ""
        heads.append(f'<th scope="col"{style}>{_safe(_name(name))}</th>')
        tag = 'th scope="row" dir="auto"' if is_key else f"td{style}"
        columns.append([f"<{tag}>{_safe(text, LONGEST_KEY)}</{tag[:2]}>" for text in texts])
        if name in release.intervals:
            heads.append(f'<th scope="col" class="interval">{confidence_of(release)} interval</th>')
            columns.append([_interval(pair, decimals) for pair in pairs])
    rows = "".join(f"<tr>{''.join(cells)}</tr>" for cells in zip(*columns, strict=True))
    more = len(release) - MOST_ROWS
    caption = "Released numbers, with noise"
    caption += f"; the first {MOST_ROWS} of {len(release):,} rows" if more > 0 else ""
    caption += "; there are no rows" if not len(release) else ""
    return (
        f"<table><caption>{caption}.</caption><thead><tr>{''.join(heads)}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _interval(pair: Interval, decimals: int | None) -> str:
    low, high = pair or (None, None)
    text = "–"
    if low is not None and high is not None:
        text = f"{number_text(low, decimals)} to {number_text(high, decimals)}"
    elif pair is not None:
        end = low if high is None else high
        text = f"{number_text(end, decimals)} or {'more' if high is None else 'less'}"
    return f'<td class="interval">{_safe(text)}</td>'


def _decimals(values: Sequence[Value], pairs: Sequence[Interval]) -> int | None:
    """Decimals that show two digits of the typical half-width; None for six digits of each."""
    if all(isinstance(value, int) or value is None for value in values):
        return 0
    halves = sorted(
        float(high - low) / 2
        for low, high in filter(None, pairs)
        if isinstance(low, int | float) and isinstance(high, int | float) and high > low
    )
    if not halves or math.isinf(halves[len(halves) // 2]):
        return None
    needed = 1 - math.floor(math.log10(halves[len(halves) // 2]))
    return max(0, needed) if needed <= 9 else None


def _drawing(release: Release, title: str) -> str:
    """The chart of the first column of numbers as a drawing inside the page; or nothing."""
    numbers = [name for name in release.columns if name not in release.keys]
    drawn = [name for name in numbers if kind_of(release[name]) in ("int", "float")]
    drawn.sort(key=lambda name: name not in release.intervals)
    if not drawn or not release.keys:
        return ""
    buffer = io.StringIO()
    chart = _named_safely(release, drawn[0]).plot().properties(title="")
    chart.save(buffer, format="svg")
    # one label for the whole drawing; names of fields, which repeat text unescaped, go
    svg = re.sub(r'\s(xmlns(:\w+)?|aria-\w+|role)="[^"]*"', "", buffer.getvalue())
    svg = "".join(letter for letter in svg if letter.isprintable() or letter == "\n")
    told = _safe(
        f"{title}. Bars or lines show {_name(drawn[0])}; the same numbers are in the table."
    )
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{told}"', 1)
    marks = f"Whiskers or bands: {confidence_of(release)} intervals."
    said = marks if drawn[0] in release.intervals else "No intervals are known."
    return f"<figure><figcaption>{_safe(_name(drawn[0]))}. {said}</figcaption>{svg}</figure>"


def _named_safely(release: Release, column: str) -> Release:
    """The keys and one column under names that are harmless where a chart puts them in formulas.

    A backslash before a quote would end a piece of text there, so it becomes a wide one.
    """
    kept = (*release.keys, column)
    names = tuple(visible(name).replace("\\", "\uff3c") for name in kept)
    if len(set(names)) < len(names):
        names = tuple(f"{name} ({place})" for place, name in enumerate(names, 1))
    pairs = release.intervals.get(column)
    return replace(
        release,
        columns=names,
        keys=names[:-1],
        rows=tuple(tuple(row[name] for name in kept) for row in release),
        intervals={} if pairs is None else {names[-1]: pairs},
        raw={},
        mechanisms={},
    )


def _meaning(record: Record) -> str:
    release = record.release
    asked = " A group that the owner declared is listed even if nobody is in it." * bool(
        release.keys
    )
    said = [
        _paragraph(
            f"The numbers answer this question about the dataset “{_safe(record.dataset)}”, and "
            "each carries a small random error that was added on purpose. Small numbers can be "
            f"off by much of their size; a 0 may stand for a few.{asked}"
        ),
        f"<pre>{_lines(record.plan)}</pre>",
    ]
    notes = [sentence(_safe(_capital(note))) for note in release.notes]
    bins = bins_of(release)
    if bins is not None:
        notes.insert(0, sentence(f"{_safe(_name(bins.key))} is {_safe(bins.words())}"))
    if release.steps:
        steps = _safe("; ".join(release.steps))
        notes.append(f"Computed from the released numbers afterwards, at no cost: {steps}.")
    return "".join(said) + (_listed(notes) if notes else "")


def _lines(text: str) -> str:
    return "\n".join(_safe(line) for line in text.strip().splitlines()) or "(no text)"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _promise(record: Record) -> str:
    guarantee = record.release.guarantee
    change = "had not been in the data, or had been added to it"
    if guarantee.neighbours == "replace":
        change = "had been anybody else"
    plain = (
        f"Protected is: {_safe(sentence(record.unit))} The noise is chosen so that this table, and "
        "any other that could have come out, would have been similarly likely if one such unit "
        f"{change}. {_guess(guarantee)} That holds whatever a reader knows already and whatever is "
        "computed from the table later. It does not hide what is true of groups, and further "
        "releases from the same data add up."
    )
    exact = f"{_formula(guarantee)} In short: {_safe(sentence(str(guarantee)))}"
    return _paragraph(plain) + _paragraph(exact)


def _kind(guarantee: Guarantee) -> str:
    return str(guarantee).split(" (neighbours")[0]


def _guess(guarantee: Guarantee) -> str:
    """How sure somebody can become, in words."""
    if isinstance(guarantee, PureDP | ApproxDP):
        sure = 100 / (1 + math.exp(-float(guarantee.epsilon)))
        told = "over 99.9" if sure > 99.9 else f"{math.ceil(sure * 10) / 10:g}"
        rest = ""
        if isinstance(guarantee, ApproxDP):
            rest = ", apart from a tiny chance of failure that is stated below"
        return (
            "Somebody who held two such possibilities to be equally likely can be at most "
            f"{told} % sure of one of them after reading{rest}."
        )
    if isinstance(guarantee, RandomDP):
        return (
            "The promise is a weak one: it holds for people like those in an assumed population, "
            "and not for certain."
        )
    return "How likely, and how often it may be otherwise, the next paragraph says exactly."


def _formula(guarantee: Guarantee) -> str:
    said = "added or removed" if guarantee.neighbours == "add_or_remove" else "replaced"
    pair = f"For all datasets x and y that differ by one such unit, {said}"
    ratio = "and every set S of tables, P[M(x) ∈ S] ≤ e<sup>ε</sup> P[M(y) ∈ S]"
    match guarantee:
        case PureDP(epsilon=e):
            return f"{pair}, {ratio} with {_is('ε', e)}."
        case ApproxDP(epsilon=e, delta=d):
            return f"{pair}, {ratio} + δ with {_is('ε', e)} and {_is('δ', d)}."
        case ZCDP(rho=rho):
            divergence = "the Rényi divergence D<sub>α</sub>(M(x) ‖ M(y))"
            return f"{pair}, and every α &gt; 1, {divergence} is at most ρα with {_is('ρ', rho)}."
        case RenyiDP():
            return f"{pair}, the Rényi divergence of M(x) from M(y) is bounded at each order below."
        case RandomDP(epsilon=e, gamma=g):
            chance = f"With probability 1 − γ over x, y drawn at random, {_is('γ', g)}"
            return f"{chance}, {ratio} with {_is('ε', e)}."


def _is(letter: str, number: Fraction) -> str:
    return f"{letter} = {_safe(shown(number))}"


def _noise(release: Release) -> str:
    made = [
        f"<b>{_safe(_name(name))}</b>: {sentence(_safe(release.mechanisms[name]))}"
        for name in release.columns
        if name in release.mechanisms
    ]
    said = (
        "The exact numbers were whole numbers inside the database. Whole random numbers from a law "
        "that is computed exactly, drawn from the operating system's randomness, were added before "
        "anything was shown. No rounding error carries private values."
    )
    return _paragraph(said) + (_listed(made) if made else "")


def _covers(release: Release) -> str:
    if not release.intervals:
        return _paragraph("No interval is stated for these numbers.")
    missed = shown((1 - release.confidence) * 100)
    return _paragraph(
        f"Each interval contains the number without noise with {confidence_of(release)} "
        f"confidence, on its own: of many such intervals about {_safe(missed)} % miss it.",
        _safe(sentence(release.covers)),
        "Errors that were in the data before, such as missing people, are not covered.",
    )


def _provenance(record: Record) -> str:
    release = record.release
    block = () if record.block is None else (("Block of data", record.block),)
    entry = (("Ledger", f"entry {record.entry}"),) if record.entry else ()
    facts = (
        ("Dataset", f"{record.dataset}, version {record.data_version}"),
        *block,
        ("Budget", f"{record.cost}, charged to “{record.family}”"),
        ("Policy", f"version {record.policy_version}, fingerprint {record.policy_fingerprint}"),
        *entry,
        ("Software", record.software),
        ("Asked", f"{release.asked_at:%Y-%m-%d %H:%M:%S} UTC"),
        ("Record", record.id),
    )
    cells = [f'<th scope="row">{name}</th><td>{_safe(value)}</td>' for name, value in facts]
    cells += ["<td></td>" * 2] * (len(cells) % 2)
    rows = "".join(f"<tr>{a}{b}</tr>" for a, b in zip(cells[::2], cells[1::2], strict=True))
    return f'<table class="facts"><caption>Provenance of the release.</caption>{rows}</table>'


def _cite(record: Record, title: str, publisher: str) -> str:
    who = f"{sentence(_safe(publisher))} " if publisher.strip() else ""
    cited = (
        f"{who}{sentence(_safe(title))} Record {_safe(record.id)}, "
        f"{record.release.asked_at:%Y-%m-%d}; {_safe(record.software)}."
    )
    head, named = f"{record.entry}:{record.head}", "head after"
    if not record.entry:  # its number is not for everybody; the hash alone finds it
        head, named = record.head, "hash of"
    return _paragraph(f"Cite as: {cited}") + _paragraph(
        "Every release is an entry in a ledger in which each entry contains the hash of the one "
        f"before. The {named} this entry is <code>{_safe(head)}</code>. Whoever holds the ledger "
        "and its policy can show that nothing up to this entry was changed, left out or put in "
        f"afterwards: <code>discreet ledger verify policy.toml --head {_safe(head)}</code>."
    )

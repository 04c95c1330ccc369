"""What a person, or a program, sees of an answer: the table, what it cost and what is left.

The answer goes to standard output; what it cost goes to standard error, in one line, so that
`discreet ... > answer.txt` holds the answer alone. `--json` prints one object with both.

What it cost is what the ledger charged for this asking. An analyst is told of the own allowance
only: whether the people's budget was charged would tell whether somebody else had asked.
Tested by tests/cli/test_answers.py
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.errors import WRONG, CommandError
from discreet.cli.options import Out
from discreet.cli.printing import hand_out_json, say

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.ledger.values import Account
    from discreet.curator.record import Record
    from discreet.curator.release import Release

__all__ = ["Answer", "answered", "bar", "left_words", "show_answer", "table"]

LONGEST = 20
"""A release of more rows is printed here, in full; a shorter one prints itself."""
_BAR = 32
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class Answer:
    """A release, and what is known of its price.

    Attributes:
        release: the answer.
        record: with its provenance; None where no ledger was kept.
        charged: what was charged for it just now, in words; None if it was free.
        left: what is left, in words; None where nobody counts.
        ledger: the name of the ledger; None where there is none.
    """

    release: Release
    record: Record | None = None
    charged: str | None = None
    left: str | None = None
    ledger: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        told = {"free": self.charged is None, "charged": self.charged, "left": self.left}
        if self.record is None:
            return {**told, "release": self.release.to_dict()}
        return {**told, "record": self.record.to_dict()}

    def words(self) -> str:
        """One line: what it cost, what is left, how to find it again."""
        cost = f"charged {self.charged}"
        if self.charged is None and self.record is not None:
            cost = f"free: asked before, on {self.record.release.asked_at:%Y-%m-%d %H:%M} UTC"
        parts = [cost, f"left {self.left}" if self.left else "nothing is remembered"]
        if self.record is not None:
            parts.append(f"release {self.record.id}")
        if self.ledger is not None:
            parts.append(self.ledger)
        return " · ".join(parts)


def answered(curator: Curator, analyst: str | None, ask: Callable[[], Record]) -> Answer:
    """Ask, and tell what was charged for it."""
    record, paid = ask(), curator.paid
    dataset = curator.policy.datasets[record.dataset]
    account = dataset.account(record.block) + ("" if analyst is None else f"@{analyst}")
    held = curator.ledger.accounts[account]
    place = curator.ledger.address
    return Answer(
        record.release,
        record,
        charged=paid.said(held.accounting) if paid.main or paid.delta else None,
        left=left_words(held),
        ledger=None if analyst is not None or "://" in place else Path(place).name,
    )


def left_words(account: Account) -> str:
    """What is left of an account: "epsilon 9.5 of 10"."""
    if account.sealed:
        return "nothing: retired"
    total = account.total.said(account.accounting).partition(" ")[2].partition(",")[0]
    return f"{account.left.said(account.accounting)} of {total}"


def show_answer(answer: Answer, out: Out) -> None:
    """Print an answer, and save what was to be saved."""
    try:
        _show(answer, out)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        what = f"{error.filename}: " if error.filename else ""
        words = f"{what}{error.strerror or error}. {_kept(answer)}"
        raise CommandError(words, kind="file", code=WRONG, charged=_paid_for(answer)) from None


def _paid_for(answer: Answer) -> bool:
    return answer.charged is not None and answer.record is not None


def _kept(answer: Answer) -> str:
    """What became of an answer that could not be written."""
    if answer.record is None:
        return "The answer is lost: without a ledger nothing is kept"
    paid = f"{answer.charged} was charged" if _paid_for(answer) else "Nothing was charged"
    told = f"{paid}, and the answer is stored as {answer.record.id}: asking again is free"
    return told[:1].upper() + told[1:]


def _show(answer: Answer, out: Out) -> None:
    if out.as_json:
        hand_out_json(answer.to_dict())
    else:
        say(table(answer.release))
        say(answer.words(), dim=True, err=True)
    if out.plot is not None:
        answer.release.plot(path=out.plot)
        _saved(out.plot)
    if out.report is not None and answer.record is not None:
        from discreet.curator.report import report  # noqa: PLC0415 - it draws

        out.report.write_text(report(answer.record), encoding="utf-8")
        _saved(out.report)


def _saved(path: Path) -> None:
    say(f"saved {path}", dim=True, err=True)


def table(release: Release) -> str:
    """A release as text, with all of its rows; bars beside the numbers of a long one."""
    text = str(release)
    if len(release) <= LONGEST:
        return text
    from discreet.curator.values import shortened, visible  # noqa: PLC0415

    columns = []
    for name in release.columns:
        cells = _cells(release, name)
        wide = max(map(len, [name, *cells]))
        left = name in release.keys and not all(isinstance(v, int | float) for v in release[name])
        put = str.ljust if left else str.rjust
        columns.append([put(shortened(visible(name), 40), wide), "─" * wide,
                        *(put(cell, wide) for cell in cells)])  # fmt: skip
    columns.append(["", "", *_bars(release)])
    lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    return "\n".join([*lines, "", text.rpartition("\n\n")[2]])


def _cells(release: Release, name: str) -> list[str]:
    from discreet.curator.printed import key_texts, number_text  # noqa: PLC0415
    from discreet.curator.values import shortened  # noqa: PLC0415

    if name in release.keys:
        return [shortened(text, 40) for text in key_texts(release, name)]
    cells = [number_text(value) for value in release[name]]
    pairs = release.intervals.get(name)
    if pairs is None:
        return cells
    ends = [
        "" if pair is None else f" ({number_text(pair[0])} to {number_text(pair[1])})"
        for pair in pairs
    ]
    wide, beside = max(map(len, cells)), max(map(len, ends))
    return [f"{cell:>{wide}}{end:<{beside}}" for cell, end in zip(cells, ends, strict=True)]


def _bars(release: Release) -> Sequence[str]:
    """A bar for each row, where there is one number and none of them is negative."""
    names = [name for name in release.columns if name not in release.keys]
    values = release[names[0]] if len(names) == 1 else []
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if not values or len(numbers) < len(values) or min(numbers) < 0 or max(numbers) <= 0:
        return [""] * len(release)
    return [bar(number / max(numbers), _BAR).rstrip() for number in numbers]


def bar(share: float, wide: int) -> str:
    """A bar of a share of some columns, to an eighth of a column.

    >>> bar(0.5, 4)
    '██  '
    """
    eighths = round(max(0.0, min(1.0, share)) * wide * 8)
    full, part = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(wide)

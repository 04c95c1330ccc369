"""A release: what was published, with everything that is known about it.

Everything in a release is public: values, intervals, the guarantee that was spent, how each column
was made. It never touches private data, so whatever is computed from it is free.
Tested by tests/curator/test_release.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from discreet.curator import frames, printed, stored
from discreet.curator.values import Interval, Value, are_finished, finished, same
from discreet.errors import InputTypeError, ParameterError, UnsupportedError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.loss import Loss

if TYPE_CHECKING:
    from discreet.curator.shared import Shared

__all__ = ["Release", "finished_ends", "finished_values"]

Row = dict[str, Value]


class _Sharing:
    """What a release knows of its text, no part of what it says: what knows the part that releases
    of one shape share, and all of it, once it was written.
    """

    __slots__ = ("line", "shared")
    line: str
    shared: Shared


@dataclass(frozen=True, slots=True, repr=False)
class Release(_Sharing):
    """The answer to one question, finished and public.

    Guarantee. `guarantee` is what the people in the data were promised for it, all columns and
    rows together. Whatever is computed from a release has the same guarantee and costs nothing
    (post-processing; the theorem is in `discreet.privacy.compose.post_processed`).

    Attributes:
        columns: all column names, in order.
        keys: those that are group keys.
        rows: the finished values; the rules for odd ones are in `discreet.curator.values`.
        intervals: for columns that have them, (low, high) or None for each row; an end that is
            None says that there is no bound on that side; without any bound it is None.
        raw: for columns that have them, the noisy values before rounding and clamping.
        guarantee: what was spent.
        losses: what the release leaks, for accountants.
        sql: the question.
        mechanisms: how each column was made, in words.
        confidence: of each interval.
        covers: what the intervals cover, a sentence.
        notes: what else a reader should know.
        asked_at: when, in UTC.
        steps: the names of the post-processing steps since.
        published: of a publication, all that later questions are answered from, as JSON text;
            `discreet.curator.published` reads it.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    intervals: Mapping[str, tuple[Interval, ...]]
    raw: Mapping[str, tuple[Value, ...]]
    guarantee: Guarantee
    losses: tuple[Loss, ...]
    sql: str
    mechanisms: Mapping[str, str]
    confidence: Fraction
    covers: str
    notes: tuple[str, ...]
    asked_at: datetime
    steps: tuple[str, ...] = ()
    published: str | None = None

    def __post_init__(self) -> None:
        _check_names(self)
        made: dict[str, object] = {
            "rows": tuple(self._finished_row(row) for row in self.rows),
            "raw": self._frozen(self.raw, "raw", finished_values),
            "intervals": self._frozen(self.intervals, "intervals", finished_ends),
            "mechanisms": MappingProxyType(dict(self.mechanisms)),
        }
        for name in ("columns", "keys", "losses", "notes", "steps"):
            made[name] = tuple(getattr(self, name))
        made["asked_at"] = self.in_utc(self.asked_at)
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @staticmethod
    def in_utc(moment: datetime) -> datetime:
        """A moment as a release says it; ParameterError where it does not say its time zone."""
        if moment.tzinfo is None:
            raise ParameterError("asked_at", str(moment), "must say its time zone")
        return moment.astimezone(UTC)

    def _finished_row(self, row: Sequence[object]) -> tuple[Value, ...]:
        if len(row) != len(self.columns):
            raise ParameterError("rows", len(row), f"must have {len(self.columns)} values each")
        if are_finished(row):
            return tuple(row)  # type: ignore[arg-type]
        return tuple(
            finished(value, where=name) for name, value in zip(self.columns, row, strict=True)
        )

    def _frozen(
        self, given: Mapping[str, Sequence[Any]], field: str, make: Callable[..., Any]
    ) -> Mapping[str, tuple[Any, ...]]:
        for name, values in given.items():
            if name not in self.columns:
                raise ParameterError(field, name, "must name columns of the release")
            if len(values) != len(self.rows):
                problem = f"of {name!r} must be as many as the rows, {len(self.rows)}"
                raise ParameterError(field, len(values), problem)
        return MappingProxyType({name: make(given[name], where=name) for name in given})

    def __reduce__(self) -> tuple[object, ...]:
        values = (getattr(self, field.name) for field in fields(self))
        return type(self), tuple(dict(v) if isinstance(v, Mapping) else v for v in values)

    def __hash__(self) -> int:
        return hash((self.columns, self.rows, self.sql, self.asked_at))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        for row in self.rows:
            yield dict(zip(self.columns, row, strict=True))

    def __getitem__(self, column: str) -> list[Value]:
        """The values of one column."""
        if column not in self.columns:
            known = ", ".join(self.columns)
            raise ParameterError("column", column, f"must be one of {known}")
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    @property
    def value(self) -> Value:
        """The one number of a release of one row and one number."""
        numbers = [name for name in self.columns if name not in self.keys]
        if len(self) != 1 or len(numbers) != 1:
            told = ", ".join(numbers) or "none"
            raise UnsupportedError(
                f".value is for one row with one number, and this release has {len(self):,} rows "
                f"and these numbers: {told}; take release[column], or .to_pandas()"
            )
        return self[numbers[0]][0]

    def __repr__(self) -> str:
        return printed.as_text(self)

    def _repr_html_(self) -> str:
        return printed.as_html(self)

    def explain(self) -> str:
        """What was asked, what it cost, how each column was made, what the intervals cover."""
        return printed.explained(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values fit for JSON; `from_dict` reads it back."""
        return stored.as_dict(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything, as JSON text, also written to a file where a path is given."""
        return _written(stored.as_json(self), path)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Release:
        """Read `to_dict` back."""
        return cls(**stored.fields_of(values))

    @classmethod
    def from_json(cls, source: str | bytes | Path) -> Release:
        """Read `to_json` back, from its text or from a file: the release is equal to the first."""
        return cls.from_dict(stored.read_json(source))

    def to_pandas(self, *, intervals: bool = True) -> Any:
        """A pandas DataFrame; intervals become <column>_low and <column>_high."""
        return frames.as_pandas(self, intervals=intervals)

    def to_polars(self, *, intervals: bool = True) -> Any:
        """A polars DataFrame; intervals become <column>_low and <column>_high."""
        return frames.as_polars(self, intervals=intervals)

    def to_arrow(self, *, intervals: bool = True) -> Any:
        """A pyarrow Table; intervals become <column>_low and <column>_high."""
        return frames.as_arrow(self, intervals=intervals)

    def to_csv(
        self,
        path: str | Path | None = None,
        *,
        intervals: bool = True,
        spreadsheet: bool = False,
    ) -> str:
        """CSV text, also written to a file where a path is given.

        Say `spreadsheet=True` for a file that people will open in a spreadsheet: keys that look
        like formulas are then made harmless with an apostrophe.
        """
        return _written(frames.as_csv(self, intervals=intervals, spreadsheet=spreadsheet), path)

    def plot(self, column: str | None = None, path: str | Path | None = None) -> Any:
        """An altair chart of one column with its intervals; a path (.png, .svg, .html) saves it."""
        from discreet.curator.figure import figure  # noqa: PLC0415

        if self.published is not None and len(self.keys) == 2:
            from discreet.curator.heatmap import heatmap_of  # noqa: PLC0415

            return heatmap_of(self, path)
        return figure(self, column, path)

    def adding_up_to(self, total: int | Release, column: str | None = None) -> Release:
        """Whole numbers, none negative, that add up to a published total: free, and nearest.

        The total is a number, a release of one row, or a release that is grouped by some of these
        keys: then the parts of each of its groups add up to it. How: `discreet.curator.consistent`.
        Without a column: the only one that is no key.
        """
        from discreet.curator.consistent import with_sums  # noqa: PLC0415 - for few releases

        return with_sums(self, total, column or self._only_number())

    def _only_number(self) -> str:
        numbers = [name for name in self.columns if name not in self.keys]
        if len(numbers) != 1:
            raise ParameterError("column", None, f"must be said: one of {', '.join(numbers)}")
        return numbers[0]

    def map(self, f: Callable[[list[Row]], Any], name: str | None = None) -> Any:
        """Apply any function to the rows: free, because they are public.

        `f` gets a list of dictionaries, copies that it may change. If it returns such a list, the
        result is a release with the same guarantee; anything else is handed back as it is.
        Intervals and raw values stay where a row can be told by its keys (without keys: by its
        place) and its value is unchanged; elsewhere they are dropped.
        """
        made = f(list(self))
        if not isinstance(made, list) or not all(isinstance(row, dict) for row in made):
            return made
        called = str(getattr(f, "__name__", "map"))
        return self._with_rows(made, name or ("map" if called == "<lambda>" else called))

    def _with_rows(self, made: list[dict[Any, Any]], step: str) -> Release:
        columns = tuple(made[0]) if made else self.columns
        if any(set(row) != set(columns) for row in made):
            raise InputTypeError(
                f"the rows that {step!r} returned must all have the same columns; wrap them in "
                "another object to get them back as they are"
            )
        rows = [{name: finished(row[name], where=name) for name in columns} for row in made]
        intervals: dict[str, tuple[Any, ...]] = {}
        raw: dict[str, tuple[Any, ...]] = {}
        mechanisms: dict[str, str] = {}
        origins = _origins(list(self), rows, self.keys)
        for name in columns:
            kept = self._kept(name, rows, origins)
            for before, after in ((self.intervals, intervals), (self.raw, raw)):
                if name in before and any(place is not None for place in kept):
                    after[name] = tuple(
                        None if place is None else before[name][place] for place in kept
                    )
            if name not in self.columns or (None in kept and name not in self.keys):
                mechanisms[name] = f"computed from the release by {step!r}"
            elif name in self.mechanisms:
                mechanisms[name] = self.mechanisms[name]
        return replace(
            self,
            columns=columns,
            keys=tuple(key for key in self.keys if key in columns),
            rows=tuple(tuple(row.values()) for row in rows),
            intervals=intervals,
            raw=raw,
            mechanisms=mechanisms,
            steps=(*self.steps, step),
        )

    def _kept(self, name: str, rows: list[Row], origins: list[int | None]) -> list[int | None]:
        """For each new row the old one whose value of this column it still has."""
        if name not in self.columns:
            return [None] * len(rows)
        before = self[name]
        return [
            place if place is not None and same(row[name], before[place]) else None
            for row, place in zip(rows, origins, strict=True)
        ]


def _check_names(release: Release) -> None:
    for name in release.columns:
        if not isinstance(name, str):
            raise ParameterError("columns", type(name).__name__, "must be names")
    if len(set(release.columns)) != len(release.columns):
        raise ParameterError("columns", list(release.columns), "must have different names")
    for field, names in (("keys", release.keys), ("mechanisms", release.mechanisms)):
        for name in names:
            if name not in release.columns:
                raise ParameterError(field, name, "must name columns of the release")


def finished_values(values: Sequence[object], *, where: str) -> tuple[Value, ...]:
    """The values of a column as a release holds them."""
    if are_finished(values):
        return tuple(values)  # type: ignore[arg-type]
    return tuple([finished(value, where=where) for value in values])


def finished_ends(pairs: Sequence[Sequence[object] | None], *, where: str) -> tuple[Interval, ...]:
    """The intervals of a column as a release holds them."""
    found: list[Interval] = []
    for pair in pairs:
        if pair is None:
            found.append(None)
            continue
        low, high = finished_values(pair, where=where)
        found.append(None if low is None and high is None else (low, high))
    return tuple(found)


def _origins(before: list[Row], after: list[Row], keys: tuple[str, ...]) -> list[int | None]:
    """For each new row the place of the row that it was, where that can be told."""
    if not keys:
        alike = len(before) == len(after)
        return [place if alike else None for place in range(len(after))]
    if not all(key in row for row in after for key in keys):
        return [None] * len(after)
    places: dict[object, int | None] = {}
    for place, row in enumerate(before):
        key = tuple((type(row[name]), row[name]) for name in keys)
        places[key] = None if key in places else place
    return [places.get(tuple((type(row[name]), row[name]) for name in keys)) for row in after]


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8", errors="replace", newline="")
    return text

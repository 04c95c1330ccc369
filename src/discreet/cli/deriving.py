"""`discreet derive`: sums, differences and ratios of stored releases. All of it is free.

It reads the ledger alone, or files of JSON: no data, no charge. What is printed with `--json` is
read by `discreet show`, `plot`, `export --csv` and by `derive` itself.
Tested by tests/cli/test_deriving.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as o
from discreet.cli.derived import Derived, Parent
from discreet.cli.errors import WRONG, CommandError
from discreet.cli.options import spread
from discreet.cli.printing import hand_out_json
from discreet.cli.releases import Stored, show_derived
from discreet.errors import ParameterError, UnsupportedError

if TYPE_CHECKING:
    from discreet.curator.release import Release

__all__ = ["derive"]

_SUMS, _TWO = "Add up", "Compare"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is computed: first sums, then a difference or a ratio of them."""

    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="KEY", rich_help_panel=_SUMS,
                     help="Add up all groups, but keep these keys apart; may be repeated."),
    ] = None  # fmt: skip
    total: Annotated[
        bool,
        typer.Option("--total", rich_help_panel=_SUMS, help="Add up all groups into one."),
    ] = False
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="NAME", rich_help_panel=_SUMS,
                     help="Of this number; without it of all. To add up several, repeat it."),
    ] = None  # fmt: skip
    difference: Annotated[
        str | None,
        typer.Option("--difference", metavar="RELEASE", rich_help_panel=_TWO,
                     help="Minus the same number of another release, key by key."),
    ] = None  # fmt: skip
    ratio: Annotated[
        str | None,
        typer.Option("--ratio", metavar="RELEASE", rich_help_panel=_TWO,
                     help="Divided by the same number of another release, key by key."),
    ] = None  # fmt: skip
    per: Annotated[
        str | None,
        typer.Option("--per", metavar="COLUMN", rich_help_panel=_TWO,
                     help="Divided by another number of this release, row by row."),
    ] = None  # fmt: skip

    @property
    def other(self) -> str | None:
        """The name of the second release."""
        return self.difference if self.ratio is None else self.ratio

    @property
    def option(self) -> str:
        """How the second release was said."""
        return "--difference" if self.ratio is None else "--ratio"

    def check(self) -> None:
        """Refuse what does not go together, and nothing at all."""
        said = {"--difference": self.difference, "--ratio": self.ratio, "--per": self.per}
        two = [option for option, value in said.items() if value is not None]
        if self.by and self.total:
            raise ParameterError("--total", None, "keeps no key apart; leave it out, or --by")
        if len(two) > 1:
            raise ParameterError(two[1], said[two[1]], f"goes without {two[0]}: say one of them")
        if not (two or self.by or self.total):
            problem = "or --total, --difference, --ratio or --per must be said"
            raise ParameterError("--by", None, problem)


@spread
def derive(stored: Stored, wanted: Wanted, as_json: o.Json = False) -> None:  # noqa: FBT002
    """Compute sums, differences and ratios from stored releases, with their intervals; free.

    Counts and sums can be added up over groups. Two releases with the same keys can be compared;
    with --by or --total both are added up first. No row is read and nothing is charged.

    Example: [bold]discreet derive 3f2a --total --policy policy.toml[/bold]

    Example: [bold]discreet derive 5b1c --by department --policy policy.toml[/bold]

    Example: [bold]discreet derive 5b1c --by department --difference 3f2a
    --policy policy.toml[/bold]

    Example: [bold]discreet derive 9d0e --total --column pay --per people
    --policy policy.toml[/bold]
    """
    wanted.check()
    first = _Named.of(stored)
    made_of = [first]
    if wanted.other is not None:
        made_of.append(_Named.of(replace(stored, release=wanted.other)))
    try:
        made = _computed(made_of, wanted)
    except UnsupportedError as error:
        raise CommandError(str(error), kind="wrong", code=WRONG, charged=False) from error
    parents = dict.fromkeys(parent for one in made_of for parent in one.parents)
    derived = Derived(made, tuple(parents))
    if as_json:
        hand_out_json(derived.to_dict())
    else:
        show_derived(derived)


@dataclass(frozen=True, slots=True)
class _Named:
    """A release and its id, or the name of its file where it has none."""

    name: str
    release: Release
    parents: tuple[Parent, ...]

    @classmethod
    def of(cls, stored: Stored) -> _Named:
        """The release that was named; one that `discreet range` answers from is refused."""
        from discreet.curator.record import Record  # noqa: PLC0415

        found = stored.named()
        if isinstance(found, Record):
            one = cls(found.id, found.release, (Parent.of(found),))
        elif isinstance(found, Derived):
            one = cls(stored.release, found.release, found.parents)
        else:
            one = cls(stored.release, found, (Parent(stored.release),))
        if one.release.published is not None:
            problem = "is a publication: `discreet range` and `discreet quantile` answer from it"
            raise ParameterError("release", stored.release, problem)
        return one

    @property
    def numbers(self) -> list[str]:
        """The columns that are no keys."""
        return [name for name in self.release.columns if name not in self.release.keys]

    def check(self, option: str, names: list[str], known: list[str] | tuple[str, ...]) -> None:
        """These are names that the release has."""
        what = "key" if option == "--by" else "number"
        for name in names:
            if name not in known:
                there = f"must be a {what} of release {self.name}: {', '.join(known) or 'none'}"
                raise ParameterError(option, name, there)

    def only_number(self, per: str | None) -> str:
        """The number that is meant if none is said: the only one, besides what it is divided by."""
        others = [name for name in self.numbers if name != per]
        if len(others) != 1:
            problem = f"must say which number is meant: {', '.join(others) or 'there is none'}"
            raise ParameterError("--column", None, problem)
        return others[0]


def _computed(made_of: list[_Named], wanted: Wanted) -> Release:
    """Sums of one release or two, and then what becomes of them."""
    from discreet.curator.derive import difference, ratio, rolled_up  # noqa: PLC0415

    two = wanted.per is not None or wanted.other is not None
    columns = wanted.columns
    if two and len(columns or ()) > 1:
        raise ParameterError("--column", columns, "must be one number, to compare it with another")
    if two and columns is None:
        columns = [made_of[0].only_number(wanted.per)]
    per = [] if wanted.per is None else [wanted.per]
    chosen = [*(columns or ()), *per]
    for one in made_of:
        one.check("--by", wanted.by or [], one.release.keys)
        one.check("--column", columns or [], one.numbers)
        one.check("--per", per, one.numbers)
    releases = [one.release for one in made_of]
    if wanted.by or wanted.total:
        added = chosen if wanted.columns else None
        releases = [rolled_up(one, by=wanted.by or [], columns=added) for one in releases]
    if not two:
        return releases[0]
    if wanted.per is not None:
        return ratio(releases[0], chosen[0], wanted.per)
    _check_alike(made_of, releases, wanted)
    if wanted.ratio is not None:
        return ratio(releases[0], releases[1], chosen[0])
    return difference(releases[0], releases[1], chosen[0])


def _check_alike(made_of: list[_Named], releases: list[Release], wanted: Wanted) -> None:
    first, second = (", ".join(one.keys) or "none" for one in releases)
    if set(releases[0].keys) != set(releases[1].keys):
        problem = (
            f"must have the same keys as release {made_of[0].name} ({first}), and has: {second}; "
            "say --by with those that both have, or --total"
        )
        raise ParameterError(wanted.option, wanted.other, problem)

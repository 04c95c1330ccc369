"""`discreet people` and `discreet key`: who may sign in at a ledger's server, and with what.

A password or a key is shown once, where it is made, and never again.
Tested by tests/cli/test_people.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from discreet.cli import options as o
from discreet.cli.errors import Guarded, warn
from discreet.cli.places import Place, place_of
from discreet.cli.plain import Plain
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.curator.access import Access, KeyInfo, Person, Role

__all__ = ["keys_app", "people_app"]

people_app = typer.Typer(
    name="people",
    cls=Guarded,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Who may sign in at the server, as what, and until when.",
)
keys_app = typer.Typer(
    name="key",
    cls=Guarded,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="The keys with which people's programs call the server.",
)
OWNER = "owner"
"""Who has the policy and a shell: what the log calls them."""
Where = Annotated[str, typer.Argument(metavar="POLICY", help="The policy: a .toml file.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="As the policy names its analysts.")]
Datasets = Annotated[
    str | None,
    typer.Option("--datasets", metavar="A,B", help="Only these datasets. Without it: all."),
]
PasswordFile = Annotated[
    Path | None,
    typer.Option("--password-file", metavar="FILE", help="The password: the file's first line."),
]
Generate = Annotated[bool, typer.Option("--generate", help="Make a password, and print it once.")]


@contextmanager
def _opened(where: str) -> Iterator[tuple[Place, Access]]:
    from discreet.curator.access import Access  # noqa: PLC0415

    place = place_of(where)
    with place.open() as ledger:
        yield place, Access.at(ledger, _secret(place))


def _secret(place: Place) -> Path | None:
    """The file that the policy names for the secret."""
    return None if place.policy is None else place.policy.server.secret


@people_app.command(cls=Plain)
def add(  # noqa: PLR0913, PLR0917 - who, as what, with what, how far, how long
    where: Where,
    name: Name,
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="owner, analyst or auditor.")
    ] = "analyst",
    password_file: PasswordFile = None,
    generate: Generate = False,  # noqa: FBT002
    no_password: Annotated[  # noqa: FBT002
        bool, typer.Option("--no-password", help="Only keys: they cannot sign in on the page.")
    ] = False,
    datasets: Datasets = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="DATE", help="The last day, as 2027-12-31.")
    ] = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Admit somebody. Without more words their password is asked for.

    Example: [bold]discreet people add policy.toml alice --role analyst --generate[/bold]

    Example: [bold]discreet people add policy.toml audit-office --role auditor --no-password
    --datasets payroll --expires 2099-12-31[/bold]
    """
    _one_of(password_file, generate=generate, no_password=no_password)
    last = None if expires is None else _day(expires)
    with _opened(where) as (place, access):
        if all(one.disabled or one.name != name for one in access.people):
            password = None if no_password else _password(name, password_file, generate=generate)
        else:
            password = None  # they are there: it is refused before anything is asked
        scope, as_a = _listed(datasets), cast("Role", role)  # an unknown one is refused there
        found = access.add(name, as_a, password=password, datasets=scope, expires=last, by=OWNER)
        _warn_of_strangers(place, found)
    shown = password if generate else None
    if as_json:
        typer.echo(json.dumps({**_person(found), "password": shown}, indent=2))
        return
    typer.echo(f"{name} is {_a(found.role)}.")
    _show_once(shown)


@people_app.command("list", cls=Plain)
def list_people(where: Where, as_json: o.Json = False) -> None:  # noqa: FBT002
    """List who may sign in, and who may no longer.

    Example: [bold]discreet people list policy.toml[/bold]
    """
    from discreet.curator.access import people_of  # noqa: PLC0415

    with place_of(where).open() as ledger:
        found = people_of(ledger)
    if as_json:
        typer.echo(json.dumps({"people": [_person(one) for one in found]}, indent=2))
        return
    head = ("name", "role", "datasets", "until", "password", "state")
    rows = [
        (
            one.name, one.role, _scope(one.datasets), str(one.expires or ""),
            "yes" if one.has_password else "no", "shut out" if one.disabled else "",
        )
        for one in found
    ]  # fmt: skip
    _table(head, rows, "Nobody was added.")


@people_app.command(cls=Plain)
def disable(where: Where, name: Name, as_json: o.Json = False) -> None:  # noqa: FBT002
    """Shut somebody out, at once: sessions end, keys are revoked.

    Example: [bold]discreet people disable policy.toml bob[/bold]
    """
    with _opened(where) as (_, access):
        access.disable(name, by=OWNER)
    told = {"name": name, "disabled": True}
    words = f"{name} is shut out; their sessions ended and their keys are revoked."
    typer.echo(json.dumps(told) if as_json else words)


@people_app.command(cls=Plain)
def password(
    where: Where,
    name: Name,
    password_file: PasswordFile = None,
    generate: Generate = False,  # noqa: FBT002
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Give somebody a new password; all their sessions end.

    Example: [bold]discreet people password policy.toml bob --generate[/bold]
    """
    _one_of(password_file, generate=generate, no_password=False)
    with _opened(where) as (_, access):
        if not any(one.name == name and not one.disabled for one in access.people):
            problem = "is nobody who may sign in; `discreet people list` tells them"
            raise ParameterError("name", name, problem)
        given = _password(name, password_file, generate=generate)
        access.set_password(name, given, by=OWNER)
    shown = given if generate else None
    if as_json:
        typer.echo(json.dumps({"name": name, "password": shown}))
        return
    typer.echo(f"{name} has a new password; their sessions ended.")
    _show_once(shown)


@people_app.command(cls=Plain)
def reset(where: Where, as_json: o.Json = False) -> None:  # noqa: FBT002
    """Go on with a new secret where the old one is lost: keys and passwords are made anew.

    Example: [bold]discreet people reset policy.toml[/bold]
    """
    from discreet.curator.access import Access, read_secret, secret_path  # noqa: PLC0415

    place = place_of(where)
    with place.open() as ledger:
        secret = read_secret(_secret(place) or secret_path(ledger.head_path), make=True)
        Access.anew(ledger, secret, by=OWNER)
    words = "All keys are revoked and all passwords forgotten; the people are still there."
    typer.echo(json.dumps({"reset": True}) if as_json else words)


@keys_app.command(cls=Plain)
def make(
    where: Where,
    name: Name,
    days: Annotated[
        int, typer.Option("--days", metavar="N", help="How long it lives, up to 366.")
    ] = 90,
    datasets: Datasets = None,
    label: Annotated[str, typer.Option("--label", metavar="TEXT", help="What it is for.")] = "",
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Make a key for somebody's programs; it is printed once, and can never be seen again.

    Example: [bold]discreet key make policy.toml bob --days 30 --datasets payroll
    --label notebook[/bold]
    """
    with _opened(where) as (place, access):
        scope = _listed(datasets)
        text = access.make_key(name, datasets=scope, days=days, label=label, by=OWNER)
        _warn_of_datasets(place, scope)
        (found,) = (one for one in access.keys(name) if one.id == text.split("_")[1])
    if as_json:
        typer.echo(json.dumps({"key": text, **_key(found)}, indent=2))
        return
    typer.echo(text)
    until = found.expires.date()
    words = f"This key of {name} is shown now and never again. It ends on {until}."
    typer.echo(words, err=True)


@keys_app.command("list", cls=Plain)
def list_keys(where: Where, as_json: o.Json = False) -> None:  # noqa: FBT002
    """List all keys: whose, what for, until when, and when they were used last.

    Example: [bold]discreet key list policy.toml[/bold]
    """
    from discreet.curator.access import keys_of  # noqa: PLC0415

    with place_of(where).open() as ledger:
        found = keys_of(ledger)
    if as_json:
        typer.echo(json.dumps({"keys": [_key(one) for one in found]}, indent=2))
        return
    head = ("id", "name", "label", "datasets", "until", "last used (UTC)", "state")
    rows = [
        (
            one.id, one.person, one.label, _scope(one.datasets), str(one.expires.date()),
            "" if one.last_used is None else f"{one.last_used:%Y-%m-%d %H:%M}",
            "" if one.revoked is None else f"revoked {one.revoked:%Y-%m-%d}",
        )
        for one in found
    ]  # fmt: skip
    _table(head, rows, "No key was made.")


@keys_app.command(cls=Plain)
def revoke(
    where: Where,
    which: Annotated[str, typer.Argument(metavar="ID", help="The 12 letters after dk_.")],
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """End a key, at once.

    Example: [bold]discreet key revoke policy.toml 3f2a9c01d4e8[/bold]
    """
    with _opened(where) as (_, access):
        access.revoke(which, by=OWNER)
    typer.echo(json.dumps({"id": which, "revoked": True}) if as_json else f"{which} is revoked.")


# reading and telling


def _one_of(file: Path | None, *, generate: bool, no_password: bool) -> None:
    if (file is not None) + generate + no_password > 1:
        problem = "goes alone: say one of --password-file, --generate and --no-password"
        raise ParameterError("--generate" if generate else "--no-password", None, problem)


def _password(name: str, file: Path | None, *, generate: bool) -> str:
    if generate:
        from discreet.curator.access import new_password  # noqa: PLC0415

        return new_password()
    if file is None:
        asked = f"Password for {name}"
        return str(typer.prompt(asked, hide_input=True, confirmation_prompt=True, err=True))
    try:
        return next(iter(file.read_text(encoding="utf-8").splitlines()), "")
    except UnicodeDecodeError:
        raise ParameterError("--password-file", str(file), "must be UTF-8 text") from None


def _show_once(shown: str | None) -> None:
    if shown is not None:
        typer.echo(f"password: {shown}")
        typer.echo("It is shown now and never again.", err=True)


def _warn_of_strangers(place: Place, found: Person) -> None:
    """The policy may be changed to fit; until then they would find nothing."""
    policy = place.policy
    if policy is None:
        return
    if found.role == "analyst" and found.name not in policy.analysts:
        warn(f"{found.name} is no analyst of the policy yet, and may ask nothing until it says so")
    _warn_of_datasets(place, found.datasets)


def _warn_of_datasets(place: Place, datasets: Sequence[str] | None) -> None:
    there = None if place.policy is None else place.policy.datasets
    for name in datasets or ():
        if there is not None and name not in there:
            warn(f"the policy has no dataset {name} yet")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ParameterError("--expires", text, "must be a day such as 2027-12-31") from None


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _scope(datasets: Sequence[str] | None) -> str:
    return "all" if datasets is None else ", ".join(datasets)


def _a(role: str) -> str:
    return f"an {role}"


def _person(one: Person) -> dict[str, Any]:
    return {
        "name": one.name,
        "role": one.role,
        "datasets": one.datasets,
        "expires": None if one.expires is None else one.expires.isoformat(),
        "has_password": one.has_password,
        "disabled": one.disabled,
    }


def _key(one: KeyInfo) -> dict[str, Any]:
    times = {
        name: None if (time := getattr(one, name)) is None else time.isoformat()
        for name in ("created", "expires", "revoked", "last_used")
    }
    told = {"id": one.id, "name": one.person, "label": one.label, "datasets": one.datasets}
    return {**told, **times}


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], nothing: str) -> None:
    from discreet.curator.values import visible, width_of  # noqa: PLC0415

    if not rows:
        typer.echo(nothing)
        return
    shown = [head, *(tuple(visible(cell) for cell in row) for row in rows)]
    widths = [max(width_of(row[place]) for row in shown) for place in range(len(head))]
    shown.insert(1, tuple("─" * wide for wide in widths))
    for row in shown:
        put = (cell + " " * (wide - width_of(cell)) for cell, wide in zip(row, widths, strict=True))
        typer.echo("  ".join(put).rstrip())

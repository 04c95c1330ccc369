"""`discreet serve`: the curator on a network.

Tested by tests/cli/test_serving.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as o
from discreet.cli.listening import Listening
from discreet.cli.options import spread
from discreet.errors import ParameterError
from discreet.exact import whole

if TYPE_CHECKING:
    from discreet.server.service import Service

__all__ = ["serve"]

_FIRST = "curator"
"""The name of the first owner."""
_EMPTY = """\
# A policy for data that you hold about people. Register a dataset on the page, or here.
[ledger]
path = "{name}.ledger"

[server]
"""


@spread
def serve(
    listening: Listening,
    policy: Annotated[
        Path | None, typer.Argument(metavar="POLICY", help="The policy; made if it is not there.")
    ] = None,
    processes: Annotated[
        int, typer.Option("--processes", metavar="N", help="Serve from so many processes.")
    ] = 1,
    demo: Annotated[  # noqa: FBT002
        bool, typer.Option("--demo", help="A made-up payroll with people to try it as.")
    ] = False,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Put the curator on a network: an API and a web page, for people who are not trusted.

    It listens on this machine only, unless --host says otherwise; beyond that it wants TLS.
    The first start makes the ledger, the secret and an owner, whose password is shown once.
    With --processes one that dies is started again; limits hold for all of them together.

    Example: [bold]discreet serve policy.toml[/bold]

    Example: [bold]discreet serve --demo[/bold]
    """
    try:
        from discreet.server.run import bound, run  # noqa: PLC0415
        from discreet.server.service import Service as Made  # noqa: PLC0415
        from discreet.server.several import run_several  # noqa: PLC0415
    except ImportError as error:
        problem = f'needs {error.name}: pip install "discreet[server]"'
        raise ParameterError("serve", None, problem) from None
    from discreet.curator.policy.reading import read_policy  # noqa: PLC0415

    if demo == (policy is not None):
        raise ParameterError("POLICY", None, "or --demo must be said, one of the two")
    many = whole(processes, name="--processes", at_least=1, at_most=64)
    listening.check()
    path = _demo() if policy is None else policy
    made = _ready(path)
    for words in made if not as_json else ():
        typer.echo(words)
    settings = replace(listening.settings(read_policy(path).server), processes=many).checked()
    bound(settings).close()  # before somebody is made whose password nobody would see
    service = Made(path, settings=settings)
    password = _first_owner(service)
    people = _people(service) if demo else []
    for one in people if not as_json else ():
        typer.echo("{role} {name}: password {password}  key {key}".format_map(one))
    started = _started(path, password, made, people, as_json=as_json)
    if many == 1:
        run(service, started=started)
    else:
        service.close()
        run_several(path, settings, started=started)


def _started(
    path: Path, password: str, made: list[str], people: list[dict[str, str]], *, as_json: bool
) -> Callable[[str], None]:
    """What is said once the server listens; to a machine it is everything, in one line."""
    if password:
        people = [{"role": "owner", "name": _FIRST, "password": password}, *people]

    def started(address: str) -> None:
        if as_json:
            told = {"policy": str(path), "address": address, "made": made, "people": people}
            typer.echo(json.dumps(told))
            return
        typer.echo(f"Serving {path.name} at {address}  (Ctrl-C stops it)")
        if password:
            typer.echo(f"Sign in as {_FIRST} with this password, shown only now: {password}")

    return started


def _ready(path: Path) -> list[str]:
    """Make what the first start needs, a policy without data and the ledger; say what was made."""
    from discreet.curator.curator import Curator  # noqa: PLC0415
    from discreet.curator.policy.reading import read_policy  # noqa: PLC0415

    made = []
    if not path.exists() and path.suffix != ".toml":
        raise ParameterError("POLICY", str(path), "is not there, and a new one has to end in .toml")
    if not path.exists():
        path.write_text(_EMPTY.format(name=path.stem), encoding="utf-8")
        made.append(f"Wrote {path.name}, a policy without data yet.")
    place = read_policy(path).ledger
    if not place.address.startswith("postgres") and not Path(place.address).exists():
        Curator.register(path)
        made.append("Made its ledger.")
    return made


def _first_owner(service: Service) -> str:
    """The password of the first owner, if nobody could let anybody in otherwise."""
    from discreet.curator.access import new_password  # noqa: PLC0415

    if any(one.role == "owner" and not one.disabled for one in service.access.people):
        return ""
    password = new_password()
    service.access.add(_FIRST, "owner", password=password, by="serve")
    return password


def _demo() -> Path:
    from discreet.gallery.data import write_payroll  # noqa: PLC0415
    from discreet.gallery.policies import write_policy  # noqa: PLC0415

    folder = Path("discreet-demo")
    folder.mkdir(exist_ok=True)
    if not (folder / "payroll.csv").exists():
        write_payroll(folder / "payroll.csv")
        write_policy(folder / "policy.toml")
    return folder / "policy.toml"


def _people(service: Service) -> list[dict[str, str]]:
    """Somebody of every role, to try the page as."""
    from discreet.curator.access import new_password  # noqa: PLC0415

    made, there = [], {one.name for one in service.access.people}
    for name, role in (("alice", "analyst"), ("bob", "analyst"), ("audrey", "auditor")):
        if name in there:
            continue
        password = new_password()
        service.access.add(name, role, password=password, by="serve")  # type: ignore[arg-type]
        key = service.access.make_key(name, by="serve", label="demo")
        made.append({"role": role, "name": name, "password": password, "key": str(key)})
    return made

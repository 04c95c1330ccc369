"""From the tables of a policy file to a policy, with the checks that span several of them.

Every part is tried, also where another part is wrong, so that the owner sees all problems at once.
Tested by tests/curator/policy/test_building.py and, for each message, test_wrong.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from discreet.curator.ledger.amounts import Limit, limit_of
from discreet.curator.policy.declared import column_of, lookup_of, unit_of
from discreet.curator.policy.form import (
    AllowanceForm,
    AmountForm,
    AnalystForm,
    BlockForm,
    DatasetForm,
    DefaultsForm,
    FamilyForm,
    LedgerForm,
    Problems,
    ServerForm,
    as_table,
    said,
    unknown,
    wrong,
)
from discreet.curator.policy.model import (
    Analyst,
    Block,
    Dataset,
    Defaults,
    Family,
    Ledger,
    Policy,
    Server,
    is_address,
)
from discreet.curator.policy.names import OWNER, PLAIN, is_plain
from discreet.curator.policy.sources import files_at, overlap, placed, placed_table
from discreet.errors import ParameterError
from discreet.privacy.guarantee import Neighbours
from discreet.query.schema import MOST_ROWS
from discreet.query.words import meant

__all__ = ["build"]

SECTIONS = ("ledger", "family", "analyst", "dataset", "defaults", "server")
_NOT_OPTIONS = {
    "table": 'say table = "..." in the dataset itself',
    "kind": "the ending of the source says it",
    "session": "a session cannot be written in a file",
}
_OPTIONS = ["delimiter", "threads", "timeout", "hashing", "key"]


def build(raw: Mapping[str, Any], folder: Path) -> tuple[Policy | None, Problems]:
    """The policy, or None, and everything that is wrong with it."""
    builder = _Builder(raw, folder)
    policy = builder.policy()
    return (None if builder.problems else policy), builder.problems


class _Builder:
    def __init__(self, raw: Mapping[str, Any], folder: Path) -> None:
        self.raw = raw
        self.folder = folder
        self.problems = Problems()

    def policy(self) -> Policy | None:
        for key in self.raw:
            if key not in SECTIONS:
                self.problems.add((key,), unknown(key, list(SECTIONS)))
        ledger = self._ledger()
        families = self._families()
        analysts = self._analysts(families)
        datasets = self._datasets(families)
        form = self.problems.read(DefaultsForm, self.raw.get("defaults", {}), ("defaults",))
        server = self._server()
        self._two_budgets(datasets)
        self._blocks_agree(datasets)
        if ledger is None or form is None or server is None:
            return None
        self._ledger_is_no_source(ledger, datasets)
        defaults = Defaults(form.epsilon, form.delta, form.confidence)
        frozen = MappingProxyType
        return Policy(
            self.folder, ledger, frozen(families), frozen(analysts), frozen(datasets), defaults,
            server,
        )  # fmt: skip

    # names

    def _tables(self, section: str, example: str, *, needed: bool) -> dict[str, Any]:
        """The named tables of a section."""
        found = self.raw.get(section, {})
        named = isinstance(found, dict) and any(isinstance(one, dict) for one in found.values())
        if section in self.raw and not named:
            self.problems.add((section,), f"must be followed by a name: {example}")
            return {}
        if needed and not found and "server" not in self.raw:  # the page may add the first one
            self.problems.add((), f"{section} is missing; a policy needs {example}")
        self._names((section,), found)
        return as_table(found)

    def _names(self, path: tuple[str, ...], names: Iterable[str], *, plain: bool = True) -> None:
        seen: dict[str, str] = {}
        for name in names:
            at = (*path, name)
            if plain and not is_plain(name):
                self.problems.add(at, f"{said(name)} is no plain name: {PLAIN}")
            twin = seen.setdefault(name.casefold(), name)
            if twin != name:
                text = f"differs from {said(twin)} by upper and lower case only; rename one"
                self.problems.add(at, text)

    def _known(self) -> list[str]:
        """The families that are there, right or wrong."""
        found = as_table(self.raw.get("family"))
        return [name for name, one in found.items() if isinstance(one, dict)]

    def _is_told_apart(self, known: list[str]) -> bool:
        """Whether a family that is not there is a problem of its own: not where all are missing,
        which is told once, unless the page may add them.
        """
        return bool(known) or "server" in self.raw

    # sections

    def _ledger(self) -> Ledger | None:
        if "ledger" not in self.raw:
            self.problems.add((), 'ledger is missing; say [ledger] path = "staff.ledger"')
            return None
        form = self.problems.read(LedgerForm, self.raw["ledger"], ("ledger",))
        if form is None:
            return None
        return self.problems.tried(("ledger",), _ledger_of, form, self.folder)

    def _server(self) -> Server | None:
        form = self.problems.read(ServerForm, self.raw.get("server", {}), ("server",))
        return None if form is None else self.problems.tried(
            ("server",), _server_of, form, self.folder
        )  # fmt: skip

    def _families(self) -> dict[str, Family]:
        found: dict[str, Family] = {}
        for name, raw in self._tables("family", "[family.staff]", needed=True).items():
            path = ("family", name)
            form = self.problems.read(FamilyForm, raw, path)
            if form is None:
                continue
            limit = self.problems.tried(path, _family_limit, form)
            if limit is not None:
                found[name] = Family(
                    name, limit, form.releases, form.expires, tells_rest=form.tells_rest
                )
        return found

    def _analysts(self, families: Mapping[str, Family]) -> dict[str, Analyst]:
        found: dict[str, Analyst] = {}
        for name, raw in self._tables("analyst", "[analyst.alice]", needed=False).items():
            path = ("analyst", name)
            if name.casefold() == OWNER:
                self.problems.add(path, "is the owner's own name in the ledger; say another one")
            form = self.problems.read(AnalystForm, raw, path)
            if form is None:
                continue
            if not form.allowance:
                text = f"allowance is missing; say [analyst.{name}.allowance.FAMILY] epsilon = 1"
                self.problems.add(path, text)
            limits = {}
            for family, amount in form.allowance.items():
                limit = self._allowance((*path, "allowance", family), amount, families)
                if limit is not None:
                    limits[family] = limit
            found[name] = Analyst(name, MappingProxyType(limits), form.expires)
        return found

    def _allowance(
        self, path: tuple[str, ...], raw: object, families: Mapping[str, Family]
    ) -> Limit | None:
        form = self.problems.read(AllowanceForm, raw, path)
        known = self._known()
        if self._is_told_apart(known) and path[-1] not in known:
            self.problems.add(path, _no_family(path[-1], known))
        family = families.get(path[-1])
        if form is None or family is None:
            return None
        return self.problems.tried(path, _allowance_limit, form, family)

    def _datasets(self, families: Mapping[str, Family]) -> dict[str, Dataset]:
        found: dict[str, Dataset] = {}
        for name, raw in self._tables("dataset", "[dataset.payroll]", needed=True).items():
            made = self._dataset(name, raw, families)
            if made is not None:
                found[name] = made
        return found

    def _dataset(self, name: str, raw: object, families: Mapping[str, Family]) -> Dataset | None:
        path, problems, before = ("dataset", name), self.problems, len(self.problems)
        form = problems.read(DatasetForm, raw, path)
        table = as_table(raw)
        family = families.get(str(table.get("family")))
        known = self._known()
        named = isinstance(table.get("family"), str) and self._is_told_apart(known)
        if named and table["family"] not in known:
            problems.add((*path, "family"), _no_family(table["family"], known))
        relation = None if family is None else family.neighbours
        unit = self._unit(path, table, relation)
        columns = self._columns((*path, "columns"), as_table(table.get("columns")))
        lookups = self._lookups((*path, "lookup"), as_table(table.get("lookup")), name)
        options = self._options((*path, "options"), as_table(table.get("options")))
        where = self._where(path, table)
        blocks = self._blocks((*path, "block"), table, family)
        limit = MOST_ROWS if form is None or form.row_limit is None else form.row_limit
        if not 1 <= limit <= 1 << 62:
            problems.add((*path, "row_limit"), f"must be from 1 to 2^62, got {said(limit)}")
        if len(problems) > before or form is None or unit is None or where is None:
            return None
        return Dataset(
            name, form.family, *where, form.version, unit, MappingProxyType(columns),
            MappingProxyType(lookups), limit, MappingProxyType(options), MappingProxyType(blocks),
            self.folder,
        )  # fmt: skip

    def _unit(
        self, path: tuple[str, ...], table: Mapping[str, Any], relation: Neighbours | None
    ) -> Any:
        if "unit" not in table:
            return None
        family = str(table.get("family"))
        return self.problems.tried((*path, "unit"), unit_of, table["unit"], relation, family)

    def _columns(self, path: tuple[str, ...], raw: Mapping[str, Any]) -> dict[str, Any]:
        self._names(path, raw, plain=False)
        made = {
            name: self.problems.tried((*path, name), column_of, value)
            for name, value in raw.items()
        }
        return {name: column for name, column in made.items() if column is not None}

    def _lookups(
        self, path: tuple[str, ...], raw: Mapping[str, Any], dataset: str
    ) -> dict[str, Any]:
        self._names(path, raw)
        made = {}
        for name, value in raw.items():
            if name.casefold() == dataset.casefold():
                self.problems.add((*path, name), "has the name of its dataset; say another one")
            table = self.problems.tried((*path, name), lookup_of, value)
            if table is not None:
                made[name] = table
        return made

    def _options(self, path: tuple[str, ...], raw: Mapping[str, Any]) -> dict[str, Any]:
        for name, value in raw.items():
            if name in _NOT_OPTIONS:
                self.problems.add((*path, name), f"is no option: {_NOT_OPTIONS[name]}")
            elif name not in _OPTIONS:
                self.problems.add((*path, name), unknown(name, _OPTIONS))
            elif not isinstance(value, bool | int | str | Decimal):
                self.problems.add((*path, name), f"must be text or a number, got {said(value)}")
        numbers = {k: v for k, v in raw.items() if isinstance(v, Decimal)}
        return {**raw, **{name: float(value) for name, value in numbers.items()}}

    def _where(
        self, path: tuple[str, ...], table: Mapping[str, Any]
    ) -> tuple[str, str | None] | None:
        source, named = table.get("source"), table.get("table")
        if not isinstance(source, str) or not isinstance(named, str | None):
            return None
        there = self.problems.tried((*path, "source"), placed, source, self.folder)
        if there is None:
            return None
        before = len(self.problems)
        at = (*path, "table") if named is not None else path
        found = self.problems.tried(at, placed_table, there, named)
        return None if len(self.problems) > before else (there, found)

    def _blocks(
        self, path: tuple[str, ...], dataset: Mapping[str, Any], family: Family | None
    ) -> dict[str, Block]:
        found: dict[str, Block] = {}
        blocks = as_table(dataset.get("block"))
        self._names(path, blocks)
        for name, raw in blocks.items():
            at = (*path, name)
            form = self.problems.read(BlockForm, raw, at)
            inherited = {"table": dataset["table"]} if "table" in dataset else {}
            where = self._where(at, {**inherited, **as_table(raw)})
            if form is None or where is None or family is None:
                continue
            before = len(self.problems)
            limit = self.problems.tried(at, _block_limit, form, family)
            if len(self.problems) == before:
                own = form.people == "own"
                found[name] = Block(name, *where, form.version, own, limit)
        return found

    # across tables

    def _two_budgets(self, datasets: Mapping[str, Dataset]) -> None:
        """Refuse two budgets on what may be the same rows."""
        parts = [part for dataset in datasets.values() for part in _parts(dataset)]
        files = cache(files_at)
        for i, (path, account, source) in enumerate(parts):
            for other, its_account, its_source in parts[:i]:
                if account != its_account and overlap(source, its_source, files):
                    family, its_family = account.split("/")[0], its_account.split("/")[0]
                    way = 'say people = "shared"' if family == its_family else "say one family"
                    self.problems.add(
                        (*path, "source"),
                        f"is also the source of [{'.'.join(other)}], and their budgets are "
                        f"{account} and {its_account}: the same people would have two budgets; "
                        f"{way}",
                    )
                    break

    def _blocks_agree(self, datasets: Mapping[str, Dataset]) -> None:
        """Blocks of one name in one family are one group of people, with one budget."""
        seen: dict[tuple[str, str], tuple[str, Block]] = {}
        for dataset in datasets.values():
            for name, block in dataset.blocks.items():
                first, other = seen.setdefault((dataset.family, name), (dataset.name, block))
                if (block.own_people, block.limit) != (other.own_people, other.limit):
                    self.problems.add(
                        ("dataset", dataset.name, "block", name),
                        f"must say the same people and budget as [dataset.{first}.block.{name}]: "
                        "blocks of one name in one family share one budget; or rename it",
                    )

    def _ledger_is_no_source(self, ledger: Ledger, datasets: Mapping[str, Dataset]) -> None:
        kept = {ledger.address, str(ledger.head)}
        for dataset in datasets.values():
            for path, _, (source, _table) in _parts(dataset):
                if source in kept and not is_address(source):
                    text = "is the ledger's own file; say another path in [ledger]"
                    self.problems.add((*path, "source"), text)


def _parts(dataset: Dataset) -> list[tuple[tuple[str, ...], str, tuple[str, str | None]]]:
    """Path, account and source of a dataset and of its blocks."""
    path = ("dataset", dataset.name)
    first = (path, dataset.account(), (dataset.source, dataset.table))
    more = [
        ((*path, "block", name), dataset.account(name), (block.source, block.table))
        for name, block in dataset.blocks.items()
    ]
    return [first, *more]


def _no_family(name: str, known: Iterable[str]) -> str:
    there = ", ".join(known) or "none"
    return f"{said(name)} is no family of this file{meant(name, known)}; there are: {there}"


# ledgers and budgets


def _ledger_of(form: LedgerForm, folder: Path) -> Ledger:
    if (form.path is None) == (form.address is None):
        raise wrong(
            'must say path = "staff.ledger", or address = "postgresql://..." with head = '
            '"staff.head", one of the two'
        )
    for name, said_path in (("path", form.path), ("head", form.head)):
        if said_path is not None and (not said_path or "\0" in said_path or "://" in said_path):
            problem = 'must be the path of a file; a database has address = "postgresql://..."'
            raise ParameterError(name, None, problem)
    if form.path is not None:
        address = placed(form.path, folder)
        return Ledger(address, Path(placed(form.head, folder) if form.head else f"{address}.head"))
    address = form.address or ""
    if not address.startswith("postgresql://"):
        raise ParameterError(
            "address", None, 'must begin with postgresql://; a file has path = "..."'
        )
    if form.head is None:
        raise ParameterError("head", None, 'is missing: an address needs head = "staff.head"')
    return Ledger(placed(address, folder), Path(placed(form.head, folder)))


def _server_of(form: ServerForm, folder: Path) -> Server:
    if not 0 <= form.port < 1 << 16:
        raise ParameterError("port", form.port, "must be from 0 to 65535; 0 takes a free one")
    if (form.certificate is None) != (form.private_key is None):
        raise wrong("certificate and private_key go together; say both, or none")
    for name, least, most in (("workers", 1, 64), ("requests_per_minute", 1, 10**6)):
        if not least <= getattr(form, name) <= most:
            raise ParameterError(name, getattr(form, name), f"must be from {least} to {most}")
    said_deadlines = tuple(form.deadlines) or Server().deadlines
    if list(said_deadlines) != sorted(set(said_deadlines)) or not (
        Fraction(1, 20) <= said_deadlines[0] <= said_deadlines[-1] <= 3600
    ):
        raise wrong("deadlines must be rising numbers of seconds, from 0.05 to 3600")
    files = {
        name: None if path is None else Path(placed(path, folder))
        for name in ("certificate", "private_key", "secret", "sources")
        for path in (getattr(form, name),)
    }
    return Server(
        host=form.host, port=form.port, names=tuple(form.names), **files,
        deadlines=said_deadlines, workers=form.workers,
        requests_per_minute=form.requests_per_minute,
    )  # fmt: skip


def _family_limit(form: FamilyForm) -> Limit:
    accounting = form.accounting or "pure"
    if accounting == "pure" and form.rho is not None:
        raise wrong('rho goes with accounting = "zcdp"; say epsilon = 1, or that')
    if form.epsilon is None and form.rho is None:
        say = "epsilon = 1" if accounting == "pure" else "rho = 0.1, or epsilon and delta"
        raise wrong(f"epsilon is missing: how much may be learned in all; say {say}")
    return _spendable(
        limit_of(
            accounting=accounting, epsilon=form.epsilon, delta=form.delta, rho=form.rho,
            neighbours=form.neighbours,
        )
    )  # fmt: skip


def _limit_in(form: AmountForm | BlockForm, family: Family) -> Limit:
    """An amount in the accounting of its family."""
    if family.accounting == "pure" and form.rho is not None:
        raise wrong(f"rho cannot be said: the family {family.name} adds up epsilons")
    if form.epsilon is None and form.rho is None:
        say = "epsilon = 1" if family.accounting == "pure" else "rho = 0.1"
        raise wrong(f"{say.partition(' ')[0]} is missing; say {say}")
    return _spendable(
        limit_of(
            accounting=family.accounting, epsilon=form.epsilon, delta=form.delta, rho=form.rho,
            neighbours=family.neighbours,
        )
    )  # fmt: skip


def _allowance_limit(form: AllowanceForm, family: Family) -> Limit:
    if form.accounting not in (None, family.accounting):
        raise wrong(
            f'accounting must be "{family.accounting}", as the family {family.name} says, got '
            f"{said(form.accounting)}; leave it out"
        )
    limit = _limit_in(form, family)
    if not limit.most.within(family.limit.most):
        has, all_of_it = limit.most.said(limit.accounting), family.limit.most.said(limit.accounting)
        raise wrong(
            f"is more than the family {family.name} has in all: {has} of {all_of_it}; "
            "say at most that"
        )
    return limit


def _block_limit(form: BlockForm, family: Family) -> Limit | None:
    asked = bool(form.epsilon or form.rho or form.delta)
    if form.people == "shared":
        if asked:
            raise wrong(
                'a block with people = "shared" charges the budget of its family; leave out '
                "epsilon, delta and rho"
            )
        return None
    return _limit_in(form, family) if asked else family.limit


def _spendable(limit: Limit) -> Limit:
    if not limit.most.main > 0:
        raise wrong("the budget must be at least 1e-12: less is below what a ledger counts")
    return limit

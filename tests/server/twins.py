"""Two running servers whose data differ in one person, and everything that an analyst sees of each.

`Caller.both` sends one request to both and fails where they differ in anything but noise: status,
headers with their values and order, length, text of an error byte for byte, the form of an answer.
What a ledger gives each entry by chance (hashes, ids, times) is compared by its length.
"""

import http.client
import json
import math
import re
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from tests.curator.people import NASTY, frame, rows
from tests.server.running import PEOPLE, Running, prepared, running

from discreet.engines.duckdb import DuckDB

CLIENTS = ("c0", "c1")
"""Analysts who may ask a great deal."""
POLICY = """
[ledger]
path = "t.ledger"

[family.people]
epsilon = 1000
delta = 0.001
neighbours = "add_or_remove"

{allowances}
[analyst.bob.allowance.people]
epsilon = 0.01

[dataset.t]
family = "people"
source = "t.{kind}"
version = "1"
unit = {{ person = "person_id", max_rows = 3, max_groups = 2 }}
[dataset.t.columns]
salary = {{ low = 0, high = 400000, grid = 0.01 }}
dept = {{ keys = ["clerk", "nurse", "chef", "empty"] }}
age = {{ low = 0, high = 120, grid = 1 }}
active = "boolean"
hired = {{ first = 2019-01-01, last = 2024-12-31 }}
note = "text"
bonus = {{ find = true, epsilon = 2 }}

[dataset.t.block.b]
source = "b.{kind}"
version = "b"
people = "own"

[dataset.t.lookup.grades]
key = "dept"
rows = [{{ dept = "clerk", grade = 1 }}, {{ dept = "nurse", grade = 2 }}]
"""
FINDING = POLICY.replace("max_rows = 3", 'max_rows = "find", find_epsilon = 2')
"""The same, where the rows of a person are found too."""
ALLOWANCE = "[analyst.{}.allowance.people]\nepsilon = {}\ndelta = 0.0002\n"
LINES = [  # the target's rows in a CSV file, where everything can stand
    "999,nan,SECRET:7,42,,,SECRET:7",
    '999,1e400,nurse,0,maybe,2024-02-30,"SECRET:7, ""x"""',
    f"999,-Infinity,chef,{9 * 10**40},true,9999-99-99,",
    '999,SECRET,clerk,-2147483648,1,2020-01-01,"é\u202e\'; DROP TABLE t; --"',
    "999,,,,,,",
    '999,0x10,nurse,4_2,t,2020-1-1,"line\nbreak"',
    "999,0,empty,1,true,2019-01-01,nobody else is there",
    "999,1e308,chef,120,false,2024-12-31," + "SECRET" * 1000,
    "SECRET",
]


BONUS = ["nan", "-1e300", "SECRET", "0", "1e-9", "5000000", "600", "Infinity", "700"]


def write(path, *, target, people=60):
    """The table, in the form that the name says; with one person more, or without.

    The bonuses of all others lie between 512 and 1024, where a search finds them.
    """
    listed = rows(people)
    bonuses = [513.0 + i * 37 % 510 for i in range(len(listed))]
    if path.suffix == ".parquet":
        if target:
            listed += NASTY
            bonuses += [math.nan, math.inf, -math.inf, -0.0, 1e308, 5e-324, 600.0]
        made = frame(listed).append_column("bonus", pa.array(bonuses, pa.float64()))
        pyarrow.parquet.write_table(made, path)
        return
    pyarrow.csv.write_csv(frame(listed).append_column("bonus", pa.array(bonuses)), path)
    if target:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line},{bonus}\n" for line, bonus in zip(LINES, BONUS, strict=True))


@dataclass
class Pair:
    kind: str
    without: Running
    having: Running

    @property
    def servers(self):
        return self.without, self.having

    def caller(self, who="c0"):
        return Caller(self, who)

    def books(self):
        """What was charged and written by each: accounts, and the number of entries."""
        found = []
        for server in self.servers:
            ledger = server.service.ledger
            accounts = {name: one.to_dict() for name, one in ledger.accounts.items()}
            found.append((accounts, ledger.head.seq))
        return found

    def same_books(self):
        """Fails where one twin charged or wrote something else."""
        first, second = self.books()
        assert first == second
        return first


@contextmanager
def twins(folder, kind="csv", *, policy=POLICY, clients=CLIENTS, allowance=200, **settings):
    """Two running servers under one policy; the second one has the target's rows."""
    allowances = "".join(ALLOWANCE.format(one, allowance) for one in clients)
    text = policy.format(kind=kind, allowances=allowances)
    people = PEOPLE | dict.fromkeys(clients, "analyst")
    people.pop("alice")
    paths = []
    for name in ("without", "having"):
        place = folder / name
        place.mkdir()
        for part in ("t", "b"):
            write(place / f"{part}.{kind}", target=name == "having")
        paths.append(prepared(place, text))
    with (
        running(paths[0], people=people, **settings) as first,
        running(paths[1], people=people, **settings) as second,
    ):
        yield Pair(kind, first, second)


def only(server, monkeypatch, run):
    """Let the engines of one server read its rows in another way, also those opened later."""
    inner, home = DuckDB.run, str(server.service.path.parent)

    def chosen(engine, request, statement=None, **more):
        here = home in engine.statement(request)
        return (run if here else inner)(engine, request, statement, **more)

    monkeypatch.setattr(DuckDB, "run", chosen)


@dataclass(frozen=True)
class Seen:
    """All of one answer that comes over the network."""

    status: int
    headers: tuple
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    def form(self, *, sized=True):
        """What must not depend on the data; the length of stored numbers does, by their noise."""
        told = formed(self.body, self.headers)
        if sized:
            return self.status, self.headers, len(self.body), told
        return self.status, tuple(h for h in self.headers if h[0] != "content-length"), told


class Caller:
    """An analyst who sends every request to both servers, on connections that are kept."""

    def __init__(self, pair, who):
        self._pair, self.who = pair, who
        self._open = [
            http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            for server in pair.servers
        ]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self._open:
            one.close()

    def send(self, place, method, path, body=None, headers=None):
        """Send one request to one of them."""
        key = self._pair.servers[place].keys[self.who]
        sent = {"Host": "127.0.0.1", "Authorization": f"Bearer {key}", **(headers or {})}
        data = None
        if body is not None:
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        self._open[place].request(method, path, body=data, headers=sent)

    def receive(self, place):
        """What it answers."""
        answer = self._open[place].getresponse()
        return Seen(answer.status, tuple(answer.getheaders()), answer.read())

    def both(self, method, path, body=None, headers=None, *, sized=True):
        """The answers of both, which have the same form."""
        for place in (0, 1):
            self.send(place, method, path, body, headers)
        found = [self.receive(place) for place in (0, 1)]
        for first, second in zip(*(one.form(sized=sized) for one in found), strict=True):
            assert first == second, f"{method} {path} {body}: {first} is not {second}"
        return found

    def ask(self, question, **more):
        return self.both("POST", "/api/ask", {"question": question, **more})

    def allowance(self, block=None):
        """What the asker has left at each, by the ledger itself."""
        name = f"people@{self.who}" if block is None else f"people/{block}@{self.who}"
        return [server.service.ledger.accounts[name].to_dict() for server in self._pair.servers]


# forms

_BY_CHANCE = ("id", "head", "asked_at", "at", "key")
_FOUND = re.compile(r"^(bounds of \w+|rows per person) (not )?found: .*")
"""What a search has released, in the note that tells of it."""


def formed(body, headers=()):
    """A body without its noise: what is no record has to be the same to the last byte."""
    kind = dict(headers).get("content-type", "application/json")
    if not kind.startswith("application/json"):
        return kind
    told = json.loads(body)
    if isinstance(told, dict) and "parts" in told:  # a publication, foreseen on made-up rows
        return tuple({**told, "within": 0, "rehearsal": _record(told["rehearsal"])}.items())
    if isinstance(told, dict) and "release" in told:
        return _record(told)
    if isinstance(told, dict) and "releases" in told:
        listed = [_plain(one) for one in told["releases"]]
        return tuple({**told, "releases": listed}.items())
    if isinstance(told, dict) and told.get("error") == "conflict":  # it quotes the whole key
        return re.sub(rb"-[0-9a-f]{8}\b", b"-", body)
    return body


def _record(told):
    found = dict(_plain({k: v for k, v in told.items() if k != "release"}))
    return tuple({**found, "release": _release(told["release"], told["plan"])}.items())


def _plain(told):
    """In order; what is made by chance has its length instead."""
    return tuple((k, len(v) if k in _BY_CHANCE else v) for k, v in told.items())


def is_open(release, plan):
    """Whether the number of groups is itself released: by a selection, or by noisy numbers."""
    selected = any("selected" in note for note in release["notes"])
    return selected or re.search(r"^(HAVING|LIMIT)\b", plan, re.MULTILINE) is not None


def _release(told, plan):
    keys = [place for place, column in enumerate(told["columns"]) if column["key"]]
    groups = [tuple(row[place] for place in keys) for row in told["rows"]]
    if is_open(told, plan):
        groups = "as released"
    elif re.search(r"^ORDER BY", plan, re.MULTILINE):
        groups = sorted(groups, key=repr)
    lengths = {
        name: groups if groups == "as released" else [(k, len(v)) for k, v in told[name].items()]
        for name in ("intervals", "raw")
    }
    notes = [_FOUND.sub(r"\1 as released", note) for note in told["notes"]]
    free = {"mechanism"} if notes != told["notes"] else set()  # its noise follows from the bounds
    columns = [
        tuple((k, v) for k, v in column.items() if k not in free and (k != "kind" or
              (column["key"] and keys and groups != "as released")))
        for column in told["columns"]
    ]  # fmt: skip
    widths = {len(row) for row in told["rows"]} - {len(told["columns"])}
    assert not widths
    values = {
        "rows": groups, "columns": columns, "notes": notes, **lengths,
        "losses": [{k: v for k, v in one.items() if not free or k != "sensitivity"}
                   for one in told["losses"]],
        "asked_at": len(told["asked_at"]),
    }  # fmt: skip
    if told.get("published"):
        values["published"] = _published(told["published"])
    return tuple((k, values.get(k, v)) for k, v in told.items())


def _published(told):
    """All but what was measured."""
    measured = {k: v for k, v in told["measured"].items() if not isinstance(v, list)}
    return {**told, "asked_at": len(told["asked_at"]), "measured": measured}

"""A real server on a real socket, in a thread of the test's process, and somebody who calls it."""

import http.client
import json
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from tests.curator.payroll import POLICY, write_rows

from discreet.curator.access import passwords
from discreet.curator.curator import Curator
from discreet.curator.pace import ENGINE_SHARE
from discreet.curator.policy.reading import read_policy
from discreet.server.api import questions
from discreet.server.run import bound, in_thread, server_of
from discreet.server.service import Service
from discreet.server.settings import Settings

PASSWORD = "correct horse battery"
COUNT = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY dept"


def weak(monkeypatch):
    """Cheap password hashes: the tests are about other things."""
    monkeypatch.setattr(passwords, "MEMORY", 64)
    monkeypatch.setattr(passwords, "ROUNDS", 1)
    monkeypatch.setattr(passwords, "LANES", 1)


def prepared(folder, policy=POLICY, people=400):
    """A folder with data, a policy and its ledger; the policy's path."""
    if not (folder / "payroll.csv").exists():
        write_rows(folder / "payroll.csv", people=people)
    (folder / "policy.toml").write_text(policy)
    Curator.register(folder / "policy.toml")
    return folder / "policy.toml"


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Running:
    service: Service
    port: int
    keys: dict
    server: object = None

    @property
    def app(self):
        """The application inside."""
        return self.server.config.app._app

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def call(self, method, path, body=None, *, who=None, headers=None, raw=None, timeout=60):
        """One request on a connection of its own; `who` is a name whose key is sent."""
        sent = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
        if who is not None:
            sent["Authorization"] = f"Bearer {self.keys[who]}"
        data = raw
        if body is not None:
            data = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body=data, headers=sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path, who="alice", **more):
        return self.call("GET", path, who=who, **more)

    def post(self, path, body, who="alice", **more):
        return self.call("POST", path, body, who=who, **more)

    def ask(self, question=COUNT, who="alice", **more):
        headers = more.pop("headers", None)
        return self.post("/api/ask", {"question": question, **more}, who=who, headers=headers)


PEOPLE = {"olga": "owner", "alice": "analyst", "bob": "analyst", "audrey": "auditor"}


@contextmanager
def engine_share(share):
    """The part of a deadline that a database gets, for all servers of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(questions, "ENGINE_SHARE", share)
        yield


@contextmanager
def running(
    path, *, deadlines=(Fraction(1, 10), Fraction(1, 2)), people=PEOPLE, stopping=False, **settings
):
    """A running server with somebody of every role.

    Its database may take far longer than the deadline, as a busy machine is no failing database;
    unless it is `stopping` it in time.
    """
    server = read_policy(path).server
    changed = {k: settings.pop(k) for k in ("workers", "requests_per_minute", "names", "sources")
               if k in settings}  # fmt: skip
    server = replace(server, **{"requests_per_minute": 10**6, **changed}, port=0,
                     deadlines=tuple(Fraction(one) for one in deadlines))  # fmt: skip
    made = Settings(server, login_per_minute=settings.pop("login_per_minute", 10**6), **settings)
    service = Service(path, settings=made)
    keys = {}
    there = {one.name for one in service.access.people}
    for name, role in people.items():
        if name not in there:
            service.access.add(name, role, password=PASSWORD, by="tests")
        keys[name] = service.access.make_key(name, by="tests")
    server = server_of(service)
    with (
        engine_share(ENGINE_SHARE if stopping else 1000),
        in_thread(server, bound(made)) as listening,
    ):
        assert server.started, "the server did not start"
        yield Running(service, listening.getsockname()[1], keys, server)

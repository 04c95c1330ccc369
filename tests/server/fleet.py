"""Servers as processes, to be killed; clients that do not give up; and who counts afterwards.

A nursery has imported everything and forks servers, each in a fraction of a second; without one
they are started as a person does. One that is armed dies at a labelled step of its next question.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.curator.payroll import write_rows
from tests.machines import Nursery, free_port
from typer.main import get_command

from discreet.cli import app
from discreet.curator.access import Access, read_secret
from discreet.curator.curator import Curator
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.policy.reading import read_policy

POLICY = """
[ledger]
{ledger}
[family.staff]
epsilon = {total}
neighbours = "add_or_remove"
[analyst.alice.allowance.staff]
epsilon = {total}
[analyst.bob.allowance.staff]
epsilon = {total}
[dataset.payroll]
family = "staff"
source = "payroll.csv"
version = "1"
unit = {{ person = "id", max_rows = 1 }}
[dataset.payroll.columns]
pay = {{ low = 0, high = 1000, grid = 1 }}
[server]
deadlines = [{deadline}]
requests_per_minute = 1000000
"""


@dataclass
class Place:
    """A folder with data, a policy, its ledger, and keys for eight clients."""

    folder: Path
    keys: list

    @classmethod
    def at(cls, folder, *, ledger='path = "x.ledger"', total, deadline, clients=8):
        write_rows(folder / "payroll.csv", people=60)
        text = POLICY.format(ledger=ledger, total=total, deadline=deadline)
        (folder / "policy.toml").write_text(text)
        Curator.register(folder / "policy.toml")
        made = cls(folder, [])
        with made.ledger() as opened:
            secret = read_secret(opened.head_path.with_suffix(".secret"), make=True)
            access = Access(opened, secret)
            access.add("olga", "owner", by="tests")
            for name in ("alice", "bob"):
                access.add(name, "analyst", by="tests")
            names = ("alice", "bob")
            made.keys = [access.make_key(names[n % 2], by="tests") for n in range(clients)]
        return made

    def ledger(self):
        place = read_policy(self.folder / "policy.toml").ledger
        return Ledger(place.address, head=place.head)


# processes


def nursery():
    """A process that has imported everything and forks servers."""
    return Nursery("from tests.server.fleet import nurse; nurse()")


def nurse():
    """Fork a server for every line on standard input; all die with their nurse."""
    import discreet.cli.serving
    import discreet.curator.ledger.verify
    import discreet.server.connections
    import discreet.server.run
    import discreet.server.service  # noqa: F401 - imported once, here
    from discreet.server.app import described

    described()
    command = get_command(app)
    living = set()
    for line in sys.stdin:
        what = json.loads(line)
        if "wait" in what:
            _, status = os.waitpid(what["wait"], 0)
            living.discard(what["wait"])
            answer = {"code": os.waitstatus_to_exitcode(status)}
        else:
            pid = os.fork()
            if not pid:
                _serve(command, **what)
            living.add(pid)
            answer = {"pid": pid}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    for pid in living:
        os.kill(pid, signal.SIGKILL)


def _serve(command, folder, port):
    from discreet.curator.ledger.steps import on_step
    from discreet.server.api import questions

    questions.ENGINE_SHARE = 1000  # a busy machine is no failing database

    log = os.open(f"{folder}/server-{port}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number in (1, 2):
        os.dup2(log, number)
    os.chdir(folder)
    armed = Path(folder) / f"die-{port}"

    def die(step):
        if armed.exists() and armed.read_text() == step:
            os.kill(os.getpid(), signal.SIGKILL)

    on_step(die)
    code = 1
    try:
        command(["serve", "policy.toml", "--port", str(port)], standalone_mode=False)
        code = 0
    finally:
        os._exit(code)


@dataclass
class Server:
    """One server, that can be killed and started again at the same port.

    Attributes:
        nursery: where it comes from; None for the command, as a person types it.
        more: further words of the command.
    """

    place: Place
    nursery: Nursery | None = None
    port: int = field(default_factory=free_port)
    pid: int = 0
    more: tuple = ()
    _process: object = None

    def start(self, *, wait=True):
        if self.nursery is None:
            log = (self.place.folder / f"server-{self.port}.log").open("ab")
            command = [sys.executable, "-m", "discreet", "serve", "policy.toml"]
            self._process = subprocess.Popen(
                [*command, "--port", str(self.port), *self.more], cwd=self.place.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
            log.close()
            self.pid = self._process.pid
        else:
            self.pid = self.nursery.say(folder=str(self.place.folder), port=self.port)["pid"]
        if wait:
            self.ready()
        return self

    def ready(self, seconds=60):
        until = time.monotonic() + seconds
        while self.health() != 200:
            assert time.monotonic() < until, self.log()
            time.sleep(0.02)

    def health(self):
        try:
            return call(self.port, "GET", "/health/ready", timeout=5)[0]
        except OSError:
            return None

    def end(self, how=signal.SIGKILL):
        """Send a signal, and wait; how it ended."""
        os.kill(self.pid, how)
        return self.wait()

    def wait(self):
        if self._process is not None:
            return self._process.wait(timeout=60)
        return self.nursery.say(wait=self.pid)["code"]

    def arm(self, step):
        (self.place.folder / f"die-{self.port}").write_text(step)

    def disarm(self):
        (self.place.folder / f"die-{self.port}").unlink()

    def log(self):
        return (self.place.folder / f"server-{self.port}.log").read_text()


def call(port, method, path, body=None, *, key=None, name=None, timeout=30):
    """One request; its status, body and headers. OSError where there is nobody."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    if name is not None:
        headers["Idempotency-Key"] = name
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    except http.client.HTTPException as error:
        raise ConnectionError(str(error)) from None
    finally:
        connection.close()


# clients


def question(number):
    """Another question for each number: nothing is answered from what was asked before."""
    one, two = divmod(number, 900)
    return f"SELECT COUNT(*) AS n FROM payroll WHERE pay <> {one} AND pay <> {two}"


@dataclass
class Client:
    """Somebody who asks one question after the other, each until there is an answer."""

    number: int
    key: str
    servers: list
    answers: dict = field(default_factory=dict)
    refused: int = 0
    tries: int = 0
    asked: int = 0

    def ask(self, name, number, epsilon):
        """The answer to a question, however often it has to be asked for; None if it is refused."""
        body = {"question": question(number), "epsilon": epsilon}
        until = time.monotonic() + 90
        while time.monotonic() < until:
            self.tries += 1
            server = self.servers[(self.number + self.tries) % len(self.servers)]
            try:
                status, told, _ = call(
                    server.port, "POST", "/api/ask", body, key=self.key, name=name
                )
            except OSError:
                time.sleep(0.02)
                continue
            if status == 200:
                return json.loads(told)
            if status == 402:
                return None
            assert status in (429, 503), (status, told.strip())
            time.sleep(0.02)
        raise AssertionError(f"{name} was never answered")

    def next(self, epsilon):
        """Ask something new; whether it was answered."""
        self.asked += 1
        number = self.asked * 8 + self.number
        name = f"c{self.number}-{self.asked}"
        found = self.ask(name, number, epsilon)
        if found is None:
            self.refused += 1
            return False
        self.answers[name] = (number, epsilon, found)
        return True


def together(clients, work):
    """Let all clients work at once; what fails in one fails here."""
    failed = []

    def run(client):
        try:
            work(client)
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]

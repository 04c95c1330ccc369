"""Collecting over the network: against a running server, with clients that kill it, too."""

import base64
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from tests.machines import free_port

import discreet as dp
from discreet.curator.policy.model import Server
from discreet.errors import LedgerError, ParameterError
from discreet.local.store import Store
from discreet.local.survey import Survey
from discreet.server import collecting as module
from discreet.server.collecting import LEARNT, collecting_app, serving_collecting
from discreet.server.settings import LONGEST_BODY, Settings

START = datetime(2026, 11, 16, tzinfo=UTC)
SETTINGS = Settings(Server(port=0))
ORACLE = dp.local.SubsetSelection(["tea", "coffee", "milk", "juice", "water"], 1)
DEVICE = "device-of-somebody-{:04}"
KILLS = 5


class Running:
    """A running collector, whose clock the test sets."""

    def __init__(self, folder, oracle=ORACLE):
        self.survey = Survey(oracle, start=START, seconds=3600, epochs=2, name="drinks")
        self.store, self.owner = Store.create(folder / "s.collected", self.survey)
        self.now = START
        self.port = 0

    def call(self, method, path, body=None, *, key=None, headers=None):
        return call(self.port, method, path, body, key=key, headers=headers)

    def body(self, number=0, value="tea", **more):
        report = self.survey.oracle.report(value).to_bytes()
        return {"survey": self.survey.identity, "epoch": 0, "device": DEVICE.format(number),
                "report": base64.b64encode(report).decode(), **more}  # fmt: skip

    def send(self, number=0, **more):
        return self.call("POST", "/api/reports", self.body(number, **more))

    def n(self, epoch=0):
        return self.store.collector(epoch).n


def call(port, method, path, body=None, *, key=None, headers=None):
    given = {**({"Content-Type": "application/json"} if body is not None else {}),
             **({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}  # fmt: skip
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(method, path, data, given)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except http.client.HTTPException as error:
        raise ConnectionError(str(error)) from None
    finally:
        connection.close()


@contextmanager
def running(folder, **more):
    made = Running(folder, **more)
    with serving_collecting(made.store, SETTINGS, clock=lambda: made.now) as address:
        made.port = int(address.rpartition(":")[2])
        yield made


@pytest.fixture
def server(tmp_path):
    with running(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """For what is refused."""
    with running(tmp_path_factory.mktemp("standing")) as made:
        yield made


def test_a_report_is_counted_and_a_second_is_not(server):
    first = server.body()
    assert server.call("POST", "/api/reports", first)[0] == 201
    assert server.call("POST", "/api/reports", first)[0] == 409  # a replay
    assert server.send(0, value="milk")[0] == 409  # another report of the same device
    assert server.send(1)[0] == 201
    assert server.n() == 2
    whole = dp.local.Collector(ORACLE)
    whole.add(base64.b64decode(first["report"]))
    assert (server.store.collector(0).tally >= whole.tally).all()


def test_the_next_epoch_is_another(server):
    assert server.send()[0] == 201
    assert server.send(epoch=1)[0] == 422  # not yet
    server.now = START + timedelta(hours=1)
    assert server.send()[0] == 422  # no longer
    assert server.send(epoch=1)[0] == 201
    assert server.send(epoch=1)[0] == 409
    server.now = START + timedelta(hours=2)
    status, told = server.send(epoch=1)
    assert (status, "no epoch is open" in told.decode()) == (422, True)
    assert server.send(epoch=2)[0] == 422
    assert (server.n(0), server.n(1)) == (1, 1)


def wrong_report(change):
    data = bytearray(ORACLE.report("tea").to_bytes())
    return base64.b64encode(bytes(change(data))).decode()


@pytest.mark.parametrize(
    "more",
    [
        {"survey": "0" * 16}, {"survey": "nonsense"}, {"epoch": -1}, {"epoch": "0"}, {"epoch": 0.0},
        {"epoch": True}, {"epoch": 10**12}, {"epoch": None}, {"device": "short"}, {"device": 5},
        {"device": "x" * 129}, {"report": ""}, {"report": "!!!!"}, {"report": None}, {"more": 1},
        {"report": wrong_report(lambda d: d[:-1])}, {"report": wrong_report(lambda d: d + b"x")},
        {"report": wrong_report(lambda d: b"\xd2" + d[1:])},
        {"report": wrong_report(lambda d: d[:1] + b"\x01" + d[2:])},
        {"report": wrong_report(lambda d: d[:2] + bytes(8) + d[10:])},
        {"report": wrong_report(lambda d: d[:-1] + b"\xff")},  # bits beyond the domain
        {"report": wrong_report(lambda d: d[:-1] + b"\x1f")},  # a subset of another size
        {"report": base64.b64encode(dp.local.SubsetSelection(5, 1).report(0).to_bytes()).decode()},
        {"report": wrong_report(lambda d: d) + "\n"},
        {"report": wrong_report(lambda d: d)[:-1].rstrip("=") + "/"},
    ],
)  # fmt: skip
def test_what_is_no_report_of_this_survey_is_refused(standing, more):
    device = before = standing.n()
    status, told = standing.send(device, **more)
    assert status == 422
    assert "nothing was counted" in told.decode()
    assert standing.n() == before
    assert standing.send(device)[0] == 201  # and the device may still report


def test_what_is_wrong_with_a_report_is_told(server):
    other = base64.b64encode(dp.local.SubsetSelection(5, 1).report(0).to_bytes()).decode()
    for report, words in (("!!!!", "base64"), ("AAAA", "no report of"), (other, "no report of")):
        assert words in server.send(3, report=report)[1].decode()


def test_base64_is_read_in_one_way_only(server):
    """Padding bits that mean nothing would be a second spelling of one report."""
    text = server.body()["report"]
    assert text.endswith("=")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    core = text.rstrip("=")
    other = core[:-1] + letters[letters.index(core[-1]) ^ 1] + text[len(core) :]
    assert base64.b64decode(other) == base64.b64decode(text)
    assert server.send(1, report=other)[0] == 422


# batches


def batch(server, items, **more):
    names = ("device", "report", "ticket")
    reports = [{name: one[name] for name in names if name in one} for one in items]
    body = {"survey": server.survey.identity, "epoch": 0, "reports": reports, **more}
    status, told = server.call("POST", "/api/batches", body)
    return status, json.loads(told)


def outcomes(told):
    return [one["outcome"] for one in told["outcomes"]]


def test_a_batch_counts_each_once_and_says_which(server):
    assert server.send(2)[0] == 201
    items = [server.body(number) for number in (0, 1, 2, 0, 3)]
    items[1]["report"] = wrong_report(lambda d: d[:-1] + b"\x1f")
    items.insert(2, {**server.body(9), "report": "!!!!"})
    status, told = batch(server, items)
    assert status == 200
    assert outcomes(told) == ["counted", "refused", "refused", "before", "before", "counted"]
    assert "cannot have written" in told["outcomes"][1]["reason"]
    assert server.n() == 3
    whole = dp.local.Collector(ORACLE)
    whole.add([base64.b64decode(items[place]["report"]) for place in (0, 5)])
    assert (server.store.collector(0).tally >= whole.tally).all()
    assert outcomes(batch(server, items)[1]).count("counted") == 0  # sent again
    assert server.n() == 3


def test_a_batch_of_nothing_good_is_answered_too(server):
    items = [server.body(number, report="!!!!") for number in range(3)]
    assert outcomes(batch(server, items)[1]) == ["refused"] * 3


@pytest.mark.parametrize(
    "more",
    [
        {"reports": []}, {"reports": None}, {"survey": "0" * 16}, {"epoch": 1},
        {"device": "x" * 20}, {"reports": [{"device": "short", "report": "x"}]},
        {"reports": [{"device": DEVICE}]},
    ],
)  # fmt: skip
def test_what_is_no_batch_is_refused_as_a_whole(standing, more):
    before = standing.n()
    status, _ = batch(standing, [standing.body(before)], **more)
    assert status == 422
    assert standing.n() == before


def test_a_batch_is_bounded(server, monkeypatch):
    one = {"device": "d" * 16, "report": "A"}
    assert batch(server, [], reports=[one] * 1025)[0] == 422
    monkeypatch.setattr(module, "_LINE", 3)
    assert batch(server, [server.body(n) for n in range(4)])[0] == 503
    assert server.n() == 0
    assert batch(server, [server.body(n) for n in range(3)])[0] == 200
    assert batch(server, [server.body(n) for n in range(3, 6)])[0] == 200  # room is given back
    assert server.n() == 6


# tickets


def with_ticket(server, number, **more):
    body = server.body(number)
    return {**body, "ticket": server.store.tickets.of(body["device"]), **more}


def test_with_tickets_only_their_devices_report(server):
    assert json.loads(server.call("GET", "/api/survey")[1])["needs_tickets"] is False
    assert server.send(0)[0] == 201
    server.store.require_tickets()
    assert json.loads(server.call("GET", "/api/survey")[1])["needs_tickets"] is True
    status, told = server.send(1)
    assert (status, b"nothing was counted" in told) == (403, True)
    assert server.send(0)[0] == 403  # nor does it hear that this device has reported
    stolen = with_ticket(server, 2)["ticket"]
    assert server.send(1, ticket=stolen)[0] == 403
    assert server.send(1, ticket="0" * 32)[0] == 403
    for bad in ("", stolen[:-1], stolen.upper(), 5):
        assert server.send(1, ticket=bad)[0] == 422
    assert server.n() == 1
    mine = with_ticket(server, 1)
    assert server.call("POST", "/api/reports", mine)[0] == 201
    assert server.call("POST", "/api/reports", mine)[0] == 409
    assert server.n() == 2


def test_tickets_in_a_batch(server):
    server.store.require_tickets()
    items = [with_ticket(server, 0), server.body(1), with_ticket(server, 2, ticket="0" * 32)]
    told = batch(server, items)[1]
    assert outcomes(told) == ["counted", "refused", "refused"]
    assert "ticket" in told["outcomes"][1]["reason"]


def test_a_wrong_ticket_is_refused_where_none_is_needed(server):
    assert server.send(0, ticket="0" * 32)[0] == 403
    assert server.call("POST", "/api/reports", with_ticket(server, 0))[0] == 201


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"x" * (LONGEST_BODY + 1), 413),
        (b"{", 400),
        (b"[]", 422),
        (b'{"epoch": 1, "epoch": 2}', 400),
        (b'{"epoch": NaN}', 400),
    ],
)
def test_bodies_that_are_none(server, body, status):
    assert server.call("POST", "/api/reports", body)[0] == status
    assert server.n() == 0


def test_a_long_report_within_the_limit_is_refused_too(server):
    assert server.send(report="A" * 50_000)[0] == 422
    assert server.call("POST", "/api/reports", server.body(), headers={"Content-Type": "text/plain"}
                       )[0] == 415  # fmt: skip
    assert server.n() == 0


def test_an_oracle_whose_reports_are_too_long_is_refused(tmp_path):
    made = Running(tmp_path, oracle=dp.local.OptimizedUnary(1 << 20, 1))
    with pytest.raises(ParameterError, match="at most"):
        collecting_app(made.store, SETTINGS)
    made.store.close()


def test_everybody_may_read_the_survey(server):
    status, told = server.call("GET", "/api/survey")
    told = json.loads(told)
    assert status == 200
    assert Survey.from_json(told["survey"]) == server.survey
    assert (told["identity"], told["epoch"]) == (server.survey.identity, 0)
    assert (told["epsilon_of_a_report"], told["epsilon_of_all_epochs"]) == ("1", "2")
    assert told["learnt"] == LEARNT
    for word in ("name", "address", "time", "took part"):
        assert word in LEARNT


@pytest.mark.parametrize("path", ["/api/estimate?epoch=0", "/api/counts?epoch=0"])
def test_estimates_are_for_the_owner(server, path):
    server.send()
    for key in (None, "", "nonsense", server.owner[:-1], server.owner.upper()):
        assert server.call("GET", path, key=key)[0] == 401
    headers = {"Authorization": f"Basic {server.owner}"}
    assert server.call("GET", path, headers=headers)[0] == 401
    assert server.call("GET", path, key=server.owner)[0] == 200


def test_keys_cannot_be_guessed_fast(server):
    found = {server.call("GET", "/api/counts?epoch=0", key="guess")[0] for _ in range(40)}
    assert found == {401, 429}
    assert server.call("GET", "/api/counts?epoch=0", key=server.owner)[0] == 200


def test_the_estimate_and_the_counts_are_those_of_a_collector(server):
    for number in range(30):
        server.send(number, value=ORACLE.domain.label(number % 3))
    found = server.store.collector(0)
    data = server.call("GET", "/api/counts?epoch=0", key=server.owner)[1]
    assert dp.local.Collector.from_bytes(data, ORACLE) == found
    told = json.loads(server.call("GET", "/api/estimate?epoch=0", key=server.owner)[1])
    assert told["rows"] == list(found.estimate().rows())
    assert (told["n"], told["confidence"]) == (30, 0.95)
    assert server.call("GET", "/api/estimate?epoch=1", key=server.owner)[0] == 422
    for query in ("", "?epoch=2", "?epoch=-1", "?epoch=x", "?epoch=0&confidence=2"):
        assert server.call("GET", f"/api/estimate{query}", key=server.owner)[0] == 422


def test_other_paths(server):
    assert server.call("GET", "/health/live")[0] == 200
    assert server.call("GET", "/health/ready")[0] == 200
    assert server.call("GET", "/api/nothing")[0] == 404
    assert server.call("GET", "/api/reports")[0] == 405
    assert server.call("GET", "/api/survey", headers={"Host": "elsewhere"})[0] == 400


def test_a_disk_that_fails_is_told_and_nothing_is_counted(server, monkeypatch):
    def fail(reports):
        raise LedgerError("the name of a file")

    monkeypatch.setattr(server.store, "add", fail)
    status, told = server.send()
    assert status == 503
    assert b"name of a file" not in told
    monkeypatch.undo()
    assert server.send()[0] == 201


def test_many_at_once_share_a_flush_and_each_is_counted_once(server, monkeypatch):
    batches, add = [], server.store.add

    def spy(reports):
        batches.append(len(reports))
        time.sleep(0.05)
        return add(reports)

    monkeypatch.setattr(server.store, "add", spy)
    bodies = [server.body(number % 40) for number in range(80)]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda one: server.call("POST", "/api/reports", one)[0], bodies))
    assert sorted(found) == [201] * 40 + [409] * 40
    assert server.n() == 40
    assert max(batches) > 1


# kills


class Process:
    """The command in a process, at one port, killed and started again."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.process = None

    def start(self):
        command = [sys.executable, "-m", "discreet", "collect", "serve", "s.json"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)], cwd=self.folder, env={**os.environ}, text=True,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert f"127.0.0.1:{self.port}" in self.process.stdout.readline()

    def end(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.stdout.close()
        return self.process.wait(60)


@pytest.mark.slow
def test_eight_clients_through_kills_and_restarts(tmp_path):
    """Every device is counted once: its report, whatever was answered, lost or sent again.

    Each client sends its devices' reports, each until it hears 201 or 409; the server is killed
    several times meanwhile. In the end the counts are exactly those of the reports.
    """
    start = datetime.now(UTC).replace(microsecond=0)
    survey = Survey(ORACLE, start=start, seconds=86_400, epochs=1, name="drinks")
    (tmp_path / "s.json").write_text(survey.to_json())
    server = Process(tmp_path)
    server.start()
    stop, kills = threading.Event(), 0
    answers = {201: 0, 409: 0, None: 0}
    reports = {
        f"{client:02}-{number:013}": ORACLE.report(ORACLE.domain.label((client + number) % 5))
        for client in range(8)
        for number in range(10_000)
    }
    sent = set()

    def work(client):
        number = 0
        while not stop.is_set():
            name = f"{client:02}-{number:013}"
            number += 1
            body = {"survey": survey.identity, "epoch": 0, "device": name,
                    "report": base64.b64encode(reports[name].to_bytes()).decode()}  # fmt: skip
            status = None
            while status is None:
                try:
                    status, told = call(server.port, "POST", "/api/reports", body)
                except OSError:
                    answers[None] += 1
                    time.sleep(0.02)
                    continue
                if status == 503:
                    status = None
                    time.sleep(0.02)
            assert status in (201, 409), told
            answers[status] += 1
            sent.add(name)
            if number % 7 == 0:  # a replay is never counted
                assert call_until(server, body) == 409
        return number

    with ThreadPoolExecutor(8) as pool:
        working = [pool.submit(work, client) for client in range(8)]
        try:
            for _ in range(KILLS):
                before = len(sent)
                until = time.monotonic() + 20
                while len(sent) < before + 40 and time.monotonic() < until:
                    time.sleep(0.01)
                how = signal.SIGTERM if kills % 5 == 4 else signal.SIGKILL
                server.end(how)
                kills += 1
                server.start()
            time.sleep(0.5)
        finally:
            stop.set()
        for one in working:
            one.result(60)
    server.end(signal.SIGTERM)
    store = Store.open(tmp_path / "s.collected")
    whole = dp.local.Collector(ORACLE)
    whole.add([reports[name] for name in sent])
    assert store.collector(0) == whole
    store.close()
    assert kills == KILLS
    assert answers[201] + answers[409] == len(sent) >= 40 * KILLS
    assert answers[None] > 0  # some were cut off


def call_until(server, body):
    while True:
        try:
            status, _ = call(server.port, "POST", "/api/reports", body)
        except OSError:
            time.sleep(0.02)
            continue
        if status != 503:
            return status

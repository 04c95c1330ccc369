"""What a device keeps: one draw for each survey and epoch, whatever a collector tries."""

import json
import multiprocessing
import sqlite3
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import discreet as dp
from discreet.curator.policy.model import Server
from discreet.local.device import Question
from discreet.local.diary import Diary, RefusedError, survey_at
from discreet.local.store import Store
from discreet.server.collecting import serving_collecting
from discreet.server.settings import Settings

START = datetime(2026, 11, 16, tzinfo=UTC)


def question_of(name="drinks", epsilon="1", epochs=4):
    oracle = dp.local.SubsetSelection(40, epsilon)
    survey = dp.local.Survey(oracle, name=name, start=START, seconds=3600, epochs=epochs)
    return Question(survey.to_json())


def test_a_report_is_drawn_once(tmp_path):
    """A second draw would be equal with a chance below 1e-9: there are C(40, 11) subsets."""
    diary, question = Diary(tmp_path / "d", budget=2), question_of()
    first = diary.report(question, 0, 3)
    assert diary.report(question, 0, 3) == first
    assert diary.report(question, 0, 17) == first  # the first value counts
    assert Diary(tmp_path / "d", budget=2).report(question, 0, 3) == first
    second = diary.report(question, 1, 3)
    assert second[1] != first[1]
    assert second[0] != first[0]
    assert diary.spent == 2


def test_the_budget_holds_over_all_surveys_and_names(tmp_path):
    """A collector that renames its survey again and again gets no more than the budget."""
    diary = Diary(tmp_path / "d", budget="7/10")
    for number in range(7):
        assert diary.report(question_of(f"survey {number}", "1/10"), 0, 5)
    for number in range(7, 10):
        with pytest.raises(RefusedError, match="0 is left of 7/10; nothing was drawn"):
            diary.report(question_of(f"survey {number}", "1/10"), 0, 5)
    assert diary.spent == Fraction(7, 10)
    assert Diary(tmp_path / "d", budget="4/5").report(question_of("one more", "1/10"), 0, 5)


@pytest.mark.parametrize("budget", [0, -1, "0", "-1/2", 0.5, True, None, float("nan")])
def test_a_bad_budget_is_refused(budget, tmp_path):
    with pytest.raises(RefusedError, match="budget"):
        Diary(tmp_path / "d", budget=budget)


def _race(path, number, told):
    diary = Diary(path, budget=3)
    for name in range(6):
        try:
            told.put((name, diary.report(question_of(f"s{name}"), 0, number)[1].hex()))
        except RefusedError:
            told.put((name, None))


def test_several_processes_share_the_budget_and_the_reports(tmp_path):
    told = multiprocessing.get_context("fork").SimpleQueue()
    spawn = multiprocessing.get_context("fork").Process
    workers = [spawn(target=_race, args=(tmp_path / "d", number, told)) for number in range(3)]
    for worker in workers:
        worker.start()
    found = [told.get() for _ in range(18)]
    for worker in workers:
        worker.join()
    given = {(name, report) for name, report in found if report is not None}
    assert len(given) == 3 == len({name for name, _ in given})
    assert Diary(tmp_path / "d", budget=3).spent == 3


def test_nothing_is_handed_out_that_is_not_on_disk(tmp_path):
    """A store that cannot be written gives no report."""
    diary, question = Diary(tmp_path / "d", budget=1), question_of()
    diary.spent  # noqa: B018 - makes the table
    with sqlite3.connect(tmp_path / "d") as connection:
        connection.execute(
            "CREATE TRIGGER no BEFORE INSERT ON reports BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    with pytest.raises(sqlite3.Error):
        diary.report(question, 0, 1)
    assert diary.spent == 0


def test_a_value_outside_the_domain_costs_nothing(tmp_path):
    diary = Diary(tmp_path / "d", budget=1)
    with pytest.raises(ValueError, match="domain"):
        diary.report(question_of(), 0, 40)
    assert diary.spent == 0


def test_the_file_is_for_its_owner_only(tmp_path):
    Diary(tmp_path / "d", budget=1).report(question_of(), 0, 1)
    assert (tmp_path / "d").stat().st_mode & 0o077 == 0


def test_a_device_takes_part_over_the_network(tmp_path):
    oracle = dp.local.KaryResponse(["tea", "coffee"], 200)
    survey = dp.local.Survey(oracle, name="drinks", start=START, seconds=3600, epochs=4)
    store, _ = Store.create(tmp_path / "drinks.collected", survey)
    ((name, ticket),) = store.tickets.issue(1)
    with serving_collecting(store, Settings(Server(port=0)), clock=lambda: START) as address:
        question = Question(survey_at(address))
        now = START.timestamp() + 5
        diary = Diary(tmp_path / "d", budget=900)
        assert diary.send(address, question, "tea", now=now) == "counted"
        assert diary.send(address, question, "tea", now=now) == "before"
        with pytest.raises(RefusedError, match="no epoch is open"):
            diary.send(address, question, "tea", now=now - 10)
        with pytest.raises(RefusedError, match="answered 4"):  # its epoch has not begun there
            diary.send(address, question, "tea", now=now + 3600)
        with pytest.raises(ValueError, match="domain"):
            diary.send(address, question, "cocoa", now=now)
        other = Diary(tmp_path / "e", budget=200)
        assert other.send(address, question, "coffee", now=now, ticket=(name, ticket)) == "counted"
        found = store.collector(0)
        assert (found.n, found.estimate()["tea"]) == (2, pytest.approx(0.5))
    with pytest.raises(RefusedError, match="https"):
        survey_at("file:///etc/passwd")


@contextmanager
def hostile(answer):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("answer", [b"", b"[]", b'{"survey": 5}', b"[" * 100_000, b"\xff"])
def test_what_tells_no_survey(answer):
    with hostile(answer) as address, pytest.raises(RefusedError, match="no survey"):
        survey_at(address)


def test_a_survey_that_means_harm_is_not_answered(tmp_path):
    text = json.dumps({"survey": json.dumps({"format": "discreet-survey/1"})}).encode()
    with hostile(text) as address, pytest.raises(ValueError, match="nothing was drawn"):
        Question(survey_at(address))

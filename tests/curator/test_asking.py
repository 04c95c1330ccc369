"""One part of a dataset, open for questions."""

import time

import pytest
from tests.curator.payroll import POLICY, write_rows

from discreet.curator.curator import Curator


@pytest.fixture
def curator(tmp_path):
    write_rows(tmp_path / "payroll.csv")
    text = POLICY.replace("epsilon = 0.1 }", "epsilon = 1 }").replace(
        "epsilon = 1\n", "epsilon = 3\n"
    )
    (tmp_path / "policy.toml").write_text(text)
    Curator.register(tmp_path / "policy.toml")
    with Curator(tmp_path / "policy.toml") as made:
        yield made


def test_a_search_and_its_question_share_the_time_of_one(curator, monkeypatch):
    engine = curator._part("payroll", None).engine
    given, run = [], type(engine).run

    def slow(self, *what, seconds=None, **more):
        given.append(seconds)
        time.sleep(0.3)
        return run(self, *what, seconds=None, **more)

    monkeypatch.setattr(type(engine), "run", slow)
    curator.seconds = 50
    curator.ask("SELECT SUM(bonus) AS s FROM payroll", epsilon="0.5", analyst="alice")
    search, question = given
    assert search == 50
    assert 0 < question <= 49.7
    curator.ask("SELECT COUNT(*) AS n FROM payroll", epsilon="0.1", analyst="alice")
    assert given[2] == 50  # the next question has all of it

"""The SQL of each dialect, reviewed as code: a change shows up as a change of these files.

Write them anew with UPDATE_SNAPSHOTS=1.
"""

import os
from datetime import date
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp
from tests.engines import corpus
from tests.engines.corpus import (
    AGE,
    BONUS,
    BORN,
    DEPT,
    LEVEL,
    NOTE,
    SALARY,
    SEEN,
    SMOKER,
    WIDELY,
    ZIP,
)

from discreet.engines.compile import statement
from discreet.engines.dialects import DIALECTS
from discreet.query import calendar
from discreet.query import total as t
from discreet.query.request import Bounding, Part, Request, Total

FOLDER = Path(__file__).parent / "snapshots"
NONE = Bounding("none")
c = t.constant
COUNT_AND_SUM = (Total(), Total(SALARY), Total(SALARY, 1, 0))

REQUESTS = {
    "one_row_per_person": Request(corpus.ROWS_SCHEMA, None, (Part((DEPT,), COUNT_AND_SUM, NONE),)),
    "whole_numbers": Request(
        corpus.ROWS_SCHEMA,
        None,
        (Part((LEVEL, ZIP), (Total(), Total(AGE), Total(AGE, 1, 0)), NONE),),
    ),
    "everybody": corpus.asked(
        Part((), (Total(), Total(AGE, 2, 60), Total(where=SMOKER)), NONE),
        where=t.compare(">=", AGE, c(18)),
    ),
    "weight": corpus.asked(Part((LEVEL,), COUNT_AND_SUM, Bounding("weight", rows=5, scale=1024))),
    "sample": corpus.asked(Part((DEPT,), COUNT_AND_SUM, Bounding("sample", rows=3, groups=2))),
    "sample_rows": corpus.asked(Part((DEPT,), COUNT_AND_SUM, Bounding("sample", rows=3))),
    "clamp": corpus.asked(Part((DEPT,), COUNT_AND_SUM, Bounding("clamp", rows=3, groups=2))),
    "people": corpus.asked(
        Part((DEPT, SMOKER), (), Bounding("sample", groups=2), people=True),
    ),
    "people_by_weight": corpus.asked(
        Part((NOTE,), (), Bounding("weight", groups=2, scale=1024), people=True)
    ),
    "several_parts": corpus.asked(
        Part((), (Total(),), NONE),
        Part((DEPT, SEEN), COUNT_AND_SUM, NONE),
        Part((), (), NONE, spread=(1, 10)),
    ),
    "dates": corpus.asked(
        Part(
            (calendar.date_trunc("month", SEEN), calendar.date_part("dayofweek", BORN)),
            (Total(calendar.days_between(SEEN, BORN), 1, 0),),
            NONE,
        ),
        where=t.compare("<", BORN, c(date(1990, 1, 1))),
    ),
    "arithmetic": corpus.asked(
        Part(
            (t.multiply(t.floor(t.divide(AGE, c(10))), c(10)),),
            (
                Total(t.divide(BONUS, AGE), 1, 0),
                Total(t.round_to(t.add(SALARY, BONUS, minus=True)), 1, 0),
                Total(t.case([(SMOKER, t.absolute(BONUS))], t.extreme("least", [AGE, c(9)])), 1, 0),
            ),
            NONE,
        ),
        where=t.any_of([t.like(NOTE, "a%'_"), t.negation(t.member(ZIP, [c(1010)]))]),
    ),
    "lookup": corpus.asked(
        Part(
            (corpus.lookup("zips", "region", ZIP),),
            (Total(corpus.lookup("zips", "rank", ZIP), 1, 0),),
            NONE,
        )
    ),
}


def rendered(dialect, request):
    table = exp.Table(this=exp.to_identifier("people", quoted=True))
    return (
        statement(request, dialect=dialect, relation=table, hashing="engine", key="k", pretty=True)
        + "\n"
    )


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", REQUESTS)
def test_the_sql_is_what_it_was(dialect, name):
    path = FOLDER / dialect / f"{name}.sql"
    text = rendered(dialect, REQUESTS[name])
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", REQUESTS)
def test_the_sql_can_be_parsed(dialect, name):
    for hashing in ("engine", "portable"):
        table = exp.Table(this=exp.to_identifier("people", quoted=True))
        text = statement(
            REQUESTS[name], dialect=dialect, relation=table, hashing=hashing, key="it's"
        )
        (tree,) = sqlglot.parse(text, dialect=dialect)
        assert tree.find(exp.Select)
        assert tree.sql(dialect=dialect)


def test_there_is_no_snapshot_of_nothing():
    there = {p.relative_to(FOLDER).as_posix() for p in FOLDER.rglob("*.sql")}
    assert there == {f"{d}/{n}.sql" for d in DIALECTS for n in REQUESTS}


def test_the_logarithm_is_left_out_here_for_its_length():
    text = rendered("duckdb", corpus.asked(Part((), (Total(t.logarithm(WIDELY), 1, 0),), NONE)))
    assert text.count("WHEN") > 100

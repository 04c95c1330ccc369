"""A survey is a file that says everything, and nothing else is read as one."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

import discreet as dp
from discreet.errors import InputTypeError, ParameterError
from discreet.local.catalogue import oracles
from discreet.local.survey import _KINDS, Survey

START = datetime(2026, 11, 16, tzinfo=UTC)


def survey(oracle=None, **more):
    given = {"start": START, "seconds": 3600, "epochs": 3, "name": "drinks", **more}
    return Survey(oracle or dp.local.KaryResponse(["tea", "coffee"], "0.5"), **given)


@pytest.mark.parametrize("oracle", oracles(), ids=repr)
def test_every_oracle_is_written_and_read_back(oracle):
    made = survey(oracle)
    read = Survey.from_json(made.to_json())
    assert read == made
    assert read.identity == made.identity
    assert read.oracle.fingerprint == oracle.fingerprint
    assert read.oracle.ratio == oracle.ratio


def test_every_kind_of_oracle_is_known():
    assert {type(one) for one in oracles()} == set(_KINDS.values())


def test_epochs_are_a_public_schedule():
    made = survey()
    at = lambda seconds: made.epoch(START + timedelta(seconds=seconds))
    assert [at(s) for s in (-1, 0, 3599, 3600, 7200, 10799, 10800)] == [None, 0, 0, 1, 2, 2, None]
    east = timezone(timedelta(hours=2))
    assert made.epoch((START + timedelta(hours=1)).astimezone(east)) == 1
    with pytest.raises(ParameterError, match="zone"):
        made.epoch(datetime(2026, 11, 16))  # noqa: DTZ001


def test_all_epochs_cost_the_sum():
    made = survey(epochs=7)
    assert made.total == dp.PureDP("3.5", "replace")
    assert made.guarantee == dp.PureDP("0.5", "replace")


def test_what_differs_has_another_identity():
    others = [
        survey(), survey(name="cars"), survey(epochs=2), survey(seconds=60),
        survey(start=START + timedelta(seconds=1)), survey(dp.local.KaryResponse(2, "0.5")),
    ]  # fmt: skip
    assert len({one.identity for one in others}) == len(others)


def test_a_frequency_question_is_an_oracle():
    assert survey(dp.local.Frequency(8, 1)).oracle == dp.local.Frequency(8, 1).oracle
    with pytest.raises(InputTypeError, match="needs an oracle"):
        survey("tea")


@pytest.mark.parametrize(
    "more",
    [
        {"start": datetime(2026, 11, 16)},  # noqa: DTZ001
        {"start": START + timedelta(microseconds=1)},
        {"start": "now"},
        {"seconds": 0},
        {"epochs": 0},
        {"epochs": 10**9},
        {"name": ""},
        {"name": 5},
    ],
)
def test_bad_parameters_are_refused(more):
    with pytest.raises(ParameterError):
        survey(**more)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "discreet-survey/2"}, {"oracle": "honesty"}, {"oracle": 5}, {"epsilon": 0.5},
        {"epsilon": "0"}, {"epsilon": "1"}, {"parameters": {"buckets": 5}}, {"parameters": []},
        {"fingerprint": "0" * 16}, {"start": "2026-11-16"}, {"seconds": "3600"},
        {"domain": ["tea"]}, {"more": 1}, {"domain": ["coffee", "tea"]}, {"name": None},
    ],
)  # fmt: skip
def test_what_is_no_survey_is_refused(change):
    said = {**json.loads(survey().to_json()), **change}
    with pytest.raises((ParameterError, InputTypeError)):
        Survey.from_json(json.dumps(said))


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", "[" * 100_000])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ParameterError):
        Survey.from_json(text)


def test_epochs_whose_sum_promises_nothing_are_refused():
    """Up to 1,000 there is a guarantee to tell; a survey that could not tell it is never made."""
    assert survey(dp.local.KaryResponse(2, 10), epochs=100).total.epsilon == 1000
    with pytest.raises(ParameterError, match="at most 100: all epochs together"):
        survey(dp.local.KaryResponse(2, 10), epochs=101)

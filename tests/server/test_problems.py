"""What a failure looks like from outside."""

import inspect

import pytest

from discreet import errors
from discreet.curator.policy.reading import PolicyError
from discreet.errors import (
    BudgetExceededError,
    EngineError,
    KeyUsedError,
    LedgerError,
    NothingFoundError,
    ParameterError,
    QueryError,
)
from discreet.server.problems import KINDS, Problem, problem_of

SECRET = "SECRET row"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (EngineError(SECRET), "unavailable"),
        (LedgerError(SECRET), "ledger"),
        (ValueError(SECRET), "internal"),
        (MemoryError(SECRET), "internal"),
        (KeyError(SECRET), "internal"),
        (RecursionError(SECRET), "internal"),
    ],
)
def test_what_an_asker_may_not_know_is_hidden(error, kind):
    told = problem_of(error)
    assert told.kind == kind
    assert "SECRET" not in str(told.told())
    assert told.hidden is error
    assert "SECRET" in problem_of(error, owner=True).message


def test_the_cause_of_an_engine_s_failure_is_for_the_owner():
    error = EngineError("it failed")
    error.__cause__ = ValueError(SECRET)
    assert "SECRET" not in str(problem_of(error).told())
    assert "SECRET" in problem_of(error, owner=True).message


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (QueryError("words"), "query"),
        (ParameterError("epsilon", 0, "words"), "parameter"),
        (NothingFoundError("words"), "nothing_found"),
        (KeyUsedError("the key belongs to another question: words"), "conflict"),
    ],
)
def test_what_follows_from_the_question_is_told(error, kind):
    told = problem_of(error)
    assert told.kind == kind
    assert "words" in told.message
    assert told.hidden is None


def test_what_is_wrong_with_the_policy_is_for_the_owner():
    error = PolicyError("/home/olga/policy.toml", [(7, "[dataset.payroll] source: is no file")])
    told = problem_of(error)
    assert (told.kind, told.hidden) == ("unavailable", error)
    assert "policy" not in str(told.told())
    assert "policy.toml:7" in problem_of(error, owner=True).message


def test_every_failure_of_the_package_has_a_kind():
    """One that is new and is not thought of here is internal: nothing of it is told."""
    named = [x for _, x in inspect.getmembers(errors, inspect.isclass) if issubclass(x, Exception)]
    assert len(named) > 8
    for one in named:
        error = one.__new__(one)
        error.could = error.asked = error.left = None
        assert problem_of(error).kind in KINDS


def test_a_refusal_says_what_could_be_had():
    error = BudgetExceededError.__new__(BudgetExceededError)
    Exception.__init__(error, "too much")
    error.could, error.asked, error.left = "1/3", 1, "1/3"
    told = problem_of(error)
    assert told.status == 402
    assert told.told()["could"] == "1/3"
    assert "allowance" in told.told()["fix"]


def test_each_refusal_advises_what_can_help():
    def fix(asked, left):
        return problem_of(BudgetExceededError("no", asked=asked, left=left, could=None)).told()[
            "fix"
        ]

    assert "with_what_is_left" in fix(1, 1)
    assert "with_what_is_left" not in fix(1, None)
    assert "earlier answers stay" in fix(1, None)
    assert fix(None, None) == "Ask the data owner for an allowance, or for more time."


def test_a_problem_is_itself():
    problem = Problem("limit", "words", more={"x": 1}, headers={"Retry-After": "1"})
    assert problem_of(problem) is problem
    assert problem.told() == {
        "error": "limit", "message": "words", "x": 1,
        "fix": "Wait for the seconds that Retry-After says.",
    }  # fmt: skip
    assert {KINDS[kind] // 100 for kind in KINDS} == {4, 5}

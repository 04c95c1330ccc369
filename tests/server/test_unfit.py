"""A request that does not fit its form is told which field, and what it has to be."""

import pytest
from tests.server.running import COUNT

ASK = {"question": COUNT}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({**ASK, "epsilom": 1}, "epsilom is no field of this request (did you mean 'epsilon'?)"),
        ({**ASK, "epsilom": 1}, "there are: question, dataset, block, epsilon, delta"),
        ({**ASK, "epsilon": True}, 'epsilon must be a number, or one as text, such as "0.5"; no'),
        ({**ASK, "epsilon": [1]}, "epsilon must be a number"),
        ({**ASK, "epsilon": "1" * 61}, "epsilon must have at most 60 characters"),
        ({"epsilon": 1}, "question must be said"),
        ({"question": ""}, "question must have at least 1 character"),
        ({**ASK, "deadline": -1}, "deadline must be greater than 0"),
        ({**ASK, "key": "a b"}, "key must match pattern"),
        ([], "the body must be a valid dictionary"),
        ({f"x{i}" * 40: 1 for i in range(50)}, "is no field of this request"),
    ],
)
def test_a_field_that_does_not_fit(standing, body, words):
    told = standing.post("/api/ask", body)
    assert told.status == 422
    assert words in told.json["message"]
    assert told.json["message"].endswith("; nothing was charged")
    assert len(told.json["message"]) < 550
    assert told.json["fix"] == "GET /api/openapi.json says what every request may hold."


def test_several_fields(standing):
    told = standing.post("/api/explain", {"epsilom": 1, "rows": None, "within": {}}).json["message"]
    assert "question must be said; " in told
    assert "within must be a number" in told
    assert "epsilom is no field" in told


def test_inside_of_a_list_its_place_is_told(standing):
    told = standing.post("/api/errors", {**ASK, "epsilons": ["1", None]}).json["message"]
    assert told.startswith("epsilons.1 must be a number")


def test_in_an_address(standing):
    told = standing.get("/api/releases?limit=x").json
    assert told["message"].startswith("limit must be a valid integer")


def test_no_json(standing):
    headers = {"Content-Type": "application/json"}
    told = standing.post("/api/ask", None, raw=b"{", headers=headers)
    assert (told.status, told.json["error"]) == (400, "malformed")

"""The server compared with its own description: requests made from it, good ones and bad ones.

No fault of the server, no status and no content that is not described, every body of the described
form; as owner, analyst and auditor. Twenty requests for each operation, a thousand with TORTURE.
Half of those that name something name something that is there.
"""

import os
import warnings
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.server.running import COUNT, prepared, running, weak

from discreet.server.app import PUBLIC
from discreet.server.identity import checked_routes
from discreet.server.limits import Rate

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of packages that it imports
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis import GenerationMode
    from schemathesis.checks import positive_data_acceptance as UNKNOWABLE

EXAMPLES = 1000 if os.environ.get("TORTURE") else 20
FORBIDDEN = 3
"""Requests to an operation that is not for a role: all are refused alike."""
REFUSED = ("400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "429")
"""How what is wrong is refused: also as too large, and never by a fault of the server."""
ENDINGS = ("", ".csv", ".svg", ".html", ".vl.json")
ROLES = {"olga": "owner", "alice": "analyst", "audrey": "auditor"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    people = {**ROLES, "bob": "analyst", "spare": "analyst"}
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        path = prepared(tmp_path_factory.mktemp("schema"))
        with running(path, padded=False, people=people) as made:
            made.app.state.guesses = Rate(10**9, "wrong keys")
            made.release = made.ask(COUNT, epsilon="0.1").json["id"]
            made.roles = checked_routes(made.app, PUBLIC)
            told = made.get("/api/openapi.json").json
            del told["components"]["securitySchemes"]  # keys are sent by the tests themselves
            for operation in (one for path in told["paths"].values() for one in path.values()):
                operation.pop("security", None)
            made.schema = schemathesis.openapi.from_dict(told)
            made.schema.config.update(base_url=made.address)
            made.schema.config.checks.negative_data_rejection.expected_statuses = list(REFUSED)
            yield made


def operations(server):
    found = {}
    for one in server.schema.get_all_operations():
        operation = one.ok()
        found[f"{operation.method.upper()} {operation.path}"] = operation
    assert len(found) > 25
    return found


def made_real(case, server):
    """Name what is there, so that not every request is refused for the same reason."""
    real = {"/api/releases/{key}": server.release, "/api/releases/{key}/derive": server.release,
            "/api/datasets/{name}": "payroll", "/api/people/{name}/disable": "spare"}  # fmt: skip
    if case.path in real and case.path_parameters:
        name = "key" if "key" in case.path else "name"
        ending = ENDINGS[len(str(case.path_parameters.get(name))) % len(ENDINGS)]
        found = real[case.path] + (ending if case.path.endswith("{key}") else "")
        case.path_parameters[name] = quote(found)
    if isinstance(case.body, dict):
        said = {"question": COUNT, "person": "bob", "text": server.service.path.read_text(),
                "dataset": "payroll", "epsilon": "0.001"}  # fmt: skip
        case.body.update({name: text for name, text in said.items() if name in case.body})


def cases(operation):
    """Requests, and whether to name what is there: not in those that are meant to be wrong."""
    good = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    bad = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    return st.one_of(st.tuples(good, st.booleans()), st.tuples(bad, st.just(value=False)))


def tried(server, operation, headers, most):
    """The statuses of so many requests to one operation; whatever is not as described fails."""
    seen = set()

    @settings(
        max_examples=most, deadline=None, database=None, phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck), derandomize=not os.environ.get("TORTURE"),
    )  # fmt: skip
    @given(cases(operation))
    def one(made):
        case, real = made
        if real:
            made_real(case, server)
        response = case.call(headers=headers)
        seen.add(response.status_code)
        case.validate_response(response, headers=headers, excluded_checks=[UNKNOWABLE])

    one()
    return seen


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("who", ROLES)
def test_the_server_does_as_it_says(server, who):
    headers = {"Authorization": f"Bearer {server.keys[who]}"}
    seen, wrong = {}, []
    for name, operation in operations(server).items():
        allowed = not server.roles[name] or ROLES[who] in server.roles[name]
        try:
            seen[name] = tried(server, operation, headers, EXAMPLES if allowed else FORBIDDEN)
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - all are told
            wrong.append(f"{name}: {error}")
        else:
            assert allowed or seen[name] <= {400, 401, 403, 413, 429}, (name, seen[name])
    assert not wrong, "\n\n".join(wrong)
    assert server.get("/api/me", who=who).status == 200  # the key in use is still one
    asked = set().union(*seen.values())
    assert asked >= {200, 404, 422}
    assert ROLES[who] != "auditor" or 403 in asked

"""A server over the payroll, for the tests of one module at a time."""

import pytest
from tests.server.running import prepared, running, weak


@pytest.fixture
def folder(tmp_path):
    prepared(tmp_path)
    return tmp_path


@pytest.fixture
def server(folder, monkeypatch):
    weak(monkeypatch)
    with running(folder / "policy.toml") as made:
        yield made

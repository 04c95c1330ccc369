"""A server over the payroll: one for each test, or for those of a module that change nothing."""

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


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """For what is refused: its ledger and its policy stay as they are."""
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(prepared(tmp_path_factory.mktemp("standing"))) as made:
            yield made

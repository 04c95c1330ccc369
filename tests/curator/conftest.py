"""The payroll in a folder, registered, and its curator; and curators that are killed."""

import pytest
from tests.curator.killing import Killing
from tests.curator.payroll import POLICY, write_rows

from discreet.curator.curator import Curator
from discreet.curator.ledger.verify import verified


@pytest.fixture
def policy():
    return POLICY


@pytest.fixture
def folder(tmp_path, policy):
    write_rows(tmp_path / "payroll.csv")
    (tmp_path / "policy.toml").write_text(policy)
    Curator.register(tmp_path / "policy.toml")
    return tmp_path


@pytest.fixture
def curator(folder):
    with Curator(folder / "policy.toml") as made:
        yield made
        verified(made.ledger)


@pytest.fixture(scope="session")
def killing():
    """Who asks, and is killed."""
    made = Killing()
    yield made
    made.close()

"""Accounts and sources of a policy."""

from tests.curator.payroll import POLICY

from discreet.curator.policy.reading import parse_policy
from discreet.curator.policy.registration import registration

BLOCKS = """
[dataset.payroll.block.q1]
source = "q1.csv"
version = "q1"
people = "own"
epsilon = 1
[dataset.payroll.block.q2]
source = "q2.csv"
version = "q2"
people = "shared"
"""


def test_accounts_and_sources(tmp_path):
    found = registration(parse_policy(POLICY, folder=tmp_path))
    assert set(found.families) == {"staff"}
    assert set(found.allowances) == {"staff@alice", "staff@bob"}
    assert found.sources == {"payroll.csv": "staff"}


def test_blocks_of_other_people_are_accounts(tmp_path):
    found = registration(parse_policy(POLICY + BLOCKS, folder=tmp_path))
    assert set(found.families) == {"staff", "staff/q1"}
    assert found.families["staff/q1"].most.main == 10**12
    assert set(found.allowances) == {"staff@alice", "staff@bob", "staff/q1@alice", "staff/q1@bob"}
    assert found.sources == {"payroll.csv": "staff", "q1.csv": "staff/q1", "q2.csv": "staff"}


def test_two_tables_of_one_database_are_two_sources(tmp_path):
    tables = POLICY.replace('source = "payroll.csv"', 'source = "x.duckdb"\ntable = "payroll"')
    found = registration(parse_policy(tables, folder=tmp_path))
    assert found.sources == {"x.duckdb#payroll": "staff"}

"""DuckDB: the contract, its sources, and what it refuses."""

import pyarrow as pa
import pytest
from tests.engines.contract import EngineContract

from discreet.engines.duckdb import DuckDB

ARROW = {
    "integer": pa.int64(),
    "real": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}


def table_of(rows, types):
    columns = {
        name: pa.array([row[name] for row in rows], ARROW[storage])
        for name, storage in types.items()
    }
    return pa.table(columns)


class TestContract(EngineContract):
    @pytest.fixture
    def engine_of(self):
        return lambda rows, types: DuckDB.from_frame(
            table_of(rows, types), hashing="portable", key="k"
        )

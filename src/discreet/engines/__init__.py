"""Exact integer aggregates from real engines: DuckDB, PostgreSQL, Spark. No noise, no budget."""

"""Promises: what a guarantee says and what one release leaks. No data, no noise."""

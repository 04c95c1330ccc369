"""Experiments on the project's own mechanisms and on data that it makes itself."""

"""Benchmarks: ratios to a peer or to a physical limit, both timed in turn in the same run."""

"""Adaptive measurement on a binary tree of cells, and the Bayesian reading of what it found."""

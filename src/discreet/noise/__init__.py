"""Exact probability on the integers: laws, and draws that have exactly those laws.

Nothing here speaks of promises; see `discreet.privacy` for those.
"""

"""Audits: is the promise kept by the law, and has the code the law?"""

from discreet.audit.exact import Verdict, Witness, verify
from discreet.audit.walk import Walk, walk, walk_table

__all__ = ["Verdict", "Walk", "Witness", "verify", "walk", "walk_table"]

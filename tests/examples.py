"""How many examples of a property are tried: a third of them, all with TORTURE set."""

import os

TORTURE = int(os.environ.get("TORTURE", "0"))


def examples(number):
    return number if TORTURE else -(-number // 3)

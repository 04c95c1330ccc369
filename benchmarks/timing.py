"""Interleaved timing: what is compared shares the load of the machine."""

import statistics
import time


def medians(calls, *, repeats=9, warmups=2):
    """Median seconds of each call of {name: call}, run in turn."""
    times = {name: [] for name in calls}
    for turn in range(warmups + repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if turn >= warmups:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def table(head, rows):
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(
        [*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)]
    )


class Rows(list):
    """The rows of a table, shown as they come."""

    def add(self, *row):
        """One more row, cell by cell."""
        self.append(row)
        print(row, flush=True)

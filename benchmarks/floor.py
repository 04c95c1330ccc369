"""How near to bare commits a charge in SQLite can come: the same statements, one step at a time.

A charge is written here by one flat function: no layers, no other thread or process, nothing that
could be unusual. First the two statements of the ledger with made-up values; then the lock and the
writes of the head file; then everything that a charge has to hash and to say. What is left between
the last line and the ledger is what its layers take; what is left between the last line and 1 is
what the protocol takes, in this language, on this disk.
"""

import fcntl
import os
import statistics
import tempfile
import time
import uuid
from hashlib import sha256
from pathlib import Path

from benchmarks.ledger import ANSWER, SQL, bare_sqlite, in_sqlite, new, ours
from benchmarks.timing import table
from discreet.curator.ledger.chain import Head, canonical, follows, new_salt, noise_mark, quoted
from discreet.curator.ledger.connecting import opened
from discreet.curator.ledger.usual import ANSWER as ANSWERING
from discreet.curator.ledger.usual import CHARGE as CHARGING
from discreet.curator.ledger.usual import TEMPORARY
from discreet.noise.source import new_key

NUMBER, TURNS = 100, 21
_NOBODY_ASKED = "AND NOT EXISTS (SELECT 1 FROM discreet_entry WHERE canon = NEW.canon)"


class Flat:
    """Charges, by one flat function.

    Args:
        path: of a new ledger.
        anchored: whether the head file is locked and written.
        said: whether what is written is hashed and put together; made up otherwise.
        indexed: whether keys and equal questions can be found; no ledger can do without.
    """

    def __init__(self, path, *, anchored=False, said=False, indexed=True):
        self._db = opened(path, "synchronous = FULL").cursor()
        if not indexed:
            self._db.execute("DROP INDEX discreet_entry_key")
            self._db.execute("DROP INDEX discreet_entry_canon")
        for text in TEMPORARY:
            self._db.execute(text if indexed else text.replace(_NOBODY_ASKED, ""))
        (self._policy,) = self._db.execute("SELECT policy FROM discreet_ledger").fetchone()
        last = "SELECT seq, hash FROM discreet_entry ORDER BY seq DESC LIMIT 1"
        self._head = Head(*self._db.execute(last).fetchone())
        self._file = os.open(f"{path}.flat", os.O_RDWR | os.O_CREAT)
        os.pwrite(self._file, bytes(4096), 0)
        places = {one: ", ".join("?" * len(one.places)) for one in (CHARGING, ANSWERING)}
        self._texts = {
            one: f"{str(one.statement).partition('VALUES')[0]} VALUES ({some})"
            for one, some in places.items()
        }
        self._anchored, self._said, self._spent = anchored, said, 0

    def __call__(self, words):
        """One charge and its answer."""
        noise, body = b"n" * 32, "b" * 420
        if self._said:
            noise = new_key()
            body = (
                f'{{"analyst":"alice","at":"now","canon":{quoted(words)},"charges":[[1,1,0],[2,1,0]],'
                f'"digest":{quoted(words)},"info":{canonical({"sql": SQL, "cost": "epsilon 0.1"})},'
                f'"key":{quoted(words)},"noise":"{noise_mark(noise)}","salt":"{new_salt()}","size":1}}'
            )
        head, paid = self._head, (1, 0, self._spent, 0)
        self._spent += 1
        charge = self._next("reserve", body)
        values = (
            charge.seq, body, charge.hash, self._policy, head.seq, head.hash, words, words, words,
            1, "alice", noise, 1, *paid, 2, *paid,
        )  # fmt: skip
        lines = (f"{charge.seq} {charge.hash}", *(f"{charge.seq} {self._spent} 0" for _ in "12"))
        self._write(CHARGING, values, lines)
        body = "b" * 150
        if self._said:
            digest = sha256(ANSWER.encode()).hexdigest()
            body = f'{{"answer":"{digest}","at":"now","key":{quoted(words)},"salt":"{new_salt()}"}}'
        answer = self._head = self._next("done", body, charge)
        values = (charge.seq, words, ANSWER, answer.seq, body, answer.hash, charge.seq, charge.hash)
        self._write(ANSWERING, values, [f"{answer.seq} {answer.hash}"])

    def _next(self, kind, body, head=None):
        head = head or self._head
        if self._said:
            return follows(head, kind, body).head
        return Head(head.seq + 1, f"{head.seq + 1:064x}")

    def _write(self, placed, values, lines):
        text = self._texts[placed]
        if not self._anchored:
            self._db.execute(text, values)
            return
        fcntl.flock(self._file, fcntl.LOCK_EX)
        os.pread(self._file, 4096, 0)
        self._db.execute(text, values)
        os.pwrite(self._file, b"".join(map(self._line, lines)), 256)
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def _line(self, text):
        check = sha256(text.encode()).hexdigest()[:16] if self._said else "0" * 16
        return f"{text} {check}".ljust(255).encode() + b"\n"


def sqlite():
    """Shares of bare commits, of one writer: statements, head file, hashes, the ledger itself."""
    with tempfile.TemporaryDirectory() as folder, in_sqlite() as pairs:
        calls = {"bare commits": bare_sqlite(pairs["bare"][1], None)}
        for number, (name, how) in enumerate(STEPS.items()):
            path = Path(folder) / f"{number}.ledger"
            new(path).close()
            calls[name] = Flat(str(path), **how)
        calls["the ledger"] = ours(pairs["ours"][1], None)
        times = {name: [] for name in calls}
        for turn in range(TURNS + 1):
            for name, call in calls.items():
                start = time.perf_counter()
                for i in range(NUMBER):
                    call(f"0-{uuid.uuid4().hex}-{i}")
                if turn:
                    times[name].append((time.perf_counter() - start) / NUMBER)
    found = {name: statistics.median(each) for name, each in times.items()}
    bare = found["bare commits"]
    rows = [(name, f"{bare / took:.2f}", f"{1000 * took:.2f}") for name, took in found.items()]
    return table(("one writer, SQLite", "share of bare commits", "ms"), rows)


STEPS = {
    "the ledger's two statements, with made-up values": {},
    "and the head file, locked and written": {"anchored": True},
    "and all that is hashed and said, by one flat function": {"anchored": True, "said": True},
    "the same, if no key and no equal question could be found": {
        "anchored": True, "said": True, "indexed": False,
    },
}  # fmt: skip

"""What the processes do that are killed; the nursery that forks them; ledgers broken on purpose."""

import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import psycopg  # noqa: F401 - imported once, in the nursery
from tests.curator.ledger import broken
from tests.curator.ledger.harness import Place, ask, claim, claim_of, new_ledger, note

import discreet.curator.ledger.verify  # noqa: F401 - imported once, in the nursery
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.post import Meeting
from discreet.curator.ledger.steps import on_step
from discreet.errors import BudgetExceededError, LedgerError


def serve():
    """Fork a worker for every line on standard input; tell how it ended when asked."""
    with tempfile.TemporaryDirectory() as folder:  # imports all that a worker needs
        new_ledger(Path(folder) / "ledger.db").close()
    for line in sys.stdin:
        what = json.loads(line)
        if "wait" in what:
            _, status = os.waitpid(what["wait"], 0)
            answer = {"code": os.waitstatus_to_exitcode(status)}
        else:
            answer = {"pid": _forked(what)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _forked(what):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.dup2(2, 1)
        signal.alarm(what["limit"])
        JOBS[what["job"]](Place(**what["place"]), **what["more"])
        code = 0
    except BaseException:  # noqa: BLE001 - the worker ends here, with what happened
        traceback.print_exc()
    finally:
        os._exit(code)


def kill_at(label, after):
    """Die at a step, when it comes for the so-manyth time."""
    left = [after]

    def action(step):
        if step == label:
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

    on_step(action)


def asks(place, names, kill, after, opened=Ledger, how=ask):
    """Ask the questions one after the other."""
    kill_at(kill, after)
    ledger = opened(place.address, head=place.head)
    for name in names:
        try:
            how(ledger, place, claim_of(name))
        except BudgetExceededError:
            continue


def together(place, names, kill, after):
    """Ask the questions in three threads of one ledger."""
    kill_at(kill, after)
    ledger = Ledger(place.address, head=place.head)

    def work(part):
        for name in part:
            with suppress(BudgetExceededError):
                ask(ledger, place, claim_of(name))

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work, names[n::3]) for n in range(3)]:
            done.result()


def check_then_spend(place, **more):
    asks(place, **more, opened=broken.CheckThenSpend)


def send_first(place, **more):
    asks(place, **more, how=broken.send_first)


def refund(place, **more):
    """The ledger may notice it by itself, from its head file, and go no further."""
    try:
        asks(place, **more, opened=broken.Refunding, how=broken.ask_with_errors)
    except LedgerError as error:
        if "this ledger was changed" not in str(error):
            raise


def redraw(place, **more):
    asks(place, **more, opened=broken.Redrawing)


def tell_first(place, **more):
    """The ledger notices it by itself when the answer is to be stored, and goes no further."""
    try:
        apart(place, **more, opened=broken.TellFirst)
    except LedgerError as error:
        if "was never charged" not in str(error):
            raise


def apart(place, names, kill, after, opened=Ledger):
    """Ask questions that nobody else asks; write down which letters are answered."""
    tell = Meeting.tell

    def told(self, letter, what):
        note(place.told, asked=letter.asked[0], done=bool(what))
        tell(self, letter, what)

    own = [f"{name.partition('/')[0]}{os.getpid():08}" for name in names]
    with patch.object(Meeting, "tell", told):
        asks(place, own, kill, after, opened)


def flushing(place, level, **more):
    """Ask, with a log that is often moved into the database; perhaps at another level."""

    def opened(address, head):
        ledger = Ledger(address, head=head)
        ledger._database._raw.execute("PRAGMA wal_autocheckpoint = 20")
        if level is not None:
            ledger._database._raw.execute(f"PRAGMA synchronous = {level}")
        return ledger

    asks(place, **more, opened=opened)


def until_refused(place, number, cost, result):
    """Charge until there is nothing left; write down how often that went well."""
    ledger = Ledger(place.address, head=place.head)
    granted = 0
    while True:
        try:
            ledger.reserve(claim(f"{number}-{granted}", cost=cost))
        except BudgetExceededError:
            break
        granted += 1
    note(result, granted=granted)


def full_pages(place, pages, result):
    """Ask on a database that may grow by so many pages."""
    ledger = Ledger(place.address, head=place.head)
    raw = ledger._database._raw
    now = raw.execute("PRAGMA page_count").fetchone()[0]
    raw.execute(f"PRAGMA max_page_count = {now + pages}")
    note(result, refused=_until_full(ledger, place))


def full_files(place, size, result):
    """Ask where no file may become larger than this."""
    ledger = Ledger(place.address, head=place.head)
    Path(place.sent).touch()
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    name = _until_full(ledger, place)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    note(result, refused=name)


def _until_full(ledger, place):
    padding = "x" * 3000
    for number in range(60):
        name = f"full{number}"
        asked = claim(name, digest_of=name)
        asked.info["sql"] = padding
        try:
            ask(ledger, place, asked)
        except LedgerError:
            return name
    return None


def as_nobody(place, result):
    """Ask as somebody who may read everything here and write nothing."""
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    try:
        ledger = Ledger(place.address, head=place.head)
        ledger.reserve(claim("readonly"))
    except LedgerError as error:
        os.write(result_of(result), str(error).encode())


def as_member(place, user, group, names):
    """Ask as one of a group."""
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
    os.umask(0o027)
    with Ledger(place.address, head=place.head) as ledger:
        for name in names:
            ledger.reserve(claim(name))
            ledger.store(name, "an answer")


def result_of(path):
    """A file that was there before, and that everybody may write."""
    return os.open(path, os.O_WRONLY | os.O_APPEND)


def restore(place, kill):
    """Restore, and die at a step."""
    from discreet.curator.ledger.restore import restored

    kill_at(kill, 0)
    restored(place.address, head=place.head)


def sleep(place, seconds):
    time.sleep(seconds)


JOBS = {
    job.__name__: job
    for job in (
        asks, together, check_then_spend, send_first, refund, redraw, until_refused, full_pages,
        full_files, as_nobody, as_member, flushing, apart, restore, sleep, tell_first,
    )
}  # fmt: skip

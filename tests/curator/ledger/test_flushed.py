"""A loss of power: whatever was not flushed is gone, and nothing that was sent is.

A library that is loaded before all others keeps a copy of every file as it was when it was flushed
last. A process is killed at a step; then the copies are what a disk would hold that writes nothing
by itself. It is compiled here, so that a compiler has to be there.
"""

import shutil
import subprocess

import pytest
from tests.curator.ledger.harness import Checker, Place, ViolationError, Workers, ask, claim_of
from tests.examples import TORTURE

from discreet.curator.ledger.steps import STEPS

RUNS = 104 if TORTURE else len(STEPS)
NAMES = [f"q{n}" if n % 3 else f"q{n + 1}/bob" for n in range(24)]
LOST = ("ledger.db", "ledger.db-wal", "head")
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void keep(int file) {
    /* Read by the file that is open: to open and close it again would let go of SQLite's locks. */
    const char *under = getenv("FLUSHED_UNDER");
    char name[64], path[2048], next[2100], kept[2100], page[65536];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t size = readlink(name, path, sizeof path - 1);
    if (size < 0 || under == NULL) return;
    path[size] = 0;
    if (strncmp(path, under, strlen(under)) != 0 || pread(file, page, 1, 0) < 0) return;
    snprintf(next, sizeof next, "%s.next", path);
    snprintf(kept, sizeof kept, "%s.flushed", path);
    int copy = open(next, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    off_t at = 0;
    while ((size = pread(file, page, sizeof page, at)) > 0) {
        if (write(copy, page, size) != size) abort();
        at += size;
    }
    close(copy);
    if (rename(next, kept) != 0) abort();
}
static int flushed(const char *name, int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int result = real(file);
    if (result == 0) keep(file);
    return result;
}
int fsync(int file) { return flushed("fsync", file); }
int fdatasync(int file) { return flushed("fdatasync", file); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library; no test can run without a compiler."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler here, which a library under the ledger needs")
    folder = tmp_path_factory.mktemp("library")
    source, made = folder / "flushed.c", folder / "flushed.so"
    source.write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.fixture
def watched(library, memory, monkeypatch):
    """The nursery of processes whose flushes are seen."""
    with monkeypatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        patch.setenv("FLUSHED_UNDER", str(memory))
        made = Workers()
    yield made
    made.close()


def started(folder):
    """A new ledger, which is on the disk; of its head file only the first line was flushed."""
    folder.mkdir()
    place = Place.at(folder)
    place.new().close()
    shutil.copyfile(place.address, f"{place.address}.flushed")
    (folder / "head.flushed").write_bytes((folder / "head").read_bytes()[:256])
    return place


def without_power(folder, to, *, head):
    """What is left when the power goes: what was flushed, and what was seen outside.

    Args:
        folder: of the ledger.
        to: where it is put.
        head: whether the system had written the head file by itself.
    """
    to.mkdir()
    for name in LOST:
        kept = folder / (name if head and name == "head" else f"{name}.flushed")
        if kept.exists():
            shutil.copyfile(kept, to / name)
    for name in ("sent", "computed"):
        if (folder / name).exists():
            shutil.copyfile(folder / name, to / name)
    return Place.at(to)


def lose_power(nursery, within, *, level, runs):
    """Kill at every step in turn, lose what was not flushed, check, and go on with what is left."""
    moved = 0
    for number in range(runs):
        folder = within / f"run{number}"
        place = started(folder)
        before = (folder / "ledger.db.flushed").read_bytes()
        kill = {"kill": STEPS[number % len(STEPS)], "after": number // len(STEPS) * 3 % 10 + 4}
        assert nursery.run("flushing", place, names=NAMES, level=level, **kill) == -9
        moved += (folder / "ledger.db.flushed").read_bytes() != before
        for head in (False, True):
            left = without_power(folder, within / f"left{number}-{head}", head=head)
            checker = Checker(left)
            checker.check()
            with left.open() as ledger:
                for name in NAMES:
                    ask(ledger, left, claim_of(name))
                checker.look(ledger)
    return moved


@pytest.mark.slow
def test_a_loss_of_power_loses_nothing_that_was_sent(watched, memory):
    """With the head file as it was flushed (once), and as it was written: never before the log."""
    moved = lose_power(watched, memory, level=None, runs=RUNS)
    assert moved > RUNS // 2  # the log was moved into the database in most of them


@pytest.mark.slow
@pytest.mark.parametrize("level", ["NORMAL", "OFF"])
def test_a_ledger_that_does_not_flush_is_caught(watched, memory, level):
    with pytest.raises(ViolationError):
        lose_power(watched, memory, level=level, runs=len(STEPS))

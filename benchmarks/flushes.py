"""Slower disks: what a flush takes decides how much anything else matters.

The disk at hand may answer a flush at once, from a cache that survives, or claims to survive, a
loss of power; others take milliseconds. A library that is loaded before all others lets every flush
of a process, and of those that it starts, take longer by a given time: both sides of a comparison
alike. It is compiled here, so that a compiler has to be there.
"""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

SLOWER = (0, 0.25, 1, 2.7)
"""Milliseconds more. The last makes some 350 commits a second, as was seen on a plain disk."""
_WAIT = "BENCHMARK_FLUSH_MICROSECONDS"
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int slowly(const char *name, int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int result = real(file);
    const char *told = getenv("BENCHMARK_FLUSH_MICROSECONDS");
    long wait = told ? atol(told) : 0;
    struct timespec left = {wait / 1000000, wait % 1000000 * 1000};
    while (wait > 0 && nanosleep(&left, &left) != 0) {}
    return result;
}
int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
"""


@contextmanager
def slower(milliseconds):
    """Let every flush of processes that are started meanwhile take longer."""
    if not milliseconds:
        yield
        return
    before = {name: os.environ.get(name) for name in ("LD_PRELOAD", _WAIT)}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # a database's server may run as another user
        source, made = Path(folder) / "slowly.c", Path(folder) / "slowly.so"
        source.write_text(SOURCE)
        compiler = ["cc", "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl"]
        subprocess.run(compiler, check=True)
        os.environ["LD_PRELOAD"] = str(made)
        os.environ[_WAIT] = str(round(1000 * milliseconds))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def is_possible():
    """Whether a flush can be made slower here."""
    return shutil.which("cc") is not None


def milliseconds():
    """What a flush takes here: that of a page in a file that has room for it."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        file = os.open(Path(folder) / "pages", os.O_RDWR | os.O_CREAT)
        os.pwrite(file, bytes(4096 * 300), 0)
        os.fsync(file)
        for page in range(300):
            os.pwrite(file, os.urandom(4096), 4096 * page)
            start = time.perf_counter()
            os.fdatasync(file)
            found.append(time.perf_counter() - start)
        os.close(file)
    return 1000 * statistics.median(found)

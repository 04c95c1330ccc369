import multiprocessing
import os
import threading
from collections import Counter

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy.stats import chi2

from discreet.errors import ParameterError, SourceExhaustedError
from discreet.noise import source as module
from discreet.noise.source import (
    KeyedSource,
    ReplayedSource,
    SystemSource,
    new_key,
    system_source,
)


def in_child(action):
    """Run `action` in a forked child and return what it returns, as text."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, str(action()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        return pipe.read()


def draws():
    source = system_source()
    return (
        [source.bits(64) for _ in range(3)]
        + source.array(3, 64).tolist()
        + source.array(9000, 64)[:3].tolist()
    )


def test_forked_children_and_parent_never_share_words():
    system_source().bits(64)  # the buffer is filled before the fork
    seen = [str(draws()), in_child(draws), in_child(draws), in_child(draws), str(draws())]
    words = [word for text in seen for word in text.strip("[]").split(", ")]
    assert len(words) == 5 * 9 == len(set(words))


def test_a_fork_that_bypassed_the_hook_is_found_by_the_process_id(monkeypatch):
    source = SystemSource()
    source.bits(64)
    held = list(source._words)
    monkeypatch.setattr(module.os, "getpid", lambda: -1)
    assert source.bits(64) not in held


def spawned(queue):
    queue.put(draws())


def test_spawned_processes_draw_different_words():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=spawned, args=(queue,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = [queue.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert len(set(found[0]) | set(found[1])) == 18


def test_threads_never_share_words():
    found: list[int] = []
    lock = threading.Lock()

    def work():
        mine = [system_source().bits(64) for _ in range(2000)]
        with lock:
            found.extend(mine)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 16_000


@pytest.mark.parametrize(
    ("size", "width"),
    [(0, 64), (1, 16), (3, 32), (4096, 16), (4097, 16), (100_003, 32), (200_001, 64)],
)
def test_arrays_have_the_asked_size_and_type(size, width):
    found = SystemSource().array(size, width)
    assert found.shape == (size,)
    assert found.dtype == np.dtype(f"uint{width}")


@pytest.mark.parametrize("count", [1, 7, 63, 64, 65, 200])
def test_bits_fit_and_reach_the_top(count):
    source = SystemSource()
    found = [source.bits(count) for _ in range(200)]
    assert max(found) < 1 << count
    assert max(found) >= 1 << (count - 1)  # fails with probability 2^-200


@pytest.mark.statistical
@pytest.mark.parametrize(
    "draw",
    [
        lambda s, n: s.array(n, 64).view(np.uint8),
        lambda s, n: np.array([s.bits(8) for _ in range(8 * n)], dtype=np.uint8),
    ],
)
def test_bytes_are_uniform(draw):
    """Chi-square on bytes; false alarm below 1e-9."""
    counts = np.bincount(draw(SystemSource(), 60_000), minlength=256)
    expected = counts.sum() / 256
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert chi2.sf(statistic, 255) > 1e-10


def test_no_state_of_numpy_or_random_reaches_the_source():
    import random

    found = Counter()
    for _ in range(3):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        found[SystemSource().bits(64)] += 1
        found[int(SystemSource().array(9000, 64)[0])] += 1
    assert len(found) == 6


def test_a_replayed_source_gives_its_values_once():
    source = ReplayedSource([3, 1, 2])
    assert source.bits(2) == 3
    assert source.array(2, 16).tolist() == [1, 2]
    with pytest.raises(SourceExhaustedError, match="ran out after 3 values"):
        source.bits(1)
    with pytest.raises(SourceExhaustedError, match="does not fit 2 bits"):
        ReplayedSource([4]).bits(2)


def test_nothing_can_be_seeded():
    for maker in (SystemSource, system_source):
        with pytest.raises(TypeError):
            maker(seed=1)


# under a key


def calls(source):
    few = [source.bits(count) for count in (1, 3, 8, 9, 64, 65, 200)]
    return (
        few,
        source.array(1000, 16).tolist(),
        source.array(70_000, 64).sum(),
        source.below(10**30),
    )


def test_a_key_gives_the_same_bits_again_and_no_other_key_does():
    key = new_key()
    assert calls(KeyedSource(key)) == calls(KeyedSource(key))
    assert calls(KeyedSource(key)) != calls(KeyedSource(new_key()))
    source = KeyedSource(key)
    assert calls(source) != calls(source)


def test_a_keyed_stream_is_the_counter_mode_of_its_key():
    """Known answer: AES-256 of the counters 0, 1, ... under the key 00 01 .. 1f.

    Few bits are the upper ones of words that are cut off 32 at a time, in their order; what else is
    asked for comes behind them, and no word twice.
    """
    key = bytes(range(32))
    block = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    wanted = block.update(b"".join(n.to_bytes(16, "big") for n in range(40)))
    words = [int.from_bytes(wanted[at : at + 8], "little") for at in range(0, len(wanted), 8)]
    source = KeyedSource(key)
    assert [source.bits(64), source.bits(5), source.bits(1)] == [
        words[0], words[1] >> 59, words[2] >> 63,
    ]  # fmt: skip
    assert source.array(3, 64).tolist() == words[32:35]
    assert source.bits(128) == words[35] | words[36] << 64
    assert [source.bits(64) for _ in range(31)] == [*words[3:32], *words[37:39]]


@pytest.mark.parametrize("key", [b"", b"short", bytes(33), "x" * 32, None, 7, bytearray(32)])
def test_a_key_has_256_bits(key):
    with pytest.raises(ParameterError, match="32 bytes"):
        KeyedSource(key)


def test_a_key_is_not_shown():
    key = new_key()
    assert repr(KeyedSource(key)) == "<KeyedSource>"
    assert new_key() != key

"""The log: any change of any entry is found by who knows the head."""

import json
import os
import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.ledger.chain import START, Entry, Head, canonical, checked, follows, new_salt
from discreet.errors import LedgerError, ParameterError


def log(count):
    made, head = [], START
    for number in range(count):
        kind = ("reserve", "done", "policy")[number % 3]
        made.append(follows(head, kind, canonical({"n": number, "key": f"k{number}"})))
        head = made[-1].head
    return made


LOG = log(12)


def believed(entries, head=LOG[-1].head):
    """Whether a log passes, and ends in the head that was exported."""
    try:
        seen = list(checked(entries))
    except LedgerError:
        return False
    return bool(seen) and seen[-1].head == head


def rehashed(entries):
    """A forger's log: the hashes fit again."""
    made, head = [], START
    for entry in entries:
        made.append(follows(head, entry.kind, entry.body))
        head = made[-1].head
    return made


def test_the_log_itself_is_believed():
    assert believed(LOG)


def swapped(i, j):
    order = list(LOG)
    order[i], order[j] = order[j], order[i]
    return order


CHANGES = {
    "changed body": [
        [*LOG[:i], LOG[i]._replace(body=LOG[i].body.replace('"n"', '"m"')), *LOG[i + 1 :]]
        for i in range(12)
    ],
    "changed kind": [[*LOG[:i], LOG[i]._replace(kind="seal"), *LOG[i + 1 :]] for i in range(12)],
    "changed hash": [[*LOG[:i], LOG[i]._replace(hash="0" * 64), *LOG[i + 1 :]] for i in range(12)],
    "changed number": [[*LOG[:i], LOG[i]._replace(seq=i), *LOG[i + 1 :]] for i in range(12)],
    "deleted": [[*LOG[:i], *LOG[i + 1 :]] for i in range(12)],
    "swapped": [swapped(i, j) for i, j in combinations(range(12), 2)],
    "truncated": [LOG[:i] for i in range(12)],
    "doubled": [[*LOG[: i + 1], *LOG[i:]] for i in range(12)],
    "moved into the body": [
        [*LOG[:i], LOG[i]._replace(kind=LOG[i].kind + "{", body=LOG[i].body[1:]), *LOG[i + 1 :]]
        for i in range(12)
    ],
}


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_of_every_entry_is_found(what):
    """Exhaustive over a log of twelve; as it is, and with all hashes made to fit again."""
    for entries in CHANGES[what]:
        assert not believed(entries)
        if what != "changed hash" and what != "changed number":
            assert not believed(rehashed(entries))


def test_an_older_head_is_still_in_a_longer_log():
    for entry in LOG:
        assert LOG[entry.seq - 1].head == entry.head


def test_checking_may_begin_in_the_middle():
    assert list(checked(LOG[5:], LOG[4].head)) == LOG[5:]
    with pytest.raises(LedgerError, match="entry 4 is missing"):
        list(checked(LOG[5:], LOG[2].head))


def test_the_error_names_the_entry():
    with pytest.raises(LedgerError, match="at or before its entry 3"):
        list(checked([*LOG[:2], LOG[2]._replace(body="{}"), *LOG[3:]]))


@given(st.integers(0, 10**17), st.text("0123456789abcdef", min_size=64, max_size=64))
def test_a_head_is_read_back(seq, text):
    assert Head.read(f"  {Head(seq, text)}\n") == Head(seq, text)


def test_a_hash_alone_is_a_head_without_a_number():
    assert Head.read(f" {'3a' * 32}\n") == Head(0, "3a" * 32)


@pytest.mark.parametrize(
    "wrong",
    ["", "1", ":", "1:", ":" + "0" * 64, "0" * 63, "0" * 65,
     "-1:" + "0" * 64, "01:" + "0" * 64, "1:" + "g" * 64, "1:" + "0" * 63,
     "1:" + "A" * 64, "1" * 30 + ":" + "0" * 64, "١:" + "0" * 64],
)  # fmt: skip
def test_wrong_heads_are_refused(wrong):
    with pytest.raises(ParameterError):
        Head.read(wrong)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=3), some),
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=4), _VALUES))
def test_it_is_the_text_that_the_library_writes(values):
    assert canonical(values) == json.dumps(values, sort_keys=True, separators=(",", ":"))


def test_what_json_does_not_know_is_refused():
    with pytest.raises(TypeError, match="not JSON"):
        canonical({"a": {1}})


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_no_salt_is_used_twice():
    """Not in a child either, which has its parent's memory."""
    salts = [new_salt() for _ in range(200)]
    assert len({*salts}) == 200
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in salts)
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.write(theirs, " ".join(new_salt() for _ in range(100)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    told = os.read(ours, 1 << 16).decode().split()
    os.close(ours)
    os.close(theirs)
    assert len({*salts, *told, *(new_salt() for _ in range(100))}) == 400


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4)))
def test_equal_values_have_equal_text(values):
    turned = dict(reversed(values.items()))
    assert canonical(values) == canonical(turned)
    assert canonical(values).isascii()


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        canonical({"a": float("nan")})


def test_a_body_that_is_no_object():
    with pytest.raises(LedgerError, match="entry 1"):
        Entry(1, "policy", "[]", "").values()

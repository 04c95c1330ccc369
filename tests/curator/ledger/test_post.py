"""The memory of letters: each is answered once, erased, and gone with its sender."""

import os
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.curator.ledger.harness import claim

from discreet.curator.ledger import post as module
from discreet.curator.ledger.at_once import Answered, Charging, Once, of_letter
from discreet.curator.ledger.post import Meeting, Post
from discreet.curator.ledger.values import Charged

UID = "0123456789abcdef"
ASKED = ["reserve", "what", 1]

pytestmark = pytest.mark.skipif(
    not hasattr(module, "fcntl") or not hasattr(module.fcntl, "F_OFD_SETLK"),
    reason="this system has no locks that belong to an open file, and no letters",
)


@pytest.fixture
def head(tmp_path):
    """The number of an open head file."""
    file = os.open(tmp_path / "head", os.O_RDWR | os.O_CREAT)
    yield file
    os.close(file)


def meeting(head, uid=UID, database=(1, 1)):
    """Of who waits for a head file, and writes into a database."""
    made = Meeting(head, uid)
    made.database = database
    return made


@pytest.fixture
def path(head):
    """Where those meet who wait for it."""
    return meeting(head).path


@pytest.fixture
def opened(path):
    """Opens one memory; what is left open is closed."""
    made = []

    def another():
        made.append(Post.opened(path))
        return made[-1]

    yield another
    for one in made:
        one.close()


def sent_and_killed(path, *, changing=False):
    """A process sends a letter, or is about to, and is gone."""
    pid = os.fork()
    if not pid:
        with suppress(BaseException):
            made = Post.opened(path)
            made.send(["a noise key"])
            if changing:
                made._map[made._mine * module._SIZE] = module._CHANGING
        os._exit(0)
    os.waitpid(pid, 0)


# letters


def test_a_letter_is_answered(opened):
    reader, sender = opened(), opened()
    assert reader.letters() == []
    assert sender.send(ASKED)
    assert sender.heard() is None
    (letter,) = reader.letters()
    assert letter.asked == ASKED
    reader.answer(letter, [7, "hash"])
    assert reader.letters() == []
    assert sender.heard() == [7, "hash"]
    assert sender.send(["the", "next"])
    assert sender.heard() is None, "an answer is that of its letter"
    assert [one.asked for one in reader.letters()] == [["the", "next"]]


def test_everybody_has_a_place_and_who_comes_later_has_none(opened):
    there = [opened() for _ in range(module._MANY)]
    late = opened()
    assert not late.send(ASKED)
    for number, one in enumerate(there):
        assert one.send([number])
    assert sorted(one.asked[0] for one in late.letters()) == list(range(module._MANY))
    there[3].close()
    assert opened().send(["again"]), "who leaves makes room"


def test_nobody_reads_an_own_letter(opened):
    sender = opened()
    sender.send(ASKED)
    assert sender.letters() == []
    assert not sender.others
    opened().send(ASKED)
    assert sender.others


def test_a_letter_that_is_too_long_is_not_sent(opened):
    reader, sender = opened(), opened()
    room = module._ROOM - 20
    assert not sender.send(["x" * module._SIZE])
    assert sender.send(["x" * (room - 20)])
    assert reader.letters()[0].asked == ["x" * (room - 20)]


def test_a_letter_that_is_not_whole_is_left(opened):
    """As another processor may see it: the state before what it speaks of."""
    reader, sender = opened(), opened()
    sender.send(ASKED)
    at = sender._mine * module._SIZE + module._MEASURE.size
    kept = sender._map[at + 3]
    sender._map[at + 3] = kept ^ 1
    assert reader.letters() == []
    sender._map[at + 3] = kept
    assert reader.letters()


def test_lengths_from_nowhere(opened):
    reader, sender = opened(), opened()
    sender.send(ASKED)
    at = sender._mine * module._SIZE
    sender._map[at : at + module._MEASURE.size] = b"\1" + b"\xff" * (module._MEASURE.size - 1)
    assert reader.letters() == []
    assert sender.take_back() is None


def test_a_letter_that_is_taken_back_is_gone(opened):
    reader, sender = opened(), opened()
    sender.send(ASKED)
    assert sender.take_back() is None
    assert reader.letters() == []
    sender.send(ASKED)
    reader.answer(*reader.letters(), [1, "h"])
    assert sender.take_back() == [1, "h"]


def test_who_takes_a_letter_back_without_the_lock_hears_no_answer_to_it(opened):
    """Its reader has it, and answers; neither the next letter nor its answer is mistaken."""
    reader, sender = opened(), opened()
    sender.send(ASKED)
    (letter,) = reader.letters()
    assert sender.take_back() is None
    assert sender.send(["another"])
    reader.answer(letter, [1, "h"])
    assert sender.heard() is None
    assert reader.letters() == [], "the lock decides"
    assert sender.take_back() is None
    assert sender.send(["another"])
    reader.answer(*reader.letters(), [2, "h"])
    assert sender.heard() == [2, "h"]


def test_an_answer_that_comes_late_is_nobodys(opened):
    """The sender is gone, and somebody else has its place by then."""
    reader, sender = opened(), opened()
    sender.send(ASKED)
    (letter,) = reader.letters()
    place = sender._mine
    sender.close()
    other = opened()
    assert other._mine == place
    other.send(["something else"])
    reader.answer(letter, [1, "h"])
    assert other.heard() is None
    assert other.take_back() is None


def test_what_was_asked_is_erased_by_the_answer_and_by_taking_it_back(opened):
    """All of it: the noise key is at its end, behind where an answer ends."""
    reader, sender = opened(), opened()
    for end in (lambda: reader.answer(*reader.letters(), []), sender.take_back):
        sender.send(["x" * 300, "a noise key"])
        assert b"noise key" in sender._map[:]
        end()
        assert b"noise key" not in sender._map[:]
        assert b"xxx" not in sender._map[:]


def test_nothing_stays_of_a_letter_over_which_an_answer_was_written(opened):
    """Two write into a place at once: what is erased is all of it, whatever its head says."""
    reader, sender = opened(), opened()
    sender.send(["x" * 300, "a noise key"])
    at = sender._mine * module._SIZE
    sender._map[at + 1 : at + module._MEASURE.size] = module._MEASURE.pack(3, 0)[1:]
    sender.take_back()
    assert not sender._map[:].strip(b"\0")
    assert reader.letters() == []


def test_who_closes_leaves_no_letter(opened):
    reader, sender = opened(), opened()
    sender.send(["a noise key"])
    sender.close()
    assert b"noise key" not in reader._map[:]


def test_without_a_place_nobody_is_hurt(opened):
    for _ in range(module._MANY):
        last = opened()
        assert last.send(["mine"])
    late = opened()
    assert not late.send(ASKED)
    assert late.take_back() is None
    assert len(late.letters()) == module._MANY


@pytest.mark.parametrize("raw", [b"[]", b"7", b"{}", b"[", b"9" * 5000])
def test_letters_in_strange_words_are_no_matter(opened, raw):
    reader, sender = opened(), opened()
    sender._put(sender._mine, raw, module._LETTER)
    assert reader.letters() == []
    sender._put(sender._mine, raw, module._ANSWER)
    assert sender.heard() is None


@pytest.mark.parametrize("state", [module._LETTER, module._ANSWER])
def test_a_state_without_a_text_says_nothing(opened, state):
    """As another processor may see it; and a state that comes late, over somebody else's text."""
    reader, sender = opened(), opened()
    at = sender._mine * module._SIZE
    sender._map[at] = state
    assert reader.letters() == []
    assert sender.heard() is None
    sender.send(ASKED)
    sender._map[at] = module._ANSWER
    assert sender.heard() is None
    assert sender.take_back() is None
    assert b"reserve" not in sender._map[:]


@pytest.mark.parametrize("changing", [True, False])
@pytest.mark.parametrize("reopened", [True, False])
def test_letters_of_the_dead_are_thrown_away(opened, path, reopened, changing):
    """By whoever reads letters, and by who gets the place."""
    reader = opened()
    sent_and_killed(path, changing=changing)
    assert b"a noise key" in reader._map[:]
    if reopened:
        opened()
    else:
        assert reader.letters() == []
    assert b"a noise key" not in reader._map[:]


# the memory


def test_the_memory_is_the_owners_and_the_last_one_removes_it(path):
    first, second = Post.opened(path), Post.opened(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first.close()
    assert path.exists()
    second.close()
    assert not path.exists()
    second.close()


def test_who_ends_without_closing_removes_it(tmp_path):
    (tmp_path / "head").touch()
    code = (
        "import os, sys; from discreet.curator.ledger import post\n"
        "meeting = post.Meeting(os.open(sys.argv[1], os.O_RDWR), 'u'); meeting.database = (1, 2)\n"
        "made = meeting.post(); print(meeting.path.exists(), meeting.path)"
    )
    words = [sys.executable, "-c", code, tmp_path / "head"]
    said = subprocess.run(words, capture_output=True, check=True, text=True).stdout.split()
    assert said[0] == "True"
    assert not Path(said[1]).exists()


@pytest.mark.parametrize("lives", [True, False])
def test_what_the_killed_left_is_swept(head, path, lives):
    """But not what somebody has open."""
    sent_and_killed(path)
    other = Post.opened(path) if lives else None
    Meeting(head, "another").sweep()
    assert path.exists()
    meeting(head).sweep()
    assert path.exists() == lives
    meeting(head).sweep()
    if lives:
        other.close()


def test_memory_of_the_killed_is_swept_also_if_the_files_are_others_by_now(head, path, tmp_path):
    """A copy is in place of the database, or of the head file."""
    sent_and_killed(path)
    meeting(head, database=(3, 4)).sweep()
    assert not path.exists()
    sent_and_killed(path)
    (tmp_path / "other").touch()
    file = os.open(tmp_path / "other", os.O_RDWR)
    meeting(file).sweep()
    os.close(file)
    assert not path.exists()


def test_without_shared_memory_nothing_is_swept(head, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_SHARED", tmp_path / "none")
    meeting(head).sweep()


def test_a_child_that_was_forked_while_it_closes_keeps_no_place(opened, path, monkeypatch):
    """The place is free, although the child has the file open for ever."""
    reader, sender = opened(), opened()
    sender.send(["a noise key"])
    place, remove, pids = sender._mine, module._remove, []

    def forking(*words):
        pids.append(os.fork())
        if not pids[-1]:
            signal.pause()
        return remove(*words)

    monkeypatch.setattr(module, "_remove", forking)
    sender.close()
    monkeypatch.undo()
    try:
        assert not reader._is_alive(place)
        assert reader.letters() == []
    finally:
        os.kill(pids[0], signal.SIGKILL)
        os.waitpid(pids[0], 0)


def test_who_is_at_its_end_has_no_letters(head):
    """The memory is closed when a process ends; somebody may still use the ledger then."""
    reader, sender = meeting(head), meeting(head)
    sender.post().send(ASKED)
    reader.post()
    (letter,) = reader.letters()
    for one in (sender, reader):
        one._post.close()
        assert one.post() is None
        assert one.letters() == ()
    reader.tell(letter, [1, "h"])


def test_nobody_meets_where_the_database_is_not_known(head):
    made = meeting(head)
    assert made.post() is not None
    made.database = None
    assert made.post() is None
    assert made.letters() == ()
    assert Meeting(head, UID).post() is None


def test_a_forked_child_removes_nothing(path):
    made = Post.opened(path)
    pid = os.fork()
    if not pid:
        with suppress(BaseException):
            made.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert path.exists()
    other = Post.opened(path)
    assert made.send(ASKED)
    assert [one.asked for one in other.letters()] == [ASKED], "the parent still has its place"
    made.close()
    other.close()


def test_another_head_file_database_or_ledger_has_another_memory(head, tmp_path):
    (tmp_path / "other").touch()
    file = os.open(tmp_path / "other", os.O_RDWR)
    made = [meeting(head), meeting(head, "another"), meeting(file), meeting(head, database=(1, 2))]
    assert len({one.path for one in made}) == 4
    os.close(file)


def test_who_writes_into_another_file_by_now_meets_others(head):
    """The database was replaced: what letters ask for is meant for another file."""
    reader, sender = meeting(head), meeting(head)
    reader.post()
    sender.post().send(ASKED)
    assert len(reader.letters()) == 1
    reader.database = (1, 2)
    assert reader.letters() == ()
    assert reader.post() is not None
    assert reader.letters() == []
    for one in (reader, sender):
        one.close()
        one.close()


@pytest.mark.parametrize(
    "how", ["open to all", "somebody else's", "a link", "a folder", "none", "full"]
)
def test_without_such_memory_there_are_no_letters(head, tmp_path, monkeypatch, how):
    """What lies there already is not believed; and nothing is written where there is no room."""
    monkeypatch.setattr(module, "_SHARED", tmp_path / "shared")
    if how != "none":
        (tmp_path / "shared").mkdir()
    path = meeting(head).path
    match how:
        case "open to all":
            path.touch()
            path.chmod(0o606)
        case "somebody else's":
            path.touch(0o600)
            mine = os.geteuid()
            monkeypatch.setattr(module.os, "geteuid", lambda: mine + 1)
        case "a link":
            (tmp_path / "elsewhere").touch(0o600)
            path.symlink_to(tmp_path / "elsewhere")
        case "a folder":
            path.mkdir()
        case "full":
            monkeypatch.setattr(module.os, "posix_fallocate", _full)
    assert Post.opened(path) is None
    assert how != "full" or not path.exists(), "nothing is left"
    assert how != "a link" or not (tmp_path / "elsewhere").stat().st_size


def _full(*_):
    raise OSError(28, "No space left on device")


def test_everybody_of_a_machine_has_an_own_memory(head, path, monkeypatch):
    mine = os.geteuid()
    monkeypatch.setattr(module.os, "geteuid", lambda: mine + 1)
    assert meeting(head).path != path


def test_who_is_stopped_while_it_removes_keeps_nobody_waiting(path):
    """It has the memory for itself meanwhile: others wait for the lock only."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    module.fcntl.flock(file, module.fcntl.LOCK_EX)
    assert Post.opened(path) is None
    module.fcntl.flock(file, module.fcntl.LOCK_UN)
    made = Post.opened(path)
    assert made is not None
    made.close()
    os.close(file)


def test_nobody_removes_what_is_at_the_path_by_now(path):
    first = Post.opened(path)
    path.unlink()
    second = Post.opened(path)
    first.close()
    assert path.exists()
    second.close()
    assert not path.exists()


def test_an_interrupt_leaves_nothing_open(path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_allocated", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Post.opened(path)
    monkeypatch.undo()
    made = Post.opened(path)
    made.close()
    assert not path.exists(), "nobody else has it"


def test_what_is_removed_while_it_is_opened_is_opened_again(path, monkeypatch):
    """The last one removes it between the opening of another and its lock."""
    first, flock = Post.opened(path), module.fcntl.flock

    def slow(file, how):
        monkeypatch.setattr(module.fcntl, "flock", flock)
        first.close()
        return flock(file, how)

    monkeypatch.setattr(module.fcntl, "flock", slow)
    second = Post.opened(path)
    third = Post.opened(path)
    assert second.send(ASKED)
    assert third.letters(), "they meet"
    second.close()
    third.close()


# what a letter says


def test_a_letter_says_all_that_is_written():
    """Who reads it puts the same values as its sender would."""
    asked = claim("a", canon="Zürich \U0001f600\n", size=2**62)
    for wanted in (
        Charging(asked, [(1, 5, 0), (2, 2**62, 7)], '{"b":1}', b"n" * 32),
        Answered("a", "the answer \u2028", "body", Charged(3, "hash", "ann")),
    ):
        put, read = [], of_letter(module.json.loads(module.json.dumps(wanted.letter())))
        for one in (wanted, read):
            one.write(_once(put), _Nowhere())
        assert put[0] == put[1]


class _Nowhere:
    head = (4, "0" * 64)

    def had(self, account):
        return account, 0

    def follow(self, head, spent):
        pass


def _once(put):
    return Once(lambda *values: put.append(values) or True, "charge", "answer")


GOOD = ["reserve", ["k", "d", "c", "a", "p", "b"], 1, [[1, 2, 3]], "00"]


@pytest.mark.parametrize(
    "asked",
    [
        [],
        ["reserve"],
        [None],
        [*GOOD[:4], "no hex"],
        [*GOOD[:4], 5],
        [*GOOD[:3], [[1, -2, 3]], "00"],
        [*GOOD[:3], [[1, 2]], "00"],
        [*GOOD[:3], [[1, 2, 3.0]], "00"],
        [*GOOD[:3], 7, "00"],
        [*GOOD[:2], True, *GOOD[3:]],
        ["reserve", ["k", "d", None, "a", "p", "b"], *GOOD[2:]],
        ["reserve", "kd", *GOOD[2:]],
        ["store", ["k", "a"], 1],
        ["store", ["k", "a", ["b"]], 1],
        ["store", ["k", "a", "b"], "1"],
        ["store", ["k", "a", "b"]],
    ],
)
def test_letters_that_say_nothing(asked):
    assert of_letter(GOOD) is not None
    assert of_letter(asked) is None

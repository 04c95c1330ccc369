"""A bounded memory."""

from discreet.query.recent import Recent


def test_it_remembers_and_forgets_everything_once_there_is_too_much():
    recent = Recent()
    for n in range(256):
        assert recent.keep(n, -n) == -n
    assert recent[17] == -17
    assert len(recent) == 256
    recent.keep("one more", 0)
    assert recent == {"one more": 0}

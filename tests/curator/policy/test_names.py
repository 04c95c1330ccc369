from discreet.curator.policy.names import OWNER, is_plain


def test_plain_names():
    for good in ("a", "Alice_2-b", "0", "-", "x" * 60):
        assert is_plain(good)
    for wrong in ("", " ", "a b", "a\n", "é", "x" * 61, "a.b", "a@b", "a\x00"):
        assert not is_plain(wrong)


def test_the_owner_has_a_plain_name():
    assert is_plain(OWNER)

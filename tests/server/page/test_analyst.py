"""The pages of those who ask, without a browser."""

from tests.server.page.visiting import text, visitor
from tests.server.running import POLICY, prepared, running, weak

EVIL = "<script>alert(1)</script>"


def test_datasets_show_columns_and_the_own_budget(server):
    page = text(visitor(server).get("/datasets"))
    assert "payroll" in page
    assert "0 to 1000" in page
    assert "of epsilon 1" in page
    assert "of epsilon 3" not in page  # the people's budget is not theirs to know
    assert str(server.service.path.parent) not in page


def test_names_of_the_policy_cannot_become_markup(tmp_path, monkeypatch):
    weak(monkeypatch)
    policy = POLICY.replace('keys = ["a", "b", "c"]', f'keys = ["a", "b", "{EVIL}"]')
    with running(prepared(tmp_path, policy)) as server:
        page = text(visitor(server).get("/datasets"))
        assert EVIL not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_data_that_cannot_be_read_are_told_without_the_reason(tmp_path, monkeypatch):
    weak(monkeypatch)
    path = prepared(tmp_path)
    (tmp_path / "payroll.csv").rename(tmp_path / "elsewhere.csv")
    with running(path) as server:
        page = text(visitor(server).get("/datasets"))
    assert "these data cannot be read now" in page
    assert str(tmp_path) not in page

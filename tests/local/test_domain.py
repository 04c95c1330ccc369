import numpy as np
import pytest

import discreet as dp
from discreet.local.domain import MOST_VALUES, Domain


@pytest.mark.parametrize(
    "domain", [["a", "b", "c"], [3, 1, 2], [True, False], ["a", 1, False, 5], 3, [1 << 70, 5]]
)
def test_places_one_by_one_and_at_once_agree(domain):
    found = Domain(domain)
    labels = found.labels()
    assert [found.place(label) for label in labels] == list(range(found.size))
    assert found.places(labels).tolist() == list(range(found.size))
    assert found.places(labels[::-1]).tolist() == list(range(found.size))[::-1]
    assert [found.label(place) for place in range(found.size)] == labels
    if len({type(label) for label in labels}) == 1 and labels[0] != 1 << 70:
        array = np.array(labels)
        assert found.places(array).tolist() == list(range(found.size))
        assert found.places(array.reshape(1, -1)).tolist() == list(range(found.size))
    assert Domain(found) == found
    assert found.places([]).tolist() == []


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (3, 3), (3, -1), (3, True), (3, 1.0), (3, "1"), (3, None), ([0, 1], True),
        ([True, False], 1), (["a", "b"], "c"), (["a", "b"], b"a"), ([1, 2], float("nan")),
    ],
)  # fmt: skip
def test_what_is_not_in_the_domain_is_refused_without_being_quoted(domain, value):
    found = Domain(domain)
    for call in (found.place, lambda v: found.places([v])):
        with pytest.raises(dp.InputTypeError, match="nothing was reported"):
            call(value)


def test_arrays_outside_the_domain():
    for bad in ([0, 3], [-1, 0], [2**40]):
        with pytest.raises(dp.InputTypeError):
            Domain(3).places(np.array(bad))
    with pytest.raises(dp.InputTypeError):
        Domain(["a", "b"]).places(np.array(["a", "zz"]))
    with pytest.raises(dp.InputTypeError):
        Domain(3).places(np.array([0.0, 1.0]))
    with pytest.raises(dp.InputTypeError, match="list or an array"):
        Domain(3).places("012")
    with pytest.raises(dp.InputTypeError, match="masked"):
        Domain(3).places(np.ma.array([1, 2]))


@pytest.mark.parametrize(
    "domain",
    [0, 1, -5, [], ["a"], ["a", "a"], [1, True], "abc", None, 2.5, [1.5, 2], {"a", "b"},
     MOST_VALUES + 1, True, float("nan")],
)  # fmt: skip
def test_a_bad_domain_is_refused(domain):
    with pytest.raises(dp.ParameterError, match="domain"):
        Domain(domain)


def test_digests_differ():
    digests = {Domain(d).digest() for d in (3, [0, 1, 2], ["0", "1", "2"], [2, 1, 0], 4)}
    assert len(digests) == 5

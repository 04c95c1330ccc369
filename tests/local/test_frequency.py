import numpy as np
import pytest

import discreet as dp
from discreet.local import Frequency

# n times the variance of a rare value: GRR, SUE, OUE, OLH, SS, PGR, HR (one block)
TABLE = [
    (16, "0.5", 37.2, 15.9, 15.7, 15.8, 13.6, 15.0, 16.7),
    (16, "1", 5.66, 3.92, 3.68, 3.69, 3.11, 3.51, 4.68),
    (16, "2", 0.524, 0.921, 0.724, 0.725, 0.520, 0.573, 1.72),
    (128, "1", 43.6, 3.92, 3.68, 3.69, 3.61, 3.74, 4.68),
    (128, "4", 0.063, 0.181, 0.076, 0.076, 0.058, 0.063, 1.08),
    (1024, "1", 347, 3.92, 3.68, 3.69, 3.67, 3.76, 4.68),
    (16384, "2", 402, 0.921, 0.724, 0.725, 0.724, 0.732, 1.72),
]


def places(number):
    """Half a unit of the last digit that is given."""
    text = str(number)
    return 0.5 * 10.0 ** -(len(text.split(".")[1]) if "." in text else 0)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}")
def test_the_table_of_variances(row):
    k, epsilon, *expected = row
    made = [
        dp.local.KaryResponse(k, epsilon),
        dp.local.SymmetricUnary(k, epsilon),
        dp.local.OptimizedUnary(k, epsilon),
        dp.local.LocalHashing(k, epsilon),
        dp.local.SubsetSelection(k, epsilon),
        dp.local.ProjectiveResponse(k, epsilon),
        dp.local.HadamardResponse(k, epsilon, blocks=1),
    ]
    for oracle, number in zip(made, expected, strict=True):
        assert oracle.normalised_variance() == pytest.approx(number, abs=places(number) * 1.001)


def test_k_ary_response_wins_for_few_values():
    """k-ary response beats local hashing if and only if k < 3 e^epsilon + 2."""
    for epsilon, limit in ((1, 10.15), (2, 24.2), (3, 62.3)):
        for k in (int(limit) - 1, int(limit) + 2):
            kary = dp.local.KaryResponse(k, epsilon).normalised_variance()
            assert (kary < dp.local.OptimizedUnary(k, epsilon).normalised_variance()) == (k < limit)


@pytest.mark.parametrize(
    ("k", "epsilon", "n", "kind"),
    [
        (2, 1, None, "KaryResponse"),
        (16, "0.5", None, "SubsetSelection"),
        (128, 4, None, "SubsetSelection"),
        (1024, 1, 10**6, "SubsetSelection"),
        (2000, 1, None, "SubsetSelection"),
        (2001, 1, 10**6, "LocalHashing"),
        (16384, 2, 100_000, "LocalHashing"),
        (16384, 2, 10**6, "ProjectiveResponse"),
        (16384, 2, None, "ProjectiveResponse"),
        (10**5, 1, 10**6, "ProjectiveResponse"),
        (1 << 23, 1, None, "HadamardResponse"),
    ],
)
def test_the_choice(k, epsilon, n, kind):
    question = Frequency(k, epsilon, n=n)
    assert type(question.oracle).__name__ == kind
    able = [one for one in question.considered if one.objection is None]
    assert question.oracle.normalised_variance() == min(one.variance for one in able)
    assert f"n times variance {question.oracle.normalised_variance():.4g}" in question.why
    for one in question.considered:
        assert (one.objection in question.why) if one.objection else True


def test_a_question_is_used_like_its_oracle():
    question = Frequency(["tea", "coffee", "water"], 2)
    collector = dp.local.Collector(question)
    collector.add(question.reports(["tea", "tea", "water"]))
    collector.add(question.report("coffee").to_bytes())
    found = collector.estimate()
    assert (found.n, len(found)) == (4, 3)
    assert question.guarantee == dp.PureDP(2, "replace")
    assert question.privacy_loss.guarantee == question.guarantee
    assert (question.epsilon, question.domain.size) == (2, 3)
    assert "KaryResponse" in repr(question)


def test_bad_questions():
    for domain, epsilon, n in (([], 1, None), (5, 0, None), (5, 1, 0), (5, 1, -3), (5, "x", None)):
        with pytest.raises(dp.ParameterError):
            Frequency(domain, epsilon, n=n)


MEASURED = [
    dp.local.KaryResponse(20, 1),
    dp.local.SymmetricUnary(20, 1),
    dp.local.OptimizedUnary(20, 1),
    dp.local.LocalHashing(20, 1),
    dp.local.SubsetSelection(20, 1),
    dp.local.HadamardResponse(20, 1),
    dp.local.HadamardResponse(20, 3),
    dp.local.ProjectiveResponse(20, 1),
]


def variance(oracle, truth, v):
    """The theory's; with blocks, for the shares of the blocks as they are."""
    blocks = getattr(oracle, "blocks", 1)
    if blocks == 1:
        return oracle.normalised_variance(float(truth[v]))
    r, together = float(oracle.ratio), truth[v % blocks :: blocks].sum()
    square = (together * (r + 1) + 2 * (1 - together)) / (r + 2 * blocks - 1)
    return square / float(oracle.p) ** 2 - truth[v]


@pytest.mark.statistical
@pytest.mark.parametrize("oracle", MEASURED, ids=lambda oracle: type(oracle).__name__)
def test_the_mean_squared_error_is_the_theorys(oracle):
    """100 surveys of 5,000 people. Each value's mean error is within 7 standard errors of 0: over
    20 values false alarm below 1e-10. Errors of different values are nearly uncorrelated (-1/19 for
    k-ary response, less for the others), so the relative spread of the mean square over values and
    surveys is below sqrt(2.2/2000) = 3.4 %; 25 % is above 7 of it.
    """
    people = np.arange(5000) % 20
    people[:1000] = 0
    truth = np.bincount(people, minlength=20) / 5000
    errors = []
    for _ in range(100):
        collector = dp.local.Collector(oracle)
        collector.add(oracle.reports(people))
        errors.append(collector.estimate().raw - truth)
    errors = np.array(errors)
    theory = np.array([variance(oracle, truth, v) / 5000 for v in range(20)])
    assert np.all(np.abs(errors.mean(axis=0)) < 7 * np.sqrt(theory / 100))
    assert 0.75 < (errors**2).mean() / theory.mean() < 1.25

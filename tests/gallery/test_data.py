import numpy as np

from discreet.gallery import data


def test_the_payroll():
    amounts = data.salaries()
    assert len(amounts) == 29_000
    assert amounts.min() >= 40_000
    assert amounts.max() <= 400_000
    assert 5 <= (amounts > 300_000).sum() <= 15
    assert np.array_equal(amounts, data.salaries())
    assert abs(np.corrcoef(np.arange(29_000), amounts)[0, 1]) < 0.05


def test_departments_and_classroom():
    assert set(np.unique(data.departments())) == set(range(len(data.DEPARTMENTS)))
    assert data.classroom().sum() == 20

import pytest

import discreet as dp
from discreet.local.report import Report


def test_the_format_byte_by_byte():
    oracle = dp.local.KaryResponse(300, 1)
    report = oracle.report(7)
    data = report.to_bytes()
    assert data[0] == 0xD1
    assert data[1] == 1
    assert data[2:10] == oracle.fingerprint
    assert data[10:] == report.payload
    assert len(data) == 12


@pytest.mark.parametrize("data", [b"", b"\xd1", b"\xd1" * 10, b"\xd2" + bytes(12), "text", 5, None])
def test_what_is_no_report_is_refused(data):
    with pytest.raises((dp.ParameterError, dp.InputTypeError)):
        Report.from_bytes(data)

from dataclasses import replace
from typing import Any

import pytest

from backend.sites.monitor_settings import InvalidMonitorError, MonitorSettings, defaults, validate
from workers.measurement.connection import Header
from workers.measurement.messages import Kind

PROBE = defaults(Kind.PROBE, "https://example.com/")


def fault_of(settings: MonitorSettings) -> dict[str, str]:
    with pytest.raises(InvalidMonitorError) as caught:
        validate(settings)
    return caught.value.faults


@pytest.mark.parametrize("kind", Kind)
def test_the_defaults_keep_the_rules(kind: Kind) -> None:
    validate(defaults(kind, "https://example.com/"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"url": "gopher://x"}, "must begin with http"),
        ({"url": "http://10.0.0.1/"}, "inside your network"),
        ({"interval_s": 29}, "30 s to 86400 s"),
        ({"interval_s": 86_401}, "one day"),
        ({"timeout_s": 61}, "1 s to 60 s"),
        ({"timeout_s": 0}, "1 s to 60 s"),
        ({"profile": "5g"}, "no profile '5g'"),
        ({"accepted_status": (200, 99)}, "99 is no HTTP status"),
        ({"accepted_status": tuple(range(200, 230))}, "At most 20"),
        ({"body_text": "x" * 501}, "at most 500"),
        ({"body_text": "two\nlines"}, "one line"),
        ({"headers": (Header(name="X Y", value=""),)}, "'X Y' is not a header name"),
        ({"headers": (Header(name="Host", value="x"),)}, "Host belongs to the connection"),
        ({"headers": (Header(name="X-A", value="a\r\nX-B: c"),)}, "one line"),
        ({"headers": (Header(name="X-A", value="ü"),)}, "printable ASCII"),
        ({"headers": (Header(name="X-A", value="x" * 4097),)}, "at most 4096"),
        ({"headers": (Header(name="X-A", value="x"),) * 21}, "At most 20 request headers"),
    ],
)
def test_each_fault_has_its_sentence(change: dict[str, Any], sentence: str) -> None:
    faults = fault_of(replace(PROBE, **change))
    assert list(faults) == list(change)
    assert sentence in next(iter(faults.values()))


def test_all_faults_are_told_at_once() -> None:
    assert set(fault_of(replace(PROBE, interval_s=1, timeout_s=0, profile=""))) == {
        "interval_s",
        "timeout_s",
        "profile",
    }


def test_a_page_may_take_two_minutes() -> None:
    validate(replace(defaults(Kind.PAGE, "https://example.com/"), timeout_s=120))

from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from backend.sites.monitor_settings import InvalidMonitorError, MonitorSettings, defaults, validate
from workers.measurement.addresses import parse_networks
from workers.measurement.connection import Header
from workers.measurement.messages import Kind
from workers.measurement.pair import PairTarget

PROBE = defaults(Kind.PROBE, "https://example.com/")


def fault_of(settings: MonitorSettings) -> dict[str, str]:
    with pytest.raises(InvalidMonitorError) as caught:
        validate(settings)
    return caught.value.faults


@pytest.mark.parametrize("kind", Kind)
def test_the_defaults_keep_the_rules(kind: Kind) -> None:
    other = PairTarget(url="https://origin.example.com/") if kind is Kind.PAIR else None
    validate(defaults(kind, "https://example.com/", other))


@pytest.mark.parametrize("name", ["Accept-Encoding", "Proxy-Connection", "X-" + "a" * 90])
@pytest.mark.parametrize("kind", Kind)
def test_what_a_probe_cannot_send_is_refused_before_any_of_its_runs_fails(kind: Kind, name: str) -> None:
    other = PairTarget(url="https://origin.example.com/") if kind is Kind.PAIR else None
    settings = replace(defaults(kind, "https://example.com/", other), headers=(Header(name=name, value="x"),))
    if kind is Kind.PAGE:
        validate(settings)
    else:
        assert set(fault_of(settings)) == {"headers"}


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
        ({"other": PairTarget(url="https://origin.example.com/")}, "A probe has no second leg"),
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


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (None, "Say what the CDN is compared with"),
        (PairTarget(url="http://127.0.0.1/"), "inside your network"),
        (PairTarget(url="ftp://origin.example.com/"), "must begin with http"),
        (PairTarget(url="https://example.com/", address="10.1.2.3"), "inside your network"),
        (PairTarget(url="https://example.com/", address="[::1]:443"), "inside your network"),
        (PairTarget(url="https://example.com/", address="169.254.169.254:80"), "inside your network"),
        (PairTarget(url="https://example.com/", address="origin.example.com"), "is not an IP address"),
        (PairTarget(url="https://example.com/", address="198.51.101.7:25"), "Port 25 may not be measured"),
    ],
)
def test_the_second_leg_of_a_pair_keeps_the_rules_of_every_target(other: PairTarget | None, sentence: str) -> None:
    faults = fault_of(replace(defaults(Kind.PAIR, "https://example.com/"), other=other))
    assert list(faults) == ["other"]
    assert sentence in faults["other"]


def test_an_operator_may_allow_an_origin_inside(settings: Settings) -> None:
    settings.PRIVATE_TARGETS = parse_networks("10.1.0.0/16")
    other = PairTarget(url="https://example.com/", address="10.1.2.3:443")
    validate(defaults(Kind.PAIR, "https://example.com/", other))

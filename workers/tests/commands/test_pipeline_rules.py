"""Rules of a gate as people write them."""

import pytest

from workers.commands import UsageError
from workers.commands.pipeline_rules import parse_rule, written_rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("ttfb<=+10%", {"metric": "ttfb", "max_change_pct": 10}),
        ("ttfb <= 10 %", {"metric": "ttfb", "max_change_pct": 10}),
        ("ttfb_ms<=+7.5%, 5ms", {"metric": "ttfb_ms", "max_change_pct": 7.5, "min_change_ms": 5}),
        ("tls<=+25%,0.01s", {"metric": "tls", "max_change_pct": 25, "min_change_ms": 10}),
        ("lcp<=2500ms", {"metric": "lcp", "max_value_ms": 2500}),
        ("lcp<=2.5s", {"metric": "lcp", "max_value_ms": 2500}),
        ("lcp<=2500", {"metric": "lcp", "max_value_ms": 2500}),
        ("bytes<=1.5MB", {"metric": "bytes", "max_value": 1_500_000}),
        ("bytes<=+10%,20kB", {"metric": "bytes", "max_change_pct": 10, "min_change": 20_000}),
        ("cls<=0.1", {"metric": "cls", "max_value": 0.1}),
        ("mark:hero painted <= +10%, 5ms", {"metric": "mark:hero painted", "max_change_pct": 10, "min_change_ms": 5}),
        ("measure:a<b <2s", {"metric": "measure:a<b", "max_value_ms": 2000}),
    ],
)
def test_rules_are_read_as_they_are_written(text: str, rule: dict[str, object]) -> None:
    assert parse_rule(text, level="warn") == rule | {"level": "warn"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ttfb",
        "ttfb<=",
        "ttfb<=+10",
        "ttfb>=10%",
        "ttfb<=10ms,5ms",
        "ttfb<=10MB",
        "ttfb<=-5%",
        "cls<=1s",
        "mark:<=10%",
    ],
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_rule(text, level="fail")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cls<=0.1kb", "'kb' is no unit of cls, which has none"),
        ("cls<=10ms", "'ms' is no unit of cls, which has none"),
        ("requests<=2MB", "'MB' is no unit of requests, which has none"),
        ("connections<=+10%,1b", "'b' is no unit of connections, which has none"),
        ("bytes<=2s", "'s' is no unit of bytes; use b, kb, mb"),
        ("lcp<=2kb", "'kb' is no unit of lcp; use ms, s"),
    ],
)
def test_a_value_has_a_unit_of_its_own_metric_or_none(text: str, told: str) -> None:
    """A shift of 0.1 kb would be one of 100, which no page exceeds."""
    with pytest.raises(UsageError, match=f"^{told}$"):
        parse_rule(text, level="fail")


@pytest.mark.parametrize(
    "text",
    [
        "ttfb<=+10%",
        "tls<=+7.5%,5ms",
        "lcp<=2500ms",
        "bytes<=1500000",
        "bytes<=+10%,20000",
        "cls<=0.1",
        "mark:it_ms<=5ms",
    ],
)
def test_a_rule_of_an_answer_is_written_as_it_is_read(text: str) -> None:
    asked = parse_rule(text, level="fail")
    answered = {
        "metric": asked["metric"] if asked["metric"] in ("bytes", "cls", "mark:it_ms") else f"{asked['metric']}_ms",
        "limit_pct": asked.get("max_change_pct"),
        "max_value": asked.get("max_value_ms", asked.get("max_value")),
        "min_change": asked.get("min_change_ms", asked.get("min_change", 0.0)),
    }
    assert written_rule(answered) == text

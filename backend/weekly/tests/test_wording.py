"""What channels are told of a week."""

from dataclasses import replace
from uuid import UUID

import pytest

from backend.alerts.channels import Item, Parcel
from backend.alerts.channels.slack_blocks import payload
from backend.alerts.tests.test_notices import NOW
from backend.analysis.weeks import Course, MonitorWeek, RegionWeek
from backend.weekly.report import CauseWeek, Report, SiteWeek, UptimeWeek
from backend.weekly.tests.world import THIS
from backend.weekly.wording import cause_title, course_of, headline, message_of, sentence_of
from workers.measurement.finding import LEAST_COST_US

ID = UUID("5b1c1c1e-0000-4000-8000-000000000001")
UP = UptimeWeek(share=1.0, before=1.0, down_us=0, partly_us=0, outages=0)
DOWN = UptimeWeek(share=0.99, before=1.0, down_us=780_000_000, partly_us=0, outages=2)


def speed(course: Course | None, *regions: str) -> MonitorWeek:
    seen = tuple(RegionWeek(region=name, now_us=412_000.0, before_us=316_000.0, course=course) for name in regions)
    return MonitorWeek(
        now_us=412_000.0,
        before_us=316_000.0,
        course=course,
        slower=seen if course is Course.SLOWER else (),
        faster=seen if course is Course.FASTER else (),
    )


def site(name: str = "Shop", **fields: object) -> SiteWeek:
    usual = SiteWeek(
        site_id=str(ID),
        name=name,
        url="https://shop.example/",
        uptime=UP,
        alerts=0,
        probe=None,
        page=None,
        cause=None,
    )
    return replace(usual, **fields)  # type: ignore[arg-type]  # of a test's own making


def report(*sites: SiteWeek) -> Report:
    return Report(week=THIS, sites=sites, alerts=(), alert_count=0)


SLOWER, FASTER = speed(Course.SLOWER, "Frankfurt"), speed(Course.FASTER, "Frankfurt")


@pytest.mark.parametrize(
    ("sites", "text"),
    [
        ([site()], "nothing was down, and nothing became slower"),
        ([site(uptime=DOWN), site("Blog")], "Shop was down for 13 min"),
        ([site(uptime=DOWN), site("Blog", uptime=DOWN), site("Docs")], "2 sites were down"),
        ([site(probe=SLOWER), site("Blog")], "Shop became slower"),
        ([site(uptime=DOWN), site("Blog", probe=SLOWER), site("Docs", probe=SLOWER)],
         "Shop was down for 13 min, 2 sites became slower"),
        ([site(probe=FASTER), site("Blog", probe=SLOWER)], "Blog became slower, Shop became faster"),
        ([site(probe=FASTER, page=SLOWER)], "Shop became slower"),
        ([site(uptime=DOWN, probe=SLOWER), site("Blog", probe=FASTER)],
         "Shop was down for 13 min and became slower, Blog became faster"),
        ([site("2 sites", uptime=DOWN), site("2 sites", uptime=DOWN, probe=SLOWER)],
         "2 sites were down, 2 sites became slower"),
    ],
)  # fmt: skip
def test_the_headline_says_what_matters_most(sites: list[SiteWeek], text: str) -> None:
    assert headline(report(*sites)) == text


def test_a_sentence_tells_an_outage_and_each_metric_that_changed() -> None:
    told = sentence_of(site(uptime=DOWN, probe=SLOWER, page=speed(Course.FASTER, "Tokyo")))

    assert told == (
        "Shop: down for 13 min in 2 outages; first byte slower in Frankfurt (412 ms, was 316 ms); "
        "largest paint faster in Tokyo (412 ms, was 316 ms)."
    )


def test_of_many_regions_the_first_are_named() -> None:
    told = course_of(speed(Course.SLOWER, "a", "b", "c", "d", "e"))

    assert told.endswith("c (412 ms, was 316 ms) and 2 more")


def test_slower_here_and_faster_there_says_both() -> None:
    mixed = replace(
        speed(Course.MIXED), slower=speed(Course.SLOWER, "Oslo").slower, faster=speed(Course.FASTER, "Rome").faster
    )

    assert course_of(mixed) == "slower in Oslo (412 ms, was 316 ms) and faster in Rome (412 ms, was 316 ms)"


def test_a_message_tells_a_few_sites_and_counts_the_rest() -> None:
    message = message_of(report(*(site(f"Site {number}", uptime=DOWN) for number in range(12))), ID)

    assert message.sentences[-1] == "5 more were down, slower or faster."
    assert len(message.sentences) == 8


def test_one_more_is_told_in_good_grammar() -> None:
    message = message_of(report(*(site(f"Site {number}", uptime=DOWN) for number in range(8))), ID)

    assert message.sentences[-1] == "1 more was down, slower or faster."


def test_a_message_names_what_costs_most() -> None:
    cause = CauseWeek(finding="tls.chain_exceeds_iw", severity="high", saving_us=82_000)
    message = message_of(report(site(), site("Blog", cause=cause)), ID)

    assert message.sentences[-1].startswith("What costs most now, at Blog: ")
    assert message.sentences[-1].endswith(": 82 ms.")


def test_of_several_causes_the_dearest_is_named_and_one_that_costs_next_to_nothing_is_not() -> None:
    costs_us = {"Shop": 20_000, "Blog": 82_000, "Docs": 41_000}
    causes = {
        name: CauseWeek(finding="tls.chain_exceeds_iw", severity="high", saving_us=saving_us)
        for name, saving_us in costs_us.items()
    }
    message = message_of(report(site("Wiki"), *(site(name, cause=cause) for name, cause in causes.items())), ID)
    assert message.sentences[-1].startswith("What costs most now, at Blog: ")
    for saving_us in (None, LEAST_COST_US - 1):
        cheap = site(cause=replace(causes["Shop"], saving_us=saving_us))
        assert message_of(report(cheap), ID).sentences == ()
        assert str(cause_title(cheap)).endswith("window")
    least = site(cause=replace(causes["Shop"], saving_us=LEAST_COST_US))
    assert len(message_of(report(least), ID).sentences) == 1
    assert str(cause_title(least)).endswith(" ms")


def test_sites_of_which_there_is_nothing_to_tell_have_no_sentence() -> None:
    once = replace(DOWN, outages=1)
    quiet = site("Wiki", probe=speed(Course.SAME, "Oslo"), page=speed(None))
    told = message_of(report(quiet, site(uptime=once), site("Blog", probe=SLOWER), site("Docs", page=FASTER)), ID)
    assert told.sentences == (
        "Shop: down for 13 min.",
        "Blog: first byte slower in Frankfurt (412 ms, was 316 ms).",
        "Docs: largest paint faster in Frankfurt (412 ms, was 316 ms).",
    )


@pytest.mark.parametrize("finding", ["tls.of_a_later_version", ""])
def test_a_cause_that_is_not_known_here_is_not_named(finding: str) -> None:
    assert cause_title(site(cause=CauseWeek(finding=finding, severity="high", saving_us=82_000))) is None


def test_slack_takes_it_whole() -> None:
    """What is too much is counted, and what is to be mended is named all the same."""
    slower = speed(Course.SLOWER, "Frankfurt", "Singapore", "Virginia", "Tokyo")
    cause = CauseWeek(finding="tls.chain_exceeds_iw", severity="high", saving_us=82_000)
    sites = [site(f"Site {number}", uptime=DOWN, probe=slower, cause=cause) for number in range(9)]
    message = message_of(report(*sites), ID)
    item = Item(about=ID, sequence=1, message=message)
    parcel = Parcel(id=ID, channel=ID, items=(item,), organisation="Acme", base_url="https://fb.example", sent_at=NOW)

    body = payload(parcel)

    said = body["blocks"][1]["text"]["text"].splitlines()
    assert len(str(body)) < 3_000
    assert tuple(said) == message.sentences
    assert [line.partition(":")[0] for line in said[:-2]] == ["Site 0", "Site 1", "Site 2"]
    assert said[-2] == "6 more were down, slower or faster."
    assert said[-1].endswith(": 82 ms.")
    assert body["text"].startswith("🔵 Week of ")

"""What several causes hold up until the last of them is mended: none gains by itself what all gain together."""

from dataclasses import replace

from workers.measurement.finding import Cause, Finding, FindingId, Severity, Together
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import PlainText
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.diagnosis.page_sketch import diagnosed, open_questions, row, sketch, style

BLOCKING, THIRD = FindingId.PAGE_RENDER_BLOCKING, FindingId.PAGE_THIRD_PARTY_BLOCKING
STRANGER, ANOTHER = "cdn.example.net", "fonts.example.com"


def found(page: PageMeasurement) -> dict[Cause, Finding]:
    return {Cause(id=one.id, host=one.host): one for one in diagnosed(page).findings}


def strangers(number: int, end_ms: float, host: str = STRANGER) -> Request:
    return style(number, 310, end_ms, host=host)


def test_two_that_end_together_gain_nothing_alone_and_tell_what_both_gain() -> None:
    told = found(sketch(style(2, 310, 775), strangers(3, 770), fcp_ms=790))
    ours, theirs = Cause(id=BLOCKING), Cause(id=THIRD, host=STRANGER)
    assert {cause: one.saving_us for cause, one in told.items()} == {ours: None, theirs: None}
    assert told[ours].together == Together(saving_us=475_000, others=(theirs,))
    assert told[theirs].together == Together(saving_us=475_000, others=(ours,))
    assert {one.severity for one in told.values()} == {Severity.HIGH}
    assert {one.share_us for one in told.values()} == {237_500}


def test_what_one_gains_alone_is_no_part_of_what_it_gains_with_others() -> None:
    """The stranger's file comes 100 ms after our own."""
    told = found(sketch(style(2, 310, 700), strangers(3, 800), fcp_ms=820))
    ours, theirs = told[Cause(id=BLOCKING)], told[Cause(id=THIRD, host=STRANGER)]
    assert (theirs.saving_us, ours.saving_us) == (100_000, None)
    assert theirs.together == Together(saving_us=400_000, others=(Cause(id=BLOCKING),))
    assert ours.together == Together(saving_us=400_000, others=(Cause(id=THIRD, host=STRANGER),))
    assert (theirs.share_us, ours.share_us) == (300_000, 200_000)


def test_two_hosts_of_strangers_that_end_together_are_told_so() -> None:
    told = found(sketch(strangers(2, 775), strangers(3, 770, host=ANOTHER), fcp_ms=790))
    first, second = Cause(id=THIRD, host=STRANGER), Cause(id=THIRD, host=ANOTHER)
    assert {cause: one.together and one.together.others for cause, one in told.items()} == {
        first: (second,),
        second: (first,),
    }


def test_what_came_long_before_the_others_has_no_part_in_it() -> None:
    told = found(sketch(style(2, 310, 345), strangers(3, 775), strangers(4, 770, host=ANOTHER), fcp_ms=790))
    assert {cause.host for cause in told} == {STRANGER, ANOTHER}
    # Until our own style sheet has come, which stays.
    assert {one.together and one.together.saving_us for one in told.values()} == {430_000}


def test_a_single_cause_has_nothing_to_share() -> None:
    told = found(sketch(style(2, 310, 775), strangers(3, 345), fcp_ms=790))
    assert [(one.id, one.together) for one in told.values()] == [(BLOCKING, None)]


def test_what_compressing_gains_of_the_last_is_not_gained_together_again() -> None:
    plain = {"transferred_bytes": 90_200, "body_bytes": 90_000, "first_ms": 320}
    page = sketch(
        style(2, 310, 900, **plain),
        strangers(3, 600),
        fcp_ms=920,
        texts=(PlainText(request=2, body_bytes=90_000, gzip_bytes=9_000),),
    )
    findings = diagnosed(page).findings
    assert {one.id for one in findings} == {FindingId.PAGE_UNCOMPRESSED, BLOCKING, THIRD}
    shares_us = [one.saving_us or 0 for one in findings] + [
        next(one.together.saving_us for one in findings if one.together)
    ]
    assert sum(shares_us) <= 600_000


def test_two_that_come_with_the_script_that_makes_the_page_are_left_open() -> None:
    made = sketch(
        style(2, 310, 690),
        strangers(3, 690),
        row(4, ResourceType.SCRIPT, 310, 695),
        fcp_ms=705,
        body_from=(3, 1),
    )
    assert found(made) == {}
    assert open_questions(made) == {BLOCKING, THIRD}
    assert len(found(replace(made, shows_from=(3, 29)))) == 2


def test_what_compressing_gains_of_another_than_the_last_is_gained_together() -> None:
    """In the lab 186 and 490 ms were told of 1,124, and 947 besides 186 since."""
    plain = {"transferred_bytes": 90_200, "body_bytes": 90_000, "first_ms": 320}
    texts = (PlainText(request=2, body_bytes=90_000, gzip_bytes=20_000),)
    page = sketch(style(2, 310, 800, **plain), strangers(3, 900), fcp_ms=920, texts=texts)
    ours, theirs = found(page)[Cause(id=BLOCKING)], found(page)[Cause(id=THIRD, host=STRANGER)]
    assert (theirs.saving_us, ours.saving_us) == (100_000, None)
    assert ours.together == Together(saving_us=500_000, others=(Cause(id=THIRD, host=STRANGER),))

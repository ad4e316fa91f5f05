"""What mending causes saves, as it is told."""

from dataclasses import replace

from backend.runs import diagnoses
from backend.runs.tests.results import OVERFLOW
from backend.web.findings import told_of
from workers.diagnosis.catalogue import entry
from workers.measurement.finding import Cause, FindingId, Severity, Together


def test_what_is_saved_by_mending_two_things_is_told_with_both_and_counts_once() -> None:
    ours, theirs = Cause(id=FindingId.PAGE_RENDER_BLOCKING), Cause(id=FindingId.PAGE_THIRD_PARTY_BLOCKING, host="a.net")
    first, second = (
        replace(
            OVERFLOW, id=one.id, host=one.host, saving_us=None, together=Together(saving_us=470_000, others=(other,))
        )
        for one, other in ((ours, theirs), (theirs, ours))
    )
    title = entry(theirs.id).title
    assert told_of(first).cost == f"470 ms for each new visitor, together with “{title}” (a.net)"
    more = replace(first, saving_us=100_000)
    assert told_of(more).cost == f"100 ms for each new visitor, and 470 ms more, with “{title}” (a.net)"
    assert diagnoses.saving_us([first, second], None) == 470_000
    assert diagnoses.saving_us([more, second], None) == 570_000


def test_what_only_later_requests_pay_is_no_gain_of_a_first_visit() -> None:
    later = [FindingId.HTTP_KEEPALIVE_OFF, FindingId.TCP_IDLE_RESTART]
    closing, resting = (replace(OVERFLOW, id=id, severity=Severity.LOW, saving_us=80_000) for id in later)
    assert told_of(closing).cost == "80 ms for each further request"
    assert told_of(resting).cost == "80 ms for each large answer after a pause"
    assert diagnoses.saving_us([OVERFLOW, closing, resting], None) == OVERFLOW.saving_us
    assert diagnoses.saving_us([closing, resting], None) is None


def test_all_causes_together_cost_no_more_than_the_run_took_but_what_it_did_not_pay() -> None:
    """The run itself acknowledges at once; who acknowledges late waits longer than all of it took."""
    held = replace(OVERFLOW, id=FindingId.TCP_NAGLE_DELAYED_ACK, saving_us=42_000)
    small, large = (replace(OVERFLOW, saving_us=us) for us in (2_000, 380_000))
    assert diagnoses.saving_us([held, small], 3_000) == 42_000
    assert diagnoses.saving_us([held, small], 43_000) == 43_000
    assert diagnoses.saving_us([held, small], 100_000) == 44_000
    assert diagnoses.saving_us([large], 110_000) == 110_000

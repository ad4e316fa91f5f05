"""Whether an answer would come as much sooner as its server thought less, or wait for its window instead."""

from collections.abc import Iterable
from math import ceil

from workers.diagnosis.case import rtt_of
from workers.diagnosis.probe.flights import RECORD_HEADER_BYTES, mss_of, records_before
from workers.diagnosis.probe.gaps import USUAL_WINDOW
from workers.diagnosis.probe.slow_start import rounds
from workers.diagnosis.probe.windows import SMALL_BELOW, usual_window_after
from workers.measurement.evidence import TlsRecord, TrialEvidence

# What a round trip is at least of a saving that hangs on one.
_MUCH = 0.08


def hangs_on_window(trial: TrialEvidence, window: float | None, saving_us: int) -> bool:
    """Whether a round trip of that saving does: while the server thinks its tickets are acknowledged, which empties a
    window and lets a small one grow, and after long thinking it may have taken a large one back."""
    rtt_us = rtt_of(trial) or 0
    if not rtt_us or rtt_us < _MUCH * saving_us or not trial.exchanges:
        return False
    exchange, first, mss = trial.exchanges[0], _first_record(trial), mss_of(trial)
    before = records_before(trial, exchange.sent_us or 0, exchange.first_application_us or 0)
    ahead, segments = (_segments(records, mss) for records in (before, [first] if first else []))
    began = round(window or USUAL_WINDOW)
    # A small one may have grown with the handshake by less than Linux lets it.
    lefts = {usual_window_after(trial, began), *([began] if began < SMALL_BELOW else [])}
    waits = round(_took_us(first) / rtt_us)
    return any(ahead >= left or rounds((ahead + segments) * mss, mss, left) - 1 != waits for left in lefts)


def _segments(records: Iterable[TlsRecord], mss: int) -> int:
    return sum(ceil((RECORD_HEADER_BYTES + one.length_bytes) / mss) for one in records)


def _took_us(record: TlsRecord | None) -> int:
    return 0 if record is None or record.end_us is None else record.end_us - record.at_us


def _first_record(trial: TrialEvidence) -> TlsRecord | None:
    """That begins the first answer."""
    since_us = trial.exchanges[0].first_application_us or 0
    return next((one for one in trial.records if one.application and one.at_us >= since_us), None)

"""Whether our wall clock and the server's agree, by the Date of its answers (RFC 9110, 6.6.1).

A certificate is held against our clock. Where that may be the wrong one, its dates say nothing of the site.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from workers.diagnosis.case import Case
from workers.diagnosis.probe.chains import Chain
from workers.diagnosis.probe.headers import values
from workers.measurement.evidence import Exchange
from workers.measurement.http_date import http_date

# Clocks that nobody disciplines go wrong by seconds a day; what is off by more was never set, or has stopped.
LEAST_APART = timedelta(minutes=5)
# Date counts whole seconds, and an answer may be some of them on its way. A Date that is the same in each answer, as
# of a copy that was kept, parts from this within a deep probe.
_AGREEING = timedelta(seconds=3)


def ahead(case: Case) -> timedelta | None:
    """How far the server's clock is before ours, negative behind it. None where they agree, or its answers do not, or
    there is none that was made for us."""
    return case.once(_ahead)


def _ahead(case: Case) -> timedelta | None:
    told = sorted(_told(case))
    if not told or told[-1] - told[0] > _AGREEING:
        return None
    middle = told[len(told) // 2]
    return middle if abs(middle) > LEAST_APART else None


def server_time(case: Case) -> datetime | None:
    """What the server takes the time to be, where that is not what we take it to be."""
    apart = ahead(case)
    return None if apart is None else case.evidence.measured_at + apart


def valid_there(case: Case, chain: Chain) -> bool:
    """Whether by the server's clock, which is not ours, all of these certificates are valid."""
    now = server_time(case)
    return now is not None and all(one.not_before <= now <= one.not_after for one in chain)


def _told(case: Case) -> Iterator[timedelta]:
    """By each answer. Copies that some cache kept have the time at which they were made."""
    for trial in case.evidence.trials:
        for exchange in trial.exchanges:
            said = _said(exchange)
            if said is not None and exchange.head_us is not None:
                yield said - case.evidence.measured_at - timedelta(microseconds=trial.started_us + exchange.head_us)


def _said(exchange: Exchange) -> datetime | None:
    if any(age.strip() != "0" for age in values(exchange.headers, "age")):
        return None
    return next((http_date(text) for text in values(exchange.headers, "date")), None)

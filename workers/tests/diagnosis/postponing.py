"""Evidence of which a part came later than it did."""

from dataclasses import replace
from typing import Any

from workers.measurement.evidence import Exchange, TrialEvidence


def postponed(trial: TrialEvidence, since_us: int, by_us: int) -> TrialEvidence:
    """The same, with all that happens after an instant so much later."""

    def later(at_us: int) -> int:
        return at_us + by_us if at_us > since_us else at_us

    def asked(one: Exchange) -> Exchange:
        marks = ("asked_us", "sent_us", "first_raw_us", "first_application_us", "first_readable_us", "ended_us")
        moved: dict[str, Any] = {mark: later(getattr(one, mark)) for mark in marks}
        return replace(one, **moved)

    shake = trial.handshake
    if shake is not None and shake.ended_us is not None and shake.network_us is not None:
        ended_us = later(shake.ended_us)
        shake = replace(shake, ended_us=ended_us, network_us=shake.network_us + ended_us - shake.ended_us)
    return replace(
        trial,
        handshake=shake,
        exchanges=tuple(map(asked, trial.exchanges)),
        transfers=tuple(replace(one, at_us=later(one.at_us)) for one in trial.transfers),
        records=tuple(replace(one, at_us=later(one.at_us), end_us=later(one.end_us or 0)) for one in trial.records),
    )

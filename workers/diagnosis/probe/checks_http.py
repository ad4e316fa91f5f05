"""The checklist's columns that speak of records, HTTP, DNS and TCP."""

from workers.diagnosis.case import rtt_of
from workers.diagnosis.catalogue import reason_text
from workers.diagnosis.probe.checks import Judged, Told, no, not_applicable, unknown, yes
from workers.diagnosis.probe.headers import hsts_max_age_s, values
from workers.diagnosis.probe.hsts import MIN_HSTS_S, is_address
from workers.diagnosis.probe.protocols import (
    answer_headers,
    http2_answers,
    http3_announced,
    http3_answers,
    http3_refused,
    https_record_known,
)
from workers.diagnosis.probe.records import (
    LARGE_RECORD_BYTES,
    answer_records,
    first_window_bytes,
    holds_back,
    is_static,
)
from workers.diagnosis.probe.slow_start import FIRST_FLIGHT_BYTES
from workers.diagnosis.probe.tls_visits import completed, negotiated_protocol, over_http2
from workers.diagnosis.probe.windows import LEAST_ANSWER_BYTES, filled_window
from workers.diagnosis.units import ms, size, span
from workers.measurement.evidence import Depth, EarlyData, Exchange, Trial, TrialEvidence
from workers.measurement.finding import Finding, FindingId
from workers.measurement.statuses import EARLY_HINTS

# A server that answers quicker has no use for hints.
_AT_ONCE_US = 50_000
_FIRST = (Trial.FULL, Trial.CLASSICAL, Trial.TLS12)


def record_sizing(judged: Judged) -> Told:
    """By the records that carry the first 14 KB of an answer, and by those after them."""
    overflow = judged.found.get(FindingId.TLS_RECORD_OVERFLOW)
    if overflow is not None:
        return no(_over_http2_words(overflow) or _record_words(judged) or "too large for the first window")
    trials = [trial for trial in judged.case.evidence.of(*_FIRST) if _application_lengths(trial)]
    if not trials:
        return unknown(judged, "no records seen")
    early, _ = _early_and_late(trials)
    if any(_holds_back(judged, trial) for trial in trials):
        return no(_record_words(judged))
    if max(map(sum, map(_application_lengths, trials))) <= LARGE_RECORD_BYTES:
        return unknown(judged, f"the answer is too small to tell ({size(max(early))})")
    # Over HTTP/2, which browsers use where it is spoken, records may be of another size: one connection asks for none.
    alone = judged.case.evidence.depth is Depth.LIGHT and negotiated_protocol(judged.case) is not None
    return unknown(judged) if alone else yes(_record_words(judged))


def _over_http2_words(overflow: Finding) -> str | None:
    told = {fact.name: fact.value for fact in overflow.evidence}
    length_bytes = told.get("record_bytes")
    return f"{size(length_bytes)} over HTTP/2" if told.get("alpn") == "h2" and isinstance(length_bytes, int) else None


def _record_words(judged: Judged) -> str:
    trials = [trial for trial in judged.case.evidence.of(*_FIRST) if _application_lengths(trial)]
    if not trials:
        return ""
    early, late = _early_and_late(trials)
    first, most = max(_application_lengths(trial)[0] for trial in trials), max(early + late)
    if most > max(2 * first, LARGE_RECORD_BYTES) and not any(is_static(_application_lengths(one)) for one in trials):
        return f"dynamic, {size(first)} to {size(most)}"
    return f"static, {size(max(early))}"


def _holds_back(judged: Judged, trial: TrialEvidence) -> bool:
    """By the first answer, where it is known which records carried it."""
    own = [one.length_bytes for one in answer_records(trial, trial.exchanges[0])] if trial.exchanges else []
    return holds_back(own or _application_lengths(trial), first_window_bytes(judged.case, trial))


def _early_and_late(trials: list[TrialEvidence]) -> tuple[list[int], list[int]]:
    early: list[int] = []
    late: list[int] = []
    for trial in trials:
        carried = 0
        for length in _application_lengths(trial):
            (early if carried < FIRST_FLIGHT_BYTES else late).append(length)
            carried += length
    return early, late


def _application_lengths(trial: TrialEvidence) -> list[int]:
    return [record.length_bytes for record in trial.records if record.application]


def http2(judged: Judged) -> Told:
    if negotiated_protocol(judged.case) == "h2":
        return no("agreed on, but it does not answer") if http2_answers(judged.case) is False else yes("h2")
    offered = completed(judged.case.evidence.of(Trial.HTTP2))
    return no(f"offered, got {offered[0].protocol or 'no ALPN'}") if offered else unknown(judged)


def http3(judged: Judged) -> Told:
    announced, answers = http3_announced(judged.case), http3_answers(judged.case)
    if announced and http3_refused(judged.case):
        return no("announced, with a certificate that browsers refuse")
    if announced and answers:
        return yes("announced, and it answers")
    if announced:
        return (
            unknown(judged, "announced, not reached from here")
            if answers is None
            else no("announced, but it does not answer")
        )
    if not answer_headers(judged.case) or judged.case.evidence.depth is Depth.LIGHT:
        return unknown(judged)
    if not https_record_known(judged.case):
        return unknown(judged, "its HTTPS record is not known")
    if answers:
        return no("it answers, but nothing announces it")
    return no("not announced")


def quic_zero_rtt(judged: Judged) -> Told:
    shaken = [one.handshake for one in judged.case.evidence.of(Trial.HTTP3) if one.handshake is not None]
    if any(one.early_data is EarlyData.ACCEPTED for one in shaken):
        return yes("accepted")
    if http3_answers(judged.case) is not True:
        return not_applicable("no HTTP/3") if http3(judged).answer == "no" else unknown(judged)
    allowed = [one.max_early_data_bytes for one in shaken if one.max_early_data_bytes is not None]
    if not allowed:
        return no("no tickets") if any(one.tickets == 0 for one in shaken) else unknown(judged)
    return yes("tickets allow it") if any(allowed) else no("tickets allow no early data")


def ech(judged: Judged) -> Told:
    """By the HTTPS record of the name."""
    if is_address(judged.case.evidence.host):
        return not_applicable("its key comes with a name")
    mine = [name for name in judged.case.evidence.names if name.host == judged.case.evidence.host]
    records = [name.https for name in mine if name.https is not None]
    if any(record.ech for record in records):
        return yes("key in the HTTPS record")
    if records:
        return no("HTTPS record without a key")
    return no("no HTTPS record") if https_record_known(judged.case) else unknown(judged)


def initial_window(judged: Judged) -> Told:
    for id, words in ((FindingId.TCP_IW_SMALL, "begins small"), (FindingId.TCP_IDLE_RESTART, "shrinks when idle")):
        if id in judged.found:
            return no(words)
    for id in (FindingId.TCP_IW_SMALL, FindingId.TCP_IDLE_RESTART):
        if id in judged.left_open:
            return unknown(judged, reason_text(judged.left_open[id]).removeprefix("because "))
    bodies = [one.body_bytes or 0 for trial in judged.case.evidence.of(*_FIRST) for one in trial.exchanges]
    idle = any(one.idle_us for trial in judged.case.evidence.of(Trial.FULL) for one in trial.exchanges)
    if max(bodies, default=0) < LEAST_ANSWER_BYTES or not idle:
        return unknown(judged, "the answer is too small to tell")
    filled = filled_window(judged.case)
    return yes(f"{'ten or more' if filled is None else filled} packets, also after a pause")


def early_hints(judged: Judged) -> Told:
    """Servers send them over HTTP/2 only, since old clients of HTTP/1.1 stumble over them (RFC 8297, 3)."""
    exchanges = [(trial, one) for trial in judged.case.evidence.trials for one in trial.exchanges if one.status]
    if any(EARLY_HINTS in one.interim for _, one in exchanges):
        return yes("103 sent")
    thinking = [us for trial, one in exchanges if (us := _thinking_us(trial, one)) is not None]
    if thinking and min(thinking) < _AT_ONCE_US:
        return not_applicable(f"the answer begins after {ms(min(thinking))}")
    over_h2 = [one for trial, one in exchanges if over_http2(trial)]
    return no("none before the answer") if over_h2 else unknown(judged)


def _thinking_us(trial: TrialEvidence, one: Exchange) -> int | None:
    rtt_us = rtt_of(trial)
    if one.sent_us is None or one.first_application_us is None or rtt_us is None or trial.trial is Trial.PLAIN:
        return None
    return max(0, one.first_application_us - one.sent_us - rtt_us)


def hsts(judged: Judged) -> Told:
    headers = answer_headers(judged.case)
    if is_address(judged.case.evidence.host):
        return not_applicable("browsers keep it for names only")
    if not headers:
        return unknown(judged)
    max_age_s = hsts_max_age_s(headers)
    if not max_age_s:
        return no("absent" if max_age_s is None else "max-age is 0")
    preload = any("preload" in value.lower() for value in values(headers, "strict-transport-security"))
    lasts = f"{span(max_age_s)}{', preload' if preload else ''}"
    return yes(lasts) if max_age_s >= MIN_HSTS_S else no(lasts)

"""What is said of a comparison: one sentence for all regions, why, and what to do."""

from collections.abc import Sequence
from datetime import timedelta
from math import ceil

from backend.compare.queries import PERIODS, RegionComparison
from backend.web.overview import Level, Word
from backend.web.phrases import listed
from backend.web.units import duration
from backend.web.waterfall.text import printable
from workers.diagnosis.pair.samples import Verdict
from workers.diagnosis.pair.verdict import MIN_PAIRS, PairVerdict
from workers.diagnosis.units import lasting

FIRST_VERDICT = f"The first verdict comes after {MIN_PAIRS} pairs."
_LONGEST = max(PERIODS.values())
# By the ids of workers.diagnosis.pair.reasons: what can be done about a cause that makes the CDN slower.
_ADVICE = {
    "dns": "Give the CDN's name a longer TTL and fewer aliases, so that it is looked up less often and faster.",
    "distance": "Ask the CDN for a location nearer to these visitors, or serve them from the origin.",
    "tls_round_trips": "Switch on TLS 1.3 at the CDN: its handshake takes one round trip less.",
    "tls": "Look at the CDN's TLS settings: a shorter certificate chain, an ECDSA key, TLS 1.3.",
    "cache_miss": "Let the CDN keep this asset: a longer max-age, no cookies, and no query strings that vary.",
    "server_wait": "Ask the CDN where it waits; an origin shield, or a longer time in its cache, saves the way back.",
    "compression_lost": "Let the CDN compress: switch on Brotli or gzip for this type of file.",
    "bytes": "See why the CDN sends more: another encoding or another version of the file.",
    "download": "Look at the CDN's throughput to this region; HTTP/2 or HTTP/3 settings and its location matter.",
}
_PILLS = {
    Verdict.CDN_FASTER: Word(level="good", text="CDN faster"),
    Verdict.ORIGIN_FASTER: Word(level="bad", text="CDN slower"),
    Verdict.NO_DIFFERENCE: Word(level="quiet", text="No difference"),
    Verdict.INCONCLUSIVE: Word(level="quiet", text="Not conclusive"),
}
_SHAPES = {
    Verdict.CDN_FASTER: "▼",
    Verdict.ORIGIN_FASTER: "▲",
    Verdict.NO_DIFFERENCE: "=",
    Verdict.INCONCLUSIVE: "≈",
}


def pill(verdict: PairVerdict) -> tuple[Level, str, str]:
    """Level, shape and word of a verdict."""
    if verdict.pairs < MIN_PAIRS:
        return "info", "…", f"{verdict.pairs} of {MIN_PAIRS} pairs"
    word = _PILLS[verdict.verdict]
    return word.level, _SHAPES[verdict.verdict], word.text


def signed(us: int | None) -> str:
    """`+21 ms`, `0 ms`, with a minus what is negative; empty when absent."""
    if us is None:
        return ""
    return f"+{duration(us)}" if us > 0 else duration(us)


def title_of(regions: Sequence[RegionComparison], *, reused: bool) -> Word:
    """`The CDN helps in 2 of 4 regions and costs 21 ms in Frankfurt`."""
    judged = [one for one in regions if one.of(reused=reused).pairs >= MIN_PAIRS]
    if not judged:
        return Word(level="warn" if none_succeeds(regions) else "info", text=_waiting(regions, reused=reused))
    helps, costs, same = (
        [one for one in judged if one.of(reused=reused).verdict is verdict]
        for verdict in (Verdict.CDN_FASTER, Verdict.ORIGIN_FASTER, Verdict.NO_DIFFERENCE)
    )
    if helps and costs:
        return Word(level="warn", text=f"The CDN helps {_where(helps, judged)} and costs {_cost(costs, reused=reused)}")
    if costs:
        return Word(level="bad", text=f"The CDN costs {_cost(costs, reused=reused)}")
    if helps:
        saved = f": {_saved(helps, reused=reused)}"
        return Word(level="good", text=f"The CDN helps {_where(helps, judged)}{saved}")
    if same:
        return Word(level="info", text=f"The CDN makes no difference {_where(same, judged)}")
    return Word(level="info", text=f"Not conclusive {_where(judged, judged)}: whether the CDN helps cannot be said yet")


def reasons_text(regions: Sequence[RegionComparison], *, reused: bool) -> list[str]:
    """The differences, then why it is slower where it is slower, or faster where it is fastest."""
    known = [(one, one.of(reused=reused)) for one in regions if one.of(reused=reused).pairs >= MIN_PAIRS]
    sentences = []
    firm = [(one, found) for one, found in known if found.verdict is not Verdict.INCONCLUSIVE and found.difference]
    # Of one region the title has said it.
    if len(firm) > 1:
        firm.sort(key=lambda pair: pair[1].difference.estimate_us if pair[1].difference else 0)
        parts = [f"{signed(found.estimate_us)} in {_name(one)}" for one, found in firm]
        sentences.append(f"Median difference: {', '.join(parts[:6])}.")
    telling = _telling([found for _, found in firm])
    if telling is not None and telling.main_reason is not None:
        where = next(one for one, found in firm if found is telling)
        sentences.append(f"{_name(where)}: {telling.main_reason.text}" if len(known) > 1 else telling.main_reason.text)
    unsure = [_name(one) for one, found in known if found.verdict is Verdict.INCONCLUSIVE]
    if unsure:
        sentences.append(f"Not conclusive in {listed(unsure)}.")
    return sentences


def advice(regions: Sequence[RegionComparison], *, reused: bool) -> str | None:
    """What to do where the CDN is slowest; None when it is slower nowhere, or why is not known."""
    found = [one.of(reused=reused) for one in regions]
    slower = [one for one in found if one.verdict is Verdict.ORIGIN_FASTER]
    worst = max(slower, key=lambda one: one.estimate_us, default=None)
    reason = None if worst is None else worst.main_reason
    return None if reason is None else _ADVICE.get(reason.id)


def first_verdict_in(pairs: int, interval_s: int, within: timedelta = _LONGEST) -> str:
    """`first verdict in about 40 min`, when one pair comes every so often, and those of so long are looked at."""
    if timedelta(seconds=MIN_PAIRS * interval_s) > within:
        return f"too few come in {lasting(within.total_seconds())}"
    left = timedelta(seconds=max(0, MIN_PAIRS - pairs) * interval_s)
    minutes = max(1, ceil(left / timedelta(minutes=1)))
    return (
        f"first verdict in about {minutes} min" if minutes < 120 else f"first verdict in about {round(minutes / 60)} h"
    )


def never_comes(found: PairVerdict) -> str:
    """Why there is no pair to compare however long one waits; empty while there may be."""
    told = {warning.id: warning.text for warning in found.warnings}
    return "" if found.pairs else told.get("not_kept") or told.get("status_differs") or ""


def none_succeeds(regions: Sequence[RegionComparison]) -> bool:
    """Whether pairs were tried, and each of them failed on a leg."""
    some = any(one.cold.pairs or one.reused.pairs or never_comes(one.cold) for one in regions)
    return any(one.failed for one in regions) and not some


def _waiting(regions: Sequence[RegionComparison], *, reused: bool) -> str:
    most = max((one.of(reused=reused).pairs for one in regions), default=0)
    if regions and all(never_comes(one.of(reused=reused)) for one in regions):
        return "Nothing to compare"
    if none_succeeds(regions):
        return "No pair could be measured on both legs"
    return f"{most} of {MIN_PAIRS} pairs; first verdict after {MIN_PAIRS}"


def _where(some: Sequence[RegionComparison], judged: Sequence[RegionComparison]) -> str:
    if len(judged) == 1:
        return f"in {_name(judged[0])}"
    if len(some) < len(judged):
        return f"in {len(some)} of {len(judged)} regions"
    return "in both regions" if len(judged) == 2 else f"in all {len(judged)} regions"


def _cost(costs: Sequence[RegionComparison], *, reused: bool) -> str:
    ordered = sorted(costs, key=lambda one: -one.of(reused=reused).estimate_us)
    if len(ordered) > 2:
        return f"up to {duration(ordered[0].of(reused=reused).estimate_us)} in {len(ordered)} regions"
    return " and ".join(f"{duration(one.of(reused=reused).estimate_us)} in {_name(one)}" for one in ordered)


def _saved(helps: Sequence[RegionComparison], *, reused: bool) -> str:
    best = min(helps, key=lambda one: one.of(reused=reused).estimate_us)
    where = f" in {_name(best)}" if len(helps) > 1 else ""
    return f"{duration(-best.of(reused=reused).estimate_us)} faster{where}"


def _telling(found: Sequence[PairVerdict]) -> PairVerdict | None:
    """The verdict whose reason is worth a sentence: where the CDN costs most, else where it helps most."""
    slower = [one for one in found if one.verdict is Verdict.ORIGIN_FASTER]
    if slower:
        return max(slower, key=lambda one: one.estimate_us)
    faster = [one for one in found if one.verdict is Verdict.CDN_FASTER]
    return min(faster, key=lambda one: one.estimate_us, default=None)


def _name(one: RegionComparison) -> str:
    return printable(one.region.name, 60)

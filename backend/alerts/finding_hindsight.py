"""What a rule about findings would have told: the deep runs of the past, judged one after the other."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from backend.alerts.audiences import switched_on
from backend.alerts.hindsight import Past, Tried, Turn
from backend.alerts.judgement.findings import DeepLook, FindingLimit, causes, standing, told_by
from backend.alerts.judgement.monitors import RuleSpec
from backend.alerts.judgement.samples import Standing
from backend.alerts.judgement.tracks import Step, Track
from backend.alerts.parameters import finding_limit
from backend.alerts.said_by_outages import outages_told, unsaid
from backend.alerts.seen_deep import MAX_LOOKS, deep_looks
from backend.alerts.states import State
from backend.instants import to_us
from backend.sites.models import Monitor


def findings(spec: RuleSpec, past: Past) -> Tried:
    """Out of all deep runs since, but for what outages told all channels: whichever of them a rule tells, that would be
    nothing new. Six statements at most."""
    limit = finding_limit(spec.params)
    known = set(past.regions.values())
    seen = deep_looks([monitor.pk for monitor in past.monitors], past.until, since=past.since, limit=past.limit)
    outages = outages_told({monitor.site_id for monitor in past.monitors}, past.since)
    everyone = switched_on(past.monitors[0].site.organisation_id) if outages else set()
    turns: list[Turn] = []
    runs = 0
    for monitor in past.monitors:
        said = [outage for outage in outages.get(monitor.site_id, ()) if everyone <= outage.channels]
        mine = unsaid(seen.get(monitor.pk, {}), said)
        looks = sorted(_within(mine, known), key=lambda look: look.at_us)
        runs += len(looks)
        turns += _turns(spec, limit, monitor, looks, to_us(past.until))
    return Tried(turns=turns, runs=runs)


def _within(regions: Mapping[str, Sequence[DeepLook]], known: set[str]) -> Iterator[DeepLook]:
    for code, looks in regions.items():
        if code in known:
            yield from looks


def _turns(
    spec: RuleSpec, limit: FindingLimit, monitor: Monitor, looks: Sequence[DeepLook], until_us: int
) -> Iterator[Turn]:
    """As each run came in: a track for each cause, and an incident for each cause of a site."""
    so_far: dict[str, list[DeepLook]] = defaultdict(list)
    tracks: dict[str, Track] = {}
    ends_us = [*(look.at_us for look in looks[1:]), until_us]
    for look, end_us in zip(looks, ends_us, strict=False):
        so_far[look.region] = [*so_far[look.region], look][-MAX_LOOKS:]
        # Of what it did not find it begins nothing.
        for id in sorted(causes({look.region: [look]}, limit) | set(tracks)):
            if told_by(id) != monitor.kind:
                continue
            track = tracks.get(id, Track())
            seen = standing(id, so_far, limit, current=track.state, now_us=look.at_us)
            tracks[id], heard = _advance(track, seen, look.at_us, end_us, spec.delay_us)
            if heard:
                is_bad = heard.after is not State.OK
                yield Turn(heard.at_us, f"site {monitor.site_id} {id}", str(monitor.pk), is_bad)


def _advance(track: Track, seen: Standing, at_us: int, end_us: int, delay_us: int) -> tuple[Track, Step | None]:
    """The track after a run and until the next one: what lasts as long as the rule waits needs no further one."""
    after, heard = track.advance(seen, at_us, delay_us)
    due_us = after.since_us + delay_us
    is_held_back = after.state is not State.OK and after.told is None
    return after.advance(seen, due_us, delay_us) if is_held_back and at_us < due_us < end_us else (after, heard)

"""What a rule about findings would have told: the deep runs of the past, judged one after the other."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from backend.alerts.hindsight import Past, Tried, Turn
from backend.alerts.judgement.findings import DeepLook, FindingLimit, causes, standing
from backend.alerts.judgement.monitors import RuleSpec
from backend.alerts.judgement.tracks import Track
from backend.alerts.parameters import finding_limit
from backend.alerts.said_by_outages import outages_told, unsaid
from backend.alerts.seen_deep import MAX_LOOKS, deep_looks
from backend.alerts.states import State
from backend.sites.models import Monitor

# Of one monitor in one region: one a day, and some where something changed.
_MAX_LOOKS = 200


def findings(spec: RuleSpec, past: Past) -> Tried:
    """Out of all deep runs since, but for what outages told. Five statements."""
    limit = finding_limit(spec.params)
    known = set(past.regions.values())
    seen = deep_looks([monitor.pk for monitor in past.monitors], past.until, since=past.since, limit=_MAX_LOOKS)
    outages = outages_told({monitor.site_id for monitor in past.monitors}, past.since)
    turns: list[Turn] = []
    runs = 0
    for monitor in past.monitors:
        mine = unsaid(seen.get(monitor.pk, {}), outages.get(monitor.site_id, ()))
        looks = sorted(_within(mine, known), key=lambda look: look.at_us)
        runs += len(looks)
        turns += _turns(spec, limit, monitor, looks)
    return Tried(turns=turns, runs=runs)


def _within(regions: Mapping[str, Sequence[DeepLook]], known: set[str]) -> Iterator[DeepLook]:
    for code, looks in regions.items():
        if code in known:
            yield from looks


def _turns(spec: RuleSpec, limit: FindingLimit, monitor: Monitor, looks: Sequence[DeepLook]) -> Iterator[Turn]:
    """As each run came in: a track for each cause, and an incident for each cause of a site."""
    so_far: dict[str, list[DeepLook]] = defaultdict(list)
    tracks: dict[str, Track] = {}
    for look in looks:
        so_far[look.region] = [*so_far[look.region], look][-MAX_LOOKS:]
        for id in sorted(causes(so_far, limit) | set(tracks)):
            track = tracks.get(id, Track())
            seen = standing(id, so_far, limit, current=track.state, now_us=look.at_us)
            tracks[id], heard = track.advance(seen, look.at_us, spec.delay_us)
            if heard:
                is_bad = heard.after is not State.OK
                yield Turn(look.at_us, f"site {monitor.site_id} {id}", str(monitor.pk), is_bad)

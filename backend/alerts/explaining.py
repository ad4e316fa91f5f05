"""Why a site became slower, as far as measurements tell: the phase, the deploy, a run before and one after."""

from datetime import timedelta

from backend.alerts.histories import StoredHistory, instant
from backend.alerts.judgement.samples import Standing
from backend.alerts.metrics import BESIDE_PHASES, METRICS, metric_of, written
from backend.alerts.states import State
from backend.alerts.wording import clock, deploy_at
from backend.analysis.attribution import Attribution, Cause, attribute
from backend.analysis.episode import OUR_ROUNDS
from backend.analysis.events import Alert, Event
from backend.analysis.user_timings import is_instant
from backend.sites.queries import deploys_between

# What it was like before tells the last day that was measured, however long nothing was since.
_BEFORE_S = 86_400.0
# Runs are asked for after an instant: of the one at which a level may begin, from this much before it on.
_JUST_S = 1e-6
_CAUSES = {
    Cause.ORIGIN: "the server that answers",
    Cause.PATH: "the network between the region and the site",
    Cause.HANDSHAKE: "the server's part of the TLS handshake, since connecting takes no longer to speak of",
    Cause.RESOLVER: "the resolution of the name",
    Cause.TRANSFER: "the transfer of the body",
    Cause.REDIRECTS: "the redirects on the way to the page",
}
_LABELS = {metric.name: metric.label for metric in (*METRICS.values(), *BESIDE_PHASES.values())}
_LEAST_SHARE = 0.1
_MOST_PHASES = 3


def explained(event: Event, state: State, metric: str, history: StoredHistory) -> Standing:
    """The standing of an alert, with all that is known of it. At most seven statements."""
    alert = event.alert
    last = history.last_before(alert.regions, alert.change_at)
    why = None if last is None else _attribution(alert, last, event.at, metric, history)
    before, after = _runs(alert, last, event.at, history)
    return Standing(
        state=state,
        since_us=round(alert.change_at * 1e6),
        regions=alert.regions,
        before=before,
        after=after,
        facts={
            "metric": metric,
            "baseline": float(alert.baseline),
            "level": float(alert.level),
            "change_pct": None if alert.change_pct is None else round(float(alert.change_pct), 1),
            "class": alert.alert_class.value,
            "confidence": round(float(alert.confidence), 4),
            "confirmed": alert.confirmed_at is not None,
            "deploy_at": alert.deploy_at,
            "cause": why.cause.value if why else None,
            "phases": [
                {
                    "phase": phase.phase,
                    "before": round(phase.before, 2),
                    "after": round(phase.after, 2),
                    "share": round(phase.share, 3),
                }
                for phase in (why.phases if why else ())
            ],
            "sentences": _sentences(alert, why, history),
        },
    )


def ended(event: Event, history: StoredHistory, *, interval_s: float) -> Standing:
    """The standing of what is over, since it was measured to be; and from when on nobody looked, where it may have been
    over for long by then. One statement."""
    if event.over_at is None:
        return Standing(state=State.OK, since_us=round(event.at * 1e6))
    last = history.last_before(event.alert.regions, event.over_at)
    facts = {}
    if last is not None and event.over_at - last > OUR_ROUNDS * interval_s:
        unseen = f"from {clock(instant(last))} to {clock(instant(event.over_at))}"
        facts = {"end": f"Where it was slower, nothing was measured {unseen}: it was over at some time between."}
    return Standing(state=State.OK, since_us=round(event.over_at * 1e6), facts=facts)


def _runs(alert: Alert, last: float | None, at: float, history: StoredHistory) -> tuple[str, str]:
    """A usual run of before and one of now, of the same region; empty where there is none."""
    region = alert.regions[0]
    after = history.typical_run(region, max(alert.change_until, alert.level_since) - _JUST_S, at)
    before = None
    if last is not None:
        before = history.typical_run(region, last - _BEFORE_S, min(last, alert.change_from - _JUST_S))
    return before.hex if before else "", after.hex if after else ""


def _attribution(alert: Alert, last: float, at: float, metric: str, history: StoredHistory) -> Attribution | None:
    change = alert.level - alert.baseline
    if not metric_of(metric).is_time or not is_instant(metric) or change == 0:
        return None
    before, now = (last - _BEFORE_S, last), (alert.level_since - _JUST_S, at)
    phases = history.phases(alert.regions, before, now)
    return attribute(phases, change_at=alert.change_at, level_since=alert.level_since, change=change)


def _sentences(alert: Alert, why: Attribution | None, history: StoredHistory) -> list[str]:
    said = []
    if alert.change_pct is not None:
        said.append(f"A change of {alert.change_pct:+.0f} %, sure to {_percent(alert.confidence)}.")
    if why:
        grown = [phase for phase in why.phases if phase.share >= _LEAST_SHARE][:_MOST_PHASES]
        parts = [
            f"{_LABELS[phase.phase]} {written('ttfb_ms', phase.before)} → {written('ttfb_ms', phase.after)}"
            for phase in grown
        ]
        if parts:
            said.append(f"By phase: {', '.join(parts)}.")
        if why.cause in _CAUSES:
            said.append(f"That points to {_CAUSES[why.cause]}.")
    if alert.deploy_at is not None:
        said.append(_deploy(alert.deploy_at, alert.change_from, history))
    return said


def _deploy(at: float, change_from: float, history: StoredHistory) -> str:
    """Which deploy came with the change or, as a rollout takes its time, shortly before the change can have begun."""
    moment = instant(at)
    slack = timedelta(milliseconds=1)
    found = deploys_between(history.site, moment - slack, moment + slack)
    name = (found[-1].version or found[-1].external_id) if found else ""
    return f"{'It follows' if at < change_from else 'It began with'} {deploy_at(name, moment)}."


def _percent(confidence: float) -> str:
    """Never more sure than anybody can be."""
    return "more than 99.9 %" if confidence > 0.999 else f"{100 * confidence:.1f} %"

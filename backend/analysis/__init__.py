"""What measurements mean over time. Pure: numbers in, numbers out; no Django, no clock.

Detection of regressions, for whoever feeds it and keeps its state. One `Detector` watches one metric of one monitor in
all of its regions:

    from backend.analysis.detector import Detector
    from backend.analysis.events import Event, Kind, AlertClass
    from backend.analysis.settings import Settings

    detector = Detector(settings, history)          # Detector.from_state(settings, history, state) goes on
    events = detector.observe(at, region, value)    # in order of time; value None = a failed check, which says nothing
    state = detector.state()                        # JSON, a few kilobytes; the detector made from it goes on the same

`at` is in Unix seconds, `history(since, until) -> {region: [(at, value or None), …]}` gives what was observed in
since <= at < until, in order of time and the sample being observed included. It is asked once a day for nine days and
at every alert for a few, so that no values are kept in the state.
`observe` also takes note of deploys: `detector.deployed(at)` before the samples that follow it.
`detector.accept(at)` says that the present level is the new normal; `detector.restart(at)` that what is measured is no
longer the same (another test profile), so that nothing before `at` counts.

An `Event` is frozen: kind (opened, confirmed, worsened, resolved, went_away, accepted), at, and the `Alert` as it is
then: class (slowdown, regression, regional, improvement), regions, change_at, change_pct, baseline, level, confidence,
deploy_at. One alert is open at a time.
"""

"""What measurements mean over time. Pure: numbers in, numbers out; no Django, no clock.

One `detector.Detector` watches one metric of one monitor in all of its regions. Whoever feeds it keeps its state:

    settings = settings_for("ttfb_ms", interval_s=300)      settings.py; min_change_pct=… for another least change
    detector = Detector(settings, history)                  or Detector.from_state(settings, history, state)
    events = detector.observe(at, region, value)            in order of `at`; None = a failed check, which says nothing
    state = detector.state()                                JSON, about 3 kB with five regions

Times are Unix seconds. `history` (history.History) answers for the past, so that the state holds no values:
`samples(since, until)` gives {region: (times, values)} and `deploys(since, until)` times, both for
since < at <= until, in order, with the sample being observed among them. It is asked for nine days once a day (four
times a day while it is young), and for two days or so at an alarm.

`observe` gives a list, nearly always empty, of frozen events.Event: `kind` (opened, confirmed, worsened, eased; then
one of resolved, went_away, accepted), `at`, and `alert` as it is known then: alert_class (slowdown, regression,
regional, improvement), opened_at, change_at, change_from, change_until, level_since, regions, baseline, level,
change_pct, confidence, confirmed_at, deploy_at. One alert is open at a time; `opened` is at once, `confirmed` after an
hour (15 minutes after a deploy), and turns a slowdown into a regression.

`detector.accept(at)` makes the present level the normal one and closes the alert; `detector.restart(at)` forgets what
is normal, since something else is measured from then on. `attribution.attribute(phases, change_at=…, level_since=…,
change=…)` says which phase made the difference. `changepoints.changepoints(values)` finds changes of level in any
series. `replay.replay` runs a detector over recorded series; `simulation.simulate` makes some up.
"""

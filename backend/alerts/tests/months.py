"""Days and months of made-up runs through the judge's own rules and incidents, without a row for each run."""

import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from backend.alerts import upkeep
from backend.alerts.incidents import Change, Scene, apply
from backend.alerts.judgement.monitors import MonitorJudge, Subject
from backend.alerts.judgement.samples import Sample, Seen
from backend.alerts.looks import spec_of
from backend.alerts.models import Notice, Rule
from backend.alerts.tests.world import MINUTE, World, put_run
from backend.instants import to_us
from backend.runs.partitions import ensure_partitions

SECOND = timedelta(seconds=1)


class Outage(NamedTuple):
    begins: datetime
    ends: datetime

    def has(self, at: datetime) -> bool:
        return self.begins <= at < self.ends


class Told(NamedTuple):
    event: str
    at: datetime


def each_hour(since: datetime, hours: int, draw: random.Random) -> list[Outage]:
    """A job that begins within a minute after the full hour and takes three to five minutes."""
    begins = [since + timedelta(hours=hour, seconds=draw.uniform(0, 60)) for hour in range(hours)]
    return [Outage(at, at + timedelta(minutes=draw.uniform(3, 5))) for at in begins]


def live(world: World, outages: Iterable[Outage], until: datetime) -> list[Told]:
    """The monitor is measured each minute, region after region, to an instant; what was told by then."""
    rule = Rule.objects.get()
    judge = MonitorJudge([spec_of(rule)], Subject(kind="probe", interval_s=60), {})
    coming, number = sorted(outages), 0
    while world.now < until:
        for position, region in enumerate(world.regions):
            at = world.now + (1 + 20 * position) * SECOND
            coming = [outage for outage in coming if outage.ends > at]
            seen = Seen.DOWN if any(outage.has(at) for outage in coming[:2]) else Seen.UP
            number += 1
            for heard in judge.observe(Sample(region.code, to_us(at), UUID(int=number), seen, "refused", ())):
                scene = Scene(
                    organisation_id=rule.organisation_id,
                    key=str(world.fleet.site.public_id),
                    site_id=world.fleet.site.pk,
                )
                change = Change(
                    rule=rule,
                    scene=scene,
                    standing=heard.standing,
                    step=heard.step,
                    monitor_id=world.monitor.pk,
                )
                apply(change, now=at)
        if world.now.minute == 30:
            # One an hour is stored: whether anybody measured is asked of the table.
            ensure_partitions(world.now)
            put_run(world.monitor, world.regions[0], world.now, ".")
        world.now += MINUTE
        if seen is Seen.DOWN or world.now.minute % 5 == 0:
            upkeep.tidy(world.now)
    messages = [notice.message for notice in Notice.objects.order_by("pk")]
    return [Told(message["event"], datetime.fromisoformat(message["at"])) for message in messages]

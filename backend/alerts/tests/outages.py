"""A page that is measured every quarter of an hour, minutes that happen to it, and the runs that are asked for."""

from datetime import datetime, timedelta

from backend.alerts import judging
from backend.alerts.tests.world import World, make_world, put_run
from backend.runs.models import PendingRun, Schedule
from backend.sites.models import Monitor

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def a_page(*codes: str, interval_s: int = 900, rules: tuple[str, ...] = ("availability",)) -> World:
    world = make_world(*codes, kinds=["page"], rules=rules)
    Monitor.objects.update(interval_s=interval_s)
    return world


def under_way() -> list[PendingRun]:
    return list(PendingRun.objects.filter(trigger="confirm").select_related("region"))


def answer(world: World, letter: str, at: datetime | None = None) -> datetime:
    """The run that is under way comes to this; when it was."""
    (asked,) = under_way()
    PendingRun.objects.filter(pk=asked.pk).delete()
    at = at or world.now
    put_run(world.monitor, asked.region, at, letter, trigger="confirm", run_id=asked.run_id)
    return at


def happen(world: World, patterns: str) -> None:
    """Minutes as `World.minutes` has them; whichever region is asked sees what it saw itself."""
    codes = [region.code for region in world.regions]
    for pattern in patterns.split():
        world.minute(pattern)
        for run in under_way():
            answer(world, pattern[codes.index(run.region.code)])
    world.now += SECOND
    world.judge()


def pass_by(
    world: World, seconds: int, letters: dict[str, str] | str = "", *, every_s: int = 10
) -> list[tuple[datetime, str]]:
    """So many seconds pass. Runs that were asked for come to a letter, by region; when and where each was asked."""
    asked = []
    Schedule.objects.update(next_at=world.now + timedelta(hours=3))
    for _ in range(seconds // every_s):
        world.now += timedelta(seconds=every_s)
        world.beat()
        judging.judge_batch(world.now)
        runs = under_way()
        assert len(runs) <= 1
        for run in runs:
            asked.append((world.now, run.region.code))
            letter = letters if isinstance(letters, str) else letters[run.region.code]
            if letter:
                answer(world, letter)
    return asked

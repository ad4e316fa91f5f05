"""Why a run was made, and what came of it."""

from django.db import models


class Trigger(models.TextChoices):
    """Why it was measured. Only runs of the schedule are judged over time: who asks for more has a reason to look."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    CONFIRM = "confirm"
    GATE = "gate"
    # To find out why something changed, or whether it did; always deep.
    DIAGNOSE = "diagnose"
    # Once, with a host of the page at another address: it measured another server.
    MAPPED = "mapped"
    # In turns with and without hosts, to see what these cost: some measured a page that no visitor has.
    COST = "cost"


# What charts and medians are made of. The others come in bursts, and when something is wrong.
CHARTED = (Trigger.SCHEDULE, Trigger.MANUAL)
# What these measured may be another server than the monitor's, or not the whole of its page.
ELSEWHERE = (Trigger.GATE, Trigger.MAPPED, Trigger.COST)


class Outcome(models.TextChoices):
    MEASURED = "measured"
    FAILED = "failed"
    MISSED = "missed"
